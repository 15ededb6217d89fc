//! The workers of a trial on other hosts, as the runner sees them.

use super::clock_offset::{RoundTrip, estimate_offset, to_host_ns, to_runner_ns};
use super::connection::{ConnectionEvent, HostAccess, HostConnection};
use super::error::HostError;
use super::protocol::{HostActivity, HostInstruction, HostReport, SILENCE_TIMEOUT};
use crate::workers::clock::read_monotonic_ns;
use crate::workers::protocol::{Assignment, ProcessResult, Report};
use crate::workers::worker_process::WorkerEvent;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use trueput_engine::Credentials;
use trueput_host::process::MemoryUsage;
use trueput_host::usage::ResourceUsage;
use trueput_record::load_generator::{ClockOffset, Stall};

/// The time that all hosts together may take to answer for the first time.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// The runner itself was away, and not the hosts, if it listens again this long after it should.
const OWN_PAUSE: Duration = Duration::from_secs(1);

/// The round trips by which a host's clock is compared.
const ROUND_TRIPS: u32 = 16;

/// The time that the answer of a ping may take.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// The time that the last message of a host may take.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that the instruction to begin may take to all hosts, beside the longest round trip,
/// nanoseconds.
const RELEASE_LEAD_NS: u64 = 50_000_000;

/// A host and its progress.
struct LoadHost {
    connection: HostConnection,
    is_closed: bool,
    /// Its last message has come, after this many that did not.
    missing_reports: Option<u64>,
    /// Why it was lost, if it was.
    loss: Option<HostError>,
    clock_before: ClockOffset,
    clock_after: ClockOffset,
    /// The host's use when it was last heard of.
    activity: HostActivity,
    /// Whether the measured part has begun.
    is_measured: bool,
    /// Its use when that began, and when its workers had ended.
    measured_from: Option<HostActivity>,
    measured_until: Option<HostActivity>,
    heard_at: Instant,
    /// Stalls: the worker's index, the start on the host's clock and the length, nanoseconds.
    stalls: Vec<(Option<u32>, u64, u64)>,
    round_trips: Vec<RoundTrip>,
}

/// A worker process on a host.
struct RemoteWorker {
    host: usize,
    /// Its number on the host.
    number: usize,
    /// The index of the first worker that it runs.
    first: u32,
    pid: u32,
    has_measured: bool,
    closed: bool,
    /// How it ended, if not well.
    failure: Option<String>,
}

/// What a host was in a trial, for its record.
pub(crate) struct HostParticipation {
    /// Its name, as the plan has it.
    pub name: String,
    /// Its own name for itself.
    pub hostname: String,
    /// The processors that its workers could use.
    pub cores: u32,
    /// Its clock before the release.
    pub clock_before: ClockOffset,
    /// Its clock after the end.
    pub clock_after: ClockOffset,
    /// The share of its processors that was used.
    pub cpu_share: Option<f64>,
    /// Its stalls.
    pub stalls: Vec<Stall>,
    /// The indices of its worker processes among those of the trial.
    pub processes: Vec<usize>,
}

/// The worker processes of a trial on other hosts. They end when it is dropped.
pub(crate) struct HostWorkers {
    hosts: Vec<LoadHost>,
    workers: Vec<RemoteWorker>,
    events: Receiver<(usize, ConnectionEvent)>,
    /// Events of workers that came while another answer was awaited.
    pending: VecDeque<(usize, WorkerEvent)>,
    /// When the runner looked for events last.
    listened_at: Instant,
    /// When the workers were released, on the runner's monotonic clock, nanoseconds.
    release_ns: Option<u64>,
}

impl HostWorkers {
    /// Connects to all hosts, and checks that each runs the program with this hash.
    ///
    /// # Errors
    /// [`HostError`] with the first host that cannot be used, and the remedy.
    pub fn connect(
        names: &[String],
        access: &HostAccess,
        worker_program: &Path,
        sha256: &str,
    ) -> Result<Self, HostError> {
        let (sender, events) = channel();
        let mut hosts = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            let sender = sender.clone();
            let opened = HostConnection::open(name, access, worker_program, index, sender);
            hosts.push(LoadHost::new(opened?));
        }
        let mut connected = Self {
            hosts,
            workers: Vec::new(),
            events,
            pending: VecDeque::new(),
            listened_at: Instant::now(),
            release_ns: None,
        };
        let answered = connected.await_hellos();
        if answered.is_err() {
            // All at once, so that none waits for the others' end.
            let all = connected.hosts.iter_mut();
            all.for_each(|host| host.connection.close_input());
        }
        answered?;
        for host in &connected.hosts {
            host.connection.check_program(sha256)?;
        }
        Ok(connected)
    }

    /// Waits until every host has said who it is.
    fn await_hellos(&mut self) -> Result<(), HostError> {
        let until = Instant::now() + ANSWER_TIMEOUT;
        let mut noise = vec![None; self.hosts.len()];
        while let Some(missing) = self.hosts.iter().find(|host| host.is_unknown()) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok((index, event)) = self.events.recv_timeout(left) else {
                return Err(missing.connection.error_of_silence(Some(ANSWER_TIMEOUT)));
            };
            let connection = &mut self.hosts[index].connection;
            match event {
                ConnectionEvent::Report(report, _) => match *report {
                    HostReport::Hello(hello) => connection.hello = Some(*hello),
                    HostReport::Failed { message } => {
                        let host = connection.name.clone();
                        return Err(HostError::Failed { host, message });
                    }
                    _ => {}
                },
                // A shell may greet, but then the program answers.
                ConnectionEvent::Noise(line) => noise[index] = Some(line),
                ConnectionEvent::Goodbye(_) => {}
                ConnectionEvent::Closed => {
                    let error = connection.error_of_end();
                    return Err(match &noise[index] {
                        Some(line) if is_end_without_reason(&error) => {
                            connection.error_of_noise(line)
                        }
                        _ => error,
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns the first host that is not this machine, if there is one.
    pub fn find_other_machine(&self) -> Option<&str> {
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let boot_id = boot_id.unwrap_or_default();
        let is_other = |host: &&LoadHost| {
            let hello = host.connection.hello.as_ref();
            hello.is_none_or(|hello| hello.boot_id != boot_id.trim())
        };
        let other = self.hosts.iter().find(is_other)?;
        Some(&other.connection.name)
    }

    /// Starts a worker process: each on the host after the last one's.
    pub fn start(&mut self, credentials: &Credentials, first: u32, assignment: Assignment) {
        let host = self.workers.len() % self.hosts.len();
        let on_host = self.workers.iter().filter(|worker| worker.host == host);
        self.workers.push(RemoteWorker {
            host,
            number: on_host.count(),
            first,
            pid: 0,
            has_measured: false,
            closed: false,
            failure: None,
        });
        self.hosts[host]
            .connection
            .send(&HostInstruction::StartWorker {
                exported: credentials.export(),
                assignment: Box::new(assignment),
            });
    }

    /// Returns the number of processes.
    pub fn len(&self) -> usize {
        self.workers.len()
    }

    /// Returns the processes' numbers on their hosts.
    pub fn pids(&self) -> Vec<u32> {
        self.workers.iter().map(|worker| worker.pid).collect()
    }

    /// Returns the name of a process's host.
    pub fn host_of(&self, index: usize) -> &str {
        &self.hosts[self.workers[index].host].connection.name
    }

    /// Compares the clocks, then releases all workers at one moment, and waits for it.
    ///
    /// # Errors
    /// [`HostError`] with a host that does not answer.
    pub fn release(&mut self) -> Result<(), HostError> {
        for (host, clock) in self.compare_clocks()?.into_iter().enumerate() {
            self.hosts[host].clock_before = clock;
        }
        let slowest = self.hosts.iter().map(|host| host.clock_before.error_ns);
        let lead_ns = RELEASE_LEAD_NS + 4 * slowest.max().unwrap_or_default();
        let release_ns = read_monotonic_ns()? + lead_ns;
        for host in &mut self.hosts {
            let at_ns = to_host_ns(release_ns, &host.clock_before);
            host.connection.send(&HostInstruction::Release { at_ns });
            host.heard_at = Instant::now();
        }
        let left_ns = release_ns.saturating_sub(read_monotonic_ns()?);
        std::thread::sleep(Duration::from_nanos(left_ns));
        self.release_ns = Some(release_ns);
        Ok(())
    }

    /// Notes that the measured part has begun: the warm-up is over.
    pub fn begin_measurement(&mut self) {
        for host in &mut self.hosts {
            host.is_measured = true;
        }
    }

    /// Compares the clocks of all hosts with this one's.
    fn compare_clocks(&mut self) -> Result<Vec<ClockOffset>, HostError> {
        for host in &mut self.hosts {
            host.round_trips.clear();
        }
        for number in 0..ROUND_TRIPS {
            let mut sent_ns = Vec::with_capacity(self.hosts.len());
            for host in &mut self.hosts {
                sent_ns.push(read_monotonic_ns()?);
                host.connection.send(&HostInstruction::Ping { number });
            }
            self.await_pongs(number, &sent_ns)?;
        }
        let offsets = self.hosts.iter().map(|host| {
            let offset = estimate_offset(&host.round_trips);
            offset.ok_or_else(|| silent(&host.connection.name, PING_TIMEOUT))
        });
        offsets.collect()
    }

    /// Waits for the answer of every host to a question that was sent to each at these times.
    fn await_pongs(&mut self, number: u32, sent_ns: &[u64]) -> Result<(), HostError> {
        let until = Instant::now() + PING_TIMEOUT;
        let is_due = |host: &&LoadHost| host.round_trips.len() <= number as usize;
        while let Some(due) = self.hosts.iter().find(is_due) {
            if due.is_closed {
                let host = due.connection.name.clone();
                let lost = self.hosts.iter_mut().find(|host| is_due(&&**host));
                let loss = lost.and_then(|host| host.loss.take());
                let message = String::new();
                return Err(loss.unwrap_or(HostError::Ended { host, message }));
            }
            let left = until.saturating_duration_since(Instant::now());
            let Ok((index, event)) = self.events.recv_timeout(left) else {
                return Err(silent(&due.connection.name, PING_TIMEOUT));
            };
            match event {
                ConnectionEvent::Report(report, received_ns) => match *report {
                    HostReport::Pong {
                        number: answered,
                        monotonic_ns,
                        wall_ns,
                    } if answered == number => self.hosts[index].round_trips.push(RoundTrip {
                        sent_ns: sent_ns[index],
                        received_ns,
                        wall_base_ns: wall_base_ns()?,
                        monotonic_ns,
                        wall_ns,
                    }),
                    report => self.note_report(index, report),
                },
                other => self.note_event(index, other),
            }
        }
        Ok(())
    }

    /// Lets all workers return as soon as possible.
    pub fn stop(&mut self) {
        for host in &mut self.hosts {
            host.connection.send(&HostInstruction::Stop);
        }
    }

    /// Waits for an event of any process, at most `limit`.
    pub fn receive(&mut self, limit: Duration) -> Option<(usize, WorkerEvent)> {
        let until = Instant::now() + limit;
        while self.pending.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let received = self.events.recv_timeout(left);
            let is_timeout = received.is_err();
            if let Ok((host, event)) = received {
                self.note_event(host, event);
            }
            self.notice_silence(left);
            if is_timeout {
                break;
            }
        }
        let (index, event) = self.pending.pop_front()?;
        self.workers[index].closed |= matches!(event, WorkerEvent::Closed);
        Some((index, event))
    }

    fn note_event(&mut self, host: usize, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Report(report, _) => self.note_report(host, *report),
            ConnectionEvent::Noise(line) => {
                let reason = self.hosts[host].connection.error_of_noise(&line);
                self.lose_host(host, reason);
            }
            ConnectionEvent::Goodbye(missing) => self.hosts[host].missing_reports = Some(missing),
            ConnectionEvent::Closed if self.hosts[host].missing_reports.is_some() => {
                self.hosts[host].is_closed = true;
            }
            ConnectionEvent::Closed => {
                let reason = self.hosts[host].connection.error_of_end();
                self.lose_host(host, reason);
            }
        }
    }

    fn note_report(&mut self, host: usize, report: HostReport) {
        self.hosts[host].heard_at = Instant::now();
        let find = |number| {
            let of_host = |worker: &RemoteWorker| worker.host == host && worker.number == number;
            self.workers.iter().position(of_host)
        };
        match report {
            HostReport::Started { pid } => {
                let mut started = self.workers.iter_mut().filter(|worker| worker.host == host);
                if let Some(worker) = started.find(|worker| worker.pid == 0) {
                    worker.pid = pid;
                }
            }
            HostReport::Worker { number, report } => {
                if let Some(index) = find(number) {
                    let is_last = matches!(*report, Report::Measured(_));
                    self.workers[index].has_measured |= is_last;
                    self.pending.push_back((index, WorkerEvent::Report(report)));
                    self.note_end_of_measurement(host);
                }
            }
            HostReport::Ended { number, failure } => {
                if let Some(index) = find(number) {
                    self.workers[index].failure = failure;
                    self.pending.push_back((index, WorkerEvent::Closed));
                }
            }
            HostReport::Heartbeat(activity) => {
                let host = &mut self.hosts[host];
                host.activity = activity;
                if host.is_measured {
                    host.measured_from.get_or_insert(activity);
                }
            }
            HostReport::Stall {
                number,
                from_ns,
                length_ns,
            } => {
                let worker = number.and_then(find).map(|index| self.workers[index].first);
                self.hosts[host].stalls.push((worker, from_ns, length_ns));
            }
            HostReport::Failed { message } => {
                let failed = HostError::Failed {
                    host: self.hosts[host].connection.name.clone(),
                    message,
                };
                self.lose_host(host, failed);
            }
            HostReport::Hello(_)
            | HostReport::Pong { .. }
            | HostReport::Trials { .. }
            | HostReport::Goodbye { .. } => {}
        }
    }

    /// Notes a host's use when the last of its workers has ended.
    fn note_end_of_measurement(&mut self, host: usize) {
        let mut of_host = self.workers.iter().filter(|worker| worker.host == host);
        if of_host.all(|worker| worker.has_measured) {
            let host = &mut self.hosts[host];
            host.measured_until.get_or_insert(host.activity);
        }
    }

    /// Ends the connection to a host from which nothing has been heard for too long. The runner has
    /// listened for at most `listened`.
    fn notice_silence(&mut self, listened: Duration) {
        let away = self.listened_at.elapsed();
        self.listened_at = Instant::now();
        if away > listened + OWN_PAUSE {
            // What came meanwhile is still to be read.
            let hosts = self.hosts.iter_mut();
            hosts.for_each(|host| host.heard_at = self.listened_at);
        }
        let is_silent =
            |host: &LoadHost| !host.is_closed && host.heard_at.elapsed() >= SILENCE_TIMEOUT;
        for index in 0..self.hosts.len() {
            if is_silent(&self.hosts[index]) {
                let reason = silent(&self.hosts[index].connection.name, SILENCE_TIMEOUT);
                self.lose_host(index, reason);
            }
        }
    }

    /// Ends the connection to a host, and with it the host's workers.
    fn lose_host(&mut self, index: usize, loss: HostError) {
        let host = &mut self.hosts[index];
        if std::mem::replace(&mut host.is_closed, true) {
            return;
        }
        host.connection.close();
        let reason = loss.to_string();
        host.loss = Some(loss);
        let lost = self.workers.iter_mut().enumerate();
        for (number, worker) in lost.filter(|(_, worker)| worker.host == index) {
            if !worker.closed {
                worker.failure.get_or_insert_with(|| reason.clone());
                self.pending.push_back((number, WorkerEvent::Closed));
            }
        }
    }

    /// Returns whether every process has ended.
    pub fn all_closed(&self) -> bool {
        self.workers.iter().all(|worker| worker.closed)
    }

    /// Ends every process that still runs, and the connections.
    pub fn kill_all(&mut self) {
        let hosts = self.hosts.iter_mut();
        hosts.for_each(|host| host.connection.close_input());
        for host in &mut self.hosts {
            host.connection.close();
            host.is_closed = true;
        }
        self.workers
            .iter_mut()
            .for_each(|worker| worker.closed = true);
    }

    /// Returns how a process ended, in the words of its host; `None` if it ended well.
    pub fn failure(&self, index: usize) -> Option<&str> {
        self.workers[index].failure.as_deref()
    }

    /// Returns resources and memory of all workers since the measured part began.
    pub fn usage(&self) -> (ResourceUsage, MemoryUsage) {
        let (mut usage, mut memory) = (ResourceUsage::default(), MemoryUsage::default());
        for host in &self.hosts {
            let before = host.measured_from.unwrap_or(host.activity);
            usage += host.activity.usage - before.usage;
            memory.rss_bytes += host.activity.memory.rss_bytes;
        }
        (usage, memory)
    }

    /// Compares the clocks again, converts the times of the results to the runner's clock, and
    /// returns what each host was in the trial.
    ///
    /// # Errors
    /// [`HostError`] with a host that does not answer.
    pub fn finish(
        &mut self,
        results: &mut [Option<ProcessResult>],
    ) -> Result<Vec<HostParticipation>, HostError> {
        for (host, clock) in self.compare_clocks()?.into_iter().enumerate() {
            self.hosts[host].clock_after = clock;
        }
        for (worker, result) in self.workers.iter().zip(results) {
            let host = &self.hosts[worker.host];
            for share in result.iter_mut().flat_map(|result| &mut result.workers) {
                share.start_ns = to_runner_ns(share.start_ns, &host.clock_before);
                share.end_ns = to_runner_ns(share.end_ns, &host.clock_after);
            }
        }
        self.await_goodbyes()?;
        let release_ns = self.release_ns.unwrap_or_default();
        let all = self.hosts.iter().enumerate();
        Ok(all
            .map(|(index, host)| host.participation(release_ns, self.processes_of(index)))
            .collect())
    }

    /// Lets all hosts end, and waits for the last message of each. Only that proves that all before
    /// it have come, and that nothing is left there.
    fn await_goodbyes(&mut self) -> Result<(), HostError> {
        let all = self.hosts.iter_mut();
        all.for_each(|host| host.connection.close_input());
        let until = Instant::now() + GOODBYE_TIMEOUT;
        let is_due = |host: &LoadHost| host.missing_reports.is_none();
        while let Some(due) = self.hosts.iter().position(is_due) {
            if let Some(loss) = self.hosts[due].loss.take() {
                return Err(loss);
            }
            let left = until.saturating_duration_since(Instant::now());
            let Ok((index, event)) = self.events.recv_timeout(left) else {
                return Err(silent(&self.hosts[due].connection.name, GOODBYE_TIMEOUT));
            };
            self.note_event(index, event);
        }
        let lossy = self.hosts.iter().find_map(|host| {
            let missing = host.missing_reports.filter(|missing| *missing > 0)?;
            Some(host.connection.error_of_loss(missing))
        });
        lossy.map_or(Ok(()), Err)
    }

    fn processes_of(&self, host: usize) -> Vec<usize> {
        let processes = self.workers.iter().enumerate();
        let processes = processes.filter(|(_, worker)| worker.host == host);
        processes.map(|(index, _)| index).collect()
    }
}

impl LoadHost {
    fn new(connection: HostConnection) -> Self {
        Self {
            connection,
            is_closed: false,
            missing_reports: None,
            loss: None,
            clock_before: ClockOffset::default(),
            clock_after: ClockOffset::default(),
            activity: HostActivity::default(),
            is_measured: false,
            measured_from: None,
            measured_until: None,
            heard_at: Instant::now(),
            stalls: Vec::new(),
            round_trips: Vec::new(),
        }
    }

    fn is_unknown(&self) -> bool {
        self.connection.hello.is_none()
    }

    fn participation(&self, release_ns: u64, processes: Vec<usize>) -> HostParticipation {
        let hello = self.connection.hello.as_ref();
        let cores = hello.map_or(1, |hello| hello.cores);
        let stalls = self.stalls.iter().map(|(worker, from_ns, length_ns)| {
            let from_ns = to_runner_ns(*from_ns, &self.clock_before);
            Stall {
                worker: *worker,
                from_s: from_ns.saturating_sub(release_ns) as f64 / 1e9,
                length_s: *length_ns as f64 / 1e9,
            }
        });
        HostParticipation {
            name: self.connection.name.clone(),
            hostname: hello.map_or_else(String::new, |hello| hello.hostname.clone()),
            cores,
            clock_before: self.clock_before,
            clock_after: self.clock_after,
            cpu_share: self.cpu_share(cores),
            stalls: stalls.collect(),
            processes,
        }
    }

    /// Returns the share of the host's processors that was used while its workers were measured.
    fn cpu_share(&self, cores: u32) -> Option<f64> {
        let (from, until) = self.measured_from.zip(self.measured_until)?;
        let elapsed_s = until.at_ns.saturating_sub(from.at_ns) as f64 / 1e9;
        let busy_s = until.busy_s? - from.busy_s?;
        (elapsed_s > 0.0).then(|| (busy_s / elapsed_s / f64::from(cores)).clamp(0.0, 1.0))
    }
}

/// Whether a host ended in a way that only its own words can explain.
fn is_end_without_reason(error: &HostError) -> bool {
    matches!(error, HostError::Ended { .. } | HostError::NoGoodbye { .. })
}

fn silent(name: &str, limit: Duration) -> HostError {
    HostError::Silent {
        host: name.to_owned(),
        limit,
    }
}

/// Returns the wall clock minus the monotonic clock of this host, nanoseconds.
fn wall_base_ns() -> Result<i64, HostError> {
    let wall_ns = i64::try_from(jiff::Timestamp::now().as_nanosecond());
    let wall_ns = wall_ns.map_err(|_| HostError::WallClock)?;
    Ok(wall_ns - read_monotonic_ns()? as i64)
}
