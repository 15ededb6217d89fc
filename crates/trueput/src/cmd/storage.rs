//! `trueput storage`: lists the storage models, prints one, and fits one to a device.

mod fit;

use crate::failure::Failure;
use crate::output;
use crate::screen::list_width;
use crate::table::{self, Entry};
use clap::{Args, Subcommand};
use serde_json::json;
use std::process::ExitCode;
use trueput_faultfs::model_prediction::{ModelPrediction, VOLUME_BYTES};
use trueput_faultfs::named_model::find_model;
use trueput_faultfs::storage_model::{CacheKind, RateLimits, StorageModel};
use trueput_findings::units::{counted, nanoseconds, number, whole};
use trueput_record::storage_model::ModelReference;
use trueput_record::value::format_bytes;

const EXAMPLES: &str = "\
Examples:
  trueput storage list
  trueput storage show hdd-7200 > mine.toml       # a start for a model of your own
  trueput storage fit --on /mnt/disk --output my.toml    # a model of a device of yours
  trueput run log-flush --duration 2 --storage-model hdd-7200,nvme-consumer    # root
  trueput run micro --engine lmdb,redb --durability sync --set test=overwrite --duration 5 \
--storage-model none,ebs-gp3

docs/STORAGE_MODELS.md says what a model can do, and how to write one.";

/// What to do with storage models.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// List the built-in models, with the times that they predict for one worker
    List(ListArguments),
    /// Print the file of a model, with its sources
    Show(ShowArguments),
    /// Measure a device, and write a model of it
    Fit(fit::Arguments),
}

/// The arguments of `trueput storage list`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ListArguments {
    /// Write JSON: each model with all of its figures
    #[arg(long)]
    json: bool,
}

/// The arguments of `trueput storage show`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ShowArguments {
    /// A built-in model, or the path of a TOML file, which is checked
    #[arg(value_name = "NAME")]
    name: String,
    /// Write JSON, with the times that the model predicts
    #[arg(long)]
    json: bool,
}

/// Does what the command says.
///
/// # Errors
/// A usage error if there is no such model, or a file is none; those of a fit.
pub fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::List(arguments) => list(arguments)?,
        Command::Show(arguments) => show(arguments)?,
        Command::Fit(arguments) => return fit::run(arguments),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let models: Result<Vec<_>, _> = StorageModel::built_in_names()
        .map(StorageModel::built_in)
        .collect();
    let models = models.map_err(|error| Failure::Other(error.to_string()))?;
    if arguments.json {
        return output::json(&models.iter().map(described).collect());
    }
    let listed: Vec<_> = models.iter().map(entry).collect();
    let header = ["model", "append, flush", "per second", "random read"];
    output::write(&table::entries(header, &listed, list_width()))?;
    let volume = format_bytes(VOLUME_BYTES);
    let notes = format!(
        "Predicted for one worker on an idle volume of {volume}: the median time of 4 KiB appended \
         and flushed, such appends per second on average, and the median time of 4 KiB read at a \
         random position. A model slows this machine's storage down, never speeds it up. 'trueput \
         storage show NAME' prints a model; docs/STORAGE_MODELS.md says how to use one."
    );
    output::write(&format!(
        "\n{}",
        table::paragraph_lines(&notes, "", list_width())
    ))
}

fn entry(model: &StorageModel) -> Entry<4> {
    let predicted = ModelPrediction::of(model);
    Entry {
        cells: [
            model.name.clone(),
            nanoseconds(predicted.append_median_ns as f64),
            number(predicted.appends_per_s),
            nanoseconds(predicted.read_median_ns as f64),
        ],
        below: vec![model.about.clone(), device_words(model)],
    }
}

/// The figures of a model as JSON: what it predicts, and what its file has.
fn described(model: &StorageModel) -> serde_json::Value {
    let predicted = ModelPrediction::of(model);
    json!({
        "name": model.name,
        "about": model.about,
        "predicted": {
            "append_median_ns": predicted.append_median_ns,
            "appends_per_s": predicted.appends_per_s,
            "read_median_ns": predicted.read_median_ns,
            "read_p99_ns": predicted.read_p99_ns,
            "volume_bytes": VOLUME_BYTES,
        },
        "model": model,
    })
}

/// The device in a sentence: its parallelism, its write cache and its limits.
fn device_words(model: &StorageModel) -> String {
    let parallel = counted(model.parallelism.into(), "request");
    let cache = match &model.write_cache {
        None => "no write cache".to_owned(),
        Some(cache) => {
            let kind = match cache.kind {
                CacheKind::Volatile => "volatile",
                CacheKind::Protected => "protected",
            };
            format!("a {kind} write cache of {} MiB", figure(cache.capacity_mib))
        }
    };
    let limits = model.limits.as_ref().map_or_else(Vec::new, limit_words);
    let limits = match limits.as_slice() {
        [] => "no enforced limits".to_owned(),
        limits => format!("limited to {}", limits.join(", ")),
    };
    format!("{parallel} at once; {cache}; {limits}")
}

/// The limits that a seller enforces, in words.
fn limit_words(limits: &RateLimits) -> Vec<String> {
    let operations =
        |limit: Option<f64>, words: &str| limit.map(|limit| format!("{} {words}", figure(limit)));
    let burst = operations(limits.burst_iops, "a second in bursts");
    let burst = burst.map(|burst| match limits.burst_credits {
        Some(credits) => format!("{burst} ({} credits)", figure(credits)),
        None => burst,
    });
    let words = [
        operations(limits.iops, "I/O operations a second"),
        operations(limits.iops_per_gib, "a second for each GiB"),
        operations(limits.iops_max, "a second at most"),
        burst,
        operations(limits.bandwidth_mib_per_s, "MiB/s"),
    ];
    words.into_iter().flatten().collect()
}

/// A figure of a model's file, which is mostly a whole number.
fn figure(value: f64) -> String {
    if value.fract() == 0.0 {
        whole(value)
    } else {
        number(value)
    }
}

fn show(arguments: &ShowArguments) -> Result<(), Failure> {
    let name = arguments.name.as_str();
    let model = find_model(name).map_err(Failure::usage)?;
    if arguments.json {
        return output::json(&described(&model));
    }
    let reference = ModelReference::of(name);
    match reference.file() {
        Some(file) => {
            let text = StorageModel::read_text(file).map_err(Failure::usage)?;
            output::write(&text)
        }
        None => {
            let text = StorageModel::built_in_text(reference.source);
            output::write_raw(text.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_a_volume_are_said_in_words() {
        let limits = RateLimits {
            iops: Some(100.0),
            iops_per_gib: Some(3.0),
            iops_max: Some(16_000.0),
            burst_iops: Some(3_000.0),
            burst_credits: Some(5_400_000.0),
            bandwidth_mib_per_s: Some(250.0),
            ..RateLimits::default()
        };
        let expected = [
            "100 I/O operations a second",
            "3 a second for each GiB",
            "16,000 a second at most",
            "3,000 a second in bursts (5,400,000 credits)",
            "250 MiB/s",
        ];
        assert_eq!(limit_words(&limits), expected);
        assert!(limit_words(&RateLimits::default()).is_empty());
    }

    #[test]
    fn a_model_s_document_has_what_it_predicts_and_what_its_file_has() {
        let model = StorageModel::built_in("hdd-7200").unwrap();
        let document = described(&model);
        assert_eq!(document["name"], "hdd-7200");
        assert_eq!(document["model"]["parallelism"], model.parallelism);
        assert!(document["predicted"]["appends_per_s"].as_f64().unwrap() > 1.0);
        let words = device_words(&model);
        assert!(
            words.contains("at once; ") && words.contains("write cache"),
            "{words}"
        );
    }
}
