use super::*;
use std::ops::Bound;

fn told_of(dbms: &str) -> Told {
    Told {
        dbms: dbms.to_owned(),
        dbms_version: String::new(),
        driver: String::new(),
        driver_version: String::new(),
        isolations: 0,
        has_transactions: true,
    }
}

#[test]
fn a_data_source_is_known_by_its_name_or_by_what_its_address_names() {
    for (name, dialect) in [
        ("PostgreSQL", Dialect::Postgresql),
        ("MariaDB", Dialect::Mariadb),
        ("MySQL", Dialect::Mariadb),
        ("SQLite", Dialect::Sqlite),
        ("IBM Informix Dynamic Server", Dialect::Informix),
        ("Informix", Dialect::Informix),
        ("InterSystems IRIS", Dialect::Iris),
    ] {
        assert_eq!(
            told(None, &told_of(name)).unwrap().dialect,
            dialect,
            "{name}"
        );
    }
    let other = told_of("Firebird");
    assert_eq!(
        told(Some(Dialect::Informix), &other).unwrap().dialect,
        Dialect::Informix
    );
    let refused = told(None, &other).err().unwrap().to_string();
    assert!(
        refused.contains("'Firebird'") && refused.contains("TRUEPUT_DIALECT=informix"),
        "{refused}"
    );
    for dialect in Dialect::ALL {
        assert_eq!(of(dialect).dialect, dialect);
        assert!(told(Some(dialect), &other).is_ok());
    }
}

/// A scan from a key on, in the middle of its batches.
fn scan(dialect: Dialect, locks: bool) -> String {
    let range = KeyRange {
        lower: Bound::Excluded(b"a"),
        upper: Bound::Included(b"b"),
    };
    of(dialect).scan(Shape::of(&range, Direction::Backward, 1, locks))
}

#[test]
fn informix_is_sent_its_own_statements() {
    let manner = of(Dialect::Informix);
    assert_eq!(
        manner.create(),
        "CREATE TABLE record (k VARCHAR(240) NOT NULL PRIMARY KEY, v LVARCHAR(32000) NOT NULL) \
         LOCK MODE ROW"
    );
    assert_eq!(
        scan(Dialect::Informix, false),
        "SELECT FIRST 128 k, v FROM record WHERE k > ? AND k <= ? ORDER BY k DESC"
    );
    assert_eq!(manner.setup, ["SET LOCK MODE TO WAIT 10"]);
    assert_eq!(manner.keys.put, Put::UpdateOrInsert);
    assert_eq!(manner.isolation, REPEATABLE_READ);
    assert!(!manner.locks() && manner.touch().is_none());
    let keeping = |level| (manner.keeping)(level).map(|keeping| keeping.set);
    assert_eq!(keeping(Durability::Sync), Some(&["SET LOG"][..]));
    assert_eq!(
        keeping(Durability::Buffered),
        Some(&["SET BUFFERED LOG"][..])
    );
    assert!(keeping(Durability::Async).is_none());
    let check = manner.schema.check.as_ref().unwrap();
    assert_eq!(
        check.query,
        "SELECT DBINFO('dbname') FROM systables WHERE tabid = 1"
    );
    assert!(Check::holds("trueput ") && Check::holds("trueput_2") && !Check::holds("stores_demo"));
    assert!(check.hint.contains("CREATE DATABASE trueput WITH LOG"));
    for code in [-154, -244, -245] {
        assert!(manner.natives.conflicts.contains(&code));
    }
    assert_eq!(manner.natives.deadlocks, [-143]);
    // A key that is there twice is no conflict.
    assert!(!manner.natives.conflicts.contains(&-268));
    assert!(!was_run(Dialect::Informix));
}

#[test]
fn iris_is_sent_its_own_statements() {
    let manner = of(Dialect::Iris);
    assert_eq!(
        manner.create(),
        "CREATE TABLE record (k VARCHAR(400) COLLATE SQLSTRING NOT NULL, \
         v VARCHAR(2000000) NOT NULL, PRIMARY KEY (k))"
    );
    assert_eq!(
        scan(Dialect::Iris, false),
        "SELECT TOP 128 k, v FROM record WHERE k > ? AND k <= ? ORDER BY k DESC"
    );
    let put = Put::One("INSERT OR UPDATE record (k, v) VALUES (?, ?)");
    assert_eq!(manner.keys.put, put);
    assert_eq!(manner.touch(), Some("UPDATE record SET v = v WHERE k = ?"));
    assert_eq!(manner.setup, ["SET OPTION DEFAULT_SCHEMA = trueput"]);
    assert_eq!(manner.isolation, READ_COMMITTED);
    assert!(!manner.has_snapshots);
    for code in [-110, -114] {
        assert!(manner.natives.conflicts.contains(&code));
    }
    assert!((manner.keeping)(Durability::Sync).is_none());
    assert!((manner.keeping)(Durability::Buffered).is_some());
    let check = manner.schema.check.as_ref().unwrap();
    assert_eq!(check.query, "SELECT %SYSTEM_SQL.DefaultSchema()");
    assert!(Check::holds("trueput") && !Check::holds("SQLUser"));
    assert!(!was_run(Dialect::Iris));
}

#[test]
fn rows_that_are_read_to_be_written_are_locked_where_the_isolation_does_not() {
    let mariadb = of(Dialect::Mariadb);
    assert!(mariadb.locks());
    for dialect in [Dialect::Postgresql, Dialect::Sqlite] {
        assert!(!of(dialect).locks());
    }
    assert_eq!(
        scan(Dialect::Mariadb, true),
        "SELECT k, v FROM record WHERE k > ? AND k <= ? ORDER BY k DESC LIMIT 128 FOR UPDATE"
    );
    assert_eq!(
        mariadb.get(true),
        "SELECT v FROM record WHERE k = ? FOR UPDATE"
    );
}

#[test]
fn every_shape_of_a_scan_has_a_number_of_its_own() {
    let ends = |key| [Bound::Unbounded, Bound::Included(key), Bound::Excluded(key)];
    let mut numbers = Vec::new();
    for lower in ends(b"a".as_slice()) {
        for upper in ends(b"b".as_slice()) {
            for direction in [Direction::Forward, Direction::Backward] {
                for batch in 0..BATCHES.len() {
                    for locks in [false, true] {
                        let range = KeyRange { lower, upper };
                        numbers.push(Shape::of(&range, direction, batch, locks).number());
                    }
                }
            }
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..Shape::COUNT).collect::<Vec<_>>());
}

#[test]
fn numbered_parameters_become_those_of_odbc() {
    let written = of(Dialect::Postgresql).written("SELECT '$1', a FROM t WHERE a = $2 AND b = $1");
    assert_eq!(written.text, "SELECT '$1', a FROM t WHERE a = ? AND b = ?");
    assert_eq!(written.order, Some(vec![1, 0]));
    assert!(written.is_reading);
    let written = of(Dialect::Postgresql).written("UPDATE t SET ä = $1 WHERE i = ANY($2)");
    assert_eq!(written.text, "UPDATE t SET ä = ? WHERE i = ANY(?)");
    assert_eq!(written.order, None);
    assert!(!written.is_reading);
}

#[test]
fn sqlites_driver_sees_a_query_in_what_returns_rows() {
    let written = of(Dialect::Sqlite).written("UPDATE t SET a = ? RETURNING a");
    assert_eq!(
        written.text,
        "WITH no_rows AS (SELECT 1) UPDATE t SET a = ? RETURNING a"
    );
    assert!(!written.is_reading);
    let plain = "UPDATE t SET a = ?";
    assert_eq!(of(Dialect::Sqlite).written(plain).text, plain);
}
