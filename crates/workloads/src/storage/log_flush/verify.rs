//! Reads the log back from storage and holds every record against what its writer wrote.

use super::super::file::{Layout, each_record, open_uncached};
use super::super::record::{Header, Pen, read_header};
use super::super::{channel::Flush, failed};
use super::log::{self, Log, Place};
use super::writer::WRITTEN;
use super::{LogFlushJob, kinds};
use crate::{Conclusion, Ended, Error, Target};
use std::io;
use std::path::Path;
use trueput_engine::Value;
use trueput_record::VerifyLevel;
use trueput_record::measurement::Check;

/// Where only a sample is verified, the content of each of so many records is.
const SAMPLE: u64 = 10;

/// The results, and the checks where verification is on.
///
/// # Errors
/// Where the log cannot be read.
pub(super) fn conclude(
    job: &LogFlushJob,
    target: &Target<'_>,
    ended: &Ended,
) -> Result<Conclusion, Error> {
    let written: Vec<u64> = (0..target.workers as usize)
        .map(|worker| written_by(ended, worker))
        .collect();
    let mut conclusion = Conclusion::default();
    results(job, ended, &written, &mut conclusion);
    if ended.verify == VerifyLevel::Off {
        return Ok(conclusion);
    }
    let mut survey = Survey::new(job.log, target, ended.verify);
    for file in 0..job.files(target.workers) {
        let path = log::path(target.directory, job.apart, file);
        let own = match job.apart {
            true => file as usize..file as usize + 1,
            false => 0..written.len(),
        };
        let read = |error: io::Error| failed("reading back", &path, &error);
        let opened = open_uncached(&path).map_err(read)?;
        let length = opened.metadata().map_err(read)?.len();
        survey.check_length(job, &path, length, &written[own.clone()]);
        survey
            .read(&opened, &written, own, job.shares_flushes())
            .map_err(read)?;
        let done = f64::from(file + 1) / f64::from(job.files(target.workers));
        (target.progress)(done);
    }
    conclusion.checks = survey.checks(&written);
    conclusion.checks.push(counted(job, ended, &written));
    Ok(conclusion)
}

fn written_by(ended: &Ended, worker: usize) -> u64 {
    let findings = ended.findings.get(worker);
    let written = findings.and_then(|findings| findings.get(WRITTEN));
    written.copied().unwrap_or_default()
}

fn results(job: &LogFlushJob, ended: &Ended, written: &[u64], conclusion: &mut Conclusion) {
    let commits = ended.counts.first().copied().unwrap_or_default();
    let mut put = |name: &str, value: Value| conclusion.results.insert(name.to_owned(), value);
    put("commits", commits.into());
    if let Some(&flushes) = ended.counts.get(kinds::FLUSH).filter(|&&count| count > 0) {
        let shared = commits as f64 / flushes as f64;
        put("commits_per_flush", Value::Float(shared));
    }
    let most = match job.apart {
        true => written.iter().copied().max().unwrap_or_default(),
        false => written.iter().sum(),
    };
    if job.log.place == Place::End {
        put("laps", most.div_ceil(job.log.records).into());
    }
}

/// What the meter counted is what the workers wrote, the warm-up's share excepted.
fn counted(job: &LogFlushJob, ended: &Ended, written: &[u64]) -> Check {
    let counted = ended.counts.first().copied().unwrap_or_default();
    let written: u64 = written.iter().sum();
    match job.warm_up {
        false => Check::equal("commits counted", &written, &counted),
        true => Check::new(
            "commits counted",
            counted <= written,
            format!("{counted} of {written}, the warm-up's included"),
        ),
    }
}

/// What was found in the files of a trial.
struct Survey {
    log: Log,
    seed: u64,
    full: bool,
    pens: Vec<Pen>,
    scratch: Vec<u8>,
    expected: u64,
    sound: u64,
    /// The first few things that are wrong.
    wrong: Vec<String>,
}

impl Survey {
    fn new(log: Log, target: &Target<'_>, verify: VerifyLevel) -> Self {
        let pen = |worker| Pen::new(target.seed, worker, log.bytes);
        Self {
            log,
            seed: target.seed,
            full: verify == VerifyLevel::Full,
            pens: (0..target.workers).map(pen).collect(),
            scratch: vec![0; log.bytes],
            expected: 0,
            sound: 0,
            wrong: Vec::new(),
        }
    }

    /// A growing file is as long as what was appended to it.
    fn check_length(&mut self, job: &LogFlushJob, path: &Path, length: u64, written: &[u64]) {
        let records = written.iter().sum::<u64>().min(self.log.records);
        let grown = job.layout == Layout::Growing && job.flush != Flush::Msync;
        let appended = records * self.log.bytes as u64;
        if grown && self.log.place == Place::End && length != appended {
            self.complain(format!(
                "{} is {length} bytes long, not {appended}",
                path.display()
            ));
        }
    }

    /// Reads the log that the workers `own` wrote.
    fn read(
        &mut self,
        file: &std::fs::File,
        written: &[u64],
        own: std::ops::Range<usize>,
        group: bool,
    ) -> io::Result<()> {
        match self.log.place {
            Place::End => self.read_appended(file, written, own),
            Place::Start if group => self.read_last_batch(file, written),
            Place::Start => self.read_places(file, written, own),
        }
    }

    /// Every record that no later one has been written over, in the log's order: each index once,
    /// and the records of each worker without a gap to its last.
    fn read_appended(
        &mut self,
        file: &std::fs::File,
        written: &[u64],
        own: std::ops::Range<usize>,
    ) -> io::Result<()> {
        let total: u64 = written[own.clone()].iter().sum();
        let kept = total.min(self.log.records);
        self.expected += kept;
        let oldest = total - kept;
        let mut next: Vec<Option<u64>> = vec![None; written.len()];
        if oldest == 0 {
            next[own.clone()].fill(Some(0));
        }
        // The oldest ones lie behind the newest.
        let split = oldest % self.log.records;
        let base = oldest - split;
        let parts = [
            (split..(split + kept).min(self.log.records), base),
            (
                0..(split + kept).saturating_sub(self.log.records),
                base + self.log.records,
            ),
        ];
        for (records, base) in parts {
            each_record(file, self.log.bytes, records, &mut |at, record| {
                let index = base + at;
                let Some(header) = self.sound(record, index) else {
                    return;
                };
                let expected = next.get(header.writer as usize).copied().flatten();
                if header.index != index || expected.is_some_and(|it| it != header.sequence) {
                    self.complain(format!(
                        "record {index} is number {} of worker {} and says that it is {}",
                        header.sequence, header.writer, header.index
                    ));
                    return;
                }
                next[header.writer as usize] = Some(header.sequence + 1);
                self.sound += 1;
            })?;
        }
        for worker in own {
            let last = next[worker].unwrap_or(written[worker]);
            if last != written[worker] {
                self.complain(format!(
                    "worker {worker} wrote {} records; its last one there is number {last}",
                    written[worker]
                ));
            }
        }
        Ok(())
    }

    /// In place with group commit: the last batch lies at the start, whole, and ends with the last
    /// record; behind it lie older ones.
    fn read_last_batch(&mut self, file: &std::fs::File, written: &[u64]) -> io::Result<()> {
        let total: u64 = written.iter().sum();
        let mut indexes = Vec::new();
        let places = file.metadata()?.len() / self.log.bytes as u64;
        let most = places.min(written.len() as u64).min(total);
        each_record(file, self.log.bytes, 0..most, &mut |at, record| {
            // Zeros, or an older log, lie where no batch ever reached.
            if let Some(header) = self.sound_or_none(record, at) {
                indexes.push(header.index);
            }
        })?;
        let first = indexes.first().copied().unwrap_or_default();
        let run = indexes.iter().zip(first..).take_while(|(a, b)| *a == b);
        let run = run.count() as u64;
        self.expected += u64::from(total > 0);
        if total == 0 || first + run == total {
            self.sound += u64::from(total > 0);
        } else {
            self.complain(format!(
                "the last batch ends with record {}, not {total}",
                first + run
            ));
        }
        Ok(())
    }

    /// In place, each worker by itself: its last record.
    fn read_places(
        &mut self,
        file: &std::fs::File,
        written: &[u64],
        own: std::ops::Range<usize>,
    ) -> io::Result<()> {
        let first = own.start;
        for worker in own.filter(|&worker| written[worker] > 0) {
            self.expected += 1;
            let place = (worker - first) as u64;
            each_record(file, self.log.bytes, place..place + 1, &mut |at, record| {
                let Some(header) = self.sound(record, at) else {
                    return;
                };
                let last = written[worker] - 1;
                if (header.writer as usize, header.sequence) == (worker, last) {
                    self.sound += 1;
                } else {
                    self.complain(format!(
                        "the place of worker {worker} holds number {} of worker {}, not {last}",
                        header.sequence, header.writer
                    ));
                }
            })?;
        }
        Ok(())
    }

    /// What a record says of itself, if it is whole; said where it is not.
    fn sound(&mut self, record: &[u8], at: u64) -> Option<Header> {
        let header = self.sound_or_none(record, at);
        if header.is_none() {
            self.complain(format!("record {at} is not what was written there"));
        }
        header
    }

    fn sound_or_none(&mut self, record: &[u8], at: u64) -> Option<Header> {
        let header = read_header(self.seed, record)?;
        let pen = self.pens.get(header.writer as usize)?;
        let looked_at = self.full || at.is_multiple_of(SAMPLE);
        (!looked_at || pen.wrote(record, header, &mut self.scratch)).then_some(header)
    }

    fn complain(&mut self, what: String) {
        const MOST: usize = 3;
        if self.wrong.len() < MOST {
            self.wrong.push(what);
        }
    }

    fn checks(self, written: &[u64]) -> Vec<Check> {
        let total: u64 = written.iter().sum();
        let found = match (self.sound == self.expected, self.wrong.is_empty()) {
            (true, true) => format!("{} of {total} written are there, as written", self.sound),
            _ => format!("{} of {} are there", self.sound, self.expected),
        };
        vec![
            Check::new("records read back", self.sound == self.expected, found),
            Check::new(
                "content and order",
                self.wrong.is_empty(),
                self.wrong.join("; "),
            ),
        ]
    }
}
