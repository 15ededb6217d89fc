//! The anomaly suite: checks whether an engine shows anomalies that its stated isolation
//! proscribes.
//!
//! For each phenomenon there are schedules of two or three transactions that invite it. An engine
//! prevents an anomaly by making a transaction wait, by refusing one with a conflict, or by giving
//! each its own state; otherwise the anomaly occurs. An anomaly that occurs refutes every level
//! that proscribes it. One that does not occur proves nothing: schedules are few, and all
//! transactions run in one process.

mod anomalies;
mod schedule;

use crate::conformance::support::{
    CLOSING, CheckFailure, Outcome, Record, StepContext, guarded, read, store,
};
use crate::{
    Database, Durability, Engine, Isolation, OpenSpec, ParameterValues, Phenomenon, Value,
    ValueKind,
};
use anomalies::Anomaly;
use schedule::{Key, ReadMethod, Scheduler, TRANSACTIONS};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use trueput_record::measurement::Check;
use trueput_record::value::Settings;

/// The results of an engine in all schedules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The level that its driver states; `None` if it states none.
    pub stated: Option<Isolation>,
    /// One for each schedule, by phenomenon; empty if the engine retains no data.
    pub observations: Vec<Observation>,
}

/// The result of an engine in one schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The phenomenon that the schedule invites.
    pub phenomenon: Phenomenon,
    /// The difference from other schedules of the same phenomenon.
    pub variant: &'static str,
    /// The result.
    pub result: ScheduleResult,
}

/// The result of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleResult {
    /// A transaction waited for another one to end.
    Waited,
    /// A transaction was refused with a conflict.
    Refused,
    /// Neither waited nor was refused, and the anomaly did not occur.
    Separate,
    /// The anomaly occurred.
    Occurred,
    /// The engine returned an error that is not a conflict, or never returned.
    Failed(String),
}

impl fmt::Display for ScheduleResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Waited => "prevented: a transaction waited",
            Self::Refused => "prevented: a transaction was refused with a conflict",
            Self::Separate => "prevented: each transaction was shown its own state",
            Self::Occurred => "occurred",
            Self::Failed(reason) => reason,
        })
    }
}

impl Report {
    /// Returns whether the phenomenon occurred in any of its schedules.
    #[must_use]
    pub fn shows(&self, phenomenon: Phenomenon) -> bool {
        self.of(phenomenon)
            .any(|observation| observation.result == ScheduleResult::Occurred)
    }

    /// Returns the observations of one phenomenon.
    pub fn of(&self, phenomenon: Phenomenon) -> impl Iterator<Item = &Observation> {
        let of_it = move |observation: &&Observation| observation.phenomenon == phenomenon;
        self.observations.iter().filter(of_it)
    }

    /// Returns the strongest level that was not refuted; `None` if even the weakest was, or nothing
    /// was observed.
    #[must_use]
    pub fn strongest(&self) -> Option<Isolation> {
        let stands = |level: &Isolation| {
            let mut all = Phenomenon::ALL.into_iter();
            all.all(|phenomenon| !level.proscribes(phenomenon) || !self.shows(phenomenon))
        };
        let has_observed = !self.observations.is_empty();
        let mut levels = Isolation::ALL.into_iter().rev();
        levels.find(|level| has_observed && stands(level))
    }

    /// Returns the anomalies that occurred although the stated level proscribes them, one sentence
    /// each; with no level stated, those that every level proscribes.
    #[must_use]
    pub fn refutations(&self) -> Vec<String> {
        let checks = self.checks();
        let each = self.observations.iter().zip(&checks);
        let refuted = each.filter(|(observation, check)| {
            !check.passed && observation.result == ScheduleResult::Occurred
        });
        refuted
            .map(|(_, check)| format!("{}: {}", check.name, check.detail))
            .collect()
    }

    /// Returns the engine's error because of which schedules did not end; `None` if all did.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.observations
            .iter()
            .find_map(|observation| match &observation.result {
                ScheduleResult::Failed(reason) => Some(reason.as_str()),
                _ => None,
            })
    }

    /// Returns a check for each schedule. It fails if the anomaly occurred although the stated
    /// level proscribes it; if no level is stated, it fails if every level proscribes it.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        let check = |observation: &Observation| {
            let Observation {
                phenomenon,
                variant,
                result,
            } = observation;
            let refutes = |level: Isolation| level.proscribes(*phenomenon);
            let (passed, detail) = match (result, self.stated) {
                (ScheduleResult::Failed(_), _) => (false, result.to_string()),
                (ScheduleResult::Occurred, Some(level)) if refutes(level) => (
                    false,
                    format!("occurred; {level}, as stated, proscribes it"),
                ),
                (ScheduleResult::Occurred, Some(level)) => {
                    (true, format!("occurred; {level}, as stated, permits it"))
                }
                (ScheduleResult::Occurred, None) if Isolation::ALL.into_iter().all(refutes) => (
                    false,
                    "occurred; every level of isolation proscribes it".to_owned(),
                ),
                (ScheduleResult::Occurred, None) => {
                    (true, "occurred; the driver states no isolation".to_owned())
                }
                (
                    ScheduleResult::Waited | ScheduleResult::Refused | ScheduleResult::Separate,
                    _,
                ) => (true, result.to_string()),
            };
            Check::new(&format!("{phenomenon}: {variant}"), passed, detail)
        };
        self.observations.iter().map(check).collect()
    }
}

/// Returns every combination of values of an engine's [`Engine::isolation_knobs`], the defaults
/// first; only the defaults if it has no such knobs. The engine may refuse some of them.
#[must_use]
pub fn settings(engine: &dyn Engine) -> Vec<Settings> {
    let mut all = vec![Settings::new()];
    for name in engine.isolation_knobs() {
        let Some(knob) = engine.knobs().iter().find(|knob| knob.name == *name) else {
            continue;
        };
        let values = values(&knob.kind);
        let with = |settings: &Settings| {
            let with = |value: &Value| {
                let mut settings = settings.clone();
                settings.insert((*name).to_owned(), value.clone());
                settings
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// Returns the values of a choice or a Boolean; its default first.
fn values(kind: &ValueKind) -> Vec<Value> {
    let default = kind.default_value();
    let mut values: Vec<Value> = match kind {
        ValueKind::Choice { choices, .. } => {
            choices.iter().map(|word| Value::from(*word)).collect()
        }
        ValueKind::Boolean { .. } => [false, true].map(Value::from).to_vec(),
        _ => vec![default.clone()],
    };
    values.sort_by_key(|value| *value != default);
    values
}

/// Runs every schedule on one database in `directory`, which exists and is empty; a server that the
/// engine needs runs there.
#[must_use]
pub fn observe(
    engine: &dyn Engine,
    directory: &Path,
    durability: Durability,
    knobs: &ParameterValues,
) -> Report {
    let stated = engine.isolation(knobs);
    if !engine.capabilities().retains_data {
        let observations = Vec::new();
        return Report {
            stated,
            observations,
        };
    }
    let spec = OpenSpec {
        directory,
        durability,
        knobs,
        sessions: TRANSACTIONS as u32 + 1,
    };
    let longest = engine.capabilities().max_value_bytes;
    let anomalies = anomalies::all();
    let results = run_all(engine, &spec, &anomalies, longest);
    let observation = |(anomaly, result): (&Anomaly, ScheduleResult)| Observation {
        phenomenon: anomaly.phenomenon,
        variant: anomaly.variant,
        result,
    };
    let observations = anomalies.iter().zip(results).map(observation).collect();
    Report {
        stated,
        observations,
    }
}

/// Runs every schedule; after an engine's error the rest is skipped.
fn run_all(
    engine: &dyn Engine,
    spec: &OpenSpec<'_>,
    anomalies: &[Anomaly],
    longest: usize,
) -> Vec<ScheduleResult> {
    let mut results = Vec::new();
    let ran = guarded(|| {
        let database = Arc::new(engine.open(spec).at("open")?);
        fill(&**database, anomalies.len(), longest)?;
        let mut scheduler = Scheduler::new(&database);
        for (number, anomaly) in anomalies.iter().enumerate() {
            results.push(run_one(&**database, &mut scheduler, number, anomaly)?);
        }
        drop(scheduler);
        // A thread to which the engine does not return has it open.
        match Arc::into_inner(database) {
            Some(database) => database.close().at(CLOSING),
            None => Ok(()),
        }
    });
    if let Err(CheckFailure(text)) = ran {
        // A database that does not close fails the last schedule.
        results.truncate(anomalies.len().saturating_sub(1));
        results.push(ScheduleResult::Failed(text));
    }
    let not_run = || ScheduleResult::Failed("not run: the one before it failed".to_owned());
    results.resize_with(anomalies.len(), not_run);
    results
}

fn run_one(
    database: &dyn Database,
    scheduler: &mut Scheduler,
    number: usize,
    anomaly: &Anomaly,
) -> Outcome<ScheduleResult> {
    let mut history = scheduler.run(number, &anomaly.steps)?;
    let mut session = database.session().at("session")?;
    history.left = read(session.as_mut(), |session| {
        let mut left = [None; 4];
        for (left, key) in left.iter_mut().zip(Key::ALL) {
            *left = schedule::read(session, number, key, ReadMethod::Get)?;
        }
        Ok(left)
    })?;
    Ok(if (anomaly.occurred)(&history) {
        ScheduleResult::Occurred
    } else if history.has_refused() {
        ScheduleResult::Refused
    } else if history.has_waited {
        ScheduleResult::Waited
    } else {
        ScheduleResult::Separate
    })
}

/// Puts x and y of every schedule, and between the letters enough records that the keys of a
/// schedule are on four pages: an engine that locks pages must not seem to lock records or ranges.
fn fill(database: &dyn Database, schedules: usize, longest: usize) -> Outcome<()> {
    const FILLERS: u8 = 100;
    let mut session = database.session().at("session")?;
    let filler = vec![b'-'; longest.min(1_500)];
    for letter in [b'a', b'h', b'o', b'u', b'w'] {
        let records: Vec<Record> = (0..FILLERS)
            .map(|number| (vec![letter, number], filler.clone()))
            .collect();
        store(session.as_mut(), &records)?;
    }
    let records: Vec<Record> = (0..schedules)
        .flat_map(|number| [Key::X, Key::Y].map(|key| (key.bytes(number), vec![0])))
        .collect();
    store(session.as_mut(), &records)
}
