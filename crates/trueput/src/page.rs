//! The page of a report, in a file.

use crate::failure::Failure;
use crate::output;
use std::fs::File;
use std::io::{Read, Result as IoResult, Write};
use std::path::{Path, PathBuf};
use trueput_findings::Run;
use trueput_record::regular_file;
use trueput_report::RunReport;

/// The first bytes of a page.
const BEGINNING: &[u8] = b"<!DOCTYPE html>";

/// Writes the report's page to its run folder, which is untrusted: links in it are not followed.
/// Returns the path.
///
/// # Errors
/// [`Failure::not_written`] if the file cannot be written; an earlier page is still there then.
pub fn write_own_page(report: &Run) -> Result<PathBuf, Failure> {
    let file = report.page_path();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let written = regular_file::replace(&report.folder, &name, report.page().as_bytes());
    written.map_err(|error| Failure::not_written(&file, &error))?;
    Ok(file)
}

/// The line that prints a page's path.
pub fn describe_page(file: &Path) -> String {
    format!("page: {}", file.display())
}

/// Writes a page to a file and prints its path.
///
/// # Errors
/// [`Failure::not_written`] if the file cannot be written.
pub fn write_page(page: &str, file: &Path) -> Result<(), Failure> {
    let written = File::create(file).and_then(|made| fill(made, file, page.as_bytes()));
    written.map_err(|error| Failure::not_written(file, &error))?;
    output::line(&describe_page(file))
}

/// Writes into a file that was just opened, and removes it if that fails: half a file is worse than
/// none.
///
/// # Errors
/// The error of the operating system.
pub fn fill(mut opened: File, file: &Path, bytes: &[u8]) -> IoResult<()> {
    let written = opened.write_all(bytes);
    // A device stays, and so does what a link leads to.
    if written.is_err() && file.symlink_metadata().is_ok_and(|found| found.is_file()) {
        let _ = std::fs::remove_file(file);
    }
    written
}

/// Checks that a file may be overwritten with a page: `--html` takes the next word as its file,
/// even if that was meant to be a run.
///
/// # Errors
/// A usage error if the file is not a page.
pub fn check_is_page(file: &Path) -> Result<(), Failure> {
    let refused = |kind: &str| {
        let file = file.display();
        Err(Failure::usage(format!(
            "--html takes the file of the page, but {file} is {kind}; name the runs first, as in \
             trueput report RUN … --html page.html"
        )))
    };
    if file.is_dir() {
        return refused("a folder");
    }
    let is_page = || {
        let mut first = Vec::new();
        let opened = File::open(file)?;
        opened
            .take(BEGINNING.len() as u64)
            .read_to_end(&mut first)?;
        std::io::Result::Ok(first.is_empty() || first == BEGINNING)
    };
    if file.is_file() && !is_page().unwrap_or(true) {
        refused("an existing file that is not a page")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn nothing_is_left_of_a_file_that_cannot_be_written_and_a_device_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.html");
        fill(File::create(&file).unwrap(), &file, b"whole").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"whole");
        // What is open for reading alone refuses every byte.
        assert!(fill(File::open(&file).unwrap(), &file, b"more").is_err());
        assert!(!file.exists());
        let full = Path::new("/dev/full");
        let opened = OpenOptions::new().write(true).open(full).unwrap();
        assert!(fill(opened, full, b"more").is_err());
        assert!(full.exists());
    }
}
