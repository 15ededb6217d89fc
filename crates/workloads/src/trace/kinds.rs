//! The kinds by which the requests of a trace are counted.

use crate::keyed::action::Action;
use crate::keyed::kinds::{KindSet, operation_kinds};

/// A set of kinds, always in the order of [`Kind`].
pub(super) type Kinds = KindSet<Kind>;

operation_kinds! {
    /// A kind of request.
    enum Kind {
        /// A look-up.
        Get = "get",
        /// A record stored without reading it.
        Put = "put",
        /// A record read and stored, in one transaction.
        Update = "update",
        /// A record read, then read and stored.
        ReadModifyWrite = "read-modify-write",
        /// A new record.
        Insert = "insert",
        /// A record taken out.
        Delete = "delete",
        /// A record and those after it.
        Scan = "scan",
        /// Several operations that are committed together.
        Transaction = "transaction",
        /// Several reads in one transaction.
        ReadTransaction = "read-transaction",
    }
}

impl Kind {
    /// The kind of a request of one action.
    pub(super) fn of(action: Action) -> Self {
        match action {
            Action::Get => Self::Get,
            Action::Put => Self::Put,
            Action::Update => Self::Update,
            Action::ReadModifyWrite => Self::ReadModifyWrite,
            Action::Insert => Self::Insert,
            Action::Delete => Self::Delete,
            Action::Scan => Self::Scan,
        }
    }

    /// Whether a request of this kind commits a write.
    pub(super) fn writes(self) -> bool {
        !matches!(self, Self::Get | Self::Scan | Self::ReadTransaction)
    }
}
