//! Inputs and results of a trial, by the names that published tables use.

use crate::published::steps::Steps;
use crate::statistics::median;
use trueput_record::conditions::NumaPolicy;
use trueput_record::filesystem::FileSystem;
use trueput_record::measurement::{DatabaseSize, Measurement, Resources};
use trueput_record::published::{Cell, FIRST_OF, Setting};
use trueput_record::{Durability, TrialRecord, Value};

/// The trials of a run that may match a published table.
pub(super) struct Trials<'a> {
    /// Valid trials of the table's workload, in the run's order.
    pub(super) all: Vec<&'a TrialRecord>,
    /// The file system of the work folder.
    pub(super) here: &'a str,
    /// The changes of each cell.
    pub(super) steps: Steps,
}

/// The kinds of transaction of the workload `tpcc`; its rate per minute counts all of them.
const TRANSACTIONS: [&str; 6] = [
    "new-order",
    "rolled-back new-order",
    "payment",
    "order-status",
    "delivery",
    "stock-level",
];

impl<'a> Trials<'a> {
    /// The trials of `workload` that count and were given one of the values of each of `only`.
    pub(super) fn of(
        trials: &'a [TrialRecord],
        workload: &str,
        only: &[Setting],
        here: &'a str,
    ) -> Self {
        let of_workload = |trial: &&TrialRecord| trial.spec.workload == workload;
        let all: Vec<_> = trials
            .iter()
            .filter(of_workload)
            .filter(|trial| trial.is_rankable())
            .collect();
        let steps = Steps::of(&all);
        let mut found = Self { all, here, steps };
        let mut kept = found.all.clone();
        kept.retain(|trial| {
            only.iter().all(|setting| {
                let given = found.value_in(trial, &setting.name);
                let wanted = |value: &Value| Some(value.to_string()) == given;
                setting.values.iter().any(wanted)
            })
        });
        found.all = kept;
        found
    }

    /// The value of a trial in a dimension; `None` if it has no such dimension.
    pub(super) fn value_in(&self, trial: &TrialRecord, dimension: &str) -> Option<String> {
        let spec = &trial.spec;
        let text = |value: Option<&Value>| value.map(ToString::to_string);
        match dimension.split('.').collect::<Vec<_>>()[..] {
            ["workload"] => Some(spec.workload.clone()),
            ["engine" | "engines"] => Some(spec.engine.clone()),
            ["durability"] => Some(spec.durability.to_string()),
            ["workers"] => Some(spec.workers.to_string()),
            ["worker_kind"] => Some(spec.worker_kind.to_string()),
            ["step"] => self.steps.of_cell(spec.cell),
            ["settings", name] => text(spec.settings.get(name)),
            ["knobs", engine, name] if engine == spec.engine => text(spec.knobs.get(name)),
            [name] => self.condition(trial, name),
            _ => None,
        }
    }

    /// The value of a run condition: as it is declared, except where tables write it otherwise.
    fn condition(&self, trial: &TrialRecord, name: &str) -> Option<String> {
        let conditions = &trial.spec.conditions;
        match name {
            // Documents state a duration or none at all: no duration is no value.
            "duration" if conditions.duration_s.is_none() => None,
            // Tables name the policy without nodes, and the kernel's default is "local".
            "numa" => {
                let policy = match conditions.numa {
                    Some(NumaPolicy::Interleave(_)) => "interleave",
                    _ => "local",
                };
                Some(policy.to_owned())
            }
            // Tables name the kind of the work folder's too, and sizes of images depend on the
            // scale.
            "filesystem" => Some(self.file_system(trial)),
            _ => {
                let mut declared = conditions.named().into_iter();
                declared
                    .find(|(one, _)| *one == name)
                    .map(|(_, value)| value)
            }
        }
    }

    /// The file system that a trial's database was on, with its options but not its size.
    fn file_system(&self, trial: &TrialRecord) -> String {
        match &trial.spec.conditions.file_system {
            Some(wanted) if !wanted.is_here() => {
                let unsized_one = FileSystem {
                    image_bytes: None,
                    ..wanted.clone()
                };
                unsized_one.to_string()
            }
            // A storage model takes a file system of its own.
            _ if trial.spec.conditions.storage_model.is_some() => {
                let own = trial.file_system.as_ref();
                own.map_or_else(|| self.here.to_owned(), |own| own.mounted.kind.clone())
            }
            _ => self.here.to_owned(),
        }
    }

    /// The values that these trials were given in a dimension, each once, in their order.
    pub(super) fn values(&self, dimension: &str) -> Vec<String> {
        let mut values = Vec::new();
        for value in self
            .all
            .iter()
            .filter_map(|trial| self.value_in(trial, dimension))
        {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }
}

/// The result of the repeats of a trial: the first of the figures in `figures` that they have.
pub(super) fn combined_result(trials: &[&TrialRecord], figures: &str) -> Cell {
    let mut cells = figures
        .split(FIRST_OF)
        .map(|figure| combined_figure(trials, figure));
    cells
        .find(|cell| *cell != Cell::Missing)
        .unwrap_or(Cell::Missing)
}

/// The figure of the repeats of a trial: the median of numbers, or the text if all agree.
fn combined_figure(trials: &[&TrialRecord], figure: &str) -> Cell {
    if let Some(name) = figure.strip_prefix("results.") {
        let found = trials.iter().filter_map(|trial| {
            let results = &trial.measurement.as_ref()?.results;
            results.get(name)
        });
        return combined_value(&found.collect::<Vec<_>>());
    }
    let numbers = trials.iter().filter_map(|trial| number(trial, figure));
    median(numbers.collect::<Vec<_>>()).map_or(Cell::Missing, Cell::Number)
}

/// A result of the workload, from the repeats: the median of fractions, or the value if all agree.
fn combined_value(found: &[&Value]) -> Cell {
    let fractions: Option<Vec<f64>> = found
        .iter()
        .map(|value| match value {
            Value::Float(number) => Some(*number),
            _ => None,
        })
        .collect();
    if let Some(fractions) = fractions {
        return median(fractions).map_or(Cell::Missing, Cell::Number);
    }
    match found {
        [first, others @ ..] if others.iter().all(|other| other == first) => {
            parse_cell(&first.to_string())
        }
        _ => Cell::Missing,
    }
}

fn number(trial: &TrialRecord, figure: &str) -> Option<f64> {
    if let Some(figure) = figure.strip_prefix(OF_LOAD) {
        let load = trial.load.as_ref()?;
        let phase = Phase {
            engine: &trial.spec.engine,
            elapsed_s: load.elapsed_s,
            resources: &load.resources,
            database: load.database,
        };
        return phase.usage(figure);
    }
    let measured = trial.measurement.as_ref()?;
    match figure.split_once('.') {
        Some((kind, "per_s")) => Some(measured.operation(kind)?.per_s),
        Some((kind, "count")) => Some(measured.operation(kind)?.count as f64),
        // Only a level that waits for its flush can be limited by flushes.
        None if figure == "flushes_alone_per_s" && trial.spec.durability == Durability::Sync => {
            Some(trial.hardware_limits.as_ref()?.flush?.separate_per_s)
        }
        None if figure == "per_minute" => transactions_per_minute(measured),
        // What is derived of several rows begins as the rate of one.
        None if matches!(figure, "operations_per_s" | "times_base") => operations_per_s(measured),
        None if figure == "compacted_kib" => {
            Some(kib(measured.compaction.as_ref()?.database.allocated_bytes))
        }
        None => {
            let phase = Phase {
                engine: &trial.spec.engine,
                elapsed_s: measured.elapsed_s,
                resources: &measured.resources,
                database: measured.database,
            };
            phase.usage(figure)
        }
        _ => None,
    }
}

/// The prefix of figures of the load.
pub(super) const OF_LOAD: &str = "load.";

/// Resources that the load or the execution of a trial used.
struct Phase<'a> {
    engine: &'a str,
    elapsed_s: f64,
    resources: &'a Resources,
    database: DatabaseSize,
}

impl Phase<'_> {
    fn usage(&self, figure: &str) -> Option<f64> {
        let resources = self.resources;
        let cpu_s = resources.user_cpu_s + resources.system_cpu_s;
        let (database, process) = (
            kib(self.database.allocated_bytes),
            kib(resources.max_rss_bytes),
        );
        Some(match figure {
            "elapsed_s" => self.elapsed_s,
            "user_cpu_s" => resources.user_cpu_s,
            "system_cpu_s" => resources.system_cpu_s,
            "cpu_percent" if self.elapsed_s > 0.0 => cpu_s / self.elapsed_s * 100.0,
            "database_kib" => database,
            "process_kib" => process,
            "total_kib" if maps_its_database(self.engine) => process.max(database),
            "total_kib" => process + database,
            "voluntary_context_switches" => resources.voluntary_context_switches as f64,
            "involuntary_context_switches" => resources.involuntary_context_switches as f64,
            _ => return None,
        })
    }
}

/// A size in KiB, rounded up.
fn kib(bytes: u64) -> f64 {
    bytes.div_ceil(1024) as f64
}

/// Operations per second of all kinds. Commits end transactions of several operations and are none;
/// `None` if there were none.
fn operations_per_s(measured: &Measurement) -> Option<f64> {
    let kinds = measured.operations.iter();
    let counted = kinds.filter(|one| one.kind != "commit");
    let per_s: f64 = counted.map(|one| one.per_s).sum();
    (per_s > 0.0).then_some(per_s)
}

/// Whether an engine's processes map the database, so that its pages count as theirs already: the
/// total is the larger of both there.
fn maps_its_database(engine: &str) -> bool {
    matches!(engine, "lmdb" | "mdbx")
}

/// Whether a kind of operation is one of the transactions of the workload `tpcc`.
pub fn is_transaction(kind: &str) -> bool {
    TRANSACTIONS.contains(&kind.replace('_', "-").as_str())
}

/// Transactions of the workload `tpcc` per minute, of all kinds; `None` if there were none.
pub fn transactions_per_minute(measured: &Measurement) -> Option<f64> {
    let kinds = measured.operations.iter();
    let counted = kinds.filter(|one| is_transaction(&one.kind));
    let per_s: f64 = counted.map(|one| one.per_s).sum();
    (per_s > 0.0).then_some(per_s * 60.0)
}

/// A value as a cell, as an integer if it is whole.
pub(super) fn parse_cell(value: &str) -> Cell {
    value
        .parse()
        .map_or_else(|_| Cell::Text(value.to_owned()), Cell::Integer)
}
