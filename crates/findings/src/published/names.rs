//! Names of our rows in a comparison with a published table.

use super::trial::Trials;
use crate::marks::{marked, marks};
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::{Durability, TrialRecord};

/// Names each trial's contender by engine and level, and by any other parameter that distinguishes
/// it from others of that engine and level but is not in the table. If the rows are steps, which
/// show their changes, by engine only; if a column names the engine, by the rest only.
pub(super) struct RowNames {
    varying: BTreeMap<(String, Durability), Vec<String>>,
    steps: bool,
    /// Whether a column names the engine.
    has_engine: bool,
    /// The contenders that have trials at several levels.
    several_levels: BTreeSet<String>,
}

impl RowNames {
    /// Finds the parameters in which the trials differ, except the dimensions of the table.
    pub(super) fn of(trials: &Trials<'_>, in_table: &[&str]) -> Self {
        let mut values: BTreeMap<(String, Durability), BTreeMap<String, PlaceTable>> =
            BTreeMap::new();
        let steps = in_table.contains(&"step");
        let has_engine = in_table.contains(&"engine");
        for trial in &trials.all {
            let place = |dimension: &&str| trials.value_in(trial, dimension);
            let place: Vec<_> = in_table.iter().map(place).collect();
            let of_contender = values.entry(contender(trial)).or_default();
            let table_has = |dimension: &String| in_table.contains(&dimension.as_str());
            for dimension in dimensions(trial).filter(|one| !table_has(one)) {
                let value = trials.value_in(trial, &dimension);
                let of_dimension = of_contender.entry(dimension).or_default();
                of_dimension.entry(value).or_default().insert(place.clone());
            }
        }
        let several = |of_contender: BTreeMap<String, PlaceTable>| {
            let several = of_contender
                .into_iter()
                .filter(|(_, places)| distinguishes(places));
            several.map(|(dimension, _)| dimension).collect()
        };
        let mut levels: BTreeMap<&String, usize> = BTreeMap::new();
        for (contender, _) in values.keys() {
            *levels.entry(contender).or_default() += 1;
        }
        let several_levels = levels.into_iter().filter(|(_, count)| *count > 1);
        Self {
            steps,
            has_engine,
            several_levels: several_levels.map(|(name, _)| name.clone()).collect(),
            varying: values
                .into_iter()
                .map(|(contender, found)| (contender, several(found)))
                .collect(),
        }
    }

    /// The name of a trial's contender: `gtm, buffered, access_method=MM`.
    pub(super) fn name(&self, trials: &Trials<'_>, trial: &TrialRecord) -> String {
        let (engine, durability) = contender(trial);
        let marks = marks(trial);
        if self.steps {
            return marked(&engine, &marks);
        }
        let level = durability.to_string();
        let mut words = Vec::new();
        if !self.has_engine || engine != trial.spec.engine {
            words.push(engine.clone());
        }
        if !self.has_engine || self.several_levels.contains(&engine) {
            words.push(level);
        }
        let varying = self.varying.get(&(engine, durability));
        words.extend(varying.into_iter().flatten().filter_map(|dimension| {
            let name = dimension.rsplit('.').next().unwrap_or(dimension);
            let value = trials.value_in(trial, dimension)?;
            Some(format!("{name}={value}"))
        }));
        marked(&words.join(", "), &marks).trim().to_owned()
    }
}

/// Where in the table the trials with each value of a dimension are: the values of the table's own
/// dimensions. `None` stands for trials that have no value, as those that end with their work have
/// no duration.
type PlaceTable = BTreeMap<Option<String>, BTreeSet<Vec<Option<String>>>>;

/// Whether a dimension distinguishes trials: not if some have no value of it and the table's own
/// dimensions tell which.
fn distinguishes(places: &PlaceTable) -> bool {
    let absent = places.get(&None);
    let is_beside = |absent: &BTreeSet<_>| {
        let stated = places.iter().filter(|(value, _)| value.is_some());
        stated
            .map(|(_, own)| own)
            .any(|own| !own.is_disjoint(absent))
    };
    let stated = places.keys().flatten().count();
    stated > 1 || absent.is_some_and(is_beside)
}

fn contender(trial: &TrialRecord) -> (String, Durability) {
    (trial.spec.contender(), trial.spec.durability)
}

fn dimensions(trial: &TrialRecord) -> impl Iterator<Item = String> {
    let spec = &trial.spec;
    let settings = spec.settings.keys().map(|name| format!("settings.{name}"));
    let knobs = spec.knobs.keys();
    let knobs = knobs.map(|name| format!("knobs.{}.{name}", spec.engine));
    let conditions = spec.conditions.named().into_iter().map(|(name, _)| name);
    let plain = ["workers", "worker_kind"].into_iter().chain(conditions);
    let all: Vec<_> = settings
        .chain(knobs)
        .chain(plain.map(str::to_owned))
        .collect();
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(of: &[(Option<&str>, &str)]) -> PlaceTable {
        let mut places = PlaceTable::new();
        for (value, step) in of {
            let own = places.entry(value.map(str::to_owned)).or_default();
            own.insert(vec![Some((*step).to_owned())]);
        }
        places
    }

    #[test]
    fn a_duration_that_only_some_steps_have_names_nobody() {
        let by_step = [(None, "l.i0"), (None, "l.x"), (Some("1s"), "qr100")];
        assert!(!distinguishes(&places(&by_step)));
        // The controls: one step with and without it, and two durations.
        assert!(distinguishes(&places(&[
            (None, "qr100"),
            (Some("1s"), "qr100")
        ])));
        assert!(distinguishes(&places(&[
            (Some("1s"), "qr100"),
            (Some("2s"), "qp100")
        ])));
    }
}
