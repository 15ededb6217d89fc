//! The process in which engines are checked. Their code runs in it: where it ends the process, or
//! never returns, the engine has failed, and another process checks those that are left.

use crate::failure::{FAILED, Failure, INTERRUPTED};
use crate::output;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Names the folder of a checking process to it.
const FOLDER: &str = "TRUEPUT_CHECK_FOLDER";
/// Says how many subjects the processes before it began.
const BEGUN: &str = "TRUEPUT_CHECK_BEGUN";
/// The file in the folder that has a line for each subject that was begun, and one for the end.
const PROGRESS: &str = "progress";
/// The line of the end. No subject is called so.
const END: &str = "end";

/// How often the process is looked at.
const TICK: Duration = Duration::from_millis(20);
/// How long a process goes on after Ctrl-C: a suite ends first.
const GRACE: Duration = Duration::from_secs(30);

/// What a checking process knows of the program that started it.
pub(super) struct CheckingProcess {
    folder: PathBuf,
    /// The subjects that were begun before.
    pub(super) begun: usize,
}

impl CheckingProcess {
    /// The one that this process is, if it is one. It ends with the program that started it.
    ///
    /// # Errors
    /// [`Failure::Other`] if the operating system does not tie the two.
    pub(super) fn own() -> Result<Option<Self>, Failure> {
        let begun = std::env::var(BEGUN).ok().and_then(|text| text.parse().ok());
        let (Some(folder), Some(begun)) = (std::env::var_os(FOLDER), begun) else {
            return Ok(None);
        };
        set_pdeathsig(Signal::SIGKILL)
            .map_err(|error| Failure::Other(format!("prctl PR_SET_PDEATHSIG: {error}")))?;
        let folder = PathBuf::from(folder);
        Ok(Some(Self { folder, begun }))
    }

    /// The folder for databases.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes that the checks of a subject begin.
    ///
    /// # Errors
    /// [`Failure::Other`] if that cannot be written.
    pub(super) fn begin(&self, heading: &str) -> Result<(), Failure> {
        self.note(heading)
    }

    /// Notes that everything was checked.
    ///
    /// # Errors
    /// As [`CheckingProcess::begin`].
    pub(super) fn end(&self) -> Result<(), Failure> {
        self.note(END)
    }

    fn note(&self, line: &str) -> Result<(), Failure> {
        let path = self.folder.join(PROGRESS);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| writeln!(file, "{}", line.replace('\n', " ")));
        written.map_err(|error| Failure::Other(format!("cannot write {}: {error}", path.display())))
    }
}

/// How a checking process ended.
enum End {
    /// It has checked everything.
    Complete(ExitStatus),
    /// The user wanted it.
    Interrupted,
    /// What was checked ended it, or did not end; the words follow `it`.
    Broken(String),
}

/// Runs this program's command line again in checking processes, until all is checked.
///
/// # Errors
/// A usage error if `parent` cannot hold databases; [`Failure::Other`] if no process can be
/// started, or one ends before it has begun a check.
pub(super) fn supervise(
    parent: &Path,
    limit: Option<Duration>,
    stop: &AtomicBool,
) -> Result<ExitCode, Failure> {
    let folder = tempfile::Builder::new()
        .prefix("trueput-check-")
        .tempdir_in(parent);
    // A server that does not run as root has its databases below, as a user who has to get in.
    let folder = folder.and_then(|folder| {
        fs::set_permissions(folder.path(), Permissions::from_mode(0o711))?;
        Ok(folder)
    });
    let folder = folder
        .map_err(|error| Failure::Usage(format!("work folder {}: {error}", parent.display())))?;
    let mut begun = 0;
    let mut has_failed = false;
    loop {
        let end = run_process(folder.path(), begun, limit, stop)?;
        let reason = match end {
            End::Complete(status) if status.success() && has_failed => {
                return Ok(ExitCode::from(FAILED));
            }
            End::Complete(status) => {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                return Ok(ExitCode::from(code.unwrap_or(FAILED)));
            }
            End::Interrupted => return Ok(ExitCode::from(INTERRUPTED)),
            End::Broken(reason) => reason,
        };
        has_failed = true;
        let subjects = subjects(folder.path());
        match subjects.get(begun..).and_then(<[String]>::last) {
            Some(subject) => output::line(&format!("{subject}: FAILED: it {reason}"))?,
            None => {
                return Err(Failure::Other(format!(
                    "the process {reason} before it began a check: a library of an engine that was \
                     named does that as it is loaded"
                )));
            }
        }
        begun = subjects.len();
    }
}

/// Runs one process, to its end.
fn run_process(
    folder: &Path,
    begun: usize,
    limit: Option<Duration>,
    stop: &AtomicBool,
) -> Result<End, Failure> {
    let cannot = |error| Failure::Other(format!("cannot start a checking process: {error}"));
    let program = std::env::current_exe().map_err(cannot)?;
    let child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(FOLDER, folder)
        .env(BEGUN, begun.to_string())
        // A terminal's Ctrl-C reaches only this process, which passes it on.
        .process_group(0)
        .spawn();
    let mut child = child.map_err(cannot)?;
    let end = watch(&mut child, folder, limit, stop);
    // Nothing of it stays.
    signal(&child, Signal::SIGKILL);
    let status = child.wait().map_err(cannot)?;
    Ok(match end {
        Some(end) => end,
        None if stop.load(Ordering::SeqCst) => End::Interrupted,
        None if has_ended(folder) => End::Complete(status),
        None => End::Broken(match (status.signal(), status.code()) {
            (Some(signal), _) => format!(
                "ended its process by {}",
                signal_hook::low_level::signal_name(signal).unwrap_or("a signal")
            ),
            (None, code) => format!(
                "ended its process with exit code {}",
                code.unwrap_or_default()
            ),
        }),
    })
}

/// Waits for a process; `None` if it ended by itself.
fn watch(
    child: &mut Child,
    folder: &Path,
    limit: Option<Duration>,
    stop: &AtomicBool,
) -> Option<End> {
    let (mut subjects_before, mut since) = (0, Instant::now());
    let mut stopped_at = None;
    while is_running(child) {
        std::thread::sleep(TICK);
        if stop.load(Ordering::SeqCst) && stopped_at.is_none() {
            stopped_at = Some(Instant::now());
            signal(child, Signal::SIGINT);
        }
        if stopped_at.is_some_and(|at| at.elapsed() > GRACE) {
            return Some(End::Interrupted);
        }
        let subjects = subjects(folder).len();
        if subjects != subjects_before {
            (subjects_before, since) = (subjects, Instant::now());
        }
        if let Some(limit) = limit.filter(|limit| since.elapsed() > *limit) {
            let minutes = limit.as_secs() / 60;
            return Some(End::Broken(format!("did not end within {minutes} min")));
        }
    }
    None
}

/// Whether a process has not ended. It is not waited for, so that its number stays its own.
fn is_running(child: &Child) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
    matches!(waitid(Id::Pid(pid), flags), Ok(WaitStatus::StillAlive))
}

/// Signals the process group of a process that was not waited for.
fn signal(child: &Child, signal: Signal) {
    if let Ok(pid) = i32::try_from(child.id()) {
        // It may have ended by now.
        let _ = killpg(Pid::from_raw(pid), signal);
    }
}

/// The subjects that all processes began.
fn subjects(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join(PROGRESS)).unwrap_or_default();
    let lines = text.lines().filter(|line| *line != END);
    lines.map(str::to_owned).collect()
}

/// Whether a process has checked everything.
fn has_ended(folder: &Path) -> bool {
    let text = fs::read_to_string(folder.join(PROGRESS)).unwrap_or_default();
    text.lines().any(|line| line == END)
}
