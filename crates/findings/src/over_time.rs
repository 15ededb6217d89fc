//! The rate and the 99th percentile of latencies second by second: their cliffs, with depth, length
//! and the engine events during them.

use crate::Run;
use crate::eligibility::headline;
use crate::published::is_transaction;
use crate::statistics::{change_points, median};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::TrialRecord;
use trueput_record::measurement::{Measurement, TimelineSecond};
use trueput_record::recovery::EventRecord;

/// A segment is a cliff if its rate is below this share of the one before, and a recovery if it
/// reaches this share of it again.
const FALLEN: f64 = 0.95;

/// A second or two below this part of the median rate are a cliff too short for a change of level.
const DIP: f64 = 0.5;

/// The factor by which the level of the 99th percentile must rise to be a cliff, and below which it
/// has recovered: percentiles scatter more than rates.
const RISEN: f64 = 1.5;

/// A second or two above this multiple of the median of the 99th percentiles are a cliff, too.
const PEAK: f64 = 5.0;

/// The fewest operations of a second that have a 99th percentile: of fewer, it is their maximum.
const MIN_OPERATIONS: u64 = 100;

/// An event that began up to this many seconds before a cliff may belong to it: rates are known by
/// whole seconds.
const BEFORE_S: f64 = 1.0;

/// A part of the timeline shorter than this has too few samples for a rate, seconds.
const MIN_PART_S: f64 = 0.25;

/// A second of the timeline shorter than this is none, seconds.
const MIN_SECOND_S: f64 = 0.9;

/// The last part of the timeline belongs to the one before it if it is shorter than this share of
/// it: while the workers end one after the other, its rate is none of the engine's.
const WHOLE_PART: f64 = 0.8;

/// Returns end (seconds since the release) and rate of each second, or of groups of seconds if
/// there would be more than `most`; `None` if no operation is of the kind.
#[must_use]
pub fn rate_points(measurement: &Measurement, kind: &str, most: usize) -> Option<Vec<(f64, f64)>> {
    let mut operations = measurement.operations.iter();
    let index = operations.position(|operation| operation.kind == kind)?;
    let together = measurement.timeline.len().div_ceil(most).max(1);
    // End, length and count of each part.
    let mut parts: Vec<(f64, f64, u64)> = Vec::new();
    let mut from_s = 0.0;
    for seconds in measurement.timeline.chunks(together) {
        let Some(last) = seconds.last() else { continue };
        let counts = seconds.iter().filter_map(|second| second.counts.get(index));
        parts.push((last.at_s, last.at_s - from_s, counts.sum()));
        from_s = last.at_s;
    }
    if let [.., before, last] = parts.as_mut_slice()
        && last.1 < before.1 * WHOLE_PART
    {
        *before = (last.0, before.1 + last.1, before.2 + last.2);
        parts.pop();
    }
    let parts = parts.into_iter().filter(|part| part.1 >= MIN_PART_S);
    Some(
        parts
            .map(|(end_s, span_s, count)| (end_s, count as f64 / span_s))
            .collect(),
    )
}

/// The latencies of a kind of operation in one second of a trial, or in several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyPoint {
    /// The end, seconds since the release.
    pub until_s: f64,
    /// The 99th percentile, nanoseconds; of several seconds the highest, as are the others.
    pub p99_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// The 99.9th percentile.
    pub p999_ns: u64,
    /// The maximum.
    pub max_ns: u64,
}

/// Returns the latencies of each second with operations of that kind, or the highest of groups of
/// seconds if there would be more than `most`; empty if the seconds have none. A short remainder is
/// left out.
#[must_use]
pub fn latency_points(measurement: &Measurement, kind: &str, most: usize) -> Vec<LatencyPoint> {
    let mut operations = measurement.operations.iter();
    let Some(index) = operations.position(|operation| operation.kind == kind) else {
        return Vec::new();
    };
    let together = measurement.timeline.len().div_ceil(most).max(1);
    let mut end_s = 0.0;
    let point = |seconds: &[TimelineSecond]| {
        let until_s = seconds.last()?.at_s;
        let length_s = until_s - std::mem::replace(&mut end_s, until_s);
        let highest = |of: fn(&TimelineSecond) -> &Vec<u64>| {
            let of_kind = seconds.iter().filter_map(|second| of(second).get(index));
            of_kind.max().copied().unwrap_or_default()
        };
        let max_ns = highest(|second| &second.latency_max_ns);
        (max_ns > 0 && length_s >= MIN_PART_S).then(|| LatencyPoint {
            until_s,
            p99_ns: highest(|second| &second.latency_p99_ns),
            p50_ns: highest(|second| &second.latency_p50_ns),
            p999_ns: highest(|second| &second.latency_p999_ns),
            max_ns,
        })
    };
    let groups = measurement.timeline.chunks(together);
    groups.filter_map(point).collect()
}

/// The rate of a trial over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OverTime {
    /// The trial.
    pub trial: String,
    /// The median of its whole seconds, units of work per second.
    pub median_per_s: f64,
    /// Number of whole seconds.
    pub seconds: usize,
    /// Drops of the rate, in order.
    pub cliffs: Vec<Cliff>,
    /// Rises of the 99th percentile of the latencies of the operation by which contenders are
    /// ranked, in order.
    pub latency_cliffs: Vec<LatencyCliff>,
    /// Number of engine events by kind; `None` if the engine does not report them.
    pub events: Option<BTreeMap<String, u64>>,
}

/// A fall of the rate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cliff {
    /// When it began, seconds since the release.
    pub from_s: f64,
    /// Length, seconds.
    pub length_s: f64,
    /// Whether the rate had come back before the trial ended.
    pub recovered: bool,
    /// The rate before, units of work per second.
    pub before_per_s: f64,
    /// The part of the rate that was lost at the deepest: 0.4 is forty per cent.
    pub depth: f64,
    /// Engine events during the drop.
    pub events: Vec<EventRecord>,
}

/// A rise of the 99th percentile of the latencies of each second.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LatencyCliff {
    /// The kind of operation.
    pub kind: String,
    /// When it began, seconds since the release.
    pub from_s: f64,
    /// Length, seconds.
    pub length_s: f64,
    /// Whether the percentile was back before the trial ended.
    pub recovered: bool,
    /// Whether it is a change of level; otherwise it is one or two seconds far above the median.
    pub is_level: bool,
    /// The percentile before, nanoseconds: the harmonic mean of its seconds, or their median if no
    /// level changed.
    pub before_ns: f64,
    /// The percentile at the highest level, likewise.
    pub highest_ns: f64,
    /// Engine events during the rise.
    pub events: Vec<EventRecord>,
}

/// The rate of a segment of the timeline, a second long or nearly.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Second {
    /// When it began, seconds since the release.
    begin_s: f64,
    /// When it ended, seconds since the release.
    end_s: f64,
    /// Units of work per second.
    per_s: f64,
}

/// The rates of a trial's whole seconds: of all transactions for the workload `tpcc`, else of the
/// operation by which contenders are ranked. Partial seconds are left out, so there may be gaps.
fn rates(measured: &Measurement, headline: &str) -> Vec<Second> {
    let kinds = &measured.operations;
    let of_tpcc = kinds
        .iter()
        .filter(|kind| is_transaction(&kind.kind))
        .count()
        > 1;
    let counts = |kind: &str| {
        if of_tpcc {
            is_transaction(kind)
        } else {
            kind == headline
        }
    };
    let mut end_s = 0.0;
    let mut rates = Vec::new();
    for second in &measured.timeline {
        let begin_s = std::mem::replace(&mut end_s, second.at_s);
        let length_s = end_s - begin_s;
        if length_s < MIN_SECOND_S {
            continue;
        }
        let counted = kinds.iter().zip(&second.counts);
        let done: u64 = counted
            .filter(|(kind, _)| counts(&kind.kind))
            .map(|(_, count)| count)
            .sum();
        rates.push(Second {
            begin_s,
            end_s,
            per_s: done as f64 / length_s,
        });
    }
    rates
}

/// The rate of a trial over time; `None` if it has no whole second.
#[must_use]
pub fn over_time(trial: &TrialRecord, headline: &str) -> Option<OverTime> {
    let measured = trial.measurement.as_ref()?;
    let seconds = rates(measured, headline);
    let median_per_s = median(seconds.iter().map(|second| second.per_s))?;
    let reported = measured.events.as_deref();
    let mut cliffs = find_cliffs(&seconds, FALLEN);
    cliffs.extend(dips(&seconds, median_per_s, DIP, &cliffs));
    cliffs.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    for cliff in &mut cliffs {
        cliff.events = events_within(measured, cliff.from_s, cliff.length_s);
    }
    Some(OverTime {
        trial: trial.spec.id.clone(),
        median_per_s,
        seconds: seconds.len(),
        cliffs,
        latency_cliffs: latency_cliffs(measured, headline),
        events: reported.map(counted),
    })
}

/// Returns the engine events of a cliff.
fn events_within(measured: &Measurement, from_s: f64, length_s: f64) -> Vec<EventRecord> {
    let span = from_s - BEFORE_S..=from_s + length_s;
    let reported = measured.events.iter().flatten();
    let within = reported.filter(|event| span.contains(&event.at_s));
    within.cloned().collect()
}

/// Returns the rises of the 99th percentile of a kind of operation, in order: those to a higher
/// level, and seconds far above the median.
#[must_use]
pub fn latency_cliffs(measured: &Measurement, kind: &str) -> Vec<LatencyCliff> {
    // A latency that rises is a rate that falls: operations in a row per second, each as slow as
    // the percentile.
    let seconds = rates_of_latency(measured, kind);
    let Some(median_per_s) = median(seconds.iter().map(|second| second.per_s)) else {
        return Vec::new();
    };
    let levels = find_cliffs(&seconds, 1.0 / RISEN);
    let peaks = dips(&seconds, median_per_s, 1.0 / PEAK, &levels);
    let all = levels.into_iter().map(|cliff| (cliff, true));
    let all = all.chain(peaks.into_iter().map(|cliff| (cliff, false)));
    let rise = |(cliff, is_level): (Cliff, bool)| {
        let before_ns = 1e9 / cliff.before_per_s;
        LatencyCliff {
            kind: kind.to_owned(),
            from_s: cliff.from_s,
            length_s: cliff.length_s,
            recovered: cliff.recovered,
            is_level,
            before_ns,
            highest_ns: before_ns / (1.0 - cliff.depth),
            events: events_within(measured, cliff.from_s, cliff.length_s),
        }
    };
    let mut rises: Vec<_> = all.map(rise).collect();
    rises.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    rises
}

/// Returns the inverse of the 99th percentile of each whole second with enough operations.
fn rates_of_latency(measured: &Measurement, kind: &str) -> Vec<Second> {
    let mut kinds = measured.operations.iter();
    let Some(index) = kinds.position(|operation| operation.kind == kind) else {
        return Vec::new();
    };
    let mut end_s = 0.0;
    let second = |second: &TimelineSecond| {
        let begin_s = std::mem::replace(&mut end_s, second.at_s);
        let count = second.counts.get(index).copied().unwrap_or_default();
        let p99_ns = second
            .latency_p99_ns
            .get(index)
            .copied()
            .unwrap_or_default();
        let is_known = count >= MIN_OPERATIONS && p99_ns > 0 && end_s - begin_s >= MIN_SECOND_S;
        is_known.then_some(Second {
            begin_s,
            end_s,
            per_s: 1e9 / p99_ns as f64,
        })
    };
    measured.timeline.iter().filter_map(second).collect()
}

/// The number of events by kind.
#[must_use]
pub fn counted(events: &[EventRecord]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for event in events.iter().filter(|event| !event.is_end()) {
        *counts.entry(event.kind.clone()).or_default() += 1;
    }
    counts
}

/// Drops of the level below a part of the one before, each up to its recovery.
fn find_cliffs(seconds: &[Second], fallen: f64) -> Vec<Cliff> {
    let rates: Vec<f64> = seconds.iter().map(|second| second.per_s).collect();
    let mut bounds = vec![0];
    bounds.extend(change_points(&rates));
    bounds.push(rates.len());
    let mean = |from: usize, to: usize| rates[from..to].iter().sum::<f64>() / (to - from) as f64;
    let levels: Vec<(usize, usize, f64)> = bounds
        .windows(2)
        .filter(|two| two[0] < two[1])
        .map(|two| (two[0], two[1], mean(two[0], two[1])))
        .collect();
    let mut cliffs = Vec::new();
    let mut index = 1;
    while index < levels.len() {
        let before = levels[index - 1].2;
        if levels[index].2 >= fallen * before {
            index += 1;
            continue;
        }
        let down = levels[index..]
            .iter()
            .take_while(|level| level.2 < fallen * before);
        let down: Vec<_> = down.collect();
        let (from, to) = (
            levels[index].0,
            down.last().map_or(rates.len(), |level| level.1),
        );
        let lowest = down.iter().map(|level| level.2).fold(before, f64::min);
        let from_s = seconds[from].begin_s;
        cliffs.push(Cliff {
            from_s,
            length_s: seconds[to - 1].end_s - from_s,
            recovered: to < rates.len(),
            before_per_s: before,
            depth: 1.0 - lowest / before,
            events: Vec::new(),
        });
        index += down.len() + 1;
    }
    cliffs
}

/// Seconds below a part of the median that no fall holds.
fn dips(seconds: &[Second], median: f64, part: f64, falls: &[Cliff]) -> Vec<Cliff> {
    let fallen = |second: &Second| {
        let holds =
            |fall: &Cliff| (fall.from_s..fall.from_s + fall.length_s).contains(&second.begin_s);
        falls.iter().any(holds)
    };
    let mut dips: Vec<Cliff> = Vec::new();
    // Set while inside a dip: the index of the second before.
    let mut ended: Option<usize> = None;
    for (index, second) in seconds.iter().enumerate() {
        if second.per_s >= part * median || fallen(second) {
            continue;
        }
        let depth = 1.0 - second.per_s / median;
        let recovered = index + 1 < seconds.len();
        let goes_on = ended.is_some_and(|before| before + 1 == index);
        ended = Some(index);
        match dips.last_mut() {
            Some(last) if goes_on => {
                last.length_s = second.end_s - last.from_s;
                last.depth = last.depth.max(depth);
                last.recovered = recovered;
            }
            _ => dips.push(Cliff {
                from_s: second.begin_s,
                length_s: second.end_s - second.begin_s,
                recovered,
                before_per_s: median,
                depth,
                events: Vec::new(),
            }),
        }
    }
    dips
}

/// The rate of each reported trial over time.
#[must_use]
pub fn all(report: &Run) -> Vec<OverTime> {
    let shown = report.trials.iter().filter(|trial| is_reported(trial));
    shown
        .filter_map(|trial| over_time(trial, &headline(&report.manifest, &[trial])))
        .collect()
}

/// Whether a trial has more to report than its timeline: engine events, or its step.
fn is_reported(trial: &TrialRecord) -> bool {
    let events = trial.measurement.as_ref().map(|one| one.events.is_some());
    events == Some(true) || trial.spec.step.is_some()
}

/// The trials that the section reports: the first of each cell with more than a timeline.
pub fn reported_trials(report: &Run) -> Vec<&TrialRecord> {
    let mut seen = BTreeSet::new();
    let shown = report.trials.iter().filter(|trial| is_reported(trial));
    shown.filter(|trial| seen.insert(trial.spec.cell)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::measurement::OperationSummary;

    fn levels(levels: &[(f64, usize)]) -> Vec<Second> {
        let rates = crate::samples::levels(levels).into_iter();
        let numbered = rates.enumerate();
        numbered
            .map(|(index, per_s)| Second {
                begin_s: index as f64,
                end_s: index as f64 + 1.0,
                per_s,
            })
            .collect()
    }

    #[test]
    fn a_fall_is_measured_to_where_the_rate_is_back() {
        let falls = find_cliffs(&levels(&[(100.0, 10), (50.0, 5), (100.0, 10)]), FALLEN);
        let [cliff] = falls.as_slice() else {
            panic!("{falls:?}");
        };
        assert_eq!(
            (cliff.from_s, cliff.length_s, cliff.recovered),
            (10.0, 5.0, true)
        );
        assert!((cliff.depth - 0.5).abs() < 0.02, "{cliff:?}");
    }

    #[test]
    fn a_fall_that_lasts_is_said_to_and_a_rise_or_a_steady_rate_is_none() {
        let lasting = find_cliffs(&levels(&[(100.0, 10), (60.0, 5), (30.0, 5)]), FALLEN);
        let [cliff] = lasting.as_slice() else {
            panic!("{lasting:?}");
        };
        assert!(!cliff.recovered && cliff.length_s == 10.0 && cliff.depth > 0.65);
        assert!(find_cliffs(&levels(&[(60.0, 10), (100.0, 10)]), FALLEN).is_empty());
        assert!(find_cliffs(&levels(&[(100.0, 30)]), FALLEN).is_empty());
    }

    #[test]
    fn a_second_without_work_is_a_cliff_too_short_for_a_level() {
        let mut rates = levels(&[(100.0, 12)]);
        (rates[5].per_s, rates[6].per_s) = (10.0, 20.0);
        let dips = dips(&rates, 100.0, DIP, &[]);
        let [dip] = dips.as_slice() else {
            panic!("{dips:?}");
        };
        assert_eq!((dip.from_s, dip.length_s, dip.recovered), (5.0, 2.0, true));
        assert!((dip.depth - 0.9).abs() < 1e-9);
    }

    #[test]
    fn the_last_part_of_a_second_is_no_fall_to_nothing() {
        let second = |at_s: f64, count: u64| TimelineSecond {
            at_s,
            counts: vec![count],
            ..TimelineSecond::default()
        };
        let operation = OperationSummary {
            kind: "update".to_owned(),
            ..OperationSummary::default()
        };
        let with_end = |last: TimelineSecond| {
            let timeline = vec![second(1.0, 100), second(2.0, 100), last];
            let measurement = Measurement {
                operations: vec![operation.clone()],
                timeline,
                ..Measurement::default()
            };
            rate_points(&measurement, "update", 240).unwrap()
        };
        // The workers ended one after the other, for 0.4 s in which nothing was counted.
        let points = with_end(second(2.4, 40));
        assert_eq!(points, [(1.0, 100.0), (2.4, 100.0)]);
        let points = with_end(second(2.4, 0));
        assert_eq!(points.last().map(|point| point.1.round()), Some(71.0));
        // The control: a whole second without work stays what it is.
        assert_eq!(with_end(second(3.0, 0))[2], (3.0, 0.0));
    }

    /// A trial whose operations have these 99th percentiles, a second each.
    fn with_p99(counts: u64, p99_ns: impl IntoIterator<Item = u64>) -> Measurement {
        let second = |(index, p99_ns): (usize, u64)| TimelineSecond {
            at_s: index as f64 + 1.0,
            counts: vec![counts],
            latency_p99_ns: vec![p99_ns],
            ..TimelineSecond::default()
        };
        Measurement {
            operations: vec![OperationSummary {
                kind: "update".to_owned(),
                ..OperationSummary::default()
            }],
            timeline: p99_ns.into_iter().enumerate().map(second).collect(),
            ..Measurement::default()
        }
    }

    fn scattered(
        seconds: std::ops::Range<u64>,
        level_ns: u64,
    ) -> impl Iterator<Item = u64> + Clone {
        seconds.map(move |second| level_ns + second * 7 % 13 * level_ns / 100)
    }

    #[test]
    fn a_higher_level_of_the_percentile_is_a_cliff_of_latency_and_scatter_is_none() {
        let rise = scattered(0..20, 1_000_000).chain(scattered(20..40, 4_000_000));
        let found = latency_cliffs(&with_p99(1_000, rise.clone()), "update");
        let [cliff] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((cliff.from_s, cliff.length_s), (20.0, 20.0));
        assert!(cliff.is_level && !cliff.recovered);
        assert!((cliff.highest_ns / cliff.before_ns - 4.0).abs() < 0.2);
        assert!((cliff.before_ns / 1_060_000.0 - 1.0).abs() < 0.05);
        // The controls: scatter, a fall, and seconds of too few operations.
        let steady = with_p99(1_000, scattered(0..40, 1_000_000));
        assert!(latency_cliffs(&steady, "update").is_empty());
        let fall = scattered(0..20, 4_000_000).chain(scattered(20..40, 1_000_000));
        assert!(latency_cliffs(&with_p99(1_000, fall), "update").is_empty());
        assert!(latency_cliffs(&with_p99(50, rise), "update").is_empty());
    }

    #[test]
    fn a_second_far_above_the_median_is_a_cliff_of_latency_with_its_events() {
        let mut p99_ns: Vec<_> = scattered(0..30, 1_000_000).collect();
        p99_ns[12] = 20_000_000;
        // Not far enough.
        p99_ns[20] = 3_000_000;
        let event = |at_s| EventRecord {
            at_s,
            kind: "checkpoint".to_owned(),
            detail: String::new(),
        };
        let measured = Measurement {
            events: Some(vec![event(3.0), event(12.4)]),
            ..with_p99(1_000, p99_ns)
        };
        let found = latency_cliffs(&measured, "update");
        let [cliff] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((cliff.from_s, cliff.length_s), (12.0, 1.0));
        assert!(cliff.recovered && !cliff.is_level);
        assert!((cliff.highest_ns - 20e6).abs() < 1.0, "{cliff:?}");
        assert_eq!(cliff.events, [event(12.4)]);
    }

    #[test]
    fn latencies_of_seconds_together_are_the_highest_of_each() {
        let mut measured = with_p99(10, [100, 400, 200, 300, 900]);
        for second in &mut measured.timeline {
            second.latency_max_ns = vec![second.latency_p99_ns[0] + 50];
        }
        // The last one is a remainder of a tenth of a second.
        measured.timeline[4].at_s = 4.1;
        let brief = |most| {
            let points = latency_points(&measured, "update", most);
            let each = points.iter();
            each.map(|one| (one.until_s, one.p99_ns, one.max_ns))
                .collect::<Vec<_>>()
        };
        assert_eq!(brief(5).len(), 4);
        assert_eq!(brief(5)[1], (2.0, 400, 450));
        assert_eq!(brief(2), [(3.0, 400, 450), (4.1, 900, 950)]);
        assert!(latency_points(&measured, "read", 5).is_empty());
    }
}
