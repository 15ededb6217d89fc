//! Sets of operation kinds: a job names only the kinds that it does.

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

/// The operation kinds of a workload; [`operation_kinds`] declares them.
pub(crate) trait KindCatalog: Copy + 'static {
    /// Every kind, in the order of reports.
    const ALL: &'static [Self];

    /// The place of the kind in [`KindCatalog::ALL`].
    fn place(self) -> usize;

    /// The names of the kinds whose places are the bits of `set`, in their order.
    fn names(set: usize) -> &'static [&'static str];
}

/// Declares a workload's kinds of operation, in the order of reports, with their names there.
macro_rules! operation_kinds {
    ($(#[$about:meta])* enum $kind:ident {
        $($(#[$variant_about:meta])* $variant:ident = $name:literal,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $kind {
            $($(#[$variant_about])* $variant,)+
        }

        impl $crate::keyed::kinds::KindCatalog for $kind {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            #[inline]
            fn place(self) -> usize {
                self as usize
            }

            fn names(set: usize) -> &'static [&'static str] {
                use $crate::keyed::kinds::{SubsetNames, subset_names};
                const COUNT: usize = $kind::ALL.len();
                static SUBSETS: SubsetNames<COUNT, { 1 << COUNT }> = subset_names([$($name),+]);
                let (names, count) = &SUBSETS[set];
                &names[..*count]
            }
        }
    };
}
pub(crate) use operation_kinds;

/// A subset of a workload's kinds, always in the order of reports.
pub(crate) struct KindSet<K> {
    places: usize,
    kinds: PhantomData<K>,
}

impl<K> Clone for KindSet<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for KindSet<K> {}

impl<K> PartialEq for KindSet<K> {
    fn eq(&self, other: &Self) -> bool {
        self.places == other.places
    }
}

impl<K> Eq for KindSet<K> {}

impl<K: KindCatalog> fmt::Debug for KindSet<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.names()).finish()
    }
}

impl<K> Default for KindSet<K> {
    fn default() -> Self {
        Self {
            places: 0,
            kinds: PhantomData,
        }
    }
}

impl<K: KindCatalog> KindSet<K> {
    /// Returns the set with `kind` added if `wanted`.
    pub(crate) fn insert_if(mut self, wanted: bool, kind: K) -> Self {
        self.places |= usize::from(wanted) << kind.place();
        self
    }

    /// The set of only this kind.
    pub(crate) fn only(kind: K) -> Self {
        Self::default().insert_if(true, kind)
    }

    /// Whether the set contains a kind.
    pub(crate) fn has(self, kind: K) -> bool {
        self.places >> kind.place() & 1 == 1
    }

    /// The position of a kind within the set, from 0.
    #[inline]
    pub(crate) fn index(self, kind: K) -> usize {
        (self.places & ((1 << kind.place()) - 1)).count_ones() as usize
    }

    /// The names of the kinds in the set.
    pub(crate) fn names(self) -> &'static [&'static str] {
        K::names(self.places)
    }

    /// Every one of them.
    pub(crate) fn iter(self) -> impl Iterator<Item = K> {
        K::ALL.iter().copied().filter(move |kind| self.has(*kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    operation_kinds! {
        /// The first letters.
        enum Letter {
            A = "a",
            B = "b",
            C = "c",
        }
    }

    #[test]
    fn a_set_names_its_kinds_in_their_order_and_indexes_them() {
        let kinds = KindSet::only(Letter::C)
            .insert_if(true, Letter::A)
            .insert_if(false, Letter::B);
        assert_eq!(kinds.names(), ["a", "c"]);
        for (index, kind) in kinds.iter().enumerate() {
            assert_eq!(kinds.index(kind), index);
        }
        assert_eq!(kinds.insert_if(true, Letter::B).names(), ["a", "b", "c"]);
    }
}
