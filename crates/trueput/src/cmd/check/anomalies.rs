//! Prints the results of the anomaly suite.

use trueput_engine::isolation::{Report, ScheduleResult};
use trueput_record::value::Settings;
use trueput_record::{Isolation, Phenomenon};

/// One line: the stated level, and whether the suite confirms it.
pub fn summary(engine: &str, settings: &Settings, report: &Report) -> String {
    let subject = format!("{engine} isolation{}", in_words(settings, ", ", " with "));
    let failed = report.checks().iter().filter(|check| !check.passed).count();
    let stated = report.stated.map_or("nothing", Isolation::name);
    let verdict = match failed {
        0 if report.observations.is_empty() => "no records to test".to_owned(),
        0 => format!("{} schedules passed", report.observations.len()),
        1 => "1 schedule FAILED".to_owned(),
        several => format!("{several} schedules FAILED"),
    };
    let mut line = format!("{subject}: {stated} stated; {verdict}");
    let occurred = names(report, |phenomenon| report.shows(phenomenon));
    if !occurred.is_empty() {
        line += &format!("; occurred: {occurred}");
    }
    if let Some(prevented) = stronger(report) {
        line += &format!("; also prevented: {prevented}");
    }
    line
}

/// The phenomena that the stated level permits and that did not occur; `None` if there are none.
fn stronger(report: &Report) -> Option<String> {
    let stated = report.stated?;
    let names = names(report, |phenomenon| {
        !stated.proscribes(phenomenon) && !report.shows(phenomenon)
    });
    (!names.is_empty() && !report.observations.is_empty()).then_some(names)
}

fn names(report: &Report, wanted: impl Fn(Phenomenon) -> bool) -> String {
    let observed = |phenomenon: &Phenomenon| report.of(*phenomenon).next().is_some();
    let all = Phenomenon::ALL.into_iter();
    let wanted = all.filter(|phenomenon| observed(phenomenon) && wanted(*phenomenon));
    let names: Vec<_> = wanted.map(Phenomenon::name).collect();
    names.join(", ")
}

/// Writes settings as `name=value`, with `before` in front if there are any.
pub fn in_words(settings: &Settings, between: &str, before: &str) -> String {
    let words: Vec<_> = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if words.is_empty() {
        String::new()
    } else {
        format!("{before}{}", words.join(between))
    }
}

/// The head of the table in markdown.
pub fn table_head() -> String {
    let symbols: Vec<_> = Phenomenon::ALL
        .into_iter()
        .map(Phenomenon::symbol)
        .collect();
    let columns = symbols.len() + 4;
    format!(
        "| engine | version | knobs | stated | {} |\n|{}",
        symbols.join(" | "),
        "---|".repeat(columns)
    )
}

/// The row of an engine with these settings.
pub fn table_row(engine: &str, version: &str, settings: &Settings, report: &Report) -> String {
    let cells: Vec<_> = Phenomenon::ALL
        .into_iter()
        .map(|phenomenon| cell(report, phenomenon))
        .collect();
    format!(
        "| {engine} | {version} | {} | {} | {} |",
        in_words(settings, "<br>", ""),
        report.stated.map_or("nothing", Isolation::name),
        cells.join(" | ")
    )
}

/// The results of the schedules of one phenomenon: `w` for waited, `r` for refused, `s` for
/// separate; if the anomaly occurred, the number of schedules with it.
fn cell(report: &Report, phenomenon: Phenomenon) -> String {
    let results: Vec<_> = report.of(phenomenon).map(|one| &one.result).collect();
    let count =
        |wanted: &ScheduleResult| results.iter().filter(|result| ***result == *wanted).count();
    let failed = |result: &&&ScheduleResult| matches!(result, ScheduleResult::Failed(_));
    if results.iter().any(|result| failed(&result)) {
        return "error".to_owned();
    }
    if results.is_empty() {
        return "-".to_owned();
    }
    match count(&ScheduleResult::Occurred) {
        0 => {
            let ways = [
                ("w", ScheduleResult::Waited),
                ("r", ScheduleResult::Refused),
                ("s", ScheduleResult::Separate),
            ];
            let ways = ways.iter().filter(|(_, way)| count(way) > 0);
            ways.map(|(letter, _)| *letter)
                .collect::<Vec<_>>()
                .join(" ")
        }
        occurred => format!("**{occurred} of {}**", results.len()),
    }
}
