//! One worker of a micro workload: its knowledge and its buffers.

use super::config::{Maker, MicroConfig};
use super::kinds::Kinds;
use crate::generate::key::KeyBuffer;
use crate::generate::value::Values;
use crate::keyed::expected_state::{tracker_of, worker_findings};
use crate::keyed::read_check::ReadCounts;
use crate::keyed::write_tracker::{WriteTable, WriteTracker};
use crate::{JobTask, WorkerFindings};

/// One worker: its state and its buffers.
pub(super) struct Worker<'w> {
    pub config: &'w MicroConfig,
    pub maker: Maker,
    pub tracker: WriteTracker<'w>,
    pub reads: ReadCounts,
    /// Whether reads are checked.
    pub verifies: bool,
    pub kinds: Kinds,
    /// The kinds that an open loop's rate counts.
    pub paced: Kinds,
    /// Whether the current operation looked for a record that was not there.
    pub lacks_record: bool,
    pub key: KeyBuffer,
    /// A key that no record has: a record's own, and a byte more.
    pub missing: Vec<u8>,
    /// Least numbers that a scan may see, record by record.
    pub floors: Vec<u32>,
    /// Operations done, including the warm-up.
    pub done: u64,
}

impl<'w> Worker<'w> {
    /// Creates a worker that has done nothing.
    pub(super) fn new(
        config: &'w MicroConfig,
        values: Values,
        table: Option<&'w WriteTable>,
        task: &JobTask<'_>,
    ) -> Self {
        let floors = usize::try_from(config.nexts + 1).unwrap_or(usize::MAX);
        Self {
            config,
            maker: config.maker(values).comparing_reads(task.verify),
            tracker: tracker_of(config, table, task),
            reads: ReadCounts::default(),
            verifies: task.verifies_reads(),
            kinds: config.kinds(),
            paced: config.main_kinds(),
            lacks_record: false,
            key: KeyBuffer::default(),
            missing: vec![b'.'; config.key_bytes + 1],
            floors: vec![0; floors],
            done: 0,
        }
    }

    /// Returns the findings of a worker that has finished.
    pub(super) fn findings(self, task: &JobTask<'_>) -> WorkerFindings {
        worker_findings(task, self.done, &self.reads, self.tracker)
    }
}
