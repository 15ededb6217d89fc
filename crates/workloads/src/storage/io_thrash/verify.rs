//! Reads the databases and journals back from storage: every block is whole and is the one that
//! belongs there, the sampled ones are the last version, the journals have every record that no
//! later one was written over.

use super::super::file::{each_record, open_uncached};
use super::super::io_error;
use super::super::log_record::{RecordWriter, read_header};
use super::super::log_verifier::{LogVerifier, SAMPLE};
use super::worker::{
    JOURNALED, READS, WRITES, WRONG_READS, is_unwritten, sample_name, sample_step,
};
use super::{IoThrashJob, database_path, journal_path, kinds};
use crate::{ExecutionSummary, JobDatabase, JobResults, Result};
use std::io;
use trueput_record::VerifyLevel;
use trueput_record::measurement::Check;

/// The results, and the checks where verification is on.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn verify(
    job: &IoThrashJob,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults> {
    let mut conclusion = JobResults::default();
    for (name, count) in kinds::NAMES.iter().zip(&ended.counts) {
        conclusion
            .results
            .insert(format!("{name}s"), (*count).into());
    }
    if ended.verify == VerifyLevel::Off {
        return Ok(conclusion);
    }
    let journaled: Vec<u64> = (0..target.workers as usize)
        .map(|worker| ended.finding(worker, JOURNALED))
        .collect();
    let mut journals = LogVerifier::new(job.journal, target, ended.verify);
    let mut blocks = BlockCheck::default();
    for worker in 0..target.workers {
        let path = journal_path(target.directory, worker);
        let own = worker as usize..worker as usize + 1;
        open_uncached(&path)
            .and_then(|file| journals.read_appended(&file, &journaled, own))
            .map_err(|error| io_error("reading back", &path, &error))?;
        let path = database_path(target.directory, worker);
        blocks
            .read(job, target, ended, worker)
            .map_err(|error| io_error("reading back", &path, &error))?;
        (target.progress)(f64::from(worker + 1) / f64::from(target.workers));
    }
    conclusion.checks = journals.checks(&journaled);
    conclusion.checks.extend(blocks.checks());
    conclusion.checks.extend(check_counts(job, ended));
    Ok(conclusion)
}

/// Checks that the meter counted the workers' operations outside the warm-up, and that every read
/// returned the last write.
fn check_counts(job: &IoThrashJob, ended: &ExecutionSummary) -> Vec<Check> {
    let named = [
        (kinds::READ, READS),
        (kinds::WRITE, WRITES),
        (kinds::JOURNAL, JOURNALED),
    ];
    let mut checks: Vec<Check> = named
        .into_iter()
        .map(|(kind, name)| {
            let counted = ended.count(kind);
            let done = ended.sum_of(name);
            let right = counted == done || (job.warm_up && counted <= done);
            let check = format!("{}s counted", kinds::NAMES[kind]);
            Check::new(&check, right, format!("{counted} of {done}"))
        })
        .collect();
    checks.push(Check::equal(
        "reads that found another block",
        &0,
        &ended.sum_of(WRONG_READS),
    ));
    checks
}

/// The blocks of the databases, counted and checked.
#[derive(Default)]
struct BlockCheck {
    whole: u64,
    damaged: u64,
    sampled: u64,
    outdated: u64,
}

impl BlockCheck {
    fn read(
        &mut self,
        job: &IoThrashJob,
        target: &JobDatabase<'_>,
        ended: &ExecutionSummary,
        worker: u32,
    ) -> io::Result<()> {
        let file = open_uncached(&database_path(target.directory, worker))?;
        let record_writer = RecordWriter::new(target.seed, worker, job.block_bytes);
        let mut scratch = vec![0; job.block_bytes];
        let step = sample_step(job.blocks);
        each_record(&file, job.block_bytes, 0..job.blocks, &mut |at, block| {
            let version = read_header(target.seed, block)
                .filter(|header| (header.writer, header.sequence) == (worker, at));
            let looked_at = ended.verify == VerifyLevel::Full || at.is_multiple_of(SAMPLE);
            let whole = match version {
                Some(header) => {
                    !looked_at || record_writer.has_written(block, header, &mut scratch)
                }
                None => is_unwritten(block),
            };
            self.whole += u64::from(whole);
            self.damaged += u64::from(!whole);
            if at.is_multiple_of(step) {
                let last = ended.finding(worker as usize, &sample_name(at));
                self.sampled += 1;
                self.outdated += u64::from(version.map_or(0, |header| header.index) != last);
            }
        })
    }

    fn checks(self) -> [Check; 2] {
        let Self {
            whole,
            damaged,
            sampled,
            outdated,
        } = self;
        [
            Check::new(
                "blocks read back",
                damaged == 0,
                format!("{whole} whole, {damaged} damaged"),
            ),
            Check::new(
                "last versions",
                outdated == 0 && sampled > 0,
                format!("{} of {sampled} sampled blocks", sampled - outdated),
            ),
        ]
    }
}
