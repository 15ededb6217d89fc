//! What LevelDB and its descendants share: a C API that is the same but for its prefix, and
//! transactions that are made of a write batch.

mod api;
mod cursor;
mod overlay;
mod reader;
mod session;
mod store;
mod turns;

pub(crate) use api::{Api, Handle, Reads};
pub(crate) use cursor::Cursor;
pub(crate) use overlay::Overlay;
pub(crate) use reader::Reader;
pub(crate) use session::BatchSession;
pub(crate) use store::{Get, Limits, Store, check, take_text};
