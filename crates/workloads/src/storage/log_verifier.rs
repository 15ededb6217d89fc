//! Reads logs back and compares every record with what its writer wrote.

use super::file::each_record;
use super::log::LogShape;
use super::log_record::{RecordHeader, RecordWriter, read_header};
use crate::JobDatabase;
use std::fs::File;
use std::io;
use std::ops::Range;
use trueput_record::VerifyLevel;
use trueput_record::measurement::Check;

/// With sampling, the content of one in this many records is verified.
pub(super) const SAMPLE: u64 = 10;

/// Verifies the logs of a trial and counts their records.
pub(super) struct LogVerifier {
    log: LogShape,
    seed: u64,
    full: bool,
    writers: Vec<RecordWriter>,
    scratch: Vec<u8>,
    expected: u64,
    sound: u64,
    /// The first few things that are wrong.
    wrong: Vec<String>,
}

impl LogVerifier {
    pub(super) fn new(log: LogShape, target: &JobDatabase<'_>, verify: VerifyLevel) -> Self {
        let record_writer = |worker| RecordWriter::new(target.seed, worker, log.bytes);
        Self {
            log,
            seed: target.seed,
            full: verify == VerifyLevel::Full,
            writers: (0..target.workers).map(record_writer).collect(),
            scratch: vec![0; log.bytes],
            expected: 0,
            sound: 0,
            wrong: Vec::new(),
        }
    }

    /// Checks that a growing file is exactly as long as the records appended to it.
    pub(super) fn check_length(&mut self, length: u64, written: u64) {
        let appended = written.min(self.log.records) * self.log.bytes as u64;
        if length != appended {
            self.add_fault(format!("the file is {length} bytes long, not {appended}"));
        }
    }

    /// Every record that no later one has been written over, in the log's order: each index once,
    /// and the records of each worker without a gap to its last.
    pub(super) fn read_appended(
        &mut self,
        file: &File,
        written: &[u64],
        own: Range<usize>,
    ) -> io::Result<()> {
        let total: u64 = written[own.clone()].iter().sum();
        let kept = total.min(self.log.records);
        self.expected += kept;
        let oldest = total - kept;
        let mut next: Vec<Option<u64>> = vec![None; written.len()];
        if oldest == 0 {
            next[own.clone()].fill(Some(0));
        }
        // The oldest records come after the newest.
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
                let Some(header) = self.intact_record(record, index) else {
                    return;
                };
                if header.index != index {
                    self.add_fault(format!("record {index}: found record {}", header.index));
                    return;
                }
                let expected = next.get(header.writer as usize).copied().flatten();
                if let Some(expected) = expected.filter(|&next| next != header.sequence) {
                    self.add_fault(format!(
                        "record {index}: expected number {expected} of worker {}, found {}",
                        header.writer, header.sequence
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
                self.add_fault(format!(
                    "worker {worker} wrote {} records; its last one there is number {last}",
                    written[worker]
                ));
            }
        }
        Ok(())
    }

    /// In place with group commit: the last batch is at the start, whole, and ends with the last
    /// record; older records follow it.
    pub(super) fn read_last_batch(&mut self, file: &File, written: &[u64]) -> io::Result<()> {
        let total: u64 = written.iter().sum();
        let mut indexes = Vec::new();
        let places = file.metadata()?.len() / self.log.bytes as u64;
        let most = places.min(written.len() as u64).min(total);
        each_record(file, self.log.bytes, 0..most, &mut |at, record| {
            // Zeros, or an older log, are where no batch ever reached.
            indexes.push(
                self.intact_record_or_none(record, at)
                    .map(|header| header.index),
            );
        })?;
        let first = indexes.first().copied().flatten().unwrap_or_default();
        let run = indexes.iter().zip(first..);
        let run = run.take_while(|(found, due)| **found == Some(*due)).count() as u64;
        self.expected += u64::from(total > 0);
        if total == 0 || first + run == total {
            self.sound += u64::from(total > 0);
        } else {
            self.add_fault(format!(
                "the last batch ends with record {}, not {total}",
                first + run
            ));
        }
        Ok(())
    }

    /// In place, with each worker alone: its last record.
    pub(super) fn read_places(
        &mut self,
        file: &File,
        written: &[u64],
        own: Range<usize>,
    ) -> io::Result<()> {
        let first = own.start;
        for worker in own.filter(|&worker| written[worker] > 0) {
            self.expected += 1;
            let place = (worker - first) as u64;
            each_record(file, self.log.bytes, place..place + 1, &mut |at, record| {
                let Some(header) = self.intact_record(record, at) else {
                    return;
                };
                let last = written[worker] - 1;
                if (header.writer as usize, header.sequence) == (worker, last) {
                    self.sound += 1;
                } else {
                    self.add_fault(format!(
                        "the place of worker {worker} holds number {} of worker {}, not {last}",
                        header.sequence, header.writer
                    ));
                }
            })?;
        }
        Ok(())
    }

    /// Returns the header of an intact record; adds a fault otherwise.
    fn intact_record(&mut self, record: &[u8], at: u64) -> Option<RecordHeader> {
        let header = self.intact_record_or_none(record, at);
        if header.is_none() {
            self.add_fault(format!("record {at} is not what was written there"));
        }
        header
    }

    fn intact_record_or_none(&mut self, record: &[u8], at: u64) -> Option<RecordHeader> {
        let header = read_header(self.seed, record)?;
        let record_writer = self.writers.get(header.writer as usize)?;
        let looked_at = self.full || at.is_multiple_of(SAMPLE);
        (!looked_at || record_writer.has_written(record, header, &mut self.scratch))
            .then_some(header)
    }

    fn add_fault(&mut self, fault: String) {
        const MAX_FAULTS: usize = 3;
        if self.wrong.len() < MAX_FAULTS {
            self.wrong.push(fault);
        }
    }

    pub(super) fn checks(self, written: &[u64]) -> Vec<Check> {
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

#[cfg(test)]
mod tests {
    use super::super::log::LogPosition;
    use super::*;
    use std::io::Write;

    const SEED: u64 = 7;

    /// The faults found in a log of two workers whose records have these indexes, writers and
    /// sequence numbers.
    fn faults(records: &[(u64, u32, u64)], written: &[u64]) -> Vec<String> {
        let log = LogShape {
            bytes: 64,
            records: 100,
            place: LogPosition::End,
        };
        let writers = [0, 1].map(|worker| RecordWriter::new(SEED, worker, log.bytes));
        let mut file = tempfile::tempfile().unwrap();
        for &(index, writer, sequence) in records {
            let mut record = vec![0; log.bytes];
            writers[writer as usize].fill(&mut record);
            writers[writer as usize].stamp(&mut record, index, sequence);
            file.write_all(&record).unwrap();
        }
        let mut verifier = LogVerifier {
            log,
            seed: SEED,
            full: true,
            writers: writers.into(),
            scratch: vec![0; log.bytes],
            expected: 0,
            sound: 0,
            wrong: Vec::new(),
        };
        verifier.read_appended(&file, written, 0..2).unwrap();
        verifier.wrong
    }

    #[test]
    fn a_log_as_it_was_written_has_no_faults() {
        assert!(faults(&[(0, 0, 0), (1, 1, 0), (2, 1, 1)], &[1, 2]).is_empty());
    }

    #[test]
    fn a_gap_names_the_number_that_was_due_and_the_one_that_was_found() {
        let found = faults(&[(0, 0, 0), (1, 1, 0), (2, 1, 5)], &[1, 2]);
        assert_eq!(found[0], "record 2: expected number 1 of worker 1, found 5");
    }

    #[test]
    fn a_record_in_the_place_of_another_is_named_by_both_indexes() {
        let found = faults(&[(0, 0, 0), (9, 1, 0)], &[1, 1]);
        assert_eq!(found[0], "record 1: found record 9");
    }
}
