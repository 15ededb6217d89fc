//! How builds and marks of contenders are shown in every format.

use crate::support::{flat, report, terminal};
use trueput_findings::Run;
use trueput_findings::compare::{Selector, Side, compare_sides};
use trueput_findings::marks::WITH_ASSERTIONS;
use trueput_findings::rankings::rankings;
use trueput_record::TrialRecord;
use trueput_record::flush_evidence::FlushEvidence;
use trueput_record::measurement::EngineReport;
use trueput_record::testing::builds::{both, fastest_with_assertions, rocksdb, with_assertions};
use trueput_report::{Format, RunReport, Style, compare};

/// Two builds, whose second engine report is changed.
fn changed(change: impl FnOnce(&mut EngineReport)) -> Vec<TrialRecord> {
    let mut trials = both();
    change(trials[1].engine.as_mut().unwrap());
    trials
}

fn with_workaround() -> Vec<TrialRecord> {
    changed(|engine| engine.workaround = Some("each put looks up first".to_owned()))
}

fn with_defect() -> Vec<TrialRecord> {
    changed(|engine| engine.known_defect = Some("it can lose records".to_owned()))
}

fn with_uncounted_flushes() -> Vec<TrialRecord> {
    let mut trials = both();
    let evidence = FlushEvidence::not_counted(100, 1, "nfs is no device".to_owned());
    trials[1].measurement.as_mut().unwrap().flush_evidence = Some(evidence);
    trials
}

/// Two builds, one of which has assertions.
pub fn run() -> Run {
    report(with_assertions())
}

#[test]
fn each_mark_is_shown_and_explained_in_every_format_at_its_contender_alone() {
    for trials in [
        with_assertions(),
        with_workaround(),
        with_defect(),
        with_uncounted_flushes(),
    ] {
        let run = report(trials);
        let ranking = rankings(&run.manifest, &run.trials).remove(0);
        let (marked, other): (Vec<_>, Vec<_>) = ranking
            .contenders()
            .partition(|cell| !cell.marks.is_empty());
        let ([marked], [other]) = (&marked[..], &other[..]) else {
            panic!("{ranking:?}");
        };
        let mark = &marked.marks[0];
        for format in [Format::Terminal, Format::Markdown] {
            let text = run.render(format, Style::default());
            let text = flat(&text.replace(['\\', '*'], ""));
            let sentence = format!("{}: {}.", marked.name(), mark.explanation);
            assert_has!(text, sentence.as_str());
            let marked_other = format!("{} [", other.contender);
            assert!(!text.contains(&marked_other), "{text}");
        }
        let markdown = run.render(Format::Markdown, Style::default());
        let row = format!("| {} |", marked.name());
        assert_has!(markdown.replace('\\', ""), row.as_str());
        let csv = run.render(Format::Csv, Style::default());
        let label = format!(",{},", mark.label);
        let lines: Vec<_> = csv.lines().filter(|it| it.contains(&label)).collect();
        assert_eq!(lines.len(), 1, "{csv}");
        assert_has!(lines[0], marked.origin.as_str(), marked.sha256.as_str());
        let json = run.render(Format::Json, Style::default());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let ranking = &json["rankings"][0];
        let shown = match ranking["not_comparable"].get(0) {
            Some(apart) => [apart, &ranking["cells"][0]],
            None => [&ranking["cells"][1], &ranking["cells"][0]],
        };
        let [marks, none] = shown.map(|cell| &cell["marks"]);
        assert_eq!(marks[0]["label"], *mark.label);
        assert_eq!(marks[0]["comparable"], mark.comparable);
        assert_eq!(none, &serde_json::Value::Null);
    }
}

#[test]
fn a_build_with_assertions_has_a_warning_in_csv_and_json() {
    let run = report(with_assertions());
    let csv = run.render(Format::Csv, Style::default());
    assert_has!(csv, format!(",{WITH_ASSERTIONS},assertions,").as_str());
    let json = run.render(Format::Json, Style::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let builds = &json["rankings"][0]["builds"];
    assert_eq!(builds[0]["warning"], serde_json::Value::Null);
    assert_eq!(builds[1]["warning"], WITH_ASSERTIONS);
    assert_eq!(builds[1]["sha256"], "1c".repeat(32));
    assert_eq!(json["rankings"][0]["not_comparable"][0]["assertions"], true);
}

#[test]
fn builds_that_are_told_apart_by_their_folders_have_their_names_at_eighty_columns() {
    let run = report(vec![
        rocksdb(0, "1.23", "/builds/old/lib/librocksdb.so", true),
        rocksdb(1, "1.23", "/builds/new/lib/librocksdb.so", true),
    ]);
    assert_has!(
        terminal(&run, 80),
        "rocksdb 1.23 (old/…)",
        "rocksdb 1.23 (new/…)"
    );
}

/// Every sentence and cell of the page and the report that names it says that it has assertions.
fn names_it_with_its_mark(report: &Run) {
    let text = terminal(report, 300);
    let page = report.page();
    let listed = page.find(">In short</h2>").unwrap();
    let summary = &page[listed..listed + page[listed..].find("</section>").unwrap()];
    for text in [&text, summary] {
        // In charts a sign stands in the place of the mark, which a note below explains.
        let bare = text.replace("leveldb [assertions]", "");
        let bare = bare
            .replace("leveldb*", "")
            .replace("* assertions: leveldb.", "");
        let bare = bare.lines().filter(|line| line.contains("leveldb"));
        // Only what names a trial, a file or a version may do without.
        let bare: Vec<_> = bare
            .filter(|line| !line.contains("leveldb_flags"))
            .collect();
        assert_eq!(bare, Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn a_build_with_assertions_has_its_mark_wherever_it_is_named_and_leads_if_it_is_asked_for() {
    let mut run = report(fastest_with_assertions());
    let leads = |run: &Run, name: &str, rate: &str| {
        names_it_with_its_mark(run);
        let leader = format!("<strong>{name}</strong> <small>{rate} updates/s</small>");
        assert_has!(run.page(), leader.as_str());
    };
    leads(&run, "lmdb", "5,002");
    assert_has!(
        terminal(&run, 300),
        "Not comparable",
        "9,002",
        "lmdb leads: redb reaches"
    );
    run.manifest.include_assertions = true;
    leads(&run, "leveldb [assertions]", "9,002");
    let side = |words: &str| Side::new(words, run.clone(), Selector::parse(words).unwrap());
    let compared = compare_sides(&side("lmdb").unwrap(), &[side("leveldb").unwrap()]).unwrap();
    let text = compare::render(&compared, Format::Terminal, Style::default());
    assert_has!(text, "lmdb → leveldb [assertions], ");
    let bare = text.replace("leveldb [assertions]", "");
    assert!(!bare.contains("→ leveldb"), "{text}");
}
