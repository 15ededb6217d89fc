//! Rankings of open loops at one rate. The rates are all the same and do not order them: cells that
//! kept the rate are ordered by the response time of their slowest kind of operation, the others
//! come last.

use crate::bottleneck::keeps_rate;
use crate::host_blocks::are_on_hosts;
use crate::limits::MIN_KIND_REQUESTS;
use crate::statistics::{Comparison, Summary, Verdict, compare_among};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use trueput_record::TrialRecord;
use trueput_record::measurement::OpenLoop;

/// The result of a cell at an offered rate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FixedRateResult {
    /// Whether each of its repeats started every unit that was due.
    pub kept: bool,
    /// The kind of unit with the longest response times: the highest 99th percentile, as the median
    /// of the repeats, among the kinds with a hundred units in each repeat. A unit ends with its
    /// commit.
    pub worst_kind: String,
    /// The 99th percentile of the worst kind, nanoseconds, over the repeats.
    pub response_p99_ns: Summary,
    /// The response times of every kind of unit, in the workload's order.
    pub responses: Vec<KindResponse>,
    /// Units that were due but not started at the end, in the repeat with the largest backlog.
    pub backlog: u64,
    /// The 99th percentile compared with the first cell's, repeat by repeat: the ratio is this
    /// one's over that, and slower means a longer wait. `None` for the first cell, and if either
    /// did not keep the rate.
    pub against_best: Option<Comparison>,
}

/// Response times of one kind of unit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct KindResponse {
    /// The workload's name for it.
    pub kind: String,
    /// The 99th percentile of each repeat's response times, nanoseconds, over the repeats.
    pub p99_ns: Summary,
}

/// The offered rate that all of these trials share, per second; `None` if one had none or another.
pub fn common<'a>(trials: impl IntoIterator<Item = &'a TrialRecord>) -> Option<f64> {
    let mut rates = trials
        .into_iter()
        .map(|trial| Some(open_loop(trial)?.rate_per_s));
    let first = rates.next()??;
    rates.all(|rate| rate == Some(first)).then_some(first)
}

/// The requests of an open loop that were started, per second.
#[must_use]
pub fn started_per_s(open: &OpenLoop, elapsed_s: f64) -> f64 {
    open.issued as f64 / elapsed_s.max(1e-9)
}

fn open_loop(trial: &TrialRecord) -> Option<&OpenLoop> {
    trial.measurement.as_ref()?.open_loop.as_ref()
}

/// The units of a kind that a repeat had.
fn count(trial: &TrialRecord, kind: &str) -> u64 {
    let responses = open_loop(trial)
        .into_iter()
        .flat_map(|open| &open.responses);
    let mut of_kind = responses.filter(|response| response.kind == kind);
    of_kind.next().map_or(0, |response| response.count)
}

/// The response time of a kind of unit that 99 of 100 of a repeat stay below, nanoseconds.
fn response_p99_ns(trial: &TrialRecord, kind: &str) -> Option<f64> {
    let responses = open_loop(trial)?.responses.iter();
    let mut counted = responses.filter(|response| response.count > 0);
    let response = counted.find(|response| response.kind == kind)?;
    Some(response.latency.p99_ns as f64)
}

/// Computes the response times of these repeats by kind of unit.
fn responses(repeats: &[&TrialRecord]) -> Vec<KindResponse> {
    let mut kinds: Vec<&str> = Vec::new();
    let open = repeats.iter().filter_map(|trial| open_loop(trial));
    for response in open.flat_map(|open| &open.responses) {
        if !kinds.contains(&response.kind.as_str()) {
            kinds.push(&response.kind);
        }
    }
    let of_kind = |kind: &str| {
        let times = repeats
            .iter()
            .filter_map(|trial| response_p99_ns(trial, kind));
        Some(KindResponse {
            kind: kind.to_owned(),
            p99_ns: Summary::of(times)?,
        })
    };
    kinds.into_iter().filter_map(of_kind).collect()
}

/// The kind with the longest response times among those that have [`MIN_KIND_REQUESTS`] units per
/// repeat on average over `among`; of equal ones the first. Contenders of one ranking had the same
/// work, so the same kinds decide. If no kind has as many, all are considered.
fn worst<'a>(among: &[&TrialRecord], responses: &'a [KindResponse]) -> Option<&'a KindResponse> {
    let median = |one: &KindResponse| one.p99_ns.median;
    let enough = u128::from(MIN_KIND_REQUESTS) * among.len() as u128;
    let is_often = |one: &KindResponse| {
        let counts = among
            .iter()
            .map(|trial| u128::from(count(trial, &one.kind)));
        counts.sum::<u128>() >= enough
    };
    let any_is = responses.iter().any(is_often);
    let considered = responses.iter().filter(|one| !any_is || is_often(one));
    let backwards = considered.rev();
    backwards.max_by(|one, other| median(one).total_cmp(&median(other)))
}

/// The kind with the longest response times among those with enough units in `among`, with its 99th
/// percentile by repeat, nanoseconds; `None` if there are no response times.
pub fn worst_times(
    repeats: &[&TrialRecord],
    among: &[&TrialRecord],
) -> Option<(String, BTreeMap<u32, f64>)> {
    let kind = worst(among, &responses(repeats))?.kind.clone();
    let times = times(repeats, &kind);
    Some((kind, times))
}

/// The 99th percentile of a kind's response times by repeat, nanoseconds.
pub fn times(repeats: &[&TrialRecord], kind: &str) -> BTreeMap<u32, f64> {
    let of = |trial: &&TrialRecord| Some((trial.spec.repeat, response_p99_ns(trial, kind)?));
    repeats.iter().filter_map(of).collect()
}

/// Whether each of these repeats started every unit that was due.
pub fn all_kept(repeats: &[&TrialRecord]) -> bool {
    let keeps = |trial: &&TrialRecord| trial.measurement.as_ref().is_some_and(keeps_rate);
    repeats.iter().all(keeps)
}

/// The result of a cell at its offered rate, in a ranking of all of `among`; `None` if no repeat
/// has a response time.
pub fn of(repeats: &[&TrialRecord], among: &[&TrialRecord]) -> Option<FixedRateResult> {
    let open = repeats.iter().filter_map(|trial| open_loop(trial));
    let responses = responses(repeats);
    let worst = worst(among, &responses)?;
    Some(FixedRateResult {
        kept: all_kept(repeats),
        worst_kind: worst.kind.clone(),
        response_p99_ns: worst.p99_ns,
        backlog: open.map(|open| open.backlog).max().unwrap_or_default(),
        against_best: None,
        responses,
    })
}

/// Compares the response times of two cells' repeats, each of its worst kind, one of `comparisons`
/// that are read together.
pub fn between(
    best: (&[&TrialRecord], &FixedRateResult),
    other: (&[&TrialRecord], &FixedRateResult),
    comparisons: usize,
) -> Comparison {
    let times =
        |(trials, at_rate): (&[&TrialRecord], &FixedRateResult)| times(trials, &at_rate.worst_kind);
    let are_on_hosts = are_on_hosts(best.0, other.0);
    let (mut best, mut other) = (times(best), times(other));
    if are_on_hosts {
        // Only inside a host, and so a repeat, can they be compared.
        best.retain(|repeat, _| other.contains_key(repeat));
        other.retain(|repeat, _| best.contains_key(repeat));
    }
    let paired = best.keys().eq(other.keys());
    let values = |times: BTreeMap<u32, f64>| times.into_values().collect::<Vec<_>>();
    of_times(&values(best), &values(other), paired, comparisons)
}

/// Compares response times, one of `comparisons` that are read together: the ratio is the second's
/// over the first's, and slower means a longer wait.
pub fn of_times(first: &[f64], second: &[f64], paired: bool, comparisons: usize) -> Comparison {
    let compared = compare_among(first, second, paired, comparisons);
    // For times, more is worse: the verdict on rates is reversed.
    let verdict = match compared.verdict {
        Verdict::Faster => Verdict::Slower,
        Verdict::Slower => Verdict::Faster,
        undecided => undecided,
    };
    Comparison {
        verdict,
        ..compared
    }
}
