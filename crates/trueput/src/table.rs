//! Plain tables of short texts, for the commands that list things.

use trueput_record::text::visible;

/// The widest that a column is made, characters: what is longer stands as it is. Formatting itself has a
/// limit, which a name of somebody else's can exceed.
const WIDEST: usize = 1_000;

/// Aligns rows in columns, two spaces apart. The last column is not padded.
pub fn align<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let header = header.map(str::to_owned);
    // A line feed in a cell would begin a row of its own.
    let shown = |row: &[String; N]| row.each_ref().map(|cell| visible(cell).into_owned());
    let rows: Vec<_> = rows.iter().map(shown).collect();
    let all = || std::iter::once(&header).chain(&rows);
    let mut widths = [0; N];
    for row in all() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count().min(WIDEST));
        }
    }
    let mut text = String::new();
    for row in all() {
        let padded = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            ["lmdb".to_owned(), "a".to_owned()],
            ["x".to_owned(), "bc".to_owned()],
        ];
        assert_eq!(align(["name", "b"], &rows), "name  b\nlmdb  a\nx     bc\n");
    }

    #[test]
    fn a_cell_longer_than_any_column_is_shown_whole() {
        let long = "x".repeat(70_000);
        let text = align(["name", "b"], &[[long.clone(), "a".to_owned()]]);
        assert!(text.ends_with(&format!("{long}  a\n")));
    }
}
