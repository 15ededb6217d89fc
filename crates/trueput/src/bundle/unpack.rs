//! Unpacks an untrusted bundle to a temporary folder.

use super::layout::{EntryRole, FOLDERS, SUMS, plain, shown, split};
use super::pack::HashingReader;
use crate::failure::Failure;
use crate::size_limit::RAISE;
use flate2::bufread::GzDecoder;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Result as IoResult};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tar::EntryType;
use trueput_record::folder::MAX_TRIALS;
use trueput_record::value::format_bytes;

/// The most entries of a bundle: for each trial two histogram logs, the reports on four images of
/// its storage and that on its fault, and the other files of a run folder.
const MAX_ENTRIES: usize = 7 * MAX_TRIALS + 100;

/// Limits the bytes read from an archive, which may expand a few bytes to endless zeros.
struct LimitedReader<R> {
    inner: R,
    left: u64,
    /// Whether there was more.
    is_over: Rc<Cell<bool>>,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        let read = self.inner.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => {
                self.is_over.set(true);
                return Err(std::io::Error::other("over the limit"));
            }
        }
        Ok(read)
    }
}

type Archive = tar::Archive<LimitedReader<GzDecoder<BufReader<File>>>>;

/// The contents of a bundle.
#[derive(Default)]
struct BundleContents {
    /// The run folders' paths in the archive.
    roots: BTreeSet<PathBuf>,
    /// The one of its first file.
    first_root: Option<PathBuf>,
    /// SHA-256 of each file of the record, by its path in the archive.
    sums: BTreeMap<PathBuf, String>,
    /// The checksums that the bundle states.
    stated: Option<String>,
    /// Folders.
    folders: BTreeSet<PathBuf>,
}

/// Unpacks the one run folder of a bundle to `place`, and says whether its files were checked
/// against the sums that it states.
///
/// # Errors
/// A usage error: the bundle is damaged, contains files that a run folder does not
/// have, more than one run or none, or more than `max_bytes`.
pub fn unpack(bundle: &Path, place: &Path, max_bytes: u64) -> Result<bool, Failure> {
    let is_over = Rc::new(Cell::new(false));
    let unpacked = unpack_limited(bundle, place, max_bytes, &is_over);
    if is_over.get() {
        Err(Failure::usage(format!(
            "it unpacks to more than {}; {RAISE}",
            format_bytes(max_bytes)
        )))
    } else {
        unpacked
    }
}

fn unpack_limited(
    bundle: &Path,
    place: &Path,
    max_bytes: u64,
    is_over: &Rc<Cell<bool>>,
) -> Result<bool, Failure> {
    let file = File::open(bundle).map_err(Failure::usage)?;
    let mut archive: Archive = tar::Archive::new(LimitedReader {
        inner: GzDecoder::new(BufReader::new(file)),
        left: max_bytes,
        is_over: Rc::clone(is_over),
    });
    for folder in FOLDERS {
        std::fs::create_dir_all(place.join(folder)).map_err(Failure::usage)?;
    }
    let mut found = BundleContents::default();
    for (index, entry) in archive.entries().map_err(Failure::usage)?.enumerate() {
        if index == MAX_ENTRIES {
            return Err(Failure::usage(format!(
                "it holds more than {MAX_ENTRIES} files; a run has at most {MAX_TRIALS} trials"
            )));
        }
        unpack_entry(&mut entry.map_err(Failure::usage)?, place, &mut found)?;
    }
    read_to_the_end(archive)?;
    check(&found)?;
    Ok(found.stated.is_some())
}

/// Takes an entry of the archive, or refuses it by its name.
fn unpack_entry<R: Read>(
    entry: &mut tar::Entry<'_, R>,
    place: &Path,
    found: &mut BundleContents,
) -> Result<(), Failure> {
    let given = entry.path().map_err(Failure::usage)?;
    let given = given.into_owned();
    let refuse = |reason: &str| {
        Err(Failure::usage(format!(
            "it holds {}, {reason}",
            shown(&given)
        )))
    };
    let kind = match entry.header().entry_type() {
        EntryType::Regular | EntryType::Directory => None,
        // A comment, with which an archive of `git archive` begins.
        EntryType::XGlobalHeader => return Ok(()),
        EntryType::Symlink => Some("a symbolic link"),
        EntryType::Link => Some("a hard link"),
        EntryType::Char | EntryType::Block => Some("a device"),
        EntryType::Fifo => Some("a FIFO"),
        _ => Some("not a regular file"),
    };
    if let Some(kind) = kind {
        return refuse(&format!("{kind}; a bundle may hold only regular files"));
    }
    let Some(path) = plain(&given) else {
        return refuse("a path that leaves the bundle");
    };
    if entry.header().entry_type() == EntryType::Directory {
        found.folders.insert(path);
        return Ok(());
    }
    let Some((root, within, part)) = split(&path) else {
        return refuse("which a run folder does not contain; make bundles with trueput bundle");
    };
    if part == EntryRole::Page {
        return Ok(());
    }
    let is_first = found.first_root.get_or_insert_with(|| root.clone()) == &root;
    found.roots.insert(root);
    // A second run is named below; its files are not to overwrite the first one's.
    if !is_first {
        found.sums.insert(path, String::new());
        return Ok(());
    }
    if part == EntryRole::Sums {
        let mut text = String::new();
        let read = entry.read_to_string(&mut text);
        read.map_err(|error| Failure::usage(format!("{SUMS}: {error}")))?;
        return match found.stated.replace(text) {
            None => Ok(()),
            Some(_) => refuse("and holds it twice"),
        };
    }
    if found.sums.contains_key(&path) {
        return refuse("and holds it twice");
    }
    let mut hashing = HashingReader::new(entry);
    let written = File::create_new(place.join(&within))
        .and_then(|mut file| std::io::copy(&mut hashing, &mut file));
    written.map_err(|error| Failure::usage(format!("{}: {error}", shown(&given))))?;
    found.sums.insert(path, hashing.sum());
    Ok(())
}

/// Reads to the end of the file, because gzip's checksum comes last.
fn read_to_the_end(archive: Archive) -> Result<(), Failure> {
    let mut rest = archive.into_inner();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = rest.read(&mut buffer).map_err(Failure::usage)?;
        if read == 0 {
            break;
        }
        if buffer[..read].iter().any(|byte| *byte != 0) {
            return Err(Failure::usage("data follows the end of the archive"));
        }
    }
    let mut file = rest.inner.into_inner();
    let following = file.fill_buf().map_err(Failure::usage)?;
    if following.is_empty() {
        Ok(())
    } else {
        Err(Failure::usage(
            "data follows the end of the compressed data",
        ))
    }
}

/// Checks that it contains exactly one run, as it was packed.
fn check(found: &BundleContents) -> Result<(), Failure> {
    let is_run = |root: &&PathBuf| found.sums.contains_key(&root.join("run.json"));
    let runs: Vec<&PathBuf> = found.roots.iter().filter(is_run).collect();
    let root = match runs[..] {
        [] => return Err(Failure::usage("it has no run.json")),
        [root] => root,
        _ => return Err(several_runs_error(&runs)),
    };
    let foreign = found.sums.keys().find(|path| !path.starts_with(root));
    if let Some(path) = foreign {
        let path = shown(path);
        return Err(Failure::usage(format!(
            "it holds {path}, which does not belong to the run"
        )));
    }
    let own = FOLDERS.map(|folder| root.join(folder));
    let is_foreign = |folder: &&PathBuf| !own.iter().any(|own| own.starts_with(folder));
    if let Some(folder) = found.folders.iter().find(is_foreign) {
        let folder = shown(folder);
        return Err(Failure::usage(format!(
            "it holds the folder {folder}, which a run folder does not contain"
        )));
    }
    match &found.stated {
        Some(stated) => check_sums(root, &found.sums, stated),
        // Bundles of earlier versions, and those packed by hand, have none.
        None => Ok(()),
    }
}

/// The error for an archive of several runs.
fn several_runs_error(runs: &[&PathBuf]) -> Failure {
    let name = |root: &&PathBuf| {
        if root.as_os_str().is_empty() {
            ".".to_owned()
        } else {
            shown(root)
        }
    };
    let names: Vec<_> = runs.iter().map(name).collect();
    Failure::usage(format!(
        "it holds {} runs: {}; make one bundle of each",
        runs.len(),
        names.join(", ")
    ))
}

fn check_sums(root: &Path, sums: &BTreeMap<PathBuf, String>, stated: &str) -> Result<(), Failure> {
    let mut unstated: BTreeSet<&PathBuf> = sums.keys().collect();
    for (index, line) in stated.lines().enumerate() {
        let split = line.split_once("  ").or_else(|| line.split_once(" *"));
        let Some((sum, name)) = split else {
            let line = index + 1;
            return Err(Failure::usage(format!(
                "{SUMS}:{line}: not a line of sha256sum"
            )));
        };
        let path = root.join(name);
        let name = shown(Path::new(name));
        match sums.get(&path) {
            None => {
                return Err(Failure::usage(format!(
                    "{SUMS} lists {name}, which the bundle lacks"
                )));
            }
            Some(found) if found != sum => {
                return Err(Failure::usage(format!(
                    "{name} was changed since it was packed: its SHA-256 differs"
                )));
            }
            Some(_) => unstated.remove(&path),
        };
    }
    match unstated.first() {
        None => Ok(()),
        Some(path) => Err(Failure::usage(format!(
            "it holds {}, which {SUMS} does not list",
            shown(path)
        ))),
    }
}
