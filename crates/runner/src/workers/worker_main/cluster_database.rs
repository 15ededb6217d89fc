//! A database of a cluster that waits for a node that takes sessions, as workers under planned
//! faults do: after a fault the nodes may still be choosing a leader when the results are verified.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use trueput_engine::{CacheCount, Database, Error, Result, Session, SettingContradiction, Value};

/// The time that a cluster may be without a node that takes sessions. A node that is paused answers
/// only after a while that it does not.
const LEADER_TIMEOUT: Duration = Duration::from_secs(120);

/// The interval between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// The database of a cluster.
pub(super) struct ClusterDatabase(pub Box<dyn Database>);

/// Tries again while a cluster has no leader, for [`LEADER_TIMEOUT`] at most.
///
/// # Errors
/// The last one of a lost connection; any other at once.
pub(super) fn with_leader<T>(attempt: impl FnMut() -> Result<T>) -> Result<T> {
    retry(LEADER_TIMEOUT, attempt)
}

/// As [`with_leader`], for another time.
///
/// # Errors
/// As [`with_leader`].
pub(super) fn retry<T>(limit: Duration, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(Error::Disconnected(_)) if began.elapsed() < limit => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
}

impl Database for ClusterDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        with_leader(|| self.0.session())
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        with_leader(|| self.0.counters())
    }

    fn count_cache(&self) -> Result<Option<CacheCount<'_>>> {
        with_leader(|| self.0.count_cache())
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        with_leader(|| self.0.settings())
    }

    fn contradictions(&self) -> Result<Vec<SettingContradiction>> {
        with_leader(|| self.0.contradictions())
    }

    fn checkpoint(&self) -> Result<()> {
        with_leader(|| self.0.checkpoint())
    }

    fn compact(&mut self) -> Result<Option<&'static str>> {
        with_leader(|| self.0.compact())
    }

    fn tombstones_passed(&self) -> Option<u64> {
        self.0.tombstones_passed()
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.0.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Fails that many times in this way before it succeeds.
    fn after(failures: u32, error: &Error) -> (Result<u32>, u32) {
        let attempts = Cell::new(0);
        let done = retry(Duration::from_secs(30), || {
            attempts.set(attempts.get() + 1);
            if attempts.get() > failures {
                Ok(7)
            } else {
                Err(error.clone())
            }
        });
        (done, attempts.get())
    }

    #[test]
    fn a_lost_connection_is_tried_again_and_another_error_is_not() {
        let lost = Error::Disconnected("no node leads".to_owned());
        assert_eq!(after(3, &lost), (Ok(7), 4));
        let other = Error::engine("denied");
        assert_eq!(after(3, &other), (Err(other), 1));
    }

    #[test]
    fn a_cluster_that_stays_without_a_leader_is_given_up() {
        let lost = || Err::<(), _>(Error::Disconnected("no node leads".to_owned()));
        assert!(retry(Duration::ZERO, lost).is_err());
    }
}
