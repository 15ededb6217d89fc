//! The outcome of a transaction.

/// The outcome of a new-order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewOrderOutcome {
    /// It was committed.
    Committed {
        /// O_ID.
        order: u32,
        /// The total amount, cents, rounded down.
        total: i64,
    },
    /// An item was not there, and it was rolled back (clause 2.4.2.3).
    RolledBack,
}
