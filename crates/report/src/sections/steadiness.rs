//! What happened within a trial and from repeat to repeat: warm-up, cliffs, drift, outliers.

use super::{Findings, Part, Section};
use crate::charts::{Charts, sparkline};
use crate::document::{Block, Column, Table};
use std::collections::{BTreeMap, BTreeSet};
use trueput_findings::Run;
use trueput_findings::eligibility::{LastAttempts, headline, rate, why_unranked};
use trueput_findings::statistics::{Shape, drift, median, outliers, shape};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{number, per_cent};
use trueput_record::TrialRecord;
use trueput_record::measurement::Measurement;

/// How steady rates were, within a trial and from repeat to repeat.
pub(crate) struct Steadiness;

impl Section for Steadiness {
    fn parts(&self, findings: &Findings<'_>) -> Vec<Part> {
        let blocks = blocks(findings.run, findings.charts);
        Part::unless_empty("Stability of the repeats", blocks)
            .into_iter()
            .collect()
    }
}

/// Drift over the repeats of a cell that is told, as a part of their mean.
const NOTABLE_DRIFT: f64 = 0.05;

/// How closely repeats must follow a straight line for that to be called drift: the correlation.
const STRAIGHT: f64 = 0.9;

/// How far, in scaled median absolute deviations, a repeat is off to be named.
const FAR: f64 = 3.5;

/// And how far as a part of the median.
const NOTABLE_DISTANCE: f64 = 0.10;

/// Fewest repeats for drift and outliers.
const FEWEST: usize = 5;

/// Most sentences of a section; the JSON report has every second.
const MOST: usize = 20;

/// Columns of a line of rates.
const LINE: usize = 40;

/// Trials that count, by cell.
struct Repeats<'a> {
    name: String,
    headline: String,
    trials: Vec<&'a TrialRecord>,
}

/// The section, where there is something to say or to draw.
fn blocks(report: &Run, charts: Charts) -> Vec<Block> {
    let cells = cells(report);
    let elsewhere: BTreeSet<&str> = trueput_findings::over_time::told(report)
        .into_iter()
        .map(|trial| trial.spec.id.as_str())
        .collect();
    let mut lines: Vec<String> = cells
        .iter()
        .filter_map(|cell| within(cell, &elsewhere))
        .collect();
    lines.extend(cells.iter().flat_map(between));
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(format!(
            "… and {more} more; --format json has every second."
        ));
    }
    let drawn = drawn(&cells, charts);
    if lines.is_empty() && drawn.is_none() {
        return Vec::new();
    }
    let mut blocks: Vec<_> = drawn.map(Block::Table).into_iter().collect();
    if !lines.is_empty() {
        blocks.push(Block::List(lines));
    }
    blocks
}

fn cells(report: &Run) -> Vec<Repeats<'_>> {
    let attempts = LastAttempts::of(&report.trials);
    let trials: Vec<&TrialRecord> = report
        .trials
        .iter()
        .filter(|trial| !attempts.supersede(trial))
        .collect();
    let names = TrialNames::of(report);
    let mut cells: BTreeMap<u32, Repeats<'_>> = BTreeMap::new();
    for trial in trials {
        let headline = headline(&report.manifest, &[trial]);
        if why_unranked(trial, &headline).is_some() {
            continue;
        }
        let cell = cells.entry(trial.spec.cell).or_insert_with(|| Repeats {
            name: names.cell(trial),
            headline,
            trials: Vec::new(),
        });
        cell.trials.push(trial);
    }
    cells.into_values().collect()
}

/// The rates of a trial's whole seconds, of one kind of operation.
pub(crate) fn seconds(measurement: &Measurement, kind: &str) -> Vec<f64> {
    let mut operations = measurement.operations.iter();
    let Some(index) = operations.position(|operation| operation.kind == kind) else {
        return Vec::new();
    };
    let mut before_s = 0.0;
    let mut rates = Vec::new();
    for second in &measurement.timeline {
        let length_s = second.at_s - before_s;
        before_s = second.at_s;
        // The remainder at the end is too short to be a rate.
        if length_s >= 0.5 {
            let count = second.counts.get(index).copied().unwrap_or_default();
            rates.push(count as f64 / length_s);
        }
    }
    rates
}

/// Which trials of a cell warm up, and for how long; which fall, and which have no level. The falls
/// of those in `elsewhere` are told by the section on cliffs.
fn within(cell: &Repeats<'_>, elsewhere: &BTreeSet<&str>) -> Option<String> {
    let told = cell.trials.iter().filter_map(|trial| {
        let rates = seconds(trial.measurement.as_ref()?, &cell.headline);
        let repeat = trial.spec.repeat;
        let is_new = !elsewhere.contains(trial.spec.id.as_str());
        match shape(&rates) {
            Shape::WarmUp { until } => Some(format!("r{repeat} warms up until {until} s")),
            Shape::Cliff { at, ratio } if is_new => Some(format!(
                "r{repeat} drops at {at} s to {} of its rate, until the end",
                per_cent(ratio)
            )),
            Shape::Unsteady { changes } if is_new => {
                Some(format!("r{repeat} changes level {changes} times"))
            }
            _ => None,
        }
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("{}: {}.", cell.name, told.join("; ")))
}

/// What happened from repeat to repeat.
fn between(cell: &Repeats<'_>) -> Vec<String> {
    let mut trials = cell.trials.clone();
    trials.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    let rates: Vec<f64> = trials
        .iter()
        .filter_map(|trial| rate(trial, &cell.headline))
        .collect();
    if rates.len() < FEWEST || rates.len() != trials.len() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let moved = drift(&rates).unwrap_or_default();
    if moved.abs() >= NOTABLE_DRIFT && straightness(&rates) >= STRAIGHT {
        let verb = if moved > 0.0 { "rise" } else { "fall" };
        lines.push(format!(
            "{}: rates {verb} by {} from the first repeat to the last.",
            cell.name,
            per_cent(moved.abs())
        ));
    }
    let middle = median(rates.iter().copied()).unwrap_or_default();
    for index in outliers(&rates, FAR) {
        if (rates[index] / middle - 1.0).abs() >= NOTABLE_DISTANCE {
            lines.push(format!(
                "{}: r{} is an outlier: {}/s, median {}/s.",
                cell.name,
                trials[index].spec.repeat,
                number(rates[index]),
                number(middle)
            ));
        }
    }
    lines
}

/// How closely values follow a straight line: the correlation with their places, without its sign.
fn straightness(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let (middle, mean) = ((count - 1.0) / 2.0, values.iter().sum::<f64>() / count);
    let (mut both, mut places, mut squares) = (0.0, 0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let (x, y) = (index as f64 - middle, value - mean);
        both += x * y;
        places += x * x;
        squares += y * y;
    }
    match places * squares > 0.0 {
        true => (both / (places * squares).sqrt()).abs(),
        false => 0.0,
    }
}

/// The rates of each cell's middle trial, second by second.
fn drawn(cells: &[Repeats<'_>], charts: Charts) -> Option<Table> {
    if charts == Charts::Off {
        return None;
    }
    let rows = cells.iter().filter_map(|cell| {
        let mut trials = cell.trials.clone();
        let of = |trial: &TrialRecord| rate(trial, &cell.headline).unwrap_or_default();
        trials.sort_by(|one, other| of(one).total_cmp(&of(other)));
        let middle = trials.get(trials.len() / 2)?;
        let rates = seconds(middle.measurement.as_ref()?, &cell.headline);
        if rates.len() < 3 {
            return None;
        }
        let least = rates.iter().copied().fold(f64::MAX, f64::min);
        let most = rates.iter().copied().fold(f64::MIN, f64::max);
        Some(vec![
            cell.name.clone(),
            sparkline(&rates, LINE, 0.0, charts),
            format!("{}–{}", number(least), number(most)),
            format!("{} s, r{}", rates.len(), middle.spec.repeat),
        ])
    });
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        rows,
        columns: vec![
            Column::text("contender", 0),
            Column::text("rate, second by second", 0),
            Column::figures("per second", 1),
            Column::figures("of", 2),
        ],
        ..Table::default()
    })
}
