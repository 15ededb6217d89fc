//! The loops as a C programmer would write them over LMDB's own API: no clock, no histogram, no
//! contract.

use crate::keys::{BATCH, OPERATIONS, RECORDS, VALUE, VALUE_BYTES, cpu_ns_per_operation, key};
use anyhow::{Context, Result, bail, ensure};
use lmdb_master_sys as lmdb;
use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr::null_mut;

/// Address space for the map: as the driver's default.
const MAP_SIZE_BYTES: usize = 64 << 30;

/// Runs one loop on the database in `folder` and says what an operation cost.
pub fn run(what: &str, folder: &Path) -> Result<f64> {
    std::fs::create_dir_all(folder).context("cannot make the database folder")?;
    let bare = Bare::open(folder)?;
    match what {
        "load" => cpu_ns_per_operation(RECORDS, || bare.load()),
        "get" => cpu_ns_per_operation(OPERATIONS, || bare.get()),
        "get-each" => cpu_ns_per_operation(OPERATIONS, || bare.get_each()),
        "put" => cpu_ns_per_operation(OPERATIONS / 2, || bare.put()),
        "put-each" => cpu_ns_per_operation(OPERATIONS / 10, || bare.put_each()),
        other => bail!("no loop '{other}'"),
    }
}

/// An environment with its one database, never closed: the process ends with the loop.
struct Bare {
    environment: *mut lmdb::MDB_env,
    database: lmdb::MDB_dbi,
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

impl Bare {
    fn open(folder: &Path) -> Result<Self> {
        let path = CString::new(folder.to_str().context("path is not UTF-8")?)?;
        let (mut environment, mut database) = (null_mut(), 0);
        // SAFETY: the out-pointers live through the calls, and the environment is used by this
        // thread alone.
        unsafe {
            check(lmdb::mdb_env_create(&raw mut environment))?;
            check(lmdb::mdb_env_set_mapsize(environment, MAP_SIZE_BYTES))?;
            let flags = lmdb::MDB_NOSYNC | lmdb::MDB_NOTLS;
            check(lmdb::mdb_env_open(environment, path.as_ptr(), flags, 0o644))?;
        }
        let bare = |database| Self {
            environment,
            database,
        };
        let transaction = bare(0).begin(0)?;
        // SAFETY: the transaction is open and of this environment.
        unsafe {
            check(lmdb::mdb_dbi_open(
                transaction,
                null_mut(),
                0,
                &raw mut database,
            ))?;
        }
        commit(transaction)?;
        Ok(bare(database))
    }

    fn begin(&self, flags: u32) -> Result<*mut lmdb::MDB_txn> {
        let mut transaction = null_mut();
        // SAFETY: the environment is open; the out-pointer lives through the call.
        unsafe {
            check(lmdb::mdb_txn_begin(
                self.environment,
                null_mut(),
                flags,
                &raw mut transaction,
            ))?;
        }
        Ok(transaction)
    }

    fn put_one(&self, transaction: *mut lmdb::MDB_txn, key: &[u8]) -> Result<()> {
        let (mut key, mut value) = (slice(key), slice(&VALUE));
        // SAFETY: the transaction is open for writing; both slices outlive the call.
        check(unsafe { lmdb::mdb_put(transaction, self.database, &raw mut key, &raw mut value, 0) })
    }

    fn get_one(&self, transaction: *mut lmdb::MDB_txn, key: &[u8]) -> Result<()> {
        let (mut key, mut value) = (slice(key), slice(&[]));
        // SAFETY: the transaction is open; the slices outlive the call.
        check(unsafe { lmdb::mdb_get(transaction, self.database, &raw mut key, &raw mut value) })?;
        ensure!(value.mv_size == VALUE_BYTES, "a value of the wrong length");
        // SAFETY: the value lies in the map while the transaction is open.
        std::hint::black_box(unsafe { *value.mv_data.cast::<u8>() });
        Ok(())
    }

    fn load(&self) -> Result<()> {
        let transaction = self.begin(0)?;
        for record in 0..RECORDS {
            self.put_one(transaction, &record.to_be_bytes())?;
        }
        commit(transaction)
    }

    fn get(&self) -> Result<()> {
        let transaction = self.begin(lmdb::MDB_RDONLY)?;
        for index in 0..OPERATIONS {
            self.get_one(transaction, &key(index))?;
        }
        commit(transaction)
    }

    fn get_each(&self) -> Result<()> {
        let transaction = self.begin(lmdb::MDB_RDONLY)?;
        // SAFETY: the transaction is read-only, so that it may be reset and renewed.
        unsafe { lmdb::mdb_txn_reset(transaction) };
        for index in 0..OPERATIONS {
            // SAFETY: the transaction was reset just before.
            check(unsafe { lmdb::mdb_txn_renew(transaction) })?;
            self.get_one(transaction, &key(index))?;
            // SAFETY: the transaction is read-only and open.
            unsafe { lmdb::mdb_txn_reset(transaction) };
        }
        Ok(())
    }

    fn put(&self) -> Result<()> {
        for batch in 0..OPERATIONS / 2 / BATCH {
            let transaction = self.begin(0)?;
            for index in batch * BATCH..(batch + 1) * BATCH {
                self.put_one(transaction, &key(index))?;
            }
            commit(transaction)?;
        }
        Ok(())
    }

    fn put_each(&self) -> Result<()> {
        for index in 0..OPERATIONS / 10 {
            let transaction = self.begin(0)?;
            self.put_one(transaction, &key(index))?;
            commit(transaction)?;
        }
        Ok(())
    }
}

fn commit(transaction: *mut lmdb::MDB_txn) -> Result<()> {
    // SAFETY: the transaction is open and not used afterwards.
    check(unsafe { lmdb::mdb_txn_commit(transaction) })
}
