//! Random transactions over few keys, whose history is checked for the isolation that the engine
//! states.
//!
//! `docs/workloads/history.md` says what is recorded, what is inferred, and what is checked.
//!
//! # Modules
//!
//! - `settings`, `config`: the settings, and what follows from them
//! - `version`: versions of keys, and the values that carry them
//! - `transactions`: histories
//! - `worker`: the measured work
//! - `check`: the checks of a history
//! - `verify`: the final read, and the checks of a trial

pub mod check;
mod config;
mod error;
mod settings;
pub mod transactions;
mod verify;
pub mod version;
mod worker;

use crate::keyed::kinds::KindCatalog;
use crate::{
    ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobError, JobResults, JobTask,
    LoadSummary, Result, WorkerFindings, Workload, WorkloadInfo,
};
use config::{HistoryConfig, KEY_BYTES};
pub use error::HistoryError;
use settings::Settings;
use trueput_engine::{Capabilities, Parameter, ParameterValues};
use trueput_record::{Conditions, Survival, WorkerKind};
use worker::{Kind, Worker};

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct HistoryWorkload;

impl Workload for HistoryWorkload {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "history",
            summary: "random transactions over few keys, whose history is checked for the stated \
                      isolation",
            headline: "update",
            worker_kind: WorkerKind::Threads,
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        Settings::PARAMETERS
    }

    fn has_end(&self, settings: &ParameterValues, conditions: &Conditions) -> bool {
        conditions.rate.is_none() || Settings::from(settings).transactions > 0
    }

    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        if conditions.hosts.is_some() {
            return Err(HistoryError::OtherHosts.into());
        }
        let config = HistoryConfig::new(&settings.into(), conditions);
        Ok(Box::new(HistoryJob { config }))
    }
}

struct HistoryJob {
    config: HistoryConfig,
}

impl Job for HistoryJob {
    fn kinds(&self) -> &'static [&'static str] {
        Kind::names((1 << Kind::ALL.len()) - 1)
    }

    fn total_units(&self) -> u64 {
        self.config.transactions.unwrap_or(0)
    }

    fn check_capabilities(&self, capabilities: &Capabilities) -> Result<(), JobError> {
        let (bytes, most) = (self.config.value_bytes(), capabilities.max_value_bytes);
        if bytes > most {
            return Err(HistoryError::LongLists {
                bytes,
                max_bytes: most,
            }
            .into());
        }
        if KEY_BYTES > capabilities.max_key_bytes {
            return Err(HistoryError::LongKeys.into());
        }
        Ok(())
    }

    fn check_crash(&self, _survival: Survival) -> Result<(), JobError> {
        Ok(())
    }

    fn commits(&self, counts: &[u64]) -> Option<u64> {
        counts.get(Kind::Update.place()).copied()
    }

    fn commit_bytes(&self) -> u64 {
        self.config.record_bytes() as u64
    }

    fn expected_bytes(&self) -> u64 {
        let transactions = self.config.transactions.unwrap_or(self.config.recorded);
        let writes = transactions.saturating_mul(self.config.operations.into());
        let keys = writes / u64::from(self.config.key_writes) + u64::from(self.config.keys);
        (1 << 20).max(keys.saturating_mul((KEY_BYTES + self.config.value_bytes()) as u64))
    }

    fn prepare(
        &self,
        _target: &JobDatabase<'_>,
        _remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>> {
        Ok(None)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let history = Worker::new(&self.config, task).run(task)?;
        *task.attachment = history.encode();
        Ok(WorkerFindings::new())
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        verify::verify(&self.config, target, ended)
    }
}
