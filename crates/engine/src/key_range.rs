//! The keys that a scan covers.

use std::ops::Bound;

/// The keys that a scan covers, in unsigned byte order.
#[derive(Debug, Clone, Copy)]
pub struct KeyRange<'a> {
    /// The low end.
    pub lower: Bound<&'a [u8]>,
    /// The high end.
    pub upper: Bound<&'a [u8]>,
}

impl<'a> KeyRange<'a> {
    /// All keys.
    pub const ALL: KeyRange<'static> = KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };

    /// Creates the range from `lower` on, inclusive.
    #[must_use]
    pub fn from(lower: &'a [u8]) -> Self {
        Self {
            lower: Bound::Included(lower),
            upper: Bound::Unbounded,
        }
    }

    /// Creates the range from `lower`, inclusive, to `upper`, exclusive.
    #[must_use]
    pub fn between(lower: &'a [u8], upper: &'a [u8]) -> Self {
        Self {
            lower: Bound::Included(lower),
            upper: Bound::Excluded(upper),
        }
    }

    /// Returns whether the ends are reversed or meet without including a key, so that the range
    /// contains no key and a driver need not query its engine (several refuse or panic on such
    /// bounds).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match (self.lower, self.upper) {
            (Bound::Included(low), Bound::Included(high)) => low > high,
            (Bound::Unbounded, Bound::Excluded(high)) => high.is_empty(),
            (
                Bound::Included(low) | Bound::Excluded(low),
                Bound::Excluded(high) | Bound::Included(high),
            ) => low >= high,
            _ => false,
        }
    }

    /// Returns whether `key` is at or above the low end.
    #[must_use]
    pub fn admits_from_below(&self, key: &[u8]) -> bool {
        match self.lower {
            Bound::Included(low) => key >= low,
            Bound::Excluded(low) => key > low,
            Bound::Unbounded => true,
        }
    }

    /// Returns whether `key` is at or below the high end.
    #[must_use]
    pub fn admits_from_above(&self, key: &[u8]) -> bool {
        match self.upper {
            Bound::Included(high) => key <= high,
            Bound::Excluded(high) => key < high,
            Bound::Unbounded => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn end() -> impl Strategy<Value = Bound<Vec<u8>>> {
        let key = || proptest::collection::vec(0_u8..3, 0..3);
        prop_oneof![
            Just(Bound::Unbounded),
            key().prop_map(Bound::Included),
            key().prop_map(Bound::Excluded),
        ]
    }

    fn admits(range: KeyRange<'_>, key: &[u8]) -> bool {
        range.admits_from_below(key) && range.admits_from_above(key)
    }

    #[test]
    fn reversed_ends_and_ends_that_meet_at_an_excluded_key_leave_no_key() {
        use Bound::{Excluded, Included, Unbounded};
        let is_empty = |lower, upper| KeyRange { lower, upper }.is_empty();
        let (a, b, empty) = (b"a".as_slice(), b"b".as_slice(), b"".as_slice());
        assert!(is_empty(Included(b), Included(a)));
        assert!(is_empty(Excluded(b), Excluded(a)));
        assert!(is_empty(Included(a), Excluded(a)));
        assert!(is_empty(Excluded(a), Included(a)));
        assert!(is_empty(Unbounded, Excluded(empty)));
        assert!(!is_empty(Included(a), Included(a)));
        assert!(!is_empty(Included(a), Excluded(b)));
        assert!(!is_empty(Unbounded, Included(empty)));
        assert!(!is_empty(Excluded(b), Unbounded));
        assert!(!KeyRange::ALL.is_empty());
        assert!(!KeyRange::from(b).is_empty());
        assert!(KeyRange::between(b, a).is_empty());
    }

    proptest! {
        #[test]
        fn an_empty_range_admits_no_key(
            lower in end(),
            upper in end(),
            key in proptest::collection::vec(0_u8..3, 0..4),
        ) {
            let range = KeyRange {
                lower: lower.as_ref().map(Vec::as_slice),
                upper: upper.as_ref().map(Vec::as_slice),
            };
            prop_assert!(!(range.is_empty() && admits(range, &key)));
        }
    }
}
