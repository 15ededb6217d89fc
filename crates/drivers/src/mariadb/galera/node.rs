//! A node: how its server is made, started and asked, and which node starts the cluster.

use super::position::{self, Position};
use crate::mariadb::connection::client_error;
use crate::mariadb::galera_knobs::{self, GaleraKnobs};
use crate::mariadb::promise_check::{self, ServerKind};
use crate::mariadb::server::PrivateServer;
use crate::mariadb::server_access::COMPLETE_MARKER;
use crate::mariadb::socket::{DATA, SocketFolder, is_listening};
use mysql::Conn;
use mysql::prelude::Queryable;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use trueput_engine::cluster::{ClusterSite, NodeRole, node_name};
use trueput_engine::service::Signal;
use trueput_engine::{Error, OpenSpec, Result, Service, SettingContradiction};

/// The ports of a node: of the group, of transactions that it missed, and of copies of all files.
const GROUP_PORT: u16 = 4567;
const MISSED_PORT: u16 = 4568;
const COPY_PORT: u16 = 4444;

/// What a node's variable of this name says about its part in the cluster.
const STATE: &str = "wsrep_local_state_comment";

/// The time that a node may take to answer what it is.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// A node's server.
pub(super) struct NodeServer {
    pub number: u32,
    pub site: ClusterSite,
    pub server: PrivateServer,
    /// The file of Galera's library.
    pub provider: PathBuf,
}

impl NodeServer {
    /// Returns whether this node makes the cluster, which the others then join.
    fn bootstraps(&self) -> bool {
        let is_new = |number| matches!(position::saved(&self.site.folder(number)), Ok(None));
        self.number == self.site.leader && (1..=self.site.nodes).all(is_new)
    }

    fn host(&self, number: u32) -> Result<String> {
        let address = self.site.address(number).ok_or_else(|| {
            Error::Unsupported(
                "galera's nodes need a network of their own, which only root can make: run as root"
                    .to_owned(),
            )
        })?;
        Ok(address.to_string())
    }

    /// The options of a node beside those of a server.
    fn options(&self, spec: &OpenSpec<'_>) -> Result<Vec<String>> {
        let host = self.host(self.number)?;
        let hosts: Result<Vec<String>> = (1..=self.site.nodes).map(|n| self.host(n)).collect();
        let knobs = GaleraKnobs::from(spec.knobs);
        let provider_options = format!(
            "gmcast.listen_addr=tcp://{host}:{GROUP_PORT};ist.recv_addr={host}:{MISSED_PORT};{}",
            knobs.provider_options()
        );
        let options = [
            ("wsrep-on", "ON".to_owned()),
            ("wsrep-provider", self.provider.display().to_string()),
            ("wsrep-cluster-name", "trueput".to_owned()),
            (
                "wsrep-cluster-address",
                format!("gcomm://{}", hosts?.join(",")),
            ),
            ("wsrep-node-address", host.clone()),
            ("wsrep-node-incoming-address", host.clone()),
            ("wsrep-node-name", node_name(self.number)),
            ("wsrep-sst-method", "rsync".to_owned()),
            ("wsrep-sst-receive-address", format!("{host}:{COPY_PORT}")),
            ("wsrep-sst-donor", self.donors()),
            ("wsrep-provider-options", provider_options),
            ("wsrep-slave-threads", knobs.wsrep_slave_threads.to_string()),
            // Galera needs both (Galera's documentation, "Configuring MariaDB Galera Cluster").
            ("binlog-format", "ROW".to_owned()),
            ("innodb-autoinc-lock-mode", "2".to_owned()),
        ];
        Ok(options
            .map(|(name, value)| format!("--{name}={value}"))
            .to_vec())
    }

    /// Returns the nodes that send this one what it has missed, first those that sessions do not
    /// use: a donor of all files takes no transactions meanwhile. The comma at the end allows any.
    fn donors(&self) -> String {
        let is_spared = |number: &u32| ![self.number, self.site.leader].contains(number);
        let spared = (1..=self.site.nodes).filter(is_spared);
        spared
            .map(|number| format!("{},", node_name(number)))
            .collect()
    }

    /// The command of the server, however it starts.
    fn plain_command(&self, spec: &OpenSpec<'_>) -> Result<Command> {
        let mut command = self.server.command(spec)?;
        command.args(self.options(spec)?);
        Ok(command)
    }
}

impl Service for NodeServer {
    fn users(&self) -> &'static [&'static str] {
        self.server.users()
    }

    fn make(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        galera_knobs::check(spec.durability, spec.knobs)?;
        self.host(self.number)?;
        if self.bootstraps() {
            return self.server.make(spec);
        }
        // It gets all files from another node.
        let mut folder = Command::new("mkdir");
        folder
            .args(["-p", "-m", "700"])
            .arg(spec.directory.join(DATA));
        let mut made = Command::new("touch");
        made.arg(spec.directory.join(COMPLETE_MARKER));
        Ok(vec![folder, made])
    }

    fn is_made(&self, spec: &OpenSpec<'_>) -> bool {
        self.server.is_made(spec)
    }

    fn command(&self, spec: &OpenSpec<'_>) -> Result<Command> {
        let mut command = self.plain_command(spec)?;
        let saved = position::saved(spec.directory)?;
        if saved
            .as_ref()
            .map_or(self.bootstraps(), |saved| saved.may_bootstrap)
        {
            command.arg("--wsrep-new-cluster");
        }
        if let Some(Position { history, number }) = position::of_stopped(spec.directory)? {
            command.arg(format!("--wsrep-start-position={history}:{number}"));
        }
        Ok(command)
    }

    /// After a crash the server recovers its files, and says where its transactions end.
    fn recover(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        if !position::is_lost(spec.directory)? {
            return Ok(Vec::new());
        }
        let recovery = position::recovery(spec.directory, &self.plain_command(spec)?);
        Ok(vec![recovery])
    }

    /// It is part of the cluster, and has what the cluster has.
    fn is_ready(&self, spec: &OpenSpec<'_>) -> Result<bool> {
        Ok(connect(spec.directory).is_ok_and(|mut connection| {
            NodeStatus::of(&mut connection).is_ok_and(|status| status.is_synced())
        }))
    }

    fn stop_signal(&self) -> Signal {
        self.server.stop_signal()
    }
}

/// What a node says about itself.
struct NodeStatus(BTreeMap<String, String>);

impl NodeStatus {
    fn of(connection: &mut Conn) -> Result<Self> {
        let rows: Vec<(String, String)> = connection
            .query("SHOW STATUS LIKE 'wsrep_%'")
            .map_err(client_error)?;
        Ok(Self(rows.into_iter().collect()))
    }

    fn value(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Whether it belongs to the part of the cluster that goes on.
    fn is_primary(&self) -> bool {
        self.value("wsrep_cluster_status") == "Primary" && self.value("wsrep_ready") == "ON"
    }

    fn is_synced(&self) -> bool {
        self.is_primary() && self.value(STATE) == "Synced"
    }

    /// Whether it takes transactions; one that sends another node what that has missed does, too.
    fn takes_transactions(&self) -> bool {
        self.is_synced() || (self.is_primary() && self.value(STATE) == "Donor/Desynced")
    }

    fn last_committed(&self) -> i64 {
        self.value("wsrep_last_committed").parse().unwrap_or(-1)
    }

    /// Where its transactions end.
    fn position(&self) -> Position {
        Position {
            history: self.value("wsrep_local_state_uuid").to_owned(),
            number: self.last_committed(),
        }
    }
}

fn connect(folder: &Path) -> Result<Conn> {
    let folder = SocketFolder::open(&folder.join(DATA))
        .map_err(|error| Error::Disconnected(format!("{}: {error}", folder.display())))?;
    let connected = folder.log_in(None, ANSWER_TIMEOUT, Some(ANSWER_TIMEOUT));
    connected.map_err(client_error)
}

fn status(site: &ClusterSite, number: u32) -> Result<NodeStatus> {
    NodeStatus::of(&mut connect(&site.folder(number))?)
}

/// Returns the role of a running node: every one that takes transactions leads.
pub(super) fn role(site: &ClusterSite, number: u32) -> Result<NodeRole> {
    let status = status(site, number)?;
    Ok(if status.takes_transactions() {
        NodeRole::Leader
    } else {
        NodeRole::Follower {
            received: u64::try_from(status.last_committed()).unwrap_or_default(),
        }
    })
}

/// Asks a running node for settings that contradict the promise.
pub(super) fn contradictions(
    site: &ClusterSite,
    number: u32,
    spec: &OpenSpec<'_>,
) -> Result<Vec<SettingContradiction>> {
    let mut connection = connect(&site.folder(number))?;
    let name = format!("node {number}");
    promise_check::check_server(&mut connection, ServerKind::Node, &name, spec)
}

/// Where a node's transactions end, and whether its server runs.
struct KnownNode {
    number: u32,
    position: Position,
    is_running: bool,
}

/// Returns the order in which to start nodes. If no part of the cluster goes on, the node that has
/// most begins it anew: a server that runs at once, another one when it is started as the first.
///
/// # Errors
/// One line, if the node that has most is neither running nor to be started, a node does not
/// answer, or nodes have the data of different clusters.
pub(super) fn start_order(
    mut order: Vec<u32>,
    site: &ClusterSite,
    position: &mut dyn FnMut(u32) -> Result<Option<Position>>,
) -> Result<Vec<u32>> {
    order.sort_by_key(|number| (*number != site.leader, *number));
    let is_running = |number: &u32| is_listening(&site.folder(*number).join(DATA));
    let (running, stopped): (Vec<u32>, Vec<u32>) = (1..=site.nodes).partition(is_running);
    let statuses: Vec<_> = running.iter().map(|number| status(site, *number)).collect();
    if statuses.iter().flatten().any(NodeStatus::is_primary) {
        return Ok(order);
    }
    let mut known: Vec<KnownNode> = Vec::new();
    for (&number, status) in running.iter().zip(statuses) {
        let status = status.map_err(|error| {
            Error::Disconnected(format!("node {number} runs and does not answer: {error}"))
        })?;
        known.push(KnownNode {
            number,
            position: status.position(),
            is_running: true,
        });
    }
    for number in stopped {
        known.extend(position(number)?.map(|position| KnownNode {
            number,
            position,
            is_running: false,
        }));
    }
    check_histories(&known)?;
    // Of several that have most, one that runs.
    let most = |node: &&KnownNode| (node.position.number, node.is_running);
    if let Some(first) = known.iter().max_by_key(most) {
        begin_anew(first, &known, site, &mut order)?;
    }
    Ok(order)
}

/// Checks that the nodes have the data of one cluster: numbers of different histories tell nothing.
fn check_histories(known: &[KnownNode]) -> Result<()> {
    let mut with_data = known.iter().filter(|node| node.position.is_known());
    let Some(first) = with_data.next() else {
        return Ok(());
    };
    match with_data.find(|node| node.position.history != first.position.history) {
        None => Ok(()),
        Some(other) => Err(Error::engine(format!(
            "node {} has the history {} and node {} has {}: they are of different clusters",
            first.number, first.position.history, other.number, other.position.history
        ))),
    }
}

fn begin_anew(
    first: &KnownNode,
    known: &[KnownNode],
    site: &ClusterSite,
    order: &mut [u32],
) -> Result<()> {
    let number = first.number;
    for node in known.iter().filter(|node| !node.is_running) {
        position::allow_bootstrap(&site.folder(node.number), node.number == number)?;
    }
    if first.is_running {
        let statement = "SET GLOBAL wsrep_provider_options='pc.bootstrap=YES'";
        let mut connection = connect(&site.folder(number))?;
        return connection.query_drop(statement).map_err(client_error);
    }
    if !order.contains(&number) {
        return Err(Error::Unsupported(format!(
            "the cluster has no majority, and node {number} has its last transaction: start \
             node-{number} first, or all nodes"
        )));
    }
    order.sort_by_key(|other| (*other != number, *other));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_different_clusters_are_not_compared() {
        let node = |number, history: &str, last| KnownNode {
            number,
            position: Position {
                history: history.to_owned(),
                number: last,
            },
            is_running: false,
        };
        let same = [node(1, "a", 7), node(2, "a", 9), node(3, "", -1)];
        assert_eq!(check_histories(&same), Ok(()));
        let error = check_histories(&[node(1, "a", 7), node(3, "b", 9)]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("node 1") && text.contains("node 3"), "{text}");
    }
}
