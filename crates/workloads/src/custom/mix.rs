//! The grammar of `operations`: transactions with their weights.

use crate::keyed::static_text::intern_all;
use std::fmt;
use trueput_record::suggest::did_you_mean;

/// Most transactions in a mix.
pub(super) const MAX_KINDS: usize = 16;
/// Most operations in a transaction.
pub(super) const MAX_STEPS: usize = 16;
/// Most records in a scan.
const MAX_SCAN: u64 = 100_000;

/// The operations by name; a scan has its number of records after it.
const WORDS: [&str; 7] = [
    "get",
    "put",
    "update",
    "read-modify-write",
    "insert",
    "delete",
    "scan",
];

/// Words that a trace takes for the operations, with those that are written here.
const SYNONYMS: [(&str, &str); 6] = [
    ("read", "get"),
    ("write", "put"),
    ("set", "put"),
    ("replace", "update"),
    ("rmw", "read-modify-write"),
    ("add", "insert"),
];

/// One operation of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A record looked up by key.
    Get,
    /// A record overwritten without being read.
    Put,
    /// A record read and put in its next version.
    Update,
    /// A record read as a client reads it, then updated: two reads and a put.
    ReadModifyWrite,
    /// A new record.
    Insert,
    /// A record taken out.
    Delete,
    /// This many consecutive records.
    Scan(u32),
}

impl Step {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "get" => Self::Get,
            "put" => Self::Put,
            "update" => Self::Update,
            "read-modify-write" => Self::ReadModifyWrite,
            "insert" => Self::Insert,
            "delete" => Self::Delete,
            _ => match text.strip_prefix("scan") {
                Some(count) => Self::Scan(scan_length(text, count)?),
                None => {
                    let synonym = SYNONYMS.iter().find(|(other, _)| *other == text);
                    let hint = match synonym {
                        Some((_, word)) => format!(" (did you mean '{word}'?)"),
                        None => did_you_mean(text, WORDS),
                    };
                    return Err(format!(
                        "unknown operation '{text}'{hint}; choose from {}(N)",
                        WORDS.join(", ")
                    ));
                }
            },
        })
    }

    /// Whether it changes a record, or adds one.
    pub(super) fn writes(self) -> bool {
        !matches!(self, Self::Get | Self::Scan(_))
    }

    /// Whether it changes a record that others may meet.
    pub(super) fn mutates(self) -> bool {
        self.writes() && self != Self::Insert
    }

    /// The records that it reads or writes.
    pub(super) fn records(self) -> u32 {
        match self {
            Self::Scan(records) => records,
            _ => 1,
        }
    }

    /// Whether it reads the record that it then writes.
    pub(super) fn reads_first(self) -> bool {
        matches!(self, Self::Update | Self::ReadModifyWrite)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Update => "update",
            Self::ReadModifyWrite => "read-modify-write",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Scan(records) => return write!(formatter, "scan({records})"),
        })
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
        steps: [Step::Get; MAX_STEPS],
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
        self.steps().iter().any(|step| step.writes())
    }

    /// The records that its operations read or write.
    pub(super) fn records(&self) -> usize {
        let records = self.steps().iter().map(|step| step.records() as usize);
        records.sum()
    }

    /// The number of its operations for which this holds.
    pub(super) fn count(&self, holds: impl Fn(Step) -> bool) -> usize {
        self.steps().iter().filter(|step| holds(**step)).count()
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

    /// Whether any transaction has an operation for which this holds.
    pub(super) fn has(&self, holds: impl Fn(Step) -> bool) -> bool {
        self.iter().any(|transaction| transaction.count(&holds) > 0)
    }

    /// The names of the transactions, as they are written.
    pub(super) fn names(&self) -> &'static [&'static str] {
        intern_all(self.iter().map(Transaction::to_string))
    }
}
