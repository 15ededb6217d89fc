//! Servers of engines: a private instance is created, started, awaited and stopped.

mod error;
mod log;
mod processes;
mod setup;

use super::placement;
use super::process::{describe_stopped, describe_stuck, is_ending, is_stopped};
use super::process_tree::list_members;
use super::shared_memory::SharedMemory;
pub use super::user::ServerUserError;
use super::user::{ServerUser, find_server_user};
pub use error::{ServerEnd, ServerError, SetupEnd, StoppedServer};
pub use log::LogQuote;
use log::ServerLog;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal as SystemSignal, kill};
use nix::unistd::{Pid, getppid, setgid, setgroups, setuid};
use processes::ServerProcesses;
pub use processes::{SurvivingProcesses, kill_server};
use setup::CREATION;
pub(crate) use setup::recover;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use trueput_engine::service::Signal;
use trueput_engine::{OpenSpec, Service};
use trueput_record::Conditions;

/// The time that a new server may take until it answers, and that a server may take to stop once
/// the user has interrupted the run.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The time that a server may take to recover after a crash, or to write its memory to its files
/// when it stops.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The time that creating an instance may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(600);

/// The time that a server may take to stop when it is dropped.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The time after which a server that was stopped by a signal is given up: somebody may only have
/// looked at it.
const STOPPED_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval at which the end of a process is checked.
const PAUSE: Duration = Duration::from_millis(10);

/// The interval between attempts to reach a starting server.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(50);

/// The interval in the first [`SHORT_ATTEMPTS_FOR`] of a restart: its time is measured after a
/// crash.
const SHORT_ATTEMPT: Duration = Duration::from_millis(2);
const SHORT_ATTEMPTS_FOR: Duration = Duration::from_secs(5);

/// The service to start, with its database and placement.
pub struct ServerSpec<'a> {
    /// The service of the engine.
    pub service: &'a dyn Service,
    /// The folder, level and knobs.
    pub database: &'a OpenSpec<'a>,
    /// The conditions that place its processes.
    pub conditions: &'a Conditions,
    /// The file by which processes enter the trial's control group; `None` if there is no group.
    pub group_entry: Option<&'a Path>,
}

/// A running server. Dropping it stops it, by force in the end.
pub struct Server {
    child: Child,
    log: ServerLog,
    stop_signal: Signal,
    /// Whether it ends by that signal when it has stopped in good order.
    ends_by_stop_signal: bool,
    ended: Option<ExitStatus>,
    processes: ServerProcesses,
    /// Its shared memory, as far as it outlives it.
    memory: SharedMemory,
}

/// Checks that the user who would run a server can reach the folder for databases.
///
/// # Errors
/// One sentence with the inaccessible folder and the remedy.
pub fn check_access_to(service: &dyn Service, place: &Path) -> Result<(), ServerUserError> {
    find_user(service)?.map_or(Ok(()), |user| user.check_access(place))
}

/// Finds the user who is to run a server; `None` for the current one.
fn find_user(service: &dyn Service) -> Result<Option<ServerUser>, ServerUserError> {
    if service.runs_as_root() {
        Ok(None)
    } else {
        find_server_user(service.users())
    }
}

impl Server {
    /// Creates the instance if there is none, starts its server and waits until it responds: at
    /// most [`START_TIMEOUT`] after creation, 30 minutes if it may have to recover.
    ///
    /// `wait` is called while waiting and returns whether to continue.
    ///
    /// # Errors
    /// [`ServerError`]; no process of the server is left then.
    pub fn start(
        spec: &ServerSpec<'_>,
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<Self, ServerError> {
        let is_made = spec.service.is_made(spec.database);
        let limit = if is_made {
            RECOVERY_TIMEOUT
        } else {
            START_TIMEOUT
        };
        Self::start_within(spec, limit, wait)
    }

    /// As [`Server::start`]; the server may take `limit` until it responds, and its creation may
    /// go on without progress for as long.
    ///
    /// # Errors
    /// [`ServerError`]; no process of the server is left then.
    pub fn start_within(
        spec: &ServerSpec<'_>,
        limit: Duration,
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<Self, ServerError> {
        let user = find_user(spec.service)?;
        if let Some(user) = &user {
            let above = spec.database.directory.parent();
            user.check_access(above.unwrap_or(spec.database.directory))?;
        }
        let is_made = spec.service.is_made(spec.database);
        if !is_made {
            if let Some(user) = &user {
                user.change_owner(spec.database.directory)?;
            }
            let commands = spec.service.make(spec.database);
            CREATION.run(spec, user.as_ref(), commands, limit, wait)?;
        }
        let command = spec.service.command(spec.database);
        let command = command.map_err(ServerError::NoCommand)?;
        let death_signal = spec.service.death_signal();
        let mut server = Self::spawn(spec, user.as_ref(), command, death_signal)?;
        server.stop_signal = spec.service.stop_signal();
        server.ends_by_stop_signal = spec.service.ends_by_stop_signal();
        server.wait_until_ready(spec, is_made, limit, wait)?;
        placement::verify_child(server.pid(), spec.conditions)?;
        Ok(server)
    }

    /// Returns its process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns how the server ended by itself, with the last line of its log; `None` while it runs.
    /// One that is ending is awaited, for [`STOP_TIMEOUT`] at most.
    pub fn own_end(&mut self) -> Option<ServerEnd> {
        let is_over = self.is_over();
        let limit = if is_over {
            STOP_TIMEOUT
        } else {
            Duration::ZERO
        };
        let status = self.wait_for_end(limit)?;
        Some(self.end_of(status, self.log.quote_last()))
    }

    /// Returns the server if its process was stopped by a signal, so that it answers nobody.
    #[must_use]
    pub fn as_stopped(&self) -> Option<StoppedServer> {
        let pid = self.pid();
        is_stopped(pid).then_some(StoppedServer { pid })
    }

    /// Whether it has ended, or is ending, without having been asked to.
    fn is_over(&mut self) -> bool {
        self.status().is_some() || is_ending(self.pid())
    }

    fn end_of(&self, status: ExitStatus, quote: LogQuote) -> ServerEnd {
        let pid = self.pid();
        ServerEnd { pid, status, quote }
    }

    /// Stops it in good order: all its commits are then in its files. This takes at most 30
    /// minutes, and a minute once `wait`, which is called meanwhile, returns false.
    ///
    /// # Errors
    /// [`ServerError`], if it had ended, takes longer and is killed, or reports an unclean end.
    pub fn stop(self, wait: &mut dyn FnMut() -> bool) -> Result<(), ServerError> {
        self.stop_within(RECOVERY_TIMEOUT, wait)
    }

    /// As [`Server::stop`], but it takes `limit` at most.
    ///
    /// # Errors
    /// As [`Server::stop`].
    pub fn stop_within(
        mut self,
        limit: Duration,
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<(), ServerError> {
        let mut was_over = self.is_over();
        if !was_over {
            self.signal();
        }
        let began = Instant::now();
        let mut paused = StoppedTime::default();
        loop {
            if let Some(server) = paused.exceeded(self.as_stopped()) {
                self.kill();
                let quote = self.log.quote_last();
                return Err(ServerError::Stopped { server, quote });
            }
            if let Some(status) = self.status() {
                if !was_over && self.has_stopped_well(status) {
                    return Ok(());
                }
                let quote = self.log.quote_last();
                return Err(if was_over {
                    ServerError::Ended(self.end_of(status, quote))
                } else {
                    ServerError::StoppedBadly { status, quote }
                });
            }
            // Only its first thread was ending.
            if was_over && began.elapsed() >= STOP_TIMEOUT {
                was_over = false;
                self.signal();
            }
            let is_wanted = wait();
            let limit = if is_wanted {
                limit
            } else {
                limit.min(START_TIMEOUT)
            };
            if began.elapsed() >= limit {
                let stuck = self.describe_stuck();
                self.kill();
                if !is_wanted {
                    return Err(ServerError::Canceled);
                }
                return Err(ServerError::NotStopped {
                    limit,
                    stuck,
                    quote: self.log.quote_last(),
                });
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether a server that was asked to stop has ended as it should.
    fn has_stopped_well(&self, status: ExitStatus) -> bool {
        let own_signal = signal_number(self.stop_signal) as i32;
        let by_signal = self.ends_by_stop_signal && status.signal() == Some(own_signal);
        status.success() || by_signal
    }

    /// Starts a command of the service, as the first of a process group; `death_signal` ends it
    /// with this process. It is stopped by SIGTERM unless the service says otherwise.
    fn spawn(
        spec: &ServerSpec<'_>,
        user: Option<&ServerUser>,
        command: Command,
        death_signal: Signal,
    ) -> Result<Self, ServerError> {
        let log = ServerLog::of_next(&spec.service.log(spec.database));
        let program = command.get_program().to_string_lossy().into_owned();
        let command = prepare_command(spec, user, command, death_signal);
        let child = command.and_then(|mut command| command.spawn());
        let child = child.map_err(|error| ServerError::NotStarted { program, error })?;
        Ok(Self {
            processes: ServerProcesses::follow(child.id()),
            child,
            log,
            stop_signal: Signal::Terminate,
            ends_by_stop_signal: false,
            ended: None,
            memory: SharedMemory::default(),
        })
    }

    fn wait_until_ready(
        &mut self,
        spec: &ServerSpec<'_>,
        is_made: bool,
        limit: Duration,
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<(), ServerError> {
        let began = Instant::now();
        let soon = if is_made {
            SHORT_ATTEMPTS_FOR
        } else {
            Duration::ZERO
        };
        let mut paused = StoppedTime::default();
        loop {
            if let Some(server) = paused.exceeded(self.as_stopped()) {
                return Err(ServerError::StoppedWhileStarting(server));
            }
            if self.is_over()
                && let Some(status) = self.wait_for_end(STOP_TIMEOUT)
            {
                let end = self.end_of(status, self.log.quote_cause());
                return Err(ServerError::EndedWhileStarting(end));
            }
            match self.ask_readiness(spec, began + limit, wait)? {
                Ok(true) => {
                    self.processes.refresh();
                    self.memory = SharedMemory::of(&self.processes.all());
                    self.memory.write_list(spec.database.directory);
                    return Ok(());
                }
                Ok(false) => {}
                Err(error) => return Err(ServerError::Refused(error)),
            }
            if began.elapsed() >= limit {
                let quote = self.log.quote_last();
                return Err(ServerError::NotReady { limit, quote });
            }
            if !wait() {
                return Err(ServerError::Canceled);
            }
            std::thread::sleep(if began.elapsed() < soon {
                SHORT_ATTEMPT
            } else {
                ATTEMPT_INTERVAL
            });
        }
    }

    /// Asks whether it responds, on a thread: a server that is stopped after it listens keeps its
    /// clients waiting. It is killed if it has not answered by `until`, which ends the question.
    ///
    /// # Errors
    /// [`ServerError`] if it was killed; otherwise the answer is [`Service::is_ready`]'s.
    fn ask_readiness(
        &mut self,
        spec: &ServerSpec<'_>,
        until: Instant,
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<trueput_engine::Result<bool>, ServerError> {
        let (service, database) = (spec.service, spec.database);
        std::thread::scope(|scope| {
            let (sender, answer) = channel();
            scope.spawn(move || {
                // Nobody listens once the server has been killed.
                let _ = sender.send(service.is_ready(database));
            });
            loop {
                match answer.recv_timeout(ATTEMPT_INTERVAL) {
                    Ok(answer) => return Ok(answer),
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(ServerError::Panic);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                let is_wanted = wait();
                if is_wanted && Instant::now() < until {
                    continue;
                }
                self.kill();
                if !is_wanted {
                    return Err(ServerError::Canceled);
                }
                return Err(ServerError::Silent(self.log.quote_last()));
            }
        })
    }

    /// Describes its processes that do not run, as [`describe_stuck`] does.
    #[must_use]
    pub fn describe_stuck(&self) -> Option<String> {
        describe_stuck(&list_members(self.pid()))
    }

    /// Describes its processes that are stopped by a signal; `None` if none is.
    #[must_use]
    pub fn describe_stopped(&self) -> Option<String> {
        describe_stopped(&list_members(self.pid()))
    }

    fn status(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    fn signal(&self) {
        self.processes.refresh();
        // It has not been waited for, so that the number is its own.
        let _ = kill(
            Pid::from_raw(self.pid().cast_signed()),
            signal_number(self.stop_signal),
        );
    }

    fn wait_for_end(&mut self, limit: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + limit;
        loop {
            let status = self.status();
            if status.is_some() || Instant::now() >= until {
                return status;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Kills the server and its descendants, which may be in process groups of their own.
    fn kill(&mut self) {
        self.processes.refresh();
        self.memory.extend(SharedMemory::of(&self.processes.all()));
        let _ = self.child.kill();
        // One that a device keeps in the kernel ends later.
        self.wait_for_end(STOP_TIMEOUT);
        self.processes.kill_survivors();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.status().is_none() {
            self.signal();
            if self.wait_for_end(STOP_TIMEOUT).is_none() {
                self.kill();
            }
        }
        // A server that has died leaves its children, and its shared memory.
        self.processes.kill_survivors();
        self.memory.remove();
    }
}

/// The time for which a server has been stopped by a signal.
#[derive(Default)]
struct StoppedTime(Option<Instant>);

impl StoppedTime {
    /// Returns the server once it has been given as stopped for [`STOPPED_TIMEOUT`].
    fn exceeded(&mut self, server: Option<StoppedServer>) -> Option<StoppedServer> {
        let Some(server) = server else {
            self.0 = None;
            return None;
        };
        let since = *self.0.get_or_insert_with(Instant::now);
        (since.elapsed() >= STOPPED_TIMEOUT).then_some(server)
    }
}

/// Prepares the command of a process: its placement, user, process group, death with the runner,
/// and output to the log.
fn prepare_command(
    spec: &ServerSpec<'_>,
    user: Option<&ServerUser>,
    mut command: Command,
    death_signal: Signal,
) -> std::io::Result<Command> {
    let path = spec.service.log(spec.database);
    // A server may log statements, addresses and users: they are nobody else's.
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0);
    if command.get_current_dir().is_none() {
        command.current_dir(spec.database.directory);
    }
    placement::apply(&mut command, spec.conditions)?;
    let entry = spec
        .group_entry
        .map(|path| OpenOptions::new().write(true).open(path));
    configure_process(&mut command, entry.transpose()?, user, death_signal);
    Ok(command)
}

/// Has the process of `command` enter the control group, become the user and be tied to this
/// process, in that order: a user's change would untie it (prctl(2)).
fn configure_process(
    command: &mut Command,
    entry: Option<File>,
    user: Option<&ServerUser>,
    death: Signal,
) {
    let user = user.map(|user| (user.uid, user.gid));
    let parent = nix::unistd::getpid();
    let set = move || {
        if let Some(mut entry) = entry.as_ref() {
            // 0 stands for the writing process (cgroups(7)).
            entry.write_all(b"0")?;
        }
        if let Some((uid, gid)) = user {
            setgroups(&[])?;
            setgid(gid)?;
            setuid(uid)?;
        }
        set_pdeathsig(signal_number(death))?;
        if getppid() == parent {
            Ok(())
        } else {
            // The runner was killed before this was tied to it.
            Err(nix::errno::Errno::ESRCH.into())
        }
    };
    // SAFETY: between fork and exec this makes system calls and allocates nothing.
    unsafe { command.pre_exec(set) };
}

fn signal_number(signal: Signal) -> SystemSignal {
    match signal {
        Signal::Terminate => SystemSignal::SIGTERM,
        Signal::Interrupt => SystemSignal::SIGINT,
        Signal::Quit => SystemSignal::SIGQUIT,
        Signal::Kill => SystemSignal::SIGKILL,
    }
}

#[cfg(test)]
mod tests;
