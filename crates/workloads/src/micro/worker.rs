//! One worker of a micro workload: its knowledge and its buffers.

use super::config::{Maker, MicroConfig, Test};
use super::kinds::Kinds;
use super::value_parts::ValueParts;
use crate::generate::key::KeyBuffer;
use crate::generate::value::Values;
use crate::keyed::expected_state::{tracker_of, worker_findings};
use crate::keyed::read_check::{ReadCounts, RecordState};
use crate::keyed::write_tracker::{WriteTable, WriteTracker};
use crate::{JobTask, WorkerFindings};
use trueput_engine::KeyBatch;

/// Whether the engine's own loader did a worker's work; in its findings.
pub(super) const LOADED: &str = "loaded by the engine";
/// Records that a worker's conditional puts stored, as the engine told it; in its findings.
pub(super) const STORED: &str = "records stored";

/// One worker: its state and its buffers.
pub(super) struct Worker<'w> {
    pub config: &'w MicroConfig,
    /// How values are stored.
    pub parts: ValueParts,
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
    /// Least numbers that a scan or a look-up of several may see, record by record.
    pub floors: Vec<u32>,
    /// The records of a look-up of several, and their keys.
    pub items: Vec<u64>,
    pub keys: KeyBatch,
    /// The states in which it found them.
    pub states: Vec<RecordState>,
    /// Operations done, including the warm-up.
    pub done: u64,
    /// Records that its conditional puts stored, as the engine says, including the warm-up.
    pub stored: u64,
    /// Whether the engine's own loader did its work.
    pub was_loaded: bool,
}

impl<'w> Worker<'w> {
    /// Creates a worker that has done nothing.
    pub(super) fn new(
        config: &'w MicroConfig,
        values: Values,
        table: Option<&'w WriteTable>,
        task: &JobTask<'_>,
    ) -> Self {
        let room = |records: u64| usize::try_from(records).unwrap_or(usize::MAX);
        let read_batch = room(config.read_batch);
        let floors = room(config.nexts + 1).max(read_batch);
        let parts = config.value_parts(&task.capabilities);
        Self {
            config,
            parts,
            maker: config.maker(values, parts).comparing_reads(task.verify),
            tracker: tracker_of(config, table, task),
            reads: ReadCounts::default(),
            verifies: task.verifies_reads(),
            kinds: config.kinds(),
            paced: config.main_kinds(),
            lacks_record: false,
            key: KeyBuffer::default(),
            missing: vec![b'.'; config.key_bytes + 1],
            floors: vec![0; floors],
            items: Vec::with_capacity(read_batch),
            keys: KeyBatch::with_capacity(read_batch, config.key_bytes),
            states: vec![RecordState::Absent; read_batch],
            done: 0,
            stored: 0,
            was_loaded: false,
        }
    }

    /// Returns the findings of a worker that has finished.
    pub(super) fn findings(self, task: &JobTask<'_>) -> WorkerFindings {
        let mut findings = worker_findings(task, self.done, &self.reads, self.tracker);
        if self.verifies && self.config.test == Test::PutIfAbsent {
            findings.insert(STORED.to_owned(), self.stored);
        }
        if self.was_loaded {
            findings.insert(LOADED.to_owned(), 1);
        }
        findings
    }
}

/// What a worker was doing when a read failed.
pub(super) fn reading() -> String {
    "reading".to_owned()
}

/// What a worker was doing when a write failed.
pub(super) fn writing() -> String {
    "writing".to_owned()
}
