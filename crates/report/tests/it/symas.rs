//! Symas's tables of 2014 beside ours: the names of contenders, the load, and the ratios.

use crate::support::{report, spec, terminal, valid};
use trueput_findings::published::{Comparison, RatioRow, comparison};
use trueput_record::conditions::NumaPolicy;
use trueput_record::measurement::{LoadReport, OperationSummary};
use trueput_record::published::named;
use trueput_record::{Durability, TrialRecord, Value};

const LOAD: &str = "symas-2014-load";
const RUN: &str = "symas-2014-read-while-writing";

/// A trial with this many readers beside one writer; its load took 6 s times `slower`.
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
    spec.conditions.duration_s = Some(2.4);
    let mut record = valid(spec, 1_000.0 / slower);
    let mut load = LoadReport {
        elapsed_s: 6.0 * slower,
        ..LoadReport::default()
    };
    load.resources.user_cpu_s = 4.0 * slower;
    load.resources.system_cpu_s = 2.0 * slower;
    load.database.allocated_bytes = 1_258_128 << 10;
    load.resources.max_rss_bytes = 1_260_000 << 10;
    record.load = Some(load);
    let per_s = f64::from(readers) * 100_000.0 / slower;
    let is_read = |one: &&mut OperationSummary| one.kind == "read";
    let measured = record.measurement.as_mut().unwrap();
    for read in measured.operations.iter_mut().filter(is_read) {
        read.per_s = per_s;
    }
    record
}

fn beside(id: &str, trials: Vec<TrialRecord>) -> Comparison {
    comparison(&named(id).unwrap(), &report(trials)).unwrap()
}

/// The cell of a row, of a column by its name, as plain text.
fn cell(comparison: &Comparison, row: usize, name: &str) -> String {
    let mut columns = comparison.columns.iter();
    let place = columns.position(|column| column.name == name).unwrap();
    comparison.rows[row].cells[place].to_string()
}

/// The ratio of a figure whose keys include these words.
fn ratio<'a>(comparison: &'a Comparison, title: &str, words: &[&str]) -> Option<&'a RatioRow> {
    let mut tables = comparison.ratios.iter();
    let table = tables.find(|table| table.title.starts_with(title))?;
    let mut rows = table.rows.iter();
    rows.find(|row| {
        words
            .iter()
            .all(|word| row.keys.iter().any(|key| key == word))
    })
}

#[test]
fn every_engine_of_the_document_has_one_of_ours() {
    let ours = [
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
    let load = named(LOAD).unwrap();
    let published = load.records().take(10).map(|row| row.text("engine"));
    for ((engine, library, knob), expected) in ours.into_iter().zip(published) {
        let mut one = trial(0, engine, 1, 1.0);
        one.engine.as_mut().unwrap().origin = library.to_owned();
        let knobs = knob.map(|(name, value)| (name.to_owned(), Value::from(value)));
        one.spec.knobs = knobs.into_iter().collect();
        let found = beside(LOAD, vec![one]);
        assert_eq!(Some(cell(&found, 0, "engine").as_str()), expected);
        assert_eq!(found.rows.len(), 2, "{expected:?}: ours and the document's");
        assert_eq!(found.rows[0].who, "", "the column tells it");
    }
    let other = beside(LOAD, vec![trial(0, "redb", 1, 1.0)]);
    assert_eq!(cell(&other, 0, "engine"), "redb");
    assert_eq!(other.rows.len(), 1, "the document has none");
}

#[test]
fn a_load_is_set_beside_the_same_memory_policy() {
    let mut ours = trial(0, "lmdb", 1, 1.0);
    let local = beside(LOAD, vec![ours.clone()]);
    assert_eq!(cell(&local, 1, "memory_policy"), "local");
    assert_eq!(cell(&local, 1, "wall_s"), "65.73");
    assert_eq!(cell(&local, 0, "wall_s"), "6");
    assert_eq!(cell(&local, 0, "cpu_percent"), "100");
    assert_eq!(cell(&local, 0, "db_size_kib"), "1258128");
    // LMDB maps its database: its pages count once.
    assert_eq!(cell(&local, 0, "total_size_kib"), "1260000");
    ours.spec.conditions.numa = Some(NumaPolicy::Interleave(vec![0]));
    let interleaved = beside(LOAD, vec![ours]);
    assert_eq!(cell(&interleaved, 1, "wall_s"), "69.76");
    let apart = beside(LOAD, vec![trial(0, "leveldb", 1, 1.0)]);
    assert_eq!(cell(&apart, 0, "total_size_kib"), "2518128");
}

#[test]
fn a_trial_that_loaded_nothing_has_no_row_among_the_loads() {
    let mut second = trial(1, "lmdb", 2, 1.0);
    second.load = None;
    let found = beside(LOAD, vec![trial(0, "lmdb", 1, 1.0), second.clone()]);
    assert_eq!(found.rows.iter().filter(|row| row.ours).count(), 1);
    let table = named(LOAD).unwrap();
    assert!(comparison(&table, &report(vec![second])).is_none());
}

#[test]
fn a_run_is_set_beside_the_same_number_of_readers() {
    let of_readers = |readers| trial(readers, "lmdb", readers, 4.0);
    let found = beside(RUN, [1, 2, 3].map(of_readers).into());
    let rows: Vec<_> = (0..found.rows.len())
        .map(|row| (found.rows[row].ours, cell(&found, row, "readers")))
        .collect();
    // The document has no run with 3 readers: ours is first.
    let expected = [
        (true, "3"),
        (true, "1"),
        (false, "1"),
        (true, "2"),
        (false, "2"),
    ];
    assert_eq!(
        rows,
        expected.map(|(ours, readers)| (ours, readers.to_owned()))
    );
    assert_eq!(cell(&found, 3, "reads_per_s"), "50000");
}

#[test]
fn ratios_are_taken_inside_each_set() {
    let (mut lmdb, leveldb) = (trial(0, "lmdb", 1, 1.0), trial(1, "leveldb", 1, 3.0));
    lmdb.spec.durability = Durability::Sync;
    let found = beside(LOAD, vec![lmdb, leveldb.clone()]);
    let wall = ["wall_s", "leveldb over lmdb"];
    let ratio_of = |found, words| ratio(found, "each load over lmdb's", words);
    let wall = ratio_of(&found, &wall).unwrap();
    assert_eq!((wall.here, wall.there), (Some(3.0), Some(564.39 / 65.73)));
    // Our LMDB was never switched against its will: no ratio, rather than infinity.
    let switches = ["involuntary_context_switches", "leveldb over lmdb"];
    assert!(ratio_of(&found, &switches).is_none());
    // The control: without LMDB of ours there is nothing to set against the document's.
    assert!(beside(LOAD, vec![leveldb]).ratios.is_empty());
}

#[test]
fn a_run_is_also_compared_with_one_reader_of_its_own() {
    let mut trials = Vec::new();
    for engine in ["lmdb", "leveldb"] {
        for readers in [1, 8] {
            trials.push(trial(trials.len() as u32, engine, readers, 2.0));
        }
    }
    let found = beside(RUN, trials);
    let own = |engine| ratio(&found, "reads over those of one", &["8 over 1", engine]).unwrap();
    // LMDB of 2014: 1,904,389 over 245,876; LevelDB 102,425 over 24,144.
    let expected = (Some(8.0), Some(1_904_389.0 / 245_876.0));
    assert_eq!((own("lmdb").here, own("lmdb").there), expected);
    assert_eq!(own("leveldb").there, Some(102_425.0 / 24_144.0));
    let words = ["reads_per_s", "leveldb over lmdb", "8"];
    let over_lmdb = ratio(&found, "each run over lmdb's", &words).unwrap();
    assert_eq!(over_lmdb.there, Some(102_425.0 / 1_904_389.0));
}

#[test]
fn what_is_not_the_same_here_and_in_2014_is_said_point_by_point() {
    let text = terminal(&report(vec![trial(0, "lmdb", 1, 1.0)]), 4_000);
    for part in [
        "machine: here Model 9000, 2 cores, 24.0 GiB of memory, Linux 6.18.0; there 64 CPU cores in 8",
        "version: here lmdb 1.2.3; there source revisions of August 2014: LevelDB e353fbc",
        "records: here 400000; there 100000000",
        "duration: here 2.4s; there 600s",
        "Memory is on the node that first touches it, unless the plan interleaves it",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The control: at the document's own size there is nothing to say of it.
    let mut same = trial(0, "lmdb", 1, 1.0);
    let records = Value::Integer(100_000_000);
    same.spec.settings.insert("records".to_owned(), records);
    assert!(!terminal(&report(vec![same]), 4_000).contains("records: here"));
}

#[test]
fn a_mark_is_shown_and_keeps_no_ratio_away() {
    let mut leveldb = trial(1, "leveldb", 1, 3.0);
    let engine = leveldb.engine.as_mut().unwrap();
    engine.workaround = Some("a lock around a function".to_owned());
    let found = beside(LOAD, vec![trial(0, "lmdb", 1, 1.0), leveldb]);
    let wall = ratio(
        &found,
        "each load over lmdb's",
        &["wall_s", "leveldb over lmdb"],
    )
    .unwrap();
    assert_eq!((wall.here, wall.who.as_str()), (Some(3.0), "[workaround]"));
}
