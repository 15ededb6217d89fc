//! The transactions of a worker, in order: a function of only the settings, the seed, the
//! generation, the worker and the number of workers, so that verification can draw them again.

use super::config::{CustomConfig, Maker};
use super::limits::{MAX_KINDS, MAX_STEPS};
use super::mix::TransactionMix;
use crate::Result;
use crate::generate::distribution::{Chooser, share_start};
use crate::generate::random::Random;
use crate::keyed::action::Action;
use crate::keyed::draws::{OperationMix, RecordLengths};
use crate::keyed::executor::PlannedOperation;
use crate::keyed::expected_state::{ReplayableJob, WriteStream};
use crate::keyed::inserts::InsertNumbers;
use std::ops::Range;
use trueput_record::random::mix;

/// One worker's records in the order of their age: its share of the loaded ones, then those that it
/// inserted. No other worker takes any of them.
struct Queue {
    loaded: Range<u64>,
    /// Records taken out.
    taken: u64,
}

impl Queue {
    /// The oldest record, and whether there is one: the next to be inserted if not.
    fn oldest(&self, inserted: &InsertNumbers) -> (u64, bool) {
        let loaded = self.loaded.end - self.loaded.start;
        match self.taken.checked_sub(loaded) {
            None => (self.loaded.start + self.taken, true),
            Some(nth) => (inserted.nth(nth), nth < inserted.count()),
        }
    }
}

/// The transactions of one worker.
pub(super) struct TransactionStream {
    mix: TransactionMix,
    kinds: OperationMix<MAX_KINDS>,
    random: Random,
    /// Chooses the loaded record of a write.
    write_chooser: Chooser,
    /// Chooses the record of a read, with `latest` also among this worker's own inserts.
    read_chooser: Chooser,
    chosen_from: u64,
    reads_inserted: bool,
    /// In the place of the choosers.
    queue: Option<Queue>,
    inserted: InsertNumbers,
    /// The operations of the last transaction drawn.
    operations: [PlannedOperation; MAX_STEPS],
    length: usize,
}

impl TransactionStream {
    /// The transactions of a worker, from the first on.
    ///
    /// # Errors
    /// The distribution does not fit the records.
    pub(super) fn new(
        config: &CustomConfig,
        seed: u64,
        generation: u32,
        worker: u32,
        workers: u32,
    ) -> Result<Self> {
        let chooser = config.choice.chooser(config.chosen_from, worker, workers)?;
        // Trials that share a load do not repeat each other.
        let seed = mix(seed ^ u64::from(generation).rotate_left(32));
        let share = |worker| share_start(config.records, worker, workers);
        let queue = config.is_queue.then(|| Queue {
            loaded: share(worker)..share(worker + 1),
            taken: 0,
        });
        Ok(Self {
            mix: config.mix,
            kinds: OperationMix::new(&config.mix.proportions()),
            random: Random::for_worker(seed, worker, "custom"),
            read_chooser: chooser.clone(),
            write_chooser: chooser,
            chosen_from: config.chosen_from,
            reads_inserted: config.reads_inserted,
            queue,
            inserted: InsertNumbers::new(config.records, worker, workers),
            operations: [PlannedOperation::FIRST_GET; MAX_STEPS],
            length: 0,
        })
    }

    /// Draws the next transaction and returns its kind. The stream has no end: the worker stops
    /// after its share.
    #[inline]
    pub(super) fn next_transaction(&mut self) -> usize {
        let kind = self.kinds.next(&mut self.random);
        let transaction = *self.mix.get(kind);
        let steps = transaction.steps();
        for (index, step) in steps.iter().enumerate() {
            let (item, exists) = self.choose(step.action);
            self.operations[index] = PlannedOperation {
                action: step.action,
                item,
                exists,
                records: step.records,
                value_bytes: None,
            };
        }
        self.length = steps.len();
        kind
    }

    /// The record of an operation, and whether it may be there.
    #[inline]
    fn choose(&mut self, action: Action) -> (u64, bool) {
        let random = &mut self.random;
        let item = match (action, &mut self.queue) {
            (Action::Insert, _) => self.inserted.next(),
            (_, Some(queue)) => {
                let (item, exists) = queue.oldest(&self.inserted);
                queue.taken += u64::from(exists && action == Action::Delete);
                return (item, exists);
            }
            (Action::Get | Action::Scan, None) if self.reads_inserted => {
                self.inserted.choose(&mut self.read_chooser, random)
            }
            (Action::Get | Action::Scan, None) => {
                self.read_chooser.next_among(self.chosen_from, random)
            }
            _ => self.write_chooser.next_among(self.chosen_from, random),
        };
        (item, true)
    }

    /// The operations of the last transaction drawn.
    #[inline]
    pub(super) fn operations(&self) -> &[PlannedOperation] {
        &self.operations[..self.length]
    }
}

impl WriteStream for TransactionStream {
    fn next_writes(&mut self, visit: &mut dyn FnMut(u64, bool)) {
        self.next_transaction();
        for planned in self.operations() {
            if planned.action.mutates() && planned.exists {
                visit(planned.item, planned.action == Action::Delete);
            }
        }
    }

    fn inserted(&self) -> u64 {
        self.inserted.count()
    }
}

impl ReplayableJob for CustomConfig {
    type Draws = TransactionStream;
    type Lengths = RecordLengths;

    fn records(&self) -> u64 {
        self.records
    }

    fn mutators(&self, workers: u32) -> Range<u32> {
        0..if self.mix.has(Action::mutates) {
            workers
        } else {
            0
        }
    }

    fn deletes(&self) -> bool {
        self.mix.has(|action| action == Action::Delete)
    }

    fn inserts(&self) -> bool {
        self.mix.has(|action| action == Action::Insert)
    }

    fn fills(&self) -> bool {
        false
    }

    fn counts_writes(&self) -> bool {
        self.mix.has(Action::mutates)
            && !self
                .mix
                .has(|action| action.mutates() && !action.reads_first())
    }

    fn maker(&self, seed: u64) -> Result<Maker> {
        Ok(self.maker_of(self.values(seed)?, seed))
    }

    fn stream(
        &self,
        seed: u64,
        generation: u32,
        worker: u32,
        workers: u32,
    ) -> Result<TransactionStream> {
        TransactionStream::new(self, seed, generation, worker, workers)
    }
}
