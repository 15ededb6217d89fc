//! A run folder as one file: `.tar.gz`, so that other programs open it too.

use crate::failure::Failure;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use trueput_analysis::Report;
use trueput_record::Error as RecordError;
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
    /// As [`Report::load`]; of a bundle, what is wrong with a file of it is said under its name.
    pub fn report(&self) -> Result<Report, trueput_analysis::Error> {
        Report::load_as(&self.folder, &self.named).map_err(|error| match error {
            trueput_analysis::Error::Record(error) if self.is_unpacked() => {
                self.renamed(error).into()
            }
            other => other,
        })
    }

    /// An error whose path is the bundle's, and the file in it: the folder that it was unpacked to
    /// says nothing to the user.
    fn renamed(&self, error: RecordError) -> RecordError {
        let of_bundle = |path: PathBuf| match path.strip_prefix(&self.folder) {
            Ok(within) if within.as_os_str().is_empty() => self.named.clone(),
            Ok(within) => format!("{}, {}", self.named.display(), within.display()).into(),
            Err(_) => path,
        };
        match error {
            RecordError::Io { path, source } => RecordError::io(of_bundle(path), source),
            RecordError::Invalid {
                path,
                line,
                message,
            } => RecordError::Invalid {
                path: of_bundle(path),
                line,
                message,
            },
            RecordError::Busy { path } => RecordError::Busy {
                path: of_bundle(path),
            },
            RecordError::NewerFormat { path, found, known } => RecordError::NewerFormat {
                path: of_bundle(path),
                found,
                known,
            },
        }
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
    let folders = unpack(path, place.path()).map_err(|error| no_bundle(&error))?;
    let is_run = |folder: &&Unpacked| folder.at.join("run.json").is_file();
    let mut runs: Vec<_> = folders.iter().filter(is_run).collect();
    runs.sort_by(|one, other| one.root.cmp(&other.root));
    let folder = match runs[..] {
        [] => return Err(no_bundle(&"it has no run.json")),
        [run] => run.at.clone(),
        _ => return Err(no_bundle(&several(&runs))),
    };
    Ok(Opened {
        folder,
        named: path.to_owned(),
        unpacked: Some(place),
    })
}

/// What is said of an archive of several runs.
fn several(runs: &[&Unpacked]) -> String {
    let names: Vec<_> = runs.iter().map(|run| run.name()).collect();
    format!(
        "it holds {} runs: {}; make one bundle of each",
        runs.len(),
        names.join(", ")
    )
}

/// A folder of an archive that holds files of a record.
struct Unpacked {
    /// Its path in the archive.
    root: PathBuf,
    /// Where its files were unpacked to.
    at: PathBuf,
}

impl Unpacked {
    /// Its path in the archive, for people.
    fn name(&self) -> String {
        match self.root.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => self.root.display().to_string(),
        }
    }
}

/// Splits the path of a file of a record, as an archive has it, into its run folder's path and its
/// own in that; `None` for any other file. Archives that were made by hand may begin each path with
/// `./`, and may have the run folder under others.
fn split(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let plain = path.components().filter(|part| *part != Component::CurDir);
    let path: PathBuf = plain.collect();
    let mut ancestors = path.ancestors().skip(1);
    let parent = ancestors.next()?;
    let root = match parent.file_name() {
        Some(name) if name == "histograms" => ancestors.next()?,
        _ => parent,
    };
    let within = path.strip_prefix(root).ok()?;
    is_record(within).then(|| (root.to_owned(), within.to_owned()))
}

/// Unpacks the record's files and nothing else, whatever the archive holds: each folder's into one
/// of its own, so that no run is given what is another's.
fn unpack(bundle: &Path, place: &Path) -> std::io::Result<Vec<Unpacked>> {
    let mut folders: Vec<Unpacked> = Vec::new();
    let mut left = MOST_BYTES;
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(bundle)?));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let parts = split(&entry.path()?);
        let Some((root, within)) = parts.filter(|_| entry.header().entry_type().is_file()) else {
            continue;
        };
        let known = folders.iter().position(|folder| folder.root == root);
        let index = known.unwrap_or(folders.len());
        let at = place.join(index.to_string());
        if known.is_none() {
            std::fs::create_dir_all(at.join("histograms"))?;
            folders.push(Unpacked {
                root,
                at: at.clone(),
            });
        }
        let mut file = File::create(at.join(&within))?;
        let copied = std::io::copy(&mut entry.by_ref().take(left + 1), &mut file)?;
        left = left.checked_sub(copied).ok_or_else(|| {
            let most = trueput_record::value::format_bytes(MOST_BYTES);
            std::io::Error::other(format!("it holds more than {most}"))
        })?;
    }
    Ok(folders)
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

    #[test]
    fn a_file_belongs_to_the_folder_above_it_however_its_path_begins() {
        let of = |path: &str| {
            let (root, within) = split(Path::new(path))?;
            Some(format!("{}|{}", root.display(), within.display()))
        };
        for (path, expected) in [
            ("run/run.json", "run|run.json"),
            ("./run/run.json", "run|run.json"),
            ("./run.json", "|run.json"),
            ("run.json", "|run.json"),
            ("results/run/end.json", "results/run|end.json"),
            ("./run/histograms/1.hlog", "run|histograms/1.hlog"),
            ("histograms/1.hlog", "|histograms/1.hlog"),
            ("../run/trials.jsonl", "../run|trials.jsonl"),
        ] {
            assert_eq!(of(path).as_deref(), Some(expected), "{path}");
        }
        for other in [
            "run/",
            "run/work/data.mdb",
            "run/x/1.hlog",
            "run/report.html",
            "",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
