//! The work of any engine's log on its own: write a record, make it durable, repeat.
//!
//! `docs/workloads/log-flush.md` says what is measured and why.

mod group_commit;
mod settings;
mod verify;
mod writer;

use super::file::{FileLayout, lay_out};
use super::log::{self, LogPosition, LogShape};
use super::write_channel::FlushMethod;
use super::{StorageError, io_error, log_record};
use crate::{
    Error, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobError, JobResults, JobTask,
    LoadSummary, OperationBytes, Result, WorkerFindings, Workload, WorkloadInfo, WorkloadSubject,
};
use group_commit::GroupCommit;
use settings::{Files, Settings, WritePosition};
use std::sync::OnceLock;
use trueput_engine::{Parameter, ParameterValues};
use trueput_record::measurement::Measurement;
use trueput_record::{Conditions, Durability, TrialSpec, WorkerKind};
use writer::LogCursor;

/// The kinds of operation, as indexes of [`Job::kinds`].
mod kinds {
    pub(super) const COMMIT: usize = 0;
    pub(super) const FLUSH: usize = 1;
    pub(super) const NAMES: [&str; 2] = ["commit", "flush"];
}

/// Commits where neither a number nor a duration is given: as many as in Berkeley DB's example.
const DEFAULT_OPERATIONS: u64 = 1_000;

/// Default bytes of a file before it is used again from its start.
const LAID_OUT_BYTES: u64 = 64 << 20;
const GROWING_BYTES: u64 = 1 << 30;

/// The minimum number of records in a log, so that a lap takes some time.
const MIN_RECORDS: u64 = 16;

/// Commits per second that a growing log is expected to see, for the check of free room.
const EXPECTED_PER_S: f64 = 10_000.0;

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct LogFlush;

impl Workload for LogFlush {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "log-flush",
            summary: "write a log record and make it durable, again and again, without an engine",
            headline: "commit",
            worker_kind: WorkerKind::Threads,
        }
    }

    fn subject(&self) -> WorkloadSubject {
        WorkloadSubject::Storage
    }

    fn settings(&self) -> &'static [Parameter] {
        Settings::PARAMETERS
    }

    fn job(
        &self,
        settings: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Box<dyn Job>, JobError> {
        let settings = Settings::from(settings);
        let Settings { flush, bytes, .. } = settings;
        if flush == FlushMethod::DirectDsync {
            log::check_direct("bytes", bytes)?;
        }
        let operations = log::operations(
            settings.operations,
            DEFAULT_OPERATIONS,
            conditions.duration_s,
        )?;
        let layout = settings.file;
        let place = match settings.at {
            WritePosition::Place => LogPosition::Start,
            WritePosition::End => LogPosition::End,
        };
        let log = LogShape {
            bytes: bytes as usize,
            records: records(settings.file_bytes, bytes, layout)?,
            place,
        };
        Ok(Box::new(LogFlushJob {
            flush,
            layout,
            log,
            apart: settings.files == Files::Apart,
            group_commit: settings.group_commit,
            operations,
            duration_s: conditions.duration_s,
            warm_up: conditions.warm_up_s > 0.0,
            group: OnceLock::new(),
            cursor: OnceLock::new(),
        }))
    }
}

/// The number of records of this size in a log file.
fn records(file_bytes: u64, bytes: u64, layout: FileLayout) -> Result<u64, StorageError> {
    let used = match (file_bytes, layout) {
        (0, FileLayout::Growing) => GROWING_BYTES.max(MIN_RECORDS * bytes),
        (0, _) => LAID_OUT_BYTES.max(MIN_RECORDS * bytes),
        (given, _) => given,
    };
    let records = used / bytes;
    if records < MIN_RECORDS {
        return Err(StorageError::ShortLog {
            file_bytes: used,
            records,
            bytes,
            min_records: MIN_RECORDS,
        });
    }
    Ok(records)
}

struct LogFlushJob {
    flush: FlushMethod,
    layout: FileLayout,
    log: LogShape,
    /// One file for each worker.
    apart: bool,
    group_commit: bool,
    /// Over all workers; the largest number means until the time is up.
    operations: u64,
    duration_s: Option<f64>,
    warm_up: bool,
    /// Shared by the threads of one process, made by the first of them.
    group: OnceLock<GroupCommit>,
    cursor: OnceLock<LogCursor>,
}

impl LogFlushJob {
    /// Whether one flush may serve several commits. Without a flush there is nothing to share.
    fn shares_flushes(&self) -> bool {
        self.group_commit && !self.apart && self.flush != FlushMethod::None
    }

    fn files(&self, workers: u32) -> u32 {
        if self.apart { workers } else { 1 }
    }

    /// The number of workers that write to one file.
    fn writers(&self, workers: u32) -> u32 {
        if self.apart { 1 } else { workers }
    }

    /// The length of a file before the workers start.
    fn laid_out_bytes(&self, workers: u32) -> u64 {
        self.log.file_bytes(self.writers(workers))
    }

    /// The length of all files in the end.
    fn bytes_of_files(&self, workers: u32) -> u64 {
        let files = u64::from(self.files(workers));
        let whole = files.saturating_mul(self.laid_out_bytes(workers));
        if self.layout != FileLayout::Growing {
            return whole;
        }
        let by_time = self.duration_s.map_or(f64::MAX, |s| s * EXPECTED_PER_S);
        let commits = self.operations.min(by_time as u64);
        whole.min(commits.saturating_mul(self.log.bytes as u64))
    }

    fn mapped_bytes(&self, workers: u32) -> u64 {
        match self.flush {
            FlushMethod::Msync => self.laid_out_bytes(workers),
            _ => 0,
        }
    }

    /// Direct writes have an alignment that only the file system knows.
    fn try_direct(&self, target: &JobDatabase<'_>) -> Result<()> {
        if self.flush != FlushMethod::DirectDsync {
            return Ok(());
        }
        let path = target.directory.join("direct");
        let buffer = trueput_host::page_buffer::PageBuffer::zeroed(self.log.bytes);
        let tried = std::fs::write(&path, [])
            .and_then(|()| super::write_channel::WriteChannel::open(&path, self.flush, 0))
            .and_then(|mut channel| {
                let bytes = buffer.bytes();
                channel.commit([(0, bytes), (bytes.len() as u64, bytes)])
            });
        let removed = std::fs::remove_file(&path);
        match tried {
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
                Err(Error::Workload(format!(
                    "the file system takes no direct write of {} bytes: choose a multiple of its \
                     block, often bytes=4096, or another flush",
                    self.log.bytes
                )))
            }
            tried => tried
                .and(removed)
                .map_err(|error| io_error("writing", &path, &error)),
        }
    }
}

impl Job for LogFlushJob {
    fn kinds(&self) -> &'static [&'static str] {
        if self.shares_flushes() {
            &kinds::NAMES
        } else {
            &kinds::NAMES[..kinds::FLUSH]
        }
    }

    fn total_units(&self) -> u64 {
        log::total_units(self.operations)
    }

    fn durability(&self) -> Option<Durability> {
        Some(self.flush.durability())
    }

    fn check_workers(&self, workers: u32, kind: WorkerKind) -> Result<(), JobError> {
        if workers > 1 && kind == WorkerKind::Processes && !self.apart {
            return Err(StorageError::LogOfProcesses.into());
        }
        let records = self.log.records;
        if u64::from(self.writers(workers)) > records {
            return Err(StorageError::TooManyWorkers { records, workers }.into());
        }
        Ok(())
    }

    fn unit_kinds(&self) -> &'static [&'static str] {
        &kinds::NAMES[..kinds::FLUSH]
    }

    fn volumes(&self) -> Vec<OperationBytes> {
        let commit = OperationBytes::new(0.0, self.log.bytes as f64);
        let mut volumes = vec![commit];
        volumes.resize(self.kinds().len(), OperationBytes::default());
        volumes
    }

    fn changing_commits(&self, _spec: &TrialSpec, measurement: &Measurement) -> Option<u64> {
        Some(measurement.operations.get(kinds::COMMIT)?.count)
    }

    fn expected_bytes(&self) -> u64 {
        self.bytes_of_files(1)
    }

    fn own_files_bytes(&self, workers: u32) -> Option<u64> {
        Some(self.bytes_of_files(workers))
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        _remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>> {
        let bytes = self.laid_out_bytes(target.workers);
        self.try_direct(target)?;
        let files = self.files(target.workers);
        for file in 0..files {
            let path = log::path(target.directory, self.apart, file);
            let laid_out = lay_out(&path, self.layout, bytes, target.seed).and_then(|()| {
                // A mapping cannot reach beyond the file's end: its blocks are allocated when they
                // are stored to, as those of an engine that maps its file.
                match (self.layout, self.flush) {
                    (FileLayout::Growing, FlushMethod::Msync) => {
                        let file = std::fs::File::options().write(true).open(&path)?;
                        file.set_len(bytes)?;
                        file.sync_all()
                    }
                    _ => Ok(()),
                }
            });
            laid_out.map_err(|error| io_error("laying out", &path, &error))?;
            (target.progress)(f64::from(file + 1) / f64::from(files));
        }
        Ok(None)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        writer::run(self, task)
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        verify::verify(self, target, ended)
    }
}
