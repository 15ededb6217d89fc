//! Symas's tables of 2014 beside ours.

use crate::support::{report, spec, terminal, valid};
use trueput_findings::symas::{
    MemoryPolicy, SymasRow, counterpart, document_name, published_engine, published_rows,
};
use trueput_record::measurement::LoadReport;
use trueput_record::published::named;
use trueput_record::trial::Settings;
use trueput_record::{Durability, TrialRecord, Value};
use trueput_report::document::{Block, Table};
use trueput_report::symas::{document, load_ratios, load_table, run_ratios, run_table};

/// A row of ours. Its figures are those of a machine ten times as fast as LMDB's of 2014.
fn ours(engine: &str, readers: Option<u32>, slower: f64) -> SymasRow {
    let rate = |per_s: f64| readers.map(|readers| f64::from(readers) * per_s / slower);
    SymasRow {
        engine: engine.to_owned(),
        label: document_name(engine).unwrap_or(engine).to_owned(),
        policy: MemoryPolicy::Local,
        readers,
        wall_s: 6.0 * slower,
        user_s: 4.0 * slower,
        system_s: 2.0 * slower,
        cpu_percent: 100.0,
        db_size_kib: 1_258_128,
        process_size_kib: 1_260_000,
        total_size_kib: 1_260_000,
        voluntary_context_switches: 4,
        involuntary_context_switches: 0,
        writes_per_s: rate(1_000.0),
        reads_per_s: rate(100_000.0),
    }
}

/// The cell of a row, of a column by its title.
fn cell<'a>(table: &'a Table, row: usize, title: &str) -> &'a str {
    let place = table
        .columns
        .iter()
        .position(|column| column.title == title)
        .unwrap_or_else(|| panic!("no column {title}"));
    &table.rows[row][place]
}

#[test]
fn every_published_row_is_read() {
    let rows = published_rows().unwrap();
    assert_eq!(rows.iter().filter(|row| row.readers.is_none()).count(), 20);
    assert_eq!(rows.iter().filter(|row| row.readers.is_some()).count(), 77);
    let lmdb = &rows[4];
    assert_eq!((lmdb.label.as_str(), lmdb.wall_s), ("LMDB", 65.73));
    assert_eq!(lmdb.policy, MemoryPolicy::Local);
    assert_eq!(rows[20].policy, MemoryPolicy::Interleave);
}

#[test]
fn every_engine_of_the_document_has_one_of_ours() {
    let knobs = |name: &str, value: &str| Settings::from([(name.to_owned(), Value::from(value))]);
    let none = Settings::new;
    let mapped = [
        published_engine("leveldb", "/usr/lib/libleveldb.so.1d", &none()),
        published_engine(
            "leveldb",
            "/opt/basho-leveldb-2.0.33/libleveldb.so",
            &none(),
        ),
        published_engine("berkeleydb", "/usr/lib/libdb-5.3.so", &none()),
        published_engine("leveldb", "/opt/HyperLevelDB-1.0.2/libleveldb.so", &none()),
        published_engine("lmdb", "compiled in", &none()),
        published_engine("rocksdb", "r.so", &knobs("preset", "default")),
        published_engine("rocksdb", "r.so", &knobs("preset", "prefix")),
        published_engine("tokudb", "t.so", &none()),
        published_engine("wiredtiger", "w.so", &knobs("table", "lsm")),
        published_engine("wiredtiger", "w.so", &knobs("table", "btree")),
    ];
    let load = named("symas-2014-load").unwrap();
    let engines: Vec<_> = load
        .records()
        .take(10)
        .map(|row| row.text("engine"))
        .collect();
    assert_eq!(engines, mapped);
    for other in ["mdbx", "sqlite", "redb", "fjall", "null", "gtm"] {
        assert_eq!(published_engine(other, "compiled in", &none()), None);
    }
}

#[test]
fn the_published_row_stands_under_ours() {
    let published = published_rows().unwrap();
    let rows = [ours("lmdb", None, 1.0), ours("redb", None, 2.0)];
    let table = load_table(&rows, &published);
    let from: Vec<_> = table
        .rows
        .iter()
        .map(|row| (row[0].as_str(), row[1].as_str()))
        .collect();
    // redb has no row in the document.
    let expected = [
        ("LMDB", "here, local"),
        ("LMDB", "2014, local"),
        ("redb", "here, local"),
    ];
    assert_eq!(from, expected);
    assert_eq!(cell(&table, 1, "wall"), "01:05.73");
    assert_eq!(cell(&table, 1, "DB KiB"), "12,580,708");
    assert_eq!(cell(&table, 0, "DB KiB"), "1,258,128");
    assert_eq!(
        table.columns.len(),
        11,
        "the document's, the engine and whose it is"
    );
}

#[test]
fn a_load_is_set_beside_the_same_memory_policy() {
    let published = published_rows().unwrap();
    let mut row = ours("lmdb", None, 1.0);
    assert_eq!(counterpart(&row, &published).unwrap().wall_s, 65.73);
    let from =
        |row: &SymasRow| load_table(std::slice::from_ref(row), &published).rows[1][1].clone();
    assert_eq!(from(&row), "2014, local");
    row.policy = MemoryPolicy::Interleave;
    assert_eq!(counterpart(&row, &published).unwrap().wall_s, 69.76);
    assert_eq!(from(&row), "2014, interleaved");
}

#[test]
fn a_run_is_set_beside_the_same_number_of_readers() {
    let published = published_rows().unwrap();
    let rows = [1, 2, 3].map(|readers| ours("rocksdb-prefix", Some(readers), 4.0));
    let table = run_table("RocksDBpfx", &rows, &published);
    let from: Vec<_> = table
        .rows
        .iter()
        .map(|row| (row[0].as_str(), row[1].as_str()))
        .collect();
    // The document has no run with 3 readers.
    let expected = [
        ("1", "here"),
        ("1", "2014"),
        ("2", "here"),
        ("2", "2014"),
        ("3", "here"),
    ];
    assert_eq!(from, expected);
    assert_eq!(cell(&table, 3, "reads/s"), "316,705");
    assert_eq!(cell(&table, 2, "reads/s"), "50,000");
    assert!(run_table("LMDB", &rows, &published).rows.is_empty());
}

#[test]
fn ratios_are_taken_inside_each_set() {
    let published = published_rows().unwrap();
    let rows = [ours("lmdb", None, 1.0), ours("leveldb", None, 3.0)];
    let table = load_ratios(&rows, &published);
    assert_eq!(cell(&table, 0, "wall"), "1.00");
    assert_eq!(cell(&table, 1, "wall"), "1.00");
    assert_eq!(cell(&table, 2, "wall"), "3.00");
    // 564.39 s over 65.73 s.
    assert_eq!(cell(&table, 3, "wall"), "8.59");
    // Our LMDB was never switched against its will: no ratio, rather than infinity.
    assert_eq!(cell(&table, 2, "switches, involuntary"), "-");
    // The control: without LMDB of ours there are only the document's ratios.
    let alone = load_ratios(&rows[1..], &published);
    assert_eq!(cell(&alone, 0, "wall"), "-");
    assert_eq!(cell(&alone, 1, "wall"), "8.59");
}

#[test]
fn a_run_is_also_compared_with_one_reader_of_its_own() {
    let published = published_rows().unwrap();
    let mut rows = Vec::new();
    for engine in ["lmdb", "leveldb"] {
        rows.extend([1, 8].map(|readers| ours(engine, Some(readers), 2.0)));
    }
    let table = run_ratios(&rows, &published);
    assert_eq!(table.rows.len(), 8);
    // LMDB of 2014: 1,904,389 over 245,876; LevelDB 102,425 over 24,144.
    assert_eq!(cell(&table, 3, "reads over 1 reader's"), "7.75");
    assert_eq!(cell(&table, 7, "reads over 1 reader's"), "4.24");
    assert_eq!(cell(&table, 6, "reads over 1 reader's"), "8.00");
    // 102,425 over LMDB's 1,904,389 with as many readers.
    assert_eq!(cell(&table, 7, "reads/s"), "0.0538");
}

#[test]
fn the_document_has_only_the_tables_that_there_are_rows_for() {
    let headings = |rows: &[SymasRow]| -> Vec<String> {
        let blocks = document(rows, Vec::new()).unwrap();
        let heading = |block: &Block| match block {
            Block::Heading(3, text) => Some(text.clone()),
            _ => None,
        };
        for block in &blocks {
            if let Block::Table(table) = block {
                let width = table.columns.len();
                assert!(table.rows.iter().all(|row| row.len() == width));
            }
        }
        blocks.iter().filter_map(heading).collect()
    };
    assert_eq!(
        headings(&[ours("lmdb", None, 1.0)]),
        ["Load", "Load, each figure over LMDB's"]
    );
    let run = headings(&[ours("lmdb", Some(1), 1.0), ours("redb", Some(1), 1.0)]);
    assert_eq!(
        run[..2],
        ["LMDB, read while writing", "redb, read while writing"]
    );
    assert_eq!(run.len(), 3);
    assert!(headings(&[]).is_empty());
}

/// A trial of lmdb with this many readers of this many records beside one writer.
fn read_while_writing(cell: u32, readers: u32) -> TrialRecord {
    let mut spec = spec(cell, "lmdb", Durability::Process, 1);
    spec.workload = "micro".to_owned();
    spec.workers = readers;
    spec.settings = [
        ("test", Value::from("read-while-writing")),
        ("records", Value::Integer(400_000)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    spec.conditions.duration_s = Some(2.4);
    let mut record = valid(spec, 100_000.0);
    record.load = Some(LoadReport::default());
    record
}

#[test]
fn what_is_not_the_same_here_and_in_2014_is_said_point_by_point() {
    let text = terminal(&report(vec![read_while_writing(0, 1)]), 4_000);
    for part in [
        "machine: here Model 9000, 2 cores, 24.0 GiB of memory, Linux 6.18.0; there 64 CPU cores in 8",
        "version: here lmdb 1.2.3; there source revisions of August 2014: LevelDB e353fbc",
        "records: here 400000; there 100000000",
        "duration: here 2.4s; there 600s",
        "memory of the runs: here on the node that first touches it; there interleaved",
        "2014, local",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The control: at the document's own size there is nothing to say of it.
    let mut same = read_while_writing(0, 1);
    let records = Value::Integer(100_000_000);
    same.spec.settings.insert("records".to_owned(), records);
    assert!(!terminal(&report(vec![same]), 4_000).contains("records: here"));
}
