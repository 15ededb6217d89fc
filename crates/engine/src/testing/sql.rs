//! Claims about every driver that supports SQL, on the types of its dialect.

use crate::sql::Statement;
use crate::{Database, Datum, Error, Mode, Session};
use std::ops::ControlFlow;

/// The syntax of a dialect that these tests use, and the values that it returns.
pub struct Sample {
    /// The columns of a table: a whole number as key, money, text, bytes, a moment.
    pub columns: &'static str,
    /// A statement's parameter, counted from 1.
    pub parameter: fn(usize) -> String,
    /// The clause that makes a query lock the rows that it reads; empty if the transaction does.
    pub lock: &'static str,
    /// The value that a column returns for an amount of 12.34.
    pub amount: Datum<'static>,
    /// The value that a column returns for [`MOMENT`].
    pub moment: Datum<'static>,
    /// A part of the engine's message about a missing table.
    pub unknown_table: &'static str,
}

/// 2001-09-09 01:46:40.123456 UTC, in microseconds.
pub const MOMENT: i64 = 1_000_000_000_123_456;

/// PostgreSQL's.
pub const POSTGRESQL: Sample = Sample {
    columns: "id bigint PRIMARY KEY, amount numeric(12, 2), name text, data bytea, at timestamptz",
    parameter: |number| format!("${number}"),
    lock: " FOR UPDATE",
    amount: Datum::Decimal {
        units: 1234,
        scale: 2,
    },
    moment: Datum::Timestamp(MOMENT),
    unknown_table: "relation \"nowhere\" does not exist",
};

/// MariaDB's.
pub const MARIADB: Sample = Sample {
    columns: "id INT PRIMARY KEY, amount DECIMAL(12, 2), name VARCHAR(60), data BLOB, \
              at DATETIME(6)",
    parameter: |_| "?".to_owned(),
    unknown_table: "nowhere' doesn't exist",
    ..POSTGRESQL
};

/// SQLite's. Decimals and moments are whole numbers here.
pub const SQLITE: Sample = Sample {
    columns: "id INTEGER PRIMARY KEY, amount INTEGER, name TEXT, data BLOB, at INTEGER",
    parameter: |_| "?".to_owned(),
    lock: "",
    amount: Datum::Integer(1234),
    moment: Datum::Integer(MOMENT),
    unknown_table: "no such table: nowhere",
};

/// A value that outlives its row.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnedDatum {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// Units, and the digits after the decimal point.
    Decimal(i64, u8),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Microseconds since 1970.
    Timestamp(i64),
}

impl From<Datum<'_>> for OwnedDatum {
    fn from(datum: Datum<'_>) -> Self {
        match datum {
            Datum::Null => Self::Null,
            Datum::Integer(number) => Self::Integer(number),
            Datum::Decimal { units, scale } => Self::Decimal(units, scale),
            Datum::Text(text) => Self::Text(text.to_owned()),
            Datum::Bytes(bytes) => Self::Bytes(bytes.to_owned()),
            Datum::Timestamp(moment) => Self::Timestamp(moment),
            Datum::Integers(_) => panic!("no column is an array"),
        }
    }
}

/// The rows of a query.
pub fn rows(
    session: &mut dyn Session,
    statement: &str,
    parameters: &[Datum<'_>],
) -> Vec<Vec<OwnedDatum>> {
    let sql = session.sql().unwrap();
    let prepared = sql.prepare(statement).unwrap();
    query(session, prepared, parameters)
}

/// The rows of a statement that is prepared.
pub fn query(
    session: &mut dyn Session,
    prepared: Statement,
    parameters: &[Datum<'_>],
) -> Vec<Vec<OwnedDatum>> {
    let mut rows = Vec::new();
    let shown = session
        .sql()
        .unwrap()
        .query(prepared, parameters, &mut |row| {
            rows.push(row.iter().map(|datum| OwnedDatum::from(*datum)).collect());
            ControlFlow::Continue(())
        });
    assert_eq!(shown, Ok(rows.len() as u64));
    rows
}

fn make(session: &mut dyn Session, sample: &Sample) {
    let columns = sample.columns;
    let sql = session.sql().unwrap();
    sql.batch(&format!(
        "DROP TABLE IF EXISTS sample; CREATE TABLE sample ({columns})"
    ))
    .unwrap();
}

fn insert(session: &mut dyn Session, sample: &Sample) -> Statement {
    let parameters: Vec<_> = (1..=5).map(sample.parameter).collect();
    let statement = format!("INSERT INTO sample VALUES ({})", parameters.join(", "));
    session.sql().unwrap().prepare(&statement).unwrap()
}

/// A row with that key and nothing else.
fn bare(id: i64) -> [Datum<'static>; 5] {
    [
        Datum::Integer(id),
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Null,
    ]
}

fn ids(session: &mut dyn Session) -> Vec<i64> {
    let rows = rows(session, "SELECT id FROM sample ORDER BY id", &[]);
    let id = |row: &Vec<OwnedDatum>| match row[..] {
        [OwnedDatum::Integer(id)] => id,
        ref other => panic!("{other:?}"),
    };
    rows.iter().map(id).collect()
}

/// Every type comes back as it was given, by text and by bytes of any content.
pub fn types_round_trip(database: &dyn Database, sample: &Sample) {
    let mut session = database.session().unwrap();
    let session = session.as_mut();
    make(session, sample);
    let put = insert(session, sample);
    let bytes: Vec<u8> = (0..=255).collect();
    let given = [
        Datum::Integer(i64::from(i32::MIN)),
        Datum::Decimal {
            units: 1234,
            scale: 2,
        },
        Datum::Text("Grüße, it's \"text\" \\ 日本"),
        Datum::Bytes(&bytes),
        Datum::Timestamp(MOMENT),
    ];
    let changed = session.sql().unwrap().execute(put, &given);
    assert_eq!(changed, Ok(1));
    let negative = Datum::Decimal {
        units: -5,
        scale: 2,
    };
    let other = [
        Datum::Integer(7),
        negative,
        Datum::Text(""),
        Datum::Bytes(b""),
        Datum::Null,
    ];
    session.sql().unwrap().execute(put, &other).unwrap();
    session.sql().unwrap().execute(put, &bare(8)).unwrap();
    let found = rows(session, "SELECT * FROM sample ORDER BY id", &[]);
    let mut expected: Vec<OwnedDatum> =
        given.iter().map(|datum| OwnedDatum::from(*datum)).collect();
    expected[1] = sample.amount.into();
    expected[4] = sample.moment.into();
    assert_eq!(found[0], expected);
    let small = match sample.amount {
        Datum::Decimal { .. } => OwnedDatum::Decimal(-5, 2),
        _ => OwnedDatum::Integer(-5),
    };
    let empty = [
        OwnedDatum::Text(String::new()),
        OwnedDatum::Bytes(vec![]),
        OwnedDatum::Null,
    ];
    assert_eq!(found[1][1], small);
    assert_eq!(found[1][2..], empty);
    let expected: Vec<OwnedDatum> = bare(8)
        .iter()
        .map(|datum| OwnedDatum::from(*datum))
        .collect();
    assert_eq!(found[2], expected);
}

/// Changes that a transaction makes by SQL are gone after an abort and present after a commit, and
/// a read transaction cannot make any.
pub fn transactions_hold_sql(database: &dyn Database, sample: &Sample) {
    let mut session = database.session().unwrap();
    let session = session.as_mut();
    make(session, sample);
    let put = insert(session, sample);
    session.begin(Mode::Write).unwrap();
    assert_eq!(session.sql().unwrap().execute(put, &bare(1)), Ok(1));
    assert_eq!(ids(session), [1]);
    session.abort().unwrap();
    assert!(ids(session).is_empty());
    session.begin(Mode::Write).unwrap();
    session.sql().unwrap().execute(put, &bare(2)).unwrap();
    session.commit().unwrap();
    session.begin(Mode::Read).unwrap();
    assert_eq!(ids(session), [2]);
    let refused = session.sql().unwrap().execute(put, &bare(3));
    assert!(refused.is_err(), "{refused:?}");
    session.abort().unwrap();
    assert_eq!(ids(session), [2]);
}

/// A statement is prepared once and executed often, and a visitor can end a query.
pub fn statements_are_reused(database: &dyn Database, sample: &Sample) {
    let mut session = database.session().unwrap();
    let session = session.as_mut();
    make(session, sample);
    let put = insert(session, sample);
    session.begin(Mode::Write).unwrap();
    for id in 0..200 {
        session.sql().unwrap().execute(put, &bare(id)).unwrap();
    }
    session.commit().unwrap();
    let parameter = (sample.parameter)(1);
    let statement = format!("SELECT id FROM sample WHERE id >= {parameter} ORDER BY id");
    let from = session.sql().unwrap().prepare(&statement).unwrap();
    for first in [0, 150, 199, 200] {
        let found = query(session, from, &[Datum::Integer(first)]).len();
        assert_eq!(found as i64, 200 - first);
    }
    let broken = session
        .sql()
        .unwrap()
        .query(from, &[Datum::Integer(0)], &mut |row| {
            if row == [Datum::Integer(2)] {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
    assert_eq!(broken, Ok(3));
    assert_eq!(query(session, from, &[Datum::Integer(198)]).len(), 2);
}

/// Errors are one line, and the session goes on after them.
pub fn errors_are_one_line(database: &dyn Database, sample: &Sample) {
    let mut session = database.session().unwrap();
    let session = session.as_mut();
    make(session, sample);
    let put = insert(session, sample);
    let unknown = session.sql().unwrap().prepare("SELECT * FROM nowhere");
    let said = unknown.unwrap_err().to_string();
    assert!(
        said.contains(sample.unknown_table) && !said.contains('\n'),
        "{said}"
    );
    let said = session
        .sql()
        .unwrap()
        .execute(put, &[Datum::Null])
        .unwrap_err();
    assert!(said.to_string().contains("5 parameters, 1 "), "{said}");
    session.begin(Mode::Write).unwrap();
    session.sql().unwrap().execute(put, &bare(1)).unwrap();
    let twice = session.sql().unwrap().execute(put, &bare(1)).unwrap_err();
    assert!(matches!(twice, Error::Engine { .. }), "{twice:?}");
    session.abort().unwrap();
    assert!(ids(session).is_empty());
    let foreign = Statement(99);
    assert!(session.sql().unwrap().execute(foreign, &[]).is_err());
}

/// Two transactions that read a row and write the value plus one either both succeed in order or
/// one meets a conflict; no update is lost.
pub fn no_update_by_sql_is_lost(database: &dyn Database, sample: &Sample) {
    const EACH: i64 = 20;
    let mut session = database.session().unwrap();
    make(session.as_mut(), sample);
    let put = insert(session.as_mut(), sample);
    let sql = session.sql().unwrap();
    sql.execute(put, &bare(0)).unwrap();
    let (one, two) = ((sample.parameter)(1), (sample.parameter)(2));
    let get = format!("SELECT id FROM sample{}", sample.lock);
    let set = format!("UPDATE sample SET id = {one} WHERE id = {two}");
    let work = || {
        let mut session = database.session().unwrap();
        let get = session.sql().unwrap().prepare(&get).unwrap();
        let set = session.sql().unwrap().prepare(&set).unwrap();
        let mut done = 0;
        while done < EACH {
            match increment(session.as_mut(), get, set) {
                Ok(()) => done += 1,
                Err(error) => assert!(error.is_conflict(), "{error}"),
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker.join().unwrap();
        }
    });
    assert_eq!(ids(session.as_mut()), vec![3 * EACH]);
}

fn increment(session: &mut dyn Session, get: Statement, set: Statement) -> Result<(), Error> {
    session.begin(Mode::Write)?;
    let sql = session.sql().unwrap();
    let mut number = 0;
    let shown = sql.query(get, &[], &mut |row| {
        if let [Datum::Integer(found)] = row {
            number = *found;
        }
        ControlFlow::Continue(())
    });
    let parameters = [Datum::Integer(number + 1), Datum::Integer(number)];
    match shown.and_then(|_| sql.execute(set, &parameters)) {
        Ok(_) => session.commit(),
        Err(error) => {
            session.abort()?;
            Err(error)
        }
    }
}

/// All the claims of this file.
pub fn speaks_sql(database: &dyn Database, sample: &Sample) {
    types_round_trip(database, sample);
    transactions_hold_sql(database, sample);
    statements_are_reused(database, sample);
    errors_are_one_line(database, sample);
    no_update_by_sql_is_lost(database, sample);
}
