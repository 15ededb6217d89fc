//! LMDB's functions as a session calls them.

use super::build::Api;
use crate::mapped_session::{MappedApi, MappedCursor, MappedSlice, mapped_calls};
use crate::ordered_cursor::seek_range_by_key;
use lmdb_master_sys as ffi;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use trueput_engine::{Direction, Error, KeyRange, Result};

impl MappedSlice for ffi::MDB_val {
    #[inline]
    fn new(data: *mut c_void, bytes: usize) -> Self {
        Self {
            mv_size: bytes,
            mv_data: data,
        }
    }

    #[inline]
    fn data(&self) -> *const c_void {
        self.mv_data
    }

    #[inline]
    fn len(&self) -> usize {
        self.mv_size
    }
}

type Transaction = *mut ffi::MDB_txn;
type Cursor = *mut ffi::MDB_cursor;
type Slice<'s> = &'s mut ffi::MDB_val;

impl MappedApi for Api {
    type Environment = ffi::MDB_env;
    type Transaction = ffi::MDB_txn;
    type RawCursor = ffi::MDB_cursor;
    type Slice = ffi::MDB_val;

    const SUCCESS: c_int = ffi::MDB_SUCCESS;
    const NOT_FOUND: c_int = ffi::MDB_NOTFOUND;
    const KEY_EXISTS: c_int = ffi::MDB_KEYEXIST;
    const NO_OVERWRITE: c_uint = ffi::MDB_NOOVERWRITE;
    const APPEND: c_uint = ffi::MDB_APPEND;
    const READ_ONLY: c_uint = ffi::MDB_RDONLY;
    const FIRST: c_uint = ffi::MDB_FIRST;
    const LAST: c_uint = ffi::MDB_LAST;
    const NEXT: c_uint = ffi::MDB_NEXT;
    const PREVIOUS: c_uint = ffi::MDB_PREV;
    const SEEK: c_uint = ffi::MDB_SET_RANGE;
    const KEEPS_WRITE_CURSOR: bool = false;

    fn error(&self, code: c_int) -> Error {
        self.error(code)
    }

    fn seek_range(
        cursor: &mut MappedCursor<Self>,
        range: &KeyRange<'_>,
        direction: Direction,
    ) -> Result<bool> {
        seek_range_by_key(cursor, range, direction)
    }

    mapped_calls! { self:
        begin(environment: *mut ffi::MDB_env, flags: c_uint, begun: &mut Transaction) -> c_int =>
            (self.mdb_txn_begin)(environment, ptr::null_mut(), flags, begun);
        reset(reader: Transaction) -> c_int => {
            (self.mdb_txn_reset)(reader);
            ffi::MDB_SUCCESS
        };
        renew(reader: Transaction) -> c_int => (self.mdb_txn_renew)(reader);
        commit(transaction: Transaction) -> c_int => (self.mdb_txn_commit)(transaction);
        abort(transaction: Transaction) -> c_int => {
            (self.mdb_txn_abort)(transaction);
            ffi::MDB_SUCCESS
        };
        get(transaction: Transaction, table: c_uint, key: Slice<'_>, value: Slice<'_>) -> c_int =>
            (self.mdb_get)(transaction, table, key, value);
        put(
            transaction: Transaction, table: c_uint, key: Slice<'_>, value: Slice<'_>, flags: c_uint
        ) -> c_int => (self.mdb_put)(transaction, table, key, value, flags);
        // No value: deletes whichever value the key has.
        delete(transaction: Transaction, table: c_uint, key: Slice<'_>) -> c_int =>
            (self.mdb_del)(transaction, table, key, ptr::null_mut());
        open_cursor(transaction: Transaction, table: c_uint, cursor: &mut Cursor) -> c_int =>
            (self.mdb_cursor_open)(transaction, table, cursor);
        renew_cursor(transaction: Transaction, cursor: Cursor) -> c_int =>
            (self.mdb_cursor_renew)(transaction, cursor);
        close_cursor(cursor: Cursor) => (self.mdb_cursor_close)(cursor);
        move_cursor(
            cursor: Cursor, key: Slice<'_>, value: Slice<'_>, operation: c_uint
        ) -> c_int => (self.mdb_cursor_get)(cursor, key, value, operation);
    }
}
