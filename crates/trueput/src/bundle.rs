//! A run folder as one file: `.tar.gz`, so that other programs open it too.

mod layout;
mod pack;
mod unpack;

pub use pack::pack;

use crate::failure::Failure;
use crate::output;
use crate::size_limit::{SizeLimit, explained};
use layout::SUMS;
use std::path::{Path, PathBuf};
use trueput_findings::Run;
use trueput_record::{Error as RecordError, Outcome};

/// A run folder, or what a bundle was unpacked to.
pub struct OpenedBundle {
    /// The run folder.
    folder: PathBuf,
    /// The path that the user named.
    named: PathBuf,
    /// The most bytes that a file of it may have.
    most_bytes: u64,
    /// Removes what was unpacked when it is dropped.
    unpacked: Option<tempfile::TempDir>,
    /// Whether it is a bundle that does not state the sums of its files.
    lacks_sums: bool,
}

impl OpenedBundle {
    /// Reads the run, which is called as the user named it.
    ///
    /// # Errors
    /// As [`Run::load`]; of a bundle, what is wrong with a file of it is said under its name, and
    /// one in which no trial has ended is refused.
    pub fn report(&self) -> Result<Run, Failure> {
        let read = Run::load_as(&self.folder, &self.named, self.most_bytes);
        let report = read.map_err(|error| self.explained(error))?;
        let mut trials = report.trials.iter();
        let has_ended = trials.any(|trial| trial.outcome != Outcome::Interrupted);
        match self.is_unpacked() && !has_ended {
            true => Err(no_bundle(&self.named, "no trial of it has finished")),
            false => {
                self.note_lack_of_sums();
                Ok(report)
            }
        }
    }

    /// Bundles of former versions, and those made by hand, have no sums.
    fn note_lack_of_sums(&self) {
        if self.lacks_sums {
            let bundle = self.named.display();
            output::note(&format!(
                "note: {bundle} has no {SUMS}: its files cannot be checked"
            ));
        }
    }

    /// An error that says what can be done, and whose path is the bundle's, and the file in it: the
    /// folder that it was unpacked to says nothing to the user.
    fn explained(&self, error: RecordError) -> Failure {
        explained(match self.is_unpacked() {
            true => self.renamed(error),
            false => error,
        })
    }

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
            RecordError::TooLarge { path, what } => RecordError::TooLarge {
                path: of_bundle(path),
                what,
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

/// A run folder as it is, or a bundle, unpacked where it is removed again.
///
/// # Errors
/// A usage error where the file is no bundle.
pub fn open(path: &Path, limit: SizeLimit) -> Result<OpenedBundle, Failure> {
    let most_bytes = limit.most_bytes;
    let opened = |folder: &Path, unpacked| OpenedBundle {
        folder: folder.to_owned(),
        named: path.to_owned(),
        most_bytes,
        unpacked,
        lacks_sums: false,
    };
    if !path.is_file() {
        return Ok(opened(path, None));
    }
    let place = tempfile::tempdir()
        .map_err(|error| Failure::Other(format!("no temporary folder can be made: {error}")))?;
    let folder = place.path().join("run");
    let has_sums =
        unpack::unpack(path, &folder, most_bytes).map_err(|why| no_bundle(path, &why))?;
    let mut opened = opened(&folder, Some(place));
    opened.lacks_sums = !has_sums;
    Ok(opened)
}

fn no_bundle(path: &Path, why: &str) -> Failure {
    let path = path.display();
    Failure::usage(format!(
        "{path}: neither a run folder nor a bundle of one: {why}"
    ))
}
