//! The functions of a loaded plug-in.

use super::abi::{
    BeginCall, ClosedCall, DatabaseApi, DatabaseCall, EngineTable, Entry, GetCall, Host, KeyCall,
    MAGIC, MAJOR, MINOR, NewSession, OpenCall, PutCall, ScanBegin, ScanNext, SessionApi,
    SessionCall, SessionEnd, ValuesCall,
};
use super::symbols::ENTRY;
use crate::library::{self, FileCache};
use std::mem::{MaybeUninit, offset_of};
use std::path::Path;
use std::ptr;
use trueput_engine::{Error, Result};

static HOST: Host = Host {
    size: size_of::<Host>() as u32,
    major: MAJOR,
    minor: MINOR,
    reserved: 0,
};

/// The functions of a plug-in; those that it must have are there.
#[derive(Clone, Copy)]
pub(super) struct PluginTable {
    pub(super) database: DatabaseFunctions,
    pub(super) session: SessionFunctions,
}

/// The functions of a database; `include/trueput_engine.h` describes each.
#[derive(Clone, Copy)]
pub(super) struct DatabaseFunctions {
    pub(super) open: OpenCall,
    pub(super) close: DatabaseCall,
    pub(super) session: NewSession,
    pub(super) checkpoint: DatabaseCall,
    pub(super) settings: ValuesCall,
    pub(super) counters: Option<ValuesCall>,
    pub(super) check_files: Option<ClosedCall>,
    pub(super) prepare_after_power_loss: Option<ClosedCall>,
}

/// The functions of a session; `include/trueput_engine.h` describes each.
#[derive(Clone, Copy)]
pub(super) struct SessionFunctions {
    pub(super) begin: BeginCall,
    pub(super) commit: SessionCall,
    pub(super) abort: SessionCall,
    pub(super) get: GetCall,
    pub(super) put: PutCall,
    pub(super) remove: KeyCall,
    pub(super) scan_begin: ScanBegin,
    pub(super) scan_next: ScanNext,
    pub(super) scan_end: SessionEnd,
    pub(super) close: SessionEnd,
    pub(super) point_get: Option<GetCall>,
    pub(super) flush_counters: Option<SessionCall>,
}

/// Takes the functions that a plug-in must have out of one of its tables.
macro_rules! required {
    ($api:ident, $table:literal, $functions:ident { $($field:ident),+; $($optional:ident),+ }) => {
        $functions {
            $($field: $api.$field.ok_or_else(|| {
                format!("has no function '{}' in its {}", stringify!($field), $table)
            })?,)+
            $($optional: $api.$optional,)+
        }
    };
}

impl PluginTable {
    /// Loads the plug-in in this file, once per process.
    ///
    /// # Errors
    /// One line that names the file and what its table lacks.
    pub(super) fn of(path: &Path) -> Result<&'static Self> {
        // An error is kept, too: the function is called once per process.
        static LOADED: FileCache<Result<PluginTable>> = FileCache::new();
        let loaded = LOADED.get(path, |path| Ok(Self::load(path)))?;
        loaded.as_ref().map_err(Clone::clone)
    }

    fn load(path: &Path) -> Result<Self> {
        let library = library::load(path, "a plug-in of trueput")?;
        // SAFETY: the header declares the function of this name with this type.
        let entry: Result<Entry> = unsafe { library.symbol(ENTRY) };
        // It stays loaded until the process ends, whatever it returns.
        std::mem::forget(library);
        // SAFETY: as the header asks: once per process, with a host that lives as long.
        let table = unsafe { entry?(&raw const HOST) };
        // SAFETY: the header asks for a table, or NULL.
        let read = unsafe { Self::read(table) };
        read.map_err(|reason| Error::engine(format!("{} {reason}", path.display())))
    }

    /// Reads a plug-in's table.
    ///
    /// # Safety
    /// `table` is NULL, or points to a table of at least 16 bytes as the header describes it.
    unsafe fn read(table: *const EngineTable) -> std::result::Result<Self, String> {
        if table.is_null() {
            return Err("returned no table: it says why on standard error".to_owned());
        }
        // SAFETY: the first 16 bytes are the same in each version of the interface.
        let [magic, size, major, _minor] = unsafe { table.cast::<[u32; 4]>().read_unaligned() };
        if magic != MAGIC {
            return Err(format!(
                "returned a table with magic {magic:#x}, not {MAGIC:#x}"
            ));
        }
        if major != MAJOR {
            return Err(format!(
                "returned a table of interface version {major}; this trueput has version {MAJOR}"
            ));
        }
        if (size as usize) < size_of::<EngineTable>() {
            return Err(too_small("engine", size, size_of::<EngineTable>()));
        }
        // SAFETY: it is of this version, and at least as long.
        let table = unsafe { table.read_unaligned() };
        // SAFETY: the header says so of both pointers.
        let (database, session) = unsafe {
            let required = offset_of!(DatabaseApi, counters);
            let database = read_sized(table.database, "database", required)?;
            let required = offset_of!(SessionApi, point_get);
            (database, read_sized(table.session, "session", required)?)
        };
        Ok(Self {
            database: required!(database, "table of databases", DatabaseFunctions {
                open, close, session, checkpoint, settings;
                counters, check_files, prepare_after_power_loss
            }),
            session: required!(session, "table of sessions", SessionFunctions {
                begin, commit, abort, get, put, remove, scan_begin, scan_next, scan_end, close;
                point_get, flush_counters
            }),
        })
    }
}

fn too_small(table: &str, size: u32, wanted: usize) -> String {
    format!("has a table '{table}' of {size} bytes; it is at least {wanted} bytes long")
}

/// Copies a table that may be shorter or longer than ours. What a shorter one lacks is 0.
///
/// # Safety
/// `table` is NULL or points to a table that begins with its size, of which every prefix, filled
/// with zeroes, is a valid `T`.
unsafe fn read_sized<T>(
    table: *const T,
    name: &str,
    required: usize,
) -> std::result::Result<T, String> {
    if table.is_null() {
        return Err(format!("has no table '{name}'"));
    }
    // SAFETY: it begins with its size.
    let size = unsafe { table.cast::<u32>().read_unaligned() };
    if (size as usize) < required {
        return Err(too_small(name, size, required));
    }
    let mut copy = MaybeUninit::<T>::zeroed();
    // Whole pointers only.
    let known = (size as usize).min(size_of::<T>()) & !7;
    // SAFETY: the source has `size` bytes, the copy has the size of `T`; the rest of it is zeroes,
    // with which it is valid.
    unsafe {
        ptr::copy_nonoverlapping(table.cast::<u8>(), copy.as_mut_ptr().cast::<u8>(), known);
        Ok(copy.assume_init())
    }
}
