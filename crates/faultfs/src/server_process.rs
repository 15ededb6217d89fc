//! The process of a file system's server, as the process that started it holds it.

use crate::server::{READY, remove_mount};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::mount::UnmountFlags;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use trueput_host::end_connection;

/// The time that a server has to mount, and to measure what it takes itself.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The time that a server has to write back and unmount.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// The time that a server has to do what a line asks for. One that is stopped does nothing.
const ORDER_TIMEOUT: Duration = Duration::from_secs(15);

/// The time that a server that was killed has to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// The device by which a server speaks with the kernel.
const FUSE_DEVICE: &str = "/dev/fuse";

/// A reason why the file system could not be mounted or ended.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// FUSE is not available to this user.
    #[error(
        "the kernel's FUSE is not available ({0}); load it with 'modprobe fuse', and without root \
         install the package fuse3, which has fusermount3"
    )]
    NoFuse(String),
    /// The server ended, or what it wrote is not complete.
    #[error("{server}: {reason}")]
    Failed {
        /// The server's file system, as in `recording file system`.
        server: &'static str,
        /// The reason, in the server's words where it has any.
        reason: String,
    },
}

/// A server's process, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    /// Its file system, for errors.
    name: &'static str,
    child: Option<Child>,
    /// Its standard input: it serves until this is closed.
    socket: Option<UnixStream>,
    /// Its standard output.
    output: Option<BufReader<ChildStdout>>,
    mount_point: PathBuf,
    /// How the mount of a server that was killed is removed.
    removal: UnmountFlags,
}

impl ServerProcess {
    /// Starts `command`, which must print [`READY`] once the file system of that name is mounted on
    /// `mount_point`, and unmount it when standard input ends. The mount of a server that was
    /// killed is removed with the flags `removal`.
    ///
    /// # Errors
    /// [`MountError::NoFuse`] if this kernel or user has no FUSE, [`MountError::Failed`] otherwise.
    pub(crate) fn start(
        name: &'static str,
        command: Command,
        mount_point: &Path,
        removal: UnmountFlags,
    ) -> Result<Self, MountError> {
        Self::start_within(START_TIMEOUT, name, command, (mount_point, removal))
    }

    fn start_within(
        limit: Duration,
        name: &'static str,
        mut command: Command,
        (mount_point, removal): (&Path, UnmountFlags),
    ) -> Result<Self, MountError> {
        if let Err(error) = std::fs::File::open(FUSE_DEVICE) {
            return Err(MountError::NoFuse(format!("{FUSE_DEVICE}: {error}")));
        }
        let failed = |error: io::Error| MountError::Failed {
            server: name,
            reason: error.to_string(),
        };
        let (socket, input) = UnixStream::pair().map_err(failed)?;
        command.stdin(OwnedFd::from(input)).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        // An interrupt from the terminal ends the whole group. The server must live to unmount.
        command.process_group(0);
        let mut child = command.spawn().map_err(failed)?;
        // It holds the other end of the socket.
        drop(command);
        let output = child.stdout.take().map(BufReader::new);
        let mut process = Self {
            name,
            child: Some(child),
            socket: Some(socket),
            output,
            mount_point: mount_point.to_owned(),
            removal,
        };
        let answered = process.await_output(limit);
        let reason = match answered.and_then(|()| process.read_line()) {
            Ok(line) if line == READY => return Ok(process),
            Ok(_) => process.end().unwrap_or_else(|| "it has ended".to_owned()),
            Err(error) => {
                process.kill();
                error.to_string()
            }
        };
        Err(process.error(format!("it cannot be mounted: {reason}")))
    }

    /// Returns the folder on which the file system is mounted.
    pub(crate) fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    /// Returns its process; `None` if it has ended.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Returns whether its process has ended, as one does that was killed.
    pub(crate) fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// Returns this end of its standard input; `None` if it was told to end.
    pub(crate) fn socket(&self) -> Option<RawFd> {
        self.socket.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Returns an error of this server.
    pub(crate) fn error(&self, reason: String) -> MountError {
        MountError::Failed {
            server: self.name,
            reason,
        }
    }

    /// Sends a line, and waits until the server repeats it: what the line asks for is done. A
    /// server that does not obey is killed, so that whoever waits for it gets an error.
    ///
    /// # Errors
    /// [`MountError::Failed`] if the server has ended, does not answer, or answers something else.
    pub(crate) fn order(&mut self, line: &str) -> Result<(), MountError> {
        let sent = match &mut self.socket {
            Some(socket) => writeln!(socket, "{line}"),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        let answered = sent.and_then(|()| self.await_output(ORDER_TIMEOUT));
        let reason = match answered.and_then(|()| self.read_line()) {
            Ok(answer) if answer == line => return Ok(()),
            Ok(answer) if answer.is_empty() => "it has ended".to_owned(),
            Ok(answer) => format!("it answers '{answer}' to '{line}'"),
            Err(error) => error.to_string(),
        };
        // Its end is awaited in `end`.
        let _ = self.child.as_mut().map(Child::kill);
        Err(self.error(reason))
    }

    /// Waits until its standard output can be read, or has ended.
    fn await_output(&self, limit: Duration) -> io::Result<()> {
        let output = self.output.as_ref();
        let Some(output) = output.filter(|output| output.buffer().is_empty()) else {
            return Ok(());
        };
        let mut awaited = [PollFd::new(output.get_ref().as_fd(), PollFlags::POLLIN)];
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            match poll(&mut awaited, left) {
                Ok(0) => {
                    let words = format!("no answer within {} s", limit.as_secs());
                    return Err(io::Error::other(words));
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(()),
            }
        }
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if let Some(output) = &mut self.output {
            output.read_line(&mut line)?;
        }
        Ok(line.trim_end().to_owned())
    }

    /// Ends the server, which unmounts, and returns its error, if it had one.
    pub(crate) fn end(&mut self) -> Option<String> {
        let child = self.child.as_mut()?;
        drop(self.socket.take());
        let Some(status) = await_end(child, STOP_TIMEOUT) else {
            self.kill();
            return Some("it did not end in time and was killed".to_owned());
        };
        if status.success() {
            self.child = None;
            return None;
        }
        // A server that was killed leaves its mount behind.
        let _ = remove_mount(&self.mount_point, self.removal);
        Some(self.last_words())
    }

    /// Kills the server and removes its mount. One that was killed while it uses a file of its own
    /// waits for itself, until the kernel ends its connection.
    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            // Without the right to do this, it may still end.
            let _ = end_connection(&self.mount_point);
            await_end(&mut child, KILL_TIMEOUT);
            let _ = remove_mount(&self.mount_point, self.removal);
        }
    }

    /// Waits for a server that has ended, and returns its error.
    fn last_words(&mut self) -> String {
        let Some(mut child) = self.child.take() else {
            return String::new();
        };
        let mut words = String::new();
        if let Some(mut errors) = child.stderr.take() {
            let _ = errors.read_to_string(&mut words);
        }
        let status = child.wait();
        match (words.trim(), status) {
            ("", Ok(status)) => format!("it ended with {status}"),
            (words, _) => words.to_owned(),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Waits until a process has ended; `None` if it does not within the limit.
fn await_end(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < deadline => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(50));
            }
            ended => return ended.ok().flatten(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a shell script as a server, and returns its error and whether its process is left.
    fn fail(script: &str) -> (String, bool) {
        let folder = tempfile::tempdir().unwrap();
        let number = folder.path().join("number");
        let mut command = Command::new("sh");
        let script = format!("echo $$ > \"$0\"; {script}");
        command.args(["-c", &script]).arg(&number);
        let at = (folder.path(), UnmountFlags::empty());
        let limit = Duration::from_secs(2);
        let error = ServerProcess::start_within(limit, "test", command, at).unwrap_err();
        let number = std::fs::read_to_string(number).unwrap();
        let process = format!("/proc/{}", number.trim());
        (error.to_string(), Path::new(&process).exists())
    }

    #[test]
    fn a_server_that_does_not_become_ready_is_killed() {
        if std::fs::File::open(FUSE_DEVICE).is_err() {
            return;
        }
        let (error, is_left) = fail("exec sleep 600");
        assert_eq!(error, "test: it cannot be mounted: no answer within 2 s");
        assert!(!is_left);
        // The control: one that ends says why itself.
        let (error, is_left) = fail("echo full >&2; exit 3");
        assert_eq!(error, "test: it cannot be mounted: full");
        assert!(!is_left);
    }
}
