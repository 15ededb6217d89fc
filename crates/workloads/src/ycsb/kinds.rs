//! The kinds of operation. A job names only those that its mix has.

use crate::keyed::kinds::{KindCatalog, KindSet, SubsetNames, subset_names};

/// How many there are.
pub(super) const COUNT: usize = 5;
pub(super) const READ: usize = 0;
pub(super) const SCAN: usize = 1;
pub(super) const UPDATE: usize = 2;
pub(super) const READ_MODIFY_WRITE: usize = 3;
pub(super) const INSERT: usize = 4;

/// The first one that a mix has is what its contenders are ranked by.
const NAMES: [&str; COUNT] = ["read", "scan", "update", "read-modify-write", "insert"];

/// The settings that give the kinds their shares.
pub(super) const PROPORTIONS: [&str; COUNT] = [
    "readproportion",
    "scanproportion",
    "updateproportion",
    "readmodifywriteproportion",
    "insertproportion",
];

static SUBSETS: SubsetNames<COUNT, { 1 << COUNT }> = subset_names(NAMES);

/// The kinds of this workload, told by their numbers.
pub(super) struct Catalog;

/// Some of the kinds.
pub(super) type Kinds = KindSet<Catalog>;

impl KindCatalog for Catalog {
    type Kind = usize;
    const ALL: &'static [usize] = &[READ, SCAN, UPDATE, READ_MODIFY_WRITE, INSERT];

    #[inline]
    fn place(kind: usize) -> usize {
        kind
    }

    fn names(set: usize) -> &'static [&'static str] {
        let (names, count) = &SUBSETS[set];
        &names[..*count]
    }
}

/// The kinds that have a share.
pub(super) fn with_share(proportions: &[f64; COUNT]) -> Kinds {
    let shares = proportions.iter().enumerate();
    shares.fold(Kinds::default(), |kinds, (kind, &share)| {
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
        assert_eq!(with_share(&[0.2; COUNT]).names(), NAMES);
    }
}
