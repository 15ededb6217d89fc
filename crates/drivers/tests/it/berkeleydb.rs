//! The Berkeley DB driver does what it promises.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{self, deadlock, keeps_the_contract, observe, open, overlap, read, write};
use trueput_drivers::BerkeleyDb;
use trueput_engine::{Durability, Engine, EngineEvent, Error, Isolation, Mode, Value, parameter};

static ENGINE: BerkeleyDb = BerkeleyDb::new();
const LEVELS: [Durability; 4] = [
    Durability::Sync,
    Durability::Async,
    Durability::Buffered,
    Durability::None,
];

/// Whether there is a library to test; where not, why.
fn is_here() -> bool {
    match ENGINE.build() {
        Ok(_) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
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
        let error = opened.as_ref().err().map(ToString::to_string);
        assert_eq!(
            opened.is_ok(),
            LEVELS.contains(&durability),
            "{durability}: {error:?}"
        );
        assert_eq!(opened.is_ok(), ENGINE.promise(durability).is_some());
    }
}

#[test]
fn berkeley_db_reports_the_settings_that_the_promise_names() {
    if !is_here() {
        return;
    }
    let flags = [
        (Durability::Sync, "in-memory", ""),
        (Durability::Async, "in-memory", "DB_TXN_WRITE_NOSYNC"),
        (Durability::Buffered, "in-memory", "DB_TXN_NOSYNC"),
        (Durability::None, "in-memory", "DB_LOG_IN_MEMORY"),
        (Durability::None, "not-durable", "DB_TXN_NOT_DURABLE"),
    ];
    let all = flags.map(|(_, _, flag)| flag);
    for (durability, none_log, flag) in flags {
        let folder = tempfile::tempdir().unwrap();
        let knobs = [("none_log", Value::from(none_log))];
        let database = open(&ENGINE, folder.path(), durability, &knobs).unwrap();
        let settings = database.settings().unwrap();
        for name in all.iter().filter(|name| !name.is_empty()) {
            assert_eq!(settings[*name], Value::from(*name == flag), "{durability}");
        }
        let knobs =
            parameter::resolve("berkeleydb", ENGINE.knobs(), &support::settings(&knobs)).unwrap();
        let promise = ENGINE.promise_with(durability, &knobs).unwrap();
        assert!(promise.mapped_to.contains(flag), "{}", promise.mapped_to);
    }
}

#[test]
fn the_contract_is_kept_with_other_access_methods_isolations_and_logs() {
    if !is_here() {
        return;
    }
    let choices = [
        (Durability::Buffered, "access_method", "hash"),
        (Durability::Buffered, "isolation", "snapshot"),
        (Durability::Async, "log_directory", "log"),
        (Durability::None, "none_log", "not-durable"),
        (Durability::Buffered, "page_size", "65536"),
    ];
    for (durability, name, choice) in choices {
        keeps_the_contract(&ENGINE, durability, &[(name, Value::from(choice))]);
    }
    let writers = |choice: &'static str| ("writers", Value::from(choice));
    let plain_reads = ("read_for_update", Value::Boolean(false));
    for knobs in [
        vec![writers("turns")],
        vec![writers("guarded"), plain_reads.clone()],
        vec![writers("overlapping"), plain_reads],
    ] {
        keeps_the_contract(&ENGINE, Durability::Buffered, &knobs);
    }
}

#[test]
fn knobs_reach_berkeley_db() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let knobs = [
        ("cache_size", Value::from("1GiB")),
        ("page_size", Value::from("8192")),
        ("access_method", Value::from("hash")),
        ("log_buffer", Value::from("1MiB")),
        ("log_file_size", Value::from("16MiB")),
        ("log_auto_remove", Value::Boolean(false)),
        ("lk_detect", Value::from("youngest")),
        ("lk_max_locks", Value::Integer(2_000_000)),
        ("tx_max", Value::Integer(2_000)),
        ("isolation", Value::from("snapshot")),
        ("log_directory", Value::from("log")),
    ];
    let database = open(&ENGINE, folder.path(), Durability::Async, &knobs).unwrap();
    let settings = database.settings().unwrap();
    assert_eq!(settings["cachesize"], Value::Integer(1 << 30));
    assert_eq!(settings["pagesize"], Value::Integer(8192));
    assert_eq!(settings["type"], Value::from("DB_HASH"));
    assert_eq!(settings["lg_bsize"], Value::Integer(1 << 20));
    assert_eq!(settings["lg_max"], Value::Integer(16 << 20));
    assert_eq!(settings["DB_LOG_AUTO_REMOVE"], Value::Boolean(false));
    assert_eq!(settings["lk_detect"], Value::Integer(9));
    assert_eq!(settings["lk_max_locks"], Value::Integer(2_000_000));
    assert_eq!(settings["tx_max"], Value::Integer(2_000));
    assert_eq!(settings["DB_MULTIVERSION"], Value::Boolean(true));
    assert!(folder.path().join("log/log.0000000001").exists());
}

#[test]
fn a_log_file_too_small_for_its_buffer_is_refused_by_name() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let knobs = [("log_buffer", Value::from("4MiB"))];
    let error = open(&ENGINE, folder.path(), Durability::Sync, &knobs)
        .err()
        .unwrap();
    assert!(
        matches!(&error, Error::Unsupported(text) if text.contains("log_file_size")),
        "{error}"
    );
}

#[test]
fn a_database_changes_its_level_from_one_opening_to_the_next() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let order = [0, 3, 1, 3, 3, 2, 0].map(|index: usize| LEVELS[index]);
    for (number, durability) in (0_u8..).zip(order) {
        let database = open(&ENGINE, folder.path(), durability, &[]).unwrap();
        write(database.as_ref(), &[number], b"value");
        for earlier in 0..=number {
            let found = read(database.as_ref(), &[earlier]);
            assert_eq!(found.as_deref(), Some(b"value".as_slice()), "{durability}");
        }
    }
}

#[test]
fn a_scan_of_many_pages_fits_the_table_of_locks() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let database = open(&ENGINE, folder.path(), Durability::Buffered, &[]).unwrap();
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
fn a_transaction_beyond_the_log_in_memory_is_full_and_names_the_knob() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let knobs = [("none_log_buffer", Value::from("1MiB"))];
    let database = open(&ENGINE, folder.path(), Durability::None, &knobs).unwrap();
    write(database.as_ref(), b"key", b"value");
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    let error = (0..2_000_u32)
        .find_map(|number| session.put(&number.to_be_bytes(), &[7; 1000]).err())
        .unwrap();
    assert!(
        matches!(&error, Error::Full(text) if text.contains("none_log_buffer")),
        "{error}"
    );
    session.abort().unwrap();
    drop(session);
    assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
}

#[test]
fn one_process_opens_a_database_once() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let database = open(&ENGINE, folder.path(), Durability::None, &[]).unwrap();
    let error = open(&ENGINE, folder.path(), Durability::None, &[])
        .err()
        .unwrap();
    assert!(error.to_string().contains("once per process"), "{error}");
    drop(database);
    assert!(open(&ENGINE, folder.path(), Durability::None, &[]).is_ok());
}

#[test]
fn another_engines_library_is_refused_in_one_line() {
    if !is_here() {
        return;
    }
    let library = std::env::current_exe().unwrap();
    let error = ENGINE.with_library(&library).err().unwrap().to_string();
    assert!(!error.contains('\n'), "{error}");
}

#[test]
fn a_killed_process_loses_nothing_where_each_commit_is_written_to_the_log() {
    if !is_here() {
        return;
    }
    for durability in [Durability::Sync, Durability::Async] {
        assert_eq!(crash(&ENGINE, durability, &[]), CRASH_COMMITS);
    }
}

#[test]
fn a_killed_process_loses_what_was_in_the_logs_buffer() {
    if !is_here() {
        return;
    }
    let found = crash(&ENGINE, Durability::Buffered, &[]);
    assert!(found > 0 && found < CRASH_COMMITS, "{found}");
}

#[test]
fn checkpoints_and_log_switches_are_seen_from_outside() {
    if !is_here() {
        return;
    }
    for place in ["beside", "log"] {
        let given = [
            ("checkpoint_log", Value::Integer(0)),
            ("log_directory", place.into()),
        ];
        for level in [Durability::Sync, Durability::Async] {
            observe::a_checkpoint_is_seen(&ENGINE, level, &given);
        }
        let small = [
            given[0].clone(),
            given[1].clone(),
            ("log_file_size", Value::Integer(1 << 20)),
            ("log_buffer", Value::Integer(256 << 10)),
        ];
        let [written, ..] = observe::seen(&ENGINE, Durability::Async, &small, 300);
        assert_eq!(written, [EngineEvent::LOG_SWITCH], "{place}");
    }
}

#[test]
fn a_deadlock_is_told_as_one() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let given = [("writers", "overlapping".into())];
    deadlock::is_told_apart(&ENGINE, folder.path(), &given);
}

#[test]
fn guarded_writers_that_overlap_lose_no_record() {
    if !is_here() {
        return;
    }
    for knobs in [&[][..], &[("read_for_update", Value::Boolean(false))]] {
        for round in 0..3 {
            assert_eq!(overlap::lost(&ENGINE, knobs, round), 0, "{knobs:?}");
        }
    }
}

#[test]
fn a_record_that_overlapping_writers_would_lose_is_counted() {
    if !is_here() {
        return;
    }
    assert_eq!(overlap::counted_without_one(&ENGINE), 1);
}

#[test]
fn a_put_is_guarded_unless_its_transaction_has_looked_the_key_up() {
    if !is_here() {
        return;
    }
    // Locks asked for by one transaction that gets, deletes and puts keys.
    let locks = |writers: &str, steps: &[(char, u8)]| {
        let folder = tempfile::tempdir().unwrap();
        let knobs = [("writers", Value::from(writers))];
        let database = open(&ENGINE, folder.path(), Durability::None, &knobs).unwrap();
        let count = || match database.counters().unwrap()["st_nrequests"] {
            Value::Integer(count) => count,
            _ => 0,
        };
        let mut session = database.session().unwrap();
        session.begin(Mode::Write).unwrap();
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
fn the_workaround_is_told_with_the_knobs_that_have_one() {
    let told = |given: &[(&str, Value)]| {
        let knobs = parameter::resolve("berkeleydb", ENGINE.knobs(), &support::settings(given));
        ENGINE.workaround(&knobs.unwrap()).unwrap_or_default()
    };
    let writers = |choice: &'static str| ("writers", Value::from(choice));
    let hash = ("access_method", Value::from("hash"));
    assert!(told(&[]).starts_with("each put first locks its leaf"));
    assert!(told(&[writers("turns")]).starts_with("write transactions take turns"));
    assert_eq!(told(&[writers("overlapping")]), "");
    let of_hash = told(std::slice::from_ref(&hash));
    assert!(of_hash.starts_with("a scan reads the whole"), "{of_hash}");
    assert_eq!(told(&[hash.clone(), writers("overlapping")]), of_hash);
    let both = told(&[hash, writers("turns")]);
    assert!(both.ends_with(&format!("; {of_hash}")), "{both}");
}

#[test]
fn what_can_lose_records_is_told_as_a_defect_and_states_no_isolation() {
    let stated = |given: &[(&str, Value)]| {
        let knobs =
            parameter::resolve("berkeleydb", ENGINE.knobs(), &support::settings(given)).unwrap();
        (ENGINE.known_defect(&knobs), ENGINE.isolation(&knobs))
    };
    let writers = |choice: &'static str| ("writers", Value::from(choice));
    let hash = ("access_method", Value::from("hash"));
    for isolation in ["locking", "snapshot"] {
        let isolation = ("isolation", Value::from(isolation));
        let (defect, level) = stated(&[writers("overlapping"), isolation.clone()]);
        assert!(defect.unwrap().starts_with("it can lose records"));
        assert_eq!(level, None, "{isolation:?}");
        let sound = (None, Some(Isolation::Serializable));
        assert_eq!(stated(&[writers("guarded"), isolation.clone()]), sound);
        assert_eq!(stated(&[writers("turns"), isolation.clone()]), sound);
        let of_hash = [writers("overlapping"), hash.clone(), isolation];
        assert_eq!(stated(&of_hash), sound);
    }
}
