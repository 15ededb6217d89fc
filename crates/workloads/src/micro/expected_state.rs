//! The valid final content of the database. Each worker's operations are a function of the seed, so
//! they are drawn again here, as many as the worker reports.

use super::config::MicroConfig;
use super::names;
use super::operation_stream::{InsertNumbers, Operation, OperationStream};
use crate::keyed::read_check::{ReadFault, RecordState};
use crate::keyed::write_tracker::{MAX_NUMBER, RecordSample, WriteKnowledge, version_parts};
use crate::{ExecutionSummary, JobDatabase, Result, WorkerFindings, finding};
use std::collections::BTreeMap;

/// At least one worker's last write of a record was an update.
const ENDS_IN_UPDATE: u8 = 1;
/// At least one worker's last write of a record was a delete.
const ENDS_IN_DELETE: u8 = 2;

/// Set in a worker's own count where its last write was a delete.
const DELETED: u32 = 1 << 31;

/// The legal final states.
pub(super) struct ExpectedState {
    generation: u32,
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
    /// Records whose last write met another under way, with the least number that they may bear.
    unsettled: BTreeMap<u64, u32>,
    /// Whether there were too many to list, so that any record may be one.
    overflowed: bool,
}

impl ExpectedState {
    /// Draws all operations again.
    ///
    /// # Errors
    /// If a stream cannot be created.
    pub(super) fn replay(
        config: &MicroConfig,
        target: &JobDatabase<'_>,
        ended: &ExecutionSummary,
    ) -> Result<Self> {
        let sample = RecordSample::new(ended.verify, config.records);
        let mutators = config.mutators(target.workers);
        let is_mutator = |findings: &&WorkerFindings| mutators.contains(&worker(findings));
        let shared = ended
            .findings
            .iter()
            .filter(is_mutator)
            .all(|findings| finding(findings, names::KNOWLEDGE) == WriteKnowledge::All as u64);
        let all = usize::try_from(config.records).unwrap_or(usize::MAX);
        let room = |wanted: bool, length: usize| if wanted { length } else { 0 };
        let mut expected = Self {
            generation: target.generation,
            records: config.records,
            sample,
            workers: target.workers,
            totals: vec![0; room(!mutators.is_empty(), sample.len())],
            own: Vec::new(),
            ends: vec![0; room(config.deletes(), all)],
            inserted: vec![0; target.workers as usize],
            unsettled: BTreeMap::new(),
            overflowed: false,
        };
        for findings in &ended.findings {
            let replayed = mutators.contains(&worker(findings)) || config.inserts();
            if replayed {
                expected.add(config, target, findings, shared)?;
            }
        }
        Ok(expected)
    }

    fn add(
        &mut self,
        config: &MicroConfig,
        target: &JobDatabase<'_>,
        findings: &WorkerFindings,
        shared: bool,
    ) -> Result<()> {
        let worker = worker(findings);
        let (seed, generation) = (target.seed, target.generation);
        let mut stream = OperationStream::new(config, seed, generation, worker, target.workers)?;
        let mut own = vec![0; if shared { 0 } else { self.totals.len() }];
        let mut ends = vec![0; self.ends.len()];
        for _ in 0..finding(findings, names::DONE) {
            let step = stream.next_operation();
            let deletes = match step.operation {
                Operation::Update => false,
                Operation::Delete => true,
                _ => continue,
            };
            if let Some(end) = ends.get_mut(step.item as usize) {
                *end = if deletes {
                    ENDS_IN_DELETE
                } else {
                    ENDS_IN_UPDATE
                };
            }
            let Some(place) = self.sample.place(step.item) else {
                continue;
            };
            self.totals[place] = self.totals[place].saturating_add(1);
            if let Some(own) = own.get_mut(place) {
                let deleted = if deletes { DELETED } else { 0 };
                *own = (*own & !DELETED).saturating_add(1).min(!DELETED) | deleted;
            }
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
        self.overflowed |= finding(findings, names::OVERFLOWED) > 0;
        for (name, floor) in findings {
            let item = name.strip_prefix(names::UNSETTLED);
            if let Some(item) = item.and_then(|item| item.parse().ok()) {
                let least = self.unsettled.entry(item).or_insert(0);
                *least = (*least).max(u32::try_from(*floor).unwrap_or(u32::MAX));
            }
        }
        Ok(())
    }

    /// Records that workers inserted.
    pub(super) fn inserted(&self) -> u64 {
        self.inserted.iter().sum()
    }

    /// Records whose final version is not known exactly.
    pub(super) fn unsettled(&self) -> usize {
        self.unsettled.len()
    }

    /// Whether no record's final version can be determined exactly.
    pub(super) fn is_inexact(&self) -> bool {
        self.overflowed
    }

    /// Whether the versions of a record are followed.
    pub(super) fn is_tracked(&self, item: u64) -> bool {
        item >= self.records || self.sample.place(item).is_some()
    }

    /// Checks whether a record may be absent.
    pub(super) fn check_absence(&self, item: u64) -> Result<(), ReadFault> {
        let ends = self.ends.get(item as usize).copied().unwrap_or(0);
        if ends & ENDS_IN_DELETE > 0 {
            Ok(())
        } else {
            Err(ReadFault::Lost)
        }
    }

    /// Checks whether a record may be there.
    pub(super) fn check_presence(&self, item: u64) -> Result<(), ReadFault> {
        let legal = match InsertNumbers::origin(item, self.records, self.workers) {
            Some((worker, nth)) => self.inserted.get(worker).is_some_and(|count| nth < *count),
            None => self.ends.get(item as usize) != Some(&ENDS_IN_DELETE),
        };
        if legal {
            Ok(())
        } else {
            Err(ReadFault::Unexpected)
        }
    }

    /// Checks the version of an existing record.
    pub(super) fn check_version(&self, item: u64, state: RecordState) -> Result<(), ReadFault> {
        let version = match state {
            RecordState::Version(version) => version,
            RecordState::Absent => return self.check_absence(item),
            RecordState::Foreign => return Err(ReadFault::Foreign),
        };
        if item >= self.records {
            return if version == 0 {
                Ok(())
            } else {
                Err(ReadFault::Unwritten)
            };
        }
        let (generation, number) = version_parts(version);
        if generation > self.generation {
            return Err(ReadFault::Unwritten);
        }
        let number = if generation == self.generation {
            number
        } else {
            0
        };
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

fn worker(findings: &WorkerFindings) -> u32 {
    u32::try_from(finding(findings, names::WORKER)).unwrap_or(u32::MAX)
}
