//! The work of a trial's workers, and its results.

use crate::evidence::engine_events::SliceStart;
use crate::evidence::failover::CausedFault;
use crate::evidence::flush_evidence::FlushCountsResult;
use crate::evidence::sampler::{HostActivity, Sample, ServerUsage};
use crate::evidence::second_latencies::SecondLatencies;
use crate::hosts::workers::HostParticipation;
use crate::plan::resolution::ResolvedTrial;
use crate::workers::protocol::{OperationCounts, ProcessResult};
use std::path::Path;
use trueput_engine::EngineEvent;
use trueput_host::flush_counts::CompletedRequests;
use trueput_record::accounting::TimeSlices;
use trueput_record::stall::TrialStall;

/// The results of a trial's workers.
pub(crate) struct WorkerGroupResult {
    /// When they were released, RFC 3339 in UTC.
    pub started_at: String,
    /// The results by process.
    pub process_results: Vec<ProcessResult>,
    /// The process numbers.
    pub pids: Vec<u32>,
    /// The other hosts that ran the processes; empty if this one did.
    pub hosts: Vec<HostParticipation>,
    /// The operation counts by process at the end of each second.
    pub seconds: Vec<Vec<OperationCounts>>,
    /// The latencies by second, over all processes.
    pub latencies: SecondLatencies,
    /// The samples by second.
    pub samples: Vec<Sample>,
    /// Activity of the machine between release and end.
    pub host_activity: HostActivity,
    /// Resources of the engine's server; `None` if there is none.
    pub server: Option<ServerUsage>,
    /// Events that the engine reported; `None` if it has no event source.
    pub engine_events: Option<Vec<EngineEvent>>,
    /// Requests that the storage below completed; `None` if that was not counted.
    pub completed_requests: Option<CompletedRequests>,
    /// The planned faults that were caused.
    pub faults: Vec<CausedFault>,
    /// Intervals in which a part of the trial did not run.
    pub stalls: Vec<TrialStall>,
    /// The time slices; `None` without them.
    pub time_slices: Option<TimeSlices>,
    /// The starts of the time slices but the first.
    pub slices: Vec<SliceStart>,
    /// Whether the user interrupted them.
    pub interrupted: bool,
    /// The number of processes killed with the database open, as the plan says; 0 otherwise.
    pub killed: u32,
}

/// The work of a trial's workers.
pub(crate) struct WorkerGroupSpec<'a> {
    /// The database's folder.
    pub directory: &'a Path,
    /// The folder in which its files lie: another one if a fault of its storage comes between.
    pub files: &'a Path,
    /// The number of trials that ran on this load before.
    pub generation: u32,
    /// The sessions: the workers, and those that the job adds.
    pub sessions: u32,
    /// The units of work; 0 if a duration ends the trial.
    pub total_units: u64,
    /// The resolved trial.
    pub resolved: &'a ResolvedTrial,
    /// The counters of the storage below; `None` if they prove nothing.
    pub flush_counting: Option<&'a FlushCountsResult>,
    /// The folder for the workers' parts of a trace; `None` if none is recorded.
    pub trace_folder: Option<&'a Path>,
}
