//! The user who runs a server if the runner is root, and whether that user can reach a folder.

use nix::unistd::{Gid, Uid, User, geteuid};
use std::io::ErrorKind::NotFound;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};

/// The unprivileged user that every system has.
const NOBODY: &str = "nobody";

/// A user who runs servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerUser {
    /// The user's name.
    pub name: String,
    /// The user's number.
    pub uid: Uid,
    /// The number of the user's group.
    pub gid: Gid,
}

/// Why a server cannot run as its user.
#[derive(Debug, thiserror::Error)]
pub enum ServerUserError {
    /// The system knows none of the users.
    #[error(
        "servers do not run as root, and user {users} does not exist; create it: useradd --system \
         {first}"
    )]
    Unknown {
        /// Their names.
        users: String,
        /// The one to create.
        first: String,
    },
    /// The user may not enter a folder on the way to the database.
    #[error(
        "the server runs as user '{user}', who may not enter {} (no x permission): choose another \
         directory with --work DIR, or run chmod o+x on it",
        folder.display()
    )]
    NoEntry {
        /// The user's name.
        user: String,
        /// The folder.
        folder: PathBuf,
    },
    /// A file cannot be given to the user.
    #[error("{} cannot be given to '{user}': {error}", path.display())]
    NotGiven {
        /// The file.
        path: PathBuf,
        /// The user's name.
        user: String,
        /// The system's error.
        error: std::io::Error,
    },
}

/// Returns whether this process has the rights of root.
#[must_use]
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Finds the user who is to run a server: the first of `users` that the system knows if this is
/// root, else `None` for the current user.
///
/// # Errors
/// One sentence, if the system knows none of them.
pub(crate) fn find_server_user(users: &[&str]) -> Result<Option<ServerUser>, ServerUserError> {
    if !is_root() {
        return Ok(None);
    }
    let known = |name: &&str| User::from_name(name).ok().flatten();
    let found = users.iter().chain([&NOBODY]).find_map(known);
    let found = found.ok_or_else(|| ServerUserError::Unknown {
        users: users.join(", "),
        first: (*users.first().unwrap_or(&NOBODY)).to_owned(),
    })?;
    Ok(Some(ServerUser {
        name: found.name,
        uid: found.uid,
        gid: found.gid,
    }))
}

impl ServerUser {
    /// Returns the topmost folder on the way to `directory`, itself included, that this user may
    /// not enter.
    pub fn first_impassable(&self, directory: &Path) -> Option<PathBuf> {
        let mut way: Vec<&Path> = directory.ancestors().collect();
        way.reverse();
        let passes = |folder: &Path| {
            // This program creates missing folders so that everybody may enter them.
            std::fs::metadata(folder).map_or(true, |metadata| {
                let owner = (metadata.uid(), metadata.gid());
                may_pass(
                    metadata.mode(),
                    owner,
                    (self.uid.as_raw(), self.gid.as_raw()),
                )
            })
        };
        way.into_iter()
            .find(|folder| !passes(folder))
            .map(Path::to_owned)
    }

    /// Checks that this user may enter every folder down to `directory`.
    ///
    /// # Errors
    /// One sentence that names the inaccessible folder.
    pub fn check_access(&self, directory: &Path) -> Result<(), ServerUserError> {
        let Some(folder) = self.first_impassable(directory) else {
            return Ok(());
        };
        Err(ServerUserError::NoEntry {
            user: self.name.clone(),
            folder,
        })
    }

    /// Gives a folder and its contents to this user. Links are not followed.
    ///
    /// # Errors
    /// One sentence with the file that cannot be given.
    pub fn change_owner(&self, directory: &Path) -> Result<(), ServerUserError> {
        let mut left = vec![directory.to_owned()];
        while let Some(path) = left.pop() {
            let refused = |error: std::io::Error| ServerUserError::NotGiven {
                path: path.clone(),
                user: self.name.clone(),
                error,
            };
            let is_folder = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
            lchown(&path, Some(self.uid.as_raw()), Some(self.gid.as_raw())).map_err(refused)?;
            if is_folder {
                for entry in std::fs::read_dir(&path).map_err(refused)? {
                    match entry {
                        Ok(entry) => left.push(entry.path()),
                        Err(error) if error.kind() == NotFound => {}
                        Err(error) => return Err(refused(error)),
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns whether the mode of a folder lets a user enter it.
fn may_pass(mode: u32, owner: (u32, u32), user: (u32, u32)) -> bool {
    let bit = match (owner.0 == user.0, owner.1 == user.1) {
        (true, _) => 0o100,
        (false, true) => 0o010,
        (false, false) => 0o001,
    };
    user.0 == 0 || mode & bit != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn stranger() -> ServerUser {
        ServerUser {
            name: "stranger".to_owned(),
            uid: Uid::from_raw(54_321),
            gid: Gid::from_raw(54_321),
        }
    }

    #[test]
    fn the_class_of_the_user_decides_and_no_other() {
        assert!(may_pass(0o711, (0, 0), (7, 7)));
        assert!(!may_pass(0o710, (0, 0), (7, 7)));
        assert!(may_pass(0o710, (0, 7), (7, 7)));
        assert!(!may_pass(0o071, (7, 7), (7, 7)));
        assert!(may_pass(0o000, (7, 7), (0, 0)));
    }

    #[test]
    fn the_topmost_folder_in_the_way_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let (closed, below) = (
            folder.path().join("closed"),
            folder.path().join("closed/below"),
        );
        std::fs::create_dir_all(&below).unwrap();
        mode(folder.path(), 0o755);
        mode(&closed, 0o700);
        assert_eq!(stranger().first_impassable(&below), Some(closed.clone()));
        let reason = stranger().check_access(&below).unwrap_err().to_string();
        assert!(
            reason.contains(&format!("may not enter {}", closed.display()))
                && reason.contains("--work")
        );
        mode(&closed, 0o755);
        let missing = below.join("not/there/yet");
        assert!(stranger().check_access(&missing).is_ok());
    }

    #[test]
    fn who_is_no_root_runs_servers_and_root_has_another_do_it() {
        let user = find_server_user(&["no-such-user-anywhere"]).unwrap();
        if is_root() {
            assert_eq!(user.unwrap().name, NOBODY);
        } else {
            assert_eq!(user, None);
        }
    }
}
