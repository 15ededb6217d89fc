//! Partitions of the records: those of each worker lie together in the order of the keys, as the
//! partitions of a queue do.

use super::inserts::InsertNumbers;
use crate::generate::distribution::share_start;

/// Bits of a key's number that are the place of its record in its partition; the bits above are the
/// partition. No trial comes near 2^44 records in one partition, or 2^20 workers.
const PLACE_BITS: u32 = 44;

/// The partitions of a trial's records, one for each worker: its share of the loaded records, and
/// behind them those that it inserts.
///
/// Records are numbered as in any trial: the loaded ones first, then the inserted ones in turns of
/// the workers. Only the keys are made of another number, which has the partition in its high bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Partitions {
    records: u64,
    workers: u32,
}

impl Partitions {
    /// The partitions of so many loaded records, one for each worker.
    pub(crate) fn new(records: u64, workers: u32) -> Self {
        Self {
            records,
            workers: workers.max(1),
        }
    }

    /// The partition of a worker.
    pub(crate) fn partition(self, worker: u32) -> Partition {
        let start = |worker| share_start(self.records, worker, self.workers);
        let first = start(worker);
        Partition {
            all: self,
            worker,
            first,
            loaded: start(worker + 1) - first,
        }
    }

    /// The partition that a record is in.
    fn partition_of(self, item: u64) -> Partition {
        let origin = InsertNumbers::origin(item, self.records, self.workers);
        let worker = origin.map_or_else(|| self.share_of(item), |(worker, _)| worker as u32);
        self.partition(worker)
    }

    /// The worker whose share a loaded record is in: the inverse of [`share_start`].
    fn share_of(self, item: u64) -> u32 {
        let shares = (u128::from(item) + 1) * u128::from(self.workers) - 1;
        (shares / u128::from(self.records)) as u32
    }
}

/// One worker's records in the order of their keys, which is that of their age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Partition {
    all: Partitions,
    worker: u32,
    /// The first loaded record.
    first: u64,
    /// Loaded records.
    loaded: u64,
}

impl Partition {
    /// The number of loaded records.
    pub(crate) fn loaded(self) -> u64 {
        self.loaded
    }

    /// The record at a place: one that was loaded, or else that was or will be inserted.
    #[inline]
    pub(crate) fn item(self, place: u64) -> u64 {
        let Partitions { records, workers } = self.all;
        match place.checked_sub(self.loaded) {
            None => self.first + place,
            Some(nth) => InsertNumbers::new(records, self.worker, workers).nth(nth),
        }
    }

    /// The place of a record; `None` if it is in another partition.
    #[inline]
    pub(crate) fn place(self, item: u64) -> Option<u64> {
        let Partitions { records, workers } = self.all;
        match InsertNumbers::origin(item, records, workers) {
            Some((worker, nth)) => (worker == self.worker as usize).then(|| self.loaded + nth),
            None => {
                let place = item.checked_sub(self.first);
                place.filter(|place| *place < self.loaded)
            }
        }
    }
}

/// The numbers that keys in partitions are made of. Keys sort as these numbers do.
#[derive(Debug, Clone)]
pub(crate) struct KeyNumbers {
    all: Partitions,
    /// The partition that was used last: a worker uses only its own, and a load one after another.
    last: Partition,
}

impl KeyNumbers {
    /// The numbers of keys in these partitions.
    pub(crate) fn new(all: Partitions) -> Self {
        Self {
            all,
            last: all.partition(0),
        }
    }

    /// The least number that a key of a partition may have.
    pub(crate) fn start(worker: u32) -> u64 {
        u64::from(worker) << PLACE_BITS
    }

    /// The number of a record's key.
    #[inline]
    pub(crate) fn number(&mut self, item: u64) -> u64 {
        let place = self.last.place(item).unwrap_or_else(|| {
            self.last = self.all.partition_of(item);
            self.last.place(item).unwrap_or_default()
        });
        Self::start(self.last.worker) | place
    }

    /// The record of a key with this number; `None` if its partition does not exist.
    #[inline]
    pub(crate) fn item(&mut self, number: u64) -> Option<u64> {
        let worker = u32::try_from(number >> PLACE_BITS).ok()?;
        if worker >= self.all.workers {
            return None;
        }
        if worker != self.last.worker {
            self.last = self.all.partition(worker);
        }
        Some(self.last.item(number & ((1 << PLACE_BITS) - 1)))
    }

    /// The number of loaded records whose keys are before that of a record.
    pub(crate) fn loaded_before(&self, item: u64) -> u64 {
        if item < self.all.records {
            return item;
        }
        let partition = self.all.partition_of(item);
        partition.first + partition.loaded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [(u64, u32); 5] = [(10, 3), (1, 1), (2, 5), (1_000, 7), (1 << 40, 1_024)];

    #[test]
    fn each_record_is_in_one_partition_at_a_place_of_its_own() {
        for (records, workers) in SIZES {
            let all = Partitions::new(records, workers);
            let partitions: Vec<_> = (0..workers).map(|worker| all.partition(worker)).collect();
            let some = (0..records.min(500)).chain(records - 1..records + 3_000);
            for item in some {
                let at = |partition: &Partition| Some((*partition, partition.place(item)?));
                let found: Vec<_> = partitions.iter().filter_map(at).collect();
                let [(partition, place)] = found[..] else {
                    panic!("{item} of {records} in {workers}: {found:?}");
                };
                assert_eq!(partition.item(place), item);
                assert_eq!(all.partition_of(item), partition);
            }
        }
    }

    #[test]
    fn numbers_sort_by_partition_and_then_by_age_and_are_read_back() {
        for (records, workers) in SIZES {
            let all = Partitions::new(records, workers);
            let mut numbers = KeyNumbers::new(all);
            let mut former = None;
            for worker in 0..workers {
                let partition = all.partition(worker);
                assert!(former < Some(KeyNumbers::start(worker)));
                for place in (0..20).chain(partition.loaded()..partition.loaded() + 20) {
                    let item = partition.item(place);
                    let number = numbers.number(item);
                    assert_eq!(number, KeyNumbers::start(worker) + place);
                    assert_eq!(KeyNumbers::new(all).item(number), Some(item));
                    former = Some(number);
                }
            }
            assert_eq!(numbers.item(KeyNumbers::start(workers)), None);
            assert_eq!(numbers.item(u64::MAX), None);
        }
    }

    #[test]
    fn loaded_records_are_before_the_inserted_ones_of_their_partition() {
        let numbers = KeyNumbers::new(Partitions::new(10, 3));
        let before = |item| numbers.loaded_before(item);
        assert_eq!([0, 5, 9].map(before), [0, 5, 9]);
        // Inserted by the workers in turns; the shares end at 3, 6 and 10.
        assert_eq!([10, 11, 12, 13, 14].map(before), [3, 6, 10, 3, 6]);
    }
}
