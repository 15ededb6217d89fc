//! Panics of drivers, told in one line: what they said and where.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

/// Where the last panic was.
static LAST_PLACE: Mutex<Option<String>> = Mutex::new(None);

/// From now on, no panic of this process is written to standard error: whoever catches one tells it by
/// [`text`].
pub fn keep_quiet() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        *LAST_PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }));
}

/// A panic that was caught, in one line: `panicked at src/toy.rs:12:5: no such page`. The place is known
/// after [`keep_quiet`] alone.
#[must_use]
pub fn text(payload: &(dyn Any + Send)) -> String {
    let said = payload.downcast_ref::<&str>().copied();
    let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let said: Vec<_> = said.unwrap_or("no message").split_whitespace().collect();
    let place = LAST_PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place
        .as_ref()
        .map_or_else(String::new, |place| format!(" at {place}"));
    format!("panicked{place}: {}", said.join(" "))
}

/// Where the last panic was, in words that follow a sentence; empty where there was none.
pub(crate) fn last_place() -> String {
    let place = LAST_PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    place
        .as_ref()
        .map_or_else(String::new, |place| format!(": it panicked at {place}"))
}
