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
    /// The connection did not come about, or ended; one sentence with the remedy.
    #[error("{0}")]
    Ended(String),
    /// The connection ended while the host was asked.
    #[error("the connection to host '{0}' ended")]
    Lost(String),
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

fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}
