//! The measured part of a trial, from the runner's side: start the workers, release them together,
//! watch them, and gather what they measured.

use crate::bind::Bound;
use crate::context::{Context, Halt};
use crate::events::Observed;
use crate::host::cgroup::MemoryGroup;
use crate::host::service::kill_server;
use crate::log_place::log_folder;
use crate::phase::{TICK, start};
use crate::process::{GRACE, Heard, Pool};
use crate::protocol::{Assignment, Done, Execution, Order, Part, Report};
use crate::sampler::{Machine, Sample, Sampler, Served};
use crate::{Event, Phase};
use std::path::Path;
use std::time::{Duration, Instant};
use trueput_engine::Happening;
use trueput_record::{TrialSpec, WorkerKind};

/// A worker that says nothing for this long is worth a warning. It is not killed: storage does stall.
const SILENCE: Duration = Duration::from_secs(60);

/// What the workers of a trial did.
pub(crate) struct Ran {
    /// When they were released, RFC 3339 in UTC.
    pub started_at: String,
    /// Per process, what it measured.
    pub executions: Vec<Execution>,
    /// Per process, its id.
    pub pids: Vec<u32>,
    /// Per process, what it had done at the end of each second.
    pub seconds: Vec<Vec<Done>>,
    /// What they used, per second.
    pub samples: Vec<Sample>,
    /// What the machine did between release and end.
    pub machine: Machine,
    /// What the engine's server used meanwhile; `None` where there is none.
    pub server: Option<Served>,
    /// What was seen of the engine's own doings meanwhile; `None` where there is nothing to look at.
    pub seen: Option<Vec<Happening>>,
    /// Whether the user stopped them.
    pub interrupted: bool,
    /// Processes that were killed with the database open, as the plan says; 0 where it does not.
    pub killed: u32,
}

/// What the workers of a trial are to do.
pub(crate) struct Work<'a> {
    /// The database's folder.
    pub directory: &'a Path,
    /// How many trials ran on its load before.
    pub generation: u32,
    /// How many workers there are in all.
    pub sessions: u32,
    /// How many units of work make the whole; 0 where it ends by its duration.
    pub total_units: u64,
    /// What the trial is bound to.
    pub bound: &'a Bound,
}

/// Runs the workers of a trial, in that control group where there is one, with the process `server`
/// and what descends from it at their service.
///
/// # Errors
/// [`Halt::Failed`] names the worker that failed or died and why; the others have been stopped.
/// [`Halt::Interrupted`] where the user stopped them and they handed nothing back.
pub(crate) fn execute(
    context: &mut Context<'_>,
    spec: &TrialSpec,
    work: &Work<'_>,
    server: Option<u32>,
    group: Option<&MemoryGroup>,
) -> Result<Ran, Halt> {
    let pool = started(context, spec, work, group)?;
    let mut watch = Watch::new(context, spec, pool, work.total_units);
    watch.wait_until_ready()?;
    watch.pool.tell_all(&Order::Go);
    let measured_from = watch.wait_for_warm_up();
    let started_at = jiff::Timestamp::now().to_string();
    let log = log_folder(&spec.knobs, work.directory);
    let (pids, natives) = (watch.pool.pids(), &watch.natives);
    let mut sampler = Sampler::new(&pids, natives, work.directory, log.as_deref());
    sampler.follow_server(server);
    let mut observed = Observed::begin(work.bound, spec, work.directory);
    watch.follow(measured_from, &mut sampler, &mut observed)?;
    let killed = match spec.conditions.crash_and_recover && !watch.interrupted {
        // The server first: it must not put away what dead clients leave.
        true => server.map_or(Ok(0), kill_server)? + watch.pool.len() as u32,
        false => 0,
    };
    if killed > 0 {
        watch.pool.kill_all();
    }
    let Watch {
        pool,
        parts,
        interrupted,
        ..
    } = watch;
    let (executions, seconds) = parts
        .into_iter()
        .map(|part| (part.execution, part.seconds))
        .unzip();
    let executions: Option<Vec<Execution>> =
        Vec::<Option<Execution>>::into_iter(executions).collect();
    let Some(executions) = executions else {
        return Err(Halt::Interrupted);
    };
    let server = sampler.server();
    let (samples, machine) = sampler.into_samples();
    let pids = pool.pids();
    Ok(Ran {
        started_at,
        executions,
        pids,
        seconds,
        samples,
        machine,
        server,
        seen: observed.end(),
        interrupted,
        killed,
    })
}

/// Starts the workers' processes.
fn started(
    context: &mut Context<'_>,
    spec: &TrialSpec,
    work: &Work<'_>,
    group: Option<&MemoryGroup>,
) -> Result<Pool, Halt> {
    let mut pool = Pool::within(group);
    let processes = match spec.worker_kind {
        WorkerKind::Processes => (0..work.sessions).map(|index| (index, 1)).collect(),
        WorkerKind::Threads => vec![(0, work.sessions)],
    };
    for (first, sessions) in processes {
        let assignment = Assignment {
            spec: spec.clone(),
            directory: work.directory.to_owned(),
            generation: work.generation,
            part: Part::Execute { first, sessions },
        };
        start(context, &mut pool, assignment)?;
    }
    Ok(pool)
}

/// What has been heard of one process.
struct Progress {
    ready: bool,
    seconds: Vec<Done>,
    execution: Option<Execution>,
    heard_at: Instant,
    warned: bool,
}

/// Watches the worker processes.
struct Watch<'a, 'b> {
    context: &'a mut Context<'b>,
    spec: &'a TrialSpec,
    pool: Pool,
    /// Processes of native programs, which the workers have started.
    natives: Vec<u32>,
    parts: Vec<Progress>,
    total_units: u64,
    /// Why the trial fails, once it does.
    failure: Option<String>,
    /// Whether the user stopped it.
    interrupted: bool,
    /// When those that were asked to stop are killed.
    deadline: Option<Instant>,
    /// Operations when progress was last told, and when.
    told: (u64, Instant),
}

impl<'a, 'b> Watch<'a, 'b> {
    fn new(
        context: &'a mut Context<'b>,
        spec: &'a TrialSpec,
        pool: Pool,
        total_units: u64,
    ) -> Self {
        let now = Instant::now();
        let nothing = |_| Progress {
            ready: false,
            seconds: Vec::new(),
            execution: None,
            heard_at: now,
            warned: false,
        };
        Self {
            parts: (0..pool.len()).map(nothing).collect(),
            context,
            spec,
            pool,
            natives: Vec::new(),
            total_units,
            failure: None,
            interrupted: false,
            deadline: None,
            told: (0, now),
        }
    }

    /// Waits until every process has its sessions. Opening a database may take long: recovery.
    fn wait_until_ready(&mut self) -> Result<(), Halt> {
        while !self.parts.iter().all(|part| part.ready) {
            if self.context.stopped() {
                return Err(Halt::Interrupted);
            }
            self.hear(TICK);
            // None has begun, so none has anything to hand back: the pool kills them.
            if let Some(reason) = self.failure.take() {
                return Err(Halt::Failed(reason));
            }
        }
        Ok(())
    }

    /// Lets the released workers warm up, and says when the measured part began.
    fn wait_for_warm_up(&mut self) -> Instant {
        let released = Instant::now();
        let measured = released + Duration::from_secs_f64(self.spec.conditions.warm_up_s);
        while Instant::now() < measured && !self.pool.all_closed() {
            if self.context.stopped() || self.failure.is_some() {
                break;
            }
            let left = measured.saturating_duration_since(Instant::now());
            self.hear(TICK.min(left));
        }
        measured.min(Instant::now())
    }

    /// Follows the released workers, whose measured part began at `released`, until all have ended.
    fn follow(
        &mut self,
        released: Instant,
        sampler: &mut Sampler,
        observed: &mut Observed,
    ) -> Result<(), Halt> {
        self.told.1 = released;
        self.parts
            .iter_mut()
            .for_each(|part| part.heard_at = released);
        while !self.pool.all_closed() {
            if self.parts.iter().all(|part| part.execution.is_some()) {
                // What closing the database does is no part of the measurement.
                sampler.finish();
                if self.spec.conditions.crash_and_recover {
                    break;
                }
            }
            sampler.look();
            let now = Instant::now();
            let next_s = Duration::from_secs(sampler.seconds() as u64 + 1);
            let next = released + next_s;
            if now >= next {
                sampler.sample();
                observed.look();
                self.tell_progress(next_s);
                self.warn_of_silence();
                continue;
            }
            if self.context.stopped() && !self.interrupted {
                self.interrupted = true;
                self.ask_to_stop();
            }
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                self.pool.kill_all();
                break;
            }
            self.hear(TICK.min(next - now));
        }
        match self.failure.take() {
            // A worker that was told to stop may fail on the way; the user's word explains it.
            Some(reason) if !self.interrupted => Err(Halt::Failed(reason)),
            _ => Ok(()),
        }
    }

    fn ask_to_stop(&mut self) {
        self.pool.tell_all(&Order::Stop);
        self.deadline.get_or_insert(Instant::now() + GRACE);
    }

    fn fail(&mut self, index: usize, why: &str) {
        let reason = format!("{}{why}", self.name(index));
        self.failure.get_or_insert(reason);
        self.ask_to_stop();
    }

    fn name(&self, index: usize) -> String {
        let pid = self.pool.pids()[index];
        match self.spec.worker_kind {
            WorkerKind::Processes => format!("worker {index} (process {pid})"),
            WorkerKind::Threads => format!("the workers' process ({pid})"),
        }
    }

    fn hear(&mut self, limit: Duration) {
        let Some((index, heard)) = self.pool.hear(limit) else {
            return;
        };
        let part = &mut self.parts[index];
        part.heard_at = Instant::now();
        part.warned = false;
        match heard {
            Heard::Closed => match self.pool.end_of(index) {
                Err(why) => self.fail(index, &format!(" {why}")),
                Ok(()) if self.parts[index].execution.is_none() => {
                    self.fail(index, " ended without a result");
                }
                Ok(()) => {}
            },
            Heard::Report(report) => match *report {
                Report::Ready { natives } => {
                    part.ready = true;
                    self.natives.extend(natives);
                }
                Report::Second(done) => part.seconds.push(done),
                Report::Executed(execution) => part.execution = Some(*execution),
                Report::Failed { message } => self.fail(index, &format!(": {message}")),
                other => self.fail(index, &format!(": sent what nobody asked for: {other:?}")),
            },
        }
    }

    fn tell_progress(&mut self, elapsed: Duration) {
        let (mut units, mut operations) = (0, 0);
        for part in &self.parts {
            let last = part.seconds.last();
            units += last.map_or(0, |done| done.units);
            operations += match &part.execution {
                Some(execution) => execution
                    .workers
                    .iter()
                    .flat_map(|share| &share.counts)
                    .sum(),
                None => last.map_or(0, |done| done.counts.iter().sum::<u64>()),
            };
        }
        let now = Instant::now();
        let (before, then) = std::mem::replace(&mut self.told, (operations, now));
        let passed_s = now.duration_since(then).as_secs_f64();
        self.context.tell(&Event::TrialProgress {
            id: self.spec.id.clone(),
            phase: Phase::Run,
            fraction: self.fraction(units, elapsed),
            rate_per_s: operations.saturating_sub(before) as f64 / passed_s.max(1e-3),
        });
    }

    /// Which part of the trial is done: of its units, or of its time.
    fn fraction(&self, units: u64, elapsed: Duration) -> f64 {
        let done = match self.spec.conditions.duration_s {
            Some(duration_s) => elapsed.as_secs_f64() / duration_s.max(1e-3),
            None => units as f64 / self.total_units.max(1) as f64,
        };
        done.min(1.0)
    }

    fn warn_of_silence(&mut self) {
        for index in 0..self.parts.len() {
            let part = &mut self.parts[index];
            let silent = part.execution.is_none() && part.heard_at.elapsed() >= SILENCE;
            if silent && !part.warned {
                part.warned = true;
                let silence_s = SILENCE.as_secs();
                let message = format!("{} has said nothing for {silence_s} s", self.name(index));
                self.context.warn(message);
            }
        }
    }
}
