//! A node: a server that leads or follows, how it is made, started, asked and promoted.

use crate::postgresql::address::{PORT, ServerAddress};
use crate::postgresql::cluster_knobs::CommitWait;
use crate::postgresql::install;
use crate::postgresql::instance::{COMPLETE_MARKER, DATA, Instance, bare, remove_lock_file};
use crate::postgresql::promise_check::NeededOfServer;
use crate::postgresql::wire::PostgresqlConnection;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use trueput_engine::cluster::{ClusterSite, NodeRole, QUESTION_TIMEOUT, node_folder, node_name};
use trueput_engine::service::Signal;
use trueput_engine::{Error, OpenSpec, Result, Service, SettingContradiction};

/// The file that makes a server follow.
const STANDBY: &str = "standby.signal";

/// The lock file of a server's socket, which is in its data folder.
const SOCKET_LOCK: &str = ".s.PGSQL.5432.lock";

/// The log that a server keeps for followers that were away.
const KEPT_LOG: &str = "1GB";

/// The time that a node may take to answer what it is.
const ROLE_TIMEOUT: Duration = Duration::from_secs(1);

/// The time that a node may take to change whom it follows: it flushes a file of its settings.
const CHANGE_TIMEOUT: Duration = QUESTION_TIMEOUT;

/// The time in which a follower takes transactions once it is promoted, seconds.
const PROMOTION_LIMIT_S: u64 = 60;

/// A node's server.
pub(super) struct NodeServer {
    pub number: u32,
    pub site: ClusterSite,
    /// The server of the node alone.
    pub instance: Instance,
}

impl NodeServer {
    fn follows(&self) -> bool {
        self.number != self.site.leader
    }

    fn make_leader(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        let mut commands = self.instance.make(spec)?;
        if self.site.addresses.is_some() {
            // Only the cluster's own network reaches the address on which it listens.
            let access = spec.directory.join(DATA).join("pg_hba.conf");
            let mut grant = Command::new("sh");
            let line = "host all,replication all samenet trust";
            grant
                .args(["-c", &format!("echo '{line}' >> \"$0\"")])
                .arg(access);
            commands.insert(1, grant);
        }
        Ok(commands)
    }

    fn make_follower(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        let data = spec.directory.join(DATA);
        let mut copy = bare(&install::tool(
            &self.instance.server,
            "pg_basebackup",
            "copy a leader",
        )?);
        copy.args(["-h", &host(&self.site, self.site.leader)])
            .args([
                "-p",
                &PORT.to_string(),
                "-U",
                "postgres",
                "-c",
                "fast",
                "-X",
                "stream",
            ])
            .arg("-D")
            .arg(&data);
        let mut unlock = Command::new("rm");
        unlock.arg("-f").arg(data.join(SOCKET_LOCK));
        let mut done = Command::new("touch");
        done.arg(data.join(STANDBY))
            .arg(spec.directory.join(COMPLETE_MARKER));
        Ok(vec![copy, unlock, done])
    }
}

impl Service for NodeServer {
    fn users(&self) -> &'static [&'static str] {
        self.instance.users()
    }

    fn make(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        if self.follows() {
            self.make_follower(spec)
        } else {
            self.make_leader(spec)
        }
    }

    fn is_made(&self, spec: &OpenSpec<'_>) -> bool {
        self.instance.is_made(spec)
    }

    fn command(&self, spec: &OpenSpec<'_>) -> Result<Command> {
        let mut command = self.instance.command(spec)?;
        let address = self.site.address(self.number);
        let address = address.map(|address| address.to_string());
        for (setting, value) in [
            ("listen_addresses", address.unwrap_or_default()),
            ("cluster_name", node_name(self.number)),
            (
                "synchronous_standby_names",
                CommitWait::of(spec.knobs, spec.durability)?.standby_names(),
            ),
            // Sessions of a workload set what their commits wait for; the host's own do not wait.
            ("synchronous_commit", "local".to_owned()),
            ("wal_keep_size", KEPT_LOG.to_owned()),
            ("max_wal_senders", (2 * self.site.nodes).to_string()),
        ] {
            command.arg("-c").arg(format!("{setting}={value}"));
        }
        Ok(command)
    }

    fn is_ready(&self, spec: &OpenSpec<'_>) -> Result<bool> {
        if !self.follows() {
            return self.instance.is_ready(spec);
        }
        // One that starts lets nobody in.
        let Ok(mut connection) = connect(&self.site, self.number, CHANGE_TIMEOUT) else {
            return Ok(false);
        };
        match receives(&mut connection, &self.site, self.number) {
            Err(error) if error.is_disconnection() => Ok(false),
            receives => receives,
        }
    }

    fn stop_signal(&self) -> Signal {
        self.instance.stop_signal()
    }

    fn death_signal(&self) -> Signal {
        self.instance.death_signal()
    }
}

/// Returns the role of a running node.
pub(super) fn role(site: &ClusterSite, number: u32) -> Result<NodeRole> {
    let mut connection = connect(site, number, ROLE_TIMEOUT)?;
    if first(&mut connection, "SELECT pg_is_in_recovery()")? == "f" {
        return Ok(NodeRole::Leader);
    }
    let received = "SELECT greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'";
    let received = first(&mut connection, received)?;
    Ok(NodeRole::Follower {
        received: received.parse().unwrap_or_default(),
    })
}

/// Asks a running node for settings that contradict the promise.
pub(super) fn contradictions(
    site: &ClusterSite,
    number: u32,
    spec: &OpenSpec<'_>,
) -> Result<Vec<SettingContradiction>> {
    let mut connection = connect(site, number, CHANGE_TIMEOUT)?;
    NeededOfServer::node(spec)?.check(&format!("node {number}"), &mut connection)
}

/// Makes a follower the leader.
pub(super) fn promote(site: &ClusterSite, number: u32) -> Result<()> {
    let limit = Duration::from_secs(PROMOTION_LIMIT_S);
    let mut connection = connect(site, number, limit + CHANGE_TIMEOUT)?;
    let promote = format!("SELECT pg_promote(true, {PROMOTION_LIMIT_S})");
    match first(&mut connection, &promote)?.as_str() {
        "t" => Ok(()),
        _ => Err(Error::engine(format!(
            "it does not take transactions within {PROMOTION_LIMIT_S} s"
        ))),
    }
}

/// Has a node follow a leader.
pub(super) fn follow(site: &ClusterSite, number: u32, leader: u32) -> Result<()> {
    let mut connection = connect(site, number, CHANGE_TIMEOUT)?;
    set_leader(&mut connection, site, number, leader)
}

/// Has a node follow the leader of the cluster, and returns whether it receives from it.
fn receives(
    connection: &mut PostgresqlConnection,
    site: &ClusterSite,
    number: u32,
) -> Result<bool> {
    set_leader(connection, site, number, site.leader)?;
    let receiver = "SELECT status FROM pg_stat_wal_receiver";
    Ok(first(connection, receiver)? == "streaming")
}

/// Sets which node a node follows, if it does not follow that one already.
fn set_leader(
    connection: &mut PostgresqlConnection,
    site: &ClusterSite,
    number: u32,
    leader: u32,
) -> Result<()> {
    let (host, own_name) = (host(site, leader), node_name(number));
    let wanted = format!("host={host} port={PORT} user=postgres application_name={own_name}");
    if connection.setting("primary_conninfo")? != wanted {
        let set = format!("ALTER SYSTEM SET primary_conninfo = '{wanted}'");
        connection.simple(&set, &mut |_, _| ())?;
        first(connection, "SELECT pg_reload_conf()")?;
    }
    Ok(())
}

/// Returns the host by which nodes reach a node.
fn host(site: &ClusterSite, number: u32) -> String {
    site.host(number, &site.folder(number).join(DATA))
}

/// Connects to a node, which may take that long for each answer.
fn connect(site: &ClusterSite, number: u32, limit: Duration) -> Result<PostgresqlConnection> {
    PostgresqlConnection::open_within(&ServerAddress::private(&site.folder(number)), limit)
}

/// Returns the first field that a statement returns, as text; empty if there is none.
fn first(connection: &mut PostgresqlConnection, statement: &str) -> Result<String> {
    let mut found = None;
    connection.simple(statement, &mut |_, text| {
        found.get_or_insert_with(|| text.to_owned());
    })?;
    Ok(found.unwrap_or_default())
}

/// Removes what keeps the servers of a cluster from starting after lost power.
pub(super) fn remove_lock_files(cluster: &Path, nodes: u32) -> Result<()> {
    (1..=nodes).try_for_each(|number| remove_lock_file(&node_folder(cluster, number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_node_that_does_not_answer_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let site = ClusterSite {
            directory: folder.path().to_owned(),
            addresses: None,
            nodes: 3,
            leader: 1,
        };
        let data = site.folder(2).join(DATA);
        std::fs::create_dir_all(&data).unwrap();
        let _silent = UnixListener::bind(data.join(".s.PGSQL.5432")).unwrap();
        let error = role(&site, 2).unwrap_err();
        assert!(error.is_disconnection(), "{error}");
    }
}
