//! `include/trueput_engine.h` in Rust, interface version 1.0. The header has the meaning of each
//! item; the order and the names are the same.
//!
//! Foreign code may unwind into ours, which `extern "C-unwind"` permits: the process then ends with
//! a message, as after any crash of a plug-in.

use std::ffi::c_void;
use std::marker::{PhantomData, PhantomPinned};

pub(super) const MAGIC: u32 = 0x3150_5254;
pub(super) const MAJOR: u32 = 1;
pub(super) const MINOR: u32 = 0;

pub(super) type Status = i32;
pub(super) const OK: Status = 0;
pub(super) const NOT_FOUND: Status = 1;
pub(super) const CONFLICT: Status = 2;
pub(super) const DEADLOCK: Status = 3;
pub(super) const UNSUPPORTED: Status = 4;
pub(super) const FULL: Status = 5;
pub(super) const ENGINE: Status = 6;

/// A type of the plug-in's own, only ever behind a pointer.
#[repr(C)]
pub(super) struct DatabaseHandle {
    opaque: [u8; 0],
    pinned: PhantomData<(*mut u8, PhantomPinned)>,
}

/// As [`DatabaseHandle`].
#[repr(C)]
pub(super) struct SessionHandle {
    opaque: [u8; 0],
    pinned: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Slice {
    pub(super) data: *const c_void,
    pub(super) size: usize,
}

impl Slice {
    pub(super) const EMPTY: Self = Self {
        data: std::ptr::null(),
        size: 0,
    };

    /// These bytes; nothing lies at no address, since Go takes others for broken pointers.
    pub(super) const fn of(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::EMPTY;
        }
        Self {
            data: bytes.as_ptr().cast(),
            size: bytes.len(),
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Record {
    pub(super) key: Slice,
    pub(super) value: Slice,
}

#[repr(C)]
pub(super) struct ErrorText {
    pub(super) code: i64,
    pub(super) text_size: u32,
    pub(super) reserved: u32,
    pub(super) text: [u8; 496],
}

pub(super) const INTEGER: u32 = 0;
pub(super) const REAL: u32 = 1;
pub(super) const BOOLEAN: u32 = 2;
pub(super) const TEXT: u32 = 3;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct NamedValue {
    pub(super) size: u32,
    pub(super) kind: u32,
    pub(super) name: Slice,
    pub(super) integer: i64,
    pub(super) real: f64,
    pub(super) text: Slice,
}

#[repr(C)]
pub(super) struct Open {
    pub(super) size: u32,
    pub(super) durability: u32,
    pub(super) sessions: u32,
    pub(super) knob_count: u32,
    pub(super) directory: Slice,
    pub(super) knobs: *const *const NamedValue,
}

pub(super) const UNBOUNDED: u32 = 0;
pub(super) const INCLUDED: u32 = 1;
pub(super) const EXCLUDED: u32 = 2;

#[repr(C)]
pub(super) struct Range {
    pub(super) size: u32,
    pub(super) lower_kind: u32,
    pub(super) upper_kind: u32,
    pub(super) backward: u32,
    pub(super) lower: Slice,
    pub(super) upper: Slice,
}

#[repr(C)]
pub(super) struct Values {
    pub(super) size: u32,
    pub(super) reserved: u32,
    pub(super) context: *mut c_void,
    pub(super) value: unsafe extern "C" fn(*mut c_void, *const NamedValue),
}

#[repr(C)]
pub(super) struct Host {
    pub(super) size: u32,
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) reserved: u32,
}

pub(super) type KeyCall =
    unsafe extern "C-unwind" fn(*mut SessionHandle, *const c_void, usize) -> Status;
pub(super) type GetCall =
    unsafe extern "C-unwind" fn(*mut SessionHandle, *const c_void, usize, *mut Slice) -> Status;
pub(super) type PutCall = unsafe extern "C-unwind" fn(
    *mut SessionHandle,
    *const c_void,
    usize,
    *const c_void,
    usize,
) -> Status;
pub(super) type SessionCall = unsafe extern "C-unwind" fn(*mut SessionHandle) -> Status;
pub(super) type SessionEnd = unsafe extern "C-unwind" fn(*mut SessionHandle);
pub(super) type BeginCall = unsafe extern "C-unwind" fn(*mut SessionHandle, u32) -> Status;
pub(super) type ScanBegin = unsafe extern "C-unwind" fn(
    *mut SessionHandle,
    *const Range,
    *mut Record,
    u32,
    *mut u32,
) -> Status;
pub(super) type ScanNext =
    unsafe extern "C-unwind" fn(*mut SessionHandle, *mut Record, u32, *mut u32) -> Status;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct SessionApi {
    pub(super) size: u32,
    pub(super) reserved: u32,
    pub(super) begin: Option<BeginCall>,
    pub(super) commit: Option<SessionCall>,
    pub(super) abort: Option<SessionCall>,
    pub(super) get: Option<GetCall>,
    pub(super) put: Option<PutCall>,
    pub(super) remove: Option<KeyCall>,
    pub(super) scan_begin: Option<ScanBegin>,
    pub(super) scan_next: Option<ScanNext>,
    pub(super) scan_end: Option<SessionEnd>,
    pub(super) close: Option<SessionEnd>,
    pub(super) point_get: Option<GetCall>,
    pub(super) flush_counters: Option<SessionCall>,
}

pub(super) type OpenCall =
    unsafe extern "C-unwind" fn(*const Open, *mut *mut DatabaseHandle, *mut ErrorText) -> Status;
pub(super) type DatabaseCall =
    unsafe extern "C-unwind" fn(*mut DatabaseHandle, *mut ErrorText) -> Status;
pub(super) type NewSession = unsafe extern "C-unwind" fn(
    *mut DatabaseHandle,
    *mut ErrorText,
    *mut *mut SessionHandle,
) -> Status;
pub(super) type ValuesCall =
    unsafe extern "C-unwind" fn(*mut DatabaseHandle, *const Values, *mut ErrorText) -> Status;
pub(super) type ClosedCall = unsafe extern "C-unwind" fn(*const Open, *mut ErrorText) -> Status;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct DatabaseApi {
    pub(super) size: u32,
    pub(super) reserved: u32,
    pub(super) open: Option<OpenCall>,
    pub(super) close: Option<DatabaseCall>,
    pub(super) session: Option<NewSession>,
    pub(super) checkpoint: Option<DatabaseCall>,
    pub(super) settings: Option<ValuesCall>,
    pub(super) counters: Option<ValuesCall>,
    pub(super) check_files: Option<ClosedCall>,
    pub(super) prepare_after_power_loss: Option<ClosedCall>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct EngineTable {
    pub(super) magic: u32,
    pub(super) size: u32,
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) database: *const DatabaseApi,
    pub(super) session: *const SessionApi,
}

pub(super) type Entry = unsafe extern "C-unwind" fn(*const Host) -> *const EngineTable;

// The layout of the header; the tests of plug-ins check it there.
const _: () = {
    assert!(size_of::<Slice>() == 16);
    assert!(size_of::<Values>() == 24);
    assert!(std::mem::offset_of!(SessionApi, point_get) == 88);
    assert!(std::mem::offset_of!(DatabaseApi, counters) == 48);
    assert!(size_of::<ErrorText>() == 512);
    assert!(size_of::<NamedValue>() == 56);
    assert!(size_of::<Open>() == 40);
    assert!(size_of::<Range>() == 48);
    assert!(size_of::<SessionApi>() == 104);
    assert!(size_of::<DatabaseApi>() == 72);
    assert!(size_of::<EngineTable>() == 32);
};
