//! Operations that looked for records that were not there: they cost less than those that find
//! theirs, and an engine is not faster for them.

use crate::Run;
use crate::eligibility::HARNESS_ENGINE;
use crate::trial_names::TrialNames;
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::{Outcome, TrialRecord, Value};

/// A database with less than one record in so many of those that it began with was emptied.
const EMPTIED_FACTOR: i64 = 10;

/// The operations of a run that looked for records that were not there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Absence {
    /// By contender and kind, in the order of the run; empty if all found theirs.
    pub operations: Vec<AbsentRecords>,
    /// The records at the start and the end of a trial that emptied its database so.
    pub emptied: Option<(i64, i64)>,
}

impl Absence {
    /// Of the valid trials of a run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let operations = absent_records(run);
        let emptied = emptied(run).filter(|_| !operations.is_empty());
        Self {
            operations,
            emptied,
        }
    }
}

/// The operations of one kind that found no record, over a contender's valid trials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AbsentRecords {
    /// The contender.
    pub contender: String,
    /// The kind of operation.
    pub kind: String,
    /// Operations that looked for a record that was not there.
    pub not_found: u64,
    /// All operations of the kind.
    pub count: u64,
}

/// The valid trials of a run whose operations missed records, by contender and kind, in the order
/// of the run.
fn absent_records(run: &Run) -> Vec<AbsentRecords> {
    let names = TrialNames::of(run);
    let mut all: Vec<AbsentRecords> = Vec::new();
    for trial in valid(run) {
        let contender = names.contender(trial);
        let operations = trial.measurement.iter().flat_map(|it| &it.operations);
        for operation in operations {
            let is_same =
                |one: &&mut AbsentRecords| one.contender == contender && one.kind == operation.kind;
            match all.iter_mut().find(is_same) {
                Some(sum) => {
                    sum.not_found += operation.not_found;
                    sum.count += operation.count;
                }
                None => all.push(AbsentRecords {
                    contender: contender.clone(),
                    kind: operation.kind.clone(),
                    not_found: operation.not_found,
                    count: operation.count,
                }),
            }
        }
    }
    all.retain(|one| one.not_found > 0);
    all
}

/// A valid trial that emptied its database: the records at the start and those that were left.
fn emptied(run: &Run) -> Option<(i64, i64)> {
    let records = |trial: &TrialRecord| {
        let results = &trial.measurement.as_ref()?.results;
        let number = |name: &str| match results.get(name) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        };
        Some((number("records")?, number("records_at_end")?))
    };
    let all = valid(run).filter_map(records);
    let mut emptied = all.filter(|(begin, end)| end.saturating_mul(EMPTIED_FACTOR) < *begin);
    emptied.next()
}

/// The valid trials of engines that keep records: the null engine finds none.
fn valid(run: &Run) -> impl Iterator<Item = &TrialRecord> {
    let trials = run.trials.iter();
    trials.filter(|it| it.outcome == Outcome::Valid && it.spec.engine != HARNESS_ENGINE)
}
