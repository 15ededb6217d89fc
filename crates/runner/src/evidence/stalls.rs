//! Notices when a part of a trial does not run: the runner, a worker, the machine, the server.
//!
//! A thread of the runner, and the reporting thread of each worker's process, wake at known times.
//! One that wakes late, and was not waiting for a processor meanwhile, did not run: it was stopped,
//! or frozen, or its machine was paused. Nothing of this is in the measured loop.

use crate::workers::clock::read_monotonic_ns;
use crate::workers::protocol::{ProcessResult, ProcessStall, WorkerResult};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trueput_host::process::{is_stopped, read_own_run_delay};
use trueput_host::process_tree::list_members;
use trueput_record::TrialSpec;
use trueput_record::stall::{STALL_S, StalledPart, TrialStall};

/// The interval at which the runner's thread wakes.
const TICK: Duration = Duration::from_millis(100);

impl ProcessStall {
    /// Whether both are the same interval, as far as two processes can tell.
    fn overlaps(&self, other: &Self) -> bool {
        self.common_ns(other) > self.length_ns.min(other.length_ns) / 2
    }

    /// Whether most of it is in other intervals, which do not overlap. The clock stands still while
    /// the machine is suspended: that is a moment on it.
    fn is_within(&self, others: &[Self]) -> bool {
        if self.is_suspension {
            return others.iter().any(|other| {
                let end_ns = other.from_ns.saturating_add(other.length_ns);
                (other.from_ns..=end_ns).contains(&self.from_ns)
            });
        }
        let common_ns: u64 = others.iter().map(|other| self.common_ns(other)).sum();
        common_ns > self.length_ns / 2
    }

    fn common_ns(&self, other: &Self) -> u64 {
        let end_ns = |stall: &Self| stall.from_ns.saturating_add(stall.length_ns);
        let from_ns = self.from_ns.max(other.from_ns);
        end_ns(self).min(end_ns(other)).saturating_sub(from_ns)
    }
}

/// Judges whether a thread that wakes late has not run.
#[derive(Debug)]
pub(crate) struct LateWakeup {
    run_delay: Duration,
}

impl LateWakeup {
    /// Begins on the thread that is judged.
    pub fn begin() -> Self {
        Self {
            run_delay: read_own_run_delay(),
        }
    }

    /// Judges a thread that wakes now and was to wake at `due` at the latest.
    pub fn judge(&mut self, due: Instant) -> Option<ProcessStall> {
        let late = Instant::now().saturating_duration_since(due);
        let run_delay = read_own_run_delay();
        let waited = run_delay.saturating_sub(std::mem::replace(&mut self.run_delay, run_delay));
        let length = late.saturating_sub(waited);
        if length.as_secs_f64() <= STALL_S {
            return None;
        }
        let length_ns = u64::try_from(length.as_nanos()).ok()?;
        let from_ns = read_monotonic_ns().ok()?.saturating_sub(length_ns);
        Some(ProcessStall {
            from_ns,
            length_ns,
            is_suspension: false,
        })
    }
}

/// Watches, on a thread, whether the runner and its machine run.
pub(crate) struct RunnerWatch {
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<Vec<ProcessStall>>>,
}

impl RunnerWatch {
    /// Begins to watch. Without a thread nothing is noticed.
    pub fn start() -> Self {
        let (end, ended) = channel::<()>();
        let thread = std::thread::Builder::new().name("stalls".to_owned());
        let thread = thread.spawn(move || {
            let mut stalls = Vec::new();
            let (mut waking, mut suspended_ns) = (LateWakeup::begin(), read_suspended_ns());
            loop {
                let due = Instant::now() + TICK;
                let is_over = ended.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout);
                stalls.extend(waking.judge(due));
                let before_ns = std::mem::replace(&mut suspended_ns, read_suspended_ns());
                stalls.extend(suspension_of(suspended_ns.saturating_sub(before_ns)));
                if is_over {
                    return stalls;
                }
            }
        });
        Self {
            end: Some(end),
            thread: thread.ok(),
        }
    }

    /// Ends, and returns the intervals in which the runner did not run.
    pub fn finish(mut self) -> Vec<ProcessStall> {
        self.end = None;
        let stalls = self.thread.take().and_then(|thread| thread.join().ok());
        stalls.unwrap_or_default()
    }
}

fn suspension_of(length_ns: u64) -> Option<ProcessStall> {
    (length_ns as f64 / 1e9 > STALL_S).then(|| ProcessStall {
        from_ns: read_monotonic_ns().unwrap_or_default(),
        length_ns,
        is_suspension: true,
    })
}

/// Returns how long this machine has been suspended since it started: `CLOCK_MONOTONIC` stands
/// still then, and `CLOCK_BOOTTIME` does not.
fn read_suspended_ns() -> u64 {
    let read = |clock| clock_gettime(clock).map_or(0, |time| time.num_nanoseconds());
    let monotonic_ns = read(ClockId::CLOCK_MONOTONIC);
    let boot_ns = read(ClockId::CLOCK_BOOTTIME);
    boot_ns.saturating_sub(monotonic_ns).max(0).unsigned_abs()
}

/// Notices processes that are stopped by a signal, by their state once a second.
#[derive(Debug, Default)]
pub(crate) struct StoppedProcesses {
    /// When each was first seen stopped.
    since: HashMap<u32, Instant>,
    ended: Vec<(Instant, Duration)>,
}

impl StoppedProcesses {
    /// Looks at these processes.
    pub fn look_at(&mut self, pids: impl Iterator<Item = u32>) {
        let now = Instant::now();
        let stopped: Vec<u32> = pids.filter(|&pid| is_stopped(pid)).collect();
        let gone: Vec<u32> = self.since.keys().copied().collect();
        for pid in gone.into_iter().filter(|pid| !stopped.contains(pid)) {
            self.end(pid, now);
        }
        for pid in stopped {
            self.since.entry(pid).or_insert(now);
        }
    }

    fn end(&mut self, pid: u32, now: Instant) {
        if let Some(since) = self.since.remove(&pid) {
            self.ended.push((since, now.duration_since(since)));
        }
    }

    /// Returns the intervals of over 2 s that began in the measured part; they are known to a
    /// second.
    pub fn finish(mut self, measured: Range<Instant>) -> Vec<TrialStall> {
        let (now, measured_from) = (Instant::now(), measured.start);
        let pids: Vec<u32> = self.since.keys().copied().collect();
        pids.into_iter().for_each(|pid| self.end(pid, now));
        let began_in_time = self.ended.iter().filter(|(since, _)| *since < measured.end);
        let long = began_in_time.filter(|(_, length)| length.as_secs_f64() > STALL_S);
        // Children of a stopped server are stopped one by one: it is said once.
        let longest = long.max_by_key(|(_, length)| *length);
        longest
            .map(|(since, length)| TrialStall {
                part: StalledPart::Server,
                worker: None,
                from_s: since.saturating_duration_since(measured_from).as_secs_f64(),
                length_s: length.as_secs_f64(),
            })
            .into_iter()
            .collect()
    }
}

/// Watches all parts of a trial.
pub(crate) struct StallWatch {
    runner: RunnerWatch,
    stopped: StoppedProcesses,
    /// The server, unless faults are planned, which stop its nodes.
    server: Option<u32>,
    measured_from: Instant,
    /// The intervals in which the workers were stopped.
    stops: Vec<ProcessStall>,
}

impl StallWatch {
    /// Begins to watch the measured part of a trial with that server.
    pub fn start(spec: &TrialSpec, server: Option<u32>, measured_from: Instant) -> Self {
        Self {
            runner: RunnerWatch::start(),
            stopped: StoppedProcesses::default(),
            server: server.filter(|_| spec.conditions.faults.is_empty()),
            measured_from,
            stops: Vec::new(),
        }
    }

    /// Notes that the workers have been stopped until now: what stalls meanwhile stalls others.
    pub fn note_stop(&mut self, length: Duration) {
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        self.stops.push(ProcessStall {
            from_ns: read_monotonic_ns()
                .unwrap_or_default()
                .saturating_sub(length_ns),
            length_ns,
            is_suspension: false,
        });
    }

    /// Looks at the processes of the server, and at native programs, once a second.
    pub fn look_at(&mut self, native_pids: &[u32]) {
        let server = self.server.map(list_members).unwrap_or_default();
        let pids = server.into_iter().chain(native_pids.iter().copied());
        self.stopped.look_at(pids);
    }

    /// Ends, and returns all stalls of the measured part, which ends with the last worker; those of
    /// the workers' processes are in their results.
    pub fn finish(self, process_results: &[Option<ProcessResult>]) -> Vec<TrialStall> {
        let results = process_results.iter().flatten();
        let ended_ns = last_end_ns(results.flat_map(|result| &result.workers));
        let retain = |stalls| retain_measured(stalls, ended_ns, &self.stops);
        let runner = retain(self.runner.finish());
        let of_process = |result: &ProcessResult| {
            let indices = result.workers.iter().map(|worker| worker.index);
            let stalls = retain(result.stalls.clone());
            (indices.min().unwrap_or_default(), stalls)
        };
        let workers: Vec<_> = process_results.iter().flatten().map(of_process).collect();
        let measured_for = self.measured_from.elapsed().as_nanos();
        let measured_for = u64::try_from(measured_for).unwrap_or(u64::MAX);
        let now_ns = read_monotonic_ns().unwrap_or_default();
        let mut stalls = merge_stalls(&runner, &workers, now_ns.saturating_sub(measured_for));
        let ended_ago = Duration::from_nanos(now_ns.saturating_sub(ended_ns));
        let now = Instant::now();
        let ended = now.checked_sub(ended_ago).unwrap_or(now);
        stalls.extend(self.stopped.finish(self.measured_from..ended));
        stalls
    }
}

/// Returns when the last worker ended. Its own clock stands still in its stops, and those of stalls
/// do not.
fn last_end_ns<'w>(workers: impl Iterator<Item = &'w WorkerResult>) -> u64 {
    let ends = workers.map(|worker| worker.end_ns.saturating_add(worker.stopped_ns));
    ends.max().unwrap_or(u64::MAX)
}

/// Leaves those stalls of a process that began before the workers had ended, and while they were
/// not stopped. To close a database may take minutes, and is not measured.
fn retain_measured(
    mut stalls: Vec<ProcessStall>,
    ended_ns: u64,
    stops: &[ProcessStall],
) -> Vec<ProcessStall> {
    stalls.retain(|stall| stall.from_ns < ended_ns && !stall.is_within(stops));
    stalls
}

/// Merges the stalls of the runner and of the workers' processes, each with the index of its first
/// worker. What all of them have in common is the machine's.
pub(crate) fn merge_stalls(
    runner: &[ProcessStall],
    workers: &[(u32, Vec<ProcessStall>)],
    measured_from_ns: u64,
) -> Vec<TrialStall> {
    let of_part = |part, worker, stall: &ProcessStall| TrialStall {
        part,
        worker,
        from_s: stall.from_ns.saturating_sub(measured_from_ns) as f64 / 1e9,
        length_s: stall.length_ns as f64 / 1e9,
    };
    let is_common = |stall: &ProcessStall| {
        let mut all = workers.iter();
        workers.len() > 1 && all.all(|(_, stalls)| stalls.iter().any(|one| one.overlaps(stall)))
    };
    let stops_workers = |stall: &ProcessStall| {
        let mut all = workers.iter();
        let has_it = |stalls: &[ProcessStall]| stalls.iter().any(|one| one.overlaps(stall));
        !workers.is_empty() && all.all(|(_, stalls)| has_it(stalls))
    };
    let mut merged: Vec<_> = runner
        .iter()
        .map(|stall| {
            if stall.is_suspension || stops_workers(stall) {
                of_part(StalledPart::Machine, None, stall)
            } else {
                of_part(StalledPart::Runner, None, stall)
            }
        })
        .collect();
    let is_machines = |stall: &ProcessStall| {
        let mut all = runner.iter();
        all.any(|other| stops_workers(other) && other.overlaps(stall))
    };
    for (index, (first, stalls)) in workers.iter().enumerate() {
        for stall in stalls.iter().filter(|stall| !is_machines(stall)) {
            if !is_common(stall) {
                merged.push(of_part(StalledPart::Worker, Some(*first), stall));
            } else if index == 0 {
                merged.push(of_part(StalledPart::Worker, None, stall));
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stall(from_s: u64, length_s: u64) -> ProcessStall {
        ProcessStall {
            from_ns: from_s * 1_000_000_000,
            length_ns: length_s * 1_000_000_000,
            is_suspension: false,
        }
    }

    fn doubts(runner: &[ProcessStall], workers: &[Vec<ProcessStall>]) -> Vec<String> {
        let workers: Vec<_> = (0..).zip(workers.iter().cloned()).collect();
        let merged = merge_stalls(runner, &workers, 10_000_000_000);
        merged.iter().map(TrialStall::doubt).collect()
    }

    #[test]
    fn what_stopped_is_named_once() {
        let (early, late) = (stall(12, 20), stall(40, 5));
        let tail = "did not run for 20.0 s, from second 2.0 on";
        let all = doubts(&[early], &[vec![early], vec![early]]);
        let machine = format!("the machine, or every process of the trial, {tail}");
        assert_eq!(all, std::slice::from_ref(&machine));
        assert_eq!(
            doubts(&[early], &[vec![], vec![]]),
            [format!("the runner {tail}")]
        );
        assert_eq!(
            doubts(&[], &[vec![], vec![early]]),
            [format!("worker 1 {tail}")]
        );
        assert_eq!(
            doubts(&[], &[vec![early], vec![early]]),
            [format!("every worker {tail}")]
        );
        let other = "worker 0 did not run for 5.0 s, from second 30.0 on";
        let mixed = doubts(&[early], &[vec![early, late], vec![early]]);
        assert_eq!(mixed, [machine, other.to_owned()]);
        assert!(doubts(&[], &[vec![], vec![]]).is_empty());
    }

    #[test]
    fn what_stalls_after_the_workers_or_in_a_stop_is_not_of_the_measured_part() {
        let (measured, stopped, later) = (stall(12, 3), stall(21, 4), stall(40, 5));
        let ended_ns = stall(39, 0).from_ns;
        let left = retain_measured(vec![measured, stopped, later], ended_ns, &[stall(20, 6)]);
        assert_eq!(left, [measured]);
        // A stall that is longer than the stop in it is of this trial.
        let left = retain_measured(vec![stopped], ended_ns, &[stall(21, 1)]);
        assert_eq!(left, [stopped]);
        // One across two stops, between which it had a short slice, is of neither.
        let stops = [stall(20, 2), stall(23, 2)];
        assert_eq!(retain_measured(vec![stopped], ended_ns, &stops), []);
    }

    #[test]
    fn what_stalls_after_stops_and_before_the_workers_end_is_of_the_measured_part() {
        // It worked for 19 s and was stopped for 20 s.
        let worker = WorkerResult {
            start_ns: stall(10, 0).from_ns,
            end_ns: stall(29, 0).from_ns,
            stopped_ns: stall(20, 0).from_ns,
            ..WorkerResult::default()
        };
        let ended_ns = last_end_ns([worker].iter());
        assert_eq!(ended_ns, stall(49, 0).from_ns);
        let (late, later) = (stall(45, 3), stall(50, 3));
        let left = retain_measured(vec![late, later], ended_ns, &[stall(12, 20)]);
        assert_eq!(left, [late]);
    }

    #[test]
    fn a_suspension_in_a_stop_is_not_of_the_measured_part_and_one_before_a_stop_is() {
        let suspension = |from_s| ProcessStall {
            is_suspension: true,
            ..stall(from_s, 60)
        };
        let (before, stopped, after) = (suspension(19), suspension(26), suspension(30));
        // Both clocks stand still: the stop seems no longer than it is without the suspension.
        let stops = [stall(20, 7), stall(40, 100)];
        let left = retain_measured(vec![before, stopped, after], u64::MAX, &stops);
        assert_eq!(left, [before, after]);
    }

    #[test]
    fn a_suspended_machine_is_named_although_its_clock_stood_still() {
        let suspension = ProcessStall {
            is_suspension: true,
            ..stall(12, 60)
        };
        let doubts = doubts(&[suspension], &[vec![]]);
        assert!(doubts[0].starts_with("the machine, "), "{doubts:?}");
        assert!(suspension_of(1_900_000_000).is_none());
        assert!(suspension_of(2_100_000_000).is_some());
    }

    #[test]
    fn a_thread_that_wakes_in_time_has_run_and_one_that_wakes_late_has_not() {
        let mut waking = LateWakeup::begin();
        assert_eq!(waking.judge(Instant::now()), None);
        let due = Instant::now().checked_sub(Duration::from_secs(30)).unwrap();
        let stall = waking.judge(due).unwrap();
        assert!(stall.length_ns > 25_000_000_000, "{stall:?}");
    }
}
