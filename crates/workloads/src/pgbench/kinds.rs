//! The built-in scripts of pgbench: each is a kind of operation.

use crate::keyed::kinds::{KindSet, operation_kinds};

operation_kinds! {
    /// A built-in script. The first one that a mix has determines the ranking of contenders.
    enum Script {
        /// An account, a teller and a branch get a delta, and history gets a row.
        TpcbLike = "tpcb-like",
        /// An account gets a delta, and history gets a row.
        SimpleUpdate = "simple-update",
        /// An account's balance is read.
        SelectOnly = "select-only",
    }
}

impl Script {
    /// Its name, as pgbench writes it.
    pub(super) fn name(self) -> &'static str {
        Scripts::only(self).names()[0]
    }

    /// Whether it changes balances and inserts into history.
    pub(super) fn writes(self) -> bool {
        self != Self::SelectOnly
    }
}

/// A set of scripts.
pub(super) type Scripts = KindSet<Script>;
