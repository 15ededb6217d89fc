//! Disturbances of a run, found in its trials.

use crate::Run;
use crate::bottleneck::allowed_processors;
use crate::eligibility::{headline, ineligibility, rate};
use crate::rankings::left_out_trials;
use crate::statistics::{Disturbance, MIN_REPEATS, Noise, Shares, Summary, noise};
use std::collections::BTreeMap;
use trueput_record::TrialRecord;

/// The kernel counts CPU time in ticks of 10 ms, too coarse for a shorter trial.
const MIN_TRIAL_S: f64 = 0.1;

/// The noise of a run; `None` if no cell was repeated often enough and nothing else disturbed
/// it. Where the run decides, the spread of its repeats is no reason: its verdicts have intervals
/// of their own.
pub fn of_run(report: &Run) -> Option<Noise> {
    // Repeats on other hosts are not the same.
    let mut cells: BTreeMap<(&str, u32, Option<&str>), Vec<f64>> = BTreeMap::new();
    let mut headlines: BTreeMap<&str, String> = BTreeMap::new();
    let left_out = left_out_trials(&report.manifest, &report.trials);
    let counted = |trial: &&TrialRecord| !left_out.contains(trial.spec.id.as_str());
    for trial in report.trials.iter().filter(counted) {
        let workload = trial.spec.workload.as_str();
        let headline = headlines
            .entry(workload)
            .or_insert_with(|| headline(&report.manifest, &[trial]));
        if ineligibility(trial, headline).is_none() {
            let key = (workload, trial.spec.cell, trial.host.as_deref());
            let rates = cells.entry(key).or_default();
            rates.extend(rate(trial, headline));
        }
    }
    let repeated = cells
        .into_values()
        .filter(|rates| rates.len() >= MIN_REPEATS);
    let spreads: Vec<f64> = repeated
        .filter_map(Summary::of)
        .map(|summary| summary.spread)
        .collect();
    let cores = f64::from(report.manifest.host.cores);
    let mut noise = noise(&spreads, shares(&report.trials, cores))?;
    if report.manifest.decision().is_some() {
        let is_spread = |reason: &Disturbance| matches!(reason, Disturbance::Spread { .. });
        noise.reasons.retain(|reason| !is_spread(reason));
    }
    Some(noise)
}

/// The shares of processor time that other programs used and that the hypervisor withheld, of the
/// processors that each trial could use on a machine with this many.
fn shares(trials: &[TrialRecord], cores: f64) -> Shares {
    let (mut others_s, mut steal_s, mut all_s) = (0.0, 0.0, 0.0);
    let mut with_kernel = false;
    for measurement in trials.iter().filter_map(|trial| trial.measurement.as_ref()) {
        let is_long = measurement.elapsed_s >= MIN_TRIAL_S;
        if let Some(neighbors) = measurement.neighbors.filter(|_| is_long) {
            others_s += neighbors.cpu_s;
            steal_s += neighbors.steal_s;
            with_kernel |= neighbors.kernel_s.is_none();
            all_s += measurement.elapsed_s * allowed_processors(measurement).unwrap_or(cores);
        }
    }
    if all_s > 0.0 {
        Shares {
            others: (others_s / all_s).min(1.0),
            with_kernel,
            steal: (steal_s / all_s).min(1.0),
        }
    } else {
        Shares::default()
    }
}
