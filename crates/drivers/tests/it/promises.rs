//! What the drivers promise is what their settings make of it. No library is needed.

use crate::support::{open, settings};
use trueput_engine::{CacheKnob, Durability, Engine, Error, Promise, Result, Value, parameter};

fn engine(name: &str) -> &'static dyn Engine {
    let mut all = trueput_drivers::registry().iter();
    *all.find(|engine| engine.info().name == name).unwrap()
}

/// The promise of an engine with some knobs turned.
fn turned(name: &str, level: Durability, given: &[(&str, Value)]) -> Result<Promise> {
    let engine = engine(name);
    let knobs = parameter::resolve(name, engine.knobs(), &settings(given)).unwrap();
    engine.promise_with(level, &knobs)
}

fn mapped(name: &str, level: Durability, given: &[(&str, Value)]) -> String {
    turned(name, level, given).unwrap().mapped_to
}

/// Seconds, bytes and words of the window.
fn window(
    name: &str,
    level: Durability,
    given: &[(&str, Value)],
) -> (Option<f64>, Option<u64>, String) {
    let window = turned(name, level, given).unwrap().window.unwrap();
    (window.time_s, window.bytes, window.until)
}

#[test]
fn the_default_knobs_make_the_promise_that_an_engine_states() {
    for engine in trueput_drivers::registry() {
        let name = engine.info().name;
        for level in Durability::ALL {
            let with_defaults = turned(name, level, &[]);
            assert_eq!(engine.promise(level), with_defaults.clone().ok(), "{name}");
            if let Err(error) = with_defaults {
                let text = format!("{name} does not support durability '{level}'");
                assert_eq!(error, Error::Unsupported(text));
            }
        }
    }
}

#[test]
fn a_promise_speaks_of_no_knob_as_if_it_might_be_turned() {
    for engine in trueput_drivers::registry() {
        for promise in Durability::ALL.map(|level| engine.promise(level)) {
            let settings = promise.map(|promise| promise.mapped_to).unwrap_or_default();
            let name = engine.info().name;
            assert!(!settings.contains("with "), "{name}: {settings}");
        }
    }
}

#[test]
fn rocksdb_says_what_it_keeps_out_of_the_log_or_in_the_logs_buffer() {
    let level = Durability::Buffered;
    assert_eq!(mapped("rocksdb", level, &[]), "disableWAL=true");
    let small = [
        ("write_buffer_size", Value::from("8MiB")),
        ("max_write_buffer_number", Value::Integer(3)),
    ];
    assert_eq!(window("rocksdb", level, &small).1, Some(24 << 20));
    let prefix = [small[0].clone(), ("preset", Value::from("prefix"))];
    assert_eq!(window("rocksdb", level, &prefix).1, Some(256 << 20));
    let manual = [("buffered_wal", Value::from("manual"))];
    let expected = "manual_wal_flush=true, sync=false";
    assert_eq!(mapped("rocksdb", level, &manual), expected);
    let (_, bytes, until) = window("rocksdb", level, &manual);
    assert_eq!(bytes, Some(1 << 20));
    assert!(until.contains("log's buffer"), "{until}");
    assert_eq!(mapped("rocksdb", Durability::Async, &manual), "sync=false");
}

#[test]
fn berkeleydb_says_where_its_log_is_and_how_large_its_buffer() {
    let level = Durability::None;
    assert_eq!(mapped("berkeleydb", level, &[]), "DB_LOG_IN_MEMORY=true");
    let not_durable = [("none_log", Value::from("not-durable"))];
    let expected = "DB_TXN_NOT_DURABLE=true";
    assert_eq!(mapped("berkeleydb", level, &not_durable), expected);
    let buffer = [("log_buffer", Value::from("1MiB"))];
    let (_, bytes, _) = window("berkeleydb", Durability::Buffered, &buffer);
    assert_eq!(bytes, Some(1 << 20));
    let until = |given: &[(&str, Value)]| window("berkeleydb", Durability::Async, given).2;
    assert!(until(&[]).contains("checkpoint"));
    assert!(!until(&[("checkpoint_log", Value::Integer(0))]).contains("checkpoint"));
}

#[test]
fn wiredtiger_says_how_it_flushes_and_what_it_returns_to() {
    let dsync = [("transaction_sync", Value::from("dsync"))];
    let text = mapped("wiredtiger", Durability::Sync, &dsync);
    assert!(text.contains("method=dsync"), "{text}");
    assert!(!mapped("wiredtiger", Durability::Sync, &[]).contains("dsync"));

    let level = Durability::Buffered;
    let by_checkpoint = ("buffered_by", Value::from("checkpoint"));
    let often = [
        by_checkpoint.clone(),
        ("checkpoint_wait", Value::Integer(5)),
    ];
    let text = mapped("wiredtiger", level, &often);
    assert_eq!(text, "log=(enabled=false)");
    let (time_s, _, until) = window("wiredtiger", level, &often);
    assert_eq!(time_s, Some(5.0));
    assert!(!until.contains("log's buffer"), "{until}");
    let never = [
        by_checkpoint.clone(),
        ("checkpoint_wait", Value::Integer(0)),
    ];
    let (time_s, _, until) = window("wiredtiger", level, &never);
    assert!(time_s.is_none() && until.contains("is closed"), "{until}");
    let lsm = [by_checkpoint, ("table", Value::from("lsm"))];
    let error = turned("wiredtiger", level, &lsm).unwrap_err();
    assert!(error.to_string().contains("buffered_by=log"), "{error}");
    assert!(turned("wiredtiger", Durability::Sync, &lsm).is_ok());

    let none = [("checkpoint_wait", Value::Integer(0))];
    assert!(
        window("wiredtiger", Durability::Async, &[])
            .2
            .contains("next checkpoint")
    );
    assert!(
        !window("wiredtiger", Durability::Async, &none)
            .2
            .contains("next checkpoint")
    );
}

#[test]
fn gtm_says_how_it_journals_and_when_its_next_epoch_is() {
    let sync = |given: &[(&str, Value)]| mapped("gtm", Durability::Sync, given);
    assert_eq!(sync(&[]), "journaling=before-image, TSTART ():serial");
    let mapped_file = [("access_method", Value::from("MM"))];
    let text = sync(&mapped_file);
    assert!(text.starts_with("journaling=no-before, "), "{text}");
    let synced = [("sync_io", Value::Boolean(true))];
    assert!(sync(&synced).contains("sync_io=on"));
    let level = Durability::Buffered;
    let often = [("epoch_interval", Value::Integer(10))];
    assert_eq!(window("gtm", level, &[]).0, Some(300.0));
    assert_eq!(window("gtm", level, &often).0, Some(10.0));
    assert!(window("gtm", level, &synced).2.contains("sync_io"));
    assert!(!window("gtm", level, &[]).2.contains("sync_io"));
    assert_eq!(mapped("gtm", Durability::None, &[]), "journaling=off");
    let off = [("journaling", Value::from("off"))];
    assert!(turned("gtm", Durability::Sync, &off).is_err());
}

#[test]
fn lmdb_and_libmdbx_name_the_writable_map() {
    let on = [("writemap", Value::Boolean(true))];
    let other = [("no_read_ahead", Value::Boolean(true))];
    let text = |name, given: &[(&str, Value)]| mapped(name, Durability::Process, given);
    assert_eq!(text("lmdb", &on), "flags=MDB_NOSYNC+MDB_WRITEMAP+MDB_NOTLS");
    assert_eq!(text("lmdb", &other), text("lmdb", &[]));
    assert!(text("mdbx", &on).contains("MDBX_WRITEMAP"));
    assert_eq!(text("mdbx", &other), text("mdbx", &[]));
}

#[test]
fn redb_says_how_many_commits_a_crash_takes() {
    let given = [("commits_per_sync", Value::Integer(10))];
    let promise = turned("redb", Durability::Buffered, &given).unwrap();
    let expected = "durability=None, Immediate once in 10 commits";
    assert_eq!(promise.mapped_to, expected);
    let window = promise.window.unwrap();
    assert_eq!(window.commits, Some(9));
    assert!(!window.until.contains("default"), "{}", window.until);
}

#[test]
fn fjall_names_the_call_that_flushes() {
    let text = |given: &[(&str, Value)]| mapped("fjall", Durability::Sync, given);
    assert_eq!(text(&[]), "durability=SyncAll at each commit");
    let data = [("persist_mode", Value::from("sync_data"))];
    assert_eq!(text(&data), "durability=SyncData at each commit");
}

#[test]
fn tokudb_says_when_its_log_is_flushed() {
    let window = |given: &[(&str, Value)]| window("tokudb", Durability::Buffered, given);
    assert_eq!(window(&[]).0, None);
    let often = [("fsync_log_period", Value::Integer(250))];
    assert_eq!(window(&often).0, Some(0.25));
    let never = [("checkpoint_period", Value::Integer(0))];
    assert!(window(&[]).2.contains("at a checkpoint"));
    assert!(!window(&never).2.contains("at a checkpoint"));
}

/// The knob that sizes an engine's cache, with the knobs' defaults.
fn cache_knob(engine: &dyn Engine) -> std::result::Result<CacheKnob, &'static str> {
    let defaults = parameter::resolve(engine.info().name, engine.knobs(), &settings(&[])).unwrap();
    engine.cache_knob(&defaults)
}

#[test]
fn every_engine_with_a_cache_of_its_own_takes_a_size_for_it() {
    for engine in trueput_drivers::registry() {
        let name = engine.info().name;
        let cache = match cache_knob(*engine) {
            Ok(cache) => cache,
            Err(why) => {
                // The default's words mean that nobody has thought of it.
                let is_stated = why != "has no knob that sizes a cache";
                let has_a_cache = engine.capabilities().retains_data && !engine.requires_address();
                assert!(is_stated || !has_a_cache, "{name} {why}: say why");
                continue;
            }
        };
        for bytes in [32_u64 << 20, 256 << 20] {
            let given = settings(&[(cache.name, cache.value(bytes))]);
            let knobs = parameter::resolve(name, engine.knobs(), &given).unwrap();
            let sized = engine.cache_knob(&knobs).unwrap();
            assert_eq!(sized.size_bytes, bytes, "{name}");
        }
    }
    for without in ["null", "lmdb", "mdbx", "odbc"] {
        assert!(cache_knob(engine(without)).is_err(), "{without}");
    }
}

#[test]
fn a_cache_of_blocks_follows_the_size_of_a_block() {
    let gtm = engine("gtm");
    let of = |given: &[(&str, Value)]| {
        gtm.cache_knob(&parameter::resolve("gtm", gtm.knobs(), &settings(given)).unwrap())
    };
    let value = |given| of(given).unwrap().value(64 << 20);
    assert_eq!(value(&[]), Value::Integer(16_384));
    assert_eq!(
        value(&[("block_size", Value::from("8KiB"))]),
        Value::Integer(8_192)
    );
    assert!(of(&[("access_method", Value::from("MM"))]).is_err());
}

#[test]
fn an_engine_that_is_opened_reports_the_size_that_its_cache_was_given() {
    let mut reported = Vec::new();
    for engine in trueput_drivers::registry() {
        let name = engine.info().name;
        let Ok(cache) = cache_knob(*engine) else {
            continue;
        };
        // GT.M's timer signals the thread that it began on, which here would end before the
        // program does: `tests/gtm.rs` is a program of its own for it.
        if name == "gtm" || engine.build().is_err() || engine.service().is_some() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let level = Durability::ALL
            .into_iter()
            .find(|&level| engine.promise(level).is_some());
        let given = [(cache.name, cache.value(48 << 20))];
        let database = open(*engine, folder.path(), level.unwrap(), &given).unwrap();
        let said = database.settings().unwrap();
        let of_cache = said.get(cache.name).map(ToString::to_string);
        // SQLite counts KiB, as negative numbers.
        let sizes = [48_i64 << 20, -(48 << 10)].map(|size| size.to_string());
        // Not every engine says the size by the knob's name.
        if let Some(text) = of_cache {
            assert!(sizes.contains(&text), "{name}: {text}");
            reported.push(name);
        }
    }
    assert!(reported.contains(&"sqlite"), "{reported:?}");
}
