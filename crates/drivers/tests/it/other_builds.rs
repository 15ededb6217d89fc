//! Other builds of the engines that are compiled in. Skipped where the system has none: `make
//! engines` installs them.

use crate::crash::{CRASH_COMMITS, crash};
use crate::support::{self, is_isolated_as_stated, keeps_the_contract, open, read, write};
use std::os::unix::fs::FileExt;
use std::path::Path;
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
    let found = engine.library_files();
    if found.is_empty() {
        let title = engine.info().title;
        eprintln!("skipped: the system has no {title} of its own; `make engines` installs one");
    }
    found
        .iter()
        .map(|path| engine.with_library(path).unwrap())
        .collect()
}

fn levels(engine: &dyn Engine) -> impl Iterator<Item = Durability> {
    let has = |level: &Durability| engine.promise(*level).is_some();
    Durability::ALL.into_iter().filter(has)
}

#[test]
fn every_other_build_keeps_the_contract_at_every_level() {
    for other in engines().into_iter().flat_map(others) {
        for level in levels(other.as_ref()) {
            keeps_the_contract(other.as_ref(), level, &[]);
        }
        is_isolated_as_stated(other.as_ref(), Durability::Process);
    }
}

#[test]
fn every_other_build_has_the_same_scans() {
    for other in engines().into_iter().flat_map(others) {
        let folder = tempfile::tempdir().unwrap();
        let database = open(other.as_ref(), folder.path(), Durability::Process, &[]).unwrap();
        support::scans_keep_to_their_bounds(database.as_ref());
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
            assert!(
                number.split('.').all(|part| part.parse::<u32>().is_ok()),
                "{build:?}"
            );
            assert_eq!(
                build.version.contains(' '),
                compiled_in.version.contains(' ')
            );
        }
    }
}

#[test]
fn a_build_of_sqlite_tells_its_options() {
    for engine in others(&SQLITE)
        .into_iter()
        .chain([Box::new(Sqlite::new()) as _])
    {
        let folder = tempfile::tempdir().unwrap();
        let database = open(engine.as_ref(), folder.path(), Durability::Process, &[]).unwrap();
        let options = database.settings().unwrap()["compile_options"].to_string();
        assert!(options.contains("THREADSAFE="), "{options}");
    }
}

#[test]
fn a_killed_process_loses_no_acknowledged_commit_in_another_build() {
    for engine in engines() {
        for other in others(engine) {
            let found = crash(other.as_ref(), Durability::Process, &[]);
            assert_eq!(found, CRASH_COMMITS);
        }
    }
}

#[test]
fn builds_of_lmdb_read_each_others_databases() {
    for other in others(&LMDB) {
        let pairs: [[&dyn Engine; 2]; 2] = [[&LMDB, other.as_ref()], [other.as_ref(), &LMDB]];
        for [writer, reader] in pairs {
            let folder = tempfile::tempdir().unwrap();
            let database = open(writer, folder.path(), Durability::Process, &[]).unwrap();
            write(database.as_ref(), b"key", b"value");
            let again = open(reader, folder.path(), Durability::Process, &[]);
            let text = again.err().unwrap().to_string();
            assert!(text.contains("once per process"), "{text}");
            drop(database);
            let database = open(reader, folder.path(), Durability::Process, &[]).unwrap();
            assert_eq!(read(database.as_ref(), b"key").unwrap(), b"value");
        }
    }
}

#[test]
fn a_database_of_another_file_format_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&LMDB, folder.path(), Durability::Process, &[]).unwrap();
    write(database.as_ref(), b"key", b"value");
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
    let refused = open(&LMDB, folder.path(), Durability::Process, &[]);
    let error = refused.err().unwrap();
    assert!(matches!(error, Error::Engine { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("MDB_VERSION_MISMATCH"), "{text}");
    assert!(text.contains("another build of LMDB"), "{text}");
}

#[test]
fn another_engines_library_is_refused_in_one_line() {
    let [lmdb, sqlite] = engines();
    let mut wrong = Vec::new();
    wrong.extend(
        sqlite
            .library_files()
            .into_iter()
            .map(|path| (lmdb, path, "mdb_version")),
    );
    wrong.extend(
        lmdb.library_files()
            .into_iter()
            .map(|path| (sqlite, path, "sqlite3_libversion")),
    );
    if wrong.is_empty() {
        eprintln!("skipped: the system has no LMDB or SQLite of its own");
    }
    for (engine, library, symbol) in wrong {
        let text = engine.with_library(&library).err().unwrap().to_string();
        let title = engine.info().title;
        let expected = format!("lacks {symbol}: it is no {title}");
        assert!(text.contains(&expected), "{text}");
        assert!(!text.contains('\n'));
    }
}

#[test]
fn a_missing_library_is_named() {
    for engine in engines() {
        let error = engine
            .with_library(Path::new("/nowhere/lib.so"))
            .err()
            .unwrap();
        let text = error.to_string();
        assert!(text.contains("cannot read /nowhere/lib.so"), "{text}");
    }
}
