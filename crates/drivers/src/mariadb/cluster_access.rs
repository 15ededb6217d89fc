//! The way to the nodes of a Galera cluster: to the node that all sessions use, or to each in turn.

use super::galera_knobs::{GaleraKnobs, Writers};
use super::socket::{DATA, SCHEMA, SocketFolder};
use mysql::Conn;
use mysql::prelude::Queryable;
use std::fs::OpenOptions;
use std::io::{Error as IoError, ErrorKind, Seek, Write};
use std::path::PathBuf;
use std::time::Duration;
use trueput_engine::OpenSpec;
use trueput_engine::cluster::{ClusterState, node_folder};

/// The file that has one byte for each session so far: sessions of several processes take turns.
const TURNS: &str = "sessions";

/// Waits until the node has applied what the cluster had committed: a session that comes from
/// another node sees what it saw there.
const CATCH_UP: &str = "SET SESSION wsrep_sync_wait=1; SELECT 1";

/// The nodes of a cluster, and the schema in them.
#[derive(Clone)]
pub(super) struct ClusterAccess {
    directory: PathBuf,
    schema: String,
    writers: Writers,
    answer_limit: Duration,
}

impl ClusterAccess {
    /// Returns that of the cluster that runs in the folder of `spec`, or in the folder above it:
    /// then it is another database of that cluster. `None` if none does.
    pub(super) fn of(spec: &OpenSpec<'_>) -> Option<Self> {
        let (directory, name) = ClusterState::find(spec.directory)?;
        let schema = name.map_or_else(|| SCHEMA.to_owned(), |name| schema_of(&name));
        let knobs = GaleraKnobs::from(spec.knobs);
        Some(Self {
            directory: directory.to_owned(),
            schema,
            writers: knobs.writers,
            answer_limit: knobs.answer_limit(),
        })
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// Returns the node that leads, if one does.
    pub(super) fn leader(&self) -> Option<u32> {
        self.state().ok()?.leader
    }

    /// Connects to the node that leads.
    pub(super) fn connect_to_leader(&self, schema: Option<&str>) -> mysql::Result<Conn> {
        let state = self.state()?;
        let leader = state.leader.ok_or_else(|| {
            let text = "no node of the cluster takes transactions at the moment";
            IoError::new(ErrorKind::NotConnected, text)
        })?;
        self.connect_to(leader, schema)
    }

    /// Connects for a session: to the node that leads, or to the next one that takes transactions.
    pub(super) fn connect_session(&self) -> mysql::Result<Conn> {
        let schema = Some(self.schema.as_str());
        if self.writers == Writers::One {
            return self.connect_to_leader(schema);
        }
        let nodes = self.state()?.nodes;
        let first = self.take_turn()?;
        let mut attempts = (0..nodes).map(|next| {
            let number = (first + u64::from(next)) % u64::from(nodes);
            self.connect_to(number as u32 + 1, schema)
        });
        let connected = attempts.find_map(Result::ok);
        connected.map_or_else(|| self.connect_to_leader(schema), Ok)
    }

    fn connect_to(&self, number: u32, schema: Option<&str>) -> mysql::Result<Conn> {
        let folder = SocketFolder::open(&node_folder(&self.directory, number).join(DATA))?;
        let limit = self.answer_limit;
        let mut connection = folder.log_in(schema, limit, Some(limit))?;
        connection.query_drop(CATCH_UP)?;
        Ok(connection)
    }

    /// Returns the number of sessions that were made before.
    fn take_turn(&self) -> std::io::Result<u64> {
        let path = self.directory.join(TURNS);
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        // The kernel appends the bytes of several processes one after the other (open(2)).
        file.write_all(b".")?;
        Ok(file.stream_position()?.saturating_sub(1))
    }

    fn state(&self) -> std::io::Result<ClusterState> {
        ClusterState::read(&self.directory).map_err(|error| IoError::other(error.to_string()))
    }
}

/// Returns the schema of a database in a folder of this name below the cluster's.
fn schema_of(name: &str) -> String {
    let name = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    format!("{SCHEMA}_{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_several_processes_take_turns() {
        let folder = tempfile::tempdir().unwrap();
        let access = || ClusterAccess {
            directory: folder.path().to_owned(),
            schema: SCHEMA.to_owned(),
            writers: Writers::All,
            answer_limit: Duration::from_secs(1),
        };
        let (one, other) = (access(), access());
        let turns = [&one, &other, &one].map(|access| access.take_turn().unwrap());
        assert_eq!(turns, [0, 1, 2]);
    }

    #[test]
    fn a_cluster_without_a_leader_is_a_lost_connection() {
        let folder = tempfile::tempdir().unwrap();
        let state = ClusterState {
            nodes: 3,
            leader: None,
            last_leader: 1,
            stale_nodes: Vec::new(),
        };
        state.write(folder.path()).unwrap();
        for writers in [Writers::One, Writers::All] {
            let access = ClusterAccess {
                directory: folder.path().to_owned(),
                schema: SCHEMA.to_owned(),
                writers,
                answer_limit: Duration::from_secs(1),
            };
            let failed = access.connect_session().err().unwrap();
            let error = crate::mariadb::connection::client_error(failed);
            assert!(error.is_disconnection(), "{error}");
        }
    }
}
