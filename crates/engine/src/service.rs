//! Engines that are servers: what a private instance for one trial is made with, started with and
//! stopped with. The runner does it; the driver only says how.

use crate::{OpenSpec, Result};
use std::path::PathBuf;
use std::process::Command;

/// How a server of an engine is run in a folder of its own. The instance is in
/// [`OpenSpec::directory`], listens where nobody else can reach it (a Unix socket in that folder,
/// or 127.0.0.1 with a password), and [`crate::Engine::open`] with the same folder connects to it;
/// with a subfolder of it, it opens another database in the same instance.
///
/// The runner executes the commands, as [`Service::user`] where it is root itself, with the folder
/// made that user's; it puts the processes into the trial's memory group, onto its CPUs and NUMA
/// nodes, and accounts for them.
pub trait Service: Send + Sync {
    /// The users of the system of whom one shall run the server where the runner is root, the best
    /// first. Servers commonly refuse to run as root.
    fn users(&self) -> &'static [&'static str];

    /// The commands that make a new instance in the folder, in turn; each ends by itself. They are
    /// executed only where [`Service::is_made`] says no.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] for a level or a knob that it does not have; whatever keeps
    /// its files from being written.
    fn make(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>>;

    /// Whether the folder holds an instance that was made whole.
    fn is_made(&self, spec: &OpenSpec<'_>) -> bool;

    /// The command that is the server, in the foreground, with the settings of `spec`. Its standard
    /// output and error go to [`Service::log`].
    ///
    /// # Errors
    /// As [`Service::make`].
    fn command(&self, spec: &OpenSpec<'_>) -> Result<Command>;

    /// Whether it answers by now, as a client asks.
    ///
    /// # Errors
    /// What will not pass by waiting: a refused password, a wrong version.
    fn is_ready(&self, spec: &OpenSpec<'_>) -> Result<bool>;

    /// The signal that makes it stop in good order without waiting for its clients.
    fn stop_signal(&self) -> Signal;

    /// The signal that it is sent where the runner has died: as that of a server that must go at
    /// once and leave nothing behind.
    fn death_signal(&self) -> Signal {
        Signal::Kill
    }

    /// Where the server writes what it has to say, for the reason of a failure.
    fn log(&self, spec: &OpenSpec<'_>) -> PathBuf {
        spec.directory.join("server.log")
    }
}

/// A signal by which a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGINT: what PostgreSQL calls a fast shutdown.
    Interrupt,
    /// SIGQUIT: what PostgreSQL calls an immediate shutdown.
    Quit,
    /// SIGKILL.
    Kill,
}
