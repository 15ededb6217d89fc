//! The history of an audit: when each commit began and when it was acknowledged.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use trueput_host::shared_counters::SharedCounters;
use trueput_record::regular_file;

/// The words before the first slot: the counter of events.
const HEADER_WORDS: usize = 1;
const SLOT_WORDS: usize = 3;
const BEGUN: usize = 0;
const ACKNOWLEDGED: usize = 1;
const ACKNOWLEDGED_OPERATION: usize = 2;
const WORD_BYTES: usize = size_of::<u64>();

/// Bytes behind the last slot that a file may have.
const SPARE_BYTES: u64 = 4096;

/// One commit of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Commit {
    /// The event at which its transaction began; events are numbered from 1 on, over all workers.
    pub(crate) begun: u64,
    /// The event at which it was acknowledged; `None` if it was not.
    pub(crate) acknowledged: Option<u64>,
    /// The operations that had been logged when it was acknowledged.
    pub(crate) operation: u64,
}

/// The history in a file, to which workers write while it is mapped: it outlives their process.
pub(crate) struct History {
    words: SharedCounters,
    workers: u32,
    /// The most commits of one worker.
    capacity: u64,
}

impl History {
    fn words(workers: u32, capacity: u64) -> usize {
        HEADER_WORDS + workers as usize * capacity as usize * SLOT_WORDS
    }

    pub(crate) fn create(path: &Path, workers: u32, capacity: u64) -> io::Result<Self> {
        let words = SharedCounters::create(path, Self::words(workers, capacity))?;
        Ok(Self {
            words,
            workers,
            capacity,
        })
    }

    pub(crate) fn open(path: &Path, workers: u32, capacity: u64) -> io::Result<Self> {
        let words = SharedCounters::open(path, Self::words(workers, capacity))?;
        Ok(Self {
            words,
            workers,
            capacity,
        })
    }

    /// Reads the commits of each worker from the file of a folder of unknown origin.
    ///
    /// # Errors
    /// If the file cannot be read, or is shorter than the history of so many workers and commits.
    pub(crate) fn read(
        folder: &Path,
        within: &Path,
        workers: u32,
        capacity: u64,
    ) -> io::Result<Vec<Vec<Commit>>> {
        let bytes_needed = (Self::words(workers, capacity) * WORD_BYTES) as u64;
        let bytes = regular_file::read(folder, within, bytes_needed + SPARE_BYTES);
        let bytes = bytes.map_err(io::Error::other)?;
        let words: Vec<u64> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_ne_bytes(*word))
            .collect();
        if words.len() < Self::words(workers, capacity) {
            let path = folder.join(within);
            let reason = format!("{}: shorter than {bytes_needed} bytes", path.display());
            return Err(io::Error::other(reason));
        }
        let read = |index: usize| words.get(index).copied().unwrap_or_default();
        Ok(commits(workers, capacity, read))
    }

    fn slot(&self, worker: u32, sequence: u64) -> usize {
        slot(self.capacity, worker, sequence)
    }

    fn next_event(&self) -> u64 {
        self.words.get(0).fetch_add(1, SeqCst) + 1
    }

    /// Notes that a worker begins the transaction of that number.
    pub(crate) fn begin(&self, worker: u32, sequence: u64) {
        let slot = self.slot(worker, sequence);
        let event = self.next_event();
        self.words.get(slot + BEGUN).store(event, SeqCst);
    }

    /// Notes that the commit of that number was acknowledged.
    pub(crate) fn acknowledge(&self, worker: u32, sequence: u64, operation: u64) {
        let slot = self.slot(worker, sequence);
        self.words
            .get(slot + ACKNOWLEDGED_OPERATION)
            .store(operation, SeqCst);
        let event = self.next_event();
        self.words.get(slot + ACKNOWLEDGED).store(event, SeqCst);
    }

    /// Returns the number of events so far.
    pub(crate) fn events(&self) -> u64 {
        self.words.get(0).load(SeqCst)
    }

    /// Reads the commits of each worker, in order.
    pub(crate) fn commits(&self) -> Vec<Vec<Commit>> {
        let word = |index: usize| self.words.get(index).load(SeqCst);
        commits(self.workers, self.capacity, word)
    }
}

/// Returns the index of the first word of a commit.
fn slot(capacity: u64, worker: u32, sequence: u64) -> usize {
    let index = u64::from(worker) * capacity + (sequence - 1);
    HEADER_WORDS + index as usize * SLOT_WORDS
}

fn commits(workers: u32, capacity: u64, word: impl Fn(usize) -> u64) -> Vec<Vec<Commit>> {
    let of_worker = |worker| {
        let slots = (1..=capacity).map(|sequence| slot(capacity, worker, sequence));
        let commits = slots.map(|slot| {
            let acknowledged = word(slot + ACKNOWLEDGED);
            Commit {
                begun: word(slot + BEGUN),
                acknowledged: (acknowledged > 0).then_some(acknowledged),
                operation: word(slot + ACKNOWLEDGED_OPERATION),
            }
        });
        commits.take_while(|commit| commit.begun > 0).collect()
    };
    (0..workers).map(of_worker).collect()
}

/// The demands of a history on a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AcknowledgedCommits {
    /// By worker, the last commit that was acknowledged before the cut.
    pub(crate) acknowledged: Vec<u64>,
}

impl AcknowledgedCommits {
    /// Returns the demand at a cut, for commits that were acknowledged before it.
    pub(crate) fn at(commits: &[Vec<Commit>], cut: u64) -> Self {
        let last = |commits: &Vec<Commit>| {
            let acknowledged =
                |commit: &Commit| commit.acknowledged.is_some() && commit.operation <= cut;
            let last = commits.iter().rposition(acknowledged);
            last.map_or(0, |index| index as u64 + 1)
        };
        Self {
            acknowledged: commits.iter().map(last).collect(),
        }
    }
}

/// Finds a commit that is missing though a later one is there: `(missing, there)`, each a worker
/// and a number. A commit is later if its transaction began after the other was acknowledged.
pub(crate) fn broken_order(
    commits: &[Vec<Commit>],
    found: &[u64],
) -> Option<((u32, u64), (u32, u64))> {
    for (there, &last) in found.iter().enumerate() {
        let Some(index) = last.checked_sub(1) else {
            continue;
        };
        let Some(begun) = commits[there]
            .get(index as usize)
            .map(|commit| commit.begun)
        else {
            continue;
        };
        for (other, of_other) in commits.iter().enumerate() {
            let next = found[other];
            let missing = of_other.get(next as usize);
            let before = missing.and_then(|commit| commit.acknowledged);
            if before.is_some_and(|acknowledged| acknowledged < begun) {
                return Some(((other as u32, next + 1), (there as u32, last)));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(begun: u64, acknowledged: u64, operation: u64) -> Commit {
        Commit {
            begun,
            acknowledged: Some(acknowledged),
            operation,
        }
    }

    #[test]
    fn a_history_is_read_from_another_mapping() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let written = History::create(&path, 2, 10).unwrap();
        written.begin(1, 1);
        written.acknowledge(1, 1, 9);
        written.begin(1, 2);
        let read = History::open(&path, 2, 10).unwrap().commits();
        assert_eq!(read[0], []);
        assert_eq!(read[1][0], commit(1, 2, 9));
        assert_eq!(read[1][1].acknowledged, None);
    }

    #[test]
    fn a_cut_demands_what_was_acknowledged_before_it() {
        let commits = [vec![commit(1, 2, 10), commit(3, 4, 20)]];
        assert_eq!(AcknowledgedCommits::at(&commits, 9).acknowledged, [0]);
        assert_eq!(AcknowledgedCommits::at(&commits, 10).acknowledged, [1]);
        assert_eq!(AcknowledgedCommits::at(&commits, 99).acknowledged, [2]);
    }

    #[test]
    fn a_later_commit_without_an_earlier_one_breaks_the_order() {
        let commits = [
            vec![commit(1, 2, 0)],
            vec![commit(3, 5, 0), commit(6, 7, 0)],
        ];
        assert_eq!(broken_order(&commits, &[0, 1]), Some(((0, 1), (1, 1))));
        assert_eq!(broken_order(&commits, &[1, 2]), None);
        // Both ran at once: either may be there without the other.
        let together = [vec![commit(1, 4, 0)], vec![commit(2, 3, 0)]];
        assert_eq!(broken_order(&together, &[0, 1]), None);
    }
}
