//! Checks the values of a model, alone and against each other.

use super::{DiskGeometry, RateLimits, StorageModel, WriteCache};
use trueput_record::storage_model::NO_MODEL;

/// Longer times of one request are a mistake in the unit, microseconds.
const MAX_TIME_US: f64 = 60e6;

/// Longer seeks are a mistake in the unit, milliseconds.
const MAX_SEEK_MS: f64 = 10_000.0;

/// Higher bandwidths are a mistake in the unit, MiB/s.
const MAX_BANDWIDTH_MIB_PER_S: f64 = 1e6;

/// Higher rates are a mistake, I/O operations a second.
const MAX_IOPS: f64 = 1e9;

/// The most credits, I/O operations.
const MAX_CREDITS: f64 = 1e12;

/// The largest size in a key that ends in `_kib`, `_mib` or `_gib`, in that unit.
const MAX_SIZE: f64 = 1e9;

/// Smaller values are a mistake in the unit. What is divided by them would be infinite, and a limit
/// no limit.
const MIN_VALUE: f64 = 1e-3;

/// The part of a bound that its message does not show, milliseconds.
const SEEK_ROUNDING_MS: f64 = 0.005;

const MAX_RPM: f64 = 100_000.0;
const MAX_PARALLELISM: u32 = 4_096;
const MAX_NAME_BYTES: usize = 60;

/// A value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", keys.join("."))]
pub(super) struct ModelDefect {
    /// The key.
    pub(super) keys: KeyPath,
    /// The value, and what would be right.
    message: String,
}

/// The table, if there is one, and the key.
type KeyPath = &'static [&'static str];

/// Finds the first value that cannot be used.
pub(super) fn check(model: &StorageModel) -> Result<(), ModelDefect> {
    check_texts(model)?;
    if !(1..=MAX_PARALLELISM).contains(&model.parallelism) {
        let given = model.parallelism;
        let message = format!("it is {given}; it must be from 1 to {MAX_PARALLELISM}");
        return Err(defect(&["parallelism"], message));
    }
    check_times(model)?;
    if let Some(disk) = &model.disk {
        check_disk(disk)?;
        if model.parallelism != 1 {
            let given = model.parallelism;
            let message = format!("it is {given}; a disk has one arm: write 1");
            return Err(defect(&["parallelism"], message));
        }
    }
    if let Some(cache) = &model.write_cache {
        check_cache(cache)?;
    }
    model.limits.as_ref().map_or(Ok(()), check_limits)
}

fn defect(keys: KeyPath, message: impl Into<String>) -> ModelDefect {
    let message = message.into();
    ModelDefect { keys, message }
}

fn check_texts(model: &StorageModel) -> Result<(), ModelDefect> {
    let name = &model.name;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_short = (1..=MAX_NAME_BYTES).contains(&name.len());
    if !is_short || name.starts_with('.') || !name.chars().all(fits) {
        let message = format!(
            "'{name}' is not a model name; write 1 to {MAX_NAME_BYTES} letters, digits, '-', \
             '_' or '.', without a '.' in front"
        );
        return Err(defect(&["name"], message));
    }
    if name == NO_MODEL {
        let message = format!("'{NO_MODEL}' stands for no model; choose another name");
        return Err(defect(&["name"], message));
    }
    if model.about.trim().is_empty() {
        return Err(defect(&["about"], "it is empty; say which device it is"));
    }
    if model.sources.is_empty() {
        let message = "there is none; say where the figures are from, if only 'estimate'";
        return Err(defect(&["sources"], message));
    }
    let is_blank = |text: &String| text.trim().is_empty();
    let mut texts = model
        .sources
        .iter()
        .flat_map(|source| [&source.text, &source.address]);
    if texts.any(is_blank) {
        let message = "a text or an address is empty; write 'none' and why if there is none";
        return Err(defect(&["sources"], message));
    }
    Ok(())
}

fn check_times(model: &StorageModel) -> Result<(), ModelDefect> {
    let (read, write, flush) = (&model.read, &model.write, &model.flush);
    let keys: [KeyPath; 2] = [&["read", "base_us"], &["read", "p99_us"]];
    check_spread(keys, [read.base_us, read.p99_us])?;
    let keys: [KeyPath; 2] = [&["write", "base_us"], &["write", "p99_us"]];
    check_spread(keys, [write.base_us, write.p99_us])?;
    let keys: [KeyPath; 2] = [&["flush", "base_us"], &["flush", "p99_us"]];
    check_spread(keys, [flush.base_us, flush.p99_us])?;
    let key = &["read", "bandwidth_mib_per_s"];
    check_range(key, read.bandwidth_mib_per_s, MAX_BANDWIDTH_MIB_PER_S)?;
    let key = &["write", "bandwidth_mib_per_s"];
    check_range(key, write.bandwidth_mib_per_s, MAX_BANDWIDTH_MIB_PER_S)
}

fn check_spread(
    [base_key, p99_key]: [KeyPath; 2],
    [base_us, p99_us]: [f64; 2],
) -> Result<(), ModelDefect> {
    check_range(base_key, base_us, MAX_TIME_US)?;
    check_range(p99_key, p99_us, MAX_TIME_US)?;
    if p99_us < base_us {
        let message = format!(
            "the 99th percentile is {p99_us}, below the median base_us of {base_us}; write \
             {base_us} or more, {base_us} for no spread"
        );
        return Err(defect(p99_key, message));
    }
    Ok(())
}

fn check_disk(disk: &DiskGeometry) -> Result<(), ModelDefect> {
    let (min, mean, max) = (disk.seek_min_ms, disk.seek_mean_ms, disk.seek_max_ms);
    check_range(&["disk", "rpm"], disk.rpm, MAX_RPM)?;
    check_range(&["disk", "seek_min_ms"], min, MAX_SEEK_MS)?;
    check_range(&["disk", "seek_mean_ms"], mean, MAX_SEEK_MS)?;
    check_range(&["disk", "seek_max_ms"], max, MAX_SEEK_MS)?;
    check_range(&["disk", "capacity_gib"], disk.capacity_gib, MAX_SIZE)?;
    if max < min {
        let message = format!("it is {max}, below seek_min_ms of {min}; write {min} or more");
        return Err(defect(&["disk", "seek_max_ms"], message));
    }
    let [lowest, highest] = disk.seek_mean_range_ms();
    if !(lowest - SEEK_ROUNDING_MS..=highest + SEEK_ROUNDING_MS).contains(&mean) {
        let message = format!(
            "it is {mean}; with seek_min_ms {min} and seek_max_ms {max} it must be from \
             {lowest:.2} to {highest:.2}, so that longer seeks take longer"
        );
        return Err(defect(&["disk", "seek_mean_ms"], message));
    }
    Ok(())
}

fn check_cache(cache: &WriteCache) -> Result<(), ModelDefect> {
    let key = &["write_cache", "capacity_mib"];
    check_range(key, cache.capacity_mib, MAX_SIZE)?;
    let key = &["write_cache", "drain_mib_per_s"];
    check_range(key, cache.drain_mib_per_s, MAX_BANDWIDTH_MIB_PER_S)
}

fn check_limits(limits: &RateLimits) -> Result<(), ModelDefect> {
    let values: [(KeyPath, Option<f64>, f64); 7] = [
        (&["limits", "iops"], limits.iops, MAX_IOPS),
        (&["limits", "iops_per_gib"], limits.iops_per_gib, MAX_IOPS),
        (&["limits", "iops_max"], limits.iops_max, MAX_IOPS),
        (&["limits", "burst_iops"], limits.burst_iops, MAX_IOPS),
        (
            &["limits", "burst_credits"],
            limits.burst_credits,
            MAX_CREDITS,
        ),
        (&["limits", "counted_kib"], limits.counted_kib, MAX_SIZE),
        (
            &["limits", "bandwidth_mib_per_s"],
            limits.bandwidth_mib_per_s,
            MAX_BANDWIDTH_MIB_PER_S,
        ),
    ];
    for (key, value, most) in values {
        if let Some(value) = value {
            check_range(key, value, most)?;
        }
    }
    if limits.iops.is_none() && limits.bandwidth_mib_per_s.is_none() {
        let message = "it limits nothing; write iops or bandwidth_mib_per_s, or leave it out";
        return Err(defect(&["limits"], message));
    }
    let needed = "it needs the key iops; write the sustained rate, too";
    for (key, value, _) in values.into_iter().skip(1).take(5) {
        if value.is_some() && limits.iops.is_none() {
            return Err(defect(key, needed));
        }
    }
    check_bursts(limits)
}

/// Checks the keys that only mean something beside another.
fn check_bursts(limits: &RateLimits) -> Result<(), ModelDefect> {
    let iops = limits.iops.unwrap_or(0.0);
    if limits.iops_max.is_some() && limits.iops_per_gib.is_none() {
        let message = "it needs the key iops_per_gib, whose result it limits";
        return Err(defect(&["limits", "iops_max"], message));
    }
    if limits.burst_iops.is_some() && limits.burst_credits.is_none() {
        let message = "it needs the key burst_credits; write how many operations a burst has";
        return Err(defect(&["limits", "burst_iops"], message));
    }
    if limits.burst_credits.is_some() && limits.burst_iops.is_none() {
        let message = "it needs the key burst_iops; write the rate while there are credits";
        return Err(defect(&["limits", "burst_credits"], message));
    }
    let above_iops: [(KeyPath, Option<f64>); 2] = [
        (&["limits", "iops_max"], limits.iops_max),
        (&["limits", "burst_iops"], limits.burst_iops),
    ];
    for (key, value) in above_iops {
        if let Some(value) = value.filter(|value| *value < iops) {
            let message = format!("it is {value}, below iops of {iops}; write {iops} or more");
            return Err(defect(key, message));
        }
    }
    Ok(())
}

/// Refuses a value that is not from [`MIN_VALUE`] to `most`, and one that is no number.
fn check_range(keys: KeyPath, value: f64, most: f64) -> Result<(), ModelDefect> {
    if (MIN_VALUE..=most).contains(&value) {
        return Ok(());
    }
    let message = format!("it is {value}; it must be from {MIN_VALUE} to {most}");
    Err(defect(keys, message))
}
