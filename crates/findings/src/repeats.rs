//! The precision of a run's rates, which decides when automatic repeats end.

use crate::eligibility::{headline, ineligibility, rate};
use crate::fixed_rate;
use crate::statistics::geometric_mean;
use std::collections::BTreeMap;
use trueput_record::TrialRecord;
use trueput_record::folder::RunManifest;

/// The widest 95 % interval of any cell's rate, as half of its width over the rate, and the cell's
/// contender; for an open loop that kept its rate, of the response time by which it is ranked.
/// `None` if nothing counts, or if a cell has one or two valid repeats. A cell whose trials all
/// fail is ignored, because repeats would not help it.
#[must_use]
pub fn widest(manifest: &RunManifest, trials: &[TrialRecord]) -> Option<(f64, String)> {
    let mut cells: BTreeMap<u32, (String, Vec<f64>, Vec<&TrialRecord>)> = BTreeMap::new();
    for trial in trials {
        let headline = headline(manifest, &[trial]);
        if ineligibility(trial, &headline).is_some() {
            continue;
        }
        let name = || format!("{} ({})", trial.spec.contender(), trial.spec.durability);
        let cell = cells.entry(trial.spec.cell);
        let (_, rates, repeats) = cell.or_insert_with(|| (name(), Vec::new(), Vec::new()));
        rates.extend(rate(trial, &headline));
        repeats.push(trial);
    }
    let mut widest: Option<(f64, String)> = None;
    for (name, rates, repeats) in cells.into_values() {
        let times = response_times(&repeats);
        let known = times.as_ref().unwrap_or(&rates);
        let width = geometric_mean(known, 0.95)?.relative_half_width();
        if widest.as_ref().is_none_or(|(known, _)| width > *known) {
            widest = Some((width, name));
        }
    }
    widest
}

/// The response times by which an open loop that kept its rate is ranked; its rates are all the
/// same.
fn response_times(repeats: &[&TrialRecord]) -> Option<Vec<f64>> {
    fixed_rate::common(repeats.iter().copied())?;
    let times =
        fixed_rate::all_kept(repeats).then(|| fixed_rate::worst_times(repeats, repeats))??;
    Some(times.1.into_values().collect())
}
