//! The insert benchmark of Mark Callaghan: rows are inserted at one end of a table with secondary
//! indexes and deleted at the other, while indexes are queried.
//!
//! `docs/workloads/insert-benchmark.md` says what is as in `iibench.py`, what is not, and what is
//! checked.

mod client;
mod connection;
mod error;
mod figures;
mod findings;
mod index_model;
mod kinds;
mod kv;
mod load;
mod progress;
mod purchase;
mod queries;
mod settings;
mod sql;
mod step;
mod store;
mod table_check;
mod tables;
mod verify;
mod writers;

pub use error::InsertBenchmarkError;

use crate::sql::store::TableStore;
use crate::{
    ExecutionSummary, ExistingDatabase, IneffectiveSetting, Job, JobDatabase, JobError, JobResults,
    JobTask, LoadSummary, OperationBytes, Result, WorkerFindings, Workload, WorkloadInfo,
};
use client::Clients;
use kinds::Kind;
use kv::ROW_KEY_BYTES;
use purchase::Index;
use settings::{GivenSettings, STEP, Settings, index_bytes};
use step::Step;
use tables::QUERY_ROWS;
use trueput_engine::{Capabilities, Dialect, Parameter, ParameterValues};
use trueput_record::measurement::Measurement;
use trueput_record::plan::Dimensions;
use trueput_record::{Conditions, Survival, TrialSpec, WorkerKind};

/// How many times the bytes of its keys and values a row with its index entries takes: B+trees fill
/// pages to two thirds where keys come in no order, and log-structured engines keep what was
/// deleted for a while.
const SPACE_FACTOR: u64 = 2;

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct InsertBenchmark;

impl Workload for InsertBenchmark {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "insert-benchmark",
            summary: "Mark Callaghan's insert benchmark: inserts at one end of a table with three \
                      secondary indexes, deletes at the other, and queries meanwhile",
            headline: "",
            worker_kind: WorkerKind::Threads,
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        GivenSettings::PARAMETERS
    }

    fn check_given(&self, given: &Dimensions) -> Result<(), IneffectiveSetting> {
        settings::check_given(given)
    }

    fn has_end(&self, settings: &ParameterValues, _conditions: &Conditions) -> bool {
        GivenSettings::from(settings).ends_by_rows()
    }

    fn takes_duration(&self, settings: &ParameterValues) -> bool {
        !GivenSettings::from(settings).ends_by_rows()
    }

    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        let settings = Settings::new(settings, conditions)?;
        Ok(Box::new(InsertBenchmarkJob {
            settings,
            clients: Clients::new(settings.tables),
        }))
    }
}

struct InsertBenchmarkJob {
    settings: Settings,
    clients: Clients,
}

impl InsertBenchmarkJob {
    /// Bytes of the keys and values of a row and of its index entries, if there are indexes.
    fn row_bytes(&self, has_indexes: bool) -> f64 {
        let entries = if has_indexes { index_bytes() } else { 0.0 };
        self.settings.row_bytes() + entries
    }

    /// The bytes that one operation of a kind moves.
    fn volume(&self, kind: Kind) -> OperationBytes {
        let rows = f64::from(self.settings.step.transaction_rows());
        let keys = ROW_KEY_BYTES as f64;
        let queried = QUERY_ROWS as f64;
        let entry = index_bytes() / Index::ALL.len() as f64;
        let row = self.settings.row_bytes();
        match kind {
            Kind::RangeQuery => OperationBytes::new(queried * entry, 0.0),
            Kind::PointQuery => OperationBytes::new(queried * row, 0.0),
            Kind::Index => {
                let rows = self.settings.rows as f64;
                OperationBytes::new(rows * row, rows * entry)
            }
            Kind::Insert => {
                let has_indexes = self.settings.step.finds_indexes();
                OperationBytes::new(0.0, rows * self.row_bytes(has_indexes))
            }
            Kind::Delete => OperationBytes::new(rows * row, rows * (keys + index_bytes())),
            Kind::GetMin | Kind::GetMax => OperationBytes::new(keys, 0.0),
        }
    }
}

impl Job for InsertBenchmarkJob {
    fn kinds(&self) -> &'static [&'static str] {
        self.settings.step.kinds().names()
    }

    fn total_units(&self) -> u64 {
        let tables = u64::from(self.settings.tables);
        match (self.settings.step, self.settings.rows_to_insert) {
            (Step::CreateIndexes, _) => tables * Index::ALL.len() as u64,
            (_, Some(rows)) if self.settings.ends_by_rows => tables * rows,
            _ => 0,
        }
    }

    fn sessions(&self, workers: u32) -> u32 {
        workers.saturating_mul(self.settings.step.workers_of_client())
    }

    fn needed_workers(&self) -> Option<u32> {
        Some(self.settings.tables)
    }

    fn check_workers(&self, workers: u32, kind: WorkerKind) -> Result<(), JobError> {
        let Settings { step, tables, .. } = self.settings;
        if workers != tables {
            return Err(InsertBenchmarkError::Workers { tables, workers }.into());
        }
        if kind == WorkerKind::Processes && step.deletes() {
            let step = step.word();
            return Err(InsertBenchmarkError::Processes { step }.into());
        }
        Ok(())
    }

    fn check_capabilities(&self, capabilities: &Capabilities) -> Result<(), JobError> {
        let lacks = |ability| Err(InsertBenchmarkError::Lacks { ability }.into());
        if !capabilities.retains_data {
            return lacks("keeps what is put");
        }
        if !capabilities.atomic_transactions {
            return lacks("has transactions of several records");
        }
        Ok(self.settings.check_room(capabilities)?)
    }

    fn check_dialect(&self, dialect: Option<Dialect>) -> Result<(), JobError> {
        if self.settings.store.is_supported(dialect) {
            Ok(())
        } else {
            Err(InsertBenchmarkError::NoSql.into())
        }
    }

    fn uses_sql(&self) -> bool {
        self.settings.store == TableStore::Sql
    }

    fn check_crash(&self, survival: Survival) -> Result<(), JobError> {
        // A part of an index may be lost with a part of the commits.
        let is_part = survival == Survival::ConsistentPrefix;
        if is_part && self.settings.step == Step::CreateIndexes {
            return Err(InsertBenchmarkError::CrashOfIndexes.into());
        }
        Ok(())
    }

    fn volumes(&self) -> Vec<OperationBytes> {
        let kinds = self.settings.step.kinds();
        kinds.iter().map(|kind| self.volume(kind)).collect()
    }

    /// Every step but l.i0 leaves as many rows as it found.
    fn live_bytes(&self, _counts: &[u64]) -> Option<u64> {
        let row_bytes = self.row_bytes(self.settings.step.leaves_indexes());
        Some((self.settings.all_rows() as f64 * row_bytes) as u64)
    }

    fn commits(&self, counts: &[u64]) -> Option<u64> {
        let kinds = self.settings.step.kinds();
        if kinds.has(Kind::Index) {
            return None;
        }
        let writes = [Kind::Insert, Kind::Delete].into_iter();
        let writes = writes.filter(|kind| kinds.has(*kind));
        let counted = |kind| counts.get(kinds.index(kind)).copied();
        writes.map(counted).sum()
    }

    fn commit_bytes(&self) -> u64 {
        let rows = f64::from(self.settings.step.transaction_rows());
        let has_indexes = self.settings.step.finds_indexes();
        (rows * self.row_bytes(has_indexes)) as u64
    }

    fn load_key(&self) -> Option<String> {
        Some(self.settings.load_key())
    }

    /// A step goes on after another step of its repeat. One that a decision or a search repeats
    /// would find its own rows and indexes otherwise, and an older database each time.
    fn goes_on_after(&self, before: &TrialSpec, trial: &TrialSpec) -> bool {
        let is_another_step = before.settings.get(STEP) != trial.settings.get(STEP);
        self.settings.step != Step::Load && is_another_step && before.repeat == trial.repeat
    }

    fn is_continuation(&self) -> bool {
        self.settings.step != Step::Load
    }

    /// The steps that follow have indexes, on the database that l.i0 makes.
    fn expected_bytes(&self) -> u64 {
        let row_bytes = self.row_bytes(true) as u64;
        let loaded = self.settings.all_rows().saturating_mul(row_bytes);
        (1 << 20).max(loaded.saturating_mul(SPACE_FACTOR))
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>> {
        load::prepare(&self.settings, target, remains)
    }

    fn prime(&self, task: &mut JobTask<'_>) -> Result<()> {
        client::prime(task, &self.settings, &self.clients)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        client::run(task, &self.settings, &self.clients)
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        verify::verify(&self.settings, target, ended)
    }

    fn derive_metrics(&self, measurement: &Measurement) -> JobResults {
        figures::derive_metrics(&self.settings, measurement)
    }
}
