//! The measured work: claiming blocks, looking numbers up, storing their steps.
//!
//! Nothing here allocates, formats or locks while a block is worked on, except to report an error.

use super::blocks::{self, LARGEST, LONGEST};
use super::codec::{Codec, CodecBuffer, MAX_STORABLE};
use super::maximum::{self, Maximum};
use super::problem::{CommitScope, Problem};
use super::{SnapshotScope, kinds};
use crate::keyed::transaction::{TransactionError, retry, transact};
use crate::{Error, JobTask, Meter, Result, WorkerFindings};
use trueput_engine::{Mode, Session};

/// The name of a worker's finding: numbers that it stored with the end of its block because the
/// time was over, and did not count as updates.
pub(super) const UNCOUNTED: &str = "uncounted";

/// Longer than any sequence below 10^18 has steps, so that the stack never grows.
const STACK: usize = 4_096;

/// Works on blocks until there are none left, or the time is over.
///
/// # Errors
/// Errors of the engine, except conflicts; an overflow; a stop by the user.
pub(super) fn run<C: Codec>(
    problem: &Problem,
    snapshot: SnapshotScope,
    task: &mut JobTask<'_>,
) -> Result<WorkerFindings> {
    let mut worker = Worker {
        problem,
        snapshot,
        index: task.worker,
        path: SequencePath::<C>::new(),
        longest: Maximum::default(),
        largest: Maximum::default(),
        largest_bound: 0,
        uncounted: 0,
    };
    let mut finished = 0;
    // An engine that keeps nothing can give no block out: each worker takes every this many.
    let mut own = u64::from(task.worker);
    while !task.meter.is_stopped() {
        let block = if task.capabilities.retains_data {
            worker.claim(task)?
        } else {
            let block = (own < problem.blocks()).then_some(own);
            own += u64::from(task.workers.max(1));
            block
        };
        let Some(block) = block else {
            return Ok(worker.findings(finished, 0));
        };
        let starts = match problem.commit {
            CommitScope::Block => worker.block_at_once(task, block)?,
            CommitScope::Store | CommitScope::Start => worker.block_by_starts(task, block)?,
        };
        if starts < problem.length(block) {
            return Ok(worker.findings(finished, starts));
        }
        finished += 1;
    }
    Err(Error::Stopped)
}

/// An error if it is the user who stops the worker, and not the end of its time.
fn check_stop(meter: &dyn Meter) -> Result<()> {
    if meter.is_stopped() {
        Err(Error::Stopped)
    } else {
        Ok(())
    }
}

/// The number after `number` in the sequence from `start`.
fn successor(start: u64, number: u64) -> Result<u64, TransactionError> {
    if number.is_multiple_of(2) {
        return Ok(number / 2);
    }
    let next = number
        .checked_mul(3)
        .and_then(|triple| triple.checked_add(1));
    next.filter(|&next| next <= MAX_STORABLE).ok_or_else(|| {
        TransactionError::workload(format!(
            "the sequence from {start} leaves 63 bits after {number}: choose a lower range"
        ))
    })
}

fn add_step(steps: u32, number: u64) -> Result<u32, TransactionError> {
    let more = steps.checked_add(1);
    more.ok_or_else(|| TransactionError::workload(format!("the steps of {number} exceed 32 bits")))
}

/// The way from a start to the first number whose steps are known.
struct SequencePath<C> {
    /// The numbers whose steps are not known, the start first.
    numbers: Vec<u64>,
    /// The largest successor computed on the way; 0 if there was none.
    largest: u64,
    key: CodecBuffer,
    value: CodecBuffer,
    codec: std::marker::PhantomData<C>,
}

impl<C: Codec> SequencePath<C> {
    fn new() -> Self {
        Self {
            numbers: Vec::with_capacity(STACK),
            largest: 0,
            key: CodecBuffer::default(),
            value: CodecBuffer::default(),
            codec: std::marker::PhantomData,
        }
    }

    /// Follows the sequence until `look_up` knows a number's steps or it reaches 1; returns those
    /// steps.
    fn trace(
        &mut self,
        start: u64,
        mut look_up: impl FnMut(&mut CodecBuffer, u64) -> Result<Option<u32>, TransactionError>,
    ) -> Result<u32, TransactionError> {
        self.numbers.clear();
        self.largest = 0;
        let mut number = start;
        loop {
            match look_up(&mut self.key, number)? {
                Some(steps) => return Ok(steps),
                None if number == 1 => return Ok(0),
                None => {}
            }
            self.numbers.push(number);
            number = successor(start, number)?;
            self.largest = self.largest.max(number);
        }
    }

    /// The largest successor; if there was none, a maximum of 0, which changes no other.
    fn peak(&self, start: u64) -> Maximum {
        let start = if self.largest == 0 { 0 } else { start };
        Maximum::new(self.largest, start)
    }

    fn put(
        &mut self,
        session: &mut dyn Session,
        number: u64,
        steps: u32,
    ) -> Result<(), TransactionError> {
        let key = C::number(number, &mut self.key);
        Ok(session.put(key, C::steps(steps, &mut self.value))?)
    }

    /// Within a write transaction: stores all of the path, whose last number leads to one with
    /// `known` steps; returns the start's. After each store `stored` is called.
    fn put_all(
        &mut self,
        session: &mut dyn Session,
        known: u32,
        mut stored: impl FnMut(),
    ) -> Result<u32, TransactionError> {
        let mut steps = known;
        for place in (0..self.numbers.len()).rev() {
            let number = self.numbers[place];
            steps = add_step(steps, number)?;
            self.put(session, number, steps)?;
            stored();
        }
        Ok(steps)
    }
}

/// The steps of a number in the step table, if it has them.
fn get<C: Codec>(
    session: &mut dyn Session,
    buffer: &mut CodecBuffer,
    number: u64,
) -> Result<Option<u32>, TransactionError> {
    let mut steps = None;
    let there = session.get(C::number(number, buffer), &mut |value| {
        steps = C::read_steps(value);
    })?;
    if there && steps.is_none() {
        return Err(TransactionError::workload(format!(
            "the record of {number} holds no steps"
        )));
    }
    Ok(steps)
}

/// The maxima of a block, and the operations that were counted for it.
#[derive(Default)]
struct BlockCounts {
    starts: u64,
    longest: Maximum,
    largest: Maximum,
    reads: u64,
    updates: u64,
}

struct Worker<'p, C> {
    problem: &'p Problem,
    snapshot: SnapshotScope,
    index: u32,
    path: SequencePath<C>,
    longest: Maximum,
    largest: Maximum,
    /// The least that the database's largest number can be: nothing below has to be compared with
    /// it.
    largest_bound: u64,
    /// Stores that were made with the end of a block, and are not counted as updates.
    uncounted: u64,
}

/// What the end of the time has left of a path to store: the numbers that the path still has.
#[derive(Clone, Copy)]
struct PathRest {
    /// The steps of the number that they lead to.
    known: u32,
    /// The largest number of the path, if it is still to be raised.
    largest: Option<Maximum>,
}

impl<C: Codec> Worker<'_, C> {
    fn claim(&mut self, task: &mut JobTask<'_>) -> Result<Option<u64>> {
        let doing = || "claiming a block".to_owned();
        task.meter.start();
        let block = task.transact(Mode::Write, doing, |session, _| {
            blocks::claim(session, self.problem, self.index)
        })?;
        if block.is_some() {
            task.meter.finish(kinds::CLAIM);
        }
        Ok(block)
    }

    /// Works on a block whose starts, or their stores, are transactions of their own. Returns the
    /// number of starts that are done: fewer than the block has if the time is over.
    fn block_by_starts(&mut self, task: &mut JobTask<'_>, block: u64) -> Result<u64> {
        let (first, last) = self.problem.bounds(block);
        let mut longest = Maximum::default();
        let mut done = 0;
        let mut rest = None;
        for start in first..=last {
            if rest.is_some() {
                break;
            }
            if !task.meter.next_unit() {
                check_stop(task.meter)?;
                break;
            }
            task.meter.start();
            let known = self.look_up(task, start)?;
            let steps = match self.problem.commit {
                CommitScope::Store => {
                    let stored = self.store_each(task, start, known)?;
                    rest = stored.1;
                    stored.0
                }
                _ => self.store_together(task, start, known)?,
            };
            longest.consider(Maximum::new(steps.into(), start));
            self.largest.consider(self.path.peak(start));
            if rest.is_none() {
                task.meter.finish_unit(0);
            }
            task.meter.advance(1);
            done += 1;
        }
        if rest.is_some() {
            check_stop(task.meter)?;
        }
        let doing = || format!("finishing block {block}");
        let (problem, index, path) = (self.problem, self.index, &mut self.path);
        task.meter.start();
        task.transact(Mode::Write, doing, |session, _| {
            if let Some(rest) = rest {
                raise_if(session, LARGEST, rest.largest)?;
                path.put_all(session, rest.known, || {})?;
            }
            raise_if(session, LONGEST, (done > 0).then_some(longest))?;
            blocks::finish(session, problem, (block, done), index)
        })?;
        task.meter.finish(kinds::FINISH);
        if rest.is_some() {
            self.uncounted += self.path.numbers.len() as u64;
        }
        self.longest.consider(longest);
        Ok(done)
    }

    /// Follows the sequence from `start` through the step table.
    fn look_up(&mut self, task: &mut JobTask<'_>, start: u64) -> Result<u32> {
        let (session, meter) = (&mut *task.session, &mut *task.meter);
        let mut open = false;
        let traced = match self.snapshot {
            SnapshotScope::Get => self.path.trace(start, |buffer, number| {
                let doing = || format!("reading the steps of {number}");
                let steps = transact(session, meter, Mode::Read, doing, |session, _| {
                    get::<C>(session, buffer, number)
                });
                meter.finish(kinds::READ);
                steps.map_err(TransactionError::Fatal)
            }),
            SnapshotScope::Start => self.path.trace(start, |buffer, number| {
                let doing = || format!("reading the steps of {number}");
                let steps = retry(meter, doing, |_| {
                    get_in_snapshot::<C>(session, &mut open, buffer, number)
                });
                let steps = steps.map_err(TransactionError::Fatal)?;
                meter.finish(kinds::READ);
                Ok(steps)
            }),
        };
        if open {
            // Only an overflow leaves the snapshot open.
            let _ = session.abort();
        }
        traced.map_err(|failure| failure.into_error(|| format!("following {start}")))
    }

    /// Stores the steps found on the path, each number in a transaction of its own. The largest
    /// number goes with the first of them, which hides the rest of the path from any later reader.
    /// Returns the steps of the start, and what is not stored because the time was over before.
    fn store_each(
        &mut self,
        task: &mut JobTask<'_>,
        start: u64,
        known: u32,
    ) -> Result<(u32, Option<PathRest>)> {
        let mut steps = known;
        let mut largest = self.largest_to_raise(start);
        while let Some(&number) = self.path.numbers.last() {
            if self.problem.finish.is_none() && task.meter.is_over() {
                let rest = PathRest {
                    known: steps,
                    largest,
                };
                let left = u32::try_from(self.path.numbers.len()).unwrap_or(u32::MAX);
                return Ok((steps.saturating_add(left), Some(rest)));
            }
            let doing = || format!("storing the steps of {number}");
            steps = add_step(steps, number).map_err(|failure| failure.into_error(doing))?;
            let path = &mut self.path;
            let raised = task.transact(Mode::Write, doing, |session, _| {
                let raised = raise_if(session, LARGEST, largest)?;
                path.put(session, number, steps)?;
                Ok::<_, TransactionError>(raised)
            })?;
            task.meter.finish(kinds::UPDATE);
            self.path.numbers.pop();
            self.largest_bound = self.largest_bound.max(raised);
            largest = None;
        }
        Ok((steps, None))
    }

    /// Stores the steps found on the path in one transaction.
    fn store_together(&mut self, task: &mut JobTask<'_>, start: u64, known: u32) -> Result<u32> {
        if self.path.numbers.is_empty() {
            return Ok(known);
        }
        let largest = self.largest_to_raise(start);
        let doing = || format!("storing the steps from {start}");
        let path = &mut self.path;
        let mut updates = 0;
        let stored = task.transact(Mode::Write, doing, |session, meter| {
            meter.finish(kinds::BEGIN);
            meter.uncount(kinds::UPDATE, std::mem::take(&mut updates));
            let steps = path.put_all(session, known, || {
                meter.finish(kinds::UPDATE);
                updates += 1;
            })?;
            Ok::<_, TransactionError>((steps, raise_if(session, LARGEST, largest)?))
        });
        if stored.is_err() {
            task.meter.uncount(kinds::UPDATE, updates);
        }
        let (steps, raised) = stored?;
        task.meter.finish(kinds::COMMIT);
        self.largest_bound = self.largest_bound.max(raised);
        Ok(steps)
    }

    /// The path's largest number, unless the database is known to have one as large.
    fn largest_to_raise(&self, start: u64) -> Option<Maximum> {
        (self.path.largest > self.largest_bound).then(|| self.path.peak(start))
    }

    /// Works on a block as one transaction, as [`Worker::block_by_starts`] does.
    fn block_at_once(&mut self, task: &mut JobTask<'_>, block: u64) -> Result<u64> {
        let (first, last) = self.problem.bounds(block);
        let doing = || format!("working on block {block}");
        let mut counts = BlockCounts::default();
        let (problem, index, bound) = (self.problem, self.index, self.largest_bound);
        let path = &mut self.path;
        task.meter.start();
        let done = task.transact(Mode::Write, doing, |session, meter| {
            meter.finish(kinds::BEGIN);
            uncount_attempt(meter, &std::mem::take(&mut counts));
            for start in first..=last {
                if !meter.next_unit() {
                    check_stop(meter).map_err(TransactionError::Fatal)?;
                    break;
                }
                walk_within(session, meter, path, start, &mut counts)?;
            }
            let largest = (counts.largest.value > bound).then_some(counts.largest);
            let raised = raise_if(session, LARGEST, largest)?;
            raise_if(
                session,
                LONGEST,
                (counts.starts > 0).then_some(counts.longest),
            )?;
            blocks::finish(session, problem, (block, counts.starts), index)?;
            Ok::<_, TransactionError>(raised)
        });
        if done.is_err() {
            uncount_attempt(task.meter, &counts);
        }
        self.largest_bound = bound.max(done?);
        task.meter.finish(kinds::FINISH);
        task.meter.advance(counts.starts);
        self.longest.consider(counts.longest);
        self.largest.consider(counts.largest);
        Ok(counts.starts)
    }

    /// The findings, after so many finished blocks and so many starts of a cut one.
    fn findings(&self, blocks: u64, cut_starts: u64) -> WorkerFindings {
        let named = [
            ("blocks", blocks),
            ("cut_starts", cut_starts),
            (UNCOUNTED, self.uncounted),
            ("longest", self.longest.value),
            ("longest_start", self.longest.start),
            ("largest", self.largest.value),
            ("largest_start", self.largest.start),
        ];
        named.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

/// One start within the transaction of its block.
fn walk_within<C: Codec>(
    session: &mut dyn Session,
    meter: &mut dyn Meter,
    path: &mut SequencePath<C>,
    start: u64,
    counts: &mut BlockCounts,
) -> Result<(), TransactionError> {
    let mut steps = path.trace(start, |buffer, number| {
        let steps = get::<C>(session, buffer, number)?;
        meter.finish(kinds::READ);
        counts.reads += 1;
        Ok(steps)
    })?;
    while let Some(number) = path.numbers.pop() {
        steps = add_step(steps, number)?;
        path.put(session, number, steps)?;
        meter.finish(kinds::UPDATE);
        counts.updates += 1;
    }
    counts.starts += 1;
    counts.longest.consider(Maximum::new(steps.into(), start));
    counts.largest.consider(path.peak(start));
    Ok(())
}

/// Looks a number up in the snapshot of its start, which begins with the first look-up and ends
/// with the one that hits or meets 1.
fn get_in_snapshot<C: Codec>(
    session: &mut dyn Session,
    open: &mut bool,
    buffer: &mut CodecBuffer,
    number: u64,
) -> Result<Option<u32>, TransactionError> {
    if !*open {
        session.begin(Mode::Read)?;
        *open = true;
    }
    let steps = get::<C>(session, buffer, number).inspect_err(|_| {
        *open = false;
        // This error is more specific than one from the abort.
        let _ = session.abort();
    })?;
    if steps.is_some() || number == 1 {
        *open = false;
        session.commit()?;
    }
    Ok(steps)
}

/// Within a write transaction: raises a maximum if there is a value to compare.
fn raise_if(
    session: &mut dyn Session,
    key: &[u8],
    candidate: Option<Maximum>,
) -> Result<u64, TransactionError> {
    match candidate {
        Some(candidate) => Ok(maximum::raise(session, key, candidate)?.value),
        None => Ok(0),
    }
}

fn uncount_attempt(meter: &mut dyn Meter, counts: &BlockCounts) {
    if counts.reads > 0 {
        meter.uncount(kinds::READ, counts.reads);
        meter.uncount(kinds::UPDATE, counts.updates);
    }
}
