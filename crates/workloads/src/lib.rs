//! Workloads: the work that an engine is measured with. A new workload is one file (or folder) and
//! one row in [`registry`].
//!
//! A [`Workload`] describes itself and its settings; with values for them it becomes a [`Job`],
//! which the runner's worker processes call: `prepare` once in a process of its own, then `execute`
//! in every worker at once, then `verify` once in a process of its own. Only the job chooses keys
//! and mixes; it never touches the clock, a process or `/proc`.
//!
//! # Modules
//!
//! - `custom`: your own workload
//! - `error`: the errors of jobs
//! - `fixed_text`: text of bounded length
//! - `generate`: random choices: items by a distribution, keys, values
//! - `history`: random transactions whose history is checked for isolation
//! - `insert_benchmark`: Mark Callaghan's insert benchmark
//! - `keyed`: the core that micro, ycsb, custom and trace share
//! - `micro`: tests after db_bench and Symas
//! - `mixgraph`: RocksDB's mixgraph, and the fit of its parameters to a trace
//! - `pgbench`: pgbench's built-in scripts
//! - `sql`: SQL that several workloads share
//! - `storage`: workloads on files, without an engine: log-flush, io-thrash
//! - `sysbench`: sysbench's OLTP scripts
//! - `threads`: work that several threads share
//! - `threen1`: the 3n+1 benchmark
//! - `tpcc`: the transactions of TPC-C
//! - `trace`: the requests of a trace, replayed
//! - `ycsb`: YCSB's core workload, A to F

pub mod custom;
mod error;
pub mod fixed_text;
pub mod generate;
pub mod history;
pub mod insert_benchmark;
mod keyed;
pub mod micro;
pub mod mixgraph;
pub mod pgbench;
mod sql;
pub mod storage;
pub mod sysbench;
mod threads;
pub mod threen1;
pub mod tpcc;
pub mod trace;
pub mod ycsb;

pub use error::{Error, ErrorContext, JobError, Result};
pub use keyed::error::RecordError;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use trueput_engine::{
    Capabilities, Database, Dialect, Durability, Isolation, Parameter, ParameterValues, Session,
    Value,
};
use trueput_record::measurement::{Check, Measurement};
use trueput_record::plan::Dimensions;
use trueput_record::{Conditions, Survival, TrialSpec, VerifyLevel, WorkerKind};

/// Every workload.
#[must_use]
pub fn registry() -> &'static [&'static dyn Workload] {
    &[
        &threen1::ThreeN1,
        &micro::Micro,
        &ycsb::Ycsb,
        &custom::Custom,
        &mixgraph::Mixgraph,
        &trace::TraceWorkload,
        &tpcc::Tpcc,
        &pgbench::Pgbench,
        &sysbench::Sysbench,
        &insert_benchmark::InsertBenchmark,
        &history::HistoryWorkload,
        &storage::log_flush::LogFlush,
        &storage::io_thrash::IoThrash,
    ]
}

/// The kind of thing that a workload works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkloadSubject {
    /// An engine under test.
    Engine,
    /// Its own files, in place of a database. It needs no engine: [`trueput_engine::Storage`] is
    /// its engine.
    Storage,
}

/// A workload with its settings.
pub trait Workload: Send + Sync {
    /// Describes the workload.
    fn info(&self) -> WorkloadInfo;

    /// The subject of the workload: an engine, or the storage itself.
    fn subject(&self) -> WorkloadSubject {
        WorkloadSubject::Engine
    }

    /// Its settings, described like an engine's knobs.
    fn settings(&self) -> &'static [Parameter];

    /// Whether each of the settings that a plan gives can have an effect together with the others,
    /// `given` being all that it gives with every value.
    ///
    /// # Errors
    /// The first setting that has no effect.
    fn check_given(&self, _given: &Dimensions) -> Result<(), IneffectiveSetting> {
        Ok(())
    }

    /// Whether a trial without a duration ends by these settings: they give a number of operations,
    /// or the work has an end. One that does not end gets [`DEFAULT_DURATION_S`], so that
    /// contenders are measured for the same time.
    fn has_end(&self, _settings: &ParameterValues, _conditions: &Conditions) -> bool {
        true
    }

    /// Whether a duration that a plan gives applies to trials with these settings. A plan whose
    /// trials are the steps of one benchmark has steps that end by their work alone.
    fn takes_duration(&self, _settings: &ParameterValues) -> bool {
        true
    }

    /// Binds it to settings that were resolved with [`trueput_engine::parameter::resolve`], and to
    /// the conditions under which it will run.
    ///
    /// # Errors
    /// The settings contradict each other (a reversed range, say) or the conditions (a duration for
    /// a job with an end).
    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError>;
}

/// The duration of a trial that neither its plan nor its settings end, seconds.
pub const DEFAULT_DURATION_S: f64 = 10.0;

/// The number of workers where neither the plan nor the job states one.
pub const DEFAULT_WORKERS: u32 = 4;

/// A setting that a plan gives and that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IneffectiveSetting {
    /// The setting.
    pub name: &'static str,
    /// The reason why it has no effect, and a setting that would.
    pub message: String,
}

/// Describes a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkloadInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// The work that it does, in one sentence.
    pub summary: &'static str,
    /// The figure that ranks contenders: the kind of operation whose rate matters most. If it
    /// depends on the settings it is empty, and the first of [`Job::kinds`] ranks them.
    pub headline: &'static str,
    /// The kind of worker, if the plan does not set it and the engine allows either.
    pub worker_kind: WorkerKind,
}

/// Checks that a crash at the end of a job can lose something, and that the job can find what, if
/// the level promises that so much survives.
///
/// # Errors
/// The job writes nothing, or cannot verify what a crash leaves.
pub fn check_crash(job: &dyn Job, survival: Survival) -> Result<(), JobError> {
    job.check_crash(survival)?;
    let one_of_each = vec![1; job.kinds().len()];
    if job.commits(&one_of_each) == Some(0) {
        return Err(JobError::CrashWithoutWrites);
    }
    Ok(())
}

/// The content of a database before a job prepares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExistingDatabase {
    /// Nothing: it is new.
    Nothing,
    /// The state of an interrupted trial. Its workers are gone, and the trial will be continued.
    /// Only a job with [`Job::is_resumable`] gets this.
    Unfinished,
    /// The state after a finished trial with the same [`Job::load_key`]: it need not load again.
    Loaded,
}

/// The data that a job loaded before the workers started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadSummary {
    /// Records put.
    pub records: u64,
    /// Bytes of their keys and values.
    pub user_bytes: u64,
}

/// The bytes of keys and values that one operation of a kind moves, on average.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OperationBytes {
    /// Bytes that it asks of the engine.
    pub read_bytes: f64,
    /// Bytes that it hands to the engine.
    pub written_bytes: f64,
}

impl OperationBytes {
    /// So many bytes read and written.
    #[must_use]
    pub const fn new(read_bytes: f64, written_bytes: f64) -> Self {
        Self {
            read_bytes,
            written_bytes,
        }
    }
}

/// The times at which units are due, in their order, nanoseconds since the workers' release.
pub type DueTimes<'a> = Box<dyn Iterator<Item = u64> + 'a>;

/// A workload with values for its settings.
pub trait Job: Send + Sync {
    /// The kinds of operation that it does, in the order of [`Meter::finish`]'s index.
    fn kinds(&self) -> &'static [&'static str];

    /// The number of units of work in the whole trial, over all workers, for progress and time
    /// left; 0 if it ends by its duration.
    fn total_units(&self) -> u64;

    /// The total number of workers if the plan asks for `workers`: a job may add writers to the
    /// plan's readers. Added workers come last.
    fn sessions(&self, workers: u32) -> u32 {
        workers
    }

    /// The promise of a commit of this job, where its own settings decide that and no engine does;
    /// `None` for every job on an engine.
    fn durability(&self) -> Option<Durability> {
        None
    }

    /// The only number of workers that [`Job::check_workers`] accepts, which a plan that gives none
    /// gets; `None`: several are possible, and it gets [`DEFAULT_WORKERS`].
    fn needed_workers(&self) -> Option<u32> {
        None
    }

    /// Checks that the job can be done by this many workers of this kind.
    ///
    /// # Errors
    /// If it cannot be done by these workers.
    fn check_workers(&self, _workers: u32, _kind: WorkerKind) -> Result<(), JobError> {
        Ok(())
    }

    /// Checks that an engine with these capabilities has room for its records.
    ///
    /// # Errors
    /// If the engine has no room for a record.
    fn check_capabilities(&self, _capabilities: &Capabilities) -> Result<(), JobError> {
        Ok(())
    }

    /// Checks that the job can be done on an engine whose sessions speak this SQL dialect, or none.
    ///
    /// # Errors
    /// If it needs a dialect and there is none, or another.
    fn check_dialect(&self, _dialect: Option<Dialect>) -> Result<(), JobError> {
        Ok(())
    }

    /// Whether its transactions are SQL statements, which lock only the rows that they name
    /// ([`trueput_engine::Engine::isolation_in_sql`]).
    fn uses_sql(&self) -> bool {
        false
    }

    /// Whether its transactions read before they write, so that the engine must isolate them itself
    /// ([`trueput_engine::Engine::check_transactions`]).
    fn needs_transactions(&self) -> bool {
        false
    }

    /// Checks that the job can find acknowledged commits that are missing after its processes were
    /// killed with SIGKILL, at a level that promises this survival. Nothing is checked if nothing
    /// is promised.
    ///
    /// # Errors
    /// If missing commits could not be found.
    fn check_crash(&self, _survival: Survival) -> Result<(), JobError> {
        Err(JobError::UnverifiableCrash)
    }

    /// The kinds of unit that an open loop's rate counts, in the order of [`Meter::finish_unit`]'s
    /// index.
    fn unit_kinds(&self) -> &'static [&'static str] {
        self.kinds()
    }

    /// The rate of all workers together, per second, if the job itself says when its units are due:
    /// the trial is then an open loop without a rate of the plan.
    fn scheduled_per_s(&self) -> Option<f64> {
        None
    }

    /// When each unit of a worker of `workers` is due; `None` without [`Job::scheduled_per_s`].
    fn due_times(&self, _worker: u32, _workers: u32) -> Option<DueTimes<'_>> {
        None
    }

    /// The setting with which a job of [`Job::scheduled_per_s`] does each unit when the last has
    /// ended, as it is given on the command line; empty for other jobs.
    fn closed_loop_setting(&self) -> &'static str {
        ""
    }

    /// Bytes moved per operation, in the order of [`Job::kinds`]; empty if it is not known.
    fn volumes(&self) -> Vec<OperationBytes> {
        Vec::new()
    }

    /// Bytes of keys and values that the database holds when the workers have done `counts`
    /// operations, in the order of [`Job::kinds`]; `None` if that is not known.
    fn live_bytes(&self, _counts: &[u64]) -> Option<u64> {
        None
    }

    /// The number of commits in these counts of operations, by kind in the order of [`Job::kinds`];
    /// only commits that wrote. `None` if it is not known.
    fn commits(&self, _counts: &[u64]) -> Option<u64> {
        None
    }

    /// The number of a finished trial's commits that certainly changed data: only these need
    /// storage to survive a power loss. `None` if it is not known. Called once the trial's results
    /// are in its measurement.
    fn changing_commits(&self, _spec: &TrialSpec, measurement: &Measurement) -> Option<u64> {
        measurement.commits
    }

    /// A reason why its operations will not find the records that they look for, such as deletes
    /// without anything that puts records back; one sentence, `None` if there is none. It is told
    /// before the run.
    fn caution(&self) -> Option<String> {
        None
    }

    /// Bytes of keys and values that one commit writes, about: the size of the record for which a
    /// flush is measured as the hardware limit.
    fn commit_bytes(&self) -> u64 {
        128
    }

    /// Whether an interrupted trial can be continued in its database.
    fn is_resumable(&self) -> bool {
        false
    }

    /// Whether [`Job::prepare`] loads records. How long that takes is measured, so that nothing
    /// else goes on meanwhile.
    fn has_load(&self) -> bool {
        true
    }

    /// Identifies everything that determines the loaded data. Consecutive trials of one engine,
    /// build, set of knobs, level and key use one database, loaded once. `None`: each trial loads
    /// its own.
    fn load_key(&self) -> Option<String> {
        None
    }

    /// Whether `trial`, which is this job's, goes on with the database that the trial `before`
    /// left, which has the same [`Job::load_key`]; if not, it begins with a new one.
    fn goes_on_after(&self, _before: &TrialSpec, _trial: &TrialSpec) -> bool {
        true
    }

    /// Whether the job is about what becomes of the database that another trial has left. It then
    /// goes on with that even where a copy is there of what an earlier repeat had to prepare.
    fn is_continuation(&self) -> bool {
        false
    }

    /// About how many bytes the database will take on a frugal engine, for the free-disk check.
    fn expected_bytes(&self) -> u64;

    /// The bytes that its files take with this many workers, if it lays them out itself; `None` if
    /// an engine stores the data.
    fn own_files_bytes(&self, _workers: u32) -> Option<u64> {
        None
    }

    /// Fills the database before the workers start, and returns the load's figures; `None` if they
    /// are not worth reporting.
    ///
    /// # Errors
    /// Errors of the engine, or that the database belongs to another problem.
    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>>;

    /// Prepares a worker's process before the start: tables, pools of values. Every worker of the
    /// process calls it, on its own thread.
    ///
    /// # Errors
    /// Anything that prevents the worker from starting.
    fn initialize(&self, _task: &JobTask<'_>) -> Result<()> {
        Ok(())
    }

    /// Brings the data that the settings name into the engine's cache, through the worker's own
    /// session. Every worker calls it after [`Job::initialize`], before the start; it is not
    /// measured.
    ///
    /// # Errors
    /// Errors of the engine.
    fn prime(&self, _task: &mut JobTask<'_>) -> Result<()> {
        Ok(())
    }

    /// Does one worker's share, on that worker's thread, while others do theirs.
    ///
    /// # Errors
    /// Errors of the engine except conflicts, which are retried here and counted.
    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings>;

    /// Draws the results from the database after the workers have ended, and checks them against an
    /// independent computation.
    ///
    /// # Errors
    /// Errors of the engine. A failed check is not an error: it is in the result.
    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults>;

    /// Derives metrics and checks from the measurement: rates under the workload's own names,
    /// response times against its limits. They are added to those of [`Job::verify`].
    fn derive_metrics(&self, _measurement: &Measurement) -> JobResults {
        JobResults::default()
    }
}

/// The database that a job prepares or verifies.
pub struct JobDatabase<'a> {
    /// Open, and used by no other process while the job reads it.
    pub database: &'a dyn Database,
    /// The database's folder.
    pub directory: &'a Path,
    /// The capabilities of its engine.
    pub capabilities: Capabilities,
    /// The isolation of its transactions, as the driver states it; `None` if it states none.
    pub isolation: Option<Isolation>,
    /// Whether the driver states that a transaction sees every earlier commit.
    pub reads_are_recent: bool,
    /// The number of workers that the plan asks for; there may be more ([`Job::sessions`]).
    pub workers: u32,
    /// The number of threads that this process may use.
    pub threads: u32,
    /// The number of earlier trials on this load ([`Job::load_key`]).
    pub generation: u32,
    /// Seed of this trial's random choices: which records a sample verifies, say.
    pub seed: u64,
    /// Called now and then with the part of the work that is done, 0 to 1; it is cheap.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

impl JobDatabase<'_> {
    /// Opens a session of the database.
    pub(crate) fn open_session(&self) -> Result<Box<dyn Session + '_>> {
        let session = self.database.session();
        session.context(|| "opening a session".to_owned())
    }
}

/// One worker's share of a trial. `keyed::transaction` adds the retried transaction and the single
/// read, `transact` and `point_read`.
pub struct JobTask<'a> {
    /// The worker's own session.
    pub session: &'a mut dyn Session,
    /// The database's folder.
    pub directory: &'a Path,
    /// Counts and times the operations.
    pub meter: &'a mut dyn Meter,
    /// What the verification gets from this worker besides its findings; empty at first. The job
    /// fills it when its share is done.
    pub attachment: &'a mut Vec<u8>,
    /// The capabilities of the engine.
    pub capabilities: Capabilities,
    /// The index of this worker, from 0; workers that [`Job::sessions`] added come last.
    pub worker: u32,
    /// The number of workers that the plan asks for.
    pub workers: u32,
    /// Whether the workers are processes, which share no memory, or threads of this one.
    pub worker_kind: WorkerKind,
    /// The extent of the verification, which decides how much a worker must remember.
    pub verify: VerifyLevel,
    /// The number of earlier trials on this load ([`Job::load_key`]).
    pub generation: u32,
    /// Seed of this trial's random choices; the same for all workers.
    pub seed: u64,
}

impl JobTask<'_> {
    /// Whether reads are checked.
    pub(crate) fn verifies_reads(&self) -> bool {
        self.verify != VerifyLevel::Off && self.capabilities.retains_data
    }
}

/// The figures that one worker reports, by name: maxima, sums. A report shows them only if the
/// database itself cannot provide them.
pub type WorkerFindings = BTreeMap<String, u64>;

/// Counts and times operations, and keeps the pace. It is called in the measured loop: it neither
/// allocates, locks, formats nor asks the kernel, but to sleep until an operation is due.
///
/// A loop over operations is
///
/// ```text
/// while meter.next_unit() {
///     // the operation
///     meter.finish(kind);
///     meter.finish_unit(kind);
/// }
/// ```
///
/// A job that ends by its own count does its whole count after [`Meter::is_warming_up`] has become
/// false.
pub trait Meter {
    /// Waits until the next unit of work is due and starts it, as [`Meter::start`] does; in a
    /// closed loop it is always due, and begins when the last operation ended. `false`: the time is
    /// up or the user stopped the run, and the worker returns.
    fn next_unit(&mut self) -> bool {
        !self.is_stopped()
    }

    /// Returns whether the time is up, or the user stopped the run: a unit of many operations may
    /// end early then.
    fn is_over(&self) -> bool {
        self.is_stopped()
    }

    /// The next operation starts now. The time since the last one ended is part of no latency.
    fn start(&mut self);

    /// An operation of the kind with this index in [`Job::kinds`] has ended; it began at the last
    /// `start` or `finish`, whichever was later. So a loop without gaps reads the clock once per
    /// operation.
    fn finish(&mut self, kind: usize);

    /// Returns this moment, for [`Meter::finish_nested`], [`Meter::elapsed_ns`] and
    /// [`Meter::wait_since`], in units of the meter's own.
    fn timestamp(&mut self) -> u64 {
        0
    }

    /// Returns the time since `mark`, a [`Meter::timestamp`], nanoseconds; 0 if the meter has no
    /// clock.
    fn elapsed_ns(&mut self, _mark: u64) -> u64 {
        0
    }

    /// Returns this moment on a clock that all processes of this machine share and that never goes
    /// back, nanoseconds; 0 if the meter has none. It shows in which order things happened.
    fn monotonic_ns(&mut self) -> u64 {
        0
    }

    /// Ends a nested operation of this kind, which began at `mark`; the enclosing one continues
    /// with its own start time.
    fn finish_nested(&mut self, _kind: usize, _mark: u64) {}

    /// The current operation, which [`Meter::finish`] will count as this kind, looked for a record
    /// that is not there.
    fn not_found(&mut self, _kind: usize) {}

    /// The unit of work that the last `next_unit` began has ended, with the last `finish`. Its kind
    /// is the one with this index in [`Job::unit_kinds`]. Its response time runs from when it was
    /// due.
    fn finish_unit(&mut self, _unit: usize) {}

    /// Waits until `time_ns` nanoseconds have passed since `mark`: a user keys in, or thinks.
    /// `false`: the time is up or the user stopped the run, and the worker returns.
    fn wait_since(&mut self, _mark: u64, _time_ns: u64) -> bool {
        !self.is_stopped()
    }

    /// The date, microseconds since 1970-01-01 00:00 UTC, for rows that carry one.
    fn date_us(&mut self) -> i64 {
        0
    }

    /// Whether the current operation belongs to the warm-up, which is not counted. It changes
    /// within `next_unit`, `wait_since` and `finish` only.
    fn is_warming_up(&self) -> bool {
        false
    }

    /// Units of work done since the last call, towards [`Job::total_units`].
    fn advance(&mut self, units: u64);

    /// The engine reported a conflict, a deadlock or another, and the transaction will be tried
    /// again.
    fn conflict(&mut self, error: &trueput_engine::Error);

    /// The last `count` operations of a kind that were finished have been rolled back: they are
    /// taken off its count, since only committed work counts. Their latencies stay in the
    /// histogram, for that time was spent.
    fn uncount(&mut self, kind: usize, count: u64);

    /// Whether the worker is to return at its next convenience, because the user stopped the run.
    fn is_stopped(&self) -> bool;
}

/// The work that the workers of a trial have done, and how much of it is to be verified.
#[derive(Debug, Clone)]
pub struct ExecutionSummary {
    /// Operations by kind, over all workers, in the order of [`Job::kinds`].
    pub counts: Vec<u64>,
    /// Conflicts, over all workers.
    pub conflicts: u64,
    /// The findings of each worker.
    pub findings: Vec<WorkerFindings>,
    /// What [`JobTask::attachment`] of each worker holds.
    pub attachments: Vec<Vec<u8>>,
    /// Whether the trial continued an interrupted one: totals then speak of the remainder only.
    pub resumed: bool,
    /// The extent of the verification.
    pub verify: VerifyLevel,
    /// The acknowledged commits that must be there although every process was killed before it
    /// had closed the database; `None` if none was.
    pub crashed: Option<Survival>,
}

impl ExecutionSummary {
    /// The number of operations of a kind.
    pub(crate) fn count(&self, kind: usize) -> u64 {
        self.counts.get(kind).copied().unwrap_or_default()
    }

    /// A finding of one worker; 0 if the worker did not report it.
    pub(crate) fn finding(&self, worker: usize, name: &str) -> u64 {
        let findings = self.findings.get(worker);
        findings.map_or(0, |findings| finding(findings, name))
    }

    /// The sum of a finding over all workers.
    pub(crate) fn sum_of(&self, name: &str) -> u64 {
        let findings = self.findings.iter();
        findings.map(|findings| finding(findings, name)).sum()
    }
}

/// A finding; 0 if there is none.
pub(crate) fn finding(findings: &WorkerFindings, name: &str) -> u64 {
    findings.get(name).copied().unwrap_or_default()
}

/// The results and the checks of a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobResults {
    /// The results by name, for the record.
    pub results: BTreeMap<String, Value>,
    /// The checks; empty where verification is off.
    pub checks: Vec<Check>,
}
