//! The hosts of a run that is spread over them, and what they report.

use super::blocks::RepeatBlock;
use super::error::FleetError;
use super::{first_of_cells, is_of};
use crate::hosts::connection::{ConnectionEvent, HostConnection};
use crate::hosts::error::HostError;
use crate::hosts::protocol::{HostInstruction, HostReport, SILENCE_TIMEOUT};
use crate::hosts::trial_protocol::{
    ContenderBuild, MAX_FILE_BYTES, RemoteRun, TrialFile, TrialInstruction, TrialReport, file_names,
};
use crate::trial::trace_folder::rename_earlier;
use crate::{Error, Event, Options, sha256_of};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use trueput_record::regular_file::{self, OpenMode};
use trueput_record::run_host::RunHost;
use trueput_record::text::escape_line;
use trueput_record::{HostFacts, RunFolder, RunManifest, TrialRecord, TrialSpec};

/// The time that a host may take to say who it is.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// The time that a host may take to load the engines of the plan.
const READY_TIMEOUT: Duration = Duration::from_secs(120);

/// The runner itself was away, and not the hosts, if it listens again this long after it should.
const OWN_PAUSE: Duration = Duration::from_secs(1);

/// An event of a run that is spread over hosts.
pub(super) enum FleetEvent {
    /// A trial began.
    Started {
        /// It.
        spec: Box<TrialSpec>,
    },
    /// Something to show.
    Shown(Event),
    /// A trial ended.
    Ended {
        /// The place of its host.
        host: usize,
        /// Its record, unchecked.
        record: String,
        /// Its files, unchecked.
        files: Vec<TrialFile>,
    },
    /// A host has run all that it was given.
    Waiting {
        /// Its place.
        host: usize,
    },
    /// A host is lost.
    Lost {
        /// Its place.
        host: usize,
    },
}

/// What a host does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostState {
    /// It is asked to get ready.
    Opening,
    /// It waits for a block.
    Idle,
    /// It runs one.
    Busy,
    /// Nothing runs there any more.
    Finished,
    /// It is lost.
    Lost,
}

/// A host of the run.
struct FleetHost {
    connection: HostConnection,
    state: HostState,
    heard_at: Instant,
    facts: Option<HostFacts>,
    builds: Vec<ContenderBuild>,
    block: Option<RepeatBlock>,
    /// The trials of the block that have ended.
    ended: Vec<String>,
    loss: Option<String>,
    /// Whether it was told to end.
    is_ending: bool,
}

/// The hosts of a run.
pub(super) struct Fleet {
    hosts: Vec<FleetHost>,
    events: Receiver<(usize, ConnectionEvent)>,
    /// When the runner listened last.
    listened_at: Instant,
}

impl Fleet {
    /// Connects to all hosts, checks that they have this program and the same builds of all
    /// contenders, and has them get ready.
    ///
    /// # Errors
    /// [`Error::Host`] and [`Error::Fleet`] with the first host that cannot be used.
    pub fn open(manifest: &RunManifest, options: &Options) -> Result<Self, Error> {
        let program = &options.worker_program;
        let sha256 = sha256_of(program).map_err(|source| Error::Worker {
            program: program.clone(),
            source,
        })?;
        let (sender, events) = channel();
        let mut hosts = Vec::with_capacity(options.across.len());
        for (index, name) in options.across.iter().enumerate() {
            let access = &options.host_access;
            let opened = HostConnection::open(name, access, program, index, sender.clone());
            hosts.push(FleetHost::new(opened?));
        }
        let mut fleet = Self {
            hosts,
            events,
            listened_at: Instant::now(),
        };
        fleet.await_hellos()?;
        for host in &fleet.hosts {
            host.connection.check_program(&sha256)?;
        }
        for host in &fleet.hosts {
            let run = Box::new(remote_run(manifest, options));
            host.send(TrialInstruction::Begin { run });
        }
        fleet.await_ready()?;
        fleet.check_builds()?;
        Ok(fleet)
    }

    fn await_hellos(&mut self) -> Result<(), Error> {
        let until = Instant::now() + ANSWER_TIMEOUT;
        let mut noise = vec![None; self.hosts.len()];
        let is_unknown = |host: &&FleetHost| host.connection.hello.is_none();
        while let Some(missing) = self.hosts.iter().find(is_unknown) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok((index, event)) = self.events.recv_timeout(left) else {
                return Err(not_ready(missing, ANSWER_TIMEOUT).into());
            };
            let connection = &mut self.hosts[index].connection;
            match event {
                ConnectionEvent::Report(report, _) => match *report {
                    HostReport::Hello(hello) => connection.hello = Some(*hello),
                    HostReport::Failed { message } => {
                        let host = connection.name.clone();
                        return Err(HostError::Failed { host, message }.into());
                    }
                    _ => {}
                },
                // A shell may greet, but then the program answers.
                ConnectionEvent::Noise(line) => noise[index] = Some(line),
                _ => {
                    let error = connection.error_of_end();
                    let has_no_reason =
                        matches!(error, HostError::Ended { .. } | HostError::NoGoodbye { .. });
                    let greeting = noise[index].as_ref().filter(|_| has_no_reason);
                    let error = greeting.map_or(error, |line| connection.error_of_noise(line));
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    /// Waits until all hosts can run the trials.
    fn await_ready(&mut self) -> Result<(), Error> {
        let until = Instant::now() + READY_TIMEOUT;
        while let Some(missing) = self.of_state(HostState::Opening).first() {
            let missing = *missing;
            if Instant::now() >= until {
                return Err(not_ready(&self.hosts[missing], READY_TIMEOUT).into());
            }
            for event in self.receive(Duration::from_millis(100)) {
                if let FleetEvent::Lost { host } = event {
                    let host = &self.hosts[host];
                    return Err(FleetError::Refused {
                        host: host.connection.name.clone(),
                        message: host.loss.clone().unwrap_or_default(),
                    }
                    .into());
                }
            }
        }
        Ok(())
    }

    fn check_builds(&self) -> Result<(), FleetError> {
        let Some((first, others)) = self.hosts.split_first() else {
            return Ok(());
        };
        for other in others {
            let mut pairs = first.builds.iter().zip(&other.builds);
            let differ = |(one, two): &(&ContenderBuild, &ContenderBuild)| one != two;
            if let Some((one, two)) = pairs.find(differ) {
                return Err(FleetError::OtherBuild {
                    contender: one.contender.clone(),
                    first: first.connection.name.clone(),
                    first_build: describe_build(one),
                    second: other.connection.name.clone(),
                    second_build: describe_build(two),
                });
            }
        }
        Ok(())
    }

    /// Adds the hosts to the manifest of their run.
    pub fn introduce(&self, manifest: &mut RunManifest) {
        for host in &self.hosts {
            let Some(facts) = host.facts.clone() else {
                continue;
            };
            let introduced = RunHost {
                name: host.connection.name.clone(),
                facts,
                loss: None,
            };
            let mut known = manifest.hosts.iter();
            match known.position(|known| known.name == introduced.name) {
                Some(place) => manifest.hosts[place] = introduced,
                None => manifest.hosts.push(introduced),
            }
        }
    }

    fn of_state(&self, state: HostState) -> Vec<usize> {
        let hosts = self.hosts.iter().enumerate();
        let hosts = hosts.filter(|(_, host)| host.state == state);
        hosts.map(|(index, _)| index).collect()
    }

    /// The hosts that wait for a block, by place.
    pub fn idle_hosts(&self) -> Vec<usize> {
        self.of_state(HostState::Idle)
    }

    /// Whether a host runs a block.
    pub fn is_busy(&self) -> bool {
        !self.of_state(HostState::Busy).is_empty()
    }

    /// Has a host run a block.
    pub fn give(&mut self, host: usize, block: RepeatBlock) {
        let host = &mut self.hosts[host];
        // Serialization fails only for maps with keys that are no strings, and there are none.
        let trials = serde_json::to_string(&block.trials).unwrap_or_default();
        host.send(TrialInstruction::Run { trials });
        host.state = HostState::Busy;
        host.block = Some(block);
        host.ended.clear();
    }

    /// Has all hosts stop their trials.
    pub fn stop(&mut self) {
        for host in &mut self.hosts {
            host.is_ending = true;
            host.send(TrialInstruction::Stop);
        }
    }

    /// Notes that a host has run all that it was given. It returns whether the host has reported a
    /// trial of each.
    pub fn rest(&mut self, place: usize) -> bool {
        let host = &mut self.hosts[place];
        let given = host.block.as_ref().map_or(0, |block| block.trials.len());
        if host.ended.len() < given {
            return false;
        }
        if host.state == HostState::Busy {
            host.state = HostState::Idle;
        }
        host.block = None;
        true
    }

    /// Whether a host runs a block, or ran one when it was lost.
    pub fn has_block(&self, place: usize) -> bool {
        self.hosts[place].block.is_some()
    }

    /// Waits for events, at most `limit`.
    pub fn receive(&mut self, limit: Duration) -> Vec<FleetEvent> {
        let mut found = Vec::new();
        if let Ok((host, event)) = self.events.recv_timeout(limit) {
            self.note(host, event, &mut found);
            while let Ok((host, event)) = self.events.try_recv() {
                self.note(host, event, &mut found);
            }
        }
        self.notice_silence(limit, &mut found);
        found
    }

    fn note(&mut self, place: usize, event: ConnectionEvent, found: &mut Vec<FleetEvent>) {
        let host = &mut self.hosts[place];
        let is_over = matches!(host.state, HostState::Finished | HostState::Lost);
        let reason = match event {
            ConnectionEvent::Report(report, _) => {
                host.heard_at = Instant::now();
                match *report {
                    HostReport::Trials { report } => host.note_trial(place, report, found),
                    HostReport::Failed { message } => Some(message),
                    _ => None,
                }
            }
            ConnectionEvent::Noise(line) => Some(host.connection.error_of_noise(&line).to_string()),
            ConnectionEvent::Closed if !is_over => Some(host.connection.error_of_end().to_string()),
            _ => None,
        };
        if let Some(reason) = reason.filter(|_| !is_over) {
            self.lose(place, &reason);
            found.push(FleetEvent::Lost { host: place });
        }
    }

    /// Loses hosts from which nothing has been heard for too long. The runner has listened for at
    /// most `listened`.
    fn notice_silence(&mut self, listened: Duration, found: &mut Vec<FleetEvent>) {
        let away = self.listened_at.elapsed();
        self.listened_at = Instant::now();
        if away > listened + OWN_PAUSE {
            // What came meanwhile is still to be read.
            let hosts = self.hosts.iter_mut();
            hosts.for_each(|host| host.heard_at = self.listened_at);
        }
        for place in 0..self.hosts.len() {
            let host = &self.hosts[place];
            let is_over = matches!(host.state, HostState::Finished | HostState::Lost);
            if !is_over && host.heard_at.elapsed() >= SILENCE_TIMEOUT {
                let reason = format!("nothing came from it for {} s", SILENCE_TIMEOUT.as_secs());
                self.lose(place, &reason);
                found.push(FleetEvent::Lost { host: place });
            }
        }
    }

    /// Ends the connection to a host that cannot be used any more.
    pub fn lose(&mut self, place: usize, reason: &str) {
        let host = &mut self.hosts[place];
        host.state = HostState::Lost;
        host.loss = Some(escape_line(reason).into_owned());
        host.connection.close();
    }

    /// Returns why a host was lost, and takes the block that it was running.
    pub fn take_lost(&mut self, place: usize) -> (String, Option<RepeatBlock>) {
        let host = &mut self.hosts[place];
        (host.loss.clone().unwrap_or_default(), host.block.take())
    }

    /// Each lost host with the reason, as a clause.
    pub fn losses(&self) -> String {
        let losses = self.lost_hosts();
        let losses = losses.iter().map(|(name, loss)| format!("{name}: {loss}"));
        losses.collect::<Vec<_>>().join("; ")
    }

    /// The lost hosts, with the reasons.
    pub fn lost_hosts(&self) -> Vec<(String, String)> {
        let lost = |host: &FleetHost| Some((host.connection.name.clone(), host.loss.clone()?));
        self.hosts.iter().filter_map(lost).collect()
    }

    /// Returns the record as that of the host, if it is of a trial that it was given.
    ///
    /// # Errors
    /// What is wrong, as a clause.
    pub fn claim(&mut self, place: usize, record: TrialRecord) -> Result<TrialRecord, String> {
        let host = &mut self.hosts[place];
        let id = record.spec.id.clone();
        let block = host.block.as_ref();
        let is_given = block.is_some_and(|it| it.trials.iter().any(|spec| is_of(&record, spec)));
        if !is_given || host.ended.contains(&id) {
            return Err(format!("it reports a trial that it was not given, '{id}'"));
        }
        host.ended.push(id);
        Ok(TrialRecord {
            host: Some(host.connection.name.clone()),
            ..record
        })
    }

    /// Has all hosts remove what they have, within the time.
    pub fn end(&mut self, limit: Duration) {
        for host in &mut self.hosts {
            host.is_ending = true;
            host.send(TrialInstruction::End);
        }
        let until = Instant::now() + limit;
        let is_over =
            |host: &FleetHost| matches!(host.state, HostState::Finished | HostState::Lost);
        while !self.hosts.iter().all(is_over) && Instant::now() < until {
            self.receive(Duration::from_millis(100));
        }
        // All at once, so that none waits for the others' end.
        let hosts = self.hosts.iter_mut();
        hosts.for_each(|host| host.connection.close_input());
        for host in &mut self.hosts {
            host.connection.close();
        }
    }
}

impl FleetHost {
    fn new(connection: HostConnection) -> Self {
        Self {
            connection,
            state: HostState::Opening,
            heard_at: Instant::now(),
            facts: None,
            builds: Vec::new(),
            block: None,
            ended: Vec::new(),
            loss: None,
            is_ending: false,
        }
    }

    fn send(&self, instruction: TrialInstruction) {
        self.connection
            .send(&HostInstruction::Trials { instruction });
    }

    /// Notes a report on trials; returns why the host cannot be used any more, if so.
    fn note_trial(
        &mut self,
        place: usize,
        report: TrialReport,
        found: &mut Vec<FleetEvent>,
    ) -> Option<String> {
        let name = &self.connection.name;
        match report {
            TrialReport::Ready { facts, builds } => {
                let facts: HostFacts = match serde_json::from_str(&facts) {
                    Ok(facts) => facts,
                    Err(error) => return Some(format!("its facts cannot be read: {error}")),
                };
                (self.facts, self.builds, self.state) = (Some(facts), builds, HostState::Idle);
            }
            TrialReport::Started { id } => {
                let block = self.block.iter().flat_map(|block| &block.trials);
                let mut specs = block.filter(|spec| spec.id == id);
                found.extend(specs.next().map(|spec| FleetEvent::Started {
                    spec: Box::new(spec.clone()),
                }));
            }
            TrialReport::Progress {
                id,
                phase,
                fraction,
                rate_per_s,
            } => {
                let is_given = |block: &RepeatBlock| block.trials.iter().any(|it| it.id == id);
                if self.block.as_ref().is_some_and(is_given) {
                    found.push(FleetEvent::Shown(Event::TrialProgress {
                        id,
                        phase,
                        fraction: fraction.clamp(0.0, 1.0),
                        rate_per_s: rate_per_s.max(0.0),
                    }));
                }
            }
            TrialReport::Ended { record, files } => found.push(FleetEvent::Ended {
                host: place,
                record,
                files,
            }),
            TrialReport::Note { message } => {
                let message = format!("host {name}: {}", escape_line(&message));
                found.push(FleetEvent::Shown(Event::Warning { message }));
            }
            // In its order: the records before it are those of its block.
            TrialReport::Waiting => found.push(FleetEvent::Waiting { host: place }),
            TrialReport::Finished if !self.is_ending => {
                return Some("it ended before all of its trials had run".to_owned());
            }
            TrialReport::Finished => self.state = HostState::Finished,
            TrialReport::Failed { message } => return Some(message),
        }
        None
    }
}

fn not_ready(host: &FleetHost, limit: Duration) -> FleetError {
    FleetError::NotReady {
        host: host.connection.name.clone(),
        limit,
    }
}

fn describe_build(build: &ContenderBuild) -> String {
    let hash: String = build.sha256.chars().take(8).collect();
    if hash.is_empty() {
        build.version.clone()
    } else {
        format!("{} (SHA-256 {hash}…)", build.version)
    }
}

/// What a host needs of a run.
fn remote_run(manifest: &RunManifest, options: &Options) -> RemoteRun {
    let cells = RunManifest {
        trials: first_of_cells(&manifest.trials),
        hosts: Vec::new(),
        until: None,
        work: None,
        ..manifest.clone()
    };
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let suites = options.conformance_cache.as_ref();
    RemoteRun {
        // Serialization fails only for maps with keys that are no strings, and there are none.
        manifest: serde_json::to_string(&cells).unwrap_or_default(),
        exported: options.credentials.export(),
        results: absolute(&options.results),
        work: options.work.as_deref().map(absolute),
        disk_factor: options.disk_factor,
        hang_limit_s: options.hang_limit.as_secs_f64(),
        hardware_limits: options.hardware_limits,
        checks_isolation: options.checks_isolation,
        reuses_suites: suites.is_some_and(|cache| cache.reuses()),
    }
}

/// Writes the files of a trial into the run folder. Those of an earlier attempt stay, under other
/// names. Only files that a trial may have are written; histograms must be readable ones.
pub(super) fn store_files(
    folder: &RunFolder,
    record: &TrialRecord,
    files: Vec<TrialFile>,
) -> Result<(), trueput_record::Error> {
    let id = &record.spec.id;
    let known = file_names(id);
    for file in files {
        let is_known = known.contains(&file.name) && file.text.len() as u64 <= MAX_FILE_BYTES;
        if !is_known {
            let name = escape_line(&file.name).into_owned();
            return Err(trueput_record::Error::Invalid {
                path: folder.path().join(name),
                line: None,
                message: "a host sent this, which is no file of the trial".to_owned(),
            });
        }
        let path = folder.path().join(&file.name);
        let refuse = |source| trueput_record::Error::Io {
            path: path.clone(),
            source,
        };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(refuse)?;
        }
        rename_earlier(&path).map_err(refuse)?;
        let written = regular_file::open(folder.path(), Path::new(&file.name), OpenMode::Overwrite)
            .and_then(|mut opened| opened.write_all(file.text.as_bytes()));
        written.map_err(refuse)?;
    }
    let checked = folder.histograms(id).map(drop);
    let checked = checked.and_then(|()| folder.visit_intervals(id, drop));
    if checked.is_err() {
        for path in [folder.histogram_path(id), folder.interval_path(id)] {
            // Without histograms the trial is still a record; with false ones it is none.
            let _ = std::fs::remove_file(path);
        }
    }
    checked
}
