//! Several builds of one engine in one run, and builds with assertions, which are not comparable.

use crate::support::{failed, report, spec, terminal, valid};
use trueput_findings::Run;
use trueput_findings::cells::RankedCell;
use trueput_findings::compare::{Selector, Side, compare_sides};
use trueput_findings::rankings::rankings;
use trueput_record::flush_evidence::{FlushBasis, FlushEvidence};
use trueput_record::{Durability, TrialRecord, TrialSpec, Value};
use trueput_report::{Format, RunReport, Style, compare};

const NEW: &str = "/opt/engines/rocksdb-11.8.1/librocksdb.so";
const OLD: &str = "/usr/lib/librocksdb.so.7.8.3";

/// A trial of RocksDB with the library at `path`, which the plan names if `named`.
fn rocksdb(cell: u32, version: &str, path: &str, named: bool, assertions: bool) -> TrialRecord {
    let build = named.then(|| path.into());
    let spec = TrialSpec {
        build,
        ..spec(cell, "rocksdb", Durability::Async, 1)
    };
    let mut trial = valid(spec, 100_000.0 / f64::from(cell + 1));
    if let Some(engine) = &mut trial.engine {
        engine.version = version.to_owned();
        engine.origin = path.to_owned();
        engine.sha256 = format!("{cell}c").repeat(32);
        engine.assertions = Some(assertions);
    }
    trial
}

fn both() -> Vec<TrialRecord> {
    vec![
        rocksdb(0, "11.8.1", NEW, false, false),
        rocksdb(1, "7.8.3", OLD, true, true),
    ]
}

fn markdown(trials: Vec<TrialRecord>) -> String {
    report(trials).render(Format::Markdown, Style::default())
}

#[test]
fn two_builds_of_an_engine_are_told_apart_by_version_with_their_files_below() {
    let text = terminal(&report(both()), 200);
    assert_has!(
        text,
        "rocksdb 11.8.1",
        "rocksdb 7.8.3",
        "rocksdb 11.8.1: version 11.8.1, /opt/engines/rocksdb-11.8.1/librocksdb.so, SHA-256 0c0c",
        "rocksdb 7.8.3: version 7.8.3, /usr/lib/librocksdb.so.7.8.3, SHA-256 1c1c"
    );
    assert!(!text.contains("rocksdb@"), "{text}");
}

#[test]
fn one_build_alone_bears_the_engines_name() {
    for named in [false, true] {
        let text = markdown(vec![rocksdb(0, "11.8.1", NEW, named, false)]);
        assert_has!(text, "settings: rocksdb: version 11.8.1,");
        assert!(text.contains(NEW), "{text}");
    }
}

#[test]
fn builds_of_one_version_are_told_apart_by_file_else_by_path() {
    let relative = "/opt/librelative.so";
    let text = markdown(vec![
        rocksdb(0, "1.23", NEW, false, false),
        rocksdb(1, "1.23", relative, true, false),
    ]);
    assert_has!(text, "| rocksdb 1.23 (librelative.so) |");
    let same_name = "/elsewhere/librocksdb.so";
    let text = markdown(vec![
        rocksdb(0, "1.23", NEW, false, false),
        rocksdb(1, "1.23", same_name, true, false),
    ]);
    assert_has!(text, "| rocksdb 1.23 (elsewhere/…) |");
    let [old, new] = [
        "/builds/old/lib/librocksdb.so",
        "/builds/new/lib/librocksdb.so",
    ];
    let text = terminal(
        &report(vec![
            rocksdb(0, "1.23", old, true, false),
            rocksdb(1, "1.23", new, true, false),
        ]),
        80,
    );
    assert_has!(text, "rocksdb 1.23 (old/…)", "rocksdb 1.23 (new/…)");
}

#[test]
fn a_build_that_never_opened_keeps_the_name_that_the_plan_gave() {
    let mut trials = both();
    let dead = failed(trials[1].spec.clone(), "loading the engine: no");
    trials[1] = TrialRecord {
        engine: None,
        ..dead
    };
    let text = markdown(trials);
    assert_has!(text, "settings: rocksdb 11.8.1: ");
    assert_has!(text, "FAILED");
}

#[test]
fn a_library_with_assertions_is_flagged_in_every_format() {
    let report = report(both());
    let warning = "rocksdb 7.8.3 [assertions]: built with assertions: not comparable.";
    for format in [Format::Terminal, Format::Markdown] {
        let text = report.render(format, Style::default());
        let unescaped = text.replace('\\', "");
        assert!(unescaped.contains(warning), "{text}");
        assert!(unescaped.contains("rocksdb 7.8.3 [assertions]"), "{text}");
        assert!(!unescaped.contains("rocksdb 11.8.1 [assertions]"), "{text}");
    }
    let csv = report.render(Format::Csv, Style::default());
    let marked: Vec<_> = csv
        .lines()
        .filter(|line| line.contains(",built with assertions: not comparable,assertions,"))
        .collect();
    assert_eq!(marked.len(), 1, "{csv}");
    assert!(marked[0].contains(OLD) && marked[0].contains(&"1c".repeat(32)));
    let json = report.render(Format::Json, Style::default());
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let builds = &document["rankings"][0]["builds"];
    assert_eq!(builds[0]["warning"], serde_json::Value::Null);
    assert_eq!(
        builds[1]["warning"],
        "built with assertions: not comparable"
    );
    assert_eq!(builds[1]["sha256"], "1c".repeat(32));
    let ranking = &document["rankings"][0];
    assert_eq!(ranking["cells"][0].get("marks"), None);
    assert_eq!(ranking["cells"].as_array().unwrap().len(), 1);
    let apart = &ranking["not_comparable"][0];
    assert_eq!(apart["assertions"], true);
    assert_eq!(apart["marks"][0]["label"], "assertions");
    assert_eq!(apart["marks"][0]["comparable"], false);
    assert_eq!(apart["origin"], OLD);
}

#[test]
fn a_row_whose_flushes_nobody_counted_says_so_and_one_that_was_counted_does_not() {
    let mut trials = both();
    for (trial, reason) in trials.iter_mut().zip([None, Some("nfs is no device")]) {
        trial.engine.as_mut().unwrap().assertions = Some(false);
        let counted = FlushEvidence {
            commits: 100,
            sessions: 1,
            writes: 100,
            basis: Some(FlushBasis::Writes),
            ..FlushEvidence::default()
        };
        let evidence = match reason {
            None => counted.with_verdict(0),
            Some(reason) => FlushEvidence::not_counted(100, 1, reason.to_owned()),
        };
        trial.measurement.as_mut().unwrap().flush_evidence = Some(evidence);
    }
    let report = report(trials);
    let text = report.render(Format::Markdown, Style::default());
    let text = text.replace('\\', "");
    let row = "| rocksdb 7.8.3 [flushes not verified] |";
    assert!(
        text.contains(row) && text.contains("(nfs is no device)"),
        "{text}"
    );
    assert_has!(text, "| rocksdb 11.8.1 |");
}

/// The faster of two contenders was built with assertions; three repeats each.
fn faster_with_assertions() -> Run {
    let trial = |cell: u32, engine: &str, rate: f64, repeat: u32| {
        let mut spec = spec(cell, engine, Durability::Sync, repeat);
        spec.id = format!("{cell}-r{repeat}");
        let mut trial = valid(spec, rate + f64::from(repeat));
        let report = trial.engine.as_mut().unwrap();
        report.assertions = Some(engine == "leveldb");
        report.sha256 = format!("{cell}c").repeat(32);
        trial
    };
    let repeats = (1..=3).flat_map(|repeat| {
        [
            trial(0, "lmdb", 5_000.0, repeat),
            trial(1, "leveldb", 9_000.0, repeat),
            trial(2, "redb", 3_000.0, repeat),
        ]
    });
    report(repeats.collect())
}

/// Every sentence and cell of the page and the report that names it says that it has assertions.
fn names_it_with_its_mark(report: &Run) {
    let text = terminal(report, 300);
    let page = report.page();
    let listed = page.find(">In short</h2>").unwrap();
    let summary = &page[listed..listed + page[listed..].find("</section>").unwrap()];
    for text in [&text, summary] {
        let bare = text.replace("leveldb [assertions]", "");
        let bare = bare.lines().filter(|line| line.contains("leveldb"));
        // Only what names a trial, a file or a version may do without.
        let bare: Vec<_> = bare
            .filter(|line| !line.contains("leveldb_flags"))
            .collect();
        assert_eq!(bare, Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn a_build_with_assertions_has_figures_and_no_place_unless_it_is_asked_for() {
    let mut report = faster_with_assertions();
    let found = rankings(&report.manifest, &report.trials);
    let names = |cells: &[RankedCell]| cells.iter().map(RankedCell::name).collect::<Vec<_>>();
    assert_eq!(names(&found[0].cells), ["lmdb", "redb"]);
    assert_eq!(names(&found[0].not_comparable), ["leveldb [assertions]"]);
    assert_eq!(found[0].cells[0].relative_to_best, Some(1.0));
    let text = terminal(&report, 300);
    for part in [
        "Not comparable",
        "leveldb [assertions]: built with assertions: not comparable.",
        "9,002",
        "lmdb leads: redb reaches",
    ] {
        assert!(text.contains(part), "'{part}' is not in {text}");
    }
    names_it_with_its_mark(&report);
    let page = report.page();
    let leader = "<strong>lmdb</strong> <small>5,002 updates/s</small>";
    assert!(page.contains(leader), "{page}");
    report.manifest.include_assertions = true;
    let found = rankings(&report.manifest, &report.trials);
    assert_eq!(
        names(&found[0].cells),
        ["leveldb [assertions]", "lmdb", "redb"]
    );
    assert!(found[0].not_comparable.is_empty());
    names_it_with_its_mark(&report);
    let page = report.page();
    let leader = "<strong>leveldb [assertions]</strong> <small>9,002 updates/s</small>";
    assert!(page.contains(leader), "{page}");
}

#[test]
fn one_build_with_assertions_is_ranked_against_itself() {
    let mut trials = faster_with_assertions().trials;
    for trial in &mut trials {
        trial.spec.engine = "leveldb".to_owned();
        let knob = Value::Integer(i64::from(trial.spec.cell));
        trial.spec.knobs.insert("cache".to_owned(), knob);
        let engine = trial.engine.as_mut().unwrap();
        engine.assertions = Some(true);
        engine.sha256 = "0c".repeat(32);
    }
    let report = report(trials);
    let found = rankings(&report.manifest, &report.trials);
    let names: Vec<_> = found[0].cells.iter().map(RankedCell::name).collect();
    let expected = [1, 0, 2].map(|cache| format!("leveldb (cache={cache}) [assertions]"));
    assert_eq!(names, expected);
}

/// The contenders of that run compared, with what is in the way.
fn compared(report: &Run, first: &str, second: &str) -> Result<String, String> {
    let side = |words: &str| Side::new(words, report.clone(), Selector::parse(words).unwrap());
    let sides = (side(first).unwrap(), side(second).unwrap());
    let compared = compare_sides(&sides.0, &[sides.1]).map_err(|error| error.to_string())?;
    Ok(compare::render(
        &compared,
        Format::Terminal,
        Style::default(),
    ))
}

#[test]
fn a_build_with_assertions_is_not_compared_with_another_engine_unless_it_is_asked_for() {
    let mut report = faster_with_assertions();
    let refused = compared(&report, "lmdb", "leveldb").unwrap_err();
    assert_has!(
        refused,
        "leveldb [assertions]: built with assertions: not comparable.",
        "--include-assertions"
    );
    assert!(compared(&report, "lmdb", "redb").is_ok());
    report.manifest.include_assertions = true;
    let text = compared(&report, "lmdb", "leveldb").unwrap();
    assert_has!(text, "lmdb → leveldb [assertions], ");
    assert!(
        !text
            .replace("leveldb [assertions]", "")
            .contains("→ leveldb")
    );
}

#[test]
fn a_library_without_assertions_or_of_which_none_can_be_told_is_not_flagged() {
    let mut trials = vec![rocksdb(0, "11.8.1", NEW, false, false)];
    for assertions in [Some(false), None] {
        trials[0].engine.as_mut().unwrap().assertions = assertions;
        for format in [Format::Terminal, Format::Markdown, Format::Csv] {
            let text = report(trials.clone()).render(format, Style::default());
            assert!(!text.contains("built with assertions"), "{text}");
            assert!(!text.contains("[assertions]"), "{text}");
        }
    }
}

#[test]
fn a_drivers_workaround_is_a_mark_in_every_format_and_the_row_is_ranked() {
    let mut trials = vec![
        rocksdb(0, "11.8.1", NEW, false, false),
        rocksdb(1, "7.8.3", OLD, true, false),
    ];
    trials[0].engine.as_mut().unwrap().workaround = Some("each put looks up first".to_owned());
    let report = report(trials);
    for format in [Format::Terminal, Format::Markdown] {
        let text = report
            .render(format, Style::default())
            .replace(['\\', '*'], "");
        let sentence = "rocksdb 11.8.1 [workaround]: each put looks up first.";
        assert!(text.contains(sentence), "{text}");
        assert!(!text.contains("rocksdb 7.8.3 [workaround]"), "{text}");
    }
    let csv = report.render(Format::Csv, Style::default());
    let marked = csv.lines().filter(|line| line.contains(",workaround,"));
    assert_eq!(marked.count(), 1, "{csv}");
    let json = report.render(Format::Json, Style::default());
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let cells = document["rankings"][0]["cells"].as_array().unwrap();
    let marks: Vec<_> = cells.iter().map(|cell| &cell["marks"]).collect();
    assert_eq!(marks[0][0]["label"], "workaround", "{marks:?}");
    assert_eq!(marks[0][0]["comparable"], true);
    assert_eq!(marks[1].as_array().map_or(0, Vec::len), 0);
}

#[test]
fn what_is_known_to_lose_records_bears_a_mark_and_is_not_ranked() {
    let mut trials = vec![
        rocksdb(0, "11.8.1", NEW, false, false),
        rocksdb(1, "7.8.3", OLD, true, false),
    ];
    trials[1].engine.as_mut().unwrap().known_defect = Some("it can lose records".to_owned());
    let mut report = report(trials);
    let names = |cells: &[RankedCell]| cells.iter().map(RankedCell::name).collect::<Vec<_>>();
    let found = rankings(&report.manifest, &report.trials);
    assert_eq!(names(&found[0].cells), ["rocksdb 11.8.1"]);
    let apart = names(&found[0].not_comparable);
    assert_eq!(apart, ["rocksdb 7.8.3 [known defect]"]);
    let text = report.render(Format::Terminal, Style::default());
    let said = "rocksdb 7.8.3 [known defect]: it can lose records: not comparable.";
    assert!(text.contains(said), "{text}");
    let csv = report.render(Format::Csv, Style::default());
    assert_has!(csv, ",known defect,");
    // A build is also separate from itself if only some of its knobs have the defect.
    for trial in &mut report.trials {
        trial.engine.as_mut().unwrap().sha256 = NEW.to_owned();
    }
    let found = rankings(&report.manifest, &report.trials);
    assert_eq!(
        (found[0].cells.len(), found[0].not_comparable.len()),
        (1, 1)
    );
    // Builds with assertions are admitted if the user asks for them; incorrect ones never are.
    report.manifest.include_assertions = true;
    assert_eq!(rankings(&report.manifest, &report.trials)[0].cells.len(), 1);
}
