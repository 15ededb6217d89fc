//! A run: checks, the run folder, then the trials.

use crate::across::fit::check_spread;
use crate::context::{RunContext, default_preparations, known_files, known_loads, known_runs};
use crate::fault_servers::FaultServers;
use crate::hosts::{check_hosts, check_resumed};
use crate::knowledge::Knowledge;
use crate::plan::changed_parameters::{
    byte_knobs, changed_knobs, changed_settings, costs, headlines,
};
use crate::plan::disk_space::{DiskSpace, RunSpace};
use crate::plan::matrix::cache::shared_cache_bytes;
use crate::plan::preflight::{check_feasibility, check_path};
use crate::plan::repeats::RepeatRule;
use crate::plan::resolution::resolve_trial;
use crate::plan::time_slice_group::{derive_group_key, group_trials};
use crate::program::collect_program_facts;
use crate::storage_servers::StorageServers;
use crate::trial::conformance;
use crate::trial::database_folder::compute_load_key;
use crate::trial::database_reuse::{Follower, remove_leftovers};
use crate::trial::group::{is_interrupted, run_undisturbed_group};
use crate::trial::isolation_check::hung_suites;
use crate::trial::lifecycle::TrialResult;
use crate::trial::prepared_copy;
use crate::trial::prepared_database::PreparedDatabases;
use crate::trial::store::record_trial;
use crate::{Error, Event, Options, Registry};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};
use trueput_engine::credentials::redact;
use trueput_host as host;
use trueput_host::run_work_folder::RunWorkFolder;
use trueput_host::work_folder::WorkFolder;
use trueput_record::folder::{DamagedLine, RankingSplit, RunEnd, SufficiencyReason};
use trueput_record::measurement::Outcome;
use trueput_record::objective::Objective;
use trueput_record::search::{SearchEnd, SearchSettings, TrialRole};
use trueput_record::skipped::SkippedPart;
use trueput_record::trial::Proposal;
use trueput_record::{FORMAT_VERSION, RunFolder, RunManifest, TrialRecord, TrialSpec};

/// The name of the default work folder, in the run folder.
const WORK: &str = "work";

/// Counts of trials by outcome, including those of earlier parts of a resumed run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunSummary {
    /// Trials that passed.
    pub valid: usize,
    /// Trials that ran to their end with invalid results.
    pub invalid: usize,
    /// Trials that did not run to their end.
    pub failed: usize,
    /// Failed trials whose knobs the engine refuses: the plan's mistake.
    pub refused: usize,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
}

/// A run that is to begin: its trials, and what its manifest says of them.
#[derive(Debug, Clone, Default)]
pub struct NewRun {
    /// The name of the plan, and of the run's folder.
    pub name: String,
    /// What the plan is for.
    pub about: String,
    /// Its trials; of a search, the first ones.
    pub trials: Vec<TrialSpec>,
    /// Parts of the plan that are skipped.
    pub skipped: Vec<SkippedPart>,
    /// The size that the plan gives every engine's own cache, bytes, if it gives one.
    pub cache_bytes: Option<u64>,
    /// The command line as typed.
    pub command: Vec<String>,
    /// Rank builds with assertions with the others: the run's reports do so.
    pub include_assertions: bool,
    /// The parameter by which the run's reports split their rankings.
    pub split_by: Option<RankingSplit>,
    /// The objective by which the run's reports judge its contenders.
    pub objective: Option<Objective>,
    /// The question of a search.
    pub search: Option<SearchSettings>,
}

impl NewRun {
    /// Checks that every trial can run, then creates the run folder `RESULTS/TIME-NAME`.
    ///
    /// # Errors
    /// A usage error ([`Error::is_usage`]) if a trial requests something that does not exist, the
    /// work folder cannot be used or has too little space; nothing is left behind then.
    pub fn create(
        self,
        options: &Options,
        registry: &Registry,
    ) -> Result<(RunFolder, RunManifest), Error> {
        let trials = self.trials;
        let space = check_trials(&trials, options, registry)?;
        let place = check_places(options)?;
        check_hosts(&trials, &options.host_access, &options.worker_program)?;
        check_spread(&trials, self.search.as_ref(), options)?;
        let free_bytes = host::read_free_bytes(&place);
        if let Some(free_bytes) = free_bytes.filter(|&free| free < space.needed_bytes) {
            return Err(Error::NoRoom {
                path: place,
                space,
                factor: options.disk_factor,
                free_bytes,
            });
        }
        let search = self.search.as_ref();
        let cache_bytes = shared_cache_bytes(self.cache_bytes, &trials, search, registry);
        let command = self.command.iter().map(|word| redact(word));
        let skipped = self.skipped.into_iter();
        let (skipped_kinds, skipped) = skipped.map(|part| (part.kind, part.sentence)).unzip();
        let manifest = RunManifest {
            format: FORMAT_VERSION,
            name: self.name,
            about: self.about,
            started_at: jiff::Timestamp::now().to_string(),
            host: host::read_facts(&place, collect_program_facts(command.collect())),
            headlines: headlines(&trials, registry),
            changed_settings: changed_settings(&trials, registry),
            changed_knobs: changed_knobs(&trials, registry),
            costs: costs(&trials, registry),
            byte_knobs: byte_knobs(&trials, registry),
            cache_bytes,
            work: options.work.as_deref().map(absolute),
            until: options.until.as_ref().map(RepeatRule::as_stated),
            include_assertions: self.include_assertions,
            split_by: self.split_by,
            objective: self.objective,
            search: self.search,
            gates: Vec::new(),
            hosts: Vec::new(),
            trials,
            skipped,
            skipped_kinds,
        };
        let folder = RunFolder::create(&options.results, &manifest)?;
        Ok((folder, manifest))
    }
}

/// Checks that trials can run which a search may propose: as [`NewRun::create`] does, without a
/// folder.
///
/// # Errors
/// A usage error if a trial requests something that does not exist.
pub fn check_proposals(
    trials: &[TrialSpec],
    options: &Options,
    registry: &Registry,
) -> Result<(), Error> {
    check_trials(trials, options, registry).map(drop)
}

/// Checks every trial and returns how much must be free for the largest one, or for all where their
/// databases are kept.
fn check_trials(
    trials: &[TrialSpec],
    options: &Options,
    registry: &Registry,
) -> Result<DiskSpace, Error> {
    let mut ids = HashSet::new();
    let mut space = RunSpace::new(options.keep_databases);
    let mut limits = HashSet::new();
    for spec in trials {
        let refuse = |reason: &dyn std::fmt::Display| Error::Trial {
            id: spec.id.clone(),
            message: reason.to_string(),
        };
        let resolved = resolve_trial(registry, &options.credentials, spec);
        let resolved = resolved.map_err(|refusal| refuse(&refusal))?;
        let place = options.work.as_deref().unwrap_or(&options.results);
        let existing = host::find_nearest_existing(place);
        check_feasibility(spec, &resolved, &existing).map_err(|reason| refuse(&reason))?;
        if !ids.insert(&spec.id) {
            return Err(refuse(&"another trial has the same id"));
        }
        let limit = spec.conditions.memory_bytes;
        if let Some(limit) = limit.filter(|limit| limits.insert(*limit)) {
            host::cgroup::check(limit).map_err(|reason| refuse(&reason))?;
        }
        check_path(&*resolved.engine, place).map_err(|reason| refuse(&reason))?;
        if let Some(service) = resolved.engine.service() {
            host::service::check_access_to(&*service, &existing)
                .map_err(|reason| refuse(&format!("{}: {reason}", spec.engine)))?;
        }
        space.add(spec, resolved.disk_space(spec, options.disk_factor));
    }
    if ids.is_empty() {
        Err(Error::NoTrials)
    } else {
        Ok(space.total)
    }
}

/// Checks that the run folder and the databases can be written, and returns a folder on the file
/// system of the databases.
fn check_places(options: &Options) -> Result<PathBuf, Error> {
    use nix::unistd::{AccessFlags, access};
    let results = &options.results;
    let place = host::find_nearest_existing(results);
    let refuse = |message: String| Error::Results {
        path: results.to_owned(),
        message,
    };
    if !place.is_dir() {
        return Err(refuse(format!("{} is no folder", place.display())));
    }
    access(&place, AccessFlags::W_OK | AccessFlags::X_OK)
        .map_err(|error| refuse(format!("cannot be written: {}", error.desc())))?;
    check_creation(results, &place).map_err(|error| {
        refuse(format!(
            "no folder can be made in {}: {error}; name another with --results",
            place.display()
        ))
    })?;
    match &options.work {
        None => Ok(place),
        Some(work) => {
            let claimed = WorkFolder::claim(work)?;
            let place = claimed.path().to_owned();
            claimed.release();
            Ok(place)
        }
    }
}

/// Checks that folders can be made for results: file systems such as `/proc` refuse them to all.
fn check_creation(results: &Path, existing: &Path) -> io::Result<()> {
    if results.is_dir() {
        return Ok(());
    }
    let probe = existing.join(format!(".trueput-{}", std::process::id()));
    match fs::create_dir(&probe) {
        // A killed process with this number left it.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::remove_dir(&probe),
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Proposes the next trials of a search, given all that have ended; `None` if there is no search.
pub type TrialSource<'a> = dyn FnMut(&[TrialRecord]) -> Option<Proposal> + 'a;

/// Runs every trial of the manifest that has not ended yet, in its order.
///
/// An interrupted trial has not ended, and runs again; with [`Options::resume_databases`] a failed
/// one does, too. Workers die with the thread that calls this, should it end early.
///
/// # Errors
/// Where the work folder or the run folder cannot be used. A trial that fails is recorded, and the
/// next one runs.
pub fn run(
    folder: &RunFolder,
    manifest: &RunManifest,
    registry: &Registry,
    options: &Options,
    observer: &mut dyn FnMut(&Event),
) -> Result<RunSummary, Error> {
    run_search(folder, manifest, registry, options, observer, &mut |_| None)
}

/// As [`run`]; then runs the trials that `source` proposes, which are added to the manifest in the
/// run folder, until it proposes none. The source is asked again with the same trials when an
/// interrupted search is resumed.
///
/// # Errors
/// As [`run`].
pub fn run_search(
    folder: &RunFolder,
    manifest: &RunManifest,
    registry: &Registry,
    options: &Options,
    observer: &mut dyn FnMut(&Event),
    source: &mut TrialSource<'_>,
) -> Result<RunSummary, Error> {
    let _lock = folder.lock()?;
    host::cgroup::remove_leftovers();
    let stored = folder.trials()?;
    let is_resumed = !stored.trials.is_empty();
    let preparations = default_preparations(&stored.trials);
    let loads = known_loads(&stored.trials);
    let runs = known_runs(&stored.trials);
    let hashes = known_files(&stored.trials);
    let hung_suites = hung_suites(&stored.trials);
    let mut ended = ended_trials(stored.trials, options);
    let ended_before = ended.len();
    let to_do: Vec<&TrialSpec> = manifest
        .trials
        .iter()
        .filter(|spec| !ended.contains_key(&spec.id))
        .collect();
    if is_resumed {
        check_resumed(manifest, &to_do, options)?;
    }
    observer(&Event::RunStarted {
        folder: folder.path().to_owned(),
        trials: to_do.len(),
        done_before: manifest.trials.len() - to_do.len(),
    });
    warn_of_damage(stored.damaged, observer);
    let area = open_work_folder(folder, manifest, options)?;
    let mut context = RunContext {
        registry,
        options,
        observer,
        area: Arc::new(area),
        faults: Arc::new(FaultServers::new(&options.worker_program, folder.path())),
        reusable: Vec::new(),
        kept_servers: Vec::new(),
        thread: None,
        known: Knowledge {
            hashes,
            hung_suites,
            prepared: PreparedDatabases::of_run(manifest),
            preparations,
            loads,
            runs,
            ..Knowledge::default()
        },
    };
    let mut manifest = manifest.clone();
    let run = run_batches(&mut context, folder, &mut manifest, &mut ended, source);
    prepared_copy::remove_all(&mut context);
    let observer = context.close();
    let stopped = run?;
    let interrupted = stopped == Some(StopReason::ByUser);
    let mut all = manifest.trials.iter();
    let all_ended = all.all(|spec| ended.contains_key(&spec.id));
    finish(folder, stopped, all_ended, ended.len() > ended_before)?;
    observer(&Event::RunEnded {
        folder: folder.path().to_owned(),
        interrupted,
    });
    Ok(summary(&manifest.trials, &ended, interrupted))
}

pub(crate) fn finish(
    folder: &RunFolder,
    stopped: Option<StopReason>,
    all_ended: bool,
    has_run: bool,
) -> Result<(), Error> {
    let mut search_end = stopped.and_then(StopReason::search_end);
    if search_end.is_some() && !has_run {
        // Why a search ended is known best to the process in which it ran. A damaged end is
        // replaced.
        let earlier = folder.end().ok().flatten();
        search_end = earlier.and_then(|end| end.search_end).or(search_end);
    }
    let enough = stopped.and_then(StopReason::enough);
    let interrupted = stopped == Some(StopReason::ByUser);
    folder.finish(&RunEnd {
        format: FORMAT_VERSION,
        ended_at: jiff::Timestamp::now().to_string(),
        complete: enough.is_some() || all_ended && !interrupted,
        stop_reason: enough,
        search_end,
        load_at_end: host::read_load_average(),
    })?;
    Ok(())
}

pub(crate) fn warn_of_damage(lines: Vec<DamagedLine>, observer: &mut dyn FnMut(&Event)) {
    for DamagedLine { line, message } in lines {
        let message = format!("line {line} of trials.jsonl is damaged: {message}");
        observer(&Event::Warning { message });
    }
}

/// Runs the trials of the manifest that have not ended, then those that are proposed.
fn run_batches(
    context: &mut RunContext<'_>,
    folder: &RunFolder,
    manifest: &mut RunManifest,
    ended: &mut HashMap<String, Outcome>,
    source: &mut TrialSource<'_>,
) -> Result<Option<StopReason>, Error> {
    context.remove_earlier_suites(conformance::FOLDER);
    prepared_copy::remove_earlier(context, &manifest.trials);
    remove_leftovers(context, ended.keys());
    loop {
        let to_do = manifest.trials.iter();
        let to_do: Vec<_> = to_do.filter(|spec| !ended.contains_key(&spec.id)).collect();
        if let Some(stopped) = run_trials(context, folder, manifest, &to_do, ended)? {
            return Ok(Some(stopped));
        }
        let proposed = match source(&folder.trials()?.trials) {
            None => return Ok(None),
            Some(Proposal::End(end)) => return Ok(Some(StopReason::SearchEnded(end))),
            Some(Proposal::Trials(trials)) => trials,
        };
        if context.stopped() {
            return Ok(Some(StopReason::ByUser));
        }
        manifest.trials.extend(proposed);
        manifest.changed_settings = changed_settings(&manifest.trials, context.registry);
        manifest.costs = costs(&manifest.trials, context.registry);
        folder.extend(manifest)?;
    }
}

/// Returns the outcomes of trials that are not run again, by id.
pub(crate) fn ended_trials(
    stored: Vec<TrialRecord>,
    options: &Options,
) -> HashMap<String, Outcome> {
    let has_ended = |record: &TrialRecord| {
        // A trial with time slices cannot run by itself.
        let redo = options.resume_databases
            && derive_group_key(&record.spec).is_none()
            && matches!(record.outcome, Outcome::Failed { .. });
        record.outcome != Outcome::Interrupted && !redo
    };
    let ended = stored.into_iter().filter(has_ended);
    ended
        .map(|record| (record.spec.id, record.outcome))
        .collect()
}

/// Claims the work folder named now, or when the run began: it contains the leftovers of a killed
/// run.
fn open_work_folder(
    folder: &RunFolder,
    manifest: &RunManifest,
    options: &Options,
) -> Result<RunWorkFolder, Error> {
    let default = folder.path().join(WORK);
    let named = options.work.as_deref().or(manifest.work.as_deref());
    let work = WorkFolder::claim(named.unwrap_or(&default))?;
    let real = folder.path().canonicalize();
    let real = real.unwrap_or_else(|_| folder.path().to_owned());
    let name = real.file_name().unwrap_or(std::ffi::OsStr::new("run"));
    let servers = StorageServers::new(&options.worker_program, folder.path());
    let keeps = options.keep_databases || options.keep_unfinished;
    Ok(RunWorkFolder::open(work, name, keeps)?.with_images(Arc::new(servers)))
}

/// Counts the outcomes. A configuration that a search tried and that failed is a result of the
/// search, and no failure of the run.
pub(crate) fn summary(
    trials: &[TrialSpec],
    ended: &HashMap<String, Outcome>,
    interrupted: bool,
) -> RunSummary {
    let mut summary = RunSummary {
        interrupted,
        ..RunSummary::default()
    };
    let is_candidate = |spec: &&TrialSpec| spec.role.is_some_and(TrialRole::is_candidate);
    let tried: HashSet<&str> = trials
        .iter()
        .filter(is_candidate)
        .map(|it| &*it.id)
        .collect();
    for (id, outcome) in ended {
        match outcome {
            Outcome::Failed { .. } if tried.contains(id.as_str()) => {}
            Outcome::Valid => summary.valid += 1,
            Outcome::Invalid { .. } => summary.invalid += 1,
            Outcome::Failed { bad_input, .. } => {
                summary.failed += 1;
                summary.refused += usize::from(*bad_input);
            }
            Outcome::Interrupted => {}
        }
    }
    summary
}

/// The reason why the remaining trials did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The user stopped the run.
    ByUser,
    /// The repeats suffice.
    Spared(SufficiencyReason),
    /// The search proposed no more.
    SearchEnded(SearchEnd),
}

impl StopReason {
    fn enough(self) -> Option<SufficiencyReason> {
        match self {
            Self::ByUser | Self::SearchEnded(_) => None,
            Self::Spared(enough) => Some(enough),
        }
    }

    fn search_end(self) -> Option<SearchEnd> {
        match self {
            Self::SearchEnded(reason) => Some(reason),
            Self::ByUser | Self::Spared(_) => None,
        }
    }
}

/// Runs the trials in order; returns why it stopped early.
fn run_trials(
    context: &mut RunContext<'_>,
    folder: &RunFolder,
    manifest: &RunManifest,
    to_do: &[&TrialSpec],
    ended: &mut HashMap<String, Outcome>,
) -> Result<Option<StopReason>, Error> {
    let mut progress = context.options.until.clone().map(RepeatRule::begin);
    let groups = group_trials(to_do);
    let mut begun = 0;
    for (index, group) in groups.iter().enumerate() {
        if context.stopped() {
            return Ok(Some(StopReason::ByUser));
        }
        if let (Some(progress), Some(first)) = (&mut progress, group.first())
            && let Some(enough) = progress.enough_before(first, folder, manifest)?
        {
            return Ok(Some(StopReason::Spared(enough)));
        }
        for spec in group {
            begun += 1;
            context.emit(&Event::TrialStarted {
                number: begun,
                of: to_do.len(),
                spec: Box::new((*spec).clone()),
            });
        }
        let next = groups.get(index + 1).map_or(&[][..], Vec::as_slice);
        let keys: Vec<_> = group
            .iter()
            .filter_map(|spec| compute_load_key(context, spec))
            .collect();
        context.drop_reusable_except(&keys);
        let trials = run_undisturbed_group(context, folder, manifest, group)?;
        let interrupted = trials.iter().any(is_interrupted);
        let follower = if next.is_empty() && manifest.search.is_some() {
            Follower::Unknown
        } else {
            Follower::Known(next)
        };
        for trial in trials {
            let trial = record_trial(context, folder, trial, &follower)?;
            let TrialResult { record, .. } = trial;
            if record.outcome != Outcome::Interrupted {
                ended.insert(record.spec.id.clone(), record.outcome.clone());
            }
            context.emit(&Event::TrialEnded {
                record: Box::new(record),
            });
        }
        context.forget_resolved(next.first().copied());
        if interrupted {
            return Ok(Some(StopReason::ByUser));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_refused_by_its_type_and_not_by_its_words() {
        let failed = |reason: &str, bad_input| Outcome::Failed {
            reason: reason.to_owned(),
            bad_input,
        };
        let ended = [
            ("1", failed("bad input: says the engine", false)),
            ("2", failed("map_size is not supported here", true)),
        ];
        let ended = ended.map(|(id, outcome)| (id.to_owned(), outcome)).into();
        let summary = summary(&[], &ended, false);
        assert_eq!((summary.failed, summary.refused), (2, 1));
    }
}
