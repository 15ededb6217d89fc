//! Our trials compared with published tables: matching runs, columns, and the ratios within each
//! set.

use crate::support::{self, report, spec, terminal, texts, valid};
use trueput_findings::published::{PublishedComparison, RatioTable, comparison, comparisons};
use trueput_record::ablation::{AblationKind, AblationStep};
use trueput_record::hardware_limits::{FlushLimit, HardwareLimits};
use trueput_record::measurement::OperationSummary;
use trueput_record::published::named;
use trueput_record::{Durability, TrialRecord, TrialSpec, Value};
use trueput_report::{Format, RunReport, Style};

/// A trial of a workload with these settings and knobs that took this many seconds.
fn trial(cell: u32, engine: &str, given: &[(&str, &str)], elapsed_s: f64) -> TrialRecord {
    let mut spec = spec(cell, engine, Durability::Buffered, 1);
    spec.knobs.clear();
    for (name, value) in given {
        give(&mut spec, name, value);
    }
    let mut record = valid(spec, 1_000.0 / elapsed_s);
    if let Some(measurement) = &mut record.measurement {
        measurement.elapsed_s = elapsed_s;
    }
    record
}

fn give(spec: &mut TrialSpec, name: &str, value: &str) {
    match name.split_once('.') {
        Some(("settings", name)) => {
            spec.settings.insert(name.to_owned(), Value::parse(value));
        }
        Some((_, name)) => {
            spec.knobs.insert(name.to_owned(), Value::parse(value));
        }
        None if name == "filesystem" => spec.conditions.file_system = Some(value.parse().unwrap()),
        None if name == "workers" => spec.workers = value.parse().unwrap(),
        None => spec.workload = value.to_owned(),
    }
}

fn beside(id: &str, trials: Vec<TrialRecord>) -> Option<PublishedComparison> {
    comparison(&named(id).unwrap(), &report(trials))
}

/// The cells of a row as plain text.
fn cells(comparison: &PublishedComparison, row: usize) -> Vec<String> {
    let row = &comparison.rows[row];
    row.cells.iter().map(ToString::to_string).collect()
}

fn ratios<'a>(comparison: &'a PublishedComparison, title: &str) -> &'a RatioTable {
    let found = comparison.ratios.iter().find(|one| one.title == title);
    found.unwrap_or_else(|| panic!("no ratios '{title}': {:?}", comparison.ratios))
}

/// GT.M on three file systems with two ranges, the second of the paper's own size.
fn on_file_systems(engine: &str) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    let times = [("ext2", 2.0), ("ext4:size=1GiB", 3.0), ("tmpfs", 1.0)];
    for (finish, longer) in [("10000", 1.0), ("1000000", 10.0)] {
        for (file_system, elapsed_s) in times {
            let given = [("filesystem", file_system), ("settings.finish", finish)];
            let cell = trials.len() as u32;
            trials.push(trial(cell, engine, &given, elapsed_s * longer));
        }
    }
    trials
}

#[test]
fn file_systems_are_columns_as_in_the_paper_and_its_row_stands_under_ours_of_one_size() {
    let comparison = beside("fis-2010-threen1-elapsed", on_file_systems("gtm")).unwrap();
    let columns: Vec<_> = comparison
        .columns
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let papers = [
        "finish", "ext4_s", "ext3_s", "ext2_s", "jfs_s", "btrfs_s", "xfs_s",
    ];
    assert_eq!(columns[..7], papers);
    assert_eq!(
        columns[7..],
        ["tmpfs_s"],
        "ours has one that the paper has not"
    );
    let ours: Vec<_> = comparison.rows.iter().map(|row| row.ours).collect();
    assert_eq!(ours, [true, true, false, false, false, false]);
    assert_eq!(
        cells(&comparison, 0),
        ["10000", "3", "", "2", "", "", "", "1"]
    );
    assert_eq!(
        cells(&comparison, 1),
        ["1000000", "30", "", "20", "", "", "", "10"]
    );
    assert_eq!(cells(&comparison, 2)[..3], ["1000000", "15", "14"]);
    assert_eq!(comparison.rows[0].who, "gtm, buffered");
}

#[test]
fn each_file_system_is_set_over_ext2_inside_its_own_set() {
    let comparison = beside("fis-2010-threen1-elapsed", on_file_systems("gtm")).unwrap();
    let table = ratios(&comparison, "each filesystem over ext2");
    let ext4: Vec<_> = table
        .rows
        .iter()
        .filter(|row| row.keys[0] == "ext4")
        .collect();
    assert_eq!(ext4[0].keys[1], "10,000");
    assert_eq!((ext4[0].here, ext4[0].there), (Some(1.5), None));
    // The paper's 15 s over 13 s next to our 30 s over 20 s.
    assert_eq!(ext4[1].keys[1], "1,000,000");
    assert_eq!(
        (ext4[1].here, ext4[1].there),
        (Some(1.5), Some(15.0 / 13.0))
    );
    // 41,087 s over 35,989 s, a size that we did not run.
    let largest = ext4.last().unwrap();
    assert_eq!(
        (largest.here, largest.there),
        (None, Some(41_087.0 / 35_989.0))
    );
    assert!(
        table.rows.iter().all(|row| row.keys[0] != "jfs"),
        "we had none"
    );
}

/// GT.M on two file systems with these ranges, ext4 half as long again as ext2.
fn at_sizes(sizes: &[&str]) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for finish in sizes {
        for (file_system, elapsed_s) in [("ext2", 2.0), ("ext4", 3.0)] {
            let given = [("filesystem", file_system), ("settings.finish", finish)];
            trials.push(trial(trials.len() as u32, "gtm", &given, elapsed_s));
        }
    }
    trials
}

#[test]
fn sizes_at_the_same_place_of_the_scale_stand_side_by_side_and_it_is_said_which() {
    let hundredth = at_sizes(&["10000", "100000", "200000", "400000"]);
    let comparison = beside("fis-2010-threen1-elapsed", hundredth.clone()).unwrap();
    let table = ratios(&comparison, "each filesystem over ext2");
    let found: Vec<_> = table
        .rows
        .iter()
        .map(|row| (row.keys[1].as_str(), row.here, row.there))
        .collect();
    let half = Some(1.5);
    let expected = [
        ("10,000 here, 1,000,000 there", half, Some(15.0 / 13.0)),
        ("100,000 here, 10,000,000 there", half, Some(319.0 / 177.0)),
        (
            "200,000 here, 20,000,000 there",
            half,
            Some(2_213.0 / 1_680.0),
        ),
        (
            "400,000 here, 40,000,000 there",
            half,
            Some(41_087.0 / 35_989.0),
        ),
    ];
    assert_eq!(found, expected);
    let ours: Vec<_> = comparison.rows.iter().map(|row| row.ours).collect();
    assert_eq!(ours, [true, false].repeat(4), "each row above its own");
    let said = "finish: ours at 0.01 of the document's sizes: 10,000 for 1,000,000; 100,000 for \
        10,000,000;";
    assert!(
        texts(&comparison.differs)
            .iter()
            .any(|point| point.starts_with(said)),
        "{:#?}",
        comparison.differs
    );
    assert_eq!(comparison.columns[0].scale, Some(0.01));
    // The results of a range differ at another size.
    assert!(beside("fis-2010-threen1-answers", hundredth).is_none());
}

#[test]
fn a_size_that_is_at_no_place_of_the_scale_stands_alone() {
    let there = |sizes: &[&str], block: i64| -> Vec<Option<f64>> {
        let mut trials = at_sizes(sizes);
        for trial in &mut trials {
            let block = Value::Integer(block);
            trial.spec.settings.insert("block".to_owned(), block);
        }
        let comparison = beside("fis-2010-threen1-elapsed", trials).unwrap();
        let table = ratios(&comparison, "each filesystem over ext2");
        let ours = table.rows.iter().filter(|row| row.here.is_some());
        ours.map(|row| row.there).collect()
    };
    assert_eq!(there(&["7000", "11000"], 5_000), [None, None]);
    // One size may be a part of any of theirs, unless the size of a block tells of which.
    assert_eq!(there(&["100000"], 7), [None]);
    assert_eq!(there(&["100000"], 5_000), [Some(15.0 / 13.0)]);
    assert_eq!(there(&["100000"], 500), [Some(319.0 / 177.0)]);
}

#[test]
fn a_run_of_another_engine_or_of_one_file_system_has_nothing_to_set_beside() {
    let id = "fis-2010-threen1-elapsed";
    assert!(
        beside(id, on_file_systems("lmdb")).is_none(),
        "the paper is of GT.M"
    );
    let mut one = on_file_systems("gtm");
    one.retain(|trial| trial.spec.cell.is_multiple_of(3));
    assert!(beside(id, one).is_none(), "nothing varies");
    let mut other = on_file_systems("gtm");
    other
        .iter_mut()
        .for_each(|trial| trial.spec.workload = "micro".to_owned());
    assert!(beside(id, other).is_none());
    let mut unverified = on_file_systems("gtm");
    unverified
        .iter_mut()
        .for_each(|trial| trial.verification = None);
    assert!(
        beside(id, unverified).is_none(),
        "what is not ranked is not compared"
    );
    assert_eq!(comparisons(&report(support::everything())).unwrap(), []);
}

#[test]
fn other_engines_of_a_run_that_matches_stand_there_too() {
    let mut trials = on_file_systems("gtm");
    trials.extend(on_file_systems("lmdb"));
    let comparison = beside("fis-2010-threen1-elapsed", trials).unwrap();
    let who: Vec<_> = comparison.rows.iter().map(|row| row.who.as_str()).collect();
    assert_eq!(
        who.iter().filter(|who| **who == "lmdb, buffered").count(),
        2
    );
}

/// GT.M as it was tuned, at a tenth of the size: each step's seconds with four workers and eight.
fn tuned() -> Vec<TrialRecord> {
    let steps = [
        ("1000", "128", 40.0),
        ("5000", "128", 20.0),
        ("35000", "2000", 10.0),
    ];
    let mut trials = Vec::new();
    for (global, journal, elapsed_s) in steps {
        for (workers, slower) in [("4", 1.0), ("8", 2.0)] {
            let given = [
                ("knobs.global_buffers", global),
                ("knobs.journal_buffers", journal),
                ("workers", workers),
                ("settings.finish", "100000"),
            ];
            trials.push(trial(
                trials.len() as u32,
                "gtm",
                &given,
                elapsed_s * slower,
            ));
        }
    }
    trials
}

#[test]
fn a_step_of_the_tuning_matches_whatever_its_size_and_has_its_gain_beside_the_document_s() {
    let comparison = beside("fis-2011-threen1-gtm-tuning", tuned()).unwrap();
    let ours: Vec<_> = comparison
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.ours)
        .collect();
    assert_eq!(ours.len(), 6);
    // The machine's own file system is ext4, so each is above the document's row on ext4.
    for (place, row) in ours {
        let theirs = &comparison.rows[place + 1];
        assert!(!theirs.ours);
        assert_eq!(row.cells[1..5], theirs.cells[1..5]);
        assert_ne!(row.cells[0], theirs.cells[0], "the range is shorter here");
    }
    let gains = ratios(
        &comparison,
        "elapsed time of each step over that before tuning",
    );
    let best = gains
        .rows
        .iter()
        .find(|row| row.keys == ["35,000, 2,000 over 1,000, 128", "4", "ext4"]);
    // Three runs of 30, 30 and 34 s after 66 s.
    assert_eq!(
        (best.unwrap().here, best.unwrap().there),
        (Some(0.25), Some(30.0 / 66.0))
    );
    let before = ratios(
        &comparison,
        "elapsed time of each step over the step before it",
    );
    let first = before
        .rows
        .iter()
        .find(|row| row.keys[0] == "5,000, 128 over 1,000, 128");
    assert_eq!(
        (first.unwrap().here, first.unwrap().there),
        (Some(0.5), Some(61.0 / 66.0))
    );
    // 5,000 with 2,000 was not run, so 35,000 has no step before it here.
    assert_eq!(before.rows.len(), 2);
    let workers = ratios(&comparison, "elapsed time of eight workers over four");
    assert!(workers.rows.iter().all(|row| row.here == Some(2.0)));
    let untuned = workers
        .rows
        .iter()
        .find(|row| row.keys[1] == "1,000")
        .unwrap();
    assert_eq!(
        (untuned.keys[0].as_str(), untuned.there),
        ("8 over 4", Some(104.0 / 66.0))
    );
    assert!(texts(&comparison.differs).contains(&"finish: here 100000; there 1000000".to_owned()));
}

#[test]
fn rates_stand_beside_those_of_the_same_knobs_alone() {
    let comparison = beside("fis-2011-threen1-gtm-rates", tuned()).unwrap();
    let ours: Vec<_> = comparison.rows.iter().filter(|row| row.ours).collect();
    assert_eq!(
        ours.len(),
        2,
        "the document has rates with 35,000 buffers only"
    );
    let mut others = tuned();
    others.retain(|trial| trial.spec.knobs["global_buffers"] != Value::Integer(35_000));
    assert!(beside("fis-2011-threen1-gtm-rates", others).is_none());
}

#[test]
fn flags_are_said_in_the_paper_s_words_with_the_speed_over_neither() {
    let times = [
        ("false", "off", 10.0),
        ("true", "off", 20.0),
        ("false", "file-system", 8.0),
    ];
    let trials = times
        .iter()
        .enumerate()
        .map(|(cell, (sync_io, full, elapsed_s))| {
            let given = [
                ("filesystem", "ext4"),
                ("knobs.sync_io", sync_io),
                ("knobs.full_block_writes", full),
            ];
            let mut record = trial(cell as u32, "gtm", &given, *elapsed_s);
            let full = Value::from(*full);
            record
                .spec
                .knobs
                .insert("full_block_writes".to_owned(), full);
            record
        });
    let id = "fis-2010-threen1-sync-io-full-block-writes";
    let comparison = beside(id, trials.collect()).unwrap();
    let ours: Vec<_> = (0..comparison.rows.len())
        .filter(|&place| comparison.rows[place].ours)
        .map(|place| cells(&comparison, place))
        .collect();
    let expected = [
        ["ext4", "100000", "no", "no", "10", "100"],
        ["ext4", "100000", "yes", "no", "20", "50"],
        ["ext4", "100000", "no", "yes", "8", "125"],
    ];
    assert_eq!(ours, expected);
    let table = ratios(&comparison, "elapsed time over that with neither flag");
    let sync_io = &table.rows[0];
    assert_eq!(sync_io.keys, ["yes, no over no, no", "ext4"]);
    assert_eq!(
        (sync_io.here, sync_io.there),
        (Some(2.0), Some(3_137.0 / 2_213.0))
    );
}

#[test]
fn answers_stand_beside_the_paper_s_for_the_same_range_alone() {
    let mut trials = on_file_systems("redb");
    let comparison = beside("fis-2010-threen1-answers", trials.clone()).unwrap();
    let ours = comparison.rows.iter().filter(|row| row.ours);
    assert!(
        ours.clone()
            .all(|row| row.cells[1].to_string() == "1000000")
    );
    assert_eq!(ours.count(), 3, "one for each file system");
    trials.retain(|trial| trial.spec.settings["finish"] == Value::Integer(10_000));
    assert!(beside("fis-2010-threen1-answers", trials).is_none());
}

fn flushes(at: &str) -> TrialRecord {
    let given = [
        ("workload", "log-flush"),
        ("settings.at", at),
        ("settings.bytes", "256"),
        ("workers", "1"),
    ];
    let mut record = trial(0, "storage", &given, 0.5);
    record.spec.durability = Durability::Sync;
    let measurement = record.measurement.as_mut().unwrap();
    measurement.operations[0] = OperationSummary {
        kind: "commit".to_owned(),
        count: 1_000,
        per_s: 2_000.0,
        ..measurement.operations[0].clone()
    };
    record
}

#[test]
fn the_log_flush_example_stands_beside_flushes_in_place_alone() {
    let comparison = beside("berkeleydb-log-flush", vec![flushes("place")]).unwrap();
    assert_eq!(cells(&comparison, 0)[..4], ["256", "1000", "0.5", "2000"]);
    assert_eq!(
        cells(&comparison, 1)[..4],
        ["256", "1000", "16.641934", "60.09"]
    );
    assert!(beside("berkeleydb-log-flush", vec![flushes("end")]).is_none());
}

/// Adds this machine's flushes without an engine, each one separate.
fn with_limit(mut record: TrialRecord, separate_per_s: f64) -> TrialRecord {
    let flush = FlushLimit {
        separate_per_s,
        ..FlushLimit::default()
    };
    record.hardware_limits = Some(HardwareLimits {
        flush: Some(flush),
        ..HardwareLimits::default()
    });
    record
}

#[test]
fn flushes_are_set_over_what_the_device_could_do_on_each_side() {
    let measured = with_limit(flushes("place"), 2_500.0);
    let comparison = beside("berkeleydb-log-flush", vec![measured.clone()]).unwrap();
    let table = ratios(
        &comparison,
        "operations a second over what the device could do",
    );
    assert_eq!(table.rows.len(), 1);
    assert_eq!(table.rows[0].keys, ["256"]);
    assert_eq!(table.rows[0].here, Some(0.8));
    assert_eq!(table.rows[0].there, Some(60.09 / 74.0));
    assert!(table.note.contains("13.57 ms"), "{}", table.note);
    let text = terminal(&report(vec![measured]), 160);
    assert_has!(
        text,
        "there none of an engine: the test program testfile",
        "compare ratios within a set",
        "9.4 ms to seek and 4.17 ms",
        "Compared with raw storage and memory",
        "80.0 %"
    );
    // The control: without a hardware limit there is no ratio, and none is advised.
    let text = terminal(&report(vec![flushes("place")]), 160);
    assert_has!(text, "do not compare their figures with ours");
    assert!(!text.contains("compare ratios"), "{text}");
}

#[test]
fn each_cell_of_a_tpcc_run_is_a_step_with_its_gain_and_its_cost() {
    let rates = [100.0, 110.0, 121.0];
    let levels = [Durability::Sync, Durability::Async, Durability::Async];
    let trials = (0..3).map(|cell: usize| {
        let mut record = trial(cell as u32, "sqlite", &[("workload", "tpcc")], 60.0);
        record.spec.durability = levels[cell];
        record.spec.knobs = [(
            "cache".to_owned(),
            Value::Integer(if cell < 2 { 1 } else { 2 }),
        )]
        .into();
        let measurement = record.measurement.as_mut().unwrap();
        let like = measurement.operations[0].clone();
        measurement.operations = ["new-order", "payment", "statement"]
            .map(|kind| OperationSummary {
                kind: kind.to_owned(),
                per_s: rates[cell] / 2.0,
                ..like.clone()
            })
            .into();
        record
    });
    let comparison = beside("informix-2010-oltp-cheats", trials.collect()).unwrap();
    assert_eq!(cells(&comparison, 0)[..3], ["before any step", "6000", ""]);
    assert_eq!(
        cells(&comparison, 1)[..3],
        ["durability sync to async", "6600", "10.0"]
    );
    assert!(cells(&comparison, 1)[3].starts_with("after lost power: a consistent prefix"));
    assert_eq!(cells(&comparison, 2), ["cache 1 to 2", "7260", "10.0", ""]);
    assert_eq!(cells(&comparison, 3)[1], "6785");
}

#[test]
fn a_step_of_an_ablation_bears_its_name_and_gains_over_what_it_stands_on() {
    let ablation = |kind: AblationKind| {
        let rates = [100.0, 110.0, 121.0];
        let trials = (0..3).map(|index: u32| {
            let mut record = trial(index, "sqlite", &[("workload", "tpcc")], 60.0);
            record.spec.step = Some(AblationStep {
                ablation: kind,
                base: 0,
                index,
                name: format!("step {index}"),
            });
            record.spec.workers += index;
            let measurement = record.measurement.as_mut().unwrap();
            measurement.operations.truncate(1);
            measurement.operations[0].kind = "new-order".to_owned();
            measurement.operations[0].per_s = rates[index as usize];
            record
        });
        let comparison = beside("informix-2010-oltp-cheats", trials.collect()).unwrap();
        let row = cells(&comparison, 2);
        (row[0].clone(), row[2].clone())
    };
    let told = |text: &str, gain: &str| (text.to_owned(), gain.to_owned());
    assert_eq!(
        ablation(AblationKind::Cumulative),
        told("step 2 (workers 5 to 6)", "10.0")
    );
    assert_eq!(
        ablation(AblationKind::OneAtATime),
        told("step 2 (workers 4 to 6)", "21.0")
    );
}

#[test]
fn the_report_has_a_section_for_each_document_and_says_what_differs() {
    let matching = report(on_file_systems("gtm"));
    let text = terminal(&matching, 160);
    assert_has!(
        text,
        "Compared with \"Benchmarking Linux Filesystems for Database Performance",
        "machine: here Model 9000, 2 cores",
        "there Quad Core AMD Phenom",
        "version: here gtm 1.2.3; there GT.M V5.4-001",
        "Elapsed time of the 3n+1 problem on six Linux file systems",
        "Each filesystem over ext2, inside each set:",
        "41,087",
        "see 'trueput published fis-2010-threen1-updates-per-second'"
    );
    let heading = "Compared with \"Benchmarking";
    assert_eq!(
        text.matches(heading).count(),
        1,
        "one section for four tables"
    );
    let markdown = matching.render(Format::Markdown, Default::default());
    assert_has!(markdown, "| 2010 | 40,000,000 | 41,087 |");
    let json = matching.render(Format::Json, Default::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let ids: Vec<_> = json["published"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert_eq!(json["published"][1]["rows"][0]["cells"][0], 10_000);
    let other = report(support::everything());
    assert!(!terminal(&other, 160).contains("Compared with \""));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&other.render(Format::Json, Default::default()))
            .unwrap()["published"],
        serde_json::json!([])
    );
}

/// The tables of a report's first section on a document: the heading of each, and its rows.
fn drawn(trials: Vec<TrialRecord>) -> Vec<(String, Vec<String>)> {
    let text = report(trials).render(Format::Markdown, Style::default());
    let section = &text[text.find("## Compared with \"").unwrap()..];
    let end = section[3..]
        .find("\n## ")
        .map_or(section.len(), |at| at + 3);
    let mut tables: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in section[..end].lines() {
        let is_row = line.starts_with('|');
        match (is_row, inside) {
            (true, false) => tables.push((line.to_owned(), Vec::new())),
            (true, true) => tables.last_mut().unwrap().1.push(line.to_owned()),
            (false, _) => {}
        }
        inside = is_row;
    }
    tables
}

#[test]
fn figures_of_two_sizes_never_share_a_column_and_ratios_come_first() {
    let tables = drawn(at_sizes(&["10000", "100000", "200000", "400000"]));
    let (ratios, _) = &tables[0];
    let here = "here at finish 10,000 to 400,000";
    let there = "at finish 1,000,000 to 40,000,000";
    assert!(
        ratios.contains(here) && ratios.contains(&format!("2010 {there}")),
        "{ratios}"
    );
    let set = |row: &String| (row.contains("here: "), row.starts_with("| 2010"));
    for (heading, rows) in &tables {
        let ours = rows.iter().any(|row| set(row).0);
        let theirs = rows.iter().any(|row| set(row).1);
        assert!(!(ours && theirs), "{heading}: {rows:#?}");
        if ours || theirs {
            let size = if ours {
                "_s at finish 10,000 to 400,000"
            } else {
                there
            };
            assert!(heading.replace('\\', "").contains(size), "{heading}");
        }
    }
    // The control: of the document's own size they are together, and no heading tells one.
    let mut same = at_sizes(&["1000000"]);
    for trial in &mut same {
        let block = Value::Integer(50_000);
        trial.spec.settings.insert("block".to_owned(), block);
    }
    let tables = drawn(same);
    let both =
        |rows: &Vec<String>| rows.iter().any(|row| set(row).0) && rows.iter().any(|row| set(row).1);
    assert!(tables.iter().any(|(_, rows)| both(rows)), "{tables:#?}");
    assert!(
        tables
            .iter()
            .all(|(heading, _)| !heading.contains(" at finish"))
    );
}
