//! Ctrl-C and its relatives: the first asks the command to stop, a later one ends the program at
//! once.

use crate::failure::{Failure, INTERRUPTED};
use crate::output;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What may be left of a run whose program ended at once.
pub const LEFT_OF_RUN: &str = "databases and mounts of the run may be left, which 'trueput clean' \
    lists, and reserve-* in its folder, which --resume removes";

/// What may be left of an audit whose program ended at once.
pub const LEFT_OF_AUDIT: &str =
    "recordings and mounts of the audit may be left; 'trueput clean' lists them";

/// Signals that follow the first so closely are one with it: `timeout` sends its signal to the
/// program and then to its group, as a shell and a supervisor may do at the same time.
const ONE_SIGNAL: Duration = Duration::from_secs(1);

/// The time that the last line has: nobody may read standard error.
const LAST_LINE_LIMIT: Duration = Duration::from_millis(500);

/// How often the last line is looked at.
const TICK: Duration = Duration::from_millis(5);

/// Whether the first stop signal ends the program at once.
static ENDS_AT_ONCE: AtomicBool = AtomicBool::new(false);

/// The flag of this program, once signals are watched.
static STOP: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// A flag that the first stop signal sets. One that comes later than [`ONE_SIGNAL`] ends the
/// program, and the last line says what may be `left` then.
///
/// # Errors
/// If the operating system rejects the handlers, or the thread that watches them.
pub fn stop_flag(left: &'static str) -> Result<Arc<AtomicBool>, Failure> {
    let mut known = STOP.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stop) = &*known {
        return Ok(Arc::clone(stop));
    }
    let refused = |error| Failure::Other(format!("cannot handle signals: {error}"));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(refused)?;
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    let watch = move || {
        let mut first_at = None;
        for _ in signals.forever() {
            let now = Instant::now();
            match StopRequest::of(first_at, now, ENDS_AT_ONCE.load(Ordering::SeqCst)) {
                StopRequest::Stop => {
                    first_at = Some(now);
                    set.store(true, Ordering::SeqCst);
                }
                StopRequest::Repeated => {}
                StopRequest::EndAtOnce => end_at_once(left),
                StopRequest::EndQuestion => low_level::exit(i32::from(INTERRUPTED)),
            }
        }
    };
    let thread = thread::Builder::new().name("signals".to_owned());
    thread.spawn(watch).map_err(refused)?;
    *known = Some(Arc::clone(&stop));
    Ok(stop)
}

/// The request of a stop signal.
#[derive(Debug, PartialEq, Eq)]
enum StopRequest {
    /// The command is to stop.
    Stop,
    /// It is one with the first.
    Repeated,
    /// The command is not to be waited for.
    EndAtOnce,
    /// The command has created nothing yet.
    EndQuestion,
}

impl StopRequest {
    /// Of a signal now, if the first came then.
    fn of(first_at: Option<Instant>, now: Instant, ends_at_once: bool) -> Self {
        match first_at {
            _ if ends_at_once => Self::EndQuestion,
            None => Self::Stop,
            Some(first_at) if now.duration_since(first_at) < ONE_SIGNAL => Self::Repeated,
            Some(_) => Self::EndAtOnce,
        }
    }
}

/// Ends the program after one line.
fn end_at_once(left: &str) {
    let line = format!("ended at once: {left}");
    let said = thread::spawn(move || output::note(&line));
    let began = Instant::now();
    while !said.is_finished() && began.elapsed() < LAST_LINE_LIMIT {
        thread::sleep(TICK);
    }
    low_level::exit(i32::from(INTERRUPTED))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_follow_the_first_closely_are_one_with_it_and_a_later_one_ends_the_program() {
        let first = Instant::now();
        assert_eq!(StopRequest::of(None, first, false), StopRequest::Stop);
        for (after_ms, request) in [
            (0, StopRequest::Repeated),
            (50, StopRequest::Repeated),
            (999, StopRequest::Repeated),
            (1_000, StopRequest::EndAtOnce),
            (60_000, StopRequest::EndAtOnce),
        ] {
            let now = first + Duration::from_millis(after_ms);
            assert_eq!(
                StopRequest::of(Some(first), now, false),
                request,
                "{after_ms} ms"
            );
        }
        assert_eq!(StopRequest::of(None, first, true), StopRequest::EndQuestion);
    }
}
