//! The contenders of one workload on several storage models: who leads on which, as far as the
//! verdicts of the rankings carry, and why the order changes, as far as the figures show it.

use crate::Findings;
use crate::answer::{AnswerRow, RankingAnswer, RankingSubject, RankingVerdict, RowVerdict};
use crate::cells::RankedCell;
use crate::marks::MarkedName;
use crate::power_loss::StoragePromise;
use crate::rankings::{Ranking, are_comparable};
use crate::storage_models::StorageModels;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use trueput_record::TrialSpec;
use trueput_record::storage_model::NO_MODEL;

/// From this share of the time on, flushes or other requests of a device are most of it.
const MOST: f64 = 0.5;

/// Figures per commit that differ by less than this factor are no reason for an order.
const CLEAR_FACTOR: f64 = 1.1;

/// The contenders of one workload at one level on several storage models, or on this machine's own
/// storage and on models.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StorageComparison {
    /// Workload, level, settings and workers, without the storage.
    pub subject: RankingSubject,
    /// The contenders, those of the first ranking first, best first: at least two.
    pub contenders: Vec<String>,
    /// The rankings, one for each storage, in the order of the plan: at least two.
    pub rankings: Vec<StorageRanking>,
    /// Why contenders lead on one storage and not on another; empty where the figures do not show
    /// it, and if one leads on all.
    pub reasons: Vec<OrderReason>,
}

/// A ranking on one storage.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StorageRanking {
    /// The storage.
    pub storage: StorageModels,
    /// Its place among the run's rankings; see [`crate::answer::Answer::ranking`].
    pub index: usize,
    /// Who leads.
    pub lead: LeadVerdict,
    /// By contender, its figures; `None` if it has none on this storage.
    pub figures: Vec<Option<StorageFigures>>,
}

/// Who leads a ranking, as far as its verdict carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeadVerdict {
    /// Every other contender is slower than this one.
    Leader(String),
    /// These are equal.
    Equal(Vec<String>),
    /// It is not known which of these is first.
    Undecided(Vec<String>),
    /// There is no order, or nobody to be compared with.
    NoOrder,
}

/// The figures of a contender on one storage: medians of its repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StorageFigures {
    /// Rate of the headline operation, per second.
    pub rate_per_s: f64,
    /// Trials that count.
    pub repeats: usize,
    /// Whether no other contender is shown to be faster.
    pub is_first: bool,
    /// As [`crate::cells::CellFigures::flushes_per_commit`].
    pub flushes_per_commit: Option<f64>,
    /// As [`crate::cells::CellFigures::flush_share`].
    pub flush_share: Option<f64>,
    /// As [`crate::cells::CellFigures::device_bytes_per_commit`].
    pub bytes_per_commit: Option<f64>,
    /// As [`crate::cells::CellFigures::device_busy_share`].
    pub busy_share: Option<f64>,
}

/// Why a contender leads another on one storage that leads elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OrderReason {
    /// The storage.
    pub storage: StorageModels,
    /// The kind of reason.
    pub kind: ReasonKind,
    /// The contender that leads there.
    pub leader: String,
    /// Its figures.
    pub leader_figures: StorageFigures,
    /// The one that leads on another storage.
    pub other: String,
    /// Its figures.
    pub other_figures: StorageFigures,
    /// Whether several workers of the leader have fewer flushes than commits: they share flushes.
    pub shares_flushes: bool,
}

/// What the figures show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// Flushes take most of the time of both, and the leader needs fewer for a commit.
    FewerFlushes,
    /// Other requests take most of the time of both, and the leader writes less for a commit.
    FewerBytes,
    /// Flushes take less than most of the time of both, while they decide elsewhere.
    LittleFlushing,
}

impl LeadVerdict {
    /// The contender that leads, if one does.
    #[must_use]
    pub fn leader(&self) -> Option<&str> {
        match self {
            Self::Leader(leader) => Some(leader),
            _ => None,
        }
    }

    fn of(answer: Option<&RankingAnswer>, names: &[MarkedName]) -> Self {
        let Some(answer) = answer else {
            return Self::NoOrder;
        };
        let shown = |row: &AnswerRow| {
            let name = names.iter().find(|name| name.name == row.plain_name);
            name.map_or_else(|| row.contender.clone(), ToString::to_string)
        };
        let leader = shown(answer.leader());
        let open = answer.rows.iter();
        let open = open.filter(|row| row.verdict.is_inconclusive()).map(shown);
        let with_leader =
            || -> Vec<String> { std::iter::once(leader.clone()).chain(open).collect() };
        match answer.verdict {
            RankingVerdict::Leader => Self::Leader(leader),
            RankingVerdict::SameWithin | RankingVerdict::Equal => Self::Equal(with_leader()),
            RankingVerdict::TooNoisy
            | RankingVerdict::TooFewRepeats
            | RankingVerdict::Undecided => Self::Undecided(with_leader()),
            RankingVerdict::NoOrder | RankingVerdict::RateNotKept => Self::NoOrder,
        }
    }
}

impl StorageFigures {
    fn of(cell: &RankedCell, answer: Option<&RankingAnswer>) -> Self {
        let mut rows = answer.iter().flat_map(|answer| &answer.rows);
        let is_leading =
            |verdict: RowVerdict| verdict == RowVerdict::Leader || verdict.is_inconclusive();
        let figures = &cell.figures;
        Self {
            rate_per_s: figures.headline_per_s.median,
            repeats: cell.repeats,
            is_first: rows.any(|row| row.cell == cell.cell && is_leading(row.verdict)),
            flushes_per_commit: figures.flushes_per_commit,
            flush_share: figures.flush_share,
            bytes_per_commit: figures.device_bytes_per_commit,
            busy_share: figures.device_busy_share,
        }
    }
}

/// Compares rankings by rate that differ in nothing but the storage models; empty if the run has
/// none on several.
#[must_use]
pub fn storage_comparisons(findings: &Findings<'_>) -> Vec<StorageComparison> {
    let mut groups: Vec<(TrialSpec, Vec<usize>)> = Vec::new();
    for (index, ranking) in findings.rankings.iter().enumerate() {
        let Some(work) = work(findings, ranking) else {
            continue;
        };
        let is_same = |(other, members): &&mut (TrialSpec, Vec<usize>)| {
            let first = &findings.rankings[members[0]];
            let is_isolated_alike = !ranking.is_split || first.isolation == ranking.isolation;
            are_comparable(other, &work) && first.cluster == ranking.cluster && is_isolated_alike
        };
        match groups.iter_mut().find(is_same) {
            Some((_, members)) => members.push(index),
            None => groups.push((work, vec![index])),
        }
    }
    let groups = groups.iter();
    groups
        .filter_map(|(_, members)| comparison(findings, members))
        .collect()
}

/// The work of a ranking, as a trial on this machine's own storage. `None` if it is not compared:
/// without an order by rate, or where nothing is kept.
fn work(findings: &Findings<'_>, ranking: &Ranking) -> Option<TrialSpec> {
    let is_compared = ranking.rate_per_s.is_none() && !ranking.in_memory;
    let cell = ranking.cells.first().filter(|_| is_compared)?.cell;
    let mut trials = findings.run.trials.iter();
    let mut spec = trials.find(|trial| trial.spec.cell == cell)?.spec.clone();
    spec.conditions.storage_model = None;
    spec.conditions.log_storage_model = None;
    Some(spec)
}

/// Compares rankings of the same work; `None` if they are not several, or have one contender.
fn comparison(findings: &Findings<'_>, members: &[usize]) -> Option<StorageComparison> {
    let mut rankings: Vec<(usize, &Ranking, StorageModels)> = Vec::new();
    for index in members.iter().copied() {
        let ranking = &findings.rankings[index];
        let storage = StorageModels::of(&ranking.cells.first()?.conditions);
        if !rankings.iter().any(|(_, _, other)| *other == storage) {
            rankings.push((index, ranking, storage));
        }
    }
    let names = names(rankings.iter().map(|(_, ranking, _)| *ranking));
    if rankings.len() < 2 || names.len() < 2 {
        return None;
    }
    let answer = |index: &usize| findings.answer.ranking(*index);
    let subject = &members.iter().find_map(answer)?.subject;
    let contenders: Vec<String> = names.iter().map(ToString::to_string).collect();
    let of = |(index, ranking, storage): &(usize, &Ranking, StorageModels)| {
        let figures = |name: &MarkedName| {
            let mut cells = ranking.contenders();
            let cell = cells.find(|cell| cell.contender == name.name)?;
            Some(StorageFigures::of(cell, answer(index)))
        };
        StorageRanking {
            storage: storage.clone(),
            index: *index,
            lead: LeadVerdict::of(answer(index), &names),
            figures: names.iter().map(figures).collect(),
        }
    };
    let found: Vec<_> = rankings.iter().map(of).collect();
    Some(StorageComparison {
        reasons: reasons(&found, &contenders, subject.workers),
        subject: without_model(subject, &found[0].storage),
        contenders,
        rankings: found,
    })
}

/// The contenders of several rankings, each once, with the marks that it has in any of them.
fn names<'a>(rankings: impl Iterator<Item = &'a Ranking>) -> Vec<MarkedName> {
    let mut names: Vec<MarkedName> = Vec::new();
    for cell in rankings.flat_map(Ranking::contenders) {
        let is_same = |name: &&mut MarkedName| name.name == cell.contender;
        match names.iter_mut().find(is_same) {
            Some(name) => {
                for mark in &cell.marks {
                    if !name.marks.iter().any(|known| known.label == mark.label) {
                        name.marks.push(mark.clone());
                    }
                }
            }
            None => names.push(MarkedName {
                name: cell.contender.clone(),
                marks: cell.marks.clone(),
            }),
        }
    }
    names
}

/// The subject of a ranking, but for the storage: a fault, which all have, stays.
fn without_model(subject: &RankingSubject, storage: &StorageModels) -> RankingSubject {
    let mut rest = storage.clone();
    (rest.data, rest.log) = (NO_MODEL.to_owned(), None);
    RankingSubject {
        audit: None,
        storage: StoragePromise::default(),
        storage_models: (!rest.is_none()).then_some(rest),
        ..subject.clone()
    }
}

/// Why leaders lead each other, each on its own storage.
fn reasons(rankings: &[StorageRanking], contenders: &[String], workers: u32) -> Vec<OrderReason> {
    let leaders = rankings.iter().filter_map(|ranking| ranking.lead.leader());
    let leaders: BTreeSet<&str> = leaders.collect();
    let mut found: Vec<OrderReason> = Vec::new();
    for ranking in rankings {
        let Some(leader) = ranking.lead.leader() else {
            continue;
        };
        let others = leaders.iter().filter(|other| **other != leader);
        let of = |other: &&str| reason(ranking, leader, other, contenders, workers);
        found.extend(others.filter_map(of));
    }
    let by_flushes = found
        .iter()
        .filter(|it| it.kind == ReasonKind::FewerFlushes);
    let turned = by_flushes.map(|it| (it.other.clone(), it.leader.clone()));
    let turned: BTreeSet<(String, String)> = turned.collect();
    found.retain(|it| {
        let pair = (it.leader.clone(), it.other.clone());
        it.kind != ReasonKind::LittleFlushing || turned.contains(&pair)
    });
    found
}

/// Why `leader` leads `other` on a storage; `None` if the figures do not show it.
fn reason(
    ranking: &StorageRanking,
    leader: &str,
    other: &str,
    contenders: &[String],
    workers: u32,
) -> Option<OrderReason> {
    let figures = |name: &str| {
        let at = contenders.iter().position(|contender| contender == name)?;
        ranking.figures[at]
    };
    let (leader_figures, other_figures) = (figures(leader)?, figures(other)?);
    let of_leader = leader_figures.flushes_per_commit;
    Some(OrderReason {
        storage: ranking.storage.clone(),
        kind: reason_kind(&leader_figures, &other_figures)?,
        leader: leader.to_owned(),
        leader_figures,
        other: other.to_owned(),
        other_figures,
        shares_flushes: workers > 1 && of_leader.is_some_and(|flushes| flushes < 1.0),
    })
}

fn reason_kind(leader: &StorageFigures, other: &StorageFigures) -> Option<ReasonKind> {
    let is_less = |one: Option<f64>, two: Option<f64>| {
        let both = one.zip(two);
        both.is_some_and(|(one, two)| one * CLEAR_FACTOR <= two)
    };
    let most_of = |share: Option<f64>| share.map(|share| share >= MOST);
    match (most_of(leader.flush_share)?, most_of(other.flush_share)?) {
        (true, true) => is_less(leader.flushes_per_commit, other.flushes_per_commit)
            .then_some(ReasonKind::FewerFlushes),
        (false, false) => {
            let busy = [leader.busy_share, other.busy_share].map(most_of);
            let is_busy = busy == [Some(true); 2];
            let is_written_less = is_less(leader.bytes_per_commit, other.bytes_per_commit);
            Some(if is_busy && is_written_less {
                ReasonKind::FewerBytes
            } else {
                ReasonKind::LittleFlushing
            })
        }
        _ => None,
    }
}
