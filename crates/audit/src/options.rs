//! Limits and folders of an audit.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trueput_record::audit::StorageModel;
use trueput_record::filesystem::FileSystem;

/// Limits and folders of an audit.
#[derive(Debug, Clone)]
pub struct AuditOptions {
    /// This program, which serves [`crate::WORKER_TASK`] as a worker, and `faultfs`.
    pub program: PathBuf,
    /// A folder for states, on fast storage. It is emptied.
    pub scratch: PathBuf,
    /// The models to try. Kills are tried last, the others in this order.
    pub models: Vec<StorageModel>,
    /// The most states of each model.
    pub states: u64,
    /// The time for each subject; `None`: no limit but `states`.
    pub budget: Option<Duration>,
    /// The seed of the transactions and of the choice of states.
    pub seed: u64,
    /// The sessions that commit at once.
    pub workers: u32,
    /// The commits of each worker in each of the three phases.
    pub commits: u64,
    /// The states that are examined at once.
    pub threads: usize,
    /// The time that an engine has for one state.
    pub state_limit: Duration,
    /// The memory that an engine's process may have for itself, bytes.
    pub memory_bytes: u64,
    /// The file system in an image on which the database lies; `None`: its files are recorded
    /// directly.
    pub file_system: Option<FileSystem>,
    /// Whether the recording is there already, and only states are to be tried.
    pub is_recorded: bool,
    /// Set when the user stops the audit.
    pub stop: Arc<AtomicBool>,
}

impl AuditOptions {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}
