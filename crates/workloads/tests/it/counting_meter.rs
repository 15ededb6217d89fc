//! The meter of these tests: counts like the runner's, without a clock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Instant;
use trueput_record::VerifyLevel;
use trueput_workloads::{ExecutionSummary, Meter, WorkerFindings};

/// Counts a worker's operations, and ends its time at the test's limit.
#[derive(Default)]
pub struct CountingMeter<'b> {
    /// Finished operations by kind.
    pub counts: Vec<u64>,
    /// Operations by kind that looked for a record that was not there.
    pub not_found: Vec<u64>,
    pub conflicts: u64,
    pub units: u64,
    /// Times that the operation was started anew: what came before is part of no latency.
    pub starts: u64,
    /// Nanoseconds that it was asked to rest: its clock, which nothing else moves on.
    pub rested_ns: u64,
    /// Operations until the warm-up is over.
    pub warm_up: u64,
    /// Measured operations after which the time is up; `None`: it never is.
    pub limit: Option<u64>,
    /// A count over all workers from which on `limit` counts, once it has come so far: so each
    /// worker does `limit` operations after that, however the threads are scheduled.
    pub awaited: Option<(&'b AtomicU64, u64)>,
    /// Operations done when the awaited count was last looked at and too low.
    pub done_while_awaiting: u64,
    /// Units that may still begin, over all workers.
    pub left: Option<&'b AtomicU64>,
    /// Operations after which the user stops the worker.
    pub stop_after: Option<u64>,
    pub date_us: i64,
}

impl CountingMeter<'_> {
    /// A meter for so many kinds of operations, whose time is never up.
    pub fn new(kinds: usize) -> Self {
        Self {
            counts: vec![0; kinds],
            not_found: vec![0; kinds],
            ..Self::default()
        }
    }

    fn done(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl Meter for CountingMeter<'_> {
    fn next_unit(&mut self) -> bool {
        if let Some(left) = self.left {
            let take = |left: u64| left.checked_sub(1);
            return left.fetch_update(SeqCst, SeqCst, take).is_ok();
        }
        let is_awaiting = |(count, wanted): (&AtomicU64, u64)| count.load(SeqCst) < wanted;
        if self.awaited.is_some_and(is_awaiting) {
            self.done_while_awaiting = self.done();
        }
        let done = self.done().saturating_sub(self.done_while_awaiting);
        !self.is_stopped() && self.limit.is_none_or(|limit| done < limit)
    }

    fn is_over(&self) -> bool {
        let done = self.done().saturating_sub(self.done_while_awaiting);
        let has_come = |(count, wanted): (&AtomicU64, u64)| count.load(SeqCst) >= wanted;
        let counts = self.left.is_none() && self.awaited.is_none_or(has_come);
        self.is_stopped() || counts && self.limit.is_some_and(|limit| done >= limit)
    }

    fn start(&mut self) {
        self.starts += 1;
    }

    fn finish(&mut self, kind: usize) {
        self.counts[kind] += 1;
        if self.warm_up > 0 {
            self.warm_up -= 1;
            if self.warm_up == 0 {
                self.counts.fill(0);
                self.not_found.fill(0);
            }
        }
    }

    fn not_found(&mut self, kind: usize) {
        self.not_found[kind] += 1;
    }

    fn timestamp(&mut self) -> u64 {
        self.rested_ns
    }

    fn elapsed_ns(&mut self, mark: u64) -> u64 {
        self.rested_ns - mark
    }

    fn monotonic_ns(&mut self) -> u64 {
        // No clock of processes, but one of this.
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }

    fn finish_nested(&mut self, kind: usize, _mark: u64) {
        self.counts[kind] += 1;
    }

    fn wait_since(&mut self, mark: u64, time_ns: u64) -> bool {
        self.rested_ns = self.rested_ns.max(mark + time_ns);
        if time_ns > 0 && std::mem::take(&mut self.warm_up) > 0 {
            // Time passes, and the warm-up ends.
            self.counts.fill(0);
            self.not_found.fill(0);
        }
        true
    }

    fn date_us(&mut self) -> i64 {
        self.date_us += 1;
        self.date_us
    }

    fn is_warming_up(&self) -> bool {
        self.warm_up > 0
    }

    fn advance(&mut self, units: u64) {
        self.units += units;
    }

    fn conflict(&mut self, _error: &trueput_engine::Error) {
        self.conflicts += 1;
    }

    fn uncount(&mut self, kind: usize, count: u64) {
        self.counts[kind] -= count;
    }

    fn is_stopped(&self) -> bool {
        self.stop_after.is_some_and(|limit| self.done() >= limit)
    }
}

/// Runs `work` on this many workers at once, and returns their results.
pub fn in_threads<T: Send>(workers: u32, work: impl Fn(u32) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let start = |worker| {
            let work = &work;
            scope.spawn(move || work(worker))
        };
        let threads: Vec<_> = (0..workers).map(start).collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.collect()
    })
}

/// The summary of all workers, with the sum of their meters. A worker that failed has no findings.
pub fn sum_up<'b, F: Into<Option<WorkerFindings>>>(
    kinds: usize,
    verify: VerifyLevel,
    outcomes: impl IntoIterator<Item = (CountingMeter<'b>, F)>,
) -> (ExecutionSummary, CountingMeter<'b>) {
    let mut total = CountingMeter::new(kinds);
    let mut all_findings = Vec::new();
    for (meter, findings) in outcomes {
        for (sum, count) in total.counts.iter_mut().zip(meter.counts) {
            *sum += count;
        }
        total.conflicts += meter.conflicts;
        total.units += meter.units;
        total.rested_ns += meter.rested_ns;
        all_findings.extend(findings.into());
    }
    let ended = ExecutionSummary {
        counts: total.counts.clone(),
        conflicts: total.conflicts,
        findings: all_findings,
        attachments: Vec::new(),
        resumed: false,
        verify,
        crashed: None,
    };
    (ended, total)
}
