//! A session: one of WiredTiger's, with one cursor that is kept.

use super::shim::{Handle, NOT_FOUND, WiredTigerApi};
use super::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::ordered_cursor::{OrderedCursor, scan};
use std::cmp::Ordering;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ops::Bound;
use std::ptr;
use trueput_engine::common_errors::{LengthLimits, require_closed, require_open, require_write};
use trueput_engine::{
    Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, ValueVisitor,
};

const LIMITS: LengthLimits = LengthLimits::new(MAX_KEY_BYTES, MAX_VALUE_BYTES);

/// One worker's session over a database.
pub(super) struct WiredTigerSession<'d> {
    api: &'static WiredTigerApi,
    database: Handle,
    handle: Handle,
    open: Option<Mode>,
    borrowed: PhantomData<&'d ()>,
}

impl<'d> WiredTigerSession<'d> {
    /// Takes over a session.
    ///
    /// # Safety
    /// The session is new and of the database, which stays open during `'d`.
    pub(super) unsafe fn new(
        api: &'static WiredTigerApi,
        database: Handle,
        handle: Handle,
    ) -> Self {
        let (open, borrowed) = (None, PhantomData);
        Self {
            api,
            database,
            handle,
            open,
            borrowed,
        }
    }

    #[inline]
    fn check(&self, code: c_int) -> Result<()> {
        match code {
            0 => Ok(()),
            _ => Err(self.api.error_of(self.database, code)),
        }
    }

    /// Whether a move or search found something.
    #[inline]
    fn is_found(&self, code: c_int) -> Result<bool> {
        match code {
            NOT_FOUND => Ok(false),
            _ => self.check(code).map(|()| true),
        }
    }

    /// Goes to the first record of all in this direction.
    fn seek_end(&mut self, direction: Direction) -> Result<bool> {
        // SAFETY: as for `step`. A cursor that is nowhere steps to the first or last record.
        self.check(unsafe { (self.api.shim.reset)(self.handle) })?;
        self.step(direction)
    }
}

impl OrderedCursor for WiredTigerSession<'_> {
    fn seek_range(&mut self, range: &KeyRange<'_>, direction: Direction) -> Result<bool> {
        let bound = match direction {
            Direction::Forward => range.lower,
            Direction::Backward => range.upper,
        };
        let (Bound::Included(key) | Bound::Excluded(key)) = bound else {
            return self.seek_end(direction);
        };
        if key.is_empty() {
            // There is no empty key: every record is above it, none below.
            return match direction {
                Direction::Forward => self.seek_end(direction),
                Direction::Backward => Ok(false),
            };
        }
        let mut side = 0;
        // SAFETY: as for `step`; the key outlives the call, and the side can be written.
        let code =
            unsafe { (self.api.shim.seek)(self.handle, key.as_ptr(), key.len(), &raw mut side) };
        if !self.is_found(code)? {
            return Ok(false);
        }
        // The cursor is on the key, or on a neighbor on either side.
        let inside = match (side.cmp(&0), direction) {
            (Ordering::Equal, _) => matches!(bound, Bound::Included(_)),
            (Ordering::Less, Direction::Backward) | (Ordering::Greater, Direction::Forward) => true,
            _ => false,
        };
        if inside {
            Ok(true)
        } else {
            self.step(direction)
        }
    }

    #[inline]
    fn step(&mut self, direction: Direction) -> Result<bool> {
        let shim = &self.api.shim;
        // SAFETY: the session is open and this thread's.
        let code = unsafe {
            match direction {
                Direction::Forward => (shim.next)(self.handle),
                Direction::Backward => (shim.previous)(self.handle),
            }
        };
        self.is_found(code)
    }

    #[inline]
    fn record(&self) -> Result<(&[u8], &[u8])> {
        let mut key = BorrowedSlice::EMPTY;
        let mut value = BorrowedSlice::EMPTY;
        // SAFETY: as for `step`; the cursor is on a record, and the rest can be written.
        self.check(unsafe {
            (self.api.shim.record)(
                self.handle,
                &raw mut key.from,
                &raw mut key.length,
                &raw mut value.from,
                &raw mut value.length,
            )
        })?;
        // SAFETY: both are in the cursor until it moves, for which `self` must not be borrowed.
        Ok(unsafe { (key.bytes(), value.bytes()) })
    }
}

/// A key or value in the engine's memory.
struct BorrowedSlice {
    from: *const u8,
    length: usize,
}

impl BorrowedSlice {
    const EMPTY: Self = Self {
        from: ptr::null(),
        length: 0,
    };

    /// # Safety
    /// The memory that it points to does not change during `'s`.
    #[inline]
    unsafe fn bytes<'s>(self) -> &'s [u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.from, self.length) }
    }
}

impl Session for WiredTigerSession<'_> {
    #[inline]
    fn begin(&mut self, mode: Mode) -> Result<()> {
        require_closed(self.open)?;
        // SAFETY: the session is open and this thread's, without a transaction.
        self.check(unsafe { (self.api.shim.begin)(self.handle) })?;
        self.open = Some(mode);
        Ok(())
    }

    #[inline]
    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        require_open(self.open)?;
        if key.is_empty() {
            return Ok(false);
        }
        let mut value = BorrowedSlice::EMPTY;
        // SAFETY: as for `begin`; the key outlives the call, and the rest can be written.
        let code = unsafe {
            (self.api.shim.get)(
                self.handle,
                key.as_ptr(),
                key.len(),
                &raw mut value.from,
                &raw mut value.length,
            )
        };
        let found = self.is_found(code)?;
        if found {
            // SAFETY: it is in the cursor until that moves or the transaction ends; the session
            // is borrowed, so neither happens before the visitor is done.
            visitor(unsafe { value.bytes() });
        }
        Ok(found)
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        require_write(self.open)?;
        if key.is_empty() {
            return Err(Error::Unsupported("WiredTiger has no empty key".to_owned()));
        }
        LIMITS.check(key, value)?;
        let (key_from, value_from) = (key.as_ptr(), value.as_ptr());
        // SAFETY: as for `begin`; WiredTiger copies both.
        self.check(unsafe {
            (self.api.shim.put)(self.handle, key_from, key.len(), value_from, value.len())
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        require_write(self.open)?;
        LIMITS.check(key, b"")?;
        if key.is_empty() {
            return Ok(());
        }
        // SAFETY: as for `put`.
        let code = unsafe { (self.api.shim.remove)(self.handle, key.as_ptr(), key.len()) };
        self.is_found(code).map(|_| ())
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        require_open(self.open)?;
        if range.is_empty() {
            return Ok(0);
        }
        let shown = scan(self, &range, direction, visitor)?;
        // Where it stands it holds a page in the cache.
        // SAFETY: as for `begin`.
        self.check(unsafe { (self.api.shim.reset)(self.handle) })?;
        Ok(shown)
    }

    /// WiredTiger resets the cursor with the end of the transaction, and rolls one back that it
    /// does not commit.
    #[inline]
    fn commit(&mut self) -> Result<()> {
        require_open(self.open)?;
        self.open = None;
        // SAFETY: as for `begin`, with a transaction.
        self.check(unsafe { (self.api.shim.commit)(self.handle) })
    }

    fn abort(&mut self) -> Result<()> {
        require_open(self.open)?;
        self.open = None;
        // SAFETY: as for `commit`.
        self.check(unsafe { (self.api.shim.rollback)(self.handle) })
    }
}

impl Drop for WiredTigerSession<'_> {
    fn drop(&mut self) {
        // SAFETY: the session is open, and not used again; closing it rolls back what is open.
        unsafe { (self.api.shim.session_close)(self.handle) };
    }
}
