//! Rows of ours and of a published table in one layout.

use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::published::Cell;

/// A column of a [`PublishedComparison`].
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedColumn {
    /// Its name, which ends in its unit if it has one.
    pub name: String,
    /// The kind of its values.
    pub role: Role,
    /// The value whose figures are in it, in a table with a column for each value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// For a key that grows with the scale: our size over the published size at the same point of
    /// the scale. Rows match by that point, not by size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Whether it names the engine, so that differently named contenders differ in it.
    #[serde(skip)]
    pub names_contender: bool,
    /// Whether figures of ours are shown as whole numbers in it.
    #[serde(skip)]
    pub is_whole: bool,
    /// Priority for dropping it in a narrow layout: the highest goes first, 0 never.
    #[serde(skip)]
    pub dispensable: u8,
}

/// The kind of values in a column of a [`PublishedComparison`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An input of a row, by which rows are matched.
    Key,
    /// A problem size: rows with different sizes match, and the report says so.
    Size,
    /// A measured result.
    Figure,
}

/// A row of a [`PublishedComparison`].
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedRow {
    /// Whether the row is ours, not published.
    pub ours: bool,
    /// The contender, named distinctly; empty for a published row.
    pub who: String,
    /// A cell per column.
    pub cells: Vec<Cell>,
}

/// The distinct values of rows in a column.
pub(super) fn distinct(rows: &[ComparedRow], place: usize) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for cell in rows.iter().map(|row| &row.cells[place]) {
        if !cells.contains(cell) {
            cells.push(cell.clone());
        }
    }
    cells
}
