//! A trial's rates as shares of the hardware limits, and reasons for shares above 100 %.

use crate::cells::flushes_per_commit;
use crate::eligibility::HARNESS_ENGINE;
use trueput_record::hardware_limits::{FlushLimit, HardwareLimits, share_of};
use trueput_record::measurement::Measurement;
use trueput_record::{Durability, TrialRecord};

/// A trial's rates and their shares of the hardware's limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitShares {
    /// Commits per second; `None` if nothing was committed.
    pub commits_per_s: Option<f64>,
    /// Reads per second; `None` if nothing was read.
    pub reads_per_s: Option<f64>,
    /// Durable commits over appends that are flushed one by one.
    pub of_single_flushes: Option<f64>,
    /// Durable commits over appends that share flushes.
    pub of_grouped_flushes: Option<f64>,
    /// Reads over dependent reads of memory.
    pub of_memory: Option<f64>,
}

/// A limit of the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Appends that are flushed one by one.
    SingleFlushes,
    /// Appends that share flushes.
    GroupedFlushes,
    /// Dependent reads of memory.
    Memory,
}

/// A share above the whole, and its cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excess {
    /// The limit that is exceeded.
    pub limit: Limit,
    /// The share, above 1.
    pub share: f64,
    /// Why, as far as the record shows.
    pub cause: ExcessCause,
}

/// Why a rate exceeds a limit of the hardware.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExcessCause {
    /// Nothing of the record explains it: the limit was measured for a short time.
    SlowerStorage,
    /// The device's flushes are not counted.
    UncountedFlushes,
    /// The device completed no flush.
    NoFlush,
    /// A flush served more commits than in the measurement of the limit.
    LargerGroups {
        /// Commits per flush of the trial.
        served: f64,
        /// Commits per flush in the measurement of the limit.
        by_limit: f64,
    },
    /// Commits share flushes.
    SharedFlushes {
        /// Commits per flush; `None` if flushes are not counted.
        served: Option<f64>,
    },
    /// The database is smaller than the memory that was read for the limit.
    SmallDatabase {
        /// Bytes of the database.
        database_bytes: u64,
        /// Bytes of the memory.
        region_bytes: u64,
    },
    /// The reads do not depend on each other, unlike those of the limit.
    IndependentReads,
}

impl LimitShares {
    /// Computes the shares of a trial from the limits that were measured with it.
    #[must_use]
    pub fn of(trial: &TrialRecord, measurement: &Measurement, limits: &HardwareLimits) -> Self {
        // The workload that needs no engine counts its commits as its operation.
        let of_operation = || measurement.operation("commit").map(|commits| commits.count);
        let commits = measurement.commits.or_else(of_operation);
        let commits = commits.filter(|commits| *commits > 0);
        let elapsed_s = measurement.elapsed_s.max(1e-9);
        let commits_per_s = commits.map(|commits| commits as f64 / elapsed_s);
        // Only a level that waits for its flush can be limited by flushes.
        let durable = commits_per_s.filter(|_| trial.spec.durability == Durability::Sync);
        let reads = measurement.operation("read").map(|reads| reads.per_s);
        let reads_per_s = reads.filter(|per_s| *per_s > 0.0);
        // An engine that keeps nothing reads nothing: memory is no limit of it.
        let from_memory = reads_per_s.filter(|_| trial.spec.engine != HARNESS_ENGINE);
        let flush = limits.flush;
        let share = |per_s: Option<f64>, of: Option<f64>| share_of(per_s?, of?);
        Self {
            commits_per_s,
            reads_per_s,
            of_single_flushes: share(durable, flush.map(|flush| flush.separate_per_s)),
            of_grouped_flushes: share(durable, flush.map(|flush| flush.grouped_per_s)),
            of_memory: share(from_memory, Some(limits.memory.dependent_reads_per_s)),
        }
    }

    /// The limits that the trial exceeds.
    #[must_use]
    pub fn excesses(&self, measurement: &Measurement, limits: &HardwareLimits) -> Vec<Excess> {
        let excess = |limit, share: Option<f64>, cause: &dyn Fn() -> ExcessCause| {
            let share = share.filter(|share| *share > 1.0)?;
            let cause = cause();
            Some(Excess {
                limit,
                share,
                cause,
            })
        };
        let grouped = limits.flush.as_ref().and_then(|flush| {
            let cause = || grouped_cause(measurement, flush);
            excess(Limit::GroupedFlushes, self.of_grouped_flushes, &cause)
        });
        // Rates above the limit of grouped flushes exceed that of single flushes for the same
        // reason.
        let flushes = grouped.or_else(|| {
            let cause = || single_cause(measurement);
            excess(Limit::SingleFlushes, self.of_single_flushes, &cause)
        });
        let cause = || memory_cause(measurement, limits);
        let memory = excess(Limit::Memory, self.of_memory, &cause);
        flushes.into_iter().chain(memory).collect()
    }
}

/// Commits that one flush of the device served; `None` if flushes are not counted.
fn commits_per_flush(measurement: &Measurement) -> Option<f64> {
    flushes_per_commit(measurement).map(|flushes| 1.0 / flushes)
}

fn grouped_cause(measurement: &Measurement, flush: &FlushLimit) -> ExcessCause {
    let by_limit = flush.grouped_per_s / flush.grouped_flushes_per_s.max(1e-9);
    match commits_per_flush(measurement) {
        None => ExcessCause::UncountedFlushes,
        Some(served) if served.is_infinite() => ExcessCause::NoFlush,
        Some(served) if served > 1.1 * by_limit => ExcessCause::LargerGroups { served, by_limit },
        Some(_) => ExcessCause::SlowerStorage,
    }
}

fn single_cause(measurement: &Measurement) -> ExcessCause {
    match commits_per_flush(measurement).filter(|served| served.is_finite()) {
        Some(served) if served <= 1.1 => ExcessCause::SlowerStorage,
        served => ExcessCause::SharedFlushes { served },
    }
}

fn memory_cause(measurement: &Measurement, limits: &HardwareLimits) -> ExcessCause {
    let database_bytes = measurement.database.allocated_bytes;
    let region_bytes = limits.memory.region_bytes;
    if database_bytes < region_bytes {
        ExcessCause::SmallDatabase {
            database_bytes,
            region_bytes,
        }
    } else {
        ExcessCause::IndependentReads
    }
}
