//! Microbenchmarks: filling, reading, overwriting, deleting and scanning plain records, one test at
//! a time, after `db_bench` of LevelDB and RocksDB and Symas's tests of 2014.
//!
//! `docs/workloads/micro.md` says what each test does, what is counted, and what is checked.

mod bulk_load;
mod conditional_puts;
mod config;
mod error;
mod figures;
mod kinds;
mod large_check;
mod large_settings;
mod large_values;
mod multi_read;
mod operation_stream;
mod scan;
mod settings;
mod single_records;
mod value_parts;
mod worker;

use crate::generate::value::Values;
use crate::keyed::changing_writes::numbers_apart;
use crate::keyed::final_check;
use crate::keyed::load::{LoadedRecords, load_unless_loaded};
use crate::keyed::shared_state::SharedState;
use crate::keyed::write_tracker::{RecordSample, WriteTable};
use crate::{
    Error, ExecutionSummary, ExistingDatabase, IneffectiveSetting, Job, JobDatabase, JobError,
    JobResults, JobTask, LoadSummary, OperationBytes, Result, WorkerFindings, Workload,
    WorkloadInfo,
};
use config::{MicroConfig, Test};
pub use error::MicroError;
use settings::{Settings, TestName};
use trueput_engine::{Capabilities, Parameter, ParameterValues};
use trueput_record::measurement::Measurement;
use trueput_record::plan::Dimensions;
use trueput_record::{Conditions, Survival, TrialSpec, Value, WorkerKind};

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct Micro;

impl Workload for Micro {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "micro",
            summary: "one kind of work at a time on plain records: fill, read, overwrite, scan",
            headline: "",
            worker_kind: WorkerKind::Threads,
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        Settings::PARAMETERS
    }

    fn check_given(&self, given: &Dimensions) -> Result<(), IneffectiveSetting> {
        settings::check_given(given)
    }

    fn has_end(&self, settings: &ParameterValues, _conditions: &Conditions) -> bool {
        let settings = Settings::from(settings);
        let test = settings.test.word();
        let does_each_once = test.starts_with("fill-") || test.starts_with("delete-");
        let fills_up = settings.test == TestName::PutIfAbsent;
        does_each_once || fills_up || settings.operations > 0
    }

    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        Ok(Box::new(MicroJob {
            config: MicroConfig::new(&settings.into(), conditions)?,
            shared: SharedState::default(),
        }))
    }
}

struct MicroJob {
    config: MicroConfig,
    shared: SharedState,
}

impl MicroJob {
    fn values(&self, task: &JobTask<'_>) -> Result<Values> {
        self.shared.values(|| self.config.values(task.seed))
    }

    fn table(&self, task: &JobTask<'_>) -> Option<&WriteTable> {
        let mixes_deletes = self.config.deletes() && self.config.test != Test::Delete;
        let tracks = task.verifies_reads() && self.config.updates();
        let wanted = tracks || mixes_deletes;
        let make = || {
            let sample = RecordSample::new(task.verify, self.config.records);
            WriteTable::new(sample).following_deletes(mixes_deletes)
        };
        wanted.then(|| self.shared.table(make))
    }
}

impl Job for MicroJob {
    fn kinds(&self) -> &'static [&'static str] {
        self.config.kinds().names()
    }

    fn total_units(&self) -> u64 {
        self.config.operations.unwrap_or(0)
    }

    fn sessions(&self, workers: u32) -> u32 {
        self.config.sessions(workers)
    }

    fn needed_workers(&self) -> Option<u32> {
        self.config.loads_in_bulk.then_some(1)
    }

    fn check_workers(&self, workers: u32, _kind: WorkerKind) -> Result<(), JobError> {
        Ok(self.config.check_workers(workers)?)
    }

    fn check_capabilities(&self, capabilities: &Capabilities) -> Result<(), JobError> {
        Ok(self.config.check_room(capabilities)?)
    }

    fn unit_kinds(&self) -> &'static [&'static str] {
        match self.config.batch {
            1 => self.config.main_kinds().names(),
            _ => &["batch"],
        }
    }

    fn volumes(&self) -> Vec<OperationBytes> {
        let kinds = self.config.kinds();
        kinds.iter().map(|kind| self.config.volume(kind)).collect()
    }

    fn live_bytes(&self, counts: &[u64]) -> Option<u64> {
        self.config.live_bytes(counts)
    }

    fn commits(&self, counts: &[u64]) -> Option<u64> {
        self.config.commits(counts)
    }

    fn changing_commits(&self, spec: &TrialSpec, measurement: &Measurement) -> Option<u64> {
        let counts = measurement.operations.iter().map(|one| one.count);
        let counts: Vec<u64> = counts.collect();
        let writers = self.config.mutators(spec.workers).len() as u64;
        let numbers_apart = numbers_apart(spec, writers);
        self.config.changing_commits(&counts, numbers_apart)
    }

    fn caution(&self) -> Option<String> {
        self.config.turnover()?.caution()
    }

    fn commit_bytes(&self) -> u64 {
        self.config.commit_bytes()
    }

    fn load_key(&self) -> Option<String> {
        let MicroConfig {
            records,
            key_bytes,
            value_bytes,
            compressibility,
            ..
        } = &self.config;
        let lasting =
            !(self.config.begins_empty() || self.config.deletes() || self.config.inserts());
        lasting.then(|| {
            let parts = self.config.parts_key();
            format!("{records} x {key_bytes} + {value_bytes}{parts} to {compressibility} %")
        })
    }

    fn check_crash(&self, _survival: Survival) -> Result<(), JobError> {
        if self.config.test == Test::PutIfAbsent {
            Err(MicroError::CrashWithConditionalPuts.into())
        } else if self.config.deletes() {
            Err(MicroError::CrashWithDeletes.into())
        } else {
            Ok(())
        }
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
        if self.config.begins_empty() || !target.capabilities.retains_data {
            return Ok(None);
        }
        let parts = self.config.value_parts(&target.capabilities);
        let wanted = LoadedRecords {
            records: self.config.records * parts.count(),
            batch: self.config.load_batch(parts),
            is_wanted: |_| true,
        };
        let make = || Ok(self.config.maker(self.config.values(target.seed)?, parts));
        let load = load_unless_loaded(&wanted, make, target, remains)?;
        Ok(load.map(|load| LoadSummary {
            records: load.records / parts.count(),
            ..load
        }))
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let values = self.values(task)?;
        single_records::run(&self.config, values, self.table(task), task)
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        let parts = self.config.value_parts(&target.capabilities);
        let mut conclusion = if self.config.test == Test::PutIfAbsent {
            conditional_puts::verify(&self.config, target, ended)?
        } else if parts.are_several() {
            large_check::verify(&self.config, target, ended)?
        } else {
            final_check::verify(&self.config, target, ended)?
        };
        if self.config.is_large() {
            let count = parts.count();
            let results = &mut conclusion.results;
            results.insert("parts of a value".to_owned(), count.into());
        }
        let was_loaded = ended.sum_of(worker::LOADED) > 0;
        let emulated = self.config.emulated(&target.capabilities, was_loaded);
        let emulated = emulated.map(|text| (Measurement::EMULATED.to_owned(), Value::from(text)));
        conclusion.results.extend(emulated);
        Ok(conclusion)
    }

    fn derive_metrics(&self, measurement: &Measurement) -> JobResults {
        figures::derive_metrics(&self.config, measurement)
    }
}
