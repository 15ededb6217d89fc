//! What is written and not stored: the pages of files that the storage does not hold yet, or lost,
//! with what it holds in their place.

use crate::inodes::InodeTable;
use crate::layer::read_up_to;
use crate::operation::{ByteRange, Inode};
use rustix::fs::OFlags;
use std::collections::{BTreeMap, HashMap, btree_map, hash_map};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// The memory for what the storage holds in place of written pages, bytes.
pub const MAX_PRE_IMAGE_BYTES: u64 = 1 << 30;

/// The memory that a page takes besides its content, bytes, roughly.
const ENTRY_BYTES: u64 = 64;

/// What is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// The page cache, after what is dirty was written.
    Caches,
    /// Whatever is not stored.
    Power,
}

/// The pages of all files that differ from the storage.
#[derive(Debug)]
pub(super) struct VolatilePages {
    files: HashMap<Inode, FilePages>,
    /// The memory that they take.
    bytes: u64,
    max_bytes: u64,
    /// Why it is not known what the storage holds, and no page is noted; `None` if it is.
    untracked: Option<String>,
}

/// The pages of a file.
#[derive(Debug)]
struct FilePages {
    /// The size that the storage has.
    stored_size: u64,
    /// Whether the next flush stores another size.
    is_size_dirty: bool,
    /// By number.
    pages: BTreeMap<u64, VolatilePage>,
}

#[derive(Debug)]
struct VolatilePage {
    /// What the storage holds; zeros follow.
    pre_image: Vec<u8>,
    /// Whether a flush of it failed, so that none stores it unless it is written again.
    is_lost: bool,
}

impl VolatilePage {
    fn bytes(&self) -> u64 {
        self.pre_image.len() as u64 + ENTRY_BYTES
    }
}

impl VolatilePages {
    pub(super) fn new(max_bytes: u64) -> Self {
        Self {
            files: HashMap::new(),
            bytes: 0,
            max_bytes,
            untracked: None,
        }
    }

    /// Those of files whose caches and power are never lost: nothing is remembered of them.
    pub(super) fn never_lost() -> Self {
        let reason = "what the storage holds is not known: nothing was to be lost";
        Self {
            untracked: Some(reason.to_owned()),
            ..Self::new(0)
        }
    }

    /// Returns why it is not known what the storage holds; `None` if it is.
    pub(super) fn untracked(&self) -> Option<&str> {
        self.untracked.as_deref()
    }

    /// Makes the pages dirty in which a part of a file lies that is about to be written. The file
    /// must be open for reading.
    pub(super) fn before_write(
        &mut self,
        inode: Inode,
        file: &File,
        range: ByteRange,
    ) -> io::Result<()> {
        if self.untracked.is_some() || range.end <= range.start {
            return Ok(());
        }
        let tracked = match self.files.entry(inode) {
            hash_map::Entry::Occupied(tracked) => tracked.into_mut(),
            hash_map::Entry::Vacant(place) => place.insert(FilePages::new(file.metadata()?.len())),
        };
        self.bytes += tracked.before_write(file, range)?;
        if self.bytes > self.max_bytes {
            self.untracked = Some(format!(
                "what the storage holds is not known: pages with {} MiB were written in place and \
                 not flushed, more than are remembered",
                self.max_bytes >> 20
            ));
            self.files.clear();
            self.bytes = 0;
        }
        Ok(())
    }

    /// Notes that a file was flushed: its dirty pages are stored.
    pub(super) fn stored(&mut self, inode: Inode, file: &File) -> io::Result<()> {
        if let Some(tracked) = self.files.get_mut(&inode) {
            tracked.stored_size = file.metadata()?.len();
            tracked.is_size_dirty = false;
            self.remove(inode, |page| !page.is_lost);
        }
        Ok(())
    }

    /// Notes that the flush of a file failed and its dirty pages count as clean: they are lost.
    pub(super) fn lost(&mut self, inode: Inode) {
        if let Some(tracked) = self.files.get_mut(&inode) {
            tracked.is_size_dirty = false;
            for page in tracked.pages.values_mut() {
                page.is_lost = true;
            }
        }
    }

    /// Notes a size of a file that was set, and is stored at once.
    pub(super) fn resized(&mut self, inode: Inode, size: u64) {
        let Some(tracked) = self.files.get_mut(&inode) else {
            return;
        };
        tracked.stored_size = size;
        tracked.is_size_dirty = false;
        let behind = tracked.pages.split_off(&size.div_ceil(PAGE_BYTES));
        let freed: u64 = behind.values().map(VolatilePage::bytes).sum();
        self.bytes -= freed;
        if let Some(last) = tracked.pages.get_mut(&(size / PAGE_BYTES)) {
            let before = last.bytes();
            last.pre_image.truncate((size % PAGE_BYTES) as usize);
            self.bytes -= before - last.bytes();
        }
    }

    /// Notes a file whose size was set to no less than `end`.
    pub(super) fn extended(&mut self, inode: Inode, end: u64) {
        if let Some(tracked) = self.files.get_mut(&inode) {
            tracked.stored_size = tracked.stored_size.max(end);
        }
    }

    /// Forgets a file that is gone.
    pub(super) fn forget(&mut self, inode: Inode) {
        self.remove(inode, |_| true);
    }

    /// Removes pages of a file, and the file if none is left.
    fn remove(&mut self, inode: Inode, is_removed: impl Fn(&VolatilePage) -> bool) {
        let Some(tracked) = self.files.get_mut(&inode) else {
            return;
        };
        let mut freed = 0;
        tracked.pages.retain(|_, page| {
            let is_removed = is_removed(page);
            freed += if is_removed { page.bytes() } else { 0 };
            !is_removed
        });
        self.bytes -= freed;
        if tracked.pages.is_empty() {
            self.files.remove(&inode);
        }
    }

    /// Brings the files below into the state in which the storage has them, or would have them once
    /// what is dirty was written. Nothing is dirty or lost then.
    pub(super) fn lose(&mut self, inodes: &InodeTable, loss: Loss) -> io::Result<()> {
        if let Some(reason) = self.untracked() {
            return Err(io::Error::other(reason));
        }
        self.bytes = 0;
        for (inode, tracked) in std::mem::take(&mut self.files) {
            // A file without a name is gone in either case.
            if inodes.status(inode).is_ok_and(|found| found.st_nlink > 0) {
                tracked.restore(&inodes.open(inode, OFlags::WRONLY)?, loss)?;
            }
        }
        Ok(())
    }
}

impl FilePages {
    fn new(size: u64) -> Self {
        Self {
            stored_size: size,
            is_size_dirty: false,
            pages: BTreeMap::new(),
        }
    }

    /// Makes pages dirty, and returns how many bytes of memory that took.
    fn before_write(&mut self, file: &File, range: ByteRange) -> io::Result<u64> {
        self.is_size_dirty |= range.end > self.stored_size;
        let (first, behind) = (range.start / PAGE_BYTES, range.end.div_ceil(PAGE_BYTES));
        let is_known = (first..behind).all(|number| self.pages.contains_key(&number));
        let stored = if is_known {
            Vec::new()
        } else {
            let start = first * PAGE_BYTES;
            let end = self.stored_size.min(behind * PAGE_BYTES);
            let length = end.saturating_sub(start);
            read_up_to(file, start, u32::try_from(length).unwrap_or(u32::MAX))?
        };
        // What the storage holds ends before the last of the pages where the file does.
        let mut stored = stored.chunks(PAGE_BYTES as usize);
        let mut taken = 0;
        for number in first..behind {
            let stored = stored.next().unwrap_or_default();
            match self.pages.entry(number) {
                btree_map::Entry::Occupied(mut page) => page.get_mut().is_lost = false,
                btree_map::Entry::Vacant(place) => {
                    let page = VolatilePage {
                        pre_image: stored.to_vec(),
                        is_lost: false,
                    };
                    taken += page.bytes();
                    place.insert(page);
                }
            }
        }
        Ok(taken)
    }

    fn restore(self, file: &File, loss: Loss) -> io::Result<()> {
        let size = if loss == Loss::Caches && self.is_size_dirty {
            file.metadata()?.len()
        } else {
            self.stored_size
        };
        let is_restored = |page: &VolatilePage| page.is_lost || loss == Loss::Power;
        if !self.pages.values().any(is_restored) {
            return Ok(());
        }
        for (number, page) in self.pages {
            if !is_restored(&page) {
                continue;
            }
            let start = number * PAGE_BYTES;
            let length = size.saturating_sub(start).min(PAGE_BYTES);
            let mut content = page.pre_image;
            content.resize(length as usize, 0);
            file.write_all_at(&content, start)?;
        }
        file.set_len(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use tempfile::TempDir;

    const PAGE: usize = PAGE_BYTES as usize;

    /// A file with two stored pages of ones, and what is not stored of it.
    struct Fixture {
        folder: TempDir,
        inodes: InodeTable,
        inode: Inode,
        file: File,
        pages: VolatilePages,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("a"), [1; 2 * PAGE]).unwrap();
            let mut inodes = InodeTable::new(folder.path()).unwrap();
            let inode = inodes.find(Inode::ROOT, OsStr::new("a")).unwrap();
            let file = inodes.open(inode, OFlags::RDWR).unwrap();
            Self {
                folder,
                inodes,
                inode,
                file,
                pages: VolatilePages::new(1 << 20),
            }
        }

        fn write(&mut self, start: u64, data: &[u8]) {
            let end = start + data.len() as u64;
            let range = ByteRange { start, end };
            self.pages
                .before_write(self.inode, &self.file, range)
                .unwrap();
            self.file.write_all_at(data, start).unwrap();
        }

        fn flush(&mut self) {
            self.pages.stored(self.inode, &self.file).unwrap();
        }

        fn set_size(&mut self, size: u64) {
            self.file.set_len(size).unwrap();
            self.pages.resized(self.inode, size);
        }

        /// Loses caches or power, and returns what is left of the file.
        fn lose(&mut self, loss: Loss) -> Vec<u8> {
            self.pages.lose(&self.inodes, loss).unwrap();
            assert_eq!((self.pages.bytes, self.pages.files.len()), (0, 0));
            std::fs::read(self.folder.path().join("a")).unwrap()
        }
    }

    /// Pages of these bytes.
    fn pages(bytes: &[u8]) -> Vec<u8> {
        bytes.iter().flat_map(|byte| [*byte; PAGE]).collect()
    }

    #[test]
    fn what_is_dirty_is_lost_with_power_and_not_with_caches() {
        for (loss, left) in [(Loss::Power, [1, 1]), (Loss::Caches, [1, 2])] {
            let mut fixture = Fixture::new();
            fixture.write(PAGE_BYTES, &[2; PAGE]);
            assert_eq!(fixture.lose(loss), pages(&left), "{loss:?}");
        }
        // The control: what was flushed survives both.
        for loss in [Loss::Power, Loss::Caches] {
            let mut fixture = Fixture::new();
            fixture.write(PAGE_BYTES, &[2; PAGE]);
            fixture.flush();
            assert_eq!(fixture.lose(loss), pages(&[1, 2]), "{loss:?}");
        }
    }

    #[test]
    fn a_lost_page_stays_lost_until_it_is_written_again() {
        let mut fixture = Fixture::new();
        fixture.write(0, &[2; 2 * PAGE]);
        fixture.pages.lost(fixture.inode);
        fixture.flush();
        // One byte makes the whole page dirty.
        fixture.write(PAGE_BYTES + 7, &[2]);
        fixture.flush();
        assert_eq!(fixture.lose(Loss::Caches), pages(&[1, 2]));
        // It is known once: nothing is lost again.
        assert_eq!(fixture.lose(Loss::Power), pages(&[1, 2]));
    }

    #[test]
    fn an_append_that_is_lost_takes_the_size_with_it() {
        let mut fixture = Fixture::new();
        fixture.write(2 * PAGE_BYTES, &[2; 100]);
        fixture.pages.lost(fixture.inode);
        assert_eq!(fixture.lose(Loss::Caches), pages(&[1, 1]));
        fixture.write(2 * PAGE_BYTES, &[2; 100]);
        assert_eq!(fixture.lose(Loss::Power), pages(&[1, 1]));
        // A later flush that succeeds stores the size, and not the page.
        fixture.write(2 * PAGE_BYTES, &[2; PAGE]);
        fixture.pages.lost(fixture.inode);
        fixture.flush();
        assert_eq!(fixture.lose(Loss::Caches), pages(&[1, 1, 0]));
    }

    #[test]
    fn a_size_that_is_set_is_stored_at_once() {
        let mut fixture = Fixture::new();
        fixture.write(0, &[2; 3 * PAGE]);
        fixture.set_size(PAGE_BYTES + 100);
        let left = fixture.lose(Loss::Power);
        assert_eq!(left, [1; PAGE + 100]);
        fixture.write(0, &[2]);
        fixture.set_size(2 * PAGE_BYTES);
        let mut expected = [1; 2 * PAGE];
        expected[PAGE + 100..].fill(0);
        assert_eq!(fixture.lose(Loss::Power), expected);
    }

    #[test]
    fn what_is_flushed_or_gone_takes_no_memory() {
        let mut fixture = Fixture::new();
        fixture.write(0, &[2; 3 * PAGE]);
        assert_eq!(fixture.pages.bytes, 2 * PAGE_BYTES + 3 * ENTRY_BYTES);
        fixture.set_size(100);
        assert_eq!(fixture.pages.bytes, 100 + ENTRY_BYTES);
        fixture.flush();
        assert_eq!(fixture.pages.bytes, 0);
        fixture.write(0, &[3; PAGE]);
        fixture.pages.forget(fixture.inode);
        assert_eq!((fixture.pages.bytes, fixture.pages.files.len()), (0, 0));
    }

    #[test]
    fn more_than_the_memory_holds_is_said_and_not_guessed() {
        let mut fixture = Fixture::new();
        fixture.pages.max_bytes = PAGE_BYTES + ENTRY_BYTES;
        fixture.write(0, &[2; PAGE]);
        assert_eq!(fixture.pages.untracked(), None);
        fixture.write(PAGE_BYTES, &[2; PAGE]);
        assert!(fixture.pages.untracked().is_some());
        let Fixture { inodes, pages, .. } = &mut fixture;
        let refused = pages.lose(inodes, Loss::Power).unwrap_err().to_string();
        assert!(refused.contains("is not known"), "{refused}");
    }

    #[test]
    fn files_that_are_never_lost_take_no_memory() {
        let mut fixture = Fixture::new();
        fixture.pages = VolatilePages::never_lost();
        fixture.write(0, &[2; 2 * PAGE]);
        fixture.pages.lost(fixture.inode);
        assert_eq!((fixture.pages.bytes, fixture.pages.files.len()), (0, 0));
        let Fixture { inodes, pages, .. } = &mut fixture;
        let refused = pages.lose(inodes, Loss::Caches).unwrap_err().to_string();
        assert!(refused.contains("nothing was to be lost"), "{refused}");
    }
}
