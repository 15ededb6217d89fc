//! The look-up of several keys in one call of the library.

use super::api::{Handle, MultiGet};
use super::store::{LsmDatabase, ValueAccess, bytes, classify, take_text};
use std::ffi::c_char;
use std::ptr;
use trueput_engine::{BatchVisitor, Error, KeyBatch, Result};

/// What a call takes and fills, one element for each key. They are kept for the next call.
#[derive(Default)]
pub(super) struct LookupArrays {
    keys: Vec<*const u8>,
    key_bytes: Vec<usize>,
    copies: Vec<*mut u8>,
    value_bytes: Vec<usize>,
    pinned: Vec<Handle>,
    errors: Vec<*mut c_char>,
}

impl LookupArrays {
    /// Looks the keys up with these read options, and shows the values.
    pub(super) fn look_up(
        &mut self,
        store: &LsmDatabase,
        multi_get: &MultiGet,
        options: Handle,
        keys: &KeyBatch,
        visitor: &mut BatchVisitor<'_>,
    ) -> Result<u64> {
        if keys.is_empty() {
            return Ok(0);
        }
        self.take_keys(keys);
        match *multi_get {
            MultiGet::Copied(get) => {
                self.copies.resize(keys.len(), ptr::null_mut());
                self.value_bytes.resize(keys.len(), 0);
                // SAFETY: the database is open and the options live; each array has an element for
                // each key, and the keys outlive the call.
                unsafe {
                    get(
                        store.database,
                        options,
                        keys.len(),
                        self.keys.as_ptr(),
                        self.key_bytes.as_ptr(),
                        self.copies.as_mut_ptr(),
                        self.value_bytes.as_mut_ptr(),
                        self.errors.as_mut_ptr(),
                    );
                }
                let found = self.show_copies(store, visitor);
                self.first_error(store).map_or(Ok(found), Err)
            }
            MultiGet::Pinned {
                get,
                database,
                column_family,
            } => {
                self.pinned.resize(keys.len(), ptr::null_mut());
                let is_sorted = false;
                // SAFETY: as above; the column family is the database's.
                unsafe {
                    get(
                        database,
                        options,
                        column_family,
                        keys.len(),
                        self.keys.as_ptr(),
                        self.key_bytes.as_ptr(),
                        self.pinned.as_mut_ptr(),
                        self.errors.as_mut_ptr(),
                        is_sorted,
                    );
                }
                let found = self.show_pinned(store, visitor);
                self.first_error(store).map_or(Ok(found), Err)
            }
        }
    }

    /// Notes where the keys are.
    fn take_keys(&mut self, keys: &KeyBatch) {
        self.keys.clear();
        self.key_bytes.clear();
        for key in keys.keys_from(0) {
            self.keys.push(key.as_ptr());
            self.key_bytes.push(key.len());
        }
        self.errors.clear();
        self.errors.resize(keys.len(), ptr::null_mut());
    }

    /// Shows and frees the copies; returns their number.
    fn show_copies(&mut self, store: &LsmDatabase, visitor: &mut BatchVisitor<'_>) -> u64 {
        let mut found = 0;
        let copies = self.copies.drain(..).zip(self.value_bytes.drain(..));
        for (position, (copy, length)) in copies.enumerate() {
            if copy.is_null() {
                continue;
            }
            found += 1;
            // SAFETY: the library allocated that many bytes, ours until they are freed.
            unsafe {
                visitor(position, bytes(copy, length));
                (store.api.free)(copy.cast());
            }
        }
        found
    }

    /// Shows and releases the pinned values; returns their number.
    fn show_pinned(&mut self, store: &LsmDatabase, visitor: &mut BatchVisitor<'_>) -> u64 {
        let ValueAccess::Pinned { value, release, .. } = store.get else {
            return 0;
        };
        let mut found = 0;
        for (position, pinned) in self.pinned.drain(..).enumerate() {
            if pinned.is_null() {
                continue;
            }
            found += 1;
            let mut length = 0;
            // SAFETY: the value stays where it is until it is released, after the visitor is done.
            unsafe {
                let from = value(pinned, &raw mut length);
                visitor(position, bytes(from, length));
                release(pinned);
            }
        }
        found
    }

    /// The first error, if there is one; all of them are freed.
    fn first_error(&mut self, store: &LsmDatabase) -> Option<Error> {
        let mut first = None;
        for error in self.errors.drain(..).filter(|error| !error.is_null()) {
            // SAFETY: the library left an error's text there, ours to free.
            let text = unsafe { take_text(error, store.api.free) };
            first.get_or_insert_with(|| classify(text));
        }
        first
    }
}
