//! `trueput storage fit`: measures a device, and writes a storage model of it.

mod report;

use crate::failure::{Failure, INTERRUPTED};
use crate::output;
use crate::screen::list_width;
use crate::signals::stop_flag;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use report::{FitReport, server_cost};
use std::fs::Permissions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use trueput_faultfs::device_measurement::{DeviceMeasurement, LARGE_BYTES, ProbePlan, measure};
use trueput_faultfs::device_probe::{DeviceProbe, ProbeError};
use trueput_faultfs::fit_comparison::compare;
use trueput_faultfs::model_fit::{ModelLabels, fit_model, model_text};
use trueput_faultfs::modelled_probe::measure_model;
use trueput_faultfs::storage_model::{ModelSource, StorageModel, StorageModelError};
use trueput_host::disk::Disk;
use trueput_host::fit_file::{FitFile, find_abandoned};
use trueput_host::{find_file_system, read_free_bytes, read_kernel_version};
use trueput_record::storage::is_memory;
use trueput_record::storage_model::{ModelReference, parse_model};
use trueput_record::value::{format_bytes, format_seconds, parse_bytes, parse_seconds};

/// Who may read a model: everybody, as a file that an editor makes.
const MODEL_MODE: u32 = 0o644;

const EXAMPLES: &str = "\
Examples:
  trueput storage fit --on /mnt/disk --output my.toml
  trueput storage fit --on . --output my.toml --name lab-nvme --size 4GiB --duration 2m --force
  trueput storage show ./my.toml
  trueput run log-flush --duration 2 --storage-model none,./my.toml    # root

Exit codes:
  0    measured; the model is written, also if figures of it are off
  1    the device cannot be read or written
  2    bad input: a folder in memory, read-only or without room, a file that exists
  130  interrupted: no model is written, and the file in FOLDER is removed";

/// The smallest file, bytes.
const MIN_FILE_BYTES: u64 = 8 * LARGE_BYTES;

/// The room that stays free beside the file, bytes.
const ROOM_BYTES: u64 = 64 * LARGE_BYTES;

/// The shortest and the longest measurement, seconds.
const DURATIONS_S: [f64; 2] = [0.1, 3_600.0];

/// The name of a model whose file gives it none.
const DEFAULT_NAME: &str = "fitted";

/// The seed of the model's random times: two fits of one measurement are the same.
const SEED: u64 = 1;

/// The arguments of `trueput storage fit`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Folder on the device; one file is written there, measured and removed
    #[arg(long, value_name = "FOLDER")]
    on: PathBuf,
    /// File of the model, as my.toml
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file of the model if it exists
    #[arg(long)]
    force: bool,
    /// Name of the model [default: that of its file]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Size of the file that is measured, 8MiB or more: larger than caches of the device
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1GiB")]
    size: u64,
    /// Time of the measurement, seconds or with a unit; before it the file is written
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "30s")]
    duration: f64,
    /// Write JSON: the model, measured against modeled, and all that was measured
    #[arg(long)]
    json: bool,
}

fn parse_size(text: &str) -> Result<u64, Failure> {
    let bytes = parse_bytes(text).map_err(Failure::usage)?;
    let fits = Some(bytes).filter(|bytes| *bytes >= MIN_FILE_BYTES);
    fits.ok_or_else(|| Failure::usage(format!("must be {} or more", format_bytes(MIN_FILE_BYTES))))
}

fn parse_duration(text: &str) -> Result<f64, Failure> {
    let seconds = parse_seconds(text).map_err(Failure::usage)?;
    let [shortest, longest] = DURATIONS_S;
    let fits = Some(seconds).filter(|seconds| (shortest..=longest).contains(seconds));
    fits.ok_or_else(|| {
        let [shortest, longest] = DURATIONS_S.map(format_seconds);
        Failure::usage(format!("must be {shortest} to {longest}"))
    })
}

/// Measures, fits, writes the model, and reports measured against modeled.
///
/// # Errors
/// A usage error if the folder cannot be measured or the model's file exists; another error if the
/// device fails.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    remove_abandoned(&arguments.on);
    let labels = arguments.check()?;
    let stop =
        stop_flag(".trueput-fit-* may be left in the folder of --on; the next fit removes it")?;
    let Some(measured) = measure_device(arguments, &stop)? else {
        return Ok(interrupted());
    };
    let model = fit_model(&measured, labels).map_err(other)?;
    let text = model_text(&model).map_err(other)?;
    StorageModel::parse(&arguments.output, &text).map_err(other)?;
    let modeled = measure_model(&model, arguments.plan(), SEED);
    let report = FitReport {
        output: &arguments.output,
        lines: compare(&measured, &modeled),
        measured: &measured,
        model: &model,
        server_cost: server_cost().map_err(|error| error.to_string()),
    };
    if stop.load(Ordering::Relaxed) {
        return Ok(interrupted());
    }
    arguments.write(&text)?;
    if arguments.json {
        output::json(&report.document())?;
    } else {
        output::write(&report.text(list_width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn other(error: impl std::fmt::Display) -> Failure {
    Failure::Other(error.to_string())
}

fn interrupted() -> ExitCode {
    output::note("interrupted: no model is written");
    ExitCode::from(INTERRUPTED)
}

/// Removes what killed fits have left in a folder.
fn remove_abandoned(folder: &Path) {
    for file in find_abandoned(folder) {
        let path = file.path.display();
        output::note(&match std::fs::remove_file(&file.path) {
            Ok(()) => format!("removed {path}, which a killed fit had left"),
            Err(error) => format!("{path}, which a killed fit has left, stays: {error}"),
        });
    }
}

/// Measures the device with a file that is removed in the end; `None` if the user stops it.
fn measure_device(
    arguments: &Arguments,
    stop: &AtomicBool,
) -> Result<Option<DeviceMeasurement>, Failure> {
    let folder = arguments.on.display();
    let file = FitFile::create(&arguments.on)
        .map_err(|error| Failure::usage(format!("cannot write to {folder}: {error}")))?;
    let plan = arguments.plan();
    let begun = format!(
        "measuring {folder} for about {}, after writing a file of {}",
        format_seconds(plan.duration_s),
        format_bytes(plan.file_bytes)
    );
    let line = progress_line();
    let mut show_filling = |part: f64| {
        // A folder that is refused has no other line.
        if part == 0.0 {
            output::note(&begun);
        }
        line.set_message(format!("writing the file: {:.0} %", part * 100.0));
    };
    let prepared = DeviceProbe::prepare(file.path(), plan.file_bytes, stop, &mut show_filling);
    let measured = prepared.and_then(|mut probe| {
        measure(&mut probe, plan, &mut |load, left_s| {
            line.set_message(format!("{load}: {left_s:.0} s left"));
        })
    });
    line.finish_and_clear();
    match measured {
        Ok(measured) => Ok(Some(measured)),
        Err(ProbeError::Interrupted) => Ok(None),
        Err(error @ ProbeError::NoDirectIo(_)) => Err(Failure::usage(error)),
        Err(error @ ProbeError::Io { .. }) => Err(other(error)),
    }
}

/// The line on a terminal that says what is measured, and the time left.
fn progress_line() -> ProgressBar {
    let line = if std::io::stderr().is_terminal() {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::hidden()
    };
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        line.set_style(style);
    }
    line
}

impl Arguments {
    fn plan(&self) -> ProbePlan {
        ProbePlan {
            duration_s: self.duration,
            file_bytes: self.size / LARGE_BYTES * LARGE_BYTES,
        }
    }

    /// Refuses what cannot end well, before anything is written, and returns what the model will
    /// say of itself.
    fn check(&self) -> Result<ModelLabels, Failure> {
        let folder = self.on.display();
        if !self.on.is_dir() {
            return Err(Failure::usage(format!(
                "{folder} is not a directory: create it, or name another"
            )));
        }
        let kind = find_file_system(&self.on).kind;
        if is_memory(&kind) {
            return Err(Failure::usage(format!(
                "{folder} is on {kind}, which is memory; name a folder on the device to be measured"
            )));
        }
        let needed = self.size.saturating_add(ROOM_BYTES);
        if let Some(free) = read_free_bytes(&self.on).filter(|free| *free < needed) {
            let [free, needed] = [free, needed].map(format_bytes);
            return Err(Failure::usage(format!(
                "{folder} has {free} free, and the fit needs {needed}: give a smaller --size, or \
                 name a folder with more room"
            )));
        }
        self.check_output()?;
        let labels = self.labels(&kind);
        check_name(&labels.name)?;
        Ok(labels)
    }

    /// Refuses a file that exists, or that no condition of a run could name.
    fn check_output(&self) -> Result<(), Failure> {
        let shown = self.output.to_str().map(str::to_owned);
        let shown = shown.ok_or_else(|| {
            let shown = self.output.display();
            Failure::usage(format!("{shown} is not UTF-8: name another --output"))
        })?;
        let reference = ModelReference::of(&shown);
        // The beginning or the end of another path would be taken for a form or a hash.
        let is_file = reference.file().is_some() && reference.source == shown;
        if !is_file || parse_model(&shown).is_err() {
            return Err(Failure::usage(format!(
                "'{shown}' could not be named as a storage model: write a path that ends in .toml, \
                 without commas, and without folder: before it"
            )));
        }
        let found = self.output.symlink_metadata();
        if found.is_ok_and(|found| !found.is_file()) {
            return Err(Failure::usage(format!(
                "{shown} is not a regular file: name another --output"
            )));
        }
        if self.output.exists() && !self.force {
            return Err(Failure::usage(format!(
                "{shown} exists: give --force to replace it, or name another --output"
            )));
        }
        let parent = self.output.parent().unwrap_or(&self.output);
        if !parent.as_os_str().is_empty() && !parent.is_dir() {
            return Err(Failure::usage(format!(
                "{} is not a directory: create it, or name another --output",
                parent.display()
            )));
        }
        let folder = regular_folder(parent);
        tempfile::tempfile_in(folder).map(drop).map_err(|error| {
            Failure::usage(format!("cannot write to {}: {error}", folder.display()))
        })
    }

    fn labels(&self, file_system: &str) -> ModelLabels {
        let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        let device = format!("{file_system} on {}", device_words(&self.on));
        let name = self.name.clone();
        let text = format!(
            "trueput {} storage fit, {date}: {device}; kernel {}; {} of loads on a file of {}",
            env!("CARGO_PKG_VERSION"),
            read_kernel_version(),
            format_seconds(self.duration),
            format_bytes(self.plan().file_bytes)
        );
        ModelLabels {
            name: name.unwrap_or_else(|| default_name(&self.output)),
            about: format!("{device}, as measured on {date}"),
            source: ModelSource {
                text,
                address: "none: a measurement on the machine with the device".to_owned(),
            },
        }
    }

    /// Writes the model, whole or not at all. A file that was made meanwhile stays, and what was
    /// measured is not lost: the model goes to standard output where it cannot be written.
    fn write(&self, text: &str) -> Result<(), Failure> {
        let written = self.check_output().and_then(|()| {
            let folder = regular_folder(self.output.parent().unwrap_or(Path::new("")));
            let file = tempfile::Builder::new()
                .permissions(Permissions::from_mode(MODEL_MODE))
                .tempfile_in(folder);
            let written = file.and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                Ok(file.persist(&self.output)?)
            });
            written.map(drop).map_err(|error: std::io::Error| {
                other(format!("{}: {error}", self.output.display()))
            })
        });
        if written.is_err() {
            output::write(text)?;
        }
        written
    }
}

/// The folder of a path's parent, which is empty for a name alone.
fn regular_folder(parent: &Path) -> &Path {
    if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    }
}

/// The device below a folder, as far as the kernel names it.
fn device_words(folder: &Path) -> String {
    let Some(disk) = Disk::below(folder) else {
        return find_file_system(folder).source;
    };
    let model = disk.model();
    let model = model.map_or_else(String::new, |model| format!(" ({model})"));
    let cache = if disk.is_cached() { "a" } else { "no" };
    format!(
        "{}{model}, with {cache} volatile write cache by the kernel",
        disk.name()
    )
}

/// The name of a model's file without its ending, as far as a model can have it.
fn default_name(output: &Path) -> String {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    let fits = |letter: &char| letter.is_ascii_alphanumeric() || "-_.".contains(*letter);
    let name: String = stem.chars().filter(fits).take(60).collect();
    let name = name.trim_start_matches('.');
    if check_name(name).is_ok() {
        name.to_owned()
    } else {
        DEFAULT_NAME.to_owned()
    }
}

/// Refuses what no model can be named, by the check of a model's file.
fn check_name(name: &str) -> Result<(), Failure> {
    let any = StorageModel::built_in("nvme-consumer").map_err(other)?;
    let named = StorageModel {
        name: name.to_owned(),
        ..any
    };
    let text = model_text(&named).map_err(other)?;
    match StorageModel::parse(Path::new(name), &text) {
        Ok(_) => Ok(()),
        Err(StorageModelError::File(trueput_record::Error::Invalid { message, .. })) => {
            Err(Failure::usage(message))
        }
        Err(error) => Err(Failure::usage(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_as_its_file_where_it_can_be() {
        for (file, name) in [
            ("my.toml", "my"),
            ("a/lab nvme, 2.toml", "labnvme2"),
            (".toml", "toml"),
            ("none.toml", DEFAULT_NAME),
            ("über.toml", "ber"),
            ("ü.toml", DEFAULT_NAME),
        ] {
            assert_eq!(default_name(Path::new(file)), name, "{file}");
        }
        let refused = check_name("a b").unwrap_err().to_string();
        assert!(refused.contains("'a b' is not a model name"), "{refused}");
    }

    #[test]
    fn sizes_and_durations_that_measure_nothing_are_refused() {
        assert_eq!(parse_size("8MiB"), Ok(8 << 20));
        assert!(parse_size("4MiB").is_err() && parse_size("many").is_err());
        assert_eq!(parse_duration("2m"), Ok(120.0));
        for text in ["0", "2h", "soon"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
