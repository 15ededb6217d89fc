//! The commands before the start of a server: they create its instance, or recover it. Each ends by
//! itself, or is killed with all that it has started.

use super::error::SetupEnd;
use super::{PAUSE, Server, ServerError, ServerSpec, find_user};
use crate::process_tree::ProcessTree;
use crate::usage::ResourceUsage;
use crate::user::ServerUser;
use nix::sys::signal::{Signal as SystemSignal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::process::Command;
use std::time::{Duration, Instant};
use trueput_engine::service::Signal;

/// The interval at which the progress of a command is looked at, which is what its processes use.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// What commands before the start of a server are for.
pub(super) struct Setup {
    purpose: &'static str,
    /// The time that each may take.
    limit: Duration,
}

pub(super) const CREATION: Setup = Setup {
    purpose: "creating the instance",
    limit: super::SETUP_TIMEOUT,
};

const RECOVERY: Setup = Setup {
    purpose: "recovering the instance",
    limit: super::RECOVERY_TIMEOUT,
};

/// Executes the commands that recover an instance whose server did not stop in good order, each
/// for 30 minutes at most, and for 10 without progress: one flush of a slow disk shows none. `wait`
/// is called meanwhile and returns whether to continue.
///
/// # Errors
/// [`ServerError`]; no process is left then.
pub(crate) fn recover(
    spec: &ServerSpec<'_>,
    wait: &mut dyn FnMut() -> bool,
) -> Result<(), ServerError> {
    let user = find_user(spec.service)?;
    let commands = spec.service.recover(spec.database);
    RECOVERY.run(spec, user.as_ref(), commands, super::SETUP_TIMEOUT, wait)
}

impl Setup {
    /// Executes commands, each of which may go on without progress for `silence`.
    ///
    /// # Errors
    /// [`ServerError`]; no process is left then.
    pub fn run(
        &self,
        spec: &ServerSpec<'_>,
        user: Option<&ServerUser>,
        commands: trueput_engine::Result<Vec<Command>>,
        silence: Duration,
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<(), ServerError> {
        let purpose = self.purpose;
        let commands = commands.map_err(|error| ServerError::NoSetup { purpose, error });
        for command in commands? {
            let program = command.get_program().to_string_lossy().into_owned();
            let mut maker = Server::spawn(spec, user, command, Signal::Kill)?;
            let ended = self.wait_for_end(&mut maker, &program, silence, wait);
            if ended.is_err() {
                maker.kill();
            }
            ended?;
        }
        Ok(())
    }

    fn wait_for_end(
        &self,
        maker: &mut Server,
        program: &str,
        silence: Duration,
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<(), ServerError> {
        let until = Instant::now() + self.limit;
        let mut progress = Progress::of(maker.pid());
        let end = loop {
            if has_ended(maker.pid()) {
                // Its number is its group's until it is waited for.
                kill_group(maker.pid());
            }
            match maker.status() {
                Some(status) if status.success() => return Ok(()),
                Some(status) => break SetupEnd::Exited(status),
                None => {}
            }
            let is_late = Instant::now() >= until;
            let is_silent = !is_late && progress.silence() >= silence;
            let is_wanted = wait();
            if is_late || is_silent || !is_wanted {
                let stuck = maker.describe_stuck();
                kill_group(maker.pid());
                break if is_late {
                    let limit = self.limit;
                    SetupEnd::Timeout { limit, stuck }
                } else if is_silent {
                    let limit = silence;
                    SetupEnd::NoProgress { limit, stuck }
                } else {
                    return Err(ServerError::Canceled);
                };
            }
            std::thread::sleep(PAUSE);
        };
        Err(ServerError::SetupFailed {
            purpose: self.purpose,
            program: program.to_owned(),
            end,
            quote: maker.log.quote_cause(),
        })
    }
}

/// Returns whether a child has ended, without waiting for it, so that it keeps its number.
fn has_ended(pid: u32) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let status = waitid(Id::Pid(Pid::from_raw(pid.cast_signed())), flags);
    status.is_ok_and(|status| status != WaitStatus::StillAlive)
}

/// Kills the process group of a child that has not been waited for: what it has started may have
/// lost its parent.
fn kill_group(pid: u32) {
    // One that has ended needs no signal.
    let _ = killpg(Pid::from_raw(pid.cast_signed()), SystemSignal::SIGKILL);
}

/// The time for which the processes of a command have used nothing.
struct Progress {
    tree: ProcessTree,
    used: ResourceUsage,
    silence: Duration,
    checked_at: Instant,
}

impl Progress {
    fn of(pid: u32) -> Self {
        let tree = ProcessTree::new(pid);
        Self {
            used: tree.last(),
            tree,
            silence: Duration::ZERO,
            checked_at: Instant::now(),
        }
    }

    /// Returns the time, in which this process itself did run: a pause of it counts as one
    /// interval.
    fn silence(&mut self) -> Duration {
        let passed = self.checked_at.elapsed();
        if passed >= PROGRESS_INTERVAL {
            self.checked_at = Instant::now();
            let used = self.tree.poll();
            if used == self.used {
                self.silence += passed.min(PROGRESS_INTERVAL * 4);
            } else {
                self.used = used;
                self.silence = Duration::ZERO;
            }
        }
        self.silence
    }
}
