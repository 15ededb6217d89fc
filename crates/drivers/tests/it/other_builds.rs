//! Other builds of the engines that are compiled in. Skipped where the system has none: `make
//! engines` installs them.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{
    self, TestDatabase, builds, is_isolated_as_stated, keeps_the_contract, levels, open, read,
    refusal, write,
};
use std::os::unix::fs::FileExt;
use trueput_drivers::{Lmdb, Sqlite};
use trueput_engine::{Durability, Engine, Error};

static LMDB: Lmdb = Lmdb::new();
static SQLITE: Sqlite = Sqlite::new();

/// The engines that are compiled in and take other builds.
fn engines() -> [&'static dyn Engine; 2] {
    [&LMDB, &SQLITE]
}

/// Every other build of `engine` on this machine.
fn others(engine: &dyn Engine) -> Vec<Box<dyn Engine>> {
    let others = builds(engine);
    assert_eq!(others.len(), engine.library_files().len());
    others
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_other_build_keeps_the_contract_at_every_level() {
    for other in engines().into_iter().flat_map(others) {
        for level in levels(&*other) {
            keeps_the_contract(&*other, level, "");
        }
        is_isolated_as_stated(&*other, Durability::Process);
    }
}

#[test]
fn every_other_build_has_the_same_scans() {
    for other in engines().into_iter().flat_map(others) {
        let database = TestDatabase::open(&*other, Durability::Process, "");
        support::scans_keep_to_their_bounds(&*database);
    }
}

#[test]
fn every_build_tells_its_own_version_and_file() {
    for engine in engines() {
        let compiled_in = engine.build().unwrap();
        assert_eq!(compiled_in.library, None, "it stays the default");
        for (path, other) in engine.library_files().iter().zip(others(engine)) {
            let build = other.build().unwrap();
            assert_eq!(build.library.as_ref(), Some(path));
            assert!(build.assertions.is_some());
            let number = build.version.split(' ').next().unwrap();
            let mut parts = number.split('.');
            assert!(parts.all(|part| part.parse::<u32>().is_ok()), "{build:?}");
            let has_source = |version: &str| version.contains(' ');
            assert_eq!(has_source(&build.version), has_source(&compiled_in.version));
        }
    }
}

#[test]
fn a_build_of_sqlite_tells_its_options() {
    for engine in others(&SQLITE)
        .into_iter()
        .chain([Box::new(Sqlite::new()) as _])
    {
        let database = TestDatabase::open(&*engine, Durability::Process, "");
        let options = database.settings().unwrap()["compile_options"].to_string();
        assert!(options.contains("THREADSAFE="), "{options}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_killed_process_loses_no_acknowledged_commit_in_another_build() {
    for engine in engines() {
        for other in others(engine) {
            let found = crash(&*other, Durability::Process, "");
            assert_eq!(found, CRASH_COMMITS);
        }
    }
}

#[test]
fn builds_of_lmdb_read_each_others_databases() {
    for other in others(&LMDB) {
        let pairs: [[&dyn Engine; 2]; 2] = [[&LMDB, &*other], [&*other, &LMDB]];
        for [writer, reader] in pairs {
            let folder = tempfile::tempdir().unwrap();
            let database = open(writer, folder.path(), Durability::Process, "").unwrap();
            write(&*database, b"key", b"value");
            let text = refusal(reader, folder.path(), Durability::Process, "").to_string();
            assert!(text.contains("once per process"), "{text}");
            drop(database);
            let database = open(reader, folder.path(), Durability::Process, "").unwrap();
            assert_eq!(read(&*database, b"key").unwrap(), b"value");
        }
    }
}

#[test]
fn a_database_of_another_file_format_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&LMDB, folder.path(), Durability::Process, "").unwrap();
    write(&*database, b"key", b"value");
    let page_bytes: u64 = database.settings().unwrap()["ms_psize"]
        .to_string()
        .parse()
        .unwrap();
    drop(database);
    let file = std::fs::File::options()
        .write(true)
        .open(folder.path().join("data.mdb"))
        .unwrap();
    // Both meta pages: 16 bytes of header, the magic number, then the format's version.
    for page in [0, 1] {
        let other_version = 77_u32.to_ne_bytes();
        file.write_all_at(&other_version, page * page_bytes + 20)
            .unwrap();
    }
    let error = refusal(&LMDB, folder.path(), Durability::Process, "");
    assert!(matches!(error, Error::Engine { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("MDB_VERSION_MISMATCH"), "{text}");
    assert!(text.contains("another build of LMDB"), "{text}");
}
