//! The settings of `history`.

use trueput_engine::{choices, parameters};

parameters! {
    /// Every setting.
    pub(super) struct Settings {
        /// What the values are: lists to which transactions append, or registers that they
        /// overwrite.
        model: Choice<ModelName> = ListAppend,
        /// Transactions of all workers together; 0: until the duration ends, or 20,000 if there is
        /// no duration.
        transactions: Integer = 0 in 0..,
        /// Keys that are in use at a time.
        keys: Integer<u32> = 8 in 1..=10_000, unit "keys",
        /// Writes of a key until a new one takes its place.
        key_writes: Integer<u32> = 32 in 1..=10_000, unit "writes",
        /// Most operations of a transaction. Each has one operation or more, all numbers equally
        /// often.
        operations: Integer<u32> = 6 in 1..=100, unit "operations",
        /// Percentage of operations that write.
        write_percent: Integer = 50 in 0..=100, unit "%",
        /// The order in which a transaction that writes accesses its keys. In any order, engines
        /// that lock keys have deadlocks, and some take a second to find one.
        order: Choice<OrderName> = Ascending,
        /// Percentage of reads that scan a range of one key instead of getting it.
        scan_percent: Integer = 30 in 0..=100, unit "%",
        /// Transactions of all workers that are recorded, attempts included. Those beyond use other
        /// keys and are not checked.
        recorded: Integer = 100_000 in 1..=10_000_000, unit "transactions",
    }
}

choices! {
    /// The orders by name.
    pub(super) enum OrderName {
        Ascending = "ascending",
        Random = "random",
    }
}

choices! {
    /// The kinds of values by name.
    pub(super) enum ModelName {
        ListAppend = "list-append",
        Register = "register",
    }
}
