//! The thread that writes back what processes stored into mapped files, when one of them calls
//! syncfs or sync.
//!
//! It opens files of the server's own file system. A server that is killed meanwhile would wait for
//! itself, so the thread has descriptors of its own: the connection to the kernel is closed with
//! the other threads, and then its request fails.
//!
//! It calls fsync, whose own request is not logged. Only that waits for what was written back
//! before Linux 6.16: there, FUSE writes copies of the pages, and for all else the pages count as
//! written when their copies wait to be sent (kernel commit 0c58a97f919c, "fuse: remove tmp folio
//! for writebacks and internal rb tree").

use crate::flush_watch::Thread;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// The thread, which waits for requests.
pub(crate) struct WriteBack {
    ends: Mutex<(Sender<()>, Receiver<io::Result<()>>)>,
    thread: Thread,
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
            let thread = rustix::thread::gettid().as_raw_pid().unsigned_abs();
            let _ = ready.send(parted.map(|()| thread).map_err(io::Error::from));
            while is_parted && asked.recv().is_ok() {
                let _ = answer.send(write_back(mount_point.clone()));
            }
        })?;
        let thread = is_ready
            .recv()
            .map_err(|_| io::Error::other("a thread ended"))??;
        Ok(Self {
            ends: Mutex::new((ask, answered)),
            thread,
        })
    }

    /// Returns the thread, whose flushes are this server's own.
    pub(crate) fn thread(&self) -> Thread {
        self.thread
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
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        file => file?.sync_data(),
    }
}
