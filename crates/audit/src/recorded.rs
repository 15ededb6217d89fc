//! A recording of a workload, with the history of its commits.

use crate::block_form::{RecordedImage, database_folder};
use crate::failure::{Failure, NoReport};
use crate::flush_scope::is_unknown;
use crate::history::{Commit, History};
use crate::options::AuditOptions;
use crate::subject::Subject;
use crate::transaction::LargeValues;
use crate::worker::{Assignment, Report, Task};
use crate::worker_process::{MIN_ROOM_BYTES, Worker};
use crate::write_back_loop::WriteBackLoop;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use trueput_faultfs::Recording;
use trueput_faultfs::mount::Mount;
use trueput_faultfs::operation::Operation;
use trueput_faultfs::server::Folders;
use trueput_host::{private_files, read_free_bytes};
use trueput_record::audit::SeenFlushes;

/// The hidden command that serves the recording file system.
pub const SERVER_COMMAND: &str = "faultfs";

/// The folder of the database in a recorded file system.
pub(crate) const DATABASE: &str = "database";

const LOG_FOLDER: &str = "log";
const HISTORY_FILE: &str = "history.bin";

/// The time that recording a workload may take.
const RECORDING_TIMEOUT: Duration = Duration::from_secs(300);

/// The phases of a workload.
pub(crate) const PHASES: u64 = 3;

/// A recording that is read back.
pub(crate) struct RecordedWorkload {
    pub(crate) recording: Recording,
    /// The commits of each worker.
    pub(crate) commits: Vec<Vec<Commit>>,
}

impl RecordedWorkload {
    /// Reads the recording in a folder.
    pub(crate) fn read(folder: &Path, options: &AuditOptions) -> Result<Self, Failure> {
        let recording = Recording::read(&folder.join(LOG_FOLDER))?;
        let history = folder.join(HISTORY_FILE);
        let history = History::open(&history, options.workers, options.capacity());
        Ok(Self {
            recording,
            commits: history?.commits(),
        })
    }

    /// Reads the recording in `within` of a folder of unknown origin, whose files have at most
    /// `max_bytes` each.
    pub(crate) fn read_foreign(
        folder: &Path,
        within: &Path,
        options: &AuditOptions,
        max_bytes: u64,
    ) -> Result<Self, Failure> {
        let log = within.join(LOG_FOLDER);
        let recording = Recording::read_foreign(folder, &log, max_bytes)?;
        let history = within.join(HISTORY_FILE);
        let commits = History::read(folder, &history, options.workers, options.capacity());
        Ok(Self {
            recording,
            commits: commits?,
        })
    }

    /// Returns the number of commits that were acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        let commits = self.commits.iter().flatten();
        commits
            .filter(|commit| commit.acknowledged.is_some())
            .count() as u64
    }

    /// Returns how far the calls behind its flushes were seen.
    pub(crate) fn seen_flushes(&self) -> SeenFlushes {
        let after = &self.recording.operations[self.recording.base..];
        let unknown = after.iter().filter(|logged| is_unknown(&logged.operation));
        let watch = &self.recording.watch;
        SeenFlushes {
            watched: watch.listens,
            refused: watch.refused.clone(),
            io_uring: watch.io_uring,
            unknown: unknown.count() as u64,
        }
    }

    /// Returns the number of flushes.
    pub(crate) fn flushes(&self) -> u64 {
        let after = &self.recording.operations[self.recording.base..];
        let flushes = after
            .iter()
            .filter(|logged| is_flush_of_data(&logged.operation));
        flushes.count() as u64
    }
}

fn is_flush_of_data(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Flush { .. } | Operation::FlushAll { .. }
    )
}

impl AuditOptions {
    /// Returns the folder of the database, in a recorded folder.
    pub(crate) fn database_in(&self, recorded: &Path) -> PathBuf {
        match &self.file_system {
            Some(_) => database_folder(recorded),
            None => recorded.join(DATABASE),
        }
    }

    /// Returns the most commits of one worker.
    pub(crate) fn capacity(&self) -> u64 {
        self.commits * PHASES
    }
}

fn create(folder: &Path) -> Result<(), Failure> {
    let created = std::fs::create_dir_all(folder);
    created.map_err(Failure::of_file(folder))
}

/// Mounts the recording file system over `scratch/backing`, with its log in `log`.
pub(crate) fn mount(program: &Path, scratch: &Path, log: &Path) -> Result<Mount, Failure> {
    let folders = Folders {
        backing: scratch.join("backing"),
        mount_point: scratch.join("mount"),
        log: log.to_owned(),
    };
    for folder in [&folders.backing, &folders.mount_point] {
        create(folder)?;
    }
    private_files::create_folder(&folders.log).map_err(Failure::of_file(&folders.log))?;
    let mut command = Command::new(program);
    command
        .arg(SERVER_COMMAND)
        .args([&folders.backing, &folders.mount_point, &folders.log]);
    Ok(Mount::start(command, folders)?)
}

/// Records the workload of a subject into `folder`, with its files below `scratch`. Returns the
/// version that the engine reports.
pub(crate) fn record_workload(
    subject: &Subject,
    options: &AuditOptions,
    folder: &Path,
    scratch: &Path,
) -> Result<String, Failure> {
    let log = folder.join(LOG_FOLDER);
    if options.file_system.is_none() {
        // A server must own its folder, and the root of a file system is not always its user's.
        create(&scratch.join("backing").join(DATABASE))?;
    }
    let mount = mount(&options.program, scratch, &log)?;
    let image = options.file_system.as_ref();
    let image = image.map(|kind| RecordedImage::create(mount.path(), kind));
    let image = image.transpose()?;
    let history = folder.join(HISTORY_FILE);
    History::create(&history, options.workers, options.capacity())
        .map_err(Failure::of_file(&history))?;
    let assignment = Assignment {
        subject: subject.clone(),
        directory: options.database_in(mount.path()),
        seed: options.seed,
        workers: options.workers,
        memory_bytes: options.memory_bytes,
        large: LargeValues::OF_AUDIT,
        task: Task::Record {
            history,
            capacity: options.capacity(),
            log: Some(log),
            commits: Some(options.commits),
        },
    };
    let worker = match options.file_system {
        None => Worker::start_on(&mount, &options.program, &assignment)?,
        // The file system above turns every call into blocks and flushes of its device.
        Some(_) => Worker::start(&options.program, &assignment)?,
    };
    let write_back = WriteBackLoop::start(assignment.directory);
    let report = worker.wait(RECORDING_TIMEOUT, &options.stop);
    write_back.stop();
    drop(image);
    let stopped = mount.stop();
    match report {
        Ok(Report::Recorded { version }) => {
            stopped?;
            Ok(version)
        }
        Err(NoReport::Failed(reason)) => {
            // What the engine met may be what the recording could not do.
            let cause = stopped.err().map(|error| format!(" ({error})"));
            let reason = reason + &cause.unwrap_or_default();
            let room = read_free_bytes(folder).unwrap_or(u64::MAX);
            Err(if room < MIN_ROOM_BYTES {
                let folder = folder.to_owned();
                Failure::RecordingFull { reason, folder }
            } else {
                Failure::Recording(reason)
            })
        }
        Err(none) => Err(none.into()),
        Ok(_) => Err(Failure::Recording("unexpected report".to_owned())),
    }
}
