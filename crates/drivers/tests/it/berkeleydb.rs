//! The Berkeley DB driver keeps its promises.

use crate::support::{
    self, TestDatabase, begin, deadlock, keeps_the_contract, observe, open, overlap, read, refusal,
    resolve, write,
};
use trueput_drivers::BerkeleyDb;
use trueput_engine::{Durability, Engine, EngineEvent, Error, Isolation, Mode, Value};

static ENGINE: BerkeleyDb = BerkeleyDb::new();

/// The engine, where this machine has it.
fn engine() -> Option<&'static dyn Engine> {
    support::installed(&ENGINE)
}

#[test]
#[ignore = "slow: make test runs it"]
fn berkeley_db_reports_the_settings_that_the_promise_names() {
    let Some(engine) = engine() else { return };
    let flags = [
        (Durability::Sync, "in-memory", ""),
        (Durability::Async, "in-memory", "DB_TXN_WRITE_NOSYNC"),
        (Durability::Buffered, "in-memory", "DB_TXN_NOSYNC"),
        (Durability::None, "in-memory", "DB_LOG_IN_MEMORY"),
        (Durability::None, "not-durable", "DB_TXN_NOT_DURABLE"),
    ];
    let all = flags.map(|(_, _, flag)| flag);
    for (durability, none_log, flag) in flags {
        let knobs = &format!("none_log={none_log}");
        let database = TestDatabase::open(engine, durability, knobs);
        let settings = database.settings().unwrap();
        for name in all.iter().filter(|name| !name.is_empty()) {
            assert_eq!(settings[*name], Value::from(*name == flag), "{durability}");
        }
        let promise = engine.promise_with(durability, &resolve(engine, knobs));
        let promise = promise.unwrap();
        assert!(promise.mapped_to.contains(flag), "{}", promise.mapped_to);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_contract_is_kept_with_other_access_methods_isolations_and_logs() {
    let Some(engine) = engine() else { return };
    keeps_the_contract(engine, Durability::Async, "log_directory=log");
    keeps_the_contract(engine, Durability::None, "none_log=not-durable");
    for knobs in [
        "access_method=hash",
        "isolation=snapshot",
        "page_size=65536",
        "writers=turns",
        "writers=guarded read_for_update=false",
        "writers=overlapping read_for_update=false",
    ] {
        keeps_the_contract(engine, Durability::Buffered, knobs);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn knobs_reach_berkeley_db() {
    let Some(engine) = engine() else { return };
    let knobs = "cache_size=1GiB page_size=8192 access_method=hash log_buffer=1MiB \
                 log_file_size=16MiB log_auto_remove=false lk_detect=youngest \
                 lk_max_locks=2000000 tx_max=2000 isolation=snapshot log_directory=log";
    let database = TestDatabase::open(engine, Durability::Async, knobs);
    let expected = "cachesize=1073741824 pagesize=8192 type=DB_HASH lg_bsize=1048576 \
                    lg_max=16777216 DB_LOG_AUTO_REMOVE=false lk_detect=9 lk_max_locks=2000000 \
                    tx_max=2000 DB_MULTIVERSION=true";
    support::reports(&database.settings().unwrap(), expected);
    assert!(database.path().join("log/log.0000000001").exists());
}

#[test]
fn a_log_file_too_small_for_its_buffer_is_refused_by_name() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let error = refusal(engine, folder.path(), Durability::Sync, "log_buffer=4MiB");
    assert!(
        matches!(&error, Error::Unsupported(text) if text.contains("log_file_size")),
        "{error}"
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_database_changes_its_level_from_one_opening_to_the_next() {
    let Some(engine) = engine() else { return };
    let order = ["sync", "none", "async", "none", "none", "buffered", "sync"];
    let folder = tempfile::tempdir().unwrap();
    for (number, level) in (0_u8..).zip(order) {
        let durability = level.parse().unwrap();
        let database = open(engine, folder.path(), durability, "").unwrap();
        write(&*database, &[number], b"value");
        for earlier in 0..=number {
            let found = read(&*database, &[earlier]).unwrap();
            assert_eq!(found, b"value", "{durability}");
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_scan_of_many_pages_fits_the_table_of_locks() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::Buffered, "");
    let mut session = database.session().unwrap();
    for block in 0..20_u32 {
        session.begin(Mode::Write).unwrap();
        for number in 0..10_000 {
            let key = (block * 10_000 + number).to_be_bytes();
            session.put(&key, &[7; 100]).unwrap();
        }
        session.commit().unwrap();
    }
    session.begin(Mode::Read).unwrap();
    let shown = session.scan(
        trueput_engine::KeyRange::ALL,
        trueput_engine::Direction::Backward,
        &mut |_, _| std::ops::ControlFlow::Continue(()),
    );
    assert_eq!(shown, Ok(200_000));
    session.commit().unwrap();
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_transaction_beyond_the_log_in_memory_is_full_and_names_the_knob() {
    let Some(engine) = engine() else { return };
    let database = TestDatabase::open(engine, Durability::None, "none_log_buffer=1MiB");
    write(&*database, b"key", b"value");
    let mut session = begin(&*database, Mode::Write);
    let error = (0..2_000_u32)
        .find_map(|number| session.put(&number.to_be_bytes(), &[7; 1000]).err())
        .unwrap();
    assert!(
        matches!(&error, Error::Full(text) if text.contains("none_log_buffer")),
        "{error}"
    );
    session.abort().unwrap();
    drop(session);
    assert_eq!(read(&*database, b"key").unwrap(), b"value");
}

#[test]
#[ignore = "slow: make test runs it"]
fn checkpoints_and_log_switches_are_seen_from_outside() {
    let Some(engine) = engine() else { return };
    for place in ["beside", "log"] {
        let knobs = format!("checkpoint_log=0 log_directory={place}");
        for level in [Durability::Sync, Durability::Async] {
            observe::a_checkpoint_is_seen(engine, level, &knobs);
        }
        let small = format!("{knobs} log_file_size=1MiB log_buffer=256KiB");
        let [written, ..] = observe::seen(engine, Durability::Async, &small, 300);
        assert_eq!(written, [EngineEvent::LOG_SWITCH], "{place}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_deadlock_is_reported_as_one() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    deadlock::is_distinguished(engine, folder.path(), "writers=overlapping");
}

#[test]
#[ignore = "slow: make test runs it"]
fn guarded_writers_that_overlap_lose_no_record() {
    let Some(engine) = engine() else { return };
    for knobs in ["", "read_for_update=false"] {
        for round in 0..3 {
            assert_eq!(overlap::lost(engine, knobs, round), 0, "{knobs:?}");
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_record_that_overlapping_writers_would_lose_is_counted() {
    let Some(engine) = engine() else { return };
    assert_eq!(overlap::counted_without_one(engine), 1);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_put_is_guarded_unless_its_transaction_has_looked_the_key_up() {
    let Some(engine) = engine() else { return };
    // Locks asked for by one transaction that gets, deletes and puts keys.
    let locks = |writers: &str, steps: &[(char, u8)]| {
        let knobs = &format!("writers={writers}");
        let database = TestDatabase::open(engine, Durability::None, knobs);
        let count = || match database.counters().unwrap()["st_nrequests"] {
            Value::Integer(count) => count,
            _ => 0,
        };
        let mut session = begin(&*database, Mode::Write);
        let before = count();
        for (step, key) in steps {
            match step {
                'g' => drop(session.get(&[*key], &mut |_| {}).unwrap()),
                'd' => session.delete(&[*key]).unwrap(),
                _ => session.put(&[*key], b"value").unwrap(),
            }
        }
        let asked = count() - before;
        session.commit().unwrap();
        asked
    };
    let guards = |steps: &[(char, u8)]| locks("guarded", steps) - locks("overlapping", steps);
    let one = guards(&[('p', 1)]);
    assert!(one > 0, "a put alone is guarded");
    assert_eq!(guards(&[('p', 1), ('p', 1)]), one);
    assert_eq!(guards(&[('p', 1), ('p', 2)]), 2 * one);
    assert_eq!(guards(&[('g', 1), ('p', 1)]), 0, "the get has locked it");
    assert_eq!(guards(&[('g', 2), ('p', 1)]), one);
    assert_eq!(guards(&[('g', 1), ('d', 1), ('p', 1)]), one);
}

#[test]
fn the_workaround_is_stated_with_the_knobs_that_have_one() {
    let stated = |knobs| {
        let workaround = ENGINE.workaround(&resolve(&ENGINE, knobs));
        workaround.unwrap_or_default()
    };
    assert!(stated("").starts_with("each put first locks its leaf"));
    assert!(stated("writers=turns").starts_with("write transactions take turns"));
    assert_eq!(stated("writers=overlapping"), "");
    let of_hash = stated("access_method=hash");
    assert!(of_hash.starts_with("a scan reads the whole"), "{of_hash}");
    assert_eq!(stated("access_method=hash writers=overlapping"), of_hash);
    let both = stated("access_method=hash writers=turns");
    assert!(both.ends_with(&format!("; {of_hash}")), "{both}");
}

#[test]
fn what_can_lose_records_is_a_known_defect_and_states_no_isolation() {
    for isolation in ["locking", "snapshot"] {
        let stated = |knobs: &str| {
            let knobs = resolve(&ENGINE, &format!("isolation={isolation} {knobs}"));
            (ENGINE.known_defect(&knobs), ENGINE.isolation(&knobs))
        };
        let (defect, level) = stated("writers=overlapping");
        assert!(defect.unwrap().starts_with("it can lose records"));
        assert_eq!(level, None, "{isolation}");
        let sound = (None, Some(Isolation::Serializable));
        assert_eq!(stated("writers=guarded"), sound);
        assert_eq!(stated("writers=turns"), sound);
        let of_hash = stated("writers=overlapping access_method=hash");
        assert_eq!(of_hash, sound);
    }
}
