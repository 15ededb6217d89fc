//! The MariaDB driver does what it promises, on servers of its own and on a user's.

use crate::support::{
    self, TestDirectory, deadlock, observe, open, read, settings,
    sql::{self, Sample},
    write,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::Path;
use std::time::SystemTime;
use trueput_drivers::MariaDb;
use trueput_engine::{
    Address, Datum, Dialect, Direction, Durability, Engine, EngineEvent, KeyRange, Mode, OpenSpec,
    Value, conformance, parameter,
};

static MARIADB: MariaDb = MariaDb::new();

const SAMPLE: Sample = Sample {
    columns: "id INT PRIMARY KEY, amount DECIMAL(12, 2), name VARCHAR(60), data BLOB, \
              at DATETIME(6)",
    parameter: |_| "?".to_owned(),
    lock: " FOR UPDATE",
    amount: Datum::Decimal {
        units: 1234,
        scale: 2,
    },
    moment: Datum::Timestamp(sql::MOMENT),
    unknown_table: "nowhere' doesn't exist",
};

/// Says why, and that the test is skipped, if there is no server.
fn is_missing() -> bool {
    let built = MARIADB.build();
    if let Err(why) = &built {
        eprintln!("skipped: {why}");
    }
    built.is_err()
}

fn keeps_the_contract(durability: Durability, given: &[(&str, Value)]) {
    if !is_missing() {
        support::keeps_the_contract(&MARIADB, durability, given);
    }
}

fn rocksdb() -> (&'static str, Value) {
    ("storage_engine", "rocksdb".into())
}

#[test]
fn the_contract_is_kept_at_every_isolation_that_is_offered() {
    for isolation in [
        "read-committed",
        "repeatable-read",
        "snapshot",
        "serializable",
    ] {
        keeps_the_contract(Durability::Async, &[("isolation", isolation.into())]);
    }
    for isolation in ["read-committed", "repeatable-read"] {
        let given = [rocksdb(), ("isolation", isolation.into())];
        keeps_the_contract(Durability::Async, &given);
    }
}

/// Two sessions look up a key that is not there and put it, one after the other.
fn second_to_put_what_both_missed(given: &[(&str, Value)]) -> trueput_engine::Result<()> {
    let place = TestDirectory::of(&MARIADB, Durability::Async, given);
    let database = open(&MARIADB, place.path(), Durability::Async, given).unwrap();
    let (mut first, mut second) = (database.session().unwrap(), database.session().unwrap());
    for session in [&mut first, &mut second] {
        session.begin(Mode::Write).unwrap();
        assert_eq!(support::get(session.as_mut(), b"key"), None);
    }
    first.put(b"key", b"first's").unwrap();
    // A second put of the first's own is none of anybody's business.
    first.put(b"key", b"first's again").unwrap();
    first.commit().unwrap();
    let told = second.put(b"key", b"second's");
    second.abort().unwrap();
    assert_eq!(read(&*database, b"key").unwrap(), b"first's again");
    told
}

#[test]
fn a_key_that_two_missed_is_put_by_one_of_them_where_nothing_could_be_locked() {
    if is_missing() {
        return;
    }
    let given = [("isolation", "read-committed".into())];
    let told = second_to_put_what_both_missed(&given).unwrap_err();
    assert!(
        told.is_conflict() && told.to_string().contains("1062"),
        "{told}"
    );
}

#[test]
fn innodb_keeps_the_contract_with_other_knobs() {
    let knobs = [
        ("isolation", "snapshot".into()),
        ("innodb_page_size", "4096".into()),
        ("compression", "zlib".into()),
        ("log_directory", "log".into()),
    ];
    keeps_the_contract(Durability::Buffered, &knobs);
}

#[test]
fn both_storage_engines_speak_sql() {
    if is_missing() {
        return;
    }
    assert_eq!(MARIADB.dialect(), Some(Dialect::Mariadb));
    for given in [vec![], vec![rocksdb()]] {
        let place = TestDirectory::of(&MARIADB, Durability::Async, &given);
        let database = open(&MARIADB, place.path(), Durability::Async, &given).unwrap();
        sql::speaks_sql(&*database, &SAMPLE);
    }
}

/// How many of so many commits a server finds that was killed.
fn left_after_a_kill(durability: Durability, given: &[(&str, Value)]) -> u64 {
    const COMMITS: u64 = 200;
    let place = TestDirectory::of(&MARIADB, durability, given);
    let database = open(&MARIADB, place.path(), durability, given).unwrap();
    let mut session = database.session().unwrap();
    for number in 0..COMMITS {
        session.begin(Mode::Write).unwrap();
        session.put(&number.to_be_bytes(), b"committed").unwrap();
        session.commit().unwrap();
    }
    session.begin(Mode::Write).unwrap();
    session
        .put(&COMMITS.to_be_bytes(), b"never committed")
        .unwrap();
    let pid = Pid::from_raw(place.server().unwrap().pid().cast_signed());
    kill(pid, Signal::SIGKILL).unwrap();
    let told = session.commit().unwrap_err();
    assert!(!told.is_conflict(), "{told}");
    drop(session);
    drop(database);
    let _again = support::start(&MARIADB, place.path(), durability, given);
    let database = open(&MARIADB, place.path(), durability, given).unwrap();
    let mut session = database.session().unwrap();
    session.begin(Mode::Read).unwrap();
    let mut found = 0;
    let seen = session.scan(KeyRange::ALL, Direction::Forward, &mut |key, _| {
        // A prefix of the commits: nothing is left out.
        assert_eq!(key, u64::to_be_bytes(found));
        found += 1;
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(seen, Ok(found));
    session.commit().unwrap();
    write(&*database, b"afterwards", b"works");
    assert!(found <= COMMITS);
    found
}

#[test]
fn a_killed_server_keeps_what_its_level_promises() {
    if is_missing() {
        return;
    }
    for given in [vec![], vec![rocksdb()]] {
        let levels = [Durability::Sync, Durability::Async, Durability::Process];
        let offered = levels
            .iter()
            .filter(|level| promised(**level, &given).is_ok());
        for durability in offered.copied() {
            assert_eq!(
                left_after_a_kill(durability, &given),
                200,
                "{durability} {given:?}"
            );
        }
        // A prefix, of whatever length.
        left_after_a_kill(Durability::Buffered, &given);
    }
}

#[test]
fn what_was_stopped_in_good_order_is_there_again() {
    if is_missing() {
        return;
    }
    let level = Durability::Buffered;
    let mut place = TestDirectory::of(&MARIADB, level, &[]);
    let database = open(&MARIADB, place.path(), level, &[]).unwrap();
    write(&*database, b"key", b"value");
    database.checkpoint().unwrap();
    drop(database);
    place.restart(&MARIADB, level, &[]);
    let database = open(&MARIADB, place.path(), level, &[]).unwrap();
    let found = read(&*database, b"key");
    assert_eq!(found.as_deref(), Some(b"value".as_slice()));
}

#[test]
fn a_folder_without_a_server_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let refused = open(&MARIADB, folder.path(), Durability::Sync, &[]).err();
    let why = refused.unwrap().to_string();
    assert!(why.contains("no MariaDB server runs in"), "{why}");
}

#[test]
fn knobs_reach_the_server_and_are_read_back() {
    if is_missing() {
        return;
    }
    let given = [
        ("innodb_buffer_pool_size", Value::from("64MiB")),
        ("innodb_log_file_size", Value::from("32MiB")),
        ("innodb_io_capacity", Value::Integer(1000)),
        ("innodb_doublewrite", "off".into()),
        ("innodb_flush_method", "fsync".into()),
        ("log_directory", "log".into()),
    ];
    let place = TestDirectory::of(&MARIADB, Durability::Process, &given);
    let database = open(&MARIADB, place.path(), Durability::Process, &given).unwrap();
    let found = database.settings().unwrap();
    let expected = [
        ("innodb_buffer_pool_size", "67108864"),
        ("innodb_log_file_size", "33554432"),
        ("innodb_io_capacity", "1000"),
        ("innodb_doublewrite", "OFF"),
        ("innodb_flush_method", "fsync"),
        ("innodb_flush_log_at_trx_commit", "2"),
        ("log_bin", "OFF"),
        ("tx_isolation", "REPEATABLE-READ"),
    ];
    for (name, value) in expected {
        assert_eq!(found[name].to_string(), value, "{name}");
    }
    assert!(place.path().join("log/ib_logfile0").exists());
    write(&*database, b"key", b"value");
    let counters = database.counters().unwrap();
    let reads = &counters["Innodb_buffer_pool_read_requests"];
    assert!(matches!(reads, Value::Integer(number) if *number > 0));
}

#[test]
fn no_other_user_reaches_the_socket_or_the_log_of_a_private_server() {
    if is_missing() {
        return;
    }
    let given = [("log_directory", "log".into())];
    let place = TestDirectory::of(&MARIADB, Durability::Sync, &given);
    assert!(place.path().join("data/server.sock").exists());
    support::are_closed_to_others(place.path(), &["data", "log"]);
}

fn promised(durability: Durability, given: &[(&str, Value)]) -> Result<String, String> {
    let knobs = parameter::resolve("mariadb", MARIADB.knobs(), &settings(given)).unwrap();
    let promise = MARIADB.promise_with(durability, &knobs);
    promise
        .map(|promise| promise.mapped_to)
        .map_err(|why| why.to_string())
}

#[test]
fn the_promise_follows_the_knobs() {
    use Durability::{Async, Buffered, None, Process, Sync};
    let levels = [
        (Sync, "1", 1),
        (Async, "2", 1),
        (Buffered, "0", 1),
        (Process, "2", 0),
    ];
    for (level, number, twice) in levels {
        let mapped_to = format!(
            "innodb_flush_log_at_trx_commit={number}, innodb_doublewrite={twice}, log_bin=OFF"
        );
        assert_eq!(promised(level, &[]), Ok(mapped_to));
    }
    assert!(promised(None, &[]).is_err());
    let mapped_to = promised(Async, &[rocksdb()]).unwrap();
    assert!(
        mapped_to.contains("rocksdb_manual_wal_flush=0"),
        "{mapped_to}"
    );
    let torn = [("innodb_doublewrite", "off".into())];
    assert!(promised(Sync, &torn).unwrap_err().contains("use process"));
    assert!(promised(Process, &torn).is_ok());
    let mixed = [rocksdb(), ("innodb_io_capacity", Value::Integer(900))];
    let why = promised(Sync, &mixed).unwrap_err();
    assert!(why.contains("innodb_io_capacity does nothing"), "{why}");
    let gaps = [rocksdb(), ("isolation", "serializable".into())];
    assert!(promised(Sync, &gaps).unwrap_err().contains("InnoDB's"));
}

/// Makes a user of that password, and a schema that is somebody else's.
fn prepare_users_server(folder: &Path) {
    let database = open(&MARIADB, folder, Durability::Sync, &[]).unwrap();
    let mut session = database.session().unwrap();
    let sql = session.sql().unwrap();
    sql.batch(
        "CREATE USER me@localhost IDENTIFIED BY 's3cret'; GRANT ALL ON `trueput\\_%`.* TO \
         me@localhost; CREATE DATABASE trueput_taken; CREATE TABLE trueput_taken.accounts (id INT)",
    )
    .unwrap();
}

#[test]
fn a_users_server_is_used_in_a_schema_of_ours_alone() {
    if is_missing() {
        return;
    }
    let place = TestDirectory::of(&MARIADB, Durability::Sync, &[]);
    prepare_users_server(place.path());
    let socket = place.path().join("data/server.sock");
    let at = |who: &str, schema: &str| {
        let socket = socket.display();
        let url = format!("mysql://{who}@localhost/{schema}?socket={socket}");
        MARIADB.with_address(&Address::of(&url))
    };
    let engine = at("me:s3cret", "trueput_mine").unwrap();
    let build = engine.build().unwrap();
    assert!(build.version.contains("MariaDB"));
    let shown = build.library.unwrap().display().to_string();
    assert!(
        shown.starts_with("mysql://me@localhost/trueput_mine"),
        "{shown}"
    );
    assert!(engine.service().is_none());
    let first = tempfile::tempdir().unwrap();
    let database = open(&*engine, first.path(), Durability::Sync, &[]).unwrap();
    write(&*database, b"key", b"value");
    let again = open(&*engine, first.path(), Durability::Sync, &[]).unwrap();
    assert_eq!(read(&*again, b"key").as_deref(), Some(b"value".as_slice()));
    let second = tempfile::tempdir().unwrap();
    drop(database);
    let used = open(&*engine, second.path(), Durability::Sync, &[]);
    let used = used.err().unwrap().to_string();
    assert!(used.contains("another run uses the database"), "{used}");
    assert_eq!(read(&*again, b"key").as_deref(), Some(b"value".as_slice()));
    drop(again);
    let database = open(&*engine, second.path(), Durability::Sync, &[]).unwrap();
    assert_eq!(read(&*database, b"key"), None, "a new folder begins anew");
    let said = |opened: trueput_engine::Result<_>| {
        let why = opened.err().unwrap().to_string();
        assert!(!why.contains("s3cret") && !why.contains('\n'), "{why}");
        why
    };
    let refused = |who: &str, schema: &str, level, given: &[(&str, Value)]| {
        said(open(
            &*at(who, schema).unwrap(),
            second.path(),
            level,
            given,
        ))
    };
    let taken = refused("me:s3cret", "trueput_taken", Durability::Sync, &[]);
    assert!(taken.contains("was not made by this program"), "{taken}");
    let wrong = refused("me:s3crets", "trueput_mine", Durability::Sync, &[]);
    assert!(wrong.contains("Access denied"), "{wrong}");
    let level = refused("me:s3cret", "trueput_mine", Durability::Async, &[]);
    assert!(
        level.contains("innodb_flush_log_at_trx_commit is 1"),
        "{level}"
    );
    let knob = [("innodb_io_capacity", Value::Integer(900))];
    let own = refused("me:s3cret", "trueput_mine", Durability::Sync, &knob);
    assert!(own.contains("the server's own"), "{own}");
}

#[test]
fn a_user_with_rights_on_one_database_alone_is_served_and_nobody_elses_tables_are_touched() {
    if is_missing() {
        return;
    }
    let place = TestDirectory::of(&MARIADB, Durability::Sync, &[]);
    let owner = open(&MARIADB, place.path(), Durability::Sync, &[]).unwrap();
    let as_owner = |statements: &str| {
        let mut session = owner.session().unwrap();
        session.sql().unwrap().batch(statements).unwrap();
    };
    as_owner(
        "CREATE DATABASE trueput_only; CREATE USER clerk@localhost IDENTIFIED BY 'pass'; \
         GRANT ALL ON trueput_only.* TO clerk@localhost",
    );
    let socket = place.path().join("data/server.sock");
    let url = format!(
        "mysql://clerk:pass@localhost/trueput_only?socket={}",
        socket.display()
    );
    let engine = MARIADB.with_address(&Address::of(&url)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let knobs = parameter::resolve("mariadb", engine.knobs(), &settings(&[])).unwrap();
    let checks = conformance::run(&*engine, folder.path(), Durability::Sync, &knobs);
    let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
    assert!(!checks.is_empty() && failed.is_empty(), "{failed:?}");
    // Names with quotes in them, and tables that refer to each other, go too.
    as_owner(
        "CREATE TABLE trueput_only.`a``b` (id INT PRIMARY KEY); \
         CREATE TABLE trueput_only.a (id INT REFERENCES trueput_only.`a``b` (id)); \
         CREATE DATABASE apart; CREATE TABLE apart.record (id INT)",
    );
    drop(open(&*engine, folder.path(), Durability::Sync, &[]).unwrap());
    as_owner("CREATE TABLE trueput_only.`a``b` (id INT); SELECT id FROM apart.record");
    as_owner("CREATE VIEW trueput_only.seen AS SELECT * FROM apart.record");
    let another = tempfile::tempdir().unwrap();
    let refused = open(&*engine, another.path(), Durability::Sync, &[]);
    let why = refused.err().unwrap().to_string();
    assert!(why.contains("'seen' (view)"), "{why}");
    as_owner("SELECT * FROM trueput_only.record");
}

#[test]
fn what_is_no_server_is_refused() {
    let missing = MARIADB
        .with_library(Path::new("/nowhere/mariadbd"))
        .err()
        .unwrap();
    assert!(
        missing.to_string().contains("/nowhere/mariadbd"),
        "{missing}"
    );
    let other = MARIADB.with_library(Path::new("/bin/true")).err().unwrap();
    assert!(other.to_string().contains("no MariaDB server"), "{other}");
}

#[test]
fn innodbs_checkpoints_are_seen_from_outside() {
    if is_missing() {
        return;
    }
    for place in ["beside", "log"] {
        let given = [("log_directory", place.into())];
        observe::a_checkpoint_is_seen(&MARIADB, Durability::Async, &given);
    }
    let small = [("innodb_log_file_size", Value::Integer(16 << 20))];
    let [written, ..] = observe::seen(&MARIADB, Durability::Async, &small, 4_000);
    assert_eq!(written, [EngineEvent::CHECKPOINT, EngineEvent::LOG_SWITCH]);
}

#[test]
fn myrocks_tells_of_its_flushes_in_its_log_and_innodb_of_nothing() {
    if is_missing() {
        return;
    }
    for (given, is_told) in [(vec![rocksdb()], true), (vec![], false)] {
        let place = TestDirectory::of(&MARIADB, Durability::Async, &given);
        let knobs = parameter::resolve("mariadb", MARIADB.knobs(), &settings(&given)).unwrap();
        let spec = OpenSpec {
            directory: place.path(),
            durability: Durability::Async,
            knobs: &knobs,
            sessions: 1,
        };
        let database = MARIADB.open(&spec).unwrap();
        write(&*database, b"key", b"value");
        let before = SystemTime::now();
        if !is_told {
            assert_eq!(MARIADB.events(&spec, before), None);
            continue;
        }
        assert_eq!(MARIADB.events(&spec, before), Some(Vec::new()));
        database.checkpoint().unwrap();
        let told = MARIADB.events(&spec, before).unwrap();
        let kinds: Vec<_> = told.iter().map(|event| event.kind).collect();
        assert!(kinds.contains(&EngineEvent::FLUSH), "{kinds:?}");
        assert!(MARIADB.event_watcher(&spec).is_none());
    }
}

#[test]
fn a_deadlock_is_told_from_a_lock_that_was_waited_for_too_long() {
    if is_missing() {
        return;
    }
    let place = TestDirectory::of(&MARIADB, Durability::Sync, &[]);
    deadlock::is_told_apart(&MARIADB, place.path(), &[]);
    // MyRocks looks for no deadlock: both wait until the time is up.
    let place = TestDirectory::of(&MARIADB, Durability::Sync, &[rocksdb()]);
    let error = deadlock::waited_too_long(&MARIADB, place.path(), &[rocksdb()]);
    deadlock::another_conflict_is_none(&error);
}
