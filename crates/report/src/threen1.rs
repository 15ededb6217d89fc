//! The original 3n+1 program's line of output, for people.

use crate::formats::terminal::wrap;
use trueput_findings::threen1::Threen1Line;
use trueput_findings::units::{number, seconds, separate, thousands};
use trueput_record::TrialRecord;

/// Each figure's name and the least width of its column.
const COLUMNS: [(&str, usize); 12] = [
    ("start", 10),
    ("finish", 11),
    ("workers", 7),
    ("block", 10),
    ("longest", 7),
    ("largest number", 19),
    ("elapsed", 8),
    ("updates", 11),
    ("reads", 11),
    ("updates/s", 11),
    ("reads/s", 11),
    ("CPU", 8),
];

/// What each figure of [`threen1_line`] is, in its order and above it; `None` if a line of so
/// many characters has no room for it.
#[must_use]
pub fn threen1_header(width: usize) -> Option<String> {
    let header = aligned(&COLUMNS.map(|(name, _)| name.to_owned()));
    (header.chars().count() <= width).then_some(header)
}

/// The original's line for people: thousands separated, in columns. Where this many characters have
/// no room for that, the same figures in lines of words. `None` as [`Threen1Line::of`].
#[must_use]
pub fn threen1_line(record: &TrialRecord, width: usize) -> Option<String> {
    let line = Threen1Line::of(record)?;
    Some(match threen1_header(width) {
        Some(_) => aligned(&figures(&line)),
        None => in_words(&figures(&line), width),
    })
}

fn figures(line: &Threen1Line) -> [String; 12] {
    [
        thousands(line.start),
        thousands(line.finish),
        line.workers.to_string(),
        thousands(line.block),
        thousands(line.longest_sequence),
        separate(&line.largest_number.to_string()),
        seconds(line.elapsed_s),
        thousands(line.updates),
        thousands(line.reads),
        number(line.updates_per_s),
        number(line.reads_per_s),
        seconds(line.cpu_s),
    ]
}

fn in_words(figures: &[String; 12], width: usize) -> String {
    let [start, finish, workers, block, longest, largest, elapsed, ..] = figures;
    let [.., updates, reads, updates_per_s, reads_per_s, cpu] = figures;
    let text = format!(
        "{start} to {finish}, workers {workers}, block {block}: longest {longest}, largest \
         {largest}, {elapsed}; updates {updates}, {updates_per_s}/s; reads {reads}, \
         {reads_per_s}/s; CPU {cpu}"
    );
    wrap(&text, width, "    ").join("\n")
}

fn aligned(figures: &[String; 12]) -> String {
    let padded = figures
        .iter()
        .zip(COLUMNS)
        .map(|(figure, (_, width))| format!("{figure:>width$}"));
    padded.collect::<Vec<_>>().join("  ")
}
