//! The activity of a file system's journal, as ext4 and xfs have one.

use crate::flush_scope::{FlushEffect, Reading, Scope, pages_in, pages_of, subject};
use crate::image::PAGE_BYTES;
use std::collections::{BTreeMap, HashMap, HashSet};
use trueput_faultfs::operation::{Entry, Inode, LoggedOperation, Operation};
use trueput_record::audit::StorageModel;

/// Returns whether a model has a journal, which keeps names and sizes in order.
pub(crate) fn orders_metadata(model: StorageModel) -> bool {
    matches!(model, StorageModel::Journal | StorageModel::Torn)
}

/// Returns whether an operation changes a name or sets a size.
pub(crate) fn is_metadata(operation: &Operation) -> bool {
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
        | Operation::FlushAll { .. }
        | Operation::FlushDirectory { .. } => false,
    }
}

/// The activity of a journal.
pub(crate) struct JournalActivity {
    /// By operation, whether it writes beyond the end of its file.
    pub(crate) grows: Vec<bool>,
    /// By operation, the first page that it writes and that was not written before; `u64::MAX` if
    /// there is none.
    pub(crate) fresh_from: Vec<u64>,
    /// By operation, whether it is a flush that commits the journal, and with it all names and
    /// sizes before it.
    pub(crate) commits: Vec<bool>,
    /// By file, the sizes that flushes of parts and truncations gave it on the disk.
    sizes: HashMap<Inode, Vec<(usize, SizeOnDisk)>>,
}

#[derive(Debug, Clone, Copy)]
enum SizeOnDisk {
    AtLeast(u64),
    AtMost(u64),
}

impl JournalActivity {
    /// The operations before `base` are committed.
    pub(crate) fn of(
        operations: &[LoggedOperation],
        base: usize,
        (is_device, reading): (bool, Reading),
    ) -> Self {
        let mut files = Files::default();
        let mut uncommitted = UncommittedChanges::default();
        let mut all = Self {
            grows: vec![false; operations.len()],
            fresh_from: vec![u64::MAX; operations.len()],
            commits: vec![false; operations.len()],
            sizes: HashMap::new(),
        };
        for (index, logged) in operations.iter().enumerate() {
            let operation = &logged.operation;
            let effect = FlushEffect::of(operation, index, is_device, reading);
            all.note_size(index, operation, effect.as_ref(), &files);
            let (grows, fresh) = files.apply(operation);
            all.grows[index] = grows;
            all.fresh_from[index] = fresh.first().copied().unwrap_or(u64::MAX);
            if index < base {
                continue;
            }
            match effect {
                Some(effect) => all.commits[index] = uncommitted.commit(&effect),
                None => uncommitted.note(index, operation, grows, &fresh),
            }
        }
        all
    }

    fn note_size(
        &mut self,
        index: usize,
        operation: &Operation,
        effect: Option<&FlushEffect<'_>>,
        files: &Files,
    ) {
        if let Operation::Truncate { inode, size } = operation
            && let Some(sizes) = self.sizes.get_mut(inode)
        {
            sizes.push((index, SizeOnDisk::AtMost(*size)));
        }
        if let Some(Scope::Parts(inode, parts)) = effect.map(|effect| effect.scope) {
            let size = files.sizes.get(&inode).copied().unwrap_or(0);
            let ends = parts.iter().map(|part| pages_in(*part).end * PAGE_BYTES);
            let end = ends.max().unwrap_or(0).min(size);
            let sizes = self.sizes.entry(inode).or_default();
            sizes.push((index, SizeOnDisk::AtLeast(end)));
        }
    }

    /// Returns the size that a flush of a part gave a file before a cut: below it, data that were
    /// not flushed can be missing by themselves.
    pub(crate) fn size_on_disk(&self, inode: Inode, cut: usize) -> u64 {
        let sizes = self.sizes.get(&inode).into_iter().flatten();
        let before = sizes.take_while(|(index, _)| *index < cut);
        before.fold(0, |size, (_, set)| match set {
            SizeOnDisk::AtLeast(end) => size.max(*end),
            SizeOnDisk::AtMost(end) => size.min(*end),
        })
    }
}

/// The sizes of files and their pages that were written, as they are in memory.
#[derive(Default)]
struct Files {
    sizes: HashMap<Inode, u64>,
    written: HashSet<(Inode, u64)>,
}

impl Files {
    /// Applies an operation. Returns whether it is a write beyond the end of its file, and the
    /// pages that it is the first to write.
    fn apply(&mut self, operation: &Operation) -> (bool, Vec<u64>) {
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
        let size = self.sizes.entry(inode).or_insert(0);
        let mut grows = false;
        if let Some(end) = end.filter(|end| end > size) {
            *size = end;
            grows = matches!(operation, Operation::Write { .. });
        }
        match operation {
            Operation::Truncate { size: set, .. } => {
                if *set < *size {
                    let is_kept =
                        |(of, page): &(Inode, u64)| *of != inode || page * PAGE_BYTES < *set;
                    self.written.retain(is_kept);
                }
                *size = *set;
                (grows, Vec::new())
            }
            Operation::Write { offset, length, .. } => {
                let mut fresh = pages_of(*offset, *length);
                fresh.retain(|page| self.written.insert((inode, *page)));
                (grows, fresh)
            }
            _ => (grows, Vec::new()),
        }
    }
}

/// The operations of changes that are not committed: the first and the last.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: usize,
    last: usize,
}

type Spans = HashMap<Inode, Span>;

fn add(spans: &mut Spans, inode: Inode, index: usize) {
    let span = spans.entry(inode).or_insert(Span {
        first: index,
        last: index,
    });
    span.first = index.min(span.first);
    span.last = index.max(span.last);
}

fn began_before(spans: &Spans, inode: Inode, began: usize) -> bool {
    spans.get(&inode).is_some_and(|span| span.first < began)
}

/// The changes since the journal was committed (`ext4_sync_file`, `xfs_file_fsync`): a flush
/// commits it only if it concerns one of them.
#[derive(Default)]
struct UncommittedChanges {
    /// By file, pages for which the file system assigns space, or a size, as they are flushed, with
    /// the operation since which they need it.
    unassigned: HashMap<Inode, BTreeMap<u64, usize>>,
    /// Files that were created or given a size.
    resized: Spans,
    /// Files and directories with any change: data, names, permissions.
    changed: Spans,
}

impl UncommittedChanges {
    fn note(&mut self, index: usize, operation: &Operation, grows: bool, fresh: &[u64]) {
        let inode = subject(operation);
        let mut changes = |entry: &Entry| add(&mut self.changed, entry.directory, index);
        match operation {
            Operation::Flush { .. }
            | Operation::FlushAll { .. }
            | Operation::FlushDirectory { .. } => return,
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
        // A flush covers pages of the cache that are written while it lasts.
        let (since, end) = match operation {
            Operation::Write { cached: true, .. } => (0, None),
            Operation::Write { offset, length, .. } if grows && *length > 0 => {
                (index, Some((offset + length - 1) / PAGE_BYTES))
            }
            _ => (index, None),
        };
        add(&mut self.changed, inode, since);
        for page in fresh.iter().copied().chain(end) {
            let pages = self.unassigned.entry(inode).or_default();
            let known = pages.entry(page).or_insert(since);
            *known = since.min(*known);
        }
        if let Operation::Create { .. } | Operation::Truncate { .. } | Operation::Allocate { .. } =
            operation
        {
            add(&mut self.resized, inode, index);
        }
    }

    /// Returns whether a flush commits the journal.
    fn commit(&mut self, flush: &FlushEffect<'_>) -> bool {
        let began = flush.began;
        let commits = match flush.scope {
            Scope::Everything => {
                let of_file = self.unassigned.values_mut();
                of_file.for_each(|pages| pages.retain(|_, since| *since >= began));
                true
            }
            Scope::Directory(inode) => began_before(&self.changed, inode, began),
            Scope::File(inode) => {
                let is_assigned = self.assign(inode, 0..u64::MAX, began);
                is_assigned || self.concerns(inode, flush)
            }
            Scope::Parts(inode, parts) => {
                let mut is_assigned = false;
                for part in parts {
                    is_assigned |= self.assign(inode, pages_in(*part), began);
                }
                is_assigned || self.concerns(inode, flush)
            }
        };
        if commits {
            for spans in [&mut self.resized, &mut self.changed] {
                spans.retain(|_, span| span.last >= began);
                spans
                    .values_mut()
                    .for_each(|span| span.first = began.max(span.first));
            }
        }
        commits
    }

    /// Assigns space to pages that needed it when a flush began. Returns whether there were any.
    fn assign(&mut self, inode: Inode, part: std::ops::Range<u64>, began: usize) -> bool {
        let Some(pages) = self.unassigned.get_mut(&inode) else {
            return false;
        };
        let before = pages.len();
        pages.retain(|page, since| !part.contains(page) || *since >= began);
        pages.len() < before
    }

    /// Returns whether a flush concerns metadata of a file that changed before it began: ext4 asks
    /// that of the whole file, whatever the part is.
    fn concerns(&self, inode: Inode, flush: &FlushEffect<'_>) -> bool {
        let known = if flush.data_only {
            &self.resized
        } else {
            &self.changed
        };
        began_before(known, inode, flush.began)
    }
}
