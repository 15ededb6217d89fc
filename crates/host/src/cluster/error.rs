//! The reasons why a cluster does not run, or does not follow an order.

use crate::network::NetworkError;
use crate::service::{ServerError, SurvivingProcesses};
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use trueput_record::fault::ClusterOrder;

/// The reason why a cluster does not run, or does not follow an order.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The caller stopped waiting.
    #[error("it was not waited for")]
    Canceled,
    /// Its network cannot be made or changed.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Its state cannot be read, or the order in which its nodes start is not known.
    #[error(transparent)]
    Engine(#[from] trueput_engine::Error),
    /// A folder of it cannot be used.
    #[error("{}: {error}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A node does not start or stop.
    #[error("node {number}: {error}")]
    Node {
        /// Its number.
        number: u32,
        /// The reason.
        error: ServerError,
    },
    /// A node is not dead after it was killed.
    #[error(transparent)]
    NotKilled(#[from] SurvivingProcesses),
    /// A node cannot be made anew.
    #[error("node {0} is made anew from a leader, and no node leads")]
    NoLeader(u32),
    /// Nodes that choose their leader themselves did not choose one.
    #[error("the nodes chose no leader in {} s", .0.as_secs())]
    NoneElected(Duration),
    /// Nodes share this machine's network.
    #[error("a partition needs network namespaces, which need root: run as root")]
    NoNetwork,
    /// An order names a node that is not there.
    #[error("no node-{number}: the cluster has {nodes} nodes")]
    NoNode {
        /// The number of the node.
        number: u32,
        /// The number of nodes.
        nodes: u32,
    },
    /// An order concerns none of the nodes.
    #[error("{order} concerns no node: the cluster has {nodes} nodes")]
    NoTarget {
        /// The order.
        order: ClusterOrder,
        /// The number of nodes.
        nodes: u32,
    },
}

impl ClusterError {
    /// Returns how an error of a server becomes that of its node.
    pub(super) fn of_node(number: u32) -> impl Fn(ServerError) -> Self {
        move |error| Self::Node { number, error }
    }

    /// Returns how an error of the operating system becomes that of a folder.
    pub(super) fn of_folder(folder: impl Into<PathBuf>) -> impl Fn(io::Error) -> Self {
        let folder = folder.into();
        move |error| Self::Folder {
            folder: folder.clone(),
            error,
        }
    }
}

/// The reason why an order was not executed.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// The host of the cluster is not reached.
    #[error("the host of the cluster: {0}")]
    NotReached(io::Error),
    /// The host did not execute it; in the host's words.
    #[error("{0}")]
    Refused(String),
}
