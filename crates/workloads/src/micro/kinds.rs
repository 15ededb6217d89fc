//! The kinds of operation: a job names only those that its test does.

use crate::keyed::kinds::{KindCatalog, KindSet, SubsetNames, subset_names};

/// A kind of operation. The first one that a test does is what its contenders are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A look-up by key, or a record of a whole pass.
    Read,
    /// A look-up and the records after it.
    Seek,
    /// A new record.
    Insert,
    /// A record written anew.
    Update,
    /// A record taken out.
    Delete,
    /// A short scan of a mix.
    Scan,
    /// A record that a scanner beside the readers passed.
    Next,
    /// The end of a transaction of several records.
    Commit,
}

const NAMES: [&str; COUNT] = [
    "read", "seek", "insert", "update", "delete", "scan", "next", "commit",
];
const COUNT: usize = 8;

/// Some of the kinds, always in the order of [`Kind`].
pub(super) type Kinds = KindSet<Kind>;

static SUBSETS: SubsetNames<COUNT, { 1 << COUNT }> = subset_names(NAMES);

impl KindCatalog for Kind {
    type Kind = Self;
    const ALL: &'static [Self] = &[
        Self::Read,
        Self::Seek,
        Self::Insert,
        Self::Update,
        Self::Delete,
        Self::Scan,
        Self::Next,
        Self::Commit,
    ];

    #[inline]
    fn place(kind: Self) -> usize {
        kind as usize
    }

    fn names(set: usize) -> &'static [&'static str] {
        let (names, count) = &SUBSETS[set];
        &names[..*count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_names_its_kinds_in_their_order_and_indexes_them() {
        let kinds = Kinds::only(Kind::Commit).with_if(true, Kind::Read);
        let kinds = kinds.with_if(true, Kind::Update).with_if(false, Kind::Seek);
        assert_eq!(kinds.names(), ["read", "update", "commit"]);
        for (index, kind) in kinds.each().enumerate() {
            assert_eq!(kinds.index(kind), index);
        }
        let all = Kind::ALL.iter().copied();
        let all = all.fold(Kinds::default(), |kinds, kind| kinds.with_if(true, kind));
        assert_eq!(all.names(), NAMES);
    }
}
