//! `trueput check`: puts engines through the conformance suite, which every trial relies on, and
//! through the anomaly suite, which verifies the isolation that each states. With `--history` it
//! checks histories of random transactions instead.

mod anomalies;
mod histories;
mod process;
mod reconnection;
mod subject;

use crate::cmd::engines;
use crate::failure::{FAILED, Failure, INTERRUPTED};
use crate::named_engine::find_engine;
use crate::output;
use crate::plan_overrides::{KnobSetting, Setting, parse_knob};
use crate::signals::{ending_at_once, stop_flag};
use clap::Args;
use histories::{MODELS, check_history};
use process::{CheckingProcess, supervise};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use subject::Subject;
use trueput_engine::parameter::resolve;
use trueput_engine::{Durability, Engine, conformance, isolation, panics};
use trueput_record::measurement::Check;
use trueput_record::value::Settings;
use trueput_runner::Registry;

/// How long the suites of an engine at a level may take.
const LIMIT: Duration = Duration::from_secs(600);

const EXAMPLES: &str = "\
Examples:
  trueput check
  trueput check lmdb sqlite --durability sync
  trueput check postgresql --isolation
  trueput check lmdb sqlite --history                     # histories of random transactions
  trueput check postgresql-cluster --cluster              # the same while nodes fail
  trueput check sqlite@build/libsqlite3.so                # your own build of an engine
  trueput check rocksdb --knob rocksdb.transactions=batch --verbose

Engines are checked in a process of their own: one that ends it, or does not end within 10 min at a
level, has failed, and the next one is checked.

Ctrl-C ends a history at once, and a suite when it is done. Another, a second later or more, ends \
the program at once.

Exit codes:
  0    every check passed
  1    a check failed, or another error occurred
  2    bad input
  130  interrupted by Ctrl-C or SIGTERM";

/// The arguments of `trueput check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Engines, each perhaps with a build, ENGINE@LIBRARY or ENGINE@ADDRESS, or paths of plug-ins
    /// [default: all installed ones]
    #[arg(value_name = "ENGINE")]
    engines: Vec<String>,
    /// Durability levels [default: all that the engine supports]
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    durability: Vec<Durability>,
    /// Set a knob of an engine, to one value
    #[arg(long = "knob", value_name = "ENGINE.NAME=VALUE", value_parser = parse_knob)]
    knobs: Vec<KnobSetting>,
    /// Directory for databases [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Also list the checks that passed
    #[arg(long, short)]
    verbose: bool,
    /// Run only the anomaly suite, and print the table of docs/ISOLATION.md
    #[arg(long)]
    isolation: bool,
    /// Run only the history check: random transactions of four sessions, whose history is checked
    /// for the stated isolation
    #[arg(long, conflicts_with = "isolation")]
    history: bool,
    /// Run only the history check, on clusters, while nodes are killed, paused and (as root)
    /// separated: over a minute for lists and another for registers, at each level
    #[arg(long, conflicts_with_all = ["isolation", "history"])]
    cluster: bool,
    /// With --cluster, as root: in the end, restart a leader that is separated from its followers.
    /// What waited for them is visible, then lost (docs/CLUSTERS.md)
    #[arg(long, requires = "cluster")]
    restart: bool,
}

/// Runs the suites and prints the failures.
///
/// # Errors
/// A usage error for an engine or a level that is not there, or an unusable work folder.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let stop = stop_flag("trueput-check-* may be left in the directory for databases")?;
    let Some(process) = CheckingProcess::own()? else {
        let parent = arguments.work.clone().unwrap_or_else(std::env::temp_dir);
        // A history has limits of its own.
        let is_suite = !arguments.history && !arguments.cluster;
        return supervise(&parent, is_suite.then_some(LIMIT), &stop);
    };
    let checked = check_all(arguments, registry, &process, &stop);
    process.end()?;
    checked
}

/// Runs the suites on what no process before this one began.
fn check_all(
    arguments: &Arguments,
    registry: &Registry,
    process: &CheckingProcess,
    stop: &AtomicBool,
) -> Result<ExitCode, Failure> {
    let subjects = ending_at_once(|| subjects(arguments, registry))?;
    let is_first = process.begun == 0;
    if arguments.engines.is_empty() && is_first {
        let names: BTreeSet<_> = subjects.iter().map(|subject| subject.name).collect();
        output::note(&format!(
            "{} engines at {} levels, some seconds each; to check some of them: trueput check NAME",
            names.len(),
            subjects.len()
        ));
    }
    let mut failed = 0;
    if arguments.isolation && is_first {
        output::line(&anomalies::table_head())?;
    }
    let mut before = None;
    for (number, subject) in subjects.into_iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let name = subject.name;
        // Isolation is the same at every durability level, so it is checked once.
        let isolates = before.replace(name) != Some(name);
        if number < process.begun {
            continue;
        }
        process.begin(&format!("{name} {}", subject.level))?;
        let folder = process.folder();
        let checked = panics::caught(|| check_subject(arguments, folder, subject, isolates, stop));
        failed += match checked {
            Ok(checked) => checked?,
            Err(panic) => {
                output::line(&format!("{name} {}: FAILED: it {panic}", subject.level))?;
                1
            }
        };
    }
    Ok(match (stop.load(Ordering::Relaxed), failed) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, 0) => ExitCode::SUCCESS,
        (false, _) => ExitCode::from(FAILED),
    })
}

/// Runs the suites on one subject and returns the number of failed checks.
fn check_subject(
    arguments: &Arguments,
    parent: &Path,
    subject: Subject,
    mut isolates: bool,
    stop: &AtomicBool,
) -> Result<usize, Failure> {
    let mut failed = 0;
    if arguments.cluster || (arguments.history && isolates) {
        return check_histories(arguments, parent, subject, stop);
    }
    if !arguments.isolation && !arguments.history {
        let conformed = check_conformance(arguments, parent, subject)?;
        failed += conformed.unwrap_or(1);
        isolates &= conformed.is_some();
    }
    if isolates && !arguments.history {
        failed += check_isolation(arguments, parent, subject, stop)?;
    }
    Ok(failed)
}

/// Runs the conformance suite and returns the number of failed checks; `None` if the engine's
/// server does not start.
fn check_conformance(
    arguments: &Arguments,
    parent: &Path,
    subject: Subject,
) -> Result<Option<usize>, Failure> {
    let heading = format!("{} {}", subject.name, subject.level);
    let installation = match subject.install(parent, &Settings::new())? {
        Ok(installation) => installation,
        Err(reason) => return output::line(&format!("{heading}: FAILED: {reason}")).map(|()| None),
    };
    let (path, knobs) = (installation.path(), &installation.knobs);
    let checks = conformance::run(subject.engine, path, subject.level, knobs);
    let passed = checks.iter().filter(|check| check.passed).count();
    let all = checks.len();
    output::line(&format!("{heading}: {passed} of {all} checks passed"))?;
    print_checks(&checks, arguments.verbose)?;
    Ok(Some(all - passed))
}

/// Runs the anomaly suite with every value of the isolation knobs, and returns the number of failed
/// schedules.
fn check_isolation(
    arguments: &Arguments,
    parent: &Path,
    subject: Subject,
    stop: &AtomicBool,
) -> Result<usize, Failure> {
    let Subject {
        name,
        engine,
        level,
        ..
    } = subject;
    let version = engine.build().map_or(String::new(), |build| build.version);
    let mut failed = 0;
    for settings in subject.isolation_settings()? {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let promise = engine.promise_with(level, &subject.knobs(&settings)?);
        if promise.is_err() {
            // The engine refuses these together.
            continue;
        }
        let installation = match subject.install(parent, &settings)? {
            Ok(installation) => installation,
            Err(reason) => {
                output::line(&format!("{name} isolation: FAILED: {reason}"))?;
                // Another setting would fail alike.
                return Ok(failed + 1);
            }
        };
        let (path, knobs) = (installation.path(), &installation.knobs);
        let report = isolation::observe(engine, path, level, knobs);
        let checks = report.checks();
        failed += checks.iter().filter(|check| !check.passed).count();
        if arguments.isolation {
            let version = engines::short(&version);
            output::line(&anomalies::table_row(name, version, &settings, &report))?;
        } else {
            output::line(&anomalies::summary(name, &settings, &report))?;
        }
        if !arguments.isolation || checks.iter().any(|check| !check.passed) {
            print_checks(&checks, arguments.verbose)?;
        }
    }
    Ok(failed)
}

/// Checks histories of both models with every value of the isolation knobs, while nodes fail with
/// the default ones, and returns the number of failed checks.
fn check_histories(
    arguments: &Arguments,
    parent: &Path,
    subject: Subject,
    stop: &AtomicBool,
) -> Result<usize, Failure> {
    let Subject {
        name,
        engine,
        level,
        ..
    } = subject;
    let mut failed = 0;
    // Histories under faults take more than a minute each.
    let most = if arguments.cluster { 1 } else { usize::MAX };
    for settings in subject.isolation_settings()?.into_iter().take(most) {
        let Ok(promise) = engine.promise_with(level, &subject.knobs(&settings)?) else {
            // The engine refuses these together.
            continue;
        };
        let words = anomalies::in_words(&settings, ", ", " ");
        if arguments.cluster && !promise.cluster.is_some_and(|survival| survival.process) {
            let reason = "a commit need not survive the loss of a leader: nothing to check";
            output::line(&format!("{name} {level}{words}: {reason}"))?;
            continue;
        }
        for model in MODELS {
            let heading = format!("{name} {level}{words} {model}");
            let faults = arguments
                .cluster
                .then(|| histories::faults(arguments.restart));
            let checked = check_history(subject, parent, &settings, model, faults, stop)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(failed);
            }
            match checked {
                Err(reason) => {
                    output::line(&format!("{heading}: FAILED: {reason}"))?;
                    failed += 1;
                }
                Ok(checks) if checks.is_empty() => {
                    output::line(&format!("{heading}: no records to test"))?;
                }
                Ok(checks) => {
                    let wrong = checks.iter().filter(|check| !check.passed).count();
                    let isolation = checks.first().filter(|_| wrong == 0);
                    let detail = isolation.map_or("FAILED", |check| &check.detail);
                    output::line(&format!("{heading}: {detail}"))?;
                    print_checks(&checks, arguments.verbose)?;
                    failed += wrong;
                }
            }
        }
    }
    Ok(failed)
}

/// Prints the checks that failed, those that say the same together, and where it is wanted those
/// that passed.
fn print_checks(checks: &[Check], verbose: bool) -> Result<(), Failure> {
    for check in checks.iter().filter(|check| verbose && check.passed) {
        let gap = if check.detail.is_empty() { "" } else { ": " };
        output::line(&format!("  passed {}{gap}{}", check.name, check.detail))?;
    }
    for kind in group_by_message(checks) {
        let Some((first, others)) = kind.split_first() else {
            continue;
        };
        let more = match others.len() {
            0 => String::new(),
            more => format!(" (and {more} more checks)"),
        };
        let (name, detail) = (&first.name, &first.detail);
        output::line(&format!("  FAILED {name}{more}: {detail}"))?;
    }
    Ok(())
}

/// Groups failed checks by message, ignoring numbers.
fn group_by_message(checks: &[Check]) -> Vec<Vec<&Check>> {
    let without_numbers = |check: &Check| check.detail.replace(|c: char| c.is_ascii_digit(), "");
    let mut kinds: Vec<Vec<&Check>> = Vec::new();
    for check in checks.iter().filter(|check| !check.passed) {
        let said = without_numbers(check);
        let mut known = kinds.iter_mut();
        match known.find(|kind| kind.iter().any(|of| without_numbers(of) == said)) {
            Some(kind) => kind.push(check),
            None => kinds.push(vec![check]),
        }
    }
    kinds
}

/// Every selected engine with every selected level. A named level that a named engine does not
/// support is an error.
fn subjects(arguments: &Arguments, registry: &Registry) -> Result<Vec<Subject>, Failure> {
    let named = arguments
        .engines
        .iter()
        .map(|name| find_engine(name, registry));
    let engines: Vec<_> = if arguments.engines.is_empty() {
        let here = registry.engines.iter().copied();
        let here = here.filter(|engine| engine.is_default_engine() && engine.build().is_ok());
        here.map(|engine| (engine.info().name, engine)).collect()
    } else {
        named.collect::<Result<_, _>>()?
    };
    let single = engines
        .iter()
        .find(|(_, engine)| engine.cluster().is_none());
    if let Some((name, _)) = single.filter(|_| arguments.cluster) {
        return Err(Failure::Usage(format!(
            "{name} is not a cluster; name one: trueput check postgresql-cluster --cluster"
        )));
    }
    check_restart(arguments, &engines)?;
    check_knobs(arguments, &engines)?;
    let mut subjects = Vec::new();
    for (name, engine) in engines {
        let given = given_knobs(arguments, engine)?;
        let knobs = resolve(engine.info().name, engine.knobs(), &given).map_err(Failure::usage)?;
        let offers = |level: &Durability| engine.promise_with(*level, &knobs).is_ok();
        for level in &arguments.durability {
            let refusal = engine.promise_with(*level, &knobs).err();
            if let Some(refusal) = refusal.filter(|_| !arguments.engines.is_empty()) {
                return Err(Failure::usage(refusal));
            }
        }
        // They are needed as long as this program runs.
        let given: &Settings = Box::leak(Box::new(given));
        let asked = |level: &Durability| {
            arguments.durability.is_empty() || arguments.durability.contains(level)
        };
        let levels = Durability::ALL
            .into_iter()
            .filter(|level| offers(level) && asked(level));
        subjects.extend(levels.map(|level| Subject {
            name,
            engine,
            level,
            given,
        }));
    }
    Ok(subjects)
}

/// Refuses knobs of engines that are not checked.
fn check_knobs(
    arguments: &Arguments,
    engines: &[(&'static str, &'static dyn Engine)],
) -> Result<(), Failure> {
    let is_checked = |name: &str| engines.iter().any(|(_, engine)| engine.info().name == name);
    let mut owners = arguments.knobs.iter().map(|knob| knob.engine.as_str());
    match owners.find(|name| !is_checked(name)) {
        None => Ok(()),
        Some(name) => Err(Failure::usage(format!(
            "--knob sets a knob of {name}, which is not checked: name {name}"
        ))),
    }
}

/// The knobs that were given for an engine.
fn given_knobs(arguments: &Arguments, engine: &dyn Engine) -> Result<Settings, Failure> {
    let owner = engine.info().name;
    let mut given = Settings::new();
    let own = arguments.knobs.iter().filter(|knob| knob.engine == owner);
    for Setting { name, values } in own.map(|knob| &knob.setting) {
        let [value] = values.as_slice() else {
            return Err(Failure::usage(format!(
                "{owner}.{name} has {} values: give one, and check again for another",
                values.len()
            )));
        };
        given.insert(name.clone(), value.clone());
    }
    Ok(given)
}

/// Refuses `--restart` where nodes cannot be separated, and for a cluster that chooses its leader:
/// a node without a majority shows nothing.
fn check_restart(
    arguments: &Arguments,
    engines: &[(&'static str, &'static dyn Engine)],
) -> Result<(), Failure> {
    if !arguments.restart {
        return Ok(());
    }
    if !trueput_host::is_root() {
        return Err(Failure::usage(
            "--restart separates nodes, which needs root: run as root",
        ));
    }
    let elects = |engine: &dyn Engine| engine.cluster().is_some_and(|it| it.elects_leader());
    match engines.iter().find(|(_, engine)| elects(*engine)) {
        None => Ok(()),
        Some((name, _)) => Err(Failure::usage(format!(
            "{name} chooses its leader itself, which --restart does not work with: it is for \
             clusters whose leader is promoted, as postgresql-cluster"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_that_fail_alike_are_told_together() {
        let check = |name: &str, passed, detail: &str| Check::new(name, passed, detail);
        let checks = [
            check("a", false, "open: cannot make check-01: denied"),
            check("b", true, ""),
            check("c", false, "open: cannot make check-02: denied"),
            check("d", false, "found nothing"),
        ];
        let names: Vec<Vec<_>> = group_by_message(&checks)
            .into_iter()
            .map(|kind| kind.iter().map(|check| check.name.clone()).collect())
            .collect();
        assert_eq!(names, [vec!["a", "c"], vec!["d"]]);
    }
}
