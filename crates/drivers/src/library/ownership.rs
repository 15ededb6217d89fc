//! Who could have written a file: its owner, users whom its mode admits, and users who can write to
//! the folders on the way to it.

use nix::unistd::{Uid, geteuid};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The bits of a mode that let the group and others write, and the sticky bit, which keeps users
/// from replacing each other's files in a folder.
const GROUP: u32 = 0o020;
const OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Names the reason why somebody who is not trusted could have written a file or folder; `None` if
/// nobody could.
#[must_use]
pub fn untrusted_reason(path: &Path) -> Option<String> {
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

/// Whether files of this owner are as trustworthy as the program itself: root's, those of the user
/// who runs it (directly or by `sudo`), and those of the program's owner.
pub(super) fn is_trusted(owner: u32) -> bool {
    let user = geteuid();
    owner == 0
        || owner == user.as_raw()
        || (user.is_root() && sudo_user().is_some_and(|sudo| sudo.as_raw() == owner))
        || std::fs::metadata("/proc/self/exe").is_ok_and(|program| program.uid() == owner)
}

/// The user who ran this program as root by `sudo`.
pub(super) fn sudo_user() -> Option<Uid> {
    let stated = std::env::var("SUDO_UID").ok()?.parse().ok()?;
    geteuid().is_root().then(|| Uid::from_raw(stated))
}

pub(super) fn others_write(metadata: &Metadata) -> bool {
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
    fn what_others_may_write_or_replace_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("engines");
        std::fs::create_dir(&inner).unwrap();
        let file = inner.join("libx.so");
        std::fs::write(&file, "").unwrap();
        for (path, mode) in [(&inner, 0o755), (&file, 0o644)] {
            set_mode(path, mode);
        }
        assert_eq!(untrusted_reason(&file), None);
        set_mode(&file, 0o646);
        assert!(
            untrusted_reason(&file)
                .unwrap()
                .contains("others may write")
        );
        set_mode(&file, 0o644);
        set_mode(&inner, 0o757);
        assert!(untrusted_reason(&file).unwrap().contains("engines"));
        // In a sticky folder users cannot replace each other's files.
        set_mode(&inner, 0o1777);
        assert_eq!(untrusted_reason(&file), None);
        assert!(untrusted_reason(Path::new("/nowhere/at/all")).is_some());
    }
}
