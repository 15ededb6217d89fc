//! The files of a run folder, and those that a bundle may contain.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The file of a bundle that has the SHA-256 of the others, as `sha256sum` writes it.
pub const SUMS: &str = "SHA256SUMS";

/// The folders in a run folder that have files of the record.
pub const FOLDERS: [&str; 2] = ["histograms", "storage"];

/// The ends of the names of reports on storage: on an image of a trial on modeled storage, or on
/// the fault of a trial.
const REPORTS: [&str; 4] = ["-data.json", "-log.json", "-journal.json", "-faults.json"];

/// The role of a path within a run folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryRole {
    /// A file of the record.
    Record,
    /// The sums of a bundle's files.
    Sums,
    /// A page made from the record, not part of it.
    Page,
}

/// The role of a path within a run folder; `None` for other files.
pub fn part(path: &Path) -> Option<EntryRole> {
    let mut parts = path.components().map(Component::as_os_str);
    let first = parts.next()?.to_str()?;
    let record = |name: &OsStr, endings: &[&str]| {
        let is_ours = |name: &str| endings.iter().any(|ending| name.ends_with(ending));
        let own = name.to_str().filter(|name| is_ours(name));
        own.map(|_| EntryRole::Record)
    };
    match (first, parts.next(), parts.next()) {
        ("run.json" | "trials.jsonl" | "end.json", None, None) => Some(EntryRole::Record),
        (SUMS, None, None) => Some(EntryRole::Sums),
        ("report.html" | "tuned.toml", None, None) => Some(EntryRole::Page),
        ("histograms", Some(name), None) => record(name, &[".hlog"]),
        ("storage", Some(name), None) => record(name, &REPORTS),
        // Room that a killed run kept.
        (name, None, None) if name.starts_with("reserve-") => Some(EntryRole::Page),
        _ => None,
    }
}

/// A path as an archive has it, without `.` in it: archives that were made by hand may begin each
/// with `./`. `None` if it leads out of the archive.
pub fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => plain.push(name),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

/// Splits the path of a file in an archive into the path of its run folder, which may be nested,
/// and the path within that folder; `None` for files that a run folder does not have. A run folder
/// may have the name of a folder in it.
pub fn split(path: &Path) -> Option<(PathBuf, PathBuf, EntryRole)> {
    let parent = path.parent()?;
    let is_inner = |name: &OsStr| FOLDERS.iter().any(|folder| name == *folder);
    let is_below = parent.file_name().is_some_and(is_inner);
    let outer = parent.parent().filter(|_| is_below);
    outer.into_iter().chain([parent]).find_map(|root| {
        let within = path.strip_prefix(root).ok()?;
        Some((root.to_owned(), within.to_owned(), part(within)?))
    })
}

/// A name from an archive as a message quotes it: it may come from anybody.
pub fn shown(path: &Path) -> String {
    const MAX_SHOWN_CHARS: usize = 100;
    let name = path.to_string_lossy();
    let mut shown: String = name
        .chars()
        .take(MAX_SHOWN_CHARS)
        .flat_map(char::escape_debug)
        .collect();
    if name.chars().nth(MAX_SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_record_are_taken() {
        for kept in [
            "run.json",
            "trials.jsonl",
            "end.json",
            "histograms/0001-a.hlog",
            "storage/0001-data.json",
            "storage/0001-log-journal.json",
            "storage/0001-faults.json",
        ] {
            assert_eq!(part(Path::new(kept)), Some(EntryRole::Record), "{kept}");
        }
        for name in ["report.html", "tuned.toml"] {
            assert_eq!(part(Path::new(name)), Some(EntryRole::Page));
        }
        assert_eq!(part(Path::new(SUMS)), Some(EntryRole::Sums));
        for other in [
            "work/data.mdb",
            "../run.json",
            "histograms/x/y.hlog",
            "storage/x/y.json",
            "storage/data.img",
            "storage/run.json",
            "notes.txt",
            "",
        ] {
            assert_eq!(part(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn a_file_belongs_to_the_folder_above_it_however_its_path_begins() {
        let of = |path: &str| {
            let (root, within, _) = split(&plain(Path::new(path))?)?;
            Some(format!("{}|{}", root.display(), within.display()))
        };
        for (path, expected) in [
            ("run/run.json", "run|run.json"),
            ("./run/run.json", "run|run.json"),
            ("./run.json", "|run.json"),
            ("run.json", "|run.json"),
            ("results/run/end.json", "results/run|end.json"),
            ("./run/histograms/1.hlog", "run|histograms/1.hlog"),
            ("histograms/1.hlog", "|histograms/1.hlog"),
            ("run/storage/1-data.json", "run|storage/1-data.json"),
            ("storage/run.json", "storage|run.json"),
            ("storage/storage/1-data.json", "storage|storage/1-data.json"),
            (
                "histograms/histograms/1.hlog",
                "histograms|histograms/1.hlog",
            ),
            ("histograms/trials.jsonl", "histograms|trials.jsonl"),
        ] {
            assert_eq!(of(path).as_deref(), Some(expected), "{path}");
        }
        for other in [
            "run/",
            "run/work/data.mdb",
            "run/x/1.hlog",
            "../run/trials.jsonl",
            "/run/trials.jsonl",
            "",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn a_name_is_quoted_without_its_control_characters_and_not_at_any_length() {
        assert_eq!(shown(Path::new("a\u{1b}[31mb")), "a\\u{1b}[31mb");
        let long = shown(Path::new(&"x".repeat(5_000)));
        assert_eq!(long.chars().count(), 101);
    }
}
