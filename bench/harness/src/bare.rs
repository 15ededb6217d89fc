//! The loops as a C programmer would write them over an engine's own API: no clock, no histogram,
//! no contract. Those over a library that is loaded at run time are in C, see [`external`]; the
//! rest are here, and have the same form as `bench/bare/bare.h`.

pub mod external;
mod lmdb;
mod sqlite;

use crate::keys::{BATCH, KEY_BYTES, cpu_ns_per_operation, key};
use anyhow::{Result, bail};
use std::path::Path;

/// Runs one loop of an engine that is compiled in, on the database in `folder`; returns the cost of
/// an operation, CPU nanoseconds.
pub fn run(engine: &str, what: &str, folder: &Path, operations: u64) -> Result<f64> {
    match engine {
        "lmdb" => time(&mut lmdb::LmdbLoop::open(folder)?, what, operations),
        "sqlite" => time(&mut sqlite::SqliteLoop::open(folder)?, what, operations),
        other => bail!("{other} is not compiled in"),
    }
}

/// An engine's own API, as far as the loops need it.
trait BareLoop {
    fn read_begin(&mut self) -> Result<()>;
    fn read_end(&mut self) -> Result<()>;
    fn get(&mut self, key: &[u8; KEY_BYTES]) -> Result<()>;
    fn write_begin(&mut self) -> Result<()>;
    fn put(&mut self, key: &[u8; KEY_BYTES]) -> Result<()>;
    fn write_commit(&mut self) -> Result<()>;

    /// A get in a read transaction of its own.
    fn get_alone(&mut self, key: &[u8; KEY_BYTES]) -> Result<()> {
        self.read_begin()?;
        self.get(key)?;
        self.read_end()
    }
}

fn time(bare: &mut impl BareLoop, what: &str, operations: u64) -> Result<f64> {
    match what {
        "get" => cpu_ns_per_operation(operations, || {
            bare.read_begin()?;
            for index in 0..operations {
                bare.get(&key(index))?;
            }
            bare.read_end()
        }),
        "get-each" => cpu_ns_per_operation(operations, || {
            (0..operations).try_for_each(|index| bare.get_alone(&key(index)))
        }),
        "put" => cpu_ns_per_operation(operations, || {
            for batch in 0..operations / BATCH {
                bare.write_begin()?;
                for index in batch * BATCH..(batch + 1) * BATCH {
                    bare.put(&key(index))?;
                }
                bare.write_commit()?;
            }
            Ok(())
        }),
        "put-each" => cpu_ns_per_operation(operations, || {
            for index in 0..operations {
                bare.write_begin()?;
                bare.put(&key(index))?;
                bare.write_commit()?;
            }
            Ok(())
        }),
        other => bail!("no loop '{other}'"),
    }
}
