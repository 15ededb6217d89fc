//! RocksDB's functions that LevelDB does not have (`rocksdb/c.h`).

use crate::library::{self, FileCache, Library, symbols};
use crate::lsm::{CopyingMultiGet, Handle, LsmFunctions, ReadFunctions, ValueAccess};
use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
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
        compact_range: fn(Handle, *const u8, usize, *const u8, usize),
    }
}

symbols! {
    /// The plain database within one with locks.
    BaseFunctions {
        get_base_db: fn(Handle) -> Handle,
        close_base_db: fn(Handle),
    }
}

symbols! {
    /// Look-ups of several keys in a column family, and the default one.
    BatchedFunctions {
        batched_multi_get_cf: fn(
            Handle,
            Handle,
            Handle,
            usize,
            *const *const u8,
            *const usize,
            *mut Handle,
            *mut *mut c_char,
            bool
        ),
        get_default_column_family_handle: fn(Handle) -> Handle,
        column_family_handle_destroy: fn(Handle),
    }
}

symbols! {
    /// Files of records, and their ingestion into a plain database.
    IngestionFunctions {
        envoptions_create: fn() -> Handle,
        envoptions_destroy: fn(Handle),
        sstfilewriter_create: fn(Handle, Handle) -> Handle,
        sstfilewriter_open: fn(Handle, *const c_char, ErrorPointer),
        sstfilewriter_put: fn(Handle, *const u8, usize, *const u8, usize, ErrorPointer),
        sstfilewriter_finish: fn(Handle, ErrorPointer),
        sstfilewriter_destroy: fn(Handle),
        ingestexternalfileoptions_create: fn() -> Handle,
        ingestexternalfileoptions_destroy: fn(Handle),
        ingestexternalfileoptions_set_move_files: fn(Handle, u8),
        ingest_external_file: fn(Handle, *const *const c_char, usize, Handle, ErrorPointer),
    }
}

symbols! {
    /// Look-ups of several keys that copy the values; they exist for a plain database and for one
    /// with locks.
    CopyingFunctions {
        multi_get: fn(
            Handle,
            Handle,
            usize,
            *const *const u8,
            *const usize,
            *mut *mut u8,
            *mut usize,
            *mut *mut c_char
        ),
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

symbols! {
    /// The counters that RocksDB keeps for the calling thread.
    PerfContextFunctions {
        create: fn() -> Handle,
        metric: fn(Handle, c_int) -> u64,
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

/// `std::string` in libstdc++'s layout of before GCC 5, in which Speedb's library is compiled: a
/// pointer to the text, with the length before it. C++ returns it through memory of the caller, as
/// C returns a struct of more than 16 bytes; only the pointer is written.
#[repr(C)]
struct OldStdString {
    text: *const u8,
    unused: [MaybeUninit<usize>; 3],
}

impl OldStdString {
    /// The length lies this many words before the text.
    const LENGTH_WORDS: usize = 3;

    /// Reads the text.
    ///
    /// # Safety
    /// It is as the library returned it.
    unsafe fn to_owned(&self) -> Vec<u8> {
        // SAFETY: the layout is that of `_Rep` in libstdc++'s `cow_string.h`: length, capacity,
        // count of references, text.
        unsafe {
            let length = *self.text.cast::<usize>().sub(Self::LENGTH_WORDS);
            std::slice::from_raw_parts(self.text, length).to_vec()
        }
    }
}

/// The function that tells the version, which the C API does not. `true` asks for the patch number.
enum VersionFunction {
    /// `rocksdb::GetRocksVersionAsString(bool)` of `rocksdb/version.h`.
    RocksDb(unsafe extern "C" fn(bool) -> StdString),
    /// `rocksdb::GetSpeedbVersionAsString(bool)` of Speedb, which has the same C API.
    Speedb(unsafe extern "C" fn(bool) -> OldStdString),
}

impl VersionFunction {
    fn of(library: &'static Library) -> Result<Self> {
        // SAFETY: the mangled names say what the functions take, and that they return a
        // `std::string` of libstdc++ of the one kind or the other: through memory that the caller
        // provides, as structs of these sizes are returned in C.
        unsafe {
            match library.symbol("_ZN7rocksdb24GetSpeedbVersionAsStringEb") {
                Ok(speedb) => Ok(Self::Speedb(speedb)),
                Err(_) => library
                    .symbol("_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb")
                    .map(Self::RocksDb),
            }
        }
    }

    fn version(&self) -> Result<String> {
        let (title, text) = match self {
            Self::RocksDb(function) => {
                // SAFETY: see `of`.
                let version = unsafe { function(true) };
                // A version is short, so the text is in the struct, which has moved since.
                ("", version.short.get(..version.length).map(<[u8]>::to_vec))
            }
            // SAFETY: see `of`. The string is not freed: it is asked for a few times a process.
            Self::Speedb(function) => ("Speedb ", Some(unsafe { function(true).to_owned() })),
        };
        let text = text.and_then(|text| String::from_utf8(text).ok());
        let text = text.ok_or_else(|| Error::engine("RocksDB gave a version that is no text"))?;
        // The library of Speedb's package says `2.8.0-?`.
        Ok(format!("{title}{}", text.trim_end_matches("-?")))
    }
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
    /// `None` if the library is too old to have them.
    pub(super) base: Option<BaseFunctions>,
    /// `None` if the library is too old to name the default column family: 7.8.3 is.
    pub(super) batched: Option<BatchedFunctions>,
    /// `None` if the library has none.
    pub(super) ingestion: Option<IngestionFunctions>,
    pub(super) plain_copies: CopyingFunctions,
    pub(super) locking_copies: CopyingFunctions,
    pub(super) transactions: TransactionFunctions,
    /// Newer libraries have it: 11.8.1 does, 7.8.3 does not.
    pub(super) verify_checksum: Option<unsafe extern "C" fn(Handle, ErrorPointer)>,
    /// `None` if the library does not export them.
    pub(super) perf_context: Option<PerfContextFunctions>,
    version: VersionFunction,
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
                base: BaseFunctions::load(library, "rocksdb_transactiondb_").ok(),
                batched: BatchedFunctions::load(library, "rocksdb_").ok(),
                ingestion: IngestionFunctions::load(library, "rocksdb_").ok(),
                plain_copies: CopyingFunctions::load(library, "rocksdb_")?,
                locking_copies: CopyingFunctions::load(library, "rocksdb_transactiondb_")?,
                transactions: TransactionFunctions::load(library, "rocksdb_transaction_")?,
                // SAFETY: the type is that of `rocksdb/c.h`.
                verify_checksum: unsafe { library.symbol("rocksdb_verify_checksum") }.ok(),
                perf_context: PerfContextFunctions::load(library, "rocksdb_perfcontext_").ok(),
                version: VersionFunction::of(library)?,
            })
        })
    }

    /// The version, as the library reports it.
    pub(super) fn version(&self) -> Result<String> {
        self.version.version()
    }

    /// Returns the look-up of several keys that copies the values, of a database with locks or of a
    /// plain one.
    pub(super) fn copying_multi_get(&self, has_locks: bool) -> CopyingMultiGet {
        if has_locks {
            self.locking_copies.multi_get
        } else {
            self.plain_copies.multi_get
        }
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
