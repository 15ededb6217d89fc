//! Blocks of a report as HTML.

use super::column_fit::{self, SHORT};
use crate::document::{Block, Column, Table};
use maud::{Markup, html};

/// A list with more points than this is folded.
const MANY: usize = 16;

/// Writes a block. `caption` names a table for screen readers.
pub(crate) fn block(block: &Block, caption: &str) -> Markup {
    match block {
        Block::Heading(level, text) => heading(*level, text),
        Block::Text(text) => html! { p { (text) } },
        Block::Warnings(texts) => {
            html! { div class="warning" role="note" { (list(texts)) } }
        }
        Block::List(points) if points.len() > MANY => {
            let line = format!("{} notes", points.len());
            folded("notes", &line, &list(points), caption)
        }
        Block::List(points) => list(points),
        Block::Table(content) => table(content, caption),
        Block::Command(words) => command(words),
    }
}

/// A heading; that of the first level is the page's own.
fn heading(level: u8, text: &str) -> Markup {
    match level {
        0..=2 => html! { h2 { (text) } },
        3 => html! { h3 { (text) } },
        4 => html! { h4 { (text) } },
        5 => html! { h5 { (text) } },
        _ => html! { h6 { (text) } },
    }
}

/// Writes a list of evidence, always folded.
pub(crate) fn evidence(block: &Block, title: &str) -> Markup {
    match block {
        Block::List(points) => folded("notes", "Evidence", &list(points), title),
        _ => html! {},
    }
}

/// Folds content that few readers need under a line that describes it. In print it is unfolded.
pub(crate) fn folded(class: &str, line: &str, content: &Markup, title: &str) -> Markup {
    html! {
        details class=(class) {
            summary { (line) (unseen_of(title)) }
            (content)
        }
    }
}

/// The subject of an element, for screen readers.
pub(crate) fn unseen_of(title: &str) -> Markup {
    html! { span class="unseen" { " of " (title) } }
}

fn list(texts: &[String]) -> Markup {
    html! { ul { @for text in texts { li { (text) } } } }
}

/// A command, for a shell.
fn command(words: &[String]) -> Markup {
    html! { pre class="command" tabindex="0" { code { (words.join(" ")) } } }
}

/// A table: its first column with a title has the row headings. Columns that do not fit are hidden
/// until the reader sets a switch next to the table, which works without a script.
fn table(table: &Table, caption: &str) -> Markup {
    let spare = column_fit::classes(table);
    html! {
        div class="table" {
            (column_switch(&spare, caption))
            div class="scroll" role="group" tabindex="0" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead {
                        tr {
                            @for (column, spare) in table.columns.iter().zip(&spare) {
                                th scope="col" class=(class(column, *spare, false)) {
                                    @match column.title.as_str() {
                                        // The style sheet shows a number sign in its place.
                                        "" => { span class="unseen" { "rank" } }
                                        title => { (title) }
                                    }
                                }
                            }
                        }
                    }
                    tbody { @for cells in &table.rows { (row(table, &spare, cells)) } }
                }
            }
        }
    }
}

fn class(column: &Column, spare: Option<&str>, is_long: bool) -> String {
    let figures = match (column.figures, column.title.is_empty()) {
        (true, _) => "figure",
        (false, true) => "rank",
        (false, false) => "text",
    };
    let long = is_long.then_some("long");
    let classes = [Some(figures), spare, long];
    classes.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn row(table: &Table, spare: &[Option<&'static str>], cells: &[String]) -> Markup {
    let titled = table.columns.iter().position(|one| !one.title.is_empty());
    // A column that the style sheet shows below the name is not part of the name.
    let noted = table.columns.iter().position(column_fit::is_noted);
    let note = noted.and_then(|at| cells.get(at));
    html! {
        tr {
            @for (index, (cell, column)) in cells.iter().zip(&table.columns).enumerate() {
                @let is_short = cell.chars().count() <= SHORT;
                @if titled == Some(index) {
                    @let class = if is_short { "text short" } else { "text" };
                    th scope="row" class=(class) data-note=[note] { (cell) }
                } @else {
                    @let is_long = !is_short && !column.figures;
                    td class=(class(column, spare[index], is_long)) { (cell) }
                }
            }
        }
    }
}

/// A button that shows all columns of a table; empty if none is hidden.
fn column_switch(spare: &[Option<&'static str>], caption: &str) -> Markup {
    if spare.iter().all(Option::is_none) {
        return html! {};
    }
    let class = if spare.contains(&Some("spare")) {
        "columns"
    } else {
        "columns narrow"
    };
    html! {
        label class=(class) {
            input type="checkbox";
            " All " (spare.len()) " columns" (unseen_of(caption))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_break_out_of_its_element() {
        let text = block(
            &Block::Text("</p><script>alert('x')</script>".to_owned()),
            "",
        );
        assert_eq!(
            text.into_string(),
            "<p>&lt;/p&gt;&lt;script&gt;alert('x')&lt;/script&gt;</p>"
        );
        let named = table(&Table::default(), "\"><img src=x>").into_string();
        assert!(
            named.contains("aria-label=\"&quot;&gt;&lt;img src=x&gt;\""),
            "{named}"
        );
    }

    #[test]
    fn a_row_is_named_by_its_first_titled_column() {
        let drawn = table(
            &Table::new(
                vec![Column::text("", 0), Column::text("contender", 0)],
                vec![vec!["1".to_owned(), "lmdb".to_owned()]],
            ),
            "a table",
        )
        .into_string();
        assert!(
            drawn.contains("<th scope=\"row\" class=\"text short\">lmdb</th>"),
            "{drawn}"
        );
        assert!(drawn.contains("<td class=\"rank\">1</td>"), "{drawn}");
    }
}
