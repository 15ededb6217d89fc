//! Checks of a run folder before a run continues in it: it may come from somebody else.

use crate::Error;
use std::fs;
use std::path::Path;
use trueput_host::run_marker::RunMarker;
use trueput_record::RunFolder;

/// Refuses a run folder in which a link stands where a run writes: it would write through it.
///
/// # Errors
/// A usage error that names the link.
pub fn check_folder(folder: &RunFolder) -> Result<(), Error> {
    let links = |path: &Path| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .find(|path| path.is_symlink())
    };
    let histograms = folder.histogram_path("");
    let histograms = histograms.parent().unwrap_or(folder.path());
    match links(folder.path()).or_else(|| links(histograms)) {
        None => Ok(()),
        Some(link) => Err(Error::Results {
            path: folder.path().to_owned(),
            message: format!(
                "{} is a link, and a run does not write through links: name the directory for \
                 databases with --work, and replace links by files",
                link.display()
            ),
        }),
    }
}

/// Whether the run of that folder was killed while it worked in `work`: then its own mark is there.
#[must_use]
pub fn has_worked_in(work: &Path, folder: &RunFolder) -> bool {
    let name = folder.path().canonicalize();
    let name = name
        .ok()
        .and_then(|real| Some(real.file_name()?.to_owned()));
    let area = work.canonicalize().ok().zip(name);
    area.is_some_and(|(work, name)| RunMarker::read(&work.join(name)).is_some())
}
