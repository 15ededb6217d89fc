//! The parts that LevelDB and its descendants share: a C API that differs only in its prefix, and
//! transactions built on a write batch.

mod api;
mod cursor;
mod multi_get;
mod overlay;
mod reader;
mod session;
mod store;
mod write_lock;

pub(crate) use api::{CopyingMultiGet, Handle, LsmFunctions, MultiGet, ReadFunctions};
pub(crate) use cursor::Cursor;
pub(crate) use overlay::Overlay;
pub(crate) use reader::SessionReader;
pub(crate) use session::BatchSession;
use std::ops::ControlFlow;
pub(crate) use store::{BulkLoader, LsmDatabase, ValueAccess, check, take_text};
use trueput_engine::{Database, Direction, KeyRange, Mode, Result};

/// The workaround of [`BatchSession`] for transactions that the engine does not have.
pub(crate) const READERS_LOCK: &str = "write batches replace transactions: a write \
    transaction that reads locks the database from its first read to its end; transactions \
    that only write run concurrently";

/// Reads every record, so that the library meets every damaged block that a reader would meet.
pub(crate) fn read_all(database: &dyn Database) -> Result<()> {
    let mut session = database.session()?;
    session.begin(Mode::Read)?;
    session.scan(KeyRange::ALL, Direction::Forward, &mut |_, _| {
        ControlFlow::Continue(())
    })?;
    session.commit()
}
