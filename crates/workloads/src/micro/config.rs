//! The settings of a job, checked and made ready to use.

use super::error::MicroError;
use super::kinds::{Kind, Kinds};
use super::settings::{DistributionName, Settings, TestName};
use super::value_parts::{ValueParts, ValueSizes};
use crate::generate::distribution::{Distribution, share_start};
use crate::generate::key::KeyFormat;
use crate::generate::value::{MIN_VALUE_BYTES, Values, payload_percent};
use crate::keyed::capacity;
use crate::keyed::changing_writes::certain_puts;
use crate::keyed::depletion::RecordTurnover;
use crate::keyed::rate_limiter::RateLimiter;
use crate::keyed::record::RecordMaker;
use crate::{Error, OperationBytes, Result};
use std::ops::Range;
use trueput_engine::Capabilities;
use trueput_record::Conditions;

/// Records per transaction of the load, and of fill-batch.
pub(super) const LOAD_BATCH: u64 = 1_000;

/// Keys of a look-up of several.
const READ_BATCH: u64 = 100;

/// The periods of a second in which the writers keep their rate: as often does the limiter of
/// `db_bench --benchmark_write_rate_limit` let bytes be written.
const RATE_PERIODS_PER_S: u64 = 10;

/// Makes the records of this workload.
pub(super) type Maker = RecordMaker<ValueParts>;

/// The kind of work that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    /// Puts every record into an empty database.
    Fill {
        /// In a random order.
        random: bool,
    },
    /// Overwrites existing records.
    Overwrite,
    /// Looks records up, while the writers and scanners that the settings add run.
    Read,
    /// Reads all records in the order of their keys, or in the reverse order.
    Pass {
        /// In the reverse order.
        reverse: bool,
    },
    /// Looks several records up at once.
    ReadMany,
    /// Looks up keys that are not there.
    Missing,
    /// Looks up a record and continues to the records after it.
    Seek,
    /// Takes records out.
    Delete,
    /// Puts records that are not there yet, into a database that is empty at first.
    PutIfAbsent,
    /// Reads values that may be in parts, or overwrites them.
    Large {
        /// Overwrites them.
        overwrites: bool,
    },
    /// Draws each operation from the percentages.
    Mix(MixPercentages),
}

/// The percentages of a mix; the rest are reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MixPercentages {
    /// Updates.
    pub update: u64,
    /// Inserts.
    pub insert: u64,
    /// Deletes.
    pub delete: u64,
    /// Scans.
    pub scan: u64,
}

impl MixPercentages {
    fn sum(self) -> u64 {
        self.update + self.insert + self.delete + self.scan
    }
}

/// The role of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerRole {
    /// One of the plan's workers.
    Main,
    /// Updates while they read.
    Writer,
    /// Scans while they read.
    Scanner,
}

/// A job's settings.
#[derive(Debug, Clone)]
pub(super) struct MicroConfig {
    pub test: Test,
    pub records: u64,
    /// The records that are chosen from: the first this many.
    pub chosen_from: u64,
    pub format: KeyFormat,
    pub key_bytes: usize,
    pub value_bytes: usize,
    /// The longest part of a value; `None`: as long as the engine takes.
    pub max_part_bytes: Option<usize>,
    pub compressibility: u8,
    pub distribution: Distribution,
    /// Whether the engine's own loader fills the database, if it has one.
    pub loads_in_bulk: bool,
    /// Records per write transaction.
    pub batch: u64,
    /// Records per look-up of several.
    pub read_batch: u64,
    /// Operations that end the trial; `None` if time does.
    pub operations: Option<u64>,
    /// Operations that sizes are estimated for; 0 if none are known.
    expected_operations: u64,
    /// Whether operations are done that will not be counted.
    pub warms_up: bool,
    pub nexts: u64,
    pub writers: u32,
    /// Updates a second of all writers together; `None` if they do not pause.
    pub write_rate: Option<u64>,
    pub scanners: u32,
}

impl MicroConfig {
    /// Reads the settings.
    ///
    /// # Errors
    /// The settings contradict each other or the conditions.
    pub(super) fn new(settings: &Settings, conditions: &Conditions) -> Result<Self, MicroError> {
        let name = settings.test;
        let test = test(settings)?;
        let key_bytes = settings.key_bytes;
        let ValueSizes {
            count,
            value_bytes,
            max_part_bytes,
        } = ValueSizes::new(settings, matches!(test, Test::Large { .. }))?;
        let record_bytes = ValueParts::planned(value_bytes, max_part_bytes).user_bytes(key_bytes);
        let records = capacity::records_of_size(count, settings.size, record_bytes)?;
        let or_own = |given: u32, of: TestName, own: u32| match given {
            0 if name == of => own,
            given => given,
        };
        let operations = operations(settings, conditions, records);
        let (batch, read_batch) = batches(settings);
        let mut config = Self {
            test,
            records,
            chosen_from: if name == TestName::ReadHot {
                records.div_ceil(100)
            } else {
                records
            },
            format: KeyFormat::plain(key_bytes)?,
            key_bytes,
            value_bytes,
            max_part_bytes,
            compressibility: settings.compressibility,
            distribution: distribution(settings.distribution, records),
            loads_in_bulk: name == TestName::FillBulk,
            batch,
            read_batch,
            operations,
            expected_operations: 0,
            warms_up: conditions.warm_up_s > 0.0,
            nexts: settings.nexts,
            writers: or_own(settings.writers, TestName::ReadWhileWriting, 1),
            write_rate: Some(settings.write_rate).filter(|rate| *rate > 0),
            scanners: or_own(settings.scanners, TestName::ReadWhileScanning, 1),
        };
        let inserted_bytes = config.insert_percent() as f64 / 100.0 * config.record_bytes() as f64;
        config.expected_operations =
            capacity::expected_operations(operations, inserted_bytes, conditions);
        config.check_count(settings, conditions)?;
        config.check_batch(name)?;
        config.check_bulk(conditions)?;
        config.check_added_workers(settings, conditions)?;
        config.check_write_rate(settings.test)?;
        config.check_choice(settings)?;
        Ok(config)
    }

    fn check_count(&self, settings: &Settings, conditions: &Conditions) -> Result<(), MicroError> {
        let (test, operations) = (settings.test.word(), settings.operations);
        if !matches!(self.test, Test::Fill { .. } | Test::Delete) {
            return Ok(());
        }
        if conditions.duration_s.is_some() || conditions.warm_up_s > 0.0 {
            return Err(MicroError::Timed { test });
        }
        match self.test {
            Test::Fill { .. } if operations > 0 => {
                Err(MicroError::CountedFill { test, operations })
            }
            Test::Delete if operations > self.records => Err(MicroError::TooManyDeletes {
                operations,
                records: self.records,
            }),
            _ => Ok(()),
        }
    }

    fn check_batch(&self, test: TestName) -> Result<(), MicroError> {
        let batch = self.batch;
        let takes = matches!(
            self.test,
            Test::Fill { .. } | Test::Overwrite | Test::Delete
        );
        match batch {
            1 => Ok(()),
            _ if test == TestName::FillSync => Err(MicroError::BatchOfSync { batch }),
            _ if !takes => Err(MicroError::Batch {
                test: test.word(),
                batch,
            }),
            _ => Ok(()),
        }
    }

    fn check_bulk(&self, conditions: &Conditions) -> Result<(), MicroError> {
        if self.loads_in_bulk && self.batch == 1 {
            Err(MicroError::BulkBatch)
        } else if self.loads_in_bulk && conditions.rate.is_some() {
            Err(MicroError::BulkRate)
        } else {
            Ok(())
        }
    }

    fn check_added_workers(
        &self,
        settings: &Settings,
        conditions: &Conditions,
    ) -> Result<(), MicroError> {
        if self.writers == 0 && self.scanners == 0 {
            return Ok(());
        }
        let test = settings.test.word();
        if !matches!(
            self.test,
            Test::Read
                | Test::ReadMany
                | Test::Pass { .. }
                | Test::Missing
                | Test::Seek
                | Test::Large { overwrites: false }
        ) {
            return Err(MicroError::AddedWorkers { test });
        }
        if self.is_large() && self.scanners > 0 {
            let scanners = self.scanners;
            return Err(MicroError::LargeScanners { test, scanners });
        }
        if conditions.duration_s.is_none() || settings.operations > 0 {
            return Err(MicroError::NoEnd { test });
        }
        Ok(())
    }

    fn check_write_rate(&self, test: TestName) -> Result<(), MicroError> {
        let (writers, test) = (self.writers, test.word());
        match self.write_rate {
            Some(write_rate) if writers == 0 => {
                Err(MicroError::RateWithoutWriters { test, write_rate })
            }
            Some(write_rate) if write_rate < u64::from(writers) => Err(MicroError::SmallRate {
                write_rate,
                writers,
            }),
            _ => Ok(()),
        }
    }

    fn check_choice(&self, settings: &Settings) -> Result<(), MicroError> {
        let distribution = settings.distribution;
        let chooses = !matches!(
            self.test,
            Test::Fill { .. } | Test::Delete | Test::Pass { .. }
        );
        let hot = settings.test == TestName::ReadHot;
        if distribution != DistributionName::Uniform && (hot || !chooses && self.writers == 0) {
            return Err(MicroError::Distribution {
                test: settings.test.word(),
                distribution: distribution.word(),
            });
        }
        Ok(())
    }

    /// The total number of sessions, if the plan asks for `workers`.
    pub(super) fn sessions(&self, workers: u32) -> u32 {
        workers
            .saturating_add(self.writers)
            .saturating_add(self.scanners)
    }

    /// Returns the role of a worker: writers come after the plan's workers, scanners after the
    /// writers.
    pub(super) fn role(&self, worker: u32, workers: u32) -> WorkerRole {
        match worker.checked_sub(workers) {
            None => WorkerRole::Main,
            Some(added) if added < self.writers => WorkerRole::Writer,
            Some(_) => WorkerRole::Scanner,
        }
    }

    /// What keeps a worker to its share of the writers' rate; `None` if it does not pause.
    pub(super) fn rate_limiter(&self, worker: u32, workers: u32) -> Option<RateLimiter> {
        let per_s = self.write_rate?;
        if self.role(worker, workers) != WorkerRole::Writer {
            return None;
        }
        let start = |writer| share_start(per_s, writer, self.writers);
        let writer = worker.checked_sub(workers)?;
        let own_per_s = start(writer + 1) - start(writer);
        Some(RateLimiter::new(own_per_s, RATE_PERIODS_PER_S))
    }

    /// The workers that update or delete records which others may meet, by their indexes.
    pub(super) fn mutators(&self, workers: u32) -> Range<u32> {
        match self.test {
            Test::Overwrite | Test::Delete | Test::Large { overwrites: true } => 0..workers,
            Test::Mix(mix) if mix.update + mix.delete > 0 => 0..workers,
            _ => workers..workers + self.writers,
        }
    }

    /// Whether the test overwrites values.
    pub(super) fn updates(&self) -> bool {
        let overwrites = match self.test {
            Test::Mix(mix) => mix.update > 0,
            Test::Large { overwrites } => overwrites,
            test => test == Test::Overwrite,
        };
        overwrites || self.writers > 0
    }

    /// Whether records are taken out.
    pub(super) fn deletes(&self) -> bool {
        matches!(
            self.test,
            Test::Delete | Test::Mix(MixPercentages { delete: 1.., .. })
        )
    }

    /// Whether the test inserts records beyond the loaded ones.
    pub(super) fn inserts(&self) -> bool {
        matches!(self.test, Test::Mix(MixPercentages { insert: 1.., .. }))
    }

    /// Whether the test fills an empty database, and that is measured.
    pub(super) fn fills(&self) -> bool {
        matches!(self.test, Test::Fill { .. })
    }

    /// Whether the database is empty at first.
    pub(super) fn begins_empty(&self) -> bool {
        self.fills() || self.test == Test::PutIfAbsent
    }

    /// Operations that are one worker's share, as places among all of them.
    pub(super) fn share(&self, worker: u32, workers: u32) -> Range<u64> {
        let all = self.operations.unwrap_or(self.records);
        share_start(all, worker, workers)..share_start(all, worker + 1, workers)
    }

    /// The number of operations that end one worker's part; `None` if time does.
    pub(super) fn quota(&self, worker: u32, workers: u32) -> Option<u64> {
        let counted = self.role(worker, workers) == WorkerRole::Main && self.operations.is_some();
        let share = self.share(worker, workers);
        counted.then_some(share.end - share.start)
    }

    /// The kinds that the plan's workers do, which an open loop's rate counts.
    pub(super) fn main_kinds(&self) -> Kinds {
        match self.test {
            Test::Fill { .. } => Kinds::only(Kind::Insert),
            Test::Overwrite | Test::Large { overwrites: true } => Kinds::only(Kind::Update),
            Test::Read | Test::Pass { .. } | Test::Missing | Test::Large { .. } => {
                Kinds::only(Kind::Read)
            }
            Test::ReadMany => Kinds::only(Kind::ReadBatch),
            Test::Seek => Kinds::only(Kind::Seek),
            Test::Delete => Kinds::only(Kind::Delete),
            Test::PutIfAbsent => Kinds::only(Kind::Insert).insert_if(true, Kind::Existing),
            Test::Mix(mix) => Kinds::default()
                .insert_if(mix.sum() < 100, Kind::Read)
                .insert_if(mix.insert > 0, Kind::Insert)
                .insert_if(mix.update > 0, Kind::Update)
                .insert_if(mix.delete > 0, Kind::Delete)
                .insert_if(mix.scan > 0, Kind::Scan),
        }
    }

    /// The kinds that all workers do.
    pub(super) fn kinds(&self) -> Kinds {
        self.main_kinds()
            .insert_if(self.writers > 0, Kind::Update)
            .insert_if(self.scanners > 0, Kind::Next)
            .insert_if(self.batch > 1, Kind::Commit)
    }

    /// Bytes that one operation of a kind moves.
    pub(super) fn volume(&self, kind: Kind) -> OperationBytes {
        let record = self.user_bytes() as f64;
        let read = |read_bytes| OperationBytes::new(read_bytes, 0.0);
        let write = |written_bytes| OperationBytes::new(0.0, written_bytes);
        match kind {
            Kind::Read if self.test == Test::Missing => read(0.0),
            Kind::Read | Kind::Next => read(record),
            Kind::ReadBatch => read(record * self.read_batch as f64),
            Kind::Seek | Kind::Scan => read(record * (self.nexts + 1) as f64),
            Kind::Insert | Kind::Update => write(record),
            Kind::Delete => write(self.key_bytes as f64),
            Kind::Existing | Kind::Commit => OperationBytes::default(),
        }
    }

    /// Refuses records that are too large for the engine, and values in parts that its transactions
    /// would tear.
    ///
    /// # Errors
    /// A key, a value or a part is too long, or the transactions do not take effect as a whole.
    pub(super) fn check_room(&self, capabilities: &Capabilities) -> Result<(), MicroError> {
        // A missing key has a byte more than the others.
        let key_bytes = self.key_bytes + usize::from(self.test == Test::Missing);
        let value_bytes = if self.is_large() {
            self.check_parts(capabilities)?.longest_bytes()
        } else {
            self.value_bytes
        };
        Ok(capacity::check_room(key_bytes, value_bytes, capabilities)?)
    }

    /// The operation of the test that an engine with these capabilities does not have, and what
    /// takes its place; `None` if it has all.
    /// `was_loaded` is whether the engine's own loader filled the database.
    pub(super) fn emulated(
        &self,
        capabilities: &Capabilities,
        was_loaded: bool,
    ) -> Option<&'static str> {
        match self.test {
            Test::ReadMany if !capabilities.batch_get => {
                Some("it has no multi-get: the keys of a batch are looked up one by one")
            }
            Test::PutIfAbsent if !capabilities.conditional_put => {
                Some("it has no conditional put: a get comes before each put")
            }
            Test::Fill { .. } if self.loads_in_bulk && !was_loaded => {
                Some("no loader was used: transactions put the records")
            }
            Test::Large { .. } if self.max_part_bytes.is_none() => {
                let parts = self.value_parts(capabilities);
                parts
                    .are_several()
                    .then_some("its longest value is shorter: values are stored in parts")
            }
            _ => None,
        }
    }

    /// Refuses workers that cannot do the test.
    ///
    /// # Errors
    /// Several workers are to load in bulk.
    pub(super) fn check_workers(&self, workers: u32) -> Result<(), MicroError> {
        if self.loads_in_bulk && workers > 1 {
            Err(MicroError::BulkWorkers { workers })
        } else {
            Ok(())
        }
    }

    /// About how many bytes the database takes.
    pub(super) fn expected_bytes(&self) -> u64 {
        let inserted = self.expected_operations / 100 * self.insert_percent();
        let records = self.records.saturating_add(inserted);
        (1 << 20_u64).max(records.saturating_mul(self.record_bytes()))
    }

    /// The inserts among a hundred operations.
    fn insert_percent(&self) -> u64 {
        match self.test {
            Test::Mix(mix) => mix.insert,
            _ => 0,
        }
    }

    /// Bytes of a record in a database: LMDB takes 129 for one of 116 that is appended.
    fn record_bytes(&self) -> u64 {
        self.user_bytes() + 16 * self.planned_parts().count()
    }

    /// Bytes of the live keys and values after `counts` operations, by kind; `None` if the counts
    /// do not determine them.
    pub(super) fn live_bytes(&self, counts: &[u64]) -> Option<u64> {
        let counted = |kind| counts.get(self.kinds().index(kind)).copied();
        let records = match self.test {
            Test::Fill { .. } => counted(Kind::Insert)?,
            Test::Delete => self.records.checked_sub(counted(Kind::Delete)?)?,
            Test::PutIfAbsent if self.warms_up => return None,
            Test::PutIfAbsent => counted(Kind::Insert)?,
            // It is not counted whether a record that was deleted or updated was there.
            Test::Mix(mix) if mix.delete > 0 => return None,
            Test::Mix(mix) if mix.insert > 0 && self.warms_up => return None,
            Test::Mix(mix) if mix.insert > 0 => self.records.saturating_add(counted(Kind::Insert)?),
            _ => self.records,
        };
        Some(records.saturating_mul(self.user_bytes()))
    }

    /// Commits that wrote something, among `counts` operations by kind.
    pub(super) fn commits(&self, counts: &[u64]) -> Option<u64> {
        let kinds = self.kinds();
        let ends = |kind: &Kind| match kind {
            Kind::Commit => true,
            Kind::Insert | Kind::Update | Kind::Delete => self.batch == 1,
            _ => false,
        };
        let counted = |kind| counts.get(kinds.index(kind)).copied();
        kinds.iter().filter(ends).map(counted).sum()
    }

    /// The number of commits that certainly changed data, if each of this many writers numbers its
    /// own writes of a record: of the writes with one number the first changes the record, and the
    /// others may not. `None` if values have no number.
    pub(super) fn changing_commits(&self, counts: &[u64], numbers_apart: u64) -> Option<u64> {
        let kinds = self.kinds();
        if kinds.has(Kind::Update) && self.value_bytes < MIN_VALUE_BYTES {
            return None;
        }
        let updated = |count| certain_puts(count, numbers_apart);
        let changes = |kind| {
            let count = *counts.get(kinds.index(kind))?;
            Some(match kind {
                Kind::Insert if self.batch == 1 => count,
                Kind::Update if self.batch == 1 => updated(count),
                Kind::Delete if self.batch == 1 => self.certain_deletes(count),
                Kind::Commit => match self.test {
                    Test::Delete => {
                        self.certain_deletes(count.saturating_mul(self.batch)) / self.batch
                    }
                    Test::Fill { .. } => count,
                    _ => updated(count.saturating_mul(self.batch)) / self.batch,
                },
                _ => 0,
            })
        };
        kinds.iter().map(changes).sum()
    }

    /// The number of deletes, out of this many, that certainly found their record.
    fn certain_deletes(&self, deletes: u64) -> u64 {
        match self.test {
            Test::Delete if !self.warms_up => deletes.min(self.records),
            _ => 0,
        }
    }

    /// The records that a mix takes out and puts back; `None` of another test.
    pub(super) fn turnover(&self) -> Option<RecordTurnover> {
        let Test::Mix(mix) = self.test else {
            return None;
        };
        Some(RecordTurnover {
            deletes: mix.delete as f64 / 100.0,
            puts: mix.update as f64 / 100.0,
            operations: self.operations,
            records: self.records,
        })
    }

    /// Bytes of keys and values that one commit writes.
    pub(super) fn commit_bytes(&self) -> u64 {
        self.batch.saturating_mul(self.user_bytes())
    }

    /// The generator of records with these values, in these parts.
    pub(super) fn maker(&self, values: Values, parts: ValueParts) -> Maker {
        Maker::new(self.format, values, parts)
    }

    /// The values of a seed.
    ///
    /// # Errors
    /// Never, for the settings' range is that of the generator.
    pub(super) fn values(&self, seed: u64) -> Result<Values> {
        let part_bytes = self
            .value_bytes
            .min(self.max_part_bytes.unwrap_or(usize::MAX));
        let percent = payload_percent(self.compressibility, part_bytes);
        Values::new(seed, percent).map_err(|error| Error::Workload(error.to_string()))
    }
}

fn test(settings: &Settings) -> Result<Test, MicroError> {
    let mix = MixPercentages {
        update: settings.update_percent,
        insert: settings.insert_percent,
        delete: settings.delete_percent,
        scan: settings.scan_percent,
    };
    let sum = mix.sum();
    if sum > 100 {
        return Err(MicroError::PercentageSum { sum });
    }
    if settings.test != TestName::Mix && sum > 0 {
        let test = settings.test.word();
        return Err(MicroError::PercentagesOfOther { test });
    }
    Ok(match settings.test {
        TestName::FillSequential | TestName::FillBatch | TestName::FillBulk => {
            Test::Fill { random: false }
        }
        TestName::FillRandom | TestName::FillSync => Test::Fill { random: true },
        TestName::Overwrite => Test::Overwrite,
        TestName::ReadRandom
        | TestName::ReadHot
        | TestName::ReadWhileWriting
        | TestName::ReadWhileScanning => Test::Read,
        TestName::MultiReadRandom => Test::ReadMany,
        TestName::ReadSequential => Test::Pass { reverse: false },
        TestName::ReadReverse => Test::Pass { reverse: true },
        TestName::ReadMissing => Test::Missing,
        TestName::SeekRandom => Test::Seek,
        TestName::DeleteRandom => Test::Delete,
        TestName::PutIfAbsent => Test::PutIfAbsent,
        TestName::OverwriteLarge => Test::Large { overwrites: true },
        TestName::ReadLarge => Test::Large { overwrites: false },
        TestName::Mix if sum == 0 => return Err(MicroError::EmptyMix),
        TestName::Mix => Test::Mix(mix),
    })
}

/// The records of a write transaction, and of a look-up of several.
fn batches(settings: &Settings) -> (u64, u64) {
    let given = u64::from(settings.batch);
    let or_own = |own| if given == 0 { own } else { given };
    match settings.test {
        TestName::FillBatch | TestName::FillBulk => (or_own(LOAD_BATCH), 1),
        TestName::MultiReadRandom => (1, or_own(READ_BATCH)),
        _ => (or_own(1), 1),
    }
}

fn distribution(asked: DistributionName, records: u64) -> Distribution {
    match asked {
        DistributionName::Zipfian => Distribution::ScrambledZipfian { keyspace: records },
        DistributionName::Latest => Distribution::Latest,
        DistributionName::Hotspot => Distribution::Hotspot {
            set_fraction: 0.2,
            operation_fraction: 0.8,
        },
        DistributionName::Sequential => Distribution::Sequential,
        DistributionName::Uniform => Distribution::Uniform,
    }
}

fn operations(settings: &Settings, conditions: &Conditions, records: u64) -> Option<u64> {
    match settings.operations {
        0 => conditions.duration_s.is_none().then_some(records),
        given => Some(given),
    }
}
