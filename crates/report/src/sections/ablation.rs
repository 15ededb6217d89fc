//! Ablations as blocks of a report.

use super::{Findings, Part, Section};
use crate::document::{Block, Column, Table};
use crate::sections::over_time::events_in_words;
use trueput_findings::Run;
use trueput_findings::ablation::{
    Ablation, Gain, SkippedStep, StepFigures, StepRow, StepState, ablations,
};
use trueput_findings::statistics::Verdict;
use trueput_findings::text::joined;
use trueput_findings::units::{bytes, hit_ratio, number, seconds, thousands};
use trueput_record::ablation::AblationKind;

/// What each step of an ablation gains and costs.
pub(crate) struct AblationSteps;

impl Section for AblationSteps {
    fn parts(&self, findings: &Findings<'_>) -> Vec<Part> {
        Part::unless_empty(HEADING, blocks(findings.run))
            .into_iter()
            .collect()
    }
}

/// The section's heading.
const HEADING: &str = "Ablation";

const TEXT: &str = "What each step gains, and what it costs. This is not a ranking: rows can have \
    different durability levels. A gain is a ratio of medians, with the confidence interval of \
    the paired repeats; if the interval includes 1, the gain is not significant. Recovery is the \
    time from killing every process (SIGKILL) to an open database. The page cache stays warm.";

/// The section; nothing where the run has no steps.
pub(crate) fn blocks(report: &Run) -> Vec<Block> {
    blocks_of(&ablations(report))
}

/// The section of these ablations.
fn blocks_of(ablations: &[Ablation]) -> Vec<Block> {
    if ablations.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Text(TEXT.to_owned())];
    for ablation in ablations {
        let heading = heading(ablation);
        blocks.push(Block::Heading(3, heading.clone()));
        blocks.push(Block::Table(table(ablation).captioned(heading)));
        let notes: Vec<String> = ablation.rows.iter().flat_map(notes).collect();
        if !notes.is_empty() {
            blocks.push(Block::List(notes));
        }
    }
    blocks
}

fn heading(ablation: &Ablation) -> String {
    let stands = match ablation.kind {
        AblationKind::Cumulative => "each step added to the previous one",
        AblationKind::OneAtATime => "each step alone on the base",
    };
    let workers = match ablation.workers {
        1 => "1 worker".to_owned(),
        workers => format!("{workers} workers"),
    };
    let (contender, workload) = (&ablation.contender, &ablation.workload);
    format!("{contender}, {workload}, {workers}: {stands}")
}

type Cell = Box<dyn Fn(&StepRow) -> String>;

/// What fills a column with a figure.
fn figure(of: fn(&StepFigures) -> Option<String>) -> Cell {
    Box::new(move |row| row.figures.as_ref().and_then(of).unwrap_or_else(dash))
}

/// The columns, each with what fills it.
fn columns(ablation: &Ablation) -> Vec<(Column, Cell)> {
    let mut columns: Vec<(Column, Cell)> = vec![
        (
            Column::text("step", 0),
            Box::new(|row| format!("{}. {}", row.index, row.name)),
        ),
        (
            Column::figures(&ablation.unit, 0),
            figure(|figures| Some(number(figures.rate.median))),
        ),
        (
            Column::figures("new-orders/min", 2),
            figure(|figures| figures.new_orders_per_minute.map(number)),
        ),
    ];
    if ablation.kind == AblationKind::Cumulative {
        columns.push((
            Column::figures("vs previous step", 0),
            Box::new(|row| gain(row, row.over_before.as_ref())),
        ));
    }
    let rest: Vec<(Column, Cell)> = vec![
        (
            Column::figures(
                "vs base",
                u8::from(ablation.kind == AblationKind::Cumulative),
            ),
            Box::new(|row| gain(row, row.over_base.as_ref())),
        ),
        (
            Column::text("level", 0),
            Box::new(|row| row.durability.map_or_else(dash, |level| level.to_string())),
        ),
        (
            Column::figures("recovery", 0),
            figure(|figures| figures.recovery_s.map(seconds)),
        ),
        (
            Column::figures("cache hits", 2),
            figure(|figures| figures.cache_hit_ratio.map(hit_ratio)),
        ),
        (
            Column::figures("first commit", 6),
            figure(|figures| figures.first_commit_s.map(seconds)),
        ),
        (
            Column::figures("acknowledged, lost", 3),
            figure(|figures| figures.missing.map(|count| thousands(count as u64))),
        ),
        (
            Column::figures("peak memory", 5),
            figure(|figures| Some(bytes(figures.peak_memory_bytes))),
        ),
        (
            Column::figures("database", 5),
            figure(|figures| Some(bytes(figures.database_bytes))),
        ),
        (
            Column::text("engine events", 4),
            figure(|figures| Some(events_in_words(figures.events.as_ref()))),
        ),
    ];
    columns.extend(rest);
    columns
}

fn table(ablation: &Ablation) -> Table {
    let is_filled = |cell: &Cell| ablation.rows.iter().any(|row| cell(row) != dash());
    let columns: Vec<_> = columns(ablation)
        .into_iter()
        .filter(|(_, cell)| is_filled(cell))
        .collect();
    let row = |row: &StepRow| columns.iter().map(|(_, cell)| cell(row)).collect();
    let rows = ablation.rows.iter().map(row).collect();
    let columns = columns.into_iter().map(|(column, _)| column);
    Table::new(columns.collect(), rows)
}

fn dash() -> String {
    "–".to_owned()
}

fn gain(row: &StepRow, gain: Option<&Gain>) -> String {
    match &row.state {
        StepState::NotTaken {
            why: SkippedStep::WithoutEffect,
        } => "no change".to_owned(),
        StepState::NotTaken { .. } => "not available".to_owned(),
        StepState::Uncounted { .. } => "not valid".to_owned(),
        StepState::Measured => gain.map_or_else(dash, gain_in_words),
    }
}

/// A gain in per cent with its interval: `+9.8 % (+6.1 to +13.4)`.
fn gain_in_words(gain: &Gain) -> String {
    let percent = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
    let interval = gain.comparison.ratio.map(|ratio| {
        let (low, high) = (percent(ratio.low), percent(ratio.high));
        format!("({low} to {high} %)")
    });
    let ratio = percent(gain.ratio);
    match (gain.comparison.verdict, interval) {
        (Verdict::Faster | Verdict::Slower, Some(interval)) => format!("{ratio} % {interval}"),
        (Verdict::NoDifference, Some(interval)) => format!("no significant gain {interval}"),
        _ => format!("{ratio} %, too few repeats"),
    }
}

/// What the table has no room for: what a step changed and costs, or why it has no figures.
fn notes(row: &StepRow) -> Option<String> {
    let name = &row.name;
    match &row.state {
        StepState::NotTaken { why } => Some(format!("{name}: {why}")),
        StepState::Uncounted { why } => Some(format!("{name}: {why}")),
        StepState::Measured if row.index == 0 => None,
        StepState::Measured => {
            let changes = joined(&row.changes, ", ");
            let costs = match row.costs.is_empty() {
                true => "none stated by the driver".to_owned(),
                false => joined(&row.costs, "; "),
            };
            Some(format!("{name}: {changes}. Cost: {costs}"))
        }
    }
}
