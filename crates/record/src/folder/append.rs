//! Appends lines to the file of trials.

use crate::regular_file::{self, OpenMode};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Appends a line to a file of a folder, whole or not at all.
///
/// # Errors
/// The error of the operating system.
pub(super) fn append_line(folder: &Path, name: &str, line: &str) -> std::io::Result<()> {
    let mut file = regular_file::open(folder, Path::new(name), OpenMode::Append)?;
    let length = file.metadata()?.len();
    // A crash tore the last line: leave it damaged rather than glue this one to it.
    let separator = if ends_with_newline(&mut file)? {
        ""
    } else {
        "\n"
    };
    let written = file.write_all(format!("{separator}{line}").as_bytes());
    let written = written.and_then(|()| file.sync_data());
    if written.is_err() {
        // What cannot be cut is a damaged line, which readers report.
        let _ = file.set_len(length);
    }
    written
}

fn ends_with_newline(file: &mut File) -> std::io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}
