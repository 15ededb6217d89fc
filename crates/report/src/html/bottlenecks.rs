//! The bottlenecks of all trials beside each other: the shares of their time, by what they waited for.

use super::chart::{Chart, Column, Group, Kind, Unit, Word};
use crate::sections::first_of_each_cell;
use std::collections::BTreeMap;
use trueput_findings::Run;
use trueput_findings::bottleneck::held;
use trueput_findings::trial_names::TrialNames;

/// A bar for the first trial of each cell of which enough was seen; none where there is none.
pub(crate) fn shares(report: &Run) -> Vec<Chart> {
    let measured = report.trials.iter();
    let measured = measured.filter_map(|trial| Some((trial, trial.measurement.as_ref()?)));
    let measured: Vec<_> = measured.collect();
    let names = TrialNames::of(report);
    let cores = f64::from(report.manifest.host.cores);
    let mut words: BTreeMap<usize, &'static str> = BTreeMap::new();
    let mut trials = Vec::new();
    for (trial, measurement) in first_of_each_cell(&measured) {
        let Some(held) = held(trial, measurement, cores) else {
            continue;
        };
        let mut spans: BTreeMap<usize, f64> = BTreeMap::new();
        for stretch in &held.stretches {
            let color = stretch.bottleneck as usize;
            words.insert(color, stretch.bottleneck.words());
            *spans.entry(color).or_default() += stretch.to_s - stretch.from_s;
        }
        trials.push((names.trial(trial), spans));
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
