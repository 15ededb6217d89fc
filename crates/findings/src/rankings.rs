//! Cells grouped into rankings.
//!
//! A ranking holds only comparable cells: one workload with one set of settings, one number of
//! workers, one offered rate or none, one schedule of faults, one durability level, one storage
//! model below the databases or none, one fault of their storage or none, and for clusters the same
//! failures of nodes that a commit survives. Databases in memory whose level promises to survive
//! power loss are ranked separately; those on other storage that keeps nothing at lost power are
//! not ranked. A cell whose marks make it incomparable (a build with assertions) is not ranked,
//! unless the run includes it. The order is by rate, or by response time if all were
//! offered one rate ([`crate::fixed_rate`]). Contenders are named by the conditions in which they
//! differ.

use crate::audits::{AuditCoverage, coverage};
use crate::builds::{EngineBuild, builds};
use crate::cells::RankedCell;
use crate::contender::ContenderNames;
use crate::decision::RankingDecision;
use crate::disturbed_repeats::disturbed_repeats;
use crate::eligibility::{
    HARNESS_ENGINE, Ineligibility, LastAttempts, UnrankedStatus, headline, ineligibility,
};
use crate::host_blocks::balanced_means;
use crate::marks::{Mark, MarkKind, marked, marks};
use crate::objective::ObjectiveResult;
use crate::power_loss::{StoragePromise, is_in_memory, violates_durability};
use crate::ranking_hosts::RankingHosts;
use crate::significance::{between, counting};
use crate::statistics::{Comparison, compare_together};
use crate::storage_models::StorageModels;
use crate::{cells, eligibility, fixed_rate, isolation};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::filesystem::FileSystem;
use trueput_record::folder::{RankingSplit, RunManifest};
use trueput_record::search::DecisionSettings;
use trueput_record::value::Settings;
use trueput_record::{
    ClusterSurvival, Conditions, Durability, Isolation, TrialRecord, TrialSpec, Value,
};

/// An operation that is done less often than this part of the headline's count is rare.
const RARE: f64 = 0.01;

/// Comparable cells, best first, and the cells that are not ranked.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ranking {
    /// The workload.
    pub workload: String,
    /// Its settings.
    pub settings: Settings,
    /// Number of workers.
    pub workers: u32,
    /// Durability level of each commit.
    pub durability: Durability,
    /// Whether its databases or logs were in memory although the level promises to survive power
    /// loss, so that the promise is not kept.
    pub in_memory: bool,
    /// What the storage leaves of the promise of the level.
    pub storage: StoragePromise,
    /// The failures of nodes that an acknowledged commit survives; `None` if its contenders are no
    /// clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterSurvival>,
    /// The isolation that all of its contenders state; `None` if they differ, or state nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Whether contenders of other isolation have rankings of their own.
    #[serde(skip)]
    pub is_split: bool,
    /// Why these settings differ from the plan's general ones, one sentence each.
    pub notes: Vec<String>,
    /// The kind of operation whose rate the cells are sorted by.
    pub headline: String,
    /// Whether the workload defines the headline; a mix of operations does not.
    #[serde(skip)]
    pub has_own_headline: bool,
    /// The offered rate that all of its trials share, per second: then the cells are sorted by
    /// response time. `None` if one had none or another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// The file systems of all its trials, where the run has others, as condition and value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<(&'static str, String)>,
    /// The storage models that all of its trials stood on, and the fault that their storage had;
    /// `None` if the run has no trial on a model, and these had no fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_models: Option<StorageModels>,
    /// The number of records that were loaded, if a setting gives their size in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded_records: Option<u64>,
    /// The cells with at least one trial that counts, best first.
    pub cells: Vec<RankedCell>,
    /// The cells whose marks keep them out of the order, best first: they have figures, and no
    /// place ([`crate::marks`]).
    pub not_comparable: Vec<RankedCell>,
    /// The null engine's cells: the harness's own cost.
    pub harness: Vec<RankedCell>,
    /// The builds of the engines that were opened.
    pub builds: Vec<EngineBuild>,
    /// Trials that do not count, with the reason.
    pub unranked: Vec<UnrankedTrial>,
    /// How it stands, if the run goes on until its rankings are decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<RankingDecision>,
    /// What its hosts say, if whole repeats ran on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<RankingHosts>,
}

impl Ranking {
    /// The contenders' cells, ranked ones first.
    pub fn contenders(&self) -> impl Iterator<Item = &RankedCell> {
        self.cells.iter().chain(&self.not_comparable)
    }

    /// The audits of the contenders' promises; `None` if nothing is promised.
    #[must_use]
    pub fn audit_coverage(&self) -> Option<AuditCoverage> {
        coverage(self.contenders().filter_map(|cell| cell.audit.as_ref()))
    }

    /// The kinds of operation, the headline first, except those that are rare in every cell
    /// (claiming a block of work, for example).
    #[must_use]
    pub fn frequent_kinds(&self) -> Vec<&str> {
        let headline = self.headline.as_str();
        let mut kinds = vec![headline];
        for cell in self.contenders().chain(&self.harness) {
            let operations = &cell.figures.operations;
            let mut all = operations.iter();
            let ranked = all.find(|operation| operation.kind == headline);
            let rare = ranked.map_or(0.0, |ranked| ranked.count * RARE);
            for operation in operations.iter().filter(|operation| operation.count > rare) {
                if !kinds.contains(&operation.kind.as_str()) {
                    kinds.push(&operation.kind);
                }
            }
        }
        kinds
    }

    /// The kinds of unit that users of open loops waited for.
    #[must_use]
    pub fn response_kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = Vec::new();
        let at_rate = self.contenders().filter_map(|cell| cell.at_rate.as_ref());
        for response in at_rate.flat_map(|one| &one.responses) {
            if !kinds.contains(&response.kind.as_str()) {
                kinds.push(&response.kind);
            }
        }
        kinds
    }

    /// Whether users waited for several kinds of unit, so that the worst one is to be named.
    #[must_use]
    pub fn has_several_response_kinds(&self) -> bool {
        self.response_kinds().len() > 1
    }
}

/// A trial that does not count, and why.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnrankedTrial {
    /// The trial.
    pub id: String,
    /// The contender.
    pub contender: String,
    /// Marks of the contender, shown wherever it is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Its class.
    pub status: UnrankedStatus,
    /// Why it does not count.
    pub reason: Ineligibility,
    /// Rate of the headline operation per second, if it can be believed.
    pub headline_per_s: Option<f64>,
}

impl UnrankedTrial {
    /// The contender's name with the labels of its marks.
    #[must_use]
    pub fn name(&self) -> String {
        marked(&self.contender, &self.marks)
    }
}

/// The trials of each ranking, in the rankings' order. Trials that were run again are left out.
pub fn groups<'a>(manifest: &RunManifest, trials: &'a [TrialRecord]) -> Vec<Vec<&'a TrialRecord>> {
    let usual = &manifest.host.file_system;
    // What loses flushed data is never beside what keeps it.
    let is_lost = |trial: &TrialRecord| {
        (
            violates_durability(trial, usual),
            !is_in_memory(trial, usual),
        )
    };
    let isolation = |trial: &TrialRecord| match manifest.split_by {
        Some(RankingSplit::Isolation) => isolation::of_trial(trial, trials),
        None => None,
    };
    let same = |one: &TrialRecord, other: &TrialRecord| {
        are_comparable(&one.spec, &other.spec)
            && is_lost(one) == is_lost(other)
            && isolation(one) == isolation(other)
            && survival(one, trials) == survival(other, trials)
    };
    let mut groups: Vec<Vec<&TrialRecord>> = Vec::new();
    let last = LastAttempts::of(trials);
    for trial in trials.iter().filter(|trial| !last.supersede(trial)) {
        match groups.iter_mut().find(|group| same(group[0], trial)) {
            Some(group) => group.push(trial),
            None => groups.push(vec![trial]),
        }
    }
    let first = |matches: &dyn Fn(&TrialSpec) -> bool| {
        manifest
            .trials
            .iter()
            .position(matches)
            .unwrap_or(usize::MAX)
    };
    groups.sort_by_cached_key(|group| {
        let spec = &group[0].spec;
        let workload = first(&|other| other.workload == spec.workload);
        let settings =
            first(&|other| other.workload == spec.workload && other.settings == spec.settings);
        let is_lost = is_lost(group[0]);
        let own_models = StorageModels::of(&spec.conditions);
        let models = first(&|other| StorageModels::of(&other.conditions) == own_models);
        // The strongest first.
        let isolation = Reverse(isolation(group[0]));
        // The bits of positive numbers have their order; a closed loop comes first.
        let rate = spec.conditions.rate.map(|rate| rate.per_s.to_bits());
        let of_spec = (models, settings, spec.workers, rate);
        let order = (isolation, Reverse(survival(group[0], trials)));
        (workload, spec.durability, is_lost, of_spec, order)
    });
    groups
}

/// Sorts the trials into rankings: by workload in the plan's order, then by durability, strongest
/// first and databases in memory last, then by storage models and by settings in the plan's order,
/// then by workers and by the offered rate.
#[must_use]
pub fn rankings(manifest: &RunManifest, trials: &[TrialRecord]) -> Vec<Ranking> {
    let groups = groups(manifest, trials);
    let rankings = groups.iter().map(|group| ranking(manifest, group));
    let mut rankings: Vec<_> = rankings.collect();
    for (ranking, group) in rankings.iter_mut().zip(&groups) {
        ranking.hosts = RankingHosts::of(&ranking.cells, group, &ranking.headline);
    }
    name_file_systems(&mut rankings, &groups, trials);
    name_storage_models(&mut rankings, &groups);
    compare_with_best(&mut rankings, &groups);
    for (ranking, group) in rankings.iter_mut().zip(&groups) {
        for unranked in &mut ranking.unranked {
            let trial = group.iter().find(|trial| trial.spec.id == unranked.id);
            if let Ineligibility::Failed {
                is_unreported_conflict,
                ..
            } = &mut unranked.reason
            {
                *is_unreported_conflict =
                    trial.is_some_and(|trial| eligibility::is_unreported_conflict(trial, trials));
            }
        }
    }
    rankings
}

/// The failures of nodes that an acknowledged commit of a trial survives. If the trial never opened
/// the engine, another repeat of its cell is used.
fn survival(trial: &TrialRecord, trials: &[TrialRecord]) -> Option<ClusterSurvival> {
    let mut repeats = trials.iter().filter(|it| it.spec.cell == trial.spec.cell);
    stated_survival(trial).or_else(|| repeats.find_map(stated_survival))
}

fn stated_survival(trial: &TrialRecord) -> Option<ClusterSurvival> {
    trial.engine.as_ref()?.promise.cluster
}

/// The number of records that were loaded, if the setting `size` decided it: the setting `records`
/// has its default then, and says nothing. `None` for other trials.
#[must_use]
pub fn records_by_size(trial: &TrialRecord) -> Option<u64> {
    let settings = &trial.spec.settings;
    let is_sized = matches!(settings.get("size"), Some(Value::Integer(1..)));
    let has_both = is_sized && settings.contains_key("records");
    Some(trial.load.as_ref().filter(|_| has_both)?.records)
}

/// Names the file systems that the trials of a ranking share and others of the run do not, by
/// condition: one that keeps nothing at lost power has rankings of its own.
fn name_file_systems(
    rankings: &mut [Ranking],
    groups: &[Vec<&TrialRecord>],
    trials: &[TrialRecord],
) {
    let places: [(_, FileSystemGetter); 2] = [
        ("filesystem", |conditions| &conditions.file_system),
        ("log_filesystem", |conditions| &conditions.log_file_system),
    ];
    for (name, place) in places {
        if common_file_system(trials, place).is_some() {
            continue;
        }
        for (ranking, group) in rankings.iter_mut().zip(groups) {
            let shared = common_file_system(group.iter().copied(), place);
            let shared = shared.map(|shared| (name, shared.to_string()));
            ranking.file_systems.extend(shared);
        }
    }
}

/// Names the storage models of each ranking if any ranking is on one, and the fault of its storage.
fn name_storage_models(rankings: &mut [Ranking], groups: &[Vec<&TrialRecord>]) {
    let of = |group: &Vec<&TrialRecord>| StorageModels::of(&group[0].spec.conditions);
    let models: Vec<_> = groups.iter().map(of).collect();
    let has_models = models.iter().any(StorageModels::has_model);
    for (ranking, models) in rankings.iter_mut().zip(models) {
        ranking.storage_models = (has_models || !models.is_none()).then_some(models);
    }
}

/// A file system among the conditions of a trial.
type FileSystemGetter = fn(&Conditions) -> &Option<FileSystem>;

/// The file system that all of these trials have in that place.
fn common_file_system<'a>(
    trials: impl IntoIterator<Item = &'a TrialRecord>,
    place: FileSystemGetter,
) -> Option<FileSystem> {
    let of = |trial: &TrialRecord| place(&trial.spec.conditions).clone().unwrap_or_default();
    let mut all = trials.into_iter().map(of);
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Whether two trials had the same work at the same promise. The offered rate, the faults and the
/// storage are part of the work: who is asked less, or has a faster device, is not better.
#[must_use]
pub fn are_comparable(one: &TrialSpec, other: &TrialSpec) -> bool {
    one.workload == other.workload
        && one.settings == other.settings
        && one.workers == other.workers
        && one.durability == other.durability
        && one.conditions.rate == other.conditions.rate
        && one.conditions.faults == other.conditions.faults
        && StorageModels::of(&one.conditions) == StorageModels::of(&other.conditions)
}

/// Judges cells by the objective of the run, if it has one.
fn judge_objective(
    manifest: &RunManifest,
    cells: &mut [RankedCell],
    by_cell: &BTreeMap<u32, Vec<&TrialRecord>>,
) {
    let Some(objective) = &manifest.objective else {
        return;
    };
    for cell in cells {
        let repeats = by_cell.get(&cell.cell);
        cell.objective = repeats.and_then(|them| ObjectiveResult::of(them, objective));
    }
}

/// The repeats of a run that decides that do not count; none in other runs.
fn left_out_repeats(manifest: &RunManifest, trials: &[&TrialRecord]) -> BTreeSet<u32> {
    let cores = f64::from(manifest.host.cores);
    let decided = manifest.decision().is_some();
    if decided {
        disturbed_repeats(trials, cores)
    } else {
        Default::default()
    }
}

/// The trials of a run that decides whose repeats do not count, by their ids: none where no other
/// repeat is left.
pub(crate) fn left_out_trials<'a>(
    manifest: &RunManifest,
    trials: &'a [TrialRecord],
) -> BTreeSet<&'a str> {
    let mut ids = BTreeSet::new();
    for group in groups(manifest, trials) {
        let disturbed = left_out_repeats(manifest, &group);
        let is_left_out = |trial: &&&TrialRecord| disturbed.contains(&trial.spec.repeat);
        let left_out: Vec<_> = group.iter().filter(is_left_out).collect();
        if left_out.len() < group.len() {
            ids.extend(left_out.iter().map(|trial| trial.spec.id.as_str()));
        }
    }
    ids
}

/// Sorts trials by cell, and those that do not count apart. Where all repeats were disturbed, their
/// figures are all there is.
fn sort_trials<'a>(
    trials: &[&'a TrialRecord],
    names: &ContenderNames,
    headline: &str,
    disturbed: &BTreeSet<u32>,
) -> (BTreeMap<u32, Vec<&'a TrialRecord>>, Vec<UnrankedTrial>) {
    let is_left_out = |trial: &TrialRecord| disturbed.contains(&trial.spec.repeat);
    let has_others = trials.iter().any(|trial| !is_left_out(trial));
    let mut by_cell: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
    let mut unranked = Vec::new();
    for trial in trials {
        match ineligibility(trial, headline) {
            None if is_left_out(trial) && has_others => {}
            None => by_cell.entry(trial.spec.cell).or_default().push(trial),
            Some(reason) => unranked.push(unranked_trial(trial, names, headline, reason)),
        }
    }
    (by_cell, unranked)
}

fn ranking(manifest: &RunManifest, trials: &[&TrialRecord]) -> Ranking {
    let spec = &trials[0].spec;
    let headline = headline(manifest, trials);
    let names = ContenderNames::of(trials);
    let disturbed = left_out_repeats(manifest, trials);
    let (by_cell, unranked) = sort_trials(trials, &names, &headline, &disturbed);
    let cells = by_cell
        .values()
        .filter_map(|repeats| cells::cell(repeats, &names, &headline));
    let (harness, mut cells): (Vec<_>, Vec<_>) =
        cells.partition(|cell| cell.engine == HARNESS_ENGINE);
    for (cell, mean) in balanced_means(&by_cell, &headline) {
        let own = cells.iter_mut().filter(|it| it.cell == cell);
        own.for_each(|it| it.headline_mean_per_s = mean);
    }
    judge_objective(manifest, &mut cells, &by_cell);
    let competing = by_cell.values().flatten().copied();
    let measured = fixed_rate::common(competing.filter(|one| one.spec.engine != HARNESS_ENGINE));
    // Of a trace, only a measurement tells the rate; of trials that failed, only the plan.
    let rate_per_s = measured.or(spec.conditions.rate.map(|rate| rate.per_s));
    match rate_per_s {
        Some(_) => sort_at_rate(&mut cells, &by_cell),
        None => sort_by_rate(&mut cells),
    }
    let usual = &manifest.host.file_system;
    let storage = StoragePromise::of(trials.iter().copied(), usual);
    let in_memory = is_in_memory(trials[0], usual);
    let (cells, not_comparable) = if storage.is_lost() && !in_memory {
        // No order at a level that is not kept.
        (Vec::new(), cells)
    } else {
        partition_comparable(cells, manifest.include_assertions)
    };
    let mut cells = with_shares(cells, rate_per_s);
    let decided = manifest.decision().filter(|_| rate_per_s.is_none());
    let decision = decided.and_then(|rule| decide(rule, &mut cells, trials, &headline, &disturbed));
    let notes: BTreeSet<_> = trials
        .iter()
        .filter_map(|trial| trial.spec.note.clone())
        .collect();
    Ranking {
        workload: spec.workload.clone(),
        settings: spec.settings.clone(),
        workers: spec.workers,
        durability: spec.durability,
        in_memory,
        storage,
        cluster: trials.iter().find_map(|trial| stated_survival(trial)),
        isolation: isolation::of_all(trials),
        is_split: manifest.split_by.is_some(),
        notes: notes.into_iter().collect(),
        headline,
        has_own_headline: manifest.headlines.contains_key(&spec.workload),
        rate_per_s,
        file_systems: Vec::new(),
        storage_models: None,
        loaded_records: trials.iter().find_map(|trial| records_by_size(trial)),
        cells,
        not_comparable,
        harness,
        builds: builds(trials, &names),
        unranked,
        decision,
        hosts: None,
    }
}

/// Brings cells into the order of the verdicts of a decided run; `None` if there are none.
fn decide(
    rule: &DecisionSettings,
    cells: &mut [RankedCell],
    trials: &[&TrialRecord],
    headline: &str,
    disturbed: &BTreeSet<u32>,
) -> Option<RankingDecision> {
    if cells.is_empty() {
        return None;
    }
    let decision = RankingDecision::of(rule, cells, trials, headline, disturbed);
    decision.apply(cells);
    Some(decision)
}

/// Splits cells into those that are ranked and those that are listed separately. If all are of one
/// build and have the same marks, there is nothing to compare them with, and they are ranked, but
/// never at a level whose promise an audit refuted or the storage does not keep, nor if a host that
/// made the load was the limit.
fn partition_comparable(
    cells: Vec<RankedCell>,
    include_assertions: bool,
) -> (Vec<RankedCell>, Vec<RankedCell>) {
    let build = |cell: &RankedCell| (cell.engine.clone(), cell.sha256.clone());
    let builds: BTreeSet<_> = cells.iter().map(build).collect();
    let grave = |cell: &RankedCell| -> Vec<Mark> {
        let marks = cell.marks.iter().filter(|mark| !mark.comparable);
        marks.cloned().collect()
    };
    let alike = cells.windows(2).all(|two| grave(&two[0]) == grave(&two[1]));
    let is_one_build = builds.len() < 2 && alike;
    let permits = |mark: &Mark| match mark.kind {
        MarkKind::RefutedPromise | MarkKind::UnsafeStorage | MarkKind::LoadGenerator => false,
        _ => is_one_build || mark.permits_ranking(include_assertions),
    };
    cells
        .into_iter()
        .partition(|cell| cell.marks.iter().all(permits))
}

/// The highest rate first: the geometric mean of the repeats, as the ratios of pairs have it.
fn sort_by_rate(cells: &mut [RankedCell]) {
    let rate = |cell: &RankedCell| cell.headline_mean_per_s;
    cells.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
}

/// Sets the ranked cells' shares of the best rate, unless all were offered one rate.
fn with_shares(mut cells: Vec<RankedCell>, rate_per_s: Option<f64>) -> Vec<RankedCell> {
    let rate = |cell: &RankedCell| cell.headline_mean_per_s;
    let best = cells.first().map(rate);
    let best = best.filter(|best| *best > 0.0 && rate_per_s.is_none());
    for cell in &mut cells {
        cell.relative_to_best = best.map(|best| rate(cell) / best);
    }
    cells
}

/// Sorts cells that kept the rate first, by the worst kind's response time.
fn sort_at_rate(cells: &mut [RankedCell], repeats: &BTreeMap<u32, Vec<&TrialRecord>>) {
    let of_cell = |cell: &RankedCell| repeats.get(&cell.cell);
    let among: Vec<_> = cells
        .iter()
        .filter_map(of_cell)
        .flatten()
        .copied()
        .collect();
    for cell in &mut *cells {
        cell.at_rate = of_cell(cell).and_then(|repeats| fixed_rate::of(repeats, &among));
    }
    cells.sort_by(order);
}

/// Compares each cell with the best of its ranking. A reader goes through all rankings, so all of
/// their comparisons are read together.
fn compare_with_best(rankings: &mut [Ranking], groups: &[Vec<&TrialRecord>]) {
    let behind = |(index, ranking): (usize, &Ranking)| {
        let cells = 1..ranking.cells.len();
        cells.map(move |cell| (index, cell))
    };
    // A decided ranking has its comparisons.
    let open = rankings.iter().enumerate();
    let open = open.filter(|(_, ranking)| ranking.decision.is_none());
    let places: Vec<_> = open.flat_map(behind).collect();
    let compared = compare_together(places.len(), |place, comparisons| {
        let (index, cell) = places[place];
        compare_cell(&rankings[index], &groups[index], cell, comparisons)
    });
    for ((index, cell), compared) in places.into_iter().zip(compared) {
        let ranking = &mut rankings[index];
        let at_one_rate = ranking.rate_per_s.is_some();
        let cell = &mut ranking.cells[cell];
        match &mut cell.at_rate {
            Some(at_rate) if at_one_rate => at_rate.against_best = compared,
            _ => {
                cell.against_best = compared.filter(|_| !at_one_rate);
                // The estimate of the verdict, so that one report has one.
                let ratio = cell.against_best.and_then(|compared| compared.ratio);
                cell.relative_to_best = ratio.map(|it| it.estimate).or(cell.relative_to_best);
            }
        }
    }
}

/// Compares a cell of a ranking with the best, as one of `comparisons`; at one rate by response
/// time, if both kept it.
fn compare_cell(
    ranking: &Ranking,
    trials: &[&TrialRecord],
    cell: usize,
    comparisons: usize,
) -> Option<Comparison> {
    let headline = &ranking.headline;
    let (best, other) = (&ranking.cells[0], &ranking.cells[cell]);
    let trials_of = |cell: &RankedCell| counting(trials.iter().copied(), cell.cell, headline);
    let (one, two) = (trials_of(best), trials_of(other));
    if ranking.rate_per_s.is_none() {
        return Some(between(&one, &two, headline, comparisons));
    }
    let (first, second) = (best.at_rate.as_ref()?, other.at_rate.as_ref()?);
    let both = first.kept && second.kept;
    both.then(|| fixed_rate::between((&one, first), (&two, second), comparisons))
}

fn unranked_trial(
    trial: &TrialRecord,
    names: &ContenderNames,
    headline: &str,
    reason: Ineligibility,
) -> UnrankedTrial {
    let status = reason.status();
    let believable = matches!(status, UnrankedStatus::Resumed | UnrankedStatus::Unverified);
    let measured = trial.measurement.as_ref().filter(|_| believable);
    UnrankedTrial {
        id: trial.spec.id.clone(),
        contender: names.name(&trial.spec),
        marks: marks(trial),
        status,
        reason,
        headline_per_s: measured
            .and_then(|measurement| measurement.operation(headline))
            .map(|operation| operation.per_s),
    }
}

/// Orders cells that kept the rate first, by response time; the others by their backlog.
pub fn order(one: &RankedCell, other: &RankedCell) -> Ordering {
    let place = |cell: &RankedCell| {
        let at_rate = cell.at_rate.as_ref()?;
        let left = if at_rate.kept { 0 } else { at_rate.backlog };
        Some((!at_rate.kept, left, at_rate.response_p99_ns.median))
    };
    match (place(one), place(other)) {
        (Some(one), Some(other)) => {
            let first = (one.0, one.1).cmp(&(other.0, other.1));
            first.then(one.2.total_cmp(&other.2))
        }
        (one, other) => one.is_none().cmp(&other.is_none()),
    }
}
