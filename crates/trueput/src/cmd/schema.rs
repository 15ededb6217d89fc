//! `trueput schema`: the JSON Schemas of the files that trueput writes and reads.

use crate::failure::Failure;
use crate::output;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use schemars::Schema;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_faultfs::faulty_folder::FaultReport;
use trueput_faultfs::flush_watch::Watch;
use trueput_faultfs::operation::LoggedOperation;
use trueput_faultfs::storage_model::StorageModel;
use trueput_record::audit::AuditRecord;
use trueput_record::fault_record::FaultRecord;
use trueput_record::folder::RunEnd;
use trueput_record::plan::schema::PlanVocabulary;
use trueput_record::schema::of_file;
use trueput_record::service_report::ServiceReport;
use trueput_record::{RunManifest, TrialRecord, published};
use trueput_report::formats::{json, jsonl};
use trueput_runner::Registry;
use trueput_workloads::custom;

const EXAMPLES: &str = "\
Examples:
  trueput schema                          # lists the kinds of files
  trueput schema run > run.schema.json
  trueput schema --output schemas         # writes all of them into a folder

A plan with this first line is checked and completed by editors that know TOML:
  #:schema ./schemas/plan.schema.json";

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FileKind {
    /// run.json of a run folder
    Run,
    /// A line of trials.jsonl of a run folder
    Trial,
    /// end.json of a run folder
    End,
    /// storage/ID-data.json of a run folder
    StorageServer,
    /// storage/ID-faults.json of a run folder
    StorageFaults,
    /// audit.json of 'trueput audit'
    Audit,
    /// A line of operations.jsonl of an audit's recording
    RecordingOperation,
    /// watch.json of an audit's recording
    RecordingWatch,
    /// faults.json of 'trueput faults'
    Faults,
    /// The document of 'trueput report --format json'
    Report,
    /// A line of 'trueput export --format jsonl'
    Export,
    /// A plan (TOML)
    Plan,
    /// A workload file (TOML)
    Workload,
    /// A storage model (TOML)
    StorageModel,
    /// A published table (TOML)
    Published,
}

impl FileKind {
    fn value(self) -> PossibleValue {
        // No variant is hidden.
        self.to_possible_value().unwrap_or_default()
    }

    fn schema(self, registry: &Registry) -> Schema {
        match self {
            Self::Run => of_file::<RunManifest>(),
            Self::Trial => of_file::<TrialRecord>(),
            Self::End => of_file::<RunEnd>(),
            Self::StorageServer => of_file::<ServiceReport>(),
            Self::StorageFaults => of_file::<FaultReport>(),
            Self::Audit => of_file::<AuditRecord>(),
            Self::RecordingOperation => of_file::<LoggedOperation>(),
            Self::RecordingWatch => of_file::<Watch>(),
            Self::Faults => of_file::<FaultRecord>(),
            Self::Report => json::schema(),
            Self::Export => jsonl::schema(),
            Self::Plan => vocabulary(registry).plan_schema(),
            Self::Workload => vocabulary(registry).workload_schema(),
            Self::StorageModel => of_file::<StorageModel>(),
            Self::Published => published::file_schema(),
        }
    }

    fn text(self, registry: &Registry) -> String {
        format!("{:#}\n", self.schema(registry).to_value())
    }
}

/// The arguments of `trueput schema`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Kind of file [default: lists them]
    #[arg(value_name = "FILE-KIND", value_enum, hide_possible_values = true)]
    kind: Option<FileKind>,
    /// Write into this folder, as KIND.schema.json; without a kind: all of them
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Prints or writes a schema, or lists the kinds of files.
///
/// # Errors
/// A usage error if a file exists or cannot be written.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    match (&arguments.output, arguments.kind) {
        (Some(folder), Some(kind)) => write(folder, &[kind], registry)?,
        (Some(folder), None) => write(folder, FileKind::value_variants(), registry)?,
        (None, Some(kind)) => output::write_raw(&kind.text(registry))?,
        (None, None) => output::write(&list())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list() -> String {
    let mut text = String::new();
    for kind in FileKind::value_variants() {
        let value = kind.value();
        let about = value.get_help().map(ToString::to_string);
        text += &format!("{:<21}{}\n", value.get_name(), about.unwrap_or_default());
    }
    text
}

/// Writes schemas into a folder that may be there, under names that may not.
fn write(folder: &Path, kinds: &[FileKind], registry: &Registry) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::not_written(folder, &error))?;
    let path = |kind: &FileKind| folder.join(format!("{}.schema.json", kind.value().get_name()));
    // All or none: a folder of schemas of two versions would mislead.
    if let Some(file) = kinds
        .iter()
        .map(path)
        .find(|file| file.symlink_metadata().is_ok())
    {
        let file = file.display();
        let message = format!("{file} exists: remove it, or name another folder with --output");
        return Err(Failure::Usage(message));
    }
    for kind in kinds {
        let file = path(kind);
        let refuse = |error| Failure::not_written(&file, &error);
        let mut made = File::create_new(&file).map_err(refuse)?;
        let written = made.write_all(kind.text(registry).as_bytes());
        written.map_err(|error| {
            // Half a schema is worse than none.
            let _ = std::fs::remove_file(&file);
            refuse(error)
        })?;
    }
    let number = kinds.len();
    let plural = if number == 1 { "" } else { "s" };
    output::line(&format!("{number} schema{plural}: {}", folder.display()))
}

/// The engines and workloads of this program, plug-ins that are installed included.
fn vocabulary(registry: &Registry) -> PlanVocabulary<'static> {
    let engines = registry.engines.iter();
    let workloads = registry.workloads.iter();
    PlanVocabulary {
        engines: engines.map(|one| (one.info().name, one.knobs())).collect(),
        workloads: workloads
            .map(|one| (one.info().name, one.settings()))
            .collect(),
        custom: custom::NAME,
    }
}
