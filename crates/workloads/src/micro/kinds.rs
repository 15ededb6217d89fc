//! The operation kinds: a job names only the kinds that its test does.

use crate::keyed::kinds::{KindSet, operation_kinds};

/// A set of kinds, always in the order of [`Kind`].
pub(super) type Kinds = KindSet<Kind>;

operation_kinds! {
    /// A kind of operation. The first kind of a test ranks its contenders.
    enum Kind {
        /// A look-up by key, or a record of a whole pass.
        Read = "read",
        /// A look-up and the records after it.
        Seek = "seek",
        /// A look-up of several keys.
        ReadBatch = "read-batch",
        /// A new record.
        Insert = "insert",
        /// A conditional put of a record that was there.
        Existing = "existing",
        /// A record overwritten.
        Update = "update",
        /// A record taken out.
        Delete = "delete",
        /// A short scan of a mix.
        Scan = "scan",
        /// A record that a scanner passed while others read.
        Next = "next",
        /// The end of a transaction of several records.
        Commit = "commit",
    }
}
