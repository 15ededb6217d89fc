//! What the manifest of a run says of its parameters: which of them its trials change, and at what
//! cost.

use crate::Registry;
use std::collections::{BTreeMap, BTreeSet};
use trueput_engine::{Parameter, ValueKind};
use trueput_record::TrialSpec;
use trueput_record::value::Settings;

/// Returns, by workload, the kind of operation by which its contenders are ranked; absent if it is
/// the first that the settings leave.
pub(crate) fn headlines(trials: &[TrialSpec], registry: &Registry) -> BTreeMap<String, String> {
    let names = trials.iter().map(|spec| spec.workload.as_str());
    let known = names.filter_map(|name| Some((name, registry.workload(name).ok()?)));
    known
        .map(|(name, workload)| (name.to_owned(), workload.info().headline.to_owned()))
        .filter(|(_, headline)| !headline.is_empty())
        .collect()
}

/// Returns, by workload, the settings that some trial changes from the default, in the workload's
/// order.
pub(crate) fn changed_settings(
    trials: &[TrialSpec],
    registry: &Registry,
) -> BTreeMap<String, Vec<String>> {
    let settings = trials.iter().filter_map(|spec| {
        let workload = registry.workload(&spec.workload).ok()?;
        Some((spec.workload.as_str(), workload.settings(), &spec.settings))
    });
    changed(settings)
}

/// Returns, by engine, the knobs that the plan changes from the default, in the engine's order.
pub(crate) fn changed_knobs(
    trials: &[TrialSpec],
    registry: &Registry,
) -> BTreeMap<String, Vec<String>> {
    let knobs = trials.iter().filter_map(|spec| {
        let engine = registry.engine(&spec.engine).ok()?;
        Some((spec.engine.as_str(), engine.knobs(), &spec.knobs))
    });
    changed(knobs)
}

/// Returns, by owner, the parameters that some trial changes from the default, in their order.
fn changed<'a>(
    trials: impl Iterator<Item = (&'a str, &'static [Parameter], &'a Settings)>,
) -> BTreeMap<String, Vec<String>> {
    let mut changed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut order = BTreeMap::new();
    for (owner, parameters, given) in trials {
        for (place, parameter) in parameters.iter().enumerate() {
            let name = parameter.name;
            let usual = parameter.kind.default_value();
            if given.get(name).is_some_and(|value| *value != usual) {
                order.insert((owner, place), name);
            }
        }
    }
    for ((owner, _), name) in order {
        let names = changed.entry(owner.to_owned()).or_default();
        names.push(name.to_owned());
    }
    changed
}

/// Returns, by `ENGINE.KNOB`, the cost of changing each knob that differs between trials of an
/// engine; and likewise by `WORKLOAD.SETTING`.
pub(crate) fn costs(trials: &[TrialSpec], registry: &Registry) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for spec in trials {
        let first = trials.iter().find(|other| other.engine == spec.engine);
        let (Some(other), Ok(engine)) = (first, registry.engine(&spec.engine)) else {
            continue;
        };
        let differ = |name: &str| spec.knobs.get(name) != other.knobs.get(name);
        for knob in engine.knobs().iter().filter(|knob| differ(knob.name)) {
            if !knob.cost.is_empty() {
                let name = format!("{}.{}", spec.engine, knob.name);
                found.insert(name, knob.cost.to_owned());
            }
        }
    }
    found.extend(setting_costs(trials, registry));
    found
}

/// Returns, by engine, the names of the knobs in bytes that differ between its trials.
pub(crate) fn byte_knobs(
    trials: &[TrialSpec],
    registry: &Registry,
) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let engines: BTreeSet<&String> = trials.iter().map(|spec| &spec.engine).collect();
    for name in engines {
        let Ok(engine) = registry.engine(name) else {
            continue;
        };
        let knobs = engine.knobs().iter();
        for knob in knobs.filter(|knob| matches!(knob.kind, ValueKind::Bytes { .. })) {
            let own = trials.iter().filter(|spec| spec.engine == *name);
            let values: Vec<_> = own.map(|spec| spec.knobs.get(knob.name)).collect();
            if values.windows(2).any(|two| two[0] != two[1]) {
                let names = found.entry(name.clone()).or_default();
                names.push(knob.name.to_owned());
            }
        }
    }
    found
}

fn setting_costs(
    trials: &[TrialSpec],
    registry: &Registry,
) -> impl Iterator<Item = (String, String)> {
    let mut found = BTreeMap::new();
    for spec in trials {
        let first = trials.iter().find(|other| other.workload == spec.workload);
        let (Some(other), Ok(workload)) = (first, registry.workload(&spec.workload)) else {
            continue;
        };
        let differ = |name: &str| spec.settings.get(name) != other.settings.get(name);
        let settings = workload.settings().iter();
        for setting in settings.filter(|setting| differ(setting.name)) {
            if !setting.cost.is_empty() {
                let name = format!("{}.{}", spec.workload, setting.name);
                found.insert(name, setting.cost.to_owned());
            }
        }
    }
    found.into_iter()
}
