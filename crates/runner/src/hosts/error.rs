//! The reasons why workers on other hosts cannot be used.

use crate::workers::clock::ClockError;
use std::path::PathBuf;
use std::time::Duration;
use trueput_record::text::escape_line;

/// The reason why a host's workers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// There is no ssh here.
    #[error("no program ssh, which --hosts needs: install the package openssh-client")]
    NoSsh,
    /// Ssh cannot be started.
    #[error("cannot start ssh: {0}")]
    SshNotStarted(std::io::Error),
    /// The host did not say who it is in time.
    #[error("host '{host}' has not answered{}", within(*limit))]
    NoAnswer {
        /// The host.
        host: String,
        /// The time that it had; `None` if it was not waited for.
        limit: Option<Duration>,
    },
    /// The host has another program.
    #[error(
        "host '{host}' has another program: {} is version {} with SHA-256 {}…, here it is {} with \
         {}…: copy this program there",
        program.display(),
        escape_line(there_version),
        short(there_sha256),
        env!("CARGO_PKG_VERSION"),
        short(here_sha256)
    )]
    OtherProgram {
        /// The host.
        host: String,
        /// The path of the program there.
        program: PathBuf,
        /// Its version.
        there_version: String,
        /// Its hash.
        there_sha256: String,
        /// The hash of the program here.
        here_sha256: String,
    },
    /// The host does not have the program.
    #[error(
        "host '{host}' has no program {program}: copy this program there, or name its path there \
         with --host-program",
        program = program.display()
    )]
    NoProgram {
        /// The host.
        host: String,
        /// The path of the program there.
        program: PathBuf,
    },
    /// The host cannot run the program.
    #[error("host '{host}' cannot run {}: {message}", program.display())]
    NotRun {
        /// The host.
        host: String,
        /// The path of the program there.
        program: PathBuf,
        /// What ssh wrote last.
        message: String,
    },
    /// Something else than this program answers.
    #[error(
        "host '{host}' has another program: {} there wrote '{line}': copy this program there",
        program.display()
    )]
    ForeignAnswer {
        /// The host.
        host: String,
        /// The path of the program there.
        program: PathBuf,
        /// The beginning of its answer.
        line: String,
    },
    /// The host does not let this user in.
    #[error(
        "host '{host}' refuses the login: {message}: set up a key that needs no password, so that \
         'ssh {host} true' works"
    )]
    LoginRefused {
        /// The host.
        host: String,
        /// What ssh wrote about it.
        message: String,
    },
    /// The host has another key than is known.
    #[error(
        "the key of host '{host}' is not the known one: {message} Connect by hand, and check the \
         key: ssh {host}"
    )]
    OtherKey {
        /// The host.
        host: String,
        /// What ssh wrote about it.
        message: String,
    },
    /// Ssh does not get through.
    #[error("host '{host}' cannot be reached{}", reason(message))]
    NotReached {
        /// The host.
        host: String,
        /// What ssh wrote last; empty if it wrote nothing.
        message: String,
    },
    /// The connection ended.
    #[error("the connection to host '{host}' ended{}", after_colon(message))]
    Ended {
        /// The host.
        host: String,
        /// What ssh wrote last; empty if it wrote nothing.
        message: String,
    },
    /// The host sent nothing for too long.
    #[error(
        "host '{host}' has sent nothing for {} s: it is paused, or its network is down",
        limit.as_secs()
    )]
    Silent {
        /// The host.
        host: String,
        /// The time that it had.
        limit: Duration,
    },
    /// The host reported a failure.
    #[error("host '{host}': {message}")]
    Failed {
        /// The host.
        host: String,
        /// What it said.
        message: String,
    },
    /// The clock here cannot be read.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The time here cannot be told.
    #[error("the wall clock is wrong")]
    WallClock,
}

fn within(limit: Option<Duration>) -> String {
    limit.map_or_else(String::new, |limit| {
        format!(" within {} s", limit.as_secs())
    })
}

fn reason(message: &str) -> String {
    if message.is_empty() {
        ", and ssh does not say why".to_owned()
    } else {
        after_colon(message)
    }
}

fn after_colon(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}
