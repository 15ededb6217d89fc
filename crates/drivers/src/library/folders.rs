//! The folders where engines are installed, regardless of `HOME`.
//!
//! `TRUEPUT_ENGINES`, if set to an absolute path, is the only folder searched. A relative path is
//! ignored, as the XDG specification ignores relative paths in its variables.

use super::ownership::{sudo_user, untrusted_reason};
use nix::unistd::{User, geteuid};
use std::env::var_os;
use std::path::{Path, PathBuf};
use trueput_engine::decode_utf8;

/// The folder into which root installs for all users.
const SYSTEM: &str = "/usr/local/lib/trueput/engines";
/// The variable that names the only folder to search.
const ENGINES_VAR: &str = "TRUEPUT_ENGINES";
/// A user's own engines, relative to the folder for data.
const USER_SUBFOLDER: &str = "trueput/engines";
/// Relative to a user's home: lists the non-default folders that engines were installed into.
const FOLDER_LIST: &str = ".config/trueput/engine-folders";

/// Returns the folders of engines, the user's first, without those that others could write to.
pub(crate) fn engine_folders() -> Vec<PathBuf> {
    let folders = candidates().into_iter();
    folders
        .filter(|folder| !folder.exists() || untrusted_reason(folder).is_none())
        .collect()
}

/// Returns one sentence for each ignored folder of engines: its path and the reason.
#[must_use]
pub fn ignored_folders() -> Vec<String> {
    let folders = candidates().into_iter().filter(|folder| folder.exists());
    folders
        .filter_map(|folder| {
            let reason = untrusted_reason(&folder)?;
            Some(format!(
                "engines in {} are not used: {reason}",
                folder.display()
            ))
        })
        .collect()
}

fn candidates() -> Vec<PathBuf> {
    let absolute_path_var = |name| {
        var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if let Some(only) = absolute_path_var(ENGINES_VAR) {
        return vec![only];
    }
    let data = absolute_path_var("XDG_DATA_HOME")
        .or_else(|| Some(absolute_path_var("HOME")?.join(".local/share")));
    let mut folders: Vec<PathBuf> = data
        .map(|data| data.join(USER_SUBFOLDER))
        .into_iter()
        .collect();
    // HOME may have been changed, and sudo may or may not keep it: the home folders of the
    // effective user and of the user who ran sudo are read from the user database.
    for user in [Some(geteuid()), sudo_user()].into_iter().flatten() {
        let Some(home) = User::from_uid(user).ok().flatten().map(|user| user.dir) else {
            continue;
        };
        folders.push(home.join(".local/share").join(USER_SUBFOLDER));
        folders.extend(listed_folders(&home.join(FOLDER_LIST)));
    }
    folders.push(SYSTEM.into());
    let mut unique = Vec::new();
    for folder in folders {
        if !unique.contains(&folder) {
            unique.push(folder);
        }
    }
    unique
}

/// Reads the absolute paths of a list, one per line; empty if others could have written it.
fn listed_folders(list: &Path) -> Vec<PathBuf> {
    let is_trusted = list.is_file() && untrusted_reason(list).is_none();
    let text = is_trusted.then(|| std::fs::read(list).unwrap_or_default());
    let text = text.unwrap_or_default();
    let folders = decode_utf8(&text)
        .unwrap_or_default()
        .lines()
        .map(PathBuf::from);
    folders.filter(|path| path.is_absolute()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_folders_one_per_line() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("engine-folders");
        std::fs::write(&list, "/data/engines\nrelative\n\n/more\n").unwrap();
        let expected = ["/data/engines", "/more"].map(PathBuf::from);
        assert_eq!(listed_folders(&list), expected);
        assert!(listed_folders(&folder.path().join("none")).is_empty());
    }

    #[test]
    fn the_system_s_folder_is_searched_unless_one_is_named() {
        let only = var_os(ENGINES_VAR).map(PathBuf::from);
        let is_named = only.is_some_and(|path| path.is_absolute());
        assert_ne!(candidates().contains(&PathBuf::from(SYSTEM)), is_named);
    }
}
