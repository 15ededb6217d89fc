//! The operations of a worker, in order: a function of only the settings, the seed, the generation,
//! the worker and the number of workers, so that verification can draw them again.

use super::config::{Maker, MicroConfig, MixPercentages, Test, WorkerRole};
use super::value_parts::ValueParts;
use crate::generate::distribution::{Chooser, Distribution, Items};
use crate::generate::permutation::Permutation;
use crate::generate::random::Random;
use crate::keyed::expected_state::{ReplayableJob, WriteStream};
use crate::keyed::inserts::InsertNumbers;
use crate::{Error, Result};
use std::ops::Range;
use trueput_record::random::mix;

/// An operation on one record, or on the records from one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    ReadMissing,
    Seek,
    Scan,
    Insert,
    Update,
    Delete,
    PutIfAbsent,
}

/// One operation and its record's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MicroOperation {
    pub operation: Operation,
    pub item: u64,
}

/// The operations of one worker.
pub(super) struct OperationStream {
    source: OperationSource,
    random: Random,
}

enum OperationSource {
    /// Each record of the worker's share once. It does not depend on the generation: the tests
    /// that use it fill or delete, so their trials never share a load.
    Share {
        operation: Operation,
        next: u64,
        order: Option<Permutation>,
    },
    /// One operation on records that the chooser draws.
    Random {
        operation: Operation,
        chooser: Chooser,
        items: u64,
    },
    Mix(Box<MixedOperations>),
}

/// Draws the operations of a mix.
struct MixedOperations {
    mix: MixPercentages,
    /// Chooses the loaded record of an update or a delete.
    write_chooser: Chooser,
    /// Chooses the record of a read, with `latest` also among this worker's own inserts.
    read_chooser: Chooser,
    records: u64,
    can_read_inserted: bool,
    inserted: InsertNumbers,
}

impl OperationStream {
    /// The operations of a worker, from the first on.
    ///
    /// # Errors
    /// The distribution does not fit the records.
    pub(super) fn new(
        config: &MicroConfig,
        seed: u64,
        generation: u32,
        worker: u32,
        workers: u32,
    ) -> Result<Self> {
        let role = config.role(worker, workers);
        let random = |operation| {
            Ok(OperationSource::Random {
                operation,
                chooser: chooser(config, config.chosen_from, worker, workers)?,
                items: config.chosen_from,
            })
        };
        let share = |operation, order| OperationSource::Share {
            operation,
            next: config.share(worker, workers).start,
            order,
        };
        let shuffled = || Some(Permutation::new(config.records, mix(seed)));
        let source = match (role, config.test) {
            (WorkerRole::Writer, _) => OperationSource::Random {
                operation: Operation::Update,
                chooser: chooser(config, config.records, worker, workers)?,
                items: config.records,
            },
            (_, Test::Fill { random }) => {
                let order = random.then(shuffled).flatten();
                share(Operation::Insert, order)
            }
            (_, Test::Delete) => share(Operation::Delete, shuffled()),
            (_, Test::Overwrite | Test::Large { overwrites: true }) => random(Operation::Update)?,
            (_, Test::Missing) => random(Operation::ReadMissing)?,
            (_, Test::Seek) => random(Operation::Seek)?,
            (_, Test::PutIfAbsent) => random(Operation::PutIfAbsent)?,
            (_, Test::Mix(mix)) => {
                let loaded = chooser(config, config.records, worker, workers)?;
                OperationSource::Mix(Box::new(MixedOperations {
                    mix,
                    read_chooser: loaded.clone(),
                    write_chooser: loaded,
                    records: config.records,
                    can_read_inserted: config.distribution == Distribution::Latest,
                    inserted: InsertNumbers::new(config.records, worker, workers),
                }))
            }
            (_, Test::Read | Test::ReadMany | Test::Pass { .. } | Test::Large { .. }) => {
                random(Operation::Read)?
            }
        };
        // Trials that share a load do not repeat each other.
        let seed = mix(seed ^ u64::from(generation).rotate_left(32));
        Ok(Self {
            source,
            random: Random::for_worker(seed, worker, "micro"),
        })
    }

    /// Draws the next operation. The stream has no end: the worker stops after its share.
    #[inline]
    pub(super) fn next_operation(&mut self) -> MicroOperation {
        match &mut self.source {
            OperationSource::Share {
                operation,
                next,
                order,
            } => {
                let index = *next;
                *next += 1;
                MicroOperation {
                    operation: *operation,
                    item: order.as_ref().map_or(index, |order| order.at(index)),
                }
            }
            OperationSource::Random {
                operation,
                chooser,
                items,
            } => MicroOperation {
                operation: *operation,
                item: chooser.next_among(*items, &mut self.random),
            },
            OperationSource::Mix(mixer) => mixer.next_operation(&mut self.random),
        }
    }
}

impl WriteStream for OperationStream {
    fn next_writes(&mut self, visit: &mut dyn FnMut(u64, bool)) {
        let step = self.next_operation();
        match step.operation {
            Operation::Update => visit(step.item, false),
            Operation::Delete => visit(step.item, true),
            _ => (),
        }
    }

    fn inserted(&self) -> u64 {
        match &self.source {
            OperationSource::Mix(mixer) => mixer.inserted.count(),
            _ => 0,
        }
    }
}

impl MixedOperations {
    fn next_operation(&mut self, random: &mut Random) -> MicroOperation {
        let MixPercentages {
            update,
            insert,
            delete,
            scan,
        } = self.mix;
        let drawn = random.below(100);
        let operation = match drawn {
            _ if drawn < update => Operation::Update,
            _ if drawn < update + insert => Operation::Insert,
            _ if drawn < update + insert + delete => Operation::Delete,
            _ if drawn < update + insert + delete + scan => Operation::Scan,
            _ => Operation::Read,
        };
        let item = match operation {
            Operation::Insert => self.inserted.next(),
            Operation::Update | Operation::Delete => {
                self.write_chooser.next_among(self.records, random)
            }
            _ if self.can_read_inserted => self.inserted.choose(&mut self.read_chooser, random),
            _ => self.read_chooser.next_among(self.records, random),
        };
        MicroOperation { operation, item }
    }
}

fn chooser(config: &MicroConfig, items: u64, worker: u32, workers: u32) -> Result<Chooser> {
    let sessions = config.sessions(workers);
    Chooser::new(config.distribution, Items::Fixed(items), worker, sessions)
        .map_err(|error| Error::Workload(error.to_string()))
}

impl ReplayableJob for MicroConfig {
    type Draws = OperationStream;
    type Lengths = ValueParts;

    fn records(&self) -> u64 {
        self.records
    }

    fn mutators(&self, workers: u32) -> Range<u32> {
        self.mutators(workers)
    }

    fn deletes(&self) -> bool {
        self.deletes()
    }

    fn inserts(&self) -> bool {
        self.inserts()
    }

    fn fills(&self) -> bool {
        self.fills()
    }

    fn counts_writes(&self) -> bool {
        false
    }

    /// Of values that are stored whole: those in parts are verified by `large_check`.
    fn maker(&self, seed: u64) -> Result<Maker> {
        let whole = ValueParts::new(self.value_bytes, self.value_bytes);
        Ok(self.maker(self.values(seed)?, whole))
    }

    fn stream(
        &self,
        seed: u64,
        generation: u32,
        worker: u32,
        workers: u32,
    ) -> Result<OperationStream> {
        OperationStream::new(self, seed, generation, worker, workers)
    }
}
