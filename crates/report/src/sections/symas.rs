//! The tables: ours and theirs in pairs, and the ratios inside each.

use super::{Findings, Part, Section};
use crate::document::{Block, Column, Table};
use trueput_findings::symas::{BASE, SymasRow, counterpart, published_rows};
use trueput_findings::symas::{differences, rows};
use trueput_findings::units::{number, thousands};
use trueput_record::published::Error;

/// Symas's tables of 2014, with ours in their layout.
pub(crate) struct SymasTables;

impl Section for SymasTables {
    fn parts(&self, findings: &Findings<'_>) -> Vec<Part> {
        let rows = rows(&findings.run.trials);
        if rows.is_empty() {
            return Vec::new();
        }
        let blocks =
            differences(findings.run, &rows).and_then(|differences| document(&rows, differences));
        let part = match blocks {
            Ok(blocks) => Part::unless_empty(TITLE, blocks),
            Err(error) => Part::without_title(vec![Block::Warnings(vec![error.to_string()])]),
        };
        part.into_iter().collect()
    }
}

const TITLE: &str = "Compared with Symas's microbenchmark of 2014";

/// How a figure is written.
#[derive(Clone, Copy)]
enum FigureFormat {
    /// As the document writes times: minutes and seconds, with hours where there are any.
    Clock,
    /// A whole number.
    Whole,
}

/// A figure of the document: its heading, how readily it gives way, how it is written, its value.
struct Figure {
    title: &'static str,
    dispensable: u8,
    written: FigureFormat,
    of: fn(&SymasRow) -> Option<f64>,
}

const fn figure(
    title: &'static str,
    dispensable: u8,
    written: FigureFormat,
    of: fn(&SymasRow) -> Option<f64>,
) -> Figure {
    Figure {
        title,
        dispensable,
        written,
        of,
    }
}

/// The document's columns, in its order. A load has no rates.
const FIGURES: [Figure; 11] = [
    figure("wall", 0, FigureFormat::Clock, |row| Some(row.wall_s)),
    figure("user", 3, FigureFormat::Clock, |row| Some(row.user_s)),
    figure("system", 3, FigureFormat::Clock, |row| Some(row.system_s)),
    figure("CPU %", 0, FigureFormat::Whole, |row| Some(row.cpu_percent)),
    figure("DB KiB", 2, FigureFormat::Whole, |row| {
        Some(row.db_size_kib as f64)
    }),
    figure("process KiB", 2, FigureFormat::Whole, |row| {
        Some(row.process_size_kib as f64)
    }),
    figure("total KiB", 1, FigureFormat::Whole, |row| {
        Some(row.total_size_kib as f64)
    }),
    figure("switches, voluntary", 4, FigureFormat::Whole, |row| {
        Some(row.voluntary_context_switches as f64)
    }),
    figure("switches, involuntary", 4, FigureFormat::Whole, |row| {
        Some(row.involuntary_context_switches as f64)
    }),
    figure("writes/s", 0, FigureFormat::Whole, |row| row.writes_per_s),
    figure("reads/s", 0, FigureFormat::Whole, |row| row.reads_per_s),
];

/// How many of [`FIGURES`] a load has.
const OF_LOAD: usize = 9;

/// What marks a row of ours.
const HERE: &str = "here";

/// What marks a row of the document's.
const THERE: &str = "2014";

/// Loads in the document's layout: each of ours, and under it the published one of the same engine
/// and memory policy, where there is one. Rows that are no loads are left out.
#[must_use]
pub fn load_table(ours: &[SymasRow], published: &[SymasRow]) -> Table {
    let loads = ours.iter().filter(|row| row.readers.is_none());
    pairs("engine", OF_LOAD, loads, published, |row| row.label.clone())
}

/// One engine's runs in the document's layout: each of ours, and under it the published one with as
/// many readers, where there is one. Rows with another label are left out.
#[must_use]
pub fn run_table(label: &str, ours: &[SymasRow], published: &[SymasRow]) -> Table {
    let runs = ours
        .iter()
        .filter(|row| row.label == label && row.readers.is_some());
    pairs("readers", FIGURES.len(), runs, published, |row| {
        row.readers.unwrap_or_default().to_string()
    })
}

fn pairs<'a>(
    first: &str,
    figures: usize,
    ours: impl Iterator<Item = &'a SymasRow>,
    published: &[SymasRow],
    name: fn(&SymasRow) -> String,
) -> Table {
    let mut table = headed(&[first, "from"], &FIGURES[..figures]);
    for row in ours {
        for (from, shown) in [(HERE, Some(row)), (THERE, counterpart(row, published))] {
            let Some(shown) = shown else { continue };
            let mut cells = vec![name(row), whose(from, shown)];
            cells.extend(FIGURES[..figures].iter().map(|figure| figure.text(shown)));
            table.rows.push(cells);
        }
    }
    table
}

/// Every figure of each load over LMDB's of the same set: ours over our LMDB's, theirs over theirs.
/// A set without LMDB has no ratios.
#[must_use]
pub fn load_ratios(ours: &[SymasRow], published: &[SymasRow]) -> Table {
    let loads = ours.iter().filter(|row| row.readers.is_none());
    let mut table = headed(&["engine", "from"], &FIGURES[..OF_LOAD]);
    for row in loads {
        for (from, shown, set) in sides(row, ours, published) {
            let mut cells = vec![row.label.clone(), whose(from, shown)];
            cells.extend(over_base(shown, set, &FIGURES[..OF_LOAD]));
            table.rows.push(cells);
        }
    }
    table
}

/// Every figure of each run over LMDB's with as many readers of the same set, and its reads over
/// those of the same engine with one reader.
#[must_use]
pub fn run_ratios(ours: &[SymasRow], published: &[SymasRow]) -> Table {
    let runs = ours.iter().filter(|row| row.readers.is_some());
    let mut table = headed(&["engine", "readers", "from"], &FIGURES);
    table
        .columns
        .push(Column::figures("reads over 1 reader's", 0));
    for row in runs {
        for (from, shown, set) in sides(row, ours, published) {
            let readers = row.readers.unwrap_or_default().to_string();
            let mut cells = vec![row.label.clone(), readers, from.to_owned()];
            cells.extend(over_base(shown, set, &FIGURES));
            let alone = set.iter().find(|one| {
                one.label == shown.label && one.readers == Some(1) && one.policy == shown.policy
            });
            let reads = alone.and_then(|alone| ratio(shown.reads_per_s?, alone.reads_per_s?));
            cells.push(shown_ratio(reads));
            table.rows.push(cells);
        }
    }
    table
}

/// Whose a row is; of a load, which the document has of each, with its memory policy.
fn whose(from: &str, row: &SymasRow) -> String {
    match row.readers {
        None => format!("{from}, {}", row.policy.word()),
        Some(_) => from.to_owned(),
    }
}

/// A row of ours and its published counterpart, each with the set that it belongs to.
fn sides<'a>(
    row: &'a SymasRow,
    ours: &'a [SymasRow],
    published: &'a [SymasRow],
) -> Vec<(&'static str, &'a SymasRow, &'a [SymasRow])> {
    let mut sides = vec![(HERE, row, ours)];
    if let Some(theirs) = counterpart(row, published) {
        sides.push((THERE, theirs, published));
    }
    sides
}

/// A row's figures over those of LMDB in the same set.
fn over_base<'a>(
    row: &'a SymasRow,
    set: &'a [SymasRow],
    figures: &'a [Figure],
) -> impl Iterator<Item = String> + 'a {
    let base = set
        .iter()
        .find(|one| one.engine == BASE && one.readers == row.readers && one.policy == row.policy);
    figures.iter().map(move |figure| {
        let found = base.and_then(|base| ratio((figure.of)(row)?, (figure.of)(base)?));
        shown_ratio(found)
    })
}

fn ratio(above: f64, below: f64) -> Option<f64> {
    (below > 0.0).then(|| above / below)
}

fn shown_ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), number)
}

/// What is above the points that are not the same.
const ANOTHER_MACHINE: &str = "The rows of 2014 come from another machine: compare ratios to \
    LMDB, not absolute rates. Differences:";

/// What is below them.
const READ_MORE: &str = "The document has each load twice, with local memory (on the node that first \
    touches it) and interleaved (in turn on every node): each of ours stands above the one with its \
    own policy, which is named with it. 'trueput published symas-2014-load' and 'trueput published \
    symas-2014-read-while-writing' tell the source and its caveats.";

/// The whole comparison as blocks of a report: what is not the same, load, its ratios, a table per
/// engine, their ratios.
///
/// # Errors
/// As [`published_rows`].
pub fn document(ours: &[SymasRow], differs: Vec<String>) -> Result<Vec<Block>, Error> {
    let published = published_rows()?;
    let mut blocks = vec![
        Block::Text(ANOTHER_MACHINE.to_owned()),
        Block::List(differs),
        Block::Text(READ_MORE.to_owned()),
    ];
    let mut section = |title: String, table: Table| {
        if !table.rows.is_empty() {
            blocks.push(Block::Heading(3, title.clone()));
            blocks.push(Block::Table(table.captioned(title)));
        }
    };
    section("Load".to_owned(), load_table(ours, &published));
    section(
        "Load, each figure over LMDB's".to_owned(),
        load_ratios(ours, &published),
    );
    let mut labels: Vec<&str> = Vec::new();
    for row in ours.iter().filter(|row| row.readers.is_some()) {
        if !labels.contains(&row.label.as_str()) {
            labels.push(&row.label);
        }
    }
    for label in labels {
        section(
            format!("{label}, read while writing"),
            run_table(label, ours, &published),
        );
    }
    section(
        "Read while writing, each figure over LMDB's with as many readers".to_owned(),
        run_ratios(ours, &published),
    );
    Ok(blocks)
}

impl Figure {
    fn text(&self, row: &SymasRow) -> String {
        match ((self.of)(row), self.written) {
            (None, _) => "-".to_owned(),
            (Some(value), FigureFormat::Clock) => clock(value),
            (Some(value), FigureFormat::Whole) => thousands(value.round() as u64),
        }
    }
}

/// `09:24.39`, `1:08:51.55`: minutes, seconds and hundredths, with hours where there are any.
fn clock(seconds: f64) -> String {
    let hundredths = (seconds * 100.0).round() as u64;
    let (minutes, rest) = (hundredths / 6_000, hundredths % 6_000);
    let rest = format!("{:02}.{:02}", rest / 100, rest % 100);
    match minutes / 60 {
        0 => format!("{minutes:02}:{rest}"),
        hours => format!("{hours}:{:02}:{rest}", minutes % 60),
    }
}

fn headed(first: &[&str], figures: &[Figure]) -> Table {
    let first = first
        .iter()
        .map(|title| Column::new(*title, *title == "readers", 0));
    let figures = figures
        .iter()
        .map(|figure| Column::figures(figure.title, figure.dispensable));
    Table {
        columns: first.chain(figures).collect(),
        rows: Vec::new(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::sections::symas::clock;

    #[test]
    fn times_are_written_as_in_the_document() {
        // LevelDB's load, and the user CPU of its run with 8 readers.
        assert_eq!(clock(564.39), "09:24.39");
        assert_eq!(clock(4258.54), "1:10:58.54");
        assert_eq!(clock(0.0), "00:00.00");
        assert_eq!(clock(59.999), "01:00.00");
    }
}
