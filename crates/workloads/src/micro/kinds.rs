//! The kinds of operation: a job names only those that its test does.

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kinds(u8);

/// The names of every set of kinds, and how many they are: a job hands out a static slice.
static SUBSETS: [([&str; COUNT], usize); 1 << COUNT] = subsets();

const fn subsets() -> [([&'static str; COUNT], usize); 1 << COUNT] {
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

impl Kinds {
    /// These, and one more where `wanted`.
    pub(super) fn with_if(self, wanted: bool, kind: Kind) -> Self {
        Self(self.0 | (u8::from(wanted) << kind as u8))
    }

    /// Only this one.
    pub(super) fn only(kind: Kind) -> Self {
        Self::default().with_if(true, kind)
    }

    /// Whether a kind is one of them.
    pub(super) fn has(self, kind: Kind) -> bool {
        self.0 >> kind as u8 & 1 == 1
    }

    /// Which one of them a kind is, from 0.
    pub(super) fn index(self, kind: Kind) -> usize {
        (self.0 & ((1 << kind as u8) - 1)).count_ones() as usize
    }

    /// Their names.
    pub(super) fn names(self) -> &'static [&'static str] {
        let (names, count) = &SUBSETS[usize::from(self.0)];
        &names[..*count]
    }

    /// Every one of them.
    pub(super) fn each(self) -> impl Iterator<Item = Kind> {
        const ALL: [Kind; COUNT] = [
            Kind::Read,
            Kind::Seek,
            Kind::Insert,
            Kind::Update,
            Kind::Delete,
            Kind::Scan,
            Kind::Next,
            Kind::Commit,
        ];
        ALL.into_iter().filter(move |kind| self.has(*kind))
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
        assert_eq!(Kinds(u8::MAX).names(), NAMES);
    }
}
