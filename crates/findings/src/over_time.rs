//! The rate second by second: its drops, their depth and length, and the engine events during them.

use crate::Run;
use crate::eligibility::headline;
use crate::published::is_transaction;
use crate::statistics::{change_points, median};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::TrialRecord;
use trueput_record::measurement::Measurement;
use trueput_record::recovery::EventRecord;

/// A segment is a cliff if its rate is below this share of the one before, and a recovery if it
/// reaches this share of it again.
const FALLEN: f64 = 0.95;

/// A second or two below this part of the median rate are a cliff too short for a change of level.
const DIP: f64 = 0.5;

/// An event that began up to this many seconds before a cliff may belong to it: rates are known by
/// whole seconds.
const BEFORE_S: f64 = 1.0;

/// A part of the timeline shorter than this has too few samples for a rate, seconds.
const MIN_PART_S: f64 = 0.25;

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

/// The rate of a trial over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverTime {
    /// The trial.
    pub trial: String,
    /// The median of its whole seconds, units of work per second.
    pub median_per_s: f64,
    /// Number of whole seconds.
    pub seconds: usize,
    /// Drops of the rate, in order.
    pub cliffs: Vec<Cliff>,
    /// Number of engine events by kind; `None` if the engine does not report them.
    pub events: Option<BTreeMap<String, u64>>,
}

/// A fall of the rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cliff {
    /// When it began, seconds since the release.
    pub from_s: f64,
    /// Length, seconds.
    pub length_s: f64,
    /// Whether the rate had come back before the trial ended.
    pub recovered: bool,
    /// The part of the rate that was lost at the deepest: 0.4 is forty per cent.
    pub depth: f64,
    /// Engine events during the drop.
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
        if length_s < 0.9 {
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
    let mut cliffs = find_cliffs(&seconds);
    cliffs.extend(dips(&seconds, median_per_s, &cliffs));
    cliffs.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    for cliff in &mut cliffs {
        let span = cliff.from_s - BEFORE_S..=cliff.from_s + cliff.length_s;
        let within = reported.into_iter().flatten();
        cliff.events = within
            .filter(|event| span.contains(&event.at_s))
            .cloned()
            .collect();
    }
    Some(OverTime {
        trial: trial.spec.id.clone(),
        median_per_s,
        seconds: seconds.len(),
        cliffs,
        events: reported.map(counted),
    })
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

/// Drops of the level, each up to its recovery.
fn find_cliffs(seconds: &[Second]) -> Vec<Cliff> {
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
        if levels[index].2 >= FALLEN * before {
            index += 1;
            continue;
        }
        let down = levels[index..]
            .iter()
            .take_while(|level| level.2 < FALLEN * before);
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
            depth: 1.0 - lowest / before,
            events: Vec::new(),
        });
        index += down.len() + 1;
    }
    cliffs
}

/// Seconds far below the median that no fall holds.
fn dips(seconds: &[Second], median: f64, falls: &[Cliff]) -> Vec<Cliff> {
    let fallen = |second: &Second| {
        let holds =
            |fall: &Cliff| (fall.from_s..fall.from_s + fall.length_s).contains(&second.begin_s);
        falls.iter().any(holds)
    };
    let mut dips: Vec<Cliff> = Vec::new();
    // Set while inside a dip: the index of the second before.
    let mut ended: Option<usize> = None;
    for (index, second) in seconds.iter().enumerate() {
        if second.per_s >= DIP * median || fallen(second) {
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
    use trueput_record::measurement::{OperationSummary, TimelineSecond};

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
        let falls = find_cliffs(&levels(&[(100.0, 10), (50.0, 5), (100.0, 10)]));
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
        let lasting = find_cliffs(&levels(&[(100.0, 10), (60.0, 5), (30.0, 5)]));
        let [cliff] = lasting.as_slice() else {
            panic!("{lasting:?}");
        };
        assert!(!cliff.recovered && cliff.length_s == 10.0 && cliff.depth > 0.65);
        assert!(find_cliffs(&levels(&[(60.0, 10), (100.0, 10)])).is_empty());
        assert!(find_cliffs(&levels(&[(100.0, 30)])).is_empty());
    }

    #[test]
    fn a_second_without_work_is_a_cliff_too_short_for_a_level() {
        let mut rates = levels(&[(100.0, 12)]);
        (rates[5].per_s, rates[6].per_s) = (10.0, 20.0);
        let dips = dips(&rates, 100.0, &[]);
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
}
