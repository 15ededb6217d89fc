//! An iterator of the library's, placed within a range.

use super::api::Handle;
use super::overlay::Overlay;
use super::store::{Store, bytes};
use std::cmp::Ordering;
use std::ops::Bound;
use trueput_engine::{Direction, KeyRange, RecordVisitor, Result};

/// An iterator, ours to destroy.
pub(crate) struct Cursor<'s> {
    store: &'s Store,
    iterator: Handle,
}

impl<'s> Cursor<'s> {
    /// Takes over an iterator of `store`.
    pub(crate) fn new(store: &'s Store, iterator: Handle) -> Self {
        Self { store, iterator }
    }

    /// Shows the records of `range`, until the visitor breaks, and says how many.
    pub(crate) fn scan(
        &mut self,
        range: &KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let mut shown = 0;
        self.place(range, direction);
        while let Some((key, value)) = self.record(range, direction) {
            shown += 1;
            if visitor(key, value).is_break() {
                break;
            }
            self.step(direction);
        }
        self.check().map(|()| shown)
    }

    /// As [`Cursor::scan`], with a transaction's own writes laid over what the iterator has.
    pub(crate) fn scan_under(
        &mut self,
        overlay: &Overlay,
        range: &KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let mut shown = 0;
        let mut own = overlay.range(range, direction).peekable();
        self.place(range, direction);
        loop {
            let stored = self.record(range, direction);
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
                self.step(direction);
            }
        }
        self.check().map(|()| shown)
    }

    /// Goes to the first record of `range` in this direction.
    fn place(&mut self, range: &KeyRange<'_>, direction: Direction) {
        let api = &self.store.api;
        let bound = match direction {
            Direction::Forward => range.lower,
            Direction::Backward => range.upper,
        };
        let (Bound::Included(key) | Bound::Excluded(key)) = bound else {
            // SAFETY: the iterator lives as long as the cursor.
            return unsafe {
                match direction {
                    Direction::Forward => (api.iter_seek_to_first)(self.iterator),
                    Direction::Backward => (api.iter_seek_to_last)(self.iterator),
                }
            };
        };
        // SAFETY: as above; the key outlives the call.
        unsafe { (api.iter_seek)(self.iterator, key.as_ptr(), key.len()) };
        // It stands on the key, or on the next above it, or nowhere.
        let on_key = self.key() == Some(key);
        let admitted = matches!(bound, Bound::Included(_));
        match direction {
            Direction::Forward if on_key && !admitted => self.step(direction),
            Direction::Backward if self.key().is_none() => {
                // SAFETY: as above.
                unsafe { (api.iter_seek_to_last)(self.iterator) };
            }
            Direction::Backward if !(on_key && admitted) => self.step(direction),
            _ => {}
        }
    }

    #[inline]
    fn step(&mut self, direction: Direction) {
        let api = &self.store.api;
        // SAFETY: the iterator lives, and stands on a record: callers have seen it.
        unsafe {
            match direction {
                Direction::Forward => (api.iter_next)(self.iterator),
                Direction::Backward => (api.iter_prev)(self.iterator),
            }
        }
    }

    /// The key that it stands on.
    #[inline]
    fn key(&self) -> Option<&[u8]> {
        let api = &self.store.api;
        let mut length = 0;
        // SAFETY: the iterator lives; its key lies still until it moves, for which `self` must not
        // be borrowed.
        unsafe {
            if (api.iter_valid)(self.iterator) == 0 {
                return None;
            }
            let from = (api.iter_key)(self.iterator, &raw mut length);
            Some(bytes(from, length))
        }
    }

    /// The record that it stands on, where that is within the far end of `range`.
    #[inline]
    fn record(&self, range: &KeyRange<'_>, direction: Direction) -> Option<(&[u8], &[u8])> {
        let key = self.key()?;
        let inside = match direction {
            Direction::Forward => range.admits_from_above(key),
            Direction::Backward => range.admits_from_below(key),
        };
        if !inside {
            return None;
        }
        let mut length = 0;
        // SAFETY: it stands on a record; as for the key.
        let value = unsafe {
            let from = (self.store.api.iter_value)(self.iterator, &raw mut length);
            bytes(from, length)
        };
        Some((key, value))
    }

    /// Whether the iterator ended for another reason than that there is no more.
    fn check(&self) -> Result<()> {
        // SAFETY: the iterator lives.
        self.store
            .call(|error| unsafe { (self.store.api.iter_get_error)(self.iterator, error) })
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nothing that it showed is still borrowed.
        unsafe { (self.store.api.iter_destroy)(self.iterator) };
    }
}
