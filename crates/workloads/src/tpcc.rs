//! The tpcc workload, after TPC-C revision 5.11: not an audited TPC-C result.
//!
//! `docs/workloads/tpcc.md` says, clause by clause, what is implemented and what is not.

pub mod acid;
pub mod input;
pub mod kv;
pub mod procedures;
pub mod rows;
pub mod scale;
pub mod sql;
pub mod store;
pub mod tables;
pub mod transaction;

mod conditions;
mod consistency;
mod district;
mod error;
mod figures;
mod kinds;
mod load;
mod population;
mod random;
mod settings;
mod terminal;
mod transaction_mix;
mod verify;

pub use error::TpccError;
pub use figures::NOTICE;

use crate::{
    Error, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobError, JobResults, JobTask,
    LoadSummary, Result, WorkerFindings, Workload, WorkloadInfo,
};
use settings::{GivenSettings, Settings};
use trueput_engine::{Capabilities, Dialect, Parameter, ParameterValues};
use trueput_record::measurement::Measurement;
use trueput_record::{Conditions, Survival, TrialSpec, WorkerKind};

/// Bytes of keys and values of a full warehouse, and of the items, over keys and values.
const WAREHOUSE_BYTES: u64 = 90_000_000;
const ITEM_BYTES: u64 = 8_000_000;
/// Bytes that one transaction of the mix adds and rewrites, on average.
const TRANSACTION_BYTES: u64 = 1_500;

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct Tpcc;

impl Workload for Tpcc {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "tpcc",
            summary: "an order-entry system after TPC-C 5.11: new-orders, payments, \
                      order-statuses, deliveries and stock-levels (tpcc workload, not an audited \
                      TPC-C result)",
            headline: kinds::NAMES[kinds::NEW_ORDER],
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
        Ok(Box::new(TpccJob {
            settings: Settings::of(settings, conditions)?,
        }))
    }
}

struct TpccJob {
    settings: Settings,
}

impl TpccJob {
    /// The users of all warehouses.
    fn terminals(&self) -> u64 {
        u64::from(self.settings.scale.warehouses) * u64::from(rows::DISTRICTS)
    }
}

impl Job for TpccJob {
    fn kinds(&self) -> &'static [&'static str] {
        &kinds::NAMES
    }

    fn total_units(&self) -> u64 {
        self.settings.transactions.unwrap_or_default()
    }

    fn commits(&self, counts: &[u64]) -> Option<u64> {
        let writes = [kinds::NEW_ORDER, kinds::PAYMENT, kinds::DELIVERY];
        writes.iter().map(|&kind| counts.get(kind).copied()).sum()
    }

    /// A delivery that finds no order in any district changes nothing.
    fn changing_commits(&self, _spec: &TrialSpec, measurement: &Measurement) -> Option<u64> {
        let counted = |kind: usize| Some(measurement.operations.get(kind)?.count);
        Some(counted(kinds::NEW_ORDER)? + counted(kinds::PAYMENT)?)
    }

    fn commit_bytes(&self) -> u64 {
        // Over keys and values a new-order writes about 5,000 bytes, a payment 900, and there are
        // as many of one as of the other.
        3_000
    }

    fn needed_workers(&self) -> Option<u32> {
        let terminals = u32::try_from(self.terminals()).ok();
        terminals.filter(|_| self.settings.is_paced)
    }

    fn check_workers(&self, workers: u32, _kind: WorkerKind) -> Result<(), JobError> {
        let warehouses = self.settings.scale.warehouses;
        let terminals = self.terminals();
        if self.settings.is_paced && u64::from(workers) != terminals {
            return Err(TpccError::Terminals {
                terminals,
                warehouses,
                workers,
            }
            .into());
        }
        Ok(())
    }

    fn check_capabilities(&self, capabilities: &Capabilities) -> Result<(), JobError> {
        let lacks = |ability| Err(TpccError::Lacks { ability }.into());
        if !capabilities.retains_data {
            return lacks("keeps what is put");
        }
        if !capabilities.atomic_transactions {
            return lacks("has transactions of several records (clause 3.2)");
        }
        // In SQL a dialect can lack snapshots. A plan that asks for SQL by name accepts that, and
        // the result says so; keys and values, or a store left to the program's choice, do not.
        if !capabilities.snapshot_reads && self.settings.store != store::TableStore::Sql {
            return Err(TpccError::NoSnapshots.into());
        }
        Ok(())
    }

    fn check_dialect(&self, dialect: Option<Dialect>) -> Result<(), JobError> {
        Ok(self.settings.store.check(dialect)?)
    }

    fn uses_sql(&self) -> bool {
        self.settings.store == store::TableStore::Sql
    }

    fn needs_transactions(&self) -> bool {
        true
    }

    fn check_crash(&self, _survival: Survival) -> Result<(), JobError> {
        Ok(())
    }

    fn expected_bytes(&self) -> u64 {
        let scale = &self.settings.scale;
        let reduced = |bytes: u64| bytes * u64::from(scale.items) / 100_000;
        let loaded = reduced(ITEM_BYTES) + reduced(WAREHOUSE_BYTES) * u64::from(scale.warehouses);
        let added = self.settings.transactions.unwrap_or_default() * TRANSACTION_BYTES;
        // LMDB fills its pages to two thirds where rows come in no order.
        (1 << 20).max((loaded + added) * 3 / 2)
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>> {
        if remains != ExistingDatabase::Nothing {
            let reason = "tpcc loads a new database for each trial, and this one is not empty";
            return Err(Error::Workload(reason.to_owned()));
        }
        let loaded = load::load(&self.settings.scale, self.settings.store, target)?;
        verify::check_load(&self.settings, target)?;
        Ok(Some(loaded))
    }

    fn prime(&self, task: &mut JobTask<'_>) -> Result<()> {
        let place = (task.worker, task.workers, task.worker_kind);
        terminal::prime(&mut *task.session, &self.settings, place)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        terminal::run(task, &self.settings)
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        verify::verify(&self.settings, target, ended)
    }

    fn derive_metrics(&self, measurement: &Measurement) -> JobResults {
        figures::derive_metrics(&self.settings, measurement)
    }
}
