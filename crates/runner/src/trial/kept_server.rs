//! Servers that stay up between the probes of a search: each probe asks the same database for
//! another rate, and a restart is not what it measures.

use crate::Options;
use std::path::PathBuf;
use trueput_host::service::{Server, kill_server};
use trueput_record::conditions::Start;
use trueput_record::{Conditions, TrialSpec};

/// A server that waits for the next probe of its database.
pub(crate) struct KeptServer {
    /// The folder of its database.
    pub directory: PathBuf,
    /// The running server.
    pub server: Server,
    /// The trial that it served last.
    pub spec: TrialSpec,
}

impl KeptServer {
    /// Returns whether it is the server that a trial on the same database would start.
    pub fn suits(&self, spec: &TrialSpec) -> bool {
        let last = &self.spec;
        let conditions = Conditions {
            rate: last.conditions.rate,
            duration_s: last.conditions.duration_s,
            ..spec.conditions.clone()
        };
        last.engine == spec.engine
            && last.build == spec.build
            && last.durability == spec.durability
            && last.knobs == spec.knobs
            && last.workers == spec.workers
            && last.conditions == conditions
    }

    /// Returns whether its database is in the folder of that trial.
    pub fn is_of(&self, id: &str) -> bool {
        self.directory.iter().any(|part| part == id)
    }

    /// Kills it: nobody needs its database any more.
    pub fn kill(self) {
        // What is left of it is killed when it is dropped.
        let _ = kill_server(self.server.pid());
    }
}

/// Returns whether the server of a trial stays up for the next one.
pub(crate) fn is_wanted(options: &Options, spec: &TrialSpec) -> bool {
    let keeps_files = options.keep_databases || options.keep_unfinished || options.resume_databases;
    !keeps_files && is_lasting(spec)
}

/// Returns whether a trial is a probe that begins on a running server.
fn is_lasting(spec: &TrialSpec) -> bool {
    let Conditions {
        start,
        memory_bytes,
        crash_and_recover,
        faults,
        fault,
        ..
    } = &spec.conditions;
    let is_probe = spec.role.is_some_and(|role| role.purpose.is_of_capacity());
    let is_restarted = *start == Start::Cold || memory_bytes.is_some() || *crash_and_recover;
    is_probe && !is_restarted && faults.is_empty() && fault.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::search::{TrialPurpose, TrialRole};
    use trueput_record::{Durability, testing};

    fn probe() -> TrialSpec {
        let mut spec = testing::spec(0, "postgresql", Durability::Sync, 1);
        spec.role = Some(TrialRole {
            contender: 0,
            purpose: TrialPurpose::Probe,
            configuration: None,
        });
        spec
    }

    #[test]
    fn the_servers_of_probes_stay_up_and_those_that_a_trial_restarts_do_not() {
        assert!(is_lasting(&probe()));
        let mut others = [(); 5].map(|()| probe());
        others[0].role = None;
        others[1].conditions.start = Start::Cold;
        others[2].conditions.memory_bytes = Some(1 << 30);
        others[3].conditions.crash_and_recover = true;
        others[4].conditions.fault = "any:stall=2s@1s".parse().ok();
        for other in others {
            assert!(!is_lasting(&other), "{other:?}");
        }
    }
}
