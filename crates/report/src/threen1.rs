//! The output of workload `threen1` in the format of the original 3n+1 benchmark program ("the
//! original"), which writes one line of figures per problem.

use crate::formats::terminal::wrap;
use trueput_findings::threen1::Threen1Line;
use trueput_findings::units::{number, seconds, separate, thousands};
use trueput_record::TrialRecord;

/// A figure: its name, the least width of its column, and its format.
type LineFigure = (&'static str, usize, fn(&Threen1Line) -> String);

const FIGURES: [LineFigure; 12] = [
    ("start", 10, |line| thousands(line.start)),
    ("finish", 11, |line| thousands(line.finish)),
    ("workers", 7, |line| line.workers.to_string()),
    ("block", 10, |line| thousands(line.block)),
    ("longest", 7, |line| thousands(line.longest_sequence)),
    ("largest number", 19, |line| {
        separate(&line.largest_number.to_string())
    }),
    ("elapsed", 8, |line| seconds(line.elapsed_s)),
    ("updates", 11, |line| thousands(line.updates)),
    ("reads", 11, |line| thousands(line.reads)),
    ("updates/s", 11, |line| number(line.updates_per_s)),
    ("reads/s", 11, |line| number(line.reads_per_s)),
    ("CPU", 8, |line| seconds(line.cpu_s)),
];

/// The column headings of [`threen1_line`], or `None` if they are wider than `width`.
#[must_use]
pub fn threen1_header(width: usize) -> Option<String> {
    let header = aligned(&FIGURES.map(|(name, ..)| name.to_owned()));
    (header.chars().count() <= width).then_some(header)
}

/// The original's line for people: thousands separated, in columns. If the columns are wider than
/// `width`, the same figures as a wrapped sentence. `None` as [`Threen1Line::of`].
#[must_use]
pub fn threen1_line(record: &TrialRecord, width: usize) -> Option<String> {
    let line = Threen1Line::of(record)?;
    let figures = FIGURES.map(|(_, _, written)| written(&line));
    Some(match threen1_header(width) {
        Some(_) => aligned(&figures),
        None => in_words(&figures, width),
    })
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
        .zip(FIGURES)
        .map(|(figure, (_, width, _))| format!("{figure:>width$}"));
    padded.collect::<Vec<_>>().join("  ")
}
