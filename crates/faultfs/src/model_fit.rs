//! Fits a storage model to what was measured of a device.
//!
//! No disk is recognized: seeks and rotation are in the time of a read then, as if each had the
//! same, and requests in order are too slow by that. The time of a flush is that after a small
//! write, as a commit has it, also where a flush with nothing to write takes less.

use crate::device_measurement::{
    DeviceMeasurement, LARGE_BYTES, LoadKind, LoadMeasurement, MAX_DEPTH, PARTS, SMALL_BYTES,
};
use crate::storage_model::{
    BYTES_PER_MIB, CacheKind, FlushTime, ModelSource, NS_PER_S, NS_PER_US, RateLimits, ServiceTime,
    StorageModel, WriteCache,
};
use trueput_record::service_report::RoundTrip;

/// A write cache is evident if a flush spends at least this share of the time of the writes before
/// it and its own on what they left.
const MIN_FLUSH_SHARE: f64 = 0.2;

/// A rate has fallen if it stays below this share of the one at the beginning.
const MAX_FALLEN_SHARE: f64 = 0.7;

/// A shorter load shows no fall, seconds: what is under way at its beginning is too much of it.
const MIN_FALL_S: f64 = 1.0;

/// Fewer cycles in a part of a load have no rate.
const MIN_CYCLES_OF_PART: f64 = 10.0;

/// Four times as many requests at once have reached a limit if their rate is no more than this
/// times as high.
const MAX_SATURATED_GAIN: f64 = 1.25;

/// Rates of reads and writes that differ by less are the same limit.
const MAX_LIMIT_DIFFERENCE: f64 = 0.1;

/// Requests that need this share of the bandwidth are limited by it, and not by their number.
const MIN_BANDWIDTH_SHARE: f64 = 0.8;

/// The smallest figure of a model.
const MIN_FIGURE: f64 = 1e-3;

/// The reason why there is no model, or no file of it.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// A load was not measured.
    #[error("the measurement has no load of the kind {0:?}")]
    MissingLoad(LoadKind),
    /// The model is no TOML.
    #[error("the model cannot be written: {0}")]
    Text(#[from] toml::ser::Error),
}

/// What a fitted model says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelLabels {
    /// Its name.
    pub name: String,
    /// The device, in a sentence.
    pub about: String,
    /// The measurement.
    pub source: ModelSource,
}

/// Fits a model. Its values are not checked: [`model_text`] is to be parsed.
///
/// # Errors
/// [`FitError::MissingLoad`].
pub fn fit_model(
    measured: &DeviceMeasurement,
    labels: ModelLabels,
) -> Result<StorageModel, FitError> {
    let first = |kind| {
        let load = measured.series(kind).next();
        load.ok_or(FitError::MissingLoad(kind))
    };
    let appends = first(LoadKind::Appends)?;
    let reads = first(LoadKind::RandomReads)?;
    let write_cache = fit_cache(measured, appends.flush);
    let read_mib_per_s = max_rate(measured, LoadKind::SequentialReads);
    let write_mib_per_s = write_bandwidth(measured, write_cache, appends.requests);
    let limits = fit_limits(measured, read_mib_per_s.min(write_mib_per_s));
    let speedup = max_rate(measured, LoadKind::RandomReads) / reads.per_s;
    let parallelism = match limits {
        // The limit hides it: as many as were measured.
        Some(_) => MAX_DEPTH,
        None => (speedup.round() as u32).clamp(1, MAX_DEPTH),
    };
    // A cache has the bytes of the append, too. At least half of a flush is its own time: one that
    // took none would be repeated without end where a load flushes for a time.
    let drain_us = write_cache
        .filter(|cache| cache.kind == CacheKind::Volatile)
        .map_or(0.0, |cache| small_transfer_us(cache.drain_mib_per_s))
        .min(microseconds(appends.flush.median_ns) / 2.0);
    Ok(StorageModel {
        name: labels.name,
        about: labels.about,
        parallelism,
        sources: vec![labels.source],
        read: service_time(reads.requests, read_mib_per_s),
        write: service_time(appends.requests, write_mib_per_s),
        flush: FlushTime {
            base_us: rounded(microseconds(appends.flush.median_ns) - drain_us),
            p99_us: rounded(microseconds(appends.flush.p99_ns) - drain_us),
        },
        disk: None,
        write_cache,
        limits,
    })
}

/// Returns the text of a model's file.
///
/// # Errors
/// [`FitError::Text`].
pub fn model_text(model: &StorageModel) -> Result<String, FitError> {
    Ok(toml::to_string(model)?)
}

/// Returns the time of small requests without their transfer.
fn service_time(small: RoundTrip, mib_per_s: f64) -> ServiceTime {
    let transfer_us = small_transfer_us(mib_per_s);
    ServiceTime {
        base_us: rounded(microseconds(small.median_ns) - transfer_us),
        p99_us: rounded(microseconds(small.p99_ns) - transfer_us),
        bandwidth_mib_per_s: rounded(mib_per_s),
    }
}

/// Returns the highest rate of a kind of load: of large requests, also the bandwidth in MiB/s.
fn max_rate(measured: &DeviceMeasurement, kind: LoadKind) -> f64 {
    let rates = measured.series(kind).map(|load| load.per_s);
    rates.fold(0.0, f64::max)
}

/// Returns the bandwidth of writes, MiB/s: into the write cache as long as it has room, if there is
/// one.
fn write_bandwidth(
    measured: &DeviceMeasurement,
    cache: Option<WriteCache>,
    small: RoundTrip,
) -> f64 {
    let sustained = max_rate(measured, LoadKind::SequentialWrites);
    let quick = match cache.map(|cache| cache.kind) {
        None => 0.0,
        Some(CacheKind::Volatile) => {
            let flushes = measured.series(LoadKind::DirtyFlushes).map(DirtyFlush::of);
            let write_s = flushes.map(|flush| flush.write_s / flush.mib);
            let write_s = write_s.fold(f64::INFINITY, f64::min);
            let base_s = small.median_ns as f64 / NS_PER_S;
            // A difference that is nearly nothing is noise, and would be no bandwidth.
            let transfer_s =
                Some(write_s - base_s).filter(|transfer_s| *transfer_s > write_s / 10.0);
            1.0 / transfer_s.unwrap_or(write_s)
        }
        Some(CacheKind::Protected) => {
            let loads = measured.series(LoadKind::SequentialWrites);
            loads.map(|load| load.rates_per_s[0]).fold(0.0, f64::max)
        }
    };
    sustained.max(quick)
}

/// Large writes and the flush after them, medians.
#[derive(Debug, Clone, Copy)]
struct DirtyFlush {
    mib: f64,
    write_s: f64,
    flush_s: f64,
}

impl DirtyFlush {
    fn of(load: &LoadMeasurement) -> Self {
        Self {
            mib: (load.load.requests * LARGE_BYTES) as f64 / BYTES_PER_MIB,
            write_s: load.requests.median_ns as f64 / NS_PER_S,
            flush_s: load.flush.median_ns as f64 / NS_PER_S,
        }
    }
}

/// Finds a volatile cache by flushes that take longer the more was written, and a protected one by
/// writes that slow down although flushes take no longer.
fn fit_cache(measured: &DeviceMeasurement, flush: RoundTrip) -> Option<WriteCache> {
    let [median_s, p99_s] = [flush.median_ns, flush.p99_ns].map(|ns| ns as f64 / NS_PER_S);
    let flushes = measured.series(LoadKind::DirtyFlushes).map(DirtyFlush::of);
    let flushes: Vec<_> = flushes
        .map(|dirty| DirtyFlush {
            flush_s: (dirty.flush_s - median_s).max(0.0),
            ..dirty
        })
        .collect();
    let is_evident = |dirty: &DirtyFlush| {
        let share = dirty.flush_s / (dirty.write_s + dirty.flush_s);
        dirty.flush_s > p99_s && share >= MIN_FLUSH_SHARE
    };
    let mut sequential = measured.series(LoadKind::SequentialWrites);
    let fall = sequential.next().and_then(RateFall::of);
    let largest = flushes.last().filter(|_| flushes.iter().any(is_evident));
    if let Some(largest) = largest {
        // The medium takes bytes from the first write to the end of the flush.
        let drain_mib_per_s = largest.mib / (largest.write_s + largest.flush_s);
        let left = flushes.iter().map(|dirty| dirty.flush_s * drain_mib_per_s);
        // A larger cache that was never full looks like one of this size.
        let left_mib = left.fold(0.0, f64::max);
        return Some(WriteCache {
            kind: CacheKind::Volatile,
            capacity_mib: rounded(fall.map_or(left_mib, |fall| fall.surplus.max(left_mib))),
            drain_mib_per_s: rounded(drain_mib_per_s),
        });
    }
    fall.map(|fall| WriteCache {
        kind: CacheKind::Protected,
        capacity_mib: rounded(fall.surplus),
        drain_mib_per_s: rounded(fall.last_per_s),
    })
}

/// A rate that was higher at the beginning of a load.
#[derive(Debug, Clone, Copy)]
struct RateFall {
    first_per_s: f64,
    last_per_s: f64,
    /// The cycles above the last rate.
    surplus: f64,
}

impl RateFall {
    /// Returns the fall of a load's rate; `None` if there is none.
    fn of(load: &LoadMeasurement) -> Option<Self> {
        let [first_per_s, .., a, b, c] = load.rates_per_s;
        let part_s = load.elapsed_s / PARTS as f64;
        let has_rate = load.elapsed_s >= MIN_FALL_S && first_per_s * part_s >= MIN_CYCLES_OF_PART;
        if !has_rate || a.max(b).max(c) >= MAX_FALLEN_SHARE * first_per_s {
            return None;
        }
        let last_per_s = (a + b + c) / 3.0;
        let above = load.rates_per_s.iter().map(|rate| rate - last_per_s);
        Some(Self {
            first_per_s,
            last_per_s,
            surplus: above.sum::<f64>() * part_s,
        })
    }
}

/// Finds a limit on the rate by a burst that ends, or by reads and writes that come to the same
/// rate however many there are at once.
fn fit_limits(measured: &DeviceMeasurement, mib_per_s: f64) -> Option<RateLimits> {
    let burst = measured.series(LoadKind::Burst).next();
    if let Some(fall) = burst.and_then(RateFall::of) {
        // Earlier loads have used credits up, which came back at the sustained rate, until all were
        // there.
        let earlier = measured.loads.iter();
        let earlier = earlier.filter(|load| load.load.kind != LoadKind::Burst);
        let used = earlier.fold(0.0, |used: f64, load| {
            let operations_per_s = load.per_s * load.load.requests as f64;
            (used + (operations_per_s - fall.last_per_s) * load.elapsed_s).max(0.0)
        });
        return Some(RateLimits {
            iops: Some(rounded(fall.last_per_s)),
            burst_iops: Some(rounded(fall.first_per_s)),
            burst_credits: Some(rounded(fall.surplus + used)),
            ..RateLimits::default()
        });
    }
    let reads_per_s = saturated_rate(measured, LoadKind::RandomReads)?;
    let writes_per_s = saturated_rate(measured, LoadKind::RandomWrites)?;
    let is_same = (reads_per_s / writes_per_s - 1.0).abs() <= MAX_LIMIT_DIFFERENCE;
    let iops = reads_per_s.max(writes_per_s);
    let used_mib_per_s = iops * SMALL_BYTES as f64 / BYTES_PER_MIB;
    let is_bandwidth = used_mib_per_s >= MIN_BANDWIDTH_SHARE * mib_per_s;
    (is_same && !is_bandwidth).then(|| RateLimits {
        iops: Some(rounded(iops)),
        ..RateLimits::default()
    })
}

/// Returns the rate that more requests at once do not raise; `None` if they do.
fn saturated_rate(measured: &DeviceMeasurement, kind: LoadKind) -> Option<f64> {
    let rates: Vec<f64> = measured.series(kind).map(|load| load.per_s).collect();
    let [.., before, deepest] = rates.as_slice() else {
        return None;
    };
    (*deepest <= MAX_SATURATED_GAIN * before).then_some(*deepest)
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_US
}

/// Returns the time of a small request's bytes, microseconds.
fn small_transfer_us(mib_per_s: f64) -> f64 {
    SMALL_BYTES as f64 / BYTES_PER_MIB / mib_per_s * (NS_PER_S / NS_PER_US)
}

/// Rounds a figure of a model to three digits: no measurement has more.
fn rounded(value: f64) -> f64 {
    let value = value.max(MIN_FIGURE);
    let last_digit = value.log10().floor() as i32 - 2;
    if last_digit >= 0 {
        let unit = 10_f64.powi(last_digit);
        (value / unit).round() * unit
    } else {
        let parts = 10_f64.powi(-last_digit);
        (value * parts).round() / parts
    }
}

#[cfg(test)]
mod tests;
