//! Runs trials: worker processes, barrier, clock, sampler, events.
//!
//! Engines and workloads are passed to the runner as trait objects; it names none of them.
//!
//! - `across`: whole repeats on other hosts, which are blocks of the comparison
//! - `concurrent_tasks`: tasks that go on at the same time, because nothing is measured meanwhile
//! - `context`: the state of a run
//! - `error`, `event`: errors and events of a run
//! - `evidence`: what is observed around a trial, and its measurement
//! - `fault_servers`: the servers of storage that fails
//! - `hosts`: workers on other hosts, over ssh or by another launcher
//! - `knowledge`: what a run has found out
//! - `plan`: a plan, expanded into its trials, with checks and estimates
//! - `program`: this program: its version and hash
//! - `run`: a run: checks, run folder, trials
//! - `storage_servers`: the servers of modeled storage
//! - `trial`: a trial, from its engine's suites to its record
//! - `workers`: worker processes, their protocol and their meter

mod across;
mod concurrent_tasks;
mod context;
mod error;
mod event;
mod evidence;
mod failure_reason;
mod fault_servers;
mod hosts;
mod knowledge;
mod plan;
mod program;
mod run;
mod storage_servers;
mod trial;
mod workers;

pub use across::error::FleetError;
pub use across::run_search;
pub use context::sha256_of;
pub use error::Error;
pub use event::{Event, Phase};
pub use evidence::audit_store::{AuditStore, AuditSubject};
pub use hosts::connection::HostAccess;
pub use hosts::error::HostError;
pub use hosts::launcher::{HOSTS_OF_ALLOCATION, Launcher, LauncherError, TemplateError};
pub use plan::audited_only::{AuditedOnlyError, skip_unaudited};
pub use plan::cautions::cautions;
pub use plan::refusal::RegistryError;
pub use plan::repeats::RepeatRule;
pub use plan::resolution::{SelectedEngine, level_refusal};
pub use plan::resume::{check_folder, has_worked_in};
pub use plan::time_estimate::TimeEstimate;
pub use plan::{disk_space, matrix};
pub use program::{collect_program_facts, describe_build};
pub use run::{NewRun, RunSummary, TrialSource, check_proposals, run};
pub use trial::conformance_cache::ConformanceCache;
pub use trial::phase_limit::HANG_TIMEOUT;
pub use workers::clock::ClockError;
pub use workers::delegated::{DelegatedTask, DelegatedWorker, TaskError, TaskOutcome};
pub use workers::meter;
pub use workers::worker_main::main as worker_main;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use trueput_engine::{Credentials, Engine, EngineSource, PLUGIN_INSTALL};
use trueput_record::TrialSpec;
use trueput_record::address::is_address_for;
use trueput_record::plan::{Contender, PLUGIN};
use trueput_record::suggest::{did_you_mean, engine_hint};
use trueput_workloads::Workload;

/// The engines and workloads of a program.
#[derive(Clone, Copy)]
pub struct Registry {
    /// The engines.
    pub engines: &'static [&'static dyn Engine],
    /// The workloads.
    pub workloads: &'static [&'static dyn Workload],
    /// Where engines come from that are named by a file; `None` if nowhere.
    pub plugins: Option<&'static dyn EngineSource>,
}

impl Registry {
    /// Returns this registry with the plug-ins that are installed, and one line for each file that
    /// is none. A name that is taken stays with its engine.
    #[must_use]
    pub fn with_installed(self) -> (Self, Vec<String>) {
        let installed = self.plugins.map(EngineSource::installed);
        let mut engines = self.engines.to_vec();
        let mut refusals = Vec::new();
        for plugin in installed.unwrap_or_default() {
            match plugin {
                Ok(plugin) => {
                    let name = plugin.info().name;
                    if engines.iter().all(|engine| engine.info().name != name) {
                        engines.push(plugin);
                    }
                }
                Err(error) => refusals.push(error.to_string()),
            }
        }
        let engines = Vec::leak(engines);
        (Self { engines, ..self }, refusals)
    }

    /// Finds an engine by its name.
    ///
    /// # Errors
    /// [`RegistryError`] with the nearest name and all names, or what is wrong with the plug-in
    /// that is installed under that name.
    pub fn engine(&self, name: &str) -> Result<&'static dyn Engine, RegistryError> {
        if name == trueput_engine::storage::NAME {
            let name = name.to_owned();
            return Err(RegistryError::NoEngine { name });
        }
        // A plug-in that was named by its file comes before an installed one of its name.
        if let Some(engine) = self.built_in(name) {
            return Ok(engine);
        }
        match self.plugins.and_then(|plugins| plugins.find(name)) {
            Some(found) => found.map_err(RegistryError::Library),
            None => Err(self.unknown_engine(name)),
        }
    }

    /// Returns the error for a name that no engine has.
    fn unknown_engine(&self, name: &str) -> RegistryError {
        let engines = self.engines.iter();
        let known: Vec<_> = engines.map(|engine| engine.info().name).collect();
        let installable = self.plugins.map(EngineSource::installable);
        let absent = installable.into_iter().flatten();
        let mut absent = absent.filter(|name| !known.contains(name));
        if let Some(name) = absent.find(|absent| absent.eq_ignore_ascii_case(name)) {
            return RegistryError::NotInstalled { name };
        }
        let hint = if name.contains("://") {
            ": write ENGINE@ADDRESS".to_owned()
        } else if name.ends_with(".so") {
            format!(": write ./{name} for a plug-in")
        } else {
            engine_hint(name, known.iter().copied())
        };
        let name = name.to_owned();
        RegistryError::UnknownEngine { name, hint, known }
    }

    /// Finds an engine that is part of the program.
    fn built_in(&self, name: &str) -> Option<&'static dyn Engine> {
        let mut engines = self.engines.iter().copied();
        engines.find(|engine| {
            let info = engine.info();
            info.name == name && info.install != PLUGIN_INSTALL
        })
    }

    /// Finds an engine by its name. If there is none of that name, the library may be a plug-in of
    /// that name, which nobody has named in this process yet.
    ///
    /// # Errors
    /// As [`Registry::engine`]; what is wrong with the plug-in.
    pub fn engine_of(
        &self,
        name: &str,
        library: Option<&Path>,
    ) -> Result<&'static dyn Engine, RegistryError> {
        let is_known = self.built_in(name).is_some() || name == trueput_engine::storage::NAME;
        let (false, Some(library), Some(plugins)) = (is_known, library, self.plugins) else {
            return self.engine(name);
        };
        // What could be an address is none, or an error would show its password.
        let is_plain = |text: &str| !text.contains([':', '@', '=', '?']);
        let is_file = library.is_file() || is_plain(&library.to_string_lossy());
        if !is_file || !is_plain(name) || is_address_for(name, library) {
            return self.engine(name);
        }
        let plugin = plugins
            .read(library)
            .map_err(|error| match self.engine(name) {
                // A misspelled name is likelier than a plug-in.
                Err(RegistryError::UnknownEngine { name, hint, known }) if !hint.is_empty() => {
                    RegistryError::UnknownEngine { name, hint, known }
                }
                _ => RegistryError::Library(error),
            })?;
        let own = plugin.info().name;
        if own == name {
            return Ok(plugin);
        }
        Err(RegistryError::OtherPlugin {
            library: library.to_owned(),
            own,
            name: name.to_owned(),
        })
    }

    /// Returns the engines of the program, and the plug-ins of some trials.
    #[must_use]
    pub fn engines_of(&self, trials: &[TrialSpec]) -> Vec<&'static dyn Engine> {
        let mut engines = self.engines.to_vec();
        for spec in trials {
            let is_known = engines.iter().any(|one| one.info().name == spec.engine);
            if !is_known {
                engines.extend(self.engine_of(&spec.engine, spec.build.as_deref()));
            }
        }
        engines
    }

    /// Returns a contender under the name of its engine, which a plug-in that is named by its file
    /// alone has in its description.
    ///
    /// # Errors
    /// What is wrong with the plug-in; an engine of that name that is no plug-in.
    pub fn named(&self, contender: &Contender) -> Result<Contender, RegistryError> {
        let library = contender.build.as_deref();
        let (PLUGIN, Some(library), Some(plugins)) =
            (contender.engine.as_str(), library, self.plugins)
        else {
            return Ok(contender.clone());
        };
        let plugin = plugins.read(library).map_err(RegistryError::Library)?;
        let name = plugin.info().name;
        if self.built_in(name).is_some() {
            return Err(RegistryError::TakenName {
                library: library.to_owned(),
                name,
            });
        }
        Ok(Contender {
            engine: name.to_owned(),
            build: contender.build.clone(),
        })
    }

    /// Finds an engine by its name, in the library that is named, if any.
    ///
    /// # Errors
    /// [`RegistryError`] with the nearest name, or why the library is not one of the engine.
    pub fn open(
        &self,
        name: &str,
        library: Option<&Path>,
    ) -> Result<SelectedEngine, RegistryError> {
        let offered = self.engine_of(name, library)?;
        let Some(library) = library else {
            return Ok(SelectedEngine::Offered(offered));
        };
        let loaded = offered.with_library(library);
        Ok(SelectedEngine::Loaded(
            loaded.map_err(RegistryError::Library)?,
        ))
    }

    /// Finds a workload by its name.
    ///
    /// # Errors
    /// [`RegistryError`] with the nearest name and all names.
    pub fn workload(&self, name: &str) -> Result<&'static dyn Workload, RegistryError> {
        let mut workloads = self.workloads.iter().copied();
        let found = workloads.find(|workload| workload.info().name == name);
        found.ok_or_else(|| {
            let known: Vec<_> = self.workloads.iter().map(|w| w.info().name).collect();
            let hint = did_you_mean(name, known.iter().copied());
            let name = name.to_owned();
            RegistryError::UnknownWorkload { name, hint, known }
        })
    }
}

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The passwords of users' servers, as [`matrix::Matrix`] has them.
    pub credentials: Credentials,
    /// The program of the workers: this one. It is started as `PROGRAM worker` and calls
    /// [`worker_main`].
    pub worker_program: PathBuf,
    /// How the hosts of [`trueput_record::Conditions::hosts`] and of `across` are reached.
    pub host_access: HostAccess,
    /// The hosts that whole repeats are given to; empty: all trials run here.
    pub across: Vec<String>,
    /// The folder in which run folders are created.
    pub results: PathBuf,
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
    /// Set by the caller's signal handler when the user stops the run: workers are stopped, and
    /// measurements so far are kept.
    pub stop: Arc<AtomicBool>,
}
