//! The history of a plan: the rates of each contender over many runs, and changes of level.

mod track;

pub use track::{HistoryCell, history_cells};

use crate::Run;
use crate::compare::{Change, NoSuchTrial, Selector, Side, UnreadableLine};
use crate::marks::Mark;
use crate::statistics::{Interval, geometric_mean, level_changes, median, outliers};
use crate::text::{serialize_as_text, serialize_texts};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use track::changes_between_runs;
use trueput_record::Durability;

/// The fewest runs in which a change can be found: three on each side.
pub const MIN_RUNS: usize = 6;

/// A step of less than this part is not reported.
const MIN_STEP: f64 = 0.01;

/// Distance from the median, in scaled median absolute deviations, from which a run is an outlier.
const FAR: f64 = 5.0;

/// The series of many runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunHistory {
    /// One per contender, workload, settings, level, workers and conditions, in a fixed order.
    pub series: Vec<RateSeries>,
    /// Records that were left out, with the reason.
    pub skipped: Vec<SkippedRecord>,
}

/// A run that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: unreadable, skipped: {reason}", path.display())]
pub struct UnreadableRun {
    /// The run's folder or bundle.
    pub path: PathBuf,
    /// The reader's message.
    pub reason: String,
}

/// A run, or a part of one, that a history leaves out. Its `Display` is the sentence that JSON has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkippedRecord {
    /// A run that cannot be read.
    #[error(transparent)]
    Run(UnreadableRun),
    /// A line that cannot be read.
    #[error(transparent)]
    Line(UnreadableLine),
    /// A trial whose record disagrees with itself.
    #[error("{run}: {id} is skipped: {}", contradictions.join("; "))]
    Trial {
        /// Label of the run.
        run: String,
        /// The trial.
        id: String,
        /// The parts of its record that disagree, one sentence each.
        contradictions: Vec<String>,
    },
    /// A run without a matching trial.
    #[error(transparent)]
    NoSuchTrial(NoSuchTrial),
    /// A run without a valid trial.
    #[error("{0}: it has no valid trial")]
    NoValidTrial(String),
    /// A second copy of a run.
    #[error("{copy}: the same run as {kept}")]
    Copy {
        /// Label of the copy that is left out.
        copy: String,
        /// The copy that is shown.
        kept: String,
    },
}

serialize_as_text!(SkippedRecord);

impl SkippedRecord {
    /// The same reason, its command with this name of the program, quoted for a shell: the one that
    /// the user calls.
    #[must_use]
    pub fn called(self, program: &str) -> Self {
        if let Self::NoSuchTrial(reason) = self {
            Self::NoSuchTrial(reason.called(program))
        } else {
            self
        }
    }
}

/// One contender over many runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RateSeries {
    /// The contender.
    pub contender: String,
    /// Marks of the contender in any of the runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// The workload.
    pub workload: String,
    /// Durability level of each commit.
    pub durability: Durability,
    /// Number of workers.
    pub workers: u32,
    /// Settings and conditions that must be the same in all runs, by name.
    pub circumstances: BTreeMap<String, String>,
    /// The kind of operation whose rate it is.
    pub headline: String,
    /// One per run, in the order of time.
    pub points: Vec<HistoryPoint>,
    /// Changes of level.
    pub steps: Vec<LevelStep>,
    /// Runs that are far from the others of their segment.
    pub outliers: Vec<RunOutlier>,
}

/// A contender in one run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryPoint {
    /// The path of the run folder or bundle, for text and commands.
    pub run: String,
    /// When the run began, RFC 3339.
    pub started_at: String,
    /// The engine's version.
    pub version: String,
    /// The host.
    pub host: String,
    /// trueput's commit.
    pub commit: String,
    /// Geometric mean of its repeats' rates, per second.
    pub per_s: f64,
    /// Student's 95 % interval of that mean; `None` for fewer than three repeats.
    pub interval: Option<Interval>,
    /// Repeats that count.
    pub repeats: usize,
    /// Marks of the contender in this run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

impl RateSeries {
    /// Adds a run.
    fn add(&mut self, point: HistoryPoint) {
        let known = |mark: &&Mark| self.marks.iter().all(|other| other.label != mark.label);
        let new: Vec<_> = point.marks.iter().filter(known).cloned().collect();
        self.marks.extend(new);
        self.points.push(point);
    }
}

/// A change of level.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LevelStep {
    /// Index of the first run after it.
    pub at: usize,
    /// The mean rate after it over that before it, up to the next step on either side.
    pub ratio: f64,
    /// Recorded differences from the run before: machine, program, plan, engine, knobs.
    #[serde(serialize_with = "serialize_texts")]
    #[schemars(with = "Vec<String>")]
    pub with: Vec<Change>,
}

/// A run that is far from the others of its segment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunOutlier {
    /// Its index among the points.
    pub at: usize,
    /// The median of its segment, between two changes of level, per second.
    pub median_per_s: f64,
}

/// Expands paths to runs: a run folder or bundle is itself, another folder is the runs in it,
/// sorted by name.
///
/// # Errors
/// [`trueput_record::Error`] if a folder is not a run and contains none, or cannot be read.
pub fn runs_in(paths: &[PathBuf]) -> Result<Vec<PathBuf>, trueput_record::Error> {
    let mut runs = Vec::new();
    for path in paths {
        if path.is_file() || path.join("run.json").is_file() {
            runs.push(path.clone());
            continue;
        }
        let invalid = |reason: &str| trueput_record::Error::invalid(path, reason);
        if !path.exists() {
            return Err(invalid(
                "no such folder; give a folder of runs, such as results",
            ));
        }
        let entries =
            std::fs::read_dir(path).map_err(|source| trueput_record::Error::io(path, source))?;
        let mut within: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|entry| entry.join("run.json").is_file() || is_bundle(entry))
            .collect();
        if within.is_empty() {
            return Err(invalid(
                "neither a run folder nor a folder of runs or bundles",
            ));
        }
        within.sort();
        runs.extend(within);
    }
    runs.dedup();
    Ok(runs)
}

fn is_bundle(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".tar.gz") && path.is_file()
}

/// Sorts runs into series. A run that could not be read is listed, like a run without a valid
/// trial; the others are shown.
#[must_use]
pub fn history(runs: Vec<Result<Run, UnreadableRun>>, selector: &Selector) -> RunHistory {
    let (sides, mut skipped) = sides(runs, selector);
    let mut series: BTreeMap<String, (RateSeries, Vec<&Side>)> = BTreeMap::new();
    for side in &sides {
        skipped.extend(skipped_of(side));
        let cells = history_cells(side);
        if cells.is_empty() {
            skipped.push(SkippedRecord::NoValidTrial(side.label.clone()));
        }
        for cell in cells {
            let (series, of) = series.entry(cell.key).or_insert((cell.series, Vec::new()));
            series.add(cell.point);
            of.push(side);
        }
    }
    let long = series.values().filter(|(_, of)| of.len() >= MIN_RUNS);
    let together = long.count();
    let judged = series.into_iter().map(|(key, (mut series, of))| {
        find_changes(&mut series, together, |before, after| {
            changes_between_runs(of[before], of[after], &key)
        });
        series
    });
    RunHistory {
        series: judged.collect(),
        skipped,
    }
}

/// The lines and the trials of a run that are left out.
fn skipped_of(side: &Side) -> impl Iterator<Item = SkippedRecord> + '_ {
    let lines = UnreadableLine::all(&side.label, &side.report.damaged);
    let contradictions = side.report.integrity.contradictions.iter();
    let trials = contradictions.map(|(id, found)| SkippedRecord::Trial {
        run: side.label.clone(),
        id: id.clone(),
        contradictions: found.clone(),
    });
    lines.map(SkippedRecord::Line).chain(trials)
}

/// Returns the runs with a matching trial in the order of time, and the reasons why others are left
/// out.
fn sides(
    runs: Vec<Result<Run, UnreadableRun>>,
    selector: &Selector,
) -> (Vec<Side>, Vec<SkippedRecord>) {
    let (mut reports, mut skipped) = (Vec::<Run>::new(), Vec::new());
    for run in runs {
        match run {
            Err(unreadable) => skipped.push(SkippedRecord::Run(unreadable)),
            // A bundle may lie next to its run.
            Ok(run) => match reports
                .iter_mut()
                .find(|known| known.manifest == run.manifest)
            {
                Some(known) => {
                    // One of the copies may be damaged.
                    let (kept, other) = if run.trials.len() > known.trials.len() {
                        let other = std::mem::replace(known, run);
                        (&*known, other)
                    } else {
                        (&*known, run)
                    };
                    skipped.push(SkippedRecord::Copy {
                        copy: other.shown_as.display().to_string(),
                        kept: kept.shown_as.display().to_string(),
                    });
                }
                None => reports.push(run),
            },
        }
    }
    reports.sort_by(|one, other| one.manifest.started_at.cmp(&other.manifest.started_at));
    let mut sides = Vec::new();
    for report in reports {
        let label = report.shown_as.display().to_string();
        match Side::new(&label, report, selector.clone()) {
            Ok(side) => sides.push(side),
            Err(reason) => skipped.push(SkippedRecord::NoSuchTrial(reason)),
        }
    }
    (sides, skipped)
}

/// Finds the steps and outliers of a series, one of `together` that are read together. `changes`
/// returns the differences between two of its points.
fn find_changes(
    series: &mut RateSeries,
    together: usize,
    changes: impl Fn(usize, usize) -> Vec<Change>,
) {
    let rates: Vec<f64> = series.points.iter().map(|point| point.per_s).collect();
    let mut bounds = vec![0];
    bounds.extend(level_changes(&rates, together));
    bounds.push(rates.len());
    let mean = |from: usize, to: usize| rates[from..to].iter().sum::<f64>() / (to - from) as f64;
    for three in bounds.windows(3) {
        let ratio = mean(three[1], three[2]) / mean(three[0], three[1]);
        if (ratio - 1.0).abs() >= MIN_STEP {
            series.steps.push(LevelStep {
                at: three[1],
                ratio,
                with: changes(three[1] - 1, three[1]),
            });
        }
    }
    for two in bounds.windows(2) {
        let segment = &rates[two[0]..two[1]];
        let median_per_s = median(segment.iter().copied()).unwrap_or_default();
        let far = outliers(segment, FAR).into_iter();
        series.outliers.extend(far.map(|index| RunOutlier {
            at: two[0] + index,
            median_per_s,
        }));
    }
}

/// A run's rate and its 95 % interval, both of the geometric mean, so that the one is in the
/// other. A rate of 0 makes it 0, without an interval.
pub fn rate_of(rates: &[f64]) -> (f64, Option<Interval>) {
    if let Some(interval) = geometric_mean(rates, 0.95) {
        return (interval.estimate, Some(interval));
    }
    let logarithms = rates.iter().map(|rate| rate.ln()).sum::<f64>();
    let mean = (logarithms / rates.len() as f64).exp();
    (if mean.is_finite() { mean } else { 0.0 }, None)
}
