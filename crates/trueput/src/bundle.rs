//! A run folder as one file: `.tar.gz`, so that other programs open it too.

mod layout;
mod pack;
mod unpack;

pub use pack::pack;

use crate::failure::Failure;
use crate::output;
use crate::size_limit::{SizeLimit, explained};
use layout::SUMS;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use trueput_findings::Run;
use trueput_record::{Error as RecordError, Outcome};

/// A run folder, or an unpacked bundle.
pub struct OpenedBundle {
    /// The run folder.
    folder: PathBuf,
    /// The path that the user named.
    named: PathBuf,
    /// The most bytes that a file of it may have.
    max_bytes: u64,
    /// Removes the unpacked files when dropped.
    unpacked: Option<tempfile::TempDir>,
    /// Whether it is a bundle without checksums of its files.
    lacks_sums: bool,
}

impl OpenedBundle {
    /// Reads the run under the name that the user gave.
    ///
    /// # Errors
    /// As [`Run::load`], with the bundle's name in place of the unpacked folder's; a bundle without
    /// a finished trial is refused.
    pub fn report(&self) -> Result<Run, Failure> {
        let read = Run::load_as(&self.folder, &self.named, self.max_bytes);
        let report = read.map_err(|error| self.explained(error))?;
        let mut trials = report.trials.iter();
        let has_ended = trials.any(|trial| trial.outcome != Outcome::Interrupted);
        if self.is_unpacked() && !has_ended {
            Err(no_bundle(&self.named, "no trial of it has finished"))
        } else {
            self.note_lack_of_sums();
            Ok(report)
        }
    }

    /// Bundles of earlier versions, and those packed by hand, have no checksums.
    fn note_lack_of_sums(&self) {
        if self.lacks_sums {
            let bundle = self.named.display();
            output::note(&format!(
                "note: {bundle} has no {SUMS}: its files cannot be checked"
            ));
        }
    }

    /// Adds a remedy to an error, and names the bundle and the file in it instead of the unpacked
    /// folder, which the user does not know.
    fn explained(&self, error: RecordError) -> Failure {
        explained(if self.is_unpacked() {
            self.renamed(error)
        } else {
            error
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
            RecordError::TooLarge { path, problem } => RecordError::TooLarge {
                path: of_bundle(path),
                problem,
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

    /// SHA-256 of what the bundle of this run has as its `SHA256SUMS`, in hexadecimal: the same for
    /// a run folder and for its bundle.
    ///
    /// # Errors
    /// A usage error if a file of the record cannot be read.
    pub fn checksum(&self) -> Result<String, Failure> {
        let sums = pack::checksums(&self.folder);
        let sums = sums.map_err(|source| RecordError::io(&self.named, source))?;
        let digest = Sha256::digest(sums);
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whether this is an unpacked bundle, which is removed again.
    pub fn is_unpacked(&self) -> bool {
        self.unpacked.is_some()
    }
}

/// Opens a run folder directly, or unpacks a bundle to a temporary folder.
///
/// # Errors
/// A usage error if the file is not a bundle.
pub fn open(path: &Path, limit: SizeLimit) -> Result<OpenedBundle, Failure> {
    let max_bytes = limit.max_bytes;
    let opened = |folder: &Path, unpacked| OpenedBundle {
        folder: folder.to_owned(),
        named: path.to_owned(),
        max_bytes,
        unpacked,
        lacks_sums: false,
    };
    if !path.is_file() {
        return Ok(opened(path, None));
    }
    let place = tempfile::tempdir()
        .map_err(|error| Failure::Other(format!("no temporary folder can be made: {error}")))?;
    let folder = place.path().join("run");
    let has_sums = unpack::unpack(path, &folder, max_bytes)
        .map_err(|failure| no_bundle(path, &failure.to_string()))?;
    let mut opened = opened(&folder, Some(place));
    opened.lacks_sums = !has_sums;
    Ok(opened)
}

fn no_bundle(path: &Path, reason: &str) -> Failure {
    let hint = trueput_record::folder::run_hint(path);
    let path = path.display();
    Failure::usage(format!(
        "{path}: neither a run folder nor a bundle of one: {reason}{hint}"
    ))
}
