//! Drivers: each speaks one engine's own public API. A new engine is one file and one row here.

mod fjall;
mod lmdb;
mod redb;
mod refuse;
mod sqlite;

pub use self::fjall::Fjall;
pub use self::redb::Redb;
pub use lmdb::Lmdb;
pub use sqlite::Sqlite;

use trueput_engine::{Engine, Null};

/// Every engine that this program can drive, the null engine first.
#[must_use]
pub fn registry() -> &'static [&'static dyn Engine] {
    &[&Null, &Lmdb, &Sqlite, &Redb, &Fjall]
}
