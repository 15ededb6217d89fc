//! The engine's own compaction after the measured part: its time and bytes, and the size that it
//! leaves.

use crate::context::{RunContext, TrialError};
use crate::evidence::database_size::measure_database;
use crate::trial::phase_limit::LimitedPhase;
use crate::trial::server_lifecycle::ServerLifecycle;
use crate::workers::protocol::{Assignment, Report};
use crate::workers::task_process::run_task;
use trueput_host::disk::Disk;
use trueput_record::measurement::Compaction;

/// Has a new process compact the database of this assignment, which no other has open, with its
/// server running. `None` if the driver has no compaction for this engine, build or server.
///
/// # Errors
/// [`TrialError`]: the trial fails if the compaction does.
pub(crate) fn compact(
    context: &mut RunContext<'_>,
    assignment: Assignment,
    server: &mut ServerLifecycle<'_>,
) -> Result<Option<Compaction>, TrialError> {
    let directory = assignment.directory.clone();
    let disk = Disk::below(&directory);
    let counters = || disk.as_ref().and_then(Disk::counters);
    let (device_before, server_before) = (counters(), server.usage());
    let report = run_task(context, assignment, LimitedPhase::Compact);
    let Report::Compacted {
        means,
        elapsed_s,
        storage_written_bytes,
    } = report.map_err(|error| server.explain_failure(error))?
    else {
        return Err(TrialError::from(format!(
            "{} returned an unexpected result",
            LimitedPhase::Compact.title()
        )));
    };
    let Some(means) = means else { return Ok(None) };
    let of_server = server_before.zip(server.usage());
    let of_server = of_server.map(|(before, after)| (after - before).storage_written_bytes);
    let devices = device_before.zip(counters());
    Ok(Some(Compaction {
        means,
        elapsed_s,
        storage_written_bytes: storage_written_bytes + of_server.unwrap_or_default(),
        device: devices.map(|(before, after)| after.since(&before)),
        database: measure_database(&directory)?,
    }))
}
