//! The section on rates over time.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use std::collections::BTreeMap;
use trueput_findings::Run;
use trueput_findings::eligibility::headline;
use trueput_findings::over_time::{Cliff, over_time, reported_trials};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{number, per_cent};

/// Rates second by second, and their cliffs.
pub(crate) struct RatesOverTime;

impl Section for RatesOverTime {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        Part::with_text("Over time", TEXT, blocks(input.run))
    }
}

const TEXT: &str = "The first trial of each cell, second by second. A cliff is a drop to a lower \
    level, or one or two seconds below half of the median. Engine events come from the engine's \
    log or counters.";

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
        .text("engine events", 0, |(_, rates)| {
            events_in_words(rates.events.as_ref())
        });
    let cliffs = reported.iter().flat_map(|(name, rates)| {
        let cliffs = rates.cliffs.iter();
        cliffs.map(move |cliff| sentence(name, cliff))
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

fn sentence(name: &str, cliff: &Cliff) -> String {
    let events: Vec<String> = cliff
        .events
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
    let more = cliff.events.len().saturating_sub(events.len());
    let events = match (events.is_empty(), more) {
        (true, _) => "no engine event in this time".to_owned(),
        (false, 0) => events.join("; "),
        (false, more) => format!("{}; and {more} more", events.join("; ")),
    };
    let until = if cliff.recovered {
        ""
    } else {
        ", until the end"
    };
    format!(
        "{name}: drop of {} at {} s, for {} s{until}: {events}",
        per_cent(cliff.depth),
        number(cliff.from_s),
        number(cliff.length_s)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_findings::over_time::counted;
    use trueput_record::recovery::EventRecord;

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
