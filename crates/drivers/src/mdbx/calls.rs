//! libmdbx's functions as a session calls them.

use super::MAX_KEY_BYTES;
use super::api::{Api, Env, RawCursor, Txn, Val, value};
use crate::mapped_session::{MappedApi, MappedCursor, MappedSlice, mapped_calls};
use std::ffi::{c_int, c_uint, c_void};
use std::ops::Bound;
use std::ptr;
use trueput_engine::{Direction, Error, KeyRange, Result};

impl MappedSlice for Val {
    #[inline]
    fn new(data: *mut c_void, bytes: usize) -> Self {
        Self { base: data, bytes }
    }

    #[inline]
    fn data(&self) -> *const c_void {
        self.base
    }

    #[inline]
    fn len(&self) -> usize {
        self.bytes
    }
}

type Transaction = *mut Txn;
type Cursor = *mut RawCursor;
type Slice<'s> = &'s mut Val;

impl MappedApi for Api {
    type Environment = Env;
    type Transaction = Txn;
    type RawCursor = RawCursor;
    type Slice = Val;

    const SUCCESS: c_int = value::MDBX_SUCCESS;
    const NOT_FOUND: c_int = value::MDBX_NOTFOUND;
    const KEY_EXISTS: c_int = value::MDBX_KEYEXIST;
    const NO_OVERWRITE: c_uint = value::MDBX_NOOVERWRITE;
    const APPEND: c_uint = value::MDBX_APPEND;
    const READ_ONLY: c_uint = value::MDBX_TXN_RDONLY;
    const FIRST: c_uint = value::MDBX_FIRST;
    const LAST: c_uint = value::MDBX_LAST;
    const NEXT: c_uint = value::MDBX_NEXT;
    const PREVIOUS: c_uint = value::MDBX_PREV;
    const SEEK: c_uint = value::MDBX_SET_RANGE;
    // libmdbx unbinds a cursor when its transaction ends.
    const KEEPS_WRITE_CURSOR: bool = true;

    fn error(&self, code: c_int) -> Error {
        self.error(code)
    }

    #[inline]
    fn check_key(key: &[u8]) -> Result<()> {
        if key.len() > MAX_KEY_BYTES {
            return Err(too_long(key.len()));
        }
        Ok(())
    }

    /// libmdbx has an operation for each kind of end.
    fn seek_range(
        cursor: &mut MappedCursor<Self>,
        range: &KeyRange<'_>,
        direction: Direction,
    ) -> Result<bool> {
        let (operation, key): (c_uint, &[u8]) = match direction {
            Direction::Forward => match range.lower {
                Bound::Unbounded => (value::MDBX_FIRST, &[]),
                Bound::Included(key) => (value::MDBX_SET_RANGE, key),
                Bound::Excluded(key) => (value::MDBX_TO_KEY_GREATER_THAN, key),
            },
            Direction::Backward => match range.upper {
                Bound::Unbounded => (value::MDBX_LAST, &[]),
                Bound::Included(key) => (value::MDBX_TO_KEY_LESSER_OR_EQUAL, key),
                Bound::Excluded(key) => (value::MDBX_TO_KEY_LESSER_THAN, key),
            },
        };
        cursor.go_by_key(operation, key)
    }

    mapped_calls! { self:
        begin(environment: *mut Env, flags: c_uint, begun: &mut Transaction) -> c_int =>
            (self.txn_begin_ex)(environment, ptr::null_mut(), flags, begun, ptr::null_mut());
        reset(reader: Transaction) -> c_int => (self.txn_reset)(reader);
        renew(reader: Transaction) -> c_int => (self.txn_renew)(reader);
        commit(transaction: Transaction) -> c_int =>
            (self.txn_commit_ex)(transaction, ptr::null_mut());
        abort(transaction: Transaction) -> c_int => (self.txn_abort)(transaction);
        get(transaction: Transaction, table: c_uint, key: Slice<'_>, found: Slice<'_>) -> c_int =>
            (self.get)(transaction, table, key, found);
        put(
            transaction: Transaction, table: c_uint, key: Slice<'_>, value: Slice<'_>, flags: c_uint
        ) -> c_int => (self.put)(transaction, table, key, value, flags);
        // No value means any.
        delete(transaction: Transaction, table: c_uint, key: Slice<'_>) -> c_int =>
            (self.del)(transaction, table, key, ptr::null());
        open_cursor(transaction: Transaction, table: c_uint, cursor: &mut Cursor) -> c_int =>
            (self.cursor_open)(transaction, table, cursor);
        renew_cursor(transaction: Transaction, cursor: Cursor) -> c_int =>
            (self.cursor_renew)(transaction, cursor);
        close_cursor(cursor: Cursor) => (self.cursor_close)(cursor);
        move_cursor(
            cursor: Cursor, key: Slice<'_>, found: Slice<'_>, operation: c_uint
        ) -> c_int => (self.cursor_get)(cursor, key, found, operation);
    }
}

#[cold]
fn too_long(key_bytes: usize) -> Error {
    Error::Unsupported(format!(
        "a key of {key_bytes} bytes; libmdbx takes up to {MAX_KEY_BYTES}"
    ))
}
