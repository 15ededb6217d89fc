//! The settings.

use super::kv::HISTORY_RECORD_BYTES;
use super::scale::Scale;
use super::script_mix::ScriptMix;
use crate::generate::distribution::share_size;
use crate::keyed::capacity::expected_operations;
use crate::sql::store::TableStore;
use trueput_engine::{ParameterValues, parameters};
use trueput_record::Conditions;

/// Transactions of all workers where neither they nor a duration are given.
const DEFAULT_TRANSACTIONS: u64 = 10_000;

parameters! {
    /// The settings as a plan gives them.
    pub(super) struct GivenSettings {
        /// Number of branches, pgbench's scale factor. Each has 10 tellers.
        scale: Integer<u32> = 1 in 1..=20_000, unit "branches",
        /// Built-in scripts and their weights: tpcb-like, simple-update, select-only.
        script: Text<ScriptMix> = "tpcb-like" by ScriptMix::parse as
            "script[@weight], with spaces between",
        /// Transactions of all workers together, whatever the time they take; 0: until the duration
        /// ends.
        transactions: Integer = 0 in 0.., unit "transactions",
        /// How tables are stored. kv: as keys and values. sql: in SQL tables. auto: sql if the
        /// engine supports it, else kv.
        store: Choice<TableStore> = Auto,
        /// Accounts of a branch.
        accounts: Integer<u32> = 100_000 in 1..=100_000, unit "accounts",
            cost "fewer: the working set is smaller than pgbench's, and more transactions conflict",
        /// Maximum pause before a worker retries a transaction after a conflict. The pause is
        /// random; its maximum doubles after each further conflict, up to 100 ms. 0: retry at once.
        retry_pause: Integer = 0 in 0..=100_000, unit "us",
            cost "more than 0: the worker does nothing while it waits, and conflicting \
                transactions take longer",
    }
}

/// The settings of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) scale: Scale,
    pub(super) mix: ScriptMix,
    pub(super) store: TableStore,
    /// The longest pause after a transaction's first conflict, microseconds.
    pub(super) retry_pause_us: u64,
    /// Transactions of all workers; `None`: until the time is up.
    pub(super) transactions: Option<u64>,
    /// Transactions that sizes are estimated for; 0 if none are known.
    pub(super) expected_transactions: u64,
    /// Whether transactions are done that will not be counted.
    pub(super) warms_up: bool,
}

impl Settings {
    /// Of settings, for a trial that ends by a duration or not.
    pub(super) fn new(given: &ParameterValues, conditions: &Conditions) -> Self {
        let given = GivenSettings::from(given);
        let transactions = match (given.transactions, conditions.duration_s) {
            (0, Some(_)) => None,
            (0, None) => Some(DEFAULT_TRANSACTIONS),
            (count, _) => Some(count),
        };
        let inserted_bytes = HISTORY_RECORD_BYTES as f64;
        Self {
            scale: Scale {
                branches: given.scale,
                branch_accounts: given.accounts,
            },
            mix: given.script,
            store: given.store,
            retry_pause_us: given.retry_pause,
            transactions,
            expected_transactions: expected_operations(transactions, inserted_bytes, conditions),
            warms_up: conditions.warm_up_s > 0.0,
        }
    }

    /// The transactions that end one worker's part; `None` if time does.
    pub(super) fn quota(&self, worker: u32, workers: u32) -> Option<u64> {
        Some(share_size(self.transactions?, worker, workers))
    }
}
