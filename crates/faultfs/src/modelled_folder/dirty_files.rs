//! What files have in the page cache that a modeled device does not hold yet.

use crate::operation::{ByteRange, Inode};
use std::collections::{BTreeMap, HashMap};

/// Bytes of a page: the kernel writes whole ones.
const PAGE_BYTES: u64 = 4096;

/// The files that a flush would have something to write of.
#[derive(Debug, Default)]
pub(super) struct DirtyFiles(HashMap<Inode, DirtyFile>);

#[derive(Debug, Default)]
struct DirtyFile {
    /// Its dirty pages: the first byte of each run of them, and the byte behind its last. Runs
    /// neither overlap nor touch.
    runs: BTreeMap<u64, u64>,
    /// Whether its size, its blocks, a name or its owner changed since its last flush.
    is_changed: bool,
    /// Whether it was written, which changes its times, since its inode was last stored.
    has_new_times: bool,
}

/// What a flush of a file writes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FlushedFile {
    /// Its dirty pages, in order.
    pub(super) ranges: Vec<ByteRange>,
    /// Whether its inode is to be stored, too: by a commit of the file system's journal.
    pub(super) commits: bool,
}

impl DirtyFiles {
    fn file(&mut self, inode: Inode) -> &mut DirtyFile {
        self.0.entry(inode).or_default()
    }

    /// Notes a write into the page cache. `grows` says whether the file is longer since.
    pub(super) fn written(&mut self, inode: Inode, range: ByteRange, grows: bool) {
        self.stored(inode, grows);
        let start = range.start / PAGE_BYTES * PAGE_BYTES;
        let end = range.end.next_multiple_of(PAGE_BYTES);
        self.file(inode).add(start, end);
    }

    /// Notes a write to the device itself.
    pub(super) fn stored(&mut self, inode: Inode, grows: bool) {
        let file = self.file(inode);
        file.has_new_times = true;
        file.is_changed |= grows;
    }

    /// Notes a change of a file's blocks, names or owner.
    pub(super) fn changed(&mut self, inode: Inode) {
        self.file(inode).is_changed = true;
    }

    /// Notes a size that was set.
    pub(super) fn resized(&mut self, inode: Inode, size: u64) {
        let file = self.file(inode);
        file.is_changed = true;
        file.cut(size.next_multiple_of(PAGE_BYTES));
    }

    /// Forgets a file that is gone.
    pub(super) fn forget(&mut self, inode: Inode) {
        self.0.remove(&inode);
    }

    /// Returns whether all of a part of a file is dirty: then it is in the page cache.
    pub(super) fn holds(&self, inode: Inode, range: ByteRange) -> bool {
        let file = self.0.get(&inode);
        let before = file.and_then(|file| file.runs.range(..=range.start).next_back());
        before.is_some_and(|(_, behind)| *behind >= range.end)
    }

    /// Returns what a flush of a file writes, after which none of that is dirty. One of the data
    /// only stores the inode if that has changed otherwise than by its times.
    pub(super) fn flush(&mut self, inode: Inode, data_only: bool) -> FlushedFile {
        let Some(file) = self.0.get_mut(&inode) else {
            return FlushedFile::default();
        };
        let runs = std::mem::take(&mut file.runs).into_iter();
        let flushed = FlushedFile {
            ranges: runs.map(|(start, end)| ByteRange { start, end }).collect(),
            commits: file.is_changed || (file.has_new_times && !data_only),
        };
        if flushed.commits || !file.has_new_times {
            self.0.remove(&inode);
        }
        flushed
    }
}

impl DirtyFile {
    /// Adds a run, which swallows those that it overlaps or touches.
    fn add(&mut self, mut start: u64, mut end: u64) {
        let before = self.runs.range(..=end).rev();
        let touched = before.take_while(|(_, behind)| **behind >= start);
        let touched: Vec<(u64, u64)> = touched.map(|(first, behind)| (*first, *behind)).collect();
        for (first, behind) in touched {
            self.runs.remove(&first);
            (start, end) = (start.min(first), end.max(behind));
        }
        self.runs.insert(start, end);
    }

    /// Drops what is at and behind a position.
    fn cut(&mut self, end: u64) {
        drop(self.runs.split_off(&end));
        if let Some(mut last) = self.runs.last_entry() {
            *last.get_mut() = end.min(*last.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Inode = Inode(7);

    const PAGE: u64 = PAGE_BYTES;

    fn range(start: u64, end: u64) -> ByteRange {
        ByteRange { start, end }
    }

    /// Files of which one has these parts written, without growing.
    fn written(parts: &[(u64, u64)]) -> DirtyFiles {
        let mut files = DirtyFiles::default();
        for (start, end) in parts {
            files.written(FILE, range(*start, *end), false);
        }
        files
    }

    fn ranges(files: &mut DirtyFiles) -> Vec<ByteRange> {
        files.flush(FILE, true).ranges
    }

    #[test]
    fn writes_dirty_whole_pages_which_a_flush_writes_once_and_in_order() {
        let mut files = written(&[(9 * PAGE, 9 * PAGE + 1), (10, 20), (30, PAGE + 1)]);
        let expected = [range(0, 2 * PAGE), range(9 * PAGE, 10 * PAGE)];
        assert_eq!(ranges(&mut files), expected);
        assert_eq!(ranges(&mut files), []);
        assert_eq!(files.flush(Inode(8), true), FlushedFile::default());
    }

    #[test]
    fn runs_of_pages_that_overlap_or_touch_become_one() {
        let pages = |parts: &[(u64, u64)]| {
            let bytes = parts.iter().map(|(start, end)| (start * PAGE, end * PAGE));
            let mut files = written(&bytes.collect::<Vec<_>>());
            let found = ranges(&mut files).into_iter();
            let pages = found.map(|run| (run.start / PAGE, run.end / PAGE));
            pages.collect::<Vec<_>>()
        };
        assert_eq!(pages(&[(0, 1), (2, 3), (1, 2)]), [(0, 3)]);
        assert_eq!(pages(&[(0, 4), (1, 2)]), [(0, 4)]);
        assert_eq!(pages(&[(1, 2), (4, 5), (7, 8), (2, 7)]), [(1, 8)]);
        assert_eq!(pages(&[(5, 6), (0, 9)]), [(0, 9)]);
        // The control: with a page between them they stay apart.
        assert_eq!(pages(&[(0, 1), (2, 3)]), [(0, 1), (2, 3)]);
    }

    #[test]
    fn a_flush_of_the_data_commits_only_what_it_needs_to_find_them_again() {
        let mut files = written(&[(0, PAGE)]);
        assert!(!files.flush(FILE, true).commits, "the size is as it was");
        assert!(files.flush(FILE, false).commits, "its times are new");
        assert!(!files.flush(FILE, false).commits, "they are stored");
        files.written(FILE, range(0, PAGE), true);
        assert!(files.flush(FILE, true).commits, "it is longer");
        assert!(!files.flush(FILE, false).commits, "with its times");
        files.changed(FILE);
        assert!(files.flush(FILE, true).commits, "it has another name");
        files.stored(FILE, true);
        let direct = files.flush(FILE, true);
        assert!(direct.commits && direct.ranges.is_empty(), "{direct:?}");
    }

    #[test]
    fn what_a_file_lost_is_not_written() {
        let mut files = written(&[(0, 4 * PAGE), (8 * PAGE, 9 * PAGE)]);
        files.resized(FILE, PAGE + 1);
        let flushed = files.flush(FILE, true);
        assert_eq!(flushed.ranges, [range(0, 2 * PAGE)]);
        assert!(flushed.commits);
        let mut files = written(&[(0, PAGE)]);
        files.forget(FILE);
        assert_eq!(files.flush(FILE, false), FlushedFile::default());
    }

    #[test]
    fn only_what_is_dirty_as_a_whole_is_in_the_page_cache() {
        let files = written(&[(PAGE, 2 * PAGE), (2 * PAGE, 3 * PAGE)]);
        assert!(files.holds(FILE, range(PAGE, 3 * PAGE)));
        assert!(files.holds(FILE, range(PAGE + 5, PAGE + 6)));
        assert!(!files.holds(FILE, range(PAGE - 1, 2 * PAGE)));
        assert!(!files.holds(FILE, range(2 * PAGE, 3 * PAGE + 1)));
        assert!(!files.holds(Inode(8), range(PAGE, 2 * PAGE)));
    }
}
