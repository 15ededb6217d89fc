//! The size of a database: of the files in its folder.

use std::io::ErrorKind::NotFound;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trueput_record::measurement::DatabaseSize;

/// A folder whose files cannot be listed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", directory.display())]
pub(crate) struct SizeError {
    directory: PathBuf,
    source: std::io::Error,
}

/// Returns the size of the files in a folder and its subfolders; links are not followed.
///
/// # Errors
/// [`SizeError`]; a file that disappears meanwhile is not an error.
pub(crate) fn measure_database(directory: &Path) -> Result<DatabaseSize, SizeError> {
    let size = measure_small_database(directory, u64::MAX);
    let size = size.map_err(|source| SizeError {
        directory: directory.to_owned(),
        source,
    })?;
    Ok(size.unwrap_or_default())
}

/// As [`measure_database`], but `None` for more than `files` files.
///
/// # Errors
/// The error of the operating system.
pub(crate) fn measure_small_database(
    directory: &Path,
    files: u64,
) -> std::io::Result<Option<DatabaseSize>> {
    let (mut size, mut seen) = (DatabaseSize::default(), 0);
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == NotFound && folder != directory => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let metadata = match entry.metadata() {
                Err(error) if error.kind() == NotFound => continue,
                metadata => metadata?,
            };
            seen += 1;
            if seen > files {
                return Ok(None);
            }
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                // st_blocks counts units of 512 bytes whatever the file system's block is
                // (stat(2)).
                size.allocated_bytes += metadata.blocks() * 512;
                size.apparent_bytes += metadata.len();
            }
        }
    }
    Ok(Some(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_counts_in_the_apparent_size_only() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        std::fs::create_dir(&below).unwrap();
        std::fs::File::create(below.join("sparse"))
            .unwrap()
            .set_len(1 << 30)
            .unwrap();
        let size = measure_database(folder.path()).unwrap();
        assert_eq!(size.apparent_bytes, 1 << 30);
        assert!(size.allocated_bytes < 1 << 20, "{size:?}");
    }

    #[test]
    fn a_folder_of_too_many_files_has_no_size() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let within = |files| measure_small_database(folder.path(), files).unwrap();
        assert_eq!(within(3).map(|size| size.apparent_bytes), Some(3));
        assert_eq!(within(2), None);
    }
}
