//! A transaction's own writes, to be read back before they are committed.

use super::api::{Handle, LsmFunctions};
use super::store::bytes;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::Bound;
use trueput_engine::{Direction, KeyRange};

/// A key and its new value; `None` is a delete.
type Write<'o> = (&'o [u8], Option<&'o [u8]>);

/// The writes by key; `None` is a delete.
#[derive(Default)]
pub(crate) struct Overlay(BTreeMap<Vec<u8>, Option<Vec<u8>>>);

impl Overlay {
    /// The writes of a batch.
    pub(crate) fn of(api: &LsmFunctions, batch: Handle) -> Self {
        let mut overlay = Self::default();
        let state = (&raw mut overlay).cast();
        // SAFETY: the batch lives; the library calls the functions during this call only, with the
        // overlay as their state.
        unsafe { (api.writebatch_iterate)(batch, state, show_put, show_delete) };
        overlay
    }

    /// Records a put or a delete.
    pub(crate) fn write(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.0.insert(key.to_vec(), value.map(<[u8]>::to_vec));
    }

    /// Returns the transaction's write of `key`, if any.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.0.get(key).map(Option::as_deref)
    }

    /// The writes in `range`, which is not empty, in the order of `direction`.
    pub(crate) fn range<'o>(
        &'o self,
        range: &KeyRange<'_>,
        direction: Direction,
    ) -> Box<dyn Iterator<Item = Write<'o>> + 'o> {
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (range.lower, range.upper);
        let writes = self.0.range::<[u8], _>(bounds);
        let writes = writes.map(|(key, value)| (key.as_slice(), value.as_deref()));
        match direction {
            Direction::Forward => Box::new(writes),
            Direction::Backward => Box::new(writes.rev()),
        }
    }
}

/// # Safety
/// `state` is an overlay that nobody else uses, and the pointers show as many bytes as stated.
unsafe extern "C" fn show_put(
    state: *mut c_void,
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
) {
    // SAFETY: as `Overlay::of` calls it.
    unsafe {
        let value = bytes(value, value_bytes);
        let key = bytes(key, key_bytes);
        (*state.cast::<Overlay>()).write(key, Some(value));
    }
}

/// # Safety
/// As [`show_put`].
unsafe extern "C" fn show_delete(state: *mut c_void, key: *const u8, key_bytes: usize) {
    // SAFETY: as `Overlay::of` calls it.
    unsafe {
        let key = bytes(key, key_bytes);
        (*state.cast::<Overlay>()).write(key, None);
    }
}
