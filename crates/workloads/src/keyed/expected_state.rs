//! The valid final content of the database. Each worker's operations are a function of the seed, so
//! they are drawn again here, as many as the worker reports.

use super::draws::ValueLengths;
use super::inserts::InsertNumbers;
use super::partition::Partitions;
use super::read_check::{ReadCounts, ReadFault, RecordState};
use super::record::RecordMaker;
use super::versions::{FIRST_VERSION, MAX_NUMBER, TrialVersions};
use super::write_tracker::{RecordSample, TrialWrites, WriteKnowledge, WriteTable, WriteTracker};
use crate::{ExecutionSummary, JobDatabase, JobTask, Result, WorkerFindings, finding};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// The worker's number, in its findings.
const WORKER: &str = "worker";
/// The units of work that it has done.
pub(crate) const DONE: &str = "done";
/// Its knowledge of others' writes.
pub(super) const KNOWLEDGE: &str = "knowledge";
/// Whether there were too many unsettled records to list.
const OVERFLOWED: &str = "too_many_unsettled";
/// Followed by the number of an unsettled record.
const UNSETTLED: &str = "unsettled.";

/// At least one worker's last write of a record was an update.
const ENDS_IN_UPDATE: u8 = 1;
/// At least one worker's last write of a record was a delete.
const ENDS_IN_DELETE: u8 = 2;

/// Set in a worker's own count where its last write was a delete.
const DELETED: u32 = 1 << 31;

/// The writes of one worker, drawn again in their order.
pub(crate) trait WriteStream {
    /// Draws the next unit of work, as the findings count units, and passes its writes on,
    /// except inserts: each record, and whether it is deleted. A record that was not loaded is only
    /// deleted, by the worker that inserted it.
    fn next_writes(&mut self, visit: &mut dyn FnMut(u64, bool));

    /// The number of inserts drawn so far.
    fn inserted(&self) -> u64;
}

/// A job whose writes are a function of its settings and the seed, so that verification knows the
/// legal final states.
pub(crate) trait ReplayableJob {
    /// The operations of a worker, as they are drawn.
    type Draws: WriteStream;
    /// The lengths of values.
    type Lengths: ValueLengths;

    /// Records that are loaded or filled.
    fn records(&self) -> u64;

    /// Those of them that are there at first.
    fn records_at_first(&self) -> u64 {
        self.records()
    }

    /// The workers that update or delete records which others may meet, by their indexes.
    fn mutators(&self, workers: u32) -> Range<u32>;

    /// Whether records are taken out.
    fn deletes(&self) -> bool;

    /// Whether records beyond the loaded ones are inserted.
    fn inserts(&self) -> bool;

    /// Whether the trial itself fills an empty database.
    fn fills(&self) -> bool;

    /// Whether a record below [`ReplayableJob::records`] is not there at first. Its writes are
    /// numbered as if it had been deleted, so [`ReplayableJob::deletes`] holds if there is one.
    fn is_absent_at_first(&self, _item: u64) -> bool {
        false
    }

    /// Whether each write reads its record and bears the number after the one that it read, so
    /// that the last number is the count of the writes unless one was lost.
    fn counts_writes(&self) -> bool;

    /// The partitions in which the keys of each worker's records lie together; `None` if the keys
    /// of all records are in the order of their numbers.
    fn partitions(&self, _workers: u32) -> Option<Partitions> {
        None
    }

    /// The generator of a seed's records, not in partitions yet.
    ///
    /// # Errors
    /// The values' parameters do not fit.
    fn maker(&self, seed: u64) -> Result<RecordMaker<Self::Lengths>>;

    /// The operations of a worker, from the first on.
    ///
    /// # Errors
    /// The distribution does not fit the records.
    fn stream(&self, seed: u64, generation: u32, worker: u32, workers: u32) -> Result<Self::Draws>;
}

/// The legal final states.
pub(crate) struct ExpectedState {
    versions: TrialVersions,
    records: u64,
    sample: RecordSample,
    workers: u32,
    /// Updates and deletes of each record of the sample; empty where no worker does any.
    totals: Vec<u32>,
    /// The same by worker, where each numbered its own: several processes that write.
    own: Vec<Vec<u32>>,
    /// For each record, how the workers' last writes ended; empty if no worker deletes.
    ends: Vec<u8>,
    /// Records that each worker inserted.
    inserted: Vec<u64>,
    /// Inserted records that were deleted.
    removed: HashSet<u64>,
    /// Records whose last write met another under way, with the least number that they may bear.
    unsettled: BTreeMap<u64, u32>,
    /// Whether there were too many to list, so that any record may be one.
    overflowed: bool,
    /// Whether the last number of a record is the count of its writes.
    is_counted: bool,
}

impl ExpectedState {
    /// Draws all operations again.
    ///
    /// # Errors
    /// If a stream cannot be created.
    pub(crate) fn replay(
        job: &impl ReplayableJob,
        target: &JobDatabase<'_>,
        ended: &ExecutionSummary,
    ) -> Result<Self> {
        let sample = RecordSample::new(ended.verify, job.records());
        let mutators = job.mutators(target.workers);
        let is_mutator = |findings: &&WorkerFindings| mutators.contains(&worker(findings));
        let is_counted = job.counts_writes();
        let knows_all =
            |findings: &WorkerFindings| finding(findings, KNOWLEDGE) == WriteKnowledge::All as u64;
        let mut writers = ended.findings.iter().filter(is_mutator);
        let shared = is_counted || writers.all(knows_all);
        let all = usize::try_from(job.records()).unwrap_or(usize::MAX);
        let room = |wanted: bool, length: usize| if wanted { length } else { 0 };
        let mut expected = Self {
            versions: TrialVersions::new(target.generation),
            records: job.records(),
            sample,
            workers: target.workers,
            totals: vec![0; room(!mutators.is_empty(), sample.len())],
            own: Vec::new(),
            ends: vec![0; room(job.deletes(), all)],
            inserted: vec![0; target.workers as usize],
            removed: HashSet::new(),
            unsettled: BTreeMap::new(),
            overflowed: false,
            is_counted,
        };
        // Without deletes every record is there at first.
        let all = 0..if job.deletes() { job.records() } else { 0 };
        let absent: Vec<u64> = all.filter(|item| job.is_absent_at_first(*item)).collect();
        for place in absent.iter().filter_map(|item| sample.place(*item)) {
            expected.totals[place] = 1;
        }
        for findings in &ended.findings {
            let replayed = mutators.contains(&worker(findings)) || job.inserts();
            if replayed {
                expected.add(job, target, findings, (shared, &absent))?;
            }
        }
        for item in absent {
            let end = &mut expected.ends[item as usize];
            *end = if *end == 0 { ENDS_IN_DELETE } else { *end };
        }
        Ok(expected)
    }

    fn add(
        &mut self,
        job: &impl ReplayableJob,
        target: &JobDatabase<'_>,
        findings: &WorkerFindings,
        (shared, absent): (bool, &[u64]),
    ) -> Result<()> {
        let worker = worker(findings);
        let (seed, generation) = (target.seed, target.generation);
        let mut stream = job.stream(seed, generation, worker, target.workers)?;
        let mut own = vec![0; if shared { 0 } else { self.totals.len() }];
        for place in absent.iter().filter_map(|item| self.sample.place(*item)) {
            if let Some(own) = own.get_mut(place) {
                *own = 1 | DELETED;
            }
        }
        let mut ends = vec![0; self.ends.len()];
        for _ in 0..finding(findings, DONE) {
            stream.next_writes(&mut |item, deletes| {
                if item >= self.records {
                    self.removed.insert(item);
                    return;
                }
                if let Some(end) = ends.get_mut(item as usize) {
                    *end = if deletes {
                        ENDS_IN_DELETE
                    } else {
                        ENDS_IN_UPDATE
                    };
                }
                let Some(place) = self.sample.place(item) else {
                    return;
                };
                self.totals[place] = self.totals[place].saturating_add(1);
                if let Some(own) = own.get_mut(place) {
                    let deleted = if deletes { DELETED } else { 0 };
                    *own = (*own & !DELETED).saturating_add(1).min(!DELETED) | deleted;
                }
            });
        }
        self.ends
            .iter_mut()
            .zip(ends)
            .for_each(|(all, one)| *all |= one);
        if !shared {
            self.own.push(own);
        }
        if let Some(inserted) = self.inserted.get_mut(worker as usize) {
            *inserted = stream.inserted();
        }
        self.overflowed |= finding(findings, OVERFLOWED) > 0;
        for (name, floor) in findings {
            let item = name.strip_prefix(UNSETTLED);
            if let Some(item) = item.and_then(|item| item.parse().ok()) {
                let least = self.unsettled.entry(item).or_insert(0);
                *least = (*least).max(u32::try_from(*floor).unwrap_or(u32::MAX));
            }
        }
        Ok(())
    }

    /// Records that workers inserted.
    pub(crate) fn inserted(&self) -> u64 {
        self.inserted.iter().sum()
    }

    /// Records that workers inserted and did not delete.
    pub(crate) fn remaining_inserts(&self) -> u64 {
        self.inserted() - self.removed.len() as u64
    }

    /// Records whose final version is not known exactly.
    pub(crate) fn unsettled(&self) -> usize {
        if self.is_counted {
            return 0;
        }
        self.unsettled.len()
    }

    /// Whether no record's final version can be determined exactly.
    pub(crate) fn is_inexact(&self) -> bool {
        self.overflowed && !self.is_counted
    }

    /// Whether the versions of a record are followed.
    pub(crate) fn is_tracked(&self, item: u64) -> bool {
        item >= self.records || self.sample.place(item).is_some()
    }

    /// Checks whether a record may be absent.
    pub(crate) fn check_absence(&self, item: u64) -> Result<(), ReadFault> {
        let ends = self.ends.get(item as usize).copied().unwrap_or(0);
        if ends & ENDS_IN_DELETE > 0 {
            Ok(())
        } else {
            Err(ReadFault::Lost)
        }
    }

    /// Checks whether a record may be there.
    pub(crate) fn check_presence(&self, item: u64) -> Result<(), ReadFault> {
        let legal = match InsertNumbers::origin(item, self.records, self.workers) {
            Some((worker, nth)) => {
                let was_inserted = self.inserted.get(worker).is_some_and(|count| nth < *count);
                was_inserted && !self.removed.contains(&item)
            }
            None => self.ends.get(item as usize) != Some(&ENDS_IN_DELETE),
        };
        if legal {
            Ok(())
        } else {
            Err(ReadFault::Unexpected)
        }
    }

    /// Checks the version of an existing record.
    pub(crate) fn check_version(&self, item: u64, state: RecordState) -> Result<(), ReadFault> {
        let version = match state {
            RecordState::Version(version) => version,
            RecordState::Absent => return self.check_absence(item),
            RecordState::Foreign => return Err(ReadFault::Foreign),
        };
        if item >= self.records {
            return if version == FIRST_VERSION {
                Ok(())
            } else {
                Err(ReadFault::Unwritten)
            };
        }
        let number = self.versions.number(version);
        let number = number.ok_or(ReadFault::Unwritten)?;
        let Some(place) = self.sample.place(item) else {
            return Ok(());
        };
        match self.totals.get(place).copied().unwrap_or(0).min(MAX_NUMBER) {
            0 if number == 0 => Ok(()),
            0 => Err(ReadFault::Unwritten),
            _ if number == 0 => Err(ReadFault::Stale),
            _ if !self.own.is_empty() => self.check_own_number(place, number),
            total => self.check_number(item, number, total),
        }
    }

    /// Checks a number if all writes of a record are numbered together.
    fn check_number(&self, item: u64, number: u32, total: u32) -> Result<(), ReadFault> {
        let least = match self.unsettled.get(&item) {
            _ if self.is_counted => total,
            Some(floor) => (*floor).clamp(1, total),
            None if self.overflowed => 1,
            None => total,
        };
        match number {
            _ if number < least => Err(ReadFault::Stale),
            _ if number > total => Err(ReadFault::Unwritten),
            _ => Ok(()),
        }
    }

    /// Checks a number if each writer numbers its own writes: the last write of all is the last one
    /// of some writer.
    fn check_own_number(&self, place: usize, number: u32) -> Result<(), ReadFault> {
        let last =
            |own: &Vec<u32>| own[place] & DELETED == 0 && own[place].min(MAX_NUMBER) == number;
        if self.own.iter().any(last) {
            Ok(())
        } else {
            Err(ReadFault::Stale)
        }
    }
}

/// The tracker of the writes that one worker knows of.
pub(crate) fn tracker_of<'t>(
    job: &impl ReplayableJob,
    table: Option<&'t WriteTable>,
    task: &JobTask<'_>,
) -> WriteTracker<'t> {
    let mutators = job.mutators(task.workers);
    let knowledge = WriteKnowledge::of(task.worker_kind, task.worker, &mutators);
    let trial = TrialWrites {
        versions: TrialVersions::new(task.generation),
        records: job.records(),
        mutates: !mutators.is_empty(),
        deletes: job.deletes(),
    };
    WriteTracker::new(table, knowledge, trial)
}

/// What a worker that has done `done` units of work reports for [`ExpectedState::replay`]; nothing
/// where reads are not checked.
pub(crate) fn worker_findings(
    task: &JobTask<'_>,
    done: u64,
    reads: &ReadCounts,
    tracker: WriteTracker<'_>,
) -> WorkerFindings {
    let mut findings = WorkerFindings::new();
    if !task.verifies_reads() {
        return findings;
    }
    findings.insert(WORKER.to_owned(), task.worker.into());
    findings.insert(DONE.to_owned(), done);
    findings.insert(KNOWLEDGE.to_owned(), tracker.knowledge() as u64);
    reads.write(&mut findings);
    match tracker.into_unsettled() {
        Some(unsettled) => findings.extend(
            unsettled
                .into_iter()
                .map(|(item, floor)| (format!("{UNSETTLED}{item}"), floor.into())),
        ),
        None => {
            findings.insert(OVERFLOWED.to_owned(), 1);
        }
    }
    findings
}

/// The number of the worker whose findings these are.
pub(crate) fn worker(findings: &WorkerFindings) -> u32 {
    u32::try_from(finding(findings, WORKER)).unwrap_or(u32::MAX)
}
