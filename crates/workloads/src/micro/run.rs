//! What is measured: look-ups and writes of single records. Passes and scans are in `scan`.
//!
//! Nothing here allocates, formats or locks between two operations, except to report an error.

use super::kinds::{Kind, Kinds};
use super::problem::{Problem, Role, Test};
use super::scan;
use super::stream::{Operation, Step, Stream};
use super::tally::{Tally, names};
use super::track::{Fault, Knowledge, Seen, Table, Ticket, Tracker, Trial};
use super::transaction::{point_read, transact};
use crate::generate::key::Buffer;
use crate::generate::value::Values;
use crate::{Error, Findings, Task};
use std::hint::black_box;
use trueput_engine::Mode;
use trueput_record::VerifyLevel;

/// One worker: what it knows, and its buffers.
pub(super) struct Worker<'w> {
    pub problem: &'w Problem,
    pub values: Values,
    pub tracker: Tracker<'w>,
    pub tally: Tally,
    /// Whether reads are checked.
    pub verifies: bool,
    pub kinds: Kinds,
    /// What an open loop paces.
    pub paced: Kinds,
    pub key: Buffer,
    /// A key that no record has: a record's own, and a byte more.
    missing: Vec<u8>,
    value: Vec<u8>,
    /// Least numbers that a scan may see, record by record.
    pub floors: Vec<u32>,
    /// Operations done, those of the warm-up too.
    done: u64,
}

/// Does one worker's share.
///
/// # Errors
/// Whatever the engine says, conflicts excepted, and that the user stopped the run.
pub(super) fn run(
    problem: &Problem,
    values: Values,
    table: Option<&Table>,
    task: &mut Task<'_>,
) -> Result<Findings, Error> {
    let mut worker = Worker::new(problem, values, table, task);
    let quota = problem.quota(task.worker, task.workers);
    match (problem.role(task.worker, task.workers), problem.test) {
        (Role::Scanner, _) => scan::pass(&mut worker, task, Kind::Next, false, None)?,
        (Role::Main, Test::Pass { reverse }) => {
            scan::pass(&mut worker, task, Kind::Read, reverse, quota)?;
        }
        (role, _) => {
            let (seed, generation) = (task.seed, task.generation);
            let stream = Stream::new(problem, seed, generation, task.worker, task.workers)?;
            if role == Role::Main && problem.batch > 1 {
                worker.batches(task, stream, quota)?;
            } else {
                worker.singles(task, stream, quota)?;
            }
        }
    }
    Ok(worker.findings(task))
}

impl<'w> Worker<'w> {
    fn new(
        problem: &'w Problem,
        values: Values,
        table: Option<&'w Table>,
        task: &Task<'_>,
    ) -> Self {
        let mutators = problem.mutators(task.workers);
        let knowledge = Knowledge::of(task.worker_kind, task.worker, &mutators);
        let trial = Trial {
            generation: task.generation,
            records: problem.records,
            mutates: !mutators.is_empty(),
            deletes: problem.deletes(),
        };
        let floors = usize::try_from(problem.nexts + 1).unwrap_or(usize::MAX);
        Self {
            problem,
            values,
            tracker: Tracker::new(table, knowledge, trial),
            tally: Tally::default(),
            verifies: task.verify != VerifyLevel::Off && task.capabilities.retains_data,
            kinds: problem.kinds(),
            paced: problem.main_kinds(),
            key: Buffer::default(),
            missing: vec![b'.'; problem.key_bytes + 1],
            value: vec![0; problem.value_bytes],
            floors: vec![0; floors],
            done: 0,
        }
    }

    /// Transactions of one operation each.
    fn singles(
        &mut self,
        task: &mut Task<'_>,
        mut stream: Stream,
        quota: Option<u64>,
    ) -> Result<(), Error> {
        let mut left = quota.unwrap_or(u64::MAX);
        while left > 0 && task.meter.pace() {
            let counts = quota.is_some() && !task.meter.warming();
            let kind = self.perform(task, stream.next_step())?;
            task.meter.finish(self.kinds.index(kind));
            task.meter.respond(self.paced.index(kind));
            self.done += 1;
            if counts {
                left -= 1;
                task.meter.advance(1);
            }
        }
        Ok(())
    }

    fn perform(&mut self, task: &mut Task<'_>, step: Step) -> Result<Kind, Error> {
        match step.operation {
            Operation::Read => self.read(task, step.item).map(|()| Kind::Read),
            Operation::Missing => self.read_missing(task, step.item).map(|()| Kind::Read),
            Operation::Seek => scan::short(self, task, step.item).map(|()| Kind::Seek),
            Operation::Scan => scan::short(self, task, step.item).map(|()| Kind::Scan),
            Operation::Insert => self.write(task, step).map(|()| Kind::Insert),
            Operation::Update => self.write(task, step).map(|()| Kind::Update),
            Operation::Delete => self.write(task, step).map(|()| Kind::Delete),
        }
    }

    fn read(&mut self, task: &mut Task<'_>, item: u64) -> Result<(), Error> {
        let floor = self.tracker.floor(item);
        let key = self.problem.format.write(item, &mut self.key);
        let (values, verifies) = (&self.values, self.verifies);
        let mut seen = Seen::Absent;
        let (session, meter) = (&mut *task.session, &mut *task.meter);
        let there = point_read(session, meter, key, &mut |value| {
            if verifies {
                seen = values
                    .read(item, value)
                    .map_or(Seen::Foreign, Seen::Version);
            } else {
                black_box(value.first().copied());
            }
        })?;
        if !there {
            // An attempt that ended in a conflict may have shown a value.
            seen = Seen::Absent;
        }
        if self.verifies {
            self.tally.note(item, self.tracker.judge(item, floor, seen));
        }
        Ok(())
    }

    fn read_missing(&mut self, task: &mut Task<'_>, item: u64) -> Result<(), Error> {
        let key = self.problem.format.write(item, &mut self.key);
        self.missing[..key.len()].copy_from_slice(key);
        let missing = &self.missing;
        let (session, meter) = (&mut *task.session, &mut *task.meter);
        let there = point_read(session, meter, missing, &mut |value| {
            black_box(value.first().copied());
        })?;
        if self.verifies {
            let judged = if there {
                Err(Fault::Unexpected)
            } else {
                Ok(())
            };
            self.tally.note(item, judged);
        }
        Ok(())
    }

    /// The ticket of a write: a new record has none.
    fn ticket(&mut self, step: Step) -> Option<Ticket> {
        let deletes = step.operation == Operation::Delete;
        (step.operation != Operation::Insert).then(|| self.tracker.issue(step.item, deletes))
    }

    fn write(&mut self, task: &mut Task<'_>, step: Step) -> Result<(), Error> {
        let ticket = self.ticket(step);
        let key = self.problem.format.write(step.item, &mut self.key);
        let deletes = step.operation == Operation::Delete;
        if !deletes {
            let version = ticket.map_or(0, |ticket| self.tracker.version(ticket));
            self.values.write(step.item, version, &mut self.value);
        }
        let value = &self.value;
        let (session, meter) = (&mut *task.session, &mut *task.meter);
        transact(session, meter, Mode::Write, "writing", |session, _| {
            if deletes {
                session.delete(key)
            } else {
                session.put(key, value)
            }
        })?;
        if let Some(ticket) = ticket {
            self.tracker.settle(ticket);
        }
        Ok(())
    }

    /// Transactions of several writes each, and the commit as an operation of its own.
    fn batches(
        &mut self,
        task: &mut Task<'_>,
        mut stream: Stream,
        quota: Option<u64>,
    ) -> Result<(), Error> {
        let room = usize::try_from(self.problem.batch).unwrap_or(usize::MAX);
        let mut batch = Vec::with_capacity(room);
        let mut left = quota.unwrap_or(u64::MAX);
        while left > 0 && task.meter.pace() {
            let counts = quota.is_some() && !task.meter.warming();
            batch.clear();
            for _ in 0..self.problem.batch.min(left) {
                let step = stream.next_step();
                batch.push((step, self.ticket(step)));
            }
            self.write_batch(task, &batch)?;
            task.meter.finish(self.kinds.index(Kind::Commit));
            task.meter.respond(0);
            self.done += batch.len() as u64;
            if counts {
                left -= batch.len() as u64;
                task.meter.advance(batch.len() as u64);
            }
        }
        Ok(())
    }

    fn write_batch(
        &mut self,
        task: &mut Task<'_>,
        batch: &[(Step, Option<Ticket>)],
    ) -> Result<(), Error> {
        let Self {
            problem,
            values,
            tracker,
            key,
            value,
            kinds,
            ..
        } = self;
        // All operations of a batch are of one kind: the test's.
        let kind = kinds.index(match batch.first().map(|(step, _)| step.operation) {
            Some(Operation::Delete) => Kind::Delete,
            Some(Operation::Update) => Kind::Update,
            _ => Kind::Insert,
        });
        let mut finished = 0;
        let (session, meter) = (&mut *task.session, &mut *task.meter);
        transact(session, meter, Mode::Write, "writing", |session, meter| {
            meter.retract(kind, finished);
            finished = 0;
            for (step, ticket) in batch {
                let key = problem.format.write(step.item, key);
                if step.operation == Operation::Delete {
                    session.delete(key)?;
                } else {
                    let version = ticket.map_or(0, |ticket| tracker.version(ticket));
                    values.write(step.item, version, value);
                    session.put(key, value)?;
                }
                meter.finish(kind);
                finished += 1;
            }
            Ok(())
        })?;
        let tickets = batch.iter().filter_map(|(_, ticket)| *ticket);
        tickets.for_each(|ticket| tracker.settle(ticket));
        Ok(())
    }

    fn findings(self, task: &Task<'_>) -> Findings {
        let mut findings = Findings::new();
        if !self.verifies {
            return findings;
        }
        findings.insert(names::WORKER.to_owned(), task.worker.into());
        findings.insert(names::DONE.to_owned(), self.done);
        let mutators = self.problem.mutators(task.workers);
        let knowledge = Knowledge::of(task.worker_kind, task.worker, &mutators);
        findings.insert(names::KNOWLEDGE.to_owned(), knowledge as u64);
        self.tally.find(&mut findings);
        match self.tracker.into_unsettled() {
            Some(unsettled) => findings.extend(
                unsettled
                    .into_iter()
                    .map(|(item, floor)| (format!("{}{item}", names::UNSETTLED), floor.into())),
            ),
            None => {
                findings.insert(names::OVERFLOWED.to_owned(), 1);
            }
        }
        findings
    }
}
