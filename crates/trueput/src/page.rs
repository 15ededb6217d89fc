//! The page of a report, in a file.

use crate::failure::Failure;
use crate::output;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use trueput_findings::Run;
use trueput_record::regular_file::{self, OpenMode};
use trueput_report::RunReport;

/// The first bytes of a page.
const BEGINNING: &[u8] = b"<!DOCTYPE html>";

/// Writes the report's page to its run folder, which is untrusted: links in it are not followed.
/// Returns the path.
///
/// # Errors
/// A usage error if the file cannot be written.
pub fn write_own_page(report: &Run) -> Result<PathBuf, Failure> {
    let file = report.page_path();
    let name = file.file_name().map_or(file.as_path(), Path::new);
    let written = regular_file::open(&report.folder, name, OpenMode::Overwrite)
        .and_then(|mut opened| opened.write_all(report.page().as_bytes()));
    written.map_err(|error| not_written(&file, &error))?;
    Ok(file)
}

/// The line that prints a page's path.
pub fn describe_page(file: &Path) -> String {
    format!("page: {}", file.display())
}

fn not_written(file: &Path, error: &std::io::Error) -> Failure {
    Failure::Usage(format!("cannot write {}: {error}", file.display()))
}

/// Writes a page to a file and prints its path.
///
/// # Errors
/// A usage error if the file cannot be written.
pub fn write_page(page: &str, file: &Path) -> Result<(), Failure> {
    std::fs::write(file, page).map_err(|error| not_written(file, &error))?;
    output::line(&describe_page(file))
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
