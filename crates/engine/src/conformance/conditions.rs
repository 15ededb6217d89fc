//! Puts on the condition that the key does not exist.

use super::EngineUnderTest;
use super::support::{Outcome, StepContext, ensure, ensure_value, get, read, write};
use crate::Mode;

pub fn put_if_absent(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let stored = write(session.as_mut(), |session| {
        let first = session.put_if_absent(b"a", b"first")?;
        let second = session.put_if_absent(b"a", b"second")?;
        session.delete(b"a")?;
        let third = session.put_if_absent(b"a", b"third")?;
        session.put(b"b", b"")?;
        let over_empty = session.put_if_absent(b"b", b"not empty")?;
        Ok([first, second, third, over_empty])
    })?;
    let expected = [true, false, true, false];
    ensure(stored == expected, || {
        format!("in one transaction it should answer {expected:?}, and answered {stored:?}")
    })?;
    let after_get = write(session.as_mut(), |session| {
        let found = get(session, b"d")?;
        let first = session.put_if_absent(b"d", b"looked up")?;
        let second = session.put_if_absent(b"d", b"again")?;
        Ok((found, first, second, get(session, b"d")?))
    })?;
    let expected = (None, true, false, Some(b"looked up".to_vec()));
    ensure(after_get == expected, || {
        format!("after a get that found nothing it answered {after_get:?}")
    })?;
    drop(session);
    let mut session = database.session().at("another session")?;
    let check = |session: &mut dyn crate::Session| {
        let found = read(session, |session| {
            Ok([get(session, b"a")?, get(session, b"b")?])
        })?;
        ensure_value(
            "a key that was put again",
            Some(b"third"),
            found[0].as_deref(),
        )?;
        ensure_value("a key with an empty value", Some(b""), found[1].as_deref())
    };
    check(session.as_mut())?;
    let later = write(session.as_mut(), |session| {
        Ok([
            session.put_if_absent(b"a", b"fourth")?,
            session.put_if_absent(b"b", b"fourth")?,
        ])
    })?;
    ensure(later == [false, false], || {
        format!("over committed records it answered {later:?}")
    })?;
    check(session.as_mut())?;
    session.begin(Mode::Read).at("begin")?;
    let refused = session.put_if_absent(b"c", b"refused").is_err();
    session.abort().at("abort")?;
    ensure(refused, || {
        "a conditional put in a read transaction should be refused, and was not".to_owned()
    })?;
    Ok("in one transaction, after a get, and over committed records".to_owned())
}
