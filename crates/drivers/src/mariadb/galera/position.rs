//! The position of a node in the order of transactions, as its files have it.

use crate::mariadb::socket::DATA;
use std::path::{Path, PathBuf};
use std::process::Command;
use trueput_engine::{Error, Result};

/// The file in which Galera keeps a node's position; after a crash it has none.
const STATE: &str = "grastate.dat";

/// The file for what a server says when it recovers its files.
const RECOVERY: &str = "recovery.log";

/// The name of a cluster's history when a node has none.
const NO_HISTORY: &str = "00000000-0000-0000-0000-000000000000";

/// A position: the history of a cluster, and the number of its last transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub history: String,
    pub number: i64,
}

/// What a node's file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SavedState {
    pub position: Position,
    /// Whether it left the cluster last.
    pub may_bootstrap: bool,
}

impl Position {
    /// Reads `HISTORY:NUMBER`.
    fn parse(text: &str) -> Option<Self> {
        let (history, number) = text.trim().rsplit_once(':')?;
        Some(Self {
            history: history.to_owned(),
            number: number.parse().ok()?,
        })
    }

    /// Whether the node has the data of a cluster.
    pub fn is_known(&self) -> bool {
        ![NO_HISTORY, ""].contains(&self.history.as_str())
    }
}

impl SavedState {
    fn is_lost(&self) -> bool {
        self.position.is_known() && self.position.number < 0
    }
}

fn state_file(node: &Path) -> PathBuf {
    node.join(DATA).join(STATE)
}

/// Reads the state of the node in a folder; `None` if it was never started.
///
/// # Errors
/// The file cannot be read, or is not Galera's.
pub(super) fn saved(node: &Path) -> Result<Option<SavedState>> {
    let path = state_file(node);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::engine(format!("{}: {error}", path.display()))),
    };
    let state = parse_state(&text);
    let strange = || Error::engine(format!("{}: not a state of Galera", path.display()));
    Ok(Some(state.ok_or_else(strange)?))
}

fn parse_state(text: &str) -> Option<SavedState> {
    let value = |name: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
    };
    Some(SavedState {
        position: Position {
            history: value("uuid")?.to_owned(),
            number: value("seqno")?.parse().ok()?,
        },
        may_bootstrap: value("safe_to_bootstrap")? == "1",
    })
}

/// Allows a node to start the cluster, or only to join it.
///
/// # Errors
/// The file system's own.
pub(super) fn allow_bootstrap(node: &Path, is_allowed: bool) -> Result<()> {
    let path = state_file(node);
    let failed = |error: std::io::Error| Error::engine(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(&path).map_err(failed)?;
    let wanted = format!("safe_to_bootstrap: {}", u8::from(is_allowed));
    let lines = text.lines().map(|line| {
        if line.starts_with("safe_to_bootstrap:") {
            wanted.as_str()
        } else {
            line
        }
    });
    let changed: Vec<&str> = lines.collect();
    std::fs::write(&path, changed.join("\n") + "\n").map_err(failed)
}

/// Returns whether the node in a folder has data and its file does not say where its transactions
/// end: its server did not stop in good order.
///
/// # Errors
/// As [`saved`].
pub(super) fn is_lost(node: &Path) -> Result<bool> {
    Ok(saved(node)?.is_some_and(|saved| saved.is_lost()))
}

/// Returns the command by which a server recovers the files of a node and says its position, made
/// from the command that starts it.
pub(super) fn recovery(node: &Path, server: &Command) -> Command {
    let mut command = Command::new("sh");
    // The server takes the place of the shell.
    command
        .args(["-c", r#"exec "$@" 2>"$0""#])
        .arg(node.join(RECOVERY));
    command.arg(server.get_program()).args(server.get_args());
    command.arg("--wsrep-recover");
    command
}

/// Returns the position of a node that does not run and was recovered if its own was lost; `None`
/// if it has no data.
///
/// # Errors
/// Its server has not said the position.
pub(super) fn of_stopped(node: &Path) -> Result<Option<Position>> {
    let Some(saved) = saved(node)? else {
        return Ok(None);
    };
    let position = if saved.is_lost() {
        recovered(node)?
    } else {
        saved.position
    };
    Ok(Some(position).filter(Position::is_known))
}

/// Reads the position that the server said when it recovered the files of a node.
fn recovered(node: &Path) -> Result<Position> {
    let path = node.join(RECOVERY);
    let failed = |reason: &dyn std::fmt::Display| {
        Error::engine(format!("the position in {}: {reason}", path.display()))
    };
    let text = std::fs::read(&path).map_err(|error| failed(&error))?;
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().rev();
    let position = lines.find_map(|line| line.split_once("Recovered position:"));
    position
        .and_then(|(_, position)| Position::parse(position))
        .ok_or_else(
            || match text.lines().find(|line| line.contains("[ERROR]")) {
                Some(line) => failed(&line),
                None => failed(&"the server does not say it"),
            },
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTORY: &str = "c4cc23c8-e8e8-11f1-b07b-4ac89b817ee9";

    #[test]
    fn the_state_of_galera_is_read_and_a_bootstrap_allowed() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(saved(folder.path()), Ok(None));
        std::fs::create_dir(folder.path().join(DATA)).unwrap();
        let text = format!(
            "# GALERA saved state\nversion: 2.1\nuuid:    {HISTORY}\nseqno:   17\n\
             safe_to_bootstrap: 0\n"
        );
        std::fs::write(state_file(folder.path()), text).unwrap();
        let before = saved(folder.path()).unwrap().unwrap();
        assert_eq!(before.position.number, 17);
        assert!(before.position.is_known() && !before.may_bootstrap);
        allow_bootstrap(folder.path(), true).unwrap();
        let after = saved(folder.path()).unwrap().unwrap();
        assert_eq!(after.position, before.position);
        assert!(after.may_bootstrap);
        std::fs::write(state_file(folder.path()), "garbage").unwrap();
        assert!(saved(folder.path()).is_err());
    }

    #[test]
    fn a_node_that_crashed_has_the_position_that_its_server_recovered() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(DATA)).unwrap();
        assert_eq!(of_stopped(folder.path()), Ok(None));
        let save = |number: i64| {
            let text = format!("uuid: {HISTORY}\nseqno: {number}\nsafe_to_bootstrap: 0\n");
            std::fs::write(state_file(folder.path()), text).unwrap();
        };
        let number = || of_stopped(folder.path()).unwrap().unwrap().number;
        save(17);
        assert_eq!(is_lost(folder.path()), Ok(false));
        assert_eq!(number(), 17);
        save(-1);
        assert_eq!(is_lost(folder.path()), Ok(true));
        assert!(of_stopped(folder.path()).is_err());
        let mut server = Command::new("sh");
        let says = format!("echo '[Note] WSREP: Recovered position: {HISTORY}:23' >&2");
        server.args(["-c", &says]);
        let status = recovery(folder.path(), &server).status().unwrap();
        assert!(status.success());
        assert_eq!(number(), 23);
    }

    #[test]
    fn a_position_has_a_history_and_a_number() {
        let position = Position::parse(&format!(" {HISTORY}:7\n")).unwrap();
        assert_eq!((position.history.as_str(), position.number), (HISTORY, 7));
        assert!(
            !Position::parse(&format!("{NO_HISTORY}:-1"))
                .unwrap()
                .is_known()
        );
        assert_eq!(Position::parse("7"), None);
    }
}
