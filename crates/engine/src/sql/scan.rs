//! Scans of a key-value table by statements of SQL, for the drivers of engines that speak it.

use crate::{Direction, KeyRange, Result};
use std::ops::Bound;

/// The parts of a scan that its statement depends on: the kind of each end, and the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanShape {
    /// For the lower and the upper end: 0 for none, 1 for one that is in the range, 2 for one that
    /// is not.
    ends: [usize; 2],
    direction: Direction,
}

impl ScanShape {
    /// The number of shapes.
    pub const COUNT: usize = 2 * 3 * 3;

    /// The shape of a scan of that range.
    #[must_use]
    pub fn of(range: &KeyRange<'_>, direction: Direction) -> Self {
        let ends = [range.lower, range.upper].map(|end| match end {
            Bound::Unbounded => 0,
            Bound::Included(_) => 1,
            Bound::Excluded(_) => 2,
        });
        Self { ends, direction }
    }

    /// A number below [`ScanShape::COUNT`] of its own.
    pub fn index(self) -> usize {
        let backward = usize::from(self.direction == Direction::Backward);
        (backward * 3 + self.ends[0]) * 3 + self.ends[1]
    }

    /// The clauses that restrict a statement to the range and order it by `column`. `parameter`
    /// writes the parameter of an end: 1 for the lower, 2 for the upper, and its place among those
    /// that the statement has.
    pub fn clauses(self, column: &str, parameter: impl Fn(usize, usize) -> String) -> String {
        let mut conditions = Vec::new();
        for (end, operators) in [[">=", ">"], ["<=", "<"]].into_iter().enumerate() {
            if let Some(kind) = self.ends[end].checked_sub(1) {
                let parameter = parameter(end + 1, conditions.len() + 1);
                conditions.push(format!("{column} {} {parameter}", operators[kind]));
            }
        }
        let condition = if conditions.is_empty() {
            String::new()
        } else {
            format!("WHERE {} ", conditions.join(" AND "))
        };
        let order = match self.direction {
            Direction::Forward => "",
            Direction::Backward => " DESC",
        };
        format!("{condition}ORDER BY {column}{order}")
    }
}

/// The keys of the ends that a range has, the lower first: the parameters of its statement.
pub fn end_keys<'k>(range: &KeyRange<'k>) -> impl Iterator<Item = &'k [u8]> + use<'k> {
    [range.lower, range.upper]
        .into_iter()
        .filter_map(|end| match end {
            Bound::Included(key) | Bound::Excluded(key) => Some(key),
            Bound::Unbounded => None,
        })
}

/// Scans in batches, so that a scan that is broken off soon does not have the server send the rest
/// of the table. `batches` has the most records of the first statement, of the second, and so on;
/// the last stays. `show` is given the rest of the range, the number of the batch and room for the
/// last key that it shows, and returns how many records it has shown and whether the visitor broke.
pub fn scan_in_batches(
    range: KeyRange<'_>,
    direction: Direction,
    batches: &[usize],
    mut show: impl FnMut(&KeyRange<'_>, usize, &mut Vec<u8>) -> Result<(usize, bool)>,
) -> Result<u64> {
    let (mut total, mut batch) = (0, 0);
    let (mut after, mut last) = (Vec::new(), Vec::new());
    let mut rest = range;
    while !rest.is_empty() {
        let (shown, is_broken) = show(&rest, batch, &mut last)?;
        total += shown as u64;
        if is_broken || shown < batches[batch] {
            break;
        }
        std::mem::swap(&mut after, &mut last);
        rest = range;
        match direction {
            Direction::Forward => rest.lower = Bound::Excluded(&after),
            Direction::Backward => rest.upper = Bound::Excluded(&after),
        }
        batch = (batch + 1).min(batches.len() - 1);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_a_scan_has_clauses_and_a_number_of_its_own() {
        let ends = |key| [Bound::Unbounded, Bound::Included(key), Bound::Excluded(key)];
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        for lower in ends(b"a".as_slice()) {
            for upper in ends(b"b".as_slice()) {
                for direction in [Direction::Forward, Direction::Backward] {
                    let shape = ScanShape::of(&KeyRange { lower, upper }, direction);
                    numbers.push(shape.index());
                    texts.push(shape.clauses("k", |_, place| format!("${place}")));
                }
            }
        }
        assert!(texts.contains(&"WHERE k > $1 AND k <= $2 ORDER BY k DESC".to_owned()));
        assert!(texts.contains(&"WHERE k < $1 ORDER BY k".to_owned()));
        assert!(texts.contains(&"ORDER BY k".to_owned()));
        numbers.sort_unstable();
        texts.sort();
        texts.dedup();
        assert_eq!(numbers, (0..ScanShape::COUNT).collect::<Vec<_>>());
        assert_eq!(texts.len(), ScanShape::COUNT);
    }

    #[test]
    fn batches_go_on_behind_the_last_key_and_grow() {
        let keys: Vec<[u8; 1]> = (0..10).map(|key| [key]).collect();
        for direction in [Direction::Forward, Direction::Backward] {
            let (mut seen, mut sizes) = (Vec::new(), Vec::new());
            let total = scan_in_batches(KeyRange::ALL, direction, &[2, 3], |rest, batch, last| {
                let most = [2, 3][batch];
                let mut inside: Vec<_> = keys
                    .iter()
                    .filter(|key| rest.admits_from_below(*key) && rest.admits_from_above(*key))
                    .collect();
                if direction == Direction::Backward {
                    inside.reverse();
                }
                inside.truncate(most);
                for key in &inside {
                    seen.push(key[0]);
                    last.clear();
                    last.extend_from_slice(*key);
                }
                sizes.push(inside.len());
                Ok((inside.len(), false))
            });
            assert_eq!(total, Ok(10));
            assert_eq!(sizes, [2, 3, 3, 2]);
            if direction == Direction::Backward {
                seen.reverse();
            }
            assert_eq!(seen, (0..10).collect::<Vec<u8>>());
        }
    }
}
