//! The answer of a run: the content of its first screen and of its page's first table.
//!
//! [`Answer::of`] computes it once, from the comparisons of the rankings, so that terminal, page
//! and progress agree. It has figures and names; the formats add the words.

mod isolation;
mod next_step;
mod rounds;
mod rows;
mod subject;
mod verdict;

use crate::absence::Absence;
use crate::failover::FailoverFindings;
use crate::storage_faults::{FaultOccurrence, fault_occurrences};
use crate::storage_servers::{LateModel, late_models};
use crate::{Run, disturbance};
pub use isolation::{IsolationContrast, WeakerIsolation, lacking};
pub use next_step::NextStep;
pub(crate) use next_step::continuation;
pub use rounds::{Round, Standings};
pub use rows::{AnswerRow, CompactionSizes, LatencyFigure, WorkRate};
pub use subject::RankingSubject;
pub use verdict::{RankingVerdict, RowVerdict, refuses};

use crate::decision::RankingDecision;
use crate::eligibility::{HARNESS_ENGINE, Ineligibility, UnrankedStatus};
use crate::ranking_hosts::RankingHosts;
use crate::rankings::{Ranking, UnrankedTrial, rankings};
use crate::statistics::{Disturbance, Interval, Noise};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use subject::subjects;
use trueput_record::measurement::Check;
use trueput_record::objective::Objective;
use trueput_record::skipped::SkippedPart;
use trueput_record::value::exact_bytes;
use trueput_record::{Conditions, Outcome, TrialRecord, WorkerKind};

/// The findings of a run as data, without prose.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The run's name: that of its plan.
    pub name: String,
    /// Counts of the plan's trials by outcome.
    pub trials: TrialCounts,
    /// Settings and run conditions that all trials share and that are not the default, as name and
    /// value.
    pub common: Vec<(String, String)>,
    /// The objective of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
    /// One for each ranking that has at least two contenders, in the plan's order.
    pub rankings: Vec<RankingAnswer>,
    /// Figures that are in no ranking.
    pub not_ranked: Vec<UnrankedContender>,
    /// The effects of planned faults; empty if none were planned.
    pub failover: FailoverFindings,
    /// How often the faults of storage came; empty if no trial had one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storage_faults: Vec<FaultOccurrence>,
    /// Storage models whose times the replies notably exceeded: rates on them are too low.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub late_models: Vec<LateModel>,
    /// Trials that failed, are invalid or may not be ranked, one for each reason.
    pub failures: Vec<FailureKind>,
    /// Parts of the plan that do not run.
    pub skipped: Vec<SkippedPart>,
    /// Engines whose workers were threads although those of other engines were processes; empty if
    /// all were alike.
    pub threads: Vec<String>,
    /// Whether the run's levels promise something, and no promise was audited.
    pub not_audited: bool,
    /// The lines of `trials.jsonl` that could not be read, by number from 1.
    pub damaged_lines: Vec<usize>,
    /// Whether every read of the valid trials that read was compared to the last byte of its value,
    /// and there was one.
    pub reads_compared_whole: bool,
    /// Operations that looked for records that were not there.
    pub absence: Absence,
    /// Disturbances of the run; empty for a quiet machine.
    pub disturbances: Vec<Disturbance>,
    /// Ways to learn more with another run.
    pub next_steps: Vec<NextStep>,
}

/// The number of a plan's trials by outcome; the parts add up to `planned`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrialCounts {
    /// Trials of the plan; if `--until` ended the run early, the trials that ran.
    pub planned: usize,
    /// Trials that count.
    pub valid: usize,
    /// Trials that ended and must not be believed.
    pub invalid: usize,
    /// Trials that failed.
    pub failed: usize,
    /// Trials that have not ended, interrupted ones included.
    pub missing: usize,
}

/// The order of the contenders of one workload at one promise, and how certain it is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RankingAnswer {
    /// Workload, level, settings and workers of the ranking.
    pub subject: RankingSubject,
    /// The ranked contenders, best first: at least two. The first one is the leader.
    pub rows: Vec<AnswerRow>,
    /// Contenders that have figures and no place, because of their marks.
    pub not_comparable: Vec<AnswerRow>,
    /// Whether the lead is significant.
    pub verdict: RankingVerdict,
    /// Names of the contenders that are not shown to differ from the leader.
    #[serde(rename = "tied")]
    pub inconclusive: Vec<String>,
    /// Set if other contenders are better isolated than the leader, or where no order is claimed
    /// than the least isolated one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weaker_isolation: Option<WeakerIsolation>,
    /// The leader's rate over the second's (in a ranking at one rate: the second's response time
    /// over the leader's), with the interval behind the verdict. For fewer than three repeats low,
    /// high and level are `None`.
    pub lead: Option<LeaderShare>,
    /// The smallest difference that the repeats of all inconclusive contenders would show four
    /// times in five, as a ratio above 1; `None` if nothing is inconclusive or it is not known.
    pub smallest_ratio: Option<f64>,
    /// How it stands, if the run goes on until its rankings are decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<RankingDecision>,
    /// What its hosts say, if whole repeats ran on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<RankingHosts>,
}

impl RankingAnswer {
    /// The first row.
    #[must_use]
    pub fn leader(&self) -> &AnswerRow {
        &self.rows[0]
    }
}

/// A ratio, with the interval that its verdict is based on, if any.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LeaderShare {
    /// The mean ratio of the repeats in pairs; for fewer than three repeats on a side that of the
    /// geometric means, at one rate that of the medians.
    pub estimate: f64,
    /// The interval that the verdict used, around it; `None` for fewer than three repeats on a
    /// side.
    pub interval: Option<Interval>,
}

impl LeaderShare {
    /// The inverse ratio, of the first to the second.
    #[must_use]
    pub fn inverted(self) -> Self {
        Self {
            estimate: 1.0 / self.estimate,
            interval: self.interval.map(Interval::inverted),
        }
    }
}

/// Why figures are in no ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnrankedReason {
    /// No other contender ran with these settings.
    OnlyContender,
    /// Its marks say why it may not be ranked with others.
    NotComparable,
    /// Its storage does not keep the level.
    UnsafeStorage,
    /// The null engine: the cost of the harness itself.
    Harness,
}

/// A contender whose figures are in no ranking.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnrankedContender {
    /// Workload, level, settings and workers of the ranking.
    pub subject: RankingSubject,
    /// Its figures.
    pub row: AnswerRow,
    /// Why it is in no ranking.
    pub reason: UnrankedReason,
}

/// Trials that do not count for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailureKind {
    /// Their class.
    pub status: UnrankedStatus,
    /// The reason.
    pub reason: Ineligibility,
    /// The contenders, each once, in the plan's order.
    pub contenders: Vec<String>,
    /// Number of trials.
    pub trials: usize,
}

impl Answer {
    /// Computes the answer of a run, finished or not.
    #[must_use]
    pub fn of(report: &Run) -> Self {
        let rankings = rankings(&report.manifest, &report.trials);
        let noise = disturbance::of_run(report);
        Self::from_rankings(report, &rankings, noise.as_ref())
    }

    /// Like [`Answer::of`], from rankings that were already computed.
    pub(crate) fn from_rankings(report: &Run, rankings: &[Ranking], noise: Option<&Noise>) -> Self {
        let subjects = subjects(rankings);
        let listed = || rankings.iter().zip(&subjects);
        let ranked: Vec<_> = listed()
            .filter_map(|(ranking, subject)| ranking_answer(ranking, subject, noise))
            .map(|ranking| with_end(ranking, report))
            .collect();
        Self {
            name: report.manifest.name.clone(),
            trials: trial_counts(report),
            common: common(report),
            objective: report.manifest.objective.clone(),
            next_steps: next_step::next_steps(report, &ranked),
            rankings: ranked,
            not_ranked: listed().flat_map(not_ranked).collect(),
            failover: FailoverFindings::of(report),
            storage_faults: fault_occurrences(report),
            late_models: late_models(report),
            failures: failures(rankings),
            skipped: report.manifest.skipped_parts().collect(),
            threads: threads(report),
            not_audited: is_unaudited(rankings),
            damaged_lines: report.damaged.iter().map(|line| line.line).collect(),
            reads_compared_whole: reads_compared_whole(report),
            absence: Absence::of(report),
            disturbances: noise.map_or_else(Vec::new, |noise| noise.reasons.clone()),
        }
    }

    /// The ranking that has this place among the run's.
    pub fn ranking(&self, index: usize) -> Option<&RankingAnswer> {
        let mut rankings = self.rankings.iter();
        rankings.find(|ranking| ranking.subject.index == index)
    }

    /// The step that would distinguish contenders.
    pub fn distinguishing_step(&self) -> Option<&NextStep> {
        let mut steps = self.next_steps.iter();
        steps.find(|step| !matches!(step, NextStep::Resume { .. }))
    }
}

fn is_unaudited(rankings: &[Ranking]) -> bool {
    let audits: Vec<_> = rankings
        .iter()
        .filter_map(Ranking::audit_coverage)
        .collect();
    !audits.is_empty() && audits.iter().all(|audit| audit.audited == 0)
}

/// Whether every valid trial compared all that its workers read, whole and with what was written.
fn reads_compared_whole(report: &Run) -> bool {
    let valid = report.trials.iter();
    let valid = valid.filter(|trial| trial.outcome == Outcome::Valid);
    let mut valid = valid
        .filter(|trial| trial.spec.engine != HARNESS_ENGINE)
        .peekable();
    valid.peek().is_some() && valid.all(compared_whole)
}

fn compared_whole(trial: &TrialRecord) -> bool {
    let checks = trial.verification.iter().flat_map(|it| &it.checks);
    let mut of_reads = checks.filter(|check| check.name == "reads").peekable();
    of_reads.peek().is_some()
        && of_reads.all(|check| {
            let detail = &check.detail;
            detail.contains(Check::EVERY_BYTE) && !detail.contains(Check::STALE_UNKNOWN)
        })
}

/// Fewer contenders than these make no ranking.
const MIN_RANKED: usize = 2;

fn ranking_answer(
    ranking: &Ranking,
    subject: &RankingSubject,
    noise: Option<&Noise>,
) -> Option<RankingAnswer> {
    if ranking.cells.len() < MIN_RANKED {
        return None;
    }
    let verdicts = verdict::row_verdicts(ranking, noise);
    let verdict = verdict::ranking_verdict(ranking, &verdicts, noise);
    let mut rows: Vec<_> = rows::ranked(ranking, &verdicts);
    let has_order = verdict != RankingVerdict::NoOrder;
    if !has_order {
        rows.sort_by(|one, other| one.contender.cmp(&other.contender));
        for row in &mut rows {
            // Without an order there is no leader to compare with.
            (row.rank, row.of_leader, row.rate_interval) = (None, None, None);
        }
    }
    let inconclusive = rows.iter().filter(|row| row.verdict.is_inconclusive());
    let compared = ranking.cells.iter().zip(&verdicts);
    let smallest = compared
        .filter(|(_, verdict)| verdict.is_inconclusive())
        .filter_map(|(cell, _)| verdict::comparison(ranking, cell)?.smallest_ratio)
        .reduce(f64::max);
    let second = ranking.cells.get(1).filter(|_| has_order);
    let ratio = second.and_then(|second| rows::share(ranking, second));
    Some(RankingAnswer {
        subject: subject.clone(),
        inconclusive: inconclusive.map(|row| row.contender.clone()).collect(),
        lead: ratio.map(|ratio| match subject.rate_per_s {
            Some(_) => ratio,
            None => ratio.inverted(),
        }),
        smallest_ratio: smallest,
        weaker_isolation: isolation::weaker_isolation(ranking, has_order),
        not_comparable: rows::unplaced(ranking, &ranking.not_comparable),
        rows,
        verdict,
        decision: ranking.decision.clone(),
        hosts: ranking.hosts.clone(),
    })
}

/// Sets the reason why the run of a decision ended.
fn with_end(mut ranking: RankingAnswer, report: &Run) -> RankingAnswer {
    if let Some(decision) = &mut ranking.decision {
        decision.search_end = report.end.as_ref().and_then(|end| end.search_end);
    }
    ranking
}

fn not_ranked((ranking, subject): (&Ranking, &RankingSubject)) -> Vec<UnrankedContender> {
    let of = |cells, reason| {
        let rows = rows::unplaced(ranking, cells).into_iter();
        rows.map(move |row| UnrankedContender {
            subject: subject.clone(),
            row,
            reason,
        })
    };
    let mut found = Vec::new();
    if ranking.cells.len() < MIN_RANKED {
        found.extend(of(&ranking.cells, UnrankedReason::OnlyContender));
        let reason = if ranking.storage.is_lost() && !ranking.in_memory {
            UnrankedReason::UnsafeStorage
        } else {
            UnrankedReason::NotComparable
        };
        found.extend(of(&ranking.not_comparable, reason));
    }
    found.extend(of(&ranking.harness, UnrankedReason::Harness));
    found
}

fn failures(rankings: &[Ranking]) -> Vec<FailureKind> {
    let mut kinds: Vec<FailureKind> = Vec::new();
    let trials = rankings.iter().flat_map(|ranking| &ranking.unranked);
    for trial in trials.filter(|trial| trial.status != UnrankedStatus::Interrupted) {
        let name = trial.name();
        let same =
            |kind: &&mut FailureKind| kind.status == trial.status && kind.reason == trial.reason;
        match kinds.iter_mut().find(same) {
            Some(kind) => {
                kind.trials += 1;
                if !kind.contenders.contains(&name) {
                    kind.contenders.push(name);
                }
            }
            None => kinds.push(failure_kind(trial, name)),
        }
    }
    kinds
}

fn failure_kind(trial: &UnrankedTrial, name: String) -> FailureKind {
    FailureKind {
        status: trial.status,
        reason: trial.reason.clone(),
        contenders: vec![name],
        trials: 1,
    }
}

/// Settings and conditions away from the default that every trial has alike.
fn common(report: &Run) -> Vec<(String, String)> {
    let specs = || report.manifest.trials.iter();
    let Some(first) = specs().next() else {
        return Vec::new();
    };
    let changed = report.manifest.changed_settings.get(&first.workload);
    let setting = |name: &String| {
        let value = first.settings.get(name)?;
        let alike = specs().all(|spec| spec.settings.get(name) == Some(value));
        alike.then(|| (name.clone(), value.to_string()))
    };
    let usual = Conditions::default().named();
    let conditions = first.conditions.named().into_iter().zip(usual);
    // Each ranking says its storage models and its fault.
    let is_of_storage = |name: &str| name.ends_with("storage_model") || name == "fault";
    let is_said = |name: &str| report.manifest.is_ranked() && is_of_storage(name);
    let conditions = conditions.filter(|((name, _), _)| !is_said(name));
    let condition = |(this, usual): ((&'static str, String), _)| {
        let alike = specs().all(|spec| spec.conditions.named().contains(&this));
        (this != usual && alike).then(|| (this.0.to_owned(), this.1))
    };
    let settings = changed.into_iter().flatten().filter_map(setting);
    let conditions = conditions.filter_map(condition);
    // Trials have it as knobs, which each engine names differently.
    let cache = report.manifest.cache_bytes;
    let cache = cache.map(|bytes| ("cache".to_owned(), exact_bytes(bytes)));
    settings.chain(conditions).chain(cache).collect()
}

/// Returns the engines that ran threads, if others ran processes.
fn threads(report: &Run) -> Vec<String> {
    let of = |kind: WorkerKind| -> BTreeSet<&str> {
        let specs = report.trials.iter().map(|trial| &trial.spec);
        let of_kind =
            specs.filter(|spec| spec.worker_kind == kind && spec.engine != HARNESS_ENGINE);
        of_kind.map(|spec| spec.engine.as_str()).collect()
    };
    if of(WorkerKind::Processes).is_empty() {
        Vec::new()
    } else {
        of(WorkerKind::Threads)
            .into_iter()
            .map(str::to_owned)
            .collect()
    }
}

fn trial_counts(report: &Run) -> TrialCounts {
    let totals = report.count_trials();
    let ended = totals.valid + totals.invalid + totals.failed;
    let missing = report.missing().len();
    TrialCounts {
        planned: ended + missing,
        valid: totals.valid,
        invalid: totals.invalid,
        failed: totals.failed,
        missing,
    }
}
