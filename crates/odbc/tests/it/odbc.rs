//! The same tests over PostgreSQL, MariaDB and SQLite through their ODBC drivers: the contract,
//! SQL, the ownership of objects in a data source, and error messages.

use crate::support::{Origin, has_manager};
use std::ops::ControlFlow;
use std::path::Path;
use trueput_engine::testing::database::{begin, get, open, read, refusal, resolve, write};
use trueput_engine::testing::deadlock;
use trueput_engine::testing::sql::{self, Sample};
use trueput_engine::{
    Address, Datum, Dialect, Durability, Engine, Error, Mode, ParameterValues, conformance,
    isolation,
};
use trueput_odbc::Odbc;

static ODBC: Odbc = Odbc::new();

/// In the types of the standard.
const POSTGRESQL: Sample = Sample {
    columns: "id INT PRIMARY KEY, amount DECIMAL(12, 2), name VARCHAR(60), data BYTEA, \
              at TIMESTAMP",
    unknown_table: "\"nowhere\" does not exist",
    ..sql::POSTGRESQL
};

#[test]
fn without_a_data_source_the_default_knobs_make_the_promise_that_is_stated() {
    let knobs = resolve(&ODBC, "");
    for level in Durability::ALL {
        let with_defaults = ODBC.promise_with(level, &knobs);
        assert_eq!(ODBC.promise(level), with_defaults.clone().ok());
        if let Err(error) = with_defaults {
            assert_eq!(error, Error::no_durability("odbc", level));
        }
    }
    for name in ODBC.isolation_knobs() {
        assert!(ODBC.knobs().iter().any(|knob| knob.name == *name), "{name}");
    }
}

/// The contract at every level that the data source promises, with this isolation, which holds.
fn keeps_the_contract(origin: &Origin, isolation: &str) {
    let engine = origin.engine();
    let knobs = &resolve(&*engine, &format!("isolation={isolation}"));
    let mut levels = 0;
    for level in Durability::ALL {
        if engine.promise(level).is_none() || !origin.is_set_for(level) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let checks = conformance::run(&*engine, folder.path(), level, knobs);
        let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
        assert!(
            checks.len() > 20 && failed.is_empty(),
            "{level}: {failed:?}"
        );
        levels += 1;
        if levels == 1 {
            is_isolated_as_stated(&*engine, level, knobs);
        }
    }
    assert!(levels > 0);
}

/// No anomaly occurs that the isolation stated proscribes.
fn is_isolated_as_stated(engine: &dyn Engine, level: Durability, knobs: &ParameterValues) {
    let folder = tempfile::tempdir().unwrap();
    let report = isolation::observe(engine, folder.path(), level, knobs);
    let checks = report.checks();
    let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
    assert!(report.stated.is_some() && failed.is_empty(), "{failed:?}");
}

fn speaks_sql(origin: &Origin, dialect: Dialect, sample: &Sample) {
    let engine = origin.engine();
    assert_eq!(engine.dialect(), Some(dialect));
    let folder = tempfile::tempdir().unwrap();
    let database = open(&*engine, folder.path(), Durability::Sync, "").unwrap();
    sql::speaks_sql(&*database, sample);
    let settings = database.settings().unwrap();
    assert_eq!(settings["dialect"].to_string(), dialect.name());
    assert!(settings.contains_key("driver_version"));
}

/// Data written for one folder exists for that folder, and not for another.
fn holds_one_database(origin: &Origin) {
    let engine = origin.engine();
    let version = engine.build().unwrap().version;
    assert!(version.contains(" by "), "{version}");
    assert!(engine.service().is_none());
    let folder = tempfile::tempdir().unwrap();
    let at = |folder: &Path| open(&*engine, folder, Durability::Sync, "").unwrap();
    let database = at(folder.path());
    write(&*database, b"key", b"value");
    database.checkpoint().unwrap();
    drop(database);
    let again = at(folder.path());
    assert_eq!(read(&*again, b"key").unwrap(), b"value");
    drop(again);
    let other = tempfile::tempdir().unwrap();
    assert_eq!(read(&*at(other.path()), b"key"), None);
    assert!(engine.build().is_ok());
}

/// A commit after an error is refused, and the session goes on.
fn goes_on_after_an_error(origin: &Origin) {
    let engine = origin.engine();
    let folder = tempfile::tempdir().unwrap();
    let database = open(&*engine, folder.path(), Durability::Sync, "").unwrap();
    let mut session = begin(&*database, Mode::Write);
    session.put(b"key", b"value").unwrap();
    assert!(
        session
            .sql()
            .unwrap()
            .prepare("SELECT * FROM nowhere")
            .is_err()
    );
    assert!(!session.commit().unwrap_err().is_conflict());
    session.begin(Mode::Read).unwrap();
    assert_eq!(get(session.as_mut(), b"key"), None);
    session.commit().unwrap();
}

fn does_all(origin: Option<Origin>, dialect: Dialect, sample: &Sample, isolations: &[&str]) {
    let Some(origin) = origin else {
        return;
    };
    for isolation in isolations {
        keeps_the_contract(&origin, isolation);
    }
    speaks_sql(&origin, dialect, sample);
    holds_one_database(&origin);
    goes_on_after_an_error(&origin);
}

#[test]
#[ignore = "slow: make test runs it"]
fn postgresql_keeps_the_contract_and_speaks_sql() {
    let isolations = ["auto", "serializable"];
    let origin = Origin::postgresql();
    does_all(origin, Dialect::Postgresql, &POSTGRESQL, &isolations);
}

#[test]
#[ignore = "slow: make test runs it"]
fn mariadb_keeps_the_contract_and_speaks_sql() {
    let isolations = ["auto", "serializable"];
    does_all(
        Origin::mariadb(),
        Dialect::Mariadb,
        &sql::MARIADB,
        &isolations,
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn sqlite_keeps_the_contract_and_speaks_sql() {
    does_all(Origin::sqlite(), Dialect::Sqlite, &sql::SQLITE, &["auto"]);
}

/// SQLite's driver takes the type of such columns from the first row that a statement ever gave.
#[test]
fn a_sum_of_no_rows_does_not_make_text_of_later_sums() {
    let Some(origin) = Origin::sqlite() else {
        return;
    };
    let engine = origin.engine();
    let folder = tempfile::tempdir().unwrap();
    let database = open(&*engine, folder.path(), Durability::Sync, "").unwrap();
    let mut session = database.session().unwrap();
    let sql = session.sql().unwrap();
    let table = "CREATE TABLE paid (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL); \
                 INSERT INTO paid VALUES (1, 5), (2, 7)";
    sql.batch(table).unwrap();
    let query = "SELECT SUM(amount), MIN(id) FROM paid WHERE id BETWEEN ? AND ?";
    let statement = sql.prepare(query).unwrap();
    let (none, of_both, of_one) = (
        [Datum::Null; 2],
        [Datum::Integer(12), Datum::Integer(1)],
        [Datum::Integer(7), Datum::Integer(2)],
    );
    for (ids, expected) in [
        ([8, 9], none),
        ([8, 9], none),
        ([1, 2], of_both),
        ([8, 9], none),
        ([2, 2], of_one),
    ] {
        let mut rows = 0;
        let mut visit = |row: &[Datum<'_>]| {
            assert_eq!(row, expected, "{ids:?}");
            rows += 1;
            ControlFlow::Continue(())
        };
        let parameters = ids.map(Datum::Integer);
        sql.query(statement, &parameters, &mut visit).unwrap();
        assert_eq!(rows, 1);
    }
}

#[test]
fn a_file_with_tables_of_anothers_is_refused_and_left_alone() {
    let Some(origin) = Origin::sqlite() else {
        return;
    };
    let foreign = origin.sqlite_with("CREATE TABLE thesis (years INTEGER)");
    let engine = ODBC.with_library(Path::new(&foreign)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for refused in [
        engine.build().unwrap_err(),
        refusal(&*engine, folder.path(), Durability::Sync, ""),
    ] {
        let reason = refused.to_string();
        assert!(
            reason.contains("did not make") && reason.contains("another file"),
            "{reason}"
        );
    }
    origin.sqlite_with("INSERT INTO thesis VALUES (10)");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_schema_of_anothers_is_refused_and_left_alone() {
    let Some(origin) = Origin::postgresql() else {
        return;
    };
    origin.as_owner("CREATE SCHEMA trueput; CREATE TABLE trueput.thesis (years int)");
    let engine = origin.engine();
    let folder = tempfile::tempdir().unwrap();
    let reason = refusal(&*engine, folder.path(), Durability::Sync, "").to_string();
    assert!(reason.contains("schema 'trueput'"), "{reason}");
    origin.as_owner("INSERT INTO trueput.thesis VALUES (10)");
}

/// A database that one run has open is refused to others until it is closed.
fn is_held(by: &dyn Engine, from: &[&dyn Engine]) {
    let folder = tempfile::tempdir().unwrap();
    let others = from
        .iter()
        .map(|other| (*other, tempfile::tempdir().unwrap()));
    let others: Vec<_> = others.collect();
    let at = |engine: &dyn Engine, folder: &Path| open(engine, folder, Durability::Sync, "");
    let database = at(by, folder.path()).unwrap();
    write(&*database, b"key", b"value");
    // At once, as each waits for seconds before it is refused.
    std::thread::scope(|scope| {
        for (other, folder) in &others {
            scope.spawn(|| {
                let reason = refusal(*other, folder.path(), Durability::Sync, "").to_string();
                assert!(reason.contains("another run"), "{reason}");
            });
        }
    });
    let again = at(by, folder.path()).unwrap();
    assert_eq!(read(&*again, b"key").unwrap(), b"value");
    drop((database, again));
    for (other, folder) in &others {
        let opened = at(*other, folder.path()).unwrap();
        assert_eq!(read(&*opened, b"key"), None);
    }
}

fn is_held_against_all(origin: Option<Origin>) {
    let Some(origin) = origin else {
        return;
    };
    let odbc = origin.engine();
    let native = origin.native();
    is_held(&*odbc, &[&*odbc, &*native]);
    is_held(&*native, &[&*odbc]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn two_runs_never_have_one_schema_of_postgresqls_by_whatever_driver() {
    is_held_against_all(Origin::postgresql());
}

#[test]
#[ignore = "slow: make test runs it"]
fn two_runs_never_have_one_database_of_mariadbs_by_whatever_driver() {
    is_held_against_all(Origin::mariadb());
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_schema_whose_making_is_cut_off_before_its_mark_is_not_there() {
    let Some(origin) = Origin::postgresql() else {
        return;
    };
    origin.as_owner(
        "CREATE FUNCTION public.cut() RETURNS event_trigger LANGUAGE plpgsql AS \
         $$BEGIN RAISE EXCEPTION 'cut off'; END$$; \
         CREATE EVENT TRIGGER cut ON ddl_command_end WHEN TAG IN ('COMMENT') \
         EXECUTE FUNCTION public.cut()",
    );
    let engine = origin.engine();
    let folder = tempfile::tempdir().unwrap();
    let at = || open(&*engine, folder.path(), Durability::Sync, "").map(drop);
    let reason = at().unwrap_err().to_string();
    assert!(reason.contains("cut off"), "{reason}");
    assert_eq!(engine.build().map(drop), Ok(()));
    origin.as_owner("DROP EVENT TRIGGER cut");
    assert_eq!(at(), Ok(()));
}

#[test]
fn a_dialect_that_the_address_names_is_what_the_engine_is_asked_by() {
    let Some(origin) = Origin::sqlite() else {
        return;
    };
    let named = |dialect: &str| {
        let source = format!("{};TRUEPUT_DIALECT={dialect}", origin.source());
        ODBC.with_library(Path::new(&source)).unwrap()
    };
    let informix = named("informix");
    assert_eq!(informix.dialect(), Some(Dialect::Informix));
    assert_eq!(informix.capabilities().max_key_bytes, 120);
    assert!(!named("iris").capabilities().snapshot_reads);
    let sqlite = named("sqlite");
    assert!(sqlite.build().is_ok());
    let folder = tempfile::tempdir().unwrap();
    let at = |dialect: &str| {
        let knobs = &format!("dialect={dialect}");
        open(&*sqlite, folder.path(), Durability::Sync, knobs).map(drop)
    };
    assert_eq!(at("sqlite"), Ok(()));
    let reason = at("iris").unwrap_err().to_string();
    assert!(reason.contains("TRUEPUT_DIALECT=iris"), "{reason}");
    let knobs = &resolve(&*sqlite, "dialect=iris");
    assert!(sqlite.promise_with(Durability::Sync, knobs).is_err());
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_level_that_the_server_is_not_set_for_is_refused() {
    let Some(origin) = Origin::mariadb() else {
        return;
    };
    let engine = origin.engine();
    let folder = tempfile::tempdir().unwrap();
    let reason = refusal(&*engine, folder.path(), Durability::Buffered, "").to_string();
    assert!(
        reason.contains("innodb_flush_log_at_trx_commit = 1"),
        "{reason}"
    );
    assert!(engine.promise(Durability::Async).is_none());
    let knobs = "dialect=informix";
    let other = open(&*engine, folder.path(), Durability::Sync, knobs).map(drop);
    assert!(other.is_err(), "its statements are not MariaDB's");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_wrong_password_is_one_line_without_it() {
    let Some(origin) = Origin::mariadb() else {
        return;
    };
    origin.as_owner("CREATE USER me@localhost IDENTIFIED BY 's3cret'");
    let source = origin.source().replace("UID=root", "UID=me;PWD={s3crets}");
    let address = Address::of(&source);
    assert!(!format!("{address} {address:?}").contains("s3crets"));
    let refused = ODBC
        .with_address(&address)
        .unwrap()
        .build()
        .unwrap_err()
        .to_string();
    assert!(refused.contains("Access denied for user 'me'"), "{refused}");
    assert!(
        !refused.contains("s3crets") && !refused.contains('\n'),
        "{refused}"
    );
    let nowhere = "Driver={MariaDB Unicode};Server=127.0.0.1;Port=1;UID=me;PWD=s3crets";
    let refused = ODBC
        .with_library(Path::new(nowhere))
        .unwrap()
        .build()
        .unwrap_err()
        .to_string();
    assert!(
        refused.starts_with("cannot connect to Driver={MariaDB"),
        "{refused}"
    );
    assert!(
        !refused.contains("s3crets") && !refused.contains('\n'),
        "{refused}"
    );
}

#[test]
fn what_is_missing_is_named_with_what_has_it() {
    let said = |source: &str| {
        let built = ODBC
            .with_library(Path::new(source))
            .and_then(|engine| engine.build());
        built.unwrap_err().to_string()
    };
    let no_driver = said("Server=somewhere;UID=me");
    assert!(no_driver.contains("names neither a driver"), "{no_driver}");
    let unnamed = ODBC.build().unwrap_err().to_string();
    assert!(unnamed.contains("odbc@DSN=NAME"), "{unnamed}");
    if !has_manager() {
        let missing = said("DSN=mine");
        assert!(
            missing.contains("install the package unixodbc"),
            "{missing}"
        );
        return;
    }
    for (driver, package) in [
        ("PostgreSQL of nowhere", "odbc-postgresql"),
        ("MariaDB of nowhere", "odbc-mariadb"),
        ("SQLite of nowhere", "libsqliteodbc"),
        ("IBM INFORMIX ODBC DRIVER", "Informix Client SDK"),
        ("InterSystems IRIS ODBC of nowhere", "InterSystems"),
    ] {
        let missing = said(&format!("Driver={{{driver}}};Server=h;UID=me;PWD=geheim"));
        assert!(
            missing.contains(driver) && missing.contains(package),
            "{missing}"
        );
        assert!(
            !missing.contains("geheim") && !missing.contains('\n'),
            "{missing}"
        );
    }
    let unknown = said("DSN=of_nowhere;PWD=geheim");
    assert!(
        unknown.contains("'of_nowhere'") && unknown.contains("odbc.ini"),
        "{unknown}"
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_deadlock_is_reported_as_one_over_odbc_too() {
    for origin in [Origin::postgresql(), Origin::mariadb()]
        .into_iter()
        .flatten()
    {
        let engine = origin.engine();
        let folder = tempfile::tempdir().unwrap();
        deadlock::is_distinguished(&*engine, folder.path(), "");
    }
}
