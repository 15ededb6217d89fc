//! libmdbx's driver. Skipped where no libmdbx is on the machine: `make engines-all` installs it.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{self, get, keeps_the_contract, open, read, settings, write};
use std::path::Path;
use trueput_drivers::Mdbx;
use trueput_engine::{Database, Durability, Engine, Error, Mode, Value, parameter};

static MDBX: Mdbx = Mdbx::new();

const LEVELS: [Durability; 3] = [Durability::Sync, Durability::Async, Durability::Process];

/// Whether there is a libmdbx; says so if there is none.
fn is_here() -> bool {
    let found = !MDBX.library_files().is_empty();
    if !found {
        eprintln!("skipped: no libmdbx on this machine; `make engines-all` installs it");
    }
    found
}

fn setting(database: &dyn Database, name: &str) -> Value {
    database.settings().unwrap()[name].clone()
}

#[test]
fn every_promised_level_opens_and_no_other_does() {
    for durability in Durability::ALL.into_iter().filter(|_| is_here()) {
        let folder = tempfile::tempdir().unwrap();
        let opened = open(&MDBX, folder.path(), durability, &[]);
        assert_eq!(opened.is_ok(), LEVELS.contains(&durability), "{durability}");
        assert_eq!(opened.is_ok(), MDBX.promise(durability).is_some());
    }
}

#[test]
fn libmdbx_reports_the_flags_that_the_promise_names() {
    for durability in LEVELS.into_iter().filter(|_| is_here()) {
        for async_by in ["safe-nosync", "no-meta-sync"] {
            let folder = tempfile::tempdir().unwrap();
            let given = [("async_by", async_by.into())];
            let database = open(&MDBX, folder.path(), durability, &given).unwrap();
            let knobs = parameter::resolve("mdbx", MDBX.knobs(), &settings(&given)).unwrap();
            let promise = MDBX.promise_with(durability, &knobs).unwrap();
            let flags = setting(database.as_ref(), "flags");
            assert_eq!(promise.mapped_to, format!("flags={flags}"));
        }
    }
}

#[test]
fn a_promise_has_the_window_that_the_knobs_make() {
    let window = |given: &[(&str, Value)]| {
        let knobs = parameter::resolve("mdbx", MDBX.knobs(), &settings(given)).unwrap();
        let promise = MDBX.promise_with(Durability::Async, &knobs).unwrap();
        promise.window.unwrap()
    };
    assert_eq!(
        Some(window(&[])),
        MDBX.promise(Durability::Async).unwrap().window
    );
    let limited = window(&[
        ("sync_bytes", "1MiB".into()),
        ("sync_period", 2500_i64.into()),
    ]);
    assert_eq!((limited.bytes, limited.time_s), (Some(1 << 20), Some(2.5)));
    assert_eq!(
        window(&[("async_by", "no-meta-sync".into())]).commits,
        Some(1)
    );
}

#[test]
fn knobs_reach_libmdbx() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let knobs = [
        ("size_upper", Value::from("64MiB")),
        ("growth_step", Value::from("2MiB")),
        ("page_size", "8192".into()),
        ("max_readers", Value::Integer(400)),
        ("sync_bytes", Value::from("1MiB")),
        ("sync_period", Value::Integer(1500)),
        ("writethrough_threshold", Value::Integer(7)),
        ("writemap", Value::Boolean(true)),
        ("lifo_reclaim", Value::Boolean(true)),
        ("no_read_ahead", Value::Boolean(true)),
        ("no_mem_init", Value::Boolean(true)),
    ];
    let database = open(&MDBX, folder.path(), Durability::Process, &knobs).unwrap();
    let settings = database.settings().unwrap();
    let expected = [
        ("mi_geo.upper", 64 << 20),
        ("mi_geo.grow", 2 << 20),
        ("mi_dxb_pagesize", 8192),
        ("mi_autosync_threshold", 1 << 20),
        ("mi_autosync_period_ms", 1500),
        ("writethrough_threshold", 7),
    ];
    for (name, value) in expected {
        assert_eq!(settings[name], Value::Integer(value), "{name}");
    }
    assert!(matches!(settings["mi_maxreaders"], Value::Integer(slots) if slots >= 400));
    assert_eq!(
        settings["flags"].to_string(),
        "MDBX_UTTERLY_NOSYNC+MDBX_NOMETASYNC+MDBX_WRITEMAP+MDBX_LIFORECLAIM+MDBX_NORDAHEAD\
         +MDBX_NOMEMINIT+MDBX_NOSTICKYTHREADS"
    );
}

#[test]
fn limits_that_flush_do_not_reach_a_level_that_flushes_anyway() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let knobs = [
        ("sync_bytes", "1MiB".into()),
        ("sync_period", 1500_i64.into()),
    ];
    let database = open(&MDBX, folder.path(), Durability::Sync, &knobs).unwrap();
    for name in ["mi_autosync_threshold", "mi_autosync_period_ms"] {
        assert_eq!(
            setting(database.as_ref(), name),
            Value::Integer(0),
            "{name}"
        );
    }
}

#[test]
fn the_default_pages_take_the_longest_key_that_is_promised() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let database = open(&MDBX, folder.path(), Durability::Process, &[]).unwrap();
    let longest = MDBX.capabilities().max_key_bytes as u64;
    assert_eq!(
        setting(database.as_ref(), "maxkeysize"),
        Value::from(longest)
    );
}

#[test]
fn the_other_settings_keep_the_contract() {
    let settings: [&[(&str, Value)]; 4] = [
        &[
            ("writemap", Value::Boolean(true)),
            ("lifo_reclaim", Value::Boolean(true)),
        ],
        &[
            ("async_by", "no-meta-sync".into()),
            ("page_size", "65536".into()),
        ],
        &[
            ("sync_bytes", Value::from("64KiB")),
            ("sync_period", Value::Integer(1)),
        ],
        &[
            ("no_read_ahead", Value::Boolean(true)),
            ("no_mem_init", Value::Boolean(true)),
        ],
    ];
    for given in settings.into_iter().filter(|_| is_here()) {
        for durability in LEVELS {
            keeps_the_contract(&MDBX, durability, given);
        }
    }
}

#[test]
fn the_build_tells_its_version_its_file_and_that_it_has_no_assertions() {
    if !is_here() {
        return;
    }
    let build = MDBX.build().unwrap();
    assert!(build.version.starts_with("0.14."), "{build:?}");
    assert!(build.library.is_some_and(|path| path.is_file()));
    assert_eq!(build.assertions, Some(false));
}

#[test]
fn sync_flushes_each_commit_and_the_other_levels_do_not() {
    const COMMITS: u8 = 20;
    for durability in LEVELS.into_iter().filter(|_| is_here()) {
        let folder = tempfile::tempdir().unwrap();
        let knobs = [("writethrough_threshold", Value::Integer(0))];
        let database = open(&MDBX, folder.path(), durability, &knobs).unwrap();
        let flushes = || match database.counters().unwrap()["pgop_fsync"] {
            Value::Integer(flushes) => flushes,
            ref other => unreachable!("{other:?}"),
        };
        let before = flushes();
        for number in 0..COMMITS {
            write(database.as_ref(), &[number], b"value");
        }
        let made = flushes() - before;
        match durability {
            Durability::Sync => assert!(made >= i64::from(COMMITS), "{made}"),
            // A flush or two belong to a new database, which grows.
            _ => assert!(made < i64::from(COMMITS) / 4, "{durability}: {made}"),
        }
        database.checkpoint().unwrap();
        let is_flushed = database.counters().unwrap()["mi_unsync_volume"].clone();
        assert_eq!(is_flushed, Value::Integer(0), "{durability}");
    }
}

#[test]
fn what_is_committed_is_there_after_reopening_at_every_level() {
    for durability in LEVELS.into_iter().filter(|_| is_here()) {
        let folder = tempfile::tempdir().unwrap();
        let database = open(&MDBX, folder.path(), durability, &[]).unwrap();
        write(database.as_ref(), b"key", b"value");
        let entries = database.counters().unwrap()["ms_entries"].clone();
        assert_eq!(entries, Value::Integer(1));
        drop(database);
        let database = open(&MDBX, folder.path(), durability, &[]).unwrap();
        assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
    }
}

#[test]
fn scans_keep_to_their_bounds_in_both_directions() {
    for writemap in [false, true].into_iter().filter(|_| is_here()) {
        let folder = tempfile::tempdir().unwrap();
        let knobs = [("writemap", Value::Boolean(writemap))];
        let database = open(&MDBX, folder.path(), Durability::Process, &knobs).unwrap();
        support::scans_keep_to_their_bounds(database.as_ref());
    }
}

#[test]
fn a_full_database_is_full_and_lives_on() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let knobs = [("size_upper", Value::from("1MiB"))];
    let database = open(&MDBX, folder.path(), Durability::Process, &knobs).unwrap();
    write(database.as_ref(), b"key", b"value");
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    let value = vec![7; 100_000];
    let error = (0..100_u8)
        .find_map(|number| session.put(&[number], &value).err())
        .unwrap();
    let names_the_knob = matches!(&error, Error::Full(text) if text.contains("size_upper"));
    assert!(names_the_knob, "{error}");
    session.abort().unwrap();
    assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
    write(database.as_ref(), b"key", b"again");
}

#[test]
fn more_sessions_than_reader_slots_are_refused_by_name() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let knobs = [("max_readers", Value::Integer(3))];
    let refused = open(&MDBX, folder.path(), Durability::Process, &knobs).err();
    let text = refused.unwrap().to_string();
    assert!(text.contains("max_readers"), "{text}");

    let knobs = [("max_readers", Value::Integer(8))];
    let database = open(&MDBX, folder.path(), Durability::Process, &knobs).unwrap();
    let Value::Integer(slots) = setting(database.as_ref(), "mi_maxreaders") else {
        unreachable!("a number of slots")
    };
    let sessions: Vec<_> = (0..slots).map(|_| database.session().unwrap()).collect();
    let error = database.session().err().unwrap();
    let names_the_knob = matches!(&error, Error::Full(text) if text.contains("max_readers"));
    assert!(names_the_knob, "{error}");
    drop(sessions);
    assert!(
        database.session().is_ok(),
        "a dropped session gives its slot back"
    );
}

#[test]
fn a_thread_that_writes_reads_the_committed_state_in_another_session_and_begins_no_second_write() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let database = open(&MDBX, folder.path(), Durability::Process, &[]).unwrap();
    write(database.as_ref(), b"key", b"old");
    let mut first = database.session().unwrap();
    first.begin(Mode::Write).unwrap();
    first.put(b"key", b"new").unwrap();
    assert_eq!(read(database.as_ref(), b"key").unwrap(), b"old");
    let mut second = database.session().unwrap();
    let refused = second.begin(Mode::Write).unwrap_err();
    assert!(matches!(refused, Error::Conflict(_)), "{refused}");
    assert_eq!(get(first.as_mut(), b"key").unwrap(), b"new");
    first.commit().unwrap();
    second.begin(Mode::Write).unwrap();
    assert_eq!(get(second.as_mut(), b"key").unwrap(), b"new");
}

#[test]
fn a_killed_process_loses_nothing_at_any_level() {
    for durability in LEVELS.into_iter().filter(|_| is_here()) {
        assert_eq!(crash(&MDBX, durability, &[]), CRASH_COMMITS, "{durability}");
    }
}

#[test]
fn another_library_is_refused_in_one_line() {
    let other = Path::new("/lib/x86_64-linux-gnu/libm.so.6");
    if !other.is_file() {
        eprintln!("skipped: this machine has no {}", other.display());
        return;
    }
    let text = MDBX.with_library(other).err().unwrap().to_string();
    assert!(
        text.contains("it is no libmdbx") && !text.contains('\n'),
        "{text}"
    );
}
