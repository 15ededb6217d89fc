//! The drivers' promises follow from their settings. No library is needed.

use crate::support::{TestDatabase, engine, levels, resolve};
use trueput_engine::{CacheKnob, Durability, Engine, Error, Promise, Result, Value};

/// The promise of an engine with some knobs.
fn promise(name: &str, level: Durability, knobs: &str) -> Result<Promise> {
    let engine = engine(name);
    engine.promise_with(level, &resolve(engine, knobs))
}

fn mapped(name: &str, level: Durability, knobs: &str) -> String {
    promise(name, level, knobs).unwrap().mapped_to
}

/// Seconds, bytes and words of the window.
fn window(name: &str, level: Durability, knobs: &str) -> (Option<f64>, Option<u64>, String) {
    let window = promise(name, level, knobs).unwrap().window.unwrap();
    (window.time_s, window.bytes, window.until)
}

#[test]
fn the_default_knobs_make_the_promise_that_an_engine_states() {
    for engine in trueput_drivers::registry() {
        let name = engine.info().name;
        for level in Durability::ALL {
            let with_defaults = promise(name, level, "");
            assert_eq!(engine.promise(level), with_defaults.clone().ok(), "{name}");
            if let Err(error) = with_defaults {
                let text = Error::no_durability(name, level).to_string();
                let said = error.to_string();
                // A driver may add its reason.
                let is_said = said == text || said.starts_with(&format!("{text}: "));
                assert!(is_said, "{said}");
            }
        }
    }
}

#[test]
fn a_promise_speaks_of_no_knob_as_if_it_might_be_set() {
    for engine in trueput_drivers::registry() {
        for promise in Durability::ALL.map(|level| engine.promise(level)) {
            let settings = promise.map(|promise| promise.mapped_to).unwrap_or_default();
            let name = engine.info().name;
            assert!(!settings.contains("with "), "{name}: {settings}");
        }
    }
}

#[test]
fn rocksdb_says_what_it_keeps_out_of_the_log() {
    let level = Durability::Buffered;
    assert_eq!(mapped("rocksdb", level, ""), "disableWAL=true");
    let small = "write_buffer_size=8MiB max_write_buffer_number=3";
    assert_eq!(window("rocksdb", level, small).1, Some(24 << 20));
    let prefix = "write_buffer_size=8MiB preset=prefix";
    assert_eq!(window("rocksdb", level, prefix).1, Some(256 << 20));
}

#[test]
fn berkeleydb_says_where_its_log_is_and_how_large_its_buffer() {
    let level = Durability::None;
    assert_eq!(mapped("berkeleydb", level, ""), "DB_LOG_IN_MEMORY=true");
    assert_eq!(
        mapped("berkeleydb", level, "none_log=not-durable"),
        "DB_TXN_NOT_DURABLE=true"
    );
    let (_, bytes, _) = window("berkeleydb", Durability::Buffered, "log_buffer=1MiB");
    assert_eq!(bytes, Some(1 << 20));
    let until = |knobs| window("berkeleydb", Durability::Async, knobs).2;
    assert!(until("").contains("checkpoint"));
    assert!(!until("checkpoint_log=0").contains("checkpoint"));
}

#[test]
fn wiredtiger_says_how_it_flushes_and_what_it_returns_to() {
    let text = mapped("wiredtiger", Durability::Sync, "");
    assert!(text.contains("method=dsync"), "{text}");

    let level = Durability::Buffered;
    let often = "checkpoint_wait=5";
    let text = mapped("wiredtiger", level, often);
    assert_eq!(text, "log=(enabled=false)");
    assert_eq!(window("wiredtiger", level, often).0, Some(5.0));
    let never = "checkpoint_wait=0";
    let (time_s, _, until) = window("wiredtiger", level, never);
    assert!(time_s.is_none() && until.contains("is closed"), "{until}");
    let lsm = "table=lsm";
    let error = promise("wiredtiger", level, lsm).unwrap_err();
    assert!(error.to_string().contains("table=btree"), "{error}");
    assert!(promise("wiredtiger", Durability::Sync, lsm).is_ok());
}

#[test]
fn gtm_says_how_it_journals_and_when_its_next_epoch_is() {
    let sync = |knobs| mapped("gtm", Durability::Sync, knobs);
    assert_eq!(sync(""), "journaling=before-image, TSTART ():serial");
    let text = sync("access_method=MM");
    assert!(text.starts_with("journaling=no-before, "), "{text}");
    let synced = "sync_io=true";
    assert!(sync(synced).contains("sync_io=on"));
    let level = Durability::Buffered;
    assert_eq!(window("gtm", level, "").0, Some(300.0));
    assert_eq!(window("gtm", level, "epoch_interval=10").0, Some(10.0));
    assert!(window("gtm", level, synced).2.contains("sync_io"));
    assert!(!window("gtm", level, "").2.contains("sync_io"));
    assert_eq!(mapped("gtm", Durability::None, ""), "journaling=off");
    let off = "journaling=off";
    assert!(promise("gtm", Durability::Sync, off).is_err());
}

#[test]
fn lmdb_and_libmdbx_name_the_writable_map() {
    let on = "writemap=true";
    let other = "no_read_ahead=true";
    let text = |name, knobs| mapped(name, Durability::Process, knobs);
    assert_eq!(text("lmdb", on), "flags=MDB_NOSYNC+MDB_WRITEMAP+MDB_NOTLS");
    assert_eq!(text("lmdb", other), text("lmdb", ""));
    assert!(text("mdbx", on).contains("MDBX_WRITEMAP"));
    assert_eq!(text("mdbx", other), text("mdbx", ""));
}

#[test]
fn redb_says_how_many_commits_a_crash_takes() {
    let promise = promise("redb", Durability::Buffered, "commits_per_sync=10").unwrap();
    let expected = "durability=None, Immediate once in 10 commits";
    assert_eq!(promise.mapped_to, expected);
    let window = promise.window.unwrap();
    assert_eq!(window.commits, Some(9));
    assert!(!window.until.contains("default"), "{}", window.until);
}

#[test]
fn fjall_names_the_call_that_flushes() {
    let text = |knobs| mapped("fjall", Durability::Sync, knobs);
    assert_eq!(text(""), "durability=SyncAll at each commit");
    assert_eq!(
        text("persist_mode=sync_data"),
        "durability=SyncData at each commit"
    );
}

#[test]
fn tokudb_says_when_its_log_is_flushed() {
    let window = |knobs| window("tokudb", Durability::Buffered, knobs);
    assert_eq!(window("").0, None);
    assert_eq!(window("fsync_log_period=250").0, Some(0.25));
    assert!(window("").2.contains("at a checkpoint"));
    assert!(!window("checkpoint_period=0").2.contains("at a checkpoint"));
}

/// The knob that sizes an engine's cache, with the knobs' defaults.
fn cache_knob(engine: &dyn Engine) -> std::result::Result<CacheKnob, &'static str> {
    engine.cache_knob(&resolve(engine, ""))
}

#[test]
fn every_engine_with_a_cache_of_its_own_takes_a_size_for_it() {
    for engine in trueput_drivers::registry() {
        let name = engine.info().name;
        let cache = match cache_knob(*engine) {
            Ok(cache) => cache,
            Err(reason) => {
                // The default's words mean that nobody has thought of it.
                let is_stated = reason != "has no knob that sizes a cache";
                let has_a_cache = engine.capabilities().retains_data && !engine.requires_address();
                assert!(is_stated || !has_a_cache, "{name} {reason}: say why");
                continue;
            }
        };
        for bytes in [32_u64 << 20, 256 << 20] {
            let knobs = format!("{}={}", cache.name, cache.value(bytes));
            let sized = engine.cache_knob(&resolve(*engine, &knobs)).unwrap();
            assert_eq!(sized.size_bytes, bytes, "{name}");
        }
    }
    for without in ["null", "lmdb", "mdbx"] {
        assert!(cache_knob(engine(without)).is_err(), "{without}");
    }
}

#[test]
fn a_cache_of_blocks_follows_the_size_of_a_block() {
    let gtm = engine("gtm");
    let of = |knobs| gtm.cache_knob(&resolve(gtm, knobs));
    let value = |knobs| of(knobs).unwrap().value(64 << 20);
    assert_eq!(value(""), Value::Integer(16_384));
    assert_eq!(value("block_size=8KiB"), Value::Integer(8_192));
    assert!(of("access_method=MM").is_err());
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
        let level = levels(*engine).next().unwrap();
        let knobs = format!("{}={}", cache.name, cache.value(48 << 20));
        let settings = TestDatabase::open(*engine, level, &knobs).settings();
        let size = settings.unwrap().get(cache.name).map(ToString::to_string);
        // SQLite counts KiB, as negative numbers.
        let sizes = [48_i64 << 20, -(48 << 10)].map(|size| size.to_string());
        // Not every engine says the size by the knob's name.
        if let Some(text) = size {
            assert!(sizes.contains(&text), "{name}: {text}");
            reported.push(name);
        }
    }
    assert!(reported.contains(&"sqlite"), "{reported:?}");
}
