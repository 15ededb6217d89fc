//! Blocks of a report as HTML, every text escaped.

use super::room::{self, SHORT};
use crate::document::{Block, Table};
use trueput_record::text::visible_lines;

/// A list with more points than this is folded.
const MANY: usize = 16;

/// Text as HTML shows it, in elements and in quoted attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in visible_lines(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}

/// A block; `caption` names a table for those who do not see what stands above it.
pub(crate) fn block(block: &Block, caption: &str) -> String {
    match block {
        Block::Heading(level, text) => {
            let level = (*level).clamp(2, 6);
            format!("<h{level}>{}</h{level}>\n", escaped(text))
        }
        Block::Text(text) => format!("<p>{}</p>\n", escaped(text)),
        Block::Warnings(texts) => {
            let texts = items(texts);
            format!("<div class=\"warning\" role=\"note\"><ul>\n{texts}</ul></div>\n")
        }
        Block::List(points) if points.len() > MANY => format!(
            "<details class=\"notes\"><summary>{} notes{}</summary>\n<ul>\n{}</ul></details>\n",
            points.len(),
            unseen_of(caption),
            items(points)
        ),
        Block::List(points) => format!("<ul>\n{}</ul>\n", items(points)),
        Block::Table(content) => table(content, caption),
        Block::Command(words) => command(words),
    }
}

/// A list of evidence, folded whatever its length.
pub(crate) fn evidence(list: &Block, title: &str) -> String {
    let Block::List(points) = list else {
        return String::new();
    };
    let points = format!("<ul>\n{}</ul>", items(points));
    folded("notes", "Evidence", &points, title)
}

/// What only few readers want, behind a line that says what it is. On paper it is unfolded.
pub(crate) fn folded(class: &str, line: &str, html: &str, title: &str) -> String {
    let of = unseen_of(title);
    format!("<details class=\"{class}\"><summary>{line}{of}</summary>\n{html}</details>\n")
}

/// What something is of, for those who do not see where it stands.
pub(crate) fn unseen_of(title: &str) -> String {
    format!("<span class=\"unseen\"> of {}</span>", escaped(title))
}

fn items(texts: &[String]) -> String {
    let item = |text: &String| format!("<li>{}</li>\n", escaped(text));
    texts.iter().map(item).collect()
}

/// A command, for a shell.
pub(crate) fn command(words: &[String]) -> String {
    let line = escaped(&words.join(" "));
    format!("<pre class=\"command\" tabindex=\"0\"><code>{line}</code></pre>\n")
}

/// A table: its first column that has a title holds the rows' headings. What has no room is out of
/// sight until a switch beside the table is set, which needs no script.
pub(crate) fn table(table: &Table, caption: &str) -> String {
    let titled = table
        .columns
        .iter()
        .position(|column| !column.title.is_empty());
    let spare = room::classes(table);
    let noted = table.columns.iter().position(room::is_noted);
    let class = |index: usize, long: bool| {
        let column = &table.columns[index];
        let figures = match (column.figures, column.title.is_empty()) {
            (true, _) => "figure",
            (false, true) => "rank",
            (false, false) => "text",
        };
        let spare = spare[index].map_or_else(String::new, |spare| format!(" {spare}"));
        let long = if long { " long" } else { "" };
        format!("class=\"{figures}{spare}{long}\"")
    };
    let switch = column_switch(&spare, caption);
    let caption = escaped(caption);
    let mut html = format!(
        "<div class=\"table\">{switch}<div class=\"scroll\" role=\"group\" tabindex=\"0\" \
         aria-label=\"{caption}\">\n<table><caption>{caption}</caption>\n<thead><tr>"
    );
    for (index, column) in table.columns.iter().enumerate() {
        let title = match column.title.as_str() {
            // The style sheet shows a number sign in its place.
            "" => "<span class=\"unseen\">rank</span>".to_owned(),
            title => escaped(title),
        };
        html += &format!("<th scope=\"col\" {}>{title}</th>", class(index, false));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        html += "<tr>";
        for (index, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
            let short = cell.chars().count() <= SHORT;
            let class = class(index, !short && !column.figures);
            let text = escaped(cell);
            // What the style sheet shows below the name is no part of it.
            let note = noted.and_then(|at| row.get(at));
            let note = note.map_or_else(String::new, |note| {
                format!(" data-note=\"{}\"", escaped(note))
            });
            html += &match (titled == Some(index), short) {
                (true, true) => {
                    format!("<th scope=\"row\" class=\"text short\"{note}>{text}</th>")
                }
                (true, false) => format!("<th scope=\"row\" class=\"text\"{note}>{text}</th>"),
                (false, _) => format!("<td {class}>{text}</td>"),
            };
        }
        html += "</tr>\n";
    }
    html + "</tbody></table></div></div>\n"
}

/// The switch that brings all columns of a table into sight; nothing where they are.
fn column_switch(spare: &[Option<&'static str>], caption: &str) -> String {
    if spare.iter().all(Option::is_none) {
        return String::new();
    }
    let class = match spare.contains(&Some("spare")) {
        true => "columns",
        false => "columns narrow",
    };
    let (count, of) = (spare.len(), unseen_of(caption));
    format!("<label class=\"{class}\"><input type=\"checkbox\"> All {count} columns{of}</label>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Column;

    #[test]
    fn a_text_cannot_break_out_of_its_element() {
        let text = block(
            &Block::Text("</p><script>alert('x')</script>".to_owned()),
            "",
        );
        assert_eq!(
            text,
            "<p>&lt;/p&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;</p>\n"
        );
        let named = table(&Table::default(), "\"><img src=x>");
        assert!(
            named.contains("aria-label=\"&quot;&gt;&lt;img src=x&gt;\""),
            "{named}"
        );
    }

    #[test]
    fn a_row_is_named_by_its_first_titled_column() {
        let drawn = table(
            &Table {
                columns: vec![Column::text("", 0), Column::text("contender", 0)],
                rows: vec![vec!["1".to_owned(), "lmdb".to_owned()]],
                ..Table::default()
            },
            "a table",
        );
        assert!(
            drawn.contains("<th scope=\"row\" class=\"text short\">lmdb</th>"),
            "{drawn}"
        );
        assert!(drawn.contains("<td class=\"rank\">1</td>"), "{drawn}");
    }
}
