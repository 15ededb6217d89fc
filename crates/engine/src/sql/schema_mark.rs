//! The mark of a schema in a user's server that this program has made for a database, and the locks
//! under which drivers look at it. All drivers that reach one server agree on them.

use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// The start of the comment on a schema of PostgreSQL; the mark follows it.
pub const COMMENT: &str = "made by trueput for ";
/// The advisory lock over the schema on PostgreSQL: the letters of our name.
pub const ADVISORY_LOCK: i64 = 0x0074_7275_6570_7574;
/// The time for which sessions that were just closed may hold the lock over the schema.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause before the lock over the schema is asked for again.
pub const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// The time that another process may take to examine and prepare the schema, under the lock of
/// [`lock_name`].
pub const EXAMINATION_TIMEOUT: Duration = Duration::from_secs(60);

/// The name, in a statement, of the lock that a process holds on MariaDB while it examines a
/// schema.
#[must_use]
pub fn lock_name(schema: &str) -> String {
    format!("'trueput open {schema}'")
}

/// A mark that no other database has: each hasher of the standard library is seeded at random.
pub fn new_mark() -> String {
    let random = || std::hash::RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_marks_are_never_the_same() {
        assert_ne!(new_mark(), new_mark());
        assert_eq!(new_mark().len(), 32);
    }
}
