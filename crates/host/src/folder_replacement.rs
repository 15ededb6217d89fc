//! Puts a finished folder in the place of another one, so that readers see either whole.

use rustix::fs::{CWD, RenameFlags, renameat_with, syncfs};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// Writes `made` to storage and gives it the name `target`, which must be on the same file system.
/// A folder that has this name then has that of `made`.
///
/// File systems that cannot exchange two names have neither for a moment; if the program is killed
/// then, the earlier folder is next to `made`, with `.before` after its name.
///
/// # Errors
/// The operating system's; the earlier folder then has its name still.
pub fn replace_folder(made: &Path, target: &Path) -> io::Result<()> {
    syncfs(File::open(made)?)?;
    match renameat_with(CWD, made, CWD, target, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(Errno::NOENT) => std::fs::rename(made, target),
        Err(Errno::INVAL | Errno::NOSYS) => replace_in_two_steps(made, target),
        Err(errno) => Err(errno.into()),
    }
}

fn replace_in_two_steps(made: &Path, target: &Path) -> io::Result<()> {
    let before = made.with_extension("before");
    std::fs::rename(target, &before)?;
    std::fs::rename(made, target).inspect_err(|_| {
        let _ = std::fs::rename(&before, target);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_takes_the_place_of_another_or_of_none() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("site");
        let way = [replace_folder, replace_folder, replace_in_two_steps];
        for (number, replace) in way.into_iter().enumerate() {
            let made = place.path().join(format!("made-{number}"));
            std::fs::create_dir(&made).unwrap();
            std::fs::write(made.join("page"), number.to_string()).unwrap();
            replace(&made, &target).unwrap();
            let page = std::fs::read_to_string(target.join("page")).unwrap();
            assert_eq!(page, number.to_string());
        }
        let missing = place.path().join("missing");
        assert!(replace_folder(&missing, &target).is_err());
        assert!(replace_in_two_steps(&missing, &target).is_err());
        assert!(target.join("page").is_file());
    }
}
