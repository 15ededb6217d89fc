//! The runner's process on another host: starts the host's workers, releases them at the common
//! moment, relays instructions and reports, and watches the host.
//!
//! It ends when the runner says so, and says goodbye. It also ends with its standard input, or when
//! the runner is silent for too long: a network that is cut does not end the input for a long time.
//! It takes the workers with it: the kernel kills them should it be killed.

use super::error::WorkerError;
use super::pipe::Reporter;
use super::trial_agent::TrialAgent;
use crate::Registry;
use crate::context::sha256_of;
use crate::hosts::protocol::{Hello, HostInstruction, HostReport, PROTOCOL, SILENCE_TIMEOUT};
use crate::hosts::usage::HostUsageReader;
use crate::workers::clock::read_monotonic_ns;
use crate::workers::local::LocalWorkers;
use crate::workers::protocol::{Instruction, Report};
use crate::workers::worker_process::WorkerEvent;
use std::io::{BufRead, BufReader, Stdin};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use trueput_engine::Credentials;

/// The interval at which reports of workers are relayed.
const RELAY_INTERVAL: Duration = Duration::from_millis(20);

/// The interval of heartbeats, nanoseconds.
const HEARTBEAT_NS: u64 = 250_000_000;

/// A host that has not run for longer than this has stalled, nanoseconds.
const STALL_NS: u64 = 2_000_000_000;

/// The delay of the instruction to begin from which on a host has not begun with the others,
/// nanoseconds.
const LATE_RELEASE_NS: u64 = 10_000_000;

/// The interval at which a measured worker reports, nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;

/// This program, which workers are, even if its file was replaced meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Serves the runner until standard input ends.
///
/// # Errors
/// [`WorkerError`], if this program cannot be read, or the runner has gone.
pub(super) fn serve(
    registry: &Registry,
    input: BufReader<Stdin>,
    reporter: &Arc<Reporter>,
) -> Result<(), WorkerError> {
    let usage = HostUsageReader::new();
    reporter.send(&HostReport::Hello(Box::new(introduce_host(usage.cores)?)))?;
    let (sender, instructions) = channel();
    let answers = Arc::clone(reporter);
    let now_ns = read_monotonic_ns()?;
    let heard_ns = Arc::new(AtomicU64::new(now_ns));
    let listener_ns = Arc::clone(&heard_ns);
    std::thread::spawn(move || listen(input, &sender, &answers, &listener_ns));
    let agent = HostAgent {
        reporter: Arc::clone(reporter),
        heard_ns,
        workers: LocalWorkers::new(),
        usage,
        release_ns: None,
        warm_up_ns: 0,
        reported_ns: Vec::new(),
        ran_at_ns: now_ns,
        heartbeat_due_ns: now_ns,
        trials: TrialAgent::new(*registry),
    };
    let ended = agent.run(&instructions);
    if let Err(error) = &ended {
        // A runner that has gone shows at the end of its process here.
        let _ = reporter.send(&HostReport::Failed {
            message: error.to_string(),
        });
    }
    ended
}

fn introduce_host(cores: u32) -> Result<Hello, WorkerError> {
    let sha256 = sha256_of(Path::new(OWN_PROGRAM));
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let hostname = nix::unistd::gethostname().unwrap_or_default();
    Ok(Hello {
        protocol: PROTOCOL,
        sha256: sha256.map_err(WorkerError::Program)?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hostname: hostname.to_string_lossy().into_owned(),
        boot_id: boot_id.unwrap_or_default().trim().to_owned(),
        cores,
    })
}

/// Answers pings at once, and passes on all else. It notes when it heard of the runner last.
fn listen(
    input: BufReader<Stdin>,
    instructions: &Sender<HostInstruction>,
    reporter: &Reporter,
    heard_ns: &AtomicU64,
) {
    for line in input.lines().map_while(Result::ok) {
        heard_ns.store(read_monotonic_ns().unwrap_or(u64::MAX), Ordering::Relaxed);
        let heard = match serde_json::from_str(&line) {
            Ok(HostInstruction::Ping { number }) => {
                let answer = answer_ping(number);
                answer.is_ok_and(|pong| reporter.send(&pong).is_ok())
            }
            Ok(instruction) => instructions.send(instruction).is_ok(),
            Err(_) => false,
        };
        if !heard {
            return;
        }
    }
}

fn answer_ping(number: u32) -> Result<HostReport, WorkerError> {
    let monotonic_ns = read_monotonic_ns()?;
    let wall = jiff::Timestamp::now().as_nanosecond();
    Ok(HostReport::Pong {
        number,
        monotonic_ns,
        wall_ns: i64::try_from(wall).map_err(|_| WorkerError::WallClock)?,
    })
}

/// The state of the runner's process on a host.
struct HostAgent {
    reporter: Arc<Reporter>,
    /// When the runner was heard of last, on this host's monotonic clock.
    heard_ns: Arc<AtomicU64>,
    workers: LocalWorkers,
    usage: HostUsageReader,
    /// When the workers were released, on this host's monotonic clock.
    release_ns: Option<u64>,
    warm_up_ns: u64,
    /// When each worker has reported a second last; `None` once it has ended.
    reported_ns: Vec<Option<u64>>,
    /// When this process ran last.
    ran_at_ns: u64,
    heartbeat_due_ns: u64,
    /// The trials that this host runs by itself. They end with this process.
    trials: TrialAgent,
}

impl HostAgent {
    fn run(mut self, instructions: &Receiver<HostInstruction>) -> Result<(), WorkerError> {
        loop {
            match instructions.recv_timeout(RELAY_INTERVAL) {
                Ok(HostInstruction::End) => return self.say_goodbye(),
                Ok(instruction) => self.follow(instruction)?,
                Err(RecvTimeoutError::Timeout) => {}
                // The runner has gone, or no longer needs this host: its workers are killed.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let now_ns = read_monotonic_ns()?;
            self.notice_own_stall(now_ns)?;
            self.check_runner(now_ns)?;
            while let Some((number, event)) = self.workers.receive(Duration::ZERO) {
                self.relay(number, event, now_ns)?;
            }
            if now_ns >= self.heartbeat_due_ns {
                let activity = self.usage.read()?;
                self.reporter.send(&HostReport::Heartbeat(activity))?;
                self.heartbeat_due_ns = now_ns + HEARTBEAT_NS;
            }
        }
    }

    fn follow(&mut self, instruction: HostInstruction) -> Result<(), WorkerError> {
        match instruction {
            HostInstruction::StartWorker {
                exported,
                assignment,
            } => {
                let conditions = &assignment.spec.conditions;
                self.warm_up_ns = (conditions.warm_up_s * 1e9) as u64;
                let credentials = Credentials::import(exported);
                let program = Path::new(OWN_PROGRAM);
                let started = self.workers.start(program, &credentials, *assignment);
                started.map_err(WorkerError::Start)?;
                self.reported_ns.push(None);
                let pid = *self.workers.pids().last().unwrap_or(&0);
                self.reporter.send(&HostReport::Started { pid })?;
                self.ran_at_ns = read_monotonic_ns()?;
                Ok(())
            }
            HostInstruction::Release { at_ns } => self.release(at_ns),
            HostInstruction::Stop => {
                self.workers.send_all(&Instruction::Stop);
                Ok(())
            }
            HostInstruction::Trials { instruction } => {
                self.trials.follow(instruction, &self.reporter);
                Ok(())
            }
            HostInstruction::Ping { .. } | HostInstruction::End => Ok(()),
        }
    }

    /// Ends what still runs, and says so in the last line.
    fn say_goodbye(mut self) -> Result<(), WorkerError> {
        self.workers.kill_all();
        self.trials.close();
        let reports = self.reporter.sent();
        self.reporter.send(&HostReport::Goodbye { reports })?;
        Ok(())
    }

    /// Releases the workers at a moment that lies some milliseconds ahead. If the instruction comes
    /// too late, it says for how long the host has not run.
    fn release(&mut self, at_ns: u64) -> Result<(), WorkerError> {
        self.usage.follow(&self.workers.pids());
        let late_ns = read_monotonic_ns()?.saturating_sub(at_ns);
        if late_ns > LATE_RELEASE_NS {
            self.reporter.send(&HostReport::Stall {
                number: None,
                from_ns: at_ns,
                length_ns: late_ns,
            })?;
        }
        while let Some(left_ns) = at_ns.checked_sub(read_monotonic_ns()?) {
            if left_ns > 100_000 {
                std::thread::sleep(Duration::from_nanos(left_ns - 60_000));
            } else {
                std::hint::spin_loop();
            }
        }
        self.workers.send_all(&Instruction::Start);
        let measured_ns = at_ns + self.warm_up_ns;
        self.reported_ns.fill(Some(measured_ns));
        self.release_ns = Some(at_ns);
        (self.ran_at_ns, self.heartbeat_due_ns) = (at_ns, at_ns);
        Ok(())
    }

    /// # Errors
    /// The runner is silent for too long: the workers must not go on without it.
    fn check_runner(&self, now_ns: u64) -> Result<(), WorkerError> {
        let silent_ns = now_ns.saturating_sub(self.heard_ns.load(Ordering::Relaxed));
        if Duration::from_nanos(silent_ns) > SILENCE_TIMEOUT {
            Err(WorkerError::SilentRunner)
        } else {
            Ok(())
        }
    }

    /// Reports that this process, and with it the host, has not run for a while.
    fn notice_own_stall(&mut self, now_ns: u64) -> Result<(), WorkerError> {
        let from_ns = std::mem::replace(&mut self.ran_at_ns, now_ns);
        let length_ns = now_ns.saturating_sub(from_ns);
        if length_ns <= STALL_NS || self.release_ns.is_none() {
            return Ok(());
        }
        // The workers' silence meanwhile is the host's.
        for reported_ns in self.reported_ns.iter_mut().flatten() {
            *reported_ns = (*reported_ns).max(now_ns);
        }
        self.reporter.send(&HostReport::Stall {
            number: None,
            from_ns,
            length_ns,
        })?;
        Ok(())
    }

    fn relay(&mut self, number: usize, event: WorkerEvent, now_ns: u64) -> Result<(), WorkerError> {
        match event {
            WorkerEvent::Closed => {
                let failure = self.workers.exit_result(number).err();
                let failure = failure.map(|end| end.to_string());
                // That may have waited for its end.
                self.ran_at_ns = read_monotonic_ns()?;
                self.reporter.send(&HostReport::Ended { number, failure })?;
            }
            WorkerEvent::Report(report) => {
                self.notice_stall_of(number, &report, now_ns)?;
                self.reporter.send(&HostReport::Worker { number, report })?;
            }
        }
        Ok(())
    }

    /// Reports that a worker's process has not run for a while: its report of a second is late.
    fn notice_stall_of(
        &mut self,
        number: usize,
        report: &Report,
        now_ns: u64,
    ) -> Result<(), WorkerError> {
        let Some(last_ns) = self.reported_ns[number] else {
            return Ok(());
        };
        match report {
            Report::Second(_) => self.reported_ns[number] = Some(now_ns),
            Report::Measured(_) => self.reported_ns[number] = None,
            _ => return Ok(()),
        }
        let length_ns = now_ns.saturating_sub(last_ns + SECOND_NS);
        if length_ns <= STALL_NS {
            return Ok(());
        }
        self.reporter.send(&HostReport::Stall {
            number: Some(number),
            from_ns: last_ns + SECOND_NS,
            length_ns,
        })?;
        Ok(())
    }
}
