//! The results of a trial. One [`TrialRecord`] is one line of `trials.jsonl`.

use crate::accounting::{
    CacheUse, ColdStart, Device, MemoryUse, OtherPrograms, Pressure, TimeSlices, ratio,
    written_bytes,
};
use crate::audit_standing::AuditStanding;
use crate::failover::Failover;
use crate::filesystem::MountedFileSystem;
use crate::flush_evidence::FlushEvidence;
use crate::hardware_limits::HardwareLimits;
use crate::load_generator::LoadGenerator;
use crate::placement::{AllocatorReport, Placement};
use crate::recovery::{EventRecord, Recovery};
use crate::stall::TrialStall;
use crate::storage::StorageStack;
use crate::{Isolation, Promise, TrialSpec, Value, VerifyLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use crate::latency::{LatencySummary, OpenLoop, OperationSummary, ResponseSummary};
pub use crate::space::{Compaction, DatabaseSize};
pub use crate::timeline::TimelineSecond;

/// One line of `trials.jsonl`: a trial, its outcome and its measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// The specification of the trial.
    pub spec: TrialSpec,
    /// The outcome.
    pub outcome: Outcome,
    /// Whether it continued an interrupted trial in an existing database. Its rates then cover the
    /// remainder only, and the trial is never ranked.
    #[serde(default)]
    pub resumed: bool,
    /// The host that ran it, as the command line named it; absent if that was the runner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// When its workers were released, RFC 3339 in UTC.
    pub started_at: String,
    /// The file system that its database lay on; absent if that was the work folder's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<MountedFileSystem>,
    /// The file system that the engine's log lay on; absent if that was the database's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_file_system: Option<MountedFileSystem>,
    /// The storage below its database and log when the trial began, and what that keeps when power
    /// is lost; absent in older records, and if the trial never had a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageStack>,
    /// How often the fault of its storage came; absent without one, and if its server did not end
    /// well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault_counts: Option<FaultCounts>,
    /// The engine as it described itself; absent if it never opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineReport>,
    /// The conformance suite that its engine passed at its level with its knobs; absent in older
    /// records, and if it was not passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conformance: Option<Conformance>,
    /// The check of the isolation that its engine's driver states; absent in older records, and if
    /// the driver states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation_check: Option<IsolationCheck>,
    /// The user's audits of its engine's promise, as they stood when the trial ran; absent in older
    /// records, and if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditStanding>,
    /// The machine's maximum rates for this many workers and this kind of commit, measured in this
    /// run on the same file system; absent if not requested or not measurable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_limits: Option<HardwareLimits>,
    /// The load before the workers started, if the workload reports it; absent if nothing was
    /// loaded, or if the previous trial's database was reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadReport>,
    /// The measurement; absent if the workers never finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measurement: Option<Measurement>,
    /// The result of the verification; absent if it was off or never reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
}

/// How often the fault of a trial's storage came while the workers were measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultCounts {
    /// The requests to the storage that the fault concerns.
    pub requests: u64,
    /// Those to which it came.
    pub injected: u64,
}

/// A conformance suite that was passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conformance {
    /// When, RFC 3339 in UTC.
    pub passed_at: String,
    /// The number of checks.
    pub checks: usize,
    /// Whether they ran in an earlier run of the same program on the same files of the engine.
    pub cached: bool,
}

/// The check of the isolation that an engine's driver states: schedules of transactions that invite
/// the anomalies that it proscribes, none of which occurred.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IsolationCheck {
    /// When, RFC 3339 in UTC.
    pub checked_at: String,
    /// The number of schedules; 0 if they could not be run.
    pub schedules: usize,
    /// Whether they ran in an earlier run of the same program on the same files of the engine.
    pub cached: bool,
    /// The reason why they could not be run; absent if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// The time without an answer after which they were given up, seconds; absent if they ended or
    /// failed by themselves. A resumed run does not wait as long again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hung_after_s: Option<u64>,
}

impl TrialRecord {
    /// Returns whether the trial may be ranked: it succeeded, was verified, ran from an empty
    /// database, and has its histograms.
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

/// The reason against every trial of a debug build.
pub const DEBUG_BUILD: &str = "debug build: its figures do not apply to a release build";

impl Outcome {
    /// Returns the reasons against the figures, except that the program is a debug build: a search
    /// goes on in one, and its report says so. Empty if the trial ended well or was interrupted.
    #[must_use]
    pub fn objections(&self) -> Vec<&str> {
        match self {
            Self::Valid | Self::Interrupted => Vec::new(),
            Self::Failed { reason, .. } => vec![reason],
            Self::Invalid { reasons } => {
                let reasons = reasons.iter().map(String::as_str);
                reasons.filter(|reason| *reason != DEBUG_BUILD).collect()
            }
        }
    }
}

/// The outcome of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// It ran to its end and every requested check passed.
    Valid,
    /// It ran to its end, but its figures cannot be trusted.
    Invalid {
        /// The reasons, one sentence each.
        reasons: Vec<String>,
    },
    /// It did not run to its end.
    Failed {
        /// The failed part and the cause, in one sentence.
        reason: String,
        /// Whether the trial's own input was the cause: a mistake of the plan, not of the engine.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        bad_input: bool,
    },
    /// The user stopped it.
    Interrupted,
}

/// The engine as it described itself when the trial opened it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineReport {
    /// The engine's name, as in the trial's specification; empty in older records.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The version that the library itself reports.
    pub version: String,
    /// The origin of the code: `compiled in`, or the library's path.
    pub origin: String,
    /// SHA-256 of the library or server file, or of this program where the engine is compiled in;
    /// hex. Empty for a user's server.
    pub sha256: String,
    /// Whether the library was compiled with assertions, which cost speed, so that it is not a fair
    /// baseline; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assertions: Option<bool>,
    /// A workaround in trueput's driver at these knobs that users of the engine may not need and
    /// that affects its rates, as a clause; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workaround: Option<String>,
    /// A fault of the engine at these knobs that can lose records or return wrong results, as a
    /// clause; absent if none is known, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_defect: Option<String>,
    /// The promise of each commit.
    pub promise: Promise,
    /// The isolation level of its transactions, as the driver states it for these knobs; absent if
    /// the driver states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Settings as the engine reports them back, not as requested.
    pub settings: BTreeMap<String, Value>,
    /// Settings with which its server ran and that contradict the promise, each a sentence; empty
    /// in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<String>,
    /// The engine's own counters after the workers ended.
    #[serde(default)]
    pub counters: BTreeMap<String, Value>,
}

/// The records loaded before the workers started, by one process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadReport {
    /// Records put.
    pub records: u64,
    /// Bytes of their keys and values.
    pub user_bytes: u64,
    /// From the database's opening to its closing, seconds.
    pub elapsed_s: f64,
    /// Resources used by the loading process, and by the engine's server meanwhile.
    pub resources: Resources,
    /// The database's size on disk after the load.
    pub database: DatabaseSize,
}

/// The figures of one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// From the first worker's start to the last worker's end, seconds.
    pub elapsed_s: f64,
    /// Per kind of operation, in the workload's order.
    pub operations: Vec<OperationSummary>,
    /// Whether the histograms behind the latencies are missing, so that nothing is checked against
    /// them. Determined when a run folder is read; never written.
    #[serde(skip)]
    pub lacks_histograms: bool,
    /// Commits of the workload, to each of which the durability level applies; absent if the
    /// workload does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// The behavior of an open loop at its rate; absent for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// The workload's results (answers, totals), by name.
    pub results: BTreeMap<String, Value>,
    /// Conflicts that the engine reported, including deadlocks; each was retried and is not a
    /// failure.
    pub conflicts: u64,
    /// Conflicts that the engine reported as deadlocks; 0 in older records, and if the engine does
    /// not distinguish them.
    #[serde(default)]
    pub deadlocks: u64,
    /// Resources used by the workers' processes and those of the engine's server between start and
    /// end, summed.
    pub resources: Resources,
    /// The share of the engine's server; absent if the engine is a library or the server is the
    /// user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Resources>,
    /// The processors and memory nodes that were used; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Their memory allocator; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<AllocatorReport>,
    /// The database's size on disk before the workers opened it; on a shared load, after the trials
    /// before it; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_at_start: Option<DatabaseSize>,
    /// The database's size on disk after the workers ended.
    pub database: DatabaseSize,
    /// The engine's own compaction after that; absent if not requested, or if the driver has none
    /// for this engine, build or server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
    /// Bytes of keys and values that the workers read; absent if the workload does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_read_bytes: Option<u64>,
    /// Bytes of keys and values that the workers handed to the engine; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_written_bytes: Option<u64>,
    /// Bytes of keys and values in the database after the workers ended; absent if the workload
    /// does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_user_bytes: Option<u64>,
    /// Activity of the database's block device between release and end; absent if its file system
    /// is not on a block device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// Activity of the block device of the engine's log meanwhile; absent if it is the database's.
    /// For a log without a device, as on a tmpfs, all counts are 0 and flushes are absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_device: Option<Device>,
    /// Whether flushes and writes explain the commits; absent at levels whose commits wait for no
    /// flush, if the workload does not count its commits, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_evidence: Option<FlushEvidence>,
    /// The waits of the machine's tasks meanwhile; absent if the kernel does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    /// CPU use of other programs meanwhile; absent if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbors: Option<OtherPrograms>,
    /// The time slices in which it was measured; absent without them, and in older records, whose
    /// workers paused between them while their servers ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_slices: Option<TimeSlices>,
    /// Memory use under the trial's memory limit; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryUse>,
    /// Lookups in the engine's own cache; absent if it has none or does not report them, and in
    /// older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheUse>,
    /// The page cache at a cold start; absent after a warm start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_start: Option<ColdStart>,
    /// The recovery from the crash; absent if the trial did not crash the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// The effect of planned faults; absent if none were planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<Failover>,
    /// Background activity of the engine between release and end, in that order: checkpoints,
    /// flushes, compactions. Absent if the engine does not report it; empty if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<EventRecord>>,
    /// One entry per second of the run, and one for the remainder.
    pub timeline: Vec<TimelineSecond>,
    /// Per worker.
    pub workers: Vec<WorkerReport>,
    /// Per host that ran workers, started over ssh; empty if all ran on this host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_generators: Vec<LoadGenerator>,
    /// Intervals of over 2 s in which the machine, the runner, a worker or the server did not run;
    /// none in a valid trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<TrialStall>,
}

impl Measurement {
    /// The name of the result that says which operation of the workload the engine does not have,
    /// and how the workload did it instead: a clause that follows the engine's name and a colon.
    pub const EMULATED: &str = "emulated";

    /// The name of the result that says whether writers that have a rate of their own kept it.
    pub const WRITERS_KEPT_RATE: &str = "writers kept the rate";

    /// Returns the summary of one kind of operation.
    #[must_use]
    pub fn operation(&self, kind: &str) -> Option<&OperationSummary> {
        self.operations
            .iter()
            .find(|operation| operation.kind == kind)
    }

    /// Returns the completed flushes of the device that commits wait for: the log's, if it has its
    /// own; `None` if they are not counted.
    #[must_use]
    pub fn log_flushes(&self) -> Option<u64> {
        self.log_device.or(self.device)?.flushes
    }
}

/// Resources used by a set of processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    /// CPU seconds outside the kernel.
    pub user_cpu_s: f64,
    /// CPU seconds inside the kernel.
    pub system_cpu_s: f64,
    /// Times that a thread gave up the processor to wait.
    pub voluntary_context_switches: u64,
    /// Times that a thread was preempted.
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
    /// Sum over the worker processes of their peak resident set sizes, from before they open the
    /// database, bytes: the "maximum resident set size" of `/usr/bin/time -v`.
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

/// The share of one worker.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Conflicts that the engine reported as deadlocks; 0 in older records.
    #[serde(default)]
    pub deadlocks: u64,
}

/// The result of an independent check of a trial's outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// The extent of the checks.
    pub level: VerifyLevel,
    /// Whether every check passed.
    pub passed: bool,
    /// The checks.
    pub checks: Vec<Check>,
    /// Duration, seconds. Not part of the trial's elapsed time.
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

    /// Returns the failed checks, one sentence each.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let failed = self.checks.iter().filter(|check| !check.passed);
        failed
            .map(|check| format!("{}: {}", check.name, check.detail))
            .collect()
    }
}

/// One check of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The name of the check.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// The expected and actual values, or the amount checked.
    pub detail: String,
}

impl Check {
    /// The words in the detail of the check of reads, if each value that was read was compared to
    /// its last byte.
    pub const EVERY_BYTE: &str = "every byte compared";

    /// The words in the detail of the check of reads, if old values could not be told from new.
    pub const STALE_UNKNOWN: &str = "whether stale is not known, several processes having written";

    /// Creates a check that `found` equals `expected`.
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

    /// Creates a check with its result and a detail.
    pub fn new(name: &str, passed: bool, detail: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            passed,
            detail: detail.into(),
        }
    }
}

impl Measurement {
    /// Returns the user and system CPU seconds of all workers.
    #[must_use]
    pub fn cpu_s(&self) -> f64 {
        self.resources.user_cpu_s + self.resources.system_cpu_s
    }

    /// Returns the CPU of all workers as a percentage of one processor: 200 if two were busy
    /// throughout. `None` if no time passed.
    #[must_use]
    pub fn cpu_percent(&self) -> Option<f64> {
        ratio(100.0 * self.cpu_s(), self.elapsed_s)
    }

    /// Returns the size of the database on disk plus its processes in memory, bytes: the "total
    /// size" of Symas's tests.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        let allocated = self.database.allocated_bytes;
        allocated.saturating_add(self.resources.max_rss_bytes)
    }

    /// Returns bytes sent to the storage layer per byte that the workers passed to the engine;
    /// `None` if the latter is unknown or zero.
    #[must_use]
    pub fn write_amplification(&self) -> Option<f64> {
        let written = self.resources.storage_written_bytes as f64;
        ratio(written, self.user_written_bytes? as f64)
    }

    /// Returns bytes written to the devices of database and log, by whatever program, per byte that
    /// the workers passed to the engine; `None` if either is unknown or the latter zero.
    #[must_use]
    pub fn device_write_amplification(&self) -> Option<f64> {
        let written = written_bytes(self.device, self.log_device)? as f64;
        ratio(written, self.user_written_bytes? as f64)
    }

    /// Returns bytes fetched from the storage layer per byte that the workers read from the engine;
    /// `None` if the latter is unknown or zero.
    #[must_use]
    pub fn read_amplification(&self) -> Option<f64> {
        let read = self.resources.storage_read_bytes as f64;
        ratio(read, self.user_read_bytes? as f64)
    }

    /// Returns bytes on disk per byte of live keys and values; `None` if the latter is unknown or
    /// zero.
    #[must_use]
    pub fn space_amplification(&self) -> Option<f64> {
        let allocated = self.database.allocated_bytes as f64;
        ratio(allocated, self.live_user_bytes? as f64)
    }

    /// As [`Measurement::space_amplification`], after the engine's own compaction; `None` without
    /// one.
    #[must_use]
    pub fn compacted_space_amplification(&self) -> Option<f64> {
        let allocated = self.compaction.as_ref()?.database.allocated_bytes as f64;
        ratio(allocated, self.live_user_bytes? as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement() -> Measurement {
        Measurement {
            elapsed_s: 2.0,
            resources: Resources {
                user_cpu_s: 2.5,
                system_cpu_s: 0.5,
                storage_read_bytes: 50,
                storage_written_bytes: 300,
                max_rss_bytes: 1_000,
                ..Resources::default()
            },
            database: DatabaseSize {
                allocated_bytes: 400,
                apparent_bytes: 4_000,
            },
            user_read_bytes: Some(100),
            user_written_bytes: Some(200),
            live_user_bytes: Some(320),
            ..Measurement::default()
        }
    }

    #[test]
    fn amplification_is_what_the_engine_moved_over_what_the_user_did() {
        let mut measured = measurement();
        assert_eq!(measured.write_amplification(), Some(1.5));
        assert_eq!(measured.read_amplification(), Some(0.5));
        assert_eq!(measured.space_amplification(), Some(1.25));
        assert_eq!(measured.compacted_space_amplification(), None);
        measured.compaction = Some(Compaction {
            database: DatabaseSize {
                allocated_bytes: 360,
                apparent_bytes: 360,
            },
            ..Compaction::default()
        });
        assert_eq!(measured.compacted_space_amplification(), Some(1.125));
        assert_eq!(measured.device_write_amplification(), None);
        measured.device = Some(Device {
            written_bytes: 500,
            ..Device::default()
        });
        assert_eq!(measured.device_write_amplification(), Some(2.5));
        assert_eq!(measured.cpu_percent(), Some(150.0));
        assert_eq!(measured.total_bytes(), 1_400);
        // A record that was edited.
        measured.resources.max_rss_bytes = u64::MAX;
        assert_eq!(measured.total_bytes(), u64::MAX);
    }

    #[test]
    fn where_the_users_bytes_are_unknown_or_none_there_is_no_amplification() {
        let unknown = Measurement {
            user_read_bytes: None,
            user_written_bytes: Some(0),
            live_user_bytes: None,
            elapsed_s: 0.0,
            ..measurement()
        };
        assert_eq!(unknown.write_amplification(), None);
        assert_eq!(unknown.read_amplification(), None);
        assert_eq!(unknown.space_amplification(), None);
        assert_eq!(unknown.cpu_percent(), None);
    }
}
