//! The grammar of `operations`: transactions with their weights.

use crate::keyed::action::Action;
use crate::keyed::static_text::intern_all;
use std::fmt;
use trueput_record::suggest::did_you_mean;

/// Most transactions in a mix.
pub(super) const MAX_KINDS: usize = 16;
/// Most operations in a transaction.
pub(super) const MAX_STEPS: usize = 16;
/// Most records in a scan.
const MAX_SCAN: u64 = 100_000;

/// One operation of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub action: Action,
    /// The records that it reads or writes: more than one only in a scan.
    pub records: u32,
}

impl Step {
    /// Reads the word of an action; a scan has its number of records after it.
    fn parse(text: &str) -> Result<Self, String> {
        let named = Action::from_word(text).filter(|action| *action != Action::Scan);
        match (named, text.strip_prefix(Action::Scan.word())) {
            (Some(action), _) if action.word() == text => Ok(Self { action, records: 1 }),
            (_, Some(count)) => Ok(Self {
                action: Action::Scan,
                records: scan_length(text, count)?,
            }),
            (named, None) => {
                let words = Action::ALL.map(Action::word);
                // What a trace takes for the action is a word that is not written here.
                let hint = match named {
                    Some(action) => format!(" (did you mean '{}'?)", action.word()),
                    None => did_you_mean(text, words),
                };
                Err(format!(
                    "unknown operation '{text}'{hint}; choose from {}(N)",
                    words.join(", ")
                ))
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

fn scan_length(text: &str, count: &str) -> Result<u32, String> {
    let digits = count.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let length = digits.and_then(|digits| digits.parse::<u64>().ok());
    match length {
        Some(length @ 1..=MAX_SCAN) => Ok(length as u32),
        _ => Err(format!(
            "'{text}' is not a scan; write the number of records, 1 to {MAX_SCAN}, as in scan(50)"
        )),
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

    fn parse(text: &str) -> Result<Self, String> {
        let Some((names, weight)) = text.rsplit_once(':') else {
            return Err(format!(
                "'{text}' has no weight; write operation:weight, as in {}",
                with_weight(text)
            ));
        };
        let mut transaction = Self::NONE;
        for part in names.split('+') {
            let (name, times) = repeated(part)?;
            let end = transaction.length + times;
            let Some(places) = transaction.steps.get_mut(transaction.length..end) else {
                return Err(format!(
                    "'{names}' has more than {MAX_STEPS} operations; split it"
                ));
            };
            places.fill(Step::parse(name)?);
            transaction.length = end;
        }
        transaction.weight = match weight.parse::<f64>() {
            Ok(weight) if (0.0..=1e9).contains(&weight) => weight,
            _ => {
                return Err(format!(
                    "'{weight}' is not the weight of {names}; write a number from 0 to 1e9, as in \
                     {names}:70"
                ));
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

/// What a transaction without `:` and a weight is meant to be: `get:70` for `get`, `get=70` and
/// `get70`.
fn with_weight(text: &str) -> String {
    let name = text.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let weight = &text[name.len()..];
    let name = name.trim_end_matches('=');
    match weight.parse::<f64>() {
        _ if name.is_empty() => "get:70".to_owned(),
        Ok(_) if !name.ends_with('*') => format!("{name}:{weight}"),
        _ => format!("{}:70", text.trim_end_matches('=')),
    }
}

/// The operation of `insert*8`, and how often it is done.
fn repeated(part: &str) -> Result<(&str, usize), String> {
    let Some((name, times)) = part.split_once('*') else {
        return Ok((part, 1));
    };
    match times.parse() {
        Ok(times @ 1..=MAX_STEPS) => Ok((name, times)),
        _ => Err(format!(
            "'{part}' is not repeated 1 to {MAX_STEPS} times; write {name}*8, for example"
        )),
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
    /// One sentence: the wrong part, and what would be right.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut mix = Self::default();
        for part in text.split_whitespace() {
            let transaction = Transaction::parse(part)?;
            if mix.iter().any(|other| other.steps() == transaction.steps()) {
                return Err(format!(
                    "{transaction} is there twice; give it once, with the sum of the weights"
                ));
            }
            if transaction.weight == 0.0 {
                continue;
            }
            if mix.length == MAX_KINDS {
                return Err(format!(
                    "there are more than {MAX_KINDS} transactions; leave the rarest out"
                ));
            }
            mix.transactions[mix.length] = transaction;
            mix.length += 1;
        }
        if mix.length == 0 {
            return Err(
                "no operation has a weight above 0; give one, as in get:70 update:30".to_owned(),
            );
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
