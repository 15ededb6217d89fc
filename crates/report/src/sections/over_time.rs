//! The section on rates and latencies over time.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use std::collections::BTreeMap;
use trueput_findings::Run;
use trueput_findings::eligibility::headline;
use trueput_findings::over_time::{Cliff, LatencyCliff, over_time, reported_trials};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{nanoseconds, number, per_cent};
use trueput_record::recovery::EventRecord;

/// Rates and latencies second by second, and their cliffs.
pub(crate) struct RatesOverTime;

impl Section for RatesOverTime {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        Part::with_text("Over time", TEXT, blocks(input.run))
    }
}

const TEXT: &str = "The first trial of each cell, second by second. A cliff is a drop of the rate \
    to a lower level, or one or two seconds below half of the median. A cliff of latency is a rise \
    of the 99th percentile to a level 1.5 times as high, or one or two seconds above 5 times its \
    median. Engine events come from the engine's log or counters.";

/// The most sentences on latencies of a trial; the JSON report has all.
const MAX_RISES: usize = 5;

/// The section; empty if no engine reports events and no trial belongs to an ablation.
fn blocks(report: &Run) -> Vec<Block> {
    let names = TrialNames::of(report);
    let reported = reported_trials(report).into_iter().filter_map(|trial| {
        let headline = headline(&report.manifest, &[trial]);
        Some((names.trial(trial), over_time(trial, &headline)?))
    });
    let reported: Vec<_> = reported.collect();
    let table = Table::of(&reported)
        .text("trial", 0, |(name, _)| name)
        .figures("seconds", 0, |(_, rates)| rates.seconds)
        .figures("median/s", 0, |(_, rates)| number(rates.median_per_s))
        .figures("cliffs", 0, |(_, rates)| rates.cliffs.len())
        .figures("of latency", 0, |(_, rates)| rates.latency_cliffs.len())
        .text("engine events", 0, |(_, rates)| {
            events_in_words(rates.events.as_ref())
        });
    let cliffs = reported.iter().flat_map(|(name, rates)| {
        let cliffs = rates.cliffs.iter().map(|cliff| sentence(name, cliff));
        cliffs.chain(rises(name, &rates.latency_cliffs))
    });
    let blocks = [Block::Table(table.build()), Block::List(cliffs.collect())];
    blocks.into_iter().filter_map(Block::filled).collect()
}

/// Counts of events in words.
pub(crate) fn events_in_words(events: Option<&BTreeMap<String, u64>>) -> String {
    match events {
        None => "not reported by the engine".to_owned(),
        Some(counts) if counts.is_empty() => "no checkpoint, flush or compaction".to_owned(),
        Some(counts) => {
            let words = counts
                .iter()
                .map(|(kind, count)| match (kind.as_str(), count) {
                    (kind, 1) => format!("1 {kind}"),
                    ("flush" | "log switch", count) => format!("{count} {kind}es"),
                    (kind, count) => format!("{count} {kind}s"),
                });
            words.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Sentences on the highest rises of the latencies, in the order in which they occurred.
fn rises(name: &str, cliffs: &[LatencyCliff]) -> Vec<String> {
    let mut highest: Vec<&LatencyCliff> = cliffs.iter().collect();
    let factor = |cliff: &LatencyCliff| cliff.highest_ns / cliff.before_ns;
    highest.sort_by(|one, other| factor(other).total_cmp(&factor(one)));
    highest.truncate(MAX_RISES);
    highest.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    let left_out = cliffs.len() - highest.len();
    let sentence = |cliff: &LatencyCliff| {
        let length = length(cliff.length_s, cliff.recovered);
        format!(
            "{name}: {} {length}: {}",
            rise(cliff),
            events(&cliff.events)
        )
    };
    let mut sentences: Vec<_> = highest.into_iter().map(sentence).collect();
    sentences.extend(
        (left_out > 0)
            .then(|| format!("{name}: {left_out} smaller rises of p99; --format json has them.")),
    );
    sentences
}

/// The beginning of a rise of latencies, and its size.
pub(crate) fn rise(cliff: &LatencyCliff) -> String {
    let (before_ns, highest_ns) = (cliff.before_ns, cliff.highest_ns);
    format!(
        "p99 of {} rises {}-fold at {} s, from {} to {},",
        cliff.kind,
        number(highest_ns / before_ns),
        number(cliff.from_s),
        nanoseconds(before_ns),
        nanoseconds(highest_ns)
    )
}

/// The length of a cliff.
pub(crate) fn length(length_s: f64, recovered: bool) -> String {
    let until = if recovered { "" } else { ", until the end" };
    format!("for {} s{until}", number(length_s))
}

fn sentence(name: &str, cliff: &Cliff) -> String {
    format!(
        "{name}: drop of {} at {} s, {}: {}",
        per_cent(cliff.depth),
        number(cliff.from_s),
        length(cliff.length_s, cliff.recovered),
        events(&cliff.events)
    )
}

/// The engine events during a cliff.
fn events(events: &[EventRecord]) -> String {
    let first: Vec<String> = events
        .iter()
        .take(4)
        .map(|event| {
            format!(
                "{} at {} s ({})",
                event.kind,
                number(event.at_s),
                event.detail
            )
        })
        .collect();
    match (first.is_empty(), events.len() - first.len()) {
        (true, _) => "no engine event in this time".to_owned(),
        (false, 0) => first.join("; "),
        (false, more) => format!("{}; and {more} more", first.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_findings::over_time::counted;

    #[test]
    fn that_there_was_no_checkpoint_is_said_plainly_and_only_where_the_engine_tells() {
        let event = |kind: &str| EventRecord {
            at_s: 1.0,
            kind: kind.to_owned(),
            detail: String::new(),
        };
        let reported = counted(&[event("flush"), event("flush ended"), event("flush")]);
        assert_eq!(events_in_words(Some(&reported)), "2 flushes");
        assert!(events_in_words(Some(&BTreeMap::new())).starts_with("no checkpoint"));
        assert_eq!(events_in_words(None), "not reported by the engine");
    }
}
