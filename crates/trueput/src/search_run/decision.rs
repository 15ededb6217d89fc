//! A run that repeats its trials until its rankings are decided.

use super::{found, too_short_for_repeat};
use crate::failure::Failure;
use crate::output;
use crate::prepared_run::{self, PreparedRun};
use crate::repeats::parse_budget;
use crate::run_request::RunRequest;
use clap::Args;
use std::cell::{Cell, RefCell};
use std::process::ExitCode;
use std::time::Instant;
use trueput_findings::Run;
use trueput_findings::eligibility::HARNESS_ENGINE;
use trueput_record::folder::MAX_TRIALS;
use trueput_record::plan::PlanFile;
use trueput_record::search::{DecisionSettings, EqualityMargin, SearchEnd, SearchSettings};
use trueput_record::skipped::SkippedPart;
use trueput_record::trial::Proposal;
use trueput_record::{RunManifest, TrialRecord, TrialSpec};
use trueput_runner::{Event, TimeEstimate};
use trueput_tuner::TrialSearch;
use trueput_tuner::decision::DecisionSearch;

/// The least time of a trial of which nothing is known, seconds: to start workers and verify.
const MIN_TRIAL_S: f64 = 0.1;

/// The options of a run that ends when its rankings are decided.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Repeats")]
pub struct DecisionOptions {
    /// Repeat until each ranking has a leader, or its contenders are equal within N %, at 95 %
    /// confidence; contenders that are led get no more repeats [default of N: the plan's, or the
    /// run's that is resumed, or 5]
    #[arg(long, value_name = "N%", num_args = 0..=1, require_equals = true,
        conflicts_with_all = ["repeat", "until", "budget"])]
    pub decide: Option<Option<EqualityMargin>>,
    /// Time limit for --decide, as in 3m; the run ends earlier if the repeats up to the next check
    /// of its results would not fit
    #[arg(long, value_name = "TIME", value_parser = parse_budget,
        conflicts_with_all = ["repeat", "until", "budget"])]
    pub within: Option<f64>,
}

impl DecisionOptions {
    /// The part within which contenders of a plan, or of a resumed run, are equal; `None` if their
    /// repeats are counted. `counts_repeats` says whether an option does.
    ///
    /// # Errors
    /// A usage error if there is a time for a decision, and none to be made.
    pub fn equal_within(
        self,
        stated: Option<EqualityMargin>,
        counts_repeats: bool,
    ) -> Result<Option<EqualityMargin>, Failure> {
        let found = match self.decide {
            Some(given) => Some(given.or(stated).unwrap_or_default()),
            None => stated.filter(|_| !counts_repeats),
        };
        if found.is_none() && self.within.is_some() {
            Err(Failure::usage(
                "--within needs --decide: give both, or limit plain repeats by --budget",
            ))
        } else {
            Ok(found)
        }
    }
}

/// Refuses a plan whose rankings are not of rates.
///
/// # Errors
/// A usage error.
pub fn check_plan(plan: &PlanFile, target: &str) -> Result<(), Failure> {
    if plan.conditions.rate_per_s.iter().any(|&rate| rate > 0.0) {
        return Err(Failure::usage(format!(
            "--decide compares rates, and the rate of '{target}' is given: count repeats, as in \
             --repeat 5, or remove the rate by --rate 0"
        )));
    }
    if !plan.steps.is_empty() {
        return Err(Failure::usage(format!(
            "'{target}' has steps; 'trueput ledger' runs them, with --repeat 5 in place of --decide"
        )));
    }
    Ok(())
}

/// Makes a run of the first repeat of a plan, which goes on until its rankings are decided.
///
/// # Errors
/// A usage error if nothing can be compared or the time is shorter than a repeat; as
/// [`RunRequest::create`].
pub fn create<'a>(
    equal_within: EqualityMargin,
    within_s: Option<f64>,
    request: RunRequest<'a>,
    trials: Vec<TrialSpec>,
    skipped: Vec<SkippedPart>,
) -> Result<PreparedRun<'a>, Failure> {
    let measured = trials.iter().filter(|spec| spec.engine != HARNESS_ENGINE);
    if measured.count() < 2 {
        return Err(Failure::usage(
            "--decide compares contenders, and there is only one: name another engine or knob, or \
             count repeats, as in --repeat 5",
        ));
    }
    let estimate = TimeEstimate::of(&trials, &request.options.results);
    let repeat_s = estimate.known_s + MIN_TRIAL_S * estimate.unknown as f64;
    if let Some(within_s) = within_s.filter(|&within_s| within_s < repeat_s) {
        return Err(too_short_for_repeat(within_s, trials.len(), repeat_s));
    }
    let settings = settings(equal_within, within_s, trials.len());
    let search = SearchSettings::Decision(settings);
    request.create(trials, skipped, Some(search))
}

/// The rule for so many cells: no run has more trials than its folder holds.
fn settings(equal_within: EqualityMargin, budget_s: Option<f64>, cells: usize) -> DecisionSettings {
    let fit = u32::try_from(MAX_TRIALS / cells.max(1)).unwrap_or(u32::MAX);
    DecisionSettings {
        equal_within: equal_within.part(),
        max_repeats: DecisionSettings::MAX_REPEATS
            .min(fit)
            .max(DecisionSettings::MIN_REPEATS),
        early_look: Some(DecisionSettings::EARLY_LOOK),
        budget_s,
    }
}

/// Has a resumed run end when its rankings are decided: what it has counts as its first repeats.
///
/// # Errors
/// A usage error if its rankings are not of rates, or if it decides by another difference; if its
/// manifest cannot be written.
pub fn decide(
    run: &mut PreparedRun<'_>,
    equal_within: EqualityMargin,
    within_s: Option<f64>,
) -> Result<(), Failure> {
    let _lock = run.folder.lock()?;
    let manifest = &mut run.manifest;
    if let Some(settings) = manifest.decision() {
        let stated = settings.equal_within();
        if stated != equal_within {
            return Err(Failure::usage(format!(
                "this run decides within {stated}, and its verdicts depend on that: leave out the \
                 number"
            )));
        }
    } else {
        check_trials(manifest)?;
        let ended = run.folder.trials()?.trials;
        begin(manifest, equal_within, within_s, &ended);
        run.options.until = None;
    }
    // Before anything runs, so that an interrupted run goes on by this rule.
    Ok(run.folder.extend(manifest)?)
}

/// Gives a run with a number of repeats the rule of a decision.
fn begin(
    manifest: &mut RunManifest,
    equal_within: EqualityMargin,
    within_s: Option<f64>,
    ended: &[TrialRecord],
) {
    let last = ended.iter().map(|trial| trial.spec.repeat).max();
    let trials = &mut manifest.trials;
    trials.retain(|spec| spec.repeat <= last.unwrap_or(1));
    let cells = trials.iter().filter(|spec| spec.repeat == 1).count();
    manifest.until = None;
    let settings = settings(equal_within, within_s, cells);
    manifest.search = Some(SearchSettings::Decision(settings));
}

fn check_trials(manifest: &RunManifest) -> Result<(), Failure> {
    let is_other = |spec: &TrialSpec| spec.conditions.rate.is_some() || spec.step.is_some();
    if manifest.trials.iter().any(is_other) {
        Err(Failure::usage(
            "--decide compares rates of closed loops: it has no use for trials at a rate or with \
             steps",
        ))
    } else {
        Ok(())
    }
}

/// Runs repeats until every ranking is decided, or the time is up, and ends with the answer.
///
/// # Errors
/// As a run; if the answer cannot be written.
pub fn carry_out(run: &PreparedRun<'_>) -> Result<ExitCode, Failure> {
    let (manifest, folder) = (&run.manifest, run.folder.path());
    let Some(settings) = manifest.decision() else {
        return run.run();
    };
    let mut search = DecisionSearch::new(*settings, manifest);
    let progress = RefCell::new(run.ranked_progress()?);
    let began = Instant::now();
    let is_out_of_time = Cell::new(false);
    let source = &mut |ended: &[TrialRecord]| {
        let proposal = search.next(ended, began.elapsed().as_secs_f64());
        match &proposal {
            Proposal::Trials(trials) => progress.borrow_mut().add_trials(trials),
            Proposal::End(end) => is_out_of_time.set(*end == SearchEnd::TimeUp),
        }
        Some(proposal)
    };
    let runs = Cell::new(0);
    let observer = &mut |event: &_| {
        if let Event::TrialStarted { .. } = event {
            runs.set(runs.get() + 1);
        }
        progress.borrow_mut().observe(event);
    };
    let summary = run.run_search(observer, source)?;
    if runs.get() == 0 && is_out_of_time.get() {
        output::note(
            "nothing ran: the repeats up to the next check of the results do not fit into the \
             time; give more by --within",
        );
    }
    let written = if run.given.json {
        let loaded = Run::load(folder).map_err(Failure::from);
        loaded.and_then(|loaded| output::json_lines(&found(&loaded).to_string()))
    } else {
        prepared_run::report(&run.folder, run.given.screen)
    };
    prepared_run::finish(&summary, written)
}
