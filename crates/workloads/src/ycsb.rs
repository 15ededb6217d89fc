//! YCSB's core workload (Cooper and others, 2010), A to F, on a key-value engine.
//!
//! `docs/workloads/ycsb.md` says what is as in YCSB, what is not, and why.

mod error;
mod kinds;
mod properties;
mod property_file;
mod settings;
mod shared_state;
mod verify;
mod worker;

pub use error::YcsbError;
pub use property_file::{
    Property, PropertyError, decode_properties, parse_boolean, parse_properties,
};

use crate::generate::key::KeyBuffer;
use crate::keyed::draws::{LengthChooser, ValueLengths};
use crate::keyed::load::{LoadedRecords, load_unless_loaded};
use crate::{
    Error, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobError, JobResults, JobTask,
    LoadSummary, OperationBytes, Result, WorkerFindings, Workload, WorkloadInfo,
};
use kinds::{Kind, Kinds};
use properties::Properties;
use settings::Settings;
use shared_state::SharedState;
use std::sync::OnceLock;
use trueput_engine::{Capabilities, Parameter, ParameterValues};
use trueput_record::{Conditions, WorkerKind};
use worker::Worker;

/// Items whose keys give the mean length of a key.
const SAMPLED_KEYS: u64 = 1_000;

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct Ycsb;

impl Workload for Ycsb {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "ycsb",
            summary: "YCSB's core workload, A to F: reads, updates, inserts, scans and \
                      read-modify-writes by shares",
            headline: "",
            worker_kind: WorkerKind::Threads,
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        Settings::PARAMETERS
    }

    fn has_end(&self, settings: &ParameterValues, _conditions: &Conditions) -> bool {
        Settings::from(settings).operationcount > 0
    }

    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        let properties = Properties::new(&settings.into(), conditions)?;
        Ok(Box::new(YcsbJob {
            kinds: kinds::with_share(&properties.proportions),
            properties,
            warms_up: conditions.warm_up_s > 0.0,
            shared: OnceLock::new(),
        }))
    }
}

struct YcsbJob {
    properties: Properties,
    kinds: Kinds,
    /// Whether operations are done that will not be counted.
    warms_up: bool,
    shared: OnceLock<Result<SharedState>>,
}

impl YcsbJob {
    fn shared(&self, task: &JobTask<'_>) -> Result<&SharedState> {
        let shared = self.shared.get_or_init(|| {
            let complete = task.worker_kind == WorkerKind::Threads || task.workers == 1;
            SharedState::new(&self.properties, task.seed, task.generation, complete)
        });
        shared.as_ref().map_err(Clone::clone)
    }

    /// The mean bytes of a record's key and value.
    fn record_bytes(&self) -> f64 {
        let shape = &self.properties.shape;
        let sampled = self.properties.records.min(SAMPLED_KEYS);
        let mut buffer = KeyBuffer::default();
        let keys = (0..sampled).map(|item| shape.keys.write(item, &mut buffer).len());
        let keys: usize = keys.sum();
        keys as f64 / sampled as f64 + shape.lengths(0).mean()
    }
}

impl Job for YcsbJob {
    fn kinds(&self) -> &'static [&'static str] {
        self.kinds.names()
    }

    fn total_units(&self) -> u64 {
        self.properties.operations.unwrap_or_default()
    }

    fn volumes(&self) -> Vec<OperationBytes> {
        let record = self.record_bytes();
        let scanned = LengthChooser::new(self.properties.scan_records).mean();
        let volume = |kind| {
            let (read, written) = match kind {
                Kind::Read => (1.0, 0.0),
                Kind::Scan => (scanned, 0.0),
                Kind::Update => (1.0, 1.0),
                Kind::ReadModifyWrite => (2.0, 1.0),
                _ => (0.0, 1.0),
            };
            OperationBytes::new(read * record, written * record)
        };
        self.kinds.iter().map(volume).collect()
    }

    fn live_bytes(&self, counts: &[u64]) -> Option<u64> {
        let inserts = if !self.properties.has_kind(Kind::Insert) {
            0
        } else if self.warms_up {
            return None;
        } else {
            *counts.get(self.kinds.index(Kind::Insert))?
        };
        let records = self.properties.records + inserts;
        Some((records as f64 * self.record_bytes()) as u64)
    }

    fn commits(&self, counts: &[u64]) -> Option<u64> {
        let writes = |kind: &Kind| !matches!(*kind, Kind::Read | Kind::Scan);
        let counted = |kind| counts.get(self.kinds.index(kind)).copied();
        self.kinds.iter().filter(writes).map(counted).sum()
    }

    fn commit_bytes(&self) -> u64 {
        self.record_bytes() as u64
    }

    fn check_workers(&self, workers: u32, kind: WorkerKind) -> Result<(), JobError> {
        let inserts = self.properties.has_kind(Kind::Insert);
        if inserts && kind == WorkerKind::Processes && workers > 1 {
            return Err(YcsbError::InsertsOfProcesses { workers }.into());
        }
        Ok(())
    }

    fn check_capabilities(&self, capabilities: &Capabilities) -> Result<(), JobError> {
        let longest_key = self.properties.shape.keys.longest();
        let longest = self.properties.shape.lengths(0).longest();
        if longest_key > capabilities.max_key_bytes {
            return Err(YcsbError::LongKeys {
                bytes: longest_key,
                max_bytes: capabilities.max_key_bytes,
            }
            .into());
        }
        if longest > capabilities.max_value_bytes as u64 {
            return Err(YcsbError::LongRecords {
                bytes: longest,
                max_bytes: capabilities.max_value_bytes,
            }
            .into());
        }
        Ok(())
    }

    fn initialize(&self, task: &JobTask<'_>) -> Result<()> {
        self.shared(task).map(drop)
    }

    fn load_key(&self) -> Option<String> {
        let Properties { records, shape, .. } = &self.properties;
        let inserts = self.properties.has_kind(Kind::Insert);
        (!inserts).then(|| format!("{records} {shape:?}"))
    }

    fn expected_bytes(&self) -> u64 {
        // LMDB puts three records of 1 KB on a page of 4 KiB.
        const SLACK: f64 = 1.4;
        let Properties { records, .. } = self.properties;
        let records = records.saturating_add(self.properties.expected_inserts());
        (1 << 20).max((records as f64 * self.record_bytes() * SLACK) as u64)
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>> {
        self.check_capabilities(&target.capabilities)
            .map_err(|error| Error::Workload(error.to_string()))?;
        let wanted = LoadedRecords {
            records: self.properties.records,
            batch: self.properties.load_batch,
            is_wanted: |_| true,
        };
        let make = || shared_state::record_maker(self.properties.shape, target.seed);
        load_unless_loaded(&wanted, make, target, remains)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let shared = self.shared(task)?;
        Worker::new(task, &self.properties, shared)?.run(task)
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        verify::verify(&self.properties, target, ended)
    }
}
