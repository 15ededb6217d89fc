//! The mark of a schema in a user's server that this program has made for a database.

use std::hash::{BuildHasher, Hasher};

/// The start of the comment on a schema of PostgreSQL; the mark follows it.
pub(crate) const COMMENT: &str = "made by trueput for ";

/// A mark that no other database has: each hasher of the standard library is seeded at random.
pub(crate) fn new_mark() -> String {
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
