//! A run that is ready to begin, and its end: the trials, the report, the exit code.

use crate::failure::{FAILED, Failure, INTERRUPTED, USAGE};
use crate::output::{self, ChartsWhen};
use crate::page::{describe_page, write_own_page};
use crate::progress::Progress;
use crate::repeats;
use crate::run_options::RunOptions;
use crate::screen::Screen;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use trueput_findings::Run;
use trueput_findings::answer::{Answer, Standings};
use trueput_findings::shell::quoted;
use trueput_findings::units::counted;
use trueput_record::search::{DecisionSettings, SearchSettings};
use trueput_record::value::format_seconds;
use trueput_record::{Outcome, RunFolder, RunManifest, TrialRecord};
use trueput_report::answer::AnswerText;
use trueput_report::{Format, RunReport};
use trueput_runner::{Event, Options, Registry, RunSummary, TimeEstimate, TrialSource};

/// A run that is ready to begin, new or resumed.
pub struct PreparedRun<'a> {
    /// Its folder.
    pub folder: RunFolder,
    /// Its manifest.
    pub manifest: RunManifest,
    /// The runner's options.
    pub options: Options,
    /// The engines and workloads.
    pub registry: &'a Registry,
    /// The options of the command line.
    pub given: &'a RunOptions,
}

impl PreparedRun<'_> {
    /// Runs every unfinished trial with progress messages, and ends with the answer; with `--json`,
    /// every event is a line of JSON and there is no answer.
    ///
    /// # Errors
    /// As [`trueput_runner::run`] and [`report`].
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let mut progress = self.ranked_progress()?;
        let summary = self.run_trials(&mut |event| progress.observe(event))?;
        finish(&summary, self.write_report())
    }

    fn write_report(&self) -> Result<(), Failure> {
        if self.given.json {
            return Ok(());
        }
        repeats::print_stop_reason(&self.folder)?;
        report(&self.folder, self.given.screen)
    }

    /// How the progress of the run is shown.
    pub fn progress(&self) -> Progress {
        if self.given.json {
            Progress::json()
        } else {
            Progress::for_people()
        }
    }

    /// As [`PreparedRun::progress`], with how the rankings stand after each round.
    ///
    /// # Errors
    /// If the trials of the folder cannot be read.
    pub fn ranked_progress(&self) -> Result<Progress, Failure> {
        let progress = self.progress();
        if self.given.json {
            return Ok(progress);
        }
        let before = self.folder.trials()?.trials;
        let standings = Standings::new(self.folder.path(), &self.manifest, before);
        Ok(progress.with_standings(standings))
    }

    /// Runs every unfinished trial, after notes on what to expect.
    ///
    /// # Errors
    /// As [`trueput_runner::run`].
    pub fn run_trials(&self, observer: &mut dyn FnMut(&Event)) -> Result<RunSummary, Failure> {
        self.run_search(observer, &mut |_| None)
    }

    /// As [`PreparedRun::run_trials`], then runs the trials that `source` proposes.
    ///
    /// # Errors
    /// As [`trueput_runner::run_search`].
    pub fn run_search(
        &self,
        observer: &mut dyn FnMut(&Event),
        source: &mut TrialSource<'_>,
    ) -> Result<RunSummary, Failure> {
        print_build_warnings(&self.manifest, self.registry);
        if !self.given.json
            && let Some(estimate) = self.time_estimate()?
        {
            output::note(&estimate);
        }
        if !self.given.json
            && let Some(failed) = self.failed_trials()?
        {
            output::note(&failed);
        }
        let (folder, manifest) = (&self.folder, &self.manifest);
        let (registry, options) = (self.registry, &self.options);
        Ok(trueput_runner::run_search(
            folder, manifest, registry, options, observer, source,
        )?)
    }

    /// Says that trials which failed in an earlier part of the run are not run again, and which
    /// command does that; `None` if there are none, or this run does it.
    fn failed_trials(&self) -> Result<Option<String>, Failure> {
        // A configuration that a search tried and that failed is a result.
        if self.options.resume_databases || !self.manifest.is_ranked() {
            return Ok(None);
        }
        let stored = self.folder.trials()?.trials;
        let outcomes = stored.iter().map(|trial| (&trial.spec.id, &trial.outcome));
        // The last line of a trial counts.
        let last: BTreeMap<_, _> = outcomes.collect();
        let failed = last
            .values()
            .filter(|outcome| matches!(outcome, Outcome::Failed { .. }));
        let (count, pronoun) = match failed.count() as u64 {
            0 => return Ok(None),
            1 => ("1 failed trial is".to_owned(), "it"),
            more => (format!("{} are", counted(more, "failed trial")), "them"),
        };
        let again = command_for_failed(&self.manifest.host.program.command);
        Ok(Some(format!(
            "{count} not run again; to run {pronoun} again, {again}"
        )))
    }

    /// The time of a search that begins, or of the trials that have not ended; `None` if it is
    /// short. What is left of a search that is resumed is known to the search alone.
    fn time_estimate(&self) -> Result<Option<String>, Failure> {
        let is_search = self.manifest.search.is_some();
        if is_search && !self.folder.trials()?.trials.is_empty() {
            return Ok(None);
        }
        match &self.manifest.search {
            None => self.time_of_trials(),
            Some(SearchSettings::Tuning(settings)) => Ok(Some(format!(
                "about {} trials in {}, a quarter of them for the holdout",
                settings.trials,
                format_seconds(settings.budget_s)
            ))),
            Some(SearchSettings::Decision(settings)) => Ok(Some(decision_estimate(
                settings,
                self.manifest.trials.len(),
            ))),
            Some(search) => {
                let roles = self.manifest.trials.iter().filter_map(|spec| spec.role);
                let contenders: BTreeSet<_> = roles.map(|role| role.contender).collect();
                let most = search.budget_s().map_or_else(String::new, |budget_s| {
                    format!(", at most {}", format_seconds(budget_s))
                });
                let contenders = counted(contenders.len() as u64, "contender");
                Ok(Some(format!("{contenders}{most}")))
            }
        }
    }

    fn time_of_trials(&self) -> Result<Option<String>, Failure> {
        let stored = self.folder.trials()?.trials;
        let has_ended = |record: &&TrialRecord| record.outcome != Outcome::Interrupted;
        let ended = stored.iter().filter(has_ended);
        let ended: BTreeSet<_> = ended.map(|record| record.spec.id.as_str()).collect();
        let left = self.manifest.trials.iter();
        let left = left.filter(|spec| !ended.contains(spec.id.as_str()));
        let results = self.folder.path().parent().unwrap_or(self.folder.path());
        let estimate = TimeEstimate::of(left, results);
        let sooner = match self.manifest.until {
            Some(_) => "; enough repeats may end it sooner",
            None => "",
        };
        Ok(estimate
            .may_be_long()
            .then(|| format!("{}{sooner}", estimate.to_text())))
    }
}

/// How to run failed trials again of a run that this command began: in a new run, but those of
/// `trueput threen1`, which continues its own.
fn command_for_failed(typed: &[String]) -> String {
    const THREEN1: &str = "threen1";
    const RESUME: &str = "--resume";
    let Some((_, typed)) = typed.split_first().filter(|(_, words)| !words.is_empty()) else {
        return "begin a new run of the same plan".to_owned();
    };
    let mut words = vec![program_name()];
    let continues = typed[0] == THREEN1;
    let others = typed.iter().filter(|word| !continues || *word != RESUME);
    words.extend(others.map(|word| quoted(word)));
    if continues {
        words.push(RESUME.to_owned());
    }
    let way = if continues {
        "continue the run by"
    } else {
        "begin a new run by"
    };
    format!("{way}: {}", words.join(" "))
}

/// What to expect of a run that decides, whose first repeat has so many trials.
fn decision_estimate(settings: &DecisionSettings, trials: usize) -> String {
    let least = DecisionSettings::MIN_REPEATS;
    let most = settings.max_repeats;
    let within = settings.budget_s.map_or_else(String::new, |budget_s| {
        format!(", within {}", format_seconds(budget_s))
    });
    format!(
        "{} a repeat; {least} to {most} repeats until each ranking has a leader or equals within \
         {}{within}",
        counted(trials as u64, "trial"),
        settings.equal_within()
    )
}

/// Warns of inferior builds that are used because a better one was not found, of engine folders
/// that are ignored, and of workloads whose operations will not find their records.
fn print_build_warnings(manifest: &RunManifest, registry: &Registry) {
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
    quoted(&typed_name())
}

/// The name by which this program was called.
fn typed_name() -> String {
    let called = std::env::args_os().next();
    let called = called.filter(|name| !name.is_empty());
    let called = called.map(|name| name.to_string_lossy().into_owned());
    called.unwrap_or_else(|| "trueput".to_owned())
}

/// A run as people read it: the commands that its report suggests name this program as it was
/// called now.
pub fn for_people(report: &Run) -> Run {
    Run {
        program: Some(typed_name()),
        ..report.clone()
    }
}

/// Writes the run's answer with its warnings, or the whole report, and the paths of all results,
/// including the page.
///
/// # Errors
/// If the run folder cannot be read or written, or standard output is closed. A page that cannot be
/// written is no bad input.
pub fn report(folder: &RunFolder, screen: Screen) -> Result<(), Failure> {
    let report = Run::load(folder.path())?;
    let page = write_own_page(&report).map_err(|failure| without_page(&failure, &report));
    let run_folder = format!("run folder: {}", folder.path().display());
    if screen.full {
        let style = screen.style(ChartsWhen::Auto);
        let text = for_people(&report).render(Format::Terminal, style);
        output::document(&text, Format::Terminal)?;
        output::line(&run_folder)?;
        return output::line(&describe_page(&page?));
    }
    let mut closing = vec![everything(&report), run_folder];
    closing.extend(page.as_ref().ok().map(|page| describe_page(page)));
    write_answer(&report, screen, &closing)?;
    page.map(|_| ())
}

/// The failure of a run whose page cannot be written: nothing that was measured is lost.
fn without_page(failure: &Failure, report: &Run) -> Failure {
    let run = quoted(&report.shown_as.to_string_lossy());
    Failure::Other(format!(
        "{failure}; trials.jsonl is complete: '{} report {run} --html' writes the page again",
        program_name()
    ))
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
    if report.manifest.search.is_some()
        && let Some(answer) = for_people(report).render_search(screen.style(ChartsWhen::Never))
    {
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
    fn failed_trials_are_run_again_by_the_command_that_began_the_run() {
        let again = |typed: &[&str]| {
            let typed: Vec<String> = typed.iter().map(|word| (*word).to_owned()).collect();
            command_for_failed(&typed)
        };
        let program = program_name();
        assert_eq!(
            again(&[
                "./trueput",
                "run",
                "micro",
                "--set",
                "operations=get:1 put:1"
            ]),
            format!("begin a new run by: {program} run micro --set 'operations=get:1 put:1'")
        );
        let continued = format!("continue the run by: {program} threen1 --engine lmdb --resume");
        for typed in [
            &["trueput", "threen1", "--engine", "lmdb"][..],
            &["trueput", "threen1", "--resume", "--engine", "lmdb"],
        ] {
            assert_eq!(again(typed), continued);
        }
        assert_eq!(again(&[]), "begin a new run of the same plan");
    }

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
