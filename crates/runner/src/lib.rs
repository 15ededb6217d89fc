//! Runs trials: worker processes, barrier, clock, sampler, events.
//!
//! Engines and workloads are passed to the runner as trait objects; it names none of them.
//!
//! # Modules
//!
//! - `aggregate`: a trial's measurement, from the results of its workers
//! - `arrival_schedule`: when each unit of an open loop is due
//! - `audit_store`: the audits that this user made
//! - `audited_only`: skips trials whose promise was not audited
//! - `clock`: the clock of the measured part
//! - `conformance`, `conformance_cache`, `conformance_result`: the conformance suite before a trial
//! - `context`: the state of a run
//! - `crash_recovery`: deliberate crashes, and the time until the database serves again
//! - `database_reuse`: a database that the next trial uses
//! - `database_size`: the size of a database's files
//! - `disk_space`: the space that trials need
//! - `engine_events`: checkpoints, compactions and stalls during a trial
//! - `environment`: a cold database, a memory limit
//! - `error`, `event`: errors and events of a run
//! - `execution`: the measured part of a trial
//! - `failover`: what planned faults did to the workers of a cluster
//! - `fault_injector`: causes planned faults at their times
//! - `flush_evidence`: whether the device's flushes explain the commits
//! - `hardware_limits`: rates of the machine without an engine
//! - `hosts`: workers on other hosts, over ssh
//! - `load_generators`: the rows of each other host that ran workers
//! - `log_directory`: the folder of an engine's log
//! - `matrix`: a plan, expanded into its trials
//! - `meter`: counting and timing in the measured loop
//! - `phase_limit`: how long each phase of a trial may go on without progress
//! - `preflight`: checks before any work starts
//! - `program`: this program: its version and hash
//! - `protocol`: instructions and reports between runner and workers
//! - `repeats`: repeats until the result is precise enough
//! - `resolution`: a trial's names and settings, resolved to engine and workload
//! - `resume`: checks of a run folder before a run continues in it
//! - `run`: a run: checks, run folder, trials
//! - `run_watch`: the limits of released workers
//! - `sampler`: samples of processes and machine once a second
//! - `server_lifecycle`: the server of a trial's engine
//! - `stalls`: parts of a trial that did not run
//! - `storage_stack`: the storage below a trial
//! - `summaries`: counts and latencies of several processes together
//! - `time_estimate`: how long a run takes
//! - `time_slice_group`, `time_slicing`: contenders that run side by side in slices
//! - `timeline`: a trial second by second
//! - `trace_file`, `trace_folder`: the requests of a trial, recorded
//! - `trial`: one trial: prepare, execute, verify
//! - `trial_group`: a trial, or those that share time slices, with the suites before them
//! - `trial_store`: what is written of a trial that has ended
//! - `user_folder`: a folder of entries that belongs to this user alone
//! - `worker`, `worker_pool`, `worker_processes`, `worker_task`: worker processes and their tasks

mod aggregate;
mod arrival_schedule;
mod attachment;
mod audit_store;
mod audited_only;
mod cautions;
mod clock;
mod cluster_nodes;
mod conformance;
mod conformance_cache;
mod conformance_result;
mod context;
mod contradictions;
mod crash_recovery;
mod database_path;
mod database_reuse;
mod database_size;
pub mod disk_space;
mod engine_events;
mod environment;
pub mod error;
pub mod event;
mod execution;
mod failover;
mod fault_injector;
mod flush_evidence;
mod hardware_limits;
mod hosts;
mod isolation_check;
mod load_generators;
mod log_directory;
pub mod matrix;
pub mod meter;
mod phase_limit;
mod preflight;
mod program;
mod protocol;
mod repeats;
mod resolution;
mod resume;
mod run;
mod run_watch;
mod sampler;
mod server_lifecycle;
mod stalls;
mod storage_stack;
mod summaries;
mod time_estimate;
mod time_slice_group;
mod time_slicing;
mod timeline;
mod trace_file;
mod trace_folder;
mod trial;
mod trial_group;
mod trial_store;
mod user_folder;
pub mod worker;
mod worker_pool;
mod worker_processes;
mod worker_task;

pub use audit_store::{AuditStore, AuditSubject};
pub use audited_only::skip_unaudited;
pub use cautions::cautions;
pub use conformance_cache::ConformanceCache;
pub use context::sha256_of;
pub use error::Error;
pub use event::{Event, Phase};
pub use hosts::connection::HostAccess;
pub use phase_limit::HANG_TIMEOUT;
pub use program::collect_program_facts;
pub use repeats::RepeatRule;
pub use resolution::SelectedEngine;
pub use resume::{check_folder, has_worked_in};
pub use run::{
    ProposedTrials, RunSummary, TrialSource, check_proposals, create_run, run, run_search,
};
pub use time_estimate::TimeEstimate;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use trueput_engine::credentials::redact_word;
use trueput_engine::{Credentials, Engine};
use trueput_record::folder::RankingSplit;
use trueput_record::objective::Objective;
use trueput_record::search::SearchSettings;
use trueput_record::suggest::{did_you_mean, engine_hint};
use trueput_workloads::Workload;

/// The engines and workloads of a program.
#[derive(Clone, Copy)]
pub struct Registry {
    /// The engines.
    pub engines: &'static [&'static dyn Engine],
    /// The workloads.
    pub workloads: &'static [&'static dyn Workload],
}

impl Registry {
    /// Finds an engine by its name.
    ///
    /// # Errors
    /// One sentence with the nearest name and all names.
    pub fn engine(&self, name: &str) -> Result<&'static dyn Engine, String> {
        if name == trueput_engine::storage::NAME {
            return Err(format!(
                "'{name}' is not an engine: it stands for workloads that need none"
            ));
        }
        let found = self
            .engines
            .iter()
            .copied()
            .find(|engine| engine.info().name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = self
                .engines
                .iter()
                .map(|engine| engine.info().name)
                .collect();
            let hint = if name.contains("://") {
                ": write ENGINE@ADDRESS".to_owned()
            } else {
                engine_hint(name, names.iter().copied())
            };
            format!(
                "unknown engine '{}'{hint}; engines: {}",
                redact_word(name),
                names.join(", ")
            )
        })
    }

    /// Finds an engine by its name, in the library that is named, if any.
    ///
    /// # Errors
    /// One sentence with the nearest name, or why the library is not one of the engine.
    pub fn open(&self, name: &str, library: Option<&Path>) -> Result<SelectedEngine, String> {
        let offered = self.engine(name)?;
        let Some(library) = library else {
            return Ok(SelectedEngine::Offered(offered));
        };
        let loaded = offered.with_library(library);
        Ok(SelectedEngine::Loaded(
            loaded.map_err(|error| error.to_string())?,
        ))
    }

    /// Finds a workload by its name.
    ///
    /// # Errors
    /// One sentence with the nearest name and all names.
    pub fn workload(&self, name: &str) -> Result<&'static dyn Workload, String> {
        let found = self
            .workloads
            .iter()
            .copied()
            .find(|workload| workload.info().name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = self.workloads.iter().map(|w| w.info().name).collect();
            let hint = did_you_mean(name, names.iter().copied());
            format!(
                "unknown workload '{name}'{hint}; workloads: {}",
                names.join(", ")
            )
        })
    }
}

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The passwords of users' servers, as [`matrix::Matrix`] has them.
    pub credentials: Credentials,
    /// The program of the workers: this one. It is started as `PROGRAM worker` and calls
    /// `worker::main`.
    pub worker_program: PathBuf,
    /// How the hosts of [`trueput_record::Conditions::hosts`] are reached.
    pub host_access: HostAccess,
    /// The folder for databases; `None`: `work` in the run folder.
    pub work: Option<PathBuf>,
    /// Keeps each trial's database instead of removing it.
    pub keep_databases: bool,
    /// Keeps the database of a trial that failed or was interrupted, so that it can be resumed.
    pub keep_unfinished: bool,
    /// Continues an unfinished trial in its database if that still exists, and runs failed trials
    /// again. Otherwise such a database is removed and its trial starts afresh.
    pub resume_databases: bool,
    /// The multiple of a database's expected size that must be free before it is created; see
    /// [`disk_space::DISK_FACTOR`].
    pub disk_factor: f64,
    /// The time that a phase of a trial may go on without progress before the trial fails, at the
    /// least: [`HANG_TIMEOUT`] unless the user says otherwise.
    pub hang_limit: Duration,
    /// Measure the hardware limits, once for each file system, number of workers and commit size;
    /// it takes about two seconds each time.
    pub hardware_limits: bool,
    /// The cache of passed conformance suites; `None`: every run checks again.
    pub conformance_cache: Option<ConformanceCache>,
    /// Run the anomaly suite on engines whose isolation is stated, before they are measured. Off
    /// only in tests of other things: it takes seconds.
    pub checks_isolation: bool,
    /// The audits that the user made; `None`: nothing is known of any.
    pub audits: Option<AuditStore>,
    /// The rule by which enough repeats have run, so that the remaining trials are skipped; `None`:
    /// all run.
    pub until: Option<RepeatRule>,
    /// Rank builds with assertions with the others: the run's reports do so.
    pub include_assertions: bool,
    /// The parameter by which the run's reports split their rankings.
    pub split_by: Option<RankingSplit>,
    /// The objective of the plan, for the manifest.
    pub objective: Option<Objective>,
    /// The question of a search, for the manifest.
    pub search: Option<SearchSettings>,
    /// Set by the caller's signal handler when the user stops the run: workers are stopped, and
    /// measurements so far are kept.
    pub stop: Arc<AtomicBool>,
}
