//! The grammar of `operations`: transactions with their weights.

use super::error::CustomError;
use super::limits::{MAX_DELETED_RECORDS, MAX_KINDS, MAX_SCAN_RECORDS, MAX_STEPS};
use crate::keyed::action::Action;
use crate::keyed::queue_scan::ScanStart;
use crate::keyed::static_text::intern_all;
use std::fmt;
use trueput_record::suggest::did_you_mean;

/// The word for a look at the oldest record of a queue.
const FIRST: &str = "first";
/// The word for a look at the newest record of a queue.
const LAST: &str = "last";
/// The word before the number of records, for deletes of neighbors.
const DELETE_RANGE: &str = "delete-range";

/// One operation of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub action: Action,
    /// The records that it reads or writes: more than one only in a scan or a range of deletes.
    pub records: u32,
    /// Where a scan begins.
    pub start: ScanStart,
}

impl Step {
    /// An operation on one record.
    const fn new(action: Action) -> Self {
        Self {
            action,
            records: 1,
            start: ScanStart::Record,
        }
    }

    /// A scan of one record, from an end of the queue.
    const fn seek(start: ScanStart) -> Self {
        Self {
            start,
            ..Self::new(Action::Scan)
        }
    }

    /// Reads the word of an operation; a scan or a range of deletes has its number of records after
    /// it.
    fn parse(text: &str) -> Result<Self, CustomError> {
        if let Some(count) = text.strip_prefix(DELETE_RANGE) {
            let records = record_count(count, MAX_DELETED_RECORDS);
            let records = records.ok_or_else(|| CustomError::DeleteLength {
                text: text.to_owned(),
            })?;
            return Ok(Self {
                records,
                ..Self::new(Action::Delete)
            });
        }
        if let Some(count) = text.strip_prefix(Action::Scan.word()) {
            let records = record_count(count, MAX_SCAN_RECORDS);
            let records = records.ok_or_else(|| CustomError::ScanLength {
                text: text.to_owned(),
            })?;
            return Ok(Self {
                records,
                ..Self::new(Action::Scan)
            });
        }
        let named = Action::from_word(text).filter(|action| *action != Action::Scan);
        match (text, named) {
            (FIRST, _) => Ok(Self::seek(ScanStart::First)),
            (LAST, _) => Ok(Self::seek(ScanStart::Last)),
            (_, Some(action)) if action.word() == text => Ok(Self::new(action)),
            _ => Err(unknown_operation(text, named)),
        }
    }

    /// Whether it seeks an end of a queue.
    pub(super) fn seeks(&self) -> bool {
        self.start != ScanStart::Record
    }

    /// The operations as which it is done: each record of a range is deleted by its own.
    fn operations(&self) -> usize {
        if self.action == Action::Delete {
            self.records as usize
        } else {
            1
        }
    }
}

/// The error for a word that is not written here; `named` is what a trace takes it for.
fn unknown_operation(text: &str, named: Option<Action>) -> CustomError {
    let hint = match named {
        Some(action) => format!(" (did you mean '{}'?)", action.word()),
        None => {
            let words = Action::ALL.into_iter().map(Action::word);
            did_you_mean(text, words.chain([FIRST, LAST, DELETE_RANGE]))
        }
    };
    let text = text.to_owned();
    CustomError::UnknownOperation { text, hint }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.action, self.start, self.records) {
            (Action::Scan, ScanStart::First, _) => formatter.write_str(FIRST),
            (Action::Scan, ScanStart::Last, _) => formatter.write_str(LAST),
            (Action::Scan, ScanStart::Record, records) => write!(formatter, "scan({records})"),
            (Action::Delete, _, records @ 2..) => write!(formatter, "{DELETE_RANGE}({records})"),
            (action, ..) => formatter.write_str(action.word()),
        }
    }
}

/// Reads `(N)`: 1 to `max` records.
fn record_count(text: &str, max: u64) -> Option<u32> {
    let digits = text.strip_prefix('(')?.strip_suffix(')')?;
    let count = digits.parse::<u64>().ok()?;
    (1..=max).contains(&count).then_some(count as u32)
}

/// Operations that are done together, and how often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Transaction {
    steps: [Step; MAX_STEPS],
    length: usize,
    weight: f64,
}

impl Transaction {
    const NONE: Self = Self {
        steps: [Step::new(Action::Get); MAX_STEPS],
        length: 0,
        weight: 0.0,
    };

    fn parse(text: &str) -> Result<Self, CustomError> {
        let Some((names, weight)) = text.rsplit_once(':') else {
            let text = text.to_owned();
            return Err(CustomError::NoWeight { text });
        };
        let mut transaction = Self::NONE;
        for (index, part) in names.split('+').enumerate() {
            let (name, times) = repeated(part)?;
            if name.is_empty() {
                let place = match (part, names, index) {
                    ("", "", _) => "before ':'",
                    ("", _, 0) => "before '+'",
                    ("", ..) => "behind '+'",
                    _ => "before '*'",
                };
                let text = text.to_owned();
                return Err(CustomError::NoOperation { place, text });
            }
            let end = transaction.length + times;
            let Some(places) = transaction.steps.get_mut(transaction.length..end) else {
                let names = names.to_owned();
                return Err(CustomError::TooManyOperations { names });
            };
            places.fill(Step::parse(name)?);
            transaction.length = end;
        }
        transaction.weight = match weight.parse::<f64>() {
            Ok(weight) if (0.0..=1e9).contains(&weight) => weight,
            _ => {
                let (weight, names) = (weight.to_owned(), names.to_owned());
                return Err(CustomError::Weight { weight, names });
            }
        };
        Ok(transaction)
    }

    /// Its operations, in order.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps[..self.length]
    }

    /// Whether any operation writes.
    pub(super) fn writes(&self) -> bool {
        self.count(Action::writes) > 0
    }

    /// The records that its operations read or write.
    pub(super) fn records(&self) -> usize {
        self.records_of(|_| true)
    }

    /// The records that its operations read or write for whose action this holds.
    pub(super) fn records_of(&self, holds: impl Fn(Action) -> bool) -> usize {
        let steps = self.steps().iter().filter(|step| holds(step.action));
        steps.map(|step| step.records as usize).sum()
    }

    /// The operations as which it is done.
    pub(super) fn operations(&self) -> usize {
        self.steps().iter().map(Step::operations).sum()
    }

    /// The number of its operations for whose action this holds.
    pub(super) fn count(&self, holds: impl Fn(Action) -> bool) -> usize {
        let actions = self.steps().iter().map(|step| step.action);
        actions.filter(|action| holds(*action)).count()
    }
}

/// The operation of `insert*8`, and how often it is done.
fn repeated(part: &str) -> Result<(&str, usize), CustomError> {
    let Some((name, times)) = part.split_once('*') else {
        return Ok((part, 1));
    };
    match times.parse() {
        Ok(times @ 1..=MAX_STEPS) => Ok((name, times)),
        _ => Err(CustomError::Repeats {
            part: part.to_owned(),
            name: name.to_owned(),
        }),
    }
}

impl fmt::Display for Transaction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.steps().chunk_by(|one, next| one == next);
        for (index, run) in runs.enumerate() {
            let plus = if index == 0 { "" } else { "+" };
            match run {
                [step] => write!(formatter, "{plus}{step}")?,
                [step, _] => write!(formatter, "{plus}{step}+{step}")?,
                _ => write!(formatter, "{plus}{}*{}", run[0], run.len())?,
            }
        }
        Ok(())
    }
}

/// The transactions of a workload; all have a weight above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TransactionMix {
    transactions: [Transaction; MAX_KINDS],
    length: usize,
}

impl Default for TransactionMix {
    fn default() -> Self {
        Self {
            transactions: [Transaction::NONE; MAX_KINDS],
            length: 0,
        }
    }
}

impl TransactionMix {
    /// Reads transactions with weights, with spaces between: `get:70 get+update:20 insert*8:10`.
    ///
    /// # Errors
    /// The first part that is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, CustomError> {
        let mut mix = Self::default();
        for part in text.split_whitespace() {
            let transaction = Transaction::parse(part)?;
            if mix.iter().any(|other| other.steps() == transaction.steps()) {
                let transaction = transaction.to_string();
                return Err(CustomError::Twice { transaction });
            }
            if transaction.weight == 0.0 {
                continue;
            }
            if mix.length == MAX_KINDS {
                return Err(CustomError::TooManyTransactions);
            }
            mix.transactions[mix.length] = transaction;
            mix.length += 1;
        }
        if mix.length == 0 {
            return Err(CustomError::NoTransaction);
        }
        Ok(mix)
    }

    /// The transactions, in the order given.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Transaction> {
        self.transactions[..self.length].iter()
    }

    /// The transaction of a kind.
    #[inline]
    pub(super) fn get(&self, kind: usize) -> &Transaction {
        &self.transactions[kind]
    }

    /// The weights, which add up to 1.
    pub(super) fn proportions(&self) -> [f64; MAX_KINDS] {
        let sum: f64 = self.iter().map(|transaction| transaction.weight).sum();
        self.transactions
            .map(|transaction| transaction.weight / sum)
    }

    /// Whether any transaction has an operation for whose action this holds.
    pub(super) fn has(&self, holds: impl Fn(Action) -> bool) -> bool {
        self.iter().any(|transaction| transaction.count(&holds) > 0)
    }

    /// The first operation that seeks an end of a queue.
    pub(super) fn seek(&self) -> Option<&Step> {
        let mut steps = self.iter().flat_map(Transaction::steps);
        steps.find(|step| step.seeks())
    }

    /// The operations as which the longest transaction is done.
    pub(super) fn max_operations(&self) -> usize {
        let operations = self.iter().map(Transaction::operations);
        operations.max().unwrap_or(0)
    }

    /// The names of the transactions, as they are written.
    pub(super) fn names(&self) -> &'static [&'static str] {
        intern_all(self.iter().map(Transaction::to_string))
    }
}
