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

/// Returns this build in a line: its version, its commit and the date of that.
#[must_use]
pub fn describe_build() -> String {
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("TRUEPUT_COMMIT"));
    // A build from a package knows no date.
    let date = match env!("TRUEPUT_COMMIT_DATE") {
        "" => String::new(),
        date => format!(" of {date}"),
    };
    let profile = name_profile();
    format!("{version} (commit {commit}{date}, {profile} build)")
}

/// Returns the profile of this build: `release` or `debug`.
pub(crate) fn name_profile() -> &'static str {
    if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    }
}
