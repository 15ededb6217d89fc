//! Runs random transactions of several sessions, and checks their history for the isolation that
//! the engine states; on a cluster, while nodes are killed, paused and separated.

use super::reconnection::ReconnectingSession;
use super::subject::{Installation, SESSIONS, Subject};
use crate::failure::Failure;
use crate::output;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use trueput_engine::parameter::resolve;
use trueput_engine::{Database, OpenSpec, Value};
use trueput_host::cluster::send_order;
use trueput_record::fault::{ClusterOrder, FaultAction};
use trueput_record::measurement::Check;
use trueput_record::value::Settings;
use trueput_record::{Conditions, VerifyLevel, WorkerKind};
use trueput_runner::meter::{ClockMeter, Stage, WorkerCounters};
use trueput_workloads::history::HistoryWorkload;
use trueput_workloads::{ExecutionSummary, Job, JobDatabase, JobTask, Workload};

/// What the values of a history are.
pub const MODELS: [&str; 2] = ["list-append", "register"];

/// Sessions that run at once.
const WORKERS: u32 = 4;

/// Transactions of a history without faults.
const TRANSACTIONS: i64 = 20_000;

/// The time after which a history without faults ends, however many transactions it has.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// The time before most faults, and after the last: nodes fail over, and commit again.
const FAULT_INTERVAL: Duration = Duration::from_secs(8);

/// A fault and the time before it.
type DelayedFault = (Duration, &'static str);

/// The faults of a cluster, in their order. A paused leader is killed when it is replaced.
const FAULTS: [&str; 8] = [
    "kill=leader",
    "start=all",
    "pause=leader",
    "start=all",
    "partition=leader",
    "heal",
    "start=all",
    "kill=follower",
];

/// Faults by which commits become visible that nobody acknowledged, and are lost: they wait for
/// followers that do not get them, their leader shows them when it was restarted, and another node,
/// which has never received them, takes its place. What is sent to a paused node stays in the
/// kernel and is received later, so the leader is separated instead. It is restarted before it is
/// replaced, and replaced in the time after that.
const RESTART_FAULTS: [DelayedFault; 6] = [
    (FAULT_INTERVAL, "start=all"),
    (FAULT_INTERVAL, "partition=leader"),
    (Duration::from_millis(500), "kill=leader"),
    (Duration::ZERO, "start=leader"),
    (Duration::from_secs(16), "heal"),
    (Duration::ZERO, "start=all"),
];

/// Returns the faults of a history on a cluster.
pub fn faults(with_restart: bool) -> Vec<DelayedFault> {
    let mut faults = FAULTS.map(|order| (FAULT_INTERVAL, order)).to_vec();
    if with_restart {
        faults.extend(RESTART_FAULTS);
    }
    faults
}

/// The time that a cluster may take to have a leader after the last fault.
const LEADER_TIMEOUT: Duration = Duration::from_secs(60);

/// Checks a history of an engine with these settings. The inner error says why there is none.
///
/// # Errors
/// As [`Subject::install`].
pub fn check_history(
    subject: Subject,
    parent: &Path,
    settings: &Settings,
    model: &str,
    faults: Option<Vec<DelayedFault>>,
    stop: &AtomicBool,
) -> Result<Result<Vec<Check>, String>, Failure> {
    let installation = match subject.install(parent, settings)? {
        Ok(installation) => installation,
        Err(reason) => return Ok(Err(reason)),
    };
    let run = HistoryRun::new(subject, &installation, model, faults, stop);
    Ok(run.and_then(|run| run.run()))
}

/// A history of an open database.
struct HistoryRun<'a> {
    subject: Subject,
    installation: &'a Installation,
    database: Box<dyn Database>,
    job: Box<dyn Job>,
    /// The faults that are caused meanwhile; none if it is no history under faults.
    faults: Option<Vec<DelayedFault>>,
    stage: Stage,
    /// Whether the user wants it to end.
    stop: &'a AtomicBool,
}

impl<'a> HistoryRun<'a> {
    fn new(
        subject: Subject,
        installation: &'a Installation,
        model: &str,
        faults: Option<Vec<DelayedFault>>,
        stop: &'a AtomicBool,
    ) -> Result<Self, String> {
        let spec = OpenSpec {
            directory: installation.path(),
            durability: subject.level,
            knobs: &installation.knobs,
            sessions: SESSIONS,
        };
        let database = subject.engine.open(&spec);
        let transactions = if faults.is_some() { 0 } else { TRANSACTIONS };
        let settings = Settings::from([
            ("model".to_owned(), Value::from(model)),
            ("transactions".to_owned(), Value::Integer(transactions)),
        ]);
        let settings = resolve("history", HistoryWorkload.settings(), &settings);
        let settings = settings.map_err(|error| error.to_string())?;
        let conditions = Conditions {
            duration_s: faults
                .as_deref()
                .map(|faults| time_of(faults).as_secs_f64()),
            ..Conditions::default()
        };
        let job = HistoryWorkload.job(&settings, &conditions)?;
        job.check_capabilities(&subject.engine.capabilities())?;
        Ok(Self {
            subject,
            installation,
            database: database.map_err(|error| format!("opening the database: {error}"))?,
            job,
            faults,
            stage: Stage::measured(),
            stop,
        })
    }

    fn run(&self) -> Result<Vec<Check>, String> {
        let (worked, caused) = std::thread::scope(|scope| {
            let work = |worker| move || self.work(worker);
            let workers: Vec<_> = (0..WORKERS).map(|one| scope.spawn(work(one))).collect();
            let began = Instant::now();
            let faults = self.faults.as_deref();
            let caused = faults.map_or(Ok(()), |faults| self.cause_faults(faults));
            let is_over = || {
                let is_late = self.faults.is_some() || began.elapsed() >= CHECK_TIMEOUT;
                caused.is_err() || is_late || self.is_stopped()
            };
            while !is_over() && !workers.iter().all(|worker| worker.is_finished()) {
                sleep(Duration::from_millis(10));
            }
            self.stage.end();
            let ended = workers.into_iter().map(|worker| {
                let ended = worker.join();
                ended.unwrap_or_else(|_| Err("a worker has panicked".to_owned()))
            });
            (ended.collect::<Result<Vec<_>, _>>(), caused)
        });
        caused?;
        if self.is_stopped() {
            Err("stopped".to_owned())
        } else {
            self.verify(worked?)
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits before a fault, unless the user wants the history to end.
    fn wait(&self, time: Duration) -> Result<(), String> {
        let began = Instant::now();
        while began.elapsed() < time {
            if self.is_stopped() {
                return Err("stopped".to_owned());
            }
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Does one worker's share, and returns its history.
    fn work(&self, worker: u32) -> Result<Vec<u8>, String> {
        let counters = WorkerCounters::default();
        let mut meter = ClockMeter::new(self.job.kinds().len(), &counters, &self.stage);
        let mut session = ReconnectingSession::new(&*self.database);
        let mut attachment = Vec::new();
        let mut task = JobTask {
            session: &mut session,
            directory: self.installation.path(),
            meter: &mut meter,
            attachment: &mut attachment,
            capabilities: self.subject.engine.capabilities(),
            worker,
            workers: WORKERS,
            worker_kind: WorkerKind::Threads,
            verify: VerifyLevel::Full,
            generation: 0,
            seed: 1,
        };
        let executed = self.job.execute(&mut task);
        // Without this worker the others' history cannot be checked.
        let executed = executed.inspect_err(|_| self.stage.end());
        executed.map_err(|error| format!("worker {worker}: {error}"))?;
        Ok(attachment)
    }

    /// Causes each fault after the one before had time to take effect.
    fn cause_faults(&self, faults: &[DelayedFault]) -> Result<(), String> {
        for (index, &(time, order)) in faults.iter().enumerate() {
            let order = order.parse::<ClusterOrder>();
            let order = order.map_err(|error| error.to_string())?;
            let needs_network = matches!(order.action, FaultAction::Partition | FaultAction::Heal);
            if needs_network && !trueput_host::is_root() {
                continue;
            }
            let left = time_of(&faults[index..]);
            output::note(&format!(
                "{} {}: next {order}, step {} of {}, at most {} s left for this history",
                self.subject.name,
                self.subject.level,
                index + 1,
                faults.len(),
                left.as_secs()
            ));
            self.wait(time)?;
            send_order(self.installation.path(), order)
                .map_err(|error| format!("{order}: {error}"))?;
        }
        self.wait(FAULT_INTERVAL)
    }

    /// Waits until a cluster whose nodes failed takes sessions again.
    fn await_leader(&self) -> Result<(), String> {
        let began = Instant::now();
        while let Err(error) = self.database.session() {
            if began.elapsed() >= LEADER_TIMEOUT {
                let limit_s = LEADER_TIMEOUT.as_secs();
                return Err(format!(
                    "no leader for {limit_s} s after the faults: {error}"
                ));
            }
            sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn verify(&self, attachments: Vec<Vec<u8>>) -> Result<Vec<Check>, String> {
        if self.faults.is_some() {
            self.await_leader()?;
        }
        let ended = ExecutionSummary {
            counts: Vec::new(),
            conflicts: 0,
            findings: Vec::new(),
            attachments,
            resumed: false,
            verify: VerifyLevel::Full,
            crashed: None,
        };
        let target = JobDatabase {
            database: &*self.database,
            directory: self.installation.path(),
            capabilities: self.subject.engine.capabilities(),
            isolation: self.subject.engine.isolation(&self.installation.knobs),
            reads_are_recent: self
                .subject
                .engine
                .reads_are_recent(&self.installation.knobs),
            workers: WORKERS,
            threads: 1,
            generation: 0,
            seed: 1,
            progress: &|_| {},
        };
        let verified = self.job.verify(&target, &ended);
        verified
            .map(|results| results.checks)
            .map_err(|error| error.to_string())
    }
}

/// The time that faults take, with the one after the last.
fn time_of(faults: &[DelayedFault]) -> Duration {
    let before: Duration = faults.iter().map(|(time, _)| *time).sum();
    before + FAULT_INTERVAL
}
