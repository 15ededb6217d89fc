//! The reasons why a run that is spread over hosts cannot begin or go on.

use std::time::Duration;
use trueput_record::text::escape_line;

/// The reason why a run that is spread over hosts cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A host did not say who it is, or did not get ready, in time.
    #[error("host '{host}' was not ready within {} s", limit.as_secs())]
    NotReady {
        /// The host.
        host: String,
        /// The time that it had.
        limit: Duration,
    },
    /// A host cannot run the trials.
    #[error("host '{host}' cannot run the plan: {}", escape_line(message))]
    Refused {
        /// The host.
        host: String,
        /// The reason, and the remedy.
        message: String,
    },
    /// Two hosts have different builds of a contender.
    #[error(
        "{contender} differs between hosts: {} on '{first}', {} on '{second}': install the same \
         build on all",
        escape_line(first_build),
        escape_line(second_build)
    )]
    OtherBuild {
        /// The contender.
        contender: String,
        /// A host.
        first: String,
        /// Its build.
        first_build: String,
        /// Another host.
        second: String,
        /// Its build.
        second_build: String,
    },
    /// The run was begun on other hosts.
    #[error("{problem}: continue it with --across {hosts}")]
    OtherHosts {
        /// What is wrong.
        problem: &'static str,
        /// The hosts of the run.
        hosts: String,
    },
    /// A run that was begun on one host is not spread.
    #[error("this run was begun on one host, whose repeats are no blocks: leave out --across")]
    OneHost,
    /// The trials have workers on hosts of their own.
    #[error("--across gives whole repeats to hosts, and --hosts the workers of each: give one")]
    WorkersElsewhere,
    /// A search whose trials are not whole repeats of a plan.
    #[error(
        "--across gives whole repeats of a plan to hosts, so it is for 'trueput run', and \
         '{command}' is a search: run it on one host, and its result by 'trueput run PLAN \
         --across'"
    )]
    Search {
        /// The command.
        command: &'static str,
    },
    /// No host is left.
    #[error(
        "no host is left: {losses}; what was measured is kept, and --resume with the same \
         --across goes on"
    )]
    NoneLeft {
        /// Each host with the reason why it was lost.
        losses: String,
    },
}

impl FleetError {
    /// Whether the user's request was impossible, as opposed to a failure during the run.
    pub(crate) fn is_usage(&self) -> bool {
        !matches!(self, Self::NoneLeft { .. })
    }
}
