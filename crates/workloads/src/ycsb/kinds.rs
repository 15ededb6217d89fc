//! The kinds of operation. A job names only those that its mix has.

use crate::keyed::kinds::{KindCatalog, KindSet, operation_kinds};

/// How many there are.
pub(super) const COUNT: usize = Kind::ALL.len();

operation_kinds! {
    /// A kind of operation. The first one that a mix has is what its contenders are ranked by.
    enum Kind {
        /// A look-up by key.
        Read = "read",
        /// Records in the order of their keys, from one on.
        Scan = "scan",
        /// A record read and written anew.
        Update = "update",
        /// A record read, and then updated.
        ReadModifyWrite = "read-modify-write",
        /// A new record.
        Insert = "insert",
    }
}

/// The settings that give the kinds their shares.
pub(super) const PROPORTIONS: [&str; COUNT] = [
    "readproportion",
    "scanproportion",
    "updateproportion",
    "readmodifywriteproportion",
    "insertproportion",
];

/// Some of the kinds.
pub(super) type Kinds = KindSet<Kind>;

/// The kinds that have a share.
pub(super) fn with_share(proportions: &[f64; COUNT]) -> Kinds {
    let shares = Kind::ALL.iter().zip(proportions);
    shares.fold(Kinds::default(), |kinds, (&kind, &share)| {
        kinds.with_if(share > 0.0, kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_names_the_kinds_that_have_a_share() {
        let kinds = with_share(&[0.5, 0.0, 0.0, 0.5, 0.0]);
        assert_eq!(kinds.names(), ["read", "read-modify-write"]);
        for (index, kind) in kinds.each().enumerate() {
            assert_eq!(kinds.index(kind), index);
        }
        let all = ["read", "scan", "update", "read-modify-write", "insert"];
        assert_eq!(with_share(&[0.2; COUNT]).names(), all);
    }
}
