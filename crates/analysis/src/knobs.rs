//! What each knob did where trials differ by it: the rate, what it cost, and what it gives up.

use crate::cells::Cell;
use crate::certainty::{between, counting};
use crate::document::{Block, Column, Table};
use crate::inference::Comparison;
use crate::rankings::Ranking;
use crate::report::Report;
use crate::units::{number, separate};
use std::collections::BTreeSet;
use trueput_record::Value;

/// What turning one knob did, everything else being equal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effect {
    /// Where: workload, level, workers.
    pub ranking: String,
    /// The contender's engine.
    pub engine: String,
    /// The knob.
    pub knob: String,
    /// What it was turned to.
    pub value: Value,
    /// What it is compared with: the value that stands first in the plan.
    pub base: Value,
    /// The rate over that at the base value, with its evidence.
    pub rate: Comparison,
    /// The median rate over the base's.
    pub rate_ratio: f64,
    /// Peak memory over the base's.
    pub memory_ratio: f64,
    /// The database's size over the base's.
    pub database_ratio: f64,
    /// What turning it away from its default gives up, in the driver's words; may be empty.
    pub gives_up: String,
}

/// Two cells of a ranking that differ in one knob alone, the base first.
struct Turn<'a> {
    ranking: &'a Ranking,
    base: &'a Cell,
    cell: &'a Cell,
    knob: String,
}

/// Every effect that the run can tell, by ranking and knob.
pub(crate) fn effects(report: &Report, rankings: &[Ranking]) -> Vec<Effect> {
    let turns: Vec<_> = rankings.iter().flat_map(turns).collect();
    let count = turns.len();
    let effects = turns.into_iter();
    effects
        .filter_map(|turn| effect(report, turn, count))
        .collect()
}

fn turns(ranking: &Ranking) -> Vec<Turn<'_>> {
    let mut turns = Vec::new();
    let mut cells: Vec<&Cell> = ranking.cells.iter().collect();
    cells.sort_by_key(|cell| cell.cell);
    for (index, &cell) in cells.iter().enumerate() {
        // The first cell that differs by one knob alone is what the others are held against.
        let mut seen = BTreeSet::new();
        for &base in &cells[..index] {
            let Some(knob) = only_difference(base, cell) else {
                continue;
            };
            if seen.insert(knob.clone()) {
                turns.push(Turn {
                    ranking,
                    base,
                    cell,
                    knob,
                });
            }
        }
    }
    turns
}

/// The knob in which two cells differ, where they differ in nothing else.
fn only_difference(one: &Cell, other: &Cell) -> Option<String> {
    let alike = one.engine == other.engine
        && one.sha256 == other.sha256
        && one.origin == other.origin
        && one.worker_kind == other.worker_kind
        && one.conditions == other.conditions;
    let names: BTreeSet<_> = one.knobs.keys().chain(other.knobs.keys()).collect();
    let mut differing = names
        .into_iter()
        .filter(|name| one.knobs.get(*name) != other.knobs.get(*name));
    let knob = differing.next().filter(|_| alike)?;
    differing.next().is_none().then(|| knob.clone())
}

/// One of `comparisons` effects that are read together.
fn effect(report: &Report, turn: Turn<'_>, comparisons: usize) -> Option<Effect> {
    let Turn {
        ranking,
        base,
        cell,
        knob,
    } = turn;
    let (turned, from) = (cell.knobs.get(&knob)?, base.knobs.get(&knob)?);
    let headline = &ranking.headline;
    let trials = |cell: &Cell| counting(&report.trials, cell.cell, headline);
    let over = |figure: fn(&Cell) -> f64| figure(cell) / figure(base);
    let given_up = report
        .manifest
        .gives_up
        .get(&format!("{}.{knob}", cell.engine));
    Some(Effect {
        ranking: crate::narrate::ranking_heading(ranking),
        engine: cell.engine.clone(),
        value: turned.clone(),
        base: from.clone(),
        rate: between(&trials(base), &trials(cell), headline, comparisons),
        rate_ratio: over(|cell| cell.figures.headline_per_s.median),
        memory_ratio: over(|cell| cell.figures.peak_pss_bytes),
        database_ratio: over(|cell| cell.figures.database_allocated_bytes),
        gives_up: given_up.cloned().unwrap_or_default(),
        knob,
    })
}

/// The effects as a table; nothing where no trials differ by a knob alone.
pub(crate) fn blocks(effects: &[Effect]) -> Vec<Block> {
    if effects.is_empty() {
        return Vec::new();
    }
    let column = |title: &str, figures: bool, dispensable: u8| Column {
        title: title.to_owned(),
        figures,
        dispensable,
    };
    let columns = vec![
        column("knob", false, 0),
        column("where", false, 2),
        column("turned to", true, 0),
        column("from", true, 0),
        column("rate", true, 0),
        column("told apart", false, 0),
        column("memory", true, 4),
        column("database", true, 4),
        column("gives up", false, 1),
    ];
    let times = |ratio: f64| match ratio.is_finite() {
        true => format!("{} ×", number(ratio)),
        false => "–".to_owned(),
    };
    let row = |effect: &Effect| {
        vec![
            format!("{} {}", effect.engine, effect.knob),
            effect.ranking.clone(),
            separate(&effect.value.to_string()),
            separate(&effect.base.to_string()),
            times(effect.rate_ratio),
            effect.rate.verdict.words().to_owned(),
            times(effect.memory_ratio),
            times(effect.database_ratio),
            match effect.gives_up.is_empty() {
                true => "nothing that its driver states".to_owned(),
                false => effect.gives_up.clone(),
            },
        ]
    };
    let rows = effects.iter().map(row).collect();
    vec![Block::Table(Table { columns, rows })]
}
