//! The prepared databases that a run keeps as copies.

use std::collections::HashMap;
use std::path::PathBuf;
use trueput_record::measurement::EngineReport;
use trueput_record::{RunManifest, TrialSpec};

/// A copy of a prepared database.
#[derive(Debug, Clone)]
pub(crate) struct PreparedDatabase {
    /// The trial in whose folder it was prepared, and where it is restored.
    pub id: String,
    /// What the record says of its engine.
    pub engine: EngineReport,
    /// The folder of the copy.
    pub folder: PathBuf,
}

/// The copies of a run, by cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct PreparedDatabases {
    /// The copies by cell.
    pub of_cells: HashMap<u32, PreparedDatabase>,
    /// The last repeat of each cell; none is known of a search that proposes them.
    last_repeats: HashMap<u32, u32>,
    is_search: bool,
}

impl PreparedDatabases {
    /// Begins without copies, for the trials of a run.
    pub fn of_run(manifest: &RunManifest) -> Self {
        let mut last_repeats = HashMap::new();
        for spec in &manifest.trials {
            let last = last_repeats.entry(spec.cell).or_default();
            *last = spec.repeat.max(*last);
        }
        Self {
            of_cells: HashMap::new(),
            last_repeats,
            is_search: manifest.search.is_some(),
        }
    }

    /// Returns whether a trial begins with a copy.
    pub fn has_copy_of(&self, spec: &TrialSpec) -> bool {
        self.of_cells.contains_key(&spec.cell)
    }

    /// Returns whether a later repeat of the trial is to come.
    pub fn is_repeated(&self, spec: &TrialSpec) -> bool {
        // The trials that a search tries once have roles.
        let last = self.last_repeats.get(&spec.cell).copied();
        let is_proposed = self.is_search && spec.role.is_none();
        is_proposed || last.is_some_and(|last| spec.repeat < last)
    }
}
