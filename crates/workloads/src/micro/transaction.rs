//! Transactions that are tried again for as long as the engine reports conflicts.

use crate::{Error, Meter};
use trueput_engine::{Error as EngineError, Mode, Result as EngineResult, Session, ValueVisitor};

/// Does `body` in a transaction until that commits without a conflict.
///
/// # Errors
/// Whatever the engine says, and that the user stopped the run.
#[inline]
pub(super) fn transact(
    session: &mut dyn Session,
    meter: &mut dyn Meter,
    mode: Mode,
    doing: &'static str,
    mut body: impl FnMut(&mut dyn Session, &mut dyn Meter) -> EngineResult<()>,
) -> Result<(), Error> {
    retried(meter, doing, |meter| {
        attempt(session, meter, mode, &mut body)
    })
}

/// Looks `key` up in a read transaction of its own, and says whether it is there.
///
/// # Errors
/// As [`transact`].
#[inline]
pub(super) fn point_read(
    session: &mut dyn Session,
    meter: &mut dyn Meter,
    key: &[u8],
    visitor: &mut ValueVisitor<'_>,
) -> Result<bool, Error> {
    retried(meter, "reading", |_| session.point_read(key, visitor))
}

#[inline]
fn retried<T>(
    meter: &mut dyn Meter,
    doing: &'static str,
    mut attempt: impl FnMut(&mut dyn Meter) -> EngineResult<T>,
) -> Result<T, Error> {
    loop {
        match attempt(meter) {
            Ok(value) => return Ok(value),
            Err(error) if error.is_conflict() => {
                meter.conflict(&error);
                if meter.stopped() {
                    return Err(Error::Stopped);
                }
            }
            Err(source) => {
                return Err(Error::Engine {
                    doing: doing.to_owned(),
                    source,
                });
            }
        }
    }
}

#[inline]
fn attempt(
    session: &mut dyn Session,
    meter: &mut dyn Meter,
    mode: Mode,
    body: &mut impl FnMut(&mut dyn Session, &mut dyn Meter) -> EngineResult<()>,
) -> EngineResult<()> {
    session.begin(mode)?;
    match body(session, meter) {
        Ok(()) => session.commit(),
        Err(error) => {
            // The error says more than what the abort may add; the transaction ends either way.
            let _ = session.abort();
            Err(error)
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
