//! The order in which crash states are tried: every kind of moment first, targeted losses before
//! random ones.

use crate::flush_scope::{Reading, pages_of, subject};
use crate::history::Commit;
use crate::pending::{Flushes, PendingChange, merge_lost_pages};
use crate::transaction::mix;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use trueput_faultfs::Recording;
use trueput_faultfs::operation::{FlushExtent, Inode, Operation};
use trueput_record::audit::{CrashState, LostPage, StorageModel, Tear, TornRest};

/// The variants of losses that are tried at one visit of a cut, in addition to losing everything.
const VARIANTS_PER_VISIT: u64 = 3;

/// A disk sector, the unit in which a torn write may persist, bytes.
const SECTOR_BYTES: u64 = 512;

/// Moments of one kind: cuts between two operations of the same kinds on the same kinds of files,
/// in the same phase.
struct Class {
    cuts: VecDeque<usize>,
}

/// The extent in which a change lies: a file, or a region of an image, by its number.
type Extent = (Inode, u64);

/// An endless sequence of crash states of one model, the same for the same seed and recording.
pub(crate) struct Exploration<'a> {
    recording: &'a Recording,
    model: StorageModel,
    seed: u64,
    /// The size of the parts in which a file is lost; `None`: files are lost as a whole.
    region_bytes: Option<u64>,
    pub(crate) flushes: Flushes,
    classes: VecDeque<Class>,
    /// The number of visits so far.
    visits: u64,
    ready: VecDeque<CrashState>,
}

impl<'a> Exploration<'a> {
    /// Creates the sequence. Cuts are all moments after the recording's base.
    pub(crate) fn new(
        recording: &'a Recording,
        commits: &[Vec<Commit>],
        model: StorageModel,
        seed: u64,
        region_bytes: Option<u64>,
        reading: Reading,
    ) -> Self {
        let seed = mix(&[seed, model as u64]);
        let kinds = FileKinds::of(recording, region_bytes);
        let flushes = Flushes::of(recording, model, region_bytes.is_some(), reading);
        Self {
            recording,
            model,
            seed,
            region_bytes,
            classes: classes(recording, &kinds, &flushes, commits, seed),
            flushes,
            visits: 0,
            ready: VecDeque::new(),
        }
    }

    fn draw(&self, purpose: u64, below: usize) -> usize {
        let below = below.max(1) as u64;
        (mix(&[self.seed, self.visits, purpose]) % below) as usize
    }

    /// Takes the next cut: one of each class in turn.
    fn next_cut(&mut self) -> Option<usize> {
        let mut class = self.classes.pop_front()?;
        let cut = class.cuts.pop_front()?;
        // A cut that was visited comes again, after all others of its class, with other losses.
        if self.model != StorageModel::Prefix {
            class.cuts.push_back(cut);
        }
        if !class.cuts.is_empty() {
            self.classes.push_back(class);
        }
        Some(cut)
    }

    fn visit(&mut self) -> Option<()> {
        let cut = self.next_cut()?;
        self.visits += 1;
        let complete = CrashState {
            cut,
            ..CrashState::default()
        };
        if self.model == StorageModel::Prefix {
            self.ready.push_back(complete);
            return Some(());
        }
        let pending = self.flushes.pending(self.recording, cut);
        if pending.is_empty() {
            self.ready.push_back(complete);
            return Some(());
        }
        if self.model == StorageModel::Torn {
            for purpose in 0..VARIANTS_PER_VISIT {
                self.push_torn(&pending, cut, purpose);
            }
            if self.ready.is_empty() {
                // Nothing is longer than a sector.
                self.ready.push_back(complete);
            }
            return Some(());
        }
        let all: Vec<&PendingChange> = pending.iter().collect();
        self.push(cut, &all);
        for purpose in 1..=VARIANTS_PER_VISIT {
            let lost = self.lose(&pending, purpose);
            self.push(cut, &lost);
        }
        Some(())
    }

    /// Chooses what is lost.
    fn lose<'p>(&self, pending: &'p [PendingChange], purpose: u64) -> Vec<&'p PendingChange> {
        let one = self.draw(purpose * 8 + 1, pending.len());
        let extents = self.extents(pending);
        let extent = extents[self.draw(purpose * 8 + 2, extents.len())];
        let is_within = |change: &PendingChange| self.extent(change) == extent;
        let point = self.draw(purpose * 8 + 3, pending.len());
        let from = pending[point].operation();
        let keep = |keep: &dyn Fn(usize, &PendingChange) -> bool| {
            let numbered = pending.iter().enumerate();
            let kept = numbered.filter(|(index, change)| keep(*index, change));
            kept.map(|(_, change)| change).collect()
        };
        let is_data = |change: &PendingChange| matches!(change, PendingChange::Write { .. });
        match self.draw(purpose * 8 + 4, 9) {
            0 => vec![&pending[pending.len() - 1]],
            1 => vec![&pending[one]],
            2 => keep(&|index, _| index != one),
            3 => keep(&|_, change| is_within(change)),
            4 => keep(&|_, change| !is_within(change)),
            5 => keep(&|_, change| is_within(change) && change.operation() >= from),
            6 => keep(&|_, change| is_data(change) == point.is_multiple_of(2)),
            7 => keep(&|_, change| change.operation() >= from),
            _ => keep(&|index, _| {
                mix(&[self.seed, self.visits, purpose, index as u64]).is_multiple_of(2)
            }),
        }
    }

    fn extent(&self, change: &PendingChange) -> Extent {
        (change.inode(), region(change.offset(), self.region_bytes))
    }

    /// Returns the extents of these changes, each once.
    fn extents(&self, pending: &[PendingChange]) -> Vec<Extent> {
        let extents = pending.iter().map(|change| self.extent(change));
        extents.collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn push(&mut self, cut: usize, lost: &[&PendingChange]) {
        let mut lost_pages: Vec<LostPage> =
            lost.iter().flat_map(|change| change.lost_pages()).collect();
        self.restore_pages(&mut lost_pages);
        let mut lost_operations: Vec<usize> = lost
            .iter()
            .filter(|change| matches!(change, PendingChange::Other { .. }))
            .map(|change| change.operation())
            .collect();
        // The size that a lost write gave a file is lost with it, or, as POSIX allows, is not.
        if self.model == StorageModel::Posix && self.draw(97, 2) == 0 {
            lost_operations.extend(lost.iter().map(|change| change.operation()));
            lost_operations.sort_unstable();
            lost_operations.dedup();
        }
        let mut state = CrashState {
            cut,
            lost_pages: merge_lost_pages(&lost_pages),
            lost_operations,
            tear: None,
        };
        self.flushes.complete(self.recording, &mut state);
        self.ready.push_back(state);
    }

    /// Restores, in half of the states, some of the pages that are lost: a write of several pages
    /// may lose any of them, such as one in the middle.
    fn restore_pages(&self, lost: &mut Vec<LostPage>) {
        if lost.len() < 2 {
            return;
        }
        let chosen = self.draw(98, lost.len());
        match self.draw(99, 6) {
            0 => _ = lost.remove(chosen),
            1 => *lost = vec![lost[chosen]],
            2 => {
                let mut number = 0;
                lost.retain(|_| {
                    number += 1;
                    mix(&[self.seed, self.visits, 96, number]).is_multiple_of(2)
                });
            }
            _ => {}
        }
    }

    /// Tears the last pending write of a file, and loses what came after it in that file.
    fn push_torn(&mut self, pending: &[PendingChange], cut: usize, purpose: u64) {
        let extents = self.extents(pending);
        let extent = extents[self.draw(purpose * 8 + 1, extents.len())];
        let writes: Vec<&PendingChange> = pending
            .iter()
            .filter(|change| self.extent(change) == extent && self.is_whole(change))
            .collect();
        let Some(torn) = writes.get(self.draw(purpose * 8 + 2, writes.len())) else {
            return;
        };
        let Operation::Write { offset, length, .. } =
            self.recording.operations[torn.operation()].operation
        else {
            return;
        };
        let Some(persisted) = self.tear_at(offset, length, purpose) else {
            return;
        };
        // Only new blocks can hold anything but what was there.
        let rests = if self.is_new(extent.0, torn.operation(), offset + persisted) {
            [TornRest::Old, TornRest::Zero, TornRest::Garbage].as_slice()
        } else {
            &[TornRest::Old]
        };
        let tear = Tear {
            operation: torn.operation(),
            persisted,
            rest: rests[self.draw(purpose * 8 + 4, rests.len())],
        };
        // A later write to the torn page would have replaced it: both cannot be there.
        let later = writes
            .iter()
            .filter(|change| change.operation() > torn.operation());
        let mut lost: Vec<LostPage> = later.flat_map(|change| change.lost_pages()).collect();
        if self.draw(purpose * 8 + 5, 2) == 0 {
            let elsewhere = self.lose(pending, purpose + 1).into_iter();
            let elsewhere = elsewhere.filter(|change| self.extent(change) != extent);
            lost.extend(elsewhere.flat_map(PendingChange::lost_pages));
        }
        let mut state = CrashState {
            cut,
            lost_pages: merge_lost_pages(&lost),
            lost_operations: Vec::new(),
            tear: Some(tear),
        };
        self.flushes.complete(self.recording, &mut state);
        self.ready.push_back(state);
    }

    /// Returns whether a change is a write of which no flush covers a page.
    fn is_whole(&self, change: &PendingChange) -> bool {
        let pages = change.lost_pages().len();
        match self.recording.operations[change.operation()].operation {
            Operation::Write { offset, length, .. } => {
                pages > 0 && pages == pages_of(offset, length).len()
            }
            _ => false,
        }
    }

    /// Chooses the bytes of a write that persist: whole sectors, not all of them and at least one.
    /// `None` if the write is within one sector, which a disk writes as a whole.
    fn tear_at(&self, offset: u64, length: u64, purpose: u64) -> Option<u64> {
        let unit = match self.draw(purpose * 8 + 3, 2) {
            0 => SECTOR_BYTES,
            _ => crate::image::PAGE_BYTES,
        };
        // Sectors are aligned in the file, so the first part may be shorter.
        let first = unit - offset % unit;
        let more = length.checked_sub(first)?.div_ceil(unit);
        let chosen = mix(&[self.seed, self.visits, purpose, 7]).checked_rem(more)?;
        Some(first + unit * chosen)
    }

    /// Returns whether no earlier operation wrote a file from a position on.
    fn is_new(&self, file: Inode, operation: usize, position: u64) -> bool {
        let earlier = &self.recording.operations[..operation];
        !earlier.iter().any(|logged| match logged.operation {
            Operation::Write {
                inode,
                offset,
                length,
                ..
            } => inode == file && offset + length > position,
            _ => false,
        })
    }
}

impl Iterator for Exploration<'_> {
    type Item = CrashState;

    fn next(&mut self) -> Option<CrashState> {
        loop {
            if let Some(state) = self.ready.pop_front() {
                return Some(state);
            }
            self.visit()?;
        }
    }
}

/// Groups all cuts by what happened before and after, rarest kinds not later than common ones. The
/// first are acknowledged commits while another file has data that are not flushed.
fn classes(
    recording: &Recording,
    kinds: &FileKinds,
    flushes: &Flushes,
    commits: &[Vec<Commit>],
    seed: u64,
) -> VecDeque<Class> {
    let mut groups: BTreeMap<(bool, usize, String), Vec<usize>> = BTreeMap::new();
    let mut first_seen: HashMap<String, usize> = HashMap::new();
    let acknowledged: std::collections::HashSet<u64> = commits
        .iter()
        .flatten()
        .filter(|commit| commit.acknowledged.is_some())
        .map(|commit| commit.operation)
        .collect();
    let last = recording.operations.len();
    // Until the first commit nothing is promised: a database that is half made is made again.
    let first = acknowledged.iter().min().copied().unwrap_or_default() as usize;
    for cut in first.max(recording.base + 1)..=last {
        let after = if cut == last {
            "end".to_owned()
        } else {
            kinds.describe(recording, cut)
        };
        let acknowledged = acknowledged
            .contains(&(cut as u64))
            .then(|| kinds.pending_elsewhere(recording, flushes, cut));
        let before = kinds.describe(recording, cut - 1);
        let phase = recording.operations[cut - 1].phase;
        let kind = format!("{phase} {before} {after} {acknowledged:?}");
        let first = *first_seen.entry(kind.clone()).or_insert(cut);
        let is_usual = acknowledged.is_none_or(|pending| pending.is_empty());
        let group = groups.entry((is_usual, first, kind));
        group.or_default().push(cut);
    }
    let shuffled = groups.into_values().map(|mut cuts| {
        cuts.sort_by_key(|cut| mix(&[seed, *cut as u64]));
        Class { cuts: cuts.into() }
    });
    shuffled.collect()
}

/// The kind of each file: its name without digits, and its regions' numbers if it has any.
struct FileKinds {
    names: HashMap<Inode, String>,
    region_bytes: Option<u64>,
}

impl FileKinds {
    fn of(recording: &Recording, region_bytes: Option<u64>) -> Self {
        let mut names = HashMap::new();
        for logged in &recording.operations {
            match &logged.operation {
                Operation::Create { inode, entry, .. } => {
                    names.insert(*inode, without_digits(&entry.name));
                }
                Operation::Rename { inode, to, .. } => {
                    let name = names.entry(*inode).or_insert_with(String::new);
                    let renamed = without_digits(&to.name);
                    if *name != renamed && !name.contains('>') {
                        *name = format!("{name}>{renamed}");
                    }
                }
                _ => {}
            }
        }
        Self {
            names,
            region_bytes,
        }
    }

    /// Names the kinds of files with data that no flush covers at a cut, without the file that was
    /// flushed last. A commit that flushes the wrong one of two logs is rare among all others.
    fn pending_elsewhere(
        &self,
        recording: &Recording,
        flushes: &Flushes,
        cut: usize,
    ) -> BTreeSet<&str> {
        let earlier = recording.operations[..cut].iter().rev();
        let flushed = earlier
            .map(|logged| &logged.operation)
            .find_map(|one| matches!(one, Operation::Flush { .. }).then(|| subject(one)));
        let pending = flushes.pending(recording, cut).into_iter();
        pending
            .filter(|change| matches!(change, PendingChange::Write { .. }))
            .map(|change| change.inode())
            .filter(|inode| Some(*inode) != flushed)
            .map(|inode| self.names.get(&inode).map_or("", String::as_str))
            .collect()
    }

    fn describe(&self, recording: &Recording, index: usize) -> String {
        let operation = &recording.operations[index].operation;
        let name = self.names.get(&subject(operation));
        let verb = match operation {
            Operation::Create { .. } => "create",
            Operation::Write { offset: 0, .. } => "write-first",
            Operation::Write { .. } => "write",
            Operation::Truncate { .. } => "truncate",
            Operation::Allocate { .. } => "allocate",
            Operation::Link { .. } => "link",
            Operation::Unlink { .. } | Operation::RemoveDirectory { .. } => "remove",
            Operation::Rename { .. } => "rename",
            Operation::SetAccess { .. } => "access",
            Operation::Flush {
                extent: FlushExtent::Ranges(_),
                ..
            } => "flush-part",
            Operation::Flush { .. } => "flush",
            Operation::FlushAll { .. } => "flush-all",
            Operation::FlushDirectory { .. } => "flush-directory",
        };
        let name = name.map_or("", String::as_str);
        match *operation {
            Operation::Write { offset, .. } if self.region_bytes.is_some() => {
                format!("{verb}:{name}@{}", region(offset, self.region_bytes))
            }
            _ => format!("{verb}:{name}"),
        }
    }
}

/// Returns the region of a file in which a byte lies; 0 if it has no regions.
fn region(offset: u64, region_bytes: Option<u64>) -> u64 {
    region_bytes.map_or(0, |bytes| offset / bytes)
}

fn without_digits(name: &str) -> String {
    name.replace(|c: char| c.is_ascii_digit(), "#")
}
