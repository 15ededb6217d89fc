//! Servers that run with other settings than they were started with by the driver: a program in
//! front of the real one adds an option. The driver asks them, and says which setting it is.

use crate::support::{TestDatabase, TestDirectory, installed, open, resolve, start};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use trueput_drivers::{MariaDb, Postgresql};
use trueput_engine::{Database, Durability, Engine};

static POSTGRESQL: Postgresql = Postgresql::new();
static MARIADB: MariaDb = MariaDb::new();

/// A program that starts a real server with more options, in a folder with the real one's others.
struct Liar {
    folder: TempDir,
    engine: Box<dyn Engine>,
}

impl Liar {
    /// Adds options where the first argument is one with which the driver starts the server.
    fn of(engine: &dyn Engine, first_argument: &str, options: &str) -> Self {
        let real = engine.build().unwrap().library.unwrap();
        let folder = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(real.parent().unwrap()).unwrap().flatten() {
            // MariaDB's folder is one of the system's, with other programs.
            if real.ends_with("bin/postgres") {
                symlink(entry.path(), folder.path().join(entry.file_name())).unwrap();
            }
        }
        let program = folder.path().join(real.file_name().unwrap());
        let _ = std::fs::remove_file(&program);
        let real = real.display();
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in {first_argument}) exec {real} \"$@\" {options};; esac\n\
             exec {real} \"$@\"\n"
        );
        std::fs::write(&program, script).unwrap();
        // Another user runs it.
        for path in [folder.path(), &program] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let engine = engine.with_library(&program).unwrap();
        Self { folder, engine }
    }

    fn postgresql(options: &str) -> Option<Self> {
        let engine = installed(&POSTGRESQL)?;
        Some(Self::of(engine, "'-D '*listen_addresses*", options))
    }

    fn mariadb(options: &str) -> Option<Self> {
        let engine = installed(&MARIADB)?;
        Some(Self::of(engine, "*--socket=*", options))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
}

fn contradictions(database: &dyn Database) -> Vec<String> {
    let found = database.contradictions().unwrap();
    found.iter().map(ToString::to_string).collect()
}

/// What an engine's server contradicts at a level.
fn found_at(engine: &dyn Engine, durability: Durability) -> Vec<String> {
    let database = TestDatabase::open(engine, durability, "");
    drop(database.session().unwrap());
    contradictions(&*database)
}

#[test]
#[ignore = "slow: make test runs it"]
fn servers_that_run_as_they_were_started_contradict_nothing_at_any_level() {
    let engines: [&dyn Engine; 2] = [&POSTGRESQL, &MARIADB];
    for engine in engines {
        if engine.build().is_err() {
            eprintln!("skipped: no {}", engine.info().name);
            continue;
        }
        for level in Durability::ALL {
            if engine.promise(level).is_some() {
                assert_eq!(found_at(engine, level), Vec::<String>::new(), "{level}");
            }
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_postgresql_that_does_not_flush_is_named_with_its_setting() {
    let Some(liar) = Liar::postgresql("-c fsync=off -c full_page_writes=off") else {
        return;
    };
    let found = found_at(&*liar.engine, Durability::Sync);
    let expected = [
        "the server runs with fsync=off; durability 'sync' needs fsync=on",
        "the server runs with full_page_writes=off; durability 'sync' needs full_page_writes=on",
    ];
    assert_eq!(found, expected, "{}", liar.path().display());
    // It is asked about a level that needs less, too.
    let found = found_at(&*liar.engine, Durability::Buffered);
    assert!(found[0].contains("'buffered' needs fsync=on"), "{found:?}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_postgresql_whose_window_is_longer_than_stated_is_named() {
    let Some(liar) = Liar::postgresql("-c wal_writer_delay=9000") else {
        return;
    };
    assert_eq!(
        found_at(&*liar.engine, Durability::Sync),
        Vec::<String>::new()
    );
    let found = found_at(&*liar.engine, Durability::Buffered);
    let expected = "the server runs with wal_writer_delay=9000 ms; durability 'buffered' needs \
                    wal_writer_delay=200 ms";
    assert_eq!(found, [expected]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_server_that_lies_only_after_a_restart_is_found_by_the_same_database() {
    let Some(liar) = Liar::postgresql("-c fsync=off") else {
        return;
    };
    let (level, honest) = (Durability::Sync, installed(&POSTGRESQL).unwrap());
    let mut place = TestDirectory::of(honest, level, "");
    let database = open(honest, place.path(), level, "").unwrap();
    assert_eq!(contradictions(&*database), Vec::<String>::new());
    place.restart(&*liar.engine, level, "");
    let found = contradictions(&*database);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("fsync=off"), "{found:?}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_a_role_or_a_database_sets_does_not_get_into_a_session() {
    let Some(engine) = installed(&POSTGRESQL) else {
        return;
    };
    let database = TestDatabase::open(engine, Durability::Sync, "");
    let set = "ALTER ROLE postgres SET synchronous_commit = off; \
               ALTER DATABASE postgres SET synchronous_commit = off";
    database
        .session()
        .unwrap()
        .sql()
        .unwrap()
        .batch(set)
        .unwrap();
    drop(database.session().unwrap());
    assert_eq!(contradictions(&*database), Vec::<String>::new());
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_mariadb_that_flushes_less_is_named_with_its_setting() {
    for (options, setting) in [
        (
            "--innodb_flush_log_at_trx_commit=2",
            "innodb_flush_log_at_trx_commit=2",
        ),
        ("--innodb_doublewrite=0", "innodb_doublewrite=OFF"),
        ("--innodb_flush_method=nosync", "innodb_flush_method=nosync"),
        ("--log-bin=log --sync_binlog=0", "log_bin=ON"),
    ] {
        let Some(liar) = Liar::mariadb(options) else {
            return;
        };
        let found = found_at(&*liar.engine, Durability::Sync);
        assert_eq!(found.len(), 1, "{found:?}");
        let begins = format!("the server runs with {setting}; durability 'sync' needs ");
        assert!(found[0].starts_with(&begins), "{found:?}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_mariadb_whose_window_is_longer_than_stated_is_named() {
    let Some(liar) = Liar::mariadb("--innodb_flush_log_at_timeout=60") else {
        return;
    };
    assert_eq!(
        found_at(&*liar.engine, Durability::Sync),
        Vec::<String>::new()
    );
    let found = found_at(&*liar.engine, Durability::Async);
    assert!(
        found[0].contains("innodb_flush_log_at_timeout=60"),
        "{found:?}"
    );
}

/// Opens a database in a folder of that name.
fn opens_in(engine: &dyn Engine, parent: &Path, name: &str) {
    let folder = parent.join(name);
    std::fs::create_dir(&folder).unwrap();
    let _server = start(engine, &folder, Durability::Process, "");
    let database = open(engine, &folder, Durability::Process, "").unwrap();
    crate::support::write(&*database, b"key", b"value");
    assert!(!resolve(engine, "").as_settings().is_empty());
}

#[test]
#[ignore = "slow: make test runs it"]
fn servers_work_in_folders_whose_names_a_shell_would_split() {
    let engines: [&dyn Engine; 2] = [&POSTGRESQL, &MARIADB];
    for engine in engines {
        if engine.build().is_err() {
            eprintln!("skipped: no {}", engine.info().name);
            continue;
        }
        let parent = tempfile::tempdir().unwrap();
        std::fs::set_permissions(parent.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["a b", "it's \"x\" `y` $HOME", "back\\slash #;% é"] {
            opens_in(engine, parent.path(), name);
        }
    }
}
