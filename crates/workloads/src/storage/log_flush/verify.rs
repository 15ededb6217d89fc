//! Reads the log back from storage and compares every record with what its writer wrote.

use super::super::file::{FileLayout, open_uncached};
use super::super::io_error;
use super::super::log::{self, LogPosition};
use super::super::log_verifier::LogVerifier;
use super::super::write_channel::FlushMethod;
use super::writer::WRITTEN;
use super::{LogFlushJob, kinds};
use crate::{ExecutionSummary, JobDatabase, JobResults, Result};
use std::io;
use trueput_engine::Value;
use trueput_record::VerifyLevel;
use trueput_record::measurement::Check;

/// The results, and the checks where verification is on.
///
/// # Errors
/// If the log cannot be read.
pub(super) fn verify(
    job: &LogFlushJob,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults> {
    let written: Vec<u64> = (0..target.workers as usize)
        .map(|worker| ended.finding(worker, WRITTEN))
        .collect();
    let mut conclusion = JobResults::default();
    results(job, ended, &written, &mut conclusion);
    if ended.verify == VerifyLevel::Off {
        return Ok(conclusion);
    }
    let mut verifier = LogVerifier::new(job.log, target, ended.verify);
    for file in 0..job.files(target.workers) {
        let path = log::path(target.directory, job.apart, file);
        let own = if job.apart {
            file as usize..file as usize + 1
        } else {
            0..written.len()
        };
        let read = |error: io::Error| io_error("reading back", &path, &error);
        let opened = open_uncached(&path).map_err(read)?;
        let grown = job.layout == FileLayout::Growing && job.flush != FlushMethod::Msync;
        if grown && job.log.place == LogPosition::End {
            let length = opened.metadata().map_err(read)?.len();
            verifier.check_length(length, written[own.clone()].iter().sum());
        }
        match job.log.place {
            LogPosition::End => verifier.read_appended(&opened, &written, own),
            LogPosition::Start if job.shares_flushes() => {
                verifier.read_last_batch(&opened, &written)
            }
            LogPosition::Start => verifier.read_places(&opened, &written, own),
        }
        .map_err(read)?;
        let done = f64::from(file + 1) / f64::from(job.files(target.workers));
        (target.progress)(done);
    }
    conclusion.checks = verifier.checks(&written);
    conclusion.checks.push(check_counts(job, ended, &written));
    Ok(conclusion)
}

fn results(
    job: &LogFlushJob,
    ended: &ExecutionSummary,
    written: &[u64],
    conclusion: &mut JobResults,
) {
    let commits = ended.count(kinds::COMMIT);
    let mut put = |name: &str, value: Value| conclusion.results.insert(name.to_owned(), value);
    put("commits", commits.into());
    if let Some(&flushes) = ended.counts.get(kinds::FLUSH).filter(|&&count| count > 0) {
        let shared = commits as f64 / flushes as f64;
        put("commits_per_flush", Value::Float(shared));
    }
    let most = if job.apart {
        written.iter().copied().max().unwrap_or_default()
    } else {
        written.iter().sum()
    };
    if job.log.place == LogPosition::End {
        put("laps", most.div_ceil(job.log.records).into());
    }
}

/// Checks that the meter counted the workers' records outside the warm-up.
fn check_counts(job: &LogFlushJob, ended: &ExecutionSummary, written: &[u64]) -> Check {
    let counted = ended.count(kinds::COMMIT);
    let written: u64 = written.iter().sum();
    if job.warm_up {
        Check::new(
            "commits counted",
            counted <= written,
            format!("{counted} of {written}, the warm-up's included"),
        )
    } else {
        Check::equal("commits counted", &written, &counted)
    }
}
