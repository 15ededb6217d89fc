//! The settings.

use super::input::Remote;
use super::rows::Table;
use super::scale::{Cardinality, Scale};
use super::store::Store;
use trueput_engine::{Kind, Parameter, ParameterValues};
use trueput_record::Conditions;

/// Transactions of all workers where neither they nor a duration are given.
const USUAL_TRANSACTIONS: u64 = 10_000;

const fn choice(default: &'static str, choices: &'static [&'static str]) -> Kind {
    Kind::Choice { default, choices }
}

const fn percent(default: f64) -> Kind {
    Kind::Fraction {
        default: Some(default),
        min: 0.0,
        max: 100.0,
    }
}

/// Every setting.
pub(super) const SETTINGS: &[Parameter] = &[
    Parameter {
        name: "warehouses",
        summary: "Number of warehouses, the scale factor. Each has 10 districts.",
        cost: "",
        kind: Kind::Integer {
            default: 1,
            min: 1,
            max: 100_000,
        },
        unit: "warehouses",
    },
    Parameter {
        name: "transactions",
        summary: "Transactions of all workers together; 0: until the duration ends, or 10000 if \
                  there is no duration.",
        cost: "",
        kind: Kind::Integer {
            default: 0,
            min: 0,
            max: i64::MAX,
        },
        unit: "transactions",
    },
    Parameter {
        name: "store",
        summary: "How tables are stored. kv: as keys and values. sql: in SQL tables. auto: sql if \
                  the engine supports it, else kv. procedures: sql, with each transaction as a \
                  server function that one round trip calls (PostgreSQL).",
        cost: "",
        kind: choice("auto", &["auto", "kv", "sql", "procedures"]),
        unit: "",
    },
    Parameter {
        name: "pacing",
        summary: "Whether terminals wait as users do. tpc: with the keying and think times of \
                  clauses 5.2.5.2 and 5.2.5.4, and 10 workers per warehouse. none: each \
                  transaction follows the last one at once.",
        cost: "none: the load per warehouse exceeds the specification's; the rate is not tpmC",
        kind: choice("none", &["none", "tpc"]),
        unit: "",
    },
    Parameter {
        name: "cardinality",
        summary: "Part of the specification's items, stock, customers and orders to load.",
        cost: "tenth, hundredth: the working set is smaller than the specification's, and more \
                   transactions conflict",
        kind: choice("full", &["full", "tenth", "hundredth"]),
        unit: "",
    },
    Parameter {
        name: "remote_lines",
        summary: "Percentage of order lines that another warehouse supplies (clause 2.4.1.5).",
        cost: "",
        kind: percent(1.0),
        unit: "percent",
    },
    Parameter {
        name: "remote_payments",
        summary: "Percentage of payments by customers of another warehouse (clause 2.5.1.2).",
        cost: "",
        kind: percent(15.0),
        unit: "percent",
    },
    Parameter {
        name: "retry_pause",
        summary: "Maximum pause before a worker retries a transaction after a conflict. The pause \
                  is random; its maximum doubles after each further conflict, up to 100 ms. 0: \
                  retry at once.",
        cost: "more than 0: the worker does nothing while it waits, and conflicting \
                   transactions take longer",
        kind: Kind::Integer {
            default: 0,
            min: 0,
            max: 100_000,
        },
        unit: "us",
    },
    Parameter {
        name: "prime",
        summary: "Tables that the workers read before the measurement, so that they are in the \
                  cache.",
        cost: "a system that has just started does not have them in the cache",
        kind: choice(
            "none",
            &["none", "customer", "stock", "customer+stock", "all"],
        ),
        unit: "",
    },
];

/// The settings of a trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) scale: Scale,
    pub(super) cardinality: Cardinality,
    pub(super) store: Store,
    /// Whether terminals wait for their users.
    pub(super) is_paced: bool,
    pub(super) remote: Remote,
    pub(super) prime: &'static [Table],
    /// The longest pause after a transaction's first conflict, microseconds.
    pub(super) retry_pause_us: u64,
    /// Transactions of all workers; `None`: until the time is up.
    pub(super) transactions: Option<u64>,
}

impl Settings {
    pub(super) fn of(resolved: &ParameterValues, conditions: &Conditions) -> Result<Self, String> {
        let unknown = |name: &str| format!("unknown {name} '{}'", resolved.text(name));
        let cardinality = Cardinality::named(resolved.text("cardinality"))
            .ok_or_else(|| unknown("cardinality"))?;
        let is_paced = resolved.text("pacing") == "tpc";
        if is_paced && conditions.rate.is_some() {
            return Err(
                "pacing tpc lets the terminals' users decide when transactions come: leave the \
                 rate out, or give pacing none"
                    .to_owned(),
            );
        }
        let percent = |name| resolved.fraction(name).unwrap_or_default();
        let transactions = match (resolved.unsigned("transactions"), conditions.duration_s) {
            (0, Some(_)) => None,
            (0, None) => Some(USUAL_TRANSACTIONS),
            (given, _) => Some(given),
        };
        Ok(Self {
            scale: Scale::new(resolved.unsigned("warehouses") as u32, cardinality),
            cardinality,
            store: Store::named(resolved.text("store")).ok_or_else(|| unknown("store"))?,
            is_paced,
            remote: Remote {
                lines_percent: percent("remote_lines"),
                payments_percent: percent("remote_payments"),
            },
            retry_pause_us: resolved.unsigned("retry_pause"),
            prime: match resolved.text("prime") {
                "customer" => &[Table::Customer],
                "stock" => &[Table::Stock],
                "customer+stock" => &[Table::Customer, Table::Stock],
                "all" => &Table::ALL,
                _ => &[],
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
