//! The tables in SQL: the conditions hold on every engine that supports SQL, and the tables have
//! the same contents as in keys and values.

use super::acid::isolation_test;
use super::harness::{Bench, acid_checks, assert_right, engine, installed};
use trueput_engine::testing::Fault;
use trueput_engine::{Engine, Mode};
use trueput_record::measurement::Check;
use trueput_workloads::tpcc::acid::AcidSuite;
use trueput_workloads::tpcc::input::{CustomerSelector, Line, NewOrder, OrderStatus, StockLevel};
use trueput_workloads::tpcc::procedures::NewOrderOutcome;
use trueput_workloads::tpcc::rows::{CustomerRow, DISTRICTS, DistrictKey, Table};
use trueput_workloads::tpcc::scale::{Cardinality, Scale};
use trueput_workloads::tpcc::store::{TableStore, tables};
use trueput_workloads::tpcc::tables::{ReadIntent, StockKey, Tables};
use trueput_workloads::tpcc::transaction::{
    TransactionBuffers, new_order, order_status, stock_level,
};
use trueput_workloads::{ExistingDatabase, WorkerFindings};

const WAREHOUSES: u32 = 2;
/// The total of the tests' order with the tests' seed, cents.
const TOTAL: i64 = 169_354;
const SMALL: &str = "store=sql warehouses=2 cardinality=hundredth transactions=400";

/// Knobs of an engine under which the store is tried too.
const MYROCKS: &str = "storage_engine=rocksdb";
const SNAPSHOT: &str = "isolation=snapshot";

fn passes_on(name: &str, knobs: &str) {
    let Some(engine) = installed(name) else {
        return;
    };
    Bench::turned(engine, Fault::None, 4, SMALL, knobs).passes(400, "sql");
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_conditions_hold_after_load_and_run_in_sqlites_sql() {
    passes_on("sqlite", "");
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_conditions_hold_after_load_and_run_in_postgresqls_sql() {
    passes_on("postgresql", "");
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_conditions_hold_after_load_and_run_in_postgresqls_functions() {
    let Some(engine) = installed("postgresql") else {
        return;
    };
    let given = format!("{SMALL} store=procedures");
    for isolation in ["read-committed", "repeatable-read", "serializable"] {
        let knobs = format!("isolation={isolation}");
        Bench::turned(engine, Fault::None, 4, &given, &knobs).passes(400, "procedures");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_conditions_hold_after_load_and_run_in_mariadbs_sql() {
    passes_on("mariadb", "");
    passes_on("mariadb", SNAPSHOT);
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_conditions_hold_after_load_and_run_in_myrocks_sql() {
    passes_on("mariadb", MYROCKS);
}

/// The checks of the suite of atomicity and isolation in SQL; `None` if the engine is missing.
fn checks(name: &str, knobs: &str) -> Option<Vec<Check>> {
    let engine = installed(name)?;
    Some(acid_checks(engine, Fault::None, knobs, TableStore::Sql))
}

#[test]
#[ignore = "slow: make test runs it"]
fn engines_are_atomic_and_keep_transactions_apart_in_sql() {
    for (name, knobs) in [
        ("sqlite", ""),
        ("postgresql", ""),
        ("mariadb", ""),
        ("mariadb", SNAPSHOT),
        ("mariadb", MYROCKS),
    ] {
        for check in checks(name, knobs).into_iter().flatten() {
            assert!(check.passed, "{name}: {}: {}", check.name, check.detail);
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn write_transactions_that_are_read_committed_fail_the_tests_that_read_again() {
    for name in ["postgresql", "mariadb"] {
        let Some(checks) = checks(name, "isolation=read-committed") else {
            continue;
        };
        let failed = checks.iter().filter(|check| !check.passed);
        let numbers: Vec<_> = failed.map(|check| isolation_test(&check.name)).collect();
        assert_eq!(numbers, [Some(7), Some(8)], "{name}: {checks:?}");
    }
}

/// Everything that the tables hold, a line for each row.
fn contents(bench: &Bench, store: TableStore) -> Vec<String> {
    bench.target(|target| {
        let mut session = target.database.session().unwrap();
        let mut tables = tables(&mut *session, store).unwrap();
        let mut lines = Vec::new();
        // Reading stocks takes their locks.
        tables.begin(Mode::Write).unwrap();
        for warehouse in 1..=WAREHOUSES {
            for table in Table::ALL {
                let rows = tables.read_table(table, warehouse).unwrap();
                lines.push(format!("{warehouse} {table:?} {rows} rows"));
            }
            of_warehouse(&mut *tables, warehouse, &mut lines);
        }
        let mut histories = Vec::new();
        let mut visit = |row| histories.push(format!("{row:?}"));
        tables.each_history(&mut visit).unwrap();
        tables.abort().unwrap();
        histories.sort();
        lines.extend(histories);
        lines
    })
}

fn of_warehouse(tables: &mut dyn Tables, warehouse: u32, lines: &mut Vec<String>) {
    let scale = Scale::new(WAREHOUSES, Cardinality::Hundredth);
    lines.push(format!("{:?}", tables.warehouse_ytd(warehouse).unwrap()));
    let keys: Vec<_> = (1..=scale.items)
        .map(|item| StockKey { warehouse, item })
        .collect();
    let mut stocks = Vec::new();
    for (index, some) in keys.chunks(15).enumerate() {
        let district = 1 + (index % usize::from(DISTRICTS)) as u8;
        tables.stocks(some, district, &mut stocks).unwrap();
        lines.push(format!("{stocks:?}"));
    }
    let ids: Vec<_> = (1..=scale.items + 1).collect();
    let mut items = Vec::new();
    for some in ids.chunks(15) {
        tables.items(some, &mut items).unwrap();
        lines.push(format!("{items:?}"));
    }
    for district in DistrictKey::all_of(warehouse) {
        lines.push(format!("{:?}", tables.district_state(district).unwrap()));
        let mut visit = |row| lines.push(format!("{row:?}"));
        tables.each_order(district, &mut visit).unwrap();
        let mut visit = |row| lines.push(format!("{row:?}"));
        tables.each_new_order(district, &mut visit).unwrap();
        let mut visit = |row| lines.push(format!("{row:?}"));
        tables.each_order_line(district, &mut visit).unwrap();
        let mut customer = CustomerRow::default();
        let mut orders = Vec::new();
        for id in 1..=scale.customers {
            let (who, intent) = (CustomerSelector::Number(id), ReadIntent::Show);
            let found = tables.customer(district, &who, intent, &mut customer);
            found.unwrap();
            lines.push(format!("{customer:?}"));
            let by_name = CustomerSelector::LastName(customer.last);
            let found = tables.customer(district, &by_name, intent, &mut customer);
            found.unwrap();
            lines.push(format!("the middle one is {}", customer.id));
            let last = tables.last_order(district, id).unwrap();
            lines.push(format!("{last:?}"));
            if let Some(order) = last {
                let found = tables.order_lines(district, order.id, &mut orders);
                found.unwrap();
                lines.push(format!("{orders:?}"));
            }
        }
        let low = tables.low_stock(district, 15).unwrap();
        lines.push(format!("{low} low stocks"));
    }
}

fn filled(engine: &dyn Engine, store: &'static str) -> Vec<String> {
    let given = format!("{SMALL} store={store}");
    let bench = Bench::new(engine, Fault::None, 1, &given);
    assert_right(&bench.run().1);
    let store = TableStore::ALL.into_iter().find(|one| one.word() == store);
    contents(&bench, store.unwrap())
}

#[test]
#[ignore = "slow: make test runs it"]
fn one_worker_leaves_the_same_rows_in_every_store() {
    let expected = filled(engine("sqlite"), "kv");
    assert!(expected.len() > 5_000, "{}", expected.len());
    for name in ["sqlite", "postgresql", "mariadb"] {
        let Some(engine) = installed(name) else {
            continue;
        };
        let rows = filled(engine, "sql");
        let differing = expected.iter().zip(&rows).find(|(kv, sql)| kv != sql);
        assert_eq!(differing, None, "{name}");
        assert_eq!(rows.len(), expected.len(), "{name}");
    }
}

#[test]
fn a_table_that_is_of_no_warehouse_is_read_as_a_whole_in_both_stores() {
    for (name, store) in [("kv", TableStore::KeyValue), ("sql", TableStore::Sql)] {
        let given = format!("{SMALL} store={name} transactions=1");
        let bench = Bench::new(engine("sqlite"), Fault::None, 1, &given);
        bench.target(|target| {
            bench
                .job
                .prepare(target, ExistingDatabase::Nothing)
                .unwrap();
            let mut session = target.database.session().unwrap();
            let mut tables = tables(&mut *session, store).unwrap();
            tables.begin(Mode::Read).unwrap();
            let scale = Scale::new(WAREHOUSES, Cardinality::Hundredth);
            for table in [Table::History, Table::Item] {
                for warehouse in 1..=WAREHOUSES {
                    let rows = tables.read_table(table, warehouse).unwrap();
                    assert_eq!(Some(rows), scale.rows(table), "{name} {table:?}");
                }
            }
            tables.prime(Table::History, 1).unwrap();
            tables.abort().unwrap();
        });
    }
}

/// One worker's operations by kind, its findings, and the rows that it left.
fn done(engine: &dyn Engine, store: &'static str) -> (Vec<u64>, Vec<WorkerFindings>, Vec<String>) {
    let given = format!("{SMALL} store={store} transactions=1500");
    let bench = Bench::new(engine, Fault::None, 1, &given);
    let (ended, conclusion) = bench.run();
    assert_right(&conclusion);
    let rows = contents(&bench, TableStore::Sql);
    (ended.counts, ended.findings, rows)
}

#[test]
#[ignore = "slow: make test runs it"]
fn functions_of_the_server_do_and_leave_what_the_clients_statements_do() {
    let Some(engine) = installed("postgresql") else {
        return;
    };
    let statements = done(engine, "sql");
    let functions = done(engine, "procedures");
    assert!(statements.1[0]["rolled back"] > 0, "{:?}", statements.1);
    assert_eq!(statements.0, functions.0);
    assert_eq!(statements.1, functions.1);
    let mut rows = statements.2.iter().zip(&functions.2);
    assert_eq!(rows.find(|(one, other)| one != other), None);
    assert_eq!(statements.2.len(), functions.2.len());
}

/// Does `work` with the tables of a small database.
fn with_tables(name: &str, store: TableStore, work: impl Fn(&mut dyn Tables, &str)) {
    let Some(engine) = installed(name) else {
        return;
    };
    let given = "cardinality=hundredth transactions=1";
    let bench = Bench::new(engine, Fault::None, 1, given);
    bench.target(|target| {
        let scale = Scale::new(1, Cardinality::Hundredth);
        AcidSuite::load(target, &scale, store).unwrap();
        let mut session = target.database.session().unwrap();
        let mut tables = tables(&mut *session, store).unwrap();
        work(&mut *tables, &format!("{name} {store:?}"));
    });
}

/// Every engine and store that tells a row that is not there.
const STORES: [(&str, TableStore); 6] = [
    ("lmdb", TableStore::KeyValue),
    ("sqlite", TableStore::KeyValue),
    ("sqlite", TableStore::Sql),
    ("postgresql", TableStore::Sql),
    ("postgresql", TableStore::Procedures),
    ("mariadb", TableStore::Sql),
];

#[test]
#[ignore = "slow: make test runs it"]
fn a_stock_level_counts_in_a_district_that_is_there_and_is_an_error_in_none() {
    for (name, store) in STORES {
        with_tables(name, store, |tables, name| {
            let level = |district, threshold| StockLevel {
                warehouse: 1,
                district,
                threshold,
            };
            assert_eq!(stock_level(tables, &level(1, 0)), Ok(0), "{name}");
            let all = stock_level(tables, &level(1, 1_000)).unwrap();
            assert!(all > 50, "{name}: {all}");
            let some = stock_level(tables, &level(1, 20)).unwrap();
            assert!(some > 0 && some < all, "{name}: {some} of {all}");
            let error = stock_level(tables, &level(11, 20)).unwrap_err();
            assert!(!error.is_conflict(), "{name}: {error}");
            let text = error.to_string();
            assert!(text.contains("not there"), "{name}: {text}");
        });
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn transactions_answer_alike_in_every_store_and_tell_what_is_not_there() {
    let line = |item| Line {
        item,
        supplier: 1,
        quantity: 7,
    };
    for (name, store) in STORES {
        with_tables(name, store, |tables, name| {
            let scratch = &mut TransactionBuffers::default();
            // One item twice: its stock is taken twice.
            let lines = [line(3), line(1), line(3), line(2), line(9)];
            let order = NewOrder::of(1, 1, 1, &lines);
            let committed = |order| NewOrderOutcome::Committed {
                order,
                total: TOTAL,
            };
            let ordered = new_order(tables, scratch, &order, 1);
            assert_eq!(ordered, Ok(committed(31)), "{name}");
            let unused = NewOrder::of(1, 1, 1, &[line(3), line(1_001)]);
            let ordered = new_order(tables, scratch, &unused, 1);
            assert_eq!(ordered, Ok(NewOrderOutcome::RolledBack), "{name}");
            // The number of the order that was rolled back is given again.
            let next = new_order(tables, scratch, &order, 1);
            assert_eq!(next, Ok(committed(32)), "{name}");
            let nobody = NewOrder::of(1, 1, 31, &lines);
            assert!(new_order(tables, scratch, &nobody, 1).is_err(), "{name}");
            let elsewhere = Line {
                supplier: 2,
                ..line(3)
            };
            let lacking = NewOrder::of(1, 1, 1, &[elsewhere]);
            assert!(new_order(tables, scratch, &lacking, 1).is_err(), "{name}");
            let status = |customer| OrderStatus {
                warehouse: 1,
                district: 1,
                who: CustomerSelector::Number(customer),
            };
            let lines = order_status(tables, scratch, &status(1));
            assert_eq!(lines, Ok(Some(5)), "{name}");
            assert!(order_status(tables, scratch, &status(31)).is_err());
        });
    }
}
