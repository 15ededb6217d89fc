//! Facts about this program.

use trueput_record::host::ProgramFacts;

/// Collects the facts about this program, run as `command`.
#[must_use]
pub fn collect_program_facts(command: Vec<String>) -> ProgramFacts {
    ProgramFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("TRUEPUT_COMMIT").to_owned(),
        profile: name_profile().to_owned(),
        command,
    }
}

/// Returns the profile of this build: `release` or `debug`.
pub(crate) fn name_profile() -> &'static str {
    if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    }
}
