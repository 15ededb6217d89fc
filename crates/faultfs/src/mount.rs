//! The handle by which a process starts and ends a recording file system.

use crate::clock::OperationClock;
use crate::filter::watch_this_process;
use crate::log::{Recording, open_clock};
use crate::server::{Folders, READY, detach};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time that a server has to write back and unmount.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A reason why the file system could not be mounted or ended.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// FUSE is not available to this user.
    #[error(
        "the kernel's FUSE is not available ({0}); load it with 'modprobe fuse', and without root \
         install the package fuse3, which has fusermount3"
    )]
    NoFuse(String),
    /// The server ended, or its log is not complete.
    #[error("recording file system: {0}")]
    Failed(String),
}

/// A mounted recording file system, which ends when this is dropped.
#[derive(Debug)]
pub struct Mount {
    server: Option<Child>,
    /// The server's standard input: it serves until this is closed.
    socket: Option<UnixStream>,
    folders: Folders,
}

impl Mount {
    /// Starts `command`, which must call [`crate::server::serve`] with the same folders, and waits
    /// until the file system is mounted.
    ///
    /// # Errors
    /// [`MountError::NoFuse`] if this kernel or user has no FUSE, [`MountError::Failed`] otherwise.
    pub fn start(mut command: Command, folders: Folders) -> Result<Self, MountError> {
        if let Err(error) = std::fs::File::open("/dev/fuse") {
            return Err(MountError::NoFuse(format!("/dev/fuse: {error}")));
        }
        let failed = |error: io::Error| MountError::Failed(error.to_string());
        let (socket, input) = UnixStream::pair().map_err(failed)?;
        command.stdin(OwnedFd::from(input)).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        // An interrupt from the terminal ends the whole group. The server must live to unmount.
        command.process_group(0);
        let mut server = command.spawn().map_err(failed)?;
        // It holds the other end of the socket.
        drop(command);
        let output = server.stdout.take().map(BufReader::new);
        let mut line = String::new();
        if let Some(mut output) = output {
            output.read_line(&mut line).map_err(failed)?;
        }
        let mut mount = Self {
            server: Some(server),
            socket: Some(socket),
            folders,
        };
        if line.trim_end() == READY {
            Ok(mount)
        } else {
            Err(MountError::Failed(format!(
                "it cannot be mounted: {}",
                mount.last_words()
            )))
        }
    }

    /// Returns the folder on which it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folders.mount_point
    }

    /// Opens the clock of its log.
    ///
    /// # Errors
    /// The file system's own.
    pub fn clock(&self) -> io::Result<OperationClock> {
        open_clock(&self.folders.log)
    }

    /// Lets the server see the calls that flush of a process that `command` starts, and of whatever
    /// that process starts: each waits until the server has noted it. If the kernel refuses that,
    /// the process runs unseen, and the recording says so.
    pub fn watch(&self, command: &mut Command) {
        let Some(socket) = self.socket.as_ref().map(AsRawFd::as_raw_fd) else {
            return;
        };
        // SAFETY: between fork and exec the function makes system calls only. The socket is open
        // for as long as this mount, which outlives no command that its owner starts later.
        unsafe {
            command.pre_exec(move || watch_this_process(BorrowedFd::borrow_raw(socket)));
        }
    }

    /// Unmounts the file system and reads what it recorded. No process may have a file on it open.
    ///
    /// # Errors
    /// If the server does not end well, or the log is not complete.
    pub fn stop(mut self) -> Result<Recording, MountError> {
        let words = self.end();
        match words {
            None => Recording::read(&self.folders.log)
                .map_err(|error| MountError::Failed(error.to_string())),
            Some(words) => Err(MountError::Failed(words)),
        }
    }

    /// Ends the server and returns its error, if it had one.
    fn end(&mut self) -> Option<String> {
        let server = self.server.as_mut()?;
        drop(self.socket.take());
        let deadline = Instant::now() + STOP_TIMEOUT;
        let mut pause = Duration::from_millis(1);
        let status = loop {
            match server.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(50));
                }
                _ => {
                    let _ = server.kill();
                    let _ = server.wait();
                    let _ = detach(&self.folders.mount_point);
                    self.server = None;
                    return Some("it did not end in time and was killed".to_owned());
                }
            }
        };
        if status.success() {
            self.server = None;
            return None;
        }
        // A server that was killed leaves its mount behind.
        let _ = detach(&self.folders.mount_point);
        Some(self.last_words())
    }

    /// Waits for a server that has ended, and returns its error.
    fn last_words(&mut self) -> String {
        let Some(mut server) = self.server.take() else {
            return String::new();
        };
        let mut words = String::new();
        if let Some(mut errors) = server.stderr.take() {
            let _ = errors.read_to_string(&mut words);
        }
        let status = server.wait();
        match (words.trim(), status) {
            ("", Ok(status)) => format!("it ended with {status}"),
            (words, _) => words.to_owned(),
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
