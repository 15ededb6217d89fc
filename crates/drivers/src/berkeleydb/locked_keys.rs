//! The keys that a write transaction has already locked, and so need not lock again before a put.

/// The number of keys that are remembered: looking through more costs as much as the look-up that
/// it saves.
const REMEMBERED: usize = 16;

/// The last keys that a write transaction looked up or put, each on a leaf that stays locked until
/// the transaction ends.
#[derive(Default)]
pub(super) struct LockedKeys {
    keys: [Vec<u8>; REMEMBERED],
    /// The number of keys added since the last [`LockedKeys::clear`].
    added: usize,
}

impl LockedKeys {
    /// Forgets all of them.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.added = 0;
    }

    /// Remembers `key`, in the place of the oldest.
    #[inline]
    pub(super) fn add(&mut self, key: &[u8]) {
        let place = &mut self.keys[self.added % REMEMBERED];
        place.clear();
        place.extend_from_slice(key);
        self.added += 1;
    }

    /// Whether `key` is in the set; `false` does not mean that it is unlocked.
    #[inline]
    pub(super) fn holds(&self, key: &[u8]) -> bool {
        let known = self.added.min(REMEMBERED);
        self.keys[..known].iter().any(|locked| locked == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_keys_are_held_until_all_are_forgotten() {
        let mut locked = LockedKeys::default();
        assert!(!locked.holds(b""));
        for number in 0..=REMEMBERED {
            locked.add(&number.to_be_bytes());
            assert!(locked.holds(&number.to_be_bytes()));
        }
        assert!(!locked.holds(&0_usize.to_be_bytes()), "the oldest went");
        assert!(locked.holds(&1_usize.to_be_bytes()));
        locked.clear();
        assert!(!locked.holds(&1_usize.to_be_bytes()));
        locked.add(b"");
        assert!(locked.holds(b""));
    }
}
