//! What a search proposes for `sync` keeps the promise by the engines' own answers: each value of
//! each knob that bears on durability, alone and with others, is opened and read back.

use crate::fence::{engine, space};
use crate::random_point;
use std::collections::BTreeMap;
use std::path::Path;
use trueput_engine::{Database, Durability, Engine, Error, Mode, OpenSpec, parameter::resolve};
use trueput_host::service::{Server, ServerSpec};
use trueput_record::value::Settings;
use trueput_record::{Conditions, Value};
use trueput_tuner::space::Space;

/// Points of the space of those knobs that are opened beside each value alone.
const COMBINATIONS: u64 = 6;
/// Commits after which an engine's counter of flushes is read.
const COMMITS: i64 = 20;
/// Of Linux on most processors.
const O_DSYNC: i32 = 0o10_000;

/// Engines that do not report how they flush, and why.
const SILENT: [(&str, &str); 9] = [
    ("null", "it keeps nothing"),
    (
        "redb",
        "durability is an argument of each transaction; the file has no trace of it",
    ),
    ("fjall", "the flush is a call of its own after each commit"),
    (
        "leveldb",
        "sync is an argument of each write, and its LOG names no option of a write",
    ),
    ("tokudb", "DB_TXN_NOSYNC is an argument of each commit"),
    (
        "etcd",
        "neither a request nor its log tells whether it flushes",
    ),
    (
        "gtm",
        "one to a process: tunings.rs in the tests of the program",
    ),
    (
        "postgresql-cluster",
        "its servers are postgresql's, with the same settings",
    ),
    (
        "galera",
        "its servers are mariadb's, with the same settings",
    ),
];

/// Whether an engine's own answer keeps every commit through lost power.
type Check = fn(&BTreeMap<String, Value>) -> bool;

fn is(settings: &BTreeMap<String, Value>, name: &str, allowed: &[&str]) -> bool {
    let value = settings.get(name).map(ToString::to_string);
    value.is_some_and(|value| allowed.contains(&value.as_str()))
}

/// A database of an engine, with the server that it needs.
struct OpenDatabase {
    // Closed before its server is stopped.
    database: Box<dyn Database>,
    _server: Option<Server>,
    folder: tempfile::TempDir,
}

/// `None` if the engine refuses to open with these knobs, which is a failed trial of a search.
fn open(engine: &dyn Engine, durability: Durability, settings: &Settings) -> Option<OpenDatabase> {
    let folder = tempfile::tempdir().unwrap();
    let knobs = resolve(engine.info().name, engine.knobs(), settings).unwrap();
    let spec = OpenSpec {
        directory: folder.path(),
        durability,
        knobs: &knobs,
        sessions: 8,
    };
    let service = engine.service();
    let server = service.as_ref().map(|service| {
        let spec = ServerSpec {
            service: &**service,
            database: &spec,
            conditions: &Conditions::default(),
            group_entry: None,
        };
        Server::start(&spec, &mut || true).unwrap()
    });
    let database = match engine.open(&spec) {
        Err(Error::Unsupported(reason)) => {
            println!("refused: {reason}");
            return None;
        }
        opened => opened.unwrap(),
    };
    Some(OpenDatabase {
        database,
        _server: server,
        folder,
    })
}

/// What the search proposes of these knobs: each of their values alone, and points of them all.
fn proposals(space: &Space, knobs: &[&str]) -> Vec<Settings> {
    let default = space.point(&Settings::new());
    let names: Vec<_> = space.names().collect();
    let axes = knobs.iter().map(|knob| {
        let axis = names.iter().position(|name| name == knob);
        axis.unwrap_or_else(|| panic!("there is no knob {knob}"))
    });
    let axes: Vec<_> = axes.collect();
    let mut points = vec![default.clone()];
    for axis in &axes {
        for level in space.levels(*axis) {
            let mut point = default.clone();
            point[*axis] = level;
            points.push(point);
        }
    }
    for number in 0..COMBINATIONS {
        let mut point = default.clone();
        let random = random_point(number, axes.len());
        for (axis, coordinate) in axes.iter().zip(random) {
            point[*axis] = coordinate;
        }
        points.push(point);
    }
    let mut proposals: Vec<Settings> = Vec::new();
    for point in points {
        let settings = space.allowed_settings(&point);
        if !proposals.contains(&settings) {
            proposals.push(settings);
        }
    }
    proposals
}

/// Opens an engine, where it is installed, with what the search proposes of the knobs.
fn open_proposals(name: &str, knobs: &[&str], test: impl Fn(&Settings, &OpenDatabase)) {
    let engine = engine(name);
    if let Err(reason) = engine.build() {
        eprintln!("skipped: {reason}");
        return;
    }
    let space = space(engine, Durability::Sync).unwrap();
    let proposals = proposals(&space, knobs);
    let mut count = 0;
    for settings in &proposals {
        if let Some(opened) = open(engine, Durability::Sync, settings) {
            test(settings, &opened);
            count += 1;
        }
    }
    println!(
        "{name}: {count} of {} configurations read back",
        proposals.len()
    );
    assert!(4 * count >= 3 * proposals.len(), "most can be opened");
}

/// The check must fail at each weaker level, or it could not find anything.
fn is_read_back(name: &str, knobs: &[&str], keeps_every_commit: Check) {
    open_proposals(name, knobs, |settings, opened| {
        let reported = opened.database.settings().unwrap();
        assert!(
            keeps_every_commit(&reported),
            "{name} with {settings:?} reports {reported:?}"
        );
    });
    let engine = engine(name);
    let is_weaker = |level: &Durability| *level != Durability::Sync && is_there(engine, *level);
    for level in Durability::ALL.into_iter().filter(is_weaker) {
        let opened = open(engine, level, &Settings::new()).unwrap();
        let reported = opened.database.settings().unwrap();
        assert!(!keeps_every_commit(&reported), "{level}: {reported:?}");
    }
}

/// Whether an engine is installed and has a level.
fn is_there(engine: &dyn Engine, level: Durability) -> bool {
    engine.build().is_ok() && engine.promise(level).is_some()
}

#[test]
fn lmdb() {
    is_read_back(
        "lmdb",
        &["writemap", "no_read_ahead", "no_mem_init"],
        |reported| {
            let flags = reported["flags"].to_string();
            let unsafe_flags = ["MDB_NOSYNC", "MDB_NOMETASYNC", "MDB_MAPASYNC"];
            !flags.split('+').any(|flag| unsafe_flags.contains(&flag))
        },
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn mdbx() {
    let knobs = [
        "writemap",
        "async_by",
        "sync_bytes",
        "sync_period",
        "writethrough_threshold",
    ];
    is_read_back("mdbx", &knobs, |reported| {
        let flags = reported["flags"].to_string();
        !flags.contains("NOSYNC") && !flags.contains("NOMETASYNC")
    });
}

#[test]
#[ignore = "slow: make test runs it"]
fn sqlite() {
    let knobs = [
        "journal_mode",
        "page_size",
        "mmap_size",
        "wal_autocheckpoint",
        "without_rowid",
    ];
    is_read_back("sqlite", &knobs, |reported| {
        // 2 is FULL and 3 is EXTRA, without which a deleted journal can come back.
        is(reported, "journal_mode", &["wal"]) && is(reported, "synchronous", &["2", "3"])
            || is(reported, "journal_mode", &["delete", "truncate", "persist"])
                && is(reported, "synchronous", &["3"])
    });
}

#[test]
#[ignore = "slow: make test runs it"]
fn rocksdb() {
    let knobs = [
        "transactions",
        "preset",
        "wal_bytes_per_sync",
        "track_and_verify_wals",
        "log_directory",
        "direct_io",
        "compaction_style",
    ];
    is_read_back("rocksdb", &knobs, |reported| {
        is(reported, "WriteOptions.sync", &["true"])
            && is(reported, "WriteOptions.disableWAL", &["false"])
            && is(reported, "DBOptions.manual_wal_flush", &["false"])
    });
}

#[test]
#[ignore = "slow: make test runs it"]
fn berkeleydb() {
    let knobs = [
        "access_method",
        "writers",
        "log_buffer",
        "log_directory",
        "log_auto_remove",
        "checkpoint_log",
        "none_log",
        "none_log_buffer",
    ];
    is_read_back("berkeleydb", &knobs, |reported| {
        let flags = [
            "DB_TXN_NOSYNC",
            "DB_TXN_WRITE_NOSYNC",
            "DB_TXN_NOT_DURABLE",
            "DB_LOG_IN_MEMORY",
        ];
        flags.iter().all(|flag| is(reported, flag, &["false"]))
    });
}

/// WiredTiger reports no settings of its log, but counts how often it writes it. It does not flush
/// it: the kernel says that it opened the log with `O_DSYNC`.
#[test]
#[ignore = "slow: make test runs it"]
fn wiredtiger() {
    let knobs = [
        "table",
        "checkpoint_wait",
        "checkpoint_log_size",
        "log_file_max",
        "log_directory",
    ];
    open_proposals("wiredtiger", &knobs, |settings, opened| {
        let counter = "log: log write operations";
        let counted = count_of_commits(&*opened.database, counter);
        assert!(
            counted >= COMMITS,
            "{counter}: {counted} of {COMMITS}: {settings:?}"
        );
        assert!(has_synchronous_log(opened.folder.path()), "{settings:?}");
    });
}

/// By how much some commits raise a counter of the engine's.
fn count_of_commits(database: &dyn Database, counter: &str) -> i64 {
    let count = || match database.counters().unwrap()[counter] {
        Value::Integer(count) => count,
        ref other => panic!("{other} is no count"),
    };
    let before = count();
    for number in 0..COMMITS {
        let mut session = database.session().unwrap();
        session.begin(Mode::Write).unwrap();
        session.put(&number.to_be_bytes(), b"value").unwrap();
        session.commit().unwrap();
    }
    count() - before
}

/// Whether this process has a log of WiredTiger in that folder open with `O_DSYNC`.
fn has_synchronous_log(folder: &Path) -> bool {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let of_log = descriptors.filter(|descriptor| {
        let file = std::fs::read_link(descriptor.path()).unwrap_or_default();
        let is_log = file.to_string_lossy().contains("WiredTigerLog.");
        is_log && file.starts_with(folder)
    });
    let flags = of_log.filter_map(|descriptor| {
        let information = Path::new("/proc/self/fdinfo").join(descriptor.file_name());
        let text = std::fs::read_to_string(information).ok()?;
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
        i32::from_str_radix(flags.trim(), 8).ok()
    });
    let all: Vec<_> = flags.collect();
    assert!(!all.is_empty(), "no log is open");
    all.iter().any(|flags| flags & O_DSYNC != 0)
}

#[test]
#[ignore = "slow: make test runs it"]
fn mariadb() {
    let knobs = [
        "storage_engine",
        "log_directory",
        "innodb_doublewrite",
        "innodb_flush_method",
        "innodb_page_size",
    ];
    is_read_back("mariadb", &knobs, |reported| {
        if is(reported, "storage_engine", &["ROCKSDB"]) {
            return is(reported, "rocksdb_flush_log_at_trx_commit", &["1"])
                && is(reported, "rocksdb_manual_wal_flush", &["OFF"]);
        }
        is(reported, "innodb_flush_log_at_trx_commit", &["1"])
            && is(reported, "innodb_doublewrite", &["ON"])
            && is(reported, "log_bin", &["OFF"])
    });
}

#[test]
#[ignore = "slow: make test runs it"]
fn postgresql() {
    let knobs = [
        "fsync",
        "full_page_writes",
        "wal_level",
        "wal_sync_method",
        "log_directory",
    ];
    is_read_back("postgresql", &knobs, |reported| {
        let names = ["fsync", "synchronous_commit", "full_page_writes"];
        names.iter().all(|name| is(reported, name, &["on"]))
    });
}

const READ_BACK: [&str; 8] = [
    "lmdb",
    "mdbx",
    "sqlite",
    "rocksdb",
    "berkeleydb",
    "wiredtiger",
    "mariadb",
    "postgresql",
];

#[test]
fn every_engine_is_read_back_or_says_why_not() {
    let silent = SILENT.iter().map(|(name, reason)| {
        println!("{name} is not read back: {reason}");
        *name
    });
    let mut named: Vec<_> = silent.chain(READ_BACK).collect();
    let engines = trueput_drivers::registry().iter();
    let mut all: Vec<_> = engines.map(|engine| engine.info().name).collect();
    named.sort_unstable();
    all.sort_unstable();
    assert_eq!(named, all);
}
