//! Samples the worker processes and the machine once a second.
//!
//! A sample must stay cheap: the sampler competes with the workers for the processors.

use crate::evidence::database_size::measure_small_database;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueput_host::disk::Disk;
use trueput_host::io_wait::{IoWaitSampler, IoWaitSamples};
use trueput_host::kernel_threads::KernelThreads;
use trueput_host::placement;
use trueput_host::pressure::{CpuSet, ProcessorTimes, read_pressure, read_processor_times};
use trueput_host::process::{self, MemoryUsage, ThreadContextSwitches};
use trueput_host::process_tree::ProcessTree;
use trueput_host::usage::ResourceUsage;
use trueput_record::Conditions;
use trueput_record::accounting::{Device, OtherPrograms, Pressure};
use trueput_record::storage_model::is_in_folder;

/// The maximum number of files of a database that are counted every second.
const MAX_FILES: u64 = 10_000;

/// Adding up the proportional set sizes of large maps and listing many threads are slow: each may
/// take one part in this many of the time.
const COST_DIVISOR: u32 = 50;

/// The interval between samples of I/O waits.
const IO_WAIT_INTERVAL: Duration = Duration::from_millis(40);

/// The resources of a trial's workers since the release, and the gauges of one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sample {
    /// The resources.
    pub usage: ResourceUsage,
    /// The machine's activity.
    pub host_activity: HostActivity,
    /// The values of this moment.
    pub gauges: Gauges,
}

/// The machine's activity since the release, if the kernel reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct HostActivity {
    /// The database's device.
    pub device: Option<Device>,
    /// The log's device, if it is another.
    pub log_device: Option<Device>,
    /// Times that tasks waited.
    pub pressure: Option<Pressure>,
    /// Processor time that other programs used.
    pub neighbors: Option<OtherPrograms>,
    /// Samples in which workers waited for I/O.
    pub io_waits: IoWaitSamples,
    /// Time that the workers' threads waited for a processor, seconds; `None` if a server works for
    /// them.
    pub run_delay_s: Option<f64>,
}

/// Values of one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gauges {
    /// Memory of the processes that live.
    pub memory: MemoryUsage,
    /// Blocks of the database's files, bytes.
    pub database_allocated_bytes: Option<u64>,
    /// Runnable tasks of the machine.
    pub runnable_tasks: Option<u32>,
}

/// A process that is sampled.
pub(crate) struct SampledProcess {
    /// Its number.
    pub pid: u32,
    /// Whether a worker has started it. Its I/O counts as the worker's, who waits for it, once it
    /// has ended.
    is_native: bool,
    threads: ThreadContextSwitches,
    /// All but its I/O at the release, and the time when it was last seen.
    first: ResourceUsage,
    last: ResourceUsage,
    /// Its I/O.
    first_io: ResourceUsage,
    last_io: ResourceUsage,
    /// Time that its threads have waited for a processor, nanoseconds.
    first_run_delay_ns: u64,
    last_run_delay_ns: u64,
}

impl SampledProcess {
    /// Reads the initial values of a process.
    pub fn new(pid: u32, is_native: bool) -> Self {
        let mut process = Self {
            pid,
            is_native,
            threads: ThreadContextSwitches::default(),
            first: ResourceUsage::default(),
            last: ResourceUsage::default(),
            first_io: ResourceUsage::default(),
            last_io: ResourceUsage::default(),
            first_run_delay_ns: 0,
            last_run_delay_ns: 0,
        };
        process.poll();
        process.first = process.last;
        process.first_io = process.last_io;
        process.first_run_delay_ns = process.last_run_delay_ns;
        process
    }

    /// Reads its resources; of one that has gone the last ones stay. While it is buried the kernel
    /// says zeros.
    pub fn poll(&mut self) {
        let now = process::read_cpu_and_faults(self.pid).unwrap_or_default();
        if now.minor_page_faults >= self.last.minor_page_faults {
            self.last = now;
        }
        let switches = self.threads.read(self.pid);
        self.last.voluntary_context_switches = switches.voluntary;
        self.last.involuntary_context_switches = switches.involuntary;
        self.last_run_delay_ns = switches.run_delay_ns;
        self.last_io = process::read_io(self.pid).unwrap_or(self.last_io);
    }

    /// Returns the time that its threads waited for a processor since the release, seconds.
    fn run_delay_s(&self) -> f64 {
        self.last_run_delay_ns
            .saturating_sub(self.first_run_delay_ns) as f64
            / 1e9
    }

    /// Returns the resources used since the release.
    pub fn usage(&self, lives: bool) -> ResourceUsage {
        let usage = self.last - self.first;
        if lives || !self.is_native {
            usage + (self.last_io - self.first_io)
        } else {
            usage
        }
    }
}

/// The resources of a server's processes since the release, and their highest memory.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServerUsage {
    /// The resources.
    pub usage: ResourceUsage,
    /// The highest sums.
    pub peak: MemoryUsage,
    /// The memory when it was last read.
    pub memory: MemoryUsage,
}

/// Samples a server's processes.
struct ServerSampler {
    tree: ProcessTree,
    first: ResourceUsage,
    server_usage: ServerUsage,
}

impl ServerSampler {
    fn new(pid: u32) -> Self {
        let mut tree = ProcessTree::new(pid);
        Self {
            first: tree.poll(),
            tree,
            server_usage: ServerUsage::default(),
        }
    }

    /// Adds the use since the release to `sample`.
    fn add_to(&mut self, sample: &mut Sample) {
        let usage = self.tree.poll() - self.first;
        self.server_usage.usage = usage;
        sample.usage += usage;
        sample.gauges.memory.rss_bytes += self.tree.rss_bytes();
    }

    fn memory(&mut self) -> MemoryUsage {
        let (now, peak) = (self.tree.memory(), self.server_usage.peak);
        self.server_usage.memory = now;
        self.server_usage.peak = MemoryUsage {
            pss_bytes: peak.pss_bytes.max(now.pss_bytes),
            rss_bytes: peak.rss_bytes.max(now.rss_bytes),
            max_rss_bytes: peak.max_rss_bytes.max(now.max_rss_bytes),
        };
        now
    }
}

/// The machine's counters at one moment.
#[derive(Debug, Clone, Copy, Default)]
struct HostCounters {
    device: Option<Device>,
    log_device: Option<Device>,
    pressure: Option<Pressure>,
    processors: Option<ProcessorTimes>,
    /// CPU of the kernel's threads since they are watched, seconds.
    kernel_threads_s: Option<f64>,
    /// CPU of the runner itself and of its servers of modeled storage, seconds.
    runner_cpu_s: f64,
    /// CPU of its ended children, seconds.
    buried_cpu_s: f64,
}

impl HostCounters {
    fn since(&self, before: &Self) -> Self {
        let device = |now: Option<Device>, then: Option<Device>| Some(now?.since(&then?));
        let processors = self.processors.zip(before.processors);
        let kernel = self.kernel_threads_s.zip(before.kernel_threads_s);
        Self {
            device: device(self.device, before.device),
            log_device: device(self.log_device, before.log_device),
            pressure: self
                .pressure
                .zip(before.pressure)
                .map(|(now, then)| now.since(&then)),
            processors: processors.map(|(now, then)| ProcessorTimes {
                busy_s: now.busy_s - then.busy_s,
                steal_s: now.steal_s - then.steal_s,
                ..now
            }),
            kernel_threads_s: kernel.map(|(now, then)| now - then),
            runner_cpu_s: self.runner_cpu_s - before.runner_cpu_s,
            buried_cpu_s: self.buried_cpu_s - before.buried_cpu_s,
        }
    }

    fn plus(&self, more: &Self) -> Self {
        let device = |one: Option<Device>, two: Option<Device>| Some(one?.plus(&two?));
        let processors = self.processors.zip(more.processors);
        let kernel = self.kernel_threads_s.zip(more.kernel_threads_s);
        Self {
            device: device(self.device, more.device),
            log_device: device(self.log_device, more.log_device),
            pressure: self
                .pressure
                .zip(more.pressure)
                .map(|(one, two)| one.plus(&two)),
            processors: processors.map(|(one, two)| ProcessorTimes {
                busy_s: one.busy_s + two.busy_s,
                steal_s: one.steal_s + two.steal_s,
                ..one
            }),
            kernel_threads_s: kernel.map(|(one, two)| one + two),
            runner_cpu_s: self.runner_cpu_s + more.runner_cpu_s,
            buried_cpu_s: self.buried_cpu_s + more.buried_cpu_s,
        }
    }
}

/// The sources of the counters of the machine.
struct HostProbes {
    /// The processors that the trial may use.
    cpus: CpuSet,
    kernel_threads: Option<KernelThreads>,
    disk: Option<Disk>,
    log: LogDisk,
    /// The processes that serve modeled storage.
    storage_servers: Vec<u32>,
}

/// The disk of the log.
enum LogDisk {
    /// The database's disk.
    Same,
    /// Another disk, or none: a log on a tmpfs.
    Apart(Option<Disk>),
}

impl HostProbes {
    fn new(pids: &[u32], directory: &Path, log_directory: Option<&Path>) -> Self {
        let cpus = match placement::list_cpus_of_all(pids).as_slice() {
            // The workers have gone already.
            [] => CpuSet::all(),
            cpus => CpuSet::of(cpus),
        };
        let disk = Disk::below(directory);
        let log = match log_directory.map(Disk::below) {
            Some(log) if log != disk => LogDisk::Apart(log),
            _ => LogDisk::Same,
        };
        Self {
            kernel_threads: KernelThreads::start(&cpus),
            cpus,
            disk,
            log,
            storage_servers: Vec::new(),
        }
    }

    /// Returns the CPU of the servers of modeled storage, seconds; none of those that have ended.
    fn storage_servers_cpu_s(&self) -> f64 {
        let pids = self.storage_servers.iter();
        let used = pids.filter_map(|pid| process::read_cpu_and_faults(*pid));
        used.map(|usage| usage.cpu_s()).sum()
    }

    fn counters(&mut self) -> HostCounters {
        let cpu_s = |usage: Option<ResourceUsage>| usage.unwrap_or_default().cpu_s();
        let own_cpu_s = cpu_s(process::read_cpu_and_faults(std::process::id()));
        let servers_cpu_s = self.storage_servers_cpu_s();
        let with_buried_s = cpu_s(process::read_cpu_and_faults_with_ended(std::process::id()));
        let threads = self.kernel_threads.as_mut();
        HostCounters {
            device: self.disk.as_ref().and_then(Disk::counters),
            log_device: match &self.log {
                LogDisk::Same => None,
                LogDisk::Apart(disk) => {
                    let counted = disk.as_ref().and_then(Disk::counters);
                    Some(counted.unwrap_or_default())
                }
            },
            pressure: read_pressure(),
            processors: read_processor_times(&self.cpus),
            kernel_threads_s: threads.and_then(|threads| threads.used_s(&self.cpus)),
            runner_cpu_s: own_cpu_s + servers_cpu_s,
            buried_cpu_s: (with_buried_s - own_cpu_s).max(0.0),
        }
    }
}

/// Samples worker processes and the machine.
pub(crate) struct Sampler {
    processes: Vec<SampledProcess>,
    /// The engine's server, if there is one.
    server: Option<ServerSampler>,
    /// Resources and memory of workers on other hosts since the release.
    remote: (ResourceUsage, MemoryUsage),
    directory: PathBuf,
    probes: HostProbes,
    /// The counters at the release, plus what they counted between time slices since.
    first: HostCounters,
    /// The counters at the end of the last time slice; `None` during one.
    slice_end: Option<HostCounters>,
    samples: Vec<Sample>,
    io_wait_sampler: IoWaitSampler,
    /// When the next sample of I/O waits is due.
    io_wait_due: Instant,
    /// Whether the machine's activity is reported: not if the trial runs elsewhere.
    reports_host_activity: bool,
    /// The machine's activity until the last worker ended.
    total: Option<HostActivity>,
    /// When the memory is added up again.
    memory_due: Instant,
}

impl Sampler {
    /// Reads the initial values of the processes `pids`, of the `natives` that they have started,
    /// and of the machine at the release. The database is in `directory`, its log in
    /// `log_directory` if that is separate.
    pub fn new(
        pids: &[u32],
        natives: &[u32],
        directory: &Path,
        log_directory: Option<&Path>,
    ) -> Self {
        let workers = pids.iter().map(|pid| SampledProcess::new(*pid, false));
        let natives = natives.iter().map(|pid| SampledProcess::new(*pid, true));
        let mut probes = HostProbes::new(pids, directory, log_directory);
        Self {
            processes: workers.chain(natives).collect(),
            server: None,
            remote: Default::default(),
            directory: directory.to_owned(),
            first: probes.counters(),
            slice_end: None,
            probes,
            samples: Vec::new(),
            io_wait_sampler: IoWaitSampler::default(),
            io_wait_due: Instant::now(),
            reports_host_activity: true,
            total: None,
            memory_due: Instant::now(),
        }
    }

    /// Omits disks, pressure and neighbors of a trial whose work is on other machines; and disks of
    /// one whose files are shown with the delays of a model, which is not on these.
    pub fn omit_foreign_activity(&mut self, conditions: &Conditions, has_server: bool) {
        self.reports_host_activity = conditions.hosts.is_none() || has_server;
        if is_in_folder(conditions.storage_model.as_deref()) {
            (self.probes.disk, self.probes.log) = (None, LogDisk::Same);
        }
    }

    /// Notes the counters of the machine: from now on they count for other contenders.
    pub fn end_slice(&mut self) {
        if self.reports_host_activity && self.total.is_none() {
            self.slice_end = Some(self.probes.counters());
        }
    }

    /// Leaves out what the machine has counted since the end of the last time slice.
    pub fn begin_slice(&mut self) {
        if let Some(before) = self.slice_end.take() {
            let now = self.probes.counters();
            self.first = self.first.plus(&now.since(&before));
        }
    }

    /// Includes these resources and this memory of workers on other hosts from the next sample on.
    pub fn set_remote(&mut self, usage: ResourceUsage, memory: MemoryUsage) {
        self.remote = (usage, memory);
    }

    /// Includes the server with that main process.
    pub fn follow_server(&mut self, pid: Option<u32>) {
        self.server = pid.map(ServerSampler::new);
    }

    /// Counts these servers of modeled storage with the runner: they are no neighbors, although a
    /// fast model keeps a processor busy.
    pub fn follow_storage_servers(&mut self, pids: Vec<u32>) {
        self.probes.storage_servers = pids;
        self.first.runner_cpu_s += self.probes.storage_servers_cpu_s();
    }

    /// Returns the resources of the server between release and end; `None` if there is none.
    pub fn server(&mut self) -> Option<ServerUsage> {
        self.finish();
        self.server.as_ref().map(|server| server.server_usage)
    }

    /// Returns the number of samples.
    pub fn seconds(&self) -> usize {
        self.samples.len()
    }

    /// Samples whether any worker waits for I/O, if that is due.
    pub fn poll(&mut self) {
        let began = Instant::now();
        if began < self.io_wait_due || self.total.is_some() {
            return;
        }
        let workers = self.processes.iter().map(|process| process.pid);
        let server = self.server.iter().flat_map(|server| server.tree.pids());
        self.io_wait_sampler.sample(workers.chain(server));
        self.io_wait_due = began + IO_WAIT_INTERVAL.max(pause_after(began.elapsed()));
    }

    /// Takes the sample of the next whole second. An ended process counts with its last values, and
    /// without memory.
    pub fn sample(&mut self) {
        let mut sample = self.sample_processes();
        let now = self.probes.counters();
        sample.host_activity = self.host_activity(&now, sample.usage.cpu_s());
        sample.gauges.runnable_tasks = now.processors.and_then(|all| all.runnable_tasks);
        let size = measure_small_database(&self.directory, MAX_FILES);
        // Files come and go while an engine works: a folder that cannot be read has no size.
        let size = size.ok().flatten();
        sample.gauges.database_allocated_bytes = size.map(|size| size.allocated_bytes);
        self.add_memory(&mut sample.gauges.memory);
        self.samples.push(sample);
    }

    /// Notes the machine's activity at the end of the last worker.
    pub fn finish(&mut self) {
        if self.total.is_none() {
            let sample_processes = self.sample_processes();
            self.server.as_mut().map(ServerSampler::memory);
            let now = self.probes.counters();
            self.total = Some(self.host_activity(&now, sample_processes.usage.cpu_s()));
        }
    }

    /// Returns the samples, one per whole second, and the machine's activity between release and
    /// end.
    pub fn into_samples(mut self) -> (Vec<Sample>, HostActivity) {
        self.finish();
        (self.samples, self.total.unwrap_or_default())
    }

    fn sample_processes(&mut self) -> Sample {
        let mut sample = Sample::default();
        for process in &mut self.processes {
            process.poll();
            let rss_bytes = process::read_rss_bytes(process.pid);
            sample.usage += process.usage(rss_bytes.is_some());
            sample.gauges.memory.rss_bytes += rss_bytes.unwrap_or_default();
        }
        if let Some(server) = &mut self.server {
            server.add_to(&mut sample);
        }
        let (usage, memory) = self.remote;
        sample.usage += usage;
        sample.gauges.memory.rss_bytes += memory.rss_bytes;
        sample
    }

    fn host_activity(&self, now: &HostCounters, workers_s: f64) -> HostActivity {
        let own = HostActivity {
            io_waits: self.io_wait_sampler.samples,
            run_delay_s: match self.server {
                None => Some(self.processes.iter().map(SampledProcess::run_delay_s).sum()),
                Some(_) => None,
            },
            ..HostActivity::default()
        };
        if !self.reports_host_activity {
            return own;
        }
        let passed = now.since(&self.first);
        let kernel_s = passed.kernel_threads_s.map(|used_s| used_s.max(0.0));
        let buried_s = passed.buried_cpu_s;
        let ours_s = workers_s + passed.runner_cpu_s;
        let not_others_s = ours_s + self.unseen_s(buried_s) + kernel_s.unwrap_or_default();
        HostActivity {
            device: passed.device,
            log_device: passed.log_device,
            pressure: passed.pressure,
            neighbors: passed.processors.map(|used| OtherPrograms {
                cpu_s: (used.busy_s - not_others_s).max(0.0),
                kernel_s,
                steal_s: used.steal_s.max(0.0),
            }),
            ..own
        }
    }

    /// Returns the CPU of our processes between the moment when they were last seen and their end,
    /// out of the `buried_s` seconds of all processes that ended since the release: it is not a
    /// neighbor's.
    fn unseen_s(&self, buried_s: f64) -> f64 {
        let is_gone = |one: &&SampledProcess| !Path::new(&format!("/proc/{}", one.pid)).exists();
        let gone = self.processes.iter().filter(is_gone);
        let seen = gone.map(|one| one.last.cpu_s());
        (buried_s - seen.sum::<f64>()).max(0.0)
    }

    /// Adds up the proportional set sizes, unless the last time took so long that it is too early.
    fn add_memory(&mut self, memory: &mut MemoryUsage) {
        let began = Instant::now();
        if began < self.memory_due {
            return;
        }
        let all = self.processes.iter();
        let mut all: Vec<MemoryUsage> = all.filter_map(|it| process::read_memory(it.pid)).collect();
        all.extend(self.server.as_mut().map(ServerSampler::memory));
        all.push(self.remote.1);
        memory.pss_bytes = all.iter().map(|one| one.pss_bytes).sum();
        memory.rss_bytes = all.iter().map(|one| one.rss_bytes).sum();
        self.memory_due = began + pause_after(began.elapsed());
    }
}

/// Returns the interval after which a task that took that long may run again.
fn pause_after(took: Duration) -> Duration {
    took * COST_DIVISOR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ended_keeps_what_it_had_used_and_has_no_memory() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("data"), [1; 4096]).unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pids = [child.id(), std::process::id()];
        let mut sampler = Sampler::new(&pids, &[], folder.path(), None);
        sampler.sample();
        child.kill().unwrap();
        child.wait().unwrap();
        sampler.memory_due = Instant::now();
        sampler.sample();
        let (samples, host_activity) = sampler.into_samples();
        assert!(samples[1].gauges.memory.pss_bytes > 0);
        assert!(samples[1].usage.user_cpu_s >= samples[0].usage.user_cpu_s);
        let switches = |sample: &Sample| sample.usage.voluntary_context_switches;
        assert!(switches(&samples[1]) >= switches(&samples[0]));
        assert_eq!(samples[0].gauges.database_allocated_bytes, Some(4096));
        assert!(host_activity.neighbors.is_some());
    }

    #[test]
    fn what_a_process_used_after_it_was_last_seen_is_no_neighbor_s() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sh")
            .args([
                "-c",
                "read go; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done",
            ])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut sampler = Sampler::new(&[child.id()], &[], folder.path(), None);
        let first = sampler.first;
        drop(child.stdin.take());
        child.wait().unwrap();
        sampler.sample_processes();
        let now = sampler.probes.counters();
        let buried_s = now.buried_cpu_s - first.buried_cpu_s;
        // Other tests of this process may bury children meanwhile: never less than this one's.
        assert!(buried_s > 0.05, "{buried_s}");
        assert!(sampler.unseen_s(buried_s) > 0.05, "{buried_s}");
        assert_eq!(sampler.unseen_s(0.0), 0.0);
    }

    #[test]
    fn what_a_server_of_modeled_storage_uses_is_no_neighbor_s() {
        use std::io::{BufRead, BufReader};
        let folder = tempfile::tempdir().unwrap();
        let mut server = std::process::Command::new("sh")
            .args([
                "-c",
                "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo; read end",
            ])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let new = || Sampler::new(&[std::process::id()], &[], folder.path(), None);
        let mut sampler = new();
        assert_eq!(sampler.probes.storage_servers_cpu_s(), 0.0);
        sampler.follow_storage_servers(vec![server.id()]);
        let mut worked = BufReader::new(server.stdout.take().unwrap());
        worked.read_line(&mut String::new()).unwrap();
        let own = process::read_cpu_and_faults(std::process::id()).unwrap();
        let counted = sampler.probes.counters();
        // Other threads of this process may work meanwhile: never less than the server.
        assert!(
            counted.runner_cpu_s > own.cpu_s() + 0.05,
            "{counted:?}, {own:?}"
        );
        // What it used before a trial does not count.
        let mut late = new();
        let before_s = late.first.runner_cpu_s;
        late.follow_storage_servers(vec![server.id()]);
        assert!(late.first.runner_cpu_s > before_s + 0.05, "{before_s}");
        drop(server.stdin.take());
        server.wait().unwrap();
        assert_eq!(sampler.probes.storage_servers_cpu_s(), 0.0);
    }

    #[test]
    fn a_log_apart_has_a_device_of_its_own_and_one_on_a_tmpfs_counts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let pids = [std::process::id()];
        let device = |log: Option<&Path>| {
            let sampler = Sampler::new(&pids, &[], folder.path(), log);
            sampler.into_samples().1.log_device
        };
        assert_eq!(device(None), None);
        assert_eq!(device(Some(folder.path())), None);
        let memory = Path::new("/dev/shm");
        if Disk::below(folder.path()).is_none() || !memory.is_dir() {
            eprintln!("skipped: it needs a folder on a device and a tmpfs");
            return;
        }
        assert_eq!(device(Some(memory)), Some(Device::default()));
    }

    #[test]
    fn a_folder_with_delays_is_on_no_disk_of_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let (pids, log) = ([std::process::id()], Some(Path::new("/dev/shm")));
        let mut sampler = Sampler::new(&pids, &[], folder.path(), log);
        let conditions = Conditions {
            storage_model: Some("folder:hdd-7200".to_owned()),
            ..Conditions::default()
        };
        sampler.omit_foreign_activity(&conditions, false);
        let activity = sampler.into_samples().1;
        assert_eq!((activity.device, activity.log_device), (None, None));
        // The control: the rest of the machine is there.
        assert!(activity.neighbors.is_some());
    }

    #[test]
    fn memory_that_took_a_fiftieth_of_a_second_is_added_up_every_second() {
        assert_eq!(
            pause_after(Duration::from_millis(20)),
            Duration::from_secs(1)
        );
        assert!(pause_after(Duration::from_millis(200)) > Duration::from_secs(9));
    }

    /// This is not a claim on seconds: it prints the cost of a sample on this machine.
    #[test]
    fn what_a_sample_costs_is_told() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..20 {
            std::fs::write(folder.path().join(number.to_string()), "data").unwrap();
        }
        let mut sampler = Sampler::new(&[std::process::id()], &[], folder.path(), None);
        let (cpu, began) = (sampler.probes.counters().runner_cpu_s, Instant::now());
        for _ in 0..200 {
            sampler.sample();
        }
        let elapsed_us = began.elapsed().as_micros() / 200;
        let cpu_us = (sampler.probes.counters().runner_cpu_s - cpu) * 1e6 / 200.0;
        println!("a sample takes {elapsed_us} us, of which {cpu_us:.0} us CPU");
        assert_eq!(sampler.seconds(), 200);
    }
}
