//! A run folder as one file: `.tar.gz`, so that other programs open it too.

use crate::failure::Failure;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use trueput_analysis::Report;
use trueput_record::RunFolder;

/// What a bundle may come to when it is unpacked, bytes: a small archive can hold endless zeros.
const MOST_BYTES: u64 = 16 << 30;

/// A run folder, or what a bundle was unpacked to.
pub struct Opened {
    /// The run folder.
    folder: PathBuf,
    /// The path that the user named.
    named: PathBuf,
    /// Removes what was unpacked when it is dropped.
    unpacked: Option<tempfile::TempDir>,
}

impl Opened {
    /// Reads the run, which is called as the user named it.
    ///
    /// # Errors
    /// As [`Report::load`].
    pub fn report(&self) -> Result<Report, trueput_analysis::Error> {
        Report::load_as(&self.folder, &self.named)
    }

    /// Whether it is a bundle's content, which is removed again.
    pub fn is_unpacked(&self) -> bool {
        self.unpacked.is_some()
    }
}

/// The files of a run folder that are its record, by their paths in it.
fn is_record(path: &Path) -> bool {
    let mut parts = path.components().map(Component::as_os_str);
    let first = parts
        .next()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    match (first, parts.next(), parts.next()) {
        ("run.json" | "trials.jsonl" | "end.json", None, None) => true,
        ("histograms", Some(name), None) => {
            Path::new(name).extension().is_some_and(|e| e == "hlog")
        }
        _ => false,
    }
}

/// Writes a run's record to `output`, or to a file here that is named after the folder.
///
/// # Errors
/// A usage error where the folder is no run folder, the file is there already or cannot be made.
pub fn pack(run: &Path, output: Option<&Path>) -> Result<PathBuf, Failure> {
    RunFolder::open(run)?;
    let real = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    let name = real.file_name().map_or_else(|| "run".into(), PathBuf::from);
    let default = || PathBuf::from(format!("{}.tar.gz", name.display()));
    let file = output.map_or_else(default, Path::to_owned);
    let refuse =
        |error: std::io::Error| Failure::usage(format!("cannot write {}: {error}", file.display()));
    let made = File::create_new(&file).map_err(refuse)?;
    write_archive(made, &real, &name).map_err(|error| {
        // Half an archive is worse than none.
        let _ = std::fs::remove_file(&file);
        refuse(error)
    })?;
    Ok(file)
}

fn write_archive(file: File, run: &Path, name: &Path) -> std::io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(file, flate2::Compression::default()));
    archive.mode(tar::HeaderMode::Deterministic);
    for path in record_files(run)? {
        archive.append_path_with_name(run.join(&path), name.join(&path))?;
    }
    archive.into_inner()?.finish()?.sync_all()
}

fn record_files(run: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["", "histograms"] {
        let entries = match std::fs::read_dir(run.join(folder)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let path = Path::new(folder).join(entry?.file_name());
            if is_record(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// A run folder as it is, or a bundle, unpacked where it is removed again.
///
/// # Errors
/// A usage error where the file is no bundle.
pub fn open(path: &Path) -> Result<Opened, Failure> {
    if !path.is_file() {
        return Ok(Opened {
            folder: path.to_owned(),
            named: path.to_owned(),
            unpacked: None,
        });
    }
    let no_bundle = |why: &dyn std::fmt::Display| {
        let path = path.display();
        Failure::usage(format!(
            "{path}: neither a run folder nor a bundle of one: {why}"
        ))
    };
    let place = tempfile::tempdir()
        .map_err(|error| Failure::Other(format!("no temporary folder can be made: {error}")))?;
    let folder = place.path().join("run");
    unpack(path, &folder).map_err(|error| no_bundle(&error))?;
    if !folder.join("run.json").is_file() {
        return Err(no_bundle(&"it has no run.json"));
    }
    Ok(Opened {
        folder,
        named: path.to_owned(),
        unpacked: Some(place),
    })
}

/// Unpacks the record's files and nothing else, whatever the archive holds.
fn unpack(bundle: &Path, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder.join("histograms"))?;
    let mut left = MOST_BYTES;
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(bundle)?));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        // The first part is the run folder's name.
        let within: PathBuf = path.components().skip(1).collect();
        if !entry.header().entry_type().is_file() || !is_record(&within) {
            continue;
        }
        let mut file = File::create(folder.join(&within))?;
        let copied = std::io::copy(&mut entry.by_ref().take(left + 1), &mut file)?;
        left = left.checked_sub(copied).ok_or_else(|| {
            let most = trueput_record::value::format_bytes(MOST_BYTES);
            std::io::Error::other(format!("it holds more than {most}"))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_record_are_taken() {
        for kept in [
            "run.json",
            "trials.jsonl",
            "end.json",
            "histograms/0001-a.hlog",
        ] {
            assert!(is_record(Path::new(kept)), "{kept}");
        }
        for other in [
            "work/data.mdb",
            "../run.json",
            "histograms/x/y.hlog",
            "report.html",
            "",
        ] {
            assert!(!is_record(Path::new(other)), "{other}");
        }
    }
}
