//! The original 3n+1 program's line of output, drawn from a trial's record, and the trials whose
//! range their time ended.

use crate::workload_cells::{WorkloadCell, workload_cells};
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::{TrialRecord, Value};

/// The figures of one 3n+1 problem, in the original's order. Each is a plain number.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Threen1Line {
    /// The range's first number.
    pub start: u64,
    /// The range's last number; of a trial that its time ended, the last one that was completed.
    pub finish: u64,
    /// Number of workers.
    pub workers: u32,
    /// Numbers that a worker claims at a time.
    pub block: u64,
    /// Steps of the longest sequence that starts in the range.
    pub longest_sequence: u64,
    /// The largest number reached, of computed successors only. Text if it exceeds a record's
    /// integers.
    pub largest_number: Value,
    /// From the first worker's start to the last worker's end, seconds.
    pub elapsed_s: f64,
    /// Stores in the step table.
    pub updates: u64,
    /// Look-ups of the step table.
    pub reads: u64,
    /// Updates over the elapsed time.
    pub updates_per_s: f64,
    /// Reads over the elapsed time.
    pub reads_per_s: f64,
    /// User and system CPU of all workers, seconds.
    pub cpu_s: f64,
}

impl Threen1Line {
    /// Draws the line from a trial; `None` if the trial is of another workload or was not
    /// measured to its end. The answers are absent, and so is the line, on the null engine.
    #[must_use]
    pub fn of(record: &TrialRecord) -> Option<Self> {
        if record.spec.workload != "threen1" {
            return None;
        }
        let measured = record.measurement.as_ref()?;
        let setting = |name: &str| whole(record.spec.settings.get(name)?);
        let result = |name: &str| measured.results.get(name);
        let (updates, reads) = (measured.operation("update")?, measured.operation("read")?);
        Some(Self {
            start: setting("start")?,
            finish: result("last_start")
                .and_then(whole)
                .or_else(|| setting("finish"))?,
            workers: record.spec.workers,
            block: result("block")
                .and_then(whole)
                .or_else(|| setting("block"))?,
            longest_sequence: whole(result("longest")?)?,
            largest_number: result("largest")?.clone(),
            elapsed_s: measured.elapsed_s,
            updates: updates.count,
            reads: reads.count,
            updates_per_s: updates.per_s,
            reads_per_s: reads.per_s,
            cpu_s: measured.cpu_s(),
        })
    }
}

/// The cells of trials whose range their time ended, in the order of their first trials.
#[must_use]
pub fn timed_cells(trials: &[TrialRecord]) -> Vec<WorkloadCell<'_>> {
    let mut cells = workload_cells(trials, "threen1");
    cells.retain(|cell| cell.median_result("starts").is_some());
    cells
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}
