//! The changes that no flush had covered at a cut, under a storage model.

use std::collections::{BTreeMap, HashMap, HashSet};
use trueput_faultfs::Recording;
use trueput_faultfs::operation::{Entry, Inode, LoggedOperation, Operation};
use trueput_record::audit::{CrashState, LostPage, StorageModel};

use crate::image::PAGE_BYTES;

/// For each operation, the flush that covers it.
pub(crate) struct Flushes {
    model: StorageModel,
    /// By operation, the index of the first flush after it that covers it; `usize::MAX` if none
    /// does, and 0 for what no flush need cover.
    covered_at: Vec<usize>,
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
    pub(crate) fn of(recording: &Recording, model: StorageModel, is_device: bool) -> Self {
        let operations = &recording.operations;
        let activity = JournalActivity::of(operations, recording.base);
        let mut covered_at = vec![usize::MAX; operations.len()];
        let mut file_flush: HashMap<Inode, usize> = HashMap::new();
        let mut directory_flush: HashMap<Inode, usize> = HashMap::new();
        let mut journal_commit = usize::MAX;
        let names_wait = model == StorageModel::Posix;
        for (index, logged) in operations.iter().enumerate().rev() {
            let at = |flushes: &HashMap<Inode, usize>, inode: &Inode| {
                flushes.get(inode).copied().unwrap_or(usize::MAX)
            };
            if activity.commits[index] {
                journal_commit = index;
            }
            covered_at[index] = match &logged.operation {
                _ if index < recording.base => 0,
                Operation::Flush { inode, .. } => {
                    file_flush.insert(*inode, index);
                    0
                }
                Operation::FlushDirectory { inode } => {
                    directory_flush.insert(*inode, index);
                    0
                }
                Operation::Write { inode, .. } => at(&file_flush, inode),
                Operation::Truncate { inode, .. }
                | Operation::Allocate {
                    inode, grows: true, ..
                } if names_wait => at(&file_flush, inode),
                Operation::Create { entry, .. }
                | Operation::Link { entry, .. }
                | Operation::Unlink { entry, .. }
                | Operation::RemoveDirectory { entry, .. }
                    if names_wait =>
                {
                    at(&directory_flush, &entry.directory)
                }
                Operation::Rename { from, to, .. } if names_wait => {
                    // The new name is what a reader needs; the old one goes with it.
                    at(&directory_flush, &from.directory).max(at(&directory_flush, &to.directory))
                }
                operation if orders_metadata(model) && is_metadata(operation) => journal_commit,
                _ => 0,
            };
        }
        Self {
            model,
            covered_at,
            activity,
            is_device,
        }
    }

    /// Adds what must be missing, too, from a state in a file system with a journal.
    ///
    /// - Names and sizes that changed after one that is missing: the journal keeps their order.
    /// - In a file that grows, everything behind a page that is missing: the journal has a new size
    ///   only when the data below it are there.
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
            let fresh = self.activity.fresh_from[operation];
            let is_lost = |page: &u64| lost.contains(*inode, *page, operation);
            let loses_fresh = || pages.iter().any(|page| *page >= fresh && is_lost(page));
            let first = match () {
                () if grows && (is_after(operation) || ended.contains(inode)) => pages.first(),
                () if grows => pages.iter().find(|page| is_lost(page)),
                () if !self.is_device && loses_fresh() => pages.iter().find(|page| **page >= fresh),
                () => None,
            };
            if let Some(first) = first {
                if grows {
                    ended.insert(*inode);
                }
                lost.add(
                    *inode,
                    pages.iter().filter(|page| *page >= first),
                    operation,
                );
            }
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

    /// Returns the changes that no flush before the cut had covered, in order.
    pub(crate) fn pending(&self, recording: &Recording, cut: usize) -> Vec<PendingChange> {
        let range = recording.base..cut;
        let pending = range.filter(|index| self.covered_at[*index] >= cut);
        let change = |operation: usize| match &recording.operations[operation].operation {
            Operation::Write {
                inode,
                offset,
                length,
                ..
            } => PendingChange::Write {
                operation,
                inode: *inode,
                pages: pages_of(*offset, *length),
            },
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

/// Returns whether a model has a journal, which keeps names and sizes in order.
fn orders_metadata(model: StorageModel) -> bool {
    matches!(model, StorageModel::Journal | StorageModel::Torn)
}

/// Returns whether an operation changes a name or sets a size.
fn is_metadata(operation: &Operation) -> bool {
    match operation {
        Operation::Create { .. }
        | Operation::Truncate { .. }
        | Operation::Link { .. }
        | Operation::Unlink { .. }
        | Operation::RemoveDirectory { .. }
        | Operation::Rename { .. } => true,
        Operation::Allocate { grows, .. } => *grows,
        Operation::Write { .. }
        | Operation::SetAccess { .. }
        | Operation::Flush { .. }
        | Operation::FlushDirectory { .. } => false,
    }
}

/// The activity of a file system's journal (ext4, xfs).
struct JournalActivity {
    /// By operation, whether it writes beyond the end of its file.
    grows: Vec<bool>,
    /// By operation, the first page that it writes and that was not written before; `u64::MAX` if
    /// there is none.
    fresh_from: Vec<u64>,
    /// By operation, whether it is a flush that commits the journal, and with it all names and
    /// sizes before it.
    commits: Vec<bool>,
}

/// The changes since the journal was committed (`ext4_sync_file`, `xfs_file_fsync`): a flush
/// commits it only if it concerns one of them.
#[derive(Default)]
struct UncommittedChanges {
    /// Files with new space or a new size that the file system assigns as their data are flushed.
    unassigned: HashSet<Inode>,
    /// Files that were created or given a size.
    resized: HashSet<Inode>,
    /// Files and directories with any change: data, names, permissions.
    changed: HashSet<Inode>,
}

impl UncommittedChanges {
    fn note(&mut self, operation: &Operation, needs_space: bool) {
        let inode = subject(operation);
        let mut changes = |entry: &Entry| {
            self.changed.insert(entry.directory);
        };
        match operation {
            Operation::Flush { .. } | Operation::FlushDirectory { .. } => return,
            Operation::Create { entry, .. }
            | Operation::Link { entry, .. }
            | Operation::Unlink { entry, .. }
            | Operation::RemoveDirectory { entry, .. } => changes(entry),
            Operation::Rename { from, to, .. } => {
                changes(from);
                changes(to);
            }
            Operation::Write { .. }
            | Operation::Truncate { .. }
            | Operation::Allocate { .. }
            | Operation::SetAccess { .. } => {}
        }
        self.changed.insert(inode);
        if needs_space {
            self.unassigned.insert(inode);
        }
        if let Operation::Create { .. } | Operation::Truncate { .. } | Operation::Allocate { .. } =
            operation
        {
            self.resized.insert(inode);
        }
    }

    /// Returns whether an operation is a flush that commits the journal.
    fn commit(&mut self, operation: &Operation) -> bool {
        let commits = match operation {
            Operation::Flush { inode, data_only } => {
                let is_assigned = self.unassigned.remove(inode);
                let known = match data_only {
                    true => &self.resized,
                    false => &self.changed,
                };
                is_assigned || known.contains(inode)
            }
            Operation::FlushDirectory { inode } => self.changed.contains(inode),
            _ => false,
        };
        if commits {
            self.resized.clear();
            self.changed.clear();
        }
        commits
    }
}

impl JournalActivity {
    /// The operations before `base` are committed.
    fn of(operations: &[LoggedOperation], base: usize) -> Self {
        let mut sizes: HashMap<Inode, u64> = HashMap::new();
        let mut uncommitted = UncommittedChanges::default();
        let mut written: HashSet<(Inode, u64)> = HashSet::new();
        let mut all = Self {
            grows: vec![false; operations.len()],
            fresh_from: vec![u64::MAX; operations.len()],
            commits: vec![false; operations.len()],
        };
        for (index, logged) in operations.iter().enumerate() {
            let operation = &logged.operation;
            let inode = subject(operation);
            let end = match operation {
                Operation::Write { offset, length, .. }
                | Operation::Allocate {
                    offset,
                    length,
                    grows: true,
                    ..
                } => Some(offset + length),
                _ => None,
            };
            let size = sizes.entry(inode).or_insert(0);
            if let Some(end) = end.filter(|end| end > size) {
                *size = end;
                all.grows[index] = matches!(operation, Operation::Write { .. });
            }
            if let Operation::Truncate { size: set, .. } = operation {
                if *set < *size {
                    written.retain(|(of, page)| *of != inode || page * PAGE_BYTES < *set);
                }
                *size = *set;
            }
            if let Operation::Write { offset, length, .. } = operation {
                let pages = pages_of(*offset, *length).into_iter();
                // All are noted, so this must not stop at the first.
                let fresh = pages.filter(|page| written.insert((inode, *page)));
                all.fresh_from[index] = fresh.fold(u64::MAX, u64::min);
            }
            if index >= base {
                let needs_space = all.grows[index] || all.fresh_from[index] != u64::MAX;
                uncommitted.note(operation, needs_space);
                all.commits[index] = uncommitted.commit(operation);
            }
        }
        all
    }
}

fn pages_of(offset: u64, length: u64) -> Vec<u64> {
    match length {
        0 => Vec::new(),
        _ => (offset / PAGE_BYTES..=(offset + length - 1) / PAGE_BYTES).collect(),
    }
}

/// Returns the inode that an operation concerns.
pub(crate) fn subject(operation: &Operation) -> Inode {
    match operation {
        Operation::Create { inode, .. }
        | Operation::Write { inode, .. }
        | Operation::Truncate { inode, .. }
        | Operation::Allocate { inode, .. }
        | Operation::Link { inode, .. }
        | Operation::Unlink { inode, .. }
        | Operation::RemoveDirectory { inode, .. }
        | Operation::Rename { inode, .. }
        | Operation::SetAccess { inode, .. }
        | Operation::Flush { inode, .. }
        | Operation::FlushDirectory { inode } => *inode,
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
    use trueput_faultfs::operation::{Access, InodeKind};

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
        }
    }

    fn flush() -> Operation {
        Operation::Flush {
            inode: FILE,
            data_only: true,
        }
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
        let pending = Flushes::of(&recording, model, false).pending(&recording, cut);
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
        let whole = |inode| Operation::Flush {
            inode,
            data_only: false,
        };
        let directory = |inode| Operation::FlushDirectory { inode };
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
            let flushes = Flushes::of(&recording, StorageModel::Journal, false);
            flushes.complete(&recording, &mut state);
            (state.lost_operations, state.lost_pages.len())
        };
        assert_eq!(complete(vec![3]), (vec![3, 4, 5], 1));
        assert_eq!(complete(vec![5]), (vec![5], 0));
        assert_eq!(complete(Vec::new()), (Vec::new(), 0));
    }

    #[test]
    fn a_name_is_pending_until_its_directory_is_flushed_where_names_may_be_late() {
        let flush_root = Operation::FlushDirectory { inode: Inode::ROOT };
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
        let flushes = Flushes::of(&recording, StorageModel::Journal, false);
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
        let flushes = Flushes::of(&recording, StorageModel::Journal, false);
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

    #[test]
    fn a_write_covers_the_pages_that_it_touches() {
        assert_eq!(pages_of(4000, 200), [0, 1]);
        assert_eq!(pages_of(4096, 4096), [1]);
        assert!(pages_of(4096, 0).is_empty());
    }

    #[test]
    fn a_page_is_lost_from_its_earliest_lost_write_on() {
        let merged = merge_lost_pages(&[lost(7, 9), lost(7, 4)]);
        assert_eq!(merged, [lost(7, 4)]);
    }
}
