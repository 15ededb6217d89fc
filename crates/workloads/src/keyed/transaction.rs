//! Transactions: their begin and end around a body, and their retry when the engine reports
//! conflicts.

use crate::{Error, JobTask, Meter, Result};
use std::time::{Duration, Instant};
use trueput_engine::{Error as EngineError, Mode, Result as EngineResult, Session, ValueVisitor};

/// The reasons why an attempt at a transaction fails.
#[derive(Debug)]
pub(crate) enum TransactionError {
    /// The engine reported an error; after a conflict the transaction is retried.
    Engine(EngineError),
    /// Another attempt would fail as well.
    Fatal(Error),
}

impl From<EngineError> for TransactionError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl TransactionError {
    /// A record, or a number, that the workload cannot go on with.
    pub(crate) fn workload(text: String) -> Self {
        Self::Fatal(Error::Workload(text))
    }

    /// The error to return, with the operation that failed.
    pub(crate) fn into_error(self, doing: impl FnOnce() -> String) -> Error {
        match self {
            Self::Engine(source) => Error::Engine {
                doing: doing(),
                source,
            },
            Self::Fatal(error) => error,
        }
    }
}

/// Makes attempts until one meets no conflict, and counts the conflicts.
///
/// # Errors
/// The engine's other errors, and a stop by the user.
#[inline]
pub(crate) fn retry<T, E: Into<TransactionError>>(
    meter: &mut dyn Meter,
    doing: impl FnOnce() -> String,
    attempt: impl FnMut(&mut dyn Meter) -> Result<T, E>,
) -> Result<T> {
    retry_with_backoff(meter, doing, |_| {}, attempt)
}

/// Retries as [`retry`] does, and calls `back_off` with the number of conflicts, from 1, before
/// each further attempt.
///
/// # Errors
/// See [`retry`].
#[inline]
pub(crate) fn retry_with_backoff<T, E: Into<TransactionError>>(
    meter: &mut dyn Meter,
    doing: impl FnOnce() -> String,
    mut back_off: impl FnMut(u32),
    mut attempt: impl FnMut(&mut dyn Meter) -> Result<T, E>,
) -> Result<T> {
    let mut conflicts = 0_u32;
    loop {
        match attempt(meter).map_err(Into::into) {
            Ok(value) => return Ok(value),
            Err(TransactionError::Engine(error)) if error.is_conflict() => {
                meter.conflict(&error);
                if meter.is_stopped() {
                    return Err(Error::Stopped);
                }
                conflicts = conflicts.saturating_add(1);
                back_off(conflicts);
            }
            Err(error) => return Err(error.into_error(doing)),
        }
    }
}

/// Runs `body` in a transaction, and retries until it commits without a conflict.
///
/// # Errors
/// See [`retry`].
#[inline]
pub(crate) fn transact<T, E: From<EngineError> + Into<TransactionError>>(
    session: &mut dyn Session,
    meter: &mut dyn Meter,
    mode: Mode,
    doing: impl FnOnce() -> String,
    mut body: impl FnMut(&mut dyn Session, &mut dyn Meter) -> Result<T, E>,
) -> Result<T> {
    retry(meter, doing, |meter| {
        in_transaction(session, mode, |session| body(session, meter))
    })
}

/// The conflicts in a row after which work that is not measured is given up.
#[derive(Debug, Clone, Copy)]
struct ConflictLimit {
    /// The fewest attempts.
    attempts: u32,
    /// The shortest time since the first conflict.
    period: Duration,
}

/// The limit of loads and verifications. Some engines report a transaction that is too large for
/// their cache as a conflict, each time. A cluster that elects a leader may report more conflicts
/// than these, for they come at once, but not for so long: a trial fails after the same time
/// without a leader.
const UNMEASURED_LIMIT: ConflictLimit = ConflictLimit {
    attempts: 1_000,
    period: Duration::from_secs(60),
};

/// Makes attempts at work that is not measured until one meets no conflict.
///
/// # Errors
/// The engine's other errors; a conflict at each of at least 1,000 attempts in a minute or more.
pub(crate) fn retry_unmetered<T, E: Into<TransactionError>>(
    doing: impl FnOnce() -> String,
    attempt: impl FnMut() -> Result<T, E>,
) -> Result<T> {
    retry_up_to(UNMEASURED_LIMIT, doing, attempt)
}

fn retry_up_to<T, E: Into<TransactionError>>(
    limit: ConflictLimit,
    doing: impl FnOnce() -> String,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T> {
    let mut conflicts = 0_u32;
    let mut first: Option<Instant> = None;
    loop {
        match attempt().map_err(Into::into) {
            Ok(value) => return Ok(value),
            Err(TransactionError::Engine(error)) if error.is_conflict() => {
                conflicts = conflicts.saturating_add(1);
                let elapsed = first.get_or_insert_with(Instant::now).elapsed();
                if conflicts >= limit.attempts && elapsed >= limit.period {
                    return Err(Error::Workload(format!(
                        "{}: a conflict at each of {conflicts} attempts in {} s: the transaction \
                         may be larger than the engine's cache (the last {error})",
                        doing(),
                        elapsed.as_secs(),
                    )));
                }
            }
            Err(error) => return Err(error.into_error(doing)),
        }
    }
}

/// Runs a transaction that is not measured.
///
/// # Errors
/// See [`retry_unmetered`].
pub(crate) fn transact_unmetered<T, E: From<EngineError> + Into<TransactionError>>(
    session: &mut dyn Session,
    mode: Mode,
    doing: impl FnOnce() -> String,
    mut body: impl FnMut(&mut dyn Session) -> Result<T, E>,
) -> Result<T> {
    retry_unmetered(doing, || {
        attempt(session, mode, |session| {
            body(session).map(Completion::Commit)
        })
    })
}

impl JobTask<'_> {
    /// Runs `body` in a transaction of the worker's session, as [`transact`] does.
    ///
    /// # Errors
    /// See [`retry`].
    #[inline]
    pub(crate) fn transact<T, E: From<EngineError> + Into<TransactionError>>(
        &mut self,
        mode: Mode,
        doing: impl FnOnce() -> String,
        body: impl FnMut(&mut dyn Session, &mut dyn Meter) -> Result<T, E>,
    ) -> Result<T> {
        transact(self.session, self.meter, mode, doing, body)
    }

    /// Looks up `key` in its own read transaction; returns whether it exists.
    ///
    /// # Errors
    /// See [`retry`].
    #[inline]
    pub(crate) fn point_read(
        &mut self,
        key: &[u8],
        doing: impl FnOnce() -> String,
        visitor: &mut ValueVisitor<'_>,
    ) -> Result<bool> {
        let session = &mut *self.session;
        retry(self.meter, doing, |_| session.point_read(key, visitor))
    }
}

/// A session, or tables that are reached through one: transactions are begun and ended on it.
pub trait TransactionScope {
    /// The session.
    fn session(&mut self) -> &mut dyn Session;

    /// Begins a transaction.
    ///
    /// # Errors
    /// See [`Session::begin`].
    fn begin(&mut self, mode: Mode) -> EngineResult<()> {
        self.session().begin(mode)
    }

    /// Ends the transaction; its writes count.
    ///
    /// # Errors
    /// See [`Session::commit`].
    fn commit(&mut self) -> EngineResult<()> {
        self.session().commit()
    }

    /// Ends the transaction; its writes are forgotten.
    ///
    /// # Errors
    /// See [`Session::abort`].
    fn abort(&mut self) -> EngineResult<()> {
        self.session().abort()
    }
}

impl TransactionScope for dyn Session + '_ {
    fn session(&mut self) -> &mut dyn Session {
        self
    }
}

/// The end that a transaction's body asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion<T> {
    /// Its writes count.
    Commit(T),
    /// Its writes are forgotten.
    RollBack(T),
}

/// Does `body` in a transaction, once, and ends that as the body asks for.
///
/// # Errors
/// Those of the body, after which the transaction is aborted, of begin and of the end: in each case
/// the transaction has ended.
#[inline]
pub(crate) fn attempt<S: TransactionScope + ?Sized, T, E: From<EngineError>>(
    scope: &mut S,
    mode: Mode,
    body: impl FnOnce(&mut S) -> Result<Completion<T>, E>,
) -> Result<T, E> {
    scope.begin(mode)?;
    match body(scope) {
        Ok(Completion::Commit(value)) => {
            scope.commit()?;
            Ok(value)
        }
        Ok(Completion::RollBack(value)) => {
            scope.abort()?;
            Ok(value)
        }
        Err(error) => {
            // This error is more specific than one from the abort; the transaction ends either way.
            let _ = scope.abort();
            Err(error)
        }
    }
}

/// Does `body` in a transaction, once, and commits that.
///
/// # Errors
/// See [`attempt`].
#[inline]
pub(crate) fn in_transaction<S: TransactionScope + ?Sized, T, E: From<EngineError>>(
    scope: &mut S,
    mode: Mode,
    body: impl FnOnce(&mut S) -> Result<T, E>,
) -> Result<T, E> {
    attempt(scope, mode, |scope| body(scope).map(Completion::Commit))
}

/// Reads in a transaction that is aborted in the end: it has nothing to commit.
pub(crate) fn read_once<T>(
    session: &mut dyn Session,
    read: impl FnOnce(&mut dyn Session) -> EngineResult<T>,
) -> EngineResult<T> {
    attempt(session, Mode::Read, |session| {
        read(session).map(Completion::RollBack)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts conflicts, and stops after this many.
    struct ConflictMeter {
        conflicts: u32,
        stops_after: u32,
    }

    impl Meter for ConflictMeter {
        fn start(&mut self) {}
        fn finish(&mut self, _kind: usize) {}
        fn advance(&mut self, _units: u64) {}
        fn conflict(&mut self, _error: &EngineError) {
            self.conflicts += 1;
        }
        fn uncount(&mut self, _kind: usize, _count: u64) {}
        fn is_stopped(&self) -> bool {
            self.conflicts >= self.stops_after
        }
    }

    fn conflict() -> EngineError {
        EngineError::Conflict("busy".to_owned())
    }

    fn meter(stops_after: u32) -> ConflictMeter {
        ConflictMeter {
            conflicts: 0,
            stops_after,
        }
    }

    /// Notes the calls, of which it fails those of one name.
    struct NotedCalls {
        calls: Vec<&'static str>,
        fails: &'static str,
    }

    impl NotedCalls {
        fn note(&mut self, name: &'static str) -> EngineResult<()> {
            self.calls.push(name);
            if name == self.fails {
                Err(EngineError::Full(name.to_owned()))
            } else {
                Ok(())
            }
        }
    }

    impl TransactionScope for NotedCalls {
        fn session(&mut self) -> &mut dyn Session {
            panic!("begin, commit and abort are its own")
        }

        fn begin(&mut self, _: Mode) -> EngineResult<()> {
            self.note("begin")
        }

        fn commit(&mut self) -> EngineResult<()> {
            self.note("commit")
        }

        fn abort(&mut self) -> EngineResult<()> {
            self.note("abort")
        }
    }

    #[test]
    fn a_transaction_ends_once_as_its_body_asks_for_and_is_aborted_after_an_error() {
        use Completion::{Commit, RollBack};
        let failed = |name: &str| Err(EngineError::Full(name.to_owned()));
        for (fails, end, expected, calls) in [
            ("", Commit(1), Ok(1), &["begin", "body", "commit"][..]),
            ("", RollBack(2), Ok(2), &["begin", "body", "abort"][..]),
            ("begin", Commit(1), failed("begin"), &["begin"][..]),
            (
                "body",
                Commit(1),
                failed("body"),
                &["begin", "body", "abort"][..],
            ),
            (
                "commit",
                Commit(1),
                failed("commit"),
                &["begin", "body", "commit"][..],
            ),
            (
                "abort",
                RollBack(1),
                failed("abort"),
                &["begin", "body", "abort"][..],
            ),
        ] {
            let mut scope = NotedCalls {
                calls: Vec::new(),
                fails,
            };
            let done = attempt(&mut scope, Mode::Write, |scope| {
                scope.note("body").map(|()| end)
            });
            assert_eq!((done, scope.calls.as_slice()), (expected, calls), "{fails}");
        }
    }

    #[test]
    fn conflicts_are_counted_and_retried_with_a_backoff_before_each_further_attempt() {
        let (mut meter, mut left, mut backoffs) = (meter(u32::MAX), 3, Vec::new());
        let done = retry_with_backoff(
            &mut meter,
            String::new,
            |conflicts| backoffs.push(conflicts),
            |_| {
                left -= 1;
                if left > 0 { Err(conflict()) } else { Ok(left) }
            },
        );
        assert_eq!(done, Ok(0));
        assert_eq!((meter.conflicts, backoffs), (2, vec![1, 2]));
    }

    #[test]
    fn a_run_that_is_stopped_and_any_other_error_end_the_attempts() {
        let mut meter = meter(5);
        let stopped = retry::<(), _>(&mut meter, String::new, |_| Err(conflict()));
        assert_eq!((stopped, meter.conflicts), (Err(Error::Stopped), 5));
        let doing = || "reading".to_owned();
        let full = || EngineError::Full("the disk".to_owned());
        let fatal = || TransactionError::workload("too large".to_owned());
        let source = full();
        let full_error: Result<()> = Err(Error::Engine {
            doing: doing(),
            source,
        });
        let fatal_error: Result<()> = Err(Error::Workload("too large".to_owned()));
        let error = retry::<(), _>(&mut meter, doing, |_| Err(full()));
        assert_eq!(error, full_error);
        assert_eq!(retry_unmetered::<(), _>(doing, || Err(full())), full_error);
        let error = retry::<(), _>(&mut meter, doing, |_| Err(fatal()));
        assert_eq!(error, fatal_error);
        let error = retry_unmetered::<(), _>(doing, || Err(fatal()));
        assert_eq!(error, fatal_error);
    }

    #[test]
    fn work_that_is_not_measured_is_given_up_after_many_conflicts_in_a_row_for_long_enough() {
        let limit = |attempts, milliseconds| ConflictLimit {
            attempts,
            period: Duration::from_millis(milliseconds),
        };
        let doing = || "loading".to_owned();
        // The attempts, of which this many meet a conflict, and the result.
        let retried = |limit: ConflictLimit, conflicts: u32| {
            let mut attempts = 0_u32;
            let done = retry_up_to(limit, doing, || {
                attempts += 1;
                if attempts > conflicts {
                    Ok(attempts)
                } else {
                    Err(conflict())
                }
            });
            (attempts, done)
        };
        assert_eq!(retried(limit(1_000, 0), 999), (1_000, Ok(1_000)));
        let text = "loading: a conflict at each of 1000 attempts in 0 s: the transaction may be \
                    larger than the engine's cache (the last conflict: busy)";
        let error = Err(Error::Workload(text.to_owned()));
        assert_eq!(retried(limit(1_000, 0), u32::MAX), (1_000, error));
        let began = Instant::now();
        let (attempts, error) = retried(limit(2, 20), u32::MAX);
        assert!(began.elapsed() >= Duration::from_millis(20));
        assert!(attempts >= 2 && error.is_err(), "{attempts}");
        // A cluster without a leader for a while.
        assert_eq!(retried(UNMEASURED_LIMIT, 5_000), (5_001, Ok(5_001)));
    }
}
