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
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The time that a server has to write back and unmount.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// The time that a server has to do what a line asks for. One that is stopped does nothing.
const ORDER_TIMEOUT: Duration = Duration::from_secs(15);

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
        mut command: Command,
        mount_point: &Path,
        removal: UnmountFlags,
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
        if process.read_line().is_ok_and(|line| line == READY) {
            Ok(process)
        } else {
            drop(process.socket.take());
            let words = process.last_words();
            Err(process.error(format!("it cannot be mounted: {words}")))
        }
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
        let deadline = Instant::now() + STOP_TIMEOUT;
        let mut pause = Duration::from_millis(1);
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(50));
                }
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    let _ = remove_mount(&self.mount_point, self.removal);
                    self.child = None;
                    return Some("it did not end in time and was killed".to_owned());
                }
            }
        };
        if status.success() {
            self.child = None;
            return None;
        }
        // A server that was killed leaves its mount behind.
        let _ = remove_mount(&self.mount_point, self.removal);
        Some(self.last_words())
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
