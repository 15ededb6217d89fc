//! Published results of others, as data: each table with its source, its machine and its caveats.
//!
//! The tables are in `published/*.toml` and are embedded in the program. A figure from another
//! machine cannot be ranked against one of ours; ratios within one table can be compared with ours.

mod side_by_side;

pub use side_by_side::{ColumnsByDimension, ContenderName, FIRST_OF, Ratio, Share, SideBySide};

use crate::Value;
use crate::median::median;
use crate::schema::of_file;
use crate::suggest::did_you_mean;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The id of a table and the text of its file in `published/`.
macro_rules! embedded {
    ($id:literal) => {
        ($id, include_str!(concat!("../published/", $id, ".toml")))
    };
}

/// Every table, in listing order.
const FILES: [(&str, &str); 30] = [
    embedded!("berkeleydb-log-flush"),
    embedded!("fis-2010-threen1-answers"),
    embedded!("fis-2010-threen1-elapsed"),
    embedded!("fis-2010-threen1-magnetic-vs-ssd-jfs"),
    embedded!("fis-2010-threen1-reads-per-second"),
    embedded!("fis-2010-threen1-sync-io-full-block-writes"),
    embedded!("fis-2010-threen1-updates-per-second"),
    embedded!("fis-2011-threen1-gtm-before-after"),
    embedded!("fis-2011-threen1-gtm-rates"),
    embedded!("fis-2011-threen1-gtm-tuning"),
    embedded!("fjall-2026-reads"),
    embedded!("fjall-2026-updates"),
    embedded!("informix-2010-oltp-cheats"),
    embedded!("libdb-2026-wiredtiger"),
    embedded!("redb-2025-load"),
    embedded!("redb-2025-range-reads"),
    embedded!("redb-2025-reads"),
    embedded!("redb-2025-removals"),
    embedded!("redb-2025-writes"),
    embedded!("slatedb-2026-workloads"),
    embedded!("smalldatum-2024-insert-engines"),
    embedded!("smalldatum-2024-insert-postgresql"),
    embedded!("smalldatum-2026-sysbench-engines"),
    embedded!("smalldatum-2026-sysbench-mysql"),
    embedded!("smalldatum-2026-sysbench-postgresql"),
    embedded!("symas-2014-load"),
    embedded!("symas-2014-read-while-writing"),
    embedded!("ucsb-2022-10gb-passes"),
    embedded!("ucsb-2022-10gb-reads"),
    embedded!("ucsb-2022-10gb-updates"),
];

/// An error in loading a published table.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No table has that id.
    #[error("no published table '{given}'{hint}; there are {}", ids().join(", "))]
    Unknown {
        /// The requested id.
        given: String,
        /// A hint with the nearest id, or empty.
        hint: String,
    },
    /// A table contradicts its header; the file is at fault.
    #[error("published/{id}.toml: {defect}")]
    Invalid {
        /// The table.
        id: String,
        /// The contradiction.
        defect: TableDefect,
    },
}

/// A contradiction in the file of a published table.
#[derive(Debug, thiserror::Error)]
#[allow(
    missing_docs,
    reason = "the message of each variant says what its fields are"
)]
pub enum TableDefect {
    #[error("{0}")]
    Syntax(toml::de::Error),
    #[error("its id is '{found}', and should be the file's")]
    Id { found: String },
    #[error("its date '{date}' does not begin with a year")]
    Date { date: String },
    #[error("title, author, document, address, machine or version is empty")]
    EmptyText,
    #[error("its scale is {scale}; it must be above 0 and 1 at most")]
    Scale { scale: f64 },
    #[error("it has no rows, no conditions or no caveats")]
    EmptyList,
    #[error("two columns are named '{column}'")]
    SameColumns { column: String },
    #[error("row {row} has {cells} cells for {columns} columns")]
    CellCount {
        row: usize,
        cells: usize,
        columns: usize,
    },
    #[error("row {row}, column '{column}': '{cell}' does not fit its kind {kind:?}")]
    Misfit {
        row: usize,
        column: String,
        cell: Cell,
        kind: ColumnKind,
    },
    #[error("the {part} '{title}' names no column '{column}'")]
    NoColumn {
        /// `ratio` or `share`.
        part: &'static str,
        title: String,
        column: String,
    },
    #[error("the ratio '{title}' has {values} values for {columns} columns")]
    RatioValues {
        title: String,
        values: usize,
        columns: usize,
    },
    #[error("column '{column}' has no dimension")]
    NoDimension { column: String },
}

/// A table that others published.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PublishedTable {
    /// The name on the command line, and of the file.
    pub id: String,
    /// The subject of the measurement, in a line.
    pub title: String,
    /// The author, place and time of publication.
    pub source: Source,
    /// The machine of the measurement, if the source states it.
    pub machine: String,
    /// The versions of the software, if the source states them.
    pub version: String,
    /// The method of measurement, one point each.
    pub conditions: Vec<String>,
    /// Caveats for readers, one point each.
    pub caveats: Vec<String>,
    /// The nearest experiment of trueput.
    pub experiment: Experiment,
    /// The comparison of trueput's trials with the table in reports; `None` if no trial is
    /// comparable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<SideBySide>,
    /// The columns, from the left.
    pub columns: Vec<Column>,
    /// The rows, from the top: a cell per column.
    pub rows: Vec<Vec<Cell>>,
}

/// The publication of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The author.
    pub author: String,
    /// The document's title.
    pub document: String,
    /// The date, if the document states it; it begins with the year.
    pub date: String,
    /// The address as the document states it, or a note that it states none.
    pub address: String,
}

/// The experiment here that comes nearest to a published one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The workload.
    pub workload: String,
    /// The plan from which it starts, by file name in `plans/`; empty: the workload only.
    #[serde(default)]
    pub plan: String,
    /// The default fraction of the document's size, suitable for a small machine. Greater than 0,
    /// at most 1.
    pub scale: f64,
    /// The keys of the plan that grow with the scale; the name of a list means all of its keys.
    #[serde(default)]
    pub scales: Vec<String>,
    /// The unavoidable differences; empty if only the machine and the versions differ.
    #[serde(default)]
    pub differs: String,
    /// The changes to that plan, by the plan's own keys: `workers`, `settings.finish`,
    /// `knobs.gtm.global_buffers`.
    pub settings: Vec<Setting>,
}

/// A key of a plan and its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The key.
    pub name: String,
    /// Its values: several make a dimension.
    pub values: Vec<Value>,
}

/// A column of a published table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name, with the unit, if any, at the end.
    pub name: String,
    /// The kind of value in the cells.
    pub kind: ColumnKind,
    /// The meaning of the column.
    pub meaning: String,
    /// The matching dimension or figure of trueput, as named in [`SideBySide`]; `None` if there is
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
    /// The value of [`ColumnsByDimension::dimension`] whose figures are in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The table's names for values that trueput names differently.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, String>,
    /// The table's names for contenders of trueput, in a column whose dimension is `engine`: the
    /// first match counts. A contender without a match has its engine's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<ContenderName>,
    /// The priority for omission if a report has little room; 0: never omitted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dispensable: u8,
}

/// Returns whether serialization omits the number.
fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// The kind of value in the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Words.
    Text,
    /// Whole numbers.
    Integer,
    /// Numbers with a fraction.
    Number,
}

/// A cell of a published table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, from = "RawCell")]
pub enum Cell {
    /// The document has no figure; `""` in the file, null in JSON.
    Missing,
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Number(f64),
    /// Words.
    Text(String),
    /// The figures of repeated runs, as the document gives them.
    Repeats(Vec<f64>),
}

impl Cell {
    /// Returns the figure: of repeated runs, the median. `None` if the cell is empty or not a
    /// figure.
    #[must_use]
    pub fn figure(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Number(number) => Some(*number),
            Self::Repeats(figures) => median(figures),
            Self::Missing | Self::Text(_) => None,
        }
    }

    /// Returns whether a column of that kind may hold it.
    fn fits(&self, kind: ColumnKind) -> bool {
        let plausible = |figure: f64| figure.is_finite() && figure >= 0.0;
        match (self, kind) {
            (Self::Missing, _) => true,
            (Self::Text(text), ColumnKind::Text) => !text.trim().is_empty(),
            (Self::Integer(number), ColumnKind::Integer) => *number >= 0,
            (Self::Number(number), ColumnKind::Number) => plausible(*number),
            (Self::Repeats(figures), ColumnKind::Integer | ColumnKind::Number) => {
                let whole = |figure: &f64| kind == ColumnKind::Number || figure.fract() == 0.0;
                !figures.is_empty() && figures.iter().all(|f| plausible(*f) && whole(f))
            }
            _ => false,
        }
    }
}

/// Formats a cell for a plain table: empty if the figure is missing, repeats separated by `;`.
impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => Ok(()),
            Self::Integer(number) => number.fmt(formatter),
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => formatter.pad(text),
            Self::Repeats(figures) => {
                let figures: Vec<_> = figures.iter().map(ToString::to_string).collect();
                formatter.pad(&figures.join(";"))
            }
        }
    }
}

/// One row of a table, its cells by the names of their columns.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [Column],
    cells: &'a [Cell],
}

impl<'a> Row<'a> {
    /// Returns the cell of a column; `None` if the table has no such column.
    #[must_use]
    pub fn cell(&self, column: &str) -> Option<&'a Cell> {
        let place = self.columns.iter().position(|one| one.name == column)?;
        self.cells.get(place)
    }

    /// Returns the figure in a column, as [`Cell::figure`].
    #[must_use]
    pub fn figure(&self, column: &str) -> Option<f64> {
        self.cell(column)?.figure()
    }

    /// Returns the text in a column.
    #[must_use]
    pub fn text(&self, column: &str) -> Option<&'a str> {
        match self.cell(column)? {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl PublishedTable {
    /// Returns the year of publication.
    #[must_use]
    pub fn year(&self) -> Option<u16> {
        year(&self.source.date)
    }

    /// Returns the rows, their cells by name.
    pub fn records(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row {
            columns: &self.columns,
            cells,
        })
    }

    /// Reads a table from the text of its file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a part is absent, or a row does not fit the columns.
    pub fn parse(id: &str, text: &str) -> Result<Self, Error> {
        let invalid = |defect| Error::Invalid {
            id: id.to_owned(),
            defect,
        };
        let file: File =
            toml::from_str(text).map_err(|error| invalid(TableDefect::Syntax(error)))?;
        let published = Self {
            id: file.id,
            title: file.title,
            source: file.source,
            machine: file.machine,
            version: file.version,
            conditions: file.conditions,
            caveats: file.caveats,
            experiment: file.experiment,
            beside: file.beside,
            columns: file.table.columns,
            rows: file.table.rows,
        };
        published.check(id).map_err(invalid)?;
        Ok(published)
    }

    fn check(&self, id: &str) -> Result<(), TableDefect> {
        if self.id != id {
            let found = self.id.clone();
            return Err(TableDefect::Id { found });
        }
        if self.year().is_none() {
            let date = self.source.date.clone();
            return Err(TableDefect::Date { date });
        }
        let Source {
            author,
            document,
            address,
            ..
        } = &self.source;
        let stated = [&self.title, author, document, address];
        let of_what = [&self.machine, &self.version];
        if stated
            .into_iter()
            .chain(of_what)
            .any(|text| text.trim().is_empty())
        {
            return Err(TableDefect::EmptyText);
        }
        let Experiment { scale, .. } = self.experiment;
        if !(scale > 0.0 && scale <= 1.0) {
            return Err(TableDefect::Scale { scale });
        }
        let beside = self.beside.clone().unwrap_or_default();
        beside.check(&self.columns)?;
        if self.rows.is_empty() || self.conditions.is_empty() || self.caveats.is_empty() {
            return Err(TableDefect::EmptyList);
        }
        for (index, column) in self.columns.iter().enumerate() {
            let same = |other: &Column| other.name == column.name;
            if self.columns[..index].iter().any(same) {
                let column = column.name.clone();
                return Err(TableDefect::SameColumns { column });
            }
        }
        (1..)
            .zip(&self.rows)
            .try_for_each(|(row, cells)| self.check_row(row, cells))
    }

    fn check_row(&self, row: usize, cells: &[Cell]) -> Result<(), TableDefect> {
        if cells.len() != self.columns.len() {
            return Err(TableDefect::CellCount {
                row,
                cells: cells.len(),
                columns: self.columns.len(),
            });
        }
        let mut in_columns = cells.iter().zip(&self.columns);
        match in_columns.find(|(cell, column)| !cell.fits(column.kind)) {
            None => Ok(()),
            Some((cell, column)) => Err(TableDefect::Misfit {
                row,
                column: column.name.clone(),
                cell: cell.clone(),
                kind: column.kind,
            }),
        }
    }
}

/// Returns the ids of every table, in listing order.
#[must_use]
pub fn ids() -> Vec<&'static str> {
    FILES.iter().map(|(id, _)| *id).collect()
}

/// Returns every table.
///
/// # Errors
/// [`Error::Invalid`] if a file is at fault, which the tests of the program rule out.
pub fn all() -> Result<Vec<PublishedTable>, Error> {
    FILES
        .iter()
        .map(|(id, text)| PublishedTable::parse(id, text))
        .collect()
}

/// Returns the table with that id.
///
/// # Errors
/// [`Error::Unknown`] if there is none.
///
/// ```
/// use trueput_record::published;
/// let table = published::named("fis-2010-threen1-elapsed")?;
/// let largest = table.records().last();
/// assert_eq!(largest.and_then(|row| row.figure("ext2_s")), Some(35_989.0));
/// # Ok::<(), published::Error>(())
/// ```
pub fn named(id: &str) -> Result<PublishedTable, Error> {
    match FILES.iter().find(|(known, _)| *known == id) {
        Some((id, text)) => PublishedTable::parse(id, text),
        None => Err(Error::Unknown {
            given: id.to_owned(),
            hint: did_you_mean(id, ids()),
        }),
    }
}

/// Returns the year with which a date begins.
fn year(date: &str) -> Option<u16> {
    date.get(..4)?
        .parse()
        .ok()
        .filter(|year| (1960..=2200).contains(year))
}

/// Returns the schema of a table's file.
#[must_use]
pub fn file_schema() -> Schema {
    of_file::<File>()
}

/// A table that others published, as a file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PublishedTable")]
struct File {
    /// The name on the command line, and of the file.
    id: String,
    /// The subject of the measurement, in a line.
    title: String,
    /// The machine of the measurement, if the source states it.
    machine: String,
    /// The versions of the software, if the source states them.
    version: String,
    /// The method of measurement, one point each.
    conditions: Vec<String>,
    /// Caveats for readers, one point each.
    caveats: Vec<String>,
    /// The author, place and time of publication.
    source: Source,
    /// The nearest experiment of trueput.
    experiment: Experiment,
    /// The comparison of trueput's trials with the table in reports; absent if no trial is
    /// comparable.
    beside: Option<SideBySide>,
    /// The figures.
    table: Table,
}

/// The figures of a published table.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The columns, from the left.
    columns: Vec<Column>,
    /// The rows, from the top: a cell per column.
    rows: Vec<Vec<Cell>>,
}

/// A cell in a table's file: a figure, words, the figures of repeated runs; `""` if the document
/// has no figure.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum RawCell {
    Integer(i64),
    Number(f64),
    Text(String),
    Repeats(Vec<f64>),
}

impl From<RawCell> for Cell {
    fn from(written: RawCell) -> Self {
        match written {
            RawCell::Text(text) if text.is_empty() => Self::Missing,
            RawCell::Integer(number) => Self::Integer(number),
            RawCell::Number(number) => Self::Number(number),
            RawCell::Text(text) => Self::Text(text),
            RawCell::Repeats(figures) => Self::Repeats(figures),
        }
    }
}
