//! The operation kinds. A job names only the kinds in its mix.

use crate::keyed::kinds::{KindCatalog, KindSet, operation_kinds};

/// The number of kinds.
pub(super) const COUNT: usize = Kind::ALL.len();

operation_kinds! {
    /// A kind of operation. The first one that a mix has determines the ranking of contenders.
    enum Kind {
        /// A record looked up by key.
        Read = "read",
        /// Consecutive records in key order, from a chosen one.
        Scan = "scan",
        /// A record read and put with its next version, in one transaction. It reads, unlike
        /// YCSB's, because a version counts a record's updates, which verification compares.
        Update = "update",
        /// A record read as a client reads it, then updated as by `Update`: two reads and a put,
        /// in one transaction.
        ReadModifyWrite = "read-modify-write",
        /// A new record.
        Insert = "insert",
    }
}

/// The settings that give the kinds their shares, in the order of [`Kind`]; a test checks it.
pub(super) const PROPORTIONS: [&str; COUNT] = [
    "readproportion",
    "scanproportion",
    "updateproportion",
    "readmodifywriteproportion",
    "insertproportion",
];

/// A set of kinds.
pub(super) type Kinds = KindSet<Kind>;

/// The kinds that have a share.
pub(super) fn with_share(proportions: &[f64; COUNT]) -> Kinds {
    let shares = Kind::ALL.iter().zip(proportions);
    shares.fold(Kinds::default(), |kinds, (&kind, &share)| {
        kinds.insert_if(share > 0.0, kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proportions_are_in_the_order_of_the_kinds() {
        for (kind, setting) in Kind::ALL.iter().zip(PROPORTIONS) {
            let name = Kinds::only(*kind).names()[0].replace('-', "");
            let expected = format!("{name}proportion");
            assert_eq!(setting, expected);
        }
    }

    #[test]
    fn a_mix_names_the_kinds_that_have_a_share() {
        let kinds = with_share(&[0.5, 0.0, 0.0, 0.5, 0.0]);
        assert_eq!(kinds.names(), ["read", "read-modify-write"]);
        for (index, kind) in kinds.iter().enumerate() {
            assert_eq!(kinds.index(kind), index);
        }
        let all = ["read", "scan", "update", "read-modify-write", "insert"];
        assert_eq!(with_share(&[0.2; COUNT]).names(), all);
    }
}
