//! Checks a run folder of possibly unknown origin before a run continues in it.

use crate::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};
use trueput_host::run_marker::RunMarker;
use trueput_record::RunFolder;

/// Refuses a run folder that contains symlinks, since a run would write through them, or that
/// cannot be read.
///
/// # Errors
/// An error that names the link or the unreadable folder.
pub fn check_folder(folder: &RunFolder) -> Result<(), Error> {
    let histograms = folder.histogram_path("");
    let histograms = histograms.parent().unwrap_or(folder.path());
    for path in [folder.path(), histograms] {
        let message = match find_link(path) {
            Ok(None) => continue,
            Ok(Some(link)) => format!(
                "{} is a link, and a run does not write through links: name the directory for \
                 databases with --work, and replace links by files",
                link.display()
            ),
            Err(error) => format!("cannot look for links in {}: {error}", path.display()),
        };
        let path = folder.path().to_owned();
        return Err(Error::Results { path, message });
    }
    Ok(())
}

/// Returns a symlink in a folder; `None` if there is none, or the folder does not exist.
fn find_link(folder: &Path) -> io::Result<Option<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_symlink() {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// Returns whether the run of that folder left its marker in `work`, as it does if it was killed.
#[must_use]
pub fn has_worked_in(work: &Path, folder: &RunFolder) -> bool {
    let name = folder.path().canonicalize();
    let name = name
        .ok()
        .and_then(|real| Some(real.file_name()?.to_owned()));
    let area = work.canonicalize().ok().zip(name);
    area.is_some_and(|(work, name)| RunMarker::read(&work.join(name)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_found_and_a_folder_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "").unwrap();
        assert_eq!(find_link(folder.path()).unwrap(), None);
        assert_eq!(find_link(&folder.path().join("absent")).unwrap(), None);
        std::os::unix::fs::symlink("absent", &link).unwrap();
        assert_eq!(find_link(folder.path()).unwrap(), Some(link));
        let error = find_link(&file).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }
}
