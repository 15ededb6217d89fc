//! What disturbed a run, from its trials.

use crate::compare::rate;
use crate::inference::{Noise, noise};
use crate::rankings::{headline, why_unranked};
use crate::report::Report;
use crate::statistics::{FEWEST_REPEATS, Summary};
use std::collections::BTreeMap;
use trueput_record::TrialRecord;

/// The noise of a run; `None` where no cell was repeated often enough.
pub(crate) fn of_run(report: &Report) -> Option<Noise> {
    let mut cells: BTreeMap<(&str, u32), Vec<f64>> = BTreeMap::new();
    let mut headlines: BTreeMap<&str, String> = BTreeMap::new();
    for trial in &report.trials {
        let workload = trial.spec.workload.as_str();
        let headline = headlines
            .entry(workload)
            .or_insert_with(|| headline(&report.manifest, &[trial]));
        if why_unranked(trial, headline).is_none() {
            let rates = cells.entry((workload, trial.spec.cell)).or_default();
            rates.extend(rate(trial, headline));
        }
    }
    let repeated = cells
        .into_values()
        .filter(|rates| rates.len() >= FEWEST_REPEATS);
    let spreads: Vec<f64> = repeated
        .filter_map(Summary::of)
        .map(|summary| summary.spread)
        .collect();
    let cores = f64::from(report.manifest.host.cores);
    let (others, steal) = shares(&report.trials, cores);
    noise(&spreads, others, steal)
}

/// The parts of the processors' time that other programs used and that the hypervisor withheld while
/// the workers ran.
fn shares(trials: &[TrialRecord], cores: f64) -> (f64, f64) {
    let (mut others_s, mut steal_s, mut all_s) = (0.0, 0.0, 0.0);
    for measurement in trials.iter().filter_map(|trial| trial.measurement.as_ref()) {
        if let Some(neighbours) = measurement.neighbours {
            others_s += neighbours.cpu_s;
            steal_s += neighbours.steal_s;
            all_s += measurement.elapsed_s * cores;
        }
    }
    match all_s > 0.0 {
        true => (others_s / all_s, steal_s / all_s),
        false => (0.0, 0.0),
    }
}
