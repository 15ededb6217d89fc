//! The commands that search: the questions, the runs that are made for them, and their course.

pub mod capacity;
pub mod choice;
pub mod decision;
pub mod limits;
pub mod tuning;

use crate::built_in_plans::plan_or_workload;
use crate::failure::Failure;
use crate::output;
use crate::plan_overrides::PlanOverrides;
use crate::prepared_run::{self, PreparedRun};
use crate::repeats::parse_part;
use crate::resumed;
use crate::run_options::RunOptions;
use crate::run_request::RunRequest;
use crate::trust::Trust;
use crate::tuned_plan;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::process::ExitCode;
use std::time::Instant;
use trueput_findings::Run;
use trueput_findings::answer::Answer;
use trueput_findings::capacity::capacities;
use trueput_findings::choice::choice;
use trueput_findings::tuning::tuning;
use trueput_record::objective::Objective;
use trueput_record::parameter::resolve;
use trueput_record::plan::PlanFile;
use trueput_record::search::{
    CapacitySettings, DecisionSettings, SearchSettings, TuningPreset, TuningStrategy,
};
use trueput_record::trial::Proposal;
use trueput_record::trial_time::DEFAULT_DURATION_S;
use trueput_record::value::format_seconds;
use trueput_record::{TrialRecord, TrialSpec};
use trueput_runner::{Event, Registry};
use trueput_tuner::budget::BudgetShortage;
use trueput_tuner::search_of;

/// The request for a search, whose trials run once each.
///
/// # Errors
/// A usage error if it is no plan, has steps, or if an option has no use here.
pub fn request<'a>(
    target: &'a str,
    given: &'a RunOptions,
    trust: Trust,
    registry: &'a Registry,
) -> Result<RunRequest<'a>, Failure> {
    refuse_unused(&given.overrides)?;
    let plan = plan_or_workload(target, registry)?;
    let mut request = RunRequest::new(target, plan, given, registry)?;
    request.trust = trust;
    let plan = &mut request.plan;
    if !plan.steps.is_empty() {
        return Err(Failure::usage(format!(
            "'{target}' has steps; 'trueput ledger' runs them"
        )));
    }
    plan.repeat = 1;
    plan.conditions.duration_s.get_or_insert(DEFAULT_DURATION_S);
    Ok(request)
}

/// Refuses options that a search has no use for.
fn refuse_unused(overrides: &PlanOverrides) -> Result<(), Failure> {
    let given = [
        (overrides.repeat.is_some(), "--repeat"),
        (overrides.split_by.is_some(), "--split-by"),
        (overrides.include_assertions, "--include-assertions"),
    ];
    match given.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(Failure::usage(format!(
            "{option} has no effect on a search, which repeats its trials as it needs them and \
             makes no ranking: leave {option} out"
        ))),
        None => Ok(()),
    }
}

/// Refuses a plan that gives a rate.
///
/// # Errors
/// A usage error; `reason` says why not, and what to do.
fn refuse_rate(plan: &PlanFile, reason: &str) -> Result<(), Failure> {
    if plan.conditions.rate_per_s.iter().any(|&rate| rate > 0.0) {
        Err(Failure::usage(reason))
    } else {
        Ok(())
    }
}

/// The objective of the command line, or else the plan's.
///
/// # Errors
/// A usage error if neither states one; `example` shows how to.
fn objective(
    given: Option<&Objective>,
    request: &RunRequest<'_>,
    example: &str,
) -> Result<Objective, Failure> {
    let found = given.or(request.plan.objective.as_ref());
    found.cloned().ok_or_else(|| {
        Failure::usage(format!(
            "'{}' has no objective: give one, as in --objective '{example}'",
            request.target
        ))
    })
}

/// Refuses a plan without exactly one contender, whose knobs are to be tuned.
///
/// # Errors
/// A usage error if there is none, or several.
fn only_contender(trials: &[TrialSpec], target: &str) -> Result<(), Failure> {
    let instead = match trials {
        [_] => return Ok(()),
        _ => describe_differences(trials, ContenderDifference::Contenders),
    };
    let instead = instead.unwrap_or_else(|| {
        "name one engine, level and number of workers, as in --engine sqlite --durability sync \
         --workers 4"
            .to_owned()
    });
    let count = trials.len();
    Err(Failure::usage(format!(
        "'{target}' has {count} contenders: {instead}"
    )))
}

/// What may differ between trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContenderDifference {
    /// All: the engine and its knobs, too.
    Contenders,
    /// All but the engine and its knobs.
    Questions,
}

/// Says what has several values in these trials, so that one can be given; `None` if nothing has.
fn describe_differences(trials: &[TrialSpec], differing: ContenderDifference) -> Option<String> {
    const MAX_NAMED: usize = 4;
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (name, value) in trials.iter().flat_map(|spec| named_values(spec, differing)) {
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => found.push((name, vec![value])),
        }
    }
    found.retain(|(_, values)| values.len() > 1);
    let each = found.iter().map(|(name, values)| {
        let mut named = values.clone();
        named.truncate(MAX_NAMED);
        if named.len() < values.len() {
            named.push("...".to_owned());
        }
        format!("{name} ({})", named.join(", "))
    });
    let each: Vec<_> = each.collect();
    (!each.is_empty()).then(|| format!("give one value of {}", each.join(" and of ")))
}

/// What may differ of a trial, by name.
fn named_values(spec: &TrialSpec, differing: ContenderDifference) -> Vec<(String, String)> {
    let mut values = Vec::new();
    if differing == ContenderDifference::Contenders {
        values.push(("engine".to_owned(), spec.contender()));
    }
    values.push(("durability".to_owned(), spec.durability.to_string()));
    values.push(("workers".to_owned(), spec.workers.to_string()));
    let settings = spec.settings.iter();
    values.extend(settings.map(|(name, value)| (name.clone(), value.to_string())));
    if differing == ContenderDifference::Contenders {
        let knobs = spec.knobs.iter();
        let engine = &spec.engine;
        values.extend(knobs.map(|(name, value)| (format!("{engine}.{name}"), value.to_string())));
    }
    let conditions = spec.conditions.circumstances().into_iter();
    values.extend(conditions.map(|(name, value)| (name.to_owned(), value)));
    values
}

/// Refuses a trial whose requests come at times of their own, as those of a trace do: knobs do not
/// change its rate.
///
/// # Errors
/// A usage error that says what to do.
fn refuse_own_times(spec: &TrialSpec, target: &str, registry: &Registry) -> Result<(), Failure> {
    let workload = registry.workload(&spec.workload).map_err(Failure::usage)?;
    let settings = resolve(&spec.workload, workload.settings(), &spec.settings);
    let job = workload.job(&settings.map_err(Failure::usage)?, &spec.conditions);
    let job = job.map_err(Failure::usage)?;
    match job.scheduled_per_s() {
        Some(_) => Err(Failure::usage(format!(
            "the requests of '{target}' come at times of their own, whatever the knobs: make each \
             when the last has ended, by --set {}",
            job.closed_loop_setting()
        ))),
        None => Ok(()),
    }
}

/// Refuses a search that tries presets only and has none.
///
/// # Errors
/// A usage error that names the engine.
fn check_presets(
    strategy: TuningStrategy,
    presets: &[TuningPreset],
    first: &TrialSpec,
) -> Result<(), Failure> {
    let has_presets = presets.iter().any(|preset| !preset.settings.is_empty());
    if strategy == TuningStrategy::Presets && !has_presets {
        Err(Failure::usage(format!(
            "{engine} has no presets that this search may try: 'trueput knobs {engine}' lists \
             those that were published; --no-presets and the bounds of --search exclude some",
            engine = first.engine
        )))
    } else {
        Ok(())
    }
}

/// The failure for a budget that is too short for so many contenders. `or_else` is a way out beside
/// those that every search has, as in `, or --no-tuning`.
fn too_short(shortage: BudgetShortage, contenders: usize, or_else: &str) -> Failure {
    let (s, fewer) = match contenders {
        1 => ("", ""),
        _ => ("s", "fewer contenders, "),
    };
    let or = if or_else.is_empty() { "or " } else { "" };
    Failure::usage(format!(
        "a budget of {} is too short for {contenders} contender{s}: give {} or more, {fewer}{or}a \
         shorter --duration{or_else}",
        format_seconds(shortage.given_s),
        at_least(shortage.least_s)
    ))
}

/// The failure for a time that does not suffice for one repeat of so many trials.
fn too_short_for_repeat(given_s: f64, trials: usize, repeat_s: f64) -> Failure {
    let least_s = f64::from(DecisionSettings::MIN_REPEATS) * repeat_s;
    Failure::usage(format!(
        "--within {} is shorter than one repeat: its {trials} trials take at least {}, and a \
         verdict takes {} repeats: give {} or more, fewer engines, or a shorter --duration",
        format_seconds(given_s),
        at_least(repeat_s.ceil()),
        DecisionSettings::MIN_REPEATS,
        at_least(least_s.ceil())
    ))
}

/// Formats a least time for people: above two minutes in whole ones, rounded up so that the time is
/// enough.
fn at_least(seconds: f64) -> String {
    if seconds > 120.0 {
        format!("{}m", (seconds / 60.0).ceil())
    } else {
        format_seconds(seconds)
    }
}

/// Reads the precision of a search for a capacity.
///
/// # Errors
/// A usage error, if it is none.
pub fn parse_precision(text: &str) -> Result<f64, Failure> {
    let part = parse_part(text)?;
    let fits = CapacitySettings::PRECISION.contains(&part);
    fits.then_some(part)
        .ok_or_else(|| Failure::usage(format!("'{text}' is out of range: write 1% to 50%")))
}

/// Runs the trials that the search of a run proposes, then prints what it found, as JSON or as a
/// report.
///
/// # Errors
/// As a run; if the answer cannot be written.
pub fn carry_out(run: &PreparedRun<'_>) -> Result<ExitCode, Failure> {
    let manifest = &run.manifest;
    let engines = run.registry.engines_of(&manifest.trials);
    let search = search_of(manifest, &engines);
    let mut search = search.map_err(Failure::usage)?;
    let progress = RefCell::new(run.progress());
    let is_idle = Cell::new(false);
    let began = Instant::now();
    let source = &mut |ended: &[TrialRecord]| {
        let proposal = search.next(ended, began.elapsed().as_secs_f64());
        progress.borrow().show_news(&search.take_news());
        match proposal {
            Proposal::Trials(_) => is_idle.set(false),
            Proposal::End(_) => tuned_plan::write(run, ended),
        }
        Some(proposal)
    };
    let observer = &mut |event: &_| {
        if let Event::RunStarted { trials: 0, .. } = event {
            is_idle.set(true);
        }
        progress.borrow_mut().observe(event);
    };
    let summary = run.run_search(observer, source)?;
    let folder = run.folder.path();
    if summary.interrupted {
        let command = resumed::resume_command(&run.manifest, folder);
        output::note(&format!("continue it with: {command}"));
    } else if is_idle.get() {
        output::note(
            "nothing ran: the search has ended, or its next trial does not fit into the budget; \
             extend it with --budget",
        );
    }
    let written = if run.given.json {
        Run::load(folder)
            .map_err(Failure::from)
            .and_then(|loaded| output::json_lines(&found(&loaded).to_string()))
    } else {
        prepared_run::report(&run.folder, run.given.screen)
    };
    prepared_run::finish(&summary, written)
}

/// What a search found.
fn found(run: &Run) -> serde_json::Value {
    let (manifest, trials) = (&run.manifest, &run.trials);
    match &manifest.search {
        Some(SearchSettings::Capacity(_)) => json!({ "capacities": capacities(manifest, trials) }),
        Some(SearchSettings::Tuning(_)) => json!({ "tuning": tuning(manifest, trials) }),
        Some(SearchSettings::Choice(_)) => json!({ "choice": choice(manifest, trials) }),
        Some(SearchSettings::Decision(_)) => json!({ "rankings": Answer::of(run).rankings }),
        None => json!({}),
    }
}
