//! libmdbx's driver. Skipped where no libmdbx is on the machine:
//! `trueput engines install mdbx` installs it.

use crate::support::{self, TestDatabase, begin, get, keeps_the_contract, read, write};
use trueput_drivers::Mdbx;
use trueput_engine::{Durability, Engine, Error, Mode, Value};

static MDBX: Mdbx = Mdbx::new();

/// The engine, where this machine has it.
fn engine() -> Option<&'static dyn Engine> {
    support::installed(&MDBX)
}

#[test]
fn a_promise_has_the_window_that_the_knobs_make() {
    let window = |knobs| {
        let promise = MDBX.promise_with(Durability::Async, &support::resolve(&MDBX, knobs));
        promise.unwrap().window.unwrap()
    };
    let of_defaults = MDBX.promise(Durability::Async).unwrap().window;
    assert_eq!(Some(window("")), of_defaults);
    let limited = window("sync_bytes=1MiB sync_period=2500");
    assert_eq!((limited.bytes, limited.time_s), (Some(1 << 20), Some(2.5)));
    assert_eq!(window("async_by=no-meta-sync").commits, Some(1));
}

#[test]
fn knobs_reach_libmdbx() {
    let Some(engine) = engine() else { return };
    let knobs = "size_upper=64MiB growth_step=2MiB page_size=8192 max_readers=400 \
                 sync_bytes=1MiB sync_period=1500 writethrough_threshold=7 writemap=true \
                 lifo_reclaim=true no_read_ahead=true no_mem_init=true";
    let database = TestDatabase::open(engine, Durability::Process, knobs);
    let settings = database.settings().unwrap();
    let expected = "mi_geo.upper=67108864 mi_geo.grow=2097152 mi_dxb_pagesize=8192 \
                    mi_autosync_threshold=1048576 mi_autosync_period_ms=1500 \
                    writethrough_threshold=7 \
                    flags=MDBX_UTTERLY_NOSYNC+MDBX_NOMETASYNC+MDBX_WRITEMAP+MDBX_LIFORECLAIM\
                    +MDBX_NORDAHEAD+MDBX_NOMEMINIT+MDBX_NOSTICKYTHREADS";
    support::reports(&settings, expected);
    assert!(matches!(settings["mi_maxreaders"], Value::Integer(slots) if slots >= 400));
}

#[test]
fn limits_that_flush_do_not_reach_a_level_that_flushes_anyway() {
    let Some(engine) = engine() else { return };
    let knobs = "sync_bytes=1MiB sync_period=1500";
    let database = TestDatabase::open(engine, Durability::Sync, knobs);
    let expected = "mi_autosync_threshold=0 mi_autosync_period_ms=0";
    support::reports(&database.settings().unwrap(), expected);
}

#[test]
fn the_default_pages_take_the_longest_key_that_is_promised() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Process, "");
    let expected = format!("maxkeysize={}", engine.capabilities().max_key_bytes);
    support::reports(&database.settings().unwrap(), &expected);
}

#[test]
fn the_other_settings_keep_the_contract() {
    let Some(engine) = engine() else { return };
    for knobs in [
        "writemap=true lifo_reclaim=true",
        "async_by=no-meta-sync page_size=65536",
        "sync_bytes=64KiB sync_period=1",
        "no_read_ahead=true no_mem_init=true",
    ] {
        for durability in support::levels(engine) {
            keeps_the_contract(engine, durability, knobs);
        }
    }
}

#[test]
fn the_build_tells_its_version_its_file_and_that_it_has_no_assertions() {
    let Some(engine) = engine() else { return };
    let build = engine.build().unwrap();
    assert!(build.version.starts_with("0.14."), "{build:?}");
    assert!(build.library.is_some_and(|path| path.is_file()));
    assert_eq!(build.assertions, Some(false));
}

#[test]
fn sync_flushes_each_commit_and_the_other_levels_do_not() {
    const COMMITS: u8 = 20;
    let Some(engine) = engine() else { return };
    for durability in support::levels(engine) {
        let database = TestDatabase::open(engine, durability, "writethrough_threshold=0");
        let flushes = || match database.counters().unwrap()["pgop_fsync"] {
            Value::Integer(flushes) => flushes,
            ref other => unreachable!("{other:?}"),
        };
        let before = flushes();
        for number in 0..COMMITS {
            write(&*database, &[number], b"value");
        }
        let made = flushes() - before;
        match durability {
            Durability::Sync => assert!(made >= i64::from(COMMITS), "{made}"),
            // A flush or two belong to a new database, which grows.
            _ => assert!(made < i64::from(COMMITS) / 4, "{durability}: {made}"),
        }
        database.checkpoint().unwrap();
        support::reports(&database.counters().unwrap(), "mi_unsync_volume=0");
    }
}

#[test]
fn a_thread_that_writes_reads_the_committed_state_in_another_session_and_begins_no_second_write() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Process, "");
    write(&*database, b"key", b"old");
    let mut first = begin(&*database, Mode::Write);
    first.put(b"key", b"new").unwrap();
    assert_eq!(read(&*database, b"key").unwrap(), b"old");
    let mut second = database.session().unwrap();
    let refused = second.begin(Mode::Write).unwrap_err();
    assert!(matches!(refused, Error::Conflict(_)), "{refused}");
    assert_eq!(get(first.as_mut(), b"key").unwrap(), b"new");
    first.commit().unwrap();
    second.begin(Mode::Write).unwrap();
    assert_eq!(get(second.as_mut(), b"key").unwrap(), b"new");
}
