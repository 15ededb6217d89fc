//! Expands a plan into its trials. Every mistake in a plan is found here, before anything runs.

pub(crate) mod cache;
mod conditions;
mod contenders;
mod ineffective;
mod names;
mod reachability;
mod skipped;
mod steps;
mod time_slices;

pub use cache::fit_caches;
pub use contenders::with_full_path;
pub use names::name_trials;

use crate::Registry;
use crate::plan::refusal::{Misfit, describe_error};
use crate::plan::resolution::{check_fit, missing_level, resolve_storage};
use conditions::knobs_under;
use skipped::nothing_left;
use std::collections::BTreeMap;
use std::fmt;
use trueput_engine::parameter::{resolve, resolve_knobs};
use trueput_engine::{Credentials, Durability, Engine, Parameter, ParameterValues};
use trueput_record::address::is_address_for;
use trueput_record::conditions::TimeSlice;
pub use trueput_record::folder::MAX_TRIALS;
use trueput_record::plan::{
    Contender, Dimensions, Levels, MAX_REPEAT, MAX_WORKERS, PRESENT_ENGINES, PlanFile, PlanLine,
    check_count, check_name,
};
use trueput_record::skipped::SkippedPart;
use trueput_record::suggest::did_you_mean;
use trueput_record::value::Settings;
use trueput_record::{Conditions, TrialSpec, WorkerKind};
use trueput_workloads::{DEFAULT_WORKERS, Job, Workload, WorkloadSubject};

/// An expanded plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Every trial, in execution order: all cells once, then all again, so that drift of the
    /// machine affects every cell equally.
    pub trials: Vec<TrialSpec>,
    /// Parts of the plan that are skipped.
    pub skipped: Vec<SkippedPart>,
    /// The passwords of the servers in the plan; the trials have their addresses without them.
    pub credentials: Credentials,
    /// With [`BuildAccess::Unopened`]: facts that are unknown, one sentence each.
    pub not_opened: Vec<String>,
}

/// Whether an expansion opens the builds of a plan's engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildAccess {
    /// Libraries are loaded, programs are asked for their versions, servers are connected to.
    Opened,
    /// Nothing is loaded, run or connected to, so that it is safe to expand an untrusted plan.
    Unopened,
}

impl BuildAccess {
    /// Returns why the default build of an engine is not available; `None` if it is, as far as
    /// it was opened.
    #[must_use]
    pub fn missing(self, engine: &dyn Engine) -> Option<trueput_engine::Error> {
        match self {
            Self::Unopened => engine.missing_reason(),
            Self::Opened => engine.build().err(),
        }
    }
}

/// A mistake in a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
pub struct Error {
    /// The line in the plan's file; `None` for a command-line option.
    pub place: Option<PlanLine>,
    /// The input and the remedy.
    pub message: String,
}

/// Expands a plan into trials with every setting and knob filled in and checked.
///
/// An engine that retains no data shows the harness's own cost: it runs at level `none`, once per
/// number of workers, knobs and settings, whatever levels are requested.
///
/// # Errors
/// One sentence for the first mistake: an unknown name, a value out of range, settings that do not
/// go together, a level or a kind of worker that an engine does not support (unless the plan skips
/// those), more than [`MAX_TRIALS`] trials, or none at all.
pub fn expand(plan: &PlanFile, registry: &Registry) -> Result<Matrix, Error> {
    expand_with(plan, registry, BuildAccess::Opened)
}

/// Expands a plan as [`expand`] does; `builds` says whether the builds of its engines are opened.
///
/// # Errors
/// As [`expand`].
pub fn expand_with(
    plan: &PlanFile,
    registry: &Registry,
    builds: BuildAccess,
) -> Result<Matrix, Error> {
    let mut expansion = Expansion::new(plan, registry, builds)?;
    let mut skipped = Vec::new();
    expansion.skip_file_systems(&mut skipped)?;
    expansion.skip_storage_models(&mut skipped)?;
    let mut cells = Vec::new();
    let mut candidates = expansion.candidates(&mut skipped)?;
    expansion.check_caches(&mut candidates, &mut skipped)?;
    let not_opened = candidates
        .iter()
        .filter_map(|candidate| expansion.not_opened(candidate))
        .collect();
    for candidate in candidates {
        let (engine, first) = (candidate.build.engine(), cells.len());
        expansion.cells(&candidate.contender, engine, &mut cells, &mut skipped)?;
        expansion.add_steps(engine, first, &mut cells, &mut skipped)?;
    }
    if cells.is_empty() {
        return Err(expansion.plan_error("engines", nothing_left(&skipped)));
    }
    expansion.check_steps_applied(&cells, &skipped)?;
    expansion.check_time_slices(&cells)?;
    match plan.conditions.time_slice {
        TimeSlice::Auto => time_slices::choose(&mut cells, registry),
        TimeSlice::None | TimeSlice::Length(_) => time_slices::clear_unpaired(&mut cells),
    }
    let total = cells.len() * plan.repeat as usize;
    if total > MAX_TRIALS {
        let message = format!("the plan has {total} trials; the maximum is {MAX_TRIALS}");
        return Err(expansion.plan_error("repeat", message));
    }
    let of_repeat = |repeat| {
        cells.iter().map(move |cell| TrialSpec {
            repeat,
            ..cell.clone()
        })
    };
    let mut trials: Vec<TrialSpec> = (1..=plan.repeat).flat_map(of_repeat).collect();
    name_trials(&mut trials);
    Ok(Matrix {
        trials,
        skipped,
        credentials: expansion.credentials,
        not_opened,
    })
}

/// A contender and its engine.
struct EngineCandidate {
    contender: Contender,
    build: EngineBuild,
}

/// An engine in its default build or in the library that the plan names.
enum EngineBuild {
    Default(&'static dyn Engine),
    Named(Box<dyn Engine>),
}

impl EngineBuild {
    fn engine(&self) -> &dyn Engine {
        match self {
            Self::Default(engine) => *engine,
            Self::Named(engine) => engine.as_ref(),
        }
    }
}

struct Expansion<'a> {
    plan: &'a PlanFile,
    /// The plan's contenders, with their engines' names and their libraries' full paths.
    engines: Vec<Contender>,
    registry: &'a Registry,
    builds: BuildAccess,
    workload: &'static dyn Workload,
    credentials: Credentials,
    /// The combinations of conditions that this machine supports.
    conditions: Vec<Conditions>,
}

impl<'a> Expansion<'a> {
    fn new(plan: &'a PlanFile, registry: &'a Registry, builds: BuildAccess) -> Result<Self, Error> {
        let plan_error = |key: &str, error: &dyn fmt::Display| Error {
            place: plan.origin.of(key),
            message: error.to_string(),
        };
        check_name(&plan.name).map_err(|error| plan_error("name", &error))?;
        let workload = registry
            .workload(&plan.workload)
            .map_err(|error| plan_error("workload", &error))?;
        for &workers in &plan.workers {
            check_count("workers", i64::from(workers), MAX_WORKERS)
                .map_err(|error| plan_error("workers", &error))?;
        }
        check_count("repeat", i64::from(plan.repeat), MAX_REPEAT)
            .map_err(|error| plan_error("repeat", &error))?;
        let engines = contenders::contenders(plan, registry);
        let engines = engines.map_err(|error| plan_error("engines", &error))?;
        let builds_of = |contender: &'a Contender| contender.build.as_deref();
        let addresses = plan.engines.iter().filter_map(builds_of);
        let expansion = Self {
            plan,
            engines,
            registry,
            builds,
            workload,
            credentials: addresses.collect(),
            conditions: plan.conditions.combinations(),
        };
        expansion.check_names()?;
        expansion.check_effects()?;
        expansion.check_steps()?;
        expansion.check_conditions()?;
        Ok(expansion)
    }

    /// Checks that the names of engines, settings and knobs exist.
    fn check_names(&self) -> Result<(), Error> {
        let owner = self.plan.workload.as_str();
        self.check_each(
            "settings",
            owner,
            self.workload.settings(),
            &self.plan.settings,
        )?;
        for (name, knobs) in &self.plan.knobs {
            let at = format!("knobs.{name}");
            let engine = self.registry.engine(name).map_err(|error| {
                let first = knobs.keys().next().map(|knob| format!("{at}.{knob}"));
                let key = if self.plan.origin.of(&at).is_some() {
                    Some(at.clone())
                } else {
                    first
                };
                self.plan_error(&key.unwrap_or_default(), error)
            })?;
            self.check_each(&at, name, engine.knobs(), knobs)?;
        }
        for (index, when) in self.plan.when.iter().enumerate() {
            let at = format!("when.{index}");
            for name in &when.engines {
                self.registry
                    .engine(name)
                    .map_err(|error| self.plan_error(&at, error))?;
            }
            resolve(owner, self.workload.settings(), &when.settings)
                .map_err(|reason| self.plan_error(&at, reason))?;
        }
        Ok(())
    }

    /// Checks each value of each dimension, so that an error names its line.
    fn check_each(
        &self,
        at: &str,
        owner: &str,
        parameters: &[Parameter],
        dimensions: &Dimensions,
    ) -> Result<(), Error> {
        let is_workload = owner == self.workload.info().name;
        let resolve = if is_workload { resolve } else { resolve_knobs };
        for (name, values) in dimensions {
            for value in values {
                let one = Settings::from([(name.clone(), value.clone())]);
                resolve(owner, parameters, &one)
                    .map_err(|reason| self.plan_error(&format!("{at}.{name}"), reason))?;
            }
        }
        Ok(())
    }

    fn candidates(&self, skipped: &mut Vec<SkippedPart>) -> Result<Vec<EngineCandidate>, Error> {
        if self.workload.subject() == WorkloadSubject::Storage {
            return Ok(vec![self.storage()?]);
        }
        let mut candidates: Vec<EngineCandidate> = Vec::new();
        for contender in &self.engines {
            if contender.engine == PRESENT_ENGINES {
                self.present(&mut candidates, skipped);
                continue;
            }
            let contender = contender.clone();
            if !candidates
                .iter()
                .any(|candidate| candidate.contender == contender)
            {
                let build = self.build(&contender)?;
                candidates.push(EngineCandidate { contender, build });
            }
        }
        Ok(candidates)
    }

    /// Returns the storage itself as the contender of a workload that needs no engine.
    fn storage(&self) -> Result<EngineCandidate, Error> {
        let workload = &self.plan.workload;
        let named = self.plan.engines.iter();
        for contender in named.filter(|named| named.engine != PRESENT_ENGINES) {
            resolve_storage(workload, &contender.engine)
                .map_err(|refusal| self.plan_error("engines", refusal))?;
        }
        if self.plan.durability != PlanFile::for_workload(workload).durability {
            let message =
                format!("the settings of {workload} define its durability: remove durability");
            return Err(self.plan_error("durability", message));
        }
        let engine = resolve_storage(workload, trueput_engine::storage::NAME)
            .map_err(|refusal| self.plan_error("engines", refusal))?;
        Ok(EngineCandidate {
            contender: Contender::parse(engine.info().name),
            build: EngineBuild::Default(engine),
        })
    }

    fn present(&self, candidates: &mut Vec<EngineCandidate>, skipped: &mut Vec<SkippedPart>) {
        let engines = self.registry.engines.iter().copied();
        for engine in engines.filter(|engine| engine.is_default_engine()) {
            let contender = Contender::parse(engine.info().name);
            match self.builds.missing(engine) {
                None if candidates
                    .iter()
                    .any(|candidate| candidate.contender == contender) => {}
                None => candidates.push(EngineCandidate {
                    contender,
                    build: EngineBuild::Default(engine),
                }),
                Some(error) => {
                    let reason = with_install(&error, engine);
                    let sentence = format!("{} is not installed: {reason}", contender.engine);
                    skipped.push(sentence.into());
                }
            }
        }
    }

    fn build(&self, contender: &Contender) -> Result<EngineBuild, Error> {
        let name = &contender.engine;
        let build = contender.build.as_deref();
        let engine = self.registry.engine_of(name, build).map_err(|reason| {
            self.plan_error("engines", with_present_hint(name, reason.to_string()))
        })?;
        let is_users = build.is_some_and(|build| is_address_for(name, build));
        let cannot = |error: trueput_engine::Error| {
            // A server that is the user's is not installed by this program.
            let reason = if is_users {
                error.to_string()
            } else {
                with_install(&error, engine)
            };
            self.plan_error("engines", format!("{name} cannot be used: {reason}"))
        };
        match &contender.build {
            Some(library) => {
                let named = match self.builds {
                    BuildAccess::Opened => self.credentials.open(engine, library),
                    BuildAccess::Unopened => self.credentials.unopened(engine, library),
                };
                let named = named.map_err(|error| match error {
                    // The engine's own message names it and the library.
                    trueput_engine::Error::Unsupported(reason) => {
                        self.plan_error("engines", reason)
                    }
                    other => self.plan_error("engines", format!("{name}: {other}")),
                })?;
                if self.builds == BuildAccess::Opened {
                    named.build().map_err(cannot)?;
                }
                Ok(EngineBuild::Named(named))
            }
            None => match self.builds.missing(engine) {
                Some(error) => Err(cannot(error)),
                None => Ok(EngineBuild::Default(engine)),
            },
        }
    }

    /// Says what is unknown of a contender whose build was not opened.
    fn not_opened(&self, candidate: &EngineCandidate) -> Option<String> {
        let build = candidate.contender.build.as_ref()?;
        (self.builds == BuildAccess::Unopened).then(|| {
            format!(
                "build {}@{} is not loaded by this command: its version and limits are known when \
                 the plan runs",
                candidate.contender.engine,
                build.display()
            )
        })
    }

    /// Adds the cells of one contender. Levels are the outer dimension, settings the inner one.
    fn cells(
        &self,
        contender: &Contender,
        engine: &dyn Engine,
        cells: &mut Vec<TrialSpec>,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<(), Error> {
        let Some(worker_kind) = self.worker_kind(engine, skipped)? else {
            return Ok(());
        };
        let no_knobs = Dimensions::new();
        let knobs = self.plan.knobs.get(&contender.engine).unwrap_or(&no_knobs);
        for durability in self.levels(engine, skipped)? {
            let (settings, note) = self.settings_of(engine, durability);
            let mut given = Vec::new();
            for knobs in combinations(knobs) {
                given.extend(self.with_caches(engine, &knobs, skipped)?);
            }
            for knobs in given {
                let knobs = resolve_knobs(&contender.engine, engine.knobs(), &knobs)
                    .map_err(|reason| self.plan_error("knobs", reason))?;
                if let Err(part) = check_promise(engine, durability, &knobs) {
                    self.skip_or_refuse("knobs", part, skipped)?;
                    continue;
                }
                let draft = TrialSpec {
                    id: String::new(),
                    cell: 0,
                    repeat: 0,
                    workload: self.plan.workload.clone(),
                    settings: Settings::new(),
                    engine: contender.engine.clone(),
                    build: contender.build.clone(),
                    durability,
                    knobs: knobs.as_settings().clone(),
                    workers: 0,
                    worker_kind,
                    verify: self.plan.verify,
                    seed: self.plan.seed,
                    conditions: Conditions::default(),
                    note: note.clone(),
                    step: None,
                    role: None,
                };
                self.cells_of(engine, &draft, &settings, cells, skipped)?;
            }
        }
        Ok(())
    }

    /// Returns the cells of one contender with one set of knobs at one level. The parameters of a
    /// load are the outer dimensions and workers the inner one, so that trials that can share a
    /// load are adjacent.
    fn cells_of(
        &self,
        engine: &dyn Engine,
        draft: &TrialSpec,
        settings: &Dimensions,
        cells: &mut Vec<TrialSpec>,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<(), Error> {
        for conditions in self.conditions.clone() {
            let knobs = match knobs_under(engine, &conditions, draft) {
                Ok(knobs) => knobs,
                Err(unmet) => {
                    self.skip_or_refuse_of(engine, unmet.key, unmet.reason, skipped)?;
                    continue;
                }
            };
            for settings in combinations(settings) {
                let conditions = self.with_end(&settings, &conditions);
                let (settings, job) = self.resolve_settings(&settings, &conditions)?;
                if job.durability().is_some_and(|own| own != draft.durability) {
                    continue;
                }
                let resolved = resolve_knobs(&draft.engine, engine.knobs(), &knobs)
                    .map_err(|reason| self.plan_error("knobs", reason))?;
                if let Err(misfit) = check_fit(&*job, engine, &resolved) {
                    let reason = self.describe_misfit(engine, &misfit);
                    self.skip_or_refuse_of(engine, "settings", reason, skipped)?;
                    continue;
                }
                let worker_kind = self.worker_kind_on(&conditions, draft.worker_kind);
                let needed = [job.needed_workers().unwrap_or(DEFAULT_WORKERS)];
                let given = Some(&self.plan.workers[..]).filter(|given| !given.is_empty());
                for &workers in given.unwrap_or(&needed) {
                    job.check_workers(workers, worker_kind)
                        .map_err(|error| self.plan_error("workers", error))?;
                    cells.push(TrialSpec {
                        cell: u32::try_from(cells.len()).unwrap_or(u32::MAX),
                        worker_kind,
                        settings: settings.as_settings().clone(),
                        knobs: knobs.clone(),
                        workers,
                        conditions: conditions.clone(),
                        ..draft.clone()
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns the reason why an engine cannot run the workload, preceded by the one of both that
    /// it does not name.
    fn describe_misfit(&self, engine: &dyn Engine, misfit: &Misfit) -> String {
        match misfit {
            Misfit::Workload(reason) => format!("{}: {reason}", engine.info().name),
            Misfit::Engine { .. } => format!("{}: {misfit}", self.plan.workload),
        }
    }

    /// Fills in defaults, and checks that the settings fit together.
    fn resolve_settings(
        &self,
        given: &Settings,
        conditions: &Conditions,
    ) -> Result<(ParameterValues, Box<dyn Job>), Error> {
        let resolved = resolve(&self.plan.workload, self.workload.settings(), given)
            .map_err(|reason| self.plan_error("settings", reason))?;
        match self.workload.job(&resolved, conditions) {
            Ok(job) => Ok((resolved, job)),
            Err(reason) => {
                Err(self.plan_error("settings", format!("{}: {reason}", self.plan.workload)))
            }
        }
    }

    /// Returns the plan's settings with the exceptions that apply, and their notes.
    fn settings_of(
        &self,
        engine: &dyn Engine,
        durability: Durability,
    ) -> (Dimensions, Option<String>) {
        let mut settings = self.plan.settings.clone();
        let mut notes = Vec::new();
        let name = engine.info().name;
        for when in self
            .plan
            .when
            .iter()
            .filter(|when| when.applies(name, durability))
        {
            for (name, value) in &when.settings {
                settings.insert(name.clone(), vec![value.clone()]);
            }
            notes.push(when.note.as_str());
        }
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        (settings, note)
    }

    fn levels(
        &self,
        engine: &dyn Engine,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<Vec<Durability>, Error> {
        if !engine.capabilities().retains_data {
            return Ok(vec![Durability::None]);
        }
        if self.workload.subject() == WorkloadSubject::Storage {
            let offered = |level: &Durability| engine.promise(*level).is_some();
            return Ok(Durability::ALL.into_iter().filter(offered).collect());
        }
        let mut asked = self.plan.durability.as_slice();
        if self.plan.levels == Levels::First {
            let first = asked.iter().position(|&level| self.offers(engine, level));
            // If it supports none, the error lists each level.
            asked = first.map_or(asked, |index| &asked[index..=index]);
        }
        let mut offered = Vec::new();
        for &level in asked {
            if self.offers(engine, level) {
                offered.push(level);
            } else {
                let part = SkippedPart::level(missing_level(engine, level));
                self.skip_or_refuse_of(engine, "durability", part, skipped)?;
            }
        }
        Ok(offered)
    }

    /// Returns whether an engine has a level, with its default knobs or some that the plan gives.
    fn offers(&self, engine: &dyn Engine, level: Durability) -> bool {
        let name = engine.info().name;
        let has_level = |knobs: Settings| {
            let knobs = resolve_knobs(name, engine.knobs(), &knobs);
            knobs.is_ok_and(|knobs| engine.promise_with(level, &knobs).is_ok())
        };
        let given = self.plan.knobs.get(name);
        engine.promise(level).is_some()
            || given.is_some_and(|given| combinations(given).into_iter().any(has_level))
    }

    fn worker_kind(
        &self,
        engine: &dyn Engine,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<Option<WorkerKind>, Error> {
        let several = engine.capabilities().several_processes;
        match self.plan.worker_kind {
            None if several => Ok(Some(self.workload.info().worker_kind)),
            None => Ok(Some(WorkerKind::Threads)),
            Some(WorkerKind::Processes) if !several => {
                let name = engine.info().name;
                let workload = &self.plan.workload;
                let message = format!(
                    "{workload}: {name} allows only one process to open a database, so its \
                     workers cannot be processes: give --worker-kind threads (in a plan: \
                     worker_kind = \"threads\")"
                );
                self.skip_or_refuse_of(engine, "worker_kind", message, skipped)?;
                Ok(None)
            }
            Some(kind) => Ok(Some(kind)),
        }
    }

    /// Returns the kind of worker under these conditions: on several hosts they are processes,
    /// unless the plan has a kind.
    fn worker_kind_on(&self, conditions: &Conditions, usual: WorkerKind) -> WorkerKind {
        let hosts = conditions
            .hosts
            .as_ref()
            .map_or(1, |list| list.names().len());
        match self.plan.worker_kind {
            None if hosts > 1 => WorkerKind::Processes,
            _ => usual,
        }
    }

    fn plan_error(&self, key: &str, message: impl fmt::Display) -> Error {
        Error {
            place: self.plan.origin.of(key),
            message: message.to_string(),
        }
    }
}

/// Checks that an engine keeps a level with these knobs.
///
/// # Errors
/// What is skipped if it does not.
fn check_promise(
    engine: &dyn Engine,
    level: Durability,
    knobs: &ParameterValues,
) -> Result<(), SkippedPart> {
    let Err(error) = engine.promise_with(level, knobs) else {
        return Ok(());
    };
    let reason = describe_error(engine.info().name, &error);
    Err(match engine.promise(level) {
        None => SkippedPart::level(reason),
        Some(_) => reason.into(),
    })
}

/// Returns the error of an engine that cannot be used, with installation instructions unless it is
/// one that has them.
#[must_use]
pub fn with_install(error: &trueput_engine::Error, engine: &dyn Engine) -> String {
    match error {
        trueput_engine::Error::Missing(text) => text.clone(),
        other => format!("{other}; to install: {}", engine.info().install),
    }
}

fn with_present_hint(name: &str, reason: String) -> String {
    let hint = did_you_mean(name, [PRESENT_ENGINES]);
    if hint.is_empty() {
        reason
    } else {
        format!("{reason}; '{PRESENT_ENGINES}' means all of them")
    }
}

/// Returns every combination of one value per name; the last name varies fastest.
fn combinations(dimensions: &Dimensions) -> Vec<Settings> {
    let mut combined = vec![BTreeMap::new()];
    for (name, values) in dimensions {
        let mut extended = Vec::new();
        for settings in &combined {
            for value in values {
                let mut settings: Settings = settings.clone();
                settings.insert(name.clone(), value.clone());
                extended.push(settings);
            }
        }
        combined = extended;
    }
    combined
}

#[cfg(test)]
mod tests;
