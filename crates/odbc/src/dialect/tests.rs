use super::*;
use std::ops::Bound;

fn info_of(dbms: &str) -> SourceInfo {
    SourceInfo {
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
            info(None, &info_of(name)).unwrap().dialect,
            dialect,
            "{name}"
        );
    }
    let other = info_of("Firebird");
    assert_eq!(
        info(Some(Dialect::Informix), &other).unwrap().dialect,
        Dialect::Informix
    );
    let refused = info(None, &other).err().unwrap().to_string();
    assert!(
        refused.contains("'Firebird'") && refused.contains("TRUEPUT_DIALECT=informix"),
        "{refused}"
    );
    for dialect in Dialect::ALL {
        assert_eq!(of(dialect).dialect, dialect);
        assert!(info(Some(dialect), &other).is_ok());
    }
}

/// A scan from a key on, in the middle of its batches.
fn scan(dialect: Dialect, locks: bool) -> String {
    let range = KeyRange {
        lower: Bound::Excluded(b"a"),
        upper: Bound::Included(b"b"),
    };
    of(dialect).scan(ScanKind::of(&range, Direction::Backward, 1, locks))
}

#[test]
fn informix_is_sent_its_own_statements() {
    let profile = of(Dialect::Informix);
    assert_eq!(
        profile.create(),
        "CREATE TABLE record (k VARCHAR(240) NOT NULL PRIMARY KEY, v LVARCHAR(32000) NOT NULL) \
         LOCK MODE ROW"
    );
    assert_eq!(
        scan(Dialect::Informix, false),
        "SELECT FIRST 128 k, v FROM record WHERE k > ? AND k <= ? ORDER BY k DESC"
    );
    assert_eq!(profile.setup, ["SET LOCK MODE TO WAIT 10"]);
    assert_eq!(profile.keys.put, PutMethod::UpdateOrInsert);
    assert_eq!(profile.isolation, REPEATABLE_READ);
    assert!(!profile.locks() && profile.touch().is_none());
    let durability_settings = |level| {
        (profile.durability_settings)(level).map(|durability_settings| durability_settings.set)
    };
    assert_eq!(
        durability_settings(Durability::Sync),
        Some(&["SET LOG"][..])
    );
    assert_eq!(
        durability_settings(Durability::Buffered),
        Some(&["SET BUFFERED LOG"][..])
    );
    assert!(durability_settings(Durability::Async).is_none());
    let check = profile.schema.check.as_ref().unwrap();
    assert_eq!(
        check.query,
        "SELECT DBINFO('dbname') FROM systables WHERE tabid = 1"
    );
    assert!(
        NameCheck::is_for_trueput("trueput ")
            && NameCheck::is_for_trueput("trueput_2")
            && !NameCheck::is_for_trueput("stores_demo")
    );
    assert!(check.hint.contains("CREATE DATABASE trueput WITH LOG"));
    for code in [-154, -244, -245] {
        assert!(profile.native_errors.conflicts.contains(&code));
    }
    assert_eq!(profile.native_errors.deadlocks, [-143]);
    // A duplicate key is not a conflict.
    assert!(!profile.native_errors.conflicts.contains(&-268));
    assert!(!is_tested(Dialect::Informix));
}

#[test]
fn iris_is_sent_its_own_statements() {
    let profile = of(Dialect::Iris);
    assert_eq!(
        profile.create(),
        "CREATE TABLE record (k VARCHAR(400) COLLATE SQLSTRING NOT NULL, \
         v VARCHAR(2000000) NOT NULL, PRIMARY KEY (k))"
    );
    assert_eq!(
        scan(Dialect::Iris, false),
        "SELECT TOP 128 k, v FROM record WHERE k > ? AND k <= ? ORDER BY k DESC"
    );
    let put = PutMethod::One("INSERT OR UPDATE record (k, v) VALUES (?, ?)");
    assert_eq!(profile.keys.put, put);
    assert_eq!(profile.touch(), Some("UPDATE record SET v = v WHERE k = ?"));
    assert_eq!(profile.setup, ["SET OPTION DEFAULT_SCHEMA = trueput"]);
    assert_eq!(profile.isolation, READ_COMMITTED);
    assert!(!profile.has_snapshots);
    for code in [-110, -114] {
        assert!(profile.native_errors.conflicts.contains(&code));
    }
    assert!((profile.durability_settings)(Durability::Sync).is_none());
    assert!((profile.durability_settings)(Durability::Buffered).is_some());
    let check = profile.schema.check.as_ref().unwrap();
    assert_eq!(check.query, "SELECT %SYSTEM_SQL.DefaultSchema()");
    assert!(NameCheck::is_for_trueput("trueput") && !NameCheck::is_for_trueput("SQLUser"));
    assert!(!is_tested(Dialect::Iris));
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
                        numbers.push(ScanKind::of(&range, direction, batch, locks).number());
                    }
                }
            }
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..ScanKind::COUNT).collect::<Vec<_>>());
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

#[test]
fn a_promise_that_innodb_makes_is_in_doubt_and_no_other_is() {
    use Dialect::{Informix, Iris, Mariadb, Postgresql, Sqlite};
    let mut promises = 0;
    for dialect in [Informix, Iris, Mariadb, Postgresql, Sqlite] {
        for level in [Durability::Sync, Durability::Buffered] {
            let Some(settings) = (of(dialect).durability_settings)(level) else {
                continue;
            };
            let is_in_doubt = settings.promise(level).doubt.is_some();
            assert_eq!(is_in_doubt, dialect == Mariadb, "{dialect:?} {level}");
            promises += 1;
        }
    }
    assert!(promises > 5, "{promises}");
}
