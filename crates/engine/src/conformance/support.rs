//! Shared code of the checks: outcomes, transactions with retries, a second session on a thread.

use crate::panics::caught;
use crate::{Database, Direction, Error, KeyRange, Mode, Session};
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use trueput_record::random::SplitMix64;

/// The time for which a check keeps its transaction open for another session that may be queueing
/// after it.
const PATIENCE: Duration = Duration::from_millis(100);

/// The time for which a transaction is retried after conflicts.
pub const RETRY_TIMEOUT: Duration = Duration::from_secs(1);

/// The step of closing a database.
pub const CLOSING: &str = "closing the database";

/// The expectation and the deviation from it.
pub struct CheckFailure(pub String);

/// The result of a check: a detail if it passed.
pub type Outcome<T = String> = Result<T, CheckFailure>;

/// A record as a check sees it.
pub type Record = (Vec<u8>, Vec<u8>);

/// Says at which step the engine gave an error that it should not give.
pub trait StepContext<T> {
    fn at(self, step: &str) -> Outcome<T>;
}

impl<T> StepContext<T> for crate::Result<T> {
    fn at(self, step: &str) -> Outcome<T> {
        self.map_err(|error| CheckFailure(format!("{step}: {error}{}", error.conflict_hint())))
    }
}

/// Why an engine makes no promise at the level under test.
pub fn missing_promise(error: crate::Error) -> CheckFailure {
    match error {
        crate::Error::Unsupported(reason) => CheckFailure(reason),
        other => CheckFailure(other.to_string()),
    }
}

/// Fails unless `holds`.
pub fn ensure(holds: bool, fault: impl FnOnce() -> String) -> Outcome<()> {
    if holds {
        Ok(())
    } else {
        Err(CheckFailure(fault()))
    }
}

/// Runs `work`; a panic in it becomes a fault.
pub fn guarded<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    caught(work).unwrap_or_else(|panic| Err(CheckFailure(panic.to_string())))
}

/// Runs `work` in a write transaction and commits it, again after conflicts.
pub fn write<T>(
    session: &mut dyn Session,
    work: impl FnMut(&mut dyn Session) -> crate::Result<T>,
) -> Outcome<T> {
    transact(session, Mode::Write, work).at("a write transaction")
}

/// Runs `work` in a read transaction, again after conflicts.
pub fn read<T>(
    session: &mut dyn Session,
    work: impl FnMut(&mut dyn Session) -> crate::Result<T>,
) -> Outcome<T> {
    transact(session, Mode::Read, work).at("a read transaction")
}

fn transact<T>(
    session: &mut dyn Session,
    mode: Mode,
    mut work: impl FnMut(&mut dyn Session) -> crate::Result<T>,
) -> crate::Result<T> {
    retried(|| attempt(session, mode, &mut work))
}

/// Tries again after conflicts, for as long as a check may.
pub fn retried<T>(attempt: impl FnMut() -> crate::Result<T>) -> crate::Result<T> {
    retried_within(RETRY_TIMEOUT, attempt)
}

/// Tries again after conflicts, for at most this long.
pub fn retried_within<T>(
    limit: Duration,
    mut attempt: impl FnMut() -> crate::Result<T>,
) -> crate::Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        match attempt() {
            Err(error) if error.is_conflict() && Instant::now() < deadline => thread::yield_now(),
            ended => return ended,
        }
    }
}

/// Runs one transaction from begin to commit, or to abort after an error.
pub fn attempt<T>(
    session: &mut dyn Session,
    mode: Mode,
    mut work: impl FnMut(&mut dyn Session) -> crate::Result<T>,
) -> crate::Result<T> {
    session.begin(mode)?;
    match work(session) {
        Ok(value) => session.commit().map(|()| value),
        Err(error) => {
            // The first error is the one to report.
            let _ = session.abort();
            Err(error)
        }
    }
}

/// Puts every record in one committed transaction.
pub fn store(session: &mut dyn Session, records: &[Record]) -> Outcome<()> {
    write(session, |session| {
        records
            .iter()
            .try_for_each(|(key, value)| session.put(key, value))
    })
}

/// Returns the value of `key`. Fails if the visitor was called for an absent key, or not exactly
/// once for a present one.
pub fn get(session: &mut dyn Session, key: &[u8]) -> crate::Result<Option<Vec<u8>>> {
    let mut seen = Vec::new();
    let found = session.get(key, &mut |value| seen.push(value.to_vec()))?;
    if seen.len() != usize::from(found) {
        let shown = seen.len();
        let text = format!("get answered {found} but showed a value {shown} times");
        return Err(Error::engine(text));
    }
    Ok(seen.pop())
}

/// Returns the records of a scan. Fails if the returned count differs from the number of records
/// visited.
pub fn scan(
    session: &mut dyn Session,
    range: KeyRange<'_>,
    direction: Direction,
) -> crate::Result<Vec<Record>> {
    scan_until(session, range, direction, usize::MAX)
}

/// As [`scan`], but breaks at record number `most`.
pub fn scan_until(
    session: &mut dyn Session,
    range: KeyRange<'_>,
    direction: Direction,
    most: usize,
) -> crate::Result<Vec<Record>> {
    let mut seen = Vec::new();
    let count = session.scan(range, direction, &mut |key, value| {
        seen.push((key.to_vec(), value.to_vec()));
        if seen.len() >= most {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if count != seen.len() as u64 {
        let text = format!("scan answered {count} but showed {} records", seen.len());
        return Err(Error::engine(text));
    }
    Ok(seen)
}

/// Counts the records.
pub fn count(session: &mut dyn Session) -> crate::Result<u64> {
    session.scan(KeyRange::ALL, Direction::Forward, &mut |_, _| {
        ControlFlow::Continue(())
    })
}

/// Runs a second session while the caller has a transaction open.
///
/// `other` runs on a thread with a session of its own. Once it has ended, or after [`PATIENCE`],
/// because it may be queueing behind the caller, `own` is called with whether it is still waiting;
/// it holds the caller's session and ends its transaction, so both come to an end.
pub fn with_second_session<R, T: Send>(
    database: &dyn Database,
    other: impl FnOnce(&mut dyn Session) -> Outcome<T> + Send,
    own: impl FnOnce(bool) -> Outcome<R>,
) -> Outcome<(R, T)> {
    thread::scope(|scope| {
        let (ended, wait) = channel::<()>();
        let other = scope.spawn(move || {
            let _ended = ended;
            guarded(|| other(database.session().at("a second session")?.as_mut()))
        });
        let waiting = wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        let own = guarded(|| own(waiting));
        let other = other.join();
        let ended =
            other.unwrap_or_else(|_| Err(CheckFailure("a session's thread panicked".to_owned())));
        Ok((own?, ended?))
    })
}

/// Fails unless the engine returned `expected` at this step.
pub fn ensure_value(step: &str, expected: Option<&[u8]>, found: Option<&[u8]>) -> Outcome<()> {
    let text = |value: Option<&[u8]>| value.map_or_else(|| "nothing".to_owned(), quote_bytes);
    ensure(expected == found, || {
        format!("{step}: expected {}, found {}", text(expected), text(found))
    })
}

/// Fails unless the engine returned the `expected` records in their order at this step.
pub fn ensure_records(step: &str, expected: &[Record], found: &[Record]) -> Outcome<()> {
    ensure(expected == found, || {
        let same = expected
            .iter()
            .zip(found)
            .take_while(|(a, b)| a == b)
            .count();
        let text = |records: &[Record]| match records.get(same) {
            Some((key, value)) => format!("{} = {}", quote_bytes(key), quote_bytes(value)),
            None => "the end".to_owned(),
        };
        format!(
            "{step}: expected {} records, found {}; record {} should be {}, is {}",
            expected.len(),
            found.len(),
            same + 1,
            text(expected),
            text(found)
        )
    })
}

/// Bytes for people: long ones are cut, with their length.
pub fn quote_bytes(bytes: &[u8]) -> String {
    const MAX_QUOTED_BYTES: usize = 24;
    if bytes.len() <= MAX_QUOTED_BYTES {
        format!("'{}'", bytes.escape_ascii())
    } else {
        format!(
            "'{}…' ({} bytes)",
            bytes[..MAX_QUOTED_BYTES].escape_ascii(),
            bytes.len()
        )
    }
}

/// Returns a byte string of 1 to `longest` bytes, from a small alphabet so that prefixes are
/// shared.
pub fn random_key(random: &mut SplitMix64, longest: usize) -> Vec<u8> {
    const BYTES: [u8; 8] = [0x00, 0x01, b'a', b'b', 0x7F, 0x80, 0xFE, 0xFF];
    let length = 1 + random.below(longest);
    (0..length).map(|_| BYTES[random.below(8)]).collect()
}
