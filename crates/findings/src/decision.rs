//! The verdicts of a run that goes on until its rankings are decided.
//!
//! The search that proposes its repeats, the progress and every report take the verdicts from here,
//! so that they agree. The rule is that of [`SequentialRule`].

use crate::capacity::has_only_stalled;
use crate::cells::RankedCell;
use crate::disturbed_repeats::MAX_LEFT_OUT;
use crate::eligibility::{ineligibility, rate};
use crate::host_blocks::reopen;
use crate::statistics::{
    Comparison, InconclusiveReason, Interval, Observation, SequentialRule, Standing, StandingKind,
    Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::search::{DecisionSettings, EqualityMargin, SearchEnd};
use trueput_record::trial_time::repeat_s;
use trueput_record::{Outcome, TrialRecord};

/// How a ranking of a decided run stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RankingDecision {
    /// Contenders are equal if their rates differ by less than this part.
    pub equal_within: EqualityMargin,
    /// Complete repeats.
    pub repeats: u32,
    /// Repeats that do not count, because other programs disturbed them
    /// ([`crate::disturbed_repeats`]).
    pub disturbed_repeats: u32,
    /// The repeats after which the results are looked at next; `None` if the ranking is decided or
    /// the limit of repeats is reached.
    pub next_look: Option<u32>,
    /// Whether there is a leader, another contender is led or equal to it, and none is open.
    pub is_decided: bool,
    /// Whether adjacent repeats were merged, because noise lasts longer than one.
    pub is_merged: bool,
    /// Why the run ended; `None` if it goes on, was interrupted, or is not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_end: Option<SearchEnd>,
    /// The contenders: the leader, the others, best first, then those that failed.
    pub contenders: Vec<DecidedContender>,
}

/// How a contender of a decided run stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DecidedContender {
    /// The cell's number in the plan.
    pub cell: u32,
    /// The contender, with the labels of its marks.
    pub contender: String,
    /// How it stands.
    pub kind: StandingKind,
    /// The contender that it was compared with: the leader then.
    pub against: Option<String>,
    /// The rate of that leader over its own, with the interval of the verdict.
    pub ratio: Option<Interval>,
    /// Its estimated rate over that of the present leader; `None` if they were not compared.
    pub of_leader: Option<f64>,
    /// The repeats by which it was compared.
    pub repeats: u32,
    /// The measured time of these, seconds.
    pub measured_s: f64,
    /// The further time of the run that might decide it, seconds; `None` if it is not open, or if
    /// that takes more repeats than the limit.
    pub more_s: Option<f64>,
    /// Whether it gets further repeats.
    pub runs_on: bool,
}

impl RankingDecision {
    /// Judges the cells of a ranking by their trials.
    pub(crate) fn of(
        settings: &DecisionSettings,
        cells: &[RankedCell],
        trials: &[&TrialRecord],
        headline: &str,
        disturbed: &BTreeSet<u32>,
    ) -> Self {
        let repeat_s = repeat_s(trials.iter().copied());
        let own = |cell: &RankedCell| by_repeat(cell.cell, trials);
        let trials: Vec<_> = cells.iter().map(own).collect();
        let observations: Vec<_> = trials
            .iter()
            .map(|own| observations(own, headline, disturbed))
            .collect();
        let equal_within = settings.equal_within();
        let rule = SequentialRule::new(settings.max_repeats, equal_within.part())
            .with_early_look(settings.early_look, cells.len());
        let mut judgement = rule.judge(&observations);
        reopen(
            &mut judgement,
            &trials,
            headline,
            equal_within.part().ln_1p(),
        );
        let offsets = offsets(&judgement.standings);
        let contender = |place: usize| {
            let standing = &judgement.standings[place];
            let more = standing.needed.map(|needed| needed - judgement.repeats);
            DecidedContender {
                cell: cells[place].cell,
                contender: cells[place].name(),
                kind: standing.kind,
                against: standing.against.map(|place| cells[place].name()),
                ratio: standing.ratio,
                of_leader: offsets[place].map(|offset| (-offset).exp()),
                repeats: standing.repeats.len() as u32,
                measured_s: measured_s(&trials[place], &standing.repeats),
                more_s: more.zip(repeat_s).map(|(more, s)| f64::from(more) * s),
                runs_on: judgement.runs_on(place),
            }
        };
        let mut contenders: Vec<_> = (0..cells.len()).map(contender).collect();
        // Those without a comparison keep the order of the cells.
        contenders.sort_by(|one, other| {
            let rank = |it: &DecidedContender| match it.kind {
                StandingKind::Leader => 0,
                StandingKind::Led | StandingKind::Equal | StandingKind::Open => 1,
                StandingKind::Failed => 2,
            };
            let share = |it: &DecidedContender| it.of_leader.unwrap_or_default();
            let by_share = share(other).total_cmp(&share(one));
            rank(one).cmp(&rank(other)).then(by_share)
        });
        Self {
            equal_within,
            repeats: judgement.repeats,
            disturbed_repeats: u32::try_from(disturbed.len()).unwrap_or(u32::MAX),
            next_look: judgement.next_look,
            is_decided: judgement.is_decided,
            is_merged: judgement.is_merged,
            search_end: None,
            contenders,
        }
    }

    /// The further time of the run that might decide what is open, seconds; `None` if nothing is
    /// open, if that takes more repeats than the limit, or if the repeats are too few to tell.
    #[must_use]
    pub fn more_s(&self) -> Option<f64> {
        let times = self.of_kind(StandingKind::Open).map(|it| it.more_s);
        let times = times.collect::<Option<Vec<_>>>();
        times.and_then(|all| all.into_iter().reduce(f64::max))
    }

    /// Whether further repeats may decide what is open: there are looks left, and of one of the
    /// open differences it is not known that the repeats of the limit are too few.
    #[must_use]
    pub fn may_be_decided(&self) -> bool {
        let is_known = |it: &DecidedContender| it.ratio.is_some_and(|ratio| !ratio.is_boundless());
        let is_too_small = |it: &DecidedContender| it.more_s.is_none() && is_known(it);
        let mut open = self.of_kind(StandingKind::Open).peekable();
        self.next_look.is_some() && (open.peek().is_none() || !open.all(is_too_small))
    }

    /// Brings the cells into the order of the verdicts, and gives each its comparison with the
    /// leader.
    pub(crate) fn apply(&self, cells: &mut [RankedCell]) {
        let place = |cell: &RankedCell| self.contenders.iter().position(|it| it.cell == cell.cell);
        cells.sort_by_key(place);
        let leader = self.leader().map(|it| it.contender.clone());
        // The one that they are relative to may have failed, and is the last then.
        let of_first = cells.first().and_then(|cell| cell.relative_to_best);
        for (cell, contender) in cells.iter_mut().zip(&self.contenders) {
            let is_leader = contender.kind == StandingKind::Leader;
            let has_failed = contender.kind == StandingKind::Failed;
            let own = cell.relative_to_best.zip(of_first);
            let share = contender.of_leader.or(own.map(|(own, first)| own / first));
            cell.relative_to_best = share.filter(|_| !has_failed);
            let is_compared = !is_leader && !has_failed;
            cell.against_best = is_compared.then(|| contender.comparison(leader.as_ref()));
        }
    }

    /// The contender that leads, surely or not; `None` if every contender failed.
    #[must_use]
    pub fn leader(&self) -> Option<&DecidedContender> {
        self.of_kind(StandingKind::Leader).next()
    }

    /// The second contender compared with the first, by their cells, and the reason if that is
    /// inconclusive; `None` if neither leads: the others were not compared with each other.
    pub(crate) fn between(
        &self,
        first: u32,
        second: u32,
    ) -> Option<(Comparison, Option<InconclusiveReason>)> {
        let leader = self.leader()?;
        let with_leader = |cell: u32| {
            let other = self.contenders.iter().find(|it| it.cell == cell)?;
            let comparison = other.comparison(Some(&leader.contender));
            let is_compared = comparison.ratio.is_some();
            is_compared.then(|| (comparison, other.inconclusive()))
        };
        if leader.cell == first {
            with_leader(second)
        } else if leader.cell == second {
            with_leader(first).map(|(comparison, reason)| (comparison.inverted(), reason))
        } else {
            None
        }
    }

    /// The contenders that stand so, best first.
    pub fn of_kind(&self, kind: StandingKind) -> impl Iterator<Item = &DecidedContender> {
        self.contenders.iter().filter(move |it| it.kind == kind)
    }
}

impl DecidedContender {
    /// Why its comparison shows no order; `None` if it does.
    pub(crate) fn inconclusive(&self) -> Option<InconclusiveReason> {
        match self.kind {
            StandingKind::Equal => Some(InconclusiveReason::Equal),
            StandingKind::Open => Some(InconclusiveReason::Undecided),
            StandingKind::Leader | StandingKind::Led | StandingKind::Failed => None,
        }
    }

    /// Its comparison with the present leader. The interval is left out if it was compared with a
    /// former one.
    fn comparison(&self, leader: Option<&String>) -> Comparison {
        let ratio = self.ratio.filter(|_| self.against.as_ref() == leader);
        Comparison {
            verdict: match self.kind {
                StandingKind::Led => Verdict::Slower,
                _ if self.ratio.is_none() => Verdict::TooFew,
                _ => Verdict::NoDifference,
            },
            ratio: ratio.map(Interval::inverted),
            ranks: None,
            paired: true,
            pairs_won: None,
            smallest_ratio: None,
            chance: 1.0,
        }
    }
}

/// By repeat, the trial of a cell that speaks for it.
fn by_repeat<'a>(cell: u32, trials: &[&'a TrialRecord]) -> BTreeMap<u32, &'a TrialRecord> {
    let own = trials.iter().filter(|trial| trial.spec.cell == cell);
    let ended = own.filter(|trial| trial.outcome != Outcome::Interrupted);
    ended.map(|trial| (trial.spec.repeat, *trial)).collect()
}

fn observations(
    trials: &BTreeMap<u32, &TrialRecord>,
    headline: &str,
    disturbed: &BTreeSet<u32>,
) -> Vec<Observation> {
    let last = trials.last_key_value().map_or(0, |(repeat, _)| *repeat);
    let stalled = trials.iter().filter(|(_, trial)| has_only_stalled(trial));
    let stalled: BTreeSet<_> = stalled
        .map(|(repeat, _)| *repeat)
        .take(MAX_LEFT_OUT)
        .collect();
    let of = |repeat: u32| match trials.get(&repeat) {
        None => Observation::Missing,
        Some(_) if stalled.contains(&repeat) => Observation::Disturbed,
        Some(trial) if ineligibility(trial, headline).is_some() => Observation::Invalid,
        Some(_) if disturbed.contains(&repeat) => Observation::Disturbed,
        Some(trial) => match rate(trial, headline) {
            Some(rate) if rate > 0.0 => Observation::LogRate(rate.ln()),
            _ => Observation::Invalid,
        },
    };
    (1..=last).map(of).collect()
}

/// The measured time of a contender in those repeats, from 0, seconds.
fn measured_s(trials: &BTreeMap<u32, &TrialRecord>, repeats: &[usize]) -> f64 {
    let measured = repeats.iter().filter_map(|&index| {
        let trial = trials.get(&(index as u32 + 1))?;
        Some(trial.measurement.as_ref()?.elapsed_s)
    });
    measured.sum()
}

/// By contender, the logarithm of the present leader's rate over its own, by way of the former
/// leaders that they were compared with; `None` without a comparison.
fn offsets(standings: &[Standing]) -> Vec<Option<f64>> {
    let offset = |mut place: usize| {
        let mut sum = 0.0;
        // A former leader was compared later than those that it led, so the way ends.
        for _ in 0..standings.len() {
            let standing = &standings[place];
            if standing.kind == StandingKind::Leader {
                return Some(sum);
            }
            sum += standing.ratio?.estimate.ln();
            place = standing.against?;
        }
        None
    };
    (0..standings.len()).map(offset).collect()
}
