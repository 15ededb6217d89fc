//! The GT.M driver does what it promises. A program of its own: GT.M takes over its process's
//! signals, is one to a process, and leaves a database only when the process ends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, reason = "the other test program's")]
#[path = "it/support/mod.rs"]
mod support;

use crate::support::{get, keeps_the_contract, open, read, write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trueput_drivers::Gtm;
use trueput_engine::{Direction, Durability, Engine, Error, KeyRange, Mode, Value};

static ENGINE: Gtm = Gtm::new();
const LEVELS: [Durability; 3] = [Durability::Sync, Durability::Buffered, Durability::None];
/// Commits of a process that dies.
const COMMITS: u64 = 300;
const DIRECTORY: &str = "TRUEPUT_TEST_GTM_DIRECTORY";
const LEVEL: &str = "TRUEPUT_TEST_GTM_LEVEL";
const METHOD: &str = "TRUEPUT_TEST_GTM_METHOD";
const LOG: &str = "TRUEPUT_TEST_GTM_LOG";

/// Whether there is a GT.M to test; where not, why.
fn is_here() -> bool {
    match ENGINE.build() {
        Ok(_) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    }
}

fn method(access_method: &str) -> [(&'static str, Value); 1] {
    [("access_method", Value::from(access_method))]
}

/// An access method, and where the journal is: `beside` the database or in `log`.
fn placed(access_method: &str, log: &str) -> [(&'static str, Value); 2] {
    [
        ("access_method", Value::from(access_method)),
        ("log_directory", Value::from(log)),
    ]
}

#[test]
fn the_contract_is_kept_at_every_level() {
    if !is_here() {
        return;
    }
    for durability in LEVELS {
        keeps_the_contract(&ENGINE, durability, &[]);
    }
}

#[test]
fn no_anomaly_occurs_that_the_stated_isolation_proscribes() {
    if is_here() {
        support::is_isolated_as_stated_with_every_setting(&ENGINE);
    }
}

#[test]
fn the_contract_is_kept_with_a_mapped_file() {
    if !is_here() {
        return;
    }
    keeps_the_contract(&ENGINE, Durability::Buffered, &method("MM"));
}

#[test]
fn the_journal_lies_in_a_folder_of_its_own_where_it_is_told_to() {
    if !is_here() {
        return;
    }
    keeps_the_contract(&ENGINE, Durability::Sync, &placed("BG", "log"));
    for (log, there, not_there) in [
        ("log", "log/trueput.mjl", "trueput.mjl"),
        ("beside", "trueput.mjl", "log"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        // The journal's folder may be a way to elsewhere, as to another device.
        let elsewhere = tempfile::tempdir().unwrap();
        if log == "log" {
            std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("log")).unwrap();
        }
        let database = open(&ENGINE, folder.path(), Durability::Sync, &placed("BG", log)).unwrap();
        write(database.as_ref(), b"key", b"value");
        assert!(folder.path().join(there).exists(), "{log}");
        assert!(!folder.path().join(not_there).exists(), "{log}");
        assert_eq!(elsewhere.path().join("trueput.mjl").exists(), log == "log");
        assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
        let other = placed("BG", if log == "log" { "beside" } else { "log" });
        let opened = open(&ENGINE, folder.path(), Durability::Sync, &other);
        assert!(matches!(opened, Err(Error::Unsupported(_))), "{log}");
    }
}

#[test]
fn every_promised_level_opens_and_no_other_does() {
    if !is_here() {
        return;
    }
    for durability in Durability::ALL {
        let folder = tempfile::tempdir().unwrap();
        let opened = open(&ENGINE, folder.path(), durability, &[]);
        assert_eq!(opened.is_ok(), LEVELS.contains(&durability), "{durability}");
        assert_eq!(opened.is_ok(), ENGINE.promise(durability).is_some());
    }
}

#[test]
fn knobs_reach_gtm_and_it_says_what_it_made_of_them() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let knobs = [
        ("block_size", Value::from("8KiB")),
        ("global_buffers", Value::Integer(5000)),
        ("journal_buffers", Value::Integer(128)),
        ("epoch_interval", Value::Integer(100)),
        ("sync_io", Value::Boolean(true)),
        ("full_block_writes", Value::from("database")),
    ];
    let database = open(&ENGINE, folder.path(), Durability::Buffered, &knobs).unwrap();
    let settings = database.settings().unwrap();
    for (name, expected) in [
        ("acc_meth", 1),
        ("blk_size", 8192),
        ("n_bts", 5000),
        ("epoch_interval", 100),
        ("jnl_sync_io", 1),
        ("jnl_before_image", 1),
        ("write_fullblk", 2),
    ] {
        assert_eq!(settings[name], Value::Integer(expected), "{name}");
    }
    // 128 is less than this GT.M takes.
    assert!(matches!(settings["jnl_buffer_size"], Value::Integer(blocks) if blocks >= 2307));
    let folder = tempfile::tempdir().unwrap();
    let database = open(&ENGINE, folder.path(), Durability::Sync, &method("MM")).unwrap();
    let settings = database.settings().unwrap();
    assert_eq!(settings["acc_meth"], Value::Integer(2));
    assert_eq!(settings["jnl_before_image"], Value::Integer(0));
}

#[test]
fn a_database_is_not_opened_with_other_settings_than_it_was_made_with() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    drop(open(&ENGINE, folder.path(), Durability::Sync, &[]).unwrap());
    assert!(open(&ENGINE, folder.path(), Durability::Buffered, &[]).is_ok());
    let other = open(&ENGINE, folder.path(), Durability::Sync, &method("MM"));
    assert!(matches!(other, Err(Error::Unsupported(text)) if text.contains("was made with")));
}

#[test]
fn what_a_transaction_read_and_another_changed_is_a_conflict() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let database = open(&ENGINE, folder.path(), Durability::Buffered, &[]).unwrap();
    write(database.as_ref(), b"b", b"old");
    // What is read, what another does, and whether that is in the way.
    let cases: [(&str, &[u8], &[u8], bool); 5] = [
        ("get", b"b", b"new", true),
        ("get", b"c", b"unread", false),
        ("get absent", b"a", b"there now", true),
        ("scan", b"bb", b"between", true),
        ("scan", b"z", b"beyond", false),
    ];
    for (what, key, value, is_conflict) in cases {
        let mut session = database.session().unwrap();
        session.begin(Mode::Write).unwrap();
        match what {
            "get" => assert!(get(session.as_mut(), b"b").is_some()),
            "get absent" => assert!(get(session.as_mut(), b"a").is_none()),
            _ => {
                let range = KeyRange::between(b"b", b"d");
                let visitor = &mut |_: &[u8], _: &[u8]| ControlFlow::Continue(());
                session.scan(range, Direction::Backward, visitor).unwrap();
            }
        }
        write(database.as_ref(), key, value);
        session.put(b"own", what.as_bytes()).unwrap();
        let ended = session.commit();
        let name = String::from_utf8_lossy(value);
        match ended {
            Ok(()) => assert!(!is_conflict, "{name}"),
            Err(error) => assert!(is_conflict && error.is_conflict(), "{name}: {error}"),
        }
    }
}

#[test]
fn a_transaction_with_long_values_is_read_back_by_get_and_by_scan() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let database = open(&ENGINE, folder.path(), Durability::Buffered, &[]).unwrap();
    let values: Vec<Vec<u8>> = [0, 40_000, 300_000, 1 << 20, 10]
        .map(|bytes| vec![bytes as u8 ^ 0x5A; bytes])
        .into();
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    for (number, value) in values.iter().enumerate() {
        session.put(&[number as u8], value).unwrap();
    }
    session.commit().unwrap();
    session.begin(Mode::Write).unwrap();
    let mut seen = Vec::new();
    let visitor = &mut |_: &[u8], value: &[u8]| {
        seen.push(value.to_vec());
        ControlFlow::Continue(())
    };
    session
        .scan(KeyRange::ALL, Direction::Forward, visitor)
        .unwrap();
    assert!(seen == values);
    // The long values that were read are compared when this is committed.
    session.put(b"more", b"").unwrap();
    session.commit().unwrap();
    assert!(read(database.as_ref(), &[3]).unwrap() == values[3]);
}

/// Not a test of its own: commits and dies, in the process that [`killed`] starts.
#[test]
fn die_in_child() {
    let Ok(directory) = std::env::var(DIRECTORY) else {
        return;
    };
    let level = std::env::var(LEVEL).unwrap().parse().unwrap();
    let (method, log) = (std::env::var(METHOD), std::env::var(LOG));
    let knobs = placed(&method.unwrap(), &log.unwrap());
    let database = open(&ENGINE, Path::new(&directory), level, &knobs).unwrap();
    for number in 0..COMMITS {
        write(database.as_ref(), &number.to_be_bytes(), b"committed");
    }
    // The journal's buffer is written by a timer, a second after the writes.
    std::thread::sleep(std::time::Duration::from_secs(3));
    for number in COMMITS..COMMITS + 10 {
        write(database.as_ref(), &number.to_be_bytes(), b"committed");
    }
    let process = std::process::id().to_string();
    Command::new("kill")
        .args(["-9", &process])
        .status()
        .unwrap();
}

/// Makes a database, has its only process killed, and says where it is and in which shared memory.
fn killed(folder: &Path, level: Durability, access_method: &str, log: &str) -> (PathBuf, String) {
    let directory = folder.join("database");
    std::fs::create_dir(&directory).unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "die_in_child", "--nocapture"])
        .env(DIRECTORY, &directory)
        .env(LEVEL, level.name())
        .env(METHOD, access_method)
        .env(LOG, log)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success());
    let library = ENGINE.build().unwrap().library.unwrap();
    let installation = library.parent().unwrap().display().to_string();
    let dump = Command::new(library.with_file_name("mupip"))
        .args(["dumpfhead", "-file", "trueput.dat"])
        .env("gtm_dist", &installation)
        .env("gtmroutines", format!("{installation}/libgtmutil.so"))
        .current_dir(&directory)
        .output()
        .unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    let memory = dump
        .lines()
        .find_map(|line| line.strip_prefix("record(\"sgmnt_data.shmid\")="));
    (directory, memory.unwrap().to_owned())
}

/// The shared memory segments of this machine.
fn segments() -> String {
    std::fs::read_to_string("/proc/sysvipc/shm").unwrap()
}

fn is_there(memory: &str) -> bool {
    let lines = segments();
    lines
        .lines()
        .any(|line| line.split_whitespace().nth(1) == Some(memory))
}

/// Opens what a crash has left: it has a prefix of the commits and takes new ones.
fn recovered(directory: &Path, level: Durability, access_method: &str, log: &str) -> u64 {
    let database = open(&ENGINE, directory, level, &placed(access_method, log)).unwrap();
    let mut session = database.session().unwrap();
    session.begin(Mode::Read).unwrap();
    let mut found = 0_u64;
    let scanned = session.scan(KeyRange::ALL, Direction::Forward, &mut |key, value| {
        let expected = (found.to_be_bytes(), b"committed".as_slice());
        assert_eq!((key, value), (expected.0.as_slice(), expected.1));
        found += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(scanned, Ok(found));
    session.commit().unwrap();
    write(database.as_ref(), b"afterwards", b"works");
    found
}

#[test]
fn a_killed_process_loses_nothing_at_sync_though_its_shared_memory_goes_too() {
    if !is_here() {
        return;
    }
    for (access_method, log) in [
        ("BG", "beside"),
        ("MM", "beside"),
        ("BG", "log"),
        ("MM", "log"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (directory, memory) = killed(folder.path(), Durability::Sync, access_method, log);
        assert!(is_there(&memory));
        let removed = Command::new("ipcrm").args(["-m", &memory]).status();
        assert!(removed.unwrap().success());
        let found = recovered(&directory, Durability::Sync, access_method, log);
        assert_eq!(found, COMMITS + 10, "{access_method}, journal {log}");
    }
}

#[test]
fn a_killed_process_keeps_what_its_timer_wrote_at_buffered() {
    if !is_here() {
        return;
    }
    for access_method in ["BG", "MM"] {
        for keeps_memory in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let (directory, memory) =
                killed(folder.path(), Durability::Buffered, access_method, "beside");
            if !keeps_memory {
                let removed = Command::new("ipcrm").args(["-m", &memory]).status();
                assert!(removed.unwrap().success());
            }
            let found = recovered(&directory, Durability::Buffered, access_method, "beside");
            assert!(
                (COMMITS..=COMMITS + 10).contains(&found),
                "{access_method}, memory kept {keeps_memory}: {found}"
            );
            // Recovery has freed what the dead process had.
            assert!(!is_there(&memory));
        }
    }
}

#[test]
fn a_path_that_is_no_gtm_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let missing = ENGINE.with_library(Path::new("/nowhere/libgtmshr.so"));
    let text = missing.err().unwrap().to_string();
    assert!(
        text.starts_with("cannot read /nowhere/libgtmshr.so"),
        "{text}"
    );
    let library = folder.path().join("libgtmshr.so");
    std::fs::write(&library, "no library").unwrap();
    let text = ENGINE.with_library(&library).err().unwrap().to_string();
    assert!(text.contains("is not a shared library"), "{text}");
    if is_here() {
        let real = ENGINE.build().unwrap().library.unwrap();
        std::fs::copy(real, &library).unwrap();
        let text = ENGINE.with_library(&library).err().unwrap().to_string();
        assert!(text.contains("has no mumps in its directory"), "{text}");
    }
}
