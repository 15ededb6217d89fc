//! What a run has found out, which the threads of its concurrent tasks share.

use crate::plan::resolution::ResolvedTrial;
use crate::trial::conformance_cache::FileState;
use crate::trial::conformance_result::{ConformanceResult, HungSuite, IsolationResult};
use crate::trial::prepared_database::PreparedDatabases;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use trueput_record::TrialSpec;
use trueput_record::hardware_limits::HardwareLimits;

/// What a run has found out and need not find out again.
#[derive(Clone, Default)]
pub(crate) struct Knowledge {
    /// The files of engines, and this program's, that the run has hashed.
    pub hashes: HashMap<PathBuf, HashedFile>,
    /// Libraries that a trial of the run has used.
    pub used_libraries: HashSet<PathBuf>,
    /// Results of the conformance suite by engine, build, level and knobs.
    pub conformance: HashMap<String, ConformanceResult>,
    /// Results of the anomaly suite by engine, build and knobs.
    pub isolation: HashMap<String, IsolationResult>,
    /// Anomaly suites that hung before the run was interrupted, likewise.
    pub hung_suites: HashMap<String, HungSuite>,
    /// Hardware limits by file system, number of committers and bytes per commit.
    pub hardware_limits: HashMap<String, HardwareLimits>,
    /// The trials of the current group, and the first of the next, as they were resolved.
    pub resolved: RefCell<Vec<(TrialSpec, Arc<ResolvedTrial>)>>,
    /// Copies of prepared databases, for later repeats.
    pub prepared: PreparedDatabases,
    /// The longest preparation of a database with the default knobs, by contender of a search.
    pub preparations: HashMap<u32, Duration>,
    /// The longest load of each data set, by any engine.
    pub loads: HashMap<String, Duration>,
    /// How long the workers of each trial have worked on its database, by the trial's id.
    pub runs: HashMap<String, Duration>,
}

impl Knowledge {
    /// Adds what another part of the run has found out since it began with this knowledge.
    pub fn add(&mut self, found: Self) {
        for (file, mut hashed) in found.hashes {
            // Another thread may have hashed what has replaced it since.
            if let Some(known) = self.hashes.get(&file) {
                hashed.first_sha256.clone_from(&known.first_sha256);
            }
            self.hashes.insert(file, hashed);
        }
        self.used_libraries.extend(found.used_libraries);
        self.conformance.extend(found.conformance);
        self.isolation.extend(found.isolation);
        self.hardware_limits.extend(found.hardware_limits);
        self.prepared.add(found.prepared);
        add_longest(&mut self.preparations, found.preparations);
        add_longest(&mut self.loads, found.loads);
        add_longest(&mut self.runs, found.runs);
    }
}

fn add_longest<K: Eq + Hash>(
    known: &mut HashMap<K, Duration>,
    found: impl IntoIterator<Item = (K, Duration)>,
) {
    for (key, took) in found {
        let longest = known.entry(key).or_default();
        *longest = took.max(*longest);
    }
}

/// A file that the run has hashed.
#[derive(Debug, Clone)]
pub(crate) struct HashedFile {
    /// Its state before it was last hashed: in another one it may have other content. `None` if
    /// that was in an earlier part of the run.
    pub state: Option<FileState>,
    /// Its SHA-256 then.
    pub sha256: String,
    /// Its SHA-256 when the run hashed it first.
    pub first_sha256: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_first_hash_of_a_file_stays_whoever_hashes_it_again() {
        let hashed = |sha256: &str| {
            let hashed = HashedFile {
                state: None,
                sha256: sha256.to_owned(),
                first_sha256: sha256.to_owned(),
            };
            let hashes = HashMap::from([(PathBuf::from("libmine.so"), hashed)]);
            Knowledge {
                hashes,
                ..Knowledge::default()
            }
        };
        let mut known = Knowledge::default();
        known.add(hashed("before"));
        known.add(hashed("after"));
        let file = &known.hashes[Path::new("libmine.so")];
        assert_eq!((&*file.sha256, &*file.first_sha256), ("after", "before"));
    }
}
