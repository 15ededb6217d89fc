//! The section on bottlenecks of each trial, with their shares of the time.

use super::{Part, Section, SectionInput};
use crate::bottleneck_words::{cause, interval};
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit, Word};
use crate::document::Block;
use std::collections::{BTreeMap, BTreeSet};
use trueput_findings::bottleneck::{Bottleneck, trial_bottleneck};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{counted, per_cent};
use trueput_record::TrialRecord;
use trueput_record::measurement::Measurement;

/// The bottlenecks of the trials.
pub(crate) struct Bottlenecks;

impl Section for Bottlenecks {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let cores = f64::from(input.run.manifest.host.cores);
        let lines = lines(&input.first_of_each_cell(), &input.names, cores);
        (!lines.is_empty()).then(|| Part {
            title: "Bottleneck of each trial".to_owned(),
            blocks: vec![Block::Text(BOTTLENECKS.to_owned())],
            evidence: Some(Block::List(lines)),
            charts: input.page_charts(|| shares(input)),
            ..Part::default()
        })
    }
}

/// A bar for the first trial of each cell with enough samples; empty if there is none.
fn shares(input: &SectionInput<'_>) -> Vec<Chart> {
    let cores = f64::from(input.run.manifest.host.cores);
    let judged = input.first_of_each_cell().into_iter();
    let judged = judged.filter_map(|(trial, measurement)| {
        let shares = trial_bottleneck(trial, measurement, cores)?.shares();
        Some((input.names.trial(trial), shares))
    });
    let trials: Vec<_> = judged.collect();
    let seen: BTreeSet<_> = trials
        .iter()
        .flat_map(|(_, shares)| shares.keys())
        .collect();
    if trials.is_empty() {
        return Vec::new();
    }
    let group = |(name, shares): &(String, BTreeMap<Bottleneck, f64>)| {
        let share = |one: &&Bottleneck| shares.get(*one).copied().unwrap_or_default();
        ChartGroup::rounded(name.as_str(), [seen.iter().map(share).collect()])
    };
    let words: Vec<_> = seen.iter().map(|one| cause(**one)).collect();
    vec![Chart {
        title: "Share of the time by bottleneck".to_owned(),
        says: format!(
            "A bar for each trial, {} in all. Seen: {}.",
            trials.len(),
            words.join(", ")
        ),
        note: "The first repeat of each cell. The largest share is written out.".to_owned(),
        columns: words
            .iter()
            .map(|word| ChartColumn::new(*word, Unit::Share))
            .collect(),
        groups: trials.iter().map(group).collect(),
        words: seen
            .iter()
            .map(|one| Word {
                text: cause(**one).into(),
                color: **one as usize,
            })
            .collect(),
        ..Chart::new(ChartKind::Shares, "trial")
    }]
}

const BOTTLENECKS: &str = "Judged for each second from CPU, device, waits and other programs, by \
    the rules in docs/METHOD.md.";

/// One line for each trial.
fn lines(measured: &[(&TrialRecord, &Measurement)], names: &TrialNames, cores: f64) -> Vec<String> {
    let mut lines = Vec::new();
    for (trial, measurement) in measured {
        let Some(judged) = trial_bottleneck(trial, measurement, cores) else {
            continue;
        };
        let label = names.trial(trial);
        let mut line = format!(
            "{label}: {} ({} of the time)",
            cause(judged.verdict),
            per_cent(judged.share)
        );
        if let Some(at_s) = judged.io_bound_from_s {
            line += &format!("; it changes from CPU-bound to I/O-bound at {at_s:.0} s");
        }
        let found = judged.longest(MAX_INTERVALS);
        let evidence: Vec<_> = found.iter().copied().map(interval).collect();
        line += &format!(". {}", evidence.join("; "));
        let more = judged.intervals.len() - found.len();
        if more > 0 {
            line += &format!("; and {}", counted(more as u64, "shorter interval"));
        }
        lines.push(line);
    }
    lines
}

/// The most intervals of a trial that are shown; the JSON report has all.
const MAX_INTERVALS: usize = 2;
