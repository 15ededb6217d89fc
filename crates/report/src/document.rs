//! What a report says, in blocks that each format writes in its own way.

use trueput_record::text::{visible, visible_lines};

/// One block of a report, top to bottom.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading; 1 is the report's own.
    Heading(u8, String),
    /// A paragraph.
    Text(String),
    /// What the reader must not overlook, one sentence or so each.
    Warnings(Vec<String>),
    /// Points, one each.
    List(Vec<String>),
    /// A table.
    Table(Table),
    /// A command to be copied as it stands: its words, quoted for a shell.
    Command(Vec<String>),
}

/// A table: every row has a cell per column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Its name among the tables of its section; empty where the section has only one.
    pub caption: String,
    /// The columns, from the left.
    pub columns: Vec<Column>,
    /// The rows, from the top.
    pub rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its heading.
    pub title: String,
    /// Whether it holds figures, set to the right.
    pub figures: bool,
    /// How readily it is left out if there is no room: the highest goes first, of equal ones the
    /// rightmost, and a column with 0 never.
    pub dispensable: u8,
    /// What it is to its table.
    pub role: ColumnRole,
}

/// What a column is to its table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColumnRole {
    /// One of many figures or words.
    #[default]
    Detail,
    /// It names the contender of the row.
    Name,
    /// It answers one of a reader's first questions: the page shows it before the details.
    Leading,
    /// The isolation of the row's contender, which a narrow page shows below the name.
    Isolation,
}

impl Column {
    /// A column; `dispensable` says how readily it is left out.
    #[must_use]
    pub fn new(title: impl Into<String>, figures: bool, dispensable: u8) -> Self {
        Self {
            title: title.into(),
            figures,
            dispensable,
            role: ColumnRole::default(),
        }
    }

    /// The column in another role.
    #[must_use]
    pub fn in_role(self, role: ColumnRole) -> Self {
        Self { role, ..self }
    }

    /// A column of figures, set to the right.
    #[must_use]
    pub fn figures(title: impl Into<String>, dispensable: u8) -> Self {
        Self::new(title, true, dispensable)
    }

    /// A column of words.
    #[must_use]
    pub fn text(title: impl Into<String>, dispensable: u8) -> Self {
        Self::new(title, false, dispensable)
    }
}

impl Block {
    /// The block with every hidden character of its texts shown by its number: what a record holds
    /// is written by others.
    #[must_use]
    pub fn shown(&self) -> Self {
        let text = |text: &String| visible_lines(text).into_owned();
        let texts = |texts: &Vec<String>| texts.iter().map(text).collect();
        // A line feed would begin a row of its own.
        let cell = |cell: &String| visible(cell).into_owned();
        match self {
            Self::Heading(level, heading) => Self::Heading(*level, text(heading)),
            Self::Text(paragraph) => Self::Text(text(paragraph)),
            Self::Warnings(warnings) => Self::Warnings(texts(warnings)),
            Self::List(points) => Self::List(texts(points)),
            Self::Command(words) => Self::Command(words.iter().map(cell).collect()),
            Self::Table(table) => {
                let title = |column: &Column| Column {
                    title: cell(&column.title),
                    ..column.clone()
                };
                let rows = table.rows.iter();
                Self::Table(Table {
                    caption: cell(&table.caption),
                    columns: table.columns.iter().map(title).collect(),
                    rows: rows.map(|row| row.iter().map(cell).collect()).collect(),
                })
            }
        }
    }
}

impl Table {
    /// A table that needs no caption but the title of its section.
    #[must_use]
    pub fn new(columns: Vec<Column>, rows: Vec<Vec<String>>) -> Self {
        Self {
            caption: String::new(),
            columns,
            rows,
        }
    }

    /// The table with a caption.
    #[must_use]
    pub fn captioned(self, caption: impl Into<String>) -> Self {
        let caption = caption.into();
        Self { caption, ..self }
    }

    /// The table without its most dispensable column, and that column's title; `None` if every
    /// column must stay.
    #[must_use]
    pub fn without_most_dispensable(&self) -> Option<(Self, String)> {
        let columns = self.columns.iter().enumerate();
        let (index, column) = columns
            .filter(|(_, column)| column.dispensable > 0)
            .max_by_key(|(_, column)| column.dispensable)?;
        let mut narrower = self.clone();
        narrower.columns.remove(index);
        for row in &mut narrower.rows {
            row.remove(index);
        }
        Some((narrower, column.title.clone()))
    }

    /// The table without the columns in which no row has anything.
    #[must_use]
    pub(crate) fn without_empty_columns(self) -> Self {
        let has_text = |at: usize| self.rows.iter().any(|row| !row[at].is_empty());
        let kept: Vec<bool> = (0..self.columns.len()).map(has_text).collect();
        let cells = |row: Vec<String>| {
            let cells = row.into_iter().zip(&kept);
            cells.filter_map(|(cell, kept)| kept.then_some(cell))
        };
        let columns = self.columns.into_iter().zip(&kept);
        Self {
            caption: self.caption,
            columns: columns
                .filter_map(|(column, kept)| kept.then_some(column))
                .collect(),
            rows: self
                .rows
                .into_iter()
                .map(|row| cells(row).collect())
                .collect(),
        }
    }
}
