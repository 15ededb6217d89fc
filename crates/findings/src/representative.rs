//! The trial that represents each cell in charts: the repeat with the median rate.

use crate::Run;
use crate::cells::RankedCell;
use crate::latency_bands::{BandShare, latency_bands};
use crate::rankings::Ranking;
use trueput_record::histogram::LoggedHistogram;
use trueput_record::measurement::LatencySummary;
use trueput_record::{Measurement, RunFolder, TrialRecord};

/// Percentiles taken from a histogram; its maximum comes after them.
const PERCENTILES: [f64; 10] = [
    50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.99, 99.999, 99.9999,
];

/// A percentile of times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// The percentile, 0 to 100; 100 is the maximum.
    pub percentile: f64,
    /// The time, nanoseconds.
    pub latency_ns: f64,
}

/// A cell and the trial that represents it.
#[derive(Debug)]
pub struct Representative<'a> {
    /// The cell.
    pub cell: &'a RankedCell,
    /// Its trial.
    pub trial: &'a TrialRecord,
    /// The measurement of that trial.
    pub measurement: &'a Measurement,
    /// Its latencies by kind of operation, or of response.
    latencies: Vec<(String, Vec<Percentile>)>,
    /// The run folder; `None` if it cannot be read.
    folder: Option<RunFolder>,
}

impl Representative<'_> {
    /// The percentiles of a kind of operation; empty if none was timed.
    #[must_use]
    pub fn percentiles(&self, kind: &str) -> Vec<Percentile> {
        let operation = self.measurement.operation(kind);
        self.points(kind, operation.map(|operation| &operation.latency))
    }

    /// The percentiles of the response times of a kind of unit, from when each was due; empty if
    /// the trial was not an open loop.
    #[must_use]
    pub fn response_percentiles(&self, kind: &str) -> Vec<Percentile> {
        let responses = self.measurement.open_loop.iter();
        let mut responses = responses.flat_map(|open| &open.responses);
        let response = responses.find(|response| response.kind == kind);
        let log = format!("{kind}-response");
        self.points(&log, response.map(|response| &response.latency))
    }

    /// The latencies of a kind of operation over time; empty if they were not kept.
    #[must_use]
    pub fn latency_bands(&self, kind: &str, max_columns: usize) -> Vec<BandShare> {
        let folder = self.folder.as_ref();
        folder.map_or_else(Vec::new, |folder| {
            latency_bands(folder, &self.trial.spec.id, kind, max_columns)
        })
    }

    /// The points of a histogram by its name in the log, or else those of a summary.
    fn points(&self, log: &str, summary: Option<&LatencySummary>) -> Vec<Percentile> {
        let read = self.latencies.iter().find(|(of, _)| of == log);
        if let Some((_, points)) = read {
            return points.clone();
        }
        let timed = summary.filter(|latency| latency.is_measured());
        timed.map_or_else(Vec::new, summarised)
    }
}

/// The representative trials of a ranking in its order, unranked ones last; those of the harness if
/// no contender is ranked.
#[must_use]
pub fn representatives<'a>(report: &'a Run, ranking: &'a Ranking) -> Vec<Representative<'a>> {
    let mut cells: Vec<&RankedCell> = ranking.contenders().collect();
    if cells.is_empty() {
        cells.extend(&ranking.harness);
    }
    let folder = RunFolder::open(&report.folder)
        .ok()
        .map(|(folder, _)| folder);
    let one = |cell: &'a RankedCell| {
        let (trial, measurement) = median_repeat(report, ranking, cell)?;
        Some(Representative {
            cell,
            trial,
            measurement,
            latencies: latencies(folder.as_ref(), &trial.spec.id),
            folder: folder.clone(),
        })
    };
    cells.into_iter().filter_map(one).collect()
}

fn median_repeat<'a>(
    report: &'a Run,
    ranking: &Ranking,
    cell: &RankedCell,
) -> Option<(&'a TrialRecord, &'a Measurement)> {
    let not_ranked = |trial: &TrialRecord| ranking.unranked.iter().any(|it| it.id == trial.spec.id);
    let distance = |measurement: &Measurement| {
        let rate = measurement.operation(&ranking.headline)?.per_s;
        Some((rate - cell.figures.headline_per_s.median).abs())
    };
    let repeats = report
        .trials
        .iter()
        .filter(|trial| trial.spec.cell == cell.cell && !not_ranked(trial));
    let measured = repeats.filter_map(|trial| {
        let measurement = trial.measurement.as_ref()?;
        Some((distance(measurement)?, trial, measurement))
    });
    let nearest = measured.min_by(|one, other| one.0.total_cmp(&other.0))?;
    Some((nearest.1, nearest.2))
}

/// The histograms of a trial; empty if their file is missing or cannot be read, so that the summary
/// in the trial's line is used.
fn latencies(folder: Option<&RunFolder>, trial: &str) -> Vec<(String, Vec<Percentile>)> {
    let logs = folder.and_then(|folder| folder.histograms(trial).ok().flatten());
    let logs = logs.unwrap_or_default().into_iter();
    let timed = logs.filter(|one| !one.histogram.is_empty());
    timed
        .map(|logged| (logged.kind.clone(), of_histogram(&logged)))
        .collect()
}

fn of_histogram(LoggedHistogram { histogram, .. }: &LoggedHistogram) -> Vec<Percentile> {
    let count = histogram.len() as f64;
    // A percentile that not even one operation is above is the maximum.
    let is_below = |percentile: &f64| count * (1.0 - percentile / 100.0) >= 1.0;
    let of = |percentile: f64| Percentile {
        percentile,
        latency_ns: histogram.value_at_quantile(percentile / 100.0) as f64,
    };
    let longest = Percentile {
        percentile: 100.0,
        latency_ns: histogram.max() as f64,
    };
    let below = PERCENTILES.into_iter().filter(is_below).map(of);
    below.chain([longest]).collect()
}

fn summarised(latency: &LatencySummary) -> Vec<Percentile> {
    let points = [
        (50.0, latency.p50_ns),
        (90.0, latency.p90_ns),
        (99.0, latency.p99_ns),
        (99.9, latency.p999_ns),
        (100.0, latency.max_ns),
    ];
    let of = |(percentile, latency_ns)| Percentile {
        percentile,
        latency_ns: latency_ns as f64,
    };
    points.map(of).to_vec()
}
