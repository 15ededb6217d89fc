//! The columns of a table that fit on a wide page, and on a narrow one.
//!
//! A browser cannot leave out columns while it lays out a page, so widths are estimated from the
//! cells, with the metrics of a wide common font (DejaVu Sans).

use crate::document::{Column, ColumnRole, Table};

/// The most columns that a table shows before the reader asks for all.
const MAX_COLUMNS: usize = 8;

/// The number of columns that are always shown: the row headings and the figure that orders the
/// rows.
const MIN_COLUMNS: usize = 2;

/// A character of a table, pixels.
const CHARACTER: usize = 9;

/// Width of the sort mark next to a heading, in characters; a narrow page has none.
const SORT_MARK: usize = 2;

/// A page that is so wide, or so narrow.
struct PageWidth {
    /// The room for a table, pixels.
    table: usize,
    /// Width that a cell adds to its text, pixels.
    padding: usize,
    /// Whether headings, names and words are broken into lines.
    breaks: bool,
}

const WIDE: PageWidth = PageWidth {
    table: 1_110,
    padding: 20,
    breaks: false,
};
const NARROW: PageWidth = PageWidth {
    table: 334,
    padding: 13,
    breaks: true,
};

/// The least width of a name and of words that are broken into lines, and the widths of words and
/// of a name that take several lines on a wide page, pixels: as in the style sheet.
const NAME: usize = 112;
const WORDS: usize = 80;
const LONG_WORDS: usize = 288;
const LONG_NAME: usize = 352;

/// A name or words with no more characters than this stay on one line on a wide page.
pub(super) const SHORT: usize = 32;

/// The class of each column that is initially hidden: `spare` everywhere, `narrow` only on a narrow
/// page.
pub(super) fn classes(table: &Table) -> Vec<Option<&'static str>> {
    let mut order: Vec<usize> = (0..table.columns.len()).collect();
    order.sort_by_key(|index| table.columns[*index].dispensable);
    let wide = WIDE.fitting(table, &order);
    // On a narrow page the rows' headings show the isolation.
    let is_elsewhere = |index: &usize| is_noted(&table.columns[*index]);
    let (_, order): (Vec<_>, Vec<_>) = wide.iter().partition(|index| is_elsewhere(index));
    let narrow = NARROW.fitting(table, &order);
    let class = |index| match (wide.contains(&index), narrow.contains(&index)) {
        (false, _) => Some("spare"),
        (true, false) => Some("narrow"),
        (true, true) => None,
    };
    (0..table.columns.len()).map(class).collect()
}

/// Whether a narrow page shows this column below the row headings.
pub(super) fn is_noted(column: &Column) -> bool {
    column.role == ColumnRole::Isolation
}

impl PageWidth {
    /// The columns that fit, chosen in this order.
    fn fitting(&self, table: &Table, order: &[usize]) -> Vec<usize> {
        let name = table.columns.iter().position(|one| !one.title.is_empty());
        let mut shown: Vec<usize> = Vec::new();
        let mut room = self.table;
        for &index in order {
            let needed = self.width(table, index, name == Some(index));
            let titled = shown.iter().filter(|it| Some(**it) >= name).count();
            let fits = needed <= room && shown.len() < MAX_COLUMNS;
            if !fits && titled >= MIN_COLUMNS {
                break;
            }
            room = room.saturating_sub(needed);
            shown.push(index);
        }
        shown
    }

    /// The least width of a column, pixels.
    fn width(&self, table: &Table, index: usize, is_name: bool) -> usize {
        let column = &table.columns[index];
        let cells = table.rows.iter().filter_map(|row| row.get(index));
        let longest = cells.map(|cell| characters(cell)).max();
        let longest = longest.unwrap_or_default() * CHARACTER;
        let title = if self.breaks {
            column.title.split(' ').map(characters).max()
        } else {
            Some(characters(&column.title))
        };
        let mark = if self.breaks { 0 } else { SORT_MARK };
        // A column without a title has a number sign.
        let title = title.unwrap_or_default().max(1) + mark;
        let cells = match (column.figures, self.breaks, is_name) {
            (true, _, _) => longest,
            (false, true, true) => NAME,
            (false, true, false) => longest.min(WORDS),
            (false, false, true) if longest > SHORT * CHARACTER => LONG_NAME,
            (false, false, false) if longest > SHORT * CHARACTER => LONG_WORDS,
            (false, false, _) => longest,
        };
        cells.max(title * CHARACTER) + self.padding
    }
}

/// Width of a text in characters; points and commas are half as wide as digits.
fn characters(text: &str) -> usize {
    let (thin, others): (Vec<_>, Vec<_>) = text
        .chars()
        .partition(|one| matches!(one, ',' | '.' | ' ' | 'i' | 'l' | ':' | '/'));
    others.len() + thin.len().div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &[(&str, bool, u8, &str)]) -> Table {
        let column = |(title, figures, dispensable, _): &(&str, bool, u8, &str)| {
            let column = Column::new(*title, *figures, *dispensable);
            match *title {
                "isolation" => column.in_role(ColumnRole::Isolation),
                _ => column,
            }
        };
        Table::new(
            columns.iter().map(column).collect(),
            vec![columns.iter().map(|one| one.3.to_owned()).collect()],
        )
    }

    #[test]
    fn a_narrow_page_shows_what_fits_and_isolation_elsewhere() {
        let ranking = table(&[
            ("", false, 0, "1"),
            ("contender", false, 0, "leveldb [workaround]"),
            ("updates/s", true, 0, "269,997"),
            ("isolation", false, 0, "serializable"),
            ("of best", true, 2, "100 %"),
            ("update p99", true, 6, "1.25 ms"),
        ]);
        let expected = [None, None, None, Some("narrow"), None, Some("narrow")];
        assert_eq!(classes(&ranking), expected);
    }

    #[test]
    fn a_wide_page_shows_eight_columns_and_fewer_where_they_are_wide() {
        let figures = |title: &'static str| vec![(title, true, 1, "1,234,567"); 12];
        let shown = |columns: &[_]| {
            let classes = classes(&table(columns));
            classes.iter().filter(|one| **one != Some("spare")).count()
        };
        assert_eq!(shown(&figures("rate")), 8);
        assert_eq!(shown(&figures("a heading of many words")), 4);
    }

    #[test]
    fn the_name_and_what_it_goes_by_are_always_shown() {
        let wide = "0123456789".repeat(20);
        let rows = table(&[
            ("trial", false, 0, "a"),
            ("rate", true, 0, &wide),
            ("level", false, 0, "sync"),
        ]);
        assert_eq!(classes(&rows), [None, None, Some("spare")]);
    }
}
