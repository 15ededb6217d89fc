//! A report as GitHub-flavored Markdown.

use crate::document::{Block, Table};

/// Writes the blocks, one empty line between two.
pub fn render(blocks: &[Block]) -> String {
    let shown = blocks.iter().map(Block::shown);
    let parts: Vec<String> = shown.map(|shown| block(&shown)).collect();
    parts.join("\n\n") + "\n"
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(level, text) => {
            format!("{} {}", "#".repeat(usize::from(*level)), escaped(text))
        }
        Block::Text(text) => escaped(text),
        Block::Warnings(texts) => {
            let texts: Vec<_> = texts
                .iter()
                .map(|text| format!("> **{}**", escaped(text)))
                .collect();
            texts.join("\n>\n")
        }
        Block::List(points) => {
            let points: Vec<_> = points
                .iter()
                .map(|point| format!("- {}", escaped(point)))
                .collect();
            points.join("\n")
        }
        Block::Table(content) => table(content),
        Block::Command(words) => format!("```sh\n{}\n```", words.join(" ")),
    }
}

fn table(table: &Table) -> String {
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let titles = table
        .columns
        .iter()
        .map(|column| escaped(&column.title))
        .collect();
    let rules = table.columns.iter().map(|column| {
        if column.figures {
            "---:".to_owned()
        } else {
            ":---".to_owned()
        }
    });
    let mut lines = vec![row(titles), row(rules.collect())];
    for cells in &table.rows {
        lines.push(row(cells.iter().map(|cell| escaped(cell)).collect()));
    }
    lines.join("\n")
}

/// Escapes text so that Markdown shows it literally, on one line.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' | '*' | '`' | '[' | '\\' => safe.extend(['\\', character]),
            '<' => safe.push_str("&lt;"),
            '\n' | '\r' => safe.push(' '),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Column;

    #[test]
    fn a_cell_cannot_break_out_of_its_table() {
        let column = Column::figures("a", 0);
        let drawn = table(&Table::new(vec![column], vec![vec!["x|y\nz".to_owned()]]));
        assert_eq!(drawn, "| a |\n| ---: |\n| x\\|y z |");
    }
}
