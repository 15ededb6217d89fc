//! RocksDB's functions that LevelDB does not have (`rocksdb/c.h`).

use crate::library::{self, FileCache, Library, symbols};
use crate::lsm::{Handle, LsmFunctions, ReadFunctions, ValueAccess};
use std::ffi::{c_char, c_int};
use std::path::Path;
use trueput_engine::{Error, Result};

type ErrorPointer = *mut *mut c_char;

symbols! {
    /// Databases and their options.
    #[allow(non_snake_case, reason = "the functions' own names")]
    RocksDbFunctions {
        open: fn(Handle, *const c_char, ErrorPointer) -> Handle,
        close: fn(Handle),
        get_options_from_string: fn(Handle, *const c_char, Handle, ErrorPointer),
        options_enable_statistics: fn(Handle),
        options_statistics_get_string: fn(Handle) -> *mut c_char,
        readoptions_set_total_order_seek: fn(Handle, u8),
        writeoptions_disable_WAL: fn(Handle, c_int),
        writeoptions_get_sync: fn(Handle) -> u8,
        writeoptions_get_disable_WAL: fn(Handle) -> u8,
        pinnableslice_value: fn(Handle, *mut usize) -> *const u8,
        pinnableslice_destroy: fn(Handle),
        flushoptions_create: fn() -> Handle,
        flushoptions_destroy: fn(Handle),
    }
}

symbols! {
    /// Functions that exist for a plain database and for one with locks.
    FlushFunctions {
        get_pinned: fn(Handle, Handle, *const u8, usize, ErrorPointer) -> Handle,
        flush: fn(Handle, Handle, ErrorPointer),
        flush_wal: fn(Handle, u8, ErrorPointer),
    }
}

symbols! {
    /// Databases with transactions.
    DatabaseFunctions {
        transactiondb_open: fn(Handle, Handle, *const c_char, ErrorPointer) -> Handle,
        transactiondb_close: fn(Handle),
        transactiondb_options_create: fn() -> Handle,
        transactiondb_options_destroy: fn(Handle),
        transaction_options_create: fn() -> Handle,
        transaction_options_destroy: fn(Handle),
        transaction_options_set_deadlock_detect: fn(Handle, u8),
        transaction_begin: fn(Handle, Handle, Handle, Handle) -> Handle,
        optimistictransactiondb_open: fn(Handle, *const c_char, ErrorPointer) -> Handle,
        optimistictransactiondb_close: fn(Handle),
        optimistictransactiondb_get_base_db: fn(Handle) -> Handle,
        optimistictransactiondb_close_base_db: fn(Handle),
        optimistictransaction_options_create: fn() -> Handle,
        optimistictransaction_options_destroy: fn(Handle),
        optimistictransaction_begin: fn(Handle, Handle, Handle, Handle) -> Handle,
    }
}

symbols! {
    /// Transactions, of either kind.
    TransactionFunctions {
        get_pinned_for_update: fn(Handle, Handle, *const u8, usize, u8, ErrorPointer) -> Handle,
        put: fn(Handle, *const u8, usize, *const u8, usize, ErrorPointer),
        delete: fn(Handle, *const u8, usize, ErrorPointer),
        create_iterator: fn(Handle, Handle) -> Handle,
        commit: fn(Handle, ErrorPointer),
        rollback: fn(Handle, ErrorPointer),
        destroy: fn(Handle),
    }
}

/// `std::string` in libstdc++'s layout, which the symbol's name confirms.
#[repr(C)]
struct StdString {
    text: *const u8,
    length: usize,
    /// The text itself if it is short, so that `text` points into the struct.
    short: [u8; 16],
}

/// The functions of one library.
pub(super) struct RocksDbLibrary {
    pub(super) own: RocksDbFunctions,
    pub(super) api: LsmFunctions,
    pub(super) plain_reads: ReadFunctions,
    pub(super) locking_reads: ReadFunctions,
    pub(super) plain: FlushFunctions,
    pub(super) locking: FlushFunctions,
    pub(super) databases: DatabaseFunctions,
    pub(super) transactions: TransactionFunctions,
    /// Newer libraries have it: 11.8.1 does, 7.8.3 does not.
    pub(super) verify_checksum: Option<unsafe extern "C" fn(Handle, ErrorPointer)>,
    version: unsafe extern "C" fn(bool) -> StdString,
}

impl RocksDbLibrary {
    /// Takes them from the library at `path`, once.
    pub(super) fn of(path: &Path) -> Result<&'static Self> {
        static LIBRARIES: FileCache<Library> = FileCache::new();
        static SYMBOLS: FileCache<RocksDbLibrary> = FileCache::new();
        SYMBOLS.get(path, |path| {
            let library = LIBRARIES.get(path, |path| library::load(path, super::TITLE))?;
            Ok(Self {
                own: RocksDbFunctions::load(library, "rocksdb_")?,
                api: LsmFunctions::load(library, "rocksdb_")?,
                plain_reads: ReadFunctions::load(library, "rocksdb_")?,
                locking_reads: ReadFunctions::load(library, "rocksdb_transactiondb_")?,
                plain: FlushFunctions::load(library, "rocksdb_")?,
                locking: FlushFunctions::load(library, "rocksdb_transactiondb_")?,
                databases: DatabaseFunctions::load(library, "rocksdb_")?,
                transactions: TransactionFunctions::load(library, "rocksdb_transaction_")?,
                // SAFETY: the type is that of `rocksdb/c.h`.
                verify_checksum: unsafe { library.symbol("rocksdb_verify_checksum") }.ok(),
                // The C API does not tell the version. This is
                // `rocksdb::GetRocksVersionAsString(bool)` of `rocksdb/version.h`.
                // SAFETY: the mangled name says what it takes and that it returns a `std::string`
                // of libstdc++, which goes through memory that the caller provides, as a struct of
                // this size does in C.
                version: unsafe {
                    library.symbol("_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb")?
                },
            })
        })
    }

    /// The version, as the library reports it.
    pub(super) fn version(&self) -> Result<String> {
        // SAFETY: see `of`; `true` asks for the patch number too.
        let version = unsafe { (self.version)(true) };
        // A version is short, so the text is in the struct, which has moved since.
        let text = version
            .short
            .get(..version.length)
            .and_then(|text| str::from_utf8(text).ok());
        text.map(str::to_owned).ok_or_else(|| {
            let (length, text) = (version.length, version.text);
            Error::engine(format!(
                "RocksDB gave a version of {length} bytes at {text:?}"
            ))
        })
    }

    /// Returns the way in which a value is read from a database of that kind.
    pub(super) fn get(&self, kind: &FlushFunctions) -> ValueAccess {
        ValueAccess::Pinned {
            get: kind.get_pinned,
            value: self.own.pinnableslice_value,
            release: self.own.pinnableslice_destroy,
        }
    }
}
