//! The reasons why workers on other hosts cannot be used.

use crate::workers::clock::ClockError;
use std::path::PathBuf;
use std::time::Duration;
use trueput_record::text::escape_line;

/// The reason why a host's workers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The launcher's program is not here.
    #[error("no program {program}, which '--launcher {launcher}' needs: {remedy}")]
    NoLauncher {
        /// The program.
        program: String,
        /// The launcher.
        launcher: String,
        /// How it gets here.
        remedy: &'static str,
    },
    /// The launcher's program cannot be started.
    #[error("cannot start {program}: {error}")]
    LauncherNotStarted {
        /// The program.
        program: String,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// This process is in no allocation of the scheduler's.
    #[error(
        "'--launcher {launcher}' works inside an allocation, and {variable} is not set: {remedy}"
    )]
    NoAllocation {
        /// The launcher.
        launcher: String,
        /// What a process inside one has.
        variable: &'static str,
        /// How to get one.
        remedy: &'static str,
    },
    /// The scheduler does not list the hosts of the allocation.
    #[error("'{command}' does not list the hosts of the allocation: {message}")]
    NoHostList {
        /// Its command.
        command: String,
        /// What it wrote last.
        message: String,
    },
    /// The host did not say who it is in time.
    #[error("host '{host}' has not answered{}{}", within(*limit), after_colon(message))]
    NoAnswer {
        /// The host.
        host: String,
        /// The time that it had; `None` if it was not waited for.
        limit: Option<Duration>,
        /// What the launcher wrote last; empty if it wrote nothing.
        message: String,
    },
    /// The host has a program that speaks another protocol.
    #[error(
        "host '{host}' has another program: {} speaks version {there} of the protocol, this one \
         speaks {here}: copy this program there",
        program.display()
    )]
    OtherProtocol {
        /// The host.
        host: String,
        /// The path of the program there.
        program: PathBuf,
        /// Its version of the protocol.
        there: u32,
        /// The version here.
        here: u32,
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
        /// What the launcher wrote last.
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
        /// What the launcher wrote about it.
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
        /// What the launcher wrote about it.
        message: String,
    },
    /// The launcher does not get through.
    #[error("host '{host}' cannot be reached{}", reason(launcher, message))]
    NotReached {
        /// The host.
        host: String,
        /// The launcher's program.
        launcher: String,
        /// What it wrote last; empty if it wrote nothing.
        message: String,
    },
    /// The scheduler has ended the allocation of the hosts.
    #[error(
        "host '{host}': {message}: the allocation has ended: get another with salloc, and continue \
         there with 'trueput run --resume FOLDER'"
    )]
    AllocationEnded {
        /// The host.
        host: String,
        /// What the launcher wrote about it.
        message: String,
    },
    /// The launcher said why the host cannot be used.
    #[error("host '{host}': {message}: {remedy}")]
    Refused {
        /// The host.
        host: String,
        /// What the launcher wrote about it.
        message: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The launcher ended as if all were well, but the host has not said goodbye.
    #[error(
        "the connection to host '{host}' ended without its last message, though {launcher} reports \
         success{}: its exit code proves nothing, so the host counts as lost",
        after_colon(message)
    )]
    NoGoodbye {
        /// The host.
        host: String,
        /// The launcher's program.
        launcher: String,
        /// What it wrote last; empty if it wrote nothing.
        message: String,
    },
    /// Some of the host's messages did not arrive.
    #[error(
        "{missing} messages of host '{host}' did not arrive: {launcher} has lost a part of its \
         output"
    )]
    LostReports {
        /// The host.
        host: String,
        /// The launcher's program.
        launcher: String,
        /// How many.
        missing: u64,
    },
    /// The connection ended.
    #[error("the connection to host '{host}' ended{}", after_colon(message))]
    Ended {
        /// The host.
        host: String,
        /// What the launcher wrote last; empty if it wrote nothing.
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

impl HostError {
    /// Whether no host is left for any trial.
    pub(crate) fn is_end_of_allocation(&self) -> bool {
        matches!(
            self,
            Self::AllocationEnded { .. } | Self::NoAllocation { .. }
        )
    }
}

fn within(limit: Option<Duration>) -> String {
    limit.map_or_else(String::new, |limit| {
        format!(" within {} s", limit.as_secs())
    })
}

fn reason(launcher: &str, message: &str) -> String {
    if message.is_empty() {
        format!(", and {launcher} does not say why")
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
