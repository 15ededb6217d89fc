//! Engines that are servers: the commands that create, start and stop a private instance for one
//! trial. The runner executes them; the driver only describes them.

use crate::{OpenSpec, Result};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A server of an engine in a private folder. The instance is in [`OpenSpec::directory`] and
/// listens where no other user can reach it (a Unix socket in that folder, or 127.0.0.1 with a
/// password). [`crate::Engine::open`] with the same folder connects to it; with a subfolder of it,
/// it opens another database in the same instance.
///
/// The runner executes the commands, as one of [`Service::users`] if it is root itself, after
/// giving that user the folder; it puts the processes into the trial's memory group, onto its CPUs
/// and NUMA nodes, and accounts for them.
pub trait Service: Send + Sync {
    /// Returns candidates for the user who runs the server if the runner is root, in order of
    /// preference. Servers commonly refuse to run as root.
    fn users(&self) -> &'static [&'static str];

    /// Returns whether the server keeps the rights of root, because it starts servers of other
    /// users itself.
    fn runs_as_root(&self) -> bool {
        false
    }

    /// Returns the commands that create a new instance in the folder, in order; each ends by
    /// itself. They are executed only if [`Service::is_made`] returns false.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] for a level or a knob that it does not have; whatever keeps
    /// its files from being written.
    fn make(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>>;

    /// Returns whether the folder holds a completely created instance.
    fn is_made(&self, spec: &OpenSpec<'_>) -> bool;

    /// Returns the command that runs the server, in the foreground, with the settings of `spec`.
    /// Its standard output and error go to [`Service::log`].
    ///
    /// # Errors
    /// As [`Service::make`].
    fn command(&self, spec: &OpenSpec<'_>) -> Result<Command>;

    /// Returns the commands that are executed before a server is started that did not stop in good
    /// order; each ends by itself.
    ///
    /// # Errors
    /// As [`Service::make`].
    fn recover(&self, _spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        Ok(Vec::new())
    }

    /// Returns whether it responds to a client yet. Each step of the question has a timeout: a
    /// server that was stopped takes connections and answers nothing, and one that a device keeps
    /// in the kernel cannot be killed.
    ///
    /// # Errors
    /// An error that waiting cannot resolve: a refused password, a wrong version.
    fn is_ready(&self, spec: &OpenSpec<'_>) -> Result<bool>;

    /// Returns the signal that stops it in good order without waiting for its clients.
    fn stop_signal(&self) -> Signal;

    /// Returns the time that it may wait for others before it begins to stop.
    fn stop_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns whether the server, stopped in good order by that signal, ends by the signal itself
    /// instead of exiting with 0.
    fn ends_by_stop_signal(&self) -> bool {
        false
    }

    /// Returns the signal for the server if the runner dies: that of a server that must exit at
    /// once and leave nothing behind.
    fn death_signal(&self) -> Signal {
        Signal::Kill
    }

    /// Returns the path of the server's log, for the reason of a failure.
    fn log(&self, spec: &OpenSpec<'_>) -> PathBuf {
        spec.directory.join("server.log")
    }
}

/// A signal by which a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGINT: PostgreSQL's fast shutdown.
    Interrupt,
    /// SIGQUIT: PostgreSQL's immediate shutdown.
    Quit,
    /// SIGKILL.
    Kill,
}
