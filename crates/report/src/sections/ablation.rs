//! Ablations as blocks of a report.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use crate::sections::over_time::events_in_words;
use trueput_findings::ablation::{
    Ablation, Gain, SkippedStep, StepFigures, StepRow, StepState, ablations,
};
use trueput_findings::statistics::Verdict;
use trueput_findings::text::joined;
use trueput_findings::units::{bytes, hit_ratio, number, seconds, thousands};
use trueput_record::ablation::AblationKind;

/// Gain and cost of each step of an ablation.
pub(crate) struct AblationSteps;

impl Section for AblationSteps {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        Part::with_text("Ablation", TEXT, blocks(&ablations(input.run)))
    }
}

const TEXT: &str = "What each step gains, and what it costs. This is not a ranking: rows can have \
    different durability levels. Rates are medians. A gain is the mean ratio of the repeats in \
    pairs, with its confidence interval; if the interval includes 1, the gain is not significant. \
    Recovery is the time from killing every process (SIGKILL) to an open database. The page \
    cache stays warm.";

/// Each ablation under a heading.
fn blocks(ablations: &[Ablation]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for ablation in ablations {
        let heading = heading(ablation);
        blocks.push(Block::Heading(3, heading.clone()));
        blocks.push(Block::Table(table(ablation).captioned(heading)));
        blocks.extend(Block::List(ablation.rows.iter().flat_map(notes).collect()).filled());
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

/// A row per step. A column in which no step has anything is left out.
fn table(ablation: &Ablation) -> Table {
    let figure = |of: fn(&StepFigures) -> Option<String>| {
        move |row: &StepRow| row.figures.as_ref().and_then(of).unwrap_or_else(dash)
    };
    let cumulative = ablation.kind == AblationKind::Cumulative;
    Table::of(&ablation.rows)
        .text("step", 0, |row| format!("{}. {}", row.index, row.name))
        .figures(&ablation.unit, 0, figure(|it| Some(number(it.rate.median))))
        .figures(
            "new-orders/min",
            2,
            figure(|it| it.new_orders_per_minute.map(number)),
        )
        .when(cumulative, |table| {
            table.figures("vs previous step", 0, |row| {
                gain(row, row.over_before.as_ref())
            })
        })
        .figures("vs base", 3 * u8::from(cumulative), |row| {
            gain(row, row.over_base.as_ref())
        })
        .text("level", 0, |row| {
            row.durability.map_or_else(dash, |level| level.to_string())
        })
        .figures("recovery", 2, figure(|it| it.recovery_s.map(seconds)))
        .figures(
            "cache hits",
            2,
            figure(|it| it.cache_hit_ratio.map(hit_ratio)),
        )
        .figures(
            "first commit",
            6,
            figure(|it| it.first_commit_s.map(seconds)),
        )
        .figures(
            "acknowledged, lost",
            3,
            figure(|it| it.missing.map(|count| thousands(count as u64))),
        )
        .figures(
            "peak memory",
            1,
            figure(|it| Some(bytes(it.peak_memory_bytes))),
        )
        .figures("database", 1, figure(|it| Some(bytes(it.database_bytes))))
        .text(
            "engine events",
            4,
            figure(|it| Some(events_in_words(it.events.as_ref()))),
        )
        .build()
        .without_columns_of(&dash())
}

fn dash() -> String {
    "–".to_owned()
}

fn gain(row: &StepRow, gain: Option<&Gain>) -> String {
    match &row.state {
        StepState::NotTaken {
            reason: SkippedStep::WithoutEffect,
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
        (Verdict::NoDifference, Some(interval)) => format!("no gain shown {interval}"),
        _ => format!("{ratio} %, too few repeats"),
    }
}

/// Details that do not fit in the table: the changes and costs of a step, or why it has no figures.
fn notes(row: &StepRow) -> Option<String> {
    let name = &row.name;
    match &row.state {
        StepState::NotTaken { reason } => Some(format!("{name}: {reason}")),
        StepState::Uncounted { reason } => Some(format!("{name}: {reason}")),
        StepState::Measured if row.index == 0 => None,
        StepState::Measured => {
            let changes = joined(&row.changes, ", ");
            let costs = if row.costs.is_empty() {
                "none stated by the driver".to_owned()
            } else {
                joined(&row.costs, "; ")
            };
            Some(format!("{name}: {changes}. Cost: {costs}"))
        }
    }
}
