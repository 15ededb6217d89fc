//! Rows of ours and of a published table in one layout.

use serde::Serialize;
use trueput_record::published::Cell;

/// A column of a [`PublishedComparison`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedColumn {
    /// Its name, which ends in its unit where it has one.
    pub name: String,
    /// What it holds.
    pub role: Role,
    /// The value whose figures are in it, in a table with a column for each value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Of a key that grows with the scale: our size over theirs at the same place of it. Rows match
    /// by that place, and not by the size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Whether it names the engine, so that contenders of other names differ in it.
    #[serde(skip)]
    pub names_contender: bool,
    /// Whether figures of ours are shown as whole numbers in it.
    #[serde(skip)]
    pub is_whole: bool,
    /// How readily it is left out where there is little room; 0: never.
    #[serde(skip)]
    pub dispensable: u8,
}

/// What a column of a [`PublishedComparison`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// What a row was given, by which rows are matched.
    Key,
    /// How large the problem was: rows of another size match, and the report says so.
    Size,
    /// What a row yielded.
    Figure,
}

/// A row of a [`PublishedComparison`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedRow {
    /// Whether it is ours.
    pub ours: bool,
    /// The contender, with what distinguishes it from others; of a published row, nothing.
    pub who: String,
    /// A cell per column.
    pub cells: Vec<Cell>,
}

/// What rows have in a column, each once.
pub(super) fn distinct(rows: &[ComparedRow], place: usize) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for cell in rows.iter().map(|row| &row.cells[place]) {
        if !cells.contains(cell) {
            cells.push(cell.clone());
        }
    }
    cells
}
