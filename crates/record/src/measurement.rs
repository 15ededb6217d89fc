//! What a trial yielded. One [`TrialRecord`] is one line of `trials.jsonl`.

use crate::accounting::{CacheUse, ColdStart, Device, MemoryUse, OtherPrograms, Pressure};
use crate::filesystem::MountedFileSystem;
use crate::flush_evidence::FlushEvidence;
use crate::hardware_limits::HardwareLimits;
use crate::placement::{AllocatorReport, Placement};
use crate::recovery::{EventRecord, Recovery};
use crate::{Isolation, Promise, TrialSpec, Value, VerifyLevel};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One line of `trials.jsonl`: a trial, how it ended, and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// What was to be done.
    pub spec: TrialSpec,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it continued an interrupted trial in a database that was there. The rates then
    /// speak of the remainder only, and the trial is never ranked.
    #[serde(default)]
    pub resumed: bool,
    /// When its workers were released, RFC 3339 in UTC.
    pub started_at: String,
    /// The file system that its database lay on; absent where that was the work folder's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<MountedFileSystem>,
    /// The file system that the engine's log lay on; absent where that was the database's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_file_system: Option<MountedFileSystem>,
    /// The engine as it described itself; absent if it never opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineReport>,
    /// The conformance suite that its engine passed at its level with its knobs; absent in older
    /// records, and where it was not passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conformance: Option<Conformance>,
    /// What the machine could do at most for this many workers and such commits, measured in this
    /// run on the same file system; absent where that was not asked for or could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_limits: Option<HardwareLimits>,
    /// What was loaded before the workers started, where the workload says so; absent where nothing
    /// was, and where the database of the trial before was used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadReport>,
    /// What was measured; absent if the workers never finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measurement: Option<Measurement>,
    /// What the verification said; absent if it was off or never reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
}

/// A conformance suite that was passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conformance {
    /// When, RFC 3339 in UTC.
    pub passed_at: String,
    /// How many checks there were.
    pub checks: usize,
    /// Whether that was in an earlier run of the same program on the same files of the engine.
    pub cached: bool,
}

impl TrialRecord {
    /// Whether the trial may be in a ranking: it ended well, was verified, ran from an empty
    /// database, and its histograms are there.
    #[must_use]
    pub fn is_rankable(&self) -> bool {
        let measurement = self.measurement.as_ref();
        self.outcome == Outcome::Valid
            && !self.resumed
            && measurement.is_some_and(|measured| !measured.lacks_histograms)
            && self
                .verification
                .as_ref()
                .is_some_and(|verification| verification.passed)
    }
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// It ran to its end and every check that was asked for passed.
    Valid,
    /// It ran to its end, but its numbers must not be believed.
    Invalid {
        /// Why, one sentence each.
        reasons: Vec<String>,
    },
    /// It did not run to its end.
    Failed {
        /// Which part failed and why, in one sentence.
        reason: String,
        /// Whether the trial's own input was the reason: the plan's mistake, not the engine's.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        bad_input: bool,
    },
    /// The user stopped it.
    Interrupted,
}

/// The engine as it described itself when the trial opened it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineReport {
    /// The version that the library itself reports.
    pub version: String,
    /// Where the code came from: `compiled in`, or the library's path.
    pub origin: String,
    /// SHA-256 of the library or server file, or of this program where the engine is compiled in;
    /// hex. Empty for a user's server.
    pub sha256: String,
    /// Whether the library was compiled with its assertions, which cost speed, so that it is no
    /// fair baseline; absent if that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assertions: Option<bool>,
    /// What trueput's driver does with these knobs that the engine's own users may not need and
    /// that shapes its rates, as a clause; absent where it does nothing of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workaround: Option<String>,
    /// The fault of the engine that can lose records or make it answer wrongly with these knobs, as
    /// a clause; absent where none is known, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_defect: Option<String>,
    /// What each commit promised.
    pub promise: Promise,
    /// What its transactions never showed each other, as the driver states it for these knobs;
    /// absent where nothing is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Settings as the engine reports them back, not as we asked.
    pub settings: BTreeMap<String, Value>,
    /// The engine's own counters when the workers had ended.
    #[serde(default)]
    pub counters: BTreeMap<String, Value>,
}

/// What was loaded before the workers started, by one process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Records put.
    pub records: u64,
    /// Bytes of their keys and values.
    pub user_bytes: u64,
    /// From the database's opening to its closing, seconds.
    pub elapsed_s: f64,
    /// What the loading process used, and the engine's server meanwhile.
    pub resources: Resources,
    /// The database's size on disk after the load.
    pub database: DatabaseSize,
}

/// The figures of one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// From the first worker's start to the last worker's end, seconds.
    pub elapsed_s: f64,
    /// Per kind of operation, in the workload's order.
    pub operations: Vec<OperationSummary>,
    /// Whether the histograms that its latencies were drawn from are gone, so that nothing is
    /// checked against them. It is found where a run folder is read, and never written.
    #[serde(skip)]
    pub lacks_histograms: bool,
    /// Commits that the workload made, each of which the level of durability speaks of; absent
    /// where the workload does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// How an open loop kept its rate; absent for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// What the workload found (answers, totals), by name.
    pub results: BTreeMap<String, Value>,
    /// Conflicts that the engine reported, deadlocks among them; each was retried and is no
    /// failure.
    pub conflicts: u64,
    /// How many of the conflicts the engine called deadlocks; 0 in older records, and where the
    /// engine does not tell them from other conflicts.
    #[serde(default)]
    pub deadlocks: u64,
    /// What the workers' processes, and those of the engine's server, used between start and end,
    /// summed.
    pub resources: Resources,
    /// What of it the processes of the engine's server used; absent where the engine is a library,
    /// or its server the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Resources>,
    /// Where they ran and where their memory lay; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Their memory allocator; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<AllocatorReport>,
    /// The database's size on disk after the workers ended.
    pub database: DatabaseSize,
    /// Bytes of keys and values that the workers asked of the engine; absent where the workload
    /// does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_read_bytes: Option<u64>,
    /// Bytes of keys and values that the workers handed to the engine; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_written_bytes: Option<u64>,
    /// Bytes of keys and values that the database held when the workers had ended; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_user_bytes: Option<u64>,
    /// What the database's block device did between release and end; absent where its file system
    /// is on none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// What the block device of the engine's log did meanwhile; absent where that is the
    /// database's. Of a log on no device, as on a tmpfs, all is 0 and flushes are absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_device: Option<Device>,
    /// Whether flushes and writes explain the commits; absent at levels whose commits wait for no
    /// flush, where the workload does not count its commits, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_evidence: Option<FlushEvidence>,
    /// What the machine's tasks waited for meanwhile; absent where the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    /// What others used of the machine's processors meanwhile; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbors: Option<OtherPrograms>,
    /// How the trial got along with its memory limit; absent where it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryUse>,
    /// What the engine's own cache was asked; absent if it has none or does not tell, and in
    /// older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheUse>,
    /// How cold it started; absent where it started warm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_start: Option<ColdStart>,
    /// How the database came back from the crash; absent where there was to be none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// What the engine did by itself between release and end, in that order: checkpoints, flushes,
    /// compactions. Absent where it does not tell; empty where it tells of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<EventRecord>>,
    /// One entry per second of the run, and one for the remainder.
    pub timeline: Vec<TimelineSecond>,
    /// Per worker.
    pub workers: Vec<WorkerReport>,
}

impl Measurement {
    /// The summary of one kind of operation.
    #[must_use]
    pub fn operation(&self, kind: &str) -> Option<&OperationSummary> {
        self.operations
            .iter()
            .find(|operation| operation.kind == kind)
    }

    /// Flushes that the device completed that a commit waits for: the log's, where it has one of
    /// its own; `None` if they are not counted.
    #[must_use]
    pub fn log_flushes(&self) -> Option<u64> {
        self.log_device.or(self.device)?.flushes
    }
}

/// Count, rate and latency of one kind of operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationSummary {
    /// The workload's name for it: `read`, `update`, …
    pub kind: String,
    /// How many were done, all workers.
    pub count: u64,
    /// `count` over the trial's elapsed time.
    pub per_s: f64,
    /// Service time: from the worker's start of the operation to its end. It says nothing of the
    /// wait that users at a fixed rate would see; [`OpenLoop`] does.
    pub latency: LatencySummary,
}

/// How an open loop kept its rate, and the response times that its users would have seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Units of work that became due per second, as asked.
    pub rate_per_s: f64,
    /// When each became due: `constant` or `poisson`.
    pub arrival: String,
    /// Units begun.
    pub issued: u64,
    /// Units that were due and not begun when the time was up.
    pub backlog: u64,
    /// How long the oldest of them had waited then, seconds.
    pub oldest_wait_s: f64,
    /// Per kind of unit. The first kind has the backlog in it, with the time that it had waited at
    /// the end: those response times are lower bounds.
    pub responses: Vec<ResponseSummary>,
}

/// Response times of one kind of unit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResponseSummary {
    /// The workload's name for it.
    pub kind: String,
    /// How many there are, the backlog's included.
    pub count: u64,
    /// From when the unit was due to its end.
    pub latency: LatencySummary,
}

/// Figures drawn from a latency histogram, nanoseconds. The histogram itself is in the run folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "each field is the statistic that it is named for"
)]
pub struct LatencySummary {
    pub mean_ns: f64,
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

impl LatencySummary {
    /// What a histogram of nanoseconds says. A percentile is the smallest latency that at least
    /// that part of all is no longer than.
    #[must_use]
    pub fn of(latencies: &Histogram<u64>) -> Self {
        if latencies.is_empty() {
            return Self::default();
        }
        Self {
            mean_ns: latencies.mean(),
            min_ns: latencies.min(),
            p50_ns: latencies.value_at_quantile(0.5),
            p90_ns: latencies.value_at_quantile(0.9),
            p99_ns: latencies.value_at_quantile(0.99),
            p999_ns: latencies.value_at_quantile(0.999),
            max_ns: latencies.max(),
        }
    }

    /// Whether operations were timed. A native program times none: each figure is 0 then.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.max_ns > 0
    }
}

/// What a set of processes used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// CPU seconds outside the kernel.
    pub user_cpu_s: f64,
    /// CPU seconds inside the kernel.
    pub system_cpu_s: f64,
    /// Times that a thread gave up the processor to wait.
    pub voluntary_context_switches: u64,
    /// Times that a thread was made to give up the processor.
    pub involuntary_context_switches: u64,
    /// Page faults that needed no I/O.
    pub minor_page_faults: u64,
    /// Page faults that needed I/O.
    pub major_page_faults: u64,
    /// Highest sum over the workers of proportional set size seen by the per-second sampler, bytes:
    /// pages that several workers map are counted once.
    pub peak_pss_bytes: u64,
    /// Highest sum over the workers of resident set size, bytes: shared pages counted each time.
    pub peak_rss_bytes: u64,
    /// Sum over the worker processes of the highest resident set size that each ever had, its
    /// opening of the database included, bytes: what `/usr/bin/time -v` prints as maximum resident
    /// set size.
    #[serde(default)]
    pub max_rss_bytes: u64,
    /// Bytes fetched from the storage layer (`read_bytes` of `/proc/PID/io`).
    pub storage_read_bytes: u64,
    /// Bytes sent to the storage layer (`write_bytes` of `/proc/PID/io`), page-cache write-back
    /// caused by these processes included.
    pub storage_written_bytes: u64,
    /// Bytes through read-like system calls (`rchar`), cached or not.
    pub read_call_bytes: u64,
    /// Bytes through write-like system calls (`wchar`), cached or not.
    pub write_call_bytes: u64,
    /// Read-like system calls (`syscr`).
    #[serde(default)]
    pub read_calls: u64,
    /// Write-like system calls (`syscw`).
    #[serde(default)]
    pub write_calls: u64,
}

/// Size of a database folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseSize {
    /// Blocks that the file system gave to its files, bytes.
    pub allocated_bytes: u64,
    /// Sum of the files' lengths, bytes: holes in sparse files count here.
    pub apparent_bytes: u64,
}

/// What happened in one second of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimelineSecond {
    /// When it ended, seconds since the workers were released.
    pub at_s: f64,
    /// Operations done in it, by kind, in the order of [`Measurement::operations`].
    pub counts: Vec<u64>,
    /// The mean service time of those, by kind, nanoseconds; 0 where none was done. Empty in older
    /// records, and where a native program counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_mean_ns: Vec<u64>,
    /// CPU seconds of the workers outside the kernel in it.
    pub user_cpu_s: f64,
    /// CPU seconds of the workers inside the kernel in it.
    pub system_cpu_s: f64,
    /// Sum of the workers' proportional set size at its end, bytes; 0 where it was not sampled.
    pub pss_bytes: u64,
    /// Bytes sent to the storage layer in it.
    pub storage_written_bytes: u64,
    /// Bytes fetched from the storage layer in it.
    pub storage_read_bytes: u64,
    /// Sum of the workers' resident set sizes at its end, bytes; 0 where it was not sampled.
    #[serde(default)]
    pub rss_bytes: u64,
    /// Times in it that a worker's thread gave up the processor to wait.
    #[serde(default)]
    pub voluntary_context_switches: u64,
    /// Times in it that a worker's thread was made to give up the processor.
    #[serde(default)]
    pub involuntary_context_switches: u64,
    /// Page faults in it that needed no I/O.
    #[serde(default)]
    pub minor_page_faults: u64,
    /// Page faults in it that needed I/O.
    #[serde(default)]
    pub major_page_faults: u64,
    /// Read-like system calls in it.
    #[serde(default)]
    pub read_calls: u64,
    /// Write-like system calls in it.
    #[serde(default)]
    pub write_calls: u64,
    /// Bytes through read-like system calls in it.
    #[serde(default)]
    pub read_call_bytes: u64,
    /// Bytes through write-like system calls in it.
    #[serde(default)]
    pub write_call_bytes: u64,
    /// Blocks that the file system had given to the database's files at its end, bytes; absent
    /// where it was not sampled, or the files are too many to look at every second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_allocated_bytes: Option<u64>,
    /// What the database's block device did in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// What the block device of the engine's log did in it, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_device: Option<Device>,
    /// What the machine's tasks waited for in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    /// What others used of the machine's processors in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbors: Option<OtherPrograms>,
    /// The part of the looks at the workers in it (up to 25) that found at least one thread of
    /// theirs waiting for I/O; absent where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_wait_share: Option<f64>,
    /// Time in it that the workers' threads could have run and waited for a processor, seconds over
    /// all threads; absent in older records, and where a server works for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_s: Option<f64>,
    /// Tasks of the whole machine that ran or could have run at its end, the sampler included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runnable_tasks: Option<u32>,
}

/// One worker's part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// From 0.
    pub index: u32,
    /// Its process.
    pub pid: u32,
    /// From its own start to its own end, seconds.
    pub elapsed_s: f64,
    /// Operations done by kind, in the order of [`Measurement::operations`].
    pub counts: Vec<u64>,
    /// Conflicts that the engine reported to it, deadlocks among them.
    pub conflicts: u64,
    /// How many of those the engine called deadlocks; 0 in older records.
    #[serde(default)]
    pub deadlocks: u64,
}

/// What an independent computation said of a trial's outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// How much was checked.
    pub level: VerifyLevel,
    /// Whether every check passed.
    pub passed: bool,
    /// The checks.
    pub checks: Vec<Check>,
    /// How long it took, seconds. Not part of the trial's elapsed time.
    pub elapsed_s: f64,
}

impl Verification {
    /// Bundles checks: it passed if there is at least one and each passed.
    #[must_use]
    pub fn from_checks(level: VerifyLevel, checks: Vec<Check>, elapsed_s: f64) -> Self {
        let passed = !checks.is_empty() && checks.iter().all(|check| check.passed);
        Self {
            level,
            passed,
            checks,
            elapsed_s,
        }
    }

    /// The failed checks, one sentence each.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let failed = self.checks.iter().filter(|check| !check.passed);
        failed
            .map(|check| format!("{}: {}", check.name, check.detail))
            .collect()
    }
}

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was checked.
    pub name: String,
    /// Whether it held.
    pub passed: bool,
    /// What was expected and what was found, or how much was looked at.
    pub detail: String,
}

impl Check {
    /// A check that `found` equals `expected`.
    pub fn equal<T: PartialEq + std::fmt::Display>(name: &str, expected: &T, found: &T) -> Self {
        let passed = expected == found;
        let detail = if passed {
            format!("{found}")
        } else {
            format!("expected {expected}, found {found}")
        };
        Self {
            name: name.to_owned(),
            passed,
            detail,
        }
    }

    /// A check that held or not, with what was seen.
    pub fn new(name: &str, passed: bool, detail: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            passed,
            detail: detail.into(),
        }
    }
}
