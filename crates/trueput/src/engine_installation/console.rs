//! Runs the programs of an installation: their output goes to the log, and a stop signal ends them
//! with all that they have started.

use super::display::Display;
use super::error::{InstallationError, Result};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a program is looked at.
const TICK: Duration = Duration::from_millis(50);
/// How often what it has done is shown.
const REDRAW: Duration = Duration::from_millis(300);
/// The time that a stopped program has to clean up.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// No step of any engine takes nearly as long: the program hangs.
const STEP_TIMEOUT: Duration = Duration::from_secs(2 * 60 * 60);
/// The end of the log in which the last line is looked for.
const LOG_TAIL: u64 = 400;

/// The way in which a program is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMethod {
    /// It and all that it has started: SIGTERM, then SIGKILL.
    Group,
    /// SIGINT for it alone, and its end is waited for: apt-get ends a download, but lets dpkg
    /// finish, which would leave packages half configured.
    Gentle,
}

/// The log, the display and the stop flag of an installation.
pub struct Console {
    /// Shows how far the installation is.
    pub display: Display,
    log: File,
    log_path: PathBuf,
    stop: Arc<AtomicBool>,
}

impl Console {
    /// Opens the log in a folder.
    ///
    /// # Errors
    /// A log that cannot be written.
    pub fn open(folder: &Path, stop: Arc<AtomicBool>) -> io::Result<Self> {
        let log_path = folder.join("install.log");
        let mut options = OpenOptions::new();
        // Each program appends.
        options.append(true).create(true).mode(0o644);
        let log = options
            .custom_flags(nix::libc::O_NOFOLLOW)
            .open(&log_path)?;
        log.set_len(0)?;
        Ok(Self {
            display: Display::new(),
            log,
            log_path,
            stop,
        })
    }

    /// The log's path, for messages.
    pub fn log_path(&self) -> String {
        self.log_path.display().to_string()
    }

    /// Ends the installation if the user stopped the program.
    ///
    /// # Errors
    /// [`InstallationError::Interruption`].
    pub fn check_stop(&self) -> Result<()> {
        if self.stop.load(Ordering::SeqCst) {
            return Err(InstallationError::Interruption);
        }
        Ok(())
    }

    /// Runs a program, and returns whether it succeeded.
    ///
    /// # Errors
    /// An interruption, a program that does not end, and a log that cannot be written.
    pub fn run(&self, command: &mut Command, method: StopMethod) -> Result<bool> {
        let show = |_: usize| {
            if let Some(line) = self.last_log_line() {
                self.display.set_message(&line);
            }
        };
        self.run_all(std::slice::from_mut(command), 1, method, &show)
    }

    /// Runs programs, at most so many at once, until one fails; returns whether all succeeded.
    /// `show` is called now and then with the number of those that ended, if somebody sees it.
    ///
    /// # Errors
    /// As [`Console::run`].
    pub fn run_all(
        &self,
        commands: &mut [Command],
        parallel: usize,
        method: StopMethod,
        show: &dyn Fn(usize),
    ) -> Result<bool> {
        let mut running = Vec::new();
        let result = self.wait_for_all(commands, parallel, &mut running, show);
        for child in &mut running {
            end(child, method)?;
        }
        result
    }

    fn wait_for_all(
        &self,
        commands: &mut [Command],
        parallel: usize,
        running: &mut Vec<Child>,
        show: &dyn Fn(usize),
    ) -> Result<bool> {
        let mut waiting = commands.iter_mut();
        let (mut done, began) = (0, Instant::now());
        let mut shown_at = began;
        loop {
            self.check_stop()?;
            while running.len() < parallel {
                let Some(command) = waiting.next() else { break };
                match self.start(command)? {
                    Some(child) => running.push(child),
                    None => return Ok(false),
                }
            }
            if running.is_empty() {
                return Ok(true);
            }
            for index in (0..running.len()).rev() {
                if running[index].try_wait()?.is_some() {
                    // It has ended: this only takes the status again.
                    let status = running.swap_remove(index).wait()?;
                    done += 1;
                    if !status.success() {
                        writeln!(&self.log, "{status}")?;
                        return Ok(false);
                    }
                }
            }
            if began.elapsed() > STEP_TIMEOUT {
                let reason = "a step did not end in two hours";
                return Err(InstallationError::failure(reason));
            }
            if self.display.is_terminal() && shown_at.elapsed() > REDRAW {
                shown_at = Instant::now();
                show(done);
            }
            std::thread::sleep(TICK);
        }
    }

    /// Starts a program; `None` if it cannot be run, as the log then says.
    fn start(&self, command: &mut Command) -> Result<Option<Child>> {
        writeln!(&self.log, "+ {}", words(command))?;
        command
            .stdin(Stdio::null())
            .stdout(self.log.try_clone()?)
            .stderr(self.log.try_clone()?)
            .process_group(0);
        match command.spawn() {
            Ok(child) => Ok(Some(child)),
            Err(error) => {
                writeln!(&self.log, "{}: {error}", words(command))?;
                Ok(None)
            }
        }
    }

    /// Returns what a short question prints on standard output; `None` if it fails.
    pub fn ask(&self, command: &mut Command) -> Option<String> {
        let log = self.log.try_clone().ok()?;
        let output = command.stdin(Stdio::null()).stderr(log).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    fn last_log_line(&self) -> Option<String> {
        let mut file = File::open(&self.log_path).ok()?;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL)))
            .ok()?;
        let mut tail = Vec::new();
        file.take(LOG_TAIL).read_to_end(&mut tail).ok()?;
        let tail = String::from_utf8_lossy(&tail);
        let line = tail.lines().rfind(|line| !line.trim().is_empty());
        line.map(str::to_owned)
    }
}

/// The words of a command, for the log.
fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    words.join(" ")
}

/// Stops a program and waits for its end.
fn end(child: &mut Child, method: StopMethod) -> io::Result<()> {
    let pid = Pid::from_raw(child.id().cast_signed());
    // It may have ended by now, and what runs as root is not ours to stop.
    if method == StopMethod::Gentle {
        let _ = kill(pid, Signal::SIGINT);
        child.wait()?;
        return Ok(());
    }
    let _ = killpg(pid, Signal::SIGTERM);
    let began = Instant::now();
    while began.elapsed() < STOP_TIMEOUT && child.try_wait()?.is_none() {
        std::thread::sleep(TICK);
    }
    // Also what it has started and left.
    let _ = killpg(pid, Signal::SIGKILL);
    child.wait()?;
    Ok(())
}

/// Finds a program in `PATH`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        let metadata = path.metadata();
        metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places.find(is_program)
}

/// The compiler in a variable, or the usual one.
pub fn compiler(variable: &str, usual: &str) -> String {
    let named = std::env::var(variable).ok();
    named
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| usual.to_owned())
}
