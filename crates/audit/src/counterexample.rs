//! Counterexamples: made small, and put into words.

use crate::flush_scope::{Reading, is_unknown};
use crate::guarantee::Guarantee;
use crate::history::AcknowledgedCommits;
use crate::image::PAGE_BYTES;
use crate::pending::Flushes;
use crate::recorded::RecordedWorkload;
use crate::state_judge::StateJudge;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use trueput_faultfs::operation::{Entry, FlushCause, Inode, Operation};
use trueput_record::audit::{CrashState, Damage, RecoveryCrash, StorageModel, TornRest};

/// The states that are tried to make a counterexample smaller.
const MAX_ATTEMPTS: u32 = 60;

/// The time after which no further attempt to make it smaller begins. It is for all attempts with
/// an embedded engine on a busy machine, and for some with a server.
const SHRINK_TIMEOUT: Duration = Duration::from_secs(60);

/// The lines of a description.
const MAX_LINES: usize = 8;

/// The flushes that are named.
const MAX_UNKNOWN: usize = 3;

/// Restores what need not be missing, as long as the same kind of damage shows (delta debugging,
/// Zeller and Hildebrandt 2002).
pub(crate) fn shrink(
    judge: &StateJudge<'_>,
    recorded: &RecordedWorkload,
    (model, reading): (StorageModel, Reading),
    guarantee: Guarantee,
    (mut state, mut damage): (CrashState, Damage),
) -> (CrashState, Damage) {
    let is_device = judge.options.file_system.is_some();
    let flushes = Flushes::of(&recorded.recording, model, is_device, reading);
    let began = Instant::now();
    let mut attempts = 0;
    let mut parts = 2;
    // If nothing need be missing, the cut alone is the counterexample.
    let whole = CrashState {
        cut: state.cut,
        ..CrashState::default()
    };
    if state.losses() > 0
        && let Ok(Some(inspection)) = judge.inspect(&judge.image(&whole))
        && let Some(found) = judge.judge(&whole, &inspection, guarantee)
        && found.kind == damage.kind
    {
        return (whole, found);
    }
    while attempts < MAX_ATTEMPTS && state.losses() > 1 {
        let losses = state.losses();
        let size = losses.div_ceil(parts);
        let mut is_smaller = false;
        for start in (0..losses).step_by(size) {
            let mut candidate = without(&state, start..(start + size).min(losses));
            flushes.complete(&recorded.recording, &mut candidate);
            if candidate.losses() == 0 || candidate.losses() >= losses {
                continue;
            }
            if attempts >= MAX_ATTEMPTS || began.elapsed() >= SHRINK_TIMEOUT {
                return (state, damage);
            }
            attempts += 1;
            let Ok(Some(inspection)) = judge.inspect(&judge.image(&candidate)) else {
                return (state, damage);
            };
            if let Some(found) = judge.judge(&candidate, &inspection, guarantee)
                && found.kind == damage.kind
            {
                (state, damage) = (candidate, found);
                is_smaller = true;
                break;
            }
        }
        if is_smaller {
            parts = parts.saturating_sub(1).max(2);
        } else if size == 1 {
            break;
        } else {
            parts *= 2;
        }
    }
    (state, damage)
}

/// Returns the state without some of its losses: they have persisted.
fn without(state: &CrashState, restored: std::ops::Range<usize>) -> CrashState {
    let mut index = 0;
    let mut is_kept = || {
        index += 1;
        !restored.contains(&(index - 1))
    };
    let mut smaller = state.clone();
    smaller.lost_pages.retain(|_| is_kept());
    smaller.lost_operations.retain(|_| is_kept());
    smaller.tear = smaller.tear.filter(|_| is_kept());
    smaller
}

/// Describes what a state lacks, one line each, and the moment of its cut.
pub(crate) fn describe(recorded: &RecordedWorkload, state: &CrashState) -> Vec<String> {
    let description = Description {
        recorded,
        names: names(recorded, state.cut),
    };
    let mut lines = Vec::new();
    if let Some(tear) = &state.tear {
        let rest = match tear.rest {
            TornRest::Old => "the rest is old",
            TornRest::Zero => "the rest is zeros",
            TornRest::Garbage => "the rest is garbage",
        };
        let write = description.operation(tear.operation);
        lines.push(format!(
            "only the first {} bytes of {write} persisted; {rest}",
            tear.persisted
        ));
    }
    lines.extend(description.lost_writes(state));
    let named = state
        .lost_operations
        .iter()
        .filter(|index| !description.is_write(**index));
    lines.extend(named.map(|index| format!("missing: {}", description.operation(*index))));
    let more = lines.len().saturating_sub(MAX_LINES);
    if more > 0 {
        lines.truncate(MAX_LINES);
        lines.push(format!("and {more} more changes are missing"));
    }
    if lines.is_empty() {
        lines.push("nothing is missing that came before the cut".to_owned());
    }
    lines.push(description.cut(state.cut));
    lines
}

/// Describes the flushes on which it depends whether a state can be: those before its cut that came
/// after something it lacks, and of which nobody knows the part.
pub(crate) fn describe_unknown(recorded: &RecordedWorkload, state: &CrashState) -> Vec<String> {
    let description = Description {
        recorded,
        names: names(recorded, state.cut),
    };
    let operations = &recorded.recording.operations;
    let pages = state.lost_pages.iter().map(|page| page.from);
    let lost = pages.chain(state.lost_operations.iter().copied());
    let first = lost.min().unwrap_or(recorded.recording.base);
    let unknown = (first..state.cut).filter(|index| is_unknown(&operations[*index].operation));
    let mut lines: Vec<_> = unknown
        .map(|index| description.unknown_flush(index))
        .collect();
    // Those of one file and one call differ only by their moment.
    let more = lines.len().saturating_sub(MAX_UNKNOWN);
    lines.truncate(MAX_UNKNOWN);
    if more > 0 {
        lines.push(format!("and {more} more flushes"));
    }
    lines
}

/// Describes the crash of a recovery.
pub(crate) fn describe_recovery(crash: &RecoveryCrash) -> String {
    let losses = match crash.state.losses() {
        0 => "nothing before it is missing".to_owned(),
        losses => format!("{losses} of its changes that no flush had covered are missing"),
    };
    let operations = crash.operations;
    format!("recovery, {operations} operations long, was cut; {losses}")
}

fn by(cause: FlushCause) -> &'static str {
    match cause {
        FlushCause::IoUring => " by io_uring",
        FlushCause::Unannounced => " by a thread whose calls were not seen",
        FlushCause::Msync => " by msync over several mappings",
        FlushCause::Unwatched => " by fdatasync or msync, which were not watched",
        _ => "",
    }
}

struct Description<'a> {
    recorded: &'a RecordedWorkload,
    names: BTreeMap<Inode, String>,
}

impl Description<'_> {
    fn name(&self, inode: Inode) -> &str {
        self.names.get(&inode).map_or("a file", String::as_str)
    }

    fn is_write(&self, index: usize) -> bool {
        let operation = &self.recorded.recording.operations[index].operation;
        matches!(operation, Operation::Write { .. })
    }

    /// Describes lost pages, those of one write together.
    fn lost_writes(&self, state: &CrashState) -> Vec<String> {
        let mut by_write: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for page in &state.lost_pages {
            by_write.entry(page.from).or_default().push(page.page);
        }
        let lines = by_write.into_iter().map(|(index, pages)| {
            let operation = &self.recorded.recording.operations[index].operation;
            let Operation::Write {
                inode,
                offset,
                length,
                ..
            } = operation
            else {
                return String::new();
            };
            let first = pages.iter().min().copied().unwrap_or_default() * PAGE_BYTES;
            let last = pages.iter().max().copied().unwrap_or_default() * PAGE_BYTES;
            let start = first.max(*offset);
            let end = (last + PAGE_BYTES).min(offset + length);
            format!(
                "missing: {} bytes at {start} of {}, written {} and not flushed before the cut",
                end.saturating_sub(start),
                self.name(*inode),
                self.moment(index),
            )
        });
        lines.collect()
    }

    fn operation(&self, index: usize) -> String {
        let moment = self.moment(index);
        let path = |entry: &Entry| entry.name.clone();
        let text = match &self.recorded.recording.operations[index].operation {
            Operation::Create { entry, .. } => format!("the new name {}", path(entry)),
            Operation::Write {
                inode,
                offset,
                length,
                ..
            } => format!("{length} bytes at {offset} of {}", self.name(*inode)),
            Operation::Truncate { inode, size } => {
                format!("the size {size} of {}", self.name(*inode))
            }
            Operation::Allocate { inode, .. } => {
                format!("an allocation in {}", self.name(*inode))
            }
            Operation::Link { entry, .. } => format!("the link {}", path(entry)),
            Operation::Unlink { entry, .. } => format!("the removal of {}", path(entry)),
            Operation::RemoveDirectory { entry, .. } => {
                format!("the removal of the directory {}", path(entry))
            }
            Operation::Rename { from, to, .. } => {
                format!("the renaming of {} to {}", path(from), path(to))
            }
            Operation::SetAccess { inode, .. } => {
                format!("the permissions of {}", self.name(*inode))
            }
            Operation::Flush { inode, .. } => format!("a flush of {}", self.name(*inode)),
            Operation::FlushAll { .. } => "a flush of the file system".to_owned(),
            Operation::FlushDirectory { .. } => "a flush of a directory".to_owned(),
        };
        format!("{text}, {moment}")
    }

    /// Names a flush of which nobody knows the part that it covers, with its call.
    fn unknown_flush(&self, index: usize) -> String {
        let operation = &self.recorded.recording.operations[index].operation;
        let (name, by) = match operation {
            Operation::Flush { inode, cause, .. } => (self.name(*inode), by(*cause)),
            _ => ("a file", ""),
        };
        let moment = self.moment(index);
        let line = index + 1;
        format!("the flush of {name}{by}, {moment} (line {line} of operations.jsonl)")
    }

    /// Describes a moment by the last commit that was acknowledged before it.
    fn moment(&self, index: usize) -> String {
        let demand = AcknowledgedCommits::at(&self.recorded.commits, index as u64);
        let workers = demand.acknowledged.iter().enumerate();
        let last = workers
            .filter_map(|(worker, count)| {
                let commit = self.recorded.commits[worker].get(count.checked_sub(1)? as usize)?;
                Some((commit.acknowledged?, worker, *count))
            })
            .max();
        match last {
            Some((_, worker, count)) => {
                format!("after commit {count} of worker {worker} was acknowledged")
            }
            None => "before the first commit was acknowledged".to_owned(),
        }
    }

    fn cut(&self, cut: usize) -> String {
        let moment = self.moment(cut);
        format!("cut: {moment}, before line {} of operations.jsonl", cut + 1)
    }
}

/// The names of files at a cut, or their last names.
fn names(recorded: &RecordedWorkload, cut: usize) -> BTreeMap<Inode, String> {
    let mut names = BTreeMap::new();
    for logged in &recorded.recording.operations[..cut] {
        match &logged.operation {
            Operation::Create { inode, entry, .. } | Operation::Link { inode, entry } => {
                names.insert(*inode, entry.name.clone());
            }
            Operation::Rename { inode, to, .. } => {
                names.insert(*inode, to.name.clone());
            }
            _ => {}
        }
    }
    names
}
