//! The examination of a state: what is there, and whether it is whole.

use super::{Inspection, OpenableEngine, Report, Task, TaskError};
use crate::transaction::{ABORTED, RecordKey};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use trueput_engine::{Database, Direction, Error, KeyRange, Mode, Session, panics};
use trueput_record::audit::{Damage, DamageKind};

/// The key that an inspection writes. No worker writes it.
const PROBE_KEY: &[u8] = b"probe";
const PROBE_VALUE: &[u8] = b"written by an inspection";

fn damage(kind: DamageKind, detail: impl std::fmt::Display) -> Damage {
    Damage {
        kind,
        detail: detail.to_string(),
    }
}

/// Why an examination ended early.
enum Failure {
    /// The database is damaged.
    Damaged(Damage),
    /// The driver does not open any database here; its reason.
    Refused(String),
    /// The engine has an error as it closes a database that is whole.
    Unclosed(Error),
}

/// What a commit and a close in good order have damaged.
#[derive(Debug, thiserror::Error)]
enum LaterDamage {
    /// The engine has an error.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The records are damaged.
    #[error("{}", .0.detail)]
    Records(Damage),
    /// There are other commits than before.
    #[error("commits {found:?} were there, now {again:?}")]
    Changed {
        /// By worker, its last commit before.
        found: Vec<u64>,
        /// The same after.
        again: Vec<u64>,
    },
    /// The commit is not there.
    #[error("the commit that followed is missing")]
    CommitMissing,
}

impl From<LaterDamage> for Damage {
    fn from(later: LaterDamage) -> Self {
        let kind = match &later {
            LaterDamage::Engine(_) => DamageKind::Unreadable,
            LaterDamage::Records(damage) => damage.kind,
            LaterDamage::Changed { .. } => DamageKind::DamagedLater,
            LaterDamage::CommitMissing => DamageKind::CommitMissing,
        };
        damage(kind, format!("after the next commit: {later}"))
    }
}

impl From<Damage> for LaterDamage {
    fn from(damage: Damage) -> Self {
        Self::Records(damage)
    }
}

impl From<Damage> for Failure {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

fn unreadable(error: Error) -> Damage {
    damage(DamageKind::Unreadable, error)
}

impl OpenableEngine<'_> {
    /// Opens the database as after a start of the machine, and no more.
    pub(super) fn recover(&self) -> Result<Report, TaskError> {
        self.prepare()?;
        let server = self.start_server();
        let opened = server.as_ref().is_ok_and(|_| self.open().is_ok());
        drop(server);
        Ok(if opened {
            Report::Recovered
        } else {
            Report::NotRecovered
        })
    }

    /// Does what the engine's users do before they open a database after lost power.
    fn prepare(&self) -> Result<(), Error> {
        if let Task::Inspect {
            after_lost_power: false,
            ..
        } = self.assignment.task
        {
            return Ok(());
        }
        let subject = &self.assignment.subject;
        let spec = subject.open_spec(&self.assignment.directory, &self.knobs);
        self.engine().prepare_after_power_loss(&spec)
    }

    /// # Errors
    /// [`TaskError::Refused`], if the driver refuses to open any database here.
    pub(super) fn inspect(&self) -> Result<Inspection, TaskError> {
        let mut found = Vec::new();
        // An engine that panics has not opened its database.
        let examined = panics::caught(|| self.examine(&mut found));
        let mut close_error = None;
        let damage = match examined {
            Ok(Ok(())) => None,
            Ok(Err(Failure::Damaged(damage))) => Some(damage),
            Ok(Err(Failure::Refused(reason))) if self.was_open() => {
                Some(damage(DamageKind::Unopenable, reason))
            }
            Ok(Err(Failure::Refused(reason))) => return Err(TaskError::Refused(reason)),
            Ok(Err(Failure::Unclosed(error))) if self.was_open() => {
                close_error = Some(error.to_string());
                None
            }
            Ok(Err(Failure::Unclosed(error))) => return Err(TaskError::Close(error)),
            Err(panic) => Some(damage(DamageKind::Crash, format!("it {panic}"))),
        };
        Ok(Inspection {
            found,
            damage,
            close_error,
        })
    }

    /// Returns whether the workload had the database open.
    fn was_open(&self) -> bool {
        matches!(self.assignment.task, Task::Inspect { was_open: true, .. })
    }

    fn examine(&self, found: &mut Vec<u64>) -> Result<(), Failure> {
        let unopenable = |error: Error| damage(DamageKind::Unopenable, error);
        self.prepare().map_err(unopenable)?;
        let server = self.start_server();
        let server = server.map_err(|error| damage(DamageKind::Unopenable, error))?;
        let database = self.open().map_err(|error| match error {
            Error::Unsupported(reason) => Failure::Refused(reason),
            error => Failure::Damaged(unopenable(error)),
        })?;
        *found = self.read_sequences(&*database)?;
        self.write_probe(&*database)
            .map_err(|error| damage(DamageKind::Unwritable, error))?;
        let closed = database.close();
        self.examine_again(found).map_err(Damage::from)?;
        // Nothing is lost by it: it says nothing of the promise.
        closed.map_err(Failure::Unclosed)?;
        let subject = &self.assignment.subject;
        let spec = subject.open_spec(&self.assignment.directory, &self.knobs);
        let checked = self.engine().check_files(&spec);
        checked.map_err(|error| damage(DamageKind::CheckFailed, error))?;
        drop(server);
        Ok(())
    }

    /// Checks that everything is still there after a commit and a close in good order.
    fn examine_again(&self, found: &[u64]) -> Result<(), LaterDamage> {
        let database = self.open()?;
        let again = self.read_sequences(&*database)?;
        if again != found {
            let found = found.to_vec();
            return Err(LaterDamage::Changed { found, again });
        }
        let mut session = database.session()?;
        let mut is_there = false;
        session.point_read(PROBE_KEY, &mut |value| is_there = value == PROBE_VALUE)?;
        drop(session);
        if is_there {
            Ok(())
        } else {
            Err(LaterDamage::CommitMissing)
        }
    }

    fn write_probe(&self, database: &dyn Database) -> Result<(), Error> {
        let mut session = database.session()?;
        session.begin(Mode::Write)?;
        match session.put(PROBE_KEY, PROBE_VALUE) {
            Ok(()) => session.commit(),
            Err(error) => {
                session.abort()?;
                Err(error)
            }
        }
    }

    /// Reads every record and returns, by worker, the number of its last transaction, if each
    /// worker's records are exactly those after that transaction.
    pub(super) fn read_sequences(&self, database: &dyn Database) -> Result<Vec<u64>, Damage> {
        let mut session = database.session().map_err(unreadable)?;
        let stored = self.read_all(&mut *session)?;
        let workers = 0..self.assignment.workers;
        let sequences: Vec<u64> = workers
            .map(|worker| {
                let own = stored.get(&RecordKey::sequence(worker));
                own.copied().unwrap_or_default()
            })
            .collect();
        for (worker, last) in (0..).zip(&sequences) {
            let expected = self.script.records(worker, *last);
            let of_worker = stored.iter().filter(|(key, _)| key.worker() == worker);
            let of_worker: BTreeMap<RecordKey, u64> =
                of_worker.map(|(key, number)| (*key, *number)).collect();
            if let Some(difference) = describe_difference(&expected, &of_worker) {
                let detail = format!("after commit {last} of worker {worker}: {difference}");
                return Err(damage(DamageKind::PartialTransaction, detail));
            }
        }
        Ok(sequences)
    }

    /// Reads all records, each with the number of the transaction that put it.
    fn read_all(&self, session: &mut dyn Session) -> Result<BTreeMap<RecordKey, u64>, Damage> {
        let mut stored = BTreeMap::new();
        let mut torn = None;
        session.begin(Mode::Read).map_err(unreadable)?;
        let scanned = session.scan(KeyRange::ALL, Direction::Forward, &mut |key, value| {
            if key == PROBE_KEY {
                return ControlFlow::Continue(());
            }
            let Some(record) = RecordKey::from_bytes(key) else {
                torn = Some(format!("nobody wrote the key {key:?}"));
                return ControlFlow::Break(());
            };
            match self.script.sequence_of(record, value) {
                Some(ABORTED) => {
                    torn = Some(format!("{record}: its transaction was aborted"));
                    ControlFlow::Break(())
                }
                Some(number) => {
                    stored.insert(record, number);
                    ControlFlow::Continue(())
                }
                None => {
                    let bytes = value.len();
                    torn = Some(format!("{record}: nobody wrote its value of {bytes} bytes"));
                    ControlFlow::Break(())
                }
            }
        });
        let ended = session.abort();
        scanned.map_err(unreadable)?;
        ended.map_err(unreadable)?;
        match torn {
            Some(torn) => Err(damage(DamageKind::TornValue, torn)),
            None => Ok(stored),
        }
    }
}

/// Describes the first record that differs.
fn describe_difference(
    expected: &BTreeMap<RecordKey, u64>,
    stored: &BTreeMap<RecordKey, u64>,
) -> Option<String> {
    for (key, number) in expected {
        match stored.get(key) {
            Some(found) if found == number => {}
            Some(found) => {
                return Some(format!("{key} is of commit {found}, not of {number}"));
            }
            None => return Some(format!("{key} of commit {number} is missing")),
        }
    }
    let more = stored.iter().find(|(key, _)| !expected.contains_key(key));
    more.map(|(key, number)| format!("{key} of commit {number} should be deleted"))
}
