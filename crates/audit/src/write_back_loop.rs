//! Dirty pages of a database that is recorded, written back again and again: only then does the
//! recording file system see what was stored into mapped files.
//!
//! This runs outside of the recorded processes, so that it counts as no call of the engine, and
//! closes no file on which the engine holds a lock.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use trueput_host::page_cache::start_write_back;

/// The interval at which pages are written back.
const INTERVAL: Duration = Duration::from_millis(5);

/// The time after which a thread that waits for a file system is left to itself.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The thread that writes back.
pub(crate) struct WriteBackLoop {
    is_done: Arc<AtomicBool>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl WriteBackLoop {
    /// Begins to write back the files below a folder. Nothing is flushed: the file system of the
    /// block form would flush its device, and so hide a flush that an engine leaves out.
    pub(crate) fn start(directory: PathBuf) -> Self {
        let is_done = Arc::new(AtomicBool::new(false));
        let (ends, ended) = channel();
        let stop = Arc::clone(&is_done);
        std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                start_write_back(&directory);
                std::thread::sleep(INTERVAL);
            }
            drop(ends);
        });
        Self { is_done, ended }
    }

    /// Ends it. No file of the database is open afterwards.
    pub(crate) fn stop(self) {
        self.is_done.store(true, Ordering::SeqCst);
        let _ = self.ended.recv_timeout(STOP_TIMEOUT);
    }
}
