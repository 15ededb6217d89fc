//! The clock of the measured part.

use nix::sys::time::TimeValLike;

/// The clock cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("reading the monotonic clock: {0}")]
pub struct ClockError(#[from] nix::Error);

/// Reads `CLOCK_MONOTONIC`, which all processes share, in nanoseconds.
///
/// # Errors
/// [`ClockError`].
pub(crate) fn read_monotonic_ns() -> Result<u64, ClockError> {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    Ok(now?.num_nanoseconds().unsigned_abs())
}
