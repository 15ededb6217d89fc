//! A run whose whole repeats are given to hosts. All contenders of a repeat run on the same host,
//! which so is a block of the comparison, and the records come into one run folder as trials end.
//!
//! - `blocks`: which host runs which repeats
//! - `error`: why such a run cannot begin or go on
//! - `fit`: which trials can be spread
//! - `fleet`: the hosts and what they report

mod blocks;
pub(crate) mod error;
pub(crate) mod fit;
mod fleet;

use crate::plan::changed_parameters::{changed_settings, costs};
use crate::plan::repeats::{RepeatProgress, RepeatRule};
use crate::run::{
    RunSummary, StopReason, TrialSource, ended_trials, finish, summary, warn_of_damage,
};
use crate::{Error, Event, Options, Registry, run};
use blocks::BlockQueue;
use error::FleetError;
use fit::check_spread;
use fleet::{Fleet, FleetEvent};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use trueput_record::run_host::RunHost;
use trueput_record::trial::Proposal;
use trueput_record::{Outcome, RunFolder, RunManifest, TrialRecord, TrialSpec};

/// The interval at which the stop signal is looked at.
const TICK: Duration = Duration::from_millis(100);

/// The time that the hosts may take to stop their trials.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs every trial of the manifest that has not ended, here or on the hosts of
/// [`Options::across`], and then the trials that `source` proposes.
///
/// They are added to the manifest in the run folder, until the source proposes none. It is asked
/// again with the same trials when an interrupted search is resumed.
///
/// # Errors
/// As [`crate::run`]; [`Error::Fleet`] if the hosts cannot be used, or none is left.
pub fn run_search(
    folder: &RunFolder,
    manifest: &RunManifest,
    registry: &Registry,
    options: &Options,
    observer: &mut dyn FnMut(&Event),
    source: &mut TrialSource<'_>,
) -> Result<RunSummary, Error> {
    check_hosts_of_run(manifest, options)?;
    if options.across.is_empty() {
        return run::run_search(folder, manifest, registry, options, observer, source);
    }
    let _lock = folder.lock()?;
    let stored = folder.trials()?;
    let queue = BlockQueue::new(&manifest.trials, &stored.trials, &options.across);
    let has_begun = !stored.trials.is_empty();
    let fleet = open_fleet(folder, manifest, options, has_begun)?;
    warn_of_damage(stored.damaged, observer);
    let ended = ended_trials(stored.trials, options);
    let mut manifest = manifest.clone();
    let to_do = |spec: &&TrialSpec| !ended.contains_key(&spec.id);
    let trials = manifest.trials.iter().filter(to_do).count();
    observer(&Event::RunStarted {
        folder: folder.path().to_owned(),
        trials,
        done_before: manifest.trials.len() - trials,
    });
    let ended_before = ended.len();
    fleet.introduce(&mut manifest);
    folder.extend(&manifest)?;
    let mut spread = FleetRun {
        folder,
        registry,
        options,
        observer,
        queue,
        fleet,
        ended,
        begun: 0,
        to_do: trials,
        progress: options.until.clone().map(RepeatRule::begin),
    };
    let stopped = spread.run_batches(&mut manifest, source);
    let lost = spread.close(&mut manifest);
    let FleetRun {
        ended, observer, ..
    } = spread;
    if lost {
        folder.extend(&manifest)?;
    }
    let all_ended = manifest
        .trials
        .iter()
        .all(|spec| ended.contains_key(&spec.id));
    let reason = stopped.as_ref().ok().copied().flatten();
    let has_run = ended.len() > ended_before;
    finish(folder, reason, all_ended, has_run)?;
    let stopped = stopped?;
    let interrupted = stopped == Some(StopReason::ByUser);
    observer(&Event::RunEnded {
        folder: folder.path().to_owned(),
        interrupted,
    });
    Ok(summary(&manifest.trials, &ended, interrupted))
}

/// Connects to the hosts of a run, which may have begun there.
fn open_fleet(
    folder: &RunFolder,
    manifest: &RunManifest,
    options: &Options,
    has_begun: bool,
) -> Result<Fleet, Error> {
    if has_begun && manifest.hosts.is_empty() {
        return Err(FleetError::OneHost.into());
    }
    check_spread(&manifest.trials, manifest.search.as_ref(), options)?;
    Fleet::open(manifest, options).inspect_err(|_| {
        if !has_begun {
            // Nothing was measured, and nothing is left behind.
            let _ = std::fs::remove_dir_all(folder.path());
        }
    })
}

/// Checks that a run goes on as it was begun: spread over hosts, or not.
fn check_hosts_of_run(manifest: &RunManifest, options: &Options) -> Result<(), FleetError> {
    let names = manifest.hosts.iter().map(|host| host.name.as_str());
    let names: Vec<_> = names.collect();
    if !names.is_empty() && options.across.is_empty() {
        return Err(FleetError::OtherHosts {
            problem: "this run is spread over hosts",
            hosts: names.join(","),
        });
    }
    Ok(())
}

/// A run that is spread over hosts.
struct FleetRun<'a> {
    folder: &'a RunFolder,
    registry: &'a Registry,
    options: &'a Options,
    observer: &'a mut dyn FnMut(&Event),
    queue: BlockQueue,
    fleet: Fleet,
    /// The outcomes of trials that have ended, by id.
    ended: HashMap<String, Outcome>,
    /// Trials that were begun, and those that were to run.
    begun: usize,
    to_do: usize,
    progress: Option<RepeatProgress>,
}

impl FleetRun<'_> {
    /// Runs what waits, then what is proposed.
    fn run_batches(
        &mut self,
        manifest: &mut RunManifest,
        source: &mut TrialSource<'_>,
    ) -> Result<Option<StopReason>, Error> {
        loop {
            if let Some(stopped) = self.run_blocks(manifest)? {
                return Ok(Some(stopped));
            }
            let stored = self.folder.trials()?.trials;
            let proposed = match source(&stored) {
                None => return Ok(None),
                Some(Proposal::End(end)) => return Ok(Some(StopReason::SearchEnded(end))),
                Some(Proposal::Trials(trials)) => trials,
            };
            if self.is_stopped() {
                return Ok(Some(StopReason::ByUser));
            }
            self.to_do += proposed.len();
            manifest.trials.extend(proposed);
            manifest.changed_settings = changed_settings(&manifest.trials, self.registry);
            manifest.costs = costs(&manifest.trials, self.registry);
            self.folder.extend(manifest)?;
            let hosts = &self.options.across;
            self.queue.fill(&manifest.trials, &stored, hosts);
        }
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// Gives blocks to hosts until all have ended; returns why it stopped early.
    fn run_blocks(&mut self, manifest: &RunManifest) -> Result<Option<StopReason>, Error> {
        let mut enough = None;
        loop {
            if self.is_stopped() {
                self.stop_hosts()?;
                return Ok(Some(StopReason::ByUser));
            }
            if let (Some(progress), Some(block)) = (&mut self.progress, self.queue.first())
                && let Some(first) = block.trials.first()
                && let Some(reason) = progress.enough_before(first, self.folder, manifest)?
            {
                enough = Some(reason);
                self.queue.clear();
            }
            for host in self.fleet.idle_hosts() {
                if let Some(block) = self.queue.next_of(host) {
                    self.fleet.give(host, block);
                }
            }
            if self.queue.is_empty() && !self.fleet.is_busy() {
                return Ok(enough.map(StopReason::Spared));
            }
            self.follow_events(TICK)?;
        }
    }

    /// Has all hosts stop their trials, and takes what they have measured.
    fn stop_hosts(&mut self) -> Result<(), Error> {
        self.fleet.stop();
        self.queue.clear();
        let until = Instant::now() + STOP_TIMEOUT;
        while self.fleet.is_busy() && Instant::now() < until {
            self.follow_events(TICK)?;
        }
        Ok(())
    }

    fn follow_events(&mut self, limit: Duration) -> Result<(), Error> {
        for event in self.fleet.receive(limit) {
            match event {
                FleetEvent::Started { spec } => {
                    self.begun += 1;
                    (self.observer)(&Event::TrialStarted {
                        number: self.begun.min(self.to_do),
                        of: self.to_do,
                        spec,
                    });
                }
                FleetEvent::Shown(event) => (self.observer)(&event),
                FleetEvent::Ended {
                    host,
                    record,
                    files,
                } => self.take_record(host, &record, files)?,
                FleetEvent::Waiting { host } => {
                    if !self.fleet.rest(host) {
                        self.fleet.lose(host, "it did not run all of its trials");
                        self.give_to_others(host)?;
                    }
                }
                FleetEvent::Lost { host } => self.give_to_others(host)?,
            }
        }
        Ok(())
    }

    /// Checks the record of a trial as one of unknown origin, and writes it into the run folder.
    fn take_record(
        &mut self,
        host: usize,
        line: &str,
        files: Vec<crate::hosts::trial_protocol::TrialFile>,
    ) -> Result<(), Error> {
        if !self.fleet.has_block(host) {
            // What a lost host sent after the reason for it.
            return Ok(());
        }
        let read = self.folder.read_trial(line.as_bytes());
        let checked = read
            .map_err(|error| error.to_string())
            .and_then(|record| self.fleet.claim(host, record));
        let record = match checked {
            Ok(record) => record,
            Err(reason) => {
                self.fleet.lose(host, &reason);
                return self.give_to_others(host);
            }
        };
        if let Err(error) = fleet::store_files(self.folder, &record, files) {
            self.warn(format!("trial {}: {error}", record.spec.id));
        }
        self.folder.append(&record)?;
        if record.outcome != Outcome::Interrupted {
            let outcome = record.outcome.clone();
            self.ended.insert(record.spec.id.clone(), outcome);
        }
        (self.observer)(&Event::TrialEnded {
            record: Box::new(record),
        });
        Ok(())
    }

    /// Gives the repeats of a lost host to the others.
    fn give_to_others(&mut self, host: usize) -> Result<(), Error> {
        let (reason, running) = self.fleet.take_lost(host);
        let name = &self.options.across[host];
        let repeats = running.as_ref().map_or_else(String::new, |block| {
            format!("; its repeat {} runs again on another", block.repeat)
        });
        let message = format!("host {name} is lost: {reason}{repeats}");
        let was_stopping = self.is_stopped();
        let has_others = self.queue.lose(host, running.filter(|_| !was_stopping));
        self.warn(message);
        if has_others || was_stopping {
            return Ok(());
        }
        let losses = self.fleet.losses();
        Err(FleetError::NoneLeft { losses }.into())
    }

    fn warn(&mut self, message: String) {
        (self.observer)(&Event::Warning { message });
    }

    /// Ends all hosts, and notes which were lost; returns whether one was.
    fn close(&mut self, manifest: &mut RunManifest) -> bool {
        self.fleet.end(STOP_TIMEOUT);
        let mut is_lost = false;
        for (name, loss) in self.fleet.lost_hosts() {
            let known = manifest.hosts.iter_mut().find(|host| host.name == name);
            if let Some(RunHost { loss: noted, .. }) = known {
                *noted = Some(loss);
                is_lost = true;
            }
        }
        is_lost
    }
}

/// One trial of each cell, for hosts to check.
fn first_of_cells(trials: &[TrialSpec]) -> Vec<TrialSpec> {
    let mut cells = HashSet::new();
    let first = trials.iter().filter(|spec| cells.insert(spec.cell));
    first.cloned().collect()
}

/// Whether two records are of the same trial.
fn is_of(record: &TrialRecord, spec: &TrialSpec) -> bool {
    record.spec == *spec
}
