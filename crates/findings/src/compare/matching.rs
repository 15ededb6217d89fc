//! Pairs of cells, one of each side, that are compared.

use super::error::{CircumstanceDifference, Error, IncomparabilityReason, IncomparablePair};
use super::side::{Side, SideCell};
use crate::marks::Mark;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::TrialSpec;

/// Properties that must be the same for a ratio to mean anything, by name.
pub type Key = BTreeMap<String, String>;

/// Cells of two sides, sorted out.
pub(super) struct CellPairs<'a> {
    /// Cells of both sides that are compared.
    pub pairs: Vec<(SideCell<'a>, SideCell<'a>)>,
    /// Cells that only the first side has.
    pub only_first: Vec<SideCell<'a>>,
    /// Cells that only the second side has.
    pub only_second: Vec<SideCell<'a>>,
    /// Matching cells that must not be compared, with the reason.
    pub incomparable: Vec<IncomparablePair>,
}

/// What no selector can set against each other: who is asked for less, or loses nodes meanwhile,
/// is not slower.
const WORK: [&str; 4] = ["workload", "level", "rate", "at"];

/// Finds for each cell of the first side its counterpart on the second: of the same workload,
/// level, settings, workers and conditions, except those that a selector names (those of [`WORK`]
/// must always match); among these the one of the same build and knobs, else of the same build,
/// else of the same engine, else the only one.
///
/// # Errors
/// [`Error::NotComparable`] if no pair is left, with the differences.
pub(super) fn match_cells<'a>(first: &'a Side, second: &'a Side) -> Result<CellPairs<'a>, Error> {
    let mut freed = first.selector.names();
    freed.extend(second.selector.names());
    freed.retain(|name| !WORK.contains(name));
    let keyed = |cells: Vec<SideCell<'a>>| {
        let mut groups: BTreeMap<Key, Vec<SideCell<'a>>> = BTreeMap::new();
        for cell in cells {
            groups
                .entry(circumstances(cell.spec, &freed))
                .or_default()
                .push(cell);
        }
        groups
    };
    let (firsts, mut seconds) = (keyed(first.cells()), keyed(second.cells()));
    if firsts.is_empty() || seconds.is_empty() {
        let side = if firsts.is_empty() { first } else { second };
        return Err(side.nothing_counts());
    }
    let reason = refusal(&firsts, &seconds);
    let mut matched = CellPairs {
        pairs: Vec::new(),
        only_first: Vec::new(),
        only_second: Vec::new(),
        incomparable: Vec::new(),
    };
    for (key, ours) in firsts {
        let theirs = seconds.remove(&key).unwrap_or_default();
        match_within(ours, theirs, &mut matched);
    }
    matched.only_second.extend(seconds.into_values().flatten());
    let (refused, pairs): (Vec<_>, Vec<_>) = matched
        .pairs
        .into_iter()
        .partition(|(a, b)| marks_forbid(a, b));
    matched.pairs = pairs;
    matched.incomparable = refused.iter().map(incomparable_pair).collect();
    if !matched.pairs.is_empty() {
        return Ok(matched);
    }
    let pair = matched.incomparable.into_iter().next();
    Err(Error::NotComparable {
        first: first.label.clone(),
        second: second.label.clone(),
        reason: Box::new(pair.map_or(reason, IncomparabilityReason::Marks)),
    })
}

/// The marks of a cell that forbid a comparison with cells without them.
fn blocking_marks(cell: &SideCell<'_>, include_assertions: bool) -> Vec<Mark> {
    let marks = cell.marks().into_iter();
    let is_grave = |mark: &Mark| !mark.permits_ranking(include_assertions);
    marks.filter(is_grave).collect()
}

/// Whether marks forbid a comparison of two cells. The cost of a mark differs between engines, so
/// only builds of one engine may share one.
fn marks_forbid(one: &SideCell<'_>, other: &SideCell<'_>) -> bool {
    let included = one.include_assertions || other.include_assertions;
    let (marks, others) = (
        blocking_marks(one, included),
        blocking_marks(other, included),
    );
    let alike = one.spec.engine == other.spec.engine && marks == others;
    let unmarked = marks.is_empty() && others.is_empty();
    !(alike || unmarked)
}

fn incomparable_pair((one, other): &(SideCell<'_>, SideCell<'_>)) -> IncomparablePair {
    IncomparablePair {
        first: one.marked(),
        second: other.marked(),
        workload: one.spec.workload.clone(),
        durability: one.spec.durability,
        assertions_only: blocking_marks(one, true).is_empty()
            && blocking_marks(other, true).is_empty(),
    }
}

/// Pairs cells that agree in all that must be the same.
fn match_within<'a>(
    mut ours: Vec<SideCell<'a>>,
    mut theirs: Vec<SideCell<'a>>,
    into: &mut CellPairs<'a>,
) {
    type Similarity = fn(&TrialSpec, &TrialSpec) -> bool;
    let are_single = ours.len() == 1 && theirs.len() == 1;
    let degrees: [Similarity; 4] = [
        |a, b| {
            let same_build = a.engine == b.engine && a.build == b.build;
            same_build && a.knobs == b.knobs && a.worker_kind == b.worker_kind
        },
        |a, b| a.engine == b.engine && a.build == b.build && a.knobs == b.knobs,
        |a, b| a.engine == b.engine && a.build == b.build,
        |a, b| a.engine == b.engine,
    ];
    for same in degrees {
        let mut index = 0;
        while let Some(cell) = ours.get(index) {
            let like = |others: &[SideCell<'_>]| -> Vec<usize> {
                let all = others.iter().enumerate();
                all.filter(|(_, other)| same(cell.spec, other.spec))
                    .map(|(place, _)| place)
                    .collect()
            };
            match (like(&ours).as_slice(), like(&theirs).as_slice()) {
                ([_], [place]) => into.pairs.push((ours.remove(index), theirs.remove(*place))),
                _ => index += 1,
            }
        }
    }
    if are_single && ours.len() == 1 {
        into.pairs.extend(ours.pop().zip(theirs.pop()));
    }
    into.only_first.extend(ours);
    into.only_second.extend(theirs);
}

/// Returns the properties that must be the same, except those in `freed`.
pub fn circumstances(spec: &TrialSpec, freed: &BTreeSet<&str>) -> Key {
    let mut key = Key::from([
        ("workload".to_owned(), spec.workload.clone()),
        ("level".to_owned(), spec.durability.name().to_owned()),
        ("workers".to_owned(), spec.workers.to_string()),
    ]);
    let conditions = spec.conditions.circumstances().into_iter();
    key.extend(conditions.map(|(name, value)| (name.to_owned(), value)));
    let settings = spec.settings.iter();
    key.extend(settings.map(|(name, value)| (name.clone(), value.to_string())));
    key.retain(|name, _| !freed.contains(name.as_str()));
    key
}

/// The reason against a comparison, from the two cells that differ least.
fn refusal(
    firsts: &BTreeMap<Key, Vec<SideCell<'_>>>,
    seconds: &BTreeMap<Key, Vec<SideCell<'_>>>,
) -> IncomparabilityReason {
    let every = firsts
        .keys()
        .flat_map(|one| seconds.keys().map(move |other| differences(one, other)));
    let nearest = every.min_by_key(Vec::len).unwrap_or_default();
    if !nearest.is_empty() {
        return IncomparabilityReason::Circumstances(nearest);
    }
    let names = |cells: &BTreeMap<Key, Vec<SideCell<'_>>>| {
        let names = cells.values().flatten().map(|cell| cell.name.clone());
        names.collect::<BTreeSet<_>>().into_iter().collect()
    };
    IncomparabilityReason::SeveralContenders {
        first: names(firsts),
        second: names(seconds),
    }
}

fn differences(one: &Key, other: &Key) -> Vec<CircumstanceDifference> {
    // Settings of different workloads are not comparable, so they are not listed.
    if one.get("workload") != other.get("workload") {
        let workload = |key: &Key| key.get("workload").cloned().unwrap_or_default();
        return vec![CircumstanceDifference::Workload {
            first: workload(one),
            second: workload(other),
        }];
    }
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differences = names.into_iter().filter_map(|name| {
        let (first, second) = (one.get(name).cloned(), other.get(name).cloned());
        (first != second).then(|| CircumstanceDifference::Parameter {
            name: name.clone(),
            first,
            second,
        })
    });
    differences.collect()
}
