//! One worker's reads and writes of its database and its journal.

use super::{IoThrashJob, database_path, journal_path, kinds};
use crate::generate::random::Random;
use crate::storage::log_record::{RecordHeader, RecordWriter, read_header};
use crate::storage::{io_error, log};
use crate::{JobTask, Result, WorkerFindings};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use trueput_host::page_buffer::PageBuffer;

/// The names of a worker's findings, which include its warm-up.
pub(super) const JOURNALED: &str = "journaled";
pub(super) const WRITES: &str = "writes";
pub(super) const READS: &str = "reads";
pub(super) const WRONG_READS: &str = "wrong_reads";

/// Verification checks the last version of at least this many blocks, spread over the database
/// (fewer than twice as many, or all of a smaller one).
const SAMPLED_BLOCKS: u64 = 256;

/// The finding with the version of a block that was written last.
pub(super) fn sample_name(block: u64) -> String {
    format!("block_{block}")
}

/// The distance between two sampled blocks.
pub(super) fn sample_step(blocks: u64) -> u64 {
    (blocks / SAMPLED_BLOCKS).max(1)
}

/// Runs one worker until its operations are done or the time is up; returns its findings.
pub(super) fn run(job: &IoThrashJob, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
    let paths = [
        database_path(task.directory, task.worker),
        journal_path(task.directory, task.worker),
    ];
    let [database, journal] = paths.each_ref().map(|path| {
        let opened = open(path, job.direct);
        opened.map_err(|error| io_error("opening", path, &error))
    });
    let mut worker = Worker::new(job, task, database?, journal?);
    let mut mix = Random::for_worker(task.seed, task.worker, "mix");
    let mut left = log::share(job.operations, task.worker, task.workers);
    let meter = &mut *task.meter;
    meter.start();
    while left > 0 && meter.next_unit() {
        let warming = meter.is_warming_up();
        let (kind, done) = if mix.below(100) < job.journal_percent {
            (kinds::JOURNAL, worker.append())
        } else if mix.below(100) < job.read_percent {
            (kinds::READ, worker.read(mix.below(job.blocks)))
        } else {
            (kinds::WRITE, worker.write(mix.below(job.blocks)))
        };
        let path = &paths[usize::from(kind == kinds::JOURNAL)];
        done.map_err(|error| io_error(kinds::NAMES[kind], path, &error))?;
        meter.finish(kind);
        if let Some(file) = worker.file_to_flush(kind) {
            let flushed = file.sync_data();
            flushed.map_err(|error| io_error("flushing", path, &error))?;
            meter.finish(kinds::FLUSH);
        }
        meter.finish_unit(kind);
        if !warming {
            left -= 1;
            meter.advance(1);
        }
    }
    Ok(worker.findings())
}

fn open(path: &Path, direct: bool) -> io::Result<File> {
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags(flags).open(path)
}

/// A worker's files, and its record of their contents.
struct Worker<'j> {
    job: &'j IoThrashJob,
    seed: u64,
    worker: u32,
    database: File,
    journal: File,
    block_writer: RecordWriter,
    record_writer: RecordWriter,
    block: PageBuffer,
    /// The block that was read last; separate, so that `block` need not be refilled.
    found: PageBuffer,
    record: PageBuffer,
    /// For each block, the number of times it has been written.
    versions: Vec<u32>,
    journaled: u64,
    writes: u64,
    reads: u64,
    wrong_reads: u64,
}

impl<'j> Worker<'j> {
    fn new(job: &'j IoThrashJob, task: &JobTask<'_>, database: File, journal: File) -> Self {
        let [block_writer, record_writer] = [job.block_bytes, job.journal.bytes]
            .map(|bytes| RecordWriter::new(task.seed, task.worker, bytes));
        let mut block = PageBuffer::zeroed(job.block_bytes);
        let mut record = PageBuffer::zeroed(job.journal.bytes);
        block_writer.fill(block.bytes_mut());
        record_writer.fill(record.bytes_mut());
        Self {
            job,
            seed: task.seed,
            worker: task.worker,
            database,
            journal,
            block_writer,
            record_writer,
            block,
            found: PageBuffer::zeroed(job.block_bytes),
            record,
            versions: vec![0; job.blocks as usize],
            journaled: 0,
            writes: 0,
            reads: 0,
            wrong_reads: 0,
        }
    }

    fn append(&mut self) -> io::Result<()> {
        let index = self.journaled;
        self.record_writer
            .stamp(self.record.bytes_mut(), index, index);
        let offset = self.job.journal.offset(index);
        self.journal.write_all_at(self.record.bytes(), offset)?;
        self.journaled += 1;
        Ok(())
    }

    /// Writes the next version of a block.
    fn write(&mut self, block: u64) -> io::Result<()> {
        // The version wraps to 0, which reads take for unwritten, after 2^32 writes of a block.
        // That takes hours even with a single block, and is reported as a wrong read.
        let version = self.versions[block as usize].wrapping_add(1);
        self.block_writer
            .stamp(self.block.bytes_mut(), u64::from(version), block);
        let offset = block * self.job.block_bytes as u64;
        self.database.write_all_at(self.block.bytes(), offset)?;
        self.versions[block as usize] = version;
        self.writes += 1;
        Ok(())
    }

    /// Reads a block and checks that it is the version that was written last.
    fn read(&mut self, block: u64) -> io::Result<()> {
        let offset = block * self.job.block_bytes as u64;
        self.database
            .read_exact_at(self.found.bytes_mut(), offset)?;
        self.reads += 1;
        let version = u64::from(self.versions[block as usize]);
        let expected = RecordHeader {
            index: version,
            sequence: block,
            writer: self.worker,
        };
        let found = self.found.bytes();
        let is_right = match version {
            0 => is_unwritten(found),
            _ => read_header(self.seed, found) == Some(expected),
        };
        self.wrong_reads += u64::from(!is_right);
        Ok(())
    }

    /// The file to flush after an operation of this kind: the journal after every
    /// `journal_flush_every` records, the database after every `database_flush_every` writes;
    /// 0 means never.
    fn file_to_flush(&self, kind: usize) -> Option<&File> {
        let is_due = |count: u64, every: u64| every > 0 && count.is_multiple_of(every);
        match kind {
            kinds::JOURNAL if is_due(self.journaled, self.job.journal_flush_every) => {
                Some(&self.journal)
            }
            kinds::WRITE if is_due(self.writes, self.job.database_flush_every) => {
                Some(&self.database)
            }
            _ => None,
        }
    }

    fn findings(&self) -> WorkerFindings {
        let counts = [
            (JOURNALED, self.journaled),
            (WRITES, self.writes),
            (READS, self.reads),
            (WRONG_READS, self.wrong_reads),
        ];
        let mut findings: WorkerFindings = counts
            .map(|(name, count)| (name.to_owned(), count))
            .into_iter()
            .collect();
        for block in (0..self.job.blocks).step_by(sample_step(self.job.blocks) as usize) {
            let version = self.versions[block as usize];
            findings.insert(sample_name(block), u64::from(version));
        }
        findings
    }
}

/// Whether a block still holds the zeros of the layout.
pub(super) fn is_unwritten(block: &[u8]) -> bool {
    block.iter().all(|&byte| byte == 0)
}
