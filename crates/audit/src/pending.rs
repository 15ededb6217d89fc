//! The changes that no flush had covered at a cut, under a storage model.

use crate::coverage::Coverage;
use crate::flush_scope::{Reading, pages_of, subject};
use crate::image::PAGE_BYTES;
use crate::journal::{JournalActivity, orders_metadata};
use std::collections::{BTreeMap, HashSet};
use trueput_faultfs::Recording;
use trueput_faultfs::operation::{Inode, Operation};
use trueput_record::audit::{CrashState, LostPage, StorageModel};

/// What the flushes of a recording cover.
pub(crate) struct Flushes {
    model: StorageModel,
    coverage: Coverage,
    activity: JournalActivity,
    /// Whether the operations are those of a device, which has no space that is new.
    is_device: bool,
}

/// A change that may be missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PendingChange {
    /// Pages of a write.
    Write {
        operation: usize,
        inode: Inode,
        pages: Vec<u64>,
    },
    /// A change of a name or a size.
    Other { operation: usize, inode: Inode },
}

impl PendingChange {
    pub(crate) fn operation(&self) -> usize {
        match self {
            Self::Write { operation, .. } | Self::Other { operation, .. } => *operation,
        }
    }

    pub(crate) fn inode(&self) -> Inode {
        match self {
            Self::Write { inode, .. } | Self::Other { inode, .. } => *inode,
        }
    }

    /// Returns the byte of the file at which it begins; 0 for a change of a name or a size.
    pub(crate) fn offset(&self) -> u64 {
        match self {
            Self::Write { pages, .. } => pages.first().map_or(0, |page| page * PAGE_BYTES),
            Self::Other { .. } => 0,
        }
    }

    /// Returns the pages that are lost if none of this write persisted.
    pub(crate) fn lost_pages(&self) -> Vec<LostPage> {
        match self {
            Self::Write {
                operation,
                inode,
                pages,
            } => {
                let lost = pages.iter().map(|page| LostPage {
                    inode: inode.0,
                    page: *page,
                    from: *operation,
                });
                lost.collect()
            }
            Self::Other { .. } => Vec::new(),
        }
    }
}

impl Flushes {
    /// Finds, for each operation, the flush that covers it.
    pub(crate) fn of(
        recording: &Recording,
        model: StorageModel,
        is_device: bool,
        reading: Reading,
    ) -> Self {
        let how = (is_device, reading);
        let activity = JournalActivity::of(&recording.operations, recording.base, how);
        Self {
            model,
            coverage: Coverage::of(recording, model, &activity, how),
            activity,
            is_device,
        }
    }

    /// Adds what must be missing, too, from a state in a file system with a journal.
    ///
    /// - Names and sizes that changed after one that is missing: the journal keeps their order.
    /// - In a file that grows, everything behind a page that is missing: the journal has a new size
    ///   only when the data below it are there, or a flush of a part behind them.
    /// - In space that is allocated and was not written before, the other new pages of the same
    ///   write: it reads as zeros until the journal says that it was written.
    pub(crate) fn complete(&self, recording: &Recording, state: &mut CrashState) {
        if !orders_metadata(self.model) {
            return;
        }
        let is_write = |index: &usize| {
            let operation = &recording.operations[*index].operation;
            matches!(operation, Operation::Write { .. })
        };
        state.lost_operations.retain(|index| !is_write(index));
        let first = state.lost_operations.iter().min().copied();
        let is_after = |operation: usize| first.is_some_and(|first| operation >= first);
        let mut lost = LostPages::new(&state.lost_pages);
        let mut ended: HashSet<Inode> = HashSet::new();
        for change in self.pending(recording, state.cut) {
            let operation = change.operation();
            let PendingChange::Write { inode, pages, .. } = &change else {
                if is_after(operation) {
                    state.lost_operations.push(operation);
                }
                continue;
            };
            let grows = self.activity.grows[operation];
            if grows {
                let sized = self.activity.size_on_disk(*inode, state.cut) / PAGE_BYTES;
                let mut behind = pages.iter().filter(|page| **page >= sized);
                let first = if is_after(operation) || ended.contains(inode) {
                    behind.next()
                } else {
                    behind.find(|page| lost.contains(*inode, **page, operation))
                };
                if let Some(first) = first {
                    ended.insert(*inode);
                    let behind = pages.iter().filter(|page| *page >= first);
                    lost.add(*inode, behind, operation);
                }
            }
            self.lose_new_space(&change, &mut lost, state.cut);
            if pages
                .iter()
                .any(|page| lost.contains(*inode, *page, operation))
            {
                state.lost_operations.push(operation);
            }
        }
        state.lost_pages = lost.into_pages();
        state.lost_operations.sort_unstable();
        state.lost_operations.dedup();
    }

    /// Loses the other pages of new space of a write that lost one of them. Where the file's size
    /// waits for the data, the size decides.
    fn lose_new_space(&self, change: &PendingChange, lost: &mut LostPages, cut: usize) {
        let PendingChange::Write {
            operation,
            inode,
            pages,
        } = change
        else {
            return;
        };
        let fresh = self.activity.fresh_from[*operation];
        let end = if self.activity.grows[*operation] {
            self.activity.size_on_disk(*inode, cut) / PAGE_BYTES
        } else {
            u64::MAX
        };
        let is_new = |page: &&u64| (fresh..end).contains(*page);
        let mut new = pages.iter().filter(is_new);
        if !self.is_device && new.any(|page| lost.contains(*inode, *page, *operation)) {
            lost.add(*inode, pages.iter().filter(is_new), *operation);
        }
    }

    /// Returns the changes that no flush before the cut had covered, in order.
    pub(crate) fn pending(&self, recording: &Recording, cut: usize) -> Vec<PendingChange> {
        let range = recording.base..cut;
        let pending = range.filter(|index| !self.coverage.is_covered(*index, cut));
        let change = |operation: usize| match &recording.operations[operation].operation {
            Operation::Write {
                inode,
                offset,
                length,
                ..
            } => {
                let pages = pages_of(*offset, *length);
                PendingChange::Write {
                    operation,
                    inode: *inode,
                    pages: self.coverage.uncovered(operation, cut, pages),
                }
            }
            other => PendingChange::Other {
                operation,
                inode: subject(other),
            },
        };
        pending.map(change).collect()
    }
}

/// The pages that are lost, each from its earliest write on that did not persist.
struct LostPages {
    from: BTreeMap<(Inode, u64), usize>,
}

impl LostPages {
    fn new(pages: &[LostPage]) -> Self {
        let mut from = BTreeMap::new();
        for lost in pages {
            let earliest = from
                .entry((Inode(lost.inode), lost.page))
                .or_insert(lost.from);
            *earliest = lost.from.min(*earliest);
        }
        Self { from }
    }

    fn contains(&self, inode: Inode, page: u64, operation: usize) -> bool {
        let from = self.from.get(&(inode, page));
        from.is_some_and(|from| operation >= *from)
    }

    fn add<'a>(&mut self, inode: Inode, pages: impl Iterator<Item = &'a u64>, operation: usize) {
        for page in pages {
            let from = self.from.entry((inode, *page)).or_insert(operation);
            *from = operation.min(*from);
        }
    }

    fn into_pages(self) -> Vec<LostPage> {
        let pages = self.from.into_iter();
        pages
            .map(|((inode, page), from)| LostPage {
                inode: inode.0,
                page,
                from,
            })
            .collect()
    }
}

/// Reduces lost pages to one entry for each page: the earliest write that did not persist. A later
/// version of a page holds the earlier one, so it cannot be there without it.
pub(crate) fn merge_lost_pages(lost: &[LostPage]) -> Vec<LostPage> {
    LostPages::new(lost).into_pages()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_faultfs::operation::{
        Access, ByteRange, Entry, FlushCause, FlushExtent, InodeKind, LoggedOperation,
    };

    const FILE: Inode = Inode(2);

    fn create() -> Operation {
        Operation::Create {
            inode: FILE,
            entry: Entry {
                directory: Inode::ROOT,
                name: "log".to_owned(),
            },
            kind: InodeKind::File,
            access: Access {
                mode: 0o600,
                uid: 0,
                gid: 0,
            },
        }
    }

    fn write(offset: u64, length: u64) -> Operation {
        Operation::Write {
            inode: FILE,
            offset,
            data_at: 0,
            length,
            cached: false,
        }
    }

    /// The beginning of a flush that began when all before it was logged.
    const AT_ONCE: Option<usize> = None;

    fn flush_of(
        inode: Inode,
        data_only: bool,
        extent: FlushExtent,
        began: Option<usize>,
    ) -> Operation {
        Operation::Flush {
            inode,
            data_only,
            began,
            extent,
            cause: FlushCause::Fdatasync,
        }
    }

    fn flush() -> Operation {
        flush_of(FILE, true, FlushExtent::Whole, AT_ONCE)
    }

    fn flush_part(start: u64, end: u64) -> Operation {
        let parts = FlushExtent::Ranges(vec![ByteRange { start, end }]);
        flush_of(FILE, true, parts, AT_ONCE)
    }

    fn recording(operations: Vec<Operation>) -> Recording {
        let phase = 0;
        let logged = operations
            .into_iter()
            .map(|operation| LoggedOperation { operation, phase });
        Recording::new(logged.collect(), 0, vec![0; 10_000])
    }

    fn pending_at(operations: Vec<Operation>, model: StorageModel, cut: usize) -> Vec<usize> {
        let recording = recording(operations);
        let pending =
            Flushes::of(&recording, model, false, Reading::Generous).pending(&recording, cut);
        pending.iter().map(PendingChange::operation).collect()
    }

    #[test]
    fn a_write_is_pending_until_its_file_is_flushed() {
        let operations = vec![create(), write(0, 10), flush(), write(10, 10)];
        let pending = |cut| pending_at(operations.clone(), StorageModel::Journal, cut);
        assert_eq!(pending(2), [0, 1]);
        assert!(pending(3).is_empty());
        assert_eq!(pending(4), [3]);
    }

    #[test]
    fn in_a_journal_a_name_waits_for_a_flush_that_commits_it() {
        let unlink = Operation::Unlink {
            inode: Inode(3),
            entry: Entry {
                directory: Inode::ROOT,
                name: "old".to_owned(),
            },
        };
        let operations = vec![
            create(),
            write(0, 10),
            flush(),
            unlink,
            write(0, 9),
            flush(),
        ];
        let pending = |cut| pending_at(operations.clone(), StorageModel::Journal, cut);
        assert_eq!(pending(4), [3]);
        // A flush of data that are overwritten in place commits no journal.
        assert_eq!(pending(6), [3]);
        let mut grown = operations.clone();
        grown[4] = write(5, 10);
        assert!(pending_at(grown, StorageModel::Journal, 6).is_empty());
    }

    #[test]
    fn a_flush_of_what_did_not_change_commits_no_journal() {
        let (other, folder) = (Inode(3), Inode(4));
        let entry = |directory| Entry {
            directory,
            name: "renamed".to_owned(),
        };
        let renamed = Operation::Rename {
            inode: FILE,
            from: entry(Inode::ROOT),
            to: entry(Inode::ROOT),
            replaced: None,
            exchanged: false,
        };
        let whole = |inode| flush_of(inode, false, FlushExtent::Whole, AT_ONCE);
        let began = AT_ONCE;
        let directory = |inode| Operation::FlushDirectory { inode, began };
        let pending = |last: Operation| {
            let operations = vec![create(), flush(), renamed.clone(), last];
            pending_at(operations, StorageModel::Journal, 4)
        };
        assert_eq!(pending(whole(other)), [2]);
        assert_eq!(pending(directory(folder)), [2]);
        // A new name is no data of the file.
        assert_eq!(pending(flush()), [2]);
        assert!(pending(whole(FILE)).is_empty());
        assert!(pending(directory(Inode::ROOT)).is_empty());
    }

    #[test]
    fn in_a_journal_what_follows_a_missing_change_is_missing_too() {
        let sized = Operation::Truncate {
            inode: Inode(3),
            size: 7,
        };
        let operations = vec![
            create(),
            write(0, 10),
            flush(),
            sized.clone(),
            write(10, 9),
            sized,
        ];
        let recording = recording(operations);
        let complete = |lost_operations: Vec<usize>| {
            let mut state = CrashState {
                cut: 6,
                lost_operations,
                ..CrashState::default()
            };
            let flushes = Flushes::of(&recording, StorageModel::Journal, false, Reading::Generous);
            flushes.complete(&recording, &mut state);
            (state.lost_operations, state.lost_pages.len())
        };
        assert_eq!(complete(vec![3]), (vec![3, 4, 5], 1));
        assert_eq!(complete(vec![5]), (vec![5], 0));
        assert_eq!(complete(Vec::new()), (Vec::new(), 0));
    }

    #[test]
    fn a_name_is_pending_until_its_directory_is_flushed_where_names_may_be_late() {
        let flush_root = Operation::FlushDirectory {
            inode: Inode::ROOT,
            began: AT_ONCE,
        };
        let operations = vec![create(), write(0, 10), flush(), flush_root];
        let pending = |model, cut| pending_at(operations.clone(), model, cut);
        assert_eq!(pending(StorageModel::Posix, 3), [0]);
        assert!(pending(StorageModel::Posix, 4).is_empty());
        assert_eq!(pending(StorageModel::Journal, 1), [0]);
        assert!(pending(StorageModel::Journal, 3).is_empty());
    }

    #[test]
    fn a_file_that_grows_ends_at_its_first_missing_page() {
        let recording = recording(vec![create(), write(0, 3 * 4096), write(3 * 4096, 4096)]);
        let flushes = Flushes::of(&recording, StorageModel::Journal, false, Reading::Generous);
        let mut state = CrashState {
            cut: 3,
            lost_pages: vec![lost(1, 1)],
            ..CrashState::default()
        };
        flushes.complete(&recording, &mut state);
        assert_eq!(state.lost_pages, [lost(1, 1), lost(2, 1), lost(3, 2)]);
        assert_eq!(state.lost_operations, [1, 2]);
    }

    #[test]
    fn new_space_of_one_write_is_there_or_not_and_old_space_page_by_page() {
        let sized = Operation::Truncate {
            inode: FILE,
            size: 10 * 4096,
        };
        let twice = vec![
            create(),
            sized,
            flush(),
            write(0, 3 * 4096),
            write(0, 3 * 4096),
        ];
        let recording = recording(twice);
        let flushes = Flushes::of(&recording, StorageModel::Journal, false, Reading::Generous);
        let complete = |page, from| {
            let mut state = CrashState {
                cut: 5,
                lost_pages: vec![lost(page, from)],
                ..CrashState::default()
            };
            flushes.complete(&recording, &mut state);
            state.lost_pages
        };
        assert_eq!(complete(1, 3), [lost(0, 3), lost(1, 3), lost(2, 3)]);
        assert_eq!(complete(1, 4), [lost(1, 4)]);
    }

    fn lost(page: u64, from: usize) -> LostPage {
        LostPage {
            inode: FILE.0,
            page,
            from,
        }
    }

    /// The pages of a write that may be missing at the end.
    fn pending_pages(operations: Vec<Operation>, reading: Reading) -> Vec<(usize, Vec<u64>)> {
        let recording = recording(operations);
        let cut = recording.operations.len();
        let flushes = Flushes::of(&recording, StorageModel::Journal, false, reading);
        let pending = flushes.pending(&recording, cut).into_iter();
        let pages = pending.filter_map(|change| match change {
            PendingChange::Write {
                operation, pages, ..
            } => Some((operation, pages)),
            PendingChange::Other { .. } => None,
        });
        pages.collect()
    }

    #[test]
    fn a_flush_of_one_byte_covers_its_page_alone() {
        let written = [create(), write(0, 3 * 4096), write(4096, 10)];
        let pending = |part: Operation| {
            let all = written.iter().cloned().chain([part]).collect();
            pending_pages(all, Reading::Generous)
        };
        assert_eq!(pending(flush_part(4096, 4097)), [(1, vec![0, 2])]);
        assert_eq!(pending(flush_part(0, 4097)), [(1, vec![2])]);
        assert_eq!(pending(flush_part(0, 1 << 40)), []);
        assert_eq!(pending(flush_part(0, 3 * 4096)), []);
    }

    #[test]
    fn a_write_that_raced_with_a_flush_is_not_covered_by_it() {
        let mapped = Operation::Write {
            inode: FILE,
            offset: 4096,
            data_at: 0,
            length: 4096,
            cached: true,
        };
        let late = flush_of(FILE, true, FlushExtent::Whole, Some(2));
        let operations = vec![create(), write(0, 10), write(10, 10), mapped, late];
        // Pages of the cache are written by the flush itself.
        let pending = pending_pages(operations, Reading::Generous);
        assert_eq!(pending, [(2, vec![0])]);
    }

    #[test]
    fn a_flush_of_an_unknown_part_is_read_in_two_ways() {
        let unknown = flush_of(FILE, true, FlushExtent::Unknown, AT_ONCE);
        let operations = vec![create(), write(0, 10), unknown];
        let pending = |reading| pending_pages(operations.clone(), reading);
        assert_eq!(pending(Reading::Generous), []);
        assert_eq!(pending(Reading::Strict), [(1, vec![0])]);
    }

    #[test]
    fn a_flush_of_everything_covers_names_of_what_was_there_when_it_began() {
        let all = Operation::FlushAll { began: 2 };
        let operations = vec![create(), write(0, 10), write(4096, 10), create(), all];
        for model in [StorageModel::Posix, StorageModel::Journal] {
            assert_eq!(pending_at(operations.clone(), model, 5), [2, 3]);
        }
    }

    #[test]
    fn a_flush_of_a_part_covers_a_size_up_to_its_end() {
        let sized = |size| Operation::Truncate { inode: FILE, size };
        let operations = vec![create(), sized(5000), sized(9000), flush_part(0, 5000)];
        assert_eq!(pending_at(operations, StorageModel::Posix, 4), [0, 2]);
    }

    #[test]
    fn a_flush_of_a_part_behind_new_data_leaves_a_hole_in_a_file_that_grew() {
        let operations = vec![
            create(),
            write(0, 2 * 4096),
            write(2 * 4096, 4096),
            write(3 * 4096, 4096),
            flush_part(3 * 4096, 4 * 4096),
        ];
        let recording = recording(operations);
        let flushes = Flushes::of(&recording, StorageModel::Journal, false, Reading::Generous);
        let mut state = CrashState {
            cut: 5,
            lost_pages: vec![lost(1, 1)],
            ..CrashState::default()
        };
        flushes.complete(&recording, &mut state);
        // The write is lost as a whole; the one behind it is there.
        assert_eq!(state.lost_pages, [lost(0, 1), lost(1, 1)]);
    }

    #[test]
    fn a_flush_of_a_part_commits_the_journal_if_that_part_needs_space() {
        let renamed = Operation::Unlink {
            inode: Inode(3),
            entry: Entry {
                directory: Inode::ROOT,
                name: "old".to_owned(),
            },
        };
        let pending = |last: Operation| {
            let first = vec![create(), write(0, 2 * 4096), flush(), renamed.clone()];
            let grown = [write(2 * 4096, 4096), last];
            let operations = first.into_iter().chain(grown).collect();
            pending_at(operations, StorageModel::Journal, 6)
        };
        assert_eq!(pending(flush_part(0, 1)), [3, 4]);
        assert!(pending(flush_part(2 * 4096, 2 * 4096 + 1)).is_empty());
    }

    #[test]
    fn a_page_is_lost_from_its_earliest_lost_write_on() {
        let merged = merge_lost_pages(&[lost(7, 9), lost(7, 4)]);
        assert_eq!(merged, [lost(7, 4)]);
    }
}
