//! The keys of trueput in a user's cluster: those that begin with `trueput/`, and the key `trueput`
//! that marks them as made by this program for one database.

use super::address::ServerAddress;
use super::connection::EtcdConnection;
use super::keyspace::{KeySpace, unchanged};
use super::message::{
    self, DeleteRangeRequest, Operation, PutRequest, RangeRequest, RangeResponse, TxnRequest,
    TxnResponse,
};
use super::promise_check::{self, FlushSign, LogCounts, await_flush};
use super::transaction::operation;
use std::path::Path;
use std::time::Duration;
use trueput_engine::sql::schema_mark::{COMMENT, new_mark};
use trueput_engine::{Durability, Error, Result};

/// The key of the mark. The keys of records begin with it and `/`.
const MARK_KEY: &str = "trueput";

/// The file in a database's folder that has its mark.
const MARKER: &str = "etcd-keys";

/// The time in which a node flushes a commit to its log.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// Takes the keys for the database in `directory`: as they are, where they are that database's;
/// otherwise all are deleted.
///
/// # Errors
/// [`Error::Unsupported`], if they are not trueput's.
pub(super) fn take(
    connection: &mut EtcdConnection,
    address: &ServerAddress,
    directory: &Path,
) -> Result<KeySpace> {
    let marker = directory.join(MARKER);
    let own = std::fs::read_to_string(&marker).ok();
    let (present, revision) = mark_of(connection, address)?;
    let space = |mark: String| KeySpace::new(MARK_KEY).marked(MARK_KEY, mark);
    if let (Some(own), Some(present)) = (&own, &present)
        && own == present
    {
        return Ok(space(own.clone()));
    }
    let mark = format!("{COMMENT}{}", new_mark());
    let new = space(mark.clone());
    let (key, range_end) = new.all();
    let request = TxnRequest {
        compare: vec![unchanged(MARK_KEY.into(), revision)],
        success: vec![
            operation(Operation::Delete(DeleteRangeRequest { key, range_end })),
            operation(Operation::Put(PutRequest {
                key: MARK_KEY.into(),
                value: mark.clone().into(),
            })),
        ],
        failure: Vec::new(),
    };
    let response: TxnResponse = connection.call(message::TXN, &request)?;
    if !response.succeeded {
        return Err(Error::Unsupported(format!(
            "another run has just begun to work in {address}: wait for its end"
        )));
    }
    std::fs::write(&marker, mark)
        .map_err(|error| Error::engine(format!("{}: {error}", marker.display())))?;
    Ok(new)
}

/// Checks that a node flushes its log: it counts flushes, and one was due since the counters were
/// read as given. A node that shows no counters is not checked.
///
/// # Errors
/// [`Error::Unsupported`], if it wrote to its log and flushed nothing; errors of the server.
pub(super) fn check_flushes(
    connection: &mut EtcdConnection,
    address: &ServerAddress,
    (before, durability): (Option<LogCounts>, Durability),
) -> Result<()> {
    let Some(before) = before else {
        return Ok(());
    };
    let look = || {
        let Some(now) = LogCounts::read(address) else {
            return Ok(FlushSign::Flushed);
        };
        Ok(if now.has_not_flushed_since(before) {
            FlushSign::Unflushed
        } else if now.has_written_since(before) {
            FlushSign::Flushed
        } else {
            FlushSign::Nothing
        })
    };
    // A node that wrote nothing follows one that is elsewhere.
    if await_flush(FLUSH_TIMEOUT, look, || rewrite_mark(connection))? != FlushSign::Unflushed {
        return Ok(());
    }
    let contradiction = promise_check::unflushed("its node", durability);
    Err(Error::Unsupported(format!("{address}: {contradiction}")))
}

/// Writes the mark as it is, if it has not changed meanwhile.
fn rewrite_mark(connection: &mut EtcdConnection) -> Result<()> {
    let request = RangeRequest {
        key: MARK_KEY.into(),
        ..RangeRequest::default()
    };
    let response: RangeResponse = connection.call(message::RANGE, &request)?;
    let Some(record) = response.kvs.first() else {
        return Ok(());
    };
    let request = TxnRequest {
        compare: vec![unchanged(MARK_KEY.into(), record.mod_revision)],
        success: vec![operation(Operation::Put(PutRequest {
            key: MARK_KEY.into(),
            value: record.value.clone(),
        }))],
        failure: Vec::new(),
    };
    let _: TxnResponse = connection.call(message::TXN, &request)?;
    Ok(())
}

/// Commits the removal of a key that a private cluster does not have: its log is written.
///
/// # Errors
/// Those of the server.
pub(super) fn commit_nothing(connection: &mut EtcdConnection) -> Result<()> {
    let absent = DeleteRangeRequest {
        key: MARK_KEY.into(),
        ..DeleteRangeRequest::default()
    };
    let request = TxnRequest {
        success: vec![operation(Operation::Delete(absent))],
        ..TxnRequest::default()
    };
    let _: TxnResponse = connection.call(message::TXN, &request)?;
    Ok(())
}

/// Checks that the keys are trueput's or that there are none.
///
/// # Errors
/// [`Error::Unsupported`], if they are not.
pub(super) fn check(connection: &mut EtcdConnection, address: &ServerAddress) -> Result<()> {
    mark_of(connection, address).map(drop)
}

/// Returns the mark, and the revision that changed it last.
fn mark_of(
    connection: &mut EtcdConnection,
    address: &ServerAddress,
) -> Result<(Option<String>, i64)> {
    let not_ours = |found: &str| {
        Error::Unsupported(format!(
            "{address} has {found} that is not trueput's: rename it, or name another cluster"
        ))
    };
    let request = RangeRequest {
        key: MARK_KEY.into(),
        ..RangeRequest::default()
    };
    let response: RangeResponse = connection.call(message::RANGE, &request)?;
    if let Some(record) = response.kvs.first() {
        let mark = std::str::from_utf8(&record.value).ok();
        let mark = mark.filter(|mark| mark.starts_with(COMMENT));
        let mark = mark.ok_or_else(|| not_ours("a key 'trueput'"))?;
        return Ok((Some(mark.to_owned()), record.mod_revision));
    }
    let (key, range_end) = KeySpace::new(MARK_KEY).all();
    let request = RangeRequest {
        key,
        range_end,
        count_only: true,
        ..RangeRequest::default()
    };
    let response: RangeResponse = connection.call(message::RANGE, &request)?;
    match response.count {
        0 => Ok((None, 0)),
        _ => Err(not_ours("a key that begins with 'trueput/' and")),
    }
}
