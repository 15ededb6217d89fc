//! The transactions of a worker, in order: a function of only the settings, the seed, the
//! generation, the worker and the number of workers, so that verification can draw them again.

use super::config::{CustomConfig, Maker};
use super::limits::MAX_KINDS;
use super::mix::{Step, TransactionMix};
use crate::Result;
use crate::generate::distribution::Chooser;
use crate::generate::random::Random;
use crate::keyed::action::Action;
use crate::keyed::draws::{OperationMix, RecordLengths};
use crate::keyed::executor::PlannedOperation;
use crate::keyed::expected_state::{ReplayableJob, WriteStream};
use crate::keyed::inserts::InsertNumbers;
use crate::keyed::partition::{Partition, Partitions};
use crate::keyed::queue_scan::{QueueScan, ScanStart};
use std::ops::Range;
use trueput_record::random::mix;

/// One worker's records in the order of their age: its share of the loaded ones, then those that it
/// inserted. No other worker takes any of them.
struct Queue {
    partition: Partition,
    /// Records taken out.
    taken: u64,
}

impl Queue {
    /// The records that are in it, of which `inserted` were inserted at all.
    fn left(&self, inserted: u64) -> u64 {
        (self.partition.loaded() + inserted).saturating_sub(self.taken)
    }

    /// Plans a read: of its oldest record, or from it on, or of its newest one. The record of an
    /// empty queue is the next to be inserted.
    fn plan_read(&self, step: Step, inserted: u64) -> PlannedOperation {
        let left = self.left(inserted);
        let place = match step.start {
            ScanStart::Last => self.taken + left.saturating_sub(1),
            ScanStart::First | ScanStart::Record => self.taken,
        };
        let scan = QueueScan {
            partition: self.partition,
            start: step.start,
            place,
            left,
        };
        PlannedOperation {
            exists: left > 0,
            records: step.records,
            queue_scan: (step.action == Action::Scan).then_some(scan),
            ..PlannedOperation::new(step.action, self.partition.item(place))
        }
    }

    /// Takes its oldest record out, or asks for the next one to be inserted if it is empty.
    fn plan_delete(&mut self, inserted: u64) -> PlannedOperation {
        let exists = self.left(inserted) > 0;
        let item = self.partition.item(self.taken);
        self.taken += u64::from(exists);
        PlannedOperation {
            exists,
            ..PlannedOperation::new(Action::Delete, item)
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
    records: u64,
    chosen_from: u64,
    reads_inserted: bool,
    /// In the place of the choosers.
    queue: Option<Queue>,
    inserted: InsertNumbers,
    /// The operations of the last transaction drawn. It has room for those of any.
    operations: Vec<PlannedOperation>,
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
        let queue = config.partitions(workers).map(|partitions| Queue {
            partition: partitions.partition(worker),
            taken: 0,
        });
        Ok(Self {
            mix: config.mix,
            kinds: OperationMix::new(&config.mix.proportions()),
            random: Random::for_worker(seed, worker, "custom"),
            read_chooser: chooser.clone(),
            write_chooser: chooser,
            records: config.records,
            chosen_from: config.chosen_from,
            reads_inserted: config.reads_inserted,
            queue,
            inserted: InsertNumbers::new(config.records, worker, workers),
            operations: Vec::with_capacity(config.mix.max_operations()),
        })
    }

    /// Draws the next transaction and returns its kind. The stream has no end: the worker stops
    /// after its share.
    #[inline]
    pub(super) fn next_transaction(&mut self) -> usize {
        let kind = self.kinds.next(&mut self.random);
        let transaction = *self.mix.get(kind);
        self.operations.clear();
        for step in transaction.steps() {
            match step.action {
                Action::Delete => self.plan_deletes(step.records),
                _ => self.plan(*step),
            }
        }
        kind
    }

    /// Plans one operation.
    #[inline]
    fn plan(&mut self, step: Step) {
        let inserted = self.inserted.count();
        let queue = self.queue.as_ref().filter(|_| !step.action.writes());
        let planned = queue.map(|queue| queue.plan_read(step, inserted));
        let planned = planned.unwrap_or_else(|| PlannedOperation {
            records: step.records,
            ..PlannedOperation::new(step.action, self.choose(step.action))
        });
        self.operations.push(planned);
    }

    /// Plans the deletes of so many neighbors, one by one: fewer at the end of the loaded records,
    /// and of a queue as many as it has, or one that finds nothing.
    #[inline]
    fn plan_deletes(&mut self, records: u32) {
        let records = u64::from(records);
        if let Some(queue) = &mut self.queue {
            let inserted = self.inserted.count();
            for _ in 0..records.min(queue.left(inserted)).max(1) {
                self.operations.push(queue.plan_delete(inserted));
            }
        } else {
            let first = self.choose(Action::Delete);
            let end = self.records.min(first + records);
            let deletes = (first..end).map(|item| PlannedOperation::new(Action::Delete, item));
            self.operations.extend(deletes);
        }
    }

    /// Chooses the record of an operation, by the distribution.
    #[inline]
    fn choose(&mut self, action: Action) -> u64 {
        let random = &mut self.random;
        match action {
            Action::Insert => self.inserted.next(),
            Action::Get | Action::Scan if self.reads_inserted => {
                self.inserted.choose(&mut self.read_chooser, random)
            }
            Action::Get | Action::Scan => self.read_chooser.next_among(self.chosen_from, random),
            _ => self.write_chooser.next_among(self.chosen_from, random),
        }
    }

    /// The operations of the last transaction drawn.
    #[inline]
    pub(super) fn operations(&self) -> &[PlannedOperation] {
        &self.operations
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

    fn partitions(&self, workers: u32) -> Option<Partitions> {
        let partitions = Partitions::new(self.records, workers);
        self.is_queue.then_some(partitions)
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
