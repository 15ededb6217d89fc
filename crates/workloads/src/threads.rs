//! Work that several threads share: the load of a database, and its check.

use crate::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::ScopedJoinHandle;

/// The pieces of some work that no thread has taken yet.
pub(crate) struct RemainingPieces<'p> {
    taken: &'p AtomicUsize,
    count: usize,
}

impl Iterator for RemainingPieces<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let piece = self.taken.fetch_add(1, Relaxed);
        (piece < self.count).then_some(piece)
    }
}

/// Runs the pieces from 0 to below `count` on this many threads, including the caller's, and merges
/// the results. After an error no further piece is started.
///
/// # Errors
/// The first error, once all threads have ended.
pub(crate) fn share_pieces<T: Send>(
    threads: u32,
    count: usize,
    work: impl Fn(RemainingPieces<'_>) -> Result<T> + Sync,
    merge: impl Fn(&mut T, T),
) -> Result<T> {
    let taken = AtomicUsize::new(0);
    let work = || {
        let pieces = RemainingPieces {
            taken: &taken,
            count,
        };
        work(pieces).inspect_err(|_| taken.store(count, Relaxed))
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            match (&mut all, join(other)) {
                (Ok(all), Ok(other)) => merge(all, other),
                (Ok(_), Err(error)) => all = Err(error),
                (Err(_), _) => {}
            }
        }
        all
    })
}

/// Joins a thread and returns its result; one that panicked is an error.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    let panicked = |_| Err(Error::Workload("a thread has panicked".to_owned()));
    thread.join().unwrap_or_else(panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once_and_the_results_are_merged() {
        for threads in [1, 4] {
            let work = |pieces: RemainingPieces<'_>| Ok(pieces.sum::<usize>());
            let sum = share_pieces(threads, 100, work, |all, one| *all += one);
            assert_eq!(sum, Ok(4_950), "{threads}");
        }
    }

    #[test]
    fn after_an_error_no_further_piece_is_taken() {
        let done = AtomicUsize::new(0);
        let work = |pieces: RemainingPieces<'_>| -> Result<()> {
            for piece in pieces {
                done.fetch_add(1, Relaxed);
                if piece == 5 {
                    return Err(Error::Workload("five".to_owned()));
                }
            }
            Ok(())
        };
        let failed = share_pieces(1, 100, work, |_, ()| ());
        assert_eq!(failed, Err(Error::Workload("five".to_owned())));
        assert_eq!(done.into_inner(), 6);
    }

    #[test]
    #[allow(clippy::panic, reason = "it is what is tested")]
    fn a_thread_that_panics_is_an_error_and_one_that_ends_is_what_it_found() {
        std::thread::scope(|scope| {
            let found = join(scope.spawn(|| Ok(7)));
            assert_eq!(found, Ok(7));
            let panicked: Result<u32> = join(scope.spawn(|| panic!("as the test wants it")));
            assert!(panicked.is_err());
        });
    }
}
