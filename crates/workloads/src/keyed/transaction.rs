//! Transactions that are retried for as long as the engine reports conflicts.

use crate::{Error, JobTask, Meter, Result};
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
        attempt(session, meter, mode, &mut body)
    })
}

/// Runs a transaction that is not measured.
///
/// # Errors
/// See [`retry`].
pub(crate) fn transact_unmetered<T, E: From<EngineError> + Into<TransactionError>>(
    session: &mut dyn Session,
    mode: Mode,
    doing: impl FnOnce() -> String,
    mut body: impl FnMut(&mut dyn Session) -> Result<T, E>,
) -> Result<T> {
    transact(session, &mut UnmeteredWork, mode, doing, |session, _| {
        body(session)
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

#[inline]
fn attempt<T, E: From<EngineError>>(
    session: &mut dyn Session,
    meter: &mut dyn Meter,
    mode: Mode,
    body: &mut impl FnMut(&mut dyn Session, &mut dyn Meter) -> Result<T, E>,
) -> Result<T, E> {
    session.begin(mode)?;
    match body(session, meter) {
        Ok(value) => {
            session.commit()?;
            Ok(value)
        }
        Err(error) => {
            // This error is more specific than one from the abort; the transaction ends either way.
            let _ = session.abort();
            Err(error)
        }
    }
}

/// Reads in a transaction that is aborted in the end: it has nothing to commit.
pub(crate) fn read_once<T>(
    session: &mut dyn Session,
    read: impl FnOnce(&mut dyn Session) -> EngineResult<T>,
) -> EngineResult<T> {
    session.begin(Mode::Read)?;
    let value = read(session);
    let ended = session.abort();
    let value = value?;
    ended?;
    Ok(value)
}

/// The meter of work that is not measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnmeteredWork;

impl Meter for UnmeteredWork {
    fn start(&mut self) {}
    fn finish(&mut self, _kind: usize) {}
    fn advance(&mut self, _units: u64) {}
    fn conflict(&mut self, _error: &EngineError) {}
    fn uncount(&mut self, _kind: usize, _count: u64) {}
    fn is_stopped(&self) -> bool {
        false
    }
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
        let error = retry::<(), _>(&mut UnmeteredWork, doing, |_| Err(full()));
        let source = full();
        let doing = doing();
        assert_eq!(error, Err(Error::Engine { doing, source }));
        let fatal = || TransactionError::workload("too large".to_owned());
        let error = retry::<(), _>(&mut UnmeteredWork, String::new, |_| Err(fatal()));
        assert_eq!(error, Err(Error::Workload("too large".to_owned())));
    }
}
