//! The statements of each step compared with those of `iibench.py` for MySQL, whose dialect is
//! MariaDB's, and for PostgreSQL (mdcallag/mytools, `bench/ibench/iibench.py`, commit e1ba3d9edff2
//! of 2026-06-17). Workers speak both dialects over tables of SQLite's.
//!
//! Parameters are `?` here. iibench has them in the text, or as `$1` and so on.

use super::harness::{Bench, engine};
use crate::statement_session::StatementSession;
use std::collections::BTreeSet;
use std::ops::Range;
use trueput_engine::Dialect;

const DIALECTS: [Dialect; 2] = [Dialect::Mariadb, Dialect::Postgresql];

/// `create_index_mysql` and `create_index_postgres`: the indexes, after the table's name, and their
/// columns.
const INDEXES: [(&str, &str); 3] = [
    ("marketsegment", "productid, customerid, price"),
    ("registersegment", "cashregisterid, customerid, price"),
    ("pdc", "price, dateandtime, customerid"),
];

/// `generate_insert_rows`: the columns of an insert, before which `transactionid` comes here.
const INSERTED_COLUMNS: &str = "dateandtime,cashregisterid,customerid,productid,price,data";

/// `get_min_or_max_trxid`.
const MIN: &str = "select min(transactionid) from pi1";
const MAX: &str = "select max(transactionid) from pi1";

/// `generate_pk_query_mysql_pg` and `generate_pk_query_ps_pg`, with ten ids.
const POINT: &str = "SELECT transactionid, productid, data FROM pi1 \
                     WHERE transactionid in (?,?,?,?,?,?,?,?,?,?)";

fn insert(rows: usize) -> String {
    let rows = ["(?,?,?,?,?,?,?)"].repeat(rows).join(",\n");
    format!("insert into pi1 (transactionid,{INSERTED_COLUMNS}) values {rows}")
}

/// `statement_maker`.
fn delete(dialect: Dialect, rows: usize) -> String {
    let oldest = format!("transactionid >= ? order by transactionid asc limit {rows}");
    if dialect == Dialect::Mariadb {
        return format!("delete from pi1 where {oldest}");
    }
    format!("delete from pi1 where transactionid in (select transactionid from pi1 where {oldest})")
}

/// `generate_market_query_mysql_pg`, `generate_register_query_mysql_pg` and
/// `generate_pdc_query_mysql_pg`, and for PostgreSQL those that end in `_ps_pg`.
fn range_queries(dialect: Dialect) -> [String; 3] {
    let hint = |index: &str| {
        if dialect == Dialect::Mariadb {
            format!("FORCE INDEX (pi1_{index})")
        } else {
            String::new()
        }
    };
    [
        format!(
            "SELECT productid, customerid, price FROM pi1 {} WHERE (productid >= ?) \
             ORDER BY productid, customerid, price LIMIT 10",
            hint("marketsegment")
        ),
        format!(
            "SELECT cashregisterid,customerid,price FROM pi1 {} WHERE (cashregisterid > ?) \
             ORDER BY cashregisterid, customerid, price LIMIT 10",
            hint("registersegment")
        ),
        format!(
            "SELECT price,dateandtime,customerid FROM pi1 {} WHERE (price >= ?) \
             ORDER BY price, dateandtime, customerid LIMIT 10",
            hint("pdc")
        ),
    ]
}

/// A statement with `?` in place of `$1`, `$2` and so on.
fn unnumbered(text: &str) -> String {
    let mut written = String::new();
    let mut is_number = false;
    for letter in text.chars() {
        is_number = letter == '$' || (is_number && letter.is_ascii_digit());
        if letter == '$' {
            written.push('?');
        } else if !is_number {
            written.push(letter);
        }
    }
    written
}

/// A statement without what makes no difference: capitals, white space, parentheses, and how its
/// parameters are written.
fn normal(text: &str) -> String {
    let text = unnumbered(text).to_lowercase();
    let matters = |letter: &char| !letter.is_whitespace() && !matches!(*letter, '(' | ')');
    text.chars().filter(matters).collect()
}

fn normal_set(texts: &[String]) -> BTreeSet<String> {
    texts.iter().map(|text| normal(text)).collect()
}

/// A statement for SQLite, which has neither MariaDB's hints nor deletes with a limit.
fn for_sqlite(text: &str) -> String {
    let text = unnumbered(text);
    let plain = match text.split_once(" FORCE INDEX (") {
        Some((start, rest)) => {
            let (_, end) = rest.split_once(')').unwrap();
            format!("{start}{end}")
        }
        None => text,
    };
    match plain.strip_prefix("DELETE FROM pi1 WHERE transactionid >= ") {
        Some(rest) => format!(
            "DELETE FROM pi1 WHERE transactionid IN \
             (SELECT transactionid FROM pi1 WHERE transactionid >= {rest})"
        ),
        None => plain,
    }
}

/// What these workers of the only client send in a step after l.i0 and l.x, one after the other.
/// The table of marks is no part of iibench.
fn sent(dialect: Dialect, given: &str, step: &str, workers: Range<u32>) -> BTreeSet<String> {
    let mut bench = Bench::new(engine("sqlite"), 1, &format!("store=sql {given}"));
    let before = ["l.i0", "l.x"].into_iter();
    let before: Vec<&str> = before.take_while(|earlier| *earlier != step).collect();
    bench.passes(&before);
    bench.prepare_step(step).unwrap();
    bench.prime().unwrap();
    let mut sent = Vec::new();
    for worker in workers {
        let session = StatementSession::new(bench.database.session().unwrap());
        let mut session = session.speaking(dialect).translating(for_sqlite);
        bench.work_through(worker, &mut session);
        sent.append(&mut session.batches);
        sent.append(&mut session.sent);
    }
    sent.retain(|text| !text.contains("pi_marks"));
    normal_set(&sent)
}

#[test]
fn the_load_sends_the_inserts_of_iibench_and_the_next_step_creates_its_indexes() {
    for dialect in DIALECTS {
        let loaded = sent(dialect, "", "l.i0", 0..1);
        assert_eq!(loaded, normal_set(&[insert(100)]), "{dialect:?}");
        // In MySQL iibench creates the same with one `alter table`.
        let create =
            |(name, columns): (&str, &str)| format!("create index pi1_{name} on pi1 ({columns})");
        let created = sent(dialect, "", "l.x", 0..1);
        assert_eq!(created, normal_set(&INDEXES.map(create)), "{dialect:?}");
    }
}

#[test]
fn writers_send_the_inserts_and_deletes_of_iibench() {
    for dialect in DIALECTS {
        // As many rows as an inserter may be ahead of its deleter, which works after it here.
        for (step, given, rows) in [
            ("l.i1", "insert_rows=500", 50),
            ("l.i2", "insert_rows=200", 5),
        ] {
            let expected = [insert(rows), MIN.to_owned(), delete(dialect, rows)];
            let sent = sent(dialect, given, step, 0..2);
            assert_eq!(sent, normal_set(&expected), "{dialect:?} {step}");
        }
    }
}

#[test]
fn queriers_send_the_queries_of_iibench() {
    for dialect in DIALECTS {
        let ranges = sent(dialect, "", "qr100", 0..1);
        assert_eq!(ranges, normal_set(&range_queries(dialect)), "{dialect:?}");
        let points = sent(dialect, "", "qp100", 0..1);
        let expected = [MAX.to_owned(), POINT.to_owned()];
        assert_eq!(points, normal_set(&expected), "{dialect:?}");
    }
}

#[test]
fn a_statement_that_asks_for_something_else_is_another_one() {
    let [query, ..] = range_queries(Dialect::Mariadb);
    for (part, other) in [
        (">=", ">"),
        ("LIMIT 10", "LIMIT 11"),
        ("customerid, price LIMIT", "price, customerid LIMIT"),
        ("(pi1_marketsegment)", "(pi1_pdc)"),
        ("FORCE INDEX (pi1_marketsegment)", ""),
    ] {
        let other = query.replace(part, other);
        assert_ne!(normal(&other), normal(&query), "{other}");
    }
    let written = "SELECT a FROM t WHERE b >= $1 AND c = $12";
    assert_eq!(
        normal(written),
        normal("select a  from t where (b>=?) and c=?")
    );
}
