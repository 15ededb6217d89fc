//! The reasons why a server does not start or stop.

use super::log::LogQuote;
use crate::placement::Misplacement;
use crate::process::describe_exit_status;
use crate::user::ServerUserError;
use nix::sys::signal::Signal;
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// The reason why a server did not start or stop.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The caller stopped waiting.
    #[error("it was not waited for")]
    Canceled,
    /// It cannot run as its user.
    #[error(transparent)]
    User(#[from] ServerUserError),
    /// The service has no command that starts it.
    #[error(transparent)]
    NoCommand(trueput_engine::Error),
    /// The service has no commands to create or recover its instance.
    #[error("{purpose}: {error}")]
    NoSetup {
        /// What they are for: `creating the instance`.
        purpose: &'static str,
        /// The engine's error.
        error: trueput_engine::Error,
    },
    /// A command that creates or recovers its instance failed.
    #[error("{purpose}: {program}{end}{quote}")]
    SetupFailed {
        /// What it is for: `creating the instance`.
        purpose: &'static str,
        /// Its program.
        program: String,
        /// How it ended.
        end: SetupEnd,
        /// What it wrote.
        quote: LogQuote,
    },
    /// A program cannot be started.
    #[error("cannot start {program}: {error}")]
    NotStarted {
        /// Its path.
        program: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// It does not run where its conditions place it.
    #[error("the server: {0}")]
    Misplaced(#[from] Misplacement),
    /// It ended before it was to stop.
    #[error(transparent)]
    Ended(ServerEnd),
    /// It ended by itself while it started.
    #[error("{0} (while starting)")]
    EndedWhileStarting(ServerEnd),
    /// A signal stopped it before it was to stop.
    #[error("{server}; it was killed{quote}")]
    Stopped {
        /// Its process.
        server: StoppedServer,
        /// What it wrote.
        quote: LogQuote,
    },
    /// A signal stopped it while it started.
    #[error("{0} (while starting)")]
    StoppedWhileStarting(StoppedServer),
    /// It refuses its clients.
    #[error("the server: {0}")]
    Refused(trueput_engine::Error),
    /// It does not answer a client.
    #[error("the server has accepted a connection and did not answer in time{0}")]
    Silent(LogQuote),
    /// It takes no clients.
    #[error("the server did not respond within {} s{quote}", limit.as_secs())]
    NotReady {
        /// The time that it had.
        limit: Duration,
        /// What it wrote.
        quote: LogQuote,
    },
    /// Asking whether it takes clients panicked.
    #[error("asking the server panicked")]
    Panic,
    /// It stopped on request, but not in good order.
    #[error("the server, asked to stop, {}{quote}", describe_exit_status(*status))]
    StoppedBadly {
        /// How it ended.
        status: ExitStatus,
        /// What it wrote.
        quote: LogQuote,
    },
    /// It did not stop on request.
    #[error(
        "the server did not stop within {} s and was killed{}{quote}",
        limit.as_secs(),
        after(": ", stuck.as_deref())
    )]
    NotStopped {
        /// The time that it had.
        limit: Duration,
        /// Its processes that do not run.
        stuck: Option<String>,
        /// What it wrote.
        quote: LogQuote,
    },
}

/// The end of a server's main process that nobody has asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {}{quote}", self.describe_server(), describe_exit_status(*status))]
pub struct ServerEnd {
    /// The process.
    pub pid: u32,
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote.
    pub quote: LogQuote,
}

impl ServerError {
    /// Returns whether the server aborted itself while it started.
    #[must_use]
    pub fn is_abort(&self) -> bool {
        match self {
            Self::EndedWhileStarting(end) => end.is_by(Signal::SIGABRT),
            _ => false,
        }
    }
}

impl ServerEnd {
    /// Returns the server in words, with its process.
    #[must_use]
    pub fn describe_server(&self) -> String {
        format!("the server (process {})", self.pid)
    }

    /// Returns whether the signal ended the server.
    fn is_by(&self, signal: Signal) -> bool {
        self.status.signal() == Some(signal as i32)
    }
}

/// A server whose main process was stopped by a signal, so that it answers nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server (process {pid}) was stopped by a signal and does not respond")]
pub struct StoppedServer {
    /// The process.
    pub pid: u32,
}

/// How a command that creates or recovers an instance ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupEnd {
    /// It ended by itself.
    Exited(ExitStatus),
    /// It took longer than `limit`, and was killed.
    Timeout {
        /// The time that it had.
        limit: Duration,
        /// Its processes that did not run.
        stuck: Option<String>,
    },
    /// It made no progress for `limit`, and was killed.
    NoProgress {
        /// The time that it had.
        limit: Duration,
        /// Its processes that did not run.
        stuck: Option<String>,
    },
}

impl fmt::Display for SetupEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(formatter, " {}", describe_exit_status(*status)),
            Self::Timeout { limit, stuck } => {
                let (limit_s, stuck) = (limit.as_secs(), after("; ", stuck.as_deref()));
                write!(formatter, " did not end within {limit_s} s{stuck}")
            }
            Self::NoProgress { limit, stuck } => {
                let (limit_s, stuck) = (limit.as_secs(), after("; ", stuck.as_deref()));
                write!(
                    formatter,
                    ": no progress for {limit_s} s, the limit of this phase{stuck}"
                )
            }
        }
    }
}

/// Returns a text after what separates it from the text before; nothing if there is none.
fn after(separator: &str, text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!("{separator}{text}"))
}
