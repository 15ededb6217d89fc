//! `trueput audit`: simulates power cuts, and says which promises they refute.

mod progress;
mod replay;
pub mod subjects;

use crate::failure::{FAILED, Failure, INTERRUPTED};
use crate::output::{self, ChartsWhen};
use crate::page::describe_page;
use crate::plan_overrides::{KnobSetting, parse_knob, parse_positive, parse_seed};
use crate::prepared_run;
use crate::screen::Screen;
use crate::signals;
use crate::size_limit::SizeLimit;
use crate::trust::Trust;
use clap::{Args, ValueEnum};
use progress::AuditProgress;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use subjects::SubjectChoice;
use trueput_audit::{AuditEvent, AuditRequest, audit_all, concerns_devices};
use trueput_host::trial_file_system::check;
use trueput_record::Durability;
use trueput_record::audit::{AuditRecord, AuditResult, AuditVerdict, StorageModel};
use trueput_record::audit_folder::MAX_COMMITS_PER_PHASE;
use trueput_record::filesystem::FileSystem;
use trueput_record::regular_file;
use trueput_record::value::parse_seconds;
use trueput_report::{Format, audit_report, render_with};
use trueput_runner::Registry;

/// The page of the audits, in their folder.
const PAGE: &str = "audit.html";

const EXAMPLES: &str = "\
Examples:
  trueput audit                                       # every installed engine, about ten minutes
  trueput audit --engine lmdb,sqlite --durability sync
  trueput audit --engine sqlite --durability sync --knob sqlite.journal_mode=delete --model posix
  trueput audit --engine lmdb --durability process --claim sync    # must be refuted
  trueput audit --engine berkeleydb --durability async --states 5000 --budget 5m
  trueput audit --engine lmdb --durability sync --form block --filesystem xfs
  trueput audit --replay results/20261124T140000Z-audit/lmdb-process-as-sync-journal

Exit codes:
  0    no promise was refuted; with --replay: the damage was reproduced
  1    a promise was refuted, or an audit was not completed or undecided; with --replay: not
       reproduced.
       What only posix or torn refute counts with --model alone
  2    bad input: command line, plan or folder
  130  interrupted by Ctrl-C or SIGTERM; finished audits are kept";

/// The arguments of `trueput audit`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A plan, of which the engines, levels and knobs are audited
    #[arg(
        value_name = "PLAN",
        default_value = "audit",
        conflicts_with = "replay"
    )]
    plan: String,
    /// Engines, comma-separated: NAME, NAME@LIBRARY, the path of a plug-in, or 'present' for all
    /// installed ones [default: the plan's]
    #[arg(long, value_name = "ENGINE")]
    engine: Vec<String>,
    /// Durability levels, comma-separated [default: the plan's]
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    durability: Vec<Durability>,
    /// Set a knob of an engine; several comma-separated values audit every combination
    #[arg(long = "knob", value_name = "ENGINE.NAME=VALUE", value_parser = parse_knob)]
    knobs: Vec<KnobSetting>,
    /// Test the promise of this level, whatever level the database is opened at
    #[arg(long, value_name = "LEVEL")]
    claim: Option<Durability>,
    /// Models of storage, comma-separated: kill, prefix, journal, posix, torn (see docs/AUDIT.md)
    /// [default: all]
    #[arg(long, value_name = "MODEL", value_delimiter = ',')]
    model: Vec<StorageModel>,
    /// What is recorded: the engine's files (folder), or the blocks of a disk image with a file
    /// system of its own, below them (block; root)
    #[arg(long, value_name = "FORM", value_enum, default_value = "folder")]
    form: Form,
    /// The file system of the block form: ext4, xfs, btrfs, with options as in
    /// ext4:mount=barrier=0 [default: ext4]
    #[arg(long, value_name = "KIND")]
    filesystem: Option<FileSystem>,
    /// The states of each model, about [default: 1000]
    #[arg(long, value_name = "N", value_parser = parse_positive)]
    states: Option<u64>,
    /// The time for all audits together, as in 90s or 10m [default: 10m; no limit with --states]
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    budget: Option<Duration>,
    /// Commits of each of three workers in each of three phases
    #[arg(long, value_name = "N", default_value_t = 120,
        value_parser = clap::value_parser!(u64).range(1..=MAX_COMMITS_PER_PHASE))]
    commits: u64,
    /// Seed of the transactions and of the choice of states. The same recording and seed give the
    /// same states; each audit makes a recording of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    seed: u64,
    /// Reproduce a counterexample: the folder of the audit, a slash, and the counterexample's name
    #[arg(long, value_name = "RUN/ID")]
    replay: Option<PathBuf>,
    /// Write the record of the audit to standard output, as JSON
    #[arg(long)]
    json: bool,
    /// Directory for results; each audit creates a folder in it
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
    /// Directory for states [default: in the folder of the audit; in memory as root]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    #[command(flatten)]
    screen: Screen,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    size: SizeLimit,
}

/// Writes the report of an audit's folder; `None` if it is the folder of something else.
///
/// # Errors
/// A usage error if its record cannot be read.
pub fn report(
    folder: &Path,
    screen: Screen,
    json: bool,
    size: SizeLimit,
) -> Result<Option<ExitCode>, Failure> {
    let Some(record) = replay::find_record(folder, size.max_bytes)? else {
        return Ok(None);
    };
    if json {
        output::json(&serde_json::to_value(&record).map_err(Failure::usage)?)?;
    } else {
        write_report(&record, folder, screen)?;
    }
    Ok(Some(ExitCode::SUCCESS))
}

/// Writes the report: its answer, then every promise and counterexample.
fn write_report(record: &AuditRecord, folder: &Path, screen: Screen) -> Result<(), Failure> {
    let blocks = audit_report::document(record, folder);
    let text = render_with(&blocks, screen.style(ChartsWhen::Never), "--width");
    output::document(&text, Format::Terminal)?;
    output::line(&format!("audit folder: {}", folder.display()))?;
    output::line(&describe_page(&folder.join(PAGE)))
}

/// The form of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The engine's files
    Folder,
    /// The blocks of a disk image
    Block,
}

impl Arguments {
    fn choice(&self) -> SubjectChoice<'_> {
        SubjectChoice {
            plan: &self.plan,
            engines: &self.engine,
            durability: &self.durability,
            knobs: &self.knobs,
            claim: self.claim,
            trust: self.trust,
        }
    }

    /// Returns the file system of the block form; `None` for the other form.
    fn block_form(&self) -> Result<Option<FileSystem>, Failure> {
        let file_system = match (self.form, &self.filesystem) {
            (Form::Folder, None) => return Ok(None),
            (Form::Folder, Some(given)) => {
                return Err(Failure::usage(format!(
                    "--filesystem {given}: it belongs to the block form: add --form block"
                )));
            }
            (Form::Block, Some(given)) => given.clone(),
            (Form::Block, None) => "ext4".parse().map_err(Failure::usage)?,
        };
        let other = self.model.iter().find(|model| !concerns_devices(**model));
        if let Some(model) = other {
            return Err(Failure::usage(format!(
                "--form block --model {model}: the block form has the models prefix, journal and \
                 torn"
            )));
        }
        if !file_system.is_made() {
            return Err(Failure::usage(format!(
                "--filesystem {file_system}: the block form makes a file system in an image: write \
                 ext4, xfs or btrfs"
            )));
        }
        check_block_form(&file_system)?;
        Ok(Some(file_system))
    }
}

/// # Errors
/// A usage error if the block form does not work here with this file system.
fn check_block_form(file_system: &FileSystem) -> Result<(), Failure> {
    check(file_system).map_err(|error| Failure::usage(format!("the block form: {error}")))
}

/// Reads a time of a second or more.
///
/// # Errors
/// A usage error for anything else.
pub fn parse_budget(text: &str) -> Result<Duration, Failure> {
    let seconds = parse_seconds(text).map_err(Failure::usage)?;
    if seconds >= 1.0 {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(Failure::usage(format!(
            "'{text}' is too short: give a second or more"
        )))
    }
}

/// Audits, or replays a counterexample.
///
/// # Errors
/// A usage error for an invalid plan, engine, level, knob or folder, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    if let Some(path) = &arguments.replay {
        return replay::replay(path, arguments, registry);
    }
    // Refused before a folder is made.
    let file_system = arguments.block_form()?;
    let (subjects, skipped) = subjects::subjects(&arguments.choice(), registry)?;
    if subjects.is_empty() {
        let reasons = skipped
            .iter()
            .map(|(name, reason)| format!("{name} {reason}"));
        let reasons: Vec<_> = reasons.collect();
        return Err(Failure::usage(format!(
            "nothing to audit: no engine has a level that promises something{}{}",
            if reasons.is_empty() { "" } else { "; " },
            reasons.join("; ")
        )));
    }
    let request = AuditRequest {
        results: arguments.results.clone(),
        work: arguments.work.clone(),
        models: arguments.model.clone(),
        states: arguments.states,
        budget: arguments.budget,
        seed: arguments.seed,
        commits: arguments.commits,
        file_system,
        command: prepared_run::command_line(),
        stop: signals::stop_flag(signals::LEFT_OF_AUDIT)?,
    };
    let progress = AuditProgress::new(arguments.json);
    let observe = |event: AuditEvent<'_>| progress.show(event);
    let (record, folder) = audit_all(&request, &subjects, skipped, registry, &observe)?;
    write_page(&record, &folder)?;
    if arguments.json {
        output::json(&serde_json::to_value(&record).map_err(Failure::usage)?)?;
    } else {
        write_report(&record, &folder, arguments.screen)?;
    }
    Ok(exit_code(&record, !arguments.model.is_empty()))
}

fn write_page(record: &AuditRecord, folder: &Path) -> Result<(), Failure> {
    let file = folder.join(PAGE);
    let page = audit_report::page(record, folder);
    regular_file::replace(folder, PAGE, page.as_bytes()).map_err(|error| {
        let file = file.display();
        Failure::Other(format!(
            "cannot write {file}: {error}; the record of the audit is complete"
        ))
    })
}

/// Returns the exit code of a record. What only weaker storage refutes counts if the user chose the
/// models.
fn exit_code(record: &AuditRecord, chose_models: bool) -> ExitCode {
    let is_clean = |result: &AuditResult| match result.verdict_on_tried_models() {
        AuditVerdict::NotRefuted => true,
        AuditVerdict::Refuted => !chose_models && !result.is_refuted_on_usual_storage(),
        AuditVerdict::Undecided | AuditVerdict::Failed => false,
    };
    let all_clean = !record.blames_storage() && record.results.iter().all(is_clean);
    match () {
        () if record.interrupted => ExitCode::from(INTERRUPTED),
        () if record.is_valid() && all_clean => ExitCode::SUCCESS,
        () => ExitCode::from(FAILED),
    }
}
