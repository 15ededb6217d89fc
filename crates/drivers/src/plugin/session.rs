//! A session of a plug-in.

use super::abi::{
    self, DatabaseHandle, ErrorText, Range, Record, SessionEnd, SessionHandle, Slice, Status,
};
use super::description::PluginLimits;
use super::error::error_of;
use super::table::{PluginTable, SessionFunctions};
use std::marker::PhantomData;
use std::ops::Bound;
use std::ptr;
use trueput_engine::common_errors::{require_closed, require_open, require_write};
use trueput_engine::{
    Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, ValueVisitor,
    read_in_transaction,
};

/// One worker's session. It checks what the plug-in returns, as far as a length or a count shows
/// that it cannot be.
pub(super) struct PluginSession<'d> {
    functions: &'static SessionFunctions,
    handle: *mut SessionHandle,
    /// Where the plug-in leaves the text of an error. It is boxed, and outlives the session.
    error: *mut ErrorText,
    open: Option<Mode>,
    limits: PluginLimits,
    /// The records of a scan's batch.
    records: Box<[Record]>,
    database: PhantomData<&'d ()>,
}

impl PluginSession<'_> {
    /// Makes a session of an open database.
    ///
    /// # Safety
    /// `database` was opened by the functions of `table`, and stays open as long as the session.
    pub(super) unsafe fn new(
        table: &'static PluginTable,
        database: *mut DatabaseHandle,
        limits: PluginLimits,
    ) -> Result<Self> {
        let mut session = Self {
            functions: &table.session,
            handle: ptr::null_mut(),
            error: Box::into_raw(Box::new(ErrorText::new())),
            open: None,
            limits,
            records: vec![EMPTY_RECORD; limits.scan_batch as usize].into_boxed_slice(),
            database: PhantomData,
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the caller's promise; the error lives until the session is closed.
        let status = unsafe { (table.database.session)(database, session.error, &raw mut handle) };
        session.check(status)?;
        session.handle = handle;
        if session.handle.is_null() {
            return Err(Error::engine("the plug-in made no session"));
        }
        Ok(session)
    }

    #[inline]
    fn check(&mut self, status: Status) -> Result<()> {
        if status == abi::OK {
            return Ok(());
        }
        Err(self.failure(status))
    }

    #[cold]
    fn failure(&mut self, status: Status) -> Error {
        // SAFETY: the error is this session's own, and no call of the plug-in is running.
        error_of(status, unsafe { &mut *self.error })
    }

    /// Passes what a lookup returned to the visitor.
    #[inline]
    fn show(
        &mut self,
        status: Status,
        value: Slice,
        visitor: &mut ValueVisitor<'_>,
    ) -> Result<bool> {
        match status {
            abi::OK => {
                // SAFETY: the plug-in returned it, and no further call has been made.
                visitor(unsafe { bytes(value, "a value", self.limits.lengths.value_bytes)? });
                Ok(true)
            }
            abi::NOT_FOUND => Ok(false),
            other => Err(self.failure(other)),
        }
    }

    /// Shows the records of a scan that has begun, of which the first is in the batch if `count`
    /// is 1.
    fn show_records(&mut self, mut count: u32, visitor: &mut RecordVisitor<'_>) -> Result<u64> {
        let lengths = self.limits.lengths;
        let mut capacity = 1;
        let mut shown = 0;
        loop {
            if count > capacity {
                return Err(Error::engine(format!(
                    "the plug-in returned {count} records of a scan that asked for {capacity}"
                )));
            }
            for record in &self.records[..count as usize] {
                // SAFETY: the plug-in returned them, and no further call has been made.
                let (key, value) = unsafe {
                    let key = bytes(record.key, "a key", lengths.key_bytes)?;
                    (key, bytes(record.value, "a value", lengths.value_bytes)?)
                };
                shown += 1;
                if visitor(key, value).is_break() {
                    return Ok(shown);
                }
            }
            if count < capacity {
                return Ok(shown);
            }
            capacity = (2 * capacity).min(self.limits.scan_batch);
            count = 0;
            let records = self.records.as_mut_ptr();
            // SAFETY: the scan has begun, and the batch has room for `capacity` records.
            let status = unsafe {
                (self.functions.scan_next)(self.handle, records, capacity, &raw mut count)
            };
            self.check(status)?;
        }
    }
}

/// A scan that has begun; it ends when this is dropped.
struct RunningScan {
    end: SessionEnd,
    handle: *mut SessionHandle,
}

impl Drop for RunningScan {
    fn drop(&mut self) {
        // SAFETY: the scan of this open session has begun, and nothing else has ended it.
        unsafe { (self.end)(self.handle) };
    }
}

const EMPTY_RECORD: Record = Record {
    key: Slice::EMPTY,
    value: Slice::EMPTY,
};

/// What the plug-in says is a key or a value.
///
/// # Safety
/// The plug-in returned it from its last call, so that the bytes are there.
#[inline]
unsafe fn bytes<'a>(slice: Slice, what: &str, max_bytes: usize) -> Result<&'a [u8]> {
    if slice.size == 0 {
        return Ok(&[]);
    }
    if slice.size > max_bytes || slice.data.is_null() {
        return Err(impossible(slice, what, max_bytes));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(slice.data.cast(), slice.size) })
}

#[cold]
fn impossible(slice: Slice, what: &str, max_bytes: usize) -> Error {
    let size = slice.size;
    Error::engine(if slice.data.is_null() {
        format!("the plug-in returned {what} of {size} bytes at no address")
    } else {
        format!("the plug-in returned {what} of {size} bytes; it describes {max_bytes} as the most")
    })
}

/// The same keys, by ends that are no longer than a key: a longer one is between its beginning and
/// the next key.
fn shortened(range: KeyRange<'_>, max_bytes: usize) -> KeyRange<'_> {
    KeyRange {
        lower: match range.lower {
            Bound::Included(key) | Bound::Excluded(key) if key.len() > max_bytes => {
                Bound::Excluded(&key[..max_bytes])
            }
            other => other,
        },
        upper: match range.upper {
            Bound::Included(key) | Bound::Excluded(key) if key.len() > max_bytes => {
                Bound::Included(&key[..max_bytes])
            }
            other => other,
        },
    }
}

fn bound(bound: Bound<&[u8]>) -> (u32, Slice) {
    match bound {
        Bound::Unbounded => (abi::UNBOUNDED, Slice::EMPTY),
        Bound::Included(key) => (abi::INCLUDED, Slice::of(key)),
        Bound::Excluded(key) => (abi::EXCLUDED, Slice::of(key)),
    }
}

impl Session for PluginSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        require_closed(self.open)?;
        let number = match mode {
            Mode::Read => 0,
            Mode::Write => 1,
        };
        // SAFETY: the session is open, on the thread that made it; so are those of the calls below.
        let status = unsafe { (self.functions.begin)(self.handle, number) };
        self.check(status)?;
        self.open = Some(mode);
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        require_open(self.open)?;
        if key.len() > self.limits.lengths.key_bytes {
            return Ok(false);
        }
        let mut value = Slice::EMPTY;
        let key = Slice::of(key);
        // SAFETY: see `begin`; the key is there during the call.
        let status =
            unsafe { (self.functions.get)(self.handle, key.data, key.size, &raw mut value) };
        self.show(status, value, visitor)
    }

    fn point_read(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let Some(point_get) = self.functions.point_get else {
            return read_in_transaction(self, key, visitor);
        };
        require_closed(self.open)?;
        if key.len() > self.limits.lengths.key_bytes {
            return Ok(false);
        }
        let mut value = Slice::EMPTY;
        let key = Slice::of(key);
        // SAFETY: see `begin`; the key is there during the call.
        let status = unsafe { point_get(self.handle, key.data, key.size, &raw mut value) };
        self.show(status, value, visitor)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        require_write(self.open)?;
        self.limits.lengths.check(key, value)?;
        let (key, value) = (Slice::of(key), Slice::of(value));
        // SAFETY: see `begin`; key and value are there during the call.
        let status = unsafe {
            (self.functions.put)(self.handle, key.data, key.size, value.data, value.size)
        };
        self.check(status)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        require_write(self.open)?;
        self.limits.lengths.check(key, &[])?;
        let key = Slice::of(key);
        // SAFETY: see `begin`; the key is there during the call.
        let status = unsafe { (self.functions.remove)(self.handle, key.data, key.size) };
        self.check(status)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        require_open(self.open)?;
        let range = shortened(range, self.limits.lengths.key_bytes);
        if range.is_empty() {
            return Ok(0);
        }
        let (lower_kind, lower) = bound(range.lower);
        let (upper_kind, upper) = bound(range.upper);
        let range = Range {
            size: size_of::<Range>() as u32,
            lower_kind,
            upper_kind,
            backward: u32::from(direction == Direction::Backward),
            lower,
            upper,
        };
        let mut count = 0;
        let records = self.records.as_mut_ptr();
        // SAFETY: see `begin`; the range is there during the call, and the batch has room for one
        // record at least.
        let status = unsafe {
            (self.functions.scan_begin)(self.handle, &raw const range, records, 1, &raw mut count)
        };
        self.check(status)?;
        // It ends the scan also if the visitor panics.
        let _running = RunningScan {
            end: self.functions.scan_end,
            handle: self.handle,
        };
        self.show_records(count, visitor)
    }

    fn commit(&mut self) -> Result<()> {
        require_open(self.open)?;
        self.open = None;
        // SAFETY: see `begin`.
        let status = unsafe { (self.functions.commit)(self.handle) };
        self.check(status)
    }

    fn abort(&mut self) -> Result<()> {
        require_open(self.open)?;
        self.open = None;
        // SAFETY: see `begin`.
        let status = unsafe { (self.functions.abort)(self.handle) };
        self.check(status)
    }

    fn flush_counters(&mut self) -> Result<()> {
        let Some(flush) = self.functions.flush_counters else {
            return Ok(());
        };
        // SAFETY: see `begin`.
        let status = unsafe { flush(self.handle) };
        self.check(status)
    }
}

impl Drop for PluginSession<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: see `begin`; it is the last call on this session.
            unsafe { (self.functions.close)(self.handle) };
        }
        // SAFETY: it was boxed when the session was made, and the plug-in has closed the session.
        drop(unsafe { Box::from_raw(self.error) });
    }
}
