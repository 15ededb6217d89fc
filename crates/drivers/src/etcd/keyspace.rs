//! The keys of one database in a store that others use too: those with a prefix.

use super::message::{Compare, Comparison, Operand, Target};
use bytes::Bytes;
use std::ops::Bound;
use trueput_engine::KeyRange;

/// The keys of one database.
#[derive(Debug, Clone)]
pub(super) struct KeySpace {
    prefix: Vec<u8>,
    /// In a user's cluster, the key that says whose the records are, with its value.
    pub mark: Option<(Bytes, Bytes)>,
}

/// The keys from the first on, up to the second, exclusive.
pub(super) type Bounds = (Bytes, Bytes);

impl KeySpace {
    /// The keys of the database of that name, which has no `/`.
    pub fn new(name: &str) -> Self {
        Self {
            prefix: format!("{name}/").into_bytes(),
            mark: None,
        }
    }

    /// The same keys, which are a database's as long as a key has that value.
    pub fn marked(mut self, key: &'static str, mark: String) -> Self {
        self.mark = Some((key.into(), mark.into()));
        self
    }

    /// The key in the store.
    pub fn key(&self, key: &[u8]) -> Bytes {
        [&self.prefix, key].concat().into()
    }

    /// The key of the database, of one in the store.
    pub fn own<'k>(&self, stored: &'k [u8]) -> &'k [u8] {
        stored.get(self.prefix.len()..).unwrap_or_default()
    }

    /// The bounds of every key.
    pub fn all(&self) -> Bounds {
        self.bounds(KeyRange::ALL)
    }

    /// The bounds of a range, which has no keys if they meet.
    pub fn bounds(&self, range: KeyRange<'_>) -> Bounds {
        let low = match range.lower {
            Bound::Included(low) => self.key(low),
            Bound::Excluded(low) => after(&self.key(low)),
            Bound::Unbounded => self.key(b""),
        };
        let high = match range.upper {
            Bound::Included(high) => after(&self.key(high)),
            Bound::Excluded(high) => self.key(high),
            Bound::Unbounded => {
                // The prefix ends with `/`, and so this is behind every key with it.
                let mut end = self.prefix.clone();
                if let Some(last) = end.last_mut() {
                    *last += 1;
                }
                end.into()
            }
        };
        (low, high)
    }

    /// The condition that the records are still those of this database.
    pub fn is_own(&self) -> Option<Compare> {
        let (key, value) = self.mark.clone()?;
        Some(Compare {
            result: Comparison::Equal.into(),
            target: Target::Value.into(),
            key,
            operand: Some(Operand::Value(value)),
            range_end: Bytes::new(),
        })
    }
}

/// The first key behind another one.
pub(super) fn after(key: &[u8]) -> Bytes {
    [key, &[0]].concat().into()
}

/// The condition that a key was changed last at that revision; 0 if it does not exist.
pub(super) fn unchanged(key: Bytes, mod_revision: i64) -> Compare {
    Compare {
        result: Comparison::Equal.into(),
        target: Target::ModRevision.into(),
        key,
        operand: Some(Operand::ModRevision(mod_revision)),
        range_end: Bytes::new(),
    }
}

/// The condition that no key in a range was stored after a revision.
pub(super) fn nothing_stored_after(revision: i64, (low, high): Bounds) -> Compare {
    Compare {
        result: Comparison::Less.into(),
        target: Target::ModRevision.into(),
        key: low,
        operand: Some(Operand::ModRevision(revision + 1)),
        range_end: high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_has_the_keys_with_its_prefix_and_no_others() {
        let space = KeySpace::new("d");
        assert_eq!(space.own(&space.key(b"k")), b"k");
        let (low, high) = space.all();
        let holds = |key: &[u8]| *low <= *key && *key < *high;
        assert!(holds(&space.key(b"")) && holds(&space.key(&[255; 9])));
        assert!(!holds(b"d") && !holds(b"d0") && !holds(b"c/x") && !holds(b"dd/x"));
    }

    #[test]
    fn the_ends_of_a_range_are_kept() {
        let space = KeySpace::new("d");
        let bounds = |lower, upper| space.bounds(KeyRange { lower, upper });
        let (low, high) = bounds(Bound::Included(b"a".as_slice()), Bound::Included(b"b"));
        assert_eq!((&*low, &*high), (b"d/a".as_slice(), b"d/b\0".as_slice()));
        let (low, high) = bounds(Bound::Excluded(b"a".as_slice()), Bound::Excluded(b"b"));
        assert_eq!((&*low, &*high), (b"d/a\0".as_slice(), b"d/b".as_slice()));
    }
}
