//! A crash on purpose: every process that has the database open is killed, and what it takes until
//! the database serves again is timed.

use crate::Phase;
use crate::assemble;
use crate::context::{Context, Halt};
use crate::execution::Work;
use crate::hosting::Hosting;
use crate::phase::alone;
use crate::protocol::{Assignment, Part, Report};
use std::time::Instant;
use trueput_record::TrialSpec;
use trueput_record::measurement::DatabaseSize;
use trueput_record::recovery::Recovery;

/// What became of a database whose processes were killed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aftermath {
    /// How it came back.
    pub recovery: Recovery,
    /// Its size as the dead left it.
    pub database: DatabaseSize,
}

/// Starts the killed server of a trial again where it has one, and has a process that never saw the
/// database open it and commit a first transaction.
///
/// # Errors
/// [`Halt`]: that it does not come back is the trial's failure.
pub(crate) fn recover(
    context: &mut Context<'_>,
    spec: &TrialSpec,
    work: &Work<'_>,
    hosting: &mut Hosting<'_>,
    killed: u32,
) -> Result<Aftermath, Halt> {
    hosting.bury();
    let database = assemble::database_size(work.directory)
        .map_err(|error| format!("{}: {error}", work.directory.display()))?;
    let began = Instant::now();
    hosting.start(context, None, Phase::Verify)?;
    let server_s = hosting.pid().map(|_| began.elapsed().as_secs_f64());
    let assignment = Assignment {
        spec: spec.clone(),
        directory: work.directory.to_owned(),
        generation: work.generation,
        part: Part::Recover,
    };
    let what = "opening the database after the crash";
    let report = alone(context, assignment, None, None, what);
    let Report::Recovered {
        open_s,
        first_commit_s,
    } = report.map_err(|halt| hosting.explained(halt))?
    else {
        return Err(Halt::Failed(format!(
            "{what} returned an unexpected result"
        )));
    };
    let before_s = server_s.unwrap_or_default();
    Ok(Aftermath {
        recovery: Recovery {
            killed,
            recovery_s: before_s + open_s,
            server_s,
            first_commit_s: first_commit_s.map(|time_s| before_s + time_s),
        },
        database,
    })
}
