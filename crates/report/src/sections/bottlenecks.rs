//! The section on bottlenecks: what each trial waited for, and the shares of their time.

use super::{Findings, Part, Section};
use crate::bottleneck_words::{cause, interval};
use crate::chart::{Chart, Column, Group, Kind, Unit, Word};
use crate::document::Block;
use std::collections::BTreeMap;
use trueput_findings::bottleneck::{BottleneckInterval, trial_bottleneck};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{counted, per_cent};
use trueput_record::TrialRecord;
use trueput_record::measurement::Measurement;

/// What the trials waited for.
pub(crate) struct Bottlenecks;

impl Section for Bottlenecks {
    fn parts(&self, findings: &Findings<'_>) -> Vec<Part> {
        let cores = f64::from(findings.run.manifest.host.cores);
        let lines = lines(&findings.first_of_each_cell(), &findings.names, cores);
        if lines.is_empty() {
            return Vec::new();
        }
        vec![Part {
            title: "Bottleneck of each trial".to_owned(),
            blocks: vec![Block::Text(BOTTLENECKS.to_owned())],
            evidence: Some(Block::List(lines)),
            charts: findings.page_charts(|| shares(findings)),
            ..Part::default()
        }]
    }
}

/// A bar for the first trial of each cell of which enough was seen; none if there is none.
fn shares(findings: &Findings<'_>) -> Vec<Chart> {
    let cores = f64::from(findings.run.manifest.host.cores);
    let mut words: BTreeMap<usize, &'static str> = BTreeMap::new();
    let mut trials = Vec::new();
    for (trial, measurement) in findings.first_of_each_cell() {
        let Some(held) = trial_bottleneck(trial, measurement, cores) else {
            continue;
        };
        let mut spans: BTreeMap<usize, f64> = BTreeMap::new();
        for interval in &held.intervals {
            let color = interval.bottleneck as usize;
            words.insert(color, cause(interval.bottleneck));
            *spans.entry(color).or_default() += interval.to_s - interval.from_s;
        }
        trials.push((findings.names.trial(trial), spans));
    }
    if trials.is_empty() {
        return Vec::new();
    }
    let group = |(name, spans): &(String, BTreeMap<usize, f64>)| {
        let whole: f64 = spans.values().sum();
        let share = |color| spans.get(color).map_or(0.0, |span| span / whole);
        Group::rounded(name.as_str(), [words.keys().map(share).collect()])
    };
    let seen: Vec<_> = words.values().copied().collect();
    vec![Chart {
        title: "Share of the time by bottleneck".to_owned(),
        says: format!(
            "A bar for each trial, {} in all. Seen: {}.",
            trials.len(),
            seen.join(", ")
        ),
        note: "The first repeat of each cell. The largest share is written out.".to_owned(),
        columns: seen
            .iter()
            .map(|word| Column::new(*word, Unit::Share))
            .collect(),
        groups: trials.iter().map(group).collect(),
        words: words
            .iter()
            .map(|(&color, &text)| Word { text, color })
            .collect(),
        ..Chart::new(Kind::Shares, "trial")
    }]
}

const BOTTLENECKS: &str = "Judged for each second from CPU, device, waits and other programs, by \
    the rules in docs/METHOD.md.";

/// What each trial waited for, a line each.
fn lines(measured: &[(&TrialRecord, &Measurement)], names: &TrialNames, cores: f64) -> Vec<String> {
    let mut lines = Vec::new();
    for (trial, measurement) in measured {
        let Some(held) = trial_bottleneck(trial, measurement, cores) else {
            continue;
        };
        let label = names.trial(trial);
        let mut line = format!(
            "{label}: {} ({} of the time)",
            cause(held.verdict),
            per_cent(held.share)
        );
        if let Some(at_s) = held.io_bound_from_s {
            line += &format!("; it changes from CPU-bound to I/O-bound at {at_s:.0} s");
        }
        let told = longest(&held.intervals);
        let evidence: Vec<_> = told.iter().copied().map(interval).collect();
        line += &format!(". {}", evidence.join("; "));
        let more = held.intervals.len() - told.len();
        if more > 0 {
            line += &format!("; and {}", counted(more as u64, "shorter interval"));
        }
        lines.push(line);
    }
    lines
}

/// The most intervals of a trial that are shown; the JSON report has all.
const MOST_INTERVALS: usize = 2;

/// The longest intervals, of equal ones the first, in the order of time.
fn longest(intervals: &[BottleneckInterval]) -> Vec<&BottleneckInterval> {
    let span = |one: &BottleneckInterval| one.to_s - one.from_s;
    let mut told: Vec<_> = intervals.iter().collect();
    told.sort_by(|one, other| span(other).total_cmp(&span(one)));
    told.truncate(MOST_INTERVALS);
    told.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    told
}
