//! `trueput capacity`: the highest rate at which each contender keeps an objective.

use crate::execute;
use crate::failure::{EXIT_CODES, Failure};
use crate::output;
use crate::plan_overrides::{PlanOverrides, RunDirectories};
use crate::progress::Progress;
use crate::repeats::parse_part;
use crate::screen::Screen;
use crate::search_clock::SearchClock;
use crate::search_run::{self, OVERHEAD_S, USUAL_DURATION_S};
use crate::trust::Trust;
use clap::Args;
use std::cell::RefCell;
use std::process::ExitCode;
use trueput_findings::Run;
use trueput_findings::capacity::{Capacity, capacities, capacity};
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::objective::Objective;
use trueput_record::search::{CapacitySettings, SearchSettings, TrialPurpose, TrialRole};
use trueput_record::value::{format_seconds, parse_seconds};
use trueput_record::{RunFolder, RunManifest, TrialRecord, TrialSpec};
use trueput_runner::{Options, Registry, matrix};
use trueput_tuner::capacity::{
    FEWEST_TRIALS, NextProbe, USUAL_TRIALS, next_probe, trial_duration_s,
};

const EXAMPLES: &str = "\
Examples:
  trueput capacity ycsb --engine lmdb,rocksdb,sqlite --durability sync --workers 8 \\
      --objective 'p99<5ms'
  trueput capacity ycsb --engine postgresql --workers 8 --objective 'p50<1ms,p99.9<50ms,errors<0.1%'
  trueput capacity plans/ycsb.toml --engine present --durability sync --set workload=a \\
      --objective 'p99<5ms' --budget 20m
  trueput capacity --resume results/20261126T101500Z-ycsb

An objective is a list of METRIC<LIMIT. A metric is mean, p50, p90, p99, p99.9 or max of the \
response times, which count from when a request was due, or errors: conflicts and deadlocks, which \
the workload retries, as a share of the requests. Each kind of request must keep the limits, and \
requests must not pile up. docs/CAPACITY.md describes the search.";

/// The arguments of `trueput capacity`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Arguments {
    /// A plan file, a built-in plan or a workload
    #[arg(value_name = "PLAN|WORKLOAD", required_unless_present = "resume")]
    what: Option<String>,
    /// What must hold, as in 'p99<5ms' or 'p50<1ms,p99.9<50ms,errors<0.1%'
    /// [default: the plan's]
    #[arg(long, value_name = "LIMITS")]
    objective: Option<Objective>,
    /// Time for all contenders together, as in 10m [default: enough for 16 trials of each]
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    budget: Option<f64>,
    /// Stop when the lowest rate that fails is at most this much above the highest that holds
    #[arg(long, value_name = "FRACTION", value_parser = parse_precision, default_value = "5%")]
    precision: f64,
    /// Trials that confirm the rate; each must keep the objective
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    confirmations: u32,
    /// Continue an interrupted search, with a new time budget
    #[arg(long, value_name = "RUN", conflicts_with_all = ["what", "objective"])]
    resume: Option<std::path::PathBuf>,
    /// Write each event as one line of JSON to standard output, the capacities last
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    screen: Screen,
    #[command(flatten)]
    overrides: PlanOverrides,
    #[command(flatten)]
    places: RunDirectories,
    #[command(flatten)]
    trust: Trust,
}

/// Reads the precision of the search.
fn parse_precision(text: &str) -> Result<f64, String> {
    let part = parse_part(text)?;
    let fits = (0.01..=0.5).contains(&part);
    fits.then_some(part)
        .ok_or_else(|| format!("'{text}' is out of range: write 1% to 50%"))
}

/// Runs the search and prints the capacities.
///
/// # Errors
/// A usage error for an invalid plan, objective, budget or folder, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let mut options = execute::options(&arguments.places)?;
    options.host_access = arguments.overrides.host_options.access();
    let (folder, manifest) = match &arguments.resume {
        Some(path) => resume(path, arguments)?,
        None => create(arguments, &mut options, registry)?,
    };
    execute::print_build_warnings(&manifest, registry);
    let Some(SearchSettings::Capacity(settings)) = &manifest.search else {
        let path = folder.path().display();
        return Err(Failure::usage(format!(
            "{path} is not a search for capacity"
        )));
    };
    let progress = RefCell::new(match arguments.json {
        true => Progress::json(),
        false => Progress::for_people(),
    });
    let search = CapacitySearch::new(settings, &manifest);
    let mut clock = SearchClock::new(settings.budget_s);
    let source = &mut |ended: &[TrialRecord]| {
        progress.borrow().say_all(search.last_result(ended));
        search.next(ended, &mut clock).into_iter().collect()
    };
    let observer = &mut |event: &_| progress.borrow_mut().observe(event);
    let summary =
        trueput_runner::run_search(&folder, &manifest, registry, &options, observer, source)?;
    execute::finish(&summary, write_answer(&folder, arguments))
}

fn write_answer(folder: &RunFolder, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.json {
        let run = Run::load(folder.path())?;
        let found = capacities(&run.manifest, &run.trials);
        let document = serde_json::json!({ "capacities": found });
        return output::json_lines(&document.to_string());
    }
    execute::report(folder, arguments.screen)
}

fn resume(
    path: &std::path::Path,
    arguments: &Arguments,
) -> Result<(RunFolder, RunManifest), Failure> {
    let opened = search_run::open(path, &arguments.places, arguments.trust)?;
    let (folder, mut manifest) = opened;
    if let (Some(SearchSettings::Capacity(settings)), Some(budget_s)) =
        (&mut manifest.search, arguments.budget)
    {
        settings.budget_s = budget_s;
    }
    Ok((folder, manifest))
}

fn create(
    arguments: &Arguments,
    options: &mut Options,
    registry: &Registry,
) -> Result<(RunFolder, RunManifest), Failure> {
    let what = arguments.what.as_deref().unwrap_or_default();
    let instead = "remove it, for this command is to find it";
    let (overrides, trust) = (&arguments.overrides, arguments.trust);
    let mut plan = search_run::read_plan(what, overrides, trust, instead, registry)?;
    let arrival = std::mem::take(&mut plan.conditions.arrival);
    let mut matrix = matrix::expand(&plan, registry)?;
    matrix.leave_out_unreachable(&plan, arguments.places.databases(), registry)?;
    options.credentials = matrix.credentials;
    let mut trials = matrix.trials;
    for (contender, spec) in (0..).zip(&mut trials) {
        spec.role = Some(TrialRole {
            contender,
            purpose: TrialPurpose::ClosedLoop,
            configuration: None,
        });
    }
    let given = arguments.objective.clone().or(plan.objective);
    let objective = given.ok_or_else(|| {
        Failure::usage(format!(
            "'{what}' has no objective: give one, as in --objective 'p99<5ms'"
        ))
    })?;
    let settings = CapacitySettings {
        objective,
        precision: arguments.precision,
        confirmations: arguments.confirmations,
        budget_s: budget_s(arguments.budget, &trials)?,
        arrival,
    };
    let open: Vec<_> = trials
        .iter()
        .map(|spec| open_loop(spec, 1.0, arrival))
        .collect();
    let results = &arguments.places.results;
    trueput_runner::check_proposals(&open, results, options, registry)?;
    output::note(&format!(
        "{} contender{}, at most {}",
        trials.len(),
        if trials.len() == 1 { "" } else { "s" },
        format_seconds(settings.budget_s)
    ));
    options.search = Some(SearchSettings::Capacity(settings));
    Ok(trueput_runner::create_run(
        &plan.name,
        &plan.about,
        trials,
        matrix.skipped,
        results,
        options,
        registry,
        execute::command_line(),
    )?)
}

/// The budget, and whether it suffices.
fn budget_s(given_s: Option<f64>, trials: &[TrialSpec]) -> Result<f64, Failure> {
    let of_trial = |spec: &TrialSpec| {
        let conditions = &spec.conditions;
        conditions.duration_s.unwrap_or(USUAL_DURATION_S) + conditions.warm_up_s + OVERHEAD_S
    };
    let one_each_s: f64 = trials.iter().map(of_trial).sum();
    let least_s = (one_each_s * f64::from(FEWEST_TRIALS)).ceil();
    match given_s {
        None => Ok((one_each_s * f64::from(USUAL_TRIALS)).ceil()),
        Some(given_s) if given_s >= least_s => Ok(given_s),
        Some(given_s) => Err(Failure::usage(format!(
            "a budget of {} is too short for {} contenders: give {} or more, fewer contenders, or \
             a shorter --duration",
            format_seconds(given_s),
            trials.len(),
            format_seconds(least_s)
        ))),
    }
}

/// A contender's trial in open loop.
fn open_loop(closed: &TrialSpec, per_s: f64, arrival: Arrival) -> TrialSpec {
    let mut spec = closed.clone();
    spec.conditions.rate = Some(Rate { per_s, arrival });
    spec
}

/// The search: which trial comes next.
struct CapacitySearch<'a> {
    settings: &'a CapacitySettings,
    /// The trial in closed loop of each contender.
    contenders: Vec<&'a TrialSpec>,
}

impl<'a> CapacitySearch<'a> {
    fn new(settings: &'a CapacitySettings, manifest: &'a RunManifest) -> Self {
        let trials = manifest.trials.iter();
        let is_first = |spec: &&TrialSpec| {
            spec.role
                .is_some_and(|role| role.purpose == TrialPurpose::ClosedLoop)
        };
        Self {
            settings,
            contenders: trials.filter(is_first).collect(),
        }
    }

    fn capacity(&self, contender: usize, ended: &[TrialRecord]) -> Capacity {
        let number = u32::try_from(contender).unwrap_or(u32::MAX);
        capacity(number, self.contenders[contender], self.settings, ended)
    }

    /// The next trial: of the first contender whose search has not ended, as long as there is time
    /// for it.
    fn next(&self, ended: &[TrialRecord], clock: &mut SearchClock) -> Option<TrialSpec> {
        (0..self.contenders.len()).find_map(|contender| {
            let found = self.capacity(contender, ended);
            let probe = next_probe(&found, self.settings)?;
            let left = self.contenders.len() - contender;
            let has_time = clock.has_time_for(contender, left);
            has_time.then(|| self.spec(contender, probe, ended))
        })
    }

    fn spec(&self, contender: usize, probe: NextProbe, ended: &[TrialRecord]) -> TrialSpec {
        let closed = self.contenders[contender];
        let mut spec = open_loop(closed, probe.rate_per_s, self.settings.arrival);
        let usual_s = closed.conditions.duration_s.unwrap_or(USUAL_DURATION_S);
        let duration_s = trial_duration_s(probe.rate_per_s, usual_s, &self.settings.objective);
        spec.conditions.duration_s = Some(duration_s);
        let is_repeat = |trial: &&TrialRecord| {
            let of_contender = |role: TrialRole| role.contender as usize == contender;
            trial.spec.role.is_some_and(of_contender)
                && trial.spec.conditions.rate == spec.conditions.rate
        };
        let mut repeats = ended.iter().filter(is_repeat).map(|trial| &trial.spec);
        let number = ended.len();
        (spec.cell, spec.repeat) = match repeats.next_back() {
            Some(last) => (last.cell, last.repeat + 1),
            None => (u32::try_from(number).unwrap_or(u32::MAX), 1),
        };
        spec.id = format!(
            "{:04}-{}-{}-w{}-{}-r{}",
            number + 1,
            spec.engine,
            spec.durability,
            spec.workers,
            probe.rate_per_s,
            spec.repeat
        );
        spec.role = closed.role.map(|role| TrialRole {
            purpose: probe.purpose,
            ..role
        });
        spec
    }

    /// The result of the last trial, in a line; none before the first.
    fn last_result(&self, ended: &[TrialRecord]) -> Vec<String> {
        let last = ended.last().and_then(|trial| trial.spec.role);
        let Some(role) = last else {
            return Vec::new();
        };
        let found = self.capacity(role.contender as usize, ended);
        trueput_report::last_probe(&found).into_iter().collect()
    }
}
