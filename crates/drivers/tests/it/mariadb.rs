//! The MariaDB driver keeps its promises, on private servers and on a user's.

use crate::support::{
    self, TestDatabase, TestDirectory, begin, deadlock, observe, open, read, refusal, resolve, sql,
    write,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;
use trueput_drivers::MariaDb;
use trueput_engine::{
    Address, Dialect, Direction, Durability, Engine, EngineEvent, KeyRange, Mode, OpenSpec,
    RecordSource, Session, Value,
};

static MARIADB: MariaDb = MariaDb::new();

/// The engine, where this machine has it.
fn engine() -> Option<&'static dyn Engine> {
    support::installed(&MARIADB)
}

const INNODB: &str = "";
const MYROCKS: &str = "storage_engine=rocksdb";

fn keeps_the_contract(durability: Durability, knobs: &str) {
    if let Some(engine) = engine() {
        support::keeps_the_contract(engine, durability, knobs);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_contract_is_kept_at_every_isolation_that_is_offered() {
    for isolation in [
        "read-committed",
        "repeatable-read",
        "snapshot",
        "serializable",
    ] {
        keeps_the_contract(Durability::Async, &format!("isolation={isolation}"));
    }
    for isolation in ["read-committed", "repeatable-read"] {
        let knobs = format!("{MYROCKS} isolation={isolation}");
        keeps_the_contract(Durability::Async, &knobs);
    }
}

/// Two sessions look up a key that is not there and put it, one after the other: the second one by
/// `put`.
fn second_to_put_what_both_missed(
    put: fn(&mut dyn Session) -> trueput_engine::Result<()>,
) -> trueput_engine::Result<()> {
    let database = TestDatabase::open(&MARIADB, Durability::Async, "isolation=read-committed");
    let (mut first, mut second) = (database.session().unwrap(), database.session().unwrap());
    for session in [&mut first, &mut second] {
        session.begin(Mode::Write).unwrap();
        assert_eq!(support::get(session.as_mut(), b"key"), None);
    }
    first.put(b"key", b"first's").unwrap();
    // A second put of its own changes nothing for the other.
    first.put(b"key", b"first's again").unwrap();
    first.commit().unwrap();
    let outcome = put(second.as_mut());
    second.abort().unwrap();
    assert_eq!(read(&*database, b"key").unwrap(), b"first's again");
    outcome
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_key_that_two_missed_is_put_by_one_of_them_where_nothing_could_be_locked() {
    let Some(_) = engine() else { return };
    let error = second_to_put_what_both_missed(|second| second.put(b"key", b"second's"));
    let error = error.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert!(error.to_string().contains("1062"), "{error}");
    let error = second_to_put_what_both_missed(|second| {
        let stored = second.put_if_absent(b"key", b"second's");
        stored.map(drop)
    });
    let error = error.unwrap_err();
    assert!(error.is_conflict(), "{error}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn innodb_keeps_the_contract_with_other_knobs() {
    let knobs = "isolation=snapshot innodb_page_size=4096 compression=zlib log_directory=log";
    keeps_the_contract(Durability::Buffered, knobs);
}

#[test]
#[ignore = "slow: make test runs it"]
fn both_storage_engines_speak_sql() {
    let Some(engine) = engine() else { return };
    assert_eq!(engine.dialect(), Some(Dialect::Mariadb));
    for storage in [INNODB, MYROCKS] {
        let database = TestDatabase::open(engine, Durability::Async, storage);
        sql::speaks_sql(&*database, &sql::MARIADB);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_prepared_statement_follows_a_column_whose_type_changes() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Async, INNODB);
    let mut session = database.session().unwrap();
    let session = session.as_mut();
    let changes = session.sql().unwrap();
    changes.batch("CREATE TABLE changing (v INT)").unwrap();
    changes.batch("INSERT INTO changing VALUES (7)").unwrap();
    let get = changes.prepare("SELECT v FROM changing").unwrap();
    let large = "x".repeat(100_000);
    for (change, expected) in [
        ("DO 0", sql::OwnedDatum::Integer(7)),
        (
            "ALTER TABLE changing MODIFY v VARCHAR(20)",
            sql::OwnedDatum::Text("7".to_owned()),
        ),
        (
            "ALTER TABLE changing MODIFY v MEDIUMTEXT",
            sql::OwnedDatum::Text("7".to_owned()),
        ),
        // Longer than what is received at once.
        (
            "UPDATE changing SET v = REPEAT('x', 100000)",
            sql::OwnedDatum::Text(large),
        ),
    ] {
        session.sql().unwrap().batch(change).unwrap();
        for _ in 0..2 {
            let found = sql::query(session, get, &[]).concat();
            assert_eq!(
                found.as_slice(),
                std::slice::from_ref(&expected),
                "{change}"
            );
        }
    }
}

/// Records for a loader, one after the other.
struct Records(std::vec::IntoIter<(Vec<u8>, Vec<u8>)>, (Vec<u8>, Vec<u8>));

impl Records {
    fn of(records: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> Self {
        let records: Vec<_> = records.into_iter().collect();
        Self(records.into_iter(), Default::default())
    }
}

impl RecordSource for Records {
    fn next_record(&mut self) -> Option<(&[u8], &[u8])> {
        self.1 = self.0.next()?;
        Some((&self.1.0, &self.1.1))
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_bulk_load_keeps_every_byte_and_overwrites_no_record() {
    let Some(engine) = engine() else { return };
    let pair = |number: u16| {
        (
            number.to_be_bytes().to_vec(),
            number.to_le_bytes().repeat(3),
        )
    };
    let mut all: BTreeMap<Vec<u8>, Vec<u8>> = (0..=u16::MAX).map(pair).collect();
    for text in ["\\N", "NULL", "", "\t", "\n", "\\", "\\\\", "\r\n"] {
        let key = [b"\xff\xff\xff", text.as_bytes()].concat();
        all.insert(key, text.as_bytes().to_vec());
    }
    // The longest value, each byte of which is sent as two.
    all.insert(vec![b'\n'; 767], vec![b'\\'; 1 << 20]);
    for storage in [INNODB, MYROCKS] {
        let database = TestDatabase::open(engine, Durability::Async, storage);
        let mut session = database.session().unwrap();
        assert_eq!(session.bulk_load(&mut Records::of(all.clone())), Ok(true));
        let mut found = BTreeMap::new();
        session.begin(Mode::Read).unwrap();
        session
            .scan(KeyRange::ALL, Direction::Forward, &mut |key, value| {
                found.insert(key.to_vec(), value.to_vec());
                ControlFlow::Continue(())
            })
            .unwrap();
        session.commit().unwrap();
        assert!(found == all, "{storage}: {} records", found.len());
        let (new, existing) = (b"\xff\xff\xff\xff".to_vec(), vec![0, 0]);
        let records = [&existing, &new].map(|key| (key.clone(), b"another".to_vec()));
        let error = session.bulk_load(&mut Records::of(records.clone()));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("1 of 2 records"), "{error}");
        assert_eq!(read(&*database, &existing).unwrap(), [0; 6]);
        assert_eq!(read(&*database, &new), None, "it is rolled back");
        let switch = session.sql().unwrap();
        switch.batch("SET GLOBAL local_infile=0").unwrap();
        let mut source = Records::of(records);
        assert_eq!(session.bulk_load(&mut source), Ok(false));
        assert!(source.next_record().is_some(), "none was taken");
    }
}

/// The number of commits that survive the kill of a server.
fn left_after_a_kill(durability: Durability, knobs: &str) -> u64 {
    const COMMITS: u64 = 200;
    let place = TestDirectory::of(&MARIADB, durability, knobs);
    let database = open(&MARIADB, place.path(), durability, knobs).unwrap();
    for number in 0..COMMITS {
        write(&*database, &number.to_be_bytes(), b"committed");
    }
    let mut session = begin(&*database, Mode::Write);
    session
        .put(&COMMITS.to_be_bytes(), b"never committed")
        .unwrap();
    let pid = Pid::from_raw(place.server().unwrap().pid().cast_signed());
    kill(pid, Signal::SIGKILL).unwrap();
    let error = session.commit().unwrap_err();
    assert!(!error.is_conflict(), "{error}");
    drop(session);
    drop(database);
    let _again = support::start(&MARIADB, place.path(), durability, knobs);
    let database = open(&MARIADB, place.path(), durability, knobs).unwrap();
    let found = support::commits_left(&*database);
    assert!(found <= COMMITS);
    found
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_killed_server_keeps_what_its_level_promises() {
    let Some(_) = engine() else { return };
    for storage in [INNODB, MYROCKS] {
        let levels = [Durability::Sync, Durability::Async, Durability::Process];
        let is_offered = |level: &Durability| promised(*level, storage).is_ok();
        for durability in levels.into_iter().filter(is_offered) {
            let left = left_after_a_kill(durability, storage);
            assert_eq!(left, 200, "{durability} {storage}");
        }
        // A prefix, of whatever length.
        left_after_a_kill(Durability::Buffered, storage);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_was_stopped_in_good_order_is_there_again() {
    let Some(engine) = engine() else { return };
    let level = Durability::Buffered;
    let mut place = TestDirectory::of(engine, level, "");
    let database = open(engine, place.path(), level, "").unwrap();
    write(&*database, b"key", b"value");
    database.checkpoint().unwrap();
    drop(database);
    place.restart(engine, level, "");
    let database = open(engine, place.path(), level, "").unwrap();
    assert_eq!(read(&*database, b"key").unwrap(), b"value");
}

#[test]
fn a_folder_without_a_server_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let reason = refusal(&MARIADB, folder.path(), Durability::Sync, "").to_string();
    assert!(reason.contains("no MariaDB server runs in"), "{reason}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn knobs_reach_the_server_and_are_read_back() {
    let Some(engine) = engine() else { return };
    let knobs = "innodb_buffer_pool_size=64MiB innodb_log_file_size=32MiB \
                 innodb_io_capacity=1000 innodb_doublewrite=off innodb_flush_method=fsync \
                 log_directory=log";
    let database = TestDatabase::open(engine, Durability::Process, knobs);
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
    assert!(database.path().join("log/ib_logfile0").exists());
    write(&*database, b"key", b"value");
    let counters = database.counters().unwrap();
    let reads = &counters["Innodb_buffer_pool_read_requests"];
    assert!(matches!(reads, Value::Integer(number) if *number > 0));
}

#[test]
#[ignore = "slow: make test runs it"]
fn no_other_user_reaches_the_socket_or_the_log_of_a_private_server() {
    let Some(engine) = engine() else { return };
    let place = TestDirectory::of(engine, Durability::Sync, "log_directory=log");
    assert!(place.path().join("data/server.sock").exists());
    support::are_closed_to_others(place.path(), &["data", "log"]);
}

fn promised(durability: Durability, knobs: &str) -> Result<String, String> {
    let promise = MARIADB.promise_with(durability, &resolve(&MARIADB, knobs));
    promise
        .map(|promise| promise.mapped_to)
        .map_err(|reason| reason.to_string())
}

#[test]
fn a_promise_that_relies_on_the_doublewrite_buffer_is_in_doubt() {
    let is_in_doubt = |level, knobs: &str| {
        let promise = MARIADB.promise_with(level, &resolve(&MARIADB, knobs));
        promise.unwrap().doubt.is_some()
    };
    for level in [Durability::Sync, Durability::Async, Durability::Buffered] {
        assert!(is_in_doubt(level, ""), "{level}");
        assert!(!is_in_doubt(level, MYROCKS), "{level}");
    }
    assert!(!is_in_doubt(Durability::Process, ""));
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
        assert_eq!(promised(level, ""), Ok(mapped_to));
    }
    assert!(promised(None, "").is_err());
    let text = promised(Async, MYROCKS).unwrap();
    assert!(text.contains("rocksdb_manual_wal_flush=0"), "{text}");
    let torn = "innodb_doublewrite=off";
    assert!(promised(Sync, torn).unwrap_err().contains("use process"));
    assert!(promised(Process, torn).is_ok());
    let of_rocksdb = |knob: &str| promised(Sync, &format!("{MYROCKS} {knob}")).unwrap_err();
    let reason = of_rocksdb("innodb_io_capacity=900");
    assert!(
        reason.contains("innodb_io_capacity does nothing"),
        "{reason}"
    );
    assert!(of_rocksdb("isolation=serializable").contains("InnoDB's"));
}

/// Makes a user of that password, and a schema that is somebody else's.
fn prepare_users_server(folder: &Path) {
    let database = open(&MARIADB, folder, Durability::Sync, "").unwrap();
    let mut session = database.session().unwrap();
    let sql = session.sql().unwrap();
    sql.batch(
        "CREATE USER me@localhost IDENTIFIED BY 's3cret'; GRANT ALL ON `trueput\\_%`.* TO \
         me@localhost; CREATE DATABASE trueput_taken; CREATE TABLE trueput_taken.accounts (id INT)",
    )
    .unwrap();
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_users_server_is_used_in_a_schema_of_ours_alone() {
    let Some(engine) = engine() else { return };
    let place = TestDirectory::of(engine, Durability::Sync, "");
    prepare_users_server(place.path());
    let socket = place.path().join("data/server.sock");
    let at = |who: &str, schema: &str| {
        let socket = socket.display();
        let url = format!("mysql://{who}@localhost/{schema}?socket={socket}");
        engine.with_address(&Address::of(&url))
    };
    let engine = at("me:s3cret", "trueput_mine").unwrap();
    let build = engine.build().unwrap();
    assert!(build.version.contains("MariaDB"));
    let shown = build.library.unwrap().display().to_string();
    let start = "mysql://me@localhost/trueput_mine";
    assert!(shown.starts_with(start), "{shown}");
    assert!(engine.service().is_none());
    let first = tempfile::tempdir().unwrap();
    let database = open(&*engine, first.path(), Durability::Sync, "").unwrap();
    write(&*database, b"key", b"value");
    let again = open(&*engine, first.path(), Durability::Sync, "").unwrap();
    assert_eq!(read(&*again, b"key").unwrap(), b"value");
    let second = tempfile::tempdir().unwrap();
    drop(database);
    let used = refusal(&*engine, second.path(), Durability::Sync, "").to_string();
    assert!(used.contains("another run uses the database"), "{used}");
    assert_eq!(read(&*again, b"key").unwrap(), b"value");
    drop(again);
    let database = open(&*engine, second.path(), Durability::Sync, "").unwrap();
    assert_eq!(read(&*database, b"key"), None, "a new folder begins anew");
    let refused = |who: &str, schema: &str, level, knobs| {
        let engine = at(who, schema).unwrap();
        let message = refusal(&*engine, second.path(), level, knobs).to_string();
        assert!(
            !message.contains("s3cret") && !message.contains('\n'),
            "{message}"
        );
        message
    };
    let taken = refused("me:s3cret", "trueput_taken", Durability::Sync, "");
    assert!(taken.contains("was not made by this program"), "{taken}");
    let wrong = refused("me:s3crets", "trueput_mine", Durability::Sync, "");
    assert!(wrong.contains("Access denied"), "{wrong}");
    let level = refused("me:s3cret", "trueput_mine", Durability::Async, "");
    let reason = "innodb_flush_log_at_trx_commit=1; durability 'async' needs";
    assert!(level.contains(reason), "{level}");
    let knob = "innodb_io_capacity=900";
    let own = refused("me:s3cret", "trueput_mine", Durability::Sync, knob);
    assert!(own.contains("the server's own"), "{own}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_user_with_rights_on_one_database_alone_is_served_and_nobody_elses_tables_are_touched() {
    let Some(engine) = engine() else { return };
    let place = TestDirectory::of(engine, Durability::Sync, "");
    let owner = open(engine, place.path(), Durability::Sync, "").unwrap();
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
    let engine = engine.with_address(&Address::of(&url)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    support::keeps_the_contract_in(&*engine, folder.path(), Durability::Sync, "");
    // Names with quotes in them, and tables that refer to each other, go too.
    as_owner(
        "CREATE TABLE trueput_only.`a``b` (id INT PRIMARY KEY); \
         CREATE TABLE trueput_only.a (id INT REFERENCES trueput_only.`a``b` (id)); \
         CREATE DATABASE apart; CREATE TABLE apart.record (id INT)",
    );
    drop(open(&*engine, folder.path(), Durability::Sync, "").unwrap());
    as_owner("CREATE TABLE trueput_only.`a``b` (id INT); SELECT id FROM apart.record");
    as_owner("CREATE VIEW trueput_only.seen AS SELECT * FROM apart.record");
    let another = tempfile::tempdir().unwrap();
    let reason = refusal(&*engine, another.path(), Durability::Sync, "").to_string();
    assert!(reason.contains("'seen' (view)"), "{reason}");
    as_owner("SELECT * FROM trueput_only.record");
}

#[test]
fn what_is_no_server_is_refused() {
    for (path, reason) in [
        ("/nowhere/mariadbd", "/nowhere/mariadbd"),
        ("/bin/true", "not a MariaDB server"),
    ] {
        let error = MARIADB.with_library(Path::new(path)).err().unwrap();
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn innodbs_checkpoints_are_seen_from_outside() {
    let Some(engine) = engine() else { return };
    for place in ["beside", "log"] {
        let knobs = format!("log_directory={place}");
        observe::a_checkpoint_is_seen(engine, Durability::Async, &knobs);
    }
    let small = "innodb_log_file_size=16MiB";
    let [written, ..] = observe::seen(engine, Durability::Async, small, 4_000);
    assert_eq!(written, [EngineEvent::CHECKPOINT, EngineEvent::LOG_SWITCH]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn myrocks_reports_its_flushes_in_its_log_and_innodb_reports_nothing() {
    let Some(engine) = engine() else { return };
    for storage in [MYROCKS, INNODB] {
        let database = TestDatabase::open(engine, Durability::Async, storage);
        let spec = OpenSpec {
            directory: database.path(),
            durability: Durability::Async,
            knobs: &resolve(engine, storage),
            sessions: 1,
        };
        write(&*database, b"key", b"value");
        let before = SystemTime::now();
        if storage == INNODB {
            assert_eq!(engine.events(&spec, before), None);
            continue;
        }
        assert_eq!(engine.events(&spec, before), Some(Vec::new()));
        database.checkpoint().unwrap();
        let events = engine.events(&spec, before).unwrap();
        let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
        assert!(kinds.contains(&EngineEvent::FLUSH), "{kinds:?}");
        assert!(engine.event_watcher(&spec).is_none());
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_deadlock_differs_from_a_lock_that_was_waited_for_too_long() {
    let Some(engine) = engine() else { return };
    let place = TestDirectory::of(engine, Durability::Sync, "");
    deadlock::is_distinguished(engine, place.path(), "");
    // MyRocks looks for no deadlock: both wait until the time is up.
    let place = TestDirectory::of(engine, Durability::Sync, MYROCKS);
    let error = deadlock::waited_too_long(engine, place.path(), MYROCKS);
    deadlock::another_conflict_is_none(&error);
}
