//! The position of a node in the order of transactions, as its files have it.

use crate::mariadb::socket::DATA;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use trueput_engine::{Error, Result};

/// The file in which Galera keeps a node's position; after a crash it has none.
const STATE: &str = "grastate.dat";

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
        self.history != NO_HISTORY
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
    let lines = text
        .lines()
        .map(|line| match line.starts_with("safe_to_bootstrap:") {
            true => wanted.as_str(),
            false => line,
        });
    let changed: Vec<&str> = lines.collect();
    std::fs::write(&path, changed.join("\n") + "\n").map_err(failed)
}

/// Returns the position of a node that does not run. After a crash the server recovers its files
/// and says it; `server` is its command.
///
/// # Errors
/// The server does not recover them.
pub(super) fn of_stopped(node: &Path, server: Command) -> Result<Option<Position>> {
    let Some(saved) = saved(node)? else {
        return Ok(None);
    };
    match saved.position.is_known() && saved.position.number < 0 {
        true => recover(node, server).map(Some),
        false => Ok(Some(saved.position)),
    }
}

fn recover(node: &Path, mut server: Command) -> Result<Position> {
    let shown = node.display();
    let failed = |why: &dyn std::fmt::Display| {
        Error::engine(format!("the position of the node in {shown}: {why}"))
    };
    // The server's own user: it may not be root.
    let owner = std::fs::metadata(node.join(DATA)).map_err(|error| failed(&error))?;
    let output = server
        .uid(owner.uid())
        .gid(owner.gid())
        .arg("--wsrep-recover")
        .output()
        .map_err(|error| failed(&error))?;
    let text = String::from_utf8_lossy(&output.stderr);
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
