//! Promises with default knobs, and windows in words.

use std::collections::BTreeMap;
use trueput_engine::{Durability, Engine, Promise, Window, parameter};

/// Returns the promise of `engine` with its default knobs; `None` if it does not have the level.
pub(crate) fn with_defaults(engine: &dyn Engine, durability: Durability) -> Option<Promise> {
    let knobs = parameter::resolve(engine.info().name, engine.knobs(), &BTreeMap::new()).ok()?;
    engine.promise_with(durability, &knobs).ok()
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
