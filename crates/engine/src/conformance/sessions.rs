//! Checks of concurrent sessions: visibility of each other's writes, and no lost updates.

use super::EngineUnderTest;
use super::support::{
    CheckFailure, Outcome, RETRY_TIMEOUT, Record, StepContext, attempt, count, ensure,
    ensure_records, ensure_value, get, guarded, read, retried_within, scan, store,
    with_second_session, write,
};
use crate::{Database, Direction, KeyRange, Mode, Session};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub fn uncommitted(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    store(session.as_mut(), &[(b"old".to_vec(), b"before".to_vec())])?;
    session.begin(Mode::Write).at("begin")?;
    session.put(b"old", b"after").at("put")?;
    session.put(b"new", b"after").at("put")?;
    let look = |other: &mut dyn Session| {
        read(other, |other| {
            Ok((get(other, b"old")?, get(other, b"new")?, count(other)?))
        })
    };
    let own = move |waiting| session.abort().at("abort").map(|()| waiting);
    let (waiting, (old, new, records)) = with_second_session(&*database, look, own)?;
    ensure_value("a changed record", Some(b"before"), old.as_deref())?;
    ensure_value("a new record", None, new.as_deref())?;
    ensure(records == 1, || {
        format!("a scan showed {records} records instead of 1")
    })?;
    Ok(if waiting {
        "the writer ended before the reader"
    } else {
        "by get and by scan"
    }
    .to_owned())
}

pub fn snapshot(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    let before = [b"a", b"b", b"c"].map(|key| (key.to_vec(), b"before".to_vec()));
    store(session.as_mut(), &before)?;
    session.begin(Mode::Read).at("begin")?;
    let first = get(session.as_mut(), b"a").at("get")?;
    ensure_value("the first read", Some(b"before"), first.as_deref())?;
    let change = |other: &mut dyn Session| {
        write(other, |other| {
            other.put(b"a", b"after")?;
            other.delete(b"b")?;
            other.put(b"d", b"after")
        })
    };
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    let own = |waiting| {
        let mut session = session;
        let again = get(session.as_mut(), b"a").at("get")?;
        let seen = all(session.as_mut()).at("scan")?;
        session.commit().at("commit")?;
        ensure_value(
            "get after another's commit",
            Some(b"before"),
            again.as_deref(),
        )?;
        ensure_records("scan after another's commit", &before, &seen)?;
        Ok(waiting)
    };
    let (waiting, ()) = with_second_session(&*database, change, own)?;
    let mut session = database.session().at("session")?;
    let after = [b"a", b"c", b"d"].map(|key| {
        (
            key.to_vec(),
            if key == b"c" {
                b"before".to_vec()
            } else {
                b"after".to_vec()
            },
        )
    });
    ensure_records(
        "the next transaction",
        &after,
        &read(session.as_mut(), all)?,
    )?;
    let detail = if waiting {
        "the reader ended before the writer"
    } else {
        "a put, a change and a delete"
    };
    Ok(detail.to_owned())
}

/// The time for which several readers read while a writer commits.
const READ_TIME: Duration = Duration::from_millis(100);
/// After [`READ_TIME`], the writer continues until it has made this many commits, or a second has
/// passed.
const MIN_COMMITS: u64 = 4;

/// Returns the records of the database after commit `number`: each value repeats the number.
fn state(number: u64) -> Vec<Record> {
    let value = number.to_le_bytes().repeat(32);
    let key = |index: u8| vec![b'k', index];
    (0..50).map(|index| (key(index), value.clone())).collect()
}

/// Commits one state after the other; answers how many.
fn commit_states(session: &mut dyn Session) -> Outcome<u64> {
    let (start, mut commits) = (Instant::now(), 0);
    let is_time_left = |commits| match start.elapsed() {
        time if time < READ_TIME => true,
        time => commits < MIN_COMMITS && time < RETRY_TIMEOUT,
    };
    while is_time_left(commits) {
        let records = state(commits + 1);
        let mut puts = records.iter();
        match attempt(session, Mode::Write, |session| {
            puts.try_for_each(|(key, value)| session.put(key, value))
        }) {
            Err(error) if error.is_conflict() => thread::yield_now(),
            ended => {
                ended.at("the writer")?;
                commits += 1;
            }
        }
    }
    Ok(commits)
}

/// Reads the first and the last record twice in one transaction after another while `is_writing`,
/// and checks that each transaction sees one state. Returns the number of transactions.
fn read_states(session: &mut dyn Session, is_writing: &AtomicBool) -> Outcome<u64> {
    let (start, mut reads) = (Instant::now(), 0);
    let (first, last) = (b"k\0".as_slice(), [b'k', 49]);
    while is_writing.load(Ordering::Acquire) && start.elapsed() < 2 * RETRY_TIMEOUT {
        let seen = attempt(session, Mode::Read, |session| {
            let before = get(session, first)?;
            let records = scan(session, KeyRange::ALL, Direction::Forward)?;
            thread::yield_now();
            Ok((before, records, get(session, &last)?, get(session, first)?))
        });
        let (before, records, end, after) = match seen {
            Err(error) if error.is_conflict() => {
                thread::yield_now();
                continue;
            }
            seen => seen.at("a reader")?,
        };
        let number = before.as_deref().and_then(<[u8]>::first_chunk);
        let expected = state(number.map_or(0, |bytes| u64::from_le_bytes(*bytes)));
        let value = Some(expected[0].1.as_slice());
        ensure_value("the first record", value, before.as_deref())?;
        ensure_records("a scan after the first record", &expected, &records)?;
        ensure_value("the last record after the scan", value, end.as_deref())?;
        ensure_value("the first record once more", value, after.as_deref())?;
        reads += 1;
    }
    Ok(reads)
}

pub fn several_readers(subject: &EngineUnderTest<'_>) -> Outcome {
    const READERS: u64 = 3;
    let database = subject.open()?;
    let database = &*database;
    store(database.session().at("session")?.as_mut(), &state(0))?;
    let is_writing = AtomicBool::new(true);
    let (commits, reads) = (AtomicU64::new(0), AtomicU64::new(0));
    on_threads(READERS + 1, |thread| {
        if thread < READERS {
            let mut session = database.session().at("a reader's session")?;
            let made = read_states(session.as_mut(), &is_writing)?;
            reads.fetch_add(made, Ordering::Relaxed);
            return Ok(());
        }
        let made = guarded(|| {
            let mut session = database.session().at("the writer's session")?;
            commit_states(session.as_mut())
        });
        is_writing.store(false, Ordering::Release);
        commits.store(made?, Ordering::Relaxed);
        Ok(())
    })?;
    let (commits, reads) = (commits.into_inner(), reads.into_inner());
    Ok(format!(
        "{reads} reads in {READERS} threads, {commits} commits"
    ))
}

/// Reads the counter, lets others go, writes it one higher.
fn increment(session: &mut dyn Session) -> crate::Result<()> {
    let number = current(session)?;
    thread::yield_now();
    session.put(b"counter", &(number + 1).to_le_bytes())
}

fn current(session: &mut dyn Session) -> crate::Result<u64> {
    let value = get(session, b"counter")?;
    Ok(value
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u64::from_le_bytes))
}

/// Checks that the counter equals the number of acknowledged increments.
fn check_counter(database: &dyn Database, acknowledged: u64) -> Outcome<()> {
    let mut session = database.session().at("session")?;
    let found = read(session.as_mut(), current)?;
    ensure(found == acknowledged, || {
        format!("{acknowledged} increments were acknowledged, the counter stands at {found}")
    })
}

pub fn two_updates(subject: &EngineUnderTest<'_>) -> Outcome {
    let database = subject.open()?;
    let mut session = database.session().at("session")?;
    store(
        session.as_mut(),
        &[(b"counter".to_vec(), 0_u64.to_le_bytes().to_vec())],
    )?;
    session.begin(Mode::Write).at("begin")?;
    let number = current(session.as_mut()).at("get")?;
    let other = |other: &mut dyn Session| write(other, increment);
    let own = move |waiting| {
        let written = session.put(b"counter", &(number + 1).to_le_bytes());
        let ended = match written {
            Ok(()) => session.commit(),
            Err(error) => {
                // The first error is the one to report.
                let _ = session.abort();
                Err(error)
            }
        };
        match ended {
            Ok(()) if waiting => Ok((1, "the first ended before the second")),
            Ok(()) => Ok((1, "both were let through")),
            Err(error) if error.is_conflict() => Ok((0, "a conflict was reported")),
            Err(error) => Err(CheckFailure(format!("the first transaction: {error}"))),
        }
    };
    let ((own, how), ()) = with_second_session(&*database, other, own)?;
    check_counter(&*database, own + 1)?;
    Ok(how.to_owned())
}

pub fn counter(subject: &EngineUnderTest<'_>) -> Outcome {
    const THREADS: u64 = 4;
    const INCREMENTS: u64 = 8;
    // An optimistic engine may let one session lose every round, so each has the time of all.
    const TIMEOUT: Duration = Duration::from_secs(10);
    let database = subject.open()?;
    let database = &*database;
    let worker = || {
        let mut session = database.session().at("session")?;
        (0..INCREMENTS).try_for_each(|_| {
            let once = || attempt(session.as_mut(), Mode::Write, &mut increment);
            retried_within(TIMEOUT, once).at("a write transaction")
        })
    };
    on_threads(THREADS, |_| worker())?;
    check_counter(database, THREADS * INCREMENTS)?;
    Ok(format!("{THREADS} threads, {INCREMENTS} increments each"))
}

pub fn conditional_puts(subject: &EngineUnderTest<'_>) -> Outcome {
    const THREADS: u64 = 4;
    const KEYS: u8 = 8;
    const TIMEOUT: Duration = Duration::from_secs(10);
    let database = subject.open()?;
    let database = &*database;
    // The threads that stored each key, and how often.
    let stored = Mutex::new(vec![Vec::new(); usize::from(KEYS)]);
    on_threads(THREADS, |thread| {
        let mut session = database.session().at("session")?;
        for key in 0..KEYS {
            let put = |session: &mut dyn Session| session.put_if_absent(&[key], &[thread as u8]);
            let once = || attempt(session.as_mut(), Mode::Write, put);
            if retried_within(TIMEOUT, once).at("a write transaction")? {
                let mut stored = stored.lock().unwrap_or_else(PoisonError::into_inner);
                stored[usize::from(key)].push(thread as u8);
            }
        }
        Ok(())
    })?;
    let stored = stored.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut session = database.session().at("session")?;
    for (key, threads) in (0..KEYS).zip(stored) {
        ensure(threads.len() == 1, || {
            format!("{} threads stored key {key}", threads.len())
        })?;
        let found = read(session.as_mut(), |session| get(session, &[key]))?;
        ensure_value(
            "the value of the one that stored",
            Some(&threads),
            found.as_deref(),
        )?;
    }
    Ok(format!("{THREADS} threads, {KEYS} keys"))
}

/// Runs `work` on several threads, each with its number from 0.
fn on_threads(threads: u64, work: impl Fn(u64) -> Outcome<()> + Sync) -> Outcome<()> {
    let work = &work;
    thread::scope(|scope| {
        let spawn = |number| scope.spawn(move || guarded(|| work(number)));
        let handles: Vec<_> = (0..threads).map(spawn).collect();
        handles.into_iter().try_for_each(|handle| {
            handle
                .join()
                .unwrap_or_else(|_| Err(CheckFailure("a thread died".to_owned())))
        })
    })
}

pub fn two_threads(subject: &EngineUnderTest<'_>) -> Outcome {
    const EACH: u64 = 10;
    let database = subject.open()?;
    let record = |thread: u64, number: u64| -> Record {
        (
            format!("{number:02} of {thread}").into_bytes(),
            vec![thread as u8; 50],
        )
    };
    on_threads(2, |thread| {
        let mut session = database.session().at("session")?;
        for number in 0..EACH {
            let (key, value) = record(thread, number);
            store(session.as_mut(), &[(key.clone(), value.clone())])?;
            let found = read(session.as_mut(), |session| get(session, &key))?;
            ensure_value("a thread's own record", Some(&value), found.as_deref())?;
        }
        Ok(())
    })?;
    let mut session = database.session().at("session")?;
    let expected: Vec<Record> = (0..EACH)
        .flat_map(|number| [record(0, number), record(1, number)])
        .collect();
    let all = |session: &mut dyn Session| scan(session, KeyRange::ALL, Direction::Forward);
    ensure_records(
        "the records of both",
        &expected,
        &read(session.as_mut(), all)?,
    )?;
    Ok(format!("{EACH} transactions each"))
}
