//! trueput_engine.h in Rust, interface version 1.0: implement [`Database`] and [`Session`], and call
//! [`export_engine!`] once. The header describes each function.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a call failed.
#[derive(Debug)]
pub struct Failure {
    /// Whether trueput aborts and retries, and how it counts the failure.
    pub kind: FailureKind,
    /// The engine's own code; 0 if it has none.
    pub code: i64,
    /// What went wrong, for people.
    pub text: String,
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "an engine returns some of them")]
pub enum FailureKind {
    /// Another transaction interfered.
    Conflict = 2,
    /// A conflict that the engine reports as a deadlock.
    Deadlock = 3,
    /// The engine cannot do that at all.
    Unsupported = 4,
    /// The disk or another limit is full.
    Full = 5,
    /// Anything else.
    Engine = 6,
}

impl Failure {
    /// A failure without a code.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            kind,
            code: 0,
            text,
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let is_full = matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge);
        let kind = if is_full {
            FailureKind::Full
        } else {
            FailureKind::Engine
        };
        let code = error.raw_os_error().unwrap_or(0).into();
        let text = error.to_string();
        Self { kind, code, text }
    }
}

/// A level of durability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "trueput_engine.h states the promise of each")]
pub enum Durability {
    Sync,
    Async,
    Buffered,
    Process,
    None,
}

/// The kind of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum Mode {
    Read,
    Write,
}

/// The value of a knob, or one that the engine reports.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum Value {
    Integer(i64),
    Real(f64),
    Boolean(bool),
    Text(String),
}

/// How a database is opened.
#[derive(Debug)]
#[allow(dead_code, reason = "an engine uses some of it")]
pub struct Open {
    /// An existing folder for this database only.
    pub directory: std::path::PathBuf,
    /// The level that each commit must reach.
    pub durability: Durability,
    /// The most sessions at once.
    pub sessions: u32,
    knobs: Vec<(String, Value)>,
}

#[allow(dead_code, reason = "an engine uses some of it")]
impl Open {
    /// The value of the knob of that name, if it is described.
    pub fn knob(&self, name: &str) -> Option<&Value> {
        let knob = self.knobs.iter().find(|(known, _)| known == name)?;
        Some(&knob.1)
    }

    /// The knob of that name, if it is a whole number, or a size.
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.knob(name)? {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The knob of that name, if it is a fraction, or a duration in seconds.
    pub fn real(&self, name: &str) -> Option<f64> {
        match self.knob(name)? {
            Value::Real(number) => Some(*number),
            _ => None,
        }
    }

    /// The knob of that name, if it is on or off.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        match self.knob(name)? {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// The knob of that name, if it is a choice, a text, or the word of its default.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.knob(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The keys that a scan covers.
pub struct Range<'a> {
    /// The low end.
    pub lower: std::ops::Bound<&'a [u8]>,
    /// The high end.
    pub upper: std::ops::Bound<&'a [u8]>,
    /// By descending key.
    pub is_backward: bool,
}

/// An open database.
pub trait Database: Sized + Send + Sync + 'static {
    /// Its sessions.
    type Session<'d>: Session
    where
        Self: 'd;

    fn open(open: &Open) -> Result<Self, Failure>;
    fn session(&self) -> Result<Self::Session<'_>, Failure>;
    fn checkpoint(&self) -> Result<(), Failure>;
    fn settings(&self) -> Vec<(&'static str, Value)>;
    fn counters(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
    fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}

/// One worker's session. What it returns is borrowed from it, until the next call.
pub trait Session {
    fn begin(&mut self, mode: Mode) -> Result<(), Failure>;
    fn commit(&mut self) -> Result<(), Failure>;
    fn abort(&mut self) -> Result<(), Failure>;
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Failure>;
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure>;
    fn remove(&mut self, key: &[u8]) -> Result<(), Failure>;
    fn scan(&mut self, range: Range<'_>) -> Result<(), Failure>;
    /// The next record of the scan; not called again after its end. `scan_batch` of the description
    /// is 1.
    #[allow(clippy::should_implement_trait, reason = "the record is lent")]
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>, Failure>;
    fn end_scan(&mut self) {}
}

/// Exports a database type as the plug-in's engine, and a file as its description.
#[macro_export]
macro_rules! export_engine {
    ($database:ty, $description:literal) => {
        const DESCRIPTION_SIZE: usize = include_bytes!($description).len();

        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals, reason = "the interface gives the name")]
        pub static trueput_engine_v1_description: [u8; DESCRIPTION_SIZE] =
            *include_bytes!($description);

        #[unsafe(no_mangle)]
        pub extern "C" fn trueput_engine_v1(
            _host: *const std::ffi::c_void,
        ) -> *const $crate::trueput_engine::Engine {
            &const { $crate::trueput_engine::Tables::<$database>::ENGINE }.0
        }
    };
}

type Status = i32;
const OK: Status = 0;
const NOT_FOUND: Status = 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Slice {
    data: *const u8,
    size: usize,
}

#[repr(C)]
pub struct Record {
    key: Slice,
    value: Slice,
}

#[repr(C)]
pub struct ErrorText {
    code: i64,
    text_size: u32,
    reserved: u32,
    text: [u8; 496],
}

#[repr(C)]
pub struct NamedValue {
    size: u32,
    kind: u32,
    name: Slice,
    integer: i64,
    real: f64,
    text: Slice,
}

#[repr(C)]
pub struct OpenText {
    size: u32,
    durability: u32,
    sessions: u32,
    knob_count: u32,
    directory: Slice,
    knobs: *const *const NamedValue,
}

#[repr(C)]
pub struct RangeText {
    size: u32,
    lower_kind: u32,
    upper_kind: u32,
    backward: u32,
    lower: Slice,
    upper: Slice,
}

#[repr(C)]
pub struct Values {
    size: u32,
    reserved: u32,
    context: *mut c_void,
    value: unsafe extern "C" fn(*mut c_void, *const NamedValue),
}

#[repr(C)]
pub struct DatabaseApi<D: Database> {
    size: u32,
    reserved: u32,
    open: unsafe extern "C" fn(*const OpenText, *mut *mut D, *mut ErrorText) -> Status,
    close: unsafe extern "C" fn(*mut D, *mut ErrorText) -> Status,
    session: unsafe extern "C" fn(*mut D, *mut ErrorText, *mut *mut OpenSession<D>) -> Status,
    checkpoint: unsafe extern "C" fn(*mut D, *mut ErrorText) -> Status,
    settings: unsafe extern "C" fn(*mut D, *const Values, *mut ErrorText) -> Status,
    counters: unsafe extern "C" fn(*mut D, *const Values, *mut ErrorText) -> Status,
    check_files: Option<unsafe extern "C" fn()>,
    prepare_after_power_loss: Option<unsafe extern "C" fn()>,
}

#[repr(C)]
pub struct SessionApi<D: Database> {
    size: u32,
    reserved: u32,
    begin: unsafe extern "C" fn(*mut OpenSession<D>, u32) -> Status,
    commit: unsafe extern "C" fn(*mut OpenSession<D>) -> Status,
    abort: unsafe extern "C" fn(*mut OpenSession<D>) -> Status,
    get: unsafe extern "C" fn(*mut OpenSession<D>, *const u8, usize, *mut Slice) -> Status,
    put: unsafe extern "C" fn(*mut OpenSession<D>, *const u8, usize, *const u8, usize) -> Status,
    remove: unsafe extern "C" fn(*mut OpenSession<D>, *const u8, usize) -> Status,
    scan_begin: unsafe extern "C" fn(
        *mut OpenSession<D>,
        *const RangeText,
        *mut Record,
        u32,
        *mut u32,
    ) -> Status,
    scan_next: unsafe extern "C" fn(*mut OpenSession<D>, *mut Record, u32, *mut u32) -> Status,
    scan_end: unsafe extern "C" fn(*mut OpenSession<D>),
    close: unsafe extern "C" fn(*mut OpenSession<D>),
    point_get: Option<unsafe extern "C" fn()>,
    flush_counters: Option<unsafe extern "C" fn()>,
}

#[repr(C)]
pub struct Engine {
    magic: u32,
    size: u32,
    major: u32,
    minor: u32,
    database: *const c_void,
    session: *const c_void,
}

/// A table, which nothing changes.
pub struct Shared<T>(pub T);

// SAFETY: its pointers lead to constants.
unsafe impl<T> Sync for Shared<T> {}

/// A session, with where its errors go.
pub struct OpenSession<D: Database> {
    session: D::Session<'static>,
    error: *mut ErrorText,
    is_open: bool,
}

/// The tables for a type of databases.
pub struct Tables<D>(std::marker::PhantomData<D>);

impl<D: Database> Tables<D> {
    const DATABASE: DatabaseApi<D> = DatabaseApi {
        size: size_of::<DatabaseApi<D>>() as u32,
        reserved: 0,
        open: open::<D>,
        close: close::<D>,
        session: session::<D>,
        checkpoint: checkpoint::<D>,
        settings: settings::<D>,
        counters: counters::<D>,
        check_files: None,
        prepare_after_power_loss: None,
    };
    const SESSION: SessionApi<D> = SessionApi {
        size: size_of::<SessionApi<D>>() as u32,
        reserved: 0,
        begin: begin::<D>,
        commit: commit::<D>,
        abort: abort::<D>,
        get: get::<D>,
        put: put::<D>,
        remove: remove::<D>,
        scan_begin: scan_begin::<D>,
        scan_next: scan_next::<D>,
        scan_end: scan_end::<D>,
        close: close_session::<D>,
        point_get: None,
        flush_counters: None,
    };
    pub const ENGINE: &'static Shared<Engine> = &Shared(Engine {
        magic: 0x3150_5254,
        size: size_of::<Engine>() as u32,
        major: 1,
        minor: 0,
        database: (&raw const *const { &Self::DATABASE }).cast(),
        session: (&raw const *const { &Self::SESSION }).cast(),
    });
}

/// Runs a call; a failure or a panic becomes a status and a text. Nothing unwinds into trueput.
///
/// # Safety
/// `error` is trueput's, for this call.
unsafe fn guarded(error: *mut ErrorText, call: impl FnOnce() -> Result<Status, Failure>) -> Status {
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(status)) => return status,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "of an unknown type".to_owned());
            Failure::new(FailureKind::Engine, format!("panic: {text}"))
        }
    };
    // SAFETY: the caller's promise.
    let error = unsafe { &mut *error };
    let size = failure.text.len().min(error.text.len());
    error.text[..size].copy_from_slice(&failure.text.as_bytes()[..size]);
    error.text_size = size as u32;
    error.code = failure.code;
    failure.kind as Status
}

/// # Safety
/// trueput passed the slice to this call.
unsafe fn bytes<'a>(data: *const u8, size: usize) -> &'a [u8] {
    if size == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data, size) }
}

fn slice(bytes: &[u8]) -> Slice {
    let (data, size) = (bytes.as_ptr(), bytes.len());
    Slice { data, size }
}

/// # Safety
/// As [`bytes`].
unsafe fn open_of(text: &OpenText) -> Open {
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: the caller's promise.
    unsafe {
        let directory = bytes(text.directory.data, text.directory.size);
        let knob = |index: usize| {
            let knob = &**text.knobs.add(index);
            let words = |slice: Slice| {
                let bytes = bytes(slice.data, slice.size);
                String::from_utf8_lossy(bytes).into_owned()
            };
            let value = match knob.kind {
                0 => Value::Integer(knob.integer),
                1 => Value::Real(knob.real),
                2 => Value::Boolean(knob.integer != 0),
                _ => Value::Text(words(knob.text)),
            };
            (words(knob.name), value)
        };
        Open {
            directory: std::ffi::OsStr::from_bytes(directory).into(),
            durability: match text.durability {
                0 => Durability::Sync,
                1 => Durability::Async,
                2 => Durability::Buffered,
                3 => Durability::Process,
                _ => Durability::None,
            },
            sessions: text.sessions,
            knobs: (0..text.knob_count as usize).map(knob).collect(),
        }
    }
}

// SAFETY of the functions below: trueput calls them as the header says, with handles that they
// returned.

unsafe extern "C" fn open<D: Database>(
    text: *const OpenText,
    opened: *mut *mut D,
    error: *mut ErrorText,
) -> Status {
    unsafe {
        guarded(error, || {
            let database = D::open(&open_of(&*text))?;
            *opened = Box::into_raw(Box::new(database));
            Ok(OK)
        })
    }
}

unsafe extern "C" fn close<D: Database>(database: *mut D, error: *mut ErrorText) -> Status {
    unsafe { guarded(error, || Box::from_raw(database).close().map(|()| OK)) }
}

unsafe extern "C" fn session<D: Database>(
    database: *mut D,
    error: *mut ErrorText,
    made: *mut *mut OpenSession<D>,
) -> Status {
    unsafe {
        guarded(error, || {
            // The database is closed after its sessions.
            let database: &'static D = &*database;
            let held = OpenSession {
                session: database.session()?,
                error,
                is_open: false,
            };
            *made = Box::into_raw(Box::new(held));
            Ok(OK)
        })
    }
}

unsafe extern "C" fn checkpoint<D: Database>(database: *mut D, error: *mut ErrorText) -> Status {
    unsafe { guarded(error, || (*database).checkpoint().map(|()| OK)) }
}

unsafe extern "C" fn settings<D: Database>(
    database: *mut D,
    values: *const Values,
    error: *mut ErrorText,
) -> Status {
    unsafe { guarded(error, || Ok(report(&*values, &(*database).settings()))) }
}

unsafe extern "C" fn counters<D: Database>(
    database: *mut D,
    values: *const Values,
    error: *mut ErrorText,
) -> Status {
    unsafe { guarded(error, || Ok(report(&*values, &(*database).counters()))) }
}

unsafe fn report(values: &Values, reported: &[(&str, Value)]) -> Status {
    for (name, value) in reported {
        let mut named = NamedValue {
            size: size_of::<NamedValue>() as u32,
            kind: 0,
            name: slice(name.as_bytes()),
            integer: 0,
            real: 0.0,
            text: slice(&[]),
        };
        match value {
            Value::Integer(number) => named.integer = *number,
            Value::Real(number) => (named.kind, named.real) = (1, *number),
            Value::Boolean(value) => (named.kind, named.integer) = (2, i64::from(*value)),
            Value::Text(text) => (named.kind, named.text) = (3, slice(text.as_bytes())),
        }
        unsafe { (values.value)(values.context, &raw const named) };
    }
    OK
}

unsafe extern "C" fn begin<D: Database>(held: *mut OpenSession<D>, mode: u32) -> Status {
    let mode = if mode == 0 { Mode::Read } else { Mode::Write };
    unsafe {
        guarded((*held).error, || {
            (*held).session.begin(mode)?;
            (*held).is_open = true;
            Ok(OK)
        })
    }
}

unsafe extern "C" fn commit<D: Database>(held: *mut OpenSession<D>) -> Status {
    unsafe {
        (*held).is_open = false;
        guarded((*held).error, || (*held).session.commit().map(|()| OK))
    }
}

unsafe extern "C" fn abort<D: Database>(held: *mut OpenSession<D>) -> Status {
    unsafe {
        (*held).is_open = false;
        guarded((*held).error, || (*held).session.abort().map(|()| OK))
    }
}

unsafe extern "C" fn get<D: Database>(
    held: *mut OpenSession<D>,
    key: *const u8,
    key_size: usize,
    value: *mut Slice,
) -> Status {
    unsafe {
        guarded((*held).error, || {
            Ok(match (*held).session.get(bytes(key, key_size))? {
                Some(found) => {
                    *value = slice(found);
                    OK
                }
                None => NOT_FOUND,
            })
        })
    }
}

unsafe extern "C" fn put<D: Database>(
    held: *mut OpenSession<D>,
    key: *const u8,
    key_size: usize,
    value: *const u8,
    value_size: usize,
) -> Status {
    unsafe {
        guarded((*held).error, || {
            let (key, value) = (bytes(key, key_size), bytes(value, value_size));
            (*held).session.put(key, value).map(|()| OK)
        })
    }
}

unsafe extern "C" fn remove<D: Database>(
    held: *mut OpenSession<D>,
    key: *const u8,
    key_size: usize,
) -> Status {
    unsafe {
        guarded((*held).error, || {
            (*held).session.remove(bytes(key, key_size)).map(|()| OK)
        })
    }
}

unsafe extern "C" fn scan_begin<D: Database>(
    held: *mut OpenSession<D>,
    range: *const RangeText,
    records: *mut Record,
    capacity: u32,
    count: *mut u32,
) -> Status {
    use std::ops::Bound;
    unsafe {
        let bound = |kind: u32, slice: Slice| match kind {
            0 => Bound::Unbounded,
            1 => Bound::Included(bytes(slice.data, slice.size)),
            _ => Bound::Excluded(bytes(slice.data, slice.size)),
        };
        let status = guarded((*held).error, || {
            let range = Range {
                lower: bound((*range).lower_kind, (*range).lower),
                upper: bound((*range).upper_kind, (*range).upper),
                is_backward: (*range).backward != 0,
            };
            (*held).session.scan(range).map(|()| OK)
        });
        if status != OK {
            return status;
        }
        let status = scan_next(held, records, capacity, count);
        if status != OK {
            // A scan that fails as it begins has not begun.
            scan_end(held);
        }
        status
    }
}

unsafe extern "C" fn scan_next<D: Database>(
    held: *mut OpenSession<D>,
    records: *mut Record,
    capacity: u32,
    count: *mut u32,
) -> Status {
    unsafe {
        guarded((*held).error, || {
            if capacity > 1 {
                let text = "scan_batch is 1: this file returns one record a call";
                return Err(Failure::new(FailureKind::Unsupported, text));
            }
            *count = match (*held).session.next()? {
                None => 0,
                Some((key, value)) => {
                    let (key, value) = (slice(key), slice(value));
                    *records = Record { key, value };
                    1
                }
            };
            Ok(OK)
        })
    }
}

unsafe extern "C" fn scan_end<D: Database>(held: *mut OpenSession<D>) {
    unsafe {
        guarded((*held).error, || {
            (*held).session.end_scan();
            Ok(OK)
        });
    }
}

unsafe extern "C" fn close_session<D: Database>(held: *mut OpenSession<D>) {
    unsafe {
        if (*held).is_open {
            abort(held);
        }
        let error = (*held).error;
        guarded(error, || {
            drop(Box::from_raw(held));
            Ok(OK)
        });
    }
}
