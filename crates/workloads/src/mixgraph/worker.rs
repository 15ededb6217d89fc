//! One worker's share: operations of one record or one scan, each a transaction of its own.

use super::config::MixgraphConfig;
use super::lengths::DrawnLengths;
use super::stream::OperationStream;
use crate::generate::value::Values;
use crate::keyed::action::Action;
use crate::keyed::executor::{PlannedOperation, TransactionExecutor};
use crate::keyed::expected_state::ReplayableJob;
use crate::keyed::record_reader::RecordReader;
use crate::keyed::units::run_units;
use crate::keyed::write_tracker::WriteTable;
use crate::{JobTask, Result, WorkerFindings};

/// Operations that are drawn together, so that one look at the clock leaves the time of all these
/// draws out of the latencies.
const DRAWN_TOGETHER: usize = 16;

/// One worker: its state and its buffers.
pub(super) struct Worker<'w> {
    config: &'w MixgraphConfig,
    stream: OperationStream,
    executor: TransactionExecutor<'w, DrawnLengths>,
    /// Operations, each with the index of its kind.
    drawn: [(usize, PlannedOperation); DRAWN_TOGETHER],
    /// The place in `drawn` of the next operation.
    next: usize,
}

impl<'w> Worker<'w> {
    /// Creates a worker that has done nothing.
    pub(super) fn new(
        config: &'w MixgraphConfig,
        values: Values,
        table: Option<&'w WriteTable>,
        task: &JobTask<'_>,
    ) -> Result<Self> {
        let (seed, generation) = (task.seed, task.generation);
        let maker = config.maker_of(values, seed);
        let max_records = config.scans.longest() as usize;
        let reader = RecordReader::new(config, maker, table, task, max_records);
        let (counts, doing) = (config.counts_writes(), "doing an operation");
        Ok(Self {
            config,
            stream: config.stream(seed, generation, task.worker, task.workers)?,
            executor: TransactionExecutor::new(reader, counts, 1, doing, task),
            drawn: [(0, PlannedOperation::new(Action::Get, 0)); DRAWN_TOGETHER],
            next: DRAWN_TOGETHER,
        })
    }

    fn refill(&mut self) {
        for place in &mut self.drawn {
            *place = self.stream.next_operation();
        }
        self.next = 0;
    }

    /// Does the share.
    pub(super) fn run(mut self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let quota = self.config.quota(task.worker, task.workers);
        self.refill();
        task.meter.start();
        run_units(task, quota, |task, _| {
            let (kind, planned) = self.drawn[self.next];
            self.next += 1;
            self.executor.execute(&[planned], kind, task)?;
            if self.next == DRAWN_TOGETHER {
                self.refill();
                task.meter.start();
            }
            Ok(1)
        })?;
        Ok(self.executor.into_findings(task))
    }
}
