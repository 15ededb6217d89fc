//! Counts and times operations in the measured loop.
//!
//! One operation costs one read of the time-stamp counter, one multiplication, and three memory
//! writes to lines that only its worker writes. Another thread reads the counts once a second.

use crate::arrival_schedule::ArrivalSchedule;
use hdrhistogram::Histogram;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use trueput_record::conditions::Rate;
use trueput_record::histogram;
use trueput_workloads::Meter;

/// A unit that is due later than this is slept for; what is left of it is spun for, since the
/// kernel wakes a thread some 50 microseconds late.
const SPIN_NS: u64 = 60_000;

/// A sleep lasts no longer than this, so that a worker hears of the end.
const LONGEST_SLEEP_NS: u64 = 50_000_000;

/// A user who keys in or thinks sleeps no longer than this at once: there may be a thousand.
const LONGEST_THINK_NS: u64 = 250_000_000;

/// What a process's workers are at. Its main thread says so; they read it once per operation.
#[derive(Debug)]
pub struct Stage {
    /// The stage; with [`Stage::PAUSED`] added while the workers are to rest, so that one read
    /// tells whether there is nothing to heed.
    at: AtomicU8,
    /// How many rests have begun; held while one begins or ends.
    pauses: Mutex<u64>,
    pause_ended: Condvar,
}

impl Stage {
    const WARMING: u8 = 0;
    const MEASURED: u8 = 1;
    const OVER: u8 = 2;
    const STOPPED: u8 = 3;
    const PAUSED: u8 = 0x80;

    const fn new(at: u8) -> Self {
        Self {
            at: AtomicU8::new(at),
            pauses: Mutex::new(0),
            pause_ended: Condvar::new(),
        }
    }

    /// What is done does not count yet.
    #[must_use]
    pub const fn warming() -> Self {
        Self::new(Self::WARMING)
    }

    /// What is done counts.
    #[must_use]
    pub const fn measured() -> Self {
        Self::new(Self::MEASURED)
    }

    /// From now on, what is done counts.
    pub fn measure(&self) {
        self.raise(Self::MEASURED);
    }

    /// The time is up.
    pub fn end(&self) {
        self.raise(Self::OVER);
    }

    /// The user stops the run.
    pub fn stop(&self) {
        self.raise(Self::STOPPED);
    }

    /// Whether the user has stopped the run.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.get() == Self::STOPPED
    }

    /// The workers are to rest at the next place where they may, until [`Stage::end_pause`].
    pub fn begin_pause(&self) {
        *self.pauses() += 1;
        self.at.fetch_or(Self::PAUSED, Relaxed);
        // One that has not woken from the last rest yet is to take note of this one.
        self.pause_ended.notify_all();
    }

    /// The workers go on.
    pub fn end_pause(&self) {
        let _held = self.pauses();
        self.at.fetch_and(!Self::PAUSED, Relaxed);
        self.pause_ended.notify_all();
    }

    fn is_paused(&self) -> bool {
        self.at.load(Relaxed) & Self::PAUSED != 0
    }

    fn pauses(&self) -> MutexGuard<'_, u64> {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which rest it is that a worker is to begin; `None` where it is to go on.
    fn pending_pause(&self) -> Option<u64> {
        let pauses = self.pauses();
        (self.is_paused() && !self.is_stopped()).then_some(*pauses)
    }

    /// Waits until that rest ends, or the user stops the run.
    fn wait_out_pause(&self, which: u64) {
        let mut held = self.pauses();
        while *held == which && self.is_paused() && !self.is_stopped() {
            let waited = self.pause_ended.wait(held);
            held = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for so long, or until something is asked of the workers.
    fn sleep(&self, time: Duration) {
        let pauses = self.pauses();
        if self.is_running() {
            let _ = self.pause_ended.wait_timeout(pauses, time);
        }
    }

    /// Whether the time is not up and nobody is to rest.
    fn is_running(&self) -> bool {
        self.at.load(Relaxed) < Self::OVER
    }

    fn get(&self) -> u8 {
        self.at.load(Relaxed) & !Self::PAUSED
    }

    fn raise(&self, stage: u8) {
        let raised = |at: u8| Some(at & Self::PAUSED | stage.max(at & !Self::PAUSED));
        let _held = self.pauses();
        let _ = self.at.fetch_update(Relaxed, Relaxed, raised);
        // Those who rest are not to miss that the user stops the run.
        self.pause_ended.notify_all();
    }
}

/// The most kinds of operation that a workload may have: a lane fills two cache lines then.
pub const MAX_KINDS: usize = 14;

/// One worker's counts. Aligned to two cache lines, which processors fetch as a pair, so that no
/// two workers write to one.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct WorkerCounters {
    counts: [AtomicU64; MAX_KINDS],
    times_ns: [AtomicU64; MAX_KINDS],
    units: AtomicU64,
    conflicts: AtomicU64,
    deadlocks: AtomicU64,
}

impl WorkerCounters {
    /// Operations of the first `kinds` kinds so far.
    pub fn counts(&self, kinds: usize) -> Vec<u64> {
        self.counts
            .iter()
            .take(kinds)
            .map(|count| count.load(Relaxed))
            .collect()
    }

    /// How long those took together, by kind, nanoseconds; of operations that were taken back too.
    pub fn times_ns(&self, kinds: usize) -> Vec<u64> {
        self.times_ns
            .iter()
            .take(kinds)
            .map(|time| time.load(Relaxed))
            .collect()
    }

    /// Units of work so far.
    pub fn units(&self) -> u64 {
        self.units.load(Relaxed)
    }

    /// Takes over what another program has counted so far.
    pub fn set(&self, counts: &[u64], units: u64) {
        for (count, counted) in self.counts.iter().zip(counts) {
            count.store(*counted, Relaxed);
        }
        self.units.store(units, Relaxed);
    }

    /// Nothing has been done yet.
    fn clear(&self) {
        let all = self.counts.iter().chain(&self.times_ns);
        let all = all.chain([&self.units, &self.conflicts, &self.deadlocks]);
        all.for_each(|count| count.store(0, Relaxed));
    }

    /// Conflicts so far, deadlocks among them.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Relaxed)
    }

    /// Deadlocks among the conflicts so far.
    pub fn deadlocks(&self) -> u64 {
        self.deadlocks.load(Relaxed)
    }
}

/// Adds to a count that no other thread writes: a plain load and store, no locked instruction.
fn add(count: &AtomicU64, amount: u64) {
    count.store(count.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// What a worker's pace is made of.
#[derive(Debug, Clone, Copy)]
pub struct ArrivalSpec {
    /// That of all workers together.
    pub rate: Rate,
    /// This worker, from 0.
    pub worker: u32,
    /// How many keep the rate together.
    pub workers: u32,
    /// Seed of the arrivals.
    pub seed: u64,
}

/// An open loop of one worker.
struct OpenLoop {
    pace: ArrivalSpec,
    schedule: ArrivalSchedule,
    /// The clock when the pace began.
    began: u64,
    /// When the current unit was due, nanoseconds since then.
    due_ns: u64,
    issued: u64,
    responses: Vec<Histogram<u64>>,
}

impl OpenLoop {
    fn new(pace: ArrivalSpec, units: usize) -> Self {
        Self {
            schedule: ArrivalSchedule::new(pace.rate, pace.worker, pace.workers, pace.seed),
            pace,
            began: 0,
            due_ns: 0,
            issued: 0,
            responses: empty_histograms(units),
        }
    }

    fn restart(&mut self, now: u64) {
        let ArrivalSpec {
            rate,
            worker,
            workers,
            seed,
        } = self.pace;
        self.schedule = ArrivalSchedule::new(rate, worker, workers, seed);
        self.began = now;
        self.due_ns = 0;
        self.issued = 0;
        self.responses.iter_mut().for_each(Histogram::clear);
    }
}

/// What an open loop came to.
#[derive(Debug)]
pub struct ResponseTimes {
    /// From when a unit was due to its end, by kind of unit, nanoseconds. The first has the units
    /// of the backlog with the time that they had waited at the end: it was at least so long.
    pub histograms: Vec<Histogram<u64>>,
    /// Units begun.
    pub issued: u64,
    /// Units that were due and not begun when the time was up.
    pub backlog: u64,
    /// How long the oldest of them had waited, nanoseconds.
    pub oldest_wait_ns: u64,
}

/// The meter of one worker.
pub struct ClockMeter<'a> {
    clock: quanta::Clock,
    last: u64,
    warming: bool,
    /// The clock when the measured part began, where that was not at the release.
    measured_from: Option<u64>,
    histograms: Vec<Histogram<u64>>,
    open: Option<OpenLoop>,
    counters: &'a WorkerCounters,
    stage: &'a Stage,
    /// Ticks of the clock for which the worker has rested: they are taken out of its time.
    paused_ticks: u64,
    /// Who is told that the worker rests.
    on_pause: Option<Box<dyn FnMut() + 'a>>,
}

/// Histograms of which every page has been written to, so that none is faulted in while the trial
/// runs.
fn empty_histograms(kinds: usize) -> Vec<Histogram<u64>> {
    let mut histograms: Vec<_> = (0..kinds).map(|_| histogram::new()).collect();
    histograms.iter_mut().for_each(Histogram::clear);
    histograms
}

impl<'a> ClockMeter<'a> {
    /// A meter for `kinds` kinds of operation. Making the first one of a process calibrates the
    /// clock, which takes up to a fifth of a second.
    pub fn new(kinds: usize, counters: &'a WorkerCounters, stage: &'a Stage) -> Self {
        let clock = quanta::Clock::new();
        let histograms = empty_histograms(kinds);
        let last = clock.raw();
        Self {
            clock,
            last,
            warming: stage.get() == Stage::WARMING,
            measured_from: None,
            histograms,
            open: None,
            counters,
            stage,
            paused_ticks: 0,
            on_pause: None,
        }
    }

    /// Has somebody told whenever the worker begins to rest.
    #[must_use]
    pub fn with_pause_callback(mut self, tell: impl FnMut() + 'a) -> Self {
        self.on_pause = Some(Box::new(tell));
        self
    }

    /// This worker's clock, which stands still while it rests.
    #[inline]
    fn now(&self) -> u64 {
        self.clock.raw().wrapping_sub(self.paused_ticks)
    }

    /// How long the worker has rested, nanoseconds.
    pub fn paused_ns(&self) -> u64 {
        self.clock.delta_as_nanos(0, self.paused_ticks)
    }

    /// Sleeps; where the worker takes turns it is woken when it is to rest.
    fn sleep(&self, time: Duration) {
        match self.on_pause {
            Some(_) => self.stage.sleep(time),
            None => std::thread::sleep(time),
        }
    }

    /// Rests, where the worker is to.
    #[cold]
    fn pause_if_requested(&mut self) {
        if !self.stage.is_paused() {
            return;
        }
        let began = self.clock.raw();
        // A next rest may begin before this thread has woken from one: it is told of too.
        while let Some(which) = self.stage.pending_pause() {
            if let Some(tell) = &mut self.on_pause {
                tell();
            }
            self.stage.wait_out_pause(which);
        }
        self.paused_ticks += self.clock.raw().saturating_sub(began);
    }

    /// Keeps a pace from [`ClockMeter::begin`] on; `units` is how many kinds of unit there are.
    #[must_use]
    pub fn with_arrivals(mut self, pace: ArrivalSpec, units: usize) -> Self {
        self.open = Some(OpenLoop::new(pace, units));
        self
    }

    /// The worker has been released: the pace begins.
    pub fn begin(&mut self) {
        self.last = self.now();
        if let Some(open) = &mut self.open {
            open.restart(self.last);
        }
    }

    /// How long ago the measured part began, nanoseconds; `None` where it began at the release.
    pub fn measured_ns(&self) -> Option<u64> {
        let from = self.measured_from?;
        Some(self.clock.delta_as_nanos(from, self.now()))
    }

    /// Closes the books on an open loop, now. `None` for a closed one.
    pub fn finish_open_loop(&mut self) -> Option<ResponseTimes> {
        let open = self.open.take()?;
        let end_ns = self.clock.delta_as_nanos(open.began, self.now());
        let mut histograms = open.responses;
        // Work that ended by its count, before any time was up, leaves nobody waiting.
        let waiting = match self.stage.get() >= Stage::OVER {
            true => open.schedule.backlog(end_ns),
            false => Vec::new(),
        };
        if let Some(first) = histograms.first_mut() {
            for (wait_ns, count) in &waiting {
                first.saturating_record_n(*wait_ns, *count);
            }
        }
        Some(ResponseTimes {
            histograms,
            issued: open.issued,
            backlog: waiting.iter().map(|(_, count)| count).sum(),
            oldest_wait_ns: waiting.first().map_or(0, |(wait_ns, _)| *wait_ns),
        })
    }

    /// The latencies by kind, nanoseconds.
    pub fn into_histograms(self) -> Vec<Histogram<u64>> {
        self.histograms
    }

    /// Once the warm-up is over, forgets what it did. A worker's end calls it too: one that has
    /// ended nothing since must not count what it did before.
    #[inline]
    pub fn leave_warm_up(&mut self) {
        if self.warming && self.stage.get() != Stage::WARMING {
            self.forget_warm_up();
        }
    }

    /// What was done so far was to warm up: it is forgotten, and the pace begins anew.
    #[cold]
    fn forget_warm_up(&mut self) {
        self.warming = false;
        self.histograms.iter_mut().for_each(Histogram::clear);
        self.counters.clear();
        self.last = self.now();
        self.measured_from = Some(self.last);
        if let Some(open) = &mut self.open {
            open.restart(self.last);
        }
    }

    /// Waits until the next unit is due; `false` where the end comes first.
    fn await_arrival(&mut self, may_pause: bool) -> bool {
        loop {
            // The warm-up may end meanwhile, and what is due begins anew.
            self.leave_warm_up();
            let paused_ticks = self.paused_ticks;
            let Some(open) = &mut self.open else {
                return true;
            };
            let due_ns = open.schedule.next_ns();
            let now = self.clock.raw().wrapping_sub(paused_ticks);
            let passed_ns = self.clock.delta_as_nanos(open.began, now);
            if passed_ns >= due_ns {
                self.last = now;
                open.due_ns = due_ns;
                open.issued += 1;
                open.schedule.advance();
                return true;
            }
            let left_ns = due_ns - passed_ns;
            if left_ns > SPIN_NS {
                let sleep_ns = (left_ns - SPIN_NS).min(LONGEST_SLEEP_NS);
                self.sleep(Duration::from_nanos(sleep_ns));
                if may_pause {
                    self.pause_if_requested();
                }
                if self.stage.get() >= Stage::OVER {
                    return false;
                }
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

impl Meter for ClockMeter<'_> {
    fn next_unit(&mut self) -> bool {
        self.yield_point();
        self.stage.get() < Stage::OVER && self.await_arrival(true)
    }

    fn next_unit_in_transaction(&mut self) -> bool {
        self.stage.get() < Stage::OVER && self.await_arrival(false)
    }

    fn yield_point(&mut self) {
        if !self.stage.is_running() {
            self.pause_if_requested();
        }
    }

    fn start(&mut self) {
        self.last = self.now();
    }

    fn finish(&mut self, kind: usize) {
        let now = self.now();
        let latency_ns = self.clock.delta_as_nanos(self.last, now);
        self.last = now;
        self.histograms[kind].saturating_record(latency_ns);
        add(&self.counters.counts[kind], 1);
        add(&self.counters.times_ns[kind], latency_ns);
        self.leave_warm_up();
    }

    fn timestamp(&mut self) -> u64 {
        self.now()
    }

    fn finish_nested(&mut self, kind: usize, mark: u64) {
        let latency_ns = self.clock.delta_as_nanos(mark, self.now());
        self.histograms[kind].saturating_record(latency_ns);
        add(&self.counters.counts[kind], 1);
        add(&self.counters.times_ns[kind], latency_ns);
    }

    fn wait_since(&mut self, mark: u64, time_ns: u64) -> bool {
        loop {
            self.leave_warm_up();
            self.pause_if_requested();
            if self.stage.get() >= Stage::OVER {
                return false;
            }
            let passed_ns = self.clock.delta_as_nanos(mark, self.now());
            let Some(left_ns) = time_ns.checked_sub(passed_ns).filter(|left| *left > 0) else {
                return true;
            };
            self.sleep(Duration::from_nanos(left_ns.min(LONGEST_THINK_NS)));
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
