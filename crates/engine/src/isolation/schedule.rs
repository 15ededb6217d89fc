//! Runs a schedule: the steps of several transactions in a fixed order, each transaction in its own
//! session and thread.
//!
//! If an engine makes a step wait, the schedule continues with the other transactions; later steps
//! of the waiting transaction run when it is released. So engines that lock and engines that
//! serialize writers complete every schedule.

use crate::conformance::support::{CheckFailure, Outcome, StepContext, get, guarded, scan};
use crate::{Database, Direction, Error, KeyRange, Mode, Session};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The most transactions of a schedule.
pub const TRANSACTIONS: usize = 3;

/// A step that has not ended by then is taken to wait for another transaction.
const PATIENCE: Duration = Duration::from_millis(100);
/// Longer than any engine's limit for waiting on a lock.
const TIMEOUT: Duration = Duration::from_secs(90);
/// The time limit for the threads to end.
const GRACE: Duration = Duration::from_secs(10);

/// A record of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// There from the beginning, with the value 0.
    X,
    /// The same, on another page.
    Y,
    /// Absent at first. The first range of a search would contain it, and no other record.
    P,
    /// Absent at first. The second range would contain it, on another page.
    Q,
}

impl Key {
    pub const ALL: [Self; 4] = [Self::X, Self::Y, Self::P, Self::Q];

    /// Returns the key's bytes in the schedule of this number. Keys of different letters are on
    /// different pages.
    pub fn bytes(self, schedule: usize) -> Vec<u8> {
        let (letter, last) = match self {
            Self::X => ('f', 'x'),
            Self::Y => ('m', 'y'),
            Self::P => ('t', 'p'),
            Self::Q => ('v', 'q'),
        };
        format!("{letter}{schedule:03}{last}").into_bytes()
    }

    /// Returns the bounds of a range that contains this key of the schedule and no other. It
    /// contains no record that both transactions could lock.
    fn bounds(self, schedule: usize) -> (Vec<u8>, Vec<u8>) {
        let key = self.bytes(schedule);
        let prefix = &key[..key.len() - 1];
        ([prefix, b"a"].concat(), [prefix, b"z"].concat())
    }
}

/// The way in which a transaction reads one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMethod {
    Get,
    /// A scan of a range that holds this key and no other.
    Scan,
}

/// A step of a transaction.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Begin(Mode),
    Read(Key, ReadMethod),
    /// Scans the two ranges of [`Key::P`] and [`Key::Q`].
    Search,
    Put(Key, u8),
    Commit,
    Abort,
}

/// A value that was read; `None` if the record did not exist.
pub type ReadValue = Option<u8>;

/// The end of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionEnd {
    Committed,
    /// Aborted by its schedule.
    Aborted,
    /// The engine reported a conflict.
    Refused,
}

/// The events of a schedule.
#[derive(Debug, Default)]
pub struct History {
    ends: [Option<TransactionEnd>; TRANSACTIONS],
    reads: Vec<(usize, Key, ReadValue)>,
    /// Whether a step had to wait.
    pub has_waited: bool,
    /// The values afterwards, in the order of [`Key::ALL`].
    pub left: [ReadValue; 4],
}

impl History {
    /// Returns whether the transactions of these numbers, from 1, committed.
    pub fn committed(&self, numbers: &[usize]) -> bool {
        let is_committed =
            |number: &usize| self.ends[number - 1] == Some(TransactionEnd::Committed);
        numbers.iter().all(is_committed)
    }

    /// Returns whether the engine aborted a transaction.
    pub fn has_refused(&self) -> bool {
        self.ends.contains(&Some(TransactionEnd::Refused))
    }

    /// Returns the values that the transaction of this number read of a key, in order.
    pub fn reads(&self, number: usize, key: Key) -> Vec<ReadValue> {
        let of = |(reader, read, seen): &(usize, Key, ReadValue)| {
            (*reader == number && *read == key).then_some(*seen)
        };
        self.reads.iter().filter_map(of).collect()
    }

    /// Returns the first value that the transaction of this number read of a key; `None` if it read
    /// none.
    pub fn first(&self, number: usize, key: Key) -> Option<ReadValue> {
        self.reads(number, key).first().copied()
    }

    /// Returns the final value of a key.
    pub fn last(&self, key: Key) -> ReadValue {
        self.left[key as usize]
    }
}

/// The reply of a session's thread to one step.
enum StepReply {
    /// The step is done, with the values that it read.
    Done(Vec<(Key, ReadValue)>),
    Ended(TransactionEnd),
    Failed(String),
}

/// One session on its own thread.
struct Worker {
    /// `None` once the thread is to end.
    steps: Option<Sender<(usize, Step)>>,
    thread: JoinHandle<()>,
    answers: Receiver<StepReply>,
    is_busy: bool,
    /// The steps that run once the current one no longer waits.
    backlog: VecDeque<Step>,
}

/// Sessions that do the steps of one schedule after the other.
pub struct Scheduler {
    workers: Vec<Worker>,
}

impl Scheduler {
    /// Starts the threads.
    pub fn new(database: &Arc<Box<dyn Database>>) -> Self {
        let start = |_| {
            let (steps, orders) = channel();
            let (replies, answers) = channel();
            let database = Arc::clone(database);
            let thread = thread::spawn(move || {
                let served = guarded(|| serve(&**database, &orders, &replies));
                if let Err(CheckFailure(text)) = served {
                    // Where nobody listens any more, the suite has given up.
                    let _ = replies.send(StepReply::Failed(text));
                }
            });
            Worker {
                steps: Some(steps),
                thread,
                answers,
                is_busy: false,
                backlog: VecDeque::new(),
            }
        };
        let workers = (0..TRANSACTIONS).map(start).collect();
        Self { workers }
    }

    /// Does the steps, each by the transaction of its number, from 1.
    pub fn run(&mut self, schedule: usize, steps: &[(usize, Step)]) -> Outcome<History> {
        let mut history = History::default();
        for (number, step) in steps {
            self.workers[number - 1].backlog.push_back(*step);
            self.settle(schedule, &mut history, PATIENCE)?;
        }
        let deadline = Instant::now() + TIMEOUT;
        while self.workers.iter().any(|worker| worker.is_busy) {
            if Instant::now() > deadline {
                let text = format!("a transaction was made to wait for over {TIMEOUT:?}");
                return Err(CheckFailure(text));
            }
            self.settle(schedule, &mut history, PATIENCE)?;
        }
        Ok(history)
    }

    /// Runs the outstanding steps of every session that is not waiting.
    fn settle(&mut self, schedule: usize, history: &mut History, wait: Duration) -> Outcome<()> {
        let mut has_moved = true;
        while has_moved {
            has_moved = false;
            for index in 0..self.workers.len() {
                has_moved |= self.advance(index, schedule, history, wait)?;
            }
        }
        Ok(())
    }

    /// Runs a step of one session, or takes the result of the step in which it waited.
    fn advance(
        &mut self,
        index: usize,
        schedule: usize,
        history: &mut History,
        wait: Duration,
    ) -> Outcome<bool> {
        let worker = &mut self.workers[index];
        // A waiting session has used up its time; this only polls it.
        let mut patience = Duration::from_millis(1);
        if !worker.is_busy {
            let Some(step) = worker.backlog.pop_front() else {
                return Ok(false);
            };
            if history.ends[index].is_some() {
                return Ok(true);
            }
            let sent = worker
                .steps
                .as_ref()
                .map(|steps| steps.send((schedule, step)));
            if !matches!(sent, Some(Ok(()))) {
                return Err(CheckFailure(thread_ended()));
            }
            worker.is_busy = true;
            patience = wait;
        }
        match worker.answers.recv_timeout(patience) {
            Ok(StepReply::Done(seen)) => {
                let reads = seen.into_iter().map(|(key, seen)| (index + 1, key, seen));
                history.reads.extend(reads);
            }
            Ok(StepReply::Ended(end)) => history.ends[index] = Some(end),
            Ok(StepReply::Failed(text)) => return Err(CheckFailure(text)),
            Err(RecvTimeoutError::Timeout) => {
                history.has_waited = true;
                return Ok(false);
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(CheckFailure(thread_ended()));
            }
        }
        worker.is_busy = false;
        Ok(true)
    }
}

impl Drop for Scheduler {
    /// Ends the threads, because they have the database open. A thread that an engine does not
    /// return to is abandoned.
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.steps = None;
        }
        let deadline = Instant::now() + GRACE;
        let is_working = |worker: &Worker| !worker.thread.is_finished();
        while self.workers.iter().any(is_working) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Only a panic ends a session's thread early.
fn thread_ended() -> String {
    "a session's thread has ended".to_owned()
}

/// Runs a thread: a session, and the steps that it receives.
fn serve(
    database: &dyn Database,
    orders: &Receiver<(usize, Step)>,
    replies: &Sender<StepReply>,
) -> Outcome<()> {
    let mut session = database.session().at("session")?;
    for (schedule, step) in orders {
        let answer = match act(session.as_mut(), schedule, step) {
            Ok(answer) => answer,
            Err(error) => {
                if !matches!(step, Step::Begin(_) | Step::Commit | Step::Abort) {
                    // The first error is the one to report.
                    let _ = session.abort();
                }
                if error.is_conflict() {
                    StepReply::Ended(TransactionEnd::Refused)
                } else {
                    StepReply::Failed(format!("{step:?}: {error}"))
                }
            }
        };
        if replies.send(answer).is_err() {
            break;
        }
    }
    Ok(())
}

fn act(session: &mut dyn Session, schedule: usize, step: Step) -> crate::Result<StepReply> {
    match step {
        Step::Begin(mode) => session.begin(mode)?,
        Step::Put(key, value) => session.put(&key.bytes(schedule), &[value])?,
        Step::Read(key, by) => {
            return read(session, schedule, key, by).map(|seen| StepReply::Done(vec![(key, seen)]));
        }
        Step::Search => {
            let seen = [Key::P, Key::Q].map(|key| {
                let (low, high) = key.bounds(schedule);
                let mut found = scan(session, including(&low, &high), Direction::Forward)?;
                Ok((key, found.pop().map(|(_, value)| number(&value))))
            });
            let seen: crate::Result<Vec<_>> = seen.into_iter().collect();
            return seen.map(StepReply::Done);
        }
        Step::Commit => {
            session.commit()?;
            return Ok(StepReply::Ended(TransactionEnd::Committed));
        }
        Step::Abort => {
            session.abort()?;
            return Ok(StepReply::Ended(TransactionEnd::Aborted));
        }
    }
    Ok(StepReply::Done(Vec::new()))
}

/// Reads the value of a key in a transaction.
pub fn read(
    session: &mut dyn Session,
    schedule: usize,
    key: Key,
    by: ReadMethod,
) -> Result<ReadValue, Error> {
    let bytes = key.bytes(schedule);
    let value = match by {
        ReadMethod::Get => get(session, &bytes)?,
        ReadMethod::Scan => {
            let mut found = scan(session, including(&bytes, &bytes), Direction::Forward)?;
            found.pop().map(|(_, value)| value)
        }
    };
    Ok(value.as_deref().map(number))
}

fn including<'k>(low: &'k [u8], high: &'k [u8]) -> KeyRange<'k> {
    KeyRange {
        lower: Bound::Included(low),
        upper: Bound::Included(high),
    }
}

/// Decodes a value of the suite's; 255 for any other, which no transaction writes.
fn number(value: &[u8]) -> u8 {
    match value {
        [number] => *number,
        _ => u8::MAX,
    }
}
