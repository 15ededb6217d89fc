//! The builds of engines that a ranking is about: which library, and whether it is a fair one.

use crate::contender::ContenderNames;
use crate::marks::WITH_ASSERTIONS;
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::TrialRecord;

/// One build of an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EngineBuild {
    /// Name of the engine, and of this build if the ranking has several.
    pub contender: String,
    /// The version that the library itself reported.
    pub version: String,
    /// The library's path, or `compiled in`.
    pub origin: String,
    /// SHA-256 of the library, or of the program if the engine is compiled in; hexadecimal.
    pub sha256: String,
    /// Whether it was compiled with assertions; `None` if unknown.
    pub assertions: Option<bool>,
    /// Why its figures are doubtful; `None` if they are not.
    pub warning: Option<&'static str>,
}

/// Every build that a trial of the ranking opened, in the order of the trials.
pub fn builds(trials: &[&TrialRecord], names: &ContenderNames) -> Vec<EngineBuild> {
    let mut builds = Vec::new();
    for trial in trials {
        let Some(engine) = &trial.engine else {
            continue;
        };
        let build = EngineBuild {
            contender: names.build(&trial.spec),
            version: engine.version.clone(),
            origin: engine.origin.clone(),
            sha256: engine.sha256.clone(),
            assertions: engine.assertions,
            warning: (engine.assertions == Some(true)).then_some(WITH_ASSERTIONS),
        };
        if !builds.contains(&build) {
            builds.push(build);
        }
    }
    builds
}
