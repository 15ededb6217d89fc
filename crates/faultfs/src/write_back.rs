//! The thread that writes back what processes stored into mapped files, when one of them calls
//! syncfs or sync.
//!
//! It opens files of the server's own file system. A server that is killed meanwhile would wait for
//! itself, so the thread has descriptors of its own: the connection to the kernel is closed with
//! the other threads, and then its request fails.

use nix::libc;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// The thread, which waits for requests.
pub(crate) struct WriteBack {
    ends: Mutex<(Sender<()>, Receiver<io::Result<()>>)>,
}

impl WriteBack {
    /// Starts the thread, for the file system that will be mounted on a folder. Call it before the
    /// connection to the kernel is opened.
    pub(crate) fn start(mount_point: &Path) -> io::Result<Self> {
        let (ask, asked) = channel::<()>();
        let (answer, answered) = channel();
        let mount_point = mount_point.to_owned();
        let (ready, is_ready) = channel();
        std::thread::Builder::new().spawn(move || {
            // SAFETY: the thread uses no descriptor that another one opened.
            let parted = unsafe { unshare_unsafe(UnshareFlags::FILES) };
            let is_parted = parted.is_ok();
            let _ = ready.send(parted.map_err(io::Error::from));
            while is_parted && asked.recv().is_ok() {
                let _ = answer.send(write_back(mount_point.clone()));
            }
        })?;
        is_ready
            .recv()
            .map_err(|_| io::Error::other("a thread ended"))??;
        Ok(Self {
            ends: Mutex::new((ask, answered)),
        })
    }

    /// Writes back every file, and waits until that is done.
    pub(crate) fn run(&self) -> io::Result<()> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = || io::Error::other("the thread that writes back has ended");
        ends.0.send(()).map_err(|_| ended())?;
        ends.1.recv().map_err(|_| ended())?
    }
}

/// Writes back every file below a folder. Files that are gone meanwhile are passed over.
fn write_back(folder: PathBuf) -> io::Result<()> {
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => write_back_file(&entry.path())?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn write_back_file(path: &Path) -> io::Result<()> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    let how = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the call takes numbers only, and the descriptor is open.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, how) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
