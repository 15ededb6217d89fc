//! The documents name only files that are there.

use super::root;
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

/// The documents whose paths are checked, by path from the root.
fn documents() -> Vec<String> {
    let mut found = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    for folder in ["docs", "docs/workloads"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                found.push(format!("{folder}/{name}"));
            }
        }
    }
    found
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

/// The files to which a text links, relative to its own folder.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split([')', '#']).next());
    targets
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

#[test]
fn every_path_that_a_document_names_exists() {
    let mut missing = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(root().join(&document)).unwrap();
        let folder = root().join(Path::new(&document).parent().unwrap());
        let named = paths(&text).into_iter().map(|path| root().join(path));
        let linked = links(&text).into_iter().map(|link| folder.join(link));
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
    assert_eq!(links(text), ["y.md"]);
}
