//! Published tables whose rows are paired with ours: those of Symas of 2014, with columns for the
//! resources of load and run.

use crate::support::{flat, report, spec, terminal, valid};
use trueput_findings::published::{PublishedComparison, RatioTable, comparison, comparisons};
use trueput_record::conditions::NumaPolicy;
use trueput_record::measurement::{DatabaseSize, LoadReport, Resources};
use trueput_record::published::{Cell, PublishedTable, named};
use trueput_record::{Durability, TrialRecord, Value};

const LOAD: &str = "symas-2014-load";
const RUN: &str = "symas-2014-read-while-writing";

/// A trial of an engine with this many readers and one writer: its load and its run take `slower`
/// times as long as the fastest.
fn trial(cell: u32, engine: &str, readers: u32, slower: f64) -> TrialRecord {
    let mut spec = spec(cell, engine, Durability::Process, 1);
    spec.workload = "micro".to_owned();
    spec.workers = readers;
    spec.knobs.clear();
    spec.settings = [
        ("test", Value::from("read-while-writing")),
        ("records", Value::Integer(400_000)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    spec.conditions.duration_s = Some(24.0);
    let mut record = valid(spec, f64::from(readers) * 1_000.0 / slower);
    let resources = Resources {
        user_cpu_s: 4.0 * slower,
        system_cpu_s: 2.0 * slower,
        max_rss_bytes: 1_260_000 << 10,
        voluntary_context_switches: 4,
        involuntary_context_switches: 0,
        ..Resources::default()
    };
    let database = DatabaseSize {
        allocated_bytes: 1_258_128 << 10,
        ..DatabaseSize::default()
    };
    record.load = Some(LoadReport {
        elapsed_s: 6.0 * slower,
        resources,
        database,
        ..LoadReport::default()
    });
    if let Some(measurement) = &mut record.measurement {
        measurement.elapsed_s = 6.0 * slower;
        measurement.resources = resources;
        measurement.database = database;
    }
    record
}

/// A trial of an engine whose library is at `origin`, with a knob where one is named.
fn variant(cell: u32, engine: &str, origin: &str, knob: Option<(&str, &str)>) -> TrialRecord {
    let mut record = trial(cell, engine, 1, 2.0);
    if let Some(engine) = &mut record.engine {
        engine.origin = origin.to_owned();
    }
    let knobs = knob.map(|(name, value)| (name.to_owned(), Value::from(value)));
    record.spec.knobs.extend(knobs);
    record
}

fn beside(id: &str, trials: Vec<TrialRecord>) -> PublishedComparison {
    comparison(&named(id).unwrap(), &report(trials)).unwrap()
}

/// For each row, whether it is ours, and its first two cells.
fn keys(comparison: &PublishedComparison) -> Vec<(bool, String, String)> {
    let key = |row: &trueput_findings::published::ComparedRow| {
        (row.ours, row.cells[0].to_string(), row.cells[1].to_string())
    };
    comparison.rows.iter().map(key).collect()
}

fn cell<'a>(comparison: &'a PublishedComparison, row: usize, column: &str) -> &'a Cell {
    let mut columns = comparison.columns.iter();
    let place = columns.position(|one| one.name == column).unwrap();
    &comparison.rows[row].cells[place]
}

/// Ours and theirs of the ratio of a figure whose first key is `key`, and its second `other`.
fn ratio(table: &RatioTable, figure: &str, key: &str, other: &str) -> [String; 2] {
    let found = table.rows.iter().find(|row| {
        let of_figure = row.figure.as_deref().is_none_or(|one| one == figure);
        of_figure && row.keys[0] == key && row.keys[1] == other
    });
    let found = found.unwrap_or_else(|| panic!("no {figure} of {key}, {other}: {table:#?}"));
    let shown = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.4}"));
    [shown(found.here), shown(found.there)]
}

#[test]
fn every_engine_of_the_document_has_one_of_ours() {
    let variants = [
        ("leveldb", "/usr/lib/libleveldb.so.1d", None),
        ("leveldb", "/opt/basho-leveldb-2.0.33/libleveldb.so", None),
        ("berkeleydb", "/usr/lib/libdb-5.3.so", None),
        ("leveldb", "/opt/HyperLevelDB-1.0.2/libleveldb.so", None),
        ("lmdb", "compiled in", None),
        ("rocksdb", "r.so", Some(("preset", "default"))),
        ("rocksdb", "r.so", Some(("preset", "prefix"))),
        ("tokudb", "t.so", None),
        ("wiredtiger", "w.so", Some(("table", "lsm"))),
        ("wiredtiger", "w.so", Some(("table", "btree"))),
    ];
    let trials = (0..).zip(variants);
    let trials: Vec<_> = trials
        .map(|(cell, (engine, origin, knob))| variant(cell, engine, origin, knob))
        .collect();
    let comparison = beside(LOAD, trials);
    let published = named(LOAD).unwrap();
    let names = |table: &PublishedTable| -> Vec<String> {
        let rows = table.records().take(10);
        rows.map(|row| row.text("engine").unwrap().to_owned())
            .collect()
    };
    let ours = keys(&comparison).into_iter().filter(|(ours, ..)| *ours);
    let ours: Vec<_> = ours.map(|(_, engine, _)| engine).collect();
    assert_eq!(ours, names(&published));
    assert_eq!(comparison.rows.len(), 20);
    // The control: of other engines the document has none.
    for other in ["mdbx", "sqlite", "redb", "fjall", "null", "gtm"] {
        let comparison = beside(LOAD, vec![variant(0, other, "compiled in", None)]);
        let only = (true, other.to_owned(), "local".to_owned());
        assert_eq!(keys(&comparison), [only]);
    }
}

#[test]
fn the_published_row_stands_under_ours() {
    let comparison = beside(
        LOAD,
        vec![trial(0, "lmdb", 1, 1.0), trial(1, "redb", 1, 2.0)],
    );
    // redb has no row in the document.
    let expected = [(true, "redb"), (true, "lmdb"), (false, "lmdb")];
    let expected = expected.map(|(ours, name)| (ours, name.to_owned(), "local".to_owned()));
    assert_eq!(keys(&comparison), expected);
    assert_eq!(cell(&comparison, 2, "wall_s").figure(), Some(65.73));
    let figure = |column| cell(&comparison, 1, column).figure().unwrap();
    assert_eq!(figure("wall_s"), 6.0);
    assert_eq!(figure("cpu_percent"), 100.0);
    assert_eq!(figure("db_size_kib"), 1_258_128.0);
    // LMDB maps its database, redb does not.
    assert_eq!(figure("total_size_kib"), 1_260_000.0);
    let total = cell(&comparison, 0, "total_size_kib").figure();
    assert_eq!(total, Some(2_518_128.0));
    assert_eq!(comparison.columns.len(), 11, "the document's");
}

#[test]
fn a_load_is_set_beside_the_same_memory_policy() {
    let mut record = trial(0, "lmdb", 1, 1.0);
    let theirs = |record: &TrialRecord| {
        let comparison = beside(LOAD, vec![record.clone()]);
        (
            cell(&comparison, 1, "wall_s").figure(),
            keys(&comparison)[1].2.clone(),
        )
    };
    assert_eq!(theirs(&record), (Some(65.73), "local".to_owned()));
    record.spec.conditions.numa = Some(NumaPolicy::Interleave(Vec::new()));
    assert_eq!(theirs(&record), (Some(69.76), "interleave".to_owned()));
}

#[test]
fn a_run_is_set_beside_the_same_number_of_readers() {
    let trials = [1, 2, 3].map(|readers| {
        let mut record = trial(readers, "rocksdb", readers, 4.0);
        let prefix = ("preset".to_owned(), Value::from("prefix"));
        record.spec.knobs.extend([prefix]);
        record
    });
    let comparison = beside(RUN, trials.to_vec());
    // The document has no run with 3 readers.
    let expected = [
        (true, "3"),
        (true, "1"),
        (false, "1"),
        (true, "2"),
        (false, "2"),
    ];
    let expected =
        expected.map(|(ours, readers)| (ours, "rocksdb-prefix".to_owned(), readers.to_owned()));
    assert_eq!(keys(&comparison), expected);
    assert_eq!(
        cell(&comparison, 4, "reads_per_s").figure(),
        Some(316_705.0)
    );
    assert_eq!(cell(&comparison, 3, "writes_per_s").figure(), Some(500.0));
}

#[test]
fn levels_and_builds_of_one_engine_have_rows_of_their_own() {
    let mut other = trial(1, "lmdb", 1, 2.0);
    other.spec.durability = Durability::Async;
    let comparison = beside(RUN, vec![trial(0, "lmdb", 1, 1.0), other]);
    let who = comparison.rows.iter().map(|row| row.who.as_str());
    assert_eq!(who.collect::<Vec<_>>(), ["process", "async", ""]);
    // The control: what nothing tells apart is one row, of the median of its repeats.
    let repeats = [1.0, 2.0, 4.0].map(|slower| trial(0, "lmdb", 1, slower));
    let comparison = beside(RUN, repeats.to_vec());
    assert_eq!(comparison.rows.len(), 2);
    assert_eq!(cell(&comparison, 0, "wall_s").figure(), Some(12.0));
}

#[test]
fn ratios_are_taken_inside_each_set() {
    let leveldb = || trial(1, "leveldb", 1, 3.0);
    let comparison = beside(LOAD, vec![trial(0, "lmdb", 1, 1.0), leveldb()]);
    let over = "leveldb over lmdb";
    // 564.39 s over 65.73 s.
    let table = &comparison.ratios[0];
    assert_eq!(ratio(table, "wall_s", over, "local"), ["3.0000", "8.5865"]);
    // Our LMDB was never switched against its will: no ratio, rather than infinity.
    let switches = ratio(table, "involuntary_context_switches", over, "local");
    assert_eq!(switches, ["-", "3.2552"]);
    // The control: without LMDB of ours there are only the document's ratios.
    let alone = beside(LOAD, vec![leveldb()]);
    let ratios = ratio(&alone.ratios[0], "wall_s", over, "local");
    assert_eq!(ratios, ["-", "8.5865"]);
}

#[test]
fn a_ratio_between_engines_is_taken_whatever_else_tells_a_contender() {
    let mut trials = vec![trial(0, "lmdb", 1, 1.0)];
    for (cell, buffers) in [(1, 8), (2, 16)] {
        let mut record = trial(cell, "leveldb", 1, f64::from(cell) * 2.0);
        let knob = ("write_buffer".to_owned(), Value::Integer(buffers));
        record.spec.knobs.extend([knob]);
        trials.push(record);
    }
    let comparison = beside(LOAD, trials);
    let rows = comparison.ratios[0].rows.iter();
    let wall = rows.filter(|row| row.figure.as_deref() == Some("wall_s"));
    let wall: Vec<_> = wall.map(|row| (row.who.as_str(), row.here)).collect();
    let expected = [
        ("write_buffer=8", Some(2.0)),
        ("write_buffer=16", Some(4.0)),
    ];
    assert_eq!(wall, expected);
}

#[test]
fn a_run_is_also_compared_with_one_reader_of_its_own() {
    let mut trials = Vec::new();
    for engine in ["lmdb", "leveldb"] {
        trials.extend([1, 8].map(|readers| trial(trials.len() as u32, engine, readers, 2.0)));
    }
    let comparison = beside(RUN, trials);
    let of = |title: &str| {
        let mut tables = comparison.ratios.iter();
        tables.find(|table| table.title == title).unwrap()
    };
    // LMDB of 2014: 1,904,389 over 245,876; LevelDB 102,425 over 24,144.
    let one = of("reads over those of one reader");
    let reads = |engine| ratio(one, "reads_per_s", "8 over 1", engine);
    assert_eq!(reads("lmdb"), ["8.0000", "7.7453"]);
    assert_eq!(reads("leveldb"), ["8.0000", "4.2423"]);
    // 102,425 over LMDB's 1,904,389 with as many readers.
    let all = of("each run over lmdb's with as many readers");
    let reads = ratio(all, "reads_per_s", "leveldb over lmdb", "8");
    assert_eq!(reads, ["1.0000", "0.0538"]);
    assert_eq!(all.rows.len(), 22, "11 figures with 1 and with 8 readers");
}

#[test]
fn the_report_has_only_the_tables_that_there_are_rows_for() {
    let ids = |trials: Vec<TrialRecord>| -> Vec<String> {
        let found = comparisons(&report(trials)).unwrap();
        found.into_iter().map(|one| one.id).collect()
    };
    assert_eq!(ids(vec![trial(0, "lmdb", 1, 1.0)]), [LOAD, RUN]);
    // A trial on the database of another has no load of its own.
    let mut reader = trial(0, "lmdb", 1, 1.0);
    reader.load = None;
    assert_eq!(ids(vec![reader]), [RUN]);
    let mut other = trial(0, "lmdb", 1, 1.0);
    let test = ("test".to_owned(), Value::from("fill-sequential"));
    other.spec.settings.extend([test]);
    assert!(ids(vec![other]).is_empty());
    assert!(ids(Vec::new()).is_empty());
}

#[test]
fn ratios_of_a_pair_stand_one_above_the_other_with_a_column_for_each_figure() {
    let trials = vec![trial(0, "lmdb", 1, 1.0), trial(1, "leveldb", 1, 3.0)];
    let text = terminal(&report(trials), 4_000);
    let text: Vec<_> = text.lines().map(flat).collect();
    for line in [
        "engine numa from wall_s user_s",
        "leveldb over lmdb local here 3.00 3.00 3.00 1.00 1.00 1.00",
        "leveldb over lmdb local 2014 8.59 5.89 2.56",
        "here lmdb local 6.00 4.00 2.00 100 1,258,128 1,260,000 1,260,000 4 0",
        "2014 lmdb local 65.73 45.22 20.43 99 12,580,708 12,583,076 12,583,076 9 192",
    ] {
        let line = line.replace("engine numa", "engine memory_policy");
        assert!(
            text.iter().any(|one| one.starts_with(&line)),
            "{line}: {text:#?}"
        );
    }
}

#[test]
fn what_is_not_the_same_here_and_in_2014_is_said_point_by_point() {
    let text = terminal(&report(vec![trial(0, "lmdb", 1, 1.0)]), 4_000);
    assert_has!(
        text,
        "machine: here Model 9000, 2 cores, 24.0 GiB of memory, Linux 6.18.0; there \
         64 CPU cores in 8",
        "version: here lmdb 1.2.3; there source revisions of August 2014: LevelDB e353fbc",
        "records: here 400000; there 100000000",
        "duration: here 24s; there 600s",
        "numa: here local; there interleave"
    );
    // The control: at the document's own size there is nothing to say of it.
    let mut same = trial(0, "lmdb", 1, 1.0);
    let records = Value::Integer(100_000_000);
    same.spec.settings.insert("records".to_owned(), records);
    assert!(!terminal(&report(vec![same]), 4_000).contains("records: here"));
}

#[test]
fn a_mark_is_shown_and_keeps_no_ratio_away() {
    let mut leveldb = trial(1, "leveldb", 1, 3.0);
    if let Some(engine) = &mut leveldb.engine {
        engine.workaround = Some("a lock around a function".to_owned());
    }
    let trials = vec![trial(0, "lmdb", 1, 1.0), leveldb];
    let comparison = beside(LOAD, trials.clone());
    let mut rows = comparison.ratios[0].rows.iter();
    let wall = rows.find(|row| row.figure.as_deref() == Some("wall_s"));
    let wall = wall.map(|row| (row.who.as_str(), row.here));
    assert_eq!(wall, Some(("[workaround]", Some(3.0))));
    let text = terminal(&report(trials), 4_000);
    assert_has!(text, "here: [workaround]");
}
