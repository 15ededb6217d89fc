//! Checks the numbers of a run folder against the ranges that options and plans have: whoever wrote
//! the folder, a reader meets no number that the program itself would have refused.

use crate::conditions::{CONDITIONS, Condition, HostList, MAX_HOSTS, TIME_SLICE_LENGTHS_S};
use crate::plan::{MAX_REPEAT, MAX_WORKERS};
use crate::run_host::RunHost;
use crate::search::{
    CapacitySettings, ChoiceSettings, DecisionSettings, SearchSettings, SearchedKnob, TuningLimits,
    TuningSettings,
};
use crate::text::escape_line;
use crate::trial::check_id;
use crate::{Conditions, TrialRecord, TrialSpec};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The most trials that a run may have.
pub const MAX_TRIALS: usize = 10_000;

/// The highest number of a cell: until November 2026, a search of several contenders numbered the
/// cells of each from a multiple of 100,000.
const MAX_CELL: usize = (MAX_TRIALS + 2) * 100_000;

/// The longest time that a search or its limits may state, seconds: about 30 years.
const TIME_S: RangeInclusive<f64> = 0.0..=1e9;

/// The narrowest half of an interval that repeats may be asked for: clocks and page caches by
/// themselves differ by more between two runs of one binary.
pub const MIN_HALF_WIDTH: f64 = 0.000_1;

/// A number that is out of its range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangeError {
    /// Its place in the file: names of fields and indexes of elements, from the outermost.
    pub(crate) place: Vec<String>,
    /// What it is, and what would be right.
    error: String,
}

impl RangeError {
    /// Returns the sentence for the user.
    pub(crate) fn message(&self) -> String {
        format!("{} is {}", self.place.join("."), self.error)
    }

    /// Adds the field or element that holds it.
    fn within(mut self, part: &str) -> Self {
        self.place.insert(0, part.to_owned());
        self
    }
}

/// The result of a check.
pub(crate) type RangeCheck = Result<(), RangeError>;

fn refuse(field: &str, found: &dyn Display, right: &str) -> RangeCheck {
    Err(RangeError {
        place: vec![field.to_owned()],
        error: format!("{found}; {right}"),
    })
}

fn number(field: &str, found: f64, range: RangeInclusive<f64>) -> RangeCheck {
    if range.contains(&found) {
        return Ok(());
    }
    // Rust writes 1e300 with 301 digits.
    let shown = if found.abs() < 1e15 {
        found.to_string()
    } else {
        format!("{found:e}")
    };
    let (least, most) = range.into_inner();
    refuse(
        field,
        &shown,
        &format!("it must be between {least} and {most}"),
    )
}

fn option(field: &str, found: Option<f64>, range: RangeInclusive<f64>) -> RangeCheck {
    found.map_or(Ok(()), |found| number(field, found, range))
}

fn count(field: &str, found: u32, least: u32, most: usize) -> RangeCheck {
    if found >= least && found as usize <= most {
        Ok(())
    } else {
        refuse(
            field,
            &found,
            &format!("it must be between {least} and {most}"),
        )
    }
}

/// Checks the trials of a plan.
pub(crate) fn trials(trials: &[TrialSpec]) -> RangeCheck {
    let found = trials.len();
    if found > MAX_TRIALS {
        let right = format!("a run has at most {MAX_TRIALS}");
        return refuse("trials", &format!("a list of {found}"), &right);
    }
    for (index, planned) in trials.iter().enumerate() {
        spec(planned).map_err(|wrong| wrong.within(&index.to_string()).within("trials"))?;
    }
    Ok(())
}

/// Checks the hosts of a run.
pub(crate) fn run_hosts(hosts: &[RunHost]) -> RangeCheck {
    let found = hosts.len();
    if found > MAX_HOSTS {
        let right = format!("a run has at most {MAX_HOSTS}");
        return refuse("hosts", &format!("a list of {found}"), &right);
    }
    for (index, host) in hosts.iter().enumerate() {
        let named = host_name(&host.name);
        named.map_err(|wrong| wrong.within(&index.to_string()).within("hosts"))?;
    }
    Ok(())
}

/// Checks the name of a host: it becomes an argument of the program that reaches it.
fn host_name(name: &str) -> RangeCheck {
    match name.parse::<HostList>() {
        Ok(list) if list.names().len() == 1 => Ok(()),
        _ => refuse("name", &escape_line(name), "it must be the name of a host"),
    }
}

/// Checks the record of a trial.
pub(crate) fn trial(record: &TrialRecord) -> RangeCheck {
    spec(&record.spec).map_err(|wrong| wrong.within("spec"))?;
    if let Some(host) = &record.host {
        host_name(host).map_err(|wrong| wrong.within("host"))?;
    }
    let load = record.load.as_ref().map(|load| load.elapsed_s);
    elapsed("load", load)?;
    let measured = record.measurement.as_ref();
    elapsed("measurement", measured.map(|measured| measured.elapsed_s))?;
    let slices = measured.and_then(|measured| measured.time_slices);
    let longest_stop_s = slices.map(|slices| slices.longest_stop_s);
    option("longest_stop_s", longest_stop_s, TIME_S)
        .map_err(|wrong| wrong.within("time_slices").within("measurement"))
}

/// Checks a measured time: searches that are resumed plan with it.
fn elapsed(part: &str, found: Option<f64>) -> RangeCheck {
    option("elapsed_s", found, TIME_S).map_err(|wrong| wrong.within(part))
}

fn spec(spec: &TrialSpec) -> RangeCheck {
    if let Err(error) = check_id(&spec.id) {
        return refuse("id", &format!("'{}'", spec.id), &error.to_string());
    }
    count("cell", spec.cell, 0, MAX_CELL)?;
    count("repeat", spec.repeat, 1, MAX_REPEAT as usize)?;
    count("workers", spec.workers, 1, MAX_WORKERS as usize)?;
    conditions(&spec.conditions).map_err(|wrong| wrong.within("conditions"))?;
    let Some(role) = &spec.role else {
        return Ok(());
    };
    let configuration = role.configuration.unwrap_or_default();
    count("contender", role.contender, 0, MAX_TRIALS)
        .and_then(|()| count("configuration", configuration, 0, MAX_TRIALS))
        .map_err(|wrong| wrong.within("role"))
}

fn conditions(conditions: &Conditions) -> RangeCheck {
    let slice_s = conditions.time_slice_s;
    option("time_slice_s", slice_s, TIME_SLICE_LENGTHS_S)?;
    let given = CONDITIONS.iter().filter_map(|condition| {
        let (field, value) = condition.field?;
        Some((condition, field, value(conditions)?))
    });
    for (Condition { parameter, .. }, field, value) in given {
        if parameter.kind.admits(&value) {
            continue;
        }
        let shown = match value {
            crate::Value::Float(found) if found.abs() >= 1e15 => format!("{found:e}"),
            other => other.to_string(),
        };
        let right = format!("it must be {}", parameter.kind.range());
        return match field {
            "rate" => refuse("per_s", &shown, &right).map_err(|wrong| wrong.within("rate")),
            field => refuse(field, &shown, &right),
        };
    }
    Ok(())
}

/// Checks the precision and the budget, seconds, at which repeats stop.
pub(crate) fn precision(half_width: Option<f64>, budget_s: Option<f64>) -> RangeCheck {
    option("half_width", half_width, MIN_HALF_WIDTH..=1.0)
        .and_then(|()| option("budget_s", budget_s, TIME_S))
        .map_err(|wrong| wrong.within("until"))
}

/// Checks the question of a search.
pub(crate) fn search(settings: &SearchSettings) -> RangeCheck {
    let checked = match settings {
        SearchSettings::Capacity(settings) => capacity(settings),
        SearchSettings::Tuning(settings) => tuning(settings),
        SearchSettings::Choice(settings) => choice(settings),
        SearchSettings::Decision(settings) => decision(settings),
    };
    checked.map_err(|wrong| wrong.within("search"))
}

fn capacity(settings: &CapacitySettings) -> RangeCheck {
    number("precision", settings.precision, CapacitySettings::PRECISION)?;
    number("budget_s", settings.budget_s, TIME_S)?;
    limits(&settings.limits)
}

fn decision(settings: &DecisionSettings) -> RangeCheck {
    let range = DecisionSettings::EQUAL_WITHIN;
    number("equal_within", settings.equal_within, range)?;
    let repeats = settings.max_repeats;
    let [min, max] = [DecisionSettings::MIN_REPEATS, DecisionSettings::MAX_REPEATS];
    count("max_repeats", repeats, min, max as usize)?;
    option("budget_s", settings.budget_s, TIME_S)
}

fn choice(settings: &ChoiceSettings) -> RangeCheck {
    capacity(&settings.capacity).map_err(|wrong| wrong.within("capacity"))?;
    let tuned = settings.tuning.as_ref().map_or(Ok(()), tuning);
    tuned.map_err(|wrong| wrong.within("tuning"))?;
    option(
        "needed_per_s",
        settings.needed_per_s,
        f64::MIN_POSITIVE..=1e9,
    )?;
    number("budget_s", settings.budget_s, TIME_S)
}

fn tuning(settings: &TuningSettings) -> RangeCheck {
    limits(&settings.limits)?;
    count("trials", settings.trials, 0, MAX_TRIALS)?;
    number("budget_s", settings.budget_s, TIME_S)?;
    for (index, knob) in settings.searched.iter().enumerate() {
        let SearchedKnob { low, high, .. } = knob;
        let finite = f64::MIN..=f64::MAX;
        option("low", *low, finite.clone())
            .and_then(|()| option("high", *high, low.unwrap_or(f64::MIN)..=*finite.end()))
            .map_err(|wrong| wrong.within(&index.to_string()).within("searched"))?;
    }
    Ok(())
}

fn limits(limits: &TuningLimits) -> RangeCheck {
    let checked = option("space_factor", limits.space_factor, 1.0..=1e9)
        .and_then(|()| option("recovery_s", limits.recovery_s, TIME_S))
        .and_then(|()| option("window_s", limits.window_s, TIME_S));
    checked.map_err(|wrong| wrong.within("limits"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Checks a trial with one field changed.
    fn said(pointer: &str, value: Value) -> String {
        let mut text = json!({
            "id": "1-a", "cell": 0, "repeat": 1, "workload": "w", "settings": {}, "engine": "e",
            "durability": "async", "knobs": {}, "workers": 2, "worker_kind": "threads",
            "verify": "full", "seed": 1,
            "conditions": {"duration_s": 1.0, "rate": {"per_s": 5.0, "arrival": "constant"}},
            "role": {"contender": 0, "purpose": "probe", "configuration": 0},
        });
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        text.pointer_mut(parent).unwrap()[field] = value;
        let read: TrialSpec = serde_json::from_value(text).unwrap();
        spec(&read).map_or_else(|wrong| wrong.message(), |()| String::new())
    }

    #[test]
    fn numbers_of_a_trial_are_in_the_ranges_of_the_options() {
        assert_eq!(said("/seed", json!(7)), "");
        assert_eq!(said("/conditions/memory_bytes", json!(1_u64 << 30)), "");
        for (pointer, value, expected) in [
            (
                "/workers",
                json!(0),
                "workers is 0; it must be between 1 and 1024",
            ),
            (
                "/repeat",
                json!(u32::MAX),
                "repeat is 4294967295; it must be between 1 and 1000",
            ),
            (
                "/conditions/duration_s",
                json!(-1.0),
                "conditions.duration_s is -1; it must be 0s to",
            ),
            (
                "/conditions/duration_s",
                json!(1e300),
                "conditions.duration_s is 1e300; it must be",
            ),
            (
                "/conditions/warm_up_s",
                json!(1e9),
                "conditions.warm_up_s is 1000000000; it must",
            ),
            (
                "/conditions/time_slice_s",
                json!(0.0),
                "conditions.time_slice_s is 0; it must be",
            ),
            (
                "/conditions/memory_bytes",
                json!(1),
                "conditions.memory_bytes is 1; it must be 16",
            ),
            (
                "/conditions/cpus",
                json!("x"),
                "conditions.cpus is x; it must be",
            ),
            (
                "/conditions/rate/per_s",
                json!(-338.0),
                "conditions.rate.per_s is -338; it must be",
            ),
            (
                "/role/contender",
                json!(u32::MAX),
                "role.contender is 4294967295; it must be",
            ),
            (
                "/id",
                json!("../x"),
                "id is '../x'; '../x' is not a trial id",
            ),
        ] {
            let message = said(pointer, value);
            assert!(message.starts_with(expected), "{pointer}: {message}");
        }
    }

    #[test]
    fn measured_times_are_not_negative_and_end() {
        assert_eq!(elapsed("load", Some(0.0)), Ok(()));
        assert_eq!(elapsed("load", None), Ok(()));
        for wrong in [-1e9, 1e19, 1e300, f64::NAN] {
            let message = elapsed("load", Some(wrong)).unwrap_err().message();
            assert!(message.starts_with("load.elapsed_s is "), "{message}");
        }
    }

    #[test]
    fn numbers_of_a_search_are_in_the_ranges_of_its_options() {
        let said = |field: &str, value: f64| {
            let mut text = json!({
                "kind": "capacity", "objective": "p99<5ms", "precision": 0.05, "budget_s": 60.0,
                "arrival": "constant",
            });
            text[field] = json!(value);
            let read: SearchSettings = serde_json::from_value(text).unwrap();
            search(&read).map_or_else(|wrong| wrong.message(), |()| String::new())
        };
        assert_eq!(said("precision", 0.05), "");
        assert_eq!(
            said("precision", -5.0),
            "search.precision is -5; it must be between 0.01 and 0.5"
        );
        for (field, value) in [
            ("budget_s", -1.0),
            ("budget_s", 1e300),
            ("precision", 1e300),
        ] {
            assert!(
                said(field, value).starts_with(&format!("search.{field} is ")),
                "{field} {value}"
            );
        }
    }
}
