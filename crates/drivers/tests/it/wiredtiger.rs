//! WiredTiger's driver. Skipped where no WiredTiger is on the machine:
//! `trueput engines install wiredtiger` installs it.

use crate::support::{
    self, TestDatabase, get, keeps_the_contract, observe, open, read, refusal, write,
};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use trueput_drivers::WiredTiger;
use trueput_engine::{
    Database, Direction, Durability, Engine, EngineEvent, Error, KeyRange, Mode, Session, Value,
};

static WIREDTIGER: WiredTiger = WiredTiger::new();
const TABLES: [&str; 2] = ["table=btree", "table=lsm"];

/// Every build on this machine for which there is a shim.
fn builds() -> Vec<Box<dyn Engine>> {
    support::builds(&WIREDTIGER)
}

fn counter(database: &dyn Database, name: &str) -> i64 {
    match database.counters().unwrap().get(name) {
        Some(Value::Integer(number)) => *number,
        _ => 0,
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_build_keeps_the_contract_at_every_level_with_both_kinds_of_table() {
    for engine in builds() {
        for level in Durability::ALL {
            for table in TABLES {
                if engine
                    .promise_with(level, &support::resolve(&*engine, table))
                    .is_ok()
                {
                    keeps_the_contract(&*engine, level, table);
                }
            }
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_other_settings_keep_the_contract() {
    let btree = "cache_size=64MiB checkpoint_wait=1 checkpoint_log_size=1MiB log_file_max=1MiB \
                 log_directory=log \
                 eviction_threads_min=2 eviction_threads_max=4 leaf_page_max=4KiB \
                 internal_page_max=8KiB memory_page_max=1MiB statistics=none";
    let lsm = "table=lsm lsm_chunk_size=1MiB lsm_bloom=false lsm_threads=3";
    for engine in builds() {
        keeps_the_contract(&*engine, Durability::Sync, btree);
        keeps_the_contract(&*engine, Durability::Process, lsm);
    }
}

#[test]
fn a_compressor_is_used_or_refused_by_name() {
    for engine in builds() {
        for name in ["snappy", "lz4"] {
            let folder = tempfile::tempdir().unwrap();
            let given = &format!("block_compressor={name}");
            match open(&*engine, folder.path(), Durability::Process, given) {
                Ok(database) => {
                    write(&*database, b"key", b"value");
                    let settings = database.settings().unwrap();
                    assert_eq!(settings["table: block_compressor"], Value::from(name));
                }
                Err(error) => assert!(error.to_string().contains(name), "{error}"),
            }
        }
    }
}

#[test]
fn the_second_to_write_a_record_gets_a_conflict() {
    for engine in builds() {
        for table in TABLES {
            let database = TestDatabase::open(&*engine, Durability::Process, table);
            let [mut first, mut second] = [(); 2].map(|()| database.session().unwrap());
            first.begin(Mode::Write).unwrap();
            second.begin(Mode::Write).unwrap();
            first.put(b"key", b"first").unwrap();
            let refused = second.put(b"key", b"second").unwrap_err();
            assert!(matches!(refused, Error::Conflict(_)), "{table}: {refused}");
            second.abort().unwrap();
            first.commit().unwrap();
            second.begin(Mode::Read).unwrap();
            assert_eq!(get(second.as_mut(), b"key").unwrap(), b"first");
            second.commit().unwrap();
        }
    }
}

/// The engine's own counts of log writes and flushes show that a level is kept. At `sync` a write
/// flushes; `tuner`'s tests look at the log's descriptor.
#[test]
#[ignore = "slow: make test runs it"]
fn the_log_is_written_as_the_level_says() {
    const COMMITS: i64 = 40;
    for engine in builds() {
        let offers = |level: &Durability| engine.promise(*level).is_some();
        for level in Durability::ALL.into_iter().filter(offers) {
            let database = TestDatabase::open(&*engine, level, "");
            let count = |name: &str| counter(&*database, name);
            let (writes, flushes) = ("log: log write operations", "log: log sync operations");
            let before = (count(writes), count(flushes));
            for number in 0..COMMITS {
                write(&*database, &number.to_be_bytes(), b"value");
            }
            let (written, flushed) = (count(writes) - before.0, count(flushes) - before.1);
            let is_logged = matches!(level, Durability::Sync | Durability::Process);
            assert!(flushed < COMMITS / 2, "{level}: {flushed} flushes");
            assert_eq!(written >= COMMITS, is_logged, "{level}: {written} writes");
        }
    }
}

#[test]
fn what_was_set_is_read_back() {
    for engine in builds() {
        for table in TABLES {
            let knobs = format!("{table} cache_size=40MiB leaf_page_max=8KiB");
            let database = TestDatabase::open(&*engine, Durability::Process, &knobs);
            let settings = database.settings().unwrap();
            support::reports(&settings, table);
            let cache = &settings["cache: maximum bytes configured"];
            assert_eq!(*cache, Value::Integer(40 << 20));
            let text = format!("{settings:?}");
            assert!(text.contains("8192") || text.contains("8KB"), "{text}");
        }
    }
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    for engine in builds() {
        for knobs in ["eviction_threads_min=9", "table=lsm"] {
            let folder = tempfile::tempdir().unwrap();
            let error = refusal(&*engine, folder.path(), Durability::Buffered, knobs);
            assert!(matches!(error, Error::Unsupported(_)));
        }
    }
}

const FILL_VARIABLE: &str = "TRUEPUT_TEST_WIREDTIGER_FILL";
const LIBRARY_VARIABLE: &str = "TRUEPUT_TEST_WIREDTIGER_LIBRARY";
const KNOBS_VARIABLE: &str = "TRUEPUT_TEST_WIREDTIGER_KNOBS";
const LEVEL_VARIABLE: &str = "TRUEPUT_TEST_WIREDTIGER_LEVEL";
const THREADS: u32 = 4;
const EACH: u32 = 5000;
/// With these, chunks and checkpoints come and go while the records are written.
const SMALL_CHUNKS: &str = "lsm_chunk_size=512KiB memory_page_max=64KiB checkpoint_wait=1 \
                            log_file_max=1MiB";

/// Not a test of its own: the test below starts it and sees it die.
#[test]
#[ignore = "slow: make test runs it"]
fn die_in_child() {
    let Ok(directory) = std::env::var(FILL_VARIABLE) else {
        return;
    };
    let [library, level, knobs] =
        [LIBRARY_VARIABLE, LEVEL_VARIABLE, KNOBS_VARIABLE].map(|name| std::env::var(name).unwrap());
    let engine = WIREDTIGER.with_library(Path::new(&library)).unwrap();
    let level = level.parse().unwrap();
    let database = open(&*engine, Path::new(&directory), level, &knobs).unwrap();
    fill(&*database);
    std::process::abort();
}

/// Several threads write at once, each its own records in order, one to a commit.
fn fill(database: &dyn Database) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut session = database.session().unwrap();
                for number in 0..EACH {
                    let key = [thread.to_be_bytes(), number.to_be_bytes()].concat();
                    while let Err(error) = put_alone(&mut *session, &key, &[7; 200]) {
                        // A full cache rolls transactions back.
                        assert!(matches!(error, Error::Conflict(_)), "{error}");
                        session.abort().unwrap();
                    }
                }
            });
        }
    });
}

/// Puts a record in a transaction of its own.
fn put_alone(session: &mut dyn Session, key: &[u8], value: &[u8]) -> Result<(), Error> {
    session.begin(Mode::Write)?;
    session.put(key, value)?;
    session.commit()
}

/// The number of records of each thread that survive a kill; they are the first ones of each.
fn left_of_many(engine: &dyn Engine, level: Durability, knobs: &str) -> Vec<u32> {
    let knobs = format!("{knobs} {SMALL_CHUNKS}");
    let folder = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--include-ignored", "--exact", "wiredtiger::die_in_child"])
        .env(LIBRARY_VARIABLE, engine.build().unwrap().library.unwrap())
        .env(LEVEL_VARIABLE, level.name())
        .env(KNOBS_VARIABLE, &knobs)
        .env(FILL_VARIABLE, folder.path())
        .output()
        .unwrap();
    // A panic would end it before it had written all.
    assert_eq!(
        output.status.signal(),
        Some(Signal::SIGABRT as i32),
        "{output:?}"
    );
    let database = open(engine, folder.path(), level, &knobs).unwrap();
    let mut session = database.session().unwrap();
    let mut left = vec![0; THREADS as usize];
    session.begin(Mode::Read).unwrap();
    let visit = &mut |key: &[u8], _: &[u8]| {
        let thread = usize::from(key[3]);
        let expected: u32 = left[thread];
        assert_eq!(key[4..], expected.to_be_bytes(), "{knobs}, thread {thread}");
        left[thread] += 1;
        ControlFlow::Continue(())
    };
    let scanned = session.scan(KeyRange::ALL, Direction::Forward, visit);
    let found = left.iter().map(|&count| u64::from(count)).sum();
    assert_eq!(scanned, Ok(found));
    session.commit().unwrap();
    left
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_kill_amid_chunks_and_checkpoints_leaves_what_the_level_says() {
    for engine in builds() {
        for table in TABLES {
            let left = left_of_many(&*engine, Durability::Process, table);
            assert_eq!(left, [EACH; THREADS as usize], "{table}");
        }
        // That these are the first of each thread, the scan has checked.
        let left = left_of_many(&*engine, Durability::Buffered, "");
        assert!(left.iter().all(|&count| count <= EACH), "{left:?}");
    }
}

const FULL_VARIABLE: &str = "TRUEPUT_TEST_WIREDTIGER_FULL";
/// A transaction of `LARGE_BYTES` is written to the log past a buffer of this log's.
const SMALL_LOG: &str = "log_file_max=100KiB";
const LARGE_BYTES: usize = 20_000;
/// No file has more room, a log's neither.
const ROOM_BYTES: u64 = 64 << 10;

/// Not a test of its own: the test below starts it. Its exit code is the number of commits that
/// were acknowledged.
#[test]
#[ignore = "slow: make test runs it"]
fn commit_until_full_in_child() {
    let Ok(directory) = std::env::var(FULL_VARIABLE) else {
        return;
    };
    let library = std::env::var(LIBRARY_VARIABLE).unwrap();
    let engine = WIREDTIGER.with_library(Path::new(&library)).unwrap();
    let database = open(&*engine, Path::new(&directory), Durability::Sync, SMALL_LOG);
    let database = database.unwrap();
    let mut session = database.session().unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, ROOM_BYTES, ROOM_BYTES).unwrap();
    for acknowledged in 0_i32..100 {
        let key = acknowledged.to_be_bytes();
        if let Err(error) = put_alone(&mut *session, &key, &[7; LARGE_BYTES]) {
            assert!(matches!(error, Error::Full(_)), "{error}");
            std::process::exit(acknowledged);
        }
    }
    panic!("no commit failed");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_commit_that_has_no_room_in_the_log_is_not_acknowledged() {
    for engine in builds() {
        let folder = tempfile::tempdir().unwrap();
        // Writes beyond the limit return an error where its signal is ignored.
        let script = "trap '' XFSZ; exec \"$0\" --include-ignored --exact \
                      wiredtiger::commit_until_full_in_child";
        let output = std::process::Command::new("sh")
            .args(["-c", script])
            .arg(std::env::current_exe().unwrap())
            .env(LIBRARY_VARIABLE, engine.build().unwrap().library.unwrap())
            .env(FULL_VARIABLE, folder.path())
            .output()
            .unwrap();
        let code = output.status.code();
        let acknowledged = code.filter(|code| (1..100).contains(code));
        let acknowledged = acknowledged.unwrap_or_else(|| panic!("{output:?}"));
        let database = open(&*engine, folder.path(), Durability::Sync, SMALL_LOG).unwrap();
        for number in 0..acknowledged {
            let found = read(&*database, &number.to_be_bytes());
            assert!(found.is_some(), "commit {number} of {acknowledged}");
        }
    }
}

/// The ends of the records of a log file, the file's header first. A record begins with its length,
/// and the next one is at a multiple of 128 bytes.
fn ends_of_records(log: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while let Some(bytes) = log.get(at..at + 4) {
        let length = u32::from_le_bytes(bytes.try_into().unwrap());
        if length == 0 {
            break;
        }
        at += (length as usize).next_multiple_of(128);
        ends.push(at);
    }
    ends
}

/// A copy of the folder of an open database, as a kill would leave it, with its log cut off.
///
/// WiredTiger's threads rename files meanwhile, for example that of the next log. A copy that
/// misses a file for it is made again.
fn killed_at(open: &Path, end_of_log: usize) -> tempfile::TempDir {
    for _ in 0..100 {
        let folder = tempfile::tempdir().unwrap();
        match copy_with_log_cut(open, folder.path(), end_of_log) {
            Ok(()) => return folder,
            Err(gone) if gone.kind() == std::io::ErrorKind::NotFound => {}
            Err(reason) => panic!("{}: {reason}", open.display()),
        }
    }
    panic!(
        "{}: files went away during each of 100 copies",
        open.display()
    );
}

/// Copies the folder of a database, with zeros in its log from `end_of_log` on.
fn copy_with_log_cut(open: &Path, to: &Path, end_of_log: usize) -> std::io::Result<()> {
    for entry in std::fs::read_dir(open)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_name() == FIRST_LOG {
            let mut log = std::fs::read(entry.path())?;
            log[end_of_log..].fill(0);
            std::fs::write(copy, log)?;
        } else {
            std::fs::copy(entry.path(), copy)?;
        }
    }
    Ok(())
}

const FIRST_LOG: &str = "WiredTigerLog.0000000001";

#[test]
#[ignore = "slow: make test runs it"]
fn a_kill_while_the_table_is_made_leaves_a_database_that_opens() {
    for engine in builds() {
        for table in TABLES {
            let knobs = format!("{table} log_file_max=100KiB");
            let whole = TestDatabase::open(&*engine, Durability::Process, &knobs);
            let ends = ends_of_records(&std::fs::read(whole.path().join(FIRST_LOG)).unwrap());
            assert!(ends.len() > 3, "{ends:?}");
            for end in ends {
                let left = killed_at(whole.path(), end);
                let database = open(&*engine, left.path(), Durability::Process, &knobs);
                let database = database.unwrap_or_else(|error| panic!("{table}, {end}: {error}"));
                write(&*database, b"key", b"value");
                assert_eq!(read(&*database, b"key").unwrap(), b"value");
            }
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn checkpoints_and_log_switches_are_seen_from_outside() {
    for engine in builds() {
        let small = "checkpoint_wait=0 checkpoint_log_size=0 log_file_max=1MiB";
        for place in ["beside", "log"] {
            let knobs = format!("{small} log_directory={place}");
            observe::a_checkpoint_is_seen(&*engine, Durability::Process, &knobs);
            let [written, ..] = observe::seen(&*engine, Durability::Process, &knobs, 300);
            assert_eq!(written, [EngineEvent::LOG_SWITCH], "{place}");
        }
    }
}
