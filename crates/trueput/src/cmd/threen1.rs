//! `trueput threen1`: solves the problems of the original 3n+1 benchmark from standard input, and
//! prints the original's line for each.

mod resume;

use crate::failure::{EXIT_CODES, Failure};
use crate::output;
use crate::plan_overrides::{
    KnobSetting, PlanOverrides, RunDirectories, Setting, WorkerChoice, parse_knob,
};
use crate::prepared_run::{self, PreparedRun};
use crate::progress::Progress;
use crate::repeats::{self, Repeats};
use crate::run_options::RunOptions;
use crate::run_request::RunRequest;
use crate::screen::Screen;
use clap::Args;
use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use trueput_engine::Engine;
use trueput_findings::threen1::Threen1Line;
use trueput_record::plan::{Contender, PlanFile};
use trueput_record::text::decode_utf8;
use trueput_record::{Durability, Outcome, RunFolder, TrialRecord, TrialSpec, VerifyLevel};
use trueput_report::{threen1_header, threen1_line};
use trueput_runner::{Event, Registry, matrix};
use trueput_workloads::threen1::{InputLine, parse_lines};

const WORKLOAD: &str = "threen1";

const EXAMPLES: &str = "\
Input: one problem per line: start finish [workers [block]]. Default: two workers per core, and \
one block per worker.

Examples:
  echo '1 100000 4 5000' | trueput threen1
  trueput threen1 --engine sqlite --durability process < problems.txt
  echo '1 1000000 4 50000' | trueput threen1 --commit per-start --keys words
  echo '1 10000000 4 50000' | trueput threen1 --resume     # continues a killed run";

/// The arguments of `trueput threen1`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Arguments {
    /// Engine
    #[arg(long, value_name = "ENGINE", default_value = "lmdb")]
    engine: String,
    /// Durability level [default: the first of process, async, sync, none that the engine supports]
    #[arg(long, value_name = "LEVEL")]
    durability: Option<Durability>,
    /// What one commit contains: per-store, per-start, per-block [default: per-store]
    #[arg(long, value_name = "WHEN")]
    commit: Option<String>,
    /// Encoding of keys and values: integers, words [default: integers]
    #[arg(long, value_name = "HOW")]
    keys: Option<String>,
    /// Set a knob of the engine (see 'trueput knobs ENGINE')
    #[arg(long = "knob", value_name = "ENGINE.NAME=VALUE", value_parser = parse_knob)]
    knobs: Vec<KnobSetting>,
    /// Run workers as processes or threads [default: processes if several can open its
    /// database]
    #[arg(long, value_name = "KIND", value_enum)]
    worker_kind: Option<WorkerChoice>,
    /// How much to verify after each problem: full, sample (a tenth of the records), off
    #[arg(long, value_name = "LEVEL", default_value = "full")]
    verify: VerifyLevel,
    /// Continue the newest unfinished run of the same command and input
    #[arg(long)]
    resume: bool,
    /// Write one line of JSON per problem
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    screen: Screen,
    #[command(flatten)]
    repeats: Repeats,
    #[command(flatten)]
    directories: RunDirectories,
}

/// Solves the problems.
///
/// # Errors
/// A usage error for bad input, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let contender = Contender::parse(&arguments.engine);
    let contender = registry.named(&contender).map_err(Failure::usage)?;
    let build = contender.build.as_deref();
    let engine = registry.engine_of(&contender.engine, build);
    let engine = engine.map_err(Failure::usage)?;
    let problems = problems(&standard_input()?)?;
    let given = run_options(arguments, engine, problems.len());
    let run = prepare(arguments, &given, &problems, registry)?;
    let format = if arguments.json {
        LineFormat::Json
    } else {
        LineFormat::Words(arguments.screen.columns())
    };
    if let LineFormat::Words(columns) = format {
        threen1_header(columns).map_or(Ok(()), |header| output::line(&header))?;
    }
    for record in solved_before(&run.folder)? {
        print_line(&record, format)?;
    }
    let mut progress = Progress::for_people();
    let summary = run.run_trials(&mut |event| {
        progress.observe(event);
        if let Event::TrialEnded { record } = event {
            // Whoever read the lines may have gone: the run and its folder matter more.
            let _ = progress.with_hidden_bar(|| print_line(record, format));
        }
    })?;
    let written = repeats::print_stop_reason(&run.folder).and_then(|()| match format {
        LineFormat::Json => {
            output::note(&format!("run folder: {}", run.folder.path().display()));
            Ok(())
        }
        LineFormat::Words(_) => {
            output::line("").and_then(|()| prepared_run::report(&run.folder, arguments.screen))
        }
    });
    if summary.interrupted || summary.failed > 0 {
        output::note("to continue: the same command and input with --resume");
    }
    prepared_run::finish(&summary, written)
}

/// The problems that an earlier part of a resumed run has solved.
fn solved_before(folder: &RunFolder) -> Result<Vec<TrialRecord>, Failure> {
    let stored = folder.trials()?.trials;
    let solved =
        |record: &TrialRecord| matches!(record.outcome, Outcome::Valid | Outcome::Invalid { .. });
    Ok(stored.into_iter().filter(solved).collect())
}

/// The format of a problem's line.
#[derive(Clone, Copy)]
enum LineFormat {
    /// A line of JSON.
    Json,
    /// For people, in this many columns.
    Words(usize),
}

/// Prints the problem's line. A problem without answers (a failed trial, the null engine) has none:
/// the progress on standard error says how it ended.
fn print_line(record: &TrialRecord, how: LineFormat) -> Result<(), Failure> {
    match how {
        LineFormat::Json => {
            let line = Threen1Line::of(record).and_then(|line| serde_json::to_string(&line).ok());
            line.map_or(Ok(()), |line| output::json_lines(&line))
        }
        LineFormat::Words(columns) => {
            threen1_line(record, columns).map_or(Ok(()), |line| output::line(&line))
        }
    }
}

fn standard_input() -> Result<String, Failure> {
    let mut input = std::io::stdin().lock();
    if input.is_terminal() {
        output::note("reading problems, 'start finish [workers [block]]', until Ctrl-D");
    }
    let mut text = Vec::new();
    let read = input.read_to_end(&mut text);
    read.map_err(|error| Failure::Usage(format!("standard input: {error}")))?;
    let text = decode_utf8(&text);
    let text = text.map_err(|error| Failure::Usage(format!("standard input: {error}")))?;
    Ok(text.to_owned())
}

fn problems(input: &str) -> Result<Vec<InputLine>, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let problems = parse_lines(input, u32::try_from(cores).unwrap_or(1))
        .map_err(|error| Failure::Usage(format!("standard input, {error}")))?;
    if problems.is_empty() {
        let message = "standard input has no problem: write lines of 'start finish [workers \
            [block]]'";
        return Err(Failure::usage(message));
    }
    Ok(problems)
}

/// The run of the problems, or the unfinished one that has them.
fn prepare<'a>(
    arguments: &Arguments,
    given: &'a RunOptions,
    problems: &[InputLine],
    registry: &'a Registry,
) -> Result<PreparedRun<'a>, Failure> {
    let plan = PlanFile::for_workload(WORKLOAD);
    let mut request = RunRequest::new(WORKLOAD, plan, given, registry)?;
    request.plan.about = "3n+1 problems from standard input".to_owned();
    request.repeats = arguments.repeats;
    request.options.keep_unfinished = true;
    request.options.resume_databases = arguments.resume;
    let trials = trials(&mut request, problems)?;
    if !arguments.resume {
        return request.create(trials, Vec::new(), None);
    }
    let places = &given.places;
    let (folder, manifest) = resume::unfinished(&places.results, &trials, places.work.as_deref())?;
    Ok(PreparedRun {
        folder,
        manifest,
        options: request.options,
        registry,
        given,
    })
}

fn trials(request: &mut RunRequest<'_>, problems: &[InputLine]) -> Result<Vec<TrialSpec>, Failure> {
    let mut trials = Vec::new();
    for (cell, line) in (0..).zip(problems) {
        let settings = line.settings().into_iter();
        let settings = settings.map(|(name, value)| (name, vec![value]));
        request.plan.settings.extend(settings);
        request.plan.workers = vec![line.workers];
        let expanded = request.expand()?.trials.into_iter();
        trials.extend(expanded.map(|spec| TrialSpec { cell, ..spec }));
    }
    // All problems once, then all again, in the order of the trials of every plan.
    trials.sort_by_key(|spec| spec.repeat);
    matrix::name_trials(&mut trials);
    Ok(trials)
}

/// The options of a run of so many problems.
fn run_options(arguments: &Arguments, engine: &dyn Engine, problems: usize) -> RunOptions {
    let level = arguments.durability;
    let named = [("commit", &arguments.commit), ("keys", &arguments.keys)];
    let settings = named.into_iter().filter_map(|(name, given)| {
        Some(Setting {
            name: name.to_owned(),
            values: vec![given.as_deref()?.into()],
        })
    });
    let repeats = arguments.repeats;
    RunOptions {
        json: arguments.json,
        screen: arguments.screen,
        overrides: PlanOverrides {
            engine: vec![arguments.engine.clone()],
            durability: vec![level.unwrap_or_else(|| default_durability(engine))],
            worker_kind: arguments.worker_kind,
            repeat: repeats.are_automatic().then(|| repeats.most(problems)),
            settings: settings.collect(),
            knobs: arguments.knobs.clone(),
            verify: Some(arguments.verify),
            ..PlanOverrides::default()
        },
        places: arguments.directories.clone(),
    }
}

/// The cheapest level at which killed processes lose no commits, as the original benchmark
/// requires; `none` for an engine without such a level.
fn default_durability(engine: &dyn Engine) -> Durability {
    let offered = |level: &Durability| engine.promise(*level).is_some();
    let levels = [
        Durability::Process,
        Durability::Async,
        Durability::Sync,
        Durability::None,
    ];
    levels.into_iter().find(offered).unwrap_or(Durability::Sync)
}
