//! Checks that calls out of turn are refused and do no harm, and that an engine identifies itself.

use super::support::{
    CheckFailure, Outcome, StepContext, ensure, ensure_value, get, missing_promise, read, store,
    write,
};
use super::{EngineUnderTest, SESSIONS};
use crate::{Direction, Durability, Error, KeyRange, Mode, OpenSpec, Session};
use std::ops::ControlFlow;

pub fn promise(subject: &EngineUnderTest<'_>) -> Outcome {
    let level = subject.durability;
    let promise = subject.engine.promise_with(level, subject.knobs);
    let promise = promise.map_err(missing_promise)?;
    ensure(promise.durability == level, || {
        format!("asked for '{level}', promised '{}'", promise.durability)
    })?;
    ensure(!promise.mapped_to.is_empty(), || {
        "it names no settings".to_owned()
    })?;
    ensure(!promise.source.is_empty(), || {
        "it names no source".to_owned()
    })?;
    let may_lose = matches!(level, Durability::Async | Durability::Buffered);
    ensure(!may_lose || promise.window.is_some(), || {
        format!("'{level}' may lose commits, but no window says how many")
    })?;
    Ok(promise.mapped_to)
}

pub fn levels_refused(subject: &EngineUnderTest<'_>) -> Outcome {
    let promised = |level: &Durability| {
        let promise = subject.engine.promise_with(*level, subject.knobs);
        promise.is_ok()
    };
    let (_, refused): (Vec<_>, Vec<_>) = Durability::ALL.into_iter().partition(promised);
    for &durability in &refused {
        let directory = subject.folder.join(durability.name());
        std::fs::create_dir(&directory).map_err(|error| CheckFailure(error.to_string()))?;
        let knobs = subject.knobs;
        let spec = OpenSpec {
            directory: &directory,
            durability,
            knobs,
            sessions: SESSIONS,
        };
        match subject.engine.open(&spec) {
            Err(Error::Unsupported(_)) => {}
            Err(error) => {
                return Err(CheckFailure(format!(
                    "'{durability}': expected 'unsupported', found: {error}"
                )));
            }
            Ok(_) => {
                return Err(CheckFailure(format!(
                    "'{durability}' has no promise and was opened"
                )));
            }
        }
    }
    let names: Vec<_> = refused.iter().map(|level| level.name()).collect();
    Ok(if names.is_empty() {
        "it has every level".to_owned()
    } else {
        names.join(", ")
    })
}

/// Checks that a call out of turn fails, with an error that does not invite a retry.
fn ensure_refused<T>(call: &str, answer: crate::Result<T>) -> Outcome<()> {
    match answer {
        Err(Error::Conflict(text) | Error::Deadlock(text)) => Err(CheckFailure(format!(
            "{call} is refused as a conflict, which invites retries: {text}"
        ))),
        Err(_) => Ok(()),
        Ok(_) => Err(CheckFailure(format!(
            "{call} should be refused, and was not"
        ))),
    }
}

/// As [`ensure_refused`], but requires the error that the contract names.
fn ensure_unsupported(call: &str, answer: crate::Result<()>) -> Outcome<()> {
    match answer {
        Err(Error::Unsupported(_)) => Ok(()),
        Err(error) => Err(CheckFailure(format!(
            "{call}: expected 'unsupported', found: {error}"
        ))),
        Ok(()) => Err(CheckFailure(format!(
            "{call} should be refused, and was not"
        ))),
    }
}

/// Checks that the session still works, whatever came before.
fn check_still_works(subject: &EngineUnderTest<'_>, session: &mut dyn Session) -> Outcome<()> {
    write(session, |session| session.put(b"after", b"value"))?;
    let found = read(session, |session| get(session, b"after"))?;
    let expected = subject
        .capabilities
        .retains_data
        .then_some(b"value".as_slice());
    ensure_value("a put after refused calls", expected, found.as_deref())
}

pub fn no_transaction(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let everything = &mut |_: &[u8], _: &[u8]| ControlFlow::Continue(());
    for moment in ["at first", "after a commit", "after an abort"] {
        let call = |name: &str| format!("{name} {moment}");
        ensure_refused(&call("get"), session.get(b"key", &mut |_| ()))?;
        ensure_refused(&call("put"), session.put(b"key", b"value"))?;
        ensure_refused(&call("delete"), session.delete(b"key"))?;
        ensure_refused(
            &call("scan"),
            session.scan(KeyRange::ALL, Direction::Forward, everything),
        )?;
        ensure_refused(&call("commit"), session.commit())?;
        ensure_refused(&call("abort"), session.abort())?;
        check_still_works(subject, session.as_mut())?;
        if moment == "after a commit" {
            session.begin(Mode::Write).at("begin")?;
            session.abort().at("abort")?;
        }
    }
    let found = read(session.as_mut(), |session| get(session, b"key"))?;
    ensure_value("a key whose put was refused", None, found.as_deref())?;
    Ok("get, put, delete, scan, commit, abort".to_owned())
}

pub fn second_begin(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let modes = [Mode::Read, Mode::Write];
    for (first, second) in modes
        .into_iter()
        .flat_map(|first| modes.map(|second| (first, second)))
    {
        session.begin(first).at("begin")?;
        ensure_refused(
            &format!("begin({second:?}) after begin({first:?})"),
            session.begin(second),
        )?;
        session.abort().at("abort after a refused begin")?;
        check_still_works(subject, session.as_mut())?;
    }
    Ok("every pair of modes".to_owned())
}

pub fn read_only(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    store(session.as_mut(), &[(b"kept".to_vec(), b"value".to_vec())])?;
    session.begin(Mode::Read).at("begin")?;
    ensure_unsupported("put in a read transaction", session.put(b"key", b"value"))?;
    session.abort().at("abort after a refused put")?;
    session.begin(Mode::Read).at("begin")?;
    ensure_unsupported("delete in a read transaction", session.delete(b"kept"))?;
    session.abort().at("abort after a refused delete")?;
    check_still_works(subject, session.as_mut())?;
    let found = read(session.as_mut(), |session| {
        Ok((get(session, b"key")?, get(session, b"kept")?))
    })?;
    ensure_value("a key whose put was refused", None, found.0.as_deref())?;
    let kept = subject
        .capabilities
        .retains_data
        .then_some(b"value".as_slice());
    ensure_value("a key whose delete was refused", kept, found.1.as_deref())?;
    Ok("put, delete".to_owned())
}

pub fn housekeeping(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    check_still_works(subject, session.as_mut())?;
    let settings = database.settings().at("settings")?;
    let counters = database.counters().at("counters")?;
    database.checkpoint().at("checkpoint")?;
    check_still_works(subject, session.as_mut())?;
    Ok(format!(
        "{} settings, {} counters",
        settings.len(),
        counters.len()
    ))
}
