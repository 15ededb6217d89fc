//! The C functions, as `leveldb/c.h` and `rocksdb/c.h` declare them. All opaque types are one
//! [`Handle`] here; `unsigned char` is `u8`.

use crate::library::symbols;
use std::ffi::{c_char, c_void};

/// A pointer to one of the API's opaque types.
pub(crate) type Handle = *mut c_void;

/// The pointer through which a function returns its error message: null if it succeeded. The
/// caller frees the message.
pub(crate) type ErrorPointer = *mut *mut c_char;

/// Called for each put in a batch: state, key, its length, value, its length.
pub(crate) type PutVisitor = unsafe extern "C" fn(*mut c_void, *const u8, usize, *const u8, usize);

/// Called for each delete in a batch: state, key, its length.
pub(crate) type DeleteVisitor = unsafe extern "C" fn(*mut c_void, *const u8, usize);

symbols! {
    /// Functions that take no database, or only a plain (non-transactional) one. The C names have
    /// the library's prefix, `leveldb_` or `rocksdb_`, which the loader adds.
    LsmFunctions {
        free: fn(*mut c_void),
        write: fn(Handle, Handle, Handle, ErrorPointer),
        options_create: fn() -> Handle,
        options_destroy: fn(Handle),
        options_set_create_if_missing: fn(Handle, u8),
        writeoptions_create: fn() -> Handle,
        writeoptions_destroy: fn(Handle),
        writeoptions_set_sync: fn(Handle, u8),
        readoptions_create: fn() -> Handle,
        readoptions_destroy: fn(Handle),
        readoptions_set_snapshot: fn(Handle, Handle),
        writebatch_create: fn() -> Handle,
        writebatch_destroy: fn(Handle),
        writebatch_clear: fn(Handle),
        writebatch_put: fn(Handle, *const u8, usize, *const u8, usize),
        writebatch_delete: fn(Handle, *const u8, usize),
        writebatch_iterate: fn(Handle, *mut c_void, PutVisitor, DeleteVisitor),
        iter_destroy: fn(Handle),
        iter_valid: fn(Handle) -> u8,
        iter_seek_to_first: fn(Handle),
        iter_seek_to_last: fn(Handle),
        iter_seek: fn(Handle, *const u8, usize),
        iter_next: fn(Handle),
        iter_prev: fn(Handle),
        iter_key: fn(Handle, *mut usize) -> *const u8,
        iter_value: fn(Handle, *mut usize) -> *const u8,
        iter_get_error: fn(Handle, ErrorPointer),
    }
}

symbols! {
    /// Functions that read a database; RocksDB also exports them for TransactionDB. The caller
    /// frees the results of `get` and `property_value` with `free`.
    ReadFunctions {
        get: fn(Handle, Handle, *const u8, usize, *mut usize, ErrorPointer) -> *mut u8,
        create_snapshot: fn(Handle) -> Handle,
        release_snapshot: fn(Handle, Handle),
        create_iterator: fn(Handle, Handle) -> Handle,
        property_value: fn(Handle, *const c_char) -> *mut c_char,
    }
}

/// `rocksdb_multi_get`, or that of a database with locks: it allocates a copy of each value. Its
/// arguments are the database, the read options, the number of keys, the keys, their lengths, and
/// the arrays that it fills: values, their lengths, errors.
pub(crate) type CopyingMultiGet = unsafe extern "C" fn(
    Handle,
    Handle,
    usize,
    *const *const u8,
    *const usize,
    *mut *mut u8,
    *mut usize,
    *mut *mut c_char,
);

/// `rocksdb_batched_multi_get_cf`: it pins each value. Its arguments are the plain database, the
/// read options, the column family, the number of keys, the keys, their lengths, the arrays that it
/// fills (pinned values, errors), and whether the keys are in order.
pub(crate) type BatchedMultiGet = unsafe extern "C" fn(
    Handle,
    Handle,
    Handle,
    usize,
    *const *const u8,
    *const usize,
    *mut Handle,
    *mut *mut c_char,
    bool,
);

/// The way in which several keys are looked up. Both return null for the value and the error of a
/// key that is not there.
#[derive(Clone, Copy)]
pub(crate) enum MultiGet {
    /// Copies, from the database itself.
    Copied(CopyingMultiGet),
    /// References into the library's memory, of `ValueAccess::Pinned`.
    Pinned {
        get: BatchedMultiGet,
        /// The plain database.
        database: Handle,
        /// Its default column family.
        column_family: Handle,
    },
}
