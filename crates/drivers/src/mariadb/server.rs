//! A trial's private server: its creation, start, queries and stop.

use super::server_access::{COMPLETE_MARKER, LOG};
use super::settings;
use super::socket::{DATA, SOCKET};
use super::{connection, server_access::ServerAccess};
use std::path::{Path, PathBuf};
use std::process::Command;
use trueput_engine::service::{Service, Signal};
use trueput_engine::{Error, OpenSpec, Result};

/// The paths at which packages install the server.
const STANDARD_PATHS: [&str; 6] = [
    "/usr/sbin/mariadbd",
    "/usr/local/sbin/mariadbd",
    "/usr/libexec/mariadbd",
    "/usr/bin/mariadbd",
    "/usr/local/mariadb/bin/mariadbd",
    "/usr/local/mysql/bin/mariadbd",
];

/// The servers on this machine.
pub(super) fn find_all() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in STANDARD_PATHS
        .iter()
        .filter_map(|path| Path::new(path).canonicalize().ok())
    {
        if path.is_file() && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// The version that a server's program states.
///
/// # Errors
/// One line: it cannot be executed, or is not MariaDB.
pub(super) fn version(program: &Path) -> Result<String> {
    let shown = program.display();
    let said = Command::new(program)
        .args(["--no-defaults", "--version"])
        .output()
        .map_err(|error| Error::engine(format!("cannot execute {shown}: {error}")))?;
    let said = String::from_utf8_lossy(&said.stdout);
    let version = said.split_once("Ver ").map(|(_, rest)| rest);
    let version = version.and_then(|rest| rest.split_whitespace().next());
    match version {
        Some(version) if version.contains("MariaDB") => Ok(version.to_owned()),
        _ => Err(Error::engine(format!(
            "{shown} is not a MariaDB server: name its mariadbd"
        ))),
    }
}

/// The oldest version that has all that the driver asks for.
const OLDEST: (u32, u32) = (10, 6);

/// Refuses a server that is not MariaDB, or is too old for the driver.
///
/// # Errors
/// One line with the version and the oldest supported one.
pub(super) fn check_version(version: &str) -> Result<()> {
    let mut numbers = version.split(['.', '-']).map(str::parse::<u32>);
    let number = match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor),
        _ => (0, 0),
    };
    if version.contains("MariaDB") && number >= OLDEST {
        return Ok(());
    }
    let (major, minor) = OLDEST;
    Err(Error::engine(format!(
        "the server is version {version}: this driver needs MariaDB {major}.{minor} or newer"
    )))
}

/// A MariaDB server by its program's file.
pub(super) struct PrivateServer {
    pub(super) program: PathBuf,
}

impl PrivateServer {
    /// The folder that holds `bin` or `sbin`, where messages and plugins are too; `None` if there
    /// are none, as for a program alone that starts a server elsewhere.
    fn base(&self) -> Option<&Path> {
        let base = self.program.parent().and_then(Path::parent)?;
        let shares = ["share/mysql", "share/mariadb", "share/english"];
        let has_messages = shares.iter().any(|share| base.join(share).is_dir());
        has_messages.then_some(base)
    }

    /// The script that makes an instance, which comes with the server.
    fn installer(&self) -> Result<PathBuf> {
        let base = self.base().unwrap_or(Path::new("/usr"));
        let beside = ["bin", "scripts"].map(|folder| base.join(folder).join("mariadb-install-db"));
        let usual = PathBuf::from("/usr/bin/mariadb-install-db");
        let mut candidates = beside.into_iter().chain([usual]);
        candidates.find(|path| path.is_file()).ok_or_else(|| {
            let shown = self.program.display();
            Error::missing(format!(
                "no mariadb-install-db near {shown}; Debian's package mariadb-server-core has \
                    it"
            ))
        })
    }

    fn base_option(&self) -> Option<String> {
        self.base()
            .map(|base| format!("--basedir={}", base.display()))
    }
}

impl Service for PrivateServer {
    fn users(&self) -> &'static [&'static str] {
        &["mysql", "nobody"]
    }

    fn make(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        settings::levels(spec.durability, spec.knobs)?;
        // Anybody who can reach the socket, which is in the data folder, is root of the server.
        let mut folders = Command::new("mkdir");
        folders
            .args(["-p", "-m", "700"])
            .args([DATA, LOG].map(|folder| spec.directory.join(folder)));
        let mut install = Command::new(self.installer()?);
        install
            .current_dir(spec.directory)
            .arg("--no-defaults")
            .args(self.base_option())
            // The script splits paths at spaces and quotes. The server, which it starts in this
            // folder, makes the first path absolute itself and then works in that folder.
            .arg(format!("--datadir=./{DATA}"))
            // A server that starts removes temporary tables from this folder, others' too.
            .arg("--tmpdir=.")
            // Root needs no password: no other user reaches the socket.
            .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
            .args(settings::innodb(&spec.knobs.into()));
        let mut made = Command::new("touch");
        made.arg(spec.directory.join(COMPLETE_MARKER));
        Ok(vec![folders, install, made])
    }

    fn is_made(&self, spec: &OpenSpec<'_>) -> bool {
        spec.directory.join(COMPLETE_MARKER).exists()
    }

    fn command(&self, spec: &OpenSpec<'_>) -> Result<Command> {
        let mut command = Command::new(&self.program);
        command
            .current_dir(spec.directory)
            .arg("--no-defaults")
            .args(self.base_option())
            .arg(format!("--datadir={}", spec.directory.join(DATA).display()))
            // Relative to the data folder, the server's working directory, so that no path is too
            // long.
            .args([
                format!("--socket={SOCKET}"),
                "--pid-file=server.pid".to_owned(),
            ])
            .args(["--tmpdir=.", "--skip-networking", "--skip-log-bin"])
            // The plan determines the initial buffer pool: the server would otherwise reload the
            // pages of the load while workers are measured.
            .args([
                "--innodb-buffer-pool-load-at-startup=0",
                "--innodb-buffer-pool-dump-at-shutdown=0",
            ])
            .args(settings::options(spec)?);
        Ok(command)
    }

    fn is_ready(&self, spec: &OpenSpec<'_>) -> Result<bool> {
        let Some(server_access) = ServerAccess::private(spec.directory) else {
            return Ok(false);
        };
        match server_access.connect(None) {
            Ok(_) => Ok(true),
            Err(error) if connection::is_refusal(&error) => Err(connection::client_error(error)),
            Err(_) => Ok(false),
        }
    }

    fn stop_signal(&self) -> Signal {
        Signal::Terminate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_too_old_or_no_mariadb_is_refused() {
        assert_eq!(check_version("10.11.19-MariaDB-0+deb12u1"), Ok(()));
        assert_eq!(check_version("11.8.2-MariaDB"), Ok(()));
        for old in ["10.3.39-MariaDB", "8.0.36", "garbage"] {
            let reason = check_version(old).unwrap_err().to_string();
            assert!(reason.contains(old) && reason.contains("10.6"), "{reason}");
        }
    }

    #[test]
    fn what_is_no_server_is_said_to_be_none() {
        let reason = version(Path::new("/bin/true")).unwrap_err().to_string();
        assert!(reason.contains("is not a MariaDB server"), "{reason}");
    }
}
