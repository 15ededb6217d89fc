//! What each knob did where trials differ by it: the rate, and its cost.

use super::{Findings, Part, Section};
use crate::chart::{Chart, Column as ChartColumn, Group, Kind, Unit};
use crate::document::{Block, Column, Table};
use crate::significance::levels;
use std::collections::{BTreeMap, BTreeSet};
use trueput_findings::Run;
use trueput_findings::cells::Cell;
use trueput_findings::rankings::Ranking;
use trueput_findings::significance::{between, counting};
use trueput_findings::statistics::{Comparison, compare_together};
use trueput_findings::units::number;
use trueput_record::Value;

/// What turning one knob did, everything else being equal.
pub(crate) struct KnobEffects;

impl Section for KnobEffects {
    fn parts(&self, findings: &Findings<'_>) -> Vec<Part> {
        let effects = effects(findings.run, findings.rankings);
        let part = Part::with_text("Effect of each knob", KNOBS_TEXT, blocks(&effects));
        let charts = findings.page_charts(|| chart(&effects).into_iter().collect());
        part.map(|part| Part { charts, ..part })
            .into_iter()
            .collect()
    }
}

/// The place of the column that tells turns apart which look the same.
const BESIDES: usize = 4;

/// What turning one knob did, everything else being equal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnobEffect {
    /// Where: workload, level, workers.
    pub ranking: String,
    /// The contender's engine.
    pub engine: String,
    /// The knob.
    pub knob: String,
    /// What it was turned to.
    pub value: Value,
    /// What it is compared with: the value that is first in the plan.
    pub base: Value,
    /// The rate over that at the base value, with its evidence.
    pub rate: Comparison,
    /// The rate over the base's: of the geometric means over the repeats, as the evidence has it;
    /// of the medians where fewer than three repeats count.
    pub rate_ratio: f64,
    /// Peak memory over the base's.
    pub memory_ratio: f64,
    /// The database's size over the base's.
    pub database_ratio: f64,
    /// At what else it stood, where the same turn was made elsewhere too: `journal_buffers=128`.
    /// Empty where it was not.
    pub besides: String,
    /// The cost of changing it from its default, in the driver's words; may be empty.
    pub cost: String,
}

/// Two cells of a ranking that differ in one knob alone, the base first.
struct KnobChange<'a> {
    ranking: &'a Ranking,
    base: &'a Cell,
    cell: &'a Cell,
    knob: String,
}

/// Every effect that the run can tell, by ranking and knob.
pub(crate) fn effects(report: &Run, rankings: &[Ranking]) -> Vec<KnobEffect> {
    let turns: Vec<_> = rankings.iter().flat_map(turns).collect();
    let rates = compare_together(turns.len(), |place, comparisons| {
        Some(turns[place].rate(report, comparisons))
    });
    let rated = turns.iter().zip(rates);
    let effect =
        |(turn, rate): (&KnobChange<'_>, _)| effect(report, turn, rate?, besides(turn, &turns));
    rated.filter_map(effect).collect()
}

impl KnobChange<'_> {
    /// Its rate over that at the base value, one of `comparisons` that are read together.
    fn rate(&self, report: &Run, comparisons: usize) -> Comparison {
        let headline = &self.ranking.headline;
        let trials = |cell: &Cell| counting(&report.trials, cell.cell, headline);
        between(
            &trials(self.base),
            &trials(self.cell),
            headline,
            comparisons,
        )
    }

    /// What a reader sees of it: where, whose knob, from what to what.
    fn seen(&self) -> [String; 5] {
        let value = |cell: &Cell| cell.knobs.get(&self.knob).map(ToString::to_string);
        [
            crate::ranking_title::ranking_heading(self.ranking),
            self.cell.engine.clone(),
            self.knob.clone(),
            value(self.cell).unwrap_or_default(),
            value(self.base).unwrap_or_default(),
        ]
    }

    /// Everything at which it stood that another turn may tell otherwise, by name.
    fn other_parameters(&self) -> BTreeMap<String, String> {
        let Self { ranking, cell, .. } = self;
        let given = ranking.settings.iter().chain(&cell.knobs);
        let given = given.filter(|(name, _)| **name != self.knob);
        let mut all: BTreeMap<_, _> = given
            .map(|(name, value)| (name.clone(), value.to_string()))
            .collect();
        let conditions = cell.conditions.named().into_iter();
        all.extend(conditions.map(|(name, value)| (name.to_owned(), value)));
        all.insert("worker_kind".to_owned(), cell.worker_kind.to_string());
        all.insert("version".to_owned(), cell.version.clone());
        all.insert("build".to_owned(), cell.origin.clone());
        all
    }
}

/// What tells a turn from those that look the same.
fn besides(turn: &KnobChange<'_>, turns: &[KnobChange<'_>]) -> String {
    let namesakes = turns.iter().filter(|other| other.seen() == turn.seen());
    let others: Vec<_> = namesakes.map(KnobChange::other_parameters).collect();
    let differs = |(name, value): &(String, String)| {
        others
            .iter()
            .any(|other| other.get(name).is_none_or(|told| told != value))
    };
    let own = turn.other_parameters().into_iter().filter(differs);
    let told: Vec<_> = own.map(|(name, value)| format!("{name}={value}")).collect();
    told.join(", ")
}

fn turns(ranking: &Ranking) -> Vec<KnobChange<'_>> {
    let mut turns = Vec::new();
    let mut cells: Vec<&Cell> = ranking.contenders().collect();
    cells.sort_by_key(|cell| cell.cell);
    for (index, &cell) in cells.iter().enumerate() {
        // The first cell that differs by one knob alone is what the others are held against.
        let mut seen = BTreeSet::new();
        for &base in &cells[..index] {
            let Some(knob) = only_difference(base, cell) else {
                continue;
            };
            if seen.insert(knob.clone()) {
                turns.push(KnobChange {
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

/// What a turn did whose rates compare so.
fn effect(
    report: &Run,
    turn: &KnobChange<'_>,
    rate: Comparison,
    besides: String,
) -> Option<KnobEffect> {
    let KnobChange {
        ranking,
        base,
        cell,
        knob,
    } = turn;
    let (turned, from) = (cell.knobs.get(knob)?, base.knobs.get(knob)?);
    let over = |figure: fn(&Cell) -> f64| figure(cell) / figure(base);
    let given_up = report
        .manifest
        .costs
        .get(&format!("{}.{knob}", cell.engine));
    let of_medians = over(|cell| cell.figures.headline_per_s.median);
    Some(KnobEffect {
        ranking: crate::ranking_title::ranking_heading(ranking),
        engine: cell.engine.clone(),
        value: turned.clone(),
        base: from.clone(),
        rate,
        rate_ratio: rate.ratio.map_or(of_medians, |ratio| ratio.estimate),
        memory_ratio: over(|cell| cell.figures.peak_pss_bytes),
        database_ratio: over(|cell| cell.figures.database_allocated_bytes),
        cost: given_up.cloned().unwrap_or_default(),
        knob: knob.clone(),
        besides,
    })
}

/// The effects as a table; nothing where no trials differ by a knob alone.
pub(crate) fn blocks(effects: &[KnobEffect]) -> Vec<Block> {
    if effects.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![
        Column::text("knob", 0),
        Column::text("where", 2),
        Column::figures("changed to", 0),
        Column::figures("from", 0),
        Column::figures("rate", 0),
        Column::text("told apart", 0),
        Column::figures("memory", 4),
        Column::figures("database", 4),
        Column::text("cost", 1),
    ];
    let several = effects.iter().any(|effect| !effect.besides.is_empty());
    if several {
        columns.insert(BESIDES, Column::text("beside", 0));
    }
    let times = |ratio: f64| match ratio.is_finite() {
        true => format!("{} ×", number(ratio)),
        false => "–".to_owned(),
    };
    let row = |effect: &KnobEffect| {
        let mut row = vec![
            format!("{} {}", effect.engine, effect.knob),
            effect.ranking.clone(),
            effect.value.to_string(),
            effect.base.to_string(),
            times(effect.rate_ratio),
            effect.rate.verdict.words().to_owned(),
            times(effect.memory_ratio),
            times(effect.database_ratio),
            match effect.cost.is_empty() {
                true => "none stated by the driver".to_owned(),
                false => effect.cost.clone(),
            },
        ];
        if several {
            row.insert(BESIDES, effect.besides.clone());
        }
        row
    };
    let rows = effects.iter().map(row).collect();
    vec![Block::Table(Table::new(columns, rows))]
}

const KNOBS_TEXT: &str = "Cells that differ in one knob only: rate, peak memory and database size \
    relative to the first value in the plan, and the cost that the driver states.";

/// What the knobs did to the rates; `None` if nothing can be told.
fn chart(effects: &[KnobEffect]) -> Option<Chart> {
    let group = |effect: &KnobEffect| {
        let interval = effect.rate.ratio;
        let mut name = format!(
            "{} {}={} from {}; {}",
            effect.engine, effect.knob, effect.value, effect.base, effect.ranking
        );
        if !effect.besides.is_empty() {
            name += &format!("; {}", effect.besides);
        }
        let row = vec![
            Some(effect.rate_ratio),
            interval.map(|ratio| ratio.low),
            interval.map(|ratio| ratio.high),
        ];
        let rows = vec![row];
        let marks = Vec::new();
        Group { name, rows, marks }
    };
    let finite = effects
        .iter()
        .filter(|effect| effect.rate_ratio.is_finite());
    let groups: Vec<_> = finite.map(group).collect();
    let column = |title: &str| ChartColumn::new(title, Unit::Number);
    let level = levels(effects.iter().map(|effect| &effect.rate));
    let intervals = level.map_or_else(String::new, |level| {
        format!(" Lines: intervals of {level}.")
    });
    (!groups.is_empty()).then(|| Chart {
        title: "Rate after a knob was turned, over the rate before".to_owned(),
        says: format!(
            "The ratio of rates for each of {} turns of a knob.",
            groups.len()
        ),
        note: format!("Right of 1 is faster.{intervals}"),
        columns: vec![column("ratio"), column("lower end"), column("upper end")],
        groups,
        ..Chart::new(Kind::Ratios, "knob")
    })
}
