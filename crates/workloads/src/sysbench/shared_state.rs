//! The state that the threads of a process share, by which their reads are checked.

use super::k_counts::KCounts;
use super::settings::{Script, Settings};
use super::update_table::UpdateTable;
use crate::JobTask;
use crate::keyed::write_tracker::{RecordSample, WriteTable};

/// The state that the threads of a process share.
#[derive(Debug)]
pub(super) struct SharedState {
    /// The writes of c of each row: updates, and inserts of a row that was deleted.
    pub(super) contents: WriteTable,
    /// The inserts among them.
    pub(super) inserts: WriteTable,
    /// The updates of k.
    pub(super) updates: UpdateTable,
    /// The rows by k, for the scripts that read by it.
    pub(super) counts: Option<KCounts>,
}

impl SharedState {
    /// Nothing was written yet.
    pub(super) fn new(settings: &Settings, task: &JobTask<'_>) -> Self {
        // A row that is deleted or inserted for good has no further versions.
        let records = if settings.statements.writes() {
            settings.rows.count()
        } else {
            0
        };
        let sample = RecordSample::new(task.verify, records);
        let reads_by_k = matches!(settings.script, Script::RandomPoints | Script::RandomRanges);
        let table_size = settings.rows.table_size;
        Self {
            contents: WriteTable::new(sample),
            inserts: WriteTable::new(sample),
            updates: UpdateTable::new(sample),
            counts: reads_by_k.then(|| KCounts::new(&settings.maker(task.seed), 1, table_size)),
        }
    }
}
