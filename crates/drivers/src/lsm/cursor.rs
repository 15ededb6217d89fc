//! An iterator of the library's, placed within a range.

use super::api::Handle;
use super::overlay::Overlay;
use super::store::{LsmDatabase, bytes};
use crate::ordered_cursor::{
    OrderedCursor, SeekingCursor, is_within_far_end, scan, seek_range_by_key,
};
use std::cmp::Ordering;
use trueput_engine::{Direction, KeyRange, RecordVisitor, Result};

/// An iterator, ours to destroy.
pub(crate) struct Cursor<'s> {
    store: &'s LsmDatabase,
    iterator: Handle,
}

impl<'s> Cursor<'s> {
    /// Takes over an iterator of `store`.
    pub(crate) fn new(store: &'s LsmDatabase, iterator: Handle) -> Self {
        Self { store, iterator }
    }

    /// Shows the records of `range` until the visitor breaks; returns their number.
    pub(crate) fn scan(
        &mut self,
        range: &KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let shown = scan(self, range, direction, visitor)?;
        self.check().map(|()| shown)
    }

    /// Like [`Cursor::scan`], with a transaction's own writes laid over the iterator's records.
    pub(crate) fn scan_with_overlay(
        &mut self,
        overlay: &Overlay,
        range: &KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let mut shown = 0;
        let mut own = overlay.range(range, direction).peekable();
        let mut is_found = self.seek_range(range, direction)?;
        loop {
            let stored = if is_found { Some(self.record()?) } else { None };
            let stored = stored.filter(|(key, _)| is_within_far_end(range, direction, key));
            let order = match (own.peek(), stored) {
                (None, None) => break,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), None) => Ordering::Less,
                (Some((own_key, _)), Some((key, _))) => match direction {
                    Direction::Forward => (**own_key).cmp(key),
                    Direction::Backward => key.cmp(own_key),
                },
            };
            let next = match order {
                Ordering::Greater => stored,
                Ordering::Less | Ordering::Equal => {
                    own.next().and_then(|(key, value)| Some((key, value?)))
                }
            };
            if let Some((key, value)) = next {
                shown += 1;
                if visitor(key, value).is_break() {
                    break;
                }
            }
            if order != Ordering::Less {
                is_found = self.step(direction)?;
            }
        }
        self.check().map(|()| shown)
    }

    /// Whether the iterator is on a record.
    #[inline]
    fn is_valid(&self) -> bool {
        // SAFETY: the iterator lives as long as the cursor.
        unsafe { (self.store.api.iter_valid)(self.iterator) != 0 }
    }

    /// Checks whether the iterator ended because of an error.
    fn check(&self) -> Result<()> {
        // SAFETY: the iterator lives.
        self.store
            .call(|error| unsafe { (self.store.api.iter_get_error)(self.iterator, error) })
    }
}

impl OrderedCursor for Cursor<'_> {
    fn seek_range(&mut self, range: &KeyRange<'_>, direction: Direction) -> Result<bool> {
        seek_range_by_key(self, range, direction)
    }

    #[inline]
    fn step(&mut self, direction: Direction) -> Result<bool> {
        let api = &self.store.api;
        // SAFETY: the iterator lives, and stands on a record: callers have seen it.
        unsafe {
            match direction {
                Direction::Forward => (api.iter_next)(self.iterator),
                Direction::Backward => (api.iter_prev)(self.iterator),
            }
        }
        Ok(self.is_valid())
    }

    #[inline]
    fn record(&self) -> Result<(&[u8], &[u8])> {
        let mut length = 0;
        // SAFETY: it stands on a record; as for the key.
        let value = unsafe {
            let from = (self.store.api.iter_value)(self.iterator, &raw mut length);
            bytes(from, length)
        };
        Ok((self.key(), value))
    }
}

impl SeekingCursor for Cursor<'_> {
    fn seek_end(&mut self, direction: Direction) -> Result<bool> {
        let api = &self.store.api;
        // SAFETY: the iterator lives as long as the cursor.
        unsafe {
            match direction {
                Direction::Forward => (api.iter_seek_to_first)(self.iterator),
                Direction::Backward => (api.iter_seek_to_last)(self.iterator),
            }
        }
        Ok(self.is_valid())
    }

    fn seek_key(&mut self, key: &[u8]) -> Result<bool> {
        // SAFETY: as above; the key outlives the call.
        unsafe { (self.store.api.iter_seek)(self.iterator, key.as_ptr(), key.len()) };
        Ok(self.is_valid())
    }

    #[inline]
    fn key(&self) -> &[u8] {
        let mut length = 0;
        // SAFETY: the iterator is on a record; its key stays where it is until it moves, for which
        // `self` must not be borrowed.
        unsafe {
            let from = (self.store.api.iter_key)(self.iterator, &raw mut length);
            bytes(from, length)
        }
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nothing that it showed is still borrowed.
        unsafe { (self.store.api.iter_destroy)(self.iterator) };
    }
}
