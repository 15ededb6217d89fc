//! The engine's own compaction of a database whose workers have ended, in a worker process.

use super::error::WorkerError;
use super::pipe::Reporter;
use crate::plan::resolution::ResolvedTrial;
use crate::workers::protocol::{Assignment, Report};
use std::time::Instant;
use trueput_host::process::read_own_usage;

/// Opens the database, has it compacted and closes it; reports what that took.
///
/// # Errors
/// [`WorkerError`], if the database does not open, or the engine fails.
pub(super) fn compact(
    resolved: &ResolvedTrial,
    assignment: &Assignment,
    reporter: &Reporter,
) -> Result<(), WorkerError> {
    let mut database = super::open_alone(resolved, assignment)?;
    let before = read_own_usage()?;
    let began = Instant::now();
    let compacted = database.compact();
    let means = compacted.map_err(WorkerError::of_engine("compacting the database"))?;
    let elapsed_s = began.elapsed().as_secs_f64();
    // What the engine still holds back counts, too.
    super::close(database)?;
    let usage = read_own_usage()? - before;
    reporter.send(&Report::Compacted {
        means: means.map(str::to_owned),
        elapsed_s,
        storage_written_bytes: usage.storage_written_bytes,
    })?;
    Ok(())
}
