//! LMDB's own API.

use crate::keys::{KEY_BYTES, VALUE, VALUE_BYTES};
use anyhow::{Context, Result, ensure};
use lmdb_master_sys as lmdb;
use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr::null_mut;

/// Address space for the map: as the driver's default.
const MAP_SIZE_BYTES: usize = 64 << 30;

/// An environment with its one database, never closed: the process ends with the loop.
pub struct LmdbLoop {
    environment: *mut lmdb::MDB_env,
    database: lmdb::MDB_dbi,
    /// Renewed and reset, as LMDB's documentation advises.
    reader: *mut lmdb::MDB_txn,
    writer: *mut lmdb::MDB_txn,
}

/// Fails with LMDB's own words.
fn check(code: i32) -> Result<()> {
    // SAFETY: mdb_strerror returns a static string for every code.
    let words = || unsafe { std::ffi::CStr::from_ptr(lmdb::mdb_strerror(code)) };
    ensure!(code == 0, "{}", words().to_string_lossy());
    Ok(())
}

fn slice(bytes: &[u8]) -> lmdb::MDB_val {
    lmdb::MDB_val {
        mv_size: bytes.len(),
        mv_data: bytes.as_ptr().cast_mut().cast::<c_void>(),
    }
}

impl LmdbLoop {
    pub fn open(folder: &Path) -> Result<Self> {
        let path = CString::new(folder.to_str().context("path is not UTF-8")?)?;
        let mut environment = null_mut();
        // SAFETY: the out-pointer lives through the calls, and the environment is used by this
        // thread alone.
        unsafe {
            check(lmdb::mdb_env_create(&raw mut environment))?;
            check(lmdb::mdb_env_set_mapsize(environment, MAP_SIZE_BYTES))?;
            let flags = lmdb::MDB_NOSYNC | lmdb::MDB_NOTLS;
            check(lmdb::mdb_env_open(environment, path.as_ptr(), flags, 0o644))?;
        }
        let mut bare = Self {
            environment,
            database: 0,
            reader: null_mut(),
            writer: null_mut(),
        };
        let opening = bare.begin(0)?;
        // SAFETY: the transaction is open and of this environment; it ends with the commit. The
        // read transaction may be reset, to be renewed.
        unsafe {
            check(lmdb::mdb_dbi_open(
                opening,
                null_mut(),
                0,
                &raw mut bare.database,
            ))?;
            check(lmdb::mdb_txn_commit(opening))?;
            bare.reader = bare.begin(lmdb::MDB_RDONLY)?;
            lmdb::mdb_txn_reset(bare.reader);
        }
        Ok(bare)
    }

    fn begin(&self, flags: u32) -> Result<*mut lmdb::MDB_txn> {
        let mut transaction = null_mut();
        let at = &raw mut transaction;
        // SAFETY: the environment is open; the out-pointer lives through the call.
        check(unsafe { lmdb::mdb_txn_begin(self.environment, null_mut(), flags, at) })?;
        Ok(transaction)
    }
}

impl super::BareLoop for LmdbLoop {
    fn read_begin(&mut self) -> Result<()> {
        // SAFETY: the transaction was reset before.
        check(unsafe { lmdb::mdb_txn_renew(self.reader) })
    }

    fn read_end(&mut self) -> Result<()> {
        // SAFETY: the transaction is read-only and open.
        unsafe { lmdb::mdb_txn_reset(self.reader) };
        Ok(())
    }

    fn get(&mut self, key: &[u8; KEY_BYTES]) -> Result<()> {
        let (mut key, mut value) = (slice(key), slice(&[]));
        // SAFETY: the transaction is open; the slices outlive the call.
        check(unsafe { lmdb::mdb_get(self.reader, self.database, &raw mut key, &raw mut value) })?;
        ensure!(value.mv_size == VALUE_BYTES, "a value of the wrong length");
        // SAFETY: the value is in the map while the transaction is open.
        std::hint::black_box(unsafe { *value.mv_data.cast::<u8>() });
        Ok(())
    }

    fn write_begin(&mut self) -> Result<()> {
        self.writer = self.begin(0)?;
        Ok(())
    }

    fn put(&mut self, key: &[u8; KEY_BYTES]) -> Result<()> {
        let (mut key, mut value) = (slice(key), slice(&VALUE));
        // SAFETY: the transaction is open for writing; both slices outlive the call.
        check(unsafe { lmdb::mdb_put(self.writer, self.database, &raw mut key, &raw mut value, 0) })
    }

    fn write_commit(&mut self) -> Result<()> {
        // SAFETY: the transaction is open and not used afterwards.
        check(unsafe { lmdb::mdb_txn_commit(self.writer) })
    }
}
