//! One worker's access to a database: its transactions.

use crate::{KeyBatch, KeyRange, Result, Sql};
use std::ops::ControlFlow;

/// The kind of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Reads only. [`Session::put`] and [`Session::delete`] are refused.
    Read,
    /// Reads and writes. It sees its own writes.
    Write,
}

/// The order of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// By ascending key.
    Forward,
    /// By descending key.
    Backward,
}

/// Visits a value in the engine's memory; the slice is valid only during the call.
pub type ValueVisitor<'v> = dyn FnMut(&[u8]) + 'v;

/// Visits a value of a batch: the position of its key in the batch, from 0, and the value in the
/// engine's memory; the slice is valid only during the call.
pub type BatchVisitor<'v> = dyn FnMut(usize, &[u8]) + 'v;

/// Looks at a record of a scan; the slices end with the call. `Break` ends the scan.
pub type RecordVisitor<'v> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v;

/// Records for a loader, in the ascending order of their keys.
pub trait RecordSource {
    /// Returns the key and the value of the next record, valid until the next call; `None` behind
    /// the last.
    fn next_record(&mut self) -> Option<(&[u8], &[u8])>;
}

/// One worker's access to a database: at most one transaction at a time, on one thread.
///
/// It is the measured code: nothing in it allocates, locks, formats or reads a clock unless the
/// engine itself does, and values are passed in place. A table, cursor or statement stays open for
/// as long as the transaction allows; if opening it anew costs much, [`Engine::workaround`] says
/// so. It never panics: lengths are checked before an engine that would is called
/// ([`common_errors`](crate::common_errors)).
///
/// Every `get`, `put`, `delete` and `scan` is between a `begin` and a `commit` or `abort`; reads
/// may end with either. Without an open transaction they are refused, `commit` and `abort` too, and
/// with an open one `begin` is refused: with any error but [`Error::Conflict`], which would invite
/// a retry.
///
/// After an error of a call within a transaction, including a refused second `begin`, the
/// transaction is still open and the caller must call `abort`: it ends the transaction, even if the
/// engine has already aborted it. Results of other calls are unspecified. After an error of
/// `commit`, or of a first `begin`, no transaction is open. In both cases the session can begin the
/// next one.
///
/// A session that is dropped aborts its transaction.
///
/// [`Error::Conflict`]: crate::Error::Conflict
/// [`Engine::workaround`]: crate::Engine::workaround
pub trait Session {
    /// Begins a transaction. A session that has one open refuses.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the engine asks for a retry.
    ///
    /// [`Error::Conflict`]: crate::Error::Conflict
    fn begin(&mut self, mode: Mode) -> Result<()>;

    /// Passes the value of `key` to `visitor`, without a copy if the engine permits, and returns
    /// whether the key exists. The visitor is called once if it does, and otherwise not at all. A
    /// key that cannot be put (too long, or empty if the engine refuses that) does not exist, or is
    /// [`Error::Unsupported`].
    ///
    /// # Errors
    /// [`Error::Conflict`] if the engine aborts the transaction.
    ///
    /// [`Error::Conflict`]: crate::Error::Conflict
    /// [`Error::Unsupported`]: crate::Error::Unsupported
    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool>;

    /// Looks up several keys: passes the value of each that exists to `visitor`, with the key's
    /// position in the batch, and returns the number of values passed. The order of the values is
    /// free. A key that is in the batch twice is passed twice. In all else it is a
    /// [`Session::get`] of each key, in the open transaction. An engine that looks up several keys
    /// in one operation overrides it ([`Capabilities::batch_get`]).
    ///
    /// # Errors
    /// As [`Session::get`]; some values may have been passed.
    ///
    /// [`Capabilities::batch_get`]: crate::Capabilities::batch_get
    fn get_many(&mut self, keys: &KeyBatch, visitor: &mut BatchVisitor<'_>) -> Result<u64> {
        get_each(self, keys, visitor)
    }

    /// Does a [`Session::get`] in a read transaction of its own, while no transaction is open. An
    /// engine that serves a single lookup from its latest state, without a snapshot, overrides it,
    /// so that a lookup costs the same as for its users.
    ///
    /// # Errors
    /// As [`Session::begin`], [`Session::get`] and [`Session::commit`]; no transaction is open
    /// afterwards.
    fn point_read(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        read_in_transaction(self, key, visitor)
    }

    /// Stores `value` under `key`, whether or not the key exists. The value may be empty. The empty
    /// key is either supported or refused; nothing is truncated or lost silently.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the engine aborts the transaction; [`Error::Full`] if there is no
    /// space; [`Error::Unsupported`] in a read transaction, for a key or value longer than stated
    /// in [`Capabilities`], or for an empty key if the engine does not support it.
    ///
    /// [`Error::Conflict`]: crate::Error::Conflict
    /// [`Error::Full`]: crate::Error::Full
    /// [`Error::Unsupported`]: crate::Error::Unsupported
    /// [`Capabilities`]: crate::Capabilities
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Stores `value` under `key` if the key does not exist, and returns whether it stored it. Of
    /// several transactions that do so at once with one key, one stores. An engine that does it in
    /// one operation overrides it ([`Capabilities::conditional_put`]).
    ///
    /// # Errors
    /// As [`Session::put`]. In a read transaction a key that exists may be `false` instead.
    ///
    /// [`Capabilities::conditional_put`]: crate::Capabilities::conditional_put
    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        put_unless_found(self, key, value)
    }

    /// Deletes `key`. It is not an error if the key does not exist.
    ///
    /// # Errors
    /// As [`Session::put`].
    fn delete(&mut self, key: &[u8]) -> Result<()>;

    /// Passes the records of `range` in the order of `direction` to `visitor` until it breaks, and
    /// returns the number of records passed, including the one at which the visitor broke. The
    /// transaction's own writes are included. A bound need not be an existing key, and may be the
    /// empty string; a reversed range has no records and is not an error.
    ///
    /// # Errors
    /// As [`Session::get`].
    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64>;

    /// Commits the transaction: makes its writes visible, and durable at the database's level.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another transaction interfered; nothing was written then.
    ///
    /// [`Error::Conflict`]: crate::Error::Conflict
    fn commit(&mut self) -> Result<()>;

    /// Ends the transaction and forgets its writes.
    ///
    /// # Errors
    /// Whatever the engine says; the transaction has ended all the same.
    fn abort(&mut self) -> Result<()>;

    /// Loads records by the engine's own loader, while no transaction is open. Their keys are
    /// behind all keys of the database. At the end all are committed, durable at the database's
    /// level. `false`, with none taken, if the engine has no loader. Nobody else writes meanwhile.
    ///
    /// # Errors
    /// As [`Session::put`] and [`Session::commit`]; a part of the records may be there then.
    fn bulk_load(&mut self, _records: &mut dyn RecordSource) -> Result<bool> {
        Ok(false)
    }

    /// Makes the engine's counters include everything that this session did, if the engine would
    /// otherwise do so later. No transaction is open.
    ///
    /// # Errors
    /// The errors of the engine.
    fn flush_counters(&mut self) -> Result<()> {
        Ok(())
    }

    /// Returns its SQL interface; `None` if the engine has none.
    fn sql(&mut self) -> Option<&mut dyn Sql> {
        None
    }
}

/// Looks up the keys of a batch one by one.
///
/// # Errors
/// As [`Session::get`].
pub fn get_each<S: Session + ?Sized>(
    session: &mut S,
    keys: &KeyBatch,
    visitor: &mut BatchVisitor<'_>,
) -> Result<u64> {
    let mut found = 0;
    for (position, key) in keys.keys_from(0).enumerate() {
        found += u64::from(session.get(key, &mut |value| visitor(position, value))?);
    }
    Ok(found)
}

/// Looks a key up, and puts the record if it is not there; returns whether it was put.
///
/// # Errors
/// As [`Session::put_if_absent`].
pub fn put_unless_found<S: Session + ?Sized>(
    session: &mut S,
    key: &[u8],
    value: &[u8],
) -> Result<bool> {
    if session.get(key, &mut |_| ())? {
        return Ok(false);
    }
    session.put(key, value)?;
    Ok(true)
}

/// Does a [`Session::get`] in a read transaction of its own.
///
/// # Errors
/// As [`Session::point_read`].
pub fn read_in_transaction<S: Session + ?Sized>(
    session: &mut S,
    key: &[u8],
    visitor: &mut ValueVisitor<'_>,
) -> Result<bool> {
    session.begin(Mode::Read)?;
    match session.get(key, visitor) {
        Ok(found) => session.commit().map(|()| found),
        Err(error) => {
            // The first error says more than an error of the abort.
            let _ = session.abort();
            Err(error)
        }
    }
}
