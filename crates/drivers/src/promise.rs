//! Promises, and windows in words.

use trueput_engine::{Durability, Promise, Window};

/// The promise of a level.
pub(crate) fn of(
    durability: Durability,
    mapped_to: impl Into<String>,
    window: Option<Window>,
    source: &str,
) -> Promise {
    Promise {
        durability,
        mapped_to: mapped_to.into(),
        window,
        source: source.to_owned(),
        cluster: None,
        doubt: None,
    }
}

/// A window without numbers: until when a commit can be lost.
pub(crate) fn until(text: impl Into<String>) -> Window {
    Window {
        time_s: None,
        bytes: None,
        commits: None,
        until: text.into(),
    }
}

/// The window of LMDB and libmdbx if a commit leaves its meta page to the next one's flush.
pub(crate) fn unflushed_meta_page() -> Window {
    Window {
        commits: Some(1),
        ..until("the next commit, which flushes the last one's meta page")
    }
}
