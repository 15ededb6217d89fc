//! `trueput faults`: lets the storage of engines fail, and says what becomes of their commits.

mod progress;

use crate::cmd::audit::parse_budget;
use crate::cmd::audit::subjects::{SubjectChoice, subjects};
use crate::failure::{FAILED, Failure, INTERRUPTED};
use crate::output::{self, ChartsWhen};
use crate::plan_overrides::{KnobSetting, parse_knob, parse_seed, without_repetition};
use crate::prepared_run;
use crate::screen::Screen;
use crate::signals;
use crate::size_limit::{SizeLimit, explained};
use crate::trust::Trust;
use clap::Args;
use progress::FaultProgress;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use trueput_audit::{EarlierFaults, FaultEvent, FaultRequest, try_faults};
use trueput_host::read_facts;
use trueput_record::Durability;
use trueput_record::fault_record::{self, FAULT_RECORD, FaultRecord};
use trueput_record::host::ProgramFacts;
use trueput_record::regular_file;
use trueput_record::storage_fault::{FailedFlush, FaultEffect, FaultTrigger, StorageFault};
use trueput_report::{Format, fault_report, render_with};
use trueput_runner::Registry;

/// The plan with the engines that are tried if none is named.
const PLAN: &str = "audit";

/// The report as Markdown, in the folder of the record.
const MARKDOWN: &str = "faults.md";

/// The longest stall, and the longest time until a fault.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// The largest record that is gone on with, bytes.
const MAX_RECORD_BYTES: u64 = 256 << 20;

const EXAMPLES: &str = "\
Examples:
  trueput faults                                       # every installed engine, every usual fault
  trueput faults --engine lmdb,sqlite
  trueput faults --engine sqlite --knob sqlite.journal_mode=delete --fault fsync:eio@5
  trueput faults --engine redb --fault read:flip@1e-5,read:eio@20 --seed 7
  trueput faults --engine leveldb --fault fsync:eio@3.. --failed-fsync kept --json
  trueput faults --engine lmdb,sqlite --resume results/20261130T204500Z-faults

A fault is OPERATION:EFFECT@WHEN, counted from when faults may come. The usual ones:
  fsync:eio@3         the third fsync fails; @3.. for every one from then on
  write:eio@20        the 20th write fails
  write:enospc        the device is full; @64MiB: once the files hold so much
  write:short@5       the 5th write writes half of its bytes, and says so
  read:eio@1          the first read fails
  read:flip           each read has a flipped bit; @1e-6: each byte with that probability
  fsync:lie           every fsync is acknowledged and not done
  any:stall=3s@0s     nothing is answered for 3 s; @5s: from the fifth second on
docs/FAULTS.md explains them and the outcomes. The command needs FUSE, and is made for root.

Exit codes:
  0    no engine lost an acknowledged commit, or returned wrong data, without an error
  1    an engine did, a fault was not tried, or a control did not come out as it must
  2    bad input: command line or folder
  130  interrupted by Ctrl-C or SIGTERM; what was tried is kept";

/// The arguments of `trueput faults`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Engines, comma-separated: NAME, NAME@LIBRARY, the path of a plug-in, or 'present' for all
    /// installed ones [default: present]
    #[arg(long, value_name = "ENGINE")]
    engine: Vec<String>,
    /// Durability levels, comma-separated
    #[arg(
        long,
        value_name = "LEVEL",
        value_delimiter = ',',
        default_value = "sync"
    )]
    durability: Vec<Durability>,
    /// Set a knob of an engine; several comma-separated values try every combination
    #[arg(long = "knob", value_name = "ENGINE.NAME=VALUE", value_parser = parse_knob)]
    knobs: Vec<KnobSetting>,
    /// Faults, comma-separated; each is tried on its own [default: the usual ones, as below]
    #[arg(
        long,
        value_name = "FAULT",
        value_delimiter = ',',
        value_parser = parse_fault,
        hide_default_value = true,
        default_value = "fsync:eio@3,write:eio@20,write:enospc,write:short@5,read:eio@1,read:flip,\
                         fsync:lie,any:stall=3s@0s"
    )]
    fault: Vec<StorageFault>,
    /// What the kernel does with the pages of a failed fsync, comma-separated: dropped (they count
    /// as clean, as on ext4 and XFS), kept (they stay dirty)
    #[arg(
        long,
        value_name = "BEHAVIOR",
        value_delimiter = ',',
        default_value = "dropped,kept"
    )]
    failed_fsync: Vec<FailedFlush>,
    /// Time after which no further fault is tried, as in 90s or 10m [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    budget: Option<Duration>,
    /// Seed of the transactions, and of faults that come by chance
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    seed: u64,
    /// Write the record to standard output, as JSON
    #[arg(long)]
    json: bool,
    /// Directory for results; a folder is created in it
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
    /// Go on with a folder of faults that an interrupt or --budget ended: give the same options
    /// with it. What has a result is not tried again
    #[arg(long, value_name = "FOLDER", conflicts_with = "results")]
    resume: Option<PathBuf>,
    /// Directory for databases [default: in the folder of the results; in memory as root]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    #[command(flatten)]
    screen: Screen,
}

/// Reads a fault; a stall must come once. One that comes again and again keeps an honest engine
/// from all progress, and would count as one that hangs. Each engine waits for the times that a
/// fault names, so they are limited.
fn parse_fault(text: &str) -> Result<StorageFault, Failure> {
    let fault: StorageFault = text.parse().map_err(Failure::usage)?;
    let is_stall = matches!(fault.effect, FaultEffect::Stall { .. });
    if is_stall && fault.trigger.can_repeat() {
        let StorageFault {
            operation, effect, ..
        } = fault;
        return Err(Failure::usage(format!(
            "a stall that comes again and again cannot be told from an engine that hangs; say when \
             it comes once, as in {operation}:{effect}@5 or {operation}:{effect}@5s"
        )));
    }
    let stall = match fault.effect {
        FaultEffect::Stall { length } => length,
        _ => Duration::ZERO,
    };
    let wait = match fault.trigger {
        FaultTrigger::Time(time) => time,
        _ => Duration::ZERO,
    };
    if stall.max(wait) > MAX_WAIT {
        return Err(Failure::usage(format!(
            "{fault}: every engine would wait for it; give 10m at most"
        )));
    }
    Ok(fault)
}

/// Tries the faults.
///
/// # Errors
/// A usage error for an invalid engine, level, knob or folder, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let choice = SubjectChoice {
        plan: PLAN,
        engines: &arguments.engine,
        durability: &arguments.durability,
        knobs: &arguments.knobs,
        claim: None,
        trust: Trust::default(),
    };
    let (subjects, skipped) = subjects(&choice, registry)?;
    if subjects.is_empty() {
        let reasons = skipped.iter();
        let reasons = reasons.map(|(name, reason)| format!("; {name} {reason}"));
        return Err(Failure::usage(format!(
            "nothing to try: no engine promises something at this level{}",
            reasons.collect::<String>()
        )));
    }
    let earlier = arguments.resume.as_deref();
    let earlier = earlier.map(|folder| earlier_faults(folder, arguments.seed));
    let (earlier, _lock) = earlier.transpose()?.unzip();
    let request = FaultRequest {
        results: arguments.results.clone(),
        earlier,
        work: arguments.work.clone(),
        faults: without_repetition(&arguments.fault),
        failed_fsync: without_repetition(&arguments.failed_fsync),
        budget: arguments.budget,
        seed: arguments.seed,
        command: prepared_run::command_line(),
        stop: signals::stop_flag("databases and mounts may be left; 'trueput clean' lists them")?,
    };
    let progress = FaultProgress::new(arguments.json, arguments.budget);
    let observe = |event: FaultEvent<'_>| progress.show(&event);
    let tried = try_faults(&request, &subjects, skipped, registry, &observe);
    progress.line.finish_and_clear();
    let (record, folder) = tried?;
    let file = folder.join(MARKDOWN);
    let markdown = fault_report::markdown(&record);
    regular_file::replace(&folder, MARKDOWN, markdown.as_bytes()).map_err(|error| {
        let file = file.display();
        Failure::Other(format!(
            "cannot write {file}: {error}; the record is complete"
        ))
    })?;
    if arguments.json {
        write_json(&record)?;
    } else {
        write_report(&record, &folder, arguments.screen)?;
    }
    if record.interrupted {
        let folder = folder.display();
        output::note(&format!(
            "to go on: the same options with --resume {folder}"
        ));
    }
    Ok(exit_code(&record))
}

/// Locks the folder of the faults to go on with, and reads them.
///
/// # Errors
/// A usage error if the folder has none, or they are not comparable with those to come, or another
/// command is at work on it.
fn earlier_faults(folder: &Path, seed: u64) -> Result<(EarlierFaults, File), Failure> {
    let refused = |reason: String| Failure::usage(format!("{}: {reason}", folder.display()));
    let lock = fault_record::lock(folder)?;
    let record = fault_record::read(folder, MAX_RECORD_BYTES)?;
    let record = record.ok_or_else(|| refused(format!("it has no {FAULT_RECORD}")))?;
    let version = env!("CARGO_PKG_VERSION");
    if record.program_version != version {
        let theirs = &record.program_version;
        return Err(refused(format!(
            "it is of trueput {theirs}, and this is {version}: begin anew"
        )));
    }
    if record.seed != seed {
        let theirs = record.seed;
        return Err(refused(format!("give its --seed {theirs}")));
    }
    let (theirs, this) = (
        record.host.machine(),
        read_facts(folder, ProgramFacts::default()).machine(),
    );
    if theirs != this {
        return Err(refused(format!(
            "it is of the machine {theirs}, and this is {this}: go on there, or begin anew"
        )));
    }
    let earlier = EarlierFaults {
        folder: folder.to_owned(),
        record,
    };
    Ok((earlier, lock))
}

fn exit_code(record: &FaultRecord) -> ExitCode {
    match () {
        () if record.interrupted => ExitCode::from(INTERRUPTED),
        () if record.is_clean() => ExitCode::SUCCESS,
        () => ExitCode::from(FAILED),
    }
}

/// Writes the report of a folder again; `None` if it is the folder of something else.
///
/// # Errors
/// A usage error if its record cannot be read.
pub fn report(
    folder: &Path,
    screen: Screen,
    format: Format,
    size: SizeLimit,
) -> Result<Option<ExitCode>, Failure> {
    let read = fault_record::read(folder, size.max_bytes).map_err(explained)?;
    let Some(record) = read else {
        return Ok(None);
    };
    match format {
        Format::Json => write_json(&record)?,
        Format::Markdown => output::document(&fault_report::markdown(&record), format)?,
        _ => write_report(&record, folder, screen)?,
    }
    Ok(Some(ExitCode::SUCCESS))
}

fn write_json(record: &FaultRecord) -> Result<(), Failure> {
    output::json(&serde_json::to_value(record).map_err(Failure::usage)?)
}

fn write_report(record: &FaultRecord, folder: &Path, screen: Screen) -> Result<(), Failure> {
    let blocks = fault_report::document(record);
    let text = render_with(&blocks, screen.style(ChartsWhen::Never), "--width");
    output::document(&text, Format::Terminal)?;
    output::line(&format!("faults folder: {}", folder.display()))
}
