//! The same run as terminal tables, Markdown, CSV and JSON.

use crate::support::{self, everything, folder, null, report, settings, spec, terminal, valid};
use std::io::Write;
use trueput_findings::Run;
use trueput_record::measurement::{OpenLoop, OperationSummary, ResponseSummary};
use trueput_record::{Durability, TrialRecord, VerifyLevel};
use trueput_report::{Format, RunReport, Style, threen1_header, threen1_line};

const PLAIN: Style = Style {
    width: None,
    color: false,
    charts: trueput_report::charts::Charts::Off,
};

/// Reads RFC 4180, strictly enough for a test.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut inside) = (vec![], vec![], String::new(), false);
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, inside) {
            ('"', true) if rest.peek() == Some(&'"') => cell.extend(rest.next()),
            ('"', _) => inside = !inside,
            (',', false) => row.push(std::mem::take(&mut cell)),
            ('\r', false) => {}
            ('\n', false) => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            (other, _) => cell.push(other),
        }
    }
    assert!(
        !inside && cell.is_empty() && row.is_empty(),
        "the file ends within a row"
    );
    rows
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut trials = everything();
    trials[0].spec.build = Some("/opt/a/rather/long/path/to/some/library/liblmdb.so.0.9.70".into());
    let report = report(trials);
    for width in [40, 80, 120, 200] {
        let text = terminal(&report, width);
        // A word of a command to copy is not broken.
        let lines = text.lines().filter(|line| !line.ends_with('\\'));
        let widest = lines.map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= usize::from(width), "{widest} > {width}:\n{text}");
    }
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_is_told_which() {
    let report = report(everything());
    let (narrow, wide) = (terminal(&report, 80), terminal(&report, 400));
    assert_has!(narrow, "Left out to fit 80 columns: repeats, ");
    assert!(!wide.contains("Left out to fit"), "{wide}");
    for text in [&narrow, &wide] {
        assert_has!(
            text,
            "contender",
            "version",
            "workers",
            "updates/s",
            "of best"
        );
    }
    assert!(wide.contains("conflicts") && wide.contains("update p99"));
}

#[test]
fn at_eighty_columns_bars_and_extremes_outlive_what_else_there_is() {
    let report = report(everything());
    let text = report.render(
        Format::Terminal,
        Style {
            width: Some(80),
            color: false,
            charts: trueput_report::charts::Charts::Blocks,
        },
    );
    let header = text
        .lines()
        .find(|line| line.contains("updates/s"))
        .unwrap();
    assert_has!(header, "min–max", "of best");
    assert!(
        !header.contains("elapsed") && !header.contains("CPU"),
        "{header}"
    );
    let bar = "█".repeat(16);
    assert!(text.contains(&bar), "{text}");
    let all = terminal(&report, 400);
    assert_has!(all, "elapsed", "repeats");
}

#[test]
fn color_codes_are_written_only_where_they_are_wanted() {
    let report = report(everything());
    assert!(!terminal(&report, 80).contains('\x1b'));
    let colored = report.render(
        Format::Terminal,
        Style {
            width: Some(80),
            color: true,
            charts: trueput_report::charts::Charts::Off,
        },
    );
    assert_has!(colored, "\x1b[31mINVALID");
    let stripped = colored
        .replace("\x1b[1m", "")
        .replace("\x1b[31m", "")
        .replace("\x1b[0m", "");
    assert_eq!(
        stripped,
        terminal(&report, 80),
        "color changes nothing else"
    );
}

#[test]
fn a_finished_report_has_the_load_at_its_end_and_is_not_said_to_go_on() {
    let text = terminal(&report(everything()), 200);
    assert_has!(
        text,
        "load 0.10 0.20 0.30 at the start, 2.00 1.50 1.00 at the end"
    );
    assert!(!text.contains("has not finished"), "{text}");
}

#[test]
fn a_shorter_range_is_announced_at_its_table() {
    let mut short = spec(0, "lmdb", Durability::Sync, 1);
    short.settings = settings(2_000);
    short.note = Some("a shorter range, because sync flushes at each commit".to_owned());
    let text = terminal(&report(vec![valid(short, 2_000.0)]), 200);
    assert_has!(text, "Note: a shorter range, because");
    assert_has!(text, "finish=2000,");
    assert_has!(text, "Spread unknown, fewer than 3 valid repeats: lmdb");
}

#[test]
fn a_sampled_verification_says_so() {
    let mut trial = valid(spec(0, "lmdb", Durability::Sync, 1), 2_000.0);
    trial.verification.as_mut().unwrap().level = VerifyLevel::Sample;
    let text = terminal(&report(vec![trial]), 200);
    assert_has!(text, "a sample of the stored records");
}

#[test]
fn markdown_has_a_table_per_ranking_and_aligned_figures() {
    let text = report(everything()).render(Format::Markdown, PLAIN);
    assert!(text.starts_with("# trueput: first-look\n"));
    assert_eq!(text.matches("\n|  | contender |").count(), 2, "{text}");
    assert_has!(
        text,
        "| 1 | redb | 1.2.3 | processes | 3,000 | 2,900–3,100 |"
    );
    assert!(text.contains("---:"));
    assert!(text.contains("```sh\ntrueput run 'plans/first look.toml'\n```"));
}

#[test]
fn csv_gives_back_every_trial_as_plain_numbers() {
    let trials = everything();
    let rows = parse_csv(&report(trials.clone()).render(Format::Csv, PLAIN));
    let (header, rows) = rows.split_first().unwrap();
    assert_eq!(rows.len(), trials.len());
    assert!(rows.iter().all(|row| row.len() == header.len()));
    let column = |name: &str| header.iter().position(|title| title == name).unwrap();
    for (row, trial) in rows.iter().zip(&trials) {
        assert_eq!(row[column("trial")], trial.spec.id);
        assert_eq!(row[column("rankable")], trial.is_rankable().to_string());
        assert_eq!(row[column("setting.finish")], "100000");
        let rate: Option<f64> = row[column("update_per_s")].parse().ok();
        let update = trial
            .measurement
            .as_ref()
            .and_then(|m| m.operation("update"));
        assert_eq!(rate, update.map(|update| update.per_s));
    }
    assert_eq!(rows[15][column("status")], "invalid");
    assert_eq!(
        rows[15][column("reason")],
        "longest sequence: expected 350, found 349"
    );
    assert_eq!(rows[0][column("result.largest")], "1570824736");
}

#[test]
fn a_text_that_a_spreadsheet_would_calculate_is_a_text_in_csv_and_a_number_stays_one() {
    let notes = [
        "=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "-5", "+5", "a=b", "-",
    ];
    let trials = notes.iter().enumerate().map(|(cell, note)| {
        let mut spec = spec(u32::try_from(cell).unwrap(), "lmdb", Durability::Sync, 1);
        spec.note = Some((*note).to_owned());
        valid(spec, 1_000.0)
    });
    let rows = parse_csv(&report(trials.collect()).render(Format::Csv, PLAIN));
    let (header, rows) = rows.split_first().unwrap();
    let column = header.iter().position(|title| title == "note").unwrap();
    let cells: Vec<_> = rows.iter().map(|row| row[column].as_str()).collect();
    let expected = [
        "'=1+1",
        "'+1+1",
        "'-1+1",
        "'@SUM(A1)",
        "'\t=1+1",
        "-5",
        "+5",
        "a=b",
        "'-",
    ];
    assert_eq!(cells, expected);
}

#[test]
fn csv_says_what_the_device_did_and_nothing_where_none_counted() {
    let mut trials = everything();
    let measured = trials[0].measurement.as_mut().unwrap();
    measured.commits = Some(50);
    measured.user_written_bytes = Some(31_000_000);
    measured.device = Some(trueput_record::accounting::Device {
        flushes: Some(100),
        ..Default::default()
    });
    let per_commit = trueput_findings::cells::flushes_per_commit;
    assert_eq!(per_commit(measured), Some(2.0));
    let unknown = trials[1].measurement.as_ref().unwrap();
    assert_eq!(per_commit(unknown), None);
    let rows = parse_csv(&report(trials.clone()).render(Format::Csv, PLAIN));
    let cell = |row: usize, name: &str| {
        let column = rows[0].iter().position(|title| title == name).unwrap();
        rows[row + 1][column].as_str()
    };
    assert_eq!(cell(0, "device_flushes"), "100");
    assert_eq!(cell(0, "write_amplification"), "10");
    assert_eq!(cell(1, "device_flushes"), "");
    assert_eq!(cell(1, "write_amplification"), "");
    assert_eq!(cell(1, "memory_limit_bytes"), "");
}

#[test]
fn json_gives_back_every_trial_and_the_rankings() {
    let trials = everything();
    let text = report(trials.clone()).render(Format::Json, PLAIN);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let back: Vec<TrialRecord> = serde_json::from_value(document["trials"].clone()).unwrap();
    assert!(back == trials, "the trials read back as other ones");
    assert_eq!(document["host"]["cores"], 2);
    assert_eq!(document["rankings"][0]["cells"][0]["contender"], "lmdb");
    assert_eq!(
        document["rankings"][0]["cells"][0]["figures"]["headline_per_s"]["median"],
        2_100.0
    );
    assert_eq!(document["threen1"][0]["largest_number"], 1_570_824_736_u64);
    assert_eq!(document["damaged"].as_array().unwrap().len(), 0);
    assert!(document["scaling"].is_array() && document["bottlenecks"].is_array());
}

#[test]
fn a_damaged_line_is_named_and_the_rest_is_shown() {
    let trials = everything();
    let (_results, folder) = folder(&trials);
    let file = folder.path().join("trials.jsonl");
    let mut lines = std::fs::OpenOptions::new().append(true).open(file).unwrap();
    lines
        .write_all(b"{\"format\":1,\"spec\":{\"id\":\"torn")
        .unwrap();
    folder.finish(&support::end()).unwrap();
    let mut report = Run::load(folder.path()).unwrap();
    for measured in report
        .trials
        .iter_mut()
        .filter_map(|trial| trial.measurement.as_mut())
    {
        // These trials have no histograms.
        assert!(std::mem::take(&mut measured.lacks_histograms));
    }
    assert!(
        report.trials == trials.iter().map(support::whole).collect::<Vec<_>>(),
        "the trials read back as other ones"
    );
    let text = terminal(&report, 200);
    assert_has!(text, "trials.jsonl, line 18: unreadable, skipped");
    assert!(text.contains("redb"));
}

#[test]
fn a_run_that_has_not_ended_says_how_to_continue_it() {
    let trials = everything();
    let (_results, folder) = folder(&trials[..4]);
    let report = Run::load(folder.path()).unwrap();
    let text = terminal(&report, 400);
    let command = format!("trueput run --resume {}", folder.path().display());
    assert!(text.contains(&command), "{text}");
    assert_has!(text, "0 of its 4 trials are missing");
}

#[test]
fn a_run_folder_without_trials_says_so_in_every_format() {
    let (_results, folder) = folder(&[]);
    let report = Run::load(folder.path()).unwrap();
    assert!(terminal(&report, 80).contains("No trial of this run has finished"));
    assert!(
        report
            .render(Format::Markdown, PLAIN)
            .contains("No trial of this run has finished")
    );
    assert_eq!(
        parse_csv(&report.render(Format::Csv, PLAIN)).len(),
        1,
        "the header alone"
    );
    let json = report.render(Format::Json, PLAIN);
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
}

#[test]
fn what_is_no_run_folder_and_a_format_without_a_name_are_refused() {
    let empty = tempfile::tempdir().unwrap();
    let message = Run::load(empty.path()).unwrap_err().to_string();
    assert_has!(message, "not a run folder");
    let message = "markdwon".parse::<Format>().unwrap_err().to_string();
    assert_has!(message, "did you mean 'markdown'");
    for format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
    }
}

#[test]
fn the_originals_line_has_every_figure_in_its_order() {
    let trial = valid(spec(0, "lmdb", Durability::Sync, 1), 2_172.11);
    let line = threen1_line(&trial, 200).unwrap();
    let figures: Vec<_> = line
        .split("  ")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    let expected = [
        "1",
        "100,000",
        "4",
        "5,000",
        "350",
        "1,570,824,736",
        "100 s",
        "217,211",
        "317,211",
        "2,172",
        "3,172",
        "150 s",
    ];
    assert_eq!(figures, expected);
    assert_eq!(
        threen1_header(200).unwrap().len(),
        line.len(),
        "the header stands above the figures"
    );
    for width in [40, 80, line.len() - 1] {
        assert_eq!(threen1_header(width), None, "{width}");
        let narrow = threen1_line(&trial, width).unwrap();
        let fits = |line: &str| line.chars().count() <= width;
        assert!(narrow.lines().all(fits), "{narrow}");
        for figure in expected {
            assert!(narrow.contains(figure), "{figure}: {narrow}");
        }
    }
}

#[test]
fn an_operation_that_is_rare_beside_the_headline_has_a_row_instead_of_columns() {
    let mut trial = valid(spec(0, "lmdb", Durability::Sync, 1), 2_000.0);
    let operations = &mut trial.measurement.as_mut().unwrap().operations;
    let like_a_read = |kind: &str, count| OperationSummary {
        kind: kind.to_owned(),
        count,
        ..operations[0].clone()
    };
    let (claims, commits) = (like_a_read("claim", 20), like_a_read("commit", 100_000));
    operations.extend([claims, commits]);
    let report = report(vec![trial]);
    let text = report.render(Format::Markdown, PLAIN);
    assert!(
        text.contains("commit p99") && !text.contains("claim p99"),
        "{text}"
    );
    let (_, others) = text.split_once("Other operations").unwrap();
    assert!(others.contains("| lmdb | claim |"), "{others}");
    assert!(!others.contains("| commit |"), "{others}");
    assert!(report.render(Format::Csv, PLAIN).contains("claim_p99_ns"));
}

#[test]
fn another_workload_and_an_unmeasured_trial_have_no_such_line() {
    let mut other = valid(spec(0, "lmdb", Durability::Sync, 1), 1_000.0);
    other.spec.workload = "micro".to_owned();
    assert_eq!(threen1_line(&other, 80), None);
    let mut answerless = null(spec(0, "null", Durability::None, 1), 1_000.0);
    answerless.measurement.as_mut().unwrap().results.clear();
    assert_eq!(threen1_line(&answerless, 80), None);
}

#[test]
fn a_rate_that_was_not_kept_is_said_in_words() {
    let at = |rate_per_s: f64, backlog: u64| {
        let mut trial = valid(spec(0, "lmdb", Durability::Sync, 1), 2_000.0);
        let measurement = trial.measurement.as_mut().unwrap();
        measurement.open_loop = Some(OpenLoop {
            rate_per_s,
            issued: (1_000.0 * measurement.elapsed_s) as u64,
            backlog,
            responses: vec![ResponseSummary {
                kind: "update".to_owned(),
                count: 9,
                ..ResponseSummary::default()
            }],
            ..OpenLoop::default()
        });
        report(vec![trial]).render(Format::Markdown, PLAIN)
    };
    let said = "did not keep the rate";
    assert!(!at(1_000.0, 3).contains(said), "a rate that was kept");
    let by_time = at(1_500.0, 54_000);
    assert!(by_time.contains(said) && by_time.contains("backlog of 54000 at the end"));
    assert!(
        at(2_000.0, 0).contains(said),
        "work that ended by its count"
    );
}
