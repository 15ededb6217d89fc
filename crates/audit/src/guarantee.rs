//! What a level guarantees after a failure.

use trueput_record::Survival;

/// What a level guarantees after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guarantee {
    /// The commits that remain.
    pub(crate) survival: Survival,
    /// The most acknowledged commits that may be missing from a prefix, if the level limits them.
    pub(crate) window_commits: Option<u64>,
}
