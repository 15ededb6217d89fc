//! The GT.M driver keeps its promises. A program of its own: GT.M takes over its process's signals,
//! allows one instance per process, and leaves a database only when the process ends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "the other test program's")]
#[path = "it"]
mod it {
    pub mod support;
}

use it::support;
use it::support::{TestDatabase, begin, get, keeps_the_contract, open, read, refusal, write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trueput_drivers::Gtm;
use trueput_engine::{Direction, Durability, Engine, Error, KeyRange, Mode, OpenSpec, Value};

static ENGINE: Gtm = Gtm::new();
const LEVELS: [Durability; 3] = [Durability::Sync, Durability::Buffered, Durability::None];
/// Commits of a process that dies.
const COMMITS: u64 = 300;
const DIRECTORY: &str = "TRUEPUT_TEST_GTM_DIRECTORY";
const LEVEL: &str = "TRUEPUT_TEST_GTM_LEVEL";
const KNOBS: &str = "TRUEPUT_TEST_GTM_KNOBS";
const MAPPED_FILE: &str = "access_method=MM";

/// The engine, where this machine has it.
fn engine() -> Option<&'static dyn Engine> {
    support::installed(&ENGINE)
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_contract_is_kept_at_every_level() {
    let Some(engine) = engine() else { return };
    assert!(support::levels(engine).eq(LEVELS));
    for durability in LEVELS {
        keeps_the_contract(engine, durability, "");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn no_anomaly_occurs_that_the_stated_isolation_proscribes() {
    let Some(engine) = engine() else { return };
    support::is_isolated_as_stated_with_every_setting(engine);
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_contract_is_kept_with_a_mapped_file() {
    let Some(engine) = engine() else { return };
    keeps_the_contract(engine, Durability::Buffered, MAPPED_FILE);
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_journal_is_in_the_folder_that_the_knob_names() {
    let Some(engine) = engine() else { return };
    keeps_the_contract(engine, Durability::Sync, "log_directory=log");
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
        let knobs = format!("log_directory={log}");
        let database = open(engine, folder.path(), Durability::Sync, &knobs).unwrap();
        write(&*database, b"key", b"value");
        assert!(folder.path().join(there).exists(), "{log}");
        assert!(!folder.path().join(not_there).exists(), "{log}");
        assert_eq!(elsewhere.path().join("trueput.mjl").exists(), log == "log");
        assert_eq!(read(&*database, b"key").unwrap(), b"value");
        let other = match log {
            "log" => "log_directory=beside",
            _ => "log_directory=log",
        };
        let error = refusal(engine, folder.path(), Durability::Sync, other);
        assert!(matches!(error, Error::Unsupported(_)), "{log}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn knobs_reach_gtm_and_it_says_what_it_made_of_them() {
    let Some(engine) = engine() else { return };
    let knobs = "block_size=8KiB global_buffers=5000 journal_buffers=128 epoch_interval=100 \
                 sync_io=true full_block_writes=database";
    let database = TestDatabase::open(engine, Durability::Buffered, knobs);
    let settings = database.settings().unwrap();
    let expected = "acc_meth=1 blk_size=8192 n_bts=5000 epoch_interval=100 jnl_sync_io=1 \
                    jnl_before_image=1 write_fullblk=2";
    support::reports(&settings, expected);
    // 128 is less than this GT.M takes.
    assert!(matches!(settings["jnl_buffer_size"], Value::Integer(blocks) if blocks >= 2307));
    let database = TestDatabase::open(engine, Durability::Sync, MAPPED_FILE);
    support::reports(
        &database.settings().unwrap(),
        "acc_meth=2 jnl_before_image=0",
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_database_is_not_opened_with_other_settings_than_it_was_made_with() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    drop(open(engine, folder.path(), Durability::Sync, "").unwrap());
    assert!(open(engine, folder.path(), Durability::Buffered, "").is_ok());
    let other = refusal(engine, folder.path(), Durability::Sync, MAPPED_FILE);
    assert!(matches!(other, Error::Unsupported(text) if text.contains("was made with")));
}

#[test]
fn what_a_transaction_read_and_another_changed_is_a_conflict() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Buffered, "");
    write(&*database, b"b", b"old");
    // What is read, what another does, and whether that is in the way.
    let cases: [(&str, &[u8], &[u8], bool); 5] = [
        ("get", b"b", b"new", true),
        ("get", b"c", b"unread", false),
        ("get absent", b"a", b"there now", true),
        ("scan", b"bb", b"between", true),
        ("scan", b"z", b"beyond", false),
    ];
    for (call, key, value, is_conflict) in cases {
        let mut session = begin(&*database, Mode::Write);
        match call {
            "get" => assert!(get(session.as_mut(), b"b").is_some()),
            "get absent" => assert!(get(session.as_mut(), b"a").is_none()),
            _ => {
                let range = KeyRange::between(b"b", b"d");
                let visitor = &mut |_: &[u8], _: &[u8]| ControlFlow::Continue(());
                session.scan(range, Direction::Backward, visitor).unwrap();
            }
        }
        write(&*database, key, value);
        session.put(b"own", call.as_bytes()).unwrap();
        let ended = session.commit();
        let name = String::from_utf8_lossy(value);
        match ended {
            Ok(()) => assert!(!is_conflict, "{name}"),
            Err(error) => assert!(is_conflict && error.is_conflict(), "{name}: {error}"),
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_transaction_with_long_values_is_read_back_by_get_and_by_scan() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Buffered, "");
    let values: Vec<Vec<u8>> = [0, 40_000, 300_000, 1 << 20, 10]
        .map(|bytes| vec![bytes as u8 ^ 0x5A; bytes])
        .into();
    let mut session = begin(&*database, Mode::Write);
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
    assert!(read(&*database, &[3]).unwrap() == values[3]);
}

/// Not a test of its own: commits and dies, in the process that [`killed`] starts.
#[test]
#[ignore = "slow: make test runs it"]
fn die_in_child() {
    let Ok(directory) = std::env::var(DIRECTORY) else {
        return;
    };
    let level = std::env::var(LEVEL).unwrap().parse().unwrap();
    let knobs = std::env::var(KNOBS).unwrap();
    let database = open(&ENGINE, Path::new(&directory), level, &knobs).unwrap();
    for number in 0..COMMITS {
        write(&*database, &number.to_be_bytes(), b"committed");
    }
    if level == Durability::Buffered {
        // The journal's buffer is written by a timer, a second after the writes.
        std::thread::sleep(std::time::Duration::from_secs(3));
    }
    for number in COMMITS..COMMITS + 10 {
        write(&*database, &number.to_be_bytes(), b"committed");
    }
    let process = std::process::id().to_string();
    Command::new("kill")
        .args(["-9", &process])
        .status()
        .unwrap();
}

/// Makes a database, has its only process killed, and says where it is and in which shared memory.
fn killed(folder: &Path, level: Durability, knobs: &str) -> (PathBuf, String) {
    let directory = folder.join("database");
    std::fs::create_dir(&directory).unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "--include-ignored",
            "--exact",
            "die_in_child",
            "--nocapture",
        ])
        .env(DIRECTORY, &directory)
        .env(LEVEL, level.name())
        .env(KNOBS, knobs)
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

/// The number of commits that survived a crash.
fn recovered(directory: &Path, level: Durability, knobs: &str) -> u64 {
    support::commits_left(&*open(&ENGINE, directory, level, knobs).unwrap())
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_killed_process_loses_nothing_at_sync_though_its_shared_memory_goes_too() {
    let Some(_) = engine() else { return };
    for knobs in [
        "access_method=BG",
        "access_method=MM",
        "access_method=BG log_directory=log",
        "access_method=MM log_directory=log",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (directory, memory) = killed(folder.path(), Durability::Sync, knobs);
        assert!(is_there(&memory));
        let removed = Command::new("ipcrm").args(["-m", &memory]).status();
        assert!(removed.unwrap().success());
        let found = recovered(&directory, Durability::Sync, knobs);
        assert_eq!(found, COMMITS + 10, "{knobs}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_killed_process_keeps_what_its_timer_wrote_at_buffered() {
    let Some(_) = engine() else { return };
    for knobs in ["access_method=BG", "access_method=MM"] {
        for keeps_memory in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let (directory, memory) = killed(folder.path(), Durability::Buffered, knobs);
            if !keeps_memory {
                let removed = Command::new("ipcrm").args(["-m", &memory]).status();
                assert!(removed.unwrap().success());
            }
            let found = recovered(&directory, Durability::Buffered, knobs);
            assert!(
                (COMMITS..=COMMITS + 10).contains(&found),
                "{knobs}, memory kept {keeps_memory}: {found}"
            );
            // Recovery has freed what the dead process had.
            assert!(!is_there(&memory));
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn its_own_check_takes_a_good_database_and_refuses_a_damaged_one() {
    let Some(engine) = engine() else { return };
    let knobs = engine.audit_knobs().iter();
    let knobs: Vec<_> = knobs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let knobs = knobs.join(" ");
    let folder = tempfile::tempdir().unwrap();
    let database = open(engine, folder.path(), Durability::Sync, &knobs).unwrap();
    for number in 0..400_u32 {
        let length = if number % 8 == 0 { 20 << 10 } else { 100 };
        let value = support::random_bytes(length);
        write(&*database, &number.to_be_bytes(), &value);
    }
    drop(database);
    let check = |folder: &Path| {
        engine.check_files(&OpenSpec {
            directory: folder,
            durability: Durability::Sync,
            knobs: &support::resolve(engine, &knobs),
            sessions: 1,
        })
    };
    assert_eq!(check(folder.path()), Ok(()));
    let file = folder.path().join("trueput.dat");
    let mut content = std::fs::read(&file).unwrap();
    // Beyond the header; the first bytes of a block say its size and level.
    for block in content.chunks_mut(4096).skip(1100).take(60) {
        block.iter_mut().take(8).for_each(|byte| *byte ^= 0xff);
    }
    std::fs::write(&file, content).unwrap();
    let error = check(folder.path()).unwrap_err().to_string();
    assert!(error.contains("%GTM-E-"), "{error}");
}

#[test]
fn a_path_that_is_no_gtm_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let missing = ENGINE.with_library(Path::new("/nowhere/libgtmshr.so"));
    let text = missing.err().unwrap().to_string();
    let reason = "cannot read /nowhere/libgtmshr.so";
    assert!(text.starts_with(reason), "{text}");
    let library = folder.path().join("libgtmshr.so");
    std::fs::write(&library, "no library").unwrap();
    let text = ENGINE.with_library(&library).err().unwrap().to_string();
    assert!(text.contains("is not a shared library"), "{text}");
    if engine().is_some() {
        let real = ENGINE.build().unwrap().library.unwrap();
        std::fs::copy(real, &library).unwrap();
        let text = ENGINE.with_library(&library).err().unwrap().to_string();
        assert!(text.contains("has no mumps in its directory"), "{text}");
    }
}
