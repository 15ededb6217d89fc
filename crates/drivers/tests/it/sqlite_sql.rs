//! SQLite's sessions speak SQL as the contract has it, with any build.

use crate::support::{self, TestDatabase, begin, sql};
use std::time::{Duration, Instant};
use trueput_drivers::Sqlite;
use trueput_engine::{Datum, Dialect, Durability, Engine, Mode};

static SQLITE: Sqlite = Sqlite::new();

fn speaks(engine: &dyn Engine) {
    assert_eq!(engine.dialect(), Some(Dialect::Sqlite));
    let database = TestDatabase::open(engine, Durability::Process, "");
    sql::speaks_sql(&*database, &sql::SQLITE);
}

#[test]
fn the_build_that_is_compiled_in_speaks_sql() {
    speaks(&SQLITE);
}

#[test]
fn every_build_on_this_machine_speaks_sql() {
    let found = SQLITE.library_files();
    if found.is_empty() {
        eprintln!("skipped: no other SQLite is here");
    }
    for library in found {
        speaks(&*SQLITE.with_library(&library).unwrap());
    }
}

#[test]
fn a_writer_in_the_way_is_a_conflict_also_without_a_transaction() {
    let database = TestDatabase::open(&SQLITE, Durability::Process, "busy_timeout=20");
    let (mut first, mut second) = (database.session().unwrap(), database.session().unwrap());
    let sql = first.sql().unwrap();
    sql.batch("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        .unwrap();
    let put = second
        .sql()
        .unwrap()
        .prepare("INSERT INTO t VALUES (?)")
        .unwrap();
    first.begin(Mode::Write).unwrap();
    let since = Instant::now();
    let refused = second.sql().unwrap().execute(put, &[Datum::Integer(1)]);
    assert!(refused.unwrap_err().is_conflict());
    assert!(since.elapsed() >= Duration::from_millis(15));
    first.commit().unwrap();
    let sql = second.sql().unwrap();
    assert_eq!(sql.execute(put, &[Datum::Integer(1)]), Ok(1));
}

#[test]
fn what_sqlite_has_no_type_for_is_refused() {
    let database = TestDatabase::open(&SQLITE, Durability::Process, "");
    let mut session = database.session().unwrap();
    let sql = session.sql().unwrap();
    let fraction = sql.prepare("SELECT 0.5").unwrap();
    let mut never = |_: &[Datum<'_>]| panic!("no row is shown");
    let refused = sql.query(fraction, &[], &mut never).unwrap_err();
    assert!(refused.to_string().contains("floating-point"), "{refused}");
    let one = sql.prepare("SELECT ?").unwrap();
    let refused = sql
        .query(one, &[Datum::Integers(&[1])], &mut never)
        .unwrap_err();
    assert!(refused.to_string().contains("no array"), "{refused}");
}

#[test]
fn keys_and_tables_are_committed_together() {
    let database = TestDatabase::open(&SQLITE, Durability::Process, "");
    let mut session = begin(&*database, Mode::Write);
    session.put(b"key", b"value").unwrap();
    let sql = session.sql().unwrap();
    sql.batch("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        .unwrap();
    session.abort().unwrap();
    assert_eq!(support::read(&*database, b"key"), None);
    assert!(session.sql().unwrap().prepare("SELECT * FROM t").is_err());
}
