//! Engines that are clusters: several servers that replicate to each other, of which some may fail.
//!
//! A driver describes the nodes ([`Cluster`]). One process of this program hosts them
//! ([`ClusterService`]): to everything that starts, stops or kills a server, a cluster is one.

use crate::parameter::ParameterValues;
use crate::service::Signal;
use crate::unix_socket::{CONNECT_TIMEOUT, connect_within};
use crate::{Durability, Error, OpenSpec, Result, Service, SettingContradiction, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The hidden command that hosts the nodes of a cluster.
pub const HOST_COMMAND: &str = "cluster-host";

/// The file in a cluster's folder that says which node leads.
const STATE: &str = "cluster.json";

/// The socket in a cluster's folder by which its host takes orders.
const CONTROL: &str = "control";

/// The time that a node which came back has for what it missed before its cluster is stopped.
pub const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that a node may take to say what it runs with: after it was started or promoted, and
/// before its cluster is stopped.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// The time by which the answer to one question may exceed these: each driver's own timeout.
pub const QUESTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Questions that may be under way when a timeout ends: one about the promise when the cluster is
/// asked to stop, one about what a node missed, and the last one about the promise.
const LAST_QUESTIONS: u32 = 3;

/// The nodes of a cluster, as its driver describes them.
pub trait Cluster: Send + Sync {
    /// Returns the number of nodes.
    fn nodes(&self, knobs: &ParameterValues) -> u32;

    /// Returns the service of a node. Its folder is [`ClusterSite::folder`].
    fn node(&self, number: u32, site: &ClusterSite) -> Box<dyn Service>;

    /// Returns the role of a running node.
    ///
    /// # Errors
    /// If it does not answer.
    fn role(&self, number: u32, site: &ClusterSite) -> Result<NodeRole>;

    /// Returns whether the nodes themselves replace a leader that fails. Their host then promotes
    /// and kills none, and makes none anew: it lets sessions use a node that says that it leads. A
    /// node must be ready before the others run.
    fn elects_leader(&self) -> bool {
        false
    }

    /// Returns the order in which to start nodes that do not run. `spec` is that of the cluster;
    /// `recover` executes [`Service::recover`] of a node that does not run.
    ///
    /// # Errors
    /// One line, if the cluster cannot go on with these nodes; those of `recover`.
    fn start_order(
        &self,
        numbers: &[u32],
        site: &ClusterSite,
        _spec: &OpenSpec<'_>,
        _recover: &mut dyn FnMut(u32) -> Result<()>,
    ) -> Result<Vec<u32>> {
        let mut order = numbers.to_vec();
        order.sort_by_key(|number| (*number != site.leader, *number));
        Ok(order)
    }

    /// Makes a follower the leader. It is called only if the nodes do not do so themselves.
    ///
    /// # Errors
    /// The errors of the engine.
    fn promote(&self, number: u32, _site: &ClusterSite) -> Result<()> {
        Err(Error::Unsupported(format!(
            "node {number} is not promoted: the nodes choose their leader"
        )))
    }

    /// Returns the settings with which a running node runs and that contradict the promise of the
    /// level. The host asks each node after it was started or promoted, and before it is stopped.
    ///
    /// # Errors
    /// If it does not answer.
    fn contradictions(
        &self,
        number: u32,
        site: &ClusterSite,
        spec: &OpenSpec<'_>,
    ) -> Result<Vec<SettingContradiction>>;

    /// Makes a node follow a leader that was promoted.
    ///
    /// # Errors
    /// The errors of the engine.
    fn follow(&self, number: u32, _leader: u32, _site: &ClusterSite) -> Result<()> {
        Err(Error::Unsupported(format!(
            "node {number} follows whom it chooses"
        )))
    }

    /// Returns the time without an answer of the leader after which another node is promoted, or
    /// used if it says that it leads, milliseconds.
    fn failover_after_ms(&self, knobs: &ParameterValues) -> u64;

    /// Returns the delay and the loss of the network between the nodes.
    fn network(&self, knobs: &ParameterValues) -> NetworkQuality;
}

/// The quality of the network between nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetworkQuality {
    /// The delay that is added to each packet, microseconds.
    pub delay_us: u64,
    /// The packets that are lost, of 1,000,000.
    pub lost_per_million: u64,
}

impl NetworkQuality {
    /// The quality with this delay, and this part of the packets lost.
    #[must_use]
    pub fn new(delay_us: u64, lost_part: f64) -> Self {
        Self {
            delay_us,
            lost_per_million: (lost_part * 1e6).round() as u64,
        }
    }
}

/// The role of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeRole {
    /// It commits transactions.
    Leader,
    /// It follows a leader.
    Follower {
        /// The position in the log up to which it has received the leader's transactions.
        received: u64,
    },
}

/// The folder and the network of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterSite {
    /// The folder of the cluster.
    pub directory: PathBuf,
    /// The addresses of the nodes, which only they can reach; `None` if they reach each other by
    /// sockets in their folders.
    pub addresses: Option<Vec<Ipv4Addr>>,
    /// The number of nodes.
    pub nodes: u32,
    /// The node that leads when the cluster is started.
    pub leader: u32,
}

impl ClusterSite {
    /// Returns the folder of a node. Nodes are numbered from 1 on.
    #[must_use]
    pub fn folder(&self, number: u32) -> PathBuf {
        node_folder(&self.directory, number)
    }

    /// Returns the host by which the nodes reach a node: its address, or the folder of its socket.
    #[must_use]
    pub fn host(&self, number: u32, socket_folder: &Path) -> String {
        match self.address(number) {
            Some(address) => address.to_string(),
            None => socket_folder.display().to_string(),
        }
    }

    /// Returns the address of a node, if the nodes have a network of their own.
    #[must_use]
    pub fn address(&self, number: u32) -> Option<Ipv4Addr> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        self.addresses.as_ref()?.get(index).copied()
    }
}

/// Returns the name of a node.
#[must_use]
pub fn node_name(number: u32) -> String {
    format!("node-{number}")
}

/// Returns the folder of a node in that of its cluster.
#[must_use]
pub fn node_folder(cluster: &Path, number: u32) -> PathBuf {
    cluster.join(node_name(number))
}

/// The state of a cluster, in a file of its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterState {
    /// The number of nodes.
    pub nodes: u32,
    /// The node that commits transactions; `None` while there is none.
    pub leader: Option<u32>,
    /// The node that led last.
    pub last_leader: u32,
    /// Nodes that missed a promotion: they are made anew before they follow.
    #[serde(default, alias = "outdated")]
    pub stale_nodes: Vec<u32>,
}

impl ClusterState {
    /// Reads the state of the cluster in a folder.
    ///
    /// # Errors
    /// [`Error::Engine`] if there is no cluster, or its state cannot be read.
    pub fn read(cluster: &Path) -> Result<Self> {
        let path = cluster.join(STATE);
        let failed = |error: std::io::Error| Error::engine(format!("{}: {error}", path.display()));
        let text = std::fs::read(&path).map_err(failed)?;
        serde_json::from_slice(&text).map_err(|error| failed(error.into()))
    }

    /// Writes the state, so that a reader sees all of it or the one before.
    ///
    /// # Errors
    /// The file system's own.
    pub fn write(&self, cluster: &Path) -> std::io::Result<()> {
        let partial = cluster.join("cluster.json.partial");
        let mut file = File::create(&partial)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        // A power cut leaves one state or the other, and not an empty file.
        file.sync_all()?;
        std::fs::rename(partial, cluster.join(STATE))
    }

    /// Returns whether a folder has the state of a cluster.
    #[must_use]
    pub fn is_in(cluster: &Path) -> bool {
        cluster.join(STATE).exists()
    }

    /// Returns the folder of the cluster in which a folder is a database: that folder itself, or
    /// the one above it. Then the name of the folder is that of the database.
    #[must_use]
    pub fn find(database: &Path) -> Option<(&Path, Option<String>)> {
        if Self::is_in(database) {
            return Some((database, None));
        }
        let cluster = database.parent().filter(|folder| Self::is_in(folder))?;
        let name = database.file_name()?.to_string_lossy().into_owned();
        Some((cluster, Some(name)))
    }

    /// Returns the folder of the leader.
    ///
    /// # Errors
    /// [`Error::Disconnected`] while there is none.
    pub fn leader_folder(&self, cluster: &Path) -> Result<PathBuf> {
        let leader = self.leader.ok_or_else(|| {
            Error::Disconnected("no node of the cluster leads at the moment".to_owned())
        })?;
        Ok(node_folder(cluster, leader))
    }
}

/// Connects to the host of the cluster in a folder.
///
/// # Errors
/// The system's own: nobody listens, or accepts in [`CONNECT_TIMEOUT`].
pub fn connect_to_host(cluster: &Path) -> std::io::Result<UnixStream> {
    let folder = File::open(cluster)?;
    connect_within(&socket_in(&folder), CONNECT_TIMEOUT)
}

/// Listens as the host of the cluster in a folder, in the place of one that has ended.
///
/// # Errors
/// The file system's own.
pub fn listen_as_host(cluster: &Path) -> std::io::Result<UnixListener> {
    let folder = File::open(cluster)?;
    let socket = socket_in(&folder);
    // What a killed host left.
    let _ = std::fs::remove_file(&socket);
    UnixListener::bind(socket)
}

/// Returns a short path of the socket: that of a socket has 107 bytes at most (unix(7)).
fn socket_in(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{CONTROL}", folder.as_raw_fd()))
}

/// The assignment of a cluster's host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClusterAssignment {
    /// The engine's name.
    pub engine: String,
    /// The library or program to use in place of the default build.
    pub library: Option<PathBuf>,
    /// The folder of the cluster.
    pub directory: PathBuf,
    /// The durability level of its nodes.
    pub durability: Durability,
    /// The engine's knobs, every one.
    pub knobs: BTreeMap<String, Value>,
    /// The most sessions of each process.
    pub sessions: u32,
}

/// The service that a cluster is: the process that hosts its nodes.
pub struct ClusterService {
    /// The engine's name.
    pub engine: &'static str,
    /// The library or program to use in place of the default build.
    pub library: Option<PathBuf>,
}

impl Service for ClusterService {
    fn users(&self) -> &'static [&'static str] {
        &[]
    }

    fn runs_as_root(&self) -> bool {
        true
    }

    fn make(&self, _spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        Ok(Vec::new())
    }

    fn is_made(&self, spec: &OpenSpec<'_>) -> bool {
        node_folder(spec.directory, 1).exists()
    }

    fn command(&self, spec: &OpenSpec<'_>) -> Result<Command> {
        let program = std::env::current_exe().map_err(Error::engine)?;
        let assignment = ClusterAssignment {
            engine: self.engine.to_owned(),
            library: self.library.clone(),
            directory: spec.directory.to_owned(),
            durability: spec.durability,
            knobs: spec.knobs.as_settings().clone(),
            sessions: spec.sessions,
        };
        let text = serde_json::to_string(&assignment).map_err(Error::engine)?;
        let mut command = Command::new(program);
        command.arg(HOST_COMMAND).arg(text);
        Ok(command)
    }

    /// Its host listens for orders once every node answers.
    fn is_ready(&self, spec: &OpenSpec<'_>) -> Result<bool> {
        Ok(connect_to_host(spec.directory).is_ok())
    }

    fn stop_signal(&self) -> Signal {
        Signal::Terminate
    }

    fn stop_delay(&self) -> Duration {
        CATCH_UP_TIMEOUT + ANSWER_TIMEOUT + LAST_QUESTIONS * QUESTION_TIMEOUT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_back_and_tells_the_folder_of_its_leader() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ClusterState::find(folder.path()), None);
        let mut state = ClusterState {
            nodes: 3,
            leader: Some(2),
            last_leader: 2,
            stale_nodes: vec![1],
        };
        state.write(folder.path()).unwrap();
        let read = ClusterState::read(folder.path()).unwrap();
        assert_eq!(read, state);
        assert_eq!(
            ClusterState::find(folder.path()),
            Some((folder.path(), None))
        );
        let below = folder.path().join("check-07");
        let name = Some("check-07".to_owned());
        assert_eq!(ClusterState::find(&below), Some((folder.path(), name)));
        assert_eq!(ClusterState::find(&below.join("deeper")), None);
        let leader = read.leader_folder(folder.path()).unwrap();
        assert_eq!(leader, folder.path().join("node-2"));
        state.leader = None;
        let error = state.leader_folder(folder.path()).unwrap_err();
        assert!(matches!(error, Error::Disconnected(_)), "{error}");
    }

    #[test]
    fn stale_nodes_are_read_by_their_former_name() {
        let folder = tempfile::tempdir().unwrap();
        let former = r#"{"nodes":3,"leader":2,"last_leader":2,"outdated":[1]}"#;
        std::fs::write(folder.path().join(STATE), former).unwrap();
        let read = ClusterState::read(folder.path()).unwrap();
        assert_eq!(read.stale_nodes, [1]);
    }

    #[test]
    fn a_part_of_lost_packets_is_kept_to_a_millionth() {
        assert_eq!(NetworkQuality::new(7, 0.0004).lost_per_million, 400);
        assert_eq!(NetworkQuality::new(0, 0.5).lost_per_million, 500_000);
        assert_eq!(NetworkQuality::new(0, 0.0), NetworkQuality::default());
    }
}
