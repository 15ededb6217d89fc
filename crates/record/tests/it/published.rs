//! The published tables that come with the program.

use trueput_record::Value;
use trueput_record::plan::Condition;
use trueput_record::published::{
    Cell, ColumnKind, Error, FIRST_OF, PublishedTable, all, ids, named,
};

/// Each table, with as many rows as the document that it was taken from.
const ROWS: [(&str, usize); 30] = [
    ("berkeleydb-log-flush", 1),
    ("fis-2010-threen1-answers", 4),
    ("fis-2010-threen1-elapsed", 4),
    ("fis-2010-threen1-magnetic-vs-ssd-jfs", 4),
    ("fis-2010-threen1-reads-per-second", 4),
    ("fis-2010-threen1-sync-io-full-block-writes", 8),
    ("fis-2010-threen1-updates-per-second", 4),
    ("fis-2011-threen1-gtm-before-after", 4),
    ("fis-2011-threen1-gtm-rates", 4),
    ("fis-2011-threen1-gtm-tuning", 16),
    ("fjall-2026-reads", 6),
    ("fjall-2026-updates", 6),
    ("informix-2010-oltp-cheats", 3),
    ("libdb-2026-wiredtiger", 18),
    ("redb-2025-load", 5),
    ("redb-2025-range-reads", 5),
    ("redb-2025-reads", 25),
    ("redb-2025-removals", 5),
    ("redb-2025-writes", 10),
    ("slatedb-2026-workloads", 6),
    ("smalldatum-2024-insert-engines", 30),
    ("smalldatum-2024-insert-postgresql", 60),
    ("smalldatum-2026-sysbench-engines", 24),
    ("smalldatum-2026-sysbench-mysql", 40),
    ("smalldatum-2026-sysbench-postgresql", 56),
    ("symas-2014-load", 20),
    ("symas-2014-read-while-writing", 77),
    ("ucsb-2022-10gb-passes", 12),
    ("ucsb-2022-10gb-reads", 12),
    ("ucsb-2022-10gb-updates", 8),
];

#[test]
fn half_of_redbs_pairs_are_removed_at_every_scale() {
    let experiment = named("redb-2025-removals").unwrap().experiment;
    let count = |name: &str| {
        assert!(
            experiment.scales.iter().any(|scaled| scaled == name),
            "{name}"
        );
        let setting = experiment.settings.iter().find(|one| one.name == name);
        match setting.unwrap().values[..] {
            [Value::Integer(count)] => count,
            ref other => panic!("{name}: {other:?}"),
        }
    };
    let (pairs, removed) = (count("settings.records"), count("settings.operations"));
    assert_eq!(pairs, 2 * removed);
}

const MINIMAL: &str = r#"
id = "x"
title = "t"
machine = "m"
version = "v"
conditions = ["c"]
caveats = ["c"]
source = { author = "a", document = "d", date = "2010-05", address = "none" }
experiment.workload = "threen1"
experiment.scale = 1.0
experiment.settings = [{ name = "workers", values = [4, 8] }]
[table]
columns = [
  { name = "engine", kind = "text", meaning = "m" },
  { name = "elapsed_s", kind = "number", meaning = "m" },
]
rows = [["lmdb", 1.5], ["redb", ""], ["gtm", [3.0, 1.0, 2.0]]]
"#;

#[test]
fn every_table_is_there_with_every_row() {
    let found: Vec<_> = all()
        .unwrap()
        .into_iter()
        .map(|table| (table.id.clone(), table.rows.len()))
        .collect();
    let expected = ROWS.map(|(id, rows)| (id.to_owned(), rows));
    assert_eq!(found, expected);
}

#[test]
fn every_file_of_the_folder_is_embedded() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../published");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    assert_eq!(files, ids());
}

#[test]
fn every_row_has_every_column_and_figures_are_figures() {
    let mut missing = Vec::new();
    for table in all().unwrap() {
        for (number, row) in table.rows.iter().enumerate() {
            assert_eq!(row.len(), table.columns.len(), "{} {number}", table.id);
            for (cell, column) in row.iter().zip(&table.columns) {
                if *cell == Cell::Missing {
                    missing.push((table.id.clone(), column.name.clone()));
                } else if column.kind != ColumnKind::Text {
                    let figure = cell.figure().unwrap();
                    assert!(figure >= 0.0, "{} {number} {}", table.id, column.name);
                }
            }
        }
    }
    // The one run that the documents tell was never finished.
    let btrfs = |kind: &str, column: &str| (format!("fis-2010-threen1-{kind}"), column.to_owned());
    assert_eq!(
        missing,
        [
            btrfs("elapsed", "btrfs_s"),
            btrfs("reads-per-second", "btrfs_reads_per_s"),
            btrfs("updates-per-second", "btrfs_updates_per_s"),
        ]
    );
}

#[test]
fn rates_and_times_of_one_run_agree() {
    // Updates per second times seconds is the number of updates, which depends on the range alone.
    let elapsed = named("fis-2010-threen1-elapsed").unwrap();
    let rates = named("fis-2010-threen1-updates-per-second").unwrap();
    let distinct = [2_168_610.0, 21_730_848.0, 43_456_268.0, 86_912_680.0];
    for ((time, rate), updates) in elapsed.records().zip(rates.records()).zip(distinct) {
        for file_system in ["ext4", "ext3", "ext2", "jfs", "btrfs", "xfs"] {
            let elapsed_s = time.figure(&format!("{file_system}_s"));
            let per_s = rate.figure(&format!("{file_system}_updates_per_s"));
            let (Some(elapsed_s), Some(per_s)) = (elapsed_s, per_s) else {
                continue;
            };
            // Seconds are whole ones.
            let tolerance = 0.01 + 0.5 / elapsed_s;
            let ratio = elapsed_s * per_s / updates;
            assert!((ratio - 1.0).abs() < tolerance, "{file_system}: {ratio}");
        }
    }
}

#[test]
fn the_sizes_of_the_2014_tables_add_up() {
    for id in ["symas-2014-load", "symas-2014-read-while-writing"] {
        for row in named(id).unwrap().records() {
            let size = |column| row.figure(column).unwrap();
            let (database, process) = (size("db_size_kib"), size("process_size_kib"));
            let total = size("total_size_kib");
            // LMDB's database is mapped into its process.
            let expected = if row.text("engine").unwrap().starts_with("lmdb") {
                process
            } else {
                database + process
            };
            assert_eq!(total, expected, "{id} {:?}", row.text("engine"));
        }
    }
}

#[test]
fn repeats_have_a_median_and_gaps_no_figure() {
    let table = PublishedTable::parse("x", MINIMAL).unwrap();
    let figures: Vec<_> = table.records().map(|row| row.figure("elapsed_s")).collect();
    assert_eq!(figures, [Some(1.5), None, Some(2.0)]);
    assert_eq!(table.rows[2][1].to_string(), "3;1;2");
    assert_eq!(table.rows[1][1].to_string(), "");
    assert_eq!(table.year(), Some(2010));
    let json = serde_json::to_value(&table).unwrap();
    assert_eq!(json["rows"][1], serde_json::json!(["redb", null]));
    assert_eq!(json["rows"][2][1], serde_json::json!([3.0, 1.0, 2.0]));
}

#[test]
fn a_table_that_does_not_fit_its_columns_is_refused() {
    let faults = [
        ("[\"lmdb\", 1.5]", "[\"lmdb\"]", "row 1 has 1 cells for 2"),
        (
            "[\"lmdb\", 1.5]",
            "[\"lmdb\", \"x\"]",
            "row 1, column 'elapsed_s'",
        ),
        ("[\"lmdb\", 1.5]", "[\"lmdb\", -1.5]", "'-1.5' does not fit"),
        ("[\"lmdb\", 1.5]", "[7, 1.5]", "column 'engine'"),
        ("id = \"x\"", "id = \"y\"", "its id is 'y'"),
        ("\"2010-05\"", "\"May 2010\"", "does not begin with a year"),
        (
            "\"elapsed_s\"",
            "\"engine\"",
            "two columns are named 'engine'",
        ),
        ("author = \"a\"", "author = \"\"", "is empty"),
        ("caveats = [\"c\"]", "caveats = []", "no caveats"),
        ("machine = \"m\"\n", "", "machine"),
        ("version = \"v\"\n", "", "version"),
        ("version = \"v\"", "version = \" \"", "or version is empty"),
        ("id = \"x\"", "id = \"x\"\nodd = 1", "odd"),
        ("scale = 1.0", "scale = 0.0", "its scale is 0"),
        ("scale = 1.0", "scale = 1.5", "its scale is 1.5"),
        (
            "[table]",
            "[beside]\nratios = [{ title = \"r\", figure = \"x\", along = [\"engine\"] }]\n[table]",
            "the ratio 'r' names no column 'x'",
        ),
        (
            "[table]",
            "[beside]\nratios = [{ title = \"r\", figure = \"elapsed_s\", along = [\"engine\"], \
             over = [1, 2] }]\n[table]",
            "has 2 values for 1 columns",
        ),
        (
            "[table]",
            "[beside]\nshares = [{ title = \"s\", figure = \"elapsed_s\", of = \"x\" }]\n[table]",
            "the share 's' names no column 'x'",
        ),
        (
            "name = \"engine\", kind = \"text\"",
            "name = \"engine\", kind = \"text\", at = \"ext4\"",
            "has no dimension",
        ),
    ];
    for (right, wrong, expected) in faults {
        assert!(MINIMAL.contains(right), "{right}");
        let error = PublishedTable::parse("x", &MINIMAL.replace(right, wrong)).unwrap_err();
        assert!(error.to_string().contains(expected), "{wrong}: {error}");
    }
}

#[test]
fn a_misspelled_id_is_told_the_nearest_one() {
    let error = named("symas-2014-lod").unwrap_err();
    assert!(matches!(error, Error::Unknown { .. }));
    let said = error.to_string();
    assert!(
        said.starts_with("no published table 'symas-2014-lod' (did you mean 'symas-2014-load'?)"),
        "{said}"
    );
    assert!(said.contains("informix-2010-oltp-cheats"), "{said}");
}

#[test]
fn a_column_of_ours_is_a_dimension_or_a_figure_that_is_known() {
    let known = |ours: &str| {
        let plain = [
            "engine",
            "workers",
            "step",
            "per_minute",
            "gain_percent",
            "flushes_alone_per_s",
            "speed_percent",
            "cost",
            "operations_per_s",
            "times_base",
            "compacted_kib",
        ];
        let usage = [
            "elapsed_s",
            "user_cpu_s",
            "system_cpu_s",
            "cpu_percent",
            "database_kib",
            "process_kib",
            "total_kib",
            "voluntary_context_switches",
            "involuntary_context_switches",
        ];
        let of_phase = ours.strip_prefix("load.").unwrap_or(ours);
        let begins = ["settings.", "knobs.gtm.", "results."];
        let ends = [".per_s", ".count"];
        plain.contains(&ours)
            || Condition::named(ours).is_some()
            || usage.contains(&of_phase)
            || begins.iter().any(|begin| ours.starts_with(begin))
            || ends.iter().any(|end| ours.ends_with(end))
    };
    let mut seen = 0;
    for table in all().unwrap().iter().filter(|table| table.beside.is_some()) {
        let named = table
            .columns
            .iter()
            .filter_map(|column| column.ours.as_ref());
        for ours in named.flat_map(|names| names.split(FIRST_OF)) {
            assert!(known(ours), "{}: {ours}", table.id);
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}
