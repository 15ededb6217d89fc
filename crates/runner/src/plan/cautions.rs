//! What the workloads of trials warn of before any of them runs.

use crate::Registry;
use std::collections::BTreeSet;
use trueput_engine::parameter::resolve;
use trueput_record::TrialSpec;

/// Returns the cautions of the trials' workloads, each once, with the workload's name before it.
#[must_use]
pub fn cautions<'a>(
    trials: impl IntoIterator<Item = &'a TrialSpec>,
    registry: &Registry,
) -> Vec<String> {
    let caution = |spec: &TrialSpec| {
        let workload = registry.workload(&spec.workload).ok()?;
        let settings = resolve(&spec.workload, workload.settings(), &spec.settings).ok()?;
        // A trial without a job is refused elsewhere.
        let job = workload.job(&settings, &spec.conditions).ok()?;
        Some(format!("{}: {}", spec.workload, job.caution()?))
    };
    let found: BTreeSet<_> = trials.into_iter().filter_map(caution).collect();
    found.into_iter().collect()
}
