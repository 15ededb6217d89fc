//! The grammar of `operations`: transactions with their weights.

use super::error::CustomError;
use super::limits::{MAX_KINDS, MAX_SCAN_RECORDS, MAX_STEPS};
use crate::keyed::action::Action;
use crate::keyed::static_text::intern_all;
use std::fmt;
use trueput_record::suggest::did_you_mean;

/// One operation of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub action: Action,
    /// The records that it reads or writes: more than one only in a scan.
    pub records: u32,
}

impl Step {
    /// Reads the word of an action; a scan has its number of records after it.
    fn parse(text: &str) -> Result<Self, CustomError> {
        let named = Action::from_word(text).filter(|action| *action != Action::Scan);
        match (named, text.strip_prefix(Action::Scan.word())) {
            (Some(action), _) if action.word() == text => Ok(Self { action, records: 1 }),
            (_, Some(count)) => Ok(Self {
                action: Action::Scan,
                records: scan_length(text, count)?,
            }),
            (named, None) => {
                // What a trace takes for the action is a word that is not written here.
                let hint = match named {
                    Some(action) => format!(" (did you mean '{}'?)", action.word()),
                    None => did_you_mean(text, Action::ALL.map(Action::word)),
                };
                let text = text.to_owned();
                Err(CustomError::UnknownOperation { text, hint })
            }
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.action {
            Action::Scan => write!(formatter, "scan({})", self.records),
            action => formatter.write_str(action.word()),
        }
    }
}

fn scan_length(text: &str, count: &str) -> Result<u32, CustomError> {
    let digits = count.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let length = digits.and_then(|digits| digits.parse::<u64>().ok());
    match length {
        Some(length @ 1..=MAX_SCAN_RECORDS) => Ok(length as u32),
        _ => Err(CustomError::ScanLength {
            text: text.to_owned(),
        }),
    }
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
        steps: [Step {
            action: Action::Get,
            records: 1,
        }; MAX_STEPS],
        length: 0,
        weight: 0.0,
    };

    fn parse(text: &str) -> Result<Self, CustomError> {
        let Some((names, weight)) = text.rsplit_once(':') else {
            let text = text.to_owned();
            return Err(CustomError::NoWeight { text });
        };
        let mut transaction = Self::NONE;
        for part in names.split('+') {
            let (name, times) = repeated(part)?;
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
        let records = self.steps().iter().map(|step| step.records as usize);
        records.sum()
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

    /// The names of the transactions, as they are written.
    pub(super) fn names(&self) -> &'static [&'static str] {
        intern_all(self.iter().map(Transaction::to_string))
    }
}
