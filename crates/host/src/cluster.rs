//! The host of a cluster: one process that starts the nodes, replaces a leader that does not
//! answer, and does to nodes what it is ordered to.

mod election;
mod error;
mod log;
mod node;
mod orders;
mod promise_check;

use crate::network::ClusterNetwork;
use crate::service::{Server, ServerError};
use election::NodeAnswers;
use node::{Node, NodeService};
use orders::OrderSocket;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};
use trueput_engine::cluster::{
    ANSWER_TIMEOUT, CATCH_UP_TIMEOUT, ClusterAssignment, ClusterSite, ClusterState, NodeRole,
};
use trueput_engine::{Cluster, Error, OpenSpec, ParameterValues, Service};
use trueput_record::fault::{ClusterOrder, FaultAction, FaultTarget};

pub use error::{ClusterError, OrderError};
pub use log::{list_doubtful_changes, read_log};
pub use orders::send_order;

/// The interval between two looks at orders and nodes.
const PAUSE: Duration = Duration::from_millis(20);

/// The interval between two questions to the leader.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The least time without an answer that counts: a leader is asked several times within it.
const MIN_FAILOVER_TIMEOUT: Duration = Duration::from_millis(500);

/// The time in which followers of a leader that was killed take what is on its way to them.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);

/// The interval between two looks at the network.
const NETWORK_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A cluster that runs.
struct ClusterHost<'a> {
    cluster: &'a dyn Cluster,
    assignment: &'a ClusterAssignment,
    knobs: &'a ParameterValues,
    site: ClusterSite,
    network: Option<ClusterNetwork>,
    nodes: Vec<Node>,
    state: ClusterState,
    /// The time at which the leader answered last.
    answered: Instant,
    /// The answer of the leader that is awaited, and the node that was asked.
    question: Option<(u32, Receiver<bool>)>,
    asked: Instant,
    /// When the network was looked at, and the frames that it had lost by itself.
    network_checked: (Instant, u64),
    /// The answers of each node, if the nodes choose their leader themselves.
    answers: Vec<NodeAnswers>,
    /// Nodes that were started or promoted and not asked yet whether they keep the promise.
    unchecked: Vec<u32>,
}

/// Starts the nodes of a cluster and hosts them until `stop` is set. All nodes are stopped at the
/// end.
///
/// # Errors
/// [`ClusterError`], if the network cannot be made, or a node does not start or stop.
pub fn run(
    cluster: &dyn Cluster,
    assignment: &ClusterAssignment,
    knobs: &ParameterValues,
    stop: &AtomicBool,
) -> Result<(), ClusterError> {
    let mut host = ClusterHost::set_up(cluster, assignment, knobs)?;
    let is_wanted = || !stop.load(Ordering::SeqCst);
    let all: Vec<u32> = host.numbers().collect();
    host.start(&all, &mut || is_wanted())?;
    let mut available = Vec::new();
    std::thread::scope(|scope| {
        let hosted = host.serve(scope, stop);
        available = host.list_available();
        // Questions to paused nodes are answered now.
        for node in &mut host.nodes {
            node.resume();
        }
        hosted
    })?;
    host.stop(&available)
}

impl<'a> ClusterHost<'a> {
    fn set_up(
        cluster: &'a dyn Cluster,
        assignment: &'a ClusterAssignment,
        knobs: &'a ParameterValues,
    ) -> Result<Self, ClusterError> {
        let count = cluster.nodes(knobs);
        let network = if crate::is_root() {
            Some(ClusterNetwork::make(count, cluster.network(knobs))?)
        } else {
            None
        };
        let state = if ClusterState::is_in(&assignment.directory) {
            ClusterState::read(&assignment.directory)?
        } else {
            ClusterState {
                nodes: count,
                leader: None,
                last_leader: 1,
                stale_nodes: Vec::new(),
            }
        };
        let site = ClusterSite {
            directory: assignment.directory.clone(),
            addresses: network.as_ref().map(ClusterNetwork::addresses),
            nodes: count,
            leader: state.last_leader,
        };
        Ok(Self {
            nodes: (0..count).map(|_| Node::default()).collect(),
            cluster,
            assignment,
            knobs,
            site,
            network,
            state,
            answered: Instant::now(),
            question: None,
            asked: Instant::now(),
            network_checked: (Instant::now(), 0),
            answers: (0..count).map(|_| NodeAnswers::default()).collect(),
            unchecked: Vec::new(),
        })
    }

    /// Takes orders and watches who leads until `stop` is set.
    fn serve<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        stop: &'scope AtomicBool,
    ) -> Result<(), ClusterError>
    where
        'a: 'scope,
    {
        if self.cluster.elects_leader() {
            self.await_leader(scope, stop)?;
        }
        self.log_event(&format!(
            "{} nodes run, node {} leads",
            self.site.nodes, self.state.last_leader
        ));
        let socket = OrderSocket::listen(&self.assignment.directory)?;
        while !stop.load(Ordering::SeqCst) {
            if let Some(order) = socket.next_order() {
                let done = self.obey(order.order, stop);
                // To start a node takes time in which nobody asked the leader.
                self.answered = Instant::now();
                self.question = None;
                order.answer(done);
            }
            self.log_ended_nodes();
            self.check_promises(scope, stop);
            if self.network_checked.0.elapsed() >= NETWORK_CHECK_INTERVAL {
                self.log_lost_frames();
            }
            if self.cluster.elects_leader() {
                self.follow_election(scope);
            } else {
                self.watch_leader(scope);
            }
            std::thread::sleep(PAUSE);
        }
        self.log_lost_frames();
        Ok(())
    }

    /// Returns the nodes that the cluster can count on.
    fn list_available(&self) -> Vec<u32> {
        let is_available = |number: &u32| self.nodes[*number as usize - 1].is_available();
        self.numbers().filter(is_available).collect()
    }

    fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        1..=self.site.nodes
    }

    fn node(&mut self, number: u32) -> &mut Node {
        &mut self.nodes[number as usize - 1]
    }

    /// Starts nodes in the order that the cluster needs.
    fn start(
        &mut self,
        numbers: &[u32],
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<(), ClusterError> {
        let numbers = numbers.iter().copied();
        let stopped: Vec<u32> = numbers
            .filter(|number| !self.nodes[*number as usize - 1].is_running())
            .collect();
        self.site.leader = self.state.last_leader;
        let spec = self.spec(&self.assignment.directory);
        let (cluster, site) = (self.cluster, self.site.clone());
        let recover = &mut |number| self.recover_node(number, wait).map_err(Error::engine);
        let order = cluster.start_order(&stopped, &site, &spec, recover);
        for number in order? {
            if self.state.stale_nodes.contains(&number) && !self.is_led() {
                return Err(ClusterError::NoLeader(number));
            }
            self.start_node(number, wait)?;
        }
        let is_chosen_here = !self.cluster.elects_leader() && self.state.leader.is_none();
        if is_chosen_here && self.node(self.state.last_leader).is_running() {
            self.set_leader(Some(self.state.last_leader))?;
        }
        Ok(())
    }

    /// Returns whether a node leads that answers.
    fn is_led(&mut self) -> bool {
        let leader = self.state.leader;
        leader.is_some_and(|leader| self.node(leader).is_available())
    }

    fn start_node(
        &mut self,
        number: u32,
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<(), ClusterError> {
        let folder = self.site.folder(number);
        let failed = ClusterError::of_folder(&folder);
        if self.state.stale_nodes.contains(&number) {
            std::fs::remove_dir_all(&folder).map_err(&failed)?;
            self.state.stale_nodes.retain(|stale| *stale != number);
            self.write_state()?;
        }
        std::fs::create_dir_all(&folder).map_err(failed)?;
        self.site.leader = self.state.last_leader;
        self.recover_node(number, wait)?;
        let mut started = self.start_server(number, wait);
        // A Galera node that cannot receive what it missed aborts itself, and MariaDB's unit file
        // for systemd restarts it (Restart=on-abort).
        if let Err(error) = &started
            && error.is_abort()
        {
            self.log_event(&format!(
                "node {number} aborted and is started again: {error}"
            ));
            self.node(number).forget_recovery();
            self.recover_node(number, wait)?;
            started = self.start_server(number, wait);
        }
        let server = started.map_err(ClusterError::of_node(number))?;
        self.node(number).run(server);
        self.log_event(&format!("node {number} runs"));
        self.unchecked.push(number);
        Ok(())
    }

    fn start_server(
        &self,
        number: u32,
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<Server, ServerError> {
        let service = NodeService::new(self.cluster, number, &self.site, self.network.as_ref());
        node::start(&service, &self.spec(&self.site.folder(number)), wait)
    }

    fn recover_node(
        &mut self,
        number: u32,
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<(), ClusterError> {
        let folder = self.site.folder(number);
        let spec = self.spec(&folder);
        let service = NodeService::new(self.cluster, number, &self.site, self.network.as_ref());
        let recovered = self.nodes[number as usize - 1].recover(&service, &spec, wait);
        recovered.map_err(ClusterError::of_node(number))
    }

    fn spec<'s>(&self, directory: &'s Path) -> OpenSpec<'s>
    where
        'a: 's,
    {
        spec_of(self.assignment, self.knobs, directory)
    }

    fn set_leader(&mut self, leader: Option<u32>) -> Result<(), ClusterError> {
        self.state.leader = leader;
        if let Some(leader) = leader {
            self.state.last_leader = leader;
            self.unchecked.push(leader);
        }
        self.answered = Instant::now();
        self.question = None;
        self.write_state()
    }

    fn write_state(&self) -> Result<(), ClusterError> {
        let directory = &self.assignment.directory;
        let written = self.state.write(directory);
        written.map_err(ClusterError::of_folder(directory))
    }

    /// Writes a line with the time into the log of the cluster.
    fn log_event(&self, text: &str) {
        eprintln!("{}", log::line(jiff::Timestamp::now(), text));
    }

    /// Returns the time without an answer of the leader after which it counts as lost.
    fn failover_limit(&self) -> Duration {
        let limit = Duration::from_millis(self.cluster.failover_after_ms(self.knobs));
        limit.max(MIN_FAILOVER_TIMEOUT)
    }

    /// Logs that the network has lost frames without having been asked to.
    fn log_lost_frames(&mut self) {
        let lost = self.network.as_ref().map_or(0, ClusterNetwork::overflows);
        let before = std::mem::replace(&mut self.network_checked, (Instant::now(), lost)).1;
        if lost > before {
            self.log_event(&format!(
                "the network has lost {} more packets: too many were on their way",
                lost - before
            ));
        }
    }

    /// Logs nodes that have ended without an order.
    fn log_ended_nodes(&mut self) {
        for number in self.numbers() {
            if let Some(end) = self.node(number).own_end() {
                let unordered = log::UNORDERED_END;
                self.log_event(&format!("node {number} {unordered}: {end}"));
            }
        }
    }

    /// Asks the leader whether it leads, and replaces one that has not answered for too long.
    fn watch_leader<'scope>(&mut self, scope: &'scope Scope<'scope, '_>)
    where
        'a: 'scope,
    {
        let Some(leader) = self.state.leader else {
            // Enough nodes may have come back.
            return self.replace_leader(self.state.last_leader);
        };
        match self.question.take() {
            Some((asked, answer)) => match answer.try_recv() {
                Ok(true) if asked == leader && !self.node(leader).is_partitioned() => {
                    self.answered = Instant::now();
                }
                Ok(_) | Err(TryRecvError::Disconnected) => {}
                Err(TryRecvError::Empty) => self.question = Some((asked, answer)),
            },
            None if self.asked.elapsed() >= CHECK_INTERVAL => {
                self.asked = Instant::now();
                let (sender, answer) = channel();
                let (cluster, site) = (self.cluster, self.site.clone());
                scope.spawn(move || {
                    let role = cluster.role(leader, &site);
                    // Nobody waits any more if the leader was replaced.
                    let _ = sender.send(role == Ok(NodeRole::Leader));
                });
                self.question = Some((leader, answer));
            }
            None => {}
        }
        let limit = self.failover_limit();
        if self.answered.elapsed() >= limit {
            self.log_event(&format!(
                "node {leader} leads and has not answered for {} ms",
                limit.as_millis()
            ));
            self.replace_leader(leader);
        }
    }

    /// Promotes the follower that has received most, if a majority of the nodes is there. The old
    /// leader is killed first, so that there are never two, and before the followers are compared:
    /// as long as it lives it may acknowledge what only one of them has.
    fn replace_leader(&mut self, old: u32) {
        let majority = self.site.nodes as usize / 2 + 1;
        if self.list_followers(old).len() < majority {
            return self.wait_for_nodes();
        }
        if let Err(error) = self.node(old).kill() {
            return self.log_event(&error.to_string());
        }
        let mut followers = self.list_settled_followers(old);
        if followers.len() < majority {
            return self.wait_for_nodes();
        }
        followers.sort_unstable();
        let Some((received, new)) = followers.pop() else {
            return;
        };
        self.log_event(&format!(
            "promoting node {new}, which has received {received}"
        ));
        if let Err(error) = self.cluster.promote(new, &self.site) {
            return self.log_event(&format!("node {new} is not promoted: {error}"));
        }
        let others = followers.into_iter().map(|(_, number)| number).collect();
        self.let_follow(new, others);
        match self.set_leader(Some(new)) {
            Ok(()) => self.log_event(&format!("node {new} leads")),
            Err(error) => self.log_event(&error.to_string()),
        }
    }

    /// Returns the nodes that follow, with what they have received, in their order.
    fn list_followers(&mut self, leader: u32) -> Vec<(u64, u32)> {
        let mut followers = Vec::new();
        for number in self.numbers().filter(|number| *number != leader) {
            if !self.node(number).is_available() || self.state.stale_nodes.contains(&number) {
                continue;
            }
            if let Ok(NodeRole::Follower { received }) = self.cluster.role(number, &self.site) {
                followers.push((received, number));
            }
        }
        followers
    }

    /// Returns the followers of a leader that was killed once they receive nothing any more.
    fn list_settled_followers(&mut self, leader: u32) -> Vec<(u64, u32)> {
        let began = Instant::now();
        let mut before = self.list_followers(leader);
        loop {
            std::thread::sleep(CHECK_INTERVAL);
            let followers = self.list_followers(leader);
            if followers == before || began.elapsed() >= SETTLE_TIMEOUT {
                return followers;
            }
            before = followers;
        }
    }

    /// Lets nodes follow a new leader. All others are stale: what they have may differ.
    fn let_follow(&mut self, leader: u32, mut others: Vec<u32>) {
        let cluster = self.cluster;
        others.retain(|&number| {
            let followed = cluster.follow(number, leader, &self.site);
            if let Err(error) = &followed {
                self.log_event(&format!("node {number} does not follow: {error}"));
            }
            followed.is_ok()
        });
        for number in self.numbers() {
            let follows = number == leader || others.contains(&number);
            if !follows && !self.state.stale_nodes.contains(&number) {
                self.state.stale_nodes.push(number);
            }
        }
    }

    /// Goes on with the old leader if it is there and takes transactions, and without one else.
    fn wait_for_nodes(&mut self) {
        let old = self.state.last_leader;
        let is_back = self.node(old).is_available()
            && self.cluster.role(old, &self.site) == Ok(NodeRole::Leader);
        let leader = is_back.then_some(old);
        if self.state.leader != leader {
            match leader {
                Some(_) => self.log_event(&format!("node {old} leads again")),
                None => self.log_event("too few nodes are left to promote one"),
            }
            if let Err(error) = self.set_leader(leader) {
                self.log_event(&error.to_string());
            }
        }
    }

    /// Executes an order, and returns the nodes that it concerned.
    fn obey(&mut self, order: ClusterOrder, stop: &AtomicBool) -> Result<Vec<u32>, ClusterError> {
        let is_wanted = &mut || !stop.load(Ordering::SeqCst);
        let mut numbers = self.targets(order)?;
        match order.action {
            FaultAction::Start => numbers.retain(|&number| !self.node(number).is_running()),
            FaultAction::Resume => numbers.retain(|&number| self.node(number).is_paused()),
            _ => {}
        }
        self.log_event(&format!("order: {order}: nodes {numbers:?}"));
        match order.action {
            FaultAction::Kill => numbers
                .iter()
                .try_for_each(|&number| self.node(number).kill())?,
            FaultAction::Pause => numbers.iter().for_each(|&number| self.node(number).pause()),
            FaultAction::Resume => {
                numbers
                    .iter()
                    .for_each(|&number| self.node(number).resume());
                self.remake_stale_nodes(is_wanted)?;
            }
            FaultAction::Start => {
                self.start(&numbers, is_wanted)?;
                self.remake_stale_nodes(is_wanted)?;
            }
            FaultAction::Partition => {
                self.own_network()?.separate(&numbers)?;
                numbers
                    .iter()
                    .for_each(|&number| self.node(number).set_partitioned(true));
            }
            FaultAction::Heal => {
                self.own_network()?.heal()?;
                for number in self.numbers() {
                    self.node(number).set_partitioned(false);
                }
                self.remake_stale_nodes(is_wanted)?;
            }
        }
        Ok(numbers)
    }

    /// Makes running nodes that missed a promotion anew, so that they follow the leader, if there
    /// is one.
    fn remake_stale_nodes(&mut self, wait: &mut dyn FnMut() -> bool) -> Result<(), ClusterError> {
        if !self.is_led() {
            return Ok(());
        }
        for number in self.state.stale_nodes.clone() {
            if self.node(number).is_available() {
                self.node(number).kill()?;
                self.start_node(number, wait)?;
            }
        }
        Ok(())
    }

    fn own_network(&self) -> Result<&ClusterNetwork, ClusterError> {
        self.network.as_ref().ok_or(ClusterError::NoNetwork)
    }

    /// Returns the nodes that an order concerns.
    fn targets(&self, order: ClusterOrder) -> Result<Vec<u32>, ClusterError> {
        let leader = self.state.last_leader;
        let nodes = self.site.nodes;
        let followers = self.numbers().filter(|number| *number != leader);
        // What a majority can do without.
        let minority = (nodes as usize - 1) / 2;
        let numbers: Vec<u32> = match order.target {
            FaultTarget::Leader => vec![leader],
            FaultTarget::Follower => followers.take(1).collect(),
            FaultTarget::Minority => followers.take(minority).collect(),
            FaultTarget::Majority => {
                let taken = followers.take(nodes as usize / 2);
                std::iter::once(leader).chain(taken).collect()
            }
            FaultTarget::All => self.numbers().collect(),
            FaultTarget::Node(number) if number <= nodes => vec![number],
            FaultTarget::Node(number) => return Err(ClusterError::NoNode { number, nodes }),
        };
        if numbers.is_empty() {
            Err(ClusterError::NoTarget { order, nodes })
        } else {
            Ok(numbers)
        }
    }

    /// Waits until the nodes that the cluster can count on have what they missed. One that is
    /// stopped while it receives that may end badly: a Galera node then aborts.
    fn await_catch_up(&self) {
        let began = Instant::now();
        for (number, node) in self.numbers().zip(&self.nodes) {
            let folder = self.site.folder(number);
            let service = NodeService::new(self.cluster, number, &self.site, self.network.as_ref());
            let spec = self.spec(&folder);
            while node.is_available() && !service.is_ready(&spec).unwrap_or(true) {
                if began.elapsed() > CATCH_UP_TIMEOUT {
                    return self.log_event(&format!("node {number} has not caught up"));
                }
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Stops all nodes in good order, the leader first, so that its followers receive its last
    /// transactions. Those that were available before must say what they run with.
    fn stop(mut self, available: &[u32]) -> Result<(), ClusterError> {
        // Without a leader there is nobody to catch up with.
        if self.state.leader.is_some() {
            self.await_catch_up();
        }
        for line in self.check_promises_at_end(available, ANSWER_TIMEOUT) {
            self.log_event(&line);
        }
        let leader = self.state.last_leader;
        let rest = self.numbers().filter(|number| *number != leader);
        let mut first = Ok(());
        for number in std::iter::once(leader).chain(rest) {
            let stopped = self.node(number).stop();
            first = first.and(stopped.map_err(ClusterError::of_node(number)));
        }
        first
    }
}

/// Returns the database of a node in its folder, or that of the cluster in its own.
fn spec_of<'s>(
    assignment: &ClusterAssignment,
    knobs: &'s ParameterValues,
    directory: &'s Path,
) -> OpenSpec<'s> {
    OpenSpec {
        directory,
        durability: assignment.durability,
        knobs,
        sessions: assignment.sessions,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests;
