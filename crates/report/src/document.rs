//! A report as blocks, which each format writes in its own way.

use trueput_record::text::{escape_line, escape_lines};

/// One block of a report, top to bottom.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading; 1 is the report's own.
    Heading(u8, String),
    /// A paragraph.
    Text(String),
    /// Warnings, about one sentence each.
    Warnings(Vec<String>),
    /// Points, one each.
    List(Vec<String>),
    /// A table.
    Table(Table),
    /// A command to copy: its words, quoted for a shell.
    Command(Vec<String>),
}

/// A table: every row has a cell per column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Its name among the tables of its section; empty if the section has only one.
    pub caption: String,
    /// The columns, from the left.
    pub columns: Vec<Column>,
    /// The rows, from the top.
    pub rows: Vec<Vec<String>>,
}

/// Builds a table from columns, each declared with a function that fills its cells.
pub struct TableBuilder<'a, T> {
    items: &'a [T],
    table: Table,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its heading.
    pub title: String,
    /// Whether it holds numbers, which are aligned right.
    pub figures: bool,
    /// Priority for dropping it if there is no room: the highest goes first, of equal ones the
    /// rightmost; 0 never.
    pub dispensable: u8,
    /// Its role in the table.
    pub role: ColumnRole,
}

/// The role of a column in its table.
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
    /// The block; `None` if it is a list, warnings or a table without anything in it.
    #[must_use]
    pub(crate) fn filled(self) -> Option<Self> {
        let is_empty = match &self {
            Self::List(texts) | Self::Warnings(texts) => texts.is_empty(),
            Self::Table(table) => table.rows.is_empty(),
            Self::Heading(..) | Self::Text(_) | Self::Command(_) => false,
        };
        (!is_empty).then_some(self)
    }

    /// The block with hidden characters escaped, because records are untrusted.
    #[must_use]
    pub fn shown(&self) -> Self {
        let text = |text: &String| escape_lines(text).into_owned();
        let texts = |texts: &Vec<String>| texts.iter().map(text).collect();
        // A line feed would begin a row of its own.
        let cell = |cell: &String| escape_line(cell).into_owned();
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

    /// A table with a row for each item, whose columns are to follow.
    #[must_use]
    pub fn of<T>(items: &[T]) -> TableBuilder<'_, T> {
        let rows = vec![Vec::new(); items.len()];
        let table = Self::new(Vec::new(), rows);
        TableBuilder { items, table }
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

    /// The table without the columns whose cells all equal `blank`.
    #[must_use]
    pub(crate) fn without_columns_of(mut self, blank: &str) -> Self {
        let is_filled = |at: usize| self.rows.iter().any(|row| row[at] != blank);
        let filled: Vec<bool> = (0..self.columns.len()).map(is_filled).collect();
        retain(&mut self.columns, &filled);
        for row in &mut self.rows {
            retain(row, &filled);
        }
        self
    }
}

/// Retains the values for which `kept` is true at the same index.
fn retain<T>(values: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    values.retain(|_| kept.next() == Some(&true));
}

impl<'a, T> TableBuilder<'a, T> {
    /// Adds a column of words; `dispensable` says how readily it is left out.
    #[must_use]
    pub fn text<C: ToString>(
        self,
        title: impl Into<String>,
        dispensable: u8,
        cell: impl FnMut(&'a T) -> C,
    ) -> Self {
        self.column(Column::text(title, dispensable), cell)
    }

    /// Adds a column of figures, set to the right.
    #[must_use]
    pub fn figures<C: ToString>(
        self,
        title: impl Into<String>,
        dispensable: u8,
        cell: impl FnMut(&'a T) -> C,
    ) -> Self {
        self.column(Column::figures(title, dispensable), cell)
    }

    /// Adds a column, and to each row its cell.
    #[must_use]
    pub fn column<C: ToString>(mut self, column: Column, cell: impl FnMut(&'a T) -> C) -> Self {
        self.table.columns.push(column);
        let cells = self.items.iter().map(cell);
        for (row, cell) in self.table.rows.iter_mut().zip(cells) {
            row.push(cell.to_string());
        }
        self
    }

    /// Adds columns if a condition holds.
    #[must_use]
    pub fn when(self, condition: bool, add: impl FnOnce(Self) -> Self) -> Self {
        if condition { add(self) } else { self }
    }

    /// The table with its columns.
    #[must_use]
    pub fn build(self) -> Table {
        self.table
    }
}
