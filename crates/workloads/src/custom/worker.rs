//! One worker's share: transactions of one or several operations.

use super::config::CustomConfig;
use super::mix::Transaction;
use super::transaction_stream::TransactionStream;
use crate::generate::value::Values;
use crate::keyed::draws::RecordLengths;
use crate::keyed::executor::TransactionExecutor;
use crate::keyed::expected_state::ReplayableJob;
use crate::keyed::record_reader::RecordReader;
use crate::keyed::units::run_units;
use crate::keyed::write_tracker::WriteTable;
use crate::{JobTask, Result, WorkerFindings};

/// One worker: its state and its buffers.
pub(super) struct Worker<'w> {
    config: &'w CustomConfig,
    stream: TransactionStream,
    executor: TransactionExecutor<'w, RecordLengths>,
}

impl<'w> Worker<'w> {
    /// Creates a worker that has done nothing.
    pub(super) fn new(
        config: &'w CustomConfig,
        values: Values,
        table: Option<&'w WriteTable>,
        task: &JobTask<'_>,
    ) -> Result<Self> {
        let (seed, generation) = (task.seed, task.generation);
        let maker = config.maker_of(values, seed);
        let max_records = config.mix.iter().map(Transaction::records).max();
        let reader = RecordReader::new(config, maker, table, task, max_records.unwrap_or(0));
        let (counts, doing) = (config.counts_writes(), "doing a transaction");
        let max_operations = config.mix.max_operations();
        Ok(Self {
            config,
            stream: config.stream(seed, generation, task.worker, task.workers)?,
            executor: TransactionExecutor::new(reader, counts, max_operations, doing, task),
        })
    }

    /// Does the share.
    pub(super) fn run(mut self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let quota = self.config.quota(task.worker, task.workers);
        let mut thinks = false;
        run_units(task, quota, |task, _| {
            // The time between two transactions is part of no latency.
            if thinks {
                let mark = task.meter.timestamp();
                if !task.meter.wait_since(mark, self.config.think_ns) {
                    return Ok(0);
                }
                task.meter.start();
            }
            thinks = self.config.think_ns > 0;
            let kind = self.stream.next_transaction();
            self.executor
                .execute(self.stream.operations(), kind, task)?;
            Ok(1)
        })?;
        Ok(self.executor.into_findings(task))
    }
}
