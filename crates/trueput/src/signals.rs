//! Ctrl-C and its relatives: the first asks the run to stop, the second ends the program at once.

use crate::failure::{Failure, INTERRUPTED};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
        flag::register_conditional_shutdown(signal, code, Arc::clone(&stop)).map_err(refused)?;
        flag::register(signal, Arc::clone(&stop)).map_err(refused)?;
    }
    Ok(stop)
}
