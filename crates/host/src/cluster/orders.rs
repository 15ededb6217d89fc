//! Orders to the host of a cluster, one line of JSON each, by a socket in the cluster's folder.

use super::error::{ClusterError, OrderError};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;
use trueput_engine::cluster::{connect_to_host, listen_as_host};
use trueput_record::fault::ClusterOrder;

/// The time that whoever gave an order waits for its answer: a node may have to be made anew.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// The time that the host waits for the line of an order.
const LINE_TIMEOUT: Duration = Duration::from_secs(1);

/// The answer to an order: the nodes that it concerned, or in words why it was not executed.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    done: Result<Vec<u32>, String>,
}

/// The socket by which orders come.
pub(super) struct OrderSocket(UnixListener);

/// An order whose sender waits.
pub(super) struct ReceivedOrder {
    pub(super) order: ClusterOrder,
    sender: UnixStream,
}

impl OrderSocket {
    pub(super) fn listen(cluster: &Path) -> Result<Self, ClusterError> {
        let failed = ClusterError::of_folder(cluster);
        let listener = listen_as_host(cluster).map_err(&failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self(listener))
    }

    /// Returns the next order, if there is one.
    pub(super) fn next_order(&self) -> Option<ReceivedOrder> {
        let (sender, _) = self.0.accept().ok()?;
        sender.set_nonblocking(false).ok()?;
        sender.set_read_timeout(Some(LINE_TIMEOUT)).ok()?;
        sender.set_write_timeout(Some(LINE_TIMEOUT)).ok()?;
        let mut line = String::new();
        BufReader::new(&sender).read_line(&mut line).ok()?;
        // Whoever only asks whether the host listens sends none.
        let order = serde_json::from_str(&line).ok()?;
        Some(ReceivedOrder { order, sender })
    }
}

impl ReceivedOrder {
    pub(super) fn answer(mut self, done: Result<Vec<u32>, ClusterError>) {
        let done = done.map_err(|error| error.to_string());
        let mut text = serde_json::to_vec(&Answer { done }).unwrap_or_default();
        text.push(b'\n');
        // A sender that has gone needs no answer.
        let _ = self.sender.write_all(&text);
    }
}

/// Gives an order to the host of the cluster in a folder, and returns the nodes that it concerned.
///
/// # Errors
/// [`OrderError`], if the host is not reached, or cannot execute the order.
pub fn send_order(cluster: &Path, order: ClusterOrder) -> Result<Vec<u32>, OrderError> {
    let failed = OrderError::NotReached;
    let mut stream = connect_to_host(cluster).map_err(failed)?;
    stream
        .set_read_timeout(Some(ANSWER_TIMEOUT))
        .map_err(failed)?;
    stream
        .set_write_timeout(Some(LINE_TIMEOUT))
        .map_err(failed)?;
    let mut text = serde_json::to_vec(&order).map_err(|error| failed(error.into()))?;
    text.push(b'\n');
    stream.write_all(&text).map_err(failed)?;
    let mut line = String::new();
    BufReader::new(stream)
        .read_line(&mut line)
        .map_err(failed)?;
    let answer: Answer = serde_json::from_str(&line).map_err(|error| failed(error.into()))?;
    answer.done.map_err(OrderError::Refused)
}
