//! Your own workload: transactions of any operations by weight, on records of any size and
//! popularity.
//!
//! `docs/workloads/custom.md` has the grammar, each setting, and what is checked.

mod config;
mod error;
mod limits;
mod mix;
mod popularity;
mod settings;
mod sizes;
mod transaction_stream;
mod worker;

use crate::generate::value::Values;
use crate::keyed::action::Action;
use crate::keyed::capacity::check_size;
use crate::keyed::changing_writes::{certain_deletes, certain_puts, numbers_apart};
use crate::keyed::expected_state::ReplayableJob;
use crate::keyed::final_check;
use crate::keyed::load::{LoadedRecords, load_unless_loaded};
use crate::keyed::shared_state::SharedState;
use crate::keyed::write_tracker::{RecordSample, WriteTable};
use crate::{
    Error, ExecutionSummary, ExistingDatabase, IneffectiveSetting, Job, JobDatabase, JobError,
    JobResults, JobTask, LoadSummary, OperationBytes, Result, WorkerFindings, Workload,
    WorkloadInfo,
};
use config::CustomConfig;
pub use error::CustomError;
use mix::Transaction;
use settings::{DISTRIBUTION, Settings};
use std::path::Path;
use trueput_engine::{Capabilities, Parameter, ParameterValues};
use trueput_record::measurement::{Measurement, OperationSummary};
use trueput_record::plan::Dimensions;
use trueput_record::{Conditions, Survival, TrialSpec, WorkerKind};
use worker::Worker;

/// The name of the workload.
pub const NAME: &str = "custom";

/// Resolves the files that settings of this workload name, relative to the folder of the file that
/// states the settings.
pub fn resolve_files(settings: &mut Dimensions, folder: &Path) {
    for value in settings.get_mut(DISTRIBUTION).into_iter().flatten() {
        if let Some(resolved) = popularity::resolve_file(&value.to_string(), folder) {
            *value = resolved.into();
        }
    }
}

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct Custom;

impl Workload for Custom {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: NAME,
            summary: "your own workload: any operations and transactions by weight, on \
                      records of any size and popularity",
            headline: "",
            worker_kind: WorkerKind::Threads,
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        Settings::PARAMETERS
    }

    fn check_given(&self, given: &Dimensions) -> Result<(), IneffectiveSetting> {
        check_size(given, "records")
    }

    fn has_end(&self, settings: &ParameterValues, _conditions: &Conditions) -> bool {
        Settings::from(settings).operationcount > 0
    }

    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        let config = CustomConfig::new(&settings.into(), conditions)?;
        Ok(Box::new(CustomJob {
            kinds: config.mix.names(),
            config,
            shared: SharedState::default(),
        }))
    }
}

struct CustomJob {
    config: CustomConfig,
    kinds: &'static [&'static str],
    shared: SharedState,
}

impl CustomJob {
    fn values(&self, task: &JobTask<'_>) -> Result<Values> {
        self.shared.values(|| self.config.values(task.seed))
    }

    fn table(&self, task: &JobTask<'_>) -> Option<&WriteTable> {
        let tracks = task.verifies_reads() && self.config.mix.has(Action::mutates);
        let deletes = self.config.deletes();
        let wanted = tracks || deletes;
        let make = || {
            let sample = RecordSample::new(task.verify, self.config.records);
            WriteTable::new(sample).following_deletes(deletes)
        };
        wanted.then(|| self.shared.table(make))
    }
}

impl Job for CustomJob {
    fn kinds(&self) -> &'static [&'static str] {
        self.kinds
    }

    fn total_units(&self) -> u64 {
        self.config.transactions.unwrap_or(0)
    }

    fn check_capabilities(&self, capabilities: &Capabilities) -> Result<(), JobError> {
        Ok(self.config.check_room(capabilities)?)
    }

    fn needs_transactions(&self) -> bool {
        let has_several = self.config.mix.max_operations() > 1;
        has_several || self.config.mix.has(Action::reads_first)
    }

    fn check_crash(&self, _survival: Survival) -> Result<(), JobError> {
        if self.config.deletes() {
            Err(CustomError::CrashWithDeletes.into())
        } else {
            Ok(())
        }
    }

    fn volumes(&self) -> Vec<OperationBytes> {
        let transactions = self.config.mix.iter();
        transactions.map(|it| self.config.volume(it)).collect()
    }

    fn live_bytes(&self, counts: &[u64]) -> Option<u64> {
        self.config.live_bytes(counts)
    }

    fn commits(&self, counts: &[u64]) -> Option<u64> {
        Some(self.config.commits(counts))
    }

    fn changing_commits(&self, spec: &TrialSpec, measurement: &Measurement) -> Option<u64> {
        let counts_writes = self.config.counts_writes();
        let puts_back = self.config.mix.has(Action::overwrites);
        let numbers_apart = numbers_apart(spec, spec.workers.into());
        let certain = |(transaction, operation): (&Transaction, &OperationSummary)| {
            let has = |holds: fn(Action) -> bool| transaction.count(holds) > 0;
            // The next version of a record that was read, or a new record.
            let is_certain =
                has(|it| it == Action::Insert) || counts_writes && transaction.writes();
            if is_certain {
                operation.count
            } else if has(Action::overwrites) {
                certain_puts(operation.count, numbers_apart)
            } else if transaction.writes() && transaction.steps().len() == 1 && !puts_back {
                certain_deletes(operation, spec)
            } else {
                0
            }
        };
        let each = self.config.mix.iter().zip(&measurement.operations);
        Some(each.map(certain).sum())
    }

    fn caution(&self) -> Option<String> {
        self.config.turnover().caution()
    }

    fn commit_bytes(&self) -> u64 {
        self.config.commit_bytes()
    }

    fn load_key(&self) -> Option<String> {
        let CustomConfig {
            records,
            key_bytes,
            value_bytes,
            compressibility,
            ..
        } = &self.config;
        // The keys of a queue depend on the number of workers.
        let changes = self.config.deletes() || self.config.inserts();
        let lasting = !(changes || self.config.is_queue);
        lasting
            .then(|| format!("{records} x {key_bytes:?} + {value_bytes:?} to {compressibility} %"))
    }

    fn expected_bytes(&self) -> u64 {
        self.config.expected_bytes()
    }

    fn initialize(&self, task: &JobTask<'_>) -> Result<()> {
        self.table(task);
        self.values(task).map(drop)
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>> {
        let room = self.config.check_room(&target.capabilities);
        room.map_err(|error| Error::Workload(error.to_string()))?;
        if !target.capabilities.retains_data {
            return Ok(None);
        }
        let wanted = LoadedRecords {
            records: self.config.records,
            batch: self.config.load_batch,
            is_wanted: |_| true,
        };
        let partitions = self.config.partitions(target.workers);
        let make = || {
            let maker = self.config.maker(target.seed);
            maker.map(|maker| maker.in_partitions(partitions))
        };
        load_unless_loaded(&wanted, make, target, remains)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let values = self.values(task)?;
        Worker::new(&self.config, values, self.table(task), task)?.run(task)
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        final_check::verify(&self.config, target, ended)
    }
}
