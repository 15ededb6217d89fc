//! The workload that is recorded.

use super::{OpenableEngine, Report, Task, TaskError};
use crate::history::History;
use crate::recorded::PHASES;
use crate::transaction::{ABORTED, Change, RecordKey};
use rustix::fs::syncfs;
use std::fs::File;
use std::sync::Mutex;
use std::thread;
use trueput_engine::{Database, Error, Mode, Session};
use trueput_faultfs::clock::OperationClock;
use trueput_faultfs::open_clock;

/// Attempts at a transaction that conflicts with others.
pub(super) const ATTEMPTS: u32 = 10_000;

/// One transaction in this many is preceded by one that is aborted.
const ABORT_EVERY: u64 = 10;

/// Where it is noted how far the workload is.
pub(super) struct Notes {
    pub(super) history: History,
    pub(super) clock: Option<OperationClock>,
}

impl Notes {
    fn operations(&self) -> u64 {
        self.clock.as_ref().map_or(0, OperationClock::operations)
    }

    fn set_phase(&self, phase: u32) {
        if let Some(clock) = &self.clock {
            clock.set_phase(phase);
        }
    }
}

impl OpenableEngine<'_> {
    /// Commits, checkpoints, commits, closes, opens, and commits again.
    pub(super) fn record(&self) -> Result<Report, TaskError> {
        let Task::Record {
            history,
            capacity,
            log,
            commits,
        } = &self.assignment.task
        else {
            return Err(TaskError::OtherTask);
        };
        let opened = History::open(history, self.assignment.workers, *capacity);
        let clock = log.as_deref().map(open_clock).transpose();
        let notes = Notes {
            history: opened.map_err(|source| TaskError::File {
                path: history.clone(),
                source,
            })?,
            clock: clock.map_err(TaskError::Clock)?,
        };
        let server = self.start_server()?;
        let version = self.engine().build()?;
        let per_phase = commits.unwrap_or(capacity / PHASES);
        self.work(&notes, per_phase)?;
        if let Some(server) = server {
            server.stop(&mut || true)?;
        }
        Ok(Report::Recorded {
            version: version.version,
        })
    }

    fn work(&self, notes: &Notes, per_phase: u64) -> Result<(), TaskError> {
        let database = self.open()?;
        if let Some(clock) = &notes.clock {
            // The database was made, and written back, before there was anything to lose. On the
            // recorded file system this waits because the call is watched; otherwise some pages may
            // come a little later.
            let directory = &self.assignment.directory;
            let written = File::open(directory).and_then(|folder| Ok(syncfs(&folder)?));
            written.map_err(|source| TaskError::File {
                path: directory.clone(),
                source,
            })?;
            clock.mark_base();
        }
        self.run_phase(&*database, notes, 0, per_phase)?;
        database.checkpoint().map_err(TaskError::Checkpoint)?;
        self.run_phase(&*database, notes, 1, per_phase)?;
        database.close().map_err(TaskError::Close)?;
        let database = self.open()?;
        self.run_phase(&*database, notes, 2, per_phase)?;
        database.close().map_err(TaskError::Close)
    }

    pub(super) fn open(&self) -> trueput_engine::Result<Box<dyn Database>> {
        let subject = &self.assignment.subject;
        let spec = subject.open_spec(&self.assignment.directory, &self.knobs);
        self.engine().open(&spec)
    }

    /// Lets every worker commit as often, all at once.
    pub(super) fn run_phase(
        &self,
        database: &dyn Database,
        notes: &Notes,
        phase: u32,
        commits: u64,
    ) -> Result<(), Error> {
        notes.set_phase(phase);
        let failure = Mutex::new(None);
        let first = u64::from(phase) * commits + 1;
        thread::scope(|scope| {
            for worker in 0..self.assignment.workers {
                let failure = &failure;
                scope.spawn(move || {
                    let worked = self.commit_all(database, notes, worker, first..first + commits);
                    if let (Err(error), Ok(mut failure)) = (worked, failure.lock()) {
                        *failure = Some(error);
                    }
                });
            }
        });
        match failure.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn commit_all(
        &self,
        database: &dyn Database,
        notes: &Notes,
        worker: u32,
        sequences: std::ops::Range<u64>,
    ) -> Result<(), Error> {
        let mut session = database.session()?;
        for sequence in sequences {
            if sequence.is_multiple_of(ABORT_EVERY) {
                self.abort_one(&mut *session, worker)?;
            }
            self.commit_one(&mut *session, notes, worker, sequence)?;
        }
        Ok(())
    }

    fn abort_one(&self, session: &mut dyn Session, worker: u32) -> Result<(), Error> {
        let key = RecordKey::sequence(worker);
        session.begin(Mode::Write)?;
        let put = session.put(&key.to_bytes(), &self.script.value(key, ABORTED));
        session.abort()?;
        match put {
            Err(error) if !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }

    fn commit_one(
        &self,
        session: &mut dyn Session,
        notes: &Notes,
        worker: u32,
        sequence: u64,
    ) -> Result<(), Error> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            notes.history.begin(worker, sequence);
            match self.attempt(session, worker, sequence) {
                Ok(()) => {
                    notes
                        .history
                        .acknowledge(worker, sequence, notes.operations());
                    return Ok(());
                }
                Err(error) if error.is_conflict() => last = Some(error),
                Err(error) => return Err(error),
            }
            thread::yield_now();
        }
        let last = last.map_or_else(String::new, |error| format!(": {error}"));
        Err(Error::engine(format!(
            "a transaction conflicted {ATTEMPTS} times{last}"
        )))
    }

    pub(super) fn attempt(
        &self,
        session: &mut dyn Session,
        worker: u32,
        sequence: u64,
    ) -> Result<(), Error> {
        session.begin(Mode::Write)?;
        let changed = self.apply(session, worker, sequence);
        match changed {
            Ok(()) => session.commit(),
            Err(error) => {
                session.abort()?;
                Err(error)
            }
        }
    }

    fn apply(&self, session: &mut dyn Session, worker: u32, sequence: u64) -> Result<(), Error> {
        for change in self.script.changes(worker, sequence) {
            match change {
                Change::Put(key) => {
                    session.put(&key.to_bytes(), &self.script.value(key, sequence))?;
                }
                Change::Delete(key) => session.delete(&key.to_bytes())?,
            }
        }
        Ok(())
    }
}
