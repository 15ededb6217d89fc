//! Makes a bundle of a run folder.

use super::layout::{EntryRole, FOLDERS, SUMS, part};
use crate::failure::Failure;
use crate::size_limit::explained;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Error as IoError, Read, Result as IoResult};
use std::path::{Path, PathBuf};
use trueput_record::regular_file::{self, OpenMode};
use trueput_record::{Error as RecordError, Outcome, RunFolder};

type Archive = tar::Builder<GzEncoder<File>>;

/// Writes a run's record to `output`, or to a file here that is named after the folder.
///
/// # Errors
/// A usage error if the folder is not a run folder, no trial has ended, a file of its record is not
/// a regular file, or the bundle exists already or cannot be created.
pub fn pack(run: &Path, output: Option<&Path>, max_bytes: u64) -> Result<PathBuf, Failure> {
    let real = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    let (folder, _) = RunFolder::open_limited(run, max_bytes).map_err(explained)?;
    let trials = folder.trials().map_err(explained)?.trials;
    if !trials
        .iter()
        .any(|trial| trial.outcome != Outcome::Interrupted)
    {
        let message = "no trial of this run has finished: nothing to bundle";
        return Err(Failure::usage(format!("{}: {message}", run.display())));
    }
    let files = record_files(&real).map_err(|source| RecordError::io(run, source))?;
    let name = real.file_name().map_or_else(|| "run".into(), PathBuf::from);
    let default = || PathBuf::from(format!("{}.tar.gz", name.display()));
    let file = output.map_or_else(default, Path::to_owned);
    let made = File::create_new(&file).map_err(|error| Failure::not_written(&file, &error))?;
    write_archive(made, &real, &name, &files).map_err(|error| {
        // Half an archive is worse than none.
        let _ = std::fs::remove_file(&file);
        Failure::not_written(&file, &error)
    })?;
    Ok(file)
}

fn write_archive(file: File, run: &Path, name: &Path, files: &[PathBuf]) -> IoResult<()> {
    let encoder = GzEncoder::new(file, flate2::Compression::default());
    let mut archive = tar::Builder::new(encoder);
    let mut sums = String::new();
    for path in files {
        let sum = append(&mut archive, run, name, path)
            .map_err(|error| IoError::new(error.kind(), format!("{}: {error}", path.display())))?;
        sums += &format!("{sum}  {}\n", path.display());
    }
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(sums.len() as u64);
    archive.append_data(&mut header, name.join(SUMS), sums.as_bytes())?;
    archive.into_inner()?.finish()?.sync_all()
}

/// The text that a bundle of this run folder has as its checksums.
///
/// # Errors
/// A file of the record cannot be read, or is no regular file.
pub(super) fn checksums(run: &Path) -> IoResult<String> {
    let mut sums = String::new();
    for path in record_files(run)? {
        let file = regular_file::open(run, &path, OpenMode::Read)?;
        // As when it is packed: the length at the beginning counts.
        let length = file.metadata()?.len();
        let mut hashing = HashingReader::new(file.take(length));
        std::io::copy(&mut hashing, &mut std::io::sink())?;
        sums += &format!("{}  {}\n", hashing.sum(), path.display());
    }
    Ok(sums)
}

/// Appends a file and returns its SHA-256, in hexadecimal.
fn append(archive: &mut Archive, run: &Path, name: &Path, path: &Path) -> IoResult<String> {
    let file = regular_file::open(run, path, OpenMode::Read)?;
    let metadata = file.metadata()?;
    // The file of a running job may grow: its length when it was opened counts.
    let mut hashing = HashingReader::new(file.take(metadata.len()));
    let mut header = tar::Header::new_gnu();
    header.set_metadata_in_mode(&metadata, tar::HeaderMode::Deterministic);
    archive.append_data(&mut header, name.join(path), &mut hashing)?;
    if hashing.bytes != metadata.len() {
        return Err(IoError::other("it shrank while being read"));
    }
    Ok(hashing.sum())
}

/// The files of the record, in order.
fn record_files(run: &Path) -> IoResult<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in [""].into_iter().chain(FOLDERS) {
        let names = regular_file::names(run, folder)?;
        let paths = names.iter().map(|name| Path::new(folder).join(name));
        files.extend(paths.filter(|path| part(path) == Some(EntryRole::Record)));
    }
    files.sort();
    Ok(files)
}

/// A reader that computes the SHA-256 of the bytes it reads.
pub(super) struct HashingReader<R> {
    inner: R,
    hash: Sha256,
    /// Number of bytes read.
    pub(super) bytes: u64,
}

impl<R> HashingReader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
            bytes: 0,
        }
    }

    /// The sum, in hexadecimal.
    pub(super) fn sum(self) -> String {
        let bytes = self.hash.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
