//! What is in a trace, for people who decide whether to replay it.

use super::error::TraceError;
use super::grammar::FormatChoice;
use super::reader::{Source, read};
use super::stored::{Trace, kind};
use crate::keyed::action::Action;

/// Damaged lines that are shown.
const SHOWN_DAMAGE: usize = 10;

/// The distribution of a size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SizeSummary {
    /// How many there are.
    pub count: u64,
    /// The smallest, bytes.
    pub least: u64,
    /// Half are not larger, bytes.
    pub median: u64,
    /// 99 of 100 are not larger, bytes.
    pub p99: u64,
    /// The largest, bytes.
    pub most: u64,
    /// The sum, bytes.
    pub sum: u64,
}

impl SizeSummary {
    fn of(mut sizes: Vec<u64>) -> Self {
        sizes.sort_unstable();
        let at = |share: f64| {
            let place = (share * sizes.len() as f64).ceil() as usize;
            sizes.get(place.saturating_sub(1)).copied().unwrap_or(0)
        };
        Self {
            count: sizes.len() as u64,
            least: at(0.0),
            median: at(0.5),
            p99: at(0.99),
            most: at(1.0),
            sum: sizes.iter().sum(),
        }
    }
}

/// What is in a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSummary {
    /// The word of its format.
    pub format: &'static str,
    /// Operations.
    pub operations: u64,
    /// Requests by kind: operations alone, and transactions.
    pub requests: Vec<(&'static str, u64)>,
    /// Keys that are loaded before a replay.
    pub loaded_keys: u64,
    /// Lengths of the keys, each once.
    pub key_bytes: SizeSummary,
    /// Sizes of values, as often as a line states one.
    pub value_bytes: SizeSummary,
    /// Operations that store a value whose size is not stated.
    pub unstated_sizes: u64,
    /// From the first request to the last, seconds; `None` if it states no times.
    pub duration_s: Option<f64>,
    /// The most requests in one second of the trace.
    pub peak_per_s: Option<u64>,
    /// The share of the operations that the most popular of each share of the keys get: one in a
    /// thousand, in a hundred and in ten, and at least one key.
    pub popularity: [(f64, f64); 3],
    /// Bytes that the trace takes in memory.
    pub memory_bytes: u64,
    /// The first damaged lines, each in a sentence.
    pub damage: Vec<TraceError>,
    /// The number of damaged lines.
    pub damaged_lines: u64,
}

/// Reads a trace past its damaged lines and adds up what is in it.
///
/// # Errors
/// The file cannot be read, is of no known format, or has no valid line.
pub fn summarize(file: &str, format: FormatChoice) -> Result<TraceSummary, TraceError> {
    let source = Source {
        file: file.to_owned(),
        format,
        requests: 0,
    };
    let (mut damage, mut damaged_lines) = (Vec::new(), 0);
    let trace = read(&source, &mut |error| {
        damaged_lines += 1;
        if damage.len() < SHOWN_DAMAGE {
            damage.push(error);
        }
        Ok(())
    });
    // Nothing but damage: its first line says most.
    let trace = trace.map_err(|error| damage.first().cloned().unwrap_or(error))?;
    let stores = |it: &&super::stored::Operation| it.action().stores();
    let stated = trace.operations.iter();
    let stated = stated.filter(|it| it.action() != Action::Scan && it.size > 0);
    let key_lengths = (0..trace.facts.len() as u64).map(|key| trace.keys.key(key).len() as u64);
    let begins_loaded = trace.facts.iter().filter_map(|facts| facts.begins_with);
    let key_bytes = SizeSummary::of(key_lengths.collect());
    Ok(TraceSummary {
        format: trace.format,
        operations: trace.operations.len() as u64,
        requests: requests(&trace),
        loaded_keys: begins_loaded.filter(|action| !action.creates()).count() as u64,
        value_bytes: SizeSummary::of(stated.map(|it| it.size.into()).collect()),
        unstated_sizes: trace
            .operations
            .iter()
            .filter(stores)
            .filter(|it| it.size == 0)
            .count() as u64,
        duration_s: trace.is_timed.then(|| trace.duration_ns() as f64 / 1e9),
        peak_per_s: trace.is_timed.then(|| peak_per_s(&trace)),
        popularity: popularity(&trace),
        memory_bytes: trace.memory_bytes(),
        key_bytes,
        damage,
        damaged_lines,
    })
}

fn requests(trace: &Trace) -> Vec<(&'static str, u64)> {
    let kinds = trace.kinds();
    let mut counts = vec![0; kinds.names().len()];
    for request in trace.requests() {
        counts[kinds.index(kind(request))] += 1;
    }
    kinds.names().iter().copied().zip(counts).collect()
}

fn peak_per_s(trace: &Trace) -> u64 {
    let second = |start: u32| trace.operations[start as usize].time_ns() / 1_000_000_000;
    let seconds: Vec<_> = trace.starts().map(second).collect();
    let most = seconds.chunk_by(|one, next| one == next).map(<[_]>::len);
    most.max().unwrap_or(0) as u64
}

fn popularity(trace: &Trace) -> [(f64, f64); 3] {
    let mut counts = vec![0_u64; trace.facts.len()];
    for operation in &trace.operations {
        counts[operation.key as usize] += 1;
    }
    counts.sort_unstable_by(|one, other| other.cmp(one));
    let all = trace.operations.len().max(1) as f64;
    [0.001, 0.01, 0.1].map(|share| {
        let keys = ((counts.len() as f64 * share).ceil() as usize).clamp(1, counts.len());
        let sum: u64 = counts[..keys].iter().sum();
        (share, sum as f64 / all)
    })
}
