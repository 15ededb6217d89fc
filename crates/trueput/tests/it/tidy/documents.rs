//! The documents name only files that are there, have one title each, and fit 100 columns.

use super::{CRATES, MAX_LINE_COLUMNS, root};
use std::path::Path;

/// Folders of this repository, as documents name paths in them.
const FOLDERS: [&str; 6] = [
    "crates/",
    "docs/",
    "scripts/",
    "plans/",
    "bench/",
    "published/",
];

/// Placeholders for names: `crates/NAME/tests/it`.
const PLACEHOLDERS: [&str; 4] = ["NAME", "ENGINE", "ID", "FILE"];

/// A path in the repository of redb.
const FOREIGN: &str = "docs/design.md";

/// Documents that keep names of files as they were when they were written.
const HISTORY: [&str; 1] = ["CHANGELOG.md"];

/// Every Markdown file of the repository, by path from the root.
fn documents() -> Vec<String> {
    let mut found = Vec::new();
    markdown_files(&root(), false, &mut found);
    for folder in FOLDERS {
        markdown_files(&root().join(folder), true, &mut found);
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

fn markdown_files(folder: &Path, is_recursive: bool, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && is_recursive {
            markdown_files(&path, true, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.strip_prefix(root()).unwrap();
            found.push(name.display().to_string());
        }
    }
}

/// The lines of a text outside of code, each with its number.
fn lines_of_prose(text: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let lines = text.lines().enumerate();
    let prose = lines.filter(|(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && !line.starts_with("    ")
    });
    prose.map(|(index, line)| (index + 1, line)).collect()
}

/// The titles of a text: its headings of the first level.
fn titles(text: &str) -> Vec<usize> {
    let prose = lines_of_prose(text).into_iter();
    let titles = prose.filter(|(_, line)| line.starts_with("# "));
    titles.map(|(number, _)| number).collect()
}

/// The numbers of the lines that are too wide. Code and rows of tables have any width, and the
/// targets of links do not count: a line cannot be broken there.
fn wide_lines(text: &str) -> Vec<usize> {
    let prose = lines_of_prose(text).into_iter();
    let wide = prose.filter(|(_, line)| {
        let targets: usize = links(line)
            .iter()
            .map(|target| target.chars().count())
            .sum();
        !line.starts_with('|') && line.chars().count() > MAX_LINE_COLUMNS + targets
    });
    wide.map(|(number, _)| number).collect()
}

/// The paths of this repository that a text names, each up to its first placeholder or star.
fn paths(text: &str) -> Vec<String> {
    let is_end = |letter: char| !letter.is_alphanumeric() && !"_./*-".contains(letter);
    let words = text.split(is_end).map(|word| word.trim_end_matches('.'));
    let is_ours = |word: &&str| FOLDERS.iter().any(|folder| word.starts_with(folder));
    let ours = words.filter(|word| is_ours(word) && *word != FOREIGN);
    let is_open = |part: &&str| {
        let name = part.split('.').next().unwrap_or_default();
        part.contains('*') || PLACEHOLDERS.contains(&name)
    };
    ours.map(|word| {
        let known: Vec<&str> = word.split('/').take_while(|part| !is_open(part)).collect();
        known.join("/")
    })
    .collect()
}

/// The targets of a text's links, without their anchors.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1);
    targets
        .filter_map(|rest| rest.split([')', '#']).next())
        .collect()
}

/// The files to which a text links, relative to its own folder.
fn linked_files(text: &str) -> Vec<&str> {
    let mut targets = links(text);
    targets.retain(|target| !target.is_empty() && !target.contains("://"));
    targets
}

#[test]
fn every_path_that_a_document_names_exists() {
    let mut missing = Vec::new();
    let documents = documents().into_iter();
    for document in documents.filter(|name| !HISTORY.contains(&name.as_str())) {
        let text = std::fs::read_to_string(root().join(&document)).unwrap();
        let folder = root().join(Path::new(&document).parent().unwrap());
        let named = paths(&text).into_iter().map(|path| root().join(path));
        let linked = linked_files(&text)
            .into_iter()
            .map(|link| folder.join(link));
        // A command names a published table without the suffix of its file.
        let is_there = |path: &Path| path.exists() || path.with_extension("toml").exists();
        let absent = named.chain(linked).filter(|path| !is_there(path));
        missing.extend(absent.map(|path| format!("{document}: {}", path.display())));
    }
    assert!(missing.is_empty(), "no such file:\n{}", missing.join("\n"));
}

#[test]
fn paths_and_links_are_found_in_a_text() {
    let text =
        "`crates/a/b.rs`, [x](y.md#z), `crates/NAME/it`; see scripts/run. [w](https://w.org)";
    assert_eq!(paths(text), ["crates/a/b.rs", "crates", "scripts/run"]);
    assert_eq!(linked_files(text), ["y.md"]);
}

#[test]
fn every_document_has_one_title_and_fits_the_columns() {
    let mut findings = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(root().join(&document)).unwrap();
        let titles = titles(&text);
        if titles != [1] {
            findings.push(format!(
                "{document}: titles in lines {titles:?}, not in line 1"
            ));
        }
        let wide = wide_lines(&text).into_iter();
        findings.extend(wide.map(|line| format!("{document}:{line}: over {MAX_LINE_COLUMNS}")));
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn the_table_of_crates_is_complete() {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let named: Vec<_> = rows.filter_map(|row| row.split('`').next()).collect();
    assert_eq!(named, CRATES);
}

#[test]
fn titles_and_wide_lines_are_found_in_a_text() {
    let wide = "x".repeat(MAX_LINE_COLUMNS + 1);
    let excepted = format!("```sh\n# {wide}\n```\n| {wide} |\n    {wide}\n[x](https://{wide})\n");
    let text = format!("# A\n{wide}\n{excepted}## B\n# C\n");
    assert_eq!((titles(&text), wide_lines(&text)), (vec![1, 10], vec![2]));
}
