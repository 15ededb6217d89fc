//! The prepared databases that a run keeps as copies.

use std::collections::{HashMap, HashSet};
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
    /// The trials whose copies could not be restored: another part of the run may still know them.
    lost: HashSet<String>,
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
            lost: HashSet::new(),
            last_repeats,
            is_search: manifest.search.is_some(),
        }
    }

    /// Returns whether a trial begins with a copy.
    pub fn has_copy_of(&self, spec: &TrialSpec) -> bool {
        self.of_cells.contains_key(&spec.cell)
    }

    /// Forgets the copy of a cell, which is of no use.
    pub fn forget(&mut self, cell: u32) {
        let copy = self.of_cells.remove(&cell);
        self.lost.extend(copy.map(|copy| copy.id));
    }

    /// Adds the copies that another part of the run has made since it began with these, and leaves
    /// out those that it could not restore.
    pub fn add(&mut self, found: Self) {
        self.of_cells.extend(found.of_cells);
        self.lost.extend(found.lost);
        self.of_cells
            .retain(|_, copy| !self.lost.contains(&copy.id));
    }

    /// Returns whether a later repeat of the trial is to come.
    pub fn is_repeated(&self, spec: &TrialSpec) -> bool {
        // The trials that a search tries once have roles.
        let last = self.last_repeats.get(&spec.cell).copied();
        let is_proposed = self.is_search && spec.role.is_none();
        is_proposed || last.is_some_and(|last| spec.repeat < last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::{Durability, testing};

    #[test]
    fn a_copy_that_one_part_of_a_run_cannot_restore_is_lost_to_all() {
        let spec = testing::spec(0, "lmdb", Durability::Sync, 2);
        let copy = |id: &str| PreparedDatabase {
            id: id.to_owned(),
            engine: testing::valid(spec.clone(), 1.0).engine.unwrap(),
            folder: PathBuf::from(id),
        };
        let mut known = PreparedDatabases::default();
        known.of_cells.insert(0, copy("first"));
        let mut part = known.clone();
        part.forget(0);
        known.add(part.clone());
        assert!(!known.has_copy_of(&spec));
        // The next repeat prepares its own.
        part.of_cells.insert(0, copy("second"));
        known.add(part);
        assert_eq!(known.of_cells[&0].id, "second");
    }
}
