//! The settings of a job, checked and made ready to use.

use super::error::CustomError;
use super::mix::{Step, Transaction, TransactionMix};
use super::popularity::{Popularity, RecordChoice};
use super::settings::Settings;
use crate::generate::distribution::share_size;
use crate::generate::key::{KeyError, KeyFormat};
use crate::generate::value::{Values, payload_percent};
use crate::keyed::action::Action;
use crate::keyed::capacity;
use crate::keyed::depletion::RecordTurnover;
use crate::keyed::draws::{LengthChooser, LengthDistribution, RecordLengths};
use crate::keyed::expected_state::ReplayableJob;
use crate::keyed::record::{RecordKeys, RecordMaker};
use crate::keyed::sized_keys::{MIN_SIZED_KEY_BYTES, SizedKeys};
use crate::{Error, OperationBytes, Result};
use trueput_engine::Capabilities;
use trueput_record::Conditions;

/// Makes the records of this workload.
pub(super) type Maker = RecordMaker<RecordLengths>;

/// A job's settings.
#[derive(Debug, Clone)]
pub(super) struct CustomConfig {
    pub mix: TransactionMix,
    pub records: u64,
    /// The records that are chosen from: the first this many.
    pub chosen_from: u64,
    /// The format of the keys, or of their prefixes where their lengths differ.
    format: KeyFormat,
    pub key_bytes: LengthDistribution,
    /// Mean length of a key, bytes.
    mean_key_bytes: f64,
    pub value_bytes: LengthDistribution,
    /// Mean length of a value, bytes.
    mean_value_bytes: f64,
    pub compressibility: u8,
    pub choice: RecordChoice,
    /// Whether reads choose among the worker's own inserts too.
    pub reads_inserted: bool,
    /// Whether each worker takes its records from a queue, the oldest first.
    pub is_queue: bool,
    /// Transactions that end the trial; `None` if time does.
    pub transactions: Option<u64>,
    /// Transactions that sizes are estimated for; 0 if none are known.
    expected_transactions: u64,
    /// Whether transactions are done that will not be counted.
    warms_up: bool,
    pub load_batch: u64,
    pub think_ns: u64,
}

impl CustomConfig {
    /// Reads the settings.
    ///
    /// # Errors
    /// The settings contradict each other or the conditions.
    pub(super) fn new(settings: &Settings, conditions: &Conditions) -> Result<Self, CustomError> {
        let (key_bytes, value_bytes) = (settings.key_bytes.0, settings.value_bytes.0);
        let mean = |lengths| LengthChooser::new(lengths).mean();
        let (mean_key_bytes, mean_value_bytes) = (mean(key_bytes), mean(value_bytes));
        let record_bytes = (mean_key_bytes + mean_value_bytes).ceil() as u64;
        let records = capacity::records_of_size(settings.records, settings.size, record_bytes)?;
        let chosen_from = (records as f64 * settings.working_set).ceil() as u64;
        let chosen_from = chosen_from.clamp(1, records);
        let is_latest = settings.distribution == Popularity::Latest;
        let is_queue = settings.distribution == Popularity::Oldest;
        check_choice(settings, chosen_from < records)?;
        if settings.think_time > 0.0 && conditions.rate.is_some() {
            let think_time = settings.think_time;
            return Err(CustomError::ThinksAtRate { think_time });
        }
        let transactions = match settings.operationcount {
            0 => conditions.duration_s.is_none().then_some(records),
            given => Some(given),
        };
        let mut config = Self {
            mix: settings.operations,
            records,
            chosen_from,
            format: key_format(key_bytes)?,
            key_bytes,
            mean_key_bytes,
            value_bytes,
            mean_value_bytes,
            compressibility: settings.compressibility,
            choice: RecordChoice::new(settings.distribution, chosen_from)?,
            reads_inserted: is_latest,
            is_queue,
            transactions,
            expected_transactions: 0,
            warms_up: conditions.warm_up_s > 0.0,
            load_batch: settings.loadbatchsize,
            think_ns: (settings.think_time * 1e9) as u64,
        };
        let inserted_bytes = config.inserts_per_transaction() * config.record_bytes();
        config.expected_transactions =
            capacity::expected_operations(transactions, inserted_bytes, conditions);
        Ok(config)
    }

    /// The number of transactions that end one worker's part; `None` if time does.
    pub(super) fn quota(&self, worker: u32, workers: u32) -> Option<u64> {
        Some(share_size(self.transactions?, worker, workers))
    }

    /// Refuses records that are too large for the engine.
    ///
    /// # Errors
    /// A key or a value is too long.
    pub(super) fn check_room(&self, capabilities: &Capabilities) -> Result<(), CustomError> {
        let lengths = [self.key_bytes, self.value_bytes].map(LengthDistribution::longest);
        let [key, value] = lengths.map(|longest| usize::try_from(longest).unwrap_or(usize::MAX));
        Ok(capacity::check_room(key, value, capabilities)?)
    }

    /// Mean bytes of a record.
    pub(super) fn record_bytes(&self) -> f64 {
        self.mean_key_bytes + self.mean_value_bytes
    }

    /// Bytes that a transaction moves.
    pub(super) fn volume(&self, transaction: &Transaction) -> OperationBytes {
        let record = self.record_bytes();
        let volume = |step: &Step| match step.action {
            Action::Get | Action::Scan => (record * f64::from(step.records), 0.0),
            Action::Put | Action::Insert => (0.0, record),
            Action::Update => (record, record),
            Action::ReadModifyWrite => (2.0 * record, record),
            Action::Delete => (0.0, self.mean_key_bytes * f64::from(step.records)),
        };
        let volumes = transaction.steps().iter().map(volume);
        let sum = |sum: (f64, f64), one: (f64, f64)| (sum.0 + one.0, sum.1 + one.1);
        let (read, written) = volumes.fold((0.0, 0.0), sum);
        OperationBytes::new(read, written)
    }

    /// Bytes of the live keys and values after `counts` transactions, by kind; `None` if the counts
    /// do not determine them.
    pub(super) fn live_bytes(&self, counts: &[u64]) -> Option<u64> {
        // It is not counted whether a record that was deleted or put was there.
        if self.deletes() || (self.inserts() && self.warms_up) {
            return None;
        }
        let inserts =
            |transaction: &Transaction| transaction.count(|it| it == Action::Insert) as u64;
        let inserted: u64 = self
            .mix
            .iter()
            .zip(counts)
            .map(|(transaction, count)| count * inserts(transaction))
            .sum();
        Some(((self.records + inserted) as f64 * self.record_bytes()) as u64)
    }

    /// Commits that wrote something, among `counts` transactions by kind.
    pub(super) fn commits(&self, counts: &[u64]) -> u64 {
        let with_counts = self.mix.iter().zip(counts);
        let writing = with_counts.filter(|(transaction, _)| transaction.writes());
        writing.map(|(_, count)| count).sum()
    }

    /// The records that transactions take out and put back. A queue takes out what was inserted.
    pub(super) fn turnover(&self) -> RecordTurnover {
        let each = |holds: fn(Action) -> bool| {
            let with_weights = self.mix.iter().zip(self.mix.proportions());
            let counts = with_weights.map(|(one, weight)| weight * one.records_of(holds) as f64);
            counts.sum()
        };
        let is_put = if self.is_queue {
            |action| action == Action::Insert
        } else {
            Action::overwrites
        };
        RecordTurnover {
            deletes: each(|action| action == Action::Delete),
            puts: each(is_put),
            operations: self.transactions,
            records: self.chosen_from,
        }
    }

    /// Bytes of keys and values that one commit writes, on average.
    pub(super) fn commit_bytes(&self) -> u64 {
        let weights = self.mix.proportions();
        let all = self.mix.iter().zip(weights);
        let writing = all.filter(|(transaction, _)| transaction.writes());
        let (mut bytes, mut sum) = (0.0, 0.0);
        for (transaction, weight) in writing {
            bytes += weight * self.volume(transaction).written_bytes;
            sum += weight;
        }
        if sum > 0.0 { (bytes / sum) as u64 } else { 0 }
    }

    /// About how many bytes the database takes.
    pub(super) fn expected_bytes(&self) -> u64 {
        // As for micro: what an engine adds to a record.
        const OVERHEAD: f64 = 16.0;
        let inserted = self.expected_transactions as f64 * self.inserts_per_transaction();
        let bytes = (self.records as f64 + inserted) * (self.record_bytes() + OVERHEAD);
        (1 << 20).max(bytes as u64)
    }

    /// The inserts of a transaction, on average.
    fn inserts_per_transaction(&self) -> f64 {
        let weights = self.mix.proportions();
        let inserts = |(transaction, weight): (&Transaction, f64)| {
            weight * transaction.count(|it| it == Action::Insert) as f64
        };
        self.mix.iter().zip(weights).map(inserts).sum()
    }

    /// The values of a seed.
    ///
    /// # Errors
    /// Never, for the settings' range is that of the generator.
    pub(super) fn values(&self, seed: u64) -> Result<Values> {
        let percent = payload_percent(self.compressibility, self.mean_value_bytes as usize);
        Values::new(seed, percent).map_err(|error| Error::Workload(error.to_string()))
    }

    /// The generator of records with these values.
    pub(super) fn maker_of(&self, values: Values, seed: u64) -> Maker {
        let keys = match self.key_bytes {
            LengthDistribution::Constant(_) => RecordKeys::from(self.format),
            lengths => RecordKeys::Sized(SizedKeys::new(self.format, lengths, seed)),
        };
        let lengths = RecordLengths::new(1, self.value_bytes, seed);
        Maker::new(keys, values, lengths)
    }
}

/// The format of keys of these lengths, or of their prefixes where the lengths differ.
fn key_format(lengths: LengthDistribution) -> Result<KeyFormat, KeyError> {
    let bytes = match lengths {
        LengthDistribution::Constant(bytes) => bytes as usize,
        _ => MIN_SIZED_KEY_BYTES,
    };
    KeyFormat::plain(bytes)
}

/// Refuses a part of the records or an operation for which the distribution has no meaning.
fn check_choice(settings: &Settings, is_part: bool) -> Result<(), CustomError> {
    let is_queue = settings.distribution == Popularity::Oldest;
    if let Some(seek) = settings.operations.seek().filter(|_| !is_queue) {
        let operation = seek.to_string();
        return Err(CustomError::SeekWithoutQueue { operation });
    }
    let name = match settings.distribution {
        Popularity::Latest => "latest",
        Popularity::Oldest => "oldest",
        _ => return Ok(()),
    };
    if is_part {
        let working_set = settings.working_set;
        return Err(CustomError::AgeOfPart { name, working_set });
    }
    if is_queue && settings.operations.has(Action::overwrites) {
        return Err(CustomError::QueueOverwrites);
    }
    Ok(())
}
