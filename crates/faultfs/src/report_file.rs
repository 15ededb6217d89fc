//! The file in which a server reports what it did.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io;
use std::path::Path;

/// Reads the report that a server has written.
pub(crate) fn read<T: DeserializeOwned>(file: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(file)?)?)
}

/// Writes a report into a file, whose folder is created.
pub(crate) fn write(file: &Path, report: &impl Serialize) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let written = fs::write(file, serde_json::to_vec_pretty(report)?);
    if written.is_err() {
        // Half a report, as on a full disk, is worse than none.
        let _ = fs::remove_file(file);
    }
    written
}

/// Removes the report on an earlier attempt at the trial: it says nothing of this one.
pub(crate) fn remove_earlier(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_as_it_was_written_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("reports/a.json");
        write(&file, &[1, 2]).unwrap();
        assert_eq!(read::<Vec<u64>>(&file).unwrap(), [1, 2]);
        remove_earlier(&file).unwrap();
        assert!(read::<Vec<u64>>(&file).is_err());
        remove_earlier(&file).unwrap();
    }
}
