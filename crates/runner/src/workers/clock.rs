//! The clock of the measured part.

use nix::sys::time::TimeValLike;

/// Reads `CLOCK_MONOTONIC`, which all processes share, in nanoseconds.
///
/// # Errors
/// A sentence.
pub(crate) fn read_monotonic_ns() -> Result<u64, String> {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    let now = now.map_err(|error| format!("reading the monotonic clock: {error}"))?;
    Ok(now.num_nanoseconds().unsigned_abs())
}
