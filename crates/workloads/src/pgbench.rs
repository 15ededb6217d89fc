//! The built-in scripts of pgbench, PostgreSQL's own benchmark, on any engine.
//!
//! `docs/workloads/pgbench.md` says what is as in pgbench, what is not, and what is checked.

mod bank;
mod bounds;
mod error;
mod expected_state;
mod kinds;
mod kv;
mod load;
mod read_counts;
mod scale;
mod script_mix;
mod settings;
mod sql;
mod store;
mod stream;
mod table_check;
mod transaction;
mod verify;
mod worker;

pub use error::PgbenchError;

use crate::sql::store::TableStore;
use crate::{
    Error, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobError, JobResults, JobTask,
    LoadSummary, OperationBytes, Result, WorkerFindings, Workload, WorkloadInfo,
};
use bounds::BalanceBounds;
use kinds::Script;
use kv::{BALANCE_RECORD_BYTES, HISTORY_RECORD_BYTES};
use scale::BalanceTable;
use settings::{GivenSettings, Settings};
use std::sync::OnceLock;
use trueput_engine::{Capabilities, Dialect, Parameter, ParameterValues};
use trueput_record::{Conditions, Survival, WorkerKind};

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct Pgbench;

impl Workload for Pgbench {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "pgbench",
            summary: "pgbench's built-in scripts tpcb-like, simple-update and select-only, in SQL \
                      or on keys and values (not a TPC-B result)",
            headline: "",
            worker_kind: WorkerKind::Threads,
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        GivenSettings::PARAMETERS
    }

    fn has_end(&self, settings: &ParameterValues, _conditions: &Conditions) -> bool {
        GivenSettings::from(settings).transactions > 0
    }

    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        Ok(Box::new(PgbenchJob {
            settings: Settings::new(settings, conditions),
            bounds: OnceLock::new(),
        }))
    }
}

struct PgbenchJob {
    settings: Settings,
    /// Shared by the threads of a process.
    bounds: OnceLock<BalanceBounds>,
}

impl PgbenchJob {
    /// The bounds of what reads may find; `None` if reads are not checked, or other processes
    /// write.
    fn bounds(&self, task: &JobTask<'_>) -> Option<&BalanceBounds> {
        let knows_all = task.worker_kind == WorkerKind::Threads || task.workers == 1;
        let make = || {
            let accounts = self.settings.scale.rows(BalanceTable::Accounts);
            BalanceBounds::new(task.verify, accounts, self.settings.mix.writes())
        };
        (knows_all && task.verifies_reads()).then(|| self.bounds.get_or_init(make))
    }

    /// The commits that wrote, among `counts` transactions by script.
    fn writes(&self, counts: &[u64]) -> Option<u64> {
        let scripts = self.settings.mix.scripts();
        let writing = scripts.iter().filter(|script| script.writes());
        writing
            .map(|script| counts.get(scripts.index(script)).copied())
            .sum()
    }

    /// The bytes that one transaction of a script moves.
    fn volume(script: Script) -> OperationBytes {
        let balances = |rows: u64| (rows * BALANCE_RECORD_BYTES as u64) as f64;
        let history = HISTORY_RECORD_BYTES as f64;
        match script {
            Script::TpcbLike => OperationBytes::new(balances(4), balances(3) + history),
            Script::SimpleUpdate => OperationBytes::new(balances(2), balances(1) + history),
            Script::SelectOnly => OperationBytes::new(balances(1), 0.0),
        }
    }

    /// Bytes of the keys and values that are loaded.
    fn loaded_bytes(&self) -> u64 {
        self.settings.scale.all_rows() * BALANCE_RECORD_BYTES as u64
    }
}

impl Job for PgbenchJob {
    fn kinds(&self) -> &'static [&'static str] {
        self.settings.mix.scripts().names()
    }

    fn total_units(&self) -> u64 {
        self.settings.transactions.unwrap_or_default()
    }

    fn volumes(&self) -> Vec<OperationBytes> {
        let scripts = self.settings.mix.scripts();
        scripts.iter().map(Self::volume).collect()
    }

    fn live_bytes(&self, counts: &[u64]) -> Option<u64> {
        if self.settings.mix.writes() && self.settings.warms_up {
            return None;
        }
        let added = self.writes(counts)? * HISTORY_RECORD_BYTES as u64;
        Some(self.loaded_bytes() + added)
    }

    /// Each commit of a script that writes has inserted a row, so it has changed data.
    fn commits(&self, counts: &[u64]) -> Option<u64> {
        self.writes(counts)
    }

    fn commit_bytes(&self) -> u64 {
        let scripts = self.settings.mix.scripts();
        let written = scripts
            .iter()
            .map(|script| Self::volume(script).written_bytes as u64);
        written.max().unwrap_or_default()
    }

    fn check_capabilities(&self, capabilities: &Capabilities) -> Result<(), JobError> {
        let lacks = |ability| Err(PgbenchError::Lacks { ability }.into());
        if !capabilities.retains_data {
            return lacks("keeps what is put");
        }
        if !capabilities.atomic_transactions && self.settings.mix.writes() {
            return lacks("has transactions of several records");
        }
        Ok(())
    }

    fn check_dialect(&self, dialect: Option<Dialect>) -> Result<(), JobError> {
        if self.settings.store.is_supported(dialect) {
            Ok(())
        } else {
            Err(PgbenchError::NoSql.into())
        }
    }

    fn uses_sql(&self) -> bool {
        self.settings.store == TableStore::Sql
    }

    fn needs_transactions(&self) -> bool {
        self.settings.mix.writes()
    }

    fn check_crash(&self, _survival: Survival) -> Result<(), JobError> {
        Ok(())
    }

    fn load_key(&self) -> Option<String> {
        let Settings {
            scale, mix, store, ..
        } = &self.settings;
        // Scripts that write leave a history that the next trial would not begin with.
        (!mix.writes()).then(|| format!("{scale:?} in {store}"))
    }

    fn expected_bytes(&self) -> u64 {
        let histories = if self.settings.mix.writes() {
            self.settings.expected_transactions
        } else {
            0
        };
        let added = histories.saturating_mul(HISTORY_RECORD_BYTES as u64);
        let bytes = self.loaded_bytes().saturating_add(added);
        // PostgreSQL takes 15 MB for a branch and its accounts, of 10 MB over keys and values.
        (1 << 20).max(bytes.saturating_mul(3) / 2)
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>> {
        match remains {
            ExistingDatabase::Nothing => load::load(&self.settings, target).map(Some),
            ExistingDatabase::Loaded if !self.settings.mix.writes() => Ok(None),
            _ => {
                let reason = "pgbench loads a new database for each trial with scripts that \
                              write, and this one is not empty";
                Err(Error::Workload(reason.to_owned()))
            }
        }
    }

    fn initialize(&self, task: &JobTask<'_>) -> Result<()> {
        self.bounds(task);
        Ok(())
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        let bounds = self.bounds(task);
        worker::run(task, &self.settings, bounds)
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        verify::verify(&self.settings, target, ended)
    }
}
