//! The positions of keys in a batch of look-ups: a server returns the records in any order, each
//! once.

use trueput_engine::KeyBatch;

/// The positions of a batch's keys, in the order of the keys.
#[derive(Debug, Default)]
pub(crate) struct KeyPositions {
    sorted: Vec<usize>,
}

impl KeyPositions {
    /// Notes the positions of these keys, in memory that is used again.
    pub(crate) fn note(&mut self, keys: &KeyBatch) {
        self.sorted.clear();
        self.sorted.extend(0..keys.len());
        let key = |position: usize| keys.get(position);
        self.sorted
            .sort_unstable_by(|one, other| key(*one).cmp(&key(*other)));
    }

    /// Returns the positions that have this key, of the batch that was noted.
    pub(crate) fn of(&self, keys: &KeyBatch, key: &[u8]) -> &[usize] {
        let key = Some(key);
        let first = self
            .sorted
            .partition_point(|position| keys.get(*position) < key);
        let rest = &self.sorted[first..];
        let count = rest.partition_point(|position| keys.get(*position) == key);
        &rest[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_at_each_of_its_positions() {
        let mut keys = KeyBatch::default();
        for key in ["b", "a", "c", "b", "", "bb"] {
            keys.push(key.as_bytes());
        }
        let mut positions = KeyPositions::default();
        positions.note(&keys);
        let of = |key: &str| {
            let mut of = positions.of(&keys, key.as_bytes()).to_vec();
            of.sort_unstable();
            of
        };
        assert_eq!(of("b"), [0, 3]);
        assert_eq!(
            (of("a"), of(""), of("bb"), of("c")),
            (vec![1], vec![4], vec![5], vec![2])
        );
        assert_eq!((of("d"), of("aa")), (vec![], vec![]));
        keys.clear();
        positions.note(&keys);
        assert_eq!(positions.of(&keys, b"b"), [0; 0]);
    }
}
