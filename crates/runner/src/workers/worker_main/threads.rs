//! The measured part of a trial in a worker process: its workers, each on its own thread.

use super::error::WorkerError;
use super::failover::FailoverSession;
use super::first_start::FirstStart;
use super::native;
use super::pipe::{Gate, Reporter, WorkerControl};
use super::recording::RecordingSession;
use crate::evidence::stalls::LateWakeup;
use crate::evidence::summaries::HistogramError;
use crate::plan::resolution::ResolvedTrial;
use crate::workers::arrival_schedule::arrival_seed;
use crate::workers::attachment::Attachment;
use crate::workers::clock::read_monotonic_ns;
use crate::workers::interval_latencies::IntervalLatencies;
use crate::workers::meter::{ArrivalSpec, ClockMeter, MAX_KINDS, ResponseTimes, WorkerCounters};
use crate::workers::protocol::{
    Assignment, CacheReport, OpenLoopResult, OperationCounts, ProcessResult, ProcessStall, Report,
    SecondReport, WorkerResult, WorkerTask,
};
use crate::workers::trace_file::part_path;
use hdrhistogram::Histogram;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use trueput_engine::{CacheCount, CacheScope, Database, NativeProgram, Session, panics};
use trueput_host::process::{self, MemoryUsage, read_own_usage};
use trueput_host::usage::ResourceUsage;
use trueput_host::{placement, read_allocator};
use trueput_record::placement::Placement;
use trueput_record::{Conditions, WorkerKind, histogram};
use trueput_workloads::{Error as JobError, JobTask};

/// The action of reading the cache counters of an engine.
const READING_CACHE: &str = "reading the engine's cache counters";

/// One worker's latencies by kind.
type Latencies = Vec<Histogram<u64>>;

/// A message of a worker's thread to the main thread.
enum WorkerMessage {
    /// Its session is open, or its native program runs as this process.
    Ready(Option<u32>),
    /// It has finished, or failed for this reason.
    Ended(Result<Box<WorkerOutput>, WorkerError>),
}

/// The output of a worker.
struct WorkerOutput {
    result: WorkerResult,
    latencies: Latencies,
    /// Its open loop; `None` for a closed loop.
    responses: Option<ResponseTimes>,
    /// Memory of its native program at the end; nothing if it has none.
    memory: MemoryUsage,
    /// Placement of its native program at the end; `None` if it has none.
    placement: Option<Placement>,
}

/// Runs the workers with the indices `sessions`, each on its own thread.
///
/// # Errors
/// [`WorkerError`] with the failed worker and the cause.
pub(super) fn run_threads(
    resolved: &ResolvedTrial,
    assignment: &Assignment,
    sessions: Range<u32>,
    control: &WorkerControl,
    reporter: &Reporter,
) -> Result<(), WorkerError> {
    let kinds = resolved.job.kinds().len();
    if kinds > MAX_KINDS {
        return Err(WorkerError::TooManyKinds(kinds));
    }
    let database = super::open(resolved, assignment, sessions.end - sessions.start)?;
    let counters: Vec<WorkerCounters> = sessions
        .clone()
        .map(|_| WorkerCounters::default())
        .collect();
    let gate = Gate::default();
    let first_start = FirstStart::default();
    let (sender, messages) = channel();
    let run = std::thread::scope(|scope| {
        for (index, counters) in sessions.zip(&counters) {
            let context = WorkerContext {
                resolved,
                assignment,
                database: &*database,
                gate: &gate,
                first_start: &first_start,
                control,
            };
            let sender = sender.clone();
            scope.spawn(move || context.run_worker(index, counters, &sender));
        }
        let watch = ThreadMonitor {
            messages: &messages,
            counters: &counters,
            kinds,
            gate: &gate,
            first_start: &first_start,
            control,
            reporter,
            conditions: &assignment.spec.conditions,
            database: &*database,
        };
        let run = watch.monitor();
        if let Err(error) = &run {
            // Said at once: the others may take a while to return.
            let _ = reporter.send(&Report::Failed {
                message: error.to_string(),
            });
            control.stop();
            gate.open(false);
        }
        run
    });
    let result = collect_result(resolved, run?, control, &*database)?;
    reporter.send(&Report::Measured(Box::new(result)))?;
    let conditions = &assignment.spec.conditions;
    if conditions.crash_and_recover {
        wait_to_be_killed();
    }
    // To close a database may be work, and in time slices it is another contender's turn. A server
    // that the engine has started may end with this process, and its use is read first.
    let engine = &resolved.engine;
    let has_own_server = engine.has_server() && engine.service().is_none();
    if conditions.time_slice_s.is_some() || (has_own_server && conditions.hosts.is_none()) {
        control.leave.wait();
    }
    super::close(database)
}

/// Keeps the database open until the runner kills this process, or dies, which kills it too.
fn wait_to_be_killed() -> ! {
    loop {
        std::thread::park();
    }
}

/// Aggregates the workers of this process, whose database is still open.
fn collect_result(
    resolved: &ResolvedTrial,
    run: ProcessOutput,
    control: &WorkerControl,
    database: &dyn Database,
) -> Result<ProcessResult, WorkerError> {
    let ProcessOutput {
        mut outputs,
        usage,
        cache,
        tombstones_passed,
        stalls,
        remaining_latencies,
    } = run;
    outputs.sort_by_key(|output| output.result.index);
    let mut memory = process::read_memory(std::process::id()).unwrap_or_default();
    for output in &outputs {
        memory.pss_bytes += output.memory.pss_bytes;
        memory.rss_bytes += output.memory.rss_bytes;
        memory.max_rss_bytes += output.memory.max_rss_bytes;
    }
    let own = placement::read_placement(std::process::id());
    let placements = outputs
        .iter()
        .filter_map(|output| output.placement.as_ref());
    let placement = placement::merge(placements.chain([&own]));
    let latencies = outputs.iter().map(|output| output.latencies.as_slice());
    Ok(ProcessResult {
        stopped: control.stage.is_stopped(),
        histograms: merge(resolved.job.kinds().len(), latencies)?,
        remaining_latencies,
        open_loop: open_loop_result(resolved.job.unit_kinds().len(), &outputs)?,
        workers: outputs.into_iter().map(|output| output.result).collect(),
        usage,
        memory,
        placement,
        allocator: read_allocator(),
        engine: super::state(database)?,
        cache,
        tombstones_passed,
        stalls,
    })
}

/// The context that the workers of this process share.
struct WorkerContext<'a> {
    resolved: &'a ResolvedTrial,
    assignment: &'a Assignment,
    database: &'a dyn Database,
    gate: &'a Gate,
    first_start: &'a FirstStart,
    control: &'a WorkerControl,
}

impl WorkerContext<'_> {
    fn run_worker(&self, index: u32, counters: &WorkerCounters, messages: &Sender<WorkerMessage>) {
        let result = panics::caught(|| match &self.resolved.native {
            Some(program) => self.run_native(&**program, index, counters, messages),
            None => self.run_session(index, counters, messages),
        });
        let ended = result.unwrap_or_else(|panic| Err(WorkerError::Panic(panic)));
        // The runner names a worker that has its own process.
        let named = ended.map_err(|error| match self.assignment.spec.worker_kind {
            WorkerKind::Processes => error,
            WorkerKind::Threads => WorkerError::Numbered {
                index,
                source: Box::new(error),
            },
        });
        // The main thread listens until it has heard this of every worker, or of a failed one.
        let _ = messages.send(WorkerMessage::Ended(named.map(Box::new)));
    }

    fn run_session(
        &self,
        index: u32,
        counters: &WorkerCounters,
        messages: &Sender<WorkerMessage>,
    ) -> Result<WorkerOutput, WorkerError> {
        let opening = WorkerError::of_engine("opening a session");
        let conditions = &self.assignment.spec.conditions;
        if let Some((folder, buffer_bytes)) = self.trace_recording() {
            let session = self.database.session().map_err(&opening)?;
            let mut session =
                RecordingSession::new(session, &self.control.stopped_time, buffer_bytes)?;
            let output = self.work(&mut session, index, counters, messages)?;
            session.finish(&part_path(folder, index))?;
            return Ok(output);
        }
        if conditions.faults.is_empty() {
            let mut session = self.database.session().map_err(&opening)?;
            return self.work(&mut *session, index, counters, messages);
        }
        let expected_s = conditions
            .duration_s
            .map(|time_s| time_s + conditions.warm_up_s);
        let stage = &self.control.stage;
        let session = FailoverSession::open(self.database, stage, index, expected_s);
        let mut session = session.map_err(opening)?;
        let mut output = self.work(&mut session, index, counters, messages)?;
        output.result.commit_log = Some(session.finish().map_err(WorkerError::CommitLog)?);
        Ok(output)
    }

    /// The folder for parts of a trace and the size of each worker's buffer; `None` if none is
    /// recorded.
    fn trace_recording(&self) -> Option<(&Path, u64)> {
        let WorkerTask::Measure { trace_folder, .. } = &self.assignment.task else {
            return None;
        };
        let conditions = &self.assignment.spec.conditions;
        Some((trace_folder.as_deref()?, conditions.record_trace_bytes?))
    }

    /// Does the worker's share in a session.
    fn work(
        &self,
        session: &mut dyn Session,
        index: u32,
        counters: &WorkerCounters,
        messages: &Sender<WorkerMessage>,
    ) -> Result<WorkerOutput, WorkerError> {
        let kinds = self.resolved.job.kinds().len();
        let mut meter = self.meter(kinds, index, counters);
        let stopped_time = &self.control.stopped_time;
        let mut result = WorkerResult {
            index,
            ..WorkerResult::default()
        };
        let mut attachment = Vec::new();
        let mut responses = None;
        let mut task = self.task(session, &mut meter, &mut attachment, index);
        let made = self.resolved.job.initialize(&task);
        let made = made.and_then(|()| self.resolved.job.prime(&mut task));
        made?;
        flush_counters(session)?;
        let _ = messages.send(WorkerMessage::Ready(None));
        if self.gate.wait() {
            meter.begin();
            let mut task = self.task(session, &mut meter, &mut attachment, index);
            result.start_ns = stopped_time.running_ns()?;
            self.first_start.note(result.start_ns);
            let executed = self.resolved.job.execute(&mut task);
            result.end_ns = stopped_time.running_ns()?;
            result.stopped_ns = read_monotonic_ns()?.saturating_sub(result.end_ns);
            meter.leave_warm_up();
            // Nothing is due to a worker that has ended, however long what follows takes.
            responses = meter.finish_open_loop();
            if let Some(measured_ns) = meter.measured_ns() {
                result.start_ns = result.end_ns.saturating_sub(measured_ns);
            }
            result.findings = match executed {
                Ok(findings) => findings,
                Err(JobError::Stopped) => trueput_workloads::WorkerFindings::new(),
                Err(error) => return Err(error.into()),
            };
            flush_counters(session)?;
        }
        result.attachment = Attachment(attachment);
        result.counts = counters.counts(kinds);
        result.times_ns = counters.times_ns(kinds);
        result.not_found = meter.not_found_counts().to_vec();
        result.conflicts = counters.conflicts();
        result.deadlocks = counters.deadlocks();
        Ok(WorkerOutput {
            result,
            responses,
            latencies: meter.into_histograms(),
            memory: MemoryUsage::default(),
            placement: None,
        })
    }

    fn task<'t>(
        &'t self,
        session: &'t mut dyn Session,
        meter: &'t mut ClockMeter<'_>,
        attachment: &'t mut Vec<u8>,
        worker: u32,
    ) -> JobTask<'t> {
        let spec = &self.assignment.spec;
        JobTask {
            session,
            directory: &self.assignment.directory,
            meter,
            attachment,
            capabilities: self.resolved.engine.capabilities(),
            worker,
            workers: spec.workers,
            worker_kind: spec.worker_kind,
            verify: spec.verify,
            generation: self.assignment.generation,
            seed: spec.seed,
        }
    }

    /// Creates the meter of a worker. Workers that the job adds to the plan's keep no arrival
    /// schedule: the rate is that of the plan's workers.
    fn meter<'m>(
        &'m self,
        kinds: usize,
        worker: u32,
        counters: &'m WorkerCounters,
    ) -> ClockMeter<'m> {
        let spec = &self.assignment.spec;
        let mut meter = ClockMeter::new(kinds, counters, &self.control.stage);
        if let Some(ticks) = self.control.stopped_time.ticks() {
            meter = meter.with_stopped_time(ticks);
        }
        let units = self.resolved.job.unit_kinds().len();
        if let Some(due_ns) = self.resolved.job.due_times(worker, spec.workers) {
            return meter.with_recorded_arrivals(due_ns, units);
        }
        match spec.conditions.rate {
            Some(rate) if worker < spec.workers => {
                let pace = ArrivalSpec {
                    rate,
                    worker,
                    workers: spec.workers,
                    seed: arrival_seed(spec.seed, spec.repeat, rate),
                };
                meter.with_arrivals(pace, units)
            }
            _ => meter,
        }
    }

    /// Runs the worker's work in a native program, which times no operation, so there are no
    /// latencies.
    fn run_native(
        &self,
        program: &dyn NativeProgram,
        index: u32,
        counters: &WorkerCounters,
        messages: &Sender<WorkerMessage>,
    ) -> Result<WorkerOutput, WorkerError> {
        let kinds = self.resolved.job.kinds();
        let spec = super::open_spec(self.resolved, self.assignment, 0);
        let command = program.command(&spec, index, self.assignment.spec.workers);
        let command = command.map_err(WorkerError::of_engine("the native program"))?;
        let program = native::NativeProgram::start(command)?;
        placement::verify_child(program.pid(), &self.assignment.spec.conditions)
            .map_err(WorkerError::of_setup)?;
        let _ = messages.send(WorkerMessage::Ready(Some(program.pid())));
        let mut output = WorkerOutput {
            result: WorkerResult {
                index,
                ..WorkerResult::default()
            },
            latencies: Latencies::new(),
            responses: None,
            memory: MemoryUsage::default(),
            placement: None,
        };
        if self.gate.wait() {
            output.result.start_ns = read_monotonic_ns()?;
            self.first_start.note(output.result.start_ns);
            if let Some(ended) = program.run(kinds, counters, &self.control.stage)? {
                output.result.end_ns = ended.end_ns;
                output.result.findings = ended.findings;
                output.memory = ended.memory;
                output.placement = Some(ended.placement);
            } else {
                output.result.end_ns = read_monotonic_ns()?;
            }
        }
        output.result.counts = counters.counts(kinds.len());
        output.result.times_ns = counters.times_ns(kinds.len());
        Ok(output)
    }
}

fn flush_counters(session: &mut dyn Session) -> Result<(), WorkerError> {
    let flushed = session.flush_counters();
    flushed.map_err(WorkerError::of_engine(
        "asking the engine to record its counters",
    ))
}

/// Monitors the worker threads from the main thread.
struct ThreadMonitor<'a> {
    messages: &'a Receiver<WorkerMessage>,
    counters: &'a [WorkerCounters],
    kinds: usize,
    gate: &'a Gate,
    first_start: &'a FirstStart,
    control: &'a WorkerControl,
    reporter: &'a Reporter,
    conditions: &'a Conditions,
    database: &'a dyn Database,
}

/// When the measured part began.
#[derive(Debug, Clone, Copy)]
struct MeasuredSince {
    /// The moment: that of the release, or of the end of the warm-up.
    moment: Instant,
    /// The time for which the process had been stopped before.
    stopped: Duration,
    /// The release on the clock of the measured part; `None` after a warm-up, when all are at work.
    released_ns: Option<u64>,
    /// The tombstones that iterators had passed over by then.
    tombstones_passed: Option<u64>,
}

/// The output of the workers of a process, and the resources that it used.
struct ProcessOutput {
    outputs: Vec<WorkerOutput>,
    usage: ResourceUsage,
    cache: Option<CacheReport>,
    tombstones_passed: Option<u64>,
    stalls: Vec<ProcessStall>,
    remaining_latencies: Vec<String>,
}

impl ThreadMonitor<'_> {
    /// Waits for every session, for the runner's instruction, then for every worker, reporting each
    /// second.
    fn monitor(&self) -> Result<ProcessOutput, WorkerError> {
        let mut native_pids = Vec::new();
        for _ in self.counters {
            match self.messages.recv().map_err(|_| WorkerError::ThreadLost)? {
                WorkerMessage::Ready(native) => native_pids.extend(native),
                WorkerMessage::Ended(ended) => {
                    ended?;
                }
            }
        }
        self.reporter.send(&Report::Ready { native_pids })?;
        let released = self.control.release.wait();
        let mut outputs = Vec::with_capacity(self.counters.len());
        let warms_up = self.conditions.warm_up_s > 0.0;
        // Without a warm-up the counts begin before the first operation.
        let before = if warms_up {
            None
        } else {
            Some(self.begin_counts()?)
        };
        // What is stopped from now on does not count.
        let stopped_before = self.control.stopped_time.total();
        let began = Instant::now();
        let began_ns = self.control.stopped_time.running_ns()?;
        self.gate.open(released);
        let measured = began + Duration::from_secs_f64(self.conditions.warm_up_s);
        while self.receive_until(measured, &mut outputs)? {}
        let (count, before, tombstones_passed) = match before {
            Some(before) => before,
            None => self.begin_counts()?,
        };
        self.control.stage.measure();
        let mut latencies = IntervalLatencies::new(self.kinds, self.counters);
        let since = MeasuredSince {
            moment: measured,
            stopped: stopped_before,
            released_ns: (!warms_up).then_some(began_ns),
            tombstones_passed,
        };
        let stalls = self.follow(since, &mut outputs, &mut latencies)?;
        let usage = own_usage()? - before;
        let cache = count.map(cache_share).transpose()?;
        Ok(ProcessOutput {
            outputs,
            usage,
            cache,
            tombstones_passed: self.tombstones_since(since),
            stalls,
            remaining_latencies: latencies.end_interval().map_err(HistogramError::from)?,
        })
    }

    /// Begins what is counted in the measured part: the cache, this process's resources, and the
    /// tombstones, which have a number already.
    fn begin_counts(
        &self,
    ) -> Result<(Option<CacheCount<'_>>, ResourceUsage, Option<u64>), WorkerError> {
        let tombstones_passed = self.database.tombstones_passed();
        Ok((self.count_cache()?, own_usage()?, tombstones_passed))
    }

    /// Returns the tombstones that iterators have passed over in the measured part.
    fn tombstones_since(&self, since: MeasuredSince) -> Option<u64> {
        let passed = self.database.tombstones_passed()?;
        Some(passed.saturating_sub(since.tombstones_passed?))
    }

    fn count_cache(&self) -> Result<Option<CacheCount<'_>>, WorkerError> {
        let count = self.database.count_cache();
        count.map_err(WorkerError::of_engine(READING_CACHE))
    }

    /// Returns how long after their release the first worker began: at least until now if none has.
    fn lateness(&self, since: MeasuredSince) -> Result<Duration, WorkerError> {
        let Some(released_ns) = since.released_ns else {
            return Ok(Duration::ZERO);
        };
        let now_ns = self.control.stopped_time.running_ns()?;
        Ok(self.first_start.lateness(released_ns, now_ns))
    }

    /// Follows the measured part to its end, and returns the intervals in which this process did
    /// not run.
    fn follow(
        &self,
        since: MeasuredSince,
        outputs: &mut Vec<WorkerOutput>,
        latencies: &mut IntervalLatencies<'_>,
    ) -> Result<Vec<ProcessStall>, WorkerError> {
        let (mut waking, mut stalls) = (LateWakeup::begin(), Vec::new());
        let duration = self.conditions.duration_s.map(Duration::from_secs_f64);
        // While the process is stopped the trial's clock stands still.
        let stopped = || self.control.stopped_time.total() - since.stopped;
        let (mut seconds, mut awake) = (1, Instant::now());
        while outputs.len() < self.counters.len() {
            let measured = since.moment + self.lateness(since)?;
            let after = |time: Duration| measured + time + stopped();
            let second_ends = Duration::from_secs(seconds);
            // Before the others: a stop between them must not end the trial early.
            let now = Instant::now();
            let (second, end) = (after(second_ends), duration.map(after));
            let due_end = end.filter(|&end| end <= now);
            if due_end.is_some() {
                self.control.stage.end();
            }
            let next = match end {
                Some(end) if due_end.is_none() => second.min(end),
                _ => second,
            };
            // Since it was last awake: it may have been stopped between two waits.
            let due = next.max(awake);
            let has_message = self.receive_until(next, outputs)?;
            stalls.extend(waking.judge(due));
            awake = Instant::now();
            if !has_message && awake >= after(second_ends) {
                let mut done = operation_counts(self.counters, self.kinds);
                done.tombstones_passed = self.tombstones_since(since);
                let latencies = latencies.end_interval().map_err(HistogramError::from)?;
                self.reporter
                    .send(&Report::Second(SecondReport { done, latencies }))?;
                seconds += 1;
            }
        }
        Ok(stalls)
    }

    /// Waits for a message of a worker; `false` if the moment comes first, or all have ended.
    fn receive_until(
        &self,
        moment: Instant,
        outputs: &mut Vec<WorkerOutput>,
    ) -> Result<bool, WorkerError> {
        if outputs.len() == self.counters.len() {
            return Ok(false);
        }
        let limit = moment.saturating_duration_since(Instant::now());
        match self.messages.recv_timeout(limit) {
            Ok(WorkerMessage::Ended(ended)) => outputs.push(*ended?),
            Ok(WorkerMessage::Ready(_)) => {}
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => return Err(WorkerError::ThreadLost),
        }
        Ok(true)
    }
}

fn own_usage() -> Result<ResourceUsage, WorkerError> {
    Ok(read_own_usage()?)
}

fn cache_share(count: CacheCount<'_>) -> Result<CacheReport, WorkerError> {
    let is_shared = count.scope() == CacheScope::Database;
    let used = count.end().map_err(WorkerError::of_engine(READING_CACHE))?;
    Ok(CacheReport { used, is_shared })
}

fn operation_counts(counters: &[WorkerCounters], kinds: usize) -> OperationCounts {
    let mut operation_counts = OperationCounts {
        counts: vec![0; kinds],
        times_ns: vec![0; kinds],
        units: 0,
        tombstones_passed: None,
    };
    let add = |sums: &mut [u64], more: Vec<u64>| {
        sums.iter_mut().zip(more).for_each(|(sum, one)| *sum += one);
    };
    for counters in counters {
        operation_counts.units += counters.units();
        add(&mut operation_counts.counts, counters.counts(kinds));
        add(&mut operation_counts.times_ns, counters.times_ns(kinds));
    }
    operation_counts
}

fn merge<'a>(
    kinds: usize,
    parts: impl Iterator<Item = &'a [Histogram<u64>]>,
) -> Result<Vec<String>, HistogramError> {
    let mut merged: Vec<_> = (0..kinds).map(|_| histogram::new()).collect();
    for part in parts {
        for (sum, latency) in merged.iter_mut().zip(part) {
            sum.add(latency)?;
        }
    }
    let encoded = merged.iter().map(histogram::encode);
    Ok(encoded.collect::<Result<_, _>>()?)
}

/// Aggregates the open loops of these workers; `None` for closed loops.
fn open_loop_result(
    units: usize,
    outputs: &[WorkerOutput],
) -> Result<Option<OpenLoopResult>, HistogramError> {
    let all = || {
        outputs
            .iter()
            .filter_map(|output| output.responses.as_ref())
    };
    if all().next().is_none() {
        return Ok(None);
    }
    Ok(Some(OpenLoopResult {
        histograms: merge(units, all().map(|one| one.histograms.as_slice()))?,
        issued: all().map(|one| one.issued).sum(),
        backlog: all().map(|one| one.backlog).sum(),
        oldest_wait_ns: all()
            .map(|one| one.oldest_wait_ns)
            .max()
            .unwrap_or_default(),
        late: all().map(|one| one.late).sum(),
    }))
}
