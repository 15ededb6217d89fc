//! Work that several threads share.

use crate::Error;
use std::thread::ScopedJoinHandle;

/// Has `work` done on this many threads at once, this one among them, and merges the results.
///
/// # Errors
/// The first of the errors, when all threads have ended.
pub(super) fn on_threads<T: Send>(
    threads: u32,
    work: impl Fn() -> Result<T, Error> + Sync,
    merge: impl Fn(&mut T, T),
) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(&work)).collect();
        let mut all = work();
        for other in others {
            let other = join(other);
            match (&mut all, other) {
                (Ok(all), Ok(other)) => merge(all, other),
                (Ok(_), Err(error)) => all = Err(error),
                (Err(_), _) => {}
            }
        }
        all
    })
}

/// Joins a thread and returns its result; one that panicked is an error.
pub(super) fn join<T>(thread: ScopedJoinHandle<'_, Result<T, Error>>) -> Result<T, Error> {
    let panicked = |_| Err(Error::Workload("a thread has panicked".to_owned()));
    thread.join().unwrap_or_else(panicked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[test]
    fn results_are_merged_and_the_first_error_is_kept() {
        let number = AtomicU32::new(0);
        let count = || Ok(number.fetch_add(1, Relaxed));
        let sum = on_threads(4, count, |all, one| *all += one);
        assert!(matches!(sum, Ok(6)));
        let fail = || match number.fetch_add(1, Relaxed) {
            5 => Err(Error::Workload("five".to_owned())),
            number => Ok(number),
        };
        let failed = on_threads(4, fail, |all, one| *all += one);
        assert!(matches!(failed, Err(Error::Workload(text)) if text == "five"));
    }

    #[test]
    #[allow(clippy::panic, reason = "it is what is tested")]
    fn a_thread_that_panics_is_an_error_and_one_that_ends_is_what_it_found() {
        std::thread::scope(|scope| {
            let found = join(scope.spawn(|| Ok(7)));
            assert!(matches!(found, Ok(7)));
            let panicked: Result<u32, Error> = join(scope.spawn(|| panic!("as the test wants it")));
            assert!(panicked.is_err());
        });
    }
}
