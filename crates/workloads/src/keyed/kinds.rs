//! Sets of the kinds of operation: a job names only those that it does.

use std::fmt;
use std::marker::PhantomData;

/// The names of each set of `N` kinds, and how many they are: a job returns a static slice.
pub(crate) type SubsetNames<const N: usize, const SETS: usize> = [([&'static str; N], usize); SETS];

/// The names of each subset of `names`, for [`KindCatalog::names`].
pub(crate) const fn subset_names<const N: usize, const SETS: usize>(
    names: [&'static str; N],
) -> SubsetNames<N, SETS> {
    assert!(SETS == 1 << N, "a set for each choice of the kinds");
    let mut all = [([""; N], 0); SETS];
    let mut set = 0;
    while set < SETS {
        let mut kind = 0;
        while kind < N {
            if set >> kind & 1 == 1 {
                all[set].0[all[set].1] = names[kind];
                all[set].1 += 1;
            }
            kind += 1;
        }
        set += 1;
    }
    all
}

/// The kinds of operation that a workload has.
pub(crate) trait KindCatalog: 'static {
    /// A kind: its place among all, or what tells it.
    type Kind: Copy;

    /// Every kind, in the order of reports.
    const ALL: &'static [Self::Kind];

    /// The place of a kind in [`KindCatalog::ALL`].
    fn place(kind: Self::Kind) -> usize;

    /// The names of the kinds whose places are the bits of `set`, in their order.
    fn names(set: usize) -> &'static [&'static str];
}

/// Some of the kinds of a catalog, always in the catalog's order.
pub(crate) struct KindSet<C> {
    places: usize,
    catalog: PhantomData<C>,
}

impl<C> Clone for KindSet<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for KindSet<C> {}

impl<C> PartialEq for KindSet<C> {
    fn eq(&self, other: &Self) -> bool {
        self.places == other.places
    }
}

impl<C> Eq for KindSet<C> {}

impl<C: KindCatalog> fmt::Debug for KindSet<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.names()).finish()
    }
}

impl<C> Default for KindSet<C> {
    fn default() -> Self {
        Self {
            places: 0,
            catalog: PhantomData,
        }
    }
}

impl<C: KindCatalog> KindSet<C> {
    /// These, and one more where `wanted`.
    pub(crate) fn with_if(mut self, wanted: bool, kind: C::Kind) -> Self {
        self.places |= usize::from(wanted) << C::place(kind);
        self
    }

    /// Only this one.
    pub(crate) fn only(kind: C::Kind) -> Self {
        Self::default().with_if(true, kind)
    }

    /// Whether a kind is one of them.
    pub(crate) fn has(self, kind: C::Kind) -> bool {
        self.places >> C::place(kind) & 1 == 1
    }

    /// Which one of them a kind is, from 0.
    #[inline]
    pub(crate) fn index(self, kind: C::Kind) -> usize {
        (self.places & ((1 << C::place(kind)) - 1)).count_ones() as usize
    }

    /// Their names.
    pub(crate) fn names(self) -> &'static [&'static str] {
        C::names(self.places)
    }

    /// Every one of them.
    pub(crate) fn each(self) -> impl Iterator<Item = C::Kind> {
        C::ALL.iter().copied().filter(move |kind| self.has(*kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Letters;

    const NAMES: [&str; 3] = ["a", "b", "c"];
    static SUBSETS: SubsetNames<3, 8> = subset_names(NAMES);

    impl KindCatalog for Letters {
        type Kind = usize;
        const ALL: &'static [usize] = &[0, 1, 2];

        fn place(kind: usize) -> usize {
            kind
        }

        fn names(set: usize) -> &'static [&'static str] {
            let (names, count) = &SUBSETS[set];
            &names[..*count]
        }
    }

    #[test]
    fn a_set_names_its_kinds_in_their_order_and_indexes_them() {
        let kinds = KindSet::<Letters>::only(2)
            .with_if(true, 0)
            .with_if(false, 1);
        assert_eq!(kinds.names(), ["a", "c"]);
        for (index, kind) in kinds.each().enumerate() {
            assert_eq!(kinds.index(kind), index);
        }
        assert_eq!(kinds.with_if(true, 1).names(), NAMES);
    }
}
