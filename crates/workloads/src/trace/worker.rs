//! One worker's requests, each in a transaction.

use super::config::{TraceConfig, TraceLengths, maker_of};
use super::stored::kind;
use super::stream::{RequestStream, TraceReplay};
use crate::generate::value::Values;
use crate::keyed::executor::{PlannedOperation, TransactionExecutor};
use crate::keyed::expected_state::ReplayableJob;
use crate::keyed::record_reader::RecordReader;
use crate::keyed::write_tracker::WriteTable;
use crate::{JobTask, Result, WorkerFindings};

/// How often a worker without requests looks whether the warm-up is over, nanoseconds.
const WARM_UP_STEP_NS: u64 = 10_000_000;

/// One worker: its state and its buffers.
pub(super) struct Worker<'w> {
    config: &'w TraceConfig,
    stream: RequestStream,
    /// The operations of the current request.
    planned: Vec<PlannedOperation>,
    executor: TransactionExecutor<'w, TraceLengths>,
}

impl<'w> Worker<'w> {
    /// Creates a worker that has done nothing.
    pub(super) fn new(
        replay: &'w TraceReplay,
        values: Values,
        table: Option<&'w WriteTable>,
        task: &JobTask<'_>,
    ) -> Self {
        let config = &*replay.config;
        let maker = maker_of(&replay.config, values);
        let max_records = if task.verifies_reads() {
            config.max_records()
        } else {
            0
        };
        let reader = RecordReader::new(replay, maker, table, task, max_records);
        let (counts, doing) = (replay.counts_writes(), "doing a request of the trace");
        let longest = config.trace.longest_request;
        Self {
            config,
            stream: replay.requests(task.worker, task.workers),
            planned: Vec::with_capacity(longest),
            executor: TransactionExecutor::new(reader, counts, longest, doing, task),
        }
    }

    /// Does the share, until it ends or the time is up.
    pub(super) fn run(mut self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        while self.stream.left() > 0 && task.meter.next_unit() {
            let counts = !task.meter.is_warming_up();
            let request = self.stream.next_request();
            let kind = self.config.kinds.index(kind(request));
            let config = self.config;
            self.planned.clear();
            self.planned
                .extend(request.iter().map(|operation| config.planned(*operation)));
            self.executor.execute(&self.planned, kind, task)?;
            task.meter.advance(u64::from(counts));
        }
        // A worker whose requests were all made during the warm-up has measured none of them.
        while task.meter.is_warming_up() {
            let now = task.meter.timestamp();
            if !task.meter.wait_since(now, WARM_UP_STEP_NS) {
                break;
            }
        }
        Ok(self.executor.into_findings(task))
    }
}
