//! The records that both sides of a comparison store and read, and the CPU clock around the loop.

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// Records in the database that is read.
pub const RECORDS: u64 = 1_000_000;

/// Length of a key.
pub const KEY_BYTES: usize = 8;

/// Length of a value.
pub const VALUE_BYTES: usize = 100;

/// Puts in a transaction.
pub const BATCH: u64 = 1_000;

/// The value of every record.
pub const VALUE: [u8; VALUE_BYTES] = [b'v'; VALUE_BYTES];

/// The key of the `index`-th operation: uniform over the records, the same on both sides, without
/// state (SplitMix64's finaliser; Steele, Lea and Flood, 2014). `bench/bare/bare.h` has it too.
pub fn key(index: u64) -> [u8; KEY_BYTES] {
    let mut z = index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) % RECORDS).to_be_bytes()
}

/// CPU nanoseconds per operation of `body`, user and system, on the calling thread. The work of the
/// engine's background threads is the same on both sides, and its timing is chance.
pub fn cpu_ns_per_operation(operations: u64, body: impl FnOnce() -> Result<()>) -> Result<f64> {
    let before = cpu_ns()?;
    body()?;
    Ok((cpu_ns()? - before) as f64 / operations as f64)
}

fn cpu_ns() -> Result<i64> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).context("getrusage")?;
    Ok(usage.user_time().num_nanoseconds() + usage.system_time().num_nanoseconds())
}
