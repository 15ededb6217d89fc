//! A node of a private cluster: how it is made, started and asked.

use super::address::{CLIENT_SOCKET, ServerAddress, socket_in};
use super::connection::EtcdConnection;
use super::knobs::{self, EtcdKnobs};
use super::message::{self, StatusResponse};
use super::promise_check;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use trueput_engine::cluster::{ClusterSite, NetworkQuality, NodeRole, node_name};
use trueput_engine::service::Signal;
use trueput_engine::unix_socket::{CONNECT_TIMEOUT, connect_within};
use trueput_engine::{
    Cluster, Error, OpenSpec, ParameterValues, Result, Service, SettingContradiction,
};

/// The file that marks a node as complete.
const COMPLETE_MARKER: &str = "instance";

/// The port by which nodes with addresses reach each other.
const PEER_PORT: u16 = 2380;

/// Starts a program in place of a shell, without the sockets that a killed one has left: etcd does
/// not replace them. The first is the name of the script.
const WITHOUT_OLD_SOCKETS: &str = r#"rm -f "$0" "$1" && shift && exec "$@""#;

/// The time that a node may take to tell its role.
const ROLE_TIMEOUT: Duration = Duration::from_millis(500);

/// The nodes of a cluster.
pub(super) struct EtcdNodes {
    /// The program.
    pub program: PathBuf,
}

impl Cluster for EtcdNodes {
    fn nodes(&self, knobs: &ParameterValues) -> u32 {
        knobs::node_count(&knobs.into())
    }

    fn node(&self, number: u32, site: &ClusterSite) -> Box<dyn Service> {
        Box::new(EtcdNode {
            number,
            site: site.clone(),
            program: self.program.clone(),
        })
    }

    fn role(&self, number: u32, site: &ClusterSite) -> Result<NodeRole> {
        let address = ServerAddress::private(&site.folder(number));
        let mut connection = EtcdConnection::open(&address, ROLE_TIMEOUT)?;
        let status: StatusResponse = connection.call(message::STATUS, &message::Empty {})?;
        let own = status.header.map(|header| header.member_id);
        Ok(if own == Some(status.leader) {
            NodeRole::Leader
        } else {
            NodeRole::Follower {
                received: status.raft_index,
            }
        })
    }

    fn contradictions(
        &self,
        number: u32,
        site: &ClusterSite,
        spec: &OpenSpec<'_>,
    ) -> Result<Vec<SettingContradiction>> {
        let name = format!("node {number}");
        promise_check::check_node(&site.folder(number), &name, spec.durability)
    }

    fn elects_leader(&self) -> bool {
        true
    }

    /// A leader without a majority resigns after an election's time.
    fn failover_after_ms(&self, knobs: &ParameterValues) -> u64 {
        EtcdKnobs::from(knobs).election_timeout
    }

    fn network(&self, knobs: &ParameterValues) -> NetworkQuality {
        let knobs = EtcdKnobs::from(knobs);
        NetworkQuality::new(knobs.network_delay, knobs.network_loss)
    }
}

/// A node.
struct EtcdNode {
    number: u32,
    site: ClusterSite,
    program: PathBuf,
}

impl EtcdNode {
    /// Returns the URL by which the nodes reach a node: its address, or a socket in the folder in
    /// which the program runs.
    fn peer_url(&self, number: u32) -> String {
        match self.site.address(number) {
            Some(address) => format!("http://{address}:{PEER_PORT}"),
            None => format!("unix://{}", peer_socket(number)),
        }
    }

    fn others(&self) -> impl Iterator<Item = u32> {
        (1..=self.site.nodes).filter(|number| *number != self.number)
    }
}

fn peer_socket(number: u32) -> String {
    format!("peer-{number}:0")
}

impl Service for EtcdNode {
    fn users(&self) -> &'static [&'static str] {
        &["etcd"]
    }

    /// Without addresses a node reaches the sockets of the others by links in its own folder: the
    /// URL of a socket has no folders.
    fn make(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        let mut commands = Vec::new();
        if self.site.addresses.is_none() {
            for number in self.others() {
                let socket = peer_socket(number);
                let mut link = Command::new("ln");
                link.arg("-sf")
                    .arg(self.site.folder(number).join(&socket))
                    .arg(spec.directory.join(socket));
                commands.push(link);
            }
        }
        let mut done = Command::new("touch");
        done.arg(spec.directory.join(COMPLETE_MARKER));
        commands.push(done);
        Ok(commands)
    }

    fn is_made(&self, spec: &OpenSpec<'_>) -> bool {
        spec.directory.join(COMPLETE_MARKER).exists()
    }

    /// A node that has its data takes its place in the cluster again: `--initial-cluster` is for a
    /// new one.
    fn command(&self, spec: &OpenSpec<'_>) -> Result<Command> {
        knobs::check(spec.durability, spec.knobs)?;
        let mut command = Command::new("sh");
        command.args(["-c", WITHOUT_OLD_SOCKETS, CLIENT_SOCKET]);
        command.arg(peer_socket(self.number)).arg(&self.program);
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("ETCD_") {
                command.env_remove(variable);
            }
        }
        let members: Vec<String> = (1..=self.site.nodes)
            .map(|number| format!("{}={}", node_name(number), self.peer_url(number)))
            .collect();
        let own_peer = self.peer_url(self.number);
        // Clients reach it only by the socket in its folder, which takes its owner and root.
        let own_client = format!("unix://{CLIENT_SOCKET}");
        for (option, value) in [
            ("name", node_name(self.number)),
            ("data-dir", "data".to_owned()),
            ("listen-client-urls", own_client.clone()),
            ("advertise-client-urls", own_client),
            ("listen-peer-urls", own_peer.clone()),
            ("initial-advertise-peer-urls", own_peer),
            ("initial-cluster", members.join(",")),
            ("initial-cluster-token", "trueput".to_owned()),
            ("logger", "zap".to_owned()),
            ("log-outputs", "stderr".to_owned()),
        ] {
            command.arg(format!("--{option}={value}"));
        }
        command.args(knobs::options(&spec.knobs.into(), spec.durability));
        Ok(command)
    }

    /// Once it listens. It answers clients only when a majority of the nodes has started.
    fn is_ready(&self, spec: &OpenSpec<'_>) -> Result<bool> {
        let folder = File::open(spec.directory).map_err(Error::engine)?;
        let socket = socket_in(&folder);
        Ok(connect_within(&socket, CONNECT_TIMEOUT).is_ok())
    }

    fn stop_signal(&self) -> Signal {
        Signal::Terminate
    }

    /// It sends the signal to itself at the end.
    fn ends_by_stop_signal(&self) -> bool {
        true
    }
}
