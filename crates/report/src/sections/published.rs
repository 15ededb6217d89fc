//! The sections of a report that compare published tables with ours.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Column, Table};
use trueput_findings::published::{
    ComparedRow, PublishedComparison, RatioRow, RatioTable, Role, comparisons, format_cell,
};
use trueput_findings::text::capitalized;
use trueput_findings::units::{number, whole};
use trueput_record::published::Cell;

/// Published tables with the matching trials, a part for each document.
pub(crate) struct PublishedTables;

impl Section for PublishedTables {
    fn parts(&self, input: &SectionInput<'_>) -> Vec<Part> {
        match comparisons(input.run) {
            Ok(found) => {
                let documents = found.chunk_by(|one, other| one.document == other.document);
                documents.filter_map(document).collect()
            }
            Err(error) => {
                let warning = Block::Warnings(vec![error.to_string()]);
                Part::without_title(vec![warning]).into_iter().collect()
            }
        }
    }
}

/// Marks a row or ratio of our own.
const HERE: &str = "here";

fn document(comparisons: &[PublishedComparison]) -> Option<Part> {
    let first = comparisons.first()?;
    let heading = format!("Compared with \"{}\" ({})", first.document, first.year);
    let advice = if comparisons.iter().any(|one| !one.ratios.is_empty()) {
        "compare ratios within a set, not absolute rates"
    } else {
        "do not compare their figures with ours"
    };
    let text = format!(
        "The rows of {} come from another machine: {advice}. Differences:",
        first.year
    );
    let mut differs: Vec<String> = Vec::new();
    let points = comparisons.iter().flat_map(|one| &one.differs);
    for point in points.map(ToString::to_string) {
        if !differs.contains(&point) {
            differs.push(point);
        }
    }
    let mut blocks = vec![Block::Text(text), Block::List(differs)];
    for comparison in comparisons {
        blocks.push(Block::Heading(3, comparison.title.clone()));
        for ratios in &comparison.ratios {
            let subject = format!("{}, inside each set", capitalized(&ratios.title));
            blocks.push(Block::Text(format!("{subject}:")));
            let caption = format!("{}: {subject}", comparison.title);
            let table = if ratios.rows.iter().any(|row| row.figure.is_some()) {
                figures_table(ratios, comparison)
            } else {
                ratio_table(ratios, comparison)
            };
            blocks.push(Block::Table(table.captioned(caption)));
            if !ratios.note.is_empty() {
                blocks.push(Block::Text(ratios.note.clone()));
            }
        }
        blocks.extend(figures(comparison));
        blocks.push(Block::Text(format!(
            "For its method and caveats, see 'trueput published {}'.",
            comparison.id
        )));
    }
    Part::unless_empty(&heading, blocks)
}

/// The figures: in one table if both sets have one size; else in a table per set, whose columns
/// state the size.
fn figures(comparison: &PublishedComparison) -> Vec<Block> {
    let Some(sizes) = &comparison.sizes else {
        let rows: Vec<_> = comparison.rows.iter().collect();
        let table = table(comparison, &rows, "");
        return vec![Block::Table(table.captioned(&comparison.title))];
    };
    let set = |ours: bool, size: &str, whose: &str| {
        let rows = comparison.rows.iter().filter(|row| row.ours == ours);
        let rows: Vec<_> = rows.collect();
        let subject = format!("The figures of {whose}, at {size}");
        let caption = format!("{}: {subject}", comparison.title);
        [
            Block::Text(format!("{subject}:")),
            Block::Table(table(comparison, &rows, size).captioned(caption)),
        ]
    };
    let here = set(true, &sizes.here, HERE);
    let there = set(false, &sizes.there, &comparison.year);
    here.into_iter().chain(there).collect()
}

/// A heading with the size at which its figures were measured, if it is stated.
fn at_size(title: &str, size: &str) -> String {
    if size.is_empty() {
        title.to_owned()
    } else {
        format!("{title} at {size}")
    }
}

/// Rows in the document's layout, with whose each is before it.
fn table(comparison: &PublishedComparison, rows: &[&ComparedRow], size: &str) -> Table {
    let mut table = Table::of(rows).text("from", 0, |row| {
        if !row.ours {
            comparison.year.clone()
        } else if row.who.is_empty() {
            HERE.to_owned()
        } else {
            format!("{HERE}: {}", row.who)
        }
    });
    for (place, column) in comparison.columns.iter().enumerate() {
        let title = match column.role {
            Role::Figure => at_size(&column.name, size),
            Role::Key | Role::Size => column.name.clone(),
        };
        let mut cells = comparison.rows.iter().map(|row| &row.cells[place]);
        let is_figure = cells.all(|cell| !matches!(cell, Cell::Text(_)));
        let heading = Column::new(title, is_figure, column.dispensable);
        table = table.column(heading, |row| match &row.cells[place] {
            Cell::Number(figure) if row.ours && column.is_whole => whole(*figure),
            Cell::Number(figure) if row.ours => number(*figure),
            other => format_cell(other),
        });
    }
    table.build()
}

/// Whether the ratios are of several contenders.
fn has_contenders(ratios: &RatioTable) -> bool {
    ratios.rows.iter().any(|row| row.who != ratios.rows[0].who)
}

fn ratio_table(ratios: &RatioTable, comparison: &PublishedComparison) -> Table {
    let sizes = comparison.sizes.as_ref();
    let (here, there) = sizes.map_or(("", ""), |sizes| (&sizes.here, &sizes.there));
    let mut table = Table::of(&ratios.rows).when(has_contenders(ratios), |table| {
        table.text("contender", 0, |row| &row.who)
    });
    for (place, key) in ratios.keys.iter().enumerate() {
        table = table.text(key, 0, |row| &row.keys[place]);
    }
    table
        .figures(at_size(HERE, here), 0, |row| ratio_shown(row.here))
        .figures(at_size(&comparison.year, there), 0, |row| {
            ratio_shown(row.there)
        })
        .build()
}

/// Ratios of several figures: a column for each, a row of ours and under it the document's.
fn figures_table(ratios: &RatioTable, comparison: &PublishedComparison) -> Table {
    let mut figures: Vec<&str> = Vec::new();
    let mut sets: Vec<(&RatioRow, Vec<&RatioRow>)> = Vec::new();
    for row in &ratios.rows {
        let figure = row.figure.as_deref().unwrap_or_default();
        if !figures.contains(&figure) {
            figures.push(figure);
        }
        let is_alike =
            |(first, _): &&mut (&RatioRow, _)| first.who == row.who && first.keys == row.keys;
        match sets.iter_mut().find(is_alike) {
            Some((_, rows)) => rows.push(row),
            None => sets.push((row, vec![row])),
        }
    }
    let mut rows: Vec<FigureRow<'_>> = Vec::new();
    for (first, of_set) in sets {
        rows.push((first, HERE, of_set.clone(), |row| row.here));
        if of_set.iter().any(|row| row.there.is_some()) {
            rows.push((first, &comparison.year, of_set, |row| row.there));
        }
    }
    let mut table = Table::of(&rows).when(has_contenders(ratios), |table| {
        table.text("contender", 0, |(first, ..)| &first.who)
    });
    for (place, key) in ratios.keys.iter().enumerate() {
        table = table.text(key, 0, |(first, ..)| &first.keys[place]);
    }
    table = table.text("from", 0, |(_, from, ..)| from);
    for figure in figures {
        let mut columns = comparison.columns.iter();
        let column = columns.find(|column| column.name == figure);
        let dispensable = column.map_or(0, |column| column.dispensable);
        table = table.figures(figure, dispensable, |(_, _, of_set, ratio)| {
            let mut rows = of_set.iter();
            let row = rows.find(|row| row.figure.as_deref() == Some(figure));
            ratio_shown(row.and_then(|row| ratio(row)))
        });
    }
    table.build()
}

/// The first set of ratios with this title, the contender, the set, and the index of the ratio that
/// is format_cell.
type FigureRow<'a> = (
    &'a RatioRow,
    &'a str,
    Vec<&'a RatioRow>,
    fn(&RatioRow) -> Option<f64>,
);

fn ratio_shown(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), number)
}
