//! Several processes that do the input and output of a transaction processing database, in the
//! manner of FIS's `io_thrash` of 2008: journal records appended one after the other, blocks of a
//! database read and written at random, through POSIX calls.
//!
//! `docs/workloads/io-thrash.md` says what is measured and why.

mod verify;
mod worker;

use super::file::{FileLayout, lay_out};
use super::log::{self, LogPosition, LogShape};
use super::log_record::MIN_RECORD_BYTES;
use super::{StorageError, io_error};
use crate::{
    ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobError, JobResults, JobTask,
    LoadSummary, OperationBytes, Result, WorkerFindings, Workload, WorkloadInfo, WorkloadSubject,
};
use std::path::{Path, PathBuf};
use trueput_engine::{Parameter, ParameterValues, parameters};
use trueput_record::measurement::Measurement;
use trueput_record::{Conditions, Durability, TrialSpec, WorkerKind};

/// The kinds of operation, as indexes of [`Job::kinds`].
mod kinds {
    pub(super) const READ: usize = 0;
    pub(super) const WRITE: usize = 1;
    pub(super) const JOURNAL: usize = 2;
    pub(super) const FLUSH: usize = 3;
    pub(super) const NAMES: [&str; 4] = ["read", "write", "journal", "flush"];
}

/// Operations where neither a number nor a duration is given.
const DEFAULT_OPERATIONS: u64 = 100_000;

parameters! {
    /// The settings.
    struct Settings {
        /// Percentage of operations that append to the journal.
        journal_percent: Integer = 50 in 0..=100, unit "%",
        /// Percentage of the other operations that read a block; the rest write one.
        read_percent: Integer = 50 in 0..=100, unit "%",
        /// Size of a block of the database.
        block_bytes: Bytes = 4 KiB in (MIN_RECORD_BYTES as u64) B..=1 MiB,
        /// Size of each worker's database.
        database_bytes: Bytes = 64 MiB in 4 KiB..=1 TiB,
        /// Size of a journal record.
        journal_bytes: Bytes = 512 B in (MIN_RECORD_BYTES as u64) B..=1 MiB,
        /// Maximum size of each worker's journal; then writing continues at its start.
        journal_file_bytes: Bytes = 64 MiB in 4 KiB..=1 TiB,
        /// Journal records between two flushes of the journal; 0: never flush it.
        sync_every: Integer = 100 in 0.., unit "records",
            cost "all but 1: acknowledged records can be lost",
        /// Block writes between two flushes of the database; 0: never flush it.
        epoch_every: Integer = 0 in 0.., unit "writes",
        /// Bypass the page cache (O_DIRECT), in whole blocks.
        direct: Boolean = false,
        /// Reads, writes and journal records of all workers together; 0: until the duration ends,
        /// or 100000 if there is no duration.
        operations: Integer = 0 in 0.., unit "operations",
    }
}

/// The workload.
#[derive(Debug, Clone, Copy)]
pub struct IoThrash;

impl Workload for IoThrash {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "io-thrash",
            summary: "processes append to journals and read and write random blocks, without an \
                      engine",
            headline: "write",
            worker_kind: WorkerKind::Processes,
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
        let direct = settings.direct;
        let (block_bytes, journal_bytes) = (settings.block_bytes, settings.journal_bytes);
        if direct {
            log::check_direct("block_bytes", block_bytes)?;
            log::check_direct("journal_bytes", journal_bytes)?;
        }
        let holds = |file: (&'static str, u64), part: (&'static str, u64), least: u64| {
            let ((file, file_bytes), (part, bytes)) = (file, part);
            match file_bytes / bytes {
                count if count >= least => Ok(count),
                _ => Err(StorageError::SmallFile {
                    file,
                    file_bytes,
                    min_count: least,
                    part,
                    bytes,
                }),
            }
        };
        let blocks = holds(
            ("database_bytes", settings.database_bytes),
            ("block_bytes", block_bytes),
            1,
        )?;
        if u32::try_from(blocks).is_err() {
            return Err(StorageError::TooManyBlocks { blocks }.into());
        }
        let operations = log::operations(
            settings.operations,
            DEFAULT_OPERATIONS,
            conditions.duration_s,
        )?;
        Ok(Box::new(IoThrashJob {
            blocks,
            block_bytes: block_bytes as usize,
            journal: LogShape {
                bytes: journal_bytes as usize,
                records: holds(
                    ("journal_file_bytes", settings.journal_file_bytes),
                    ("journal_bytes", journal_bytes),
                    16,
                )?,
                place: LogPosition::End,
            },
            journal_percent: settings.journal_percent,
            read_percent: settings.read_percent,
            journal_flush_every: settings.sync_every,
            database_flush_every: settings.epoch_every,
            direct,
            operations,
            warm_up: conditions.warm_up_s > 0.0,
        }))
    }
}

struct IoThrashJob {
    /// Blocks of a worker's database.
    blocks: u64,
    block_bytes: usize,
    journal: LogShape,
    journal_percent: u64,
    read_percent: u64,
    journal_flush_every: u64,
    database_flush_every: u64,
    direct: bool,
    /// Over all workers; the largest number means until the time is up.
    operations: u64,
    warm_up: bool,
}

impl IoThrashJob {
    fn database_bytes(&self) -> u64 {
        self.blocks * self.block_bytes as u64
    }

    /// Each has a database and a journal of its own.
    fn bytes_per_worker(&self) -> u64 {
        self.database_bytes() + self.journal.file_bytes(1)
    }
}

/// The file of blocks of a worker.
fn database_path(directory: &Path, worker: u32) -> PathBuf {
    directory.join(format!("database-{worker:04}"))
}

/// The journal of a worker.
fn journal_path(directory: &Path, worker: u32) -> PathBuf {
    directory.join(format!("journal-{worker:04}"))
}

impl Job for IoThrashJob {
    fn kinds(&self) -> &'static [&'static str] {
        &kinds::NAMES
    }

    fn total_units(&self) -> u64 {
        log::total_units(self.operations)
    }

    fn durability(&self) -> Option<Durability> {
        Some(match self.journal_flush_every {
            1 => Durability::Sync,
            _ => Durability::None,
        })
    }

    fn unit_kinds(&self) -> &'static [&'static str] {
        &kinds::NAMES[..kinds::FLUSH]
    }

    fn volumes(&self) -> Vec<OperationBytes> {
        let volume = |read: usize, written: usize| OperationBytes::new(read as f64, written as f64);
        vec![
            volume(self.block_bytes, 0),
            volume(0, self.block_bytes),
            volume(0, self.journal.bytes),
            volume(0, 0),
        ]
    }

    fn changing_commits(&self, _spec: &TrialSpec, measurement: &Measurement) -> Option<u64> {
        let journaled = measurement.operations.get(kinds::JOURNAL)?.count;
        (self.journal_flush_every == 1).then_some(journaled)
    }

    fn expected_bytes(&self) -> u64 {
        self.bytes_per_worker()
    }

    fn own_files_bytes(&self, workers: u32) -> Option<u64> {
        Some(u64::from(workers).saturating_mul(self.bytes_per_worker()))
    }

    fn prepare(
        &self,
        target: &JobDatabase<'_>,
        _remains: ExistingDatabase,
    ) -> Result<Option<LoadSummary>> {
        for worker in 0..target.workers {
            let files = [
                (
                    database_path(target.directory, worker),
                    self.database_bytes(),
                ),
                (
                    journal_path(target.directory, worker),
                    self.journal.file_bytes(1),
                ),
            ];
            for (path, bytes) in files {
                lay_out(&path, FileLayout::Preallocated, bytes, target.seed)
                    .map_err(|error| io_error("laying out", &path, &error))?;
            }
            (target.progress)(f64::from(worker + 1) / f64::from(target.workers));
        }
        Ok(None)
    }

    fn execute(&self, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
        worker::run(self, task)
    }

    fn verify(&self, target: &JobDatabase<'_>, ended: &ExecutionSummary) -> Result<JobResults> {
        verify::verify(self, target, ended)
    }
}
