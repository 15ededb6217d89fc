//! Trusted locations: folders to which only the administrator, the user or the owner of this
//! program can have written.
//!
//! A library or a program elsewhere that a plan or a run folder names may come from somebody else,
//! and is not loaded or run before the user has agreed.

use super::folders::engine_folders;
use super::ownership::{is_trusted, others_write, untrusted_reason};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The folders into which the system and its administrator install libraries and servers, in
/// addition to `/usr/pgsql-*`.
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

/// Whether a library or a server's program is in one of the known places, by its name as well as
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
    known && are_links_trusted(&named) && untrusted_reason(&real).is_none()
}

/// Whether every component of the path, its links included, was made by a trusted user.
fn are_links_trusted(named: &Path) -> bool {
    named.ancestors().all(|part| {
        let itself = std::fs::symlink_metadata(part);
        let meant = std::fs::metadata(part);
        let is_trusted =
            |metadata: Metadata| is_trusted(metadata.uid()) && !others_write(&metadata);
        itself.is_ok_and(|itself| self::is_trusted(itself.uid())) && meant.is_ok_and(is_trusted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
