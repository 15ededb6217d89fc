//! The folders where `make engines` installs, found whatever `HOME` is.

use super::ownership::{sudo_user, written_by};
use nix::unistd::{User, geteuid};
use std::env::var_os;
use std::path::{Path, PathBuf};

/// The folder in which root installs for everybody.
const SYSTEM: &str = "/usr/local/lib/trueput/engines";
/// The variable that names the one folder to look in.
const ONLY: &str = "TRUEPUT_ENGINES";
/// Within a folder for data: a user's own engines.
const OWN: &str = "trueput/engines";
/// Within a user's home: the folders that `make engines` installed in where that is elsewhere.
const RECORD: &str = ".config/trueput/engine-folders";

/// The folders of engines, the user's first. One that others could write to is passed over.
pub(super) fn engine_folders() -> Vec<PathBuf> {
    let folders = candidates().into_iter();
    folders
        .filter(|folder| !folder.exists() || written_by(folder).is_none())
        .collect()
}

/// The folders of engines that are passed over, with the reason, one sentence each.
#[must_use]
pub fn ignored_folders() -> Vec<String> {
    let folders = candidates().into_iter().filter(|folder| folder.exists());
    folders
        .filter_map(|folder| {
            let why = written_by(&folder)?;
            Some(format!(
                "engines in {} are not used: {why}",
                folder.display()
            ))
        })
        .collect()
}

fn candidates() -> Vec<PathBuf> {
    let set = |name| {
        var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if let Some(only) = set(ONLY) {
        return vec![only];
    }
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    let mut folders: Vec<PathBuf> = data.map(|data| data.join(OWN)).into_iter().collect();
    // Neither a changed HOME nor sudo, which may keep it or not, changes whose engines are used.
    for user in [Some(geteuid()), sudo_user()].into_iter().flatten() {
        let Some(home) = User::from_uid(user).ok().flatten().map(|user| user.dir) else {
            continue;
        };
        folders.push(home.join(".local/share").join(OWN));
        folders.extend(recorded(&home.join(RECORD)));
    }
    folders.push(SYSTEM.into());
    let mut each = Vec::new();
    for folder in folders {
        if !each.contains(&folder) {
            each.push(folder);
        }
    }
    each
}

/// The folders that a record names, a line each.
fn recorded(record: &Path) -> Vec<PathBuf> {
    let is_trusted = record.is_file() && written_by(record).is_none();
    let text = is_trusted.then(|| std::fs::read_to_string(record).unwrap_or_default());
    let folders = text.unwrap_or_default();
    let folders = folders.lines().map(PathBuf::from);
    folders.filter(|path| path.is_absolute()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_folders_a_line_each() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("engine-folders");
        std::fs::write(&record, "/data/engines\nrelative\n\n/more\n").unwrap();
        let expected = ["/data/engines", "/more"].map(PathBuf::from);
        assert_eq!(recorded(&record), expected);
        assert!(recorded(&folder.path().join("none")).is_empty());
    }

    #[test]
    fn the_system_s_folder_is_searched_unless_one_is_named() {
        let only = var_os(ONLY).map(PathBuf::from);
        let is_named = only.is_some_and(|path| path.is_absolute());
        assert_ne!(candidates().contains(&PathBuf::from(SYSTEM)), is_named);
    }
}
