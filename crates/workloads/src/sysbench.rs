//! sysbench's OLTP scripts (akopytov/sysbench 1.0.20) on engines with SQL, and on keys and values.
//!
//! `docs/workloads/sysbench.md` says what is as in sysbench, what is not, and why.

mod distribution;
mod error;
mod events;
mod expected;
mod figures;
mod inspection;
mod k_counts;
mod kv;
mod load;
mod read_checker;
mod report;
mod rows;
mod settings;
mod shared_state;
mod sql;
mod store;
mod tables;
mod text;
mod update_table;
mod verify;
mod volume;
mod worker;
mod writes;

pub use error::SysbenchError;

use crate::keyed::changing_writes::certain_deletes;
use crate::keyed::depletion::RecordTurnover;
use crate::sql::store::TableStore;
use crate::{
    Error, ExecutionSummary, ExistingDatabase, IneffectiveSetting, Job, JobDatabase, JobError,
    JobResults, JobTask, LoadSummary, OperationBytes, Result, WorkerFindings, Workload,
    WorkloadInfo,
};
use settings::{GivenSettings, Script, Settings};
use shared_state::SharedState;
use std::sync::OnceLock;
use trueput_engine::{Capabilities, Dialect, Parameter, ParameterValues};
use trueput_record::measurement::Measurement;
use trueput_record::plan::Dimensions;
use trueput_record::{Conditions, Survival, TrialSpec, WorkerKind};
use volume::STORED_BYTES;

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct Sysbench;

impl Workload for Sysbench {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "sysbench",
            summary: "sysbench's OLTP scripts: point selects, ranges, updates, deletes and inserts \
                      on tables with an index, in SQL or as keys and values",
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
        GivenSettings::from(settings).events > 0
    }

    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        Ok(Box::new(SysbenchJob {
            settings: Settings::of(settings, conditions)?,
            shared: OnceLock::new(),
        }))
    }
}

struct SysbenchJob {
    settings: Settings,
    shared: OnceLock<SharedState>,
}

impl SysbenchJob {
    /// Whether a row is gone between its delete and its insert, so that two workers could both
    /// insert it.
    fn replaces_in_two_steps(&self) -> bool {
        !self.settings.is_transaction && self.settings.statements.delete_inserts > 0
    }

    /// The state that the workers of this process share; `None` if nothing is checked.
    fn shared(&self, task: &JobTask<'_>) -> Option<&SharedState> {
        let make = || SharedState::new(&self.settings, task);
        task.verifies_reads().then(|| self.shared.get_or_init(make))
    }

    /// Rows that a transaction writes, about.
    fn written_rows(&self) -> u64 {
        let statements = &self.settings.statements;
        match self.settings.script {
            Script::Insert | Script::Delete => 1,
            Script::BulkInsert => self.settings.bulk_rows.into(),
            _ => {
                let updates = statements.index_updates + statements.non_index_updates;
                u64::from(updates) + u64::from(statements.delete_inserts)
            }
        }
    }
}

impl Job for SysbenchJob {
    fn kinds(&self) -> &'static [&'static str] {
        let place = self.settings.script as usize;
        &Script::WORDS[place..=place]
    }

    fn total_units(&self) -> u64 {
        self.settings.events.unwrap_or_default()
    }

    fn volumes(&self) -> Vec<OperationBytes> {
        self.settings.volume().into_iter().collect()
    }

    fn live_bytes(&self, counts: &[u64]) -> Option<u64> {
        self.settings.live_bytes(counts.first().copied()?)
    }

    fn commits(&self, counts: &[u64]) -> Option<u64> {
        let count = counts.first().copied()?;
        Some(if self.settings.writes() { count } else { 0 })
    }

    /// Every write changes its row but a delete that finds none.
    fn changing_commits(&self, spec: &TrialSpec, measurement: &Measurement) -> Option<u64> {
        if self.settings.script != Script::Delete {
            return measurement.commits;
        }
        let deletes = measurement.operations.first()?;
        Some(certain_deletes(deletes, spec))
    }

    fn caution(&self) -> Option<String> {
        let turnover = RecordTurnover {
            deletes: f64::from(u8::from(self.settings.script == Script::Delete)),
            puts: 0.0,
            operations: self.settings.events,
            records: self.settings.rows.count(),
        };
        turnover.caution()
    }

    fn commit_bytes(&self) -> u64 {
        match self.settings.script {
            Script::BulkInsert => self.settings.added_bytes(),
            _ => self.written_rows().max(1) * STORED_BYTES,
        }
    }

    fn needed_workers(&self) -> Option<u32> {
        self.replaces_in_two_steps().then_some(1)
    }

    fn check_workers(&self, workers: u32, _kind: WorkerKind) -> Result<(), JobError> {
        if self.replaces_in_two_steps() && workers > 1 {
            return Err(SysbenchError::SeparateReplacements { workers }.into());
        }
        let most = text::MAX_WRITERS;
        if self.settings.writes() && workers > most {
            return Err(SysbenchError::Workers { workers, most }.into());
        }
        Ok(())
    }

    fn check_capabilities(&self, capabilities: &Capabilities) -> Result<(), JobError> {
        let lacks = |ability| Err(SysbenchError::Lacks { ability }.into());
        if !capabilities.retains_data {
            return lacks("keeps what is put");
        }
        if !capabilities.atomic_transactions {
            return lacks("has transactions of several records");
        }
        // In SQL a dialect can lack snapshots. A plan that asks for SQL by name accepts that.
        if !capabilities.snapshot_reads && self.settings.store != TableStore::Sql {
            return Err(SysbenchError::NoSnapshots.into());
        }
        Ok(())
    }

    fn check_dialect(&self, dialect: Option<Dialect>) -> Result<(), JobError> {
        if self.settings.store.is_supported(dialect) {
            Ok(())
        } else {
            Err(SysbenchError::NoSql.into())
        }
    }

    fn uses_sql(&self) -> bool {
        self.settings.store == TableStore::Sql
    }

    fn needs_transactions(&self) -> bool {
        self.settings.writes()
    }

    fn check_crash(&self, _survival: Survival) -> Result<(), JobError> {
        Ok(())
    }

    fn load_key(&self) -> Option<String> {
        let Settings {
            rows,
            store,
            distribution,
            ..
        } = &self.settings;
        (!self.settings.writes()).then(|| format!("{store} {rows:?} {distribution:?}"))
    }

    fn expected_bytes(&self) -> u64 {
        let loaded = self.settings.loaded_bytes();
        let events = self.settings.events.unwrap_or_default();
        let added = events.saturating_mul(self.settings.added_bytes());
        // LMDB fills its pages to two thirds where records come in no order.
        (1 << 20).max(loaded.saturating_add(added) / 2 * 3)
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>> {
        match remains {
            ExistingDatabase::Nothing => load::load(&self.settings, target).map(Some),
            ExistingDatabase::Loaded if !self.settings.writes() => Ok(None),
            ExistingDatabase::Loaded | ExistingDatabase::Unfinished => {
                let reason = "sysbench's scripts that write load a new database for each trial, \
                              and this one is not empty";
                Err(Error::Workload(reason.to_owned()))
            }
        }
    }

    fn initialize(&self, task: &JobTask<'_>) -> Result<()> {
        self.shared(task);
        Ok(())
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let shared = self.shared(task);
        worker::run(task, &self.settings, shared)
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        verify::verify(&self.settings, target, ended)
    }

    fn derive_metrics(&self, measurement: &Measurement) -> JobResults {
        figures::derive_metrics(&self.settings, measurement)
    }
}
