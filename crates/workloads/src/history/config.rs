//! The settings of a job, resolved, and what follows from them.

use super::settings::{ModelName, OrderName, Settings};
use super::version::{Key, WORD_BYTES, value_bytes};
use crate::generate::random::Random;
use trueput_record::Conditions;

/// Transactions of a trial that neither its settings nor a duration end.
const DEFAULT_TRANSACTIONS: u64 = 20_000;

/// The bytes of a key: a letter, and its number in hexadecimal digits.
pub(super) const KEY_BYTES: usize = 9;

/// The first byte of the keys of a history.
pub(super) const RECORDED: u8 = b'h';

/// The first byte of the keys of transactions that are not recorded.
pub(super) const UNRECORDED: u8 = b'u';

/// A job's settings.
#[derive(Debug, Clone)]
pub(super) struct HistoryConfig {
    /// What the values are.
    pub model: ModelName,
    /// Transactions of all workers together; `None`: until the time is up.
    pub transactions: Option<u64>,
    /// Keys in use at a time.
    pub keys: u32,
    /// Writes of a key until a new one takes its place.
    pub key_writes: u32,
    /// Most operations of a transaction.
    pub operations: u32,
    /// Percentage of operations that write.
    pub write_percent: u64,
    /// The order in which a transaction that writes accesses its keys.
    pub order: OrderName,
    /// Percentage of reads that scan.
    pub scan_percent: u64,
    /// Transactions that are recorded, over all workers.
    pub recorded: u64,
}

impl HistoryConfig {
    /// Resolves settings under the conditions of a trial.
    pub fn new(settings: &Settings, conditions: &Conditions) -> Self {
        let is_timed = conditions.duration_s.is_some();
        let transactions = match settings.transactions {
            0 => (!is_timed).then_some(DEFAULT_TRANSACTIONS),
            given => Some(given),
        };
        Self {
            model: settings.model,
            transactions,
            keys: settings.keys,
            key_writes: settings.key_writes,
            operations: settings.operations,
            write_percent: settings.write_percent,
            order: settings.order,
            scan_percent: settings.scan_percent,
            recorded: settings.recorded,
        }
    }

    /// Returns the transactions that a worker does; `None`: until the time is up.
    pub fn quota(&self, worker: u32, workers: u32) -> Option<u64> {
        Some(share(self.transactions?, worker, workers))
    }

    /// Returns the transactions that a worker records.
    pub fn recorded_by(&self, worker: u32, workers: u32) -> usize {
        let recorded = share(self.recorded, worker, workers);
        usize::try_from(recorded).unwrap_or(usize::MAX)
    }

    /// Returns the most operations that a transaction records: a write may read first.
    pub fn recorded_operations(&self) -> usize {
        2 * self.operations as usize
    }

    /// Returns the bytes of the longest value.
    pub fn value_bytes(&self) -> usize {
        value_bytes(self.model, self.key_writes)
    }

    /// Returns the mean bytes of a key and a value.
    pub fn record_bytes(&self) -> f64 {
        let value = match self.model {
            ModelName::ListAppend => (self.value_bytes() + WORD_BYTES) / 2,
            ModelName::Register => self.value_bytes(),
        };
        (KEY_BYTES + value) as f64
    }

    /// A list is read to be appended to, a register in half of the cases.
    fn draw_write(&self, random: &mut Random) -> Access {
        if self.model == ModelName::Register && random.below(2) == 0 {
            Access::Overwrite
        } else {
            Access::Update
        }
    }

    /// Draws what a transaction does into `room`, and returns it.
    pub fn plan<'r>(
        &self,
        random: &mut Random,
        room: &'r mut [HistoryOperation],
    ) -> &'r [HistoryOperation] {
        let count = 1 + random.below(self.operations.into()) as usize;
        let plan = &mut room[..count];
        for planned in &mut *plan {
            let writes = random.below(100) < self.write_percent;
            *planned = HistoryOperation {
                slot: random.below(self.keys.into()) as usize,
                access: if writes {
                    self.draw_write(random)
                } else if random.below(100) < self.scan_percent {
                    Access::Scan
                } else {
                    Access::Get
                },
            };
        }
        let writes = plan.iter().any(|planned| planned.access.is_write());
        if writes && self.order == OrderName::Ascending {
            plan.sort_unstable_by_key(|planned| planned.slot);
        }
        plan
    }
}

/// A way to access a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// A look-up.
    Get,
    /// A scan of a range that has this key alone.
    Scan,
    /// A look-up, and a write of what follows from it.
    Update,
    /// A write without a look-up.
    Overwrite,
}

impl Access {
    /// Returns whether it writes.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Update | Self::Overwrite)
    }
}

/// An operation that a transaction will do.
#[derive(Debug, Clone, Copy)]
pub(super) struct HistoryOperation {
    /// The place of the key among those in use.
    pub slot: usize,
    /// What it does.
    pub access: Access,
}

/// A worker's part of a total.
fn share(total: u64, worker: u32, workers: u32) -> u64 {
    let workers = u64::from(workers.max(1));
    total / workers + u64::from(u64::from(worker) < total % workers)
}

/// Writes the bytes of a key.
pub(super) fn write_key(family: u8, key: Key, bytes: &mut [u8; KEY_BYTES]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes[0] = family;
    for (place, byte) in bytes[1..].iter_mut().rev().enumerate() {
        *byte = DIGITS[(key >> (4 * place)) as usize % DIGITS.len()];
    }
}

/// Reads the number of a key of a history; `None` if these are the bytes of none.
pub(super) fn read_key(bytes: &[u8]) -> Option<Key> {
    let (family, digits) = bytes.split_first()?;
    let is_key = *family == RECORDED && bytes.len() == KEY_BYTES;
    let digits = std::str::from_utf8(digits).ok()?;
    Key::from_str_radix(digits, 16).ok().filter(|_| is_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_and_keys_that_are_not_recorded_do_not() {
        let mut bytes = [0; KEY_BYTES];
        for key in [0, 15, 0x1234_abcd, u32::MAX] {
            write_key(RECORDED, key, &mut bytes);
            assert_eq!(read_key(&bytes), Some(key));
            write_key(UNRECORDED, key, &mut bytes);
            assert_eq!(read_key(&bytes), None);
        }
    }

    #[test]
    fn the_shares_of_all_workers_are_the_total() {
        for (total, workers) in [(10, 3), (2, 4), (0, 1)] {
            let shares = (0..workers).map(|worker| share(total, worker, workers));
            assert_eq!(shares.sum::<u64>(), total);
        }
    }
}
