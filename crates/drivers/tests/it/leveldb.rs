//! LevelDB's driver. Skipped where no LevelDB is on the machine:
//! `trueput engines install leveldb` installs it.

use crate::support::{
    self, TestDatabase, begin, get, is_isolated_as_stated, keeps_the_contract, levels, read, write,
};
use std::path::Path;
use trueput_drivers::LevelDb;
use trueput_engine::{Durability, Engine, Mode};

static LEVELDB: LevelDb = LevelDb::new();

/// Every build on this machine: LevelDB, and its relatives where they are installed.
fn builds() -> Vec<Box<dyn Engine>> {
    let builds = support::builds(&LEVELDB);
    assert_eq!(builds.len(), LEVELDB.library_files().len());
    builds
}

#[test]
fn every_build_keeps_the_contract_at_every_level() {
    for engine in builds() {
        for level in levels(&*engine) {
            keeps_the_contract(&*engine, level, "");
        }
    }
}

#[test]
fn every_build_is_isolated_as_stated() {
    for engine in builds() {
        is_isolated_as_stated(&*engine, Durability::Process);
    }
}

#[test]
fn the_other_settings_keep_the_contract() {
    let given =
        "write_buffer_size=64KiB compression=none bloom_bits=10 block_cache=0 max_open_files=74";
    for engine in builds() {
        keeps_the_contract(&*engine, Durability::Process, given);
    }
}

#[test]
fn every_build_tells_its_version_and_its_file() {
    for engine in builds() {
        let build = engine.build().unwrap();
        let mut numbers = build.version.split('.');
        assert!(numbers.all(|part| part.parse::<u32>().is_ok()), "{build:?}");
        assert!(build.library.is_some_and(|path| path.is_file()));
    }
}

#[test]
fn relatives_that_an_audit_refuted_have_no_sync() {
    for path in LEVELDB.library_files() {
        let name = path.to_string_lossy();
        let is_relative = name.contains("/hyperleveldb-") || name.contains("/basho-leveldb-");
        let engine = LEVELDB.with_library(&path).unwrap();
        let stated = engine.promise(Durability::Sync);
        assert_eq!(stated.is_none(), is_relative, "{name}");
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
        eprintln!("skipped: `trueput engines install leveldb` has not compiled LevelDB here");
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
fn transactions_that_only_write_overlap() {
    for engine in builds() {
        let database = TestDatabase::open(&*engine, Durability::Process, "");
        let mut first = begin(&*database, Mode::Write);
        first.put(b"first", b"1").unwrap();
        write(&*database, b"second", b"2");
        // Its first read: from here on no other writes.
        assert_eq!(get(first.as_mut(), b"second").unwrap(), b"2");
        assert_eq!(get(first.as_mut(), b"first").unwrap(), b"1");
        first.commit().unwrap();
        assert_eq!(read(&*database, b"first").unwrap(), b"1");
        let counters = database.counters().unwrap();
        assert!(counters.contains_key("num-files-at-level0"));
    }
}
