//! The kinds of operation. A job names only those that its mix has.

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

/// The names of every set of kinds, and how many they are: a job hands out a static slice.
static SETS: [([&str; COUNT], usize); 1 << COUNT] = sets();

const fn sets() -> [([&'static str; COUNT], usize); 1 << COUNT] {
    let mut all = [([""; COUNT], 0); 1 << COUNT];
    let mut set = 0;
    while set < all.len() {
        let mut kind = 0;
        while kind < COUNT {
            if set >> kind & 1 == 1 {
                all[set].0[all[set].1] = NAMES[kind];
                all[set].1 += 1;
            }
            kind += 1;
        }
        set += 1;
    }
    all
}

/// Some of the kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(usize);

impl Kinds {
    /// Those that have a share.
    pub(super) fn of(proportions: &[f64; COUNT]) -> Self {
        let shares = proportions.iter().enumerate();
        Self(shares.fold(0, |set, (kind, &share)| {
            set | usize::from(share > 0.0) << kind
        }))
    }

    /// Which one of them a kind is, from 0.
    pub(super) fn index(self, kind: usize) -> usize {
        (self.0 & ((1 << kind) - 1)).count_ones() as usize
    }

    /// Their names.
    pub(super) fn names(self) -> &'static [&'static str] {
        let (names, count) = &SETS[self.0];
        &names[..*count]
    }

    /// Every one of them.
    pub(super) fn each(self) -> impl Iterator<Item = usize> {
        (0..COUNT).filter(move |kind| self.0 >> kind & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_names_the_kinds_that_have_a_share() {
        let kinds = Kinds::of(&[0.5, 0.0, 0.0, 0.5, 0.0]);
        assert_eq!(kinds.names(), ["read", "read-modify-write"]);
        for (index, kind) in kinds.each().enumerate() {
            assert_eq!(kinds.index(kind), index);
        }
        assert_eq!(Kinds::of(&[0.2; COUNT]).names(), NAMES);
    }
}
