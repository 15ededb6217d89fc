//! LevelDB's driver. Skipped where no LevelDB is on the machine: `make engines` installs it.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{self, get, is_isolated_as_stated, keeps_the_contract, open, read, write};
use std::path::Path;
use trueput_drivers::LevelDb;
use trueput_engine::{Durability, Engine, Mode, Value};

static LEVELDB: LevelDb = LevelDb::new();

/// Every build on this machine: LevelDB, and its relatives where they are installed.
fn builds() -> Vec<Box<dyn Engine>> {
    let found = LEVELDB.library_files();
    if found.is_empty() {
        eprintln!("skipped: no LevelDB on this machine; `make engines` installs one");
    }
    found
        .iter()
        .map(|path| LEVELDB.with_library(path).unwrap())
        .collect()
}

#[test]
fn every_build_keeps_the_contract_at_every_level() {
    for engine in builds() {
        for level in [Durability::Sync, Durability::Async] {
            keeps_the_contract(engine.as_ref(), level, &[]);
        }
    }
}

#[test]
fn every_build_is_isolated_as_stated() {
    for engine in builds() {
        is_isolated_as_stated(engine.as_ref(), Durability::Async);
    }
}

#[test]
fn the_other_settings_keep_the_contract() {
    let given = [
        ("write_buffer_size", Value::Integer(64 << 10)),
        ("compression", "none".into()),
        ("bloom_bits", 10_i64.into()),
        ("block_cache", 0_i64.into()),
        ("max_open_files", 74_i64.into()),
    ];
    for engine in builds() {
        keeps_the_contract(engine.as_ref(), Durability::Async, &given);
    }
}

#[test]
fn every_build_tells_its_version_and_its_file() {
    for engine in builds() {
        let build = engine.build().unwrap();
        assert!(
            build
                .version
                .split('.')
                .all(|part| part.parse::<u32>().is_ok()),
            "{build:?}"
        );
        assert!(build.library.is_some_and(|path| path.is_file()));
    }
}

/// Whether a library names the function that a failed assertion calls.
fn names_assertions(library: &Path) -> bool {
    let name = b"__assert_fail";
    let bytes = std::fs::read(library).unwrap();
    bytes.windows(name.len()).any(|window| window == name)
}

#[test]
fn the_installed_build_comes_first_and_has_no_assertions() {
    let found = LEVELDB.library_files();
    let is_installed = |path: &Path| path.to_string_lossy().contains("/leveldb-1.");
    if !found.iter().any(|path| is_installed(path)) {
        eprintln!("skipped: `make engines` has not compiled LevelDB here");
        return;
    }
    assert!(is_installed(&found[0]), "{found:?}");
    assert!(!names_assertions(&found[0]));
    let build = LEVELDB.build().unwrap();
    assert_eq!(build.library.as_deref(), Some(found[0].as_path()));
    assert_ne!(build.assertions, Some(true));
    // The control: Debian's build, which stays to be named, has them.
    let others = found[1..]
        .iter()
        .map(|path| LEVELDB.with_library(path).unwrap());
    for build in others.map(|engine| engine.build().unwrap()) {
        let library = build.library.unwrap();
        assert!(build.assertions != Some(true) || names_assertions(&library));
    }
}

#[test]
fn scans_keep_to_their_bounds_in_both_directions() {
    for engine in builds() {
        let folder = tempfile::tempdir().unwrap();
        let database = open(engine.as_ref(), folder.path(), Durability::Async, &[]).unwrap();
        support::scans_keep_to_their_bounds(database.as_ref());
    }
}

#[test]
fn transactions_that_only_write_go_beside_each_other() {
    for engine in builds() {
        let folder = tempfile::tempdir().unwrap();
        let database = open(engine.as_ref(), folder.path(), Durability::Async, &[]).unwrap();
        let mut first = database.session().unwrap();
        first.begin(Mode::Write).unwrap();
        first.put(b"first", b"1").unwrap();
        write(database.as_ref(), b"second", b"2");
        // Its first read: from here on it has the database alone.
        assert_eq!(
            get(first.as_mut(), b"second").as_deref(),
            Some(b"2".as_slice())
        );
        assert_eq!(
            get(first.as_mut(), b"first").as_deref(),
            Some(b"1".as_slice())
        );
        first.commit().unwrap();
        assert_eq!(
            read(database.as_ref(), b"first").as_deref(),
            Some(b"1".as_slice())
        );
        assert!(
            database
                .counters()
                .unwrap()
                .contains_key("num-files-at-level0")
        );
    }
}

#[test]
fn a_killed_process_loses_nothing() {
    if !builds().is_empty() {
        assert_eq!(crash(&LEVELDB, Durability::Async, &[]), CRASH_COMMITS);
    }
}

#[test]
fn another_engines_library_is_refused_in_one_line() {
    let folders = [
        "/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
    ];
    let path = folders.map(|folder| Path::new(folder).join("libm.so.6"));
    let Some(path) = path.iter().find(|path| path.is_file()) else {
        eprintln!("skipped: this machine has no libm.so.6");
        return;
    };
    let text = LEVELDB.with_library(path).err().unwrap().to_string();
    assert!(
        text.contains("lacks leveldb_open: it is no LevelDB"),
        "{text}"
    );
    assert!(!text.contains('\n'));
}
