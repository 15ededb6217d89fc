//! The changes that no flush had covered at a cut, under a storage model.

use std::collections::{BTreeMap, HashMap};
use trueput_faultfs::Recording;
use trueput_faultfs::operation::{Inode, Operation};
use trueput_record::audit::{LostPage, StorageModel};

use crate::image::PAGE_BYTES;

/// For each operation, the flush that covers it.
pub(crate) struct Flushes {
    /// By operation, the index of the first flush after it that covers it; `usize::MAX` if none
    /// does, and 0 for what no flush need cover.
    covered_at: Vec<usize>,
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
    pub(crate) fn of(recording: &Recording, model: StorageModel) -> Self {
        let operations = &recording.operations;
        let mut covered_at = vec![usize::MAX; operations.len()];
        let mut file_flush: HashMap<Inode, usize> = HashMap::new();
        let mut directory_flush: HashMap<Inode, usize> = HashMap::new();
        let names_wait = model == StorageModel::Posix;
        for (index, logged) in operations.iter().enumerate().rev() {
            let at = |flushes: &HashMap<Inode, usize>, inode: &Inode| {
                flushes.get(inode).copied().unwrap_or(usize::MAX)
            };
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
                _ => 0,
            };
        }
        Self { covered_at }
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
pub(crate) fn merge_lost_pages(lost: impl IntoIterator<Item = LostPage>) -> Vec<LostPage> {
    let mut earliest: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    for page in lost {
        let from = earliest.entry((page.inode, page.page)).or_insert(page.from);
        *from = page.from.min(*from);
    }
    let merged = earliest.into_iter();
    merged
        .map(|((inode, page), from)| LostPage { inode, page, from })
        .collect()
}
