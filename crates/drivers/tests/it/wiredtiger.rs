//! WiredTiger's driver. Skipped where no WiredTiger is on the machine: `make engines` installs it.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{self, get, keeps_the_contract, observe, open, read, write};
use std::ops::ControlFlow;
use std::path::Path;
use trueput_drivers::WiredTiger;
use trueput_engine::{
    Database, Direction, Durability, Engine, EngineEvent, Error, KeyRange, Mode, Value,
};

static WIREDTIGER: WiredTiger = WiredTiger::new();
const TABLES: [&str; 2] = ["btree", "lsm"];

/// Every build on this machine for which there is a shim.
fn builds() -> Vec<Box<dyn Engine>> {
    let mut builds = Vec::new();
    for path in WIREDTIGER.library_files() {
        match WIREDTIGER.with_library(&path) {
            Ok(engine) => builds.push(engine),
            Err(error) => eprintln!("skipped: {error}"),
        }
    }
    if builds.is_empty() {
        eprintln!("skipped: no WiredTiger on this machine; `make engines` installs one");
    }
    builds
}

fn table(kind: &str) -> (&'static str, Value) {
    ("table", kind.into())
}

fn counter(database: &dyn Database, name: &str) -> i64 {
    match database.counters().unwrap().get(name) {
        Some(Value::Integer(number)) => *number,
        _ => 0,
    }
}

#[test]
fn every_build_keeps_the_contract_at_every_level_with_both_kinds_of_table() {
    for engine in builds() {
        for level in Durability::ALL {
            for kind in TABLES {
                keeps_the_contract(engine.as_ref(), level, &[table(kind)]);
            }
        }
    }
}

#[test]
fn the_other_settings_keep_the_contract() {
    let given = [
        ("transaction_sync", "dsync".into()),
        ("cache_size", Value::Integer(64 << 20)),
        ("checkpoint_wait", 1_i64.into()),
        ("checkpoint_log_size", Value::Integer(1 << 20)),
        ("log_file_max", Value::Integer(1 << 20)),
        ("log_directory", "log".into()),
        ("eviction_threads_min", 2_i64.into()),
        ("eviction_threads_max", 4_i64.into()),
        ("leaf_page_max", Value::Integer(4 << 10)),
        ("internal_page_max", Value::Integer(8 << 10)),
        ("memory_page_max", Value::Integer(1 << 20)),
        ("statistics", "none".into()),
    ];
    let lsm = [
        table("lsm"),
        ("lsm_chunk_size", Value::Integer(1 << 20)),
        ("lsm_bloom", false.into()),
        ("lsm_threads", 3_i64.into()),
    ];
    for engine in builds() {
        keeps_the_contract(engine.as_ref(), Durability::Sync, &given);
        keeps_the_contract(engine.as_ref(), Durability::Async, &lsm);
        let by_checkpoint = [("buffered_by", "checkpoint".into())];
        keeps_the_contract(engine.as_ref(), Durability::Buffered, &by_checkpoint);
    }
}

#[test]
fn a_compressor_is_used_or_refused_by_name() {
    for engine in builds() {
        for name in ["snappy", "lz4"] {
            let folder = tempfile::tempdir().unwrap();
            let given = [("block_compressor", name.into())];
            match open(engine.as_ref(), folder.path(), Durability::Async, &given) {
                Ok(database) => {
                    write(database.as_ref(), b"key", b"value");
                    let settings = database.settings().unwrap();
                    assert_eq!(settings["table: block_compressor"], Value::from(name));
                }
                Err(error) => assert!(error.to_string().contains(name), "{error}"),
            }
        }
    }
}

#[test]
fn scans_keep_to_their_bounds_in_both_directions() {
    for engine in builds() {
        for kind in TABLES {
            let folder = tempfile::tempdir().unwrap();
            let level = Durability::Async;
            let database = open(engine.as_ref(), folder.path(), level, &[table(kind)]).unwrap();
            support::scans_keep_to_their_bounds(database.as_ref());
        }
    }
}

#[test]
fn the_second_to_write_a_record_gets_a_conflict() {
    for engine in builds() {
        for kind in TABLES {
            let folder = tempfile::tempdir().unwrap();
            let level = Durability::Async;
            let database = open(engine.as_ref(), folder.path(), level, &[table(kind)]).unwrap();
            let (mut first, mut second) =
                (database.session().unwrap(), database.session().unwrap());
            first.begin(Mode::Write).unwrap();
            second.begin(Mode::Write).unwrap();
            first.put(b"key", b"first").unwrap();
            let refused = second.put(b"key", b"second").unwrap_err();
            assert!(matches!(refused, Error::Conflict(_)), "{kind}: {refused}");
            second.abort().unwrap();
            first.commit().unwrap();
            second.begin(Mode::Read).unwrap();
            assert_eq!(
                get(second.as_mut(), b"key").as_deref(),
                Some(b"first".as_slice())
            );
            second.commit().unwrap();
        }
    }
}

/// The engine's own counts of writes and flushes of the log show that a level does what it says.
#[test]
fn the_log_is_written_and_flushed_as_the_level_says() {
    const COMMITS: i64 = 40;
    for engine in builds() {
        for level in Durability::ALL {
            let folder = tempfile::tempdir().unwrap();
            let database = open(engine.as_ref(), folder.path(), level, &[]).unwrap();
            let count = |name: &str| counter(database.as_ref(), name);
            let (writes, flushes) = ("log: log write operations", "log: log sync operations");
            let before = (count(writes), count(flushes));
            for number in 0..COMMITS {
                write(database.as_ref(), &number.to_be_bytes(), b"value");
            }
            let (written, flushed) = (count(writes) - before.0, count(flushes) - before.1);
            let (least_flushed, is_logged) = match level {
                Durability::Sync => (COMMITS, true),
                Durability::None => (0, false),
                _ => (0, true),
            };
            assert!(flushed >= least_flushed, "{level}: {flushed} flushes");
            assert!(
                level == Durability::Sync || flushed < COMMITS / 2,
                "{level}: {flushed}"
            );
            assert_eq!(written >= COMMITS, is_logged, "{level}: {written} writes");
        }
    }
}

#[test]
fn what_was_set_is_read_back() {
    for engine in builds() {
        for kind in TABLES {
            let folder = tempfile::tempdir().unwrap();
            let given = [
                table(kind),
                ("cache_size", Value::Integer(40 << 20)),
                ("leaf_page_max", Value::Integer(8 << 10)),
            ];
            let level = Durability::Async;
            let database = open(engine.as_ref(), folder.path(), level, &given).unwrap();
            let settings = database.settings().unwrap();
            assert_eq!(settings["table"], Value::from(kind));
            let cache = &settings["cache: maximum bytes configured"];
            assert_eq!(*cache, Value::Integer(40 << 20));
            let text = format!("{settings:?}");
            assert!(text.contains("8192") || text.contains("8KB"), "{text}");
        }
    }
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    let refusals: [&[(&str, Value)]; 2] = [
        &[("eviction_threads_min", 9_i64.into())],
        &[table("lsm"), ("buffered_by", "checkpoint".into())],
    ];
    for engine in builds() {
        for given in refusals {
            let folder = tempfile::tempdir().unwrap();
            let opened = open(engine.as_ref(), folder.path(), Durability::Buffered, given);
            assert!(matches!(opened.err(), Some(Error::Unsupported(_))));
        }
    }
}

#[test]
fn a_database_that_is_open_is_not_opened_again() {
    for engine in builds() {
        let folder = tempfile::tempdir().unwrap();
        let first = open(engine.as_ref(), folder.path(), Durability::Async, &[]).unwrap();
        let second = open(engine.as_ref(), folder.path(), Durability::Async, &[]);
        let text = second.err().unwrap().to_string();
        assert!(text.contains("already"), "{text}");
        write(first.as_ref(), b"key", b"value");
        assert!(read(first.as_ref(), b"key").is_some());
    }
}

#[test]
fn a_library_of_another_engine_is_refused() {
    let known = ["/usr/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6"];
    let Some(path) = known.iter().map(Path::new).find(|path| path.is_file()) else {
        eprintln!("skipped: no libm.so.6 where it is looked for");
        return;
    };
    let text = WIREDTIGER.with_library(path).err().unwrap().to_string();
    assert!(
        text.contains("lacks wiredtiger_open: it is no WiredTiger"),
        "{text}"
    );
}

const LIBRARY_VARIABLE: &str = "TRUEPUT_TEST_WIREDTIGER_LIBRARY";
const TABLE_VARIABLE: &str = "TRUEPUT_TEST_WIREDTIGER_TABLE";

/// Not a test of its own: what the test below starts and sees die.
#[test]
fn die_in_child() {
    let Ok(directory) = std::env::var(FILL_VARIABLE) else {
        return;
    };
    let told = |name| std::env::var(name).unwrap();
    let engine = WIREDTIGER
        .with_library(Path::new(&told(LIBRARY_VARIABLE)))
        .unwrap();
    let given = small_chunks(&told(TABLE_VARIABLE), &told(KEPT_BY_VARIABLE));
    let level = told(LEVEL_VARIABLE).parse().unwrap();
    let database = open(engine.as_ref(), Path::new(&directory), level, &given).unwrap();
    fill(database.as_ref());
    std::process::abort();
}

const FILL_VARIABLE: &str = "TRUEPUT_TEST_WIREDTIGER_FILL";
const KEPT_BY_VARIABLE: &str = "TRUEPUT_TEST_WIREDTIGER_KEPT_BY";
const LEVEL_VARIABLE: &str = "TRUEPUT_TEST_WIREDTIGER_LEVEL";
const THREADS: u32 = 4;
const EACH: u32 = 5000;

/// Chunks and checkpoints come and go while the records are written.
fn small_chunks(kind: &str, kept_by: &str) -> Vec<(&'static str, Value)> {
    vec![
        table(kind),
        ("buffered_by", kept_by.into()),
        ("lsm_chunk_size", Value::Integer(512 << 10)),
        ("memory_page_max", Value::Integer(64 << 10)),
        ("checkpoint_wait", 1_i64.into()),
        ("log_file_max", Value::Integer(1 << 20)),
    ]
}

/// Several threads write at once, each its own records in order, one to a commit.
fn fill(database: &dyn Database) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut session = database.session().unwrap();
                for number in 0..EACH {
                    session.begin(Mode::Write).unwrap();
                    let key = [thread.to_be_bytes(), number.to_be_bytes()].concat();
                    session.put(&key, &[7; 200]).unwrap();
                    session.commit().unwrap();
                }
            });
        }
    });
}

/// How many records of each thread are left after a kill; they are the first ones of each.
fn left_of_many(engine: &dyn Engine, kind: &str, level: Durability, kept_by: &str) -> Vec<u32> {
    let folder = tempfile::tempdir().unwrap();
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "wiredtiger::die_in_child"])
        .env(LIBRARY_VARIABLE, engine.build().unwrap().library.unwrap())
        .env(TABLE_VARIABLE, kind)
        .env(LEVEL_VARIABLE, level.name())
        .env(KEPT_BY_VARIABLE, kept_by)
        .env(FILL_VARIABLE, folder.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success());
    let database = open(engine, folder.path(), level, &small_chunks(kind, kept_by)).unwrap();
    let mut session = database.session().unwrap();
    let mut left = vec![0; THREADS as usize];
    session.begin(Mode::Read).unwrap();
    let visit = &mut |key: &[u8], _: &[u8]| {
        let thread = usize::from(key[3]);
        let expected: u32 = left[thread];
        assert_eq!(key[4..], expected.to_be_bytes(), "{kind}, thread {thread}");
        left[thread] += 1;
        ControlFlow::Continue(())
    };
    let scanned = session.scan(KeyRange::ALL, Direction::Forward, visit);
    assert_eq!(
        scanned,
        Ok(left.iter().map(|&count| u64::from(count)).sum())
    );
    session.commit().unwrap();
    left
}

#[test]
fn a_kill_amid_chunks_and_checkpoints_leaves_what_the_level_says() {
    for engine in builds() {
        for kind in TABLES {
            let left = left_of_many(engine.as_ref(), kind, Durability::Process, "log");
            assert_eq!(left, [EACH; THREADS as usize], "{kind}");
        }
        for (kind, kept_by) in [("btree", "log"), ("lsm", "log"), ("btree", "checkpoint")] {
            // That these are the first of each thread, the scan has checked.
            let left = left_of_many(engine.as_ref(), kind, Durability::Buffered, kept_by);
            assert!(left.iter().all(|&count| count <= EACH), "{kind}: {left:?}");
        }
    }
}

/// Kills a process with each build and kind of table, and says what is left.
fn left_after_a_kill(level: Durability) -> Vec<u64> {
    let mut left = Vec::new();
    for engine in builds() {
        for kind in TABLES {
            left.push(crash(engine.as_ref(), level, &[table(kind)]));
        }
    }
    left
}

#[test]
fn a_killed_process_loses_nothing_where_commits_are_written() {
    for level in [Durability::Sync, Durability::Async, Durability::Process] {
        for left in left_after_a_kill(level) {
            assert_eq!(left, CRASH_COMMITS, "{level}");
        }
    }
}

/// That it is a prefix, `crash` has checked.
#[test]
fn a_killed_process_leaves_a_prefix_where_the_log_is_buffered() {
    for left in left_after_a_kill(Durability::Buffered) {
        assert!(left <= CRASH_COMMITS);
    }
}

/// Where each record of a log file ends, the header of the file first. A record begins with its
/// length, and the next one is at a multiple of 128 bytes.
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
            Err(why) => panic!("{}: {why}", open.display()),
        }
    }
    panic!(
        "{}: files went away during each of 100 copies",
        open.display()
    );
}

/// Copies the folder of a database with zeros in place of what its log has from there on.
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
fn a_kill_while_the_table_is_made_leaves_a_database_that_opens() {
    let small = ("log_file_max", Value::Integer(100 << 10));
    for engine in builds() {
        for kind in TABLES {
            let given = [table(kind), small.clone()];
            let folder = tempfile::tempdir().unwrap();
            let whole = open(engine.as_ref(), folder.path(), Durability::Process, &given).unwrap();
            let ends = ends_of_records(&std::fs::read(folder.path().join(FIRST_LOG)).unwrap());
            assert!(ends.len() > 3, "{ends:?}");
            for end in ends {
                let left = killed_at(folder.path(), end);
                let database = open(engine.as_ref(), left.path(), Durability::Process, &given);
                let database = database.unwrap_or_else(|error| panic!("{kind}, {end}: {error}"));
                write(database.as_ref(), b"key", b"value");
                assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
            }
            drop(whole);
        }
    }
}

#[test]
fn checkpoints_and_log_switches_are_seen_from_outside() {
    for engine in builds() {
        let small = [
            ("checkpoint_wait", Value::Integer(0)),
            ("checkpoint_log_size", Value::Integer(0)),
            ("log_file_max", Value::Integer(1 << 20)),
        ];
        for kind in ["beside", "log"] {
            let mut given = small.to_vec();
            given.push(("log_directory", kind.into()));
            observe::a_checkpoint_is_seen(engine.as_ref(), Durability::Async, &given);
            let [written, ..] = observe::seen(engine.as_ref(), Durability::Async, &given, 300);
            assert_eq!(written, [EngineEvent::LOG_SWITCH], "{kind}");
        }
    }
}
