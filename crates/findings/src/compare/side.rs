//! One side of a comparison: a run, or some of its trials.

use super::error::{AbsenceReason, Error, NoSuchTrial};
use super::select::Selector;
use super::uncounted::{BrokenResult, UncountedRecord, UnreadableLine};
use crate::contender::ContenderNames;
use crate::eligibility::rate;
use crate::eligibility::{LastAttempts, headline, ineligibility};
use crate::marks::{Mark, MarkedName, marks_of};
use crate::rankings::left_out_trials;
use crate::{Run, fixed_rate};
use std::collections::BTreeSet;
use std::path::Path;
use trueput_record::{TrialRecord, TrialSpec};

/// One side of a comparison: a run, or some of its trials.
#[derive(Debug, Clone)]
pub struct Side {
    /// Its label, as the user typed it.
    pub label: String,
    /// The run.
    pub report: Run,
    /// The selector of its trials.
    pub selector: Selector,
}

/// The trials of one contender under one set of circumstances.
#[derive(Debug, Clone)]
pub struct SideCell<'a> {
    /// The specification of its first trial, which the others share.
    pub spec: &'a TrialSpec,
    /// The contender's name on this side.
    pub name: String,
    /// The kind of operation whose rate is compared.
    pub headline: String,
    /// The valid trials, in the order of their repeats.
    pub trials: Vec<&'a TrialRecord>,
    /// Whether builds with assertions may be compared with others, as the run's user requested.
    pub include_assertions: bool,
}

impl SideCell<'_> {
    /// Marks of the contender, shown wherever it is named.
    pub fn marks(&self) -> Vec<Mark> {
        marks_of(self.trials.iter().copied())
    }

    /// The contender's name with its marks.
    pub fn marked(&self) -> MarkedName {
        MarkedName {
            name: self.name.clone(),
            marks: self.marks(),
        }
    }

    /// Whether each of its repeats is an open loop that started every unit that was due.
    pub fn kept_rate(&self) -> bool {
        fixed_rate::all_kept(&self.trials)
    }

    /// The rates of the headline operation, per second.
    pub fn rates(&self) -> Vec<f64> {
        self.trials
            .iter()
            .filter_map(|trial| rate(trial, &self.headline))
            .collect()
    }
}

impl Side {
    /// Splits `RUN` or `RUN:WORDS` into the run and the selector. An existing path with a colon is
    /// taken whole.
    ///
    /// # Errors
    /// As [`Selector::parse`].
    pub fn split(text: &str) -> Result<(&str, Selector), Error> {
        if Path::new(text).exists() {
            return Ok((text, Selector::default()));
        }
        // Words may have colons too, as in filesystem=ext4:mount=noatime.
        let mut parts = text.rmatch_indices(':');
        let run = parts.find(|(place, _)| Path::new(&text[..*place]).exists());
        match run {
            Some((place, _)) => Ok((&text[..place], Selector::parse(&text[place + 1..])?)),
            None => Ok((text, Selector::default())),
        }
    }

    /// A run that was read already, or some of its trials.
    ///
    /// # Errors
    /// [`NoSuchTrial`] if no trial matches.
    pub fn new(label: &str, report: Run, selector: Selector) -> Result<Self, NoSuchTrial> {
        let selector = selector.within(&report);
        let side = Self {
            label: label.to_owned(),
            report,
            selector,
        };
        let trials = &side.report.trials;
        let reason = if trials.is_empty() {
            AbsenceReason::NothingFinished
        } else if trials.iter().any(|trial| side.selector.admits(&trial.spec)) {
            return Ok(side);
        } else {
            side.selector.explain(&side.report)
        };
        let run = side.report.shown_as;
        Err(NoSuchTrial { run, reason })
    }

    /// Refuses a word that could mean several contenders of the run.
    ///
    /// # Errors
    /// [`Error::Ambiguous`], with the contenders.
    pub(super) fn require_one_contender(&self) -> Result<(), Error> {
        let specs = self.report.trials.iter().map(|trial| &trial.spec);
        match self.selector.candidates(specs) {
            None => Ok(()),
            Some((word, candidates)) => Err(Error::Ambiguous {
                run: self.report.shown_as.clone(),
                word: word.to_owned(),
                candidates,
            }),
        }
    }

    /// The ids of its trials, which show whether two sides of one run are the same.
    pub(super) fn ids(&self) -> Vec<&str> {
        let selected = self.selected_trials().into_iter();
        selected.map(|trial| trial.spec.id.as_str()).collect()
    }

    /// The contenders of its trials, whether these count or not, with commas between them.
    pub(super) fn contenders(&self) -> String {
        let selected = self.selected_trials().into_iter();
        let names: BTreeSet<_> = selected.map(|trial| trial.spec.contender()).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }

    fn selected_trials(&self) -> Vec<&TrialRecord> {
        let trials = &self.report.trials;
        let selected = trials
            .iter()
            .filter(|trial| self.selector.admits(&trial.spec));
        let attempts = LastAttempts::of(trials);
        selected
            .filter(|trial| !attempts.supersede(trial))
            .collect()
    }

    /// Returns the cells with at least one valid trial. Trials that differ only in their number are
    /// repeats of each other, whatever cells the plan gave them. Where a run decides, the repeats
    /// that it leaves out do not count here either.
    pub fn cells(&self) -> Vec<SideCell<'_>> {
        let selected = self.selected_trials();
        let names = ContenderNames::of(&selected);
        let left_out = left_out_trials(&self.report.manifest, &self.report.trials);
        let mut cells: Vec<SideCell<'_>> = Vec::new();
        for trial in &selected {
            let headline = self.headline(trial);
            let is_left_out = left_out.contains(trial.spec.id.as_str());
            if is_left_out || ineligibility(trial, &headline).is_some() {
                continue;
            }
            match cells
                .iter_mut()
                .find(|cell| repeats(cell.spec, &trial.spec))
            {
                Some(cell) => cell.trials.push(trial),
                None => cells.push(SideCell {
                    spec: &trial.spec,
                    name: names.name(&trial.spec),
                    headline,
                    trials: vec![trial],
                    include_assertions: self.report.manifest.include_assertions,
                }),
            }
        }
        for cell in &mut cells {
            cell.trials.sort_by_key(|trial| trial.spec.repeat);
        }
        cells
    }

    /// The lines that cannot be read, and the trials that do not count.
    pub(super) fn uncounted(&self) -> Vec<UncountedRecord> {
        let selected = self.selected_trials();
        let trials = selected.iter().filter_map(|trial| {
            Some(UncountedRecord::Trial {
                run: self.label.clone(),
                id: trial.spec.id.clone(),
                reason: ineligibility(trial, &self.headline(trial))?,
            })
        });
        let lines = UnreadableLine::all(&self.label, &self.report.damaged);
        lines.map(UncountedRecord::Line).chain(trials).collect()
    }

    /// The failed trials of a cell: a gate must not pass a crash.
    pub(super) fn broken(&self, of: &TrialSpec) -> Vec<BrokenResult> {
        let mut selected = self.selected_trials();
        selected.retain(|trial| repeats(of, &trial.spec));
        let broken = selected.iter().filter_map(|trial| {
            let reason = ineligibility(trial, &self.headline(trial))?;
            let id = trial.spec.id.clone();
            reason
                .status()
                .is_bad()
                .then_some(BrokenResult::Trial { id, reason })
        });
        broken.collect()
    }

    /// The headline operation of a trial's workload on this side.
    fn headline(&self, trial: &TrialRecord) -> String {
        let mut of_workload = self.selected_trials();
        of_workload.retain(|other| other.spec.workload == trial.spec.workload);
        headline(&self.report.manifest, &of_workload)
    }

    pub(super) fn nothing_counts(&self) -> Error {
        let run = self.report.shown_as.clone();
        let reason = AbsenceReason::NothingCounts(self.uncounted());
        NoSuchTrial { run, reason }.into()
    }
}

/// Whether two trials differ in nothing but their number and their turn.
fn repeats(one: &TrialSpec, other: &TrialSpec) -> bool {
    one.workload == other.workload
        && one.settings == other.settings
        && one.engine == other.engine
        && one.build == other.build
        && one.durability == other.durability
        && one.knobs == other.knobs
        && one.workers == other.workers
        && one.worker_kind == other.worker_kind
        && one.conditions == other.conditions
}
