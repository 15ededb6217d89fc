//! Files laid out before the workers start, and read back after they have ended.

use crate::generate::random::Random;
use nix::fcntl::{FallocateFlags, PosixFadviseAdvice, fallocate, posix_fadvise};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use trueput_engine::choices;

/// Bytes written or read at once where nothing is measured.
const CHUNK: usize = 1 << 20;

choices! {
    /// The state of a file when the workers start.
    pub(super) enum FileLayout {
        /// Empty: every write beyond its end makes it longer.
        Growing = "growing",
        /// Full length, with blocks reserved but never written: the file system tracks which blocks
        /// have been written.
        Reserved = "reserved",
        /// Full length, with every block reserved and written with zeros.
        Preallocated = "preallocated",
        /// Written once over with other data, as a log file that is used again.
        Recycled = "recycled",
    }
}

/// Makes a file and brings it to storage, so that nothing of its making is left to be done later.
pub(super) fn lay_out(path: &Path, layout: FileLayout, bytes: u64, seed: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    match layout {
        FileLayout::Growing => {}
        FileLayout::Reserved => reserve(&file, bytes)?,
        FileLayout::Preallocated => {
            // If a file system cannot reserve blocks, zeros are written.
            match reserve(&file, bytes) {
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                reserved => reserved?,
            }
            write_over(&mut file, bytes, |_| {})?;
        }
        FileLayout::Recycled => {
            let mut random = Random::for_worker(seed, 0, "an earlier log");
            write_over(&mut file, bytes, |chunk| random.fill(chunk))?;
        }
    }
    file.sync_all()?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    let length = i64::try_from(bytes).map_err(|_| ErrorKind::FileTooLarge)?;
    Ok(fallocate(file, FallocateFlags::empty(), 0, length)?)
}

fn write_over(file: &mut File, bytes: u64, mut fill: impl FnMut(&mut [u8])) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(CHUNK as u64) as usize;
        fill(&mut chunk[..part]);
        file.write_all(&chunk[..part])?;
        left -= part as u64;
    }
    Ok(())
}

/// Opens a file and drops its pages from the page cache, so that reads come from storage; file
/// systems in memory have no other copy.
pub(super) fn open_uncached(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    // Dirty pages cannot be dropped.
    file.sync_all()?;
    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    Ok(file)
}

/// Shows the records `first..last` of a file, each of `bytes` bytes, in order.
///
/// # Errors
/// Errors of the operating system; a file that ends too soon.
pub(super) fn each_record(
    file: &File,
    bytes: usize,
    records: std::ops::Range<u64>,
    visit: &mut dyn FnMut(u64, &[u8]),
) -> io::Result<()> {
    let at_once = (CHUNK / bytes).max(1) as u64;
    let mut chunk = vec![0; at_once as usize * bytes];
    let mut next = records.start;
    while next < records.end {
        let count = at_once.min(records.end - next);
        let part = &mut chunk[..count as usize * bytes];
        file.read_exact_at(part, next * bytes as u64)?;
        for (record, found) in (next..).zip(part.chunks_exact(bytes)) {
            visit(record, found);
        }
        next += count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn each_layout_has_the_length_and_the_blocks_that_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = 3 << 20;
        for (layout, length) in [
            (FileLayout::Growing, 0),
            (FileLayout::Reserved, bytes),
            (FileLayout::Preallocated, bytes),
            (FileLayout::Recycled, bytes),
        ] {
            let path = folder.path().join(format!("{layout:?}"));
            lay_out(&path, layout, bytes, 1).unwrap();
            let found = path.metadata().unwrap();
            assert_eq!(found.len(), length, "{layout:?}");
            assert!(found.blocks() * 512 >= length, "{layout:?}");
        }
        let zeros = std::fs::read(folder.path().join("Preallocated")).unwrap();
        assert!(zeros.iter().all(|&byte| byte == 0));
        let used = std::fs::read(folder.path().join("Recycled")).unwrap();
        assert!(used.chunks(4_096).all(|block| block != vec![0; 4_096]));
    }

    #[test]
    fn records_are_shown_in_order_and_a_file_that_ends_too_soon_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        let bytes: Vec<u8> = (0..50_u8).flat_map(|number| [number; 100]).collect();
        std::fs::write(&path, bytes).unwrap();
        let file = open_uncached(&path).unwrap();
        let mut seen = Vec::new();
        each_record(&file, 100, 10..50, &mut |index, record| {
            assert_eq!(record, [index as u8; 100]);
            seen.push(index);
        })
        .unwrap();
        assert_eq!(seen, (10..50).collect::<Vec<_>>());
        assert!(each_record(&file, 100, 0..51, &mut |_, _| {}).is_err());
    }
}
