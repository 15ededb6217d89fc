//! Shared parts of `run` and `threen1`: options for the runner, the report at the end, the exit
//! code.

use crate::failure::{FAILED, Failure, INTERRUPTED, USAGE};
use crate::output::{self, ChartsWhen};
use crate::page::{describe_page, write_own_page};
use crate::plan_overrides::RunDirectories;
use crate::progress::Progress;
use crate::screen::Screen;
use crate::{repeats, signals};
use std::collections::BTreeSet;
use std::process::ExitCode;
use trueput_findings::Run;
use trueput_findings::answer::{Answer, Standings};
use trueput_findings::shell::quoted;
use trueput_record::plan::PlanFile;
use trueput_record::{Outcome, RunFolder, RunManifest, TrialRecord};
use trueput_report::answer::AnswerText;
use trueput_report::{Format, RunReport};
use trueput_runner::matrix::{self, Matrix};
use trueput_runner::{AuditStore, ConformanceCache, Options, Registry, RunSummary, TimeEstimate};

/// Options for the runner: workers are this program, and Ctrl-C stops the run.
///
/// # Errors
/// If this program's own file or the signal handlers are not available.
pub fn options(places: &RunDirectories) -> Result<Options, Failure> {
    let program = std::env::current_exe();
    let worker_program = program
        .map_err(|error| Failure::Other(format!("cannot find this program's file: {error}")))?;
    Ok(Options {
        credentials: Default::default(),
        audits: AuditStore::of_user(&worker_program),
        worker_program,
        host_access: Default::default(),
        work: places.work.clone(),
        keep_databases: places.keep_databases,
        keep_unfinished: false,
        resume_databases: false,
        disk_factor: places.disk.factor,
        hang_limit: places.hang_limit,
        hardware_limits: !places.no_hardware_limits,
        conformance_cache: ConformanceCache::of_user(!places.check_again),
        checks_isolation: true,
        until: None,
        include_assertions: false,
        split_by: None,
        objective: None,
        search: None,
        stop: signals::stop_flag()?,
    })
}

/// Expands a plan. What it asks servers, one stop signal ends with the program.
///
/// # Errors
/// As [`matrix::expand`].
pub fn expand(plan: &PlanFile, registry: &Registry) -> Result<Matrix, matrix::Error> {
    signals::ending_at_once(|| matrix::expand(plan, registry))
}

/// Runs every unfinished trial with progress messages, and ends with the answer; with `json`, every
/// event is a line of JSON and there is no answer.
///
/// # Errors
/// As [`trueput_runner::run`] and [`report`].
pub fn carry_out(
    folder: &RunFolder,
    manifest: &RunManifest,
    options: &Options,
    registry: &Registry,
    json: bool,
    screen: Screen,
) -> Result<ExitCode, Failure> {
    print_build_warnings(manifest, registry);
    if !json {
        print_time_estimate(folder, manifest)?;
    }
    let mut progress = if json {
        Progress::json()
    } else {
        Progress::for_people().with_standings(standings(folder, manifest)?)
    };
    let observer = &mut |event: &_| progress.observe(event);
    let summary = trueput_runner::run(folder, manifest, registry, options, observer)?;
    let written = if json {
        Ok(())
    } else {
        repeats::print_stop_reason(folder).and_then(|()| report(folder, screen))
    };
    finish(&summary, written)
}

/// Prints how long the trials that have not ended will take, where that is more than a minute.
fn print_time_estimate(folder: &RunFolder, manifest: &RunManifest) -> Result<(), Failure> {
    let stored = folder.trials()?.trials;
    let has_ended = |record: &TrialRecord| record.outcome != Outcome::Interrupted;
    let ended = stored.iter().filter(|record| has_ended(record));
    let ended: BTreeSet<_> = ended.map(|record| record.spec.id.as_str()).collect();
    let left = manifest.trials.iter();
    let left = left.filter(|spec| !ended.contains(spec.id.as_str()));
    let results = folder.path().parent().unwrap_or(folder.path());
    let estimate = TimeEstimate::of(left, results);
    if estimate.may_be_long() {
        let sooner = match manifest.until {
            Some(_) => "; enough repeats may end it sooner",
            None => "",
        };
        output::note(&format!("{}{sooner}", estimate.to_text()));
    }
    Ok(())
}

/// The rankings before the first trial, from the earlier part of a resumed run.
fn standings(folder: &RunFolder, manifest: &RunManifest) -> Result<Standings, Failure> {
    let before = folder.trials()?.trials;
    Ok(Standings::new(folder.path(), manifest, before))
}

/// Warns of inferior builds that are used because a better one was not found, of engine folders
/// that are ignored, and of workloads whose operations will not find their records.
pub fn print_build_warnings(manifest: &RunManifest, registry: &Registry) {
    let defaults = manifest.trials.iter().filter(|spec| spec.build.is_none());
    let names: BTreeSet<_> = defaults.map(|spec| spec.engine.as_str()).collect();
    let engines = names.iter().filter_map(|name| registry.engine(name).ok());
    let cautions = engines.filter_map(|engine| engine.build_warning());
    let of_workloads = trueput_runner::cautions(&manifest.trials, registry);
    for line in trueput_drivers::ignored_folders()
        .into_iter()
        .chain(cautions)
        .chain(of_workloads)
    {
        output::note(&line);
    }
}

/// The command line as typed.
pub fn command_line() -> Vec<String> {
    std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// The name by which this program was called, quoted for a shell.
pub fn program_name() -> String {
    let called = std::env::args_os().next();
    let called = called.filter(|name| !name.is_empty());
    let called = called.map(|name| name.to_string_lossy().into_owned());
    quoted(called.as_deref().unwrap_or("trueput"))
}

/// Writes the run's answer with its warnings, or the whole report, and the paths of all results,
/// including the page.
///
/// # Errors
/// If the run folder cannot be read or written, or standard output is closed.
pub fn report(folder: &RunFolder, screen: Screen) -> Result<(), Failure> {
    let report = Run::load(folder.path())?;
    let page = write_own_page(&report);
    let run_folder = format!("run folder: {}", folder.path().display());
    if screen.full {
        let style = screen.style(ChartsWhen::Auto);
        output::document(&report.render(Format::Terminal, style), Format::Terminal)?;
        output::line(&run_folder)?;
        return output::line(&describe_page(&page?));
    }
    let mut closing = vec![everything(&report), run_folder];
    closing.extend(page.as_ref().ok().map(|page| describe_page(page)));
    write_answer(&report, screen, &closing)?;
    page.map(|_| ())
}

/// The command that writes the whole report.
pub fn everything(report: &Run) -> String {
    let run = quoted(&report.shown_as.to_string_lossy());
    format!("Everything: {} report {run} --full", program_name())
}

/// Writes a run's answer to standard output: of a search, what it found.
///
/// # Errors
/// If standard output is closed.
pub fn write_answer(report: &Run, screen: Screen, closing: &[String]) -> Result<(), Failure> {
    if let Some(answer) = report.render_search(screen.style(ChartsWhen::Never)) {
        output::document(&answer, Format::Terminal)?;
        return closing.iter().try_for_each(|line| output::line(line));
    }
    let mut answer = Answer::of(report);
    let steps = answer.next_steps.into_iter();
    answer.next_steps = steps.map(|step| step.called(&program_name())).collect();
    let text = answer.render(screen.layout(), closing);
    output::document(&text, Format::Terminal)
}

/// The exit code of a run whose report was written so. A reader that went away does not hide that a
/// trial failed.
///
/// # Errors
/// If the report could not be written for another reason.
pub fn finish(summary: &RunSummary, written: Result<(), Failure>) -> Result<ExitCode, Failure> {
    match written {
        Ok(()) | Err(Failure::OutputClosed) => Ok(exit_code(summary)),
        Err(failure) => Err(failure),
    }
}

fn exit_code(summary: &RunSummary) -> ExitCode {
    match summary {
        RunSummary {
            interrupted: true, ..
        } => ExitCode::from(INTERRUPTED),
        RunSummary {
            invalid: 0,
            failed: 0,
            ..
        } => ExitCode::SUCCESS,
        RunSummary {
            invalid: 0,
            failed,
            refused,
            ..
        } if failed == refused => ExitCode::from(USAGE),
        _ => ExitCode::from(FAILED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_went_away_does_not_hide_a_failed_trial() {
        let summary = RunSummary {
            failed: 1,
            ..RunSummary::default()
        };
        let code = finish(&summary, Err(Failure::OutputClosed)).unwrap();
        assert_eq!(code, ExitCode::from(FAILED));
        let full = finish(&summary, Err(Failure::Other("no space left".to_owned())));
        assert!(full.is_err());
    }
}
