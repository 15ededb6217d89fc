//! The known places: folders whose files only the administrator, the user or whoever owns this
//! program can have put there.
//!
//! What a plan or a run folder names outside them is somebody else's word, and is not loaded or run
//! before the user has agreed.

use super::folders::engine_folders;
use nix::unistd::{Uid, geteuid};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The folders in which the system and its administrator install libraries and servers, beside
/// `/usr/pgsql-*`.
const SYSTEM: [&str; 16] = [
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/lib",
    "/usr/local/pgsql",
    "/opt/postgresql",
    "/opt/fis-gtm",
    "/opt/yottadb",
];

/// The bits of a mode that let the group and others write, and that which keeps them from replacing
/// what is not theirs in a folder.
const GROUP: u32 = 0o020;
const OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Whether a library or a server's program lies in one of the known places, by its name as well as
/// by its real one, and nobody else can have written it: neither the file, nor a link to it, nor a
/// folder on the way. A link elsewhere that leads to a known place can be turned when it has been
/// judged.
#[must_use]
pub fn is_in_trusted_location(file: &Path) -> bool {
    let (Ok(real), Ok(named)) = (file.canonicalize(), std::path::absolute(file)) else {
        return false;
    };
    let system = SYSTEM.iter().map(PathBuf::from);
    let folders: Vec<_> = system.chain(engine_folders()).collect();
    let is_known = |path: &Path| {
        let holds = |folder: &PathBuf| {
            let real = folder.canonicalize();
            path.starts_with(folder) || real.is_ok_and(|real| path.starts_with(real))
        };
        folders.iter().any(holds) || path.to_string_lossy().starts_with("/usr/pgsql-")
    };
    let leads_up = named.components().any(|part| part == Component::ParentDir);
    let known = is_known(&named) && is_known(&real) && !leads_up;
    known && are_links_trusted(&named) && written_by(&real).is_none()
}

/// Whether nobody else made what a path goes through, its links themselves included.
fn are_links_trusted(named: &Path) -> bool {
    named.ancestors().all(|part| {
        let itself = std::fs::symlink_metadata(part);
        let meant = std::fs::metadata(part);
        let is_trusted =
            |metadata: Metadata| is_trusted(metadata.uid()) && !others_write(&metadata);
        itself.is_ok_and(|itself| self::is_trusted(itself.uid())) && meant.is_ok_and(is_trusted)
    })
}

/// Who else than those that are trusted could have written a file or folder, in a few words; `None`
/// where nobody could.
pub(super) fn written_by(path: &Path) -> Option<String> {
    let Ok(real) = path.canonicalize() else {
        return Some("it cannot be read".to_owned());
    };
    real.ancestors().find_map(|part| {
        let shown = part.display();
        match std::fs::metadata(part) {
            Err(error) => Some(format!("{shown} cannot be read: {error}")),
            Ok(metadata) if !is_trusted(metadata.uid()) => {
                Some(format!("{shown} belongs to user {}", metadata.uid()))
            }
            Ok(metadata) if others_write(&metadata) => Some(format!("others may write to {shown}")),
            Ok(_) => None,
        }
    })
}

/// Whether files of this user are as good as the program itself: the administrator's, those of the
/// user who runs it or had `sudo` run it, and of whoever owns the program.
fn is_trusted(owner: u32) -> bool {
    let user = geteuid();
    owner == 0
        || owner == user.as_raw()
        || (user.is_root() && sudo_user().is_some_and(|sudo| sudo.as_raw() == owner))
        || std::fs::metadata("/proc/self/exe").is_ok_and(|program| program.uid() == owner)
}

/// Who had `sudo` run this program as root.
pub(super) fn sudo_user() -> Option<Uid> {
    let stated = std::env::var("SUDO_UID").ok()?.parse().ok()?;
    geteuid().is_root().then(|| Uid::from_raw(stated))
}

fn others_write(metadata: &Metadata) -> bool {
    let mode = metadata.mode();
    // A group of the owner's number is the owner's alone, as most systems make it.
    let group_is_owners = metadata.gid() == metadata.uid();
    let by_group = mode & GROUP != 0 && !group_is_owners;
    (by_group || mode & OTHERS != 0) && !(metadata.is_dir() && mode & STICKY != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_others_may_write_or_replace_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("engines");
        std::fs::create_dir(&inner).unwrap();
        let file = inner.join("libx.so");
        std::fs::write(&file, "").unwrap();
        for (path, mode) in [(&inner, 0o755), (&file, 0o644)] {
            set_mode(path, mode);
        }
        assert_eq!(written_by(&file), None);
        set_mode(&file, 0o646);
        assert!(written_by(&file).unwrap().contains("others may write"));
        set_mode(&file, 0o644);
        set_mode(&inner, 0o757);
        assert!(written_by(&file).unwrap().contains("engines"));
        // In a sticky folder nobody replaces what is another's.
        set_mode(&inner, 0o1777);
        assert_eq!(written_by(&file), None);
        assert!(written_by(Path::new("/nowhere/at/all")).is_some());
    }

    #[test]
    fn the_system_s_own_libraries_are_known_and_a_temporary_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libx.so");
        std::fs::write(&file, "").unwrap();
        assert!(!is_in_trusted_location(&file));
        assert!(!is_in_trusted_location(Path::new("/nowhere/libx.so")));
        assert!(is_in_trusted_location(Path::new("/bin/sh")));
        let link = folder.path().join("link.so");
        std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
        assert!(
            !is_in_trusted_location(&link),
            "it can be turned afterwards"
        );
        let up = format!("/bin/../{}", link.display());
        assert!(!is_in_trusted_location(Path::new(&up)));
    }
}
