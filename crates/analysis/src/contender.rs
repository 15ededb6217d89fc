//! The names of contenders in a ranking.

use std::collections::{BTreeMap, BTreeSet};
use trueput_record::{TrialRecord, TrialSpec};

/// Names contenders so that no two cells of a ranking have the same name: where an engine stands in
/// it with several settings of a knob, the knob is named.
pub(crate) struct ContenderNames {
    varying: BTreeMap<String, BTreeSet<String>>,
    several_kinds: BTreeSet<String>,
}

impl ContenderNames {
    /// Sees what tells the trials' contenders apart.
    pub(crate) fn of(trials: &[&TrialRecord]) -> Self {
        let mut first: BTreeMap<String, &TrialSpec> = BTreeMap::new();
        let mut varying: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut several_kinds = BTreeSet::new();
        for spec in trials.iter().map(|trial| &trial.spec) {
            let contender = spec.contender();
            let other = *first.entry(contender.clone()).or_insert(spec);
            if other.worker_kind != spec.worker_kind {
                several_kinds.insert(contender.clone());
            }
            let names = spec.knobs.keys().chain(other.knobs.keys());
            let differing = names.filter(|&name| spec.knobs.get(name) != other.knobs.get(name));
            varying
                .entry(contender)
                .or_default()
                .extend(differing.cloned());
        }
        Self {
            varying,
            several_kinds,
        }
    }

    /// The name of a trial's contender.
    pub(crate) fn name(&self, spec: &TrialSpec) -> String {
        let contender = spec.contender();
        let knobs = self.varying.get(&contender).into_iter().flatten();
        let mut told_apart: Vec<String> = knobs
            .filter_map(|name| Some(format!("{name}={}", spec.knobs.get(name)?)))
            .collect();
        if self.several_kinds.contains(&contender) {
            told_apart.push(spec.worker_kind.name().to_owned());
        }
        match told_apart.is_empty() {
            true => contender,
            false => format!("{contender} ({})", told_apart.join(", ")),
        }
    }
}
