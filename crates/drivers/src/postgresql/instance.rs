//! The private server of a trial: how its instance is made, started, asked and stopped.

use super::address::ServerAddress;
use super::install;
use super::knobs::{self, PostgresqlKnobs};
use super::wire::PostgresqlConnection;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use trueput_engine::cluster::QUESTION_TIMEOUT;
use trueput_engine::service::Signal;
use trueput_engine::{Error, OpenSpec, Result, Service};

/// The time that each answer to the question whether a server is ready may take.
const READINESS_TIMEOUT: Duration = QUESTION_TIMEOUT;

/// The folder of an instance's data, in that of the database.
pub(super) const DATA: &str = "data";

/// The lock file of a running server, in its data folder.
const LOCK_FILE: &str = "postmaster.pid";

/// Removes the lock file of a server that ended with the machine. The server itself replaces one
/// that names a process that is gone, and refuses one that is empty, because the machine ended
/// between its creation and its first flush; its message says to remove it.
pub(super) fn remove_lock_file(directory: &Path) -> Result<()> {
    let path = directory.join(DATA).join(LOCK_FILE);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::engine(format!("{}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}
/// The file that marks the instance as complete.
pub(super) const COMPLETE_MARKER: &str = "instance";

/// A private server.
pub(super) struct Instance {
    /// The program.
    pub server: PathBuf,
}

/// The instance that a database's folder belongs to, and the schema there that is the database's:
/// the folder's own instance, or that of the folder above it.
///
/// # Errors
/// [`Error::Engine`], if there is none.
pub(super) fn of(directory: &Path) -> Result<(&Path, String)> {
    let is_instance = |folder: &&Path| folder.join(COMPLETE_MARKER).exists();
    if is_instance(&directory) {
        return Ok((directory, super::SCHEMA.to_owned()));
    }
    let above = directory.parent().filter(is_instance);
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    above
        .map(|folder| (folder, name.into_owned()))
        .ok_or_else(|| {
            let shown = directory.display();
            Error::engine(format!(
                "{shown} holds no instance of a server, which is made first"
            ))
        })
}

impl Service for Instance {
    fn users(&self) -> &'static [&'static str] {
        &["postgres"]
    }

    fn make(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        let mut initdb = bare(&install::initdb(&self.server)?);
        initdb.arg("-D").arg(spec.directory.join(DATA)).args([
            "-U",
            "postgres",
            "-A",
            "trust",
            "--no-locale",
            "-E",
            "UTF8",
        ]);
        let knobs = PostgresqlKnobs::from(spec.knobs);
        initdb.arg(format!("--wal-segsize={}", knobs.wal_segment_size));
        if let Some(name) = knobs.log_directory.subfolder() {
            // A file system mounted there may contain a folder already.
            initdb.arg("-X").arg(spec.directory.join(name).join("wal"));
        }
        let mut done = Command::new("touch");
        done.arg(spec.directory.join(COMPLETE_MARKER));
        Ok(vec![initdb, done])
    }

    fn is_made(&self, spec: &OpenSpec<'_>) -> bool {
        spec.directory.join(COMPLETE_MARKER).exists()
    }

    fn command(&self, spec: &OpenSpec<'_>) -> Result<Command> {
        let mut command = bare(&self.server);
        command.arg("-D").arg(spec.directory.join(DATA));
        let mut set = |name: &str, value: &str| {
            command.arg("-c").arg(format!("{name}={value}"));
        };
        // Nobody reaches it but by a socket in its own folder, which no other user can enter.
        set("listen_addresses", "");
        set("unix_socket_directories", ".");
        set("port", "5432");
        set("logging_collector", "off");
        set("log_destination", "stderr");
        for (name, value) in knobs::settings(&spec.knobs.into(), spec.durability, spec.sessions)? {
            set(name, &value);
        }
        Ok(command)
    }

    fn is_ready(&self, spec: &OpenSpec<'_>) -> Result<bool> {
        let address = ServerAddress::private(spec.directory);
        match PostgresqlConnection::open_within(&address, READINESS_TIMEOUT) {
            Ok(connection) => {
                let version = connection.parameter("server_version").unwrap_or_default();
                install::check_version(version, "the private server").map(|_| true)
            }
            // What it lacks it may have a moment later; the caller knows when to give up.
            Err(_) => Ok(false),
        }
    }

    fn stop_signal(&self) -> Signal {
        Signal::Interrupt
    }

    fn death_signal(&self) -> Signal {
        // At once, and its shared memory with it.
        Signal::Quit
    }
}

/// The command for a program, without the environment variables that would change its behavior.
pub(super) fn bare(program: &Path) -> Command {
    let mut command = Command::new(program);
    for variable in [
        "PGDATA",
        "PGPORT",
        "PGOPTIONS",
        "PG_COLOR",
        "LC_ALL",
        "LANG",
    ] {
        command.env_remove(variable);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_below_an_instance_is_a_database_of_its_own_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let check = folder.path().join("check-07");
        assert!(of(&check).is_err());
        std::fs::write(folder.path().join(COMPLETE_MARKER), "").unwrap();
        assert_eq!(of(&check), Ok((folder.path(), "check-07".to_owned())));
        assert_eq!(of(folder.path()), Ok((folder.path(), "trueput".to_owned())));
    }
}
