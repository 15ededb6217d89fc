//! The operations of a worker, one after the other: a function of only the settings, the seed,
//! the generation and the worker, so that it can be drawn again when the outcome is checked.

use super::config::{MicroConfig, MixPercentages, Test, WorkerRole};
use crate::generate::distribution::{Chooser, Distribution, Items};
use crate::generate::permutation::Permutation;
use crate::generate::random::{Random, mix};
use crate::{Error, Result};

/// An operation on one record, or from one record on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Missing,
    Seek,
    Scan,
    Insert,
    Update,
    Delete,
}

/// One operation and its record's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlannedOperation {
    pub operation: Operation,
    pub item: u64,
}

/// The operations of one worker.
pub(super) struct OperationStream {
    draw: OperationSource,
    random: Random,
}

enum OperationSource {
    /// Each place of a share once.
    Share {
        operation: Operation,
        next: u64,
        order: Option<Permutation>,
    },
    /// Records as they are chosen.
    Chosen {
        operation: Operation,
        chooser: Chooser,
        items: u64,
    },
    Mix(Box<MixedOperations>),
}

/// Draws the operations of a mix.
struct MixedOperations {
    mix: MixPercentages,
    /// Chooses what is updated and deleted: records that were loaded.
    of_loaded: Chooser,
    /// Chooses what is read: with `latest`, what this worker inserted too.
    of_known: Chooser,
    records: u64,
    reads_inserted: bool,
    inserted: InsertNumbers,
}

/// The numbers of the records that one worker inserts: no two workers share one.
#[derive(Debug, Clone, Copy)]
pub(super) struct InsertNumbers {
    records: u64,
    worker: u64,
    workers: u64,
    count: u64,
}

impl InsertNumbers {
    /// None yet.
    pub(super) fn new(records: u64, worker: u32, workers: u32) -> Self {
        Self {
            records,
            worker: worker.into(),
            workers: workers.max(1).into(),
            count: 0,
        }
    }

    fn nth(&self, nth: u64) -> u64 {
        self.records + nth * self.workers + self.worker
    }

    /// Which of all workers' inserts a record is: the worker, and how many that one made before.
    pub(super) fn origin(item: u64, records: u64, workers: u32) -> Option<(usize, u64)> {
        let beyond = item.checked_sub(records)?;
        let workers = u64::from(workers.max(1));
        Some(((beyond % workers) as usize, beyond / workers))
    }
}

impl OperationStream {
    /// The operations of a worker, from the first on.
    ///
    /// # Errors
    /// Where the distribution does not fit the records.
    pub(super) fn new(
        config: &MicroConfig,
        seed: u64,
        generation: u32,
        worker: u32,
        workers: u32,
    ) -> Result<Self> {
        let role = config.role(worker, workers);
        let chosen = |operation| {
            Ok(OperationSource::Chosen {
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
        let draw = match (role, config.test) {
            (WorkerRole::Writer, _) => OperationSource::Chosen {
                operation: Operation::Update,
                chooser: chooser(config, config.records, worker, workers)?,
                items: config.records,
            },
            (_, Test::Fill { random }) => {
                let order = random.then(shuffled).flatten();
                share(Operation::Insert, order)
            }
            (_, Test::Delete) => share(Operation::Delete, shuffled()),
            (_, Test::Overwrite) => chosen(Operation::Update)?,
            (_, Test::Missing) => chosen(Operation::Missing)?,
            (_, Test::Seek) => chosen(Operation::Seek)?,
            (_, Test::Mix(mix)) => {
                let loaded = chooser(config, config.records, worker, workers)?;
                OperationSource::Mix(Box::new(MixedOperations {
                    mix,
                    of_known: loaded.clone(),
                    of_loaded: loaded,
                    records: config.records,
                    reads_inserted: config.distribution == Distribution::Latest,
                    inserted: InsertNumbers::new(config.records, worker, workers),
                }))
            }
            (_, Test::Read | Test::Pass { .. }) => chosen(Operation::Read)?,
        };
        // Trials that share a load do not repeat each other.
        let seed = mix(seed ^ u64::from(generation).rotate_left(32));
        Ok(Self {
            draw,
            random: Random::for_worker(seed, worker, "micro"),
        })
    }

    /// The next operation. A share has no end of its own: its worker knows how long it is.
    #[inline]
    pub(super) fn next_operation(&mut self) -> PlannedOperation {
        match &mut self.draw {
            OperationSource::Share {
                operation,
                next,
                order,
            } => {
                let place = *next;
                *next += 1;
                PlannedOperation {
                    operation: *operation,
                    item: order.as_ref().map_or(place, |order| order.at(place)),
                }
            }
            OperationSource::Chosen {
                operation,
                chooser,
                items,
            } => PlannedOperation {
                operation: *operation,
                item: chooser.next_among(*items, &mut self.random),
            },
            OperationSource::Mix(mixer) => mixer.next_operation(&mut self.random),
        }
    }

    /// Records that were inserted so far beyond those that were loaded.
    pub(super) fn inserted(&self) -> u64 {
        match &self.draw {
            OperationSource::Mix(mixer) => mixer.inserted.count,
            _ => 0,
        }
    }
}

impl MixedOperations {
    fn next_operation(&mut self, random: &mut Random) -> PlannedOperation {
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
            Operation::Insert => {
                self.inserted.count += 1;
                self.inserted.nth(self.inserted.count - 1)
            }
            Operation::Update | Operation::Delete => {
                self.of_loaded.next_among(self.records, random)
            }
            _ if self.reads_inserted => {
                let known = self.records + self.inserted.count;
                let chosen = self.of_known.next_among(known, random);
                match chosen.checked_sub(self.records) {
                    Some(nth) => self.inserted.nth(nth),
                    None => chosen,
                }
            }
            _ => self.of_known.next_among(self.records, random),
        };
        PlannedOperation { operation, item }
    }
}

fn chooser(config: &MicroConfig, items: u64, worker: u32, workers: u32) -> Result<Chooser> {
    let sessions = config.sessions(workers);
    Chooser::new(config.distribution, Items::Fixed(items), worker, sessions)
        .map_err(|error| Error::Workload(error.to_string()))
}
