//! The grammar of `distribution`: which records operations choose how often.

use super::error::CustomError;
use super::sizes::call;
use crate::generate::distribution::{Chooser, Distribution, Items, hot_items};
use crate::keyed::static_text::intern;
use crate::{Error, Result};
use std::path::Path;
use std::sync::Arc;
use trueput_record::regular_file;
use trueput_record::suggest::did_you_mean;
use trueput_record::text::decode_utf8;

/// The longest histogram file, bytes.
const MAX_HISTOGRAM_BYTES: u64 = 1 << 20;

/// The distributions by name.
const WORDS: [&str; 8] = [
    "uniform",
    "zipfian",
    "latest",
    "hotspot",
    "pareto",
    "sequential",
    "oldest",
    "histogram",
];

/// A distribution of operations over records.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Popularity {
    /// Each as often as any other.
    #[default]
    Uniform,
    /// YCSB's zipfian, scattered.
    Zipfian,
    /// Zipfian with another exponent, scattered.
    ZipfianOf(f64),
    /// The last records most often.
    Latest,
    /// The first records' share of the records, and of the operations.
    Hotspot(f64, f64),
    /// 80 % of the operations on 20 % of the records, and so on within these.
    Pareto,
    /// One after the other.
    Sequential,
    /// The worker's oldest record, which a delete takes out: a queue.
    Oldest,
    /// By the weights of slices of the records, in a file.
    Histogram(&'static str),
}

impl Popularity {
    /// Reads `uniform`, `zipfian`, `zipfian(0.8)`, `latest`, `hotspot`, `hotspot(20%..80%)`,
    /// `pareto`, `sequential`, `oldest` or `histogram(FILE)`.
    ///
    /// # Errors
    /// A text of another form.
    pub(super) fn parse(text: &str) -> Result<Self, CustomError> {
        let (name, argument) = match call(text) {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        Ok(match (name, argument) {
            ("uniform", None) => Self::Uniform,
            ("zipfian", None) => Self::Zipfian,
            ("zipfian", Some(theta)) => Self::ZipfianOf(exponent(text, theta)?),
            ("latest", None) => Self::Latest,
            ("hotspot", None) => Self::Hotspot(0.2, 0.8),
            ("hotspot", Some(shares)) => hotspot(text, shares)?,
            ("pareto", None) => Self::Pareto,
            ("sequential", None) => Self::Sequential,
            ("oldest", None) => Self::Oldest,
            ("histogram", Some(file)) if !file.is_empty() => Self::Histogram(intern(file)),
            ("histogram", _) => {
                return Err(CustomError::NoHistogram);
            }
            _ if WORDS.contains(&name) => {
                let (text, name) = (text.to_owned(), name.to_owned());
                return Err(CustomError::NoArgument { text, name });
            }
            _ => {
                let hint = did_you_mean(name, WORDS);
                let name = name.to_owned();
                return Err(CustomError::UnknownDistribution { name, hint });
            }
        })
    }
}

/// The text of a popularity whose file is relative, with the file in a folder; `None` for others.
pub(super) fn resolve_file(text: &str, folder: &Path) -> Option<String> {
    let ("histogram", file) = call(text)? else {
        return None;
    };
    let file = folder.join(file);
    Some(format!("histogram({})", file.display()))
}

fn exponent(text: &str, theta: &str) -> Result<f64, CustomError> {
    match theta.parse::<f64>() {
        Ok(theta) if theta > 0.0 && theta < 1.0 => Ok(theta),
        _ => Err(CustomError::Exponent {
            text: text.to_owned(),
        }),
    }
}

fn hotspot(text: &str, shares: &str) -> Result<Popularity, CustomError> {
    let percent = |share: &str| {
        let number = share.trim().strip_suffix('%')?.parse::<f64>().ok()?;
        (0.0..=100.0).contains(&number).then_some(number / 100.0)
    };
    let parsed = shares
        .split_once("..")
        .and_then(|(records, operations)| Some((percent(records)?, percent(operations)?)));
    match parsed {
        Some((records, operations)) => Ok(Popularity::Hotspot(records, operations)),
        None => Err(CustomError::Hotspot {
            text: text.to_owned(),
        }),
    }
}

/// A popularity with what it needs: the weights are read.
#[derive(Debug, Clone)]
pub(super) enum RecordChoice {
    /// By a law.
    By(Distribution),
    /// By the weights of slices.
    Weights(Arc<[f64]>),
}

impl RecordChoice {
    /// Of a popularity over this many records.
    ///
    /// # Errors
    /// A file that cannot be read, or is wrong, or operations on a share of no record.
    pub(super) fn new(popularity: Popularity, records: u64) -> Result<Self, CustomError> {
        Ok(Self::By(match popularity {
            Popularity::Uniform => Distribution::Uniform,
            Popularity::Zipfian => Distribution::ScrambledZipfian { keyspace: records },
            Popularity::ZipfianOf(theta) => Distribution::ScatteredZipfian { theta },
            Popularity::Latest => Distribution::Latest,
            Popularity::Hotspot(set_fraction, operation_fraction) => {
                check_hotspot(set_fraction, operation_fraction, records)?;
                Distribution::Hotspot {
                    set_fraction,
                    operation_fraction,
                }
            }
            Popularity::Pareto => Distribution::SelfSimilar { fraction: 0.2 },
            // Each worker begins with the oldest record of its share, and a queue goes on from it.
            Popularity::Sequential | Popularity::Oldest => Distribution::Sequential,
            Popularity::Histogram(file) => return Ok(Self::Weights(read_weights(file)?)),
        }))
    }

    /// The chooser of a worker.
    ///
    /// # Errors
    /// The distribution does not fit the records.
    pub(super) fn chooser(&self, records: u64, worker: u32, workers: u32) -> Result<Chooser> {
        let items = Items::Fixed(records);
        let chooser = match self {
            Self::By(distribution) => Chooser::new(*distribution, items, worker, workers),
            Self::Weights(weights) => Chooser::weighted(weights, items),
        };
        chooser.map_err(|error| Error::Workload(error.to_string()))
    }
}

/// Refuses a hot share of no record, and operations on the others where there are none.
fn check_hotspot(set: f64, operations: f64, records: u64) -> Result<(), CustomError> {
    let hot = hot_items(records, set);
    if hot == 0 {
        let percent = set * 100.0;
        return Err(CustomError::NoHotRecord { percent, records });
    }
    if hot >= records && operations < 1.0 {
        let percent = (1.0 - operations) * 100.0;
        return Err(CustomError::NoColdRecord { percent });
    }
    Ok(())
}

/// Reads a file of weights: a number on each line; empty lines and those that begin with # are
/// skipped.
fn read_weights(file: &'static str) -> Result<Arc<[f64]>, CustomError> {
    let path = Path::new(file);
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = path.file_name().map_or(path, Path::new);
    let bytes = regular_file::read(folder, name, MAX_HISTOGRAM_BYTES)
        .map_err(|error| CustomError::UnreadableHistogram(error.to_string()))?;
    let text = decode_utf8(&bytes).map_err(|_| CustomError::HistogramIsNoText { file })?;
    let mut weights = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.parse::<f64>() {
            Ok(weight) if weight >= 0.0 && weight.is_finite() => weights.push(weight),
            _ => {
                return Err(CustomError::HistogramWeight {
                    file,
                    line: index + 1,
                    shown: line.chars().take(40).collect(),
                });
            }
        }
    }
    match weights.iter().sum::<f64>() {
        sum if sum.is_infinite() => Err(CustomError::LargeWeights { file }),
        sum if sum > 0.0 => Ok(weights.into()),
        _ => Err(CustomError::EmptyHistogram { file }),
    }
}
