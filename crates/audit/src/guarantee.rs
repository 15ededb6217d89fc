//! Guarantees of levels after a failure.

use trueput_record::Survival;

/// The guarantee of a level after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guarantee {
    /// The commits that remain.
    pub(crate) survival: Survival,
    /// The most acknowledged commits that may be missing from a prefix, if the level limits them.
    pub(crate) window_commits: Option<u64>,
}
