//! The workload that endures faults: it notes errors, and goes on as an application would.

use super::recording::{ATTEMPTS, Notes};
use super::{OpenableEngine, Report, Task, TaskError};
use crate::event_log::{EventLog, WorkloadEvent};
use crate::history::History;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;
use trueput_engine::{Database, Error, Session, panics};
use trueput_host::page_cache::drop_clean_pages;
use trueput_host::service::{Server, ServerError};
use trueput_record::Survival;
use trueput_record::audit::{Damage, DamageKind, StorageModel};
use trueput_record::fault_record::FaultCourse;

/// The errors at a step after which a session, or the whole workload, tries it no more.
const MAX_ERRORS: u32 = 3;

/// The time before a lost connection is made again, or a database that did not open is opened
/// again.
const RETRY_PAUSE: Duration = Duration::from_millis(300);

/// The interval at which the gate is looked for.
const GATE_PAUSE: Duration = Duration::from_millis(2);

/// The time that a server may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Progress {
    /// Its last transaction that was acknowledged.
    acknowledged: u64,
    /// Its last transaction that was begun: at most one more.
    begun: u64,
}

/// A workload under faults.
struct Endurance<'a> {
    engine: &'a OpenableEngine<'a>,
    notes: Notes,
    events: EventLog,
}

/// A database in use, with the server that it needs.
type OpenDatabase = (Box<dyn Database>, Option<Server>);

impl OpenableEngine<'_> {
    /// Commits without faults, waits until faults may come, and follows a course. Then it waits
    /// until it is killed: an application that lives has not closed its database.
    pub(super) fn endure(&self) -> Result<Report, TaskError> {
        let Task::Endure {
            history,
            capacity,
            events,
            gate,
            before,
            under,
            course,
        } = &self.assignment.task
        else {
            return Err(TaskError::OtherTask);
        };
        let opened = History::open(history, self.assignment.workers, *capacity);
        let endurance = Endurance {
            engine: self,
            notes: Notes {
                history: opened.map_err(of_file(history))?,
                clock: None,
            },
            events: EventLog::open(events).map_err(of_file(events))?,
        };
        let server = self.start_server()?;
        let database = self.open()?;
        self.run_phase(&*database, &endurance.notes, 0, *before)?;
        endurance.events.note(&WorkloadEvent::Ready);
        while !gate.exists() {
            thread::sleep(GATE_PAUSE);
        }
        let done = Progress {
            acknowledged: *before,
            begun: *before,
        };
        let mut progress = vec![done; self.assignment.workers as usize];
        let opened = (database, server);
        // It stays open until the process ends.
        let _opened = match course {
            FaultCourse::Kill => Some(endurance.commit(opened, &mut progress, *under)),
            FaultCourse::Reopen => endurance.reopen(opened, &mut progress, *under),
        };
        endurance.events.note(&WorkloadEvent::Done);
        loop {
            thread::park();
        }
    }
}

/// Returns how an error of the operating system becomes that of a file.
fn of_file(path: &Path) -> impl FnOnce(io::Error) -> TaskError {
    let path = path.to_owned();
    move |source| TaskError::File { path, source }
}

impl Endurance<'_> {
    /// Notes an error, if it is one.
    fn note<T>(&self, during: &str, done: Result<T, impl Display>) -> Option<T> {
        done.map_err(|error| {
            self.events.note(&WorkloadEvent::Error {
                during: during.to_owned(),
                text: error.to_string(),
            });
        })
        .ok()
    }

    fn note_crash(&self, text: String) {
        self.events.note(&WorkloadEvent::Crash { text });
    }

    /// Calls the engine. A panic ends the process, as it ends an application that expects none.
    fn call<T>(&self, work: impl FnOnce() -> T) -> T {
        panics::caught(work).unwrap_or_else(|panic| {
            self.note_crash(format!("it {panic}"));
            std::process::abort()
        })
    }

    /// Lets every session commit so often, all at once.
    fn commit(
        &self,
        opened: OpenDatabase,
        progress: &mut [Progress],
        commits: u64,
    ) -> OpenDatabase {
        let (database, mut server) = opened;
        let of_all = &*database;
        thread::scope(|scope| {
            for (worker, progress) in (0..).zip(progress) {
                scope.spawn(move || {
                    self.call(|| self.commit_some(of_all, worker, progress, commits));
                });
            }
        });
        if let Some(end) = server.as_mut().and_then(Server::own_end) {
            self.note_crash(ServerError::Ended(end).to_string());
        }
        (database, server)
    }

    /// Commits with one session. A transaction that fails is repeated: it may or may not be there,
    /// and once more it has the same effect.
    fn commit_some(
        &self,
        database: &dyn Database,
        worker: u32,
        progress: &mut Progress,
        commits: u64,
    ) {
        let last = progress.acknowledged + commits;
        let mut errors = 0;
        let mut session = None;
        while progress.acknowledged < last && errors < MAX_ERRORS {
            let committed = self.commit_next(&mut session, database, worker, progress);
            let is_lost = committed.as_ref().is_err_and(Error::is_disconnection);
            if self.note("commit", committed).is_none() {
                errors += 1;
            }
            if is_lost {
                session = None;
                thread::sleep(RETRY_PAUSE);
            }
        }
    }

    fn commit_next<'d>(
        &self,
        session: &mut Option<Box<dyn Session + 'd>>,
        database: &'d dyn Database,
        worker: u32,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let session = match session {
            Some(session) => session,
            None => session.insert(database.session()?),
        };
        let sequence = progress.acknowledged + 1;
        let history = &self.notes.history;
        // An earlier attempt that failed may be there: the transaction began with it.
        if progress.begun < sequence {
            history.begin(worker, sequence);
            progress.begun = sequence;
        }
        let mut done = Ok(());
        for _ in 0..ATTEMPTS {
            done = self.engine.attempt(&mut **session, worker, sequence);
            if !done.as_ref().is_err_and(Error::is_conflict) {
                break;
            }
            thread::yield_now();
        }
        done?;
        history.acknowledge(worker, sequence, 0);
        progress.acknowledged = sequence;
        Ok(())
    }

    /// Commits, closes the database, opens it again and commits, and reads it in between. `None` if
    /// it does not open, or what was read is damaged.
    fn reopen(
        &self,
        opened: OpenDatabase,
        progress: &mut [Progress],
        commits: u64,
    ) -> Option<OpenDatabase> {
        let (database, server) = self.commit(opened, progress, commits);
        self.note("checkpoint", self.call(|| database.checkpoint()));
        self.check(&*database, progress).ok()?;
        self.note("close", self.call(|| database.close()));
        if let Some(server) = server {
            match server.stop_within(STOP_TIMEOUT, &mut || true) {
                // Noted when it ended, or now.
                Err(end @ ServerError::Ended(_)) => self.note_crash(end.to_string()),
                stopped => {
                    self.note("stop of the server", stopped);
                }
            }
        }
        // So that reads reach the storage.
        drop_clean_pages(&self.engine.assignment.directory);
        let opened = self.open_again()?;
        self.check(&*opened.0, progress).ok()?;
        Some(self.commit(opened, progress, commits))
    }

    fn open_again(&self) -> Option<OpenDatabase> {
        for _ in 0..MAX_ERRORS {
            let server = self.note("start of the server", self.engine.start_server());
            let database = server.and_then(|server| {
                let database = self.note("open", self.call(|| self.engine.open()))?;
                Some((database, server))
            });
            if database.is_some() {
                return database;
            }
            thread::sleep(RETRY_PAUSE);
        }
        None
    }

    /// Reads everything back. An error is noted, and no damage.
    ///
    /// # Errors
    /// The [`Damage`], which is noted, too.
    fn check(&self, database: &dyn Database, progress: &[Progress]) -> Result<(), Damage> {
        let found = match self.call(|| self.engine.read_sequences(database)) {
            Err(damage) if damage.kind == DamageKind::Unreadable => {
                self.note("read", Err::<(), _>(damage.detail));
                return Ok(());
            }
            found => found,
        };
        // A level that may lose commits with a killed process is judged in the end only.
        let subject = &self.engine.assignment.subject;
        let guarantee = subject.guarantee(StorageModel::Kill);
        let checked = if guarantee.survival == Survival::EveryCommit {
            found.and_then(|found| compare(&found, progress))
        } else {
            found.map(drop)
        };
        if let Err(damage) = &checked {
            self.events.note(&WorkloadEvent::Damage(damage.clone()));
        }
        checked
    }
}

/// Compares the last transaction of each session with what was acknowledged.
fn compare(found: &[u64], progress: &[Progress]) -> Result<(), Damage> {
    let mut workers = found.iter().zip(progress).zip(0_u32..);
    let missing = workers.find(|((found, progress), _)| **found < progress.acknowledged);
    let Some(((found, progress), worker)) = missing else {
        return Ok(());
    };
    let acknowledged = progress.acknowledged;
    Err(Damage {
        kind: DamageKind::HiddenCommit,
        detail: format!(
            "while the fault was on, {found} commits of worker {worker} were there, and \
             {acknowledged} had been acknowledged"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_acknowledged_must_be_read_and_what_failed_may_be() {
        let progress = Progress {
            acknowledged: 4,
            begun: 5,
        };
        let found = |found: u64| compare(&[found], &[progress]).map_err(|damage| damage.kind);
        assert_eq!(found(4), Ok(()));
        assert_eq!(found(5), Ok(()));
        assert_eq!(found(3), Err(DamageKind::HiddenCommit));
    }
}
