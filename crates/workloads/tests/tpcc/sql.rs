//! The tables in SQL: the conditions hold on every engine that speaks it, and what is in them is
//! what lies in keys and values.

use crate::faulty::Fault;
use crate::harness::{Bench, assert_right, engine};
use trueput_engine::{Engine, Mode};
use trueput_workloads::tpcc::acid::Suite;
use trueput_workloads::tpcc::rows::{CustomerRow, Table};
use trueput_workloads::tpcc::scale::{Cardinality, DISTRICTS, Scale};
use trueput_workloads::tpcc::store::{Store, tables};
use trueput_workloads::tpcc::tables::{Intent, StockKey, Tables, Who};

const WAREHOUSES: u32 = 2;
const SMALL: [(&str, &str); 4] = [
    ("store", "sql"),
    ("warehouses", "2"),
    ("cardinality", "hundredth"),
    ("transactions", "400"),
];

/// Knobs of an engine under which the store is tried too.
const MYROCKS: [(&str, &str); 1] = [("storage_engine", "rocksdb")];
const SNAPSHOT: [(&str, &str); 1] = [("isolation", "snapshot")];

/// The engine, unless it is not on this machine; then it says why.
fn found(name: &str) -> Option<&'static dyn Engine> {
    let engine = engine(name);
    match engine.build() {
        Ok(_) => Some(engine),
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

fn passes_on(name: &str, knobs: &[(&str, &str)]) {
    let Some(engine) = found(name) else {
        return;
    };
    let bench = Bench::turned(engine, Fault::None, 4, &SMALL, knobs);
    let (ended, conclusion) = bench.run();
    assert_eq!(ended.counts.iter().sum::<u64>(), 400);
    assert_right(&conclusion);
    assert_eq!(conclusion.results["store"].to_string(), "sql");
}

#[test]
fn the_conditions_hold_after_load_and_run_in_sqlites_sql() {
    passes_on("sqlite", &[]);
}

#[test]
fn the_conditions_hold_after_load_and_run_in_postgresqls_sql() {
    passes_on("postgresql", &[]);
}

#[test]
fn the_conditions_hold_after_load_and_run_in_mariadbs_sql() {
    passes_on("mariadb", &[]);
    passes_on("mariadb", &SNAPSHOT);
}

#[test]
fn the_conditions_hold_after_load_and_run_in_myrocks_sql() {
    passes_on("mariadb", &MYROCKS);
}

fn is_atomic_and_isolated(name: &str, knobs: &[(&str, &str)]) {
    let Some(engine) = found(name) else {
        return;
    };
    let given = [("cardinality", "hundredth")];
    let bench = Bench::turned(engine, Fault::None, 4, &given, knobs);
    let scale = Scale::new(1, Cardinality::Hundredth);
    let checks = bench.target(|target| {
        let suite = Suite::load(target, &scale, Store::Sql).unwrap();
        suite.run().unwrap()
    });
    for check in checks {
        assert!(check.passed, "{name}: {}: {}", check.name, check.detail);
    }
}

#[test]
fn engines_are_atomic_and_keep_transactions_apart_in_sql() {
    is_atomic_and_isolated("sqlite", &[]);
    is_atomic_and_isolated("postgresql", &[]);
    is_atomic_and_isolated("mariadb", &[]);
    is_atomic_and_isolated("mariadb", &SNAPSHOT);
    is_atomic_and_isolated("mariadb", &MYROCKS);
}

/// Everything that the tables hold, a line for each row.
fn contents(bench: &Bench, store: Store) -> Vec<String> {
    bench.target(|target| {
        let mut session = target.database.session().unwrap();
        let mut tables = tables(&mut *session, store).unwrap();
        let mut lines = Vec::new();
        // Reading stocks takes their locks.
        tables.begin(Mode::Write).unwrap();
        for warehouse in 1..=WAREHOUSES {
            for table in Table::ALL {
                if !matches!(table, Table::History | Table::Item) {
                    let rows = tables.read_table(table, warehouse).unwrap();
                    lines.push(format!("{warehouse} {table:?} {rows} rows"));
                }
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
    for district in 1..=DISTRICTS {
        lines.push(format!(
            "{:?}",
            tables.district_state(warehouse, district).unwrap()
        ));
        let mut visit = |row| lines.push(format!("{row:?}"));
        tables.each_order(warehouse, district, &mut visit).unwrap();
        let mut visit = |row| lines.push(format!("{row:?}"));
        tables
            .each_new_order(warehouse, district, &mut visit)
            .unwrap();
        let mut visit = |row| lines.push(format!("{row:?}"));
        tables
            .each_order_line(warehouse, district, &mut visit)
            .unwrap();
        let mut customer = CustomerRow::default();
        let mut orders = Vec::new();
        for id in 1..=scale.customers {
            let (who, out) = (Who::Number(id), &mut customer);
            tables
                .customer(warehouse, district, &who, Intent::Show, out)
                .unwrap();
            lines.push(format!(
                "{:?}",
                CustomerRow {
                    data: customer.data,
                    ..customer
                }
            ));
            let by_name = Who::LastName(customer.last);
            let (intent, out) = (Intent::Show, &mut customer);
            tables
                .customer(warehouse, district, &by_name, intent, out)
                .unwrap();
            lines.push(format!("the middle one is {}", customer.id));
            let last = tables.last_order(warehouse, district, id).unwrap();
            lines.push(format!("{last:?}"));
            if let Some(order) = last {
                tables
                    .order_lines(warehouse, district, order.id, &mut orders)
                    .unwrap();
                lines.push(format!("{orders:?}"));
            }
        }
        let low = tables.low_stock(warehouse, district, 15).unwrap();
        lines.push(format!("{low} low stocks"));
    }
}

fn filled(engine: &dyn Engine, store: &'static str) -> Vec<String> {
    let mut given = SMALL.to_vec();
    given[0] = ("store", store);
    let bench = Bench::new(engine, Fault::None, 1, &given);
    assert_right(&bench.run().1);
    contents(&bench, Store::named(store).unwrap())
}

#[test]
fn one_worker_leaves_the_same_rows_in_every_store() {
    let expected = filled(engine("sqlite"), "kv");
    assert!(expected.len() > 5_000, "{}", expected.len());
    for name in ["sqlite", "postgresql", "mariadb"] {
        let Some(engine) = found(name) else {
            continue;
        };
        let rows = filled(engine, "sql");
        let differing = expected.iter().zip(&rows).find(|(kv, sql)| kv != sql);
        assert_eq!(differing, None, "{name}");
        assert_eq!(rows.len(), expected.len(), "{name}");
    }
}
