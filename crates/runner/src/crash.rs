//! A crash on purpose: every process that has the database open is killed, and what it takes until
//! the database serves again is timed.

use crate::Phase;
use crate::assemble;
use crate::context::{Context, Halt};
use crate::execution::Work;
use crate::host::tree::members;
use crate::hosting::Hosting;
use crate::phase::alone;
use crate::protocol::{Assignment, Part, Report};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};
use trueput_record::TrialSpec;
use trueput_record::measurement::DatabaseSize;
use trueput_record::recovery::Recovery;

/// How long killed processes may take to go: they give back their memory first.
const DYING: Duration = Duration::from_secs(10);

/// What became of a database whose processes were killed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aftermath {
    /// How it came back.
    pub recovery: Recovery,
    /// Its size as the dead left it.
    pub database: DatabaseSize,
}

/// Kills a server and what descends from it, and says how many processes that were. The server
/// itself goes first, so that nothing is begun in the place of what is killed after it.
pub(crate) fn kill_server(pid: u32) -> u32 {
    let family = members(pid);
    for &pid in &family {
        // One that has ended meanwhile needs no signal.
        let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
    }
    let until = Instant::now() + DYING;
    while family.iter().any(|&pid| lives(pid)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    u32::try_from(family.len()).unwrap_or(u32::MAX)
}

/// Whether a process has not ended. One that nobody has waited for yet has.
fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state stands behind the name, which may hold anything (proc_pid_stat(5)).
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|state| !state.starts_with(['Z', 'X']))
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
        return Err(Halt::Failed(format!("{what} gave another answer")));
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
