//! The effect of each knob on rate, memory and disk.

use crate::Run;
use crate::cells::RankedCell;
use crate::rankings::Ranking;
use crate::significance::{between, counting};
use crate::statistics::{Comparison, compare_together};
use crate::units::number;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::Value;

/// The effect of changing one knob, everything else being equal.
#[derive(Debug, Clone, PartialEq)]
pub struct KnobEffect {
    /// Index of its ranking in the run.
    pub ranking: usize,
    /// The contender's engine.
    pub engine: String,
    /// The knob.
    pub knob: String,
    /// Its value.
    pub value: Value,
    /// The value that it is compared with: the first in the plan.
    pub base: Value,
    /// The rate over that at the base value, with its evidence.
    pub rate: Comparison,
    /// The rate over the base's: the ratio of the geometric means over the repeats, or of the
    /// medians if fewer than three repeats count.
    pub rate_ratio: f64,
    /// Peak memory over the base's.
    pub memory_ratio: f64,
    /// The database's size over the base's.
    pub database_ratio: f64,
    /// The other parameters of the cell that distinguish this change from the same change
    /// elsewhere: `journal_buffers=128`. Empty if it is unique.
    pub distinction: Vec<(String, String)>,
    /// Whether the values are sizes in bytes.
    pub is_size: bool,
    /// The cost of changing it from its default, in the driver's words; may be empty.
    pub cost: String,
}

/// Two cells of a ranking that differ in one knob only, the base first.
struct KnobChange<'a> {
    place: usize,
    ranking: &'a Ranking,
    base: &'a RankedCell,
    cell: &'a RankedCell,
    knob: String,
}

/// Every effect that a run shows, by ranking and knob.
#[must_use]
pub fn knob_effects(run: &Run, rankings: &[Ranking]) -> Vec<KnobEffect> {
    let changes: Vec<_> = rankings.iter().enumerate().flat_map(changes).collect();
    let rates = compare_together(changes.len(), |place, comparisons| {
        Some(changes[place].rate(run, comparisons))
    });
    let rated = changes.iter().zip(rates);
    let effect = |(change, rate): (&KnobChange<'_>, _)| {
        effect(run, change, rate?, distinction(change, &changes))
    };
    rated.filter_map(effect).collect()
}

impl KnobChange<'_> {
    /// Its rate over that at the base value, one of `comparisons` that are read together.
    fn rate(&self, report: &Run, comparisons: usize) -> Comparison {
        let headline = &self.ranking.headline;
        let trials = |cell: &RankedCell| counting(&report.trials, cell.cell, headline);
        between(
            &trials(self.base),
            &trials(self.cell),
            headline,
            comparisons,
        )
    }

    /// Whether another change is equal in all that names it: the ranking without its settings, the
    /// engine, the knob and both values.
    fn is_namesake(&self, other: &Self) -> bool {
        let (one, two) = (self.ranking, other.ranking);
        let isolation = |ranking: &Ranking| ranking.isolation.filter(|_| ranking.is_split);
        // Two rates that print alike make one heading.
        let rate = |ranking: &Ranking| ranking.rate_per_s.map(number);
        let value = |change: &Self, cell: &RankedCell| cell.knobs.get(&change.knob).cloned();
        one.workload == two.workload
            && one.durability == two.durability
            && one.in_memory == two.in_memory
            && one.storage.is_lost() == two.storage.is_lost()
            && one.workers == two.workers
            && one.storage_models == two.storage_models
            && isolation(one) == isolation(two)
            && rate(one) == rate(two)
            && self.cell.engine == other.cell.engine
            && self.knob == other.knob
            && value(self, self.cell) == value(other, other.cell)
            && value(self, self.base) == value(other, other.base)
    }

    /// The other parameters of its cell, by name.
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

/// The parameters that distinguish a change from its namesakes.
fn distinction(change: &KnobChange<'_>, changes: &[KnobChange<'_>]) -> Vec<(String, String)> {
    let namesakes = changes.iter().filter(|other| other.is_namesake(change));
    let others: Vec<_> = namesakes.map(KnobChange::other_parameters).collect();
    let differs = |(name, value): &(String, String)| {
        others
            .iter()
            .any(|other| other.get(name).is_none_or(|theirs| theirs != value))
    };
    let own = change.other_parameters().into_iter();
    own.filter(differs).collect()
}

fn changes((place, ranking): (usize, &Ranking)) -> Vec<KnobChange<'_>> {
    let mut changes = Vec::new();
    let mut cells: Vec<&RankedCell> = ranking.contenders().collect();
    cells.sort_by_key(|cell| cell.cell);
    for (index, &cell) in cells.iter().enumerate() {
        // The first cell that differs by one knob only is the base of the others.
        let mut seen = BTreeSet::new();
        for &base in &cells[..index] {
            let Some(knob) = only_difference(base, cell) else {
                continue;
            };
            if seen.insert(knob.clone()) {
                changes.push(KnobChange {
                    place,
                    ranking,
                    base,
                    cell,
                    knob,
                });
            }
        }
    }
    changes
}

/// The knob in which two cells differ, if they differ in nothing else.
fn only_difference(one: &RankedCell, other: &RankedCell) -> Option<String> {
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

/// The effect of a change with this comparison of rates.
fn effect(
    run: &Run,
    change: &KnobChange<'_>,
    rate: Comparison,
    distinction: Vec<(String, String)>,
) -> Option<KnobEffect> {
    let KnobChange {
        place,
        base,
        cell,
        knob,
        ..
    } = change;
    let over = |figure: fn(&RankedCell) -> f64| figure(cell) / figure(base);
    let cost = run.manifest.costs.get(&format!("{}.{knob}", cell.engine));
    let sizes = run.manifest.byte_knobs.get(&cell.engine);
    let of_medians = over(|cell| cell.figures.headline_per_s.median);
    Some(KnobEffect {
        ranking: *place,
        engine: cell.engine.clone(),
        value: cell.knobs.get(knob)?.clone(),
        base: base.knobs.get(knob)?.clone(),
        rate,
        rate_ratio: rate.ratio.map_or(of_medians, |ratio| ratio.estimate),
        memory_ratio: over(|cell| cell.figures.peak_pss_bytes),
        database_ratio: over(|cell| cell.figures.database_allocated_bytes),
        is_size: sizes.is_some_and(|names| names.contains(knob)),
        cost: cost.cloned().unwrap_or_default(),
        knob: knob.clone(),
        distinction,
    })
}
