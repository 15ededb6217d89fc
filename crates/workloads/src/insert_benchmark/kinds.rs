//! The operation kinds: a step names only the kinds that it does.

use crate::keyed::kinds::{KindSet, operation_kinds};

/// A set of kinds, always in the order of [`Kind`].
pub(super) type Kinds = KindSet<Kind>;

operation_kinds! {
    /// A kind of operation. The first kind of a step ranks its contenders.
    enum Kind {
        /// Up to ten entries of an index, from a value on.
        RangeQuery = "range-query",
        /// Ten rows by their ids.
        PointQuery = "point-query",
        /// The creation of an index.
        Index = "index",
        /// A transaction that inserts rows.
        Insert = "insert",
        /// A transaction that deletes the oldest rows.
        Delete = "delete",
        /// The search for the oldest row.
        GetMin = "get-min",
        /// The search for the newest row.
        GetMax = "get-max",
    }
}

impl Kind {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        Kinds::only(self).names()[0]
    }
}
