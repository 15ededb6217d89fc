//! The folders where engines are installed, regardless of `HOME`.
//!
//! `TRUEPUT_ENGINES`, if set to an absolute path, is the only folder searched. A relative path is
//! ignored, as the XDG specification ignores relative paths in its variables.

use super::ownership::{sudo_user, untrusted_reason};
use nix::unistd::{AccessFlags, User, access, geteuid};
use std::env::var_os;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
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
#[must_use]
pub fn engine_folders() -> Vec<PathBuf> {
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

/// Where this user installs engines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallationFolder {
    /// The folder of the engines.
    pub target: PathBuf,
    /// The user's own folder, if another: what root installed there earlier.
    pub own: PathBuf,
}

/// Returns the folder that this user installs engines into, which need not exist: the one that
/// `TRUEPUT_ENGINES` names; for root one for all users, where a changed `HOME` changes nothing;
/// else the user's own. `None` for a user without a home folder.
#[must_use]
pub fn installation_folder() -> Option<InstallationFolder> {
    let data = absolute_path_var("XDG_DATA_HOME")
        .or_else(|| Some(absolute_path_var("HOME")?.join(".local/share")))
        .or_else(|| Some(home_of_user()?.join(".local/share")));
    let own = data.map(|data| data.join(USER_SUBFOLDER));
    let only = absolute_path_var(ENGINES_VAR);
    let is_writable = || {
        let is_there = fs::create_dir_all(SYSTEM).is_ok();
        is_there && access(SYSTEM, AccessFlags::W_OK).is_ok()
    };
    let is_for_all = only.is_none() && geteuid().is_root() && is_writable();
    select_folder(only, own, is_for_all)
}

fn select_folder(
    only: Option<PathBuf>,
    own: Option<PathBuf>,
    is_for_all: bool,
) -> Option<InstallationFolder> {
    let system = is_for_all.then(|| PathBuf::from(SYSTEM));
    let target = only.or(system).or_else(|| own.clone())?;
    let own = own.unwrap_or_else(|| target.clone());
    Some(InstallationFolder { target, own })
}

/// Adds a folder of engines to the user's list, unless it is searched anyway.
///
/// # Errors
/// A list that cannot be written.
pub fn remember_folder(folder: &Path) -> io::Result<()> {
    let Some(home) = home_of_user().filter(|home| home.is_dir()) else {
        return Ok(());
    };
    if geteuid().is_root() || folder == home.join(".local/share").join(USER_SUBFOLDER) {
        return Ok(());
    }
    add_to_list(&home.join(FOLDER_LIST), folder)
}

fn add_to_list(list: &Path, folder: &Path) -> io::Result<()> {
    if listed_folders(list).iter().any(|known| known == folder) {
        return Ok(());
    }
    list.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut file = OpenOptions::new().append(true).create(true).open(list)?;
    writeln!(file, "{}", folder.display())
}

/// The home folder of the user database, whatever `HOME` is.
fn home_of_user() -> Option<PathBuf> {
    let user = User::from_uid(geteuid()).ok().flatten()?;
    Some(user.dir).filter(|home| home.is_absolute())
}

fn absolute_path_var(name: &str) -> Option<PathBuf> {
    let path = var_os(name).map(PathBuf::from);
    path.filter(|path| path.is_absolute())
}

fn candidates() -> Vec<PathBuf> {
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
    fn a_named_folder_comes_before_that_of_all_users_and_this_before_one_s_own() {
        let path = |text: &str| Some(PathBuf::from(text));
        let target = |only, own, is_for_all| {
            select_folder(only, own, is_for_all).map(|folder| folder.target)
        };
        assert_eq!(target(path("/only"), path("/own"), true), path("/only"));
        assert_eq!(target(path("/only"), None, false), path("/only"));
        assert_eq!(target(None, path("/own"), true), path(SYSTEM));
        assert_eq!(target(None, path("/own"), false), path("/own"));
        assert_eq!(target(None, None, false), None);
        let system = select_folder(None, path("/own"), true).unwrap();
        assert_eq!(Some(system.own), path("/own"));
    }

    #[test]
    fn a_folder_is_listed_once() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("config/engine-folders");
        for engines in ["/data/engines", "/more", "/data/engines"] {
            add_to_list(&list, Path::new(engines)).unwrap();
        }
        let text = std::fs::read_to_string(&list).unwrap();
        assert_eq!(text, "/data/engines\n/more\n");
    }

    #[test]
    fn the_system_s_folder_is_searched_unless_one_is_named() {
        let only = var_os(ENGINES_VAR).map(PathBuf::from);
        let is_named = only.is_some_and(|path| path.is_absolute());
        assert_ne!(candidates().contains(&PathBuf::from(SYSTEM)), is_named);
    }
}
