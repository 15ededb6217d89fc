//! Panics of drivers in one line: their message and their place.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, PanicHookInfo, catch_unwind};
use std::sync::Once;

thread_local! {
    /// The nesting depth of [`caught`] on this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// A panic that is on its way to [`caught`].
    static UNDERWAY: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

/// A panic. `Display` is one line, such as `panicked at src/toy.rs:12:5: no such page`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "panicked{}: {message}",
    place.as_ref().map_or_else(String::new, |place| format!(" at {place}"))
)]
pub struct Panic {
    /// The file, the line and the column; `None` if they are not known.
    pub place: Option<String>,
    /// What it says, on one line.
    pub message: String,
}

impl Panic {
    fn new(place: Option<&Location<'_>>, payload: &(dyn Any + Send)) -> Self {
        let said = payload.downcast_ref::<&str>().copied();
        let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let said: Vec<_> = said.unwrap_or("no message").split_whitespace().collect();
        Self {
            place: place.map(ToString::to_string),
            message: said.join(" "),
        }
    }
}

/// Runs `work`. A panic in it is not written to standard error: it becomes an error.
///
/// Other panics of the process are written as usual: those of an engine's own threads, and those
/// that cannot unwind to here through a function called from C.
///
/// # Errors
/// The [`Panic`].
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let write = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| keep_or_write(panic, &*write)));
    });
    DEPTH.set(DEPTH.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    done.map_err(|payload| {
        UNDERWAY
            .take()
            .unwrap_or_else(|| Panic::new(None, &*payload))
    })
}

/// Stores a panic that will be caught. A second one before that ends the process: both are written,
/// a line each, because a backtrace would displace all earlier output of a worker.
fn keep_or_write(panic: &PanicHookInfo<'_>, write: &dyn Fn(&PanicHookInfo<'_>)) {
    // The thread-local state of an ending thread is gone.
    let is_caught = DEPTH.try_with(Cell::get).is_ok_and(|depth| depth > 0);
    if !is_caught {
        return write(panic);
    }
    let panic = Panic::new(panic.location(), panic.payload());
    match UNDERWAY.take() {
        None => UNDERWAY.set(Some(panic)),
        Some(underway) => eprintln!("{underway}\n{panic}"),
    }
}
