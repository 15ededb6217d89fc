//! RocksDB's `mixgraph`: gets, puts and seeks as in the workloads of Facebook (Cao and others, FAST
//! 2020), by the distributions of db_bench.
//!
//! `docs/workloads/mixgraph.md` says what is as in db_bench, what is not, and why.

mod config;
mod error;
mod fit;
mod keys;
mod kinds;
mod lengths;
mod mersenne_twister;
mod rate;
mod settings;
#[cfg(test)]
mod statistics;
mod stream;
mod worker;

pub use error::MixgraphError;
pub use fit::{FitError, MixgraphFit, fit_trace};

use crate::generate::value::Values;
use crate::keyed::changing_writes::{certain_puts, numbers_apart};
use crate::keyed::expected_state::ReplayableJob;
use crate::keyed::final_check;
use crate::keyed::load::{LoadedRecords, load_unless_loaded};
use crate::keyed::shared_state::SharedState;
use crate::keyed::write_tracker::{RecordSample, WriteTable};
use crate::{
    DueTimes, Error, ExecutionSummary, ExistingDatabase, IneffectiveSetting, Job, JobDatabase,
    JobError, JobResults, JobTask, LoadSummary, OperationBytes, Result, WorkerFindings, Workload,
    WorkloadInfo,
};
use config::MixgraphConfig;
use kinds::Kind;
use settings::Settings;
use trueput_engine::{Capabilities, Parameter, ParameterValues};
use trueput_record::measurement::Measurement;
use trueput_record::plan::Dimensions;
use trueput_record::{Conditions, Survival, TrialSpec, WorkerKind};
use worker::Worker;

/// The name of the workload.
pub const NAME: &str = "mixgraph";

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct Mixgraph;

impl Workload for Mixgraph {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: NAME,
            summary: "RocksDB's mixgraph: gets, puts and seeks by the key popularity, sizes and \
                      rates of Facebook's workloads",
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
        Settings::from(settings).mix_accesses > 0
    }

    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        Ok(Box::new(MixgraphJob {
            config: MixgraphConfig::new(&settings.into(), conditions)?,
            shared: SharedState::default(),
        }))
    }
}

struct MixgraphJob {
    config: MixgraphConfig,
    shared: SharedState,
}

impl MixgraphJob {
    fn values(&self, task: &JobTask<'_>) -> Result<Values> {
        self.shared.values(|| self.config.values(task.seed))
    }

    fn table(&self, task: &JobTask<'_>) -> Option<&WriteTable> {
        let tracks = task.verifies_reads() && self.config.puts();
        let make = || WriteTable::new(RecordSample::new(task.verify, self.config.records));
        tracks.then(|| self.shared.table(make))
    }

    /// The puts among these counts of operations, by kind.
    fn count_puts(&self, counts: &[u64]) -> u64 {
        if !self.config.puts() {
            return 0;
        }
        let index = self.config.kinds().index(Kind::Put);
        counts.get(index).copied().unwrap_or_default()
    }
}

impl Job for MixgraphJob {
    fn kinds(&self) -> &'static [&'static str] {
        self.config.kinds().names()
    }

    fn total_units(&self) -> u64 {
        self.config.operations.unwrap_or(0)
    }

    fn scheduled_per_s(&self) -> Option<f64> {
        self.config.arrivals.map(|arrivals| arrivals.mean_per_s)
    }

    fn due_times(&self, worker: u32, workers: u32) -> Option<DueTimes<'_>> {
        let arrivals = self.config.arrivals?;
        Some(Box::new(arrivals.of_worker(worker, workers)))
    }

    fn closed_loop_setting(&self) -> &'static str {
        "sine_mix_rate=off"
    }

    fn check_capabilities(&self, capabilities: &Capabilities) -> Result<(), JobError> {
        Ok(self.config.check_room(capabilities)?)
    }

    fn check_crash(&self, _survival: Survival) -> Result<(), JobError> {
        Ok(())
    }

    fn volumes(&self) -> Vec<OperationBytes> {
        self.config.volumes()
    }

    fn live_bytes(&self, _counts: &[u64]) -> Option<u64> {
        self.config.live_bytes()
    }

    fn commits(&self, counts: &[u64]) -> Option<u64> {
        Some(self.count_puts(counts))
    }

    fn changing_commits(&self, spec: &TrialSpec, measurement: &Measurement) -> Option<u64> {
        let counts: Vec<u64> = measurement.operations.iter().map(|it| it.count).collect();
        let numbers_apart = numbers_apart(spec, spec.workers.into());
        Some(certain_puts(self.count_puts(&counts), numbers_apart))
    }

    fn commit_bytes(&self) -> u64 {
        self.config.commit_bytes()
    }

    fn load_key(&self) -> Option<String> {
        Some(self.config.load_key())
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
        let make = || self.config.maker(target.seed);
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
