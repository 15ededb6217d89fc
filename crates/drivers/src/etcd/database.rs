//! A database: the keys with a prefix, in a private cluster or a user's.

use super::address::ServerAddress;
use super::connection::{ClusterNode, EtcdConnection};
use super::keyspace::KeySpace;
use super::knobs::{self, EtcdKnobs, Reads};
use super::message::{self, CompactionRequest, Empty, RangeRequest, RangeResponse, StatusResponse};
use super::promise_check::{self, FlushSign, LogCounts, await_flush};
use super::session::EtcdSession;
use super::{NAME, external, log, metrics};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use trueput_engine::cluster::{ClusterState, node_folder};
use trueput_engine::{
    Database, Durability, Error, OpenSpec, Result, Session, SettingContradiction, Value,
};

/// The time that taking the keys of a user's cluster may take: what a trial before has left is
/// deleted.
const TAKE_TIMEOUT: Duration = Duration::from_secs(120);

/// The time that a flush may take, once, before a node counts as one that does not flush.
const FLUSH_TIME: Duration = Duration::from_secs(2);

/// An open database.
pub(super) struct EtcdDatabase {
    access: Access,
    space: KeySpace,
    limit: Duration,
    is_serializable: bool,
    durability: Durability,
    /// What the node that led had counted when the database was opened, and that node.
    counted: Option<(u32, LogCounts)>,
}

/// The way to the server of a database.
enum Access {
    /// One node of a user's cluster.
    Address(ServerAddress),
    /// The leader of the private cluster in a folder.
    Leader(PathBuf),
}

impl EtcdDatabase {
    /// Opens a database of the private cluster that runs in its folder, or in the folder above it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a level or knobs that it does not have; [`Error::Engine`] if
    /// there is no cluster.
    pub fn private(spec: &OpenSpec<'_>) -> Result<Self> {
        knobs::check(spec.durability, spec.knobs)?;
        let (cluster, name) = ClusterState::find(spec.directory).ok_or_else(|| {
            let folder = spec.directory.display();
            Error::engine(format!("no etcd cluster runs in {folder}"))
        })?;
        let access = Access::Leader(cluster.to_owned());
        let space = KeySpace::new(name.as_deref().unwrap_or(NAME));
        let mut database = Self::new(access, space, spec);
        database.counted = database.count_log().ok().flatten();
        Ok(database)
    }

    /// Opens the database in a user's cluster.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for keys that are not trueput's, and for a node that does not flush;
    /// errors of the server.
    pub fn external(address: &ServerAddress, spec: &OpenSpec<'_>) -> Result<Self> {
        let mut connection = EtcdConnection::open(address, TAKE_TIMEOUT)?;
        let before = LogCounts::read(address);
        let space = external::take(&mut connection, address, spec.directory)?;
        external::check_flushes(&mut connection, address, (before, spec.durability))?;
        let access = Access::Address(address.clone());
        Ok(Self::new(access, space, spec))
    }

    fn new(access: Access, space: KeySpace, spec: &OpenSpec<'_>) -> Self {
        let knobs = EtcdKnobs::from(spec.knobs);
        Self {
            access,
            space,
            limit: Duration::from_millis(knobs.request_timeout),
            is_serializable: knobs.reads == Reads::Serializable,
            durability: spec.durability,
            counted: None,
        }
    }

    /// Reads what the node that leads has counted of its log, and returns it with the node.
    fn count_log(&self) -> Result<Option<(u32, LogCounts)>> {
        let (address, node) = self.server()?;
        let number = node.map_or(0, |node| node.number);
        Ok(LogCounts::read(&address).map(|counts| (number, counts)))
    }

    /// Returns the address of the server, and the node that it is.
    ///
    /// # Errors
    /// [`trueput_engine::Error::Disconnected`] while no node of a private cluster leads.
    fn server(&self) -> Result<(ServerAddress, Option<ClusterNode>)> {
        match &self.access {
            Access::Address(address) => Ok((address.clone(), None)),
            Access::Leader(cluster) => {
                let state = ClusterState::read(cluster)?;
                let folder = state.leader_folder(cluster)?;
                let node = state.leader.map(|number| ClusterNode {
                    cluster: cluster.clone(),
                    number,
                });
                Ok((ServerAddress::private(&folder), node))
            }
        }
    }

    /// Whether the node that leads has written its log since the opening, and not flushed it.
    fn is_unflushed(&self) -> Result<bool> {
        let look = || {
            let Some((number, now)) = self.count_log()? else {
                return Ok(FlushSign::Flushed);
            };
            let before = self.counted.filter(|(node, _)| *node == number);
            let is_unflushed_since = |before| now.has_not_flushed_since(before);
            let is_unflushed = before.is_some_and(|(_, before)| is_unflushed_since(before));
            Ok(if is_unflushed || now.is_hardly_flushed() {
                FlushSign::Unflushed
            } else {
                FlushSign::Flushed
            })
        };
        let commit = || external::commit_nothing(&mut self.connect(TAKE_TIMEOUT)?);
        Ok(await_flush(FLUSH_TIME, look, commit)? == FlushSign::Unflushed)
    }

    fn connect(&self, limit: Duration) -> Result<EtcdConnection> {
        let (address, node) = self.server()?;
        let mut connection = EtcdConnection::open(&address, limit)?;
        if let Some(node) = node {
            connection.belongs_to(node);
        }
        Ok(connection)
    }
}

fn no_leader() -> Error {
    Error::Disconnected("no node of the cluster leads at the moment".to_owned())
}

impl Database for EtcdDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let connection = self.connect(self.limit)?;
        let session = EtcdSession::new(connection, &self.space, self.is_serializable);
        Ok(Box::new(session))
    }

    /// Those of the node that leads.
    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        metrics::read(&self.server()?.0)
    }

    /// A private node writes its settings into its log when it starts, except for the limits of
    /// the store's batches and of a transaction's operations. A user's reports only its version.
    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let status: StatusResponse = self.connect(self.limit)?.call(message::STATUS, &Empty {})?;
        let version = ("etcd-version".to_owned(), Value::from(status.version));
        let mut settings = match &self.access {
            Access::Address(_) => BTreeMap::new(),
            Access::Leader(cluster) => {
                let node = ClusterState::read(cluster)?.last_leader;
                log::settings(&node_folder(cluster, node).join("server.log"))
            }
        };
        settings.extend([version]);
        Ok(settings)
    }

    /// A private node is asked by its process; besides, one that has written its log since the
    /// opening must have flushed it.
    fn contradictions(&self) -> Result<Vec<SettingContradiction>> {
        let Access::Leader(cluster) = &self.access else {
            return Ok(Vec::new());
        };
        let leader = ClusterState::read(cluster)?.leader.ok_or_else(no_leader)?;
        let name = format!("node {leader}");
        let folder = node_folder(cluster, leader);
        let mut found = promise_check::check_node(&folder, &name, self.durability)?;
        if self.durability == Durability::Sync && self.is_unflushed()? {
            found.push(promise_check::unflushed(&name, self.durability));
        }
        Ok(found)
    }

    /// Removes old versions of records, and writes all others to the store. A user's cluster is
    /// left as its owner has it.
    fn checkpoint(&self) -> Result<()> {
        let Access::Leader(_) = self.access else {
            return Ok(());
        };
        let mut connection = self.connect(TAKE_TIMEOUT)?;
        let request = RangeRequest {
            key: self.space.key(b""),
            ..RangeRequest::default()
        };
        let present: RangeResponse = connection.call(message::RANGE, &request)?;
        let request = CompactionRequest {
            revision: present.header.map_or(0, |header| header.revision),
            physical: true,
        };
        let compacted: Result<Empty> = connection.call(message::COMPACT, &request);
        match compacted {
            // Nothing was written since the last time.
            Err(error) if error.is_conflict() => Ok(()),
            done => done.map(drop),
        }
    }
}
