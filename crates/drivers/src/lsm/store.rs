//! An open database, with its options for reads and writes.

use super::api::{ErrorPointer, Handle, LsmFunctions, MultiGet, ReadFunctions};
use super::write_lock::WriteLock;
use std::ffi::{CStr, CString, c_char};
use std::ptr;
use trueput_engine::common_errors::LengthLimits;
use trueput_engine::{Error, RecordSource, Result, ValueVisitor};

/// The way in which a value is read.
#[derive(Clone, Copy)]
pub(crate) enum ValueAccess {
    /// A copy that the library allocates.
    Copied,
    /// A reference into the library's memory.
    Pinned {
        get: unsafe extern "C" fn(Handle, Handle, *const u8, usize, ErrorPointer) -> Handle,
        value: unsafe extern "C" fn(Handle, *mut usize) -> *const u8,
        release: unsafe extern "C" fn(Handle),
    },
}

/// An open database. Its owner closes it; sessions borrow it.
pub(crate) struct LsmDatabase {
    pub(crate) api: LsmFunctions,
    pub(crate) reads: ReadFunctions,
    pub(crate) get: ValueAccess,
    /// `None` if the library looks up one key at a time.
    pub(crate) multi_get: Option<MultiGet>,
    /// `None` if the library has none.
    pub(crate) loader: Option<Box<dyn BulkLoader>>,
    pub(crate) database: Handle,
    /// The write options of a commit: whether it is synced.
    pub(crate) write_options: Handle,
    /// Sets a read option that every reader of this database needs.
    pub(crate) set_read_options: Option<unsafe extern "C" fn(Handle, u8)>,
    pub(crate) limits: LengthLimits,
    pub(crate) write_lock: WriteLock,
}

/// Loads records in the order of their keys by other means than transactions.
pub(crate) trait BulkLoader: Send + Sync {
    /// Loads all records, durable at the end.
    ///
    /// # Errors
    /// Errors of the library; a record that is too long.
    fn load(&self, store: &LsmDatabase, records: &mut dyn RecordSource) -> Result<()>;
}

// SAFETY: LevelDB and its descendants allow a database and its options to be used by several
// threads without locks (`doc/index.md`, Concurrency); the rest is plain data.
unsafe impl Send for LsmDatabase {}
// SAFETY: as above.
unsafe impl Sync for LsmDatabase {}

impl LsmDatabase {
    /// Calls a function that leaves its error, if any, in the pointer that it is given.
    #[inline]
    pub(crate) fn call<T>(&self, function: impl FnOnce(ErrorPointer) -> T) -> Result<T> {
        check(self.api.free, function)
    }

    /// Shows the value of `key`, read with these options, to `visitor`.
    #[inline]
    pub(crate) fn read(
        &self,
        options: Handle,
        key: &[u8],
        visitor: &mut ValueVisitor<'_>,
    ) -> Result<bool> {
        let (from, length) = (key.as_ptr(), key.len());
        match self.get {
            ValueAccess::Copied => {
                let mut value_bytes = 0;
                // SAFETY: the database is open and the options live; key and out-pointers outlive
                // the call.
                let copy = self.call(|error| unsafe {
                    (self.reads.get)(
                        self.database,
                        options,
                        from,
                        length,
                        &raw mut value_bytes,
                        error,
                    )
                })?;
                if copy.is_null() {
                    return Ok(false);
                }
                // SAFETY: the copy has that many bytes and is ours until it is freed.
                visitor(unsafe { bytes(copy, value_bytes) });
                // SAFETY: the library allocated it, and it is not used any more.
                unsafe { (self.api.free)(copy.cast()) };
                Ok(true)
            }
            ValueAccess::Pinned { get, .. } => {
                // SAFETY: as above.
                let pinned =
                    self.call(|error| unsafe { get(self.database, options, from, length, error) })?;
                Ok(self.show_pinned(pinned, visitor))
            }
        }
    }

    /// Shows a pinned value, if it is one, and releases it.
    #[inline]
    pub(crate) fn show_pinned(&self, pinned: Handle, visitor: &mut ValueVisitor<'_>) -> bool {
        let ValueAccess::Pinned { value, release, .. } = self.get else {
            return false;
        };
        if pinned.is_null() {
            return false;
        }
        let mut value_bytes = 0;
        // SAFETY: the value stays where it is until it is released, after the visitor is done.
        unsafe {
            let from = value(pinned, &raw mut value_bytes);
            visitor(bytes(from, value_bytes));
            release(pinned);
        }
        true
    }

    /// Loads records by the library's own loader; `false`, with none taken, if it has none.
    pub(crate) fn bulk_load(&self, records: &mut dyn RecordSource) -> Result<bool> {
        match &self.loader {
            Some(loader) => loader.load(self, records).map(|()| true),
            None => Ok(false),
        }
    }

    /// A property of the database, as text; `None` if the library has no such property.
    pub(crate) fn property(&self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        // SAFETY: the database is open; the text that is returned is ours to free.
        unsafe {
            let text = (self.reads.property_value)(self.database, name.as_ptr());
            (!text.is_null()).then(|| take_text(text, self.api.free))
        }
    }
}

/// Converts the library's pointer and length to a slice; the pointer may be null if the length is
/// 0.
///
/// # Safety
/// `from` points to that many bytes, which nobody changes or frees during `'v`.
#[inline]
pub(crate) unsafe fn bytes<'v>(from: *const u8, length: usize) -> &'v [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(from, length) }
}

/// Calls a function that leaves its error, if any, in the pointer that it is given.
#[inline]
pub(crate) fn check<T>(
    free: unsafe extern "C" fn(Handle),
    function: impl FnOnce(ErrorPointer) -> T,
) -> Result<T> {
    let mut error: *mut c_char = ptr::null_mut();
    let result = function(&raw mut error);
    if error.is_null() {
        return Ok(result);
    }
    // SAFETY: the library left an error's text there, ours to free.
    Err(classify(unsafe { take_text(error, free) }))
}

/// Copies a text of the library's and frees it.
///
/// # Safety
/// `text` ends in a zero byte and is to be freed by the caller with `free`.
pub(crate) unsafe fn take_text(text: *mut c_char, free: unsafe extern "C" fn(Handle)) -> String {
    // SAFETY: the caller's promise.
    unsafe {
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        free(text.cast());
        copy
    }
}

/// The contract's error for a status, which these libraries give as text only.
#[cold]
pub(super) fn classify(text: String) -> Error {
    const CONFLICTS: [&str; 4] = [
        "Resource busy",
        "Operation timed out",
        "Operation failed. Try again",
        "Operation aborted",
    ];
    // The subcode of a status follows its code.
    const DEADLOCK: &str = "Resource busy: Deadlock";
    const FULL: [&str; 3] = [
        "No space left on device",
        "Disk quota exceeded",
        "File too large",
    ];
    if text.starts_with(DEADLOCK) {
        Error::Deadlock(text)
    } else if CONFLICTS.iter().any(|conflict| text.starts_with(conflict)) {
        Error::Conflict(text)
    } else if FULL.iter().any(|full| text.contains(full)) {
        Error::Full(text)
    } else {
        Error::engine(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_not_had_is_a_conflict_and_a_full_disk_is_full() {
        let conflict = classify("Operation timed out: Timeout waiting to lock key".to_owned());
        assert!(conflict.is_conflict());
        let busy = classify("Resource busy: ".to_owned());
        assert!(busy.is_conflict() && !busy.is_deadlock());
        assert!(classify("Resource busy: Deadlock".to_owned()).is_deadlock());
        let full = "IO error: No space left on device: While appending to file: 000004.log";
        assert!(matches!(classify(full.to_owned()), Error::Full(_)));
        let other = classify("Corruption: block checksum mismatch".to_owned());
        assert!(matches!(other, Error::Engine { .. }));
    }
}
