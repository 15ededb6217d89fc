//! A node of a cluster: its server and what was done to it.

use crate::network::ClusterNetwork;
use crate::process_tree::list_members;
use crate::service::{Server, ServerEnd, ServerError, ServerSpec, SurvivingProcesses, kill_server};
use nix::sys::signal::{Signal as SystemSignal, kill};
use nix::unistd::Pid;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use trueput_engine::cluster::ClusterSite;
use trueput_engine::service::Signal;
use trueput_engine::{Cluster, Error, OpenSpec, Result, Service};
use trueput_record::Conditions;

/// A node.
#[derive(Default)]
pub(super) struct Node {
    server: Option<Server>,
    is_paused: bool,
    is_partitioned: bool,
    /// Whether its instance was recovered since its server ran.
    is_recovered: bool,
}

impl Node {
    pub(super) fn run(&mut self, server: Server) {
        self.server = Some(server);
        self.is_paused = false;
        self.is_recovered = false;
    }

    /// Executes what its service does before it is started, if it has not been done.
    ///
    /// # Errors
    /// As [`crate::service::recover`].
    pub(super) fn recover(
        &mut self,
        service: &dyn Service,
        database: &OpenSpec<'_>,
        wait: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<(), ServerError> {
        if !self.is_recovered && !self.is_running() && service.is_made(database) {
            crate::service::recover(&spec(service, database), wait)?;
            self.is_recovered = true;
        }
        Ok(())
    }

    /// Says that its server ended by a crash while it started: it is recovered again.
    pub(super) fn forget_recovery(&mut self) {
        self.is_recovered = false;
    }

    pub(super) fn is_running(&self) -> bool {
        self.server.is_some()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Returns whether the cluster can count on it.
    pub(super) fn is_available(&self) -> bool {
        self.is_running() && !self.is_paused && !self.is_partitioned
    }

    pub(super) fn is_partitioned(&self) -> bool {
        self.is_partitioned
    }

    pub(super) fn set_partitioned(&mut self, is_partitioned: bool) {
        self.is_partitioned = is_partitioned;
    }

    /// Returns how it ended by itself; `None` if it runs, or did not run.
    pub(super) fn own_end(&mut self) -> Option<ServerEnd> {
        let end = self.server.as_mut()?.own_end()?;
        self.server = None;
        Some(end)
    }

    /// Whether its server has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        let server = self.server.as_mut();
        server.is_some_and(|server| server.own_end().is_some())
    }

    /// Kills its processes.
    ///
    /// # Errors
    /// [`SurvivingProcesses`], if one of them does not end.
    pub(super) fn kill(&mut self) -> std::result::Result<(), SurvivingProcesses> {
        self.is_paused = false;
        match self.server.take() {
            Some(server) => kill_server(server.pid()).map(drop),
            None => Ok(()),
        }
    }

    /// Stops its processes with SIGSTOP.
    pub(super) fn pause(&mut self) {
        self.is_paused = self.is_running();
        self.signal(SystemSignal::SIGSTOP);
    }

    /// Lets its processes go on.
    pub(super) fn resume(&mut self) {
        self.is_paused = false;
        self.signal(SystemSignal::SIGCONT);
    }

    fn signal(&self, signal: SystemSignal) {
        for pid in self
            .server
            .iter()
            .flat_map(|server| list_members(server.pid()))
        {
            // One that has ended meanwhile needs no signal.
            let _ = kill(Pid::from_raw(pid.cast_signed()), signal);
        }
    }

    /// Stops it in good order.
    ///
    /// # Errors
    /// [`ServerError`], if it does not stop, or had ended before.
    pub(super) fn stop(&mut self) -> std::result::Result<(), ServerError> {
        match self.server.take() {
            Some(server) => server.stop(&mut || true),
            None => Ok(()),
        }
    }
}

/// Starts a node.
pub(super) fn start(
    service: &dyn Service,
    database: &OpenSpec<'_>,
    wait: &mut dyn FnMut() -> bool,
) -> std::result::Result<Server, ServerError> {
    Server::start(&spec(service, database), wait)
}

fn spec<'a>(service: &'a dyn Service, database: &'a OpenSpec<'a>) -> ServerSpec<'a> {
    /// Processors and memory are inherited from this process.
    static CONDITIONS: LazyLock<Conditions> = LazyLock::new(Conditions::default);
    ServerSpec {
        service,
        database,
        conditions: &CONDITIONS,
        group_entry: None,
    }
}

/// The service of a node, whose processes run in the node's network.
pub(super) struct NodeService<'a> {
    own: Box<dyn Service>,
    network: Option<(&'a ClusterNetwork, u32)>,
}

impl<'a> NodeService<'a> {
    pub(super) fn new(
        cluster: &dyn Cluster,
        number: u32,
        site: &ClusterSite,
        network: Option<&'a ClusterNetwork>,
    ) -> Self {
        Self {
            own: cluster.node(number, site),
            network: network.map(|network| (network, number)),
        }
    }

    fn in_network(&self, mut command: Command) -> Result<Command> {
        if let Some((network, number)) = self.network {
            let entered = network.enter(number, &mut command);
            entered.map_err(Error::engine)?;
        }
        Ok(command)
    }

    fn all_in_network(&self, commands: Vec<Command>) -> Result<Vec<Command>> {
        let commands = commands.into_iter();
        commands.map(|command| self.in_network(command)).collect()
    }
}

impl Service for NodeService<'_> {
    fn users(&self) -> &'static [&'static str] {
        self.own.users()
    }

    fn make(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        self.all_in_network(self.own.make(spec)?)
    }

    fn is_made(&self, spec: &OpenSpec<'_>) -> bool {
        self.own.is_made(spec)
    }

    fn command(&self, spec: &OpenSpec<'_>) -> Result<Command> {
        self.in_network(self.own.command(spec)?)
    }

    fn recover(&self, spec: &OpenSpec<'_>) -> Result<Vec<Command>> {
        self.all_in_network(self.own.recover(spec)?)
    }

    fn is_ready(&self, spec: &OpenSpec<'_>) -> Result<bool> {
        self.own.is_ready(spec)
    }

    fn stop_signal(&self) -> Signal {
        self.own.stop_signal()
    }

    fn ends_by_stop_signal(&self) -> bool {
        self.own.ends_by_stop_signal()
    }

    fn death_signal(&self) -> Signal {
        self.own.death_signal()
    }

    fn log(&self, spec: &OpenSpec<'_>) -> PathBuf {
        self.own.log(spec)
    }
}
