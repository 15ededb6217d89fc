//! A workload that replays a schedule of latencies through the meter of each worker, so that
//! several trials have the very same latencies.

use std::collections::BTreeMap;
use trueput_engine::{Parameter, ParameterValues};
use trueput_record::measurement::Check;
use trueput_record::{Conditions, WorkerKind};
use trueput_workloads::{
    Error, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobError, JobResults, JobTask,
    LoadSummary, WorkerFindings, Workload, WorkloadInfo,
};

/// Latencies of the schedule.
pub const OPERATIONS: u64 = 200_000;

/// Levels of latencies, each a quarter longer than the one before.
const LEVELS: u32 = 30;

/// The levels from here on are the last worker's.
const SLOW_LEVEL: u32 = 12;

/// The workload.
pub struct Replay;

struct ReplayJob;

/// The level of a latency of the schedule: each is half as frequent as the one two below it.
fn level(number: u64) -> u32 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let unit = ((mixed >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
    ((-unit.log2() * 2.0) as u32).min(LEVELS - 1)
}

/// The latencies that a worker replays, nanoseconds.
fn share(worker: u32, workers: u32) -> impl Iterator<Item = u64> {
    let mine = move |number: &u64| {
        if level(*number) >= SLOW_LEVEL {
            worker == workers - 1
        } else {
            *number % u64::from(workers) == u64::from(worker)
        }
    };
    (0..OPERATIONS)
        .filter(mine)
        .map(|number| (1e6 * 1.25_f64.powi(level(number) as i32)) as u64)
}

impl Workload for Replay {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "replay",
            summary: "replays latencies",
            headline: "reply",
            worker_kind: WorkerKind::Processes,
        }
    }

    fn settings(&self) -> &'static [Parameter] {
        &[]
    }

    fn job(
        &self,
        _settings: &ParameterValues,
        _conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        Ok(Box::new(ReplayJob))
    }
}

impl Job for ReplayJob {
    fn kinds(&self) -> &'static [&'static str] {
        &["reply"]
    }

    fn total_units(&self) -> u64 {
        OPERATIONS
    }

    fn expected_bytes(&self) -> u64 {
        1
    }

    fn prepare(
        &self,
        _target: &JobDatabase<'_>,
        _remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>, Error> {
        Ok(None)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings, Error> {
        // The meter's marks are readings of the processor's counter.
        let readings = 1_u64 << 40;
        let per_ns = readings as f64 / quanta::Clock::new().delta_as_nanos(0, readings) as f64;
        for latency_ns in share(task.worker, task.workers) {
            let latency = (latency_ns as f64 * per_ns) as u64;
            let mark = task.meter.timestamp().saturating_sub(latency);
            task.meter.finish_nested(0, mark);
            task.meter.advance(1);
        }
        Ok(WorkerFindings::new())
    }

    fn verify(
        &self,
        _target: &JobDatabase<'_>,
        ended: &ExecutionSummary,
    ) -> Result<JobResults, Error> {
        Ok(JobResults {
            results: BTreeMap::new(),
            checks: vec![Check::equal("replies", &OPERATIONS, &ended.counts[0])],
        })
    }
}
