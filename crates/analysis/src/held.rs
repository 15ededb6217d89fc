//! What held a trial: the rules of [`crate::bottleneck`] over its record.

use crate::bottleneck::{self, Bottleneck, Setting, Stretch};
use serde::Serialize;
use trueput_record::TrialRecord;
use trueput_record::measurement::Measurement;

/// Trials of less than this many seconds have too few samples to judge.
const SHORTEST_S: f64 = 2.0;

/// What held a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Held<'a> {
    /// The trial.
    pub trial: &'a str,
    /// What held its longest part.
    pub verdict: Bottleneck,
    /// That part's share of it.
    pub share: f64,
    /// When it turned from CPU-bound to I/O-bound, seconds.
    pub turns_io_bound_s: Option<f64>,
    /// Every stretch, with what was seen.
    pub stretches: Vec<Stretch>,
}

/// Judges a trial on a machine of so many processors; `None` where too little was seen.
pub(crate) fn held<'a>(
    trial: &'a TrialRecord,
    measurement: &Measurement,
    cores: f64,
) -> Option<Held<'a>> {
    if measurement.elapsed_s < SHORTEST_S || measurement.workers.is_empty() {
        return None;
    }
    let harness_per_s = trial.ceilings.as_ref().map_or(0.0, |one| one.harness_per_s);
    let workers = measurement.workers.len() as f64;
    let setting = Setting {
        cores,
        workers,
        harness_s_per_operation: match harness_per_s > 0.0 {
            true => cores.min(workers) / harness_per_s,
            false => 0.0,
        },
        keeps_rate: keeps_rate(measurement),
    };
    let stretches = bottleneck::stretches(&measurement.timeline, &setting);
    let (verdict, share) = bottleneck::verdict(&stretches)?;
    Some(Held {
        trial: &trial.spec.id,
        verdict,
        share,
        turns_io_bound_s: bottleneck::turns_io_bound(&stretches),
        stretches,
    })
}

/// Whether an open loop began what was due: work that ends by its count leaves no backlog, and is
/// late all the same.
pub(crate) fn keeps_rate(measurement: &Measurement) -> bool {
    measurement.open_loop.as_ref().is_some_and(|open| {
        let due = open.rate_per_s * measurement.elapsed_s;
        // Random arrivals may be fewer than their mean by some deviations.
        let least = 0.9 * due - 3.0 * due.sqrt();
        open.backlog * 20 < open.issued && open.issued as f64 >= least
    })
}
