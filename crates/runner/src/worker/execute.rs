//! The measured part of a trial, in a worker process.

use super::pipe::{Control, Gate, Reporter};
use crate::bind::Bound;
use crate::host::process;
use crate::meter::{ClockMeter, Lane, MAX_KINDS};
use crate::protocol::{Assignment, Done, Execution, Report, Share, Usage};
use hdrhistogram::Histogram;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use trueput_engine::Database;
use trueput_record::{WorkerKind, histogram};
use trueput_workloads::{Error as JobError, Task};

/// One worker's latencies by kind.
type Latencies = Vec<Histogram<u64>>;

/// What a worker's thread tells the process's main thread.
enum Word {
    /// Its session is made.
    Ready,
    /// Its share is done, or it failed and why.
    Ended(Result<(Share, Latencies), String>),
}

/// Runs the workers with the indices `sessions`, each on a thread of its own.
///
/// # Errors
/// A sentence that names the worker that failed and why.
pub(super) fn execute(
    bound: &Bound,
    assignment: &Assignment,
    sessions: Range<u32>,
    control: &Control,
    reporter: &Reporter,
) -> Result<(), String> {
    let kinds = bound.job.kinds().len();
    if kinds > MAX_KINDS {
        return Err(format!(
            "{kinds} kinds of operation are more than {MAX_KINDS}"
        ));
    }
    let database = super::open(bound, assignment, sessions.end - sessions.start)?;
    let lanes: Vec<Lane> = sessions.clone().map(|_| Lane::default()).collect();
    let gate = Gate::default();
    let (sender, words) = channel();
    let run = std::thread::scope(|scope| {
        for (index, lane) in sessions.zip(&lanes) {
            let crew = Crew {
                bound,
                assignment,
                database: &*database,
                gate: &gate,
                control,
            };
            let sender = sender.clone();
            scope.spawn(move || crew.work(index, lane, &sender));
        }
        let run = oversee(&words, &lanes, kinds, &gate, control, reporter);
        if let Err(message) = &run {
            // Said at once: the others may take a while to return.
            let _ = reporter.send(&Report::Failed {
                message: message.clone(),
            });
            control.stop();
            gate.open(false);
        }
        run
    });
    let (mut shares, usage) = run?;
    shares.sort_by_key(|(share, _)| share.index);
    let memory = process::memory(std::process::id()).unwrap_or_default();
    let engine = super::state(&*database)?;
    let histograms = merge(kinds, &shares)?;
    let execution = Execution {
        stopped: control.stop.load(Relaxed),
        workers: shares.into_iter().map(|(share, _)| share).collect(),
        histograms,
        usage,
        memory,
        engine,
    };
    reporter.send(&Report::Executed(Box::new(execution)))
}

/// What every worker of this process works with.
struct Crew<'a> {
    bound: &'a Bound,
    assignment: &'a Assignment,
    database: &'a dyn Database,
    gate: &'a Gate,
    control: &'a Control,
}

impl Crew<'_> {
    fn work(&self, index: u32, lane: &Lane, words: &Sender<Word>) {
        let share = catch_unwind(AssertUnwindSafe(|| self.share(index, lane, words)));
        let ended = share.unwrap_or_else(|panic| Err(panic_text(&*panic)));
        // The runner names a worker that has a process of its own.
        let named = ended.map_err(|why| match self.assignment.spec.worker_kind {
            WorkerKind::Processes => why,
            WorkerKind::Threads => format!("worker {index}: {why}"),
        });
        // The main thread listens until it has heard this of every worker, or of a failed one.
        let _ = words.send(Word::Ended(named));
    }

    fn share(
        &self,
        index: u32,
        lane: &Lane,
        words: &Sender<Word>,
    ) -> Result<(Share, Latencies), String> {
        let kinds = self.bound.job.kinds().len();
        let session = self.database.session();
        let mut session = session.map_err(|error| format!("making a session: {error}"))?;
        let mut meter = ClockMeter::new(kinds, lane, &self.control.stop);
        let mut share = Share {
            index,
            ..Share::default()
        };
        let _ = words.send(Word::Ready);
        if self.gate.wait() {
            let mut task = Task {
                session: &mut *session,
                meter: &mut meter,
                capabilities: self.bound.engine.capabilities(),
                worker: index,
                workers: self.assignment.spec.workers,
                seed: self.assignment.spec.seed,
            };
            share.start_ns = monotonic_ns()?;
            let executed = self.bound.job.execute(&mut task);
            share.end_ns = monotonic_ns()?;
            share.findings = match executed {
                Ok(findings) => findings,
                Err(JobError::Stopped) => trueput_workloads::Findings::new(),
                Err(error) => return Err(error.to_string()),
            };
        }
        share.counts = lane.counts(kinds);
        share.conflicts = lane.conflicts();
        Ok((share, meter.into_histograms()))
    }
}

/// What a panic said.
fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("it did not say why"))
}

/// Waits for every session, for the runner's word, then for every worker, reporting each second.
fn oversee(
    words: &Receiver<Word>,
    lanes: &[Lane],
    kinds: usize,
    gate: &Gate,
    control: &Control,
    reporter: &Reporter,
) -> Result<(Vec<(Share, Latencies)>, Usage), String> {
    let gone = || "a worker's thread has gone".to_owned();
    for _ in lanes {
        match words.recv().map_err(|_| gone())? {
            Word::Ready => {}
            Word::Ended(ended) => {
                ended?;
            }
        }
    }
    reporter.send(&Report::Ready)?;
    let released = control.release.wait();
    let before = usage()?;
    let began = Instant::now();
    gate.open(released);
    let mut shares = Vec::with_capacity(lanes.len());
    let mut seconds = 1;
    while shares.len() < lanes.len() {
        let next = began + Duration::from_secs(seconds);
        match words.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(Word::Ended(ended)) => shares.push(ended?),
            Ok(Word::Ready) => {}
            Err(RecvTimeoutError::Timeout) => {
                reporter.send(&Report::Second(done(lanes, kinds)))?;
                seconds += 1;
            }
            Err(RecvTimeoutError::Disconnected) => return Err(gone()),
        }
    }
    Ok((shares, difference(&before, &usage()?)))
}

fn done(lanes: &[Lane], kinds: usize) -> Done {
    let mut done = Done {
        counts: vec![0; kinds],
        units: 0,
    };
    for lane in lanes {
        done.units += lane.units();
        for (sum, count) in done.counts.iter_mut().zip(lane.counts(kinds)) {
            *sum += count;
        }
    }
    done
}

fn merge(kinds: usize, shares: &[(Share, Latencies)]) -> Result<Vec<String>, String> {
    let mut merged: Vec<_> = (0..kinds).map(|_| histogram::new()).collect();
    for (_, latencies) in shares {
        for (sum, latency) in merged.iter_mut().zip(latencies) {
            sum.add(latency)
                .map_err(|error| format!("adding histograms: {error:?}"))?;
        }
    }
    merged.iter().map(histogram::encode).collect()
}

fn monotonic_ns() -> Result<u64, String> {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    let now = now.map_err(|error| format!("reading the monotonic clock: {error}"))?;
    Ok(now.num_nanoseconds().unsigned_abs())
}

fn usage() -> Result<Usage, String> {
    let used = getrusage(UsageWho::RUSAGE_SELF)
        .map_err(|error| format!("reading this process's resource usage: {error}"))?;
    Ok(Usage {
        user_cpu_s: used.user_time().num_microseconds() as f64 / 1e6,
        system_cpu_s: used.system_time().num_microseconds() as f64 / 1e6,
        voluntary_context_switches: used.voluntary_context_switches().unsigned_abs(),
        involuntary_context_switches: used.involuntary_context_switches().unsigned_abs(),
        minor_page_faults: used.minor_page_faults().unsigned_abs(),
        major_page_faults: used.major_page_faults().unsigned_abs(),
        // Absent where the kernel does not account; the runner then records zeros.
        io: process::io(std::process::id()).unwrap_or_default(),
    })
}

fn difference(before: &Usage, after: &Usage) -> Usage {
    let less = u64::saturating_sub;
    Usage {
        user_cpu_s: after.user_cpu_s - before.user_cpu_s,
        system_cpu_s: after.system_cpu_s - before.system_cpu_s,
        voluntary_context_switches: less(
            after.voluntary_context_switches,
            before.voluntary_context_switches,
        ),
        involuntary_context_switches: less(
            after.involuntary_context_switches,
            before.involuntary_context_switches,
        ),
        minor_page_faults: less(after.minor_page_faults, before.minor_page_faults),
        major_page_faults: less(after.major_page_faults, before.major_page_faults),
        io: after.io.since(&before.io),
    }
}
