//! Ctrl-C and its relatives: the first asks the run to stop, the second ends the program at once.

use crate::failure::{Failure, INTERRUPTED};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// Whether the first stop signal ends the program at once.
static ENDS_AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// A flag that the first stop signal sets.
///
/// # Errors
/// If the operating system rejects the handlers.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let refused = |error| Failure::Other(format!("cannot handle signals: {error}"));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The handlers run in this order: only a second signal finds the flag set.
        let code = i32::from(INTERRUPTED);
        for ends_at_once in [&stop, &*ENDS_AT_ONCE] {
            let ends_at_once = Arc::clone(ends_at_once);
            flag::register_conditional_shutdown(signal, code, ends_at_once).map_err(refused)?;
        }
        flag::register(signal, Arc::clone(&stop)).map_err(refused)?;
    }
    Ok(stop)
}

/// Calls a function that creates nothing, and may wait for somebody's server: one stop signal ends
/// the program meanwhile.
pub fn ending_at_once<T>(question: impl FnOnce() -> T) -> T {
    /// Ends it, also by a panic.
    struct Question;
    impl Drop for Question {
        fn drop(&mut self) {
            ENDS_AT_ONCE.store(false, Ordering::SeqCst);
        }
    }
    ENDS_AT_ONCE.store(true, Ordering::SeqCst);
    let _question = Question;
    question()
}
