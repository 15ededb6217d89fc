//! The measured part of a trial, in the runner: starts the workers, releases them together,
//! monitors them, and collects their results.

use crate::context::{RunContext, TrialError};
use crate::evidence::engine_events::{EventCollector, SliceStart};
use crate::evidence::flush_evidence::FlushCounter;
use crate::evidence::sampler::Sampler;
use crate::evidence::second_latencies::SecondLatencies;
use crate::evidence::stalls::StallWatch;
use crate::failure_reason::FailureReason;
use crate::plan::log_directory::find_log_folder;
use crate::plan::resolution::ResolvedTrial;
use crate::trial::contender_stop::ContenderStop;
use crate::trial::fault_injector::FaultInjector;
use crate::trial::phase_limit::LimitedPhase;
use crate::trial::run_watch::RunWatch;
use crate::trial::worker_group::{WorkerGroupResult, WorkerGroupSpec};
use crate::workers::local::{GRACE, LocalWorkers};
use crate::workers::protocol::{
    Assignment, Instruction, OperationCounts, ProcessResult, Report, WorkerTask,
};
use crate::workers::stopped_time::StoppedTimeKeeper;
use crate::workers::task_process::{TICK, start_worker};
use crate::workers::trial_workers::TrialWorkers;
use crate::workers::worker_process::WorkerEvent;
use crate::{Event, Phase};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};
use trueput_host::cgroup::MemoryGroup;
use trueput_host::process::describe_stuck;
use trueput_host::process_tree::list_members;
use trueput_host::service::kill_server;
use trueput_record::histogram::HistogramError;
use trueput_record::{TrialSpec, WorkerKind};

/// A trial's workers that have the database open.
pub(crate) struct WorkerGroup<'a> {
    monitor: WorkerMonitor<'a>,
    directory: &'a Path,
    files: &'a Path,
    resolved: &'a ResolvedTrial,
    server: Option<u32>,
    /// The server that the engine itself has started.
    own_server: Option<u32>,
    flushes: FlushCounter<'a>,
    /// The measurement, from the release on.
    measurement: Option<ActiveMeasurement>,
    /// What stops the processes between time slices; `None` without them.
    stop: Option<ContenderStop>,
}

/// The observers of released workers.
struct ActiveMeasurement {
    started_at: String,
    sampler: Sampler,
    events: EventCollector,
    faults: FaultInjector,
    stalls: StallWatch,
    slices: Vec<SliceStart>,
}

/// Returns the process that an engine has started from a worker to serve it.
fn engine_server(workers: &[u32]) -> Option<u32> {
    let mut members = workers.iter().map(|worker| list_members(*worker));
    members.find_map(|members| members.get(1).copied())
}

impl<'a> WorkerGroup<'a> {
    /// Starts the workers of a trial, in that control group if there is one, with `server` and its
    /// descendants as their server processes, and waits until all are ready.
    ///
    /// # Errors
    /// As [`WorkerGroup::follow`].
    pub fn start(
        context: &mut RunContext<'_>,
        spec: &'a TrialSpec,
        work: &WorkerGroupSpec<'a>,
        server: Option<u32>,
        group: Option<&MemoryGroup>,
    ) -> Result<Self, TrialError> {
        let stopped_time = match spec.conditions.time_slice_s {
            Some(_) => Some(StoppedTimeKeeper::new().map_err(|error| error.to_string())?),
            None => None,
        };
        let stopped_path = stopped_time.as_ref().map(StoppedTimeKeeper::path);
        let processes = start_processes(context, spec, work, group, stopped_path)?;
        let watch = RunWatch::new(context, spec);
        let mut monitor = WorkerMonitor::new(spec, processes, work.total_units, watch);
        monitor.wait_until_ready(context)?;
        let workers = monitor.processes.local_pids();
        let starts_server = server.is_none() && work.resolved.engine.has_server();
        let own_server = starts_server.then(|| engine_server(&workers)).flatten();
        let pids = workers.into_iter().chain(server).collect();
        Ok(Self {
            stop: stopped_time.map(|time| ContenderStop::new(time, pids, group)),
            monitor,
            directory: work.directory,
            files: work.files,
            resolved: work.resolved,
            server,
            own_server,
            flushes: FlushCounter::new(work.flush_counting),
            measurement: None,
        })
    }

    /// Releases the workers, and lets them warm up.
    ///
    /// # Errors
    /// [`TrialError::Failed`] if another host does not answer.
    pub fn release(&mut self, context: &mut RunContext<'_>) -> Result<(), TrialError> {
        let monitor = &mut self.monitor;
        self.flushes.begin();
        monitor.processes.release()?;
        monitor.wait_for_warm_up(context);
        context.faults.arm(&monitor.spec.id)?;
        monitor.processes.begin_measurement();
        let started_at = jiff::Timestamp::now().to_string();
        let log = find_log_folder(&monitor.spec.knobs, self.files);
        let (pids, native_pids) = (monitor.processes.local_pids(), &monitor.native_pids);
        let mut sampler = Sampler::new(&pids, native_pids, self.files, log.as_deref());
        sampler.omit_foreign_activity(&monitor.spec.conditions, self.server.is_some());
        sampler.follow_server(self.server.or(self.own_server));
        sampler.follow_storage_servers(context.storage_server_pids());
        let planned = &monitor.spec.conditions.faults;
        self.measurement = Some(ActiveMeasurement {
            started_at,
            sampler,
            events: EventCollector::start(self.resolved, monitor.spec, self.directory),
            faults: FaultInjector::start(planned, self.directory, monitor.measured_from),
            stalls: StallWatch::start(monitor.spec, self.server, monitor.measured_from),
            slices: Vec::new(),
        });
        Ok(())
    }

    /// Stops all processes until the next time slice.
    ///
    /// # Errors
    /// As [`ContenderStop::stop`].
    pub fn stop(&mut self, context: &RunContext<'_>) -> Result<(), TrialError> {
        let Some(stop) = &mut self.stop else {
            return Ok(());
        };
        stop.stop(context)?;
        self.flushes.pause();
        if let Some(measurement) = &mut self.measurement {
            measurement.sampler.end_slice();
        }
        Ok(())
    }

    /// Lets all processes go on. The time for which they were stopped does not count.
    ///
    /// # Errors
    /// As [`ContenderStop::resume`].
    pub fn resume(&mut self) -> Result<(), TrialError> {
        // While databases are closed, others are, too.
        let is_measured = !self.is_done();
        let Some(stop) = &mut self.stop else {
            return Ok(());
        };
        if let Some(measurement) = self.measurement.as_mut().filter(|_| is_measured) {
            self.flushes.begin();
            measurement.sampler.begin_slice();
        }
        let length = stop.resume()?;
        if let Some(measurement) = &mut self.measurement {
            self.monitor.skip(length.stopped);
            measurement.stalls.note_stop(length.since_told);
        }
        Ok(())
    }

    /// Notes that a time slice begins.
    fn note_slice(&mut self) {
        if let Some(stop) = &mut self.stop {
            stop.begin_slice();
        }
        if let Some(measurement) = &mut self.measurement {
            measurement.slices.push(SliceStart {
                at: SystemTime::now(),
                measured: self.monitor.measured_from.elapsed(),
            });
        }
    }

    /// Follows the released workers until their processes have ended.
    ///
    /// # Errors
    /// [`TrialError::Failed`] names the worker that failed or died and the cause; the others have
    /// been stopped.
    pub fn follow(&mut self, context: &mut RunContext<'_>) -> Result<(), TrialError> {
        self.follow_until(context, None)
    }

    fn follow_until(
        &mut self,
        context: &mut RunContext<'_>,
        until: Option<Instant>,
    ) -> Result<(), TrialError> {
        let Some(measurement) = &mut self.measurement else {
            return Ok(());
        };
        self.monitor.follow(context, measurement, until)
    }

    /// Runs the workers for a time slice, the first time after their warm-up, and stops them.
    ///
    /// # Errors
    /// As [`WorkerGroup::follow`], [`WorkerGroup::resume`] and [`WorkerGroup::stop`].
    pub fn run_slice(
        &mut self,
        context: &mut RunContext<'_>,
        slice: Duration,
    ) -> Result<(), TrialError> {
        self.resume()?;
        self.note_slice();
        if self.measurement.is_none() {
            self.release(context)?;
        }
        self.follow_until(context, Some(Instant::now() + slice))?;
        self.stop(context)
    }

    /// Returns whether the workers have finished.
    pub fn is_done(&self) -> bool {
        self.monitor.has_measured() || self.monitor.processes.all_closed()
    }

    /// Returns the results of workers that have finished; kills them first if the plan says so.
    ///
    /// # Errors
    /// [`TrialError::Interrupted`] if the user stopped them and they returned no result.
    pub fn end(self) -> Result<WorkerGroupResult, TrialError> {
        let Some(ActiveMeasurement {
            started_at,
            mut sampler,
            events,
            faults,
            stalls,
            slices,
        }) = self.measurement
        else {
            return Err(TrialError::Interrupted);
        };
        let faults = faults.finish()?;
        let completed_requests = self.flushes.end();
        let mut monitor = self.monitor;
        let killed = crash(&mut monitor, self.server)?;
        let WorkerMonitor {
            mut processes,
            parts,
            latencies,
            interrupted,
            ..
        } = monitor;
        let (mut process_results, seconds): (Vec<_>, Vec<_>) = parts
            .into_iter()
            .map(|part| (part.result, part.seconds))
            .unzip();
        if process_results.iter().any(Option::is_none) {
            return Err(TrialError::Interrupted);
        }
        let hosts = processes.finish(&mut process_results).map_err(|error| {
            if interrupted {
                TrialError::Interrupted
            } else {
                error.into()
            }
        })?;
        let server = sampler.server();
        let stalls = match &processes {
            TrialWorkers::Local(_) => stalls.finish(&process_results),
            // Other hosts watch themselves.
            TrialWorkers::Hosts(_) => Vec::new(),
        };
        let (samples, host_activity) = sampler.into_samples();
        let pids = processes.pids();
        Ok(WorkerGroupResult {
            started_at,
            process_results: process_results.into_iter().flatten().collect(),
            pids,
            hosts,
            seconds,
            latencies,
            samples,
            host_activity,
            server,
            engine_events: events.finish(),
            completed_requests,
            faults,
            stalls,
            time_slices: self.stop.as_ref().map(ContenderStop::time_slices),
            slices,
            interrupted,
            killed,
        })
    }
}

/// Kills the workers and the server if the plan says so; returns the number of processes.
fn crash(monitor: &mut WorkerMonitor<'_>, server: Option<u32>) -> Result<u32, TrialError> {
    if !monitor.spec.conditions.crash_and_recover || monitor.interrupted {
        return Ok(0);
    }
    // The server first, so that it does not clean up after dead clients.
    let killed = server.map_or(Ok(0), kill_server)? + monitor.processes.len() as u32;
    monitor.processes.kill_all();
    Ok(killed)
}

/// Starts the worker processes.
fn start_processes(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    work: &WorkerGroupSpec<'_>,
    group: Option<&MemoryGroup>,
    stopped_time: Option<&Path>,
) -> Result<TrialWorkers, TrialError> {
    let shares: Vec<(u32, u32)> = match spec.worker_kind {
        WorkerKind::Processes => (0..work.sessions).map(|index| (index, 1)).collect(),
        WorkerKind::Threads => vec![(0, work.sessions)],
    };
    let assign = |first, sessions| Assignment {
        spec: spec.clone(),
        directory: work.directory.to_owned(),
        generation: work.generation,
        task: WorkerTask::Measure {
            first,
            sessions,
            trace_folder: work.trace_folder.map(Path::to_owned),
            stopped_time: stopped_time.map(Path::to_owned),
        },
    };
    if spec.conditions.hosts.is_some() {
        let mut remote = context.connect_hosts(spec, work.resolved)?;
        for (first, sessions) in shares {
            let credentials = &context.options.credentials;
            remote.start(credentials, first, assign(first, sessions));
        }
        return Ok(TrialWorkers::Hosts(remote));
    }
    let mut local = LocalWorkers::within(group);
    for (first, sessions) in shares {
        start_worker(context, &mut local, assign(first, sessions))?;
    }
    Ok(TrialWorkers::Local(local))
}

/// The progress of one worker process.
struct ProcessProgress {
    ready: bool,
    seconds: Vec<OperationCounts>,
    result: Option<ProcessResult>,
}

/// Monitors the worker processes.
struct WorkerMonitor<'a> {
    spec: &'a TrialSpec,
    processes: TrialWorkers,
    /// Native programs that the workers have started.
    native_pids: Vec<u32>,
    parts: Vec<ProcessProgress>,
    latencies: SecondLatencies,
    total_units: u64,
    /// The reason why the trial fails.
    failure: Option<TrialError>,
    /// The process that has reported it, if one has.
    failed_process: Option<usize>,
    /// Whether the user interrupted the trial.
    interrupted: bool,
    /// The time at which workers that were asked to stop are killed.
    deadline: Option<Instant>,
    /// Operations at the last progress report, and its time.
    reported: (u64, Instant),
    /// The limits of its phases.
    watch: RunWatch,
    /// When the measured part began, plus the time for which the processes were stopped since.
    measured_from: Instant,
    /// Whether the end of all workers has been noted.
    has_noted_end: bool,
    /// Whether they have been asked to close the database.
    has_asked_to_close: bool,
}

impl<'a> WorkerMonitor<'a> {
    fn new(
        spec: &'a TrialSpec,
        processes: TrialWorkers,
        total_units: u64,
        watch: RunWatch,
    ) -> Self {
        let now = Instant::now();
        let nothing = |_| ProcessProgress {
            ready: false,
            seconds: Vec::new(),
            result: None,
        };
        Self {
            parts: (0..processes.len()).map(nothing).collect(),
            latencies: SecondLatencies::new(processes.len()),
            spec,
            processes,
            native_pids: Vec::new(),
            total_units,
            failure: None,
            failed_process: None,
            interrupted: false,
            deadline: None,
            reported: (0, now),
            watch,
            measured_from: now,
            has_noted_end: false,
            has_asked_to_close: false,
        }
    }

    /// Waits until every process has its sessions. Opening a database may take long: recovery.
    fn wait_until_ready(&mut self, context: &RunContext<'_>) -> Result<(), TrialError> {
        let mut clock = context.begin_phase(LimitedPhase::Open, self.spec);
        while !self.parts.iter().all(|part| part.ready) {
            if context.stopped() {
                return Err(TrialError::Interrupted);
            }
            if let Some(reason) = clock.check(&self.processes.local_pids()) {
                return Err(TrialError::Overrun(reason.into()));
            }
            self.receive(TICK);
            // No worker has begun, so none has a result: they are killed when dropped.
            if let Some(error) = self.take_failure() {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Waits for the end of the warm-up, and notes when the measured part begins.
    fn wait_for_warm_up(&mut self, context: &RunContext<'_>) {
        let released = Instant::now();
        let measured = released + Duration::from_secs_f64(self.spec.conditions.warm_up_s);
        while Instant::now() < measured && !self.processes.all_closed() {
            if context.stopped() || self.failure.is_some() {
                break;
            }
            let left = measured.saturating_duration_since(Instant::now());
            self.receive(TICK.min(left));
        }
        self.measured_from = measured.min(Instant::now());
        self.reported.1 = self.measured_from;
        self.watch.begin(self.parts.len());
    }

    fn is_time_sliced(&self) -> bool {
        self.spec.conditions.time_slice_s.is_some()
    }

    fn has_measured(&self) -> bool {
        self.parts.iter().all(|part| part.result.is_some())
    }

    /// Follows the released workers until all their processes have ended, or their time slice has.
    fn follow(
        &mut self,
        context: &mut RunContext<'_>,
        measurement: &mut ActiveMeasurement,
        slice_ends: Option<Instant>,
    ) -> Result<(), TrialError> {
        let ActiveMeasurement {
            sampler,
            events,
            stalls,
            ..
        } = measurement;
        while !self.processes.all_closed() {
            if self.has_measured() {
                // Closing the database is not part of the measurement.
                sampler.finish();
                self.note_end(context);
                if self.spec.conditions.crash_and_recover || slice_ends.is_some() {
                    break;
                }
                self.close_database(context);
            }
            sampler.poll();
            self.check_limits();
            let now = Instant::now();
            let slice_ends = slice_ends.filter(|_| self.failure.is_none() && !self.interrupted);
            if slice_ends.is_some_and(|end| now >= end) {
                break;
            }
            let next_s = Duration::from_secs(sampler.seconds() as u64 + 1);
            let next = self.measured_from + next_s;
            // A worker that has done its share waits for the others, which is not measured.
            let awaits_others = self.is_time_sliced() && self.has_measured();
            if now >= next && !awaits_others {
                let (usage, memory) = self.processes.remote_usage();
                sampler.set_remote(usage, memory);
                sampler.sample();
                events.poll();
                stalls.look_at(&self.native_pids);
                self.report_progress(context, next_s);
                continue;
            }
            if context.stopped() && !self.interrupted {
                self.interrupted = true;
                self.ask_to_stop();
            }
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                // A process that waits in a stall would end no sooner than that.
                let _ = context.faults.disarm(&self.spec.id);
                self.processes.kill_all();
                break;
            }
            let next = slice_ends.map_or(next, |end| end.min(next));
            let left = next.saturating_duration_since(now);
            self.receive(if awaits_others { TICK } else { TICK.min(left) });
        }
        // A stopped worker may fail on the way; the user's interruption explains it.
        if self.interrupted {
            return Ok(());
        }
        match self.take_failure() {
            Some(error) => Err(error.map_reason(|reason| self.with_faults(reason))),
            None => Ok(()),
        }
    }

    /// Takes the reason why the trial fails, with what the process that has reported it last wrote.
    fn take_failure(&mut self) -> Option<TrialError> {
        let error = self.failure.take()?;
        let process = self.failed_process.take();
        let last_words = process.map(|index| self.processes.await_failed_exit(index));
        Some(error.map_reason(|reason| reason.followed_by(&last_words.unwrap_or_default())))
    }

    /// Adds the planned faults to the reason of a failure: one of them may be the cause.
    fn with_faults(&self, reason: FailureReason) -> FailureReason {
        let faults = &self.spec.conditions.faults;
        if faults.is_empty() {
            reason
        } else {
            reason.followed_by(&format!(" (planned faults: {faults})"))
        }
    }

    /// Notes how long the workers have worked, on which the limits of all later phases depend.
    fn note_end(&mut self, context: &mut RunContext<'_>) {
        if std::mem::replace(&mut self.has_noted_end, true) {
            return;
        }
        let warm_up = Duration::from_secs_f64(self.spec.conditions.warm_up_s);
        context.note_run(self.spec, self.measured_from.elapsed() + warm_up);
        // Of an error hears whoever ends the workers.
        let _ = context.faults.disarm(&self.spec.id);
    }

    /// Lets the workers close the database and end.
    fn close_database(&mut self, context: &RunContext<'_>) {
        if !std::mem::replace(&mut self.has_asked_to_close, true) {
            self.watch.expect_close(context, self.spec);
            self.processes.send_all(&Instruction::CloseDatabase);
        }
    }

    /// Leaves out a time for which the processes were stopped.
    fn skip(&mut self, stopped: Duration) {
        self.measured_from += stopped;
        self.reported.1 += stopped;
        self.watch.skip(stopped);
    }

    fn ask_to_stop(&mut self) {
        self.processes.send_all(&Instruction::Stop);
        self.deadline.get_or_insert(Instant::now() + GRACE);
    }

    fn fail(&mut self, index: usize, reason: impl Into<FailureReason>) {
        let reason = reason.into().preceded_by(&self.name(index));
        self.failure.get_or_insert(TrialError::Failed(reason));
        self.ask_to_stop();
    }

    fn name(&self, index: usize) -> String {
        let pid = self.processes.pids()[index];
        let host = self.processes.host_of(index);
        let host = host.map_or_else(String::new, |host| format!(" on host {host}"));
        match self.spec.worker_kind {
            WorkerKind::Processes => format!("worker {index} (process {pid}){host}"),
            WorkerKind::Threads => format!("the workers' process ({pid}){host}"),
        }
    }

    fn receive(&mut self, limit: Duration) {
        let Some((index, event)) = self.processes.receive(limit) else {
            return;
        };
        self.watch.note_sign_of(index);
        let part = &mut self.parts[index];
        match event {
            WorkerEvent::Closed => match self.processes.exit_result(index) {
                Err(end) => self.fail(index, end.preceded_by(" ")),
                Ok(()) if self.parts[index].result.is_none() => {
                    self.fail(index, " ended without a result".to_owned());
                }
                Ok(()) => {}
            },
            WorkerEvent::Report(report) => match *report {
                Report::Ready { native_pids } => {
                    part.ready = true;
                    self.native_pids.extend(native_pids);
                }
                Report::Second(second) => {
                    part.seconds.push(second.done);
                    let added = self.latencies.add_second(index, second.latencies);
                    self.note_latencies(index, added);
                }
                Report::Measured(mut result) => {
                    let remaining = std::mem::take(&mut result.remaining_latencies);
                    part.result = Some(*result);
                    let added = self.latencies.end_process(index, remaining);
                    self.note_latencies(index, added);
                }
                Report::Failed { message } => {
                    if self.failure.is_none() {
                        self.failed_process = Some(index);
                    }
                    self.fail(index, format!(": {message}"));
                }
                other => self.fail(index, format!(": sent an unexpected message: {other:?}")),
            },
        }
    }

    fn note_latencies(&mut self, index: usize, added: Result<(), HistogramError>) {
        if let Err(error) = added {
            self.fail(index, format!(": {error}"));
        }
    }

    fn report_progress(&mut self, context: &mut RunContext<'_>, elapsed: Duration) {
        let (mut units, mut operations) = (0, 0);
        for part in &self.parts {
            let last = part.seconds.last();
            units += last.map_or(0, |done| done.units);
            operations += match &part.result {
                Some(result) => result.workers.iter().flat_map(|share| &share.counts).sum(),
                None => last.map_or(0, |done| done.counts.iter().sum::<u64>()),
            };
        }
        let now = Instant::now();
        let (before, then) = std::mem::replace(&mut self.reported, (operations, now));
        if operations > before {
            self.watch.note_operations();
        }
        let passed_s = now.duration_since(then).as_secs_f64();
        context.emit(&Event::TrialProgress {
            id: self.spec.id.clone(),
            phase: Phase::Run,
            fraction: self.fraction(units, elapsed),
            rate_per_s: operations.saturating_sub(before) as f64 / passed_s.max(1e-3),
        });
    }

    /// Returns the part of the trial that is done: of its units, or of its time.
    fn fraction(&self, units: u64, elapsed: Duration) -> f64 {
        let done = match self.spec.conditions.duration_s {
            Some(duration_s) => elapsed.as_secs_f64() / duration_s.max(1e-3),
            None => units as f64 / self.total_units.max(1) as f64,
        };
        done.min(1.0)
    }

    /// Ends workers that exceed a limit: nothing gets on, or one of their processes is silent.
    fn check_limits(&mut self) {
        let pids = self.processes.local_pids();
        let has_ended = |index: usize| self.parts[index].result.is_some();
        let overrun = match self.watch.find_silent(has_ended) {
            Some((index, limit)) if !self.has_measured() => {
                let (name, limit_s) = (self.name(index), limit.as_secs());
                let stuck = pids.get(index).and_then(|&pid| describe_stuck(&[pid]));
                let stuck = stuck.map_or_else(String::new, |stuck| format!("; {stuck}"));
                let title = LimitedPhase::Run.title();
                Some(format!(
                    "{title}: {name} has not responded for {limit_s} s, the limit of this phase\
                     {stuck}"
                ))
            }
            _ => self.watch.check(self.has_measured(), &pids),
        };
        if let Some(reason) = overrun {
            self.failure
                .get_or_insert(TrialError::Overrun(reason.into()));
            self.deadline = Some(Instant::now());
        }
    }
}
