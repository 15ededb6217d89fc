//! The settings.

use super::error::TpccError;
use super::input::RemoteShares;
use super::rows::Table;
use super::scale::{Cardinality, Scale};
use super::store::TableStore;
use trueput_engine::{ParameterValues, choices, parameters};
use trueput_record::Conditions;

/// Transactions of all workers where neither they nor a duration are given.
const DEFAULT_TRANSACTIONS: u64 = 10_000;

parameters! {
    /// The settings as a plan gives them.
    pub(super) struct GivenSettings {
        /// Number of warehouses, the scale factor. Each has 10 districts.
        warehouses: Integer<u32> = 1 in 1..=100_000, unit "warehouses",
        /// Transactions of all workers together, whatever the time they take; 0: until the duration
        /// ends.
        transactions: Integer = 0 in 0.., unit "transactions",
        /// How tables are stored. kv: as keys and values. sql: in SQL tables. auto: sql if the
        /// engine supports it, else kv. procedures: sql, with each transaction as a server function
        /// that one round trip calls (PostgreSQL).
        store: Choice<TableStore> = Auto,
        /// Whether terminals wait as users do. tpc: with the keying and think times of clauses
        /// 5.2.5.2 and 5.2.5.4, and 10 workers per warehouse. none: each transaction follows the
        /// last one at once.
        pacing: Choice<PacingMode> = None,
            cost "none: the load per warehouse exceeds the specification's; the rate is not tpmC",
        /// Part of the specification's items, stock, customers and orders to load.
        cardinality: Choice<Cardinality> = Full,
            cost "tenth, hundredth: the working set is smaller than the specification's, and more \
                transactions conflict",
        /// Percentage of order lines that another warehouse supplies (clause 2.4.1.5).
        remote_lines: Fraction = 1.0 in 0.0..=100.0, unit "percent",
        /// Percentage of payments by customers of another warehouse (clause 2.5.1.2).
        remote_payments: Fraction = 15.0 in 0.0..=100.0, unit "percent",
        /// Maximum pause before a worker retries a transaction after a conflict. The pause is
        /// random; its maximum doubles after each further conflict, up to 100 ms. 0: retry at once.
        retry_pause: Integer = 0 in 0..=100_000, unit "us",
            cost "more than 0: the worker does nothing while it waits, and conflicting \
                transactions take longer",
        /// Tables that the workers read before the measurement, so that they are in the cache.
        prime: Choice<Prime> = None,
            cost "a system that has just started does not have them in the cache",
    }
}

choices! {
    /// Whether terminals wait as users do.
    pub(super) enum PacingMode {
        None = "none",
        Tpc = "tpc",
    }
}

choices! {
    /// The tables that the workers read before the measurement.
    pub(super) enum Prime {
        None = "none",
        Customer = "customer",
        Stock = "stock",
        CustomerAndStock = "customer+stock",
        All = "all",
    }
}

/// The settings of a trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) scale: Scale,
    pub(super) cardinality: Cardinality,
    pub(super) store: TableStore,
    /// Whether terminals wait for their users.
    pub(super) is_paced: bool,
    pub(super) remote: RemoteShares,
    pub(super) prime: &'static [Table],
    /// The longest pause after a transaction's first conflict, microseconds.
    pub(super) retry_pause_us: u64,
    /// Transactions of all workers; `None`: until the time is up.
    pub(super) transactions: Option<u64>,
}

impl Settings {
    pub(super) fn of(given: &ParameterValues, conditions: &Conditions) -> Result<Self, TpccError> {
        let given = GivenSettings::from(given);
        let is_paced = given.pacing == PacingMode::Tpc;
        if is_paced && conditions.rate.is_some() {
            return Err(TpccError::PacedAtRate);
        }
        let transactions = match (given.transactions, conditions.duration_s) {
            (0, Some(_)) => None,
            (0, None) => Some(DEFAULT_TRANSACTIONS),
            (count, _) => Some(count),
        };
        Ok(Self {
            scale: Scale::new(given.warehouses, given.cardinality),
            cardinality: given.cardinality,
            store: given.store,
            is_paced,
            remote: RemoteShares {
                lines_percent: given.remote_lines,
                payments_percent: given.remote_payments,
            },
            retry_pause_us: given.retry_pause,
            prime: match given.prime {
                Prime::None => &[],
                Prime::Customer => &[Table::Customer],
                Prime::Stock => &[Table::Stock],
                Prime::CustomerAndStock => &[Table::Customer, Table::Stock],
                Prime::All => &Table::ALL,
            },
            transactions,
        })
    }

    /// A worker's share of the transactions; `None`: until the time is up.
    pub(super) fn share(&self, worker: u32, workers: u32) -> Option<u64> {
        let (worker, workers) = (u64::from(worker), u64::from(workers));
        let all = self.transactions?;
        Some(all / workers + u64::from(worker < all % workers))
    }
}
