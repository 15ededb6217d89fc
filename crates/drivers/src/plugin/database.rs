//! A database of a plug-in.

use super::abi::{self, DatabaseHandle, ErrorText, NamedValue, Open, Slice, Values, ValuesCall};
use super::description::PluginLimits;
use super::error::error_of;
use super::session::PluginSession;
use super::table::PluginTable;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use trueput_engine::{Database, Durability, Error, OpenSpec, Parameter, Result, Session, Value};

/// An open database.
pub(super) struct PluginDatabase {
    table: &'static PluginTable,
    handle: *mut DatabaseHandle,
    limits: PluginLimits,
}

// SAFETY: the header has plug-ins take calls on a database from any thread, several at once.
unsafe impl Send for PluginDatabase {}
// SAFETY: as above.
unsafe impl Sync for PluginDatabase {}

impl PluginDatabase {
    /// Opens the database.
    pub(super) fn open(
        table: &'static PluginTable,
        spec: &OpenSpec<'_>,
        knobs: &[Parameter],
        limits: PluginLimits,
    ) -> Result<Self> {
        let mut handle = ptr::null_mut();
        with_open(spec, knobs, |open, error| {
            // SAFETY: as the header asks; all that `open` points to is there during the call.
            unsafe { (table.database.open)(open, &raw mut handle, error) }
        })?;
        if handle.is_null() {
            return Err(Error::engine("the plug-in opened no database"));
        }
        Ok(Self {
            table,
            handle,
            limits,
        })
    }

    /// Closes it, if that was not done yet.
    fn close_handle(&mut self) -> Result<()> {
        let handle = std::mem::replace(&mut self.handle, ptr::null_mut());
        if handle.is_null() {
            return Ok(());
        }
        let mut error = ErrorText::new();
        // SAFETY: the sessions borrow from the database, so none is open; it is the last call.
        let status = unsafe { (self.table.database.close)(handle, &raw mut error) };
        check(status, &mut error)
    }

    fn values(&self, call: ValuesCall) -> Result<BTreeMap<String, Value>> {
        let mut collected = Ok(BTreeMap::<String, Value>::new());
        let values = Values {
            size: size_of::<Values>() as u32,
            reserved: 0,
            context: (&raw mut collected).cast(),
            value: collect,
        };
        let mut error = ErrorText::new();
        // SAFETY: the database is open, and `collect` takes what the context points to.
        let status = unsafe { call(self.handle, &raw const values, &raw mut error) };
        check(status, &mut error)?;
        collected
    }
}

fn check(status: abi::Status, error: &mut ErrorText) -> Result<()> {
    match status {
        abi::OK => Ok(()),
        other => Err(error_of(other, error)),
    }
}

/// Takes a value that a plug-in reports.
///
/// # Safety
/// `context` points to the result, and `value` to a value as the header describes it.
unsafe extern "C" fn collect(context: *mut c_void, value: *const NamedValue) {
    // SAFETY: the caller's promise.
    let (collected, value) = unsafe {
        (
            &mut *context.cast::<Result<BTreeMap<String, Value>>>(),
            value.as_ref(),
        )
    };
    let Ok(values) = collected else {
        return;
    };
    let Some(value) = value.filter(|value| value.size as usize >= size_of::<NamedValue>()) else {
        return;
    };
    let text = match value.kind {
        abi::INTEGER | abi::REAL | abi::BOOLEAN => Slice::EMPTY,
        _ => value.text,
    };
    // SAFETY: the same.
    let (name, text) = match unsafe { (text_of(value.name), text_of(text)) } {
        (Ok(name), Ok(text)) => (name, text),
        (Err(error), _) | (_, Err(error)) => {
            *collected = Err(error);
            return;
        }
    };
    let value = match value.kind {
        abi::INTEGER => Value::Integer(value.integer),
        abi::REAL if value.real.is_finite() => Value::Float(value.real),
        abi::REAL => Value::Text(value.real.to_string()),
        abi::BOOLEAN => Value::Boolean(value.integer != 0),
        _ => Value::Text(text),
    };
    values.insert(name, value);
}

/// The most bytes in the name or the text of a reported value.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// # Errors
/// A size that no name or text has, or bytes that are nowhere.
///
/// # Safety
/// The slice is one that a plug-in passes to a callback.
unsafe fn text_of(slice: Slice) -> Result<String> {
    let Slice { data, size } = slice;
    if size == 0 {
        return Ok(String::new());
    }
    if data.is_null() || size > MAX_TEXT_BYTES {
        let place = if data.is_null() { " at NULL" } else { "" };
        return Err(Error::engine(format!(
            "the plug-in reports a value with a name or a text of {size} bytes{place}; at most \
             {MAX_TEXT_BYTES} are read"
        )));
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// Calls a plug-in with what opens a database.
pub(super) fn with_open(
    spec: &OpenSpec<'_>,
    knobs: &[Parameter],
    call: impl FnOnce(*const Open, *mut ErrorText) -> abi::Status,
) -> Result<()> {
    let value = |knob: &Parameter| {
        let value = spec.knobs.get(knob.name);
        let value = value.cloned().unwrap_or_else(|| knob.kind.default_value());
        (knob.name, value)
    };
    let values: Vec<(&str, Value)> = knobs.iter().map(value).collect();
    let named = |(name, value): &(&str, Value)| named_value(name, value);
    let named: Vec<NamedValue> = values.iter().map(named).collect();
    let pointers: Vec<*const NamedValue> = named.iter().map(ptr::from_ref).collect();
    let directory = std::path::absolute(spec.directory);
    let directory = directory.unwrap_or_else(|_| spec.directory.to_owned());
    let open = Open {
        size: size_of::<Open>() as u32,
        durability: match spec.durability {
            Durability::Sync => 0,
            Durability::Async => 1,
            Durability::Buffered => 2,
            Durability::Process => 3,
            Durability::None => 4,
        },
        sessions: spec.sessions,
        knob_count: pointers.len() as u32,
        directory: Slice::of(directory.as_os_str().as_bytes()),
        knobs: if pointers.is_empty() {
            ptr::null()
        } else {
            pointers.as_ptr()
        },
    };
    let mut error = ErrorText::new();
    let status = call(&raw const open, &raw mut error);
    check(status, &mut error)
}

fn named_value(name: &str, value: &Value) -> NamedValue {
    let mut named = NamedValue {
        size: size_of::<NamedValue>() as u32,
        kind: abi::INTEGER,
        name: Slice::of(name.as_bytes()),
        integer: 0,
        real: 0.0,
        text: Slice::EMPTY,
    };
    match value {
        Value::Integer(number) => named.integer = *number,
        Value::Boolean(value) => (named.kind, named.integer) = (abi::BOOLEAN, i64::from(*value)),
        Value::Float(number) => (named.kind, named.real) = (abi::REAL, *number),
        Value::Text(text) => (named.kind, named.text) = (abi::TEXT, Slice::of(text.as_bytes())),
    }
    named
}

impl Database for PluginDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        // SAFETY: the session borrows from the database, which stays open meanwhile.
        let session = unsafe { PluginSession::new(self.table, self.handle, self.limits)? };
        Ok(Box::new(session))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let counters = self.table.database.counters;
        counters.map_or_else(|| Ok(BTreeMap::new()), |counters| self.values(counters))
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        self.values(self.table.database.settings)
    }

    fn checkpoint(&self) -> Result<()> {
        let mut error = ErrorText::new();
        // SAFETY: the database is open.
        let status = unsafe { (self.table.database.checkpoint)(self.handle, &raw mut error) };
        check(status, &mut error)
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        self.close_handle()
    }
}

impl Drop for PluginDatabase {
    fn drop(&mut self) {
        if let Err(error) = self.close_handle() {
            // A drop cannot report: whoever has to know closes the database instead.
            eprintln!("the plug-in could not close its database: {error}");
        }
    }
}
