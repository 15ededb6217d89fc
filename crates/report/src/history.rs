//! The history of a plan: its rates over many runs.

use crate::charts::{Charts, sparkline};
use crate::document::{Block, Table};
use crate::formats::{Format, Style};
use crate::formats::{markdown, terminal};
use crate::sections::tpcc;
use trueput_findings::contender::version_number;
use trueput_findings::history::{MIN_RUNS, RateSeries, RunHistory};
use trueput_findings::marks::{explanations, marked};
use trueput_findings::text::joined;
use trueput_findings::units::{counted, number, per_cent, plural};

/// Width of the sparkline of rates.
const SPARKLINE_COLUMNS: usize = 40;

/// Writes a history. It ends with a newline.
#[must_use]
pub fn render(history: &RunHistory, format: Format, style: Style) -> String {
    match format {
        Format::Json => format!("{:#}\n", serde_json::json!(history)),
        Format::Markdown => markdown::render(&document(history, style.charts)),
        // The command offers no other formats.
        _ => terminal::render_with(&document(history, style.charts), style, "--json"),
    }
}

fn document(history: &RunHistory, charts: Charts) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(1, "trueput history".to_owned())];
    let skipped = history.skipped.iter().map(ToString::to_string);
    blocks.extend(Block::Warnings(skipped.collect()).filled());
    let workloads = history.series.iter();
    blocks.extend(tpcc::notice_block(
        workloads.map(|series| series.workload.as_str()),
    ));
    for series in &history.series {
        let heading = format!(
            "{}, {}, {}, {}",
            marked(&series.contender, &series.marks),
            series.workload,
            series.durability,
            counted(u64::from(series.workers), "worker")
        );
        blocks.push(Block::Heading(2, heading));
        let mut words: Vec<_> = series.circumstances.iter().collect();
        // Conditions without a limit have these values; only limits distinguish a series.
        words.retain(|(_, value)| !matches!(value.as_str(), "none" | "all"));
        let words = words.iter().map(|(name, value)| format!("{name}={value}"));
        blocks.push(Block::Text(words.collect::<Vec<_>>().join(", ")));
        blocks.push(Block::Table(table(series)));
        let rates: Vec<f64> = series.points.iter().map(|point| point.per_s).collect();
        // The sparkline starts at the least rate, because it shows changes, not amounts.
        let least = rates.iter().copied().fold(f64::MAX, f64::min);
        let line = sparkline(&rates, SPARKLINE_COLUMNS, least, charts);
        if !line.is_empty() && rates.len() > 1 {
            let most = rates.iter().copied().fold(f64::MIN, f64::max);
            let (least, most) = (number(least), number(most));
            blocks.push(Block::Text(format!(
                "{line}  {least} to {most} {}/s",
                plural(&series.headline)
            )));
        }
        blocks.push(Block::List(sentences(series)));
        let marks = explanations([(series.contender.as_str(), series.marks.as_slice())]);
        blocks.extend(Block::Warnings(marks).filled());
    }
    blocks
}

fn table(series: &RateSeries) -> Table {
    let mark = |index: usize| {
        if series.steps.iter().any(|step| step.at == index) {
            "changed"
        } else if series.outliers.iter().any(|far| far.at == index) {
            "outlier"
        } else {
            ""
        }
    };
    let mut marks = (0..).map(mark);
    let rate = format!("mean {}/s", plural(&series.headline));
    Table::of(&series.points)
        .text("started", 0, |point| {
            // RFC 3339 up to the second, without the time zone.
            point.started_at.chars().take(19).collect::<String>()
        })
        .figures(rate, 0, |point| number(point.per_s))
        .figures("95 % interval", 2, |point| match point.interval {
            Some(interval) => format!("{}–{}", number(interval.low), number(interval.high)),
            None => String::new(),
        })
        .figures("repeats", 3, |point| point.repeats)
        .text("", 0, |_| marks.next().unwrap_or_default())
        .text("version", 4, |point| version_number(&point.version))
        .text("host", 5, |point| &point.host)
        .text("run", 6, |point| &point.run)
        .build()
}

fn sentences(series: &RateSeries) -> Vec<String> {
    let mut lines = Vec::new();
    for step in &series.steps {
        let point = &series.points[step.at];
        let verb = if step.ratio < 1.0 { "fell" } else { "rose" };
        let mut line = format!(
            "It {verb} by {} at {} ({})",
            per_cent((step.ratio - 1.0).abs()),
            point.started_at,
            point.run
        );
        if step.with.is_empty() {
            line += "; no recorded change.";
        } else {
            line += &format!(", when {} changed.", joined(&step.with, ", "));
        }
        lines.push(line);
    }
    for outlier in &series.outliers {
        let point = &series.points[outlier.at];
        lines.push(format!(
            "{} is an outlier: {}/s, median of its level {}/s.",
            point.run,
            number(point.per_s),
            number(outlier.median_per_s)
        ));
    }
    match (series.points.len(), lines.is_empty()) {
        (count, _) if count < MIN_RUNS => lines.push(format!(
            "{}: at least {MIN_RUNS} runs are needed to find a change.",
            counted(count as u64, "run")
        )),
        (count, true) => lines.push(format!("No significant change in {count} runs.")),
        _ => {}
    }
    lines
}
