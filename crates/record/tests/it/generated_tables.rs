//! The tables of documents that list what is declared in this crate are made from the declarations.
//!
//! Each stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->`. A stale one fails the test;
//! with `TRUEPUT_DOCS=write` in the environment the test writes it anew.

use std::path::Path;
use trueput_record::conditions::{CONDITIONS, Form};
use trueput_record::published::all;

/// The document of each table, the table's name, and its text.
fn tables() -> [(&'static str, &'static str, String); 2] {
    [
        ("docs/COMMANDS.md", "conditions", conditions()),
        ("docs/PUBLISHED.md", "published", published()),
    ]
}

/// A table in Markdown; a bar in a cell is escaped.
fn table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(heads.iter().map(ToString::to_string).collect());
    text.push_str(&format!("|{}\n", "---|".repeat(heads.len())));
    for row in rows {
        text.push_str(&line(
            row.iter().map(|cell| cell.replace('|', "\\|")).collect(),
        ));
    }
    text
}

fn conditions() -> String {
    let rows = CONDITIONS.iter().map(|condition| {
        let option = format!(
            "--{} {}",
            condition.name.replace('_', "-"),
            condition.value_name
        );
        let many = match condition.form {
            Form::Flag | Form::One => "one",
            Form::Dimension => "a list in a plan",
            Form::List(_) => "a list",
        };
        vec![
            format!("`{}`", option.trim_end()),
            format!("`{}`", condition.name),
            many.to_owned(),
            condition.help.trim().to_owned(),
        ]
    });
    table(&["option", "key in a plan", "values", "meaning"], rows)
}

fn published() -> String {
    let tables = all().unwrap();
    let rows = tables.iter().map(|table| {
        vec![
            format!("`{}`", table.id),
            table.source.document.clone(),
            table.year().map_or(String::new(), |year| year.to_string()),
            table.rows.len().to_string(),
            table.title.clone(),
        ]
    });
    table(
        &["table", "document", "year", "rows", "what was measured"],
        rows,
    )
}

/// A document with the text between a table's marks replaced; `None` if it lacks the marks.
fn replaced(document: &str, name: &str, text: &str) -> Option<String> {
    let (begin, end) = (
        format!("<!-- begin: {name} -->\n"),
        format!("<!-- end: {name} -->"),
    );
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{text}\n{end}{after}"))
}

#[test]
fn tables_of_documents_are_those_of_the_declarations() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let writes = std::env::var("TRUEPUT_DOCS").is_ok_and(|wish| wish == "write");
    for (path, name, text) in tables() {
        let document = std::fs::read_to_string(root.join(path)).unwrap();
        let fresh = replaced(&document, name, &text);
        let fresh = fresh.unwrap_or_else(|| panic!("{path} has no marks of '{name}'"));
        if writes {
            std::fs::write(root.join(path), fresh).unwrap();
        } else {
            assert!(
                fresh == document,
                "the table '{name}' of {path} is stale: run this test with TRUEPUT_DOCS=write"
            );
        }
    }
}

#[test]
fn a_stale_table_is_replaced_and_what_is_around_it_stays() {
    let document = "a\n<!-- begin: x -->\nold\n<!-- end: x -->\nb\n";
    let fresh = replaced(document, "x", "| new |\n").unwrap();
    assert_eq!(
        fresh,
        "a\n<!-- begin: x -->\n\n| new |\n\n<!-- end: x -->\nb\n"
    );
    assert_eq!(replaced(&fresh, "x", "| new |\n").unwrap(), fresh);
    assert_eq!(replaced("a\n", "x", ""), None);
}
