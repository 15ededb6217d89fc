//! The PostgreSQL driver keeps its promises, on a private server and on a user's.

use crate::support::{
    self, TestDatabase, TestDirectory, begin, deadlock, get, keeps_the_contract,
    keeps_the_contract_in, open, read, refusal, scans_keep_to_their_bounds, sql, write,
};
use std::path::Path;
use trueput_drivers::Postgresql;
use trueput_engine::{Address, Database, Datum, Dialect, Durability, Engine, Error, Mode, Session};

static ENGINE: Postgresql = Postgresql::new();

/// The engine, where this machine has it.
fn engine() -> Option<&'static dyn Engine> {
    support::installed(&ENGINE)
}

/// The address of a private server's own socket, as a user would give it.
fn address(place: &Path, user: &str, database: &str) -> String {
    format!(
        "postgres://{user}@/{database}?host={}/data",
        place.display()
    )
}

/// The engine on a database of the server of `place`, as that user.
fn as_user(place: &TestDirectory, user: &str, database: &str) -> Box<dyn Engine> {
    let address = address(place.path(), user, database);
    ENGINE.with_address(&Address::of(&address)).unwrap()
}

/// Executes statements at a private server as its owner.
fn as_owner(database: &dyn Database, statements: &str) {
    let mut session = database.session().unwrap();
    session.sql().unwrap().batch(statements).unwrap();
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_contract_is_kept_at_every_isolation() {
    let Some(engine) = engine() else { return };
    for isolation in ["read-committed", "serializable"] {
        let knobs = format!("isolation={isolation}");
        keeps_the_contract(engine, Durability::Process, &knobs);
    }
}

/// Has a transaction at read committed find no counter, and store it; returns the outcome of
/// `work` on the counter in a second one, which has to wait for the first.
fn behind_one_that_found_nothing<T: std::fmt::Debug + Send>(
    engine: &dyn Engine,
    work: fn(&mut dyn Session) -> T,
) -> T {
    let knobs = "isolation=read-committed";
    let database = TestDatabase::open(engine, Durability::Process, knobs);
    let database = &*database;
    let mut first = begin(database, Mode::Write);
    assert_eq!(get(first.as_mut(), b"counter"), None);
    std::thread::scope(|scope| {
        let (sender, outcomes) = std::sync::mpsc::channel();
        scope.spawn(move || {
            let mut second = begin(database, Mode::Write);
            sender.send(work(second.as_mut())).unwrap();
            second.commit().unwrap();
        });
        let early = outcomes.recv_timeout(std::time::Duration::from_millis(500));
        assert!(early.is_err(), "it did not wait: {early:?}");
        first.put(b"counter", b"1").unwrap();
        first.commit().unwrap();
        outcomes.recv().unwrap()
    })
}

#[test]
#[ignore = "slow: make test runs it"]
fn who_finds_nothing_at_read_committed_makes_others_wait_for_what_it_stores() {
    let Some(engine) = engine() else { return };
    let found = behind_one_that_found_nothing(engine, |second| get(second, b"counter"));
    assert_eq!(found.unwrap(), b"1");
    let stored = behind_one_that_found_nothing(engine, |second| {
        second.put_if_absent(b"counter", b"2").unwrap()
    });
    assert!(!stored, "it is there by now");
}

#[test]
#[ignore = "slow: make test runs it"]
fn no_other_user_reaches_the_socket_or_the_log_of_a_private_server() {
    let Some(engine) = engine() else { return };
    let place = TestDirectory::of(engine, Durability::Process, "log_directory=log");
    assert!(place.path().join("data/.s.PGSQL.5432").exists());
    support::are_closed_to_others(place.path(), &["data", "log/wal"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn its_sessions_speak_sql() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Process, "");
    assert_eq!(engine.dialect(), Some(Dialect::Postgresql));
    sql::speaks_sql(&*database, &sql::POSTGRESQL);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_statement_takes_an_array_and_a_small_number() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Process, "");
    let mut session = database.session().unwrap();
    let speaker = session.sql().unwrap();
    speaker
        .batch(
            "CREATE TABLE t (i int4, s int2, b bool);
             INSERT INTO t VALUES (1, 2, true), (7, 8, NULL)",
        )
        .unwrap();
    let found = sql::rows(
        session.as_mut(),
        "SELECT i, s, b FROM t WHERE i = ANY($1) ORDER BY i",
        &[Datum::Integers(&[1, 7, 9])],
    );
    use sql::OwnedDatum::{Integer, Null};
    let expected = [
        vec![Integer(1), Integer(2), Integer(1)],
        vec![Integer(7), Integer(8), Null],
    ];
    assert_eq!(found, expected);
    let speaker = session.sql().unwrap();
    let insert = speaker.prepare("INSERT INTO t (s) VALUES ($1)").unwrap();
    let refused = speaker.execute(insert, &[Datum::Integer(40_000)]);
    assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
    assert_eq!(speaker.execute(insert, &[Datum::Integer(-7)]), Ok(1));
}

#[test]
#[ignore = "slow: make test runs it"]
fn scans_keep_to_their_bounds_in_batches_too() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Process, "");
    scans_keep_to_their_bounds(&*database);
    let mut session = begin(&*database, Mode::Write);
    for number in 0..3_000_u32 {
        let key = number.to_be_bytes();
        session.put(&key, &key).unwrap();
    }
    use trueput_engine::{Direction, KeyRange};
    for direction in [Direction::Forward, Direction::Backward] {
        let mut keys = support::keys(session.as_mut(), KeyRange::ALL, direction, usize::MAX);
        if direction == Direction::Backward {
            keys.reverse();
        }
        assert!(keys.is_sorted() && keys.len() == 3_006, "{}", keys.len());
    }
    session.commit().unwrap();
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_key_of_the_greatest_length_that_cannot_be_compressed_is_kept() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Process, "");
    let key = support::random_bytes(engine.capabilities().max_key_bytes);
    write(&*database, &key, b"value");
    assert_eq!(read(&*database, &key).unwrap(), b"value");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_socket_is_reached_whatever_the_length_of_its_path() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("a".repeat(120)).join("b".repeat(120));
    std::fs::create_dir_all(&long).unwrap();
    let server = support::start(engine, &long, Durability::Process, "").unwrap();
    let database = open(engine, &long, Durability::Process, "").unwrap();
    write(&*database, b"key", b"value");
    assert_eq!(read(&*database, b"key").unwrap(), b"value");
    drop(database);
    server.stop(&mut || true).unwrap();
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_was_committed_is_there_when_the_server_comes_back() {
    let Some(engine) = engine() else { return };
    let given = "log_directory=log";
    let mut place = TestDirectory::of(engine, Durability::Sync, given);
    assert!(place.path().join("log/wal").is_dir());
    let database = open(engine, place.path(), Durability::Sync, given).unwrap();
    write(&*database, b"key", b"value");
    drop(database);
    place.restart(engine, Durability::Buffered, given);
    let database = open(engine, place.path(), Durability::Buffered, given).unwrap();
    assert_eq!(read(&*database, b"key").unwrap(), b"value");
    let settings = database.settings().unwrap();
    assert_eq!(settings["synchronous_commit"], "off".into());
    assert_eq!(settings["fsync"], "on".into());
}

#[test]
#[ignore = "slow: make test runs it"]
fn settings_and_counters_are_the_server_s_own() {
    let Some(engine) = engine() else { return };
    let given = "shared_buffers=32MiB wal_compression=on checkpoint_timeout=600";
    let database = TestDatabase::open(engine, Durability::Sync, given);
    let settings = database.settings().unwrap();
    for (name, value) in [
        ("shared_buffers", "32MB"),
        ("checkpoint_timeout", "10min"),
        ("synchronous_commit", "on"),
        ("log_checkpoints", "on"),
    ] {
        assert_eq!(settings[name], value.into(), "{name}");
    }
    assert_ne!(settings["wal_compression"], "off".into());
    write(&*database, b"key", b"value");
    database.checkpoint().unwrap();
    let counters = database.counters().unwrap();
    let has = |part: &str| counters.keys().any(|name| name.contains(part));
    assert!(
        has("blks_hit") && has("checkpoint") && has("wal_bytes"),
        "{counters:?}"
    );
    let log = std::fs::read_to_string(database.path().join("server.log")).unwrap();
    assert!(log.contains("checkpoint starting"), "{log}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_transaction_in_the_way_is_a_conflict_and_the_session_goes_on() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Process, "");
    write(&*database, b"key", b"one");
    let mut session = begin(&*database, Mode::Write);
    assert!(get(session.as_mut(), b"key").is_some());
    write(&*database, b"key", b"two");
    let error = session.put(b"key", b"three").unwrap_err();
    assert!(
        error.is_conflict() && error.to_string().contains("40001"),
        "{error}"
    );
    deadlock::another_conflict_is_none(&error);
    session.abort().unwrap();
    session.begin(Mode::Write).unwrap();
    assert_eq!(get(session.as_mut(), b"key").unwrap(), b"two");
    session.commit().unwrap();
}

/// A user's own database on the server of `place`: the connection that made it, and the engine on
/// it.
fn shop(place: &TestDirectory) -> (Box<dyn Database>, Box<dyn Engine>) {
    let owner = open(&ENGINE, place.path(), Durability::Sync, "").unwrap();
    as_owner(&*owner, "CREATE DATABASE shop");
    (owner, as_user(place, "postgres", "shop"))
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_users_server_is_used_in_a_schema_of_ours_and_nowhere_else() {
    let Some(engine) = engine() else { return };
    let place = TestDirectory::of(engine, Durability::Sync, "");
    let (_owner, users) = shop(&place);
    assert!(users.service().is_none() && users.build().is_ok());
    let folder = tempfile::tempdir().unwrap();
    let at = |level| open(&*users, folder.path(), level, "");
    let database = at(Durability::Sync).unwrap();
    write(&*database, b"key", b"value");
    drop(database);
    let database = at(Durability::Buffered).unwrap();
    assert_eq!(read(&*database, b"key").unwrap(), b"value");
    let settings = database.settings().unwrap();
    assert_eq!(settings["synchronous_commit"], "off".into());
    // Another folder is another database, and this one is at work.
    drop(database);
    keeps_the_contract_in(&*users, folder.path(), Durability::Sync, "");
    let afresh = at(Durability::Sync).unwrap();
    assert_eq!(read(&*afresh, b"key"), None);
    let reason = refusal(&*users, folder.path(), Durability::Process, "").to_string();
    assert!(reason.contains("fsync=on"), "{reason}");
    assert!(reason.contains("not 'process'"), "{reason}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_schema_whose_making_is_cut_off_before_its_mark_is_not_there() {
    let Some(engine) = engine() else { return };
    let place = TestDirectory::of(engine, Durability::Sync, "");
    let (_owner, users) = shop(&place);
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let database = open(&*users, folders[0].path(), Durability::Sync, "").unwrap();
    as_owner(
        &*database,
        "CREATE FUNCTION public.cut() RETURNS event_trigger LANGUAGE plpgsql AS \
         $$BEGIN RAISE EXCEPTION 'cut off'; END$$; DROP SCHEMA trueput CASCADE; \
         CREATE EVENT TRIGGER cut ON ddl_command_end WHEN TAG IN ('COMMENT') \
         EXECUTE FUNCTION public.cut()",
    );
    drop(database);
    let reason = refusal(&*users, folders[1].path(), Durability::Sync, "").to_string();
    assert!(reason.contains("cut off"), "{reason}");
    assert_eq!(users.build().map(drop), Ok(()));
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_user_with_rights_on_his_database_alone_is_served() {
    let Some(engine) = engine() else { return };
    let place = TestDirectory::of(engine, Durability::Sync, "");
    let owner = open(engine, place.path(), Durability::Sync, "").unwrap();
    as_owner(&*owner, "CREATE ROLE clerk LOGIN");
    as_owner(&*owner, "CREATE DATABASE shop OWNER clerk");
    let users = as_user(&place, "clerk", "shop");
    assert!(users.build().is_ok());
    let folder = tempfile::tempdir().unwrap();
    keeps_the_contract_in(&*users, folder.path(), Durability::Sync, "");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_schema_that_is_not_ours_is_refused_and_left_alone() {
    let Some(engine) = engine() else { return };
    let place = TestDirectory::of(engine, Durability::Sync, "");
    let owner = open(engine, place.path(), Durability::Sync, "").unwrap();
    as_owner(&*owner, "CREATE TABLE thesis (years int)");
    // The private server's own schema has the name, and not the mark.
    let users = as_user(&place, "postgres", "postgres");
    let folder = tempfile::tempdir().unwrap();
    for refused in [
        users.build().unwrap_err(),
        refusal(&*users, folder.path(), Durability::Sync, ""),
    ] {
        let reason = refused.to_string();
        let expected = "schema 'trueput' that is not trueput's";
        assert!(reason.contains(expected), "{reason}");
    }
    as_owner(&*owner, "INSERT INTO thesis VALUES (10)");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_wrong_password_and_a_wrong_address_are_one_clear_line_without_the_password() {
    let Some(engine) = engine() else { return };
    let place = TestDirectory::of(engine, Durability::Sync, "");
    let owner = open(engine, place.path(), Durability::Sync, "").unwrap();
    let role = "CREATE ROLE clerk LOGIN PASSWORD 'right' SUPERUSER";
    as_owner(&*owner, role);
    as_owner(&*owner, "CREATE DATABASE shop");
    let rules = "local all clerk scram-sha-256\nlocal all all trust\n";
    std::fs::write(place.path().join("data/pg_hba.conf"), rules).unwrap();
    as_owner(&*owner, "SELECT pg_reload_conf()");
    let folder = place.path().join("data");
    let with = |password: &str| {
        let url = format!(
            "postgres://clerk:{password}@/shop?host={}",
            folder.display()
        );
        let address = Address::of(&url);
        assert!(!format!("{address} {address:?}").contains(password));
        engine.with_address(&address).unwrap().build()
    };
    // The server reads its rules a moment after it was asked to.
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let refused = loop {
        match with("wrong") {
            Err(refused) => break refused.to_string(),
            Ok(_) => assert!(std::time::Instant::now() < limit),
        }
    };
    for part in ["postgres://clerk@/shop", "password authentication failed"] {
        assert!(refused.contains(part), "{refused}");
    }
    for part in ["wrong", "\n"] {
        assert!(!refused.contains(part), "{refused}");
    }
    assert!(with("right").is_ok());
    let nowhere = "postgres://clerk@/shop?host=/no/such/folder";
    let unreachable = ENGINE.with_address(&Address::of(nowhere)).unwrap();
    let reason = unreachable.build().unwrap_err().to_string();
    assert!(
        reason.starts_with(&format!("cannot reach {nowhere}")),
        "{reason}"
    );
}

#[test]
fn a_program_that_is_no_postgresql_is_refused() {
    for (path, reason) in [
        ("/bin/sh", "is not a PostgreSQL server"),
        ("/no/such/postgres", "cannot read"),
    ] {
        let error = ENGINE.with_library(Path::new(path)).err().unwrap();
        assert!(error.to_string().contains(reason), "{error}");
    }
    let refused = ENGINE.with_address(&Address::of("mysql://host/db"));
    let reason = refused.map(drop).unwrap_err().to_string();
    assert!(reason.contains("another kind of server"), "{reason}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_deadlock_is_reported_as_one_at_every_isolation() {
    let Some(engine) = engine() else { return };
    let place = TestDirectory::of(engine, Durability::Sync, "");
    for isolation in ["read-committed", "repeatable-read", "serializable"] {
        let knobs = format!("isolation={isolation}");
        deadlock::is_distinguished(engine, place.path(), &knobs);
    }
}
