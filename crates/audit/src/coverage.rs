//! For each operation, the first flush after it that covers it.

use crate::flush_scope::{FlushEffect, Reading, Scope, pages_in, pages_of};
use crate::image::PAGE_BYTES;
use crate::journal::{JournalActivity, is_metadata, orders_metadata};
use std::collections::{BTreeMap, HashMap};
use trueput_faultfs::Recording;
use trueput_faultfs::operation::{ByteRange, Inode, Operation};
use trueput_record::audit::StorageModel;

/// A part of more pages is kept as one: a mapping that each commit flushes has all of its file.
const MAX_SPREAD_PAGES: u64 = 64;

/// No flush covers it.
const NEVER: usize = usize::MAX;

/// For each operation, and for each page of a write, the index of the first flush that covers it;
/// 0 for what no flush need cover.
pub(crate) struct Coverage {
    at: Vec<usize>,
    /// By write whose pages are covered by different flushes, these flushes, page by page.
    pages: HashMap<usize, Vec<usize>>,
}

impl Coverage {
    pub(crate) fn of(
        recording: &Recording,
        model: StorageModel,
        activity: &JournalActivity,
        (is_device, reading): (bool, Reading),
    ) -> Self {
        let operations = &recording.operations;
        let mut scan = Scan {
            names_wait: model == StorageModel::Posix,
            has_journal: orders_metadata(model),
            ends: ends_of_files(recording),
            begun: CoveringFlushes::default(),
            ended: CoveringFlushes::default(),
        };
        let mut coverage = Self {
            at: vec![0; operations.len()],
            pages: HashMap::new(),
        };
        // By the number of operations at which they began, flushes that the scan has passed.
        let mut waiting: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, logged) in operations.iter().enumerate().rev() {
            for flush in waiting.split_off(&(index + 1)).into_values().flatten() {
                scan.begin(&operations[flush].operation, flush, is_device, reading);
                if activity.commits[flush] {
                    scan.begun.commit = flush.min(scan.begun.commit);
                }
            }
            if index < recording.base {
                break;
            }
            let operation = &logged.operation;
            if let Some(effect) = FlushEffect::of(operation, index, is_device, reading) {
                waiting.entry(effect.began).or_default().push(index);
                let end = scan.end_of(&effect);
                scan.ended.add(&effect, index, end);
            } else if let Operation::Write { .. } = operation {
                coverage.note_write(index, scan.write(operation));
            } else {
                coverage.at[index] = scan.change(operation);
            }
        }
        coverage
    }

    fn note_write(&mut self, index: usize, pages: Vec<usize>) {
        let last = pages.iter().max().copied().unwrap_or(0);
        self.at[index] = last;
        if pages.iter().any(|page| *page != last) {
            self.pages.insert(index, pages);
        }
    }

    /// Returns whether a flush before the cut covers all of an operation.
    pub(crate) fn is_covered(&self, operation: usize, cut: usize) -> bool {
        self.at[operation] < cut
    }

    /// Keeps the pages of a write that no flush before the cut covers.
    pub(crate) fn uncovered(&self, operation: usize, cut: usize, pages: Vec<u64>) -> Vec<u64> {
        let Some(covered_at) = self.pages.get(&operation) else {
            return pages;
        };
        let of_page = pages.into_iter().zip(covered_at);
        let uncovered = of_page.filter(|(_, at)| **at >= cut);
        uncovered.map(|(page, _)| page).collect()
    }
}

/// The position behind the last byte that was ever written to each file.
fn ends_of_files(recording: &Recording) -> HashMap<Inode, u64> {
    let mut ends: HashMap<Inode, u64> = HashMap::new();
    for logged in &recording.operations {
        if let Operation::Write {
            inode,
            offset,
            length,
            ..
        } = &logged.operation
        {
            let end = ends.entry(*inode).or_default();
            *end = (offset + length).max(*end);
        }
    }
    ends
}

/// A scan from the end of a recording to its beginning.
struct Scan {
    names_wait: bool,
    has_journal: bool,
    ends: HashMap<Inode, u64>,
    /// Flushes that begin after the current operation: they cover everything in their scope.
    begun: CoveringFlushes,
    /// Flushes that end after it: they cover pages of the cache.
    ended: CoveringFlushes,
}

impl Scan {
    fn begin(&mut self, operation: &Operation, index: usize, is_device: bool, reading: Reading) {
        if let Some(effect) = FlushEffect::of(operation, index, is_device, reading) {
            let end = self.end_of(&effect);
            self.begun.add(&effect, index, end);
        }
    }

    /// Returns the position behind the last byte of the file that a flush concerns.
    fn end_of(&self, effect: &FlushEffect<'_>) -> u64 {
        match effect.scope {
            Scope::Parts(inode, _) => self.ends.get(&inode).copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// Returns, for each page of a write, the flush that covers it.
    fn write(&mut self, operation: &Operation) -> Vec<usize> {
        let Operation::Write {
            inode,
            offset,
            length,
            cached,
            ..
        } = operation
        else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for page in pages_of(*offset, *length) {
            let mut at = self.begun.page(*inode, page);
            if *cached {
                at = at.min(self.ended.page(*inode, page));
                // A page of the cache holds what was written to it before.
                self.begun.add_page(*inode, page, at);
            }
            found.push(at);
        }
        found
    }

    /// Returns the flush that covers a change of a name or a size.
    fn change(&self, operation: &Operation) -> usize {
        match operation {
            Operation::Truncate { inode, size } if self.names_wait => {
                self.begun.size(*inode, *size)
            }
            Operation::Allocate {
                inode,
                offset,
                length,
                grows: true,
            } if self.names_wait => self.begun.size(*inode, offset + length),
            Operation::Create { entry, .. }
            | Operation::Link { entry, .. }
            | Operation::Unlink { entry, .. }
            | Operation::RemoveDirectory { entry, .. }
                if self.names_wait =>
            {
                self.begun.name(entry.directory)
            }
            Operation::Rename { from, to, .. } if self.names_wait => {
                // The new name is what a reader needs; the old one goes with it.
                let [from, to] = [from, to].map(|entry| self.begun.name(entry.directory));
                from.max(to)
            }
            operation if self.has_journal && is_metadata(operation) => {
                self.begun.commit.min(self.begun.everything)
            }
            _ => 0,
        }
    }
}

/// The first of some flushes that covers something.
struct CoveringFlushes {
    files: HashMap<Inode, usize>,
    /// Files of which all data are covered, and perhaps not the size.
    data: HashMap<Inode, usize>,
    pages: HashMap<(Inode, u64), usize>,
    /// By file, parts of many pages: the first page, and the one behind the last.
    parts: HashMap<Inode, HashMap<(u64, u64), usize>>,
    /// By file, the ends of parts.
    sizes: HashMap<Inode, BTreeMap<u64, usize>>,
    directories: HashMap<Inode, usize>,
    everything: usize,
    commit: usize,
}

impl Default for CoveringFlushes {
    fn default() -> Self {
        Self {
            files: HashMap::new(),
            data: HashMap::new(),
            pages: HashMap::new(),
            parts: HashMap::new(),
            sizes: HashMap::new(),
            directories: HashMap::new(),
            everything: NEVER,
            commit: NEVER,
        }
    }
}

fn note<K: std::hash::Hash + Eq>(all: &mut HashMap<K, usize>, key: K, at: usize) {
    let known = all.entry(key).or_insert(NEVER);
    *known = at.min(*known);
}

impl CoveringFlushes {
    /// Adds a flush at an index. `end` is that of its file.
    fn add(&mut self, effect: &FlushEffect<'_>, at: usize, end: u64) {
        match effect.scope {
            Scope::File(inode) => note(&mut self.files, inode, at),
            Scope::Directory(inode) => note(&mut self.directories, inode, at),
            Scope::Everything => self.everything = at.min(self.everything),
            Scope::Parts(inode, parts) => {
                parts
                    .iter()
                    .for_each(|part| self.add_part(inode, *part, at, end));
            }
        }
    }

    fn add_part(&mut self, inode: Inode, part: ByteRange, at: usize, end: u64) {
        let ends = self.sizes.entry(inode).or_default();
        let known = ends.entry(part.end).or_insert(NEVER);
        *known = at.min(*known);
        // A mapping can be far larger than its file.
        if part.start == 0 && part.end >= end {
            note(&mut self.data, inode, at);
            return;
        }
        let pages = pages_in(part);
        let pages = pages.start..pages.end.min(end.div_ceil(PAGE_BYTES));
        if pages.end.saturating_sub(pages.start) > MAX_SPREAD_PAGES {
            let parts = self.parts.entry(inode).or_default();
            note(parts, (pages.start, pages.end), at);
            return;
        }
        for page in pages {
            self.add_page(inode, page, at);
        }
    }

    fn add_page(&mut self, inode: Inode, page: u64, at: usize) {
        if at != NEVER {
            note(&mut self.pages, (inode, page), at);
        }
    }

    fn page(&self, inode: Inode, page: u64) -> usize {
        let [file, data] = [&self.files, &self.data].map(|all| all.get(&inode));
        let found = [file, data, self.pages.get(&(inode, page))];
        let parts = self.parts.get(&inode).into_iter().flatten();
        let parts = parts.filter(|((start, end), _)| (*start..*end).contains(&page));
        let parts = parts.map(|(_, at)| at);
        let first = found.into_iter().flatten().chain(parts).min();
        first.copied().unwrap_or(NEVER).min(self.everything)
    }

    /// Returns the flush that covers a size: that of a part covers sizes up to the part's end.
    fn size(&self, inode: Inode, size: u64) -> usize {
        let ends = self.sizes.get(&inode).into_iter();
        let parts = ends.flat_map(|ends| ends.range(size..)).map(|(_, at)| at);
        let first = parts.chain(self.files.get(&inode)).min();
        first.copied().unwrap_or(NEVER).min(self.everything)
    }

    fn name(&self, directory: Inode) -> usize {
        let flush = self.directories.get(&directory);
        flush.copied().unwrap_or(NEVER).min(self.everything)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_part_that_each_commit_flushes_is_kept_once() {
        let (inode, end) = (Inode(2), 1 << 30);
        let part = ByteRange {
            start: PAGE_BYTES,
            end,
        };
        let mut flushes = CoveringFlushes::default();
        for at in (100..200).rev() {
            flushes.add_part(inode, part, at, end);
        }
        assert!(flushes.pages.is_empty());
        assert_eq!(flushes.parts[&inode].len(), 1);
        assert_eq!(flushes.sizes[&inode].len(), 1);
        assert_eq!(flushes.page(inode, 0), NEVER);
        assert_eq!(flushes.page(inode, 1), 100);
        assert_eq!(flushes.page(inode, end / PAGE_BYTES), NEVER);
        assert_eq!(
            (flushes.size(inode, end), flushes.size(inode, end + 1)),
            (100, NEVER)
        );
        // A small one is kept by its pages.
        let small = ByteRange {
            start: PAGE_BYTES,
            end: 2 * PAGE_BYTES,
        };
        flushes.add_part(inode, small, 50, end);
        assert_eq!((flushes.page(inode, 1), flushes.page(inode, 2)), (50, 100));
    }
}
