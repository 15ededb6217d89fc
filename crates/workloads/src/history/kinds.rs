//! The operation kinds.

use crate::keyed::kinds::operation_kinds;

operation_kinds! {
    /// A kind of transaction. The first one ranks contenders.
    enum Kind {
        /// A transaction that wrote.
        Update = "update",
        /// A transaction that only read.
        Read = "read",
    }
}
