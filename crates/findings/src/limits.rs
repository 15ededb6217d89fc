//! Limits that a trial of a search must keep, and the kinds of request whose times decide.

use trueput_record::TrialRecord;
use trueput_record::measurement::Measurement;
use trueput_record::search::TuningLimits;

/// The fewest requests of a kind in a trial for its response times to decide: the 99th percentile
/// of fewer is their maximum. If no kind has as many, all decide.
pub(crate) const MIN_KIND_REQUESTS: u64 = 100;

/// The measured figure of a limit that a trial broke.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum BrokenLimit {
    /// The peak of its memory.
    #[error("its memory peaked at {bytes} bytes")]
    Memory {
        /// Bytes.
        bytes: u64,
    },
    /// The space of its database.
    #[error("its database took {bytes} bytes")]
    Space {
        /// Bytes.
        bytes: u64,
    },
    /// The space of its database, beside the default's.
    #[error("its database took {factor:.1} times the space of the default's")]
    SpaceFactor {
        /// As a multiple of the default's.
        factor: f64,
    },
    /// The time of its recovery.
    #[error("it took {recovery_s:.2} s to recover")]
    Recovery {
        /// Seconds.
        recovery_s: f64,
    },
}

/// Checks the limits of a search that one trial can break.
///
/// # Errors
/// The [`BrokenLimit`].
pub(crate) fn check_limits(
    measurement: &Measurement,
    limits: &TuningLimits,
) -> Result<(), BrokenLimit> {
    let memory_bytes = peak_memory_bytes(measurement);
    let space_bytes = measurement.database.allocated_bytes;
    let recovery = measurement.recovery.as_ref();
    let recovery_s = recovery.map(|recovery| recovery.recovery_s);
    let exceeded = |found: f64, limit: Option<f64>| limit.is_some_and(|limit| found >= limit);
    let number = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
    if exceeded(memory_bytes as f64, number(limits.memory_bytes)) {
        return Err(BrokenLimit::Memory {
            bytes: memory_bytes,
        });
    }
    if exceeded(space_bytes as f64, number(limits.space_bytes)) {
        return Err(BrokenLimit::Space { bytes: space_bytes });
    }
    match recovery_s {
        Some(recovery_s) if exceeded(recovery_s, limits.recovery_s) => {
            Err(BrokenLimit::Recovery { recovery_s })
        }
        _ => Ok(()),
    }
}

/// The peak memory of a trial's workers and its engine's server, bytes.
#[must_use]
pub(crate) fn peak_memory_bytes(measurement: &Measurement) -> u64 {
    let resources = &measurement.resources;
    match resources.peak_pss_bytes {
        0 => resources.peak_rss_bytes,
        peak_bytes => peak_bytes,
    }
}

/// Checks the limit of space beside the default's in the same round.
///
/// # Errors
/// [`BrokenLimit::SpaceFactor`].
pub(crate) fn check_space_factor(
    measurement: &Measurement,
    default: Option<&TrialRecord>,
    limits: &TuningLimits,
) -> Result<(), BrokenLimit> {
    // A round without the default's trial has no scores: nothing is to be said of the others.
    let default = default.and_then(|trial| trial.measurement.as_ref());
    let Some((limit, default)) = limits.space_factor.zip(default) else {
        return Ok(());
    };
    let space = |measurement: &Measurement| measurement.database.allocated_bytes as f64;
    let factor = space(measurement) / space(default).max(1.0);
    if factor >= limit {
        Err(BrokenLimit::SpaceFactor { factor })
    } else {
        Ok(())
    }
}

/// The kinds of request or operation whose times decide.
pub(crate) fn frequent_kinds<T>(kinds: &[T], count: fn(&T) -> u64) -> impl Iterator<Item = &T> {
    let any_is_often = kinds.iter().any(|kind| count(kind) >= MIN_KIND_REQUESTS);
    let least = if any_is_often { MIN_KIND_REQUESTS } else { 1 };
    kinds.iter().filter(move |kind| count(kind) >= least)
}
