//! Counts and times operations in the measured loop.
//!
//! One operation costs one read of the time-stamp counter, one multiplication, and three memory
//! writes to lines that only its worker writes. Another thread reads the counts once a second.

use crate::workers::arrival_schedule::{ArrivalSchedule, RecordedSchedule};
use crate::workers::clock::read_monotonic_ns;
use crate::workers::latency_counts::{LatencyCounts, add};
use crate::workers::stopped_time::read_running;
use hdrhistogram::Histogram;
use nix::sys::prctl::set_timerslack;
use rustix::thread::futex;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::time::Duration;
use trueput_record::conditions::Rate;
use trueput_record::histogram;
use trueput_workloads::{DueTimes, Meter};

/// A worker sleeps until this long before a unit is due and spins for the rest, because a thread
/// wakes some 25 microseconds late, on virtual machines up to 50.
const SPIN_NS: u64 = 60_000;

/// A free worker that starts a unit later than this after it was due was late itself.
const LATE_NS: u64 = 1_000_000;

/// The stage of a process's workers. Its main thread sets it; they read it once per operation, and
/// those that wait for a due time are woken. A rate is divided by the time until the last worker
/// ends, so one that slept on would make the rates of the others too low.
#[derive(Debug)]
pub struct Stage(AtomicU32);

impl Stage {
    const WARMING: u32 = 0;
    const MEASURED: u32 = 1;
    const OVER: u32 = 2;
    const STOPPED: u32 = 3;

    /// Creates the stage in which operations do not count yet.
    #[must_use]
    pub const fn warming() -> Self {
        Self(AtomicU32::new(Self::WARMING))
    }

    /// Creates the stage in which operations count.
    #[must_use]
    pub const fn measured() -> Self {
        Self(AtomicU32::new(Self::MEASURED))
    }

    /// Starts the measured stage.
    pub fn measure(&self) {
        self.raise(Self::MEASURED);
    }

    /// Ends the measured stage.
    pub fn end(&self) {
        self.raise(Self::OVER);
    }

    /// Stops the workers at the user's request.
    pub fn stop(&self) {
        self.raise(Self::STOPPED);
    }

    /// Returns whether the user has stopped the run.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.get() == Self::STOPPED
    }

    fn get(&self) -> u32 {
        self.0.load(Relaxed)
    }

    fn raise(&self, stage: u32) {
        const ALL_WAITERS: u32 = i32::MAX as u32;
        self.0.fetch_max(stage, Relaxed);
        // It fails only for an address that is none.
        let _ = futex::wake(&self.0, futex::Flags::PRIVATE, ALL_WAITERS);
    }

    /// Sleeps for so long, or less: until the stage is no longer `seen`, or a signal comes.
    fn sleep(&self, seen: u32, duration: Duration) {
        // Without a timeout where it is beyond the clock's range.
        let timeout = futex::Timespec::try_from(duration).ok();
        let _ = futex::wait(&self.0, futex::Flags::PRIVATE, seen, timeout.as_ref());
    }
}

/// The maximum number of kinds of operation: a worker's counts and times then fill four cache
/// lines.
pub const MAX_KINDS: usize = 14;

/// One worker's counters. Aligned to two cache lines, which processors fetch as a pair, so that no
/// two workers write to the same one.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct WorkerCounters {
    counts: [AtomicU64; MAX_KINDS],
    times_ns: [AtomicU64; MAX_KINDS],
    units: AtomicU64,
    conflicts: AtomicU64,
    deadlocks: AtomicU64,
    /// The latencies by kind; unset in a worker that times nothing.
    latencies: OnceLock<Box<[LatencyCounts]>>,
    /// Whether the latencies are those of the warm-up.
    is_warming: AtomicBool,
}

impl WorkerCounters {
    /// Returns the latencies by kind so far; none during the warm-up.
    pub(crate) fn latencies(&self) -> &[LatencyCounts] {
        match self.latencies.get() {
            Some(latencies) if !self.is_warming.load(Acquire) => latencies,
            _ => &[],
        }
    }

    /// Returns the operations of the first `kinds` kinds so far.
    pub fn counts(&self, kinds: usize) -> Vec<u64> {
        self.counts
            .iter()
            .take(kinds)
            .map(|count| count.load(Relaxed))
            .collect()
    }

    /// Returns the total time by kind, nanoseconds; operations that were rolled back included.
    pub fn times_ns(&self, kinds: usize) -> Vec<u64> {
        self.times_ns
            .iter()
            .take(kinds)
            .map(|time| time.load(Relaxed))
            .collect()
    }

    /// Returns the units of work so far.
    pub fn units(&self) -> u64 {
        self.units.load(Relaxed)
    }

    /// Sets the counts that another program reports.
    pub fn set(&self, counts: &[u64], units: u64) {
        for (count, counted) in self.counts.iter().zip(counts) {
            count.store(*counted, Relaxed);
        }
        self.units.store(units, Relaxed);
    }

    /// Resets all counters.
    fn clear(&self) {
        let all = self.counts.iter().chain(&self.times_ns);
        let all = all.chain([&self.units, &self.conflicts, &self.deadlocks]);
        all.for_each(|count| count.store(0, Relaxed));
        let latencies = self.latencies.get().into_iter().flatten();
        latencies.for_each(LatencyCounts::clear);
        self.is_warming.store(false, Release);
    }

    /// Returns the conflicts so far, deadlocks included.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Relaxed)
    }

    /// Returns the deadlocks so far.
    pub fn deadlocks(&self) -> u64 {
        self.deadlocks.load(Relaxed)
    }
}

/// The parameters of a worker's arrival schedule.
#[derive(Debug, Clone, Copy)]
pub struct ArrivalSpec {
    /// The rate of all workers together.
    pub rate: Rate,
    /// This worker's index, from 0.
    pub worker: u32,
    /// The number of workers that share the rate.
    pub workers: u32,
    /// The seed of the arrivals.
    pub seed: u64,
}

/// The schedule of an open loop.
enum Schedule<'a> {
    /// At a rate; it begins anew after the warm-up.
    Rate(ArrivalSpec, ArrivalSchedule),
    /// At the workload's own times, which the warm-up takes a part of.
    Recorded(RecordedSchedule<'a>),
}

impl Schedule<'_> {
    fn at_rate(pace: ArrivalSpec) -> Self {
        let schedule = ArrivalSchedule::new(pace.rate, pace.worker, pace.workers, pace.seed);
        Self::Rate(pace, schedule)
    }

    fn next_ns(&self) -> u64 {
        match self {
            Self::Rate(_, schedule) => schedule.next_ns(),
            Self::Recorded(schedule) => schedule.next_ns(),
        }
    }

    fn advance(&mut self) {
        match self {
            Self::Rate(_, schedule) => schedule.advance(),
            Self::Recorded(schedule) => schedule.advance(),
        }
    }

    fn backlog(self, end_ns: u64) -> Vec<(u64, u64)> {
        match self {
            Self::Rate(_, schedule) => schedule.backlog(end_ns),
            Self::Recorded(schedule) => schedule.backlog(end_ns),
        }
    }
}

/// The open loop of one worker.
struct OpenLoop<'a> {
    schedule: Schedule<'a>,
    /// The clock when the schedule began.
    began: u64,
    /// When the current unit was due, nanoseconds since then.
    due_ns: u64,
    issued: u64,
    /// Units that began more than [`LATE_NS`] after they were due because the worker, though free,
    /// did not run.
    late: u64,
    /// Whether the worker has not caught up since it was late itself.
    is_behind: bool,
    responses: Vec<Histogram<u64>>,
}

impl<'a> OpenLoop<'a> {
    fn new(schedule: Schedule<'a>, units: usize) -> Self {
        Self {
            schedule,
            began: 0,
            due_ns: 0,
            issued: 0,
            late: 0,
            is_behind: false,
            responses: empty_histograms(units),
        }
    }

    /// Begins: the worker has been released.
    fn begin(&mut self, now: u64) {
        self.began = now;
        self.forget();
    }

    /// Begins anew after the warm-up.
    fn restart(&mut self, now: u64) {
        if let Schedule::Rate(pace, _) = self.schedule {
            self.schedule = Schedule::at_rate(pace);
            self.began = now;
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.due_ns = 0;
        self.issued = 0;
        (self.late, self.is_behind) = (0, false);
        self.responses.iter_mut().for_each(Histogram::clear);
    }
}

/// The response times and the backlog of an open loop.
#[derive(Debug)]
pub struct ResponseTimes {
    /// Response times from due time to end, by kind of unit, nanoseconds. The first kind includes
    /// the units of the backlog with their waiting time at the end, a lower bound.
    pub histograms: Vec<Histogram<u64>>,
    /// Units started.
    pub issued: u64,
    /// Units that were due and not started when the time was up.
    pub backlog: u64,
    /// The longest wait among them, nanoseconds.
    pub oldest_wait_ns: u64,
    /// Units started more than 1 ms after they were due because the worker, though free, did not
    /// run; those after them included until it had caught up.
    pub late: u64,
}

/// The meter of one worker.
pub struct ClockMeter<'a> {
    clock: quanta::Clock,
    last: u64,
    warming: bool,
    /// The clock when the measured part began, if that was after the release.
    measured_from: Option<u64>,
    /// The latencies by kind, which are those of `counters`.
    latencies: &'a [LatencyCounts],
    /// By kind, operations that looked for a record that was not there.
    not_found: Vec<u64>,
    open: Option<OpenLoop<'a>>,
    counters: &'a WorkerCounters,
    stage: &'a Stage,
    /// Clock ticks in which the worker was stopped, which do not count.
    stopped_ticks: &'a AtomicU64,
}

/// The stopped time of workers that are never stopped, ticks.
static NEVER_STOPPED: AtomicU64 = AtomicU64::new(0);

/// Creates histograms and writes to every page of them, so that no page fault occurs while the
/// trial runs.
fn empty_histograms(kinds: usize) -> Vec<Histogram<u64>> {
    let mut histograms: Vec<_> = (0..kinds).map(|_| histogram::new()).collect();
    histograms.iter_mut().for_each(Histogram::clear);
    histograms
}

impl<'a> ClockMeter<'a> {
    /// Creates a meter for `kinds` kinds of operation. The first one of a process calibrates the
    /// clock, which takes up to a fifth of a second.
    pub fn new(kinds: usize, counters: &'a WorkerCounters, stage: &'a Stage) -> Self {
        let clock = quanta::Clock::new();
        let latencies = counters.latencies.get_or_init(|| LatencyCounts::of(kinds));
        let warming = stage.get() == Stage::WARMING;
        counters.is_warming.store(warming, Release);
        let last = clock.raw();
        Self {
            clock,
            last,
            warming,
            measured_from: None,
            latencies,
            not_found: vec![0; kinds],
            open: None,
            counters,
            stage,
            stopped_ticks: &NEVER_STOPPED,
        }
    }

    /// Leaves out the time for which all threads of the process are stopped, in ticks: it grows
    /// before they go on.
    #[must_use]
    pub fn with_stopped_time(mut self, ticks: &'a AtomicU64) -> Self {
        self.stopped_ticks = ticks;
        self.last = self.now();
        self
    }

    /// Returns the worker's clock, which stands still while it is stopped.
    #[inline]
    fn now(&self) -> u64 {
        read_running(self.stopped_ticks, || self.clock.raw())
    }

    /// Keeps an arrival schedule from [`ClockMeter::begin`] on; `units` is the number of kinds of
    /// unit.
    #[must_use]
    pub fn with_arrivals(mut self, pace: ArrivalSpec, units: usize) -> Self {
        self.open = Some(OpenLoop::new(Schedule::at_rate(pace), units));
        self
    }

    /// Keeps the times that the workload itself states, from [`ClockMeter::begin`] on.
    #[must_use]
    pub fn with_recorded_arrivals(mut self, due_ns: DueTimes<'a>, units: usize) -> Self {
        let schedule = Schedule::Recorded(RecordedSchedule::new(due_ns));
        self.open = Some(OpenLoop::new(schedule, units));
        self
    }

    /// Starts the schedule: the worker has been released.
    pub fn begin(&mut self) {
        self.last = self.now();
        if let Some(open) = &mut self.open {
            open.begin(self.last);
        }
    }

    /// Returns how long ago the measured part began, nanoseconds; `None` if it began at the
    /// release.
    pub fn measured_ns(&self) -> Option<u64> {
        let from = self.measured_from?;
        Some(self.clock.delta_as_nanos(from, self.now()))
    }

    /// Ends the open loop now, and returns its response times; `None` for a closed loop.
    pub fn finish_open_loop(&mut self) -> Option<ResponseTimes> {
        let open = self.open.take()?;
        let end_ns = self.clock.delta_as_nanos(open.began, self.now());
        let mut histograms = open.responses;
        // Work that ended by its count, before any time was up, leaves nobody waiting.
        let waiting = if self.stage.get() >= Stage::OVER {
            open.schedule.backlog(end_ns)
        } else {
            Vec::new()
        };
        if let Some(first) = histograms.first_mut() {
            for (wait_ns, count) in &waiting {
                first.saturating_record_n(*wait_ns, *count);
            }
        }
        Some(ResponseTimes {
            histograms,
            issued: open.issued,
            late: open.late,
            backlog: waiting.iter().map(|(_, count)| count).sum(),
            oldest_wait_ns: waiting.first().map_or(0, |(wait_ns, _)| *wait_ns),
        })
    }

    /// Returns, by kind, the operations that looked for a record that was not there.
    pub fn not_found_counts(&self) -> &[u64] {
        &self.not_found
    }

    /// Returns the latencies by kind, nanoseconds.
    pub fn into_histograms(self) -> Vec<Histogram<u64>> {
        let kinds = self.latencies.iter();
        kinds.map(LatencyCounts::to_histogram).collect()
    }

    /// Discards the counts of the warm-up once that is over. A worker's end calls it too: one that
    /// has finished nothing since must not count the warm-up.
    #[inline]
    pub fn leave_warm_up(&mut self) {
        if self.warming && self.stage.get() != Stage::WARMING {
            self.forget_warm_up();
        }
    }

    /// Resets all counts and restarts the schedule at the end of the warm-up.
    #[cold]
    fn forget_warm_up(&mut self) {
        self.warming = false;
        self.not_found.fill(0);
        self.counters.clear();
        self.last = self.now();
        self.measured_from = Some(self.last);
        if let Some(open) = &mut self.open {
            open.restart(self.last);
        }
    }

    /// Waits until the next unit is due; `false` if the end comes first.
    fn await_arrival(&mut self) -> bool {
        let mut was_free = false;
        loop {
            // Before all else: whatever ends after it is seen ends the sleep, too.
            let seen = self.stage.get();
            if seen >= Stage::OVER {
                return false;
            }
            // The warm-up may end meanwhile, and the schedule then starts anew.
            self.leave_warm_up();
            let Some(open) = &mut self.open else {
                return true;
            };
            let due_ns = open.schedule.next_ns();
            let now = read_running(self.stopped_ticks, || self.clock.raw());
            let passed_ns = self.clock.delta_as_nanos(open.began, now);
            if passed_ns >= due_ns {
                self.last = now;
                open.due_ns = due_ns;
                open.issued += 1;
                let is_late = passed_ns - due_ns > LATE_NS;
                open.is_behind = is_late && (was_free || open.is_behind);
                open.late += u64::from(open.is_behind);
                open.schedule.advance();
                return true;
            }
            was_free = true;
            let left_ns = due_ns - passed_ns;
            if left_ns > SPIN_NS {
                sleep_exactly(self.stage, seen, Duration::from_nanos(left_ns - SPIN_NS));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// [`Stage::sleep`] without the slack by which the kernel may delay a thread's timers, 50
/// microseconds by default. Threads that the engine starts inherit the slack, so it changes for the
/// sleep only.
fn sleep_exactly(stage: &Stage, seen: u32, duration: Duration) {
    const DEFAULT: u64 = 0;
    // Where it cannot be set, the worker wakes late, as it would have.
    let _ = set_timerslack(1);
    stage.sleep(seen, duration);
    let _ = set_timerslack(DEFAULT);
}

impl Meter for ClockMeter<'_> {
    fn next_unit(&mut self) -> bool {
        self.await_arrival()
    }

    fn is_over(&self) -> bool {
        self.stage.get() >= Stage::OVER
    }

    fn start(&mut self) {
        self.last = self.now();
    }

    fn finish(&mut self, kind: usize) {
        let now = self.now();
        let latency_ns = self.clock.delta_as_nanos(self.last, now);
        self.last = now;
        self.latencies[kind].record(latency_ns);
        add(&self.counters.counts[kind], 1);
        add(&self.counters.times_ns[kind], latency_ns);
        self.leave_warm_up();
    }

    fn not_found(&mut self, kind: usize) {
        self.not_found[kind] += 1;
    }

    fn timestamp(&mut self) -> u64 {
        self.now()
    }

    fn elapsed_ns(&mut self, mark: u64) -> u64 {
        self.clock.delta_as_nanos(mark, self.now())
    }

    fn monotonic_ns(&mut self) -> u64 {
        // Linux has this clock always.
        read_monotonic_ns().unwrap_or(0)
    }

    fn finish_nested(&mut self, kind: usize, mark: u64) {
        let latency_ns = self.elapsed_ns(mark);
        self.latencies[kind].record(latency_ns);
        add(&self.counters.counts[kind], 1);
        add(&self.counters.times_ns[kind], latency_ns);
    }

    fn wait_since(&mut self, mark: u64, time_ns: u64) -> bool {
        loop {
            let seen = self.stage.get();
            if seen >= Stage::OVER {
                return false;
            }
            self.leave_warm_up();
            let passed_ns = self.elapsed_ns(mark);
            let Some(left_ns) = time_ns.checked_sub(passed_ns).filter(|left| *left > 0) else {
                return true;
            };
            self.stage.sleep(seen, Duration::from_nanos(left_ns));
        }
    }

    fn date_us(&mut self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| since.as_micros() as i64)
    }

    fn finish_unit(&mut self, unit: usize) {
        if let Some(open) = &mut self.open
            && open.issued > 0
        {
            let end_ns = self.clock.delta_as_nanos(open.began, self.last);
            let response_ns = end_ns.saturating_sub(open.due_ns);
            open.responses[unit].saturating_record(response_ns);
        }
    }

    fn is_warming_up(&self) -> bool {
        self.warming
    }

    fn advance(&mut self, units: u64) {
        add(&self.counters.units, units);
    }

    fn conflict(&mut self, error: &trueput_engine::Error) {
        add(&self.counters.conflicts, 1);
        add(&self.counters.deadlocks, u64::from(error.is_deadlock()));
    }

    fn uncount(&mut self, kind: usize, count: u64) {
        let counted = &self.counters.counts[kind];
        counted.store(counted.load(Relaxed).saturating_sub(count), Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stage.is_stopped()
    }
}

#[cfg(test)]
mod tests;
