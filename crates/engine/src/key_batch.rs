//! Keys that are looked up together.

/// Keys in the order in which they were added, one behind the other in memory that is used again:
/// a batch of the size of an earlier one allocates nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyBatch {
    bytes: Vec<u8>,
    /// The end of each key in `bytes`.
    ends: Vec<usize>,
}

impl KeyBatch {
    /// Creates an empty batch with room for this many keys of this length.
    #[must_use]
    pub fn with_capacity(keys: usize, key_bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(keys.saturating_mul(key_bytes)),
            ends: Vec::with_capacity(keys),
        }
    }

    /// Removes all keys, and keeps their memory.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a key behind the others. One that is there already is added again.
    #[inline]
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the key at this position, from 0; `None` if there are not as many.
    #[must_use]
    #[inline]
    pub fn get(&self, position: usize) -> Option<&[u8]> {
        let end = *self.ends.get(position)?;
        let start = position
            .checked_sub(1)
            .map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// Returns the keys from this position on, in order.
    pub fn keys_from(&self, position: usize) -> impl Iterator<Item = &[u8]> {
        (position..self.len()).filter_map(move |position| self.get(position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_and_their_bounds() {
        let mut batch = KeyBatch::with_capacity(2, 3);
        assert!(batch.is_empty());
        for key in [b"abc".as_slice(), b"", b"abc", b"\0"] {
            batch.push(key);
        }
        let keys: Vec<&[u8]> = batch.keys_from(0).collect();
        assert_eq!(keys, [b"abc".as_slice(), b"", b"abc", b"\0"]);
        assert_eq!(
            (batch.len(), batch.get(3), batch.get(4)),
            (4, Some(&b"\0"[..]), None)
        );
        assert_eq!(batch.keys_from(3).count(), 1);
        assert_eq!(batch.keys_from(5).count(), 0);
        batch.clear();
        batch.push(b"z");
        assert_eq!((batch.len(), batch.get(0)), (1, Some(&b"z"[..])));
    }
}
