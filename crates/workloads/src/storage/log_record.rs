//! A log record whose every byte follows from the seed, its writer and its numbers, so that a
//! record read back can be compared with the one written.

use crate::generate::random::Random;
use trueput_record::random::mix;

/// The least that a record can be: its header and a little more.
pub(super) const MIN_RECORD_BYTES: usize = 64;

/// Bytes of the header: mark, index, sequence, writer, length, checksum.
const HEADER: usize = 40;

/// Devices write sectors of at least this size whole: each full one bears the record's index at its
/// end, so that a record made of two writes shows.
const SECTOR: usize = 512;

/// The header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHeader {
    /// Its place in the log's order, from 0.
    pub index: u64,
    /// Its place in its writer's order, from 0.
    pub sequence: u64,
    /// The writer.
    pub writer: u32,
}

/// Makes the records of one writer.
#[derive(Debug)]
pub(super) struct RecordWriter {
    mark: u64,
    writer: u32,
    /// A record without its numbers: random bytes, which no file system can compress.
    template: Vec<u8>,
}

impl RecordWriter {
    /// The records of a writer whose records have this many bytes, [`MIN_RECORD_BYTES`] or more.
    pub(super) fn new(seed: u64, writer: u32, bytes: usize) -> Self {
        let mut template = vec![0; bytes.max(MIN_RECORD_BYTES)];
        Random::for_worker(seed, writer, "log").fill(&mut template);
        Self {
            mark: mark(seed),
            writer,
            template,
        }
    }

    /// Fills `record`, which is of this writer's size, with all that does not change.
    pub(super) fn fill(&self, record: &mut [u8]) {
        record.copy_from_slice(&self.template);
    }

    /// Gives a filled record its numbers.
    pub(super) fn stamp(&self, record: &mut [u8], index: u64, sequence: u64) {
        let bytes = self.template.len();
        let header = RecordHeader {
            index,
            sequence,
            writer: self.writer,
        };
        record[..HEADER].copy_from_slice(&encode(self.mark, header, bytes));
        for end in (SECTOR..=bytes).step_by(SECTOR) {
            let tail: [u8; 8] = std::array::from_fn(|at| self.template[end - 8 + at]);
            let tail = u64::from_le_bytes(tail) ^ index;
            record[end - 8..end].copy_from_slice(&tail.to_le_bytes());
        }
    }

    /// Whether every byte of a record is as this writer wrote it. `scratch` has the writer's size.
    pub(super) fn has_written(
        &self,
        record: &[u8],
        header: RecordHeader,
        scratch: &mut [u8],
    ) -> bool {
        self.fill(scratch);
        self.stamp(scratch, header.index, header.sequence);
        scratch == record
    }
}

/// Reads the header of a record; `None` if it is none of this seed and size, or damaged.
pub(super) fn read_header(seed: u64, record: &[u8]) -> Option<RecordHeader> {
    let found = record.get(..HEADER)?;
    let number = |at: usize| {
        let bytes: [u8; 8] = found[at..at + 8].try_into().ok()?;
        Some(u64::from_le_bytes(bytes))
    };
    let header = RecordHeader {
        index: number(8)?,
        sequence: number(16)?,
        writer: u32::from_le_bytes(found[24..28].try_into().ok()?),
    };
    (found == encode(mark(seed), header, record.len())).then_some(header)
}

fn mark(seed: u64) -> u64 {
    mix(seed ^ u64::from_le_bytes(*b"trueput\0"))
}

fn encode(mark: u64, header: RecordHeader, bytes: usize) -> [u8; HEADER] {
    let sized = u64::from(header.writer) | (bytes as u64) << 32;
    let mut encoded = [0; HEADER];
    let mut sum = 0;
    for (at, number) in [mark, header.index, header.sequence, sized]
        .into_iter()
        .enumerate()
    {
        encoded[at * 8..at * 8 + 8].copy_from_slice(&number.to_le_bytes());
        sum = mix(sum ^ number).wrapping_add(at as u64);
    }
    encoded[32..].copy_from_slice(&sum.to_le_bytes());
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: usize) -> (RecordWriter, Vec<u8>) {
        let record_writer = RecordWriter::new(7, 3, bytes);
        let mut record = vec![0; bytes];
        record_writer.fill(&mut record);
        record_writer.stamp(&mut record, 41, 12);
        (record_writer, record)
    }

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        for bytes in [64, 128, 511, 512, 4_096, 65_536] {
            let (record_writer, record) = written(bytes);
            let header = read_header(7, &record).unwrap();
            assert_eq!(
                header,
                RecordHeader {
                    index: 41,
                    sequence: 12,
                    writer: 3
                }
            );
            assert!(record_writer.has_written(&record, header, &mut vec![0; bytes]));
        }
    }

    #[test]
    fn one_changed_bit_anywhere_is_seen() {
        let (record_writer, record) = written(1_024);
        for at in 0..record.len() {
            let mut damaged = record.clone();
            damaged[at] ^= 4;
            let header = read_header(7, &damaged);
            let sound = header.is_some_and(|header| {
                record_writer.has_written(&damaged, header, &mut vec![0; damaged.len()])
            });
            assert!(!sound, "byte {at}");
        }
    }

    #[test]
    fn a_record_of_another_trial_or_size_is_none() {
        let (_, record) = written(128);
        assert_eq!(read_header(8, &record), None);
        assert_eq!(read_header(7, &record[..127]), None);
        assert_eq!(read_header(7, &[0; 128]), None);
    }

    #[test]
    fn a_record_half_of_which_is_an_older_one_is_seen() {
        let (record_writer, newer) = written(1_024);
        let mut older = vec![0; 1_024];
        record_writer.fill(&mut older);
        record_writer.stamp(&mut older, 40, 11);
        let torn = [&newer[..512], &older[512..]].concat();
        let header = read_header(7, &torn).unwrap();
        assert!(!record_writer.has_written(&torn, header, &mut vec![0; 1_024]));
    }
}
