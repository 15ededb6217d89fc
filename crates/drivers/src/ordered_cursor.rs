//! Scans with a cursor over records in key order.

use std::ops::Bound;
use trueput_engine::{Direction, KeyRange, RecordVisitor, Result};

/// A cursor over records in key order.
pub(crate) trait OrderedCursor {
    /// Moves to the first record within the near end of `range`, which may be beyond its far end;
    /// false if there is none.
    fn seek_range(&mut self, range: &KeyRange<'_>, direction: Direction) -> Result<bool>;

    /// Moves to the next record in this direction; false if there is none.
    fn step(&mut self, direction: Direction) -> Result<bool>;

    /// The key and value of the record under the cursor, after a move that found one.
    fn record(&self) -> Result<(&[u8], &[u8])>;
}

/// A cursor that finds the first key that is the one given or above.
pub(crate) trait SeekingCursor: OrderedCursor {
    /// Moves to the first record of all in this direction; false if there is none.
    fn seek_end(&mut self, direction: Direction) -> Result<bool>;

    /// Moves to the first record whose key is `key` or above; false if there is none.
    fn seek_key(&mut self, key: &[u8]) -> Result<bool>;

    /// The key of the record under the cursor, after a move that found one.
    fn key(&self) -> &[u8];
}

/// Moves as [`OrderedCursor::seek_range`] does, by seeks to a key or above.
pub(crate) fn seek_range_by_key(
    cursor: &mut impl SeekingCursor,
    range: &KeyRange<'_>,
    direction: Direction,
) -> Result<bool> {
    let bound = match direction {
        Direction::Forward => range.lower,
        Direction::Backward => range.upper,
    };
    let (Bound::Included(key) | Bound::Excluded(key)) = bound else {
        return cursor.seek_end(direction);
    };
    let is_found = cursor.seek_key(key)?;
    let is_included = matches!(bound, Bound::Included(_));
    match direction {
        Direction::Forward if is_found && !is_included && cursor.key() == key => {
            cursor.step(direction)
        }
        Direction::Forward => Ok(is_found),
        Direction::Backward if !is_found => cursor.seek_end(direction),
        Direction::Backward if is_included && cursor.key() == key => Ok(true),
        Direction::Backward => cursor.step(direction),
    }
}

/// Whether `key` is within the far end of `range` in this direction.
#[inline]
pub(crate) fn is_within_far_end(range: &KeyRange<'_>, direction: Direction, key: &[u8]) -> bool {
    match direction {
        Direction::Forward => range.admits_from_above(key),
        Direction::Backward => range.admits_from_below(key),
    }
}

/// Shows the records of `range` until the visitor breaks; returns how many were shown.
#[inline]
pub(crate) fn scan(
    cursor: &mut impl OrderedCursor,
    range: &KeyRange<'_>,
    direction: Direction,
    visitor: &mut RecordVisitor<'_>,
) -> Result<u64> {
    let mut shown = 0;
    let mut is_found = cursor.seek_range(range, direction)?;
    while is_found {
        let (key, value) = cursor.record()?;
        if !is_within_far_end(range, direction, key) {
            break;
        }
        shown += 1;
        if visitor(key, value).is_break() {
            break;
        }
        is_found = cursor.step(direction)?;
    }
    Ok(shown)
}

/// Shows records of an iterator until the visitor breaks; returns how many were shown.
pub(crate) fn scan_iterator<R>(
    mut records: impl DoubleEndedIterator<Item = R>,
    direction: Direction,
    mut show: impl FnMut(R) -> Result<std::ops::ControlFlow<()>>,
) -> Result<u64> {
    let mut shown = 0;
    let mut next = || match direction {
        Direction::Forward => records.next(),
        Direction::Backward => records.next_back(),
    };
    while let Some(record) = next() {
        shown += 1;
        if show(record)?.is_break() {
            break;
        }
    }
    Ok(shown)
}
