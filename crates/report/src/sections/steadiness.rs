//! Changes within a trial and between repeats: warm-up, cliffs, drift, outliers.

use super::over_time::{length, rise};
use super::{Part, Section, SectionInput};
use crate::charts::{Charts, sparkline};
use crate::document::{Block, Table};
use trueput_findings::Run;
use trueput_findings::statistics::Shape;
use trueput_findings::steadiness::{
    CellSteadiness, RepeatRise, RepeatSeconds, RepeatShape, steadiness,
};
use trueput_findings::units::{number, per_cent};

/// Steadiness of rates, within a trial and between repeats.
pub(crate) struct Steadiness;

impl Section for Steadiness {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let blocks = blocks(input.run, input.charts);
        Part::unless_empty("Stability of the repeats", blocks)
    }
}

/// The most sentences of a section; the JSON report has every second.
const MAX_SENTENCES: usize = 20;

/// Columns of a line of rates.
const LINE: usize = 40;

/// The section; empty if everything is steady.
fn blocks(report: &Run, charts: Charts) -> Vec<Block> {
    let cells = steadiness(report);
    let mut lines: Vec<String> = cells.iter().filter_map(describe_trials).collect();
    lines.extend(cells.iter().flat_map(describe_repeats));
    if lines.len() > MAX_SENTENCES {
        let more = lines.len() - MAX_SENTENCES;
        lines.truncate(MAX_SENTENCES);
        lines.push(format!(
            "… and {more} more; --format json has every second."
        ));
    }
    let drawn = drawn(&cells, charts).map(Block::Table);
    drawn
        .into_iter()
        .chain(Block::List(lines).filled())
        .collect()
}

/// The trials of a cell that warm up, with the time; those with cliffs, of the rate or of
/// latencies, and those without a level.
fn describe_trials(cell: &CellSteadiness) -> Option<String> {
    let clause = |RepeatShape { repeat, shape }: &RepeatShape| match shape {
        Shape::WarmUp { until } => Some(format!("r{repeat} warms up until {until} s")),
        Shape::Cliff { at, ratio } => Some(format!(
            "r{repeat} drops at {at} s to {} of its rate, until the end",
            per_cent(*ratio)
        )),
        Shape::Unsteady { changes } => Some(format!("r{repeat} changes level {changes} times")),
        Shape::Short | Shape::Steady => None,
    };
    let mut found: Vec<String> = cell.shapes.iter().filter_map(clause).collect();
    found.extend(cell.rises.iter().map(
        |RepeatRise {
             repeat,
             rise: found,
         }| {
            let length = length(found.length_s, found.recovered);
            format!("in r{repeat} {} {length}", rise(found))
        },
    ));
    (!found.is_empty()).then(|| format!("{}: {}.", cell.name, found.join("; ")))
}

/// The changes between repeats.
fn describe_repeats(cell: &CellSteadiness) -> Vec<String> {
    let name = &cell.name;
    let drift = cell.drift.map(|moved| {
        let verb = if moved > 0.0 { "rise" } else { "fall" };
        let share = per_cent(moved.abs());
        format!("{name}: rates {verb} by {share} from the first repeat to the last.")
    });
    let outliers = cell.outliers.iter().map(|outlier| {
        format!(
            "{name}: r{} is an outlier: {}/s, median {}/s.",
            outlier.repeat,
            number(outlier.per_s),
            number(outlier.median_per_s)
        )
    });
    drift.into_iter().chain(outliers).collect()
}

/// The rates of each cell's middle trial, second by second.
fn drawn(cells: &[CellSteadiness], charts: Charts) -> Option<Table> {
    if charts == Charts::Off {
        return None;
    }
    let drawn = cells.iter().filter_map(|cell| {
        let middle = cell.middle.as_ref()?;
        (middle.rates.len() >= 3).then_some((&cell.name, middle))
    });
    let drawn: Vec<(&String, &RepeatSeconds)> = drawn.collect();
    let table = Table::of(&drawn)
        .text("contender", 0, |(name, _)| name)
        .text("rate, second by second", 0, |(_, middle)| {
            sparkline(&middle.rates, LINE, 0.0, charts)
        })
        .figures("per second", 1, |(_, middle)| {
            let rates = middle.rates.iter().copied();
            let (least, most) = (
                rates.clone().fold(f64::MAX, f64::min),
                rates.fold(f64::MIN, f64::max),
            );
            format!("{}–{}", number(least), number(most))
        })
        .figures("of", 2, |(_, middle)| {
            format!("{} s, r{}", middle.rates.len(), middle.repeat)
        });
    (!drawn.is_empty()).then(|| table.build())
}
