//! Transactions that are tried again for as long as the engine reports conflicts.

use crate::{Error, Meter};
use trueput_engine::{Error as EngineError, Mode, Session};

/// Why the body of a transaction gave up.
#[derive(Debug)]
pub(super) enum Failure {
    /// The engine said so; a conflict has the transaction tried again.
    Engine(EngineError),
    /// There is no point in another attempt.
    Final(Error),
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl Failure {
    /// A record, or a number, that the workload cannot go on with.
    pub(super) fn workload(text: String) -> Self {
        Self::Final(Error::Workload(text))
    }

    /// Counts a conflict and returns, so that the caller tries again; hands any other failure on.
    pub(super) fn settle(
        self,
        meter: &mut dyn Meter,
        doing: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        match self {
            Self::Engine(error) if error.is_conflict() => {
                meter.conflict(&error);
                if meter.stopped() {
                    Err(Error::Stopped)
                } else {
                    Ok(())
                }
            }
            other => Err(other.into_error(doing)),
        }
    }

    /// The error to hand on.
    pub(super) fn into_error(self, doing: impl FnOnce() -> String) -> Error {
        match self {
            Self::Engine(source) => Error::Engine {
                doing: doing(),
                source,
            },
            Self::Final(error) => error,
        }
    }
}

/// Does `body` in a transaction until that commits without a conflict.
pub(super) fn transact<T>(
    session: &mut dyn Session,
    meter: &mut dyn Meter,
    mode: Mode,
    doing: impl Fn() -> String,
    mut body: impl FnMut(&mut dyn Session, &mut dyn Meter) -> Result<T, Failure>,
) -> Result<T, Error> {
    loop {
        match attempt(session, meter, mode, &mut body) {
            Ok(value) => return Ok(value),
            Err(failure) => failure.settle(meter, &doing)?,
        }
    }
}

fn attempt<T>(
    session: &mut dyn Session,
    meter: &mut dyn Meter,
    mode: Mode,
    body: &mut impl FnMut(&mut dyn Session, &mut dyn Meter) -> Result<T, Failure>,
) -> Result<T, Failure> {
    session.begin(mode)?;
    match body(session, meter) {
        Ok(value) => {
            session.commit()?;
            Ok(value)
        }
        Err(failure) => {
            // The failure says more than what the abort may add; the transaction ends either way.
            let _ = session.abort();
            Err(failure)
        }
    }
}

/// The meter of work that is not measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unmetered;

impl Meter for Unmetered {
    fn start(&mut self) {}
    fn finish(&mut self, _kind: usize) {}
    fn advance(&mut self, _units: u64) {}
    fn conflict(&mut self, _error: &EngineError) {}
    fn retract(&mut self, _kind: usize, _count: u64) {}
    fn stopped(&self) -> bool {
        false
    }
}

/// A transaction of work that is not measured.
pub(super) fn transact_unmetered<T>(
    session: &mut dyn Session,
    mode: Mode,
    doing: impl Fn() -> String,
    mut body: impl FnMut(&mut dyn Session) -> Result<T, Failure>,
) -> Result<T, Error> {
    transact(session, &mut Unmetered, mode, doing, |session, _| {
        body(session)
    })
}
