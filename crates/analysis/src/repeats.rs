//! How well a run knows its contenders' rates: what automatic repeats go by.

use crate::compare::rate;
use crate::inference::geometric_mean;
use crate::rankings::{headline, why_unranked};
use std::collections::BTreeMap;
use trueput_record::TrialRecord;
use trueput_record::folder::RunManifest;

/// The widest 95 % interval of any cell's rate, as half of its width over the rate, and the cell's
/// contender. `None` where nothing counts, or one cell has fewer than three repeats that count: a cell
/// whose trials all fail is passed over, for no repeat would help it.
#[must_use]
pub fn widest(manifest: &RunManifest, trials: &[TrialRecord]) -> Option<(f64, String)> {
    let mut cells: BTreeMap<u32, (String, Vec<f64>)> = BTreeMap::new();
    for trial in trials {
        let headline = headline(manifest, &[trial]);
        if why_unranked(trial, &headline).is_some() {
            continue;
        }
        let name = || format!("{} ({})", trial.spec.contender(), trial.spec.durability);
        let cell = cells.entry(trial.spec.cell);
        let (_, rates) = cell.or_insert_with(|| (name(), Vec::new()));
        rates.extend(rate(trial, &headline));
    }
    let mut widest: Option<(f64, String)> = None;
    for (name, rates) in cells.into_values() {
        let width = geometric_mean(&rates, 0.95)?.relative_half_width();
        if widest.as_ref().is_none_or(|(known, _)| width > *known) {
            widest = Some((width, name));
        }
    }
    widest
}
