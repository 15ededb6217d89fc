//! What all searches have in common: they propose trials from the results so far.

use crate::rounds::Incumbent;
use trueput_findings::capacity::Capacity;
use trueput_findings::choice::RunOff;
use trueput_record::search::SearchEnd;
use trueput_record::trial::Proposal;
use trueput_record::value::Settings;
use trueput_record::{TrialRecord, TrialSpec};

/// A search. Apart from the time, the records alone decide what it proposes, so one that was
/// interrupted goes on with whatever is missing.
pub trait TrialSearch {
    /// Returns the trials to run next, given all that have ended, in their order, and the time
    /// since the search began or was resumed, seconds.
    fn next(&mut self, records: &[TrialRecord], elapsed_s: f64) -> Proposal;

    /// Takes what the search has found since this was last asked.
    fn take_news(&mut self) -> Vec<SearchNews>;
}

/// Proposes trials; if there are none, the search ends for lack of time if it is still open, else
/// for lack of work.
pub(crate) fn proposal(trials: Vec<TrialSpec>, is_open: impl FnOnce() -> bool) -> Proposal {
    if !trials.is_empty() {
        Proposal::Trials(trials)
    } else if is_open() {
        Proposal::End(SearchEnd::TimeUp)
    } else {
        Proposal::End(SearchEnd::NothingLeft)
    }
}

/// What a search has found, for those who watch it.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchNews {
    /// A trial for a capacity has ended.
    Probe {
        /// The capacity so far, which that trial belongs to.
        capacity: Box<Capacity>,
        /// Whether the contender's knobs are tuned.
        is_tuned: bool,
    },
    /// A contender's knobs are tuned from now on.
    TuningBegun {
        /// The contender.
        contender: String,
        /// The most trials.
        trials: u32,
        /// The time for them, seconds.
        budget_s: f64,
    },
    /// Trials take another time than estimated.
    Replanned {
        /// The trials that were planned.
        before: usize,
        /// Those that are planned now.
        planned: usize,
    },
    /// A round of a search for knobs has ended.
    Round {
        /// The rounds so far.
        rounds: usize,
        /// The best configuration.
        best: Incumbent,
        /// Its values that are not the default's; none if it is the default.
        changes: Settings,
        /// The gain of another one that too few trials have confirmed, as a part of the default's
        /// score.
        promised_gain: Option<f64>,
    },
    /// A pair of a run-off has ended, or it begins.
    RunOff {
        /// How it stands.
        run_off: RunOff,
        /// The contender with the highest capacity.
        first: String,
        /// The other one.
        second: String,
    },
    /// News of the search for one contender's knobs, within a choice.
    OfContender(String, Box<SearchNews>),
}

/// Gives proposed trials the numbers of their cells: that of their repeats, or else the next one.
pub(crate) fn number_cells(proposed: &mut [TrialSpec], records: &[TrialRecord]) {
    let known = || records.iter().map(|trial| &trial.spec);
    let last = known().map(|spec| spec.cell).max();
    let mut free = last.map_or(0, |cell| cell.saturating_add(1));
    for spec in proposed {
        if let Some(repeat) = known().find(|other| are_repeats(spec, other)) {
            spec.cell = repeat.cell;
        } else {
            spec.cell = free;
            free = free.saturating_add(1);
        }
    }
}

/// Whether two trials differ in nothing but their repeat, by their roles: those of a holdout and of
/// a run-off have seeds of their own.
fn are_repeats(one: &TrialSpec, other: &TrialSpec) -> bool {
    let is_same_role = one.role.zip(other.role).is_some_and(|(one, other)| {
        one.contender == other.contender
            && one.configuration == other.configuration
            && one.purpose.is_of_capacity() == other.purpose.is_of_capacity()
            && one.purpose.is_of_tuning() == other.purpose.is_of_tuning()
    });
    is_same_role && one.seed == other.seed && one.conditions.rate == other.conditions.rate
}

/// The id of a trial that is proposed after so many have ended.
pub(crate) fn trial_id(spec: &TrialSpec, purpose: &str, ended: usize) -> String {
    let (engine, durability) = (&spec.engine, spec.durability);
    let (workers, repeat) = (spec.workers, spec.repeat);
    format!(
        "{:04}-{engine}-{durability}-w{workers}-{purpose}-r{repeat}",
        ended + 1
    )
}
