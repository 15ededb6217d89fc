//! A session: at most one transaction at a time.

use super::locked_keys::LockedKeys;
use super::shim::{Buffer, CodeClass, CursorMove, DatabaseHandles, Handle, NONE};
use crate::ordered_cursor::{OrderedCursor, SeekingCursor, scan, scan_iterator, seek_range_by_key};
use std::collections::BTreeMap;
use std::ffi::c_int;
use trueput_engine::{
    Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, ValueVisitor, common_errors,
};

/// The handles and limits of an open database, for its sessions.
pub(crate) struct DatabaseContext {
    pub(crate) handles: DatabaseHandles,
    /// Read transactions read versions.
    pub(crate) has_snapshots: bool,
    /// A get in a write transaction takes the write lock.
    pub(crate) reads_for_update: bool,
    pub(crate) is_hash: bool,
    /// Longest key, bytes.
    pub(crate) max_key_bytes: u32,
    /// Longest value, bytes.
    pub(crate) max_value_bytes: u32,
    /// The function that waits for the turn, if there is one write transaction at a time.
    pub(crate) take_turn: Option<unsafe extern "C" fn(Handle, Handle) -> c_int>,
    /// The function that locks the leaf of a key, if a put must do that first.
    pub(crate) guard: Option<unsafe extern "C" fn(Handle, Handle, *const u8, u32) -> c_int>,
}

/// One worker's session over an environment.
pub(crate) struct BerkeleySession<'e> {
    store: &'e DatabaseContext,
    /// The open transaction, or none.
    open: Handle,
    mode: Mode,
    /// The value that is read; Berkeley DB copies it out, since other threads use the handle too.
    value: Buffer,
    /// Keys whose leaves the open write transaction has locked.
    locked: LockedKeys,
}

impl<'e> BerkeleySession<'e> {
    pub(crate) fn new(store: &'e DatabaseContext) -> Self {
        let mut value = Buffer::default();
        value.fill(b"");
        Self {
            store,
            open: NONE,
            mode: Mode::Read,
            value,
            locked: LockedKeys::default(),
        }
    }

    #[inline]
    fn need_open(&self) -> Result<()> {
        if self.open.is_null() {
            Err(common_errors::no_transaction())
        } else {
            Ok(())
        }
    }

    #[inline]
    fn need_write(&self) -> Result<()> {
        self.need_open()?;
        match self.mode {
            Mode::Write => Ok(()),
            Mode::Read => Err(common_errors::write_in_read()),
        }
    }

    #[inline]
    fn key_size(&self, key: &[u8]) -> Result<u32> {
        size(key, self.store.max_key_bytes, "key")
    }

    #[inline]
    fn value_size(&self, value: &[u8]) -> Result<u32> {
        size(value, self.store.max_value_bytes, "value")
    }

    /// Waits until this is the only write transaction; ends it on failure.
    fn take_turn(&mut self) -> Result<()> {
        let Some(take_turn) = self.store.take_turn else {
            return Ok(());
        };
        let DatabaseHandles { api, env, .. } = self.store.handles;
        // SAFETY: the transaction was begun in this environment.
        let code = unsafe { take_turn(env, self.open) };
        if code == 0 {
            return Ok(());
        }
        let error = api.error(code);
        // The first error is the one to report.
        let _ = self.abort();
        Err(error)
    }

    /// Locks the leaf of `key` before a put, unless this transaction has it locked.
    #[inline]
    fn guard(&mut self, key: &[u8], size: u32) -> Result<()> {
        let Some(guard) = self.store.guard else {
            return Ok(());
        };
        if self.locked.holds(key) {
            return Ok(());
        }
        let DatabaseHandles { api, db, .. } = self.store.handles;
        // SAFETY: the transaction is open; the key is only read.
        api.check(unsafe { guard(db, self.open, key.as_ptr(), size) })?;
        self.locked.add(key);
        Ok(())
    }

    /// Records that this transaction has looked up `key`, if puts need to know.
    #[inline]
    fn note_locked(&mut self, key: &[u8]) {
        if self.mode == Mode::Write && self.store.guard.is_some() {
            self.locked.add(key);
        }
    }

    fn scan_ordered(
        &mut self,
        range: &KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let mut cursor = Cursor::new(self.store.handles, self.open, &mut self.value)?;
        let shown = scan(&mut cursor, range, direction, visitor);
        let closed = cursor.close();
        shown.and_then(|shown| closed.map(|()| shown))
    }

    /// Scans a hash table. It has no order, so every record is read, and those of the range are
    /// sorted.
    fn scan_sorted(
        &mut self,
        range: &KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let mut records = BTreeMap::new();
        self.scan_ordered(&KeyRange::ALL, Direction::Forward, &mut |key, value| {
            if range.admits_from_below(key) && range.admits_from_above(key) {
                records.insert(key.to_vec(), value.to_vec());
            }
            std::ops::ControlFlow::Continue(())
        })?;
        scan_iterator(records.iter(), direction, |(key, value)| {
            Ok(visitor(key, value))
        })
    }
}

impl Session for BerkeleySession<'_> {
    #[inline]
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if !self.open.is_null() {
            return Err(common_errors::already_open());
        }
        let DatabaseHandles { api, env, .. } = self.store.handles;
        let is_snapshot = mode == Mode::Read && self.store.has_snapshots;
        let mut transaction = NONE;
        // SAFETY: the environment is open; `transaction` can be written.
        api.check(unsafe { (api.shim.begin)(env, &raw mut transaction, i32::from(is_snapshot)) })?;
        self.open = transaction;
        self.mode = mode;
        self.locked.clear();
        if mode == Mode::Write {
            self.take_turn()?;
        }
        Ok(())
    }

    #[inline]
    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.need_open()?;
        let DatabaseHandles { api, db, .. } = self.store.handles;
        let for_update = i32::from(self.mode == Mode::Write && self.store.reads_for_update);
        let size = self.key_size(key)?;
        loop {
            let mut target = self.value.target();
            // SAFETY: the transaction is open; the key is only read, and the value goes to the
            // buffer, which lives and is as large as it says.
            let code = unsafe {
                let target = &raw mut target;
                (api.shim.get)(db, self.open, key.as_ptr(), size, target, for_update)
            };
            if code == 0 {
                self.value.received(target.size);
                self.note_locked(key);
                visitor(self.value.bytes());
                return Ok(true);
            }
            match api.class(code) {
                CodeClass::Absent => {
                    self.note_locked(key);
                    return Ok(false);
                }
                CodeClass::BufferSmall => self.value.received(target.size),
                CodeClass::Other => return Err(api.error(code)),
            }
        }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.need_write()?;
        let DatabaseHandles { api, db, .. } = self.store.handles;
        let (key_size, value_size) = (self.key_size(key)?, self.value_size(value)?);
        self.guard(key, key_size)?;
        // SAFETY: the transaction is open; key and value are only read, and copied.
        api.check(unsafe {
            let (key, value) = (key.as_ptr(), value.as_ptr());
            (api.shim.put)(db, self.open, key, key_size, value, value_size)
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.need_write()?;
        let DatabaseHandles { api, db, .. } = self.store.handles;
        let size = self.key_size(key)?;
        // A delete locks its leaf itself and never splits a page. A leaf that it empties leaves the
        // tree, and its keys then belong to a leaf that may not be locked.
        self.locked.clear();
        // SAFETY: the transaction is open; the key is only read.
        let code = unsafe { (api.shim.delete)(db, self.open, key.as_ptr(), size) };
        if code == 0 || api.class(code) == CodeClass::Absent {
            Ok(())
        } else {
            Err(api.error(code))
        }
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        self.need_open()?;
        if range.is_empty() {
            return Ok(0);
        }
        if self.store.is_hash {
            self.scan_sorted(&range, direction, visitor)
        } else {
            self.scan_ordered(&range, direction, visitor)
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<()> {
        self.need_open()?;
        let api = self.store.handles.api;
        let transaction = std::mem::replace(&mut self.open, NONE);
        // SAFETY: the transaction is open and has no cursor; it is gone whatever is returned, and
        // the session has forgotten it.
        api.check(unsafe { (api.shim.commit)(transaction) })
    }

    fn abort(&mut self) -> Result<()> {
        self.need_open()?;
        let api = self.store.handles.api;
        let transaction = std::mem::replace(&mut self.open, NONE);
        // SAFETY: as in `commit`.
        api.check(unsafe { (api.shim.abort)(transaction) })
    }
}

impl Drop for BerkeleySession<'_> {
    fn drop(&mut self) {
        if !self.open.is_null() {
            // No caller is left to receive the error.
            let _ = self.abort();
        }
    }
}

#[inline]
fn size(bytes: &[u8], most: u32, name: &str) -> Result<u32> {
    let size = u32::try_from(bytes.len()).ok();
    size.filter(|size| *size <= most).ok_or_else(|| {
        let length = bytes.len();
        Error::Unsupported(format!("a {name} of {length} bytes; the most are {most}"))
    })
}

/// A cursor of an open transaction, closed before it ends.
struct Cursor<'b> {
    handles: DatabaseHandles,
    /// Null once it is closed.
    handle: Handle,
    key: Buffer,
    value: &'b mut Buffer,
}

impl<'b> Cursor<'b> {
    fn new(handles: DatabaseHandles, transaction: Handle, value: &'b mut Buffer) -> Result<Self> {
        let DatabaseHandles { api, db, .. } = handles;
        let mut handle = NONE;
        // SAFETY: the transaction is open; `handle` can be written.
        api.check(unsafe { (api.shim.cursor_open)(db, transaction, &raw mut handle) })?;
        let mut key = Buffer::default();
        key.fill(b"");
        Ok(Self {
            handles,
            handle,
            key,
            value,
        })
    }

    /// Moves the cursor, to `wanted_key` or relatively; returns false if there is no such record.
    fn move_to(&mut self, step: CursorMove, wanted_key: &[u8]) -> Result<bool> {
        let api = self.handles.api;
        loop {
            if step == CursorMove::Seek {
                // Each time: a call that found its buffers too small may have written there.
                self.key.fill(wanted_key);
            }
            let (mut key_target, mut value_target) = (self.key.target(), self.value.target());
            // SAFETY: the cursor is open; both buffers live and are as large as they say.
            let code = unsafe {
                let (key, value) = (&raw mut key_target, &raw mut value_target);
                (api.shim.cursor_get)(self.handle, key, value, step as i32)
            };
            let class = if code == 0 {
                None
            } else {
                Some(api.class(code))
            };
            match class {
                Some(CodeClass::Absent) => return Ok(false),
                Some(CodeClass::Other) => return Err(api.error(code)),
                None | Some(CodeClass::BufferSmall) => {
                    self.key.received(key_target.size);
                    self.value.received(value_target.size);
                }
            }
            if class.is_none() {
                return Ok(true);
            }
        }
    }

    fn close(&mut self) -> Result<()> {
        let handle = std::mem::replace(&mut self.handle, NONE);
        let api = self.handles.api;
        // SAFETY: the cursor is open, and is gone whatever is returned.
        api.check(unsafe { (api.shim.cursor_close)(handle) })
    }
}

impl OrderedCursor for Cursor<'_> {
    fn seek_range(&mut self, range: &KeyRange<'_>, direction: Direction) -> Result<bool> {
        seek_range_by_key(self, range, direction)
    }

    fn step(&mut self, direction: Direction) -> Result<bool> {
        let step = match direction {
            Direction::Forward => CursorMove::Next,
            Direction::Backward => CursorMove::Previous,
        };
        self.move_to(step, b"")
    }

    fn record(&self) -> Result<(&[u8], &[u8])> {
        Ok((self.key.bytes(), self.value.bytes()))
    }
}

impl SeekingCursor for Cursor<'_> {
    fn seek_end(&mut self, direction: Direction) -> Result<bool> {
        let end = match direction {
            Direction::Forward => CursorMove::First,
            Direction::Backward => CursorMove::Last,
        };
        self.move_to(end, b"")
    }

    fn seek_key(&mut self, key: &[u8]) -> Result<bool> {
        self.move_to(CursorMove::Seek, key)
    }

    fn key(&self) -> &[u8] {
        self.key.bytes()
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // The earlier error is the one to report.
            let _ = self.close();
        }
    }
}
