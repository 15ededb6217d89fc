//! Differences between two sides other than the result: machine, program, plan, version, knobs.

use super::common::{self, LimitProbe};
use super::side::{Side, SideCell};
use crate::text::serialize_as_text;
use crate::units::{bytes, number};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use trueput_record::value::Settings;
use trueput_record::{HostFacts, TrialRecord, Value};

/// A hardware limit that differs by less than this share counts as the same: its short measurement
/// scatters.
const LIMIT_SCATTER: f64 = 0.10;

/// Replaces the value of a setting that a side does not state.
const NOT_STATED: &str = "not stated";

/// Something that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, thiserror::Error)]
#[error("{subject} {first} → {second}")]
pub struct Change {
    /// The subject of the change.
    #[serde(rename = "what")]
    pub subject: ChangeSubject,
    /// On the first side.
    pub first: String,
    /// On the second side.
    pub second: String,
}

/// The possible subjects of a change. `Display` gives the name in JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeSubject {
    /// The engine.
    #[error("engine")]
    Engine,
    /// The build of the engine that was named.
    #[error("build")]
    Build,
    /// The library that was loaded.
    #[error("library")]
    Library,
    /// A knob as the plan gives it.
    #[error("knob {0}")]
    Knob(String),
    /// A setting of the workload.
    #[error("setting {0}")]
    Setting(String),
    /// A condition.
    #[error("condition {0}")]
    Condition(&'static str),
    /// A setting as the engine reports it.
    #[error("as the engine reports {0}")]
    EngineFact(String),
    /// A hardware limit.
    #[error("hardware limit: {0}")]
    HardwareLimit(LimitProbe),
    /// Another fact of the machine, of this program or of the trials, by its name.
    #[error("{0}")]
    Other(&'static str),
}

serialize_as_text!(ChangeSubject);

impl From<&'static str> for ChangeSubject {
    fn from(name: &'static str) -> Self {
        Self::Other(name)
    }
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "values and references alike are shown"
)]
fn change(
    subject: impl Into<ChangeSubject>,
    first: impl ToString,
    second: impl ToString,
) -> Option<Change> {
    let (first, second) = (first.to_string(), second.to_string());
    (first != second).then(|| Change {
        subject: subject.into(),
        first: unknown_if_empty(first),
        second: unknown_if_empty(second),
    })
}

fn unknown_if_empty(text: String) -> String {
    if text.is_empty() {
        "unknown".to_owned()
    } else {
        text
    }
}

/// Returns the differences of machine and program between two runs.
pub fn between_runs(first: &Side, second: &Side) -> Vec<Change> {
    let (a, b) = (&first.report.manifest, &second.report.manifest);
    let (one, other) = (&a.host, &b.host);
    let governor = |host: &HostFacts| host.governor.clone().unwrap_or_else(|| "none".to_owned());
    let options =
        |host: &HostFacts| format!("{} ({})", host.file_system.kind, host.file_system.options);
    let memory = |host: &HostFacts| bytes(host.memory_bytes as f64);
    let stated = [
        change("plan", &a.name, &b.name),
        change("host", &one.host_name, &other.host_name),
        change("processor", &one.cpu_model, &other.cpu_model),
        change("cores", one.cores, other.cores),
        change("memory", memory(one), memory(other)),
        change(
            "operating system",
            &one.operating_system,
            &other.operating_system,
        ),
        change("kernel", &one.kernel, &other.kernel),
        change("virtualization", &one.virtualization, &other.virtualization),
        change("governor", governor(one), governor(other)),
        change("clock", &one.clock, &other.clock),
        change("file system", options(one), options(other)),
        change(
            "trueput version",
            &one.program.version,
            &other.program.version,
        ),
        change("trueput commit", &one.program.commit, &other.program.commit),
        change(
            "trueput build",
            &one.program.profile,
            &other.program.profile,
        ),
    ];
    let mut changes: Vec<Change> = stated.into_iter().flatten().collect();
    changes.extend(of_hardware_limits(
        &first.report.trials,
        &second.report.trials,
    ));
    changes
}

/// The hardware limits that differ by more than their measurements scatter: a slower disk or memory
/// explains a slower engine.
fn of_hardware_limits(first: &[TrialRecord], second: &[TrialRecord]) -> Vec<Change> {
    let limits = common::limits(first, second).into_iter();
    let differing = limits.filter(|limit| limit.rise().abs() > LIMIT_SCATTER);
    let changes = differing.filter_map(|limit| {
        let (one, other) = (number(limit.first_per_s), number(limit.second_per_s));
        change(ChangeSubject::HardwareLimit(limit.probe), one, other)
    });
    changes.collect()
}

/// Returns the differences between two cells: engine, version, library, knobs, settings that were
/// named.
pub fn between_cells(first: &SideCell<'_>, second: &SideCell<'_>) -> Vec<Change> {
    let (a, b) = (first.spec, second.spec);
    let stated = [
        change(ChangeSubject::Engine, &a.engine, &b.engine),
        change(ChangeSubject::Build, build(a), build(b)),
        change("version", reported(first, |e| e.version.clone()), {
            reported(second, |e| e.version.clone())
        }),
        change(
            ChangeSubject::Library,
            reported(first, |e| e.origin.clone()),
            reported(second, |e| e.origin.clone()),
        ),
        change("SHA-256", hash(first), hash(second)),
        change("assertions", assertions(first), assertions(second)),
        change("worker kind", a.worker_kind, b.worker_kind),
        change("workers", a.workers, b.workers),
        change("verified", a.verify, b.verify),
        change("seed", a.seed, b.seed),
    ];
    let mut changes: Vec<Change> = stated.into_iter().flatten().collect();
    changes.extend(of_settings(ChangeSubject::Knob, &a.knobs, &b.knobs));
    changes.extend(of_settings(
        ChangeSubject::Setting,
        &a.settings,
        &b.settings,
    ));
    let conditions = a.conditions.named().into_iter().zip(b.conditions.named());
    changes.extend(conditions.filter_map(|((name, one), (_, other))| {
        change(ChangeSubject::Condition(name), one, other)
    }));
    if a.engine == b.engine {
        let (one, other) = (engine_settings(first), engine_settings(second));
        let reported = of_settings(ChangeSubject::EngineFact, &one, &other);
        merge_reported(&mut changes, reported);
    }
    changes
}

/// Merges the knobs that the engine reports into those of the plan. A confirmed knob is listed
/// once, with the engine's value if the plan gave none.
fn merge_reported(changes: &mut Vec<Change>, reported: Vec<Change>) {
    let confirms = |asked: &str, had: &str| asked == NOT_STATED || asked == had;
    for report in reported {
        let is_same = |change: &&mut Change| match (&change.subject, &report.subject) {
            (ChangeSubject::Knob(knob), ChangeSubject::EngineFact(name)) => knob == name,
            _ => false,
        };
        let knob = changes.iter_mut().find(is_same);
        match knob {
            Some(knob)
                if confirms(&knob.first, &report.first)
                    && confirms(&knob.second, &report.second) =>
            {
                (knob.first, knob.second) = (report.first, report.second);
            }
            _ => changes.push(report),
        }
    }
}

fn build(spec: &trueput_record::TrialSpec) -> String {
    let build = spec.build.as_ref();
    build.map_or_else(
        || "the default".to_owned(),
        |path| path.display().to_string(),
    )
}

type EngineFact = fn(&trueput_record::measurement::EngineReport) -> String;

/// The distinct values that the engine reported over all trials.
fn reported(cell: &SideCell<'_>, said: EngineFact) -> String {
    let engines = cell.trials.iter().filter_map(|trial| trial.engine.as_ref());
    let all: BTreeSet<String> = engines.map(said).collect();
    all.into_iter().collect::<Vec<_>>().join(" and ")
}

/// Whether the libraries have their assertions; unknown if no library says so.
fn assertions(cell: &SideCell<'_>) -> String {
    reported(cell, |engine| match engine.assertions {
        Some(true) => "built with".to_owned(),
        Some(false) => "built without".to_owned(),
        None => String::new(),
    })
}

fn hash(cell: &SideCell<'_>) -> String {
    // The library of a compiled-in engine is the program, whose commit is already listed as a
    // change.
    let loaded = cell.trials.iter().any(|trial| {
        let engine = trial.engine.as_ref();
        engine.is_some_and(|engine| engine.origin.starts_with('/'))
    });
    if loaded {
        reported(cell, |engine| engine.sha256.chars().take(16).collect())
    } else {
        String::new()
    }
}

fn engine_settings(cell: &SideCell<'_>) -> Settings {
    let engine = cell.trials.iter().find_map(|trial| trial.engine.as_ref());
    engine
        .map(|engine| engine.settings.clone())
        .unwrap_or_default()
}

fn of_settings(
    subject: impl Fn(String) -> ChangeSubject,
    first: &Settings,
    second: &Settings,
) -> Vec<Change> {
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let value = |settings: &Settings, name: &String| {
        settings
            .get(name)
            .map_or_else(|| NOT_STATED.to_owned(), Value::to_string)
    };
    let changes = names.into_iter().filter_map(|name| {
        change(
            subject(name.clone()),
            value(first, name),
            value(second, name),
        )
    });
    changes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(subject: fn(String) -> ChangeSubject, name: &str, first: &str, second: &str) -> Change {
        change(subject(name.to_owned()), first, second).unwrap()
    }

    #[test]
    fn a_knob_that_the_engine_confirms_is_listed_once() {
        use ChangeSubject::{EngineFact, Knob};
        let mut changes = vec![
            of(Knob, "page_size", NOT_STATED, "8192"),
            of(Knob, "cache_size", "1", "2"),
        ];
        let reported = vec![
            of(EngineFact, "page_size", "4096", "8192"),
            of(EngineFact, "cache_size", "1", "16"),
        ];
        merge_reported(&mut changes, reported);
        assert_eq!(
            changes,
            [
                of(Knob, "page_size", "4096", "8192"),
                of(Knob, "cache_size", "1", "2"),
                of(EngineFact, "cache_size", "1", "16"),
            ],
            "what the engine made of it stands beside what was asked"
        );
    }
}
