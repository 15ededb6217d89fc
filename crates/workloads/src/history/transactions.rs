//! A history: the transactions of all workers, with what each of them read and wrote.
//!
//! A worker records its own part in memory that was allocated before ([`History::with_room`]), and
//! hands it over as bytes ([`History::encode`]).

use super::version::{Key, Version};

/// The worker of the transaction that reads every key when all workers have ended.
pub const FINAL_READER: u32 = u32::MAX;

/// The end of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The engine acknowledged its commit.
    Committed,
    /// The engine refused it, or the worker aborted it: it must have had no effect.
    Aborted,
    /// The connection was lost during the commit: it had an effect or not, then or later.
    Unknown,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// It read the key and found the version.
    Read,
    /// It wrote the version.
    Write,
}

/// An operation of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// What it did.
    pub kind: OperationKind,
    /// The key.
    pub key: Key,
    /// The version that it found or wrote.
    pub version: Version,
    /// A hash of the whole value: a version has one value.
    pub digest: u32,
}

impl Operation {
    /// The bytes of an encoded operation.
    const BYTES: usize = 17;

    /// Fills memory that is not used yet.
    const FILLER: Self = Self {
        kind: OperationKind::Write,
        key: Key::MAX,
        version: Version::DAMAGED,
        digest: u32::MAX,
    };

    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self.kind == OperationKind::Write));
        bytes.extend(self.key.to_le_bytes());
        bytes.extend(self.version.to_bits().to_le_bytes());
        bytes.extend(self.digest.to_le_bytes());
    }

    fn decode(bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(Self {
            kind: match bytes.take::<1>()? {
                [0] => OperationKind::Read,
                _ => OperationKind::Write,
            },
            key: u32::from_le_bytes(bytes.take()?),
            version: Version::from_bits(u64::from_le_bytes(bytes.take()?)),
            digest: u32::from_le_bytes(bytes.take()?),
        })
    }
}

/// A transaction of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transaction {
    /// The worker, or [`FINAL_READER`].
    pub worker: u32,
    /// Its number among the worker's transactions, from 0.
    pub number: u32,
    /// The time before its first call, nanoseconds on a clock that all workers share.
    pub invoked_ns: u64,
    /// The time after its last call, likewise.
    pub completed_ns: u64,
    /// Its end.
    pub outcome: Outcome,
    first: usize,
    count: usize,
}

impl Transaction {
    /// The bytes of an encoded transaction without its operations.
    const BYTES: usize = 19;

    /// The time after which it has no effect any more.
    pub(super) fn last_effect_ns(&self) -> u64 {
        match self.outcome {
            Outcome::Unknown => u64::MAX,
            _ => self.completed_ns,
        }
    }
}

impl std::fmt::Display for Transaction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.worker {
            FINAL_READER => formatter.write_str("the final read"),
            worker => write!(formatter, "T{worker}.{}", self.number),
        }
    }
}

/// The transactions of one worker or of all, with their operations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    transactions: Vec<Transaction>,
    operations: Vec<Operation>,
    /// Transactions that were done and not recorded, because there was no room left.
    pub unrecorded: u64,
}

impl History {
    /// Creates an empty history that allocates nothing until it has this many transactions and
    /// operations. Its memory is written once, so that later writes cause no page faults.
    #[must_use]
    pub fn with_room(transactions: usize, operations: usize) -> Self {
        let filler = Transaction {
            worker: FINAL_READER,
            number: u32::MAX,
            invoked_ns: u64::MAX,
            completed_ns: u64::MAX,
            outcome: Outcome::Unknown,
            first: usize::MAX,
            count: usize::MAX,
        };
        let mut history = Self {
            transactions: vec![filler; transactions],
            operations: vec![Operation::FILLER; operations],
            unrecorded: 0,
        };
        history.transactions.clear();
        history.operations.clear();
        history
    }

    /// Returns whether another transaction with at most this many operations fits without an
    /// allocation.
    #[must_use]
    pub fn has_room(&self, operations: usize) -> bool {
        let has = |length: usize, capacity, more| length + more <= capacity;
        has(self.transactions.len(), self.transactions.capacity(), 1)
            && has(
                self.operations.len(),
                self.operations.capacity(),
                operations,
            )
    }

    /// Begins a transaction. Its operations follow, then [`History::end`].
    pub fn begin(&mut self, worker: u32, invoked_ns: u64) {
        self.transactions.push(Transaction {
            worker,
            number: self.transactions.len() as u32,
            invoked_ns,
            completed_ns: u64::MAX,
            outcome: Outcome::Unknown,
            first: self.operations.len(),
            count: 0,
        });
    }

    /// Adds an operation of the transaction that began last.
    pub fn add(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    /// Ends the transaction that began last.
    pub fn end(&mut self, outcome: Outcome, completed_ns: u64) {
        let end = self.operations.len();
        if let Some(last) = self.transactions.last_mut() {
            last.outcome = outcome;
            last.completed_ns = completed_ns;
            last.count = end - last.first;
        }
    }

    /// Returns the transactions.
    #[must_use]
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    /// Returns the operations of a transaction of this history, in their order.
    #[must_use]
    pub fn operations(&self, transaction: &Transaction) -> &[Operation] {
        let end = transaction.first + transaction.count;
        self.operations
            .get(transaction.first..end)
            .unwrap_or_default()
    }

    /// Adds the transactions of another worker.
    pub fn append(&mut self, other: &Self) {
        let offset = self.operations.len();
        self.operations.extend_from_slice(&other.operations);
        let moved = other.transactions.iter().map(|transaction| Transaction {
            first: transaction.first + offset,
            ..*transaction
        });
        self.transactions.extend(moved);
        self.unrecorded += other.unrecorded;
    }

    /// Encodes the history of one worker.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let room = self.transactions.len() * Transaction::BYTES;
        let mut bytes = Vec::with_capacity(12 + room + self.operations.len() * Operation::BYTES);
        let worker = self.transactions.first().map_or(0, |first| first.worker);
        bytes.extend(worker.to_le_bytes());
        bytes.extend(self.unrecorded.to_le_bytes());
        for transaction in &self.transactions {
            bytes.extend(transaction.invoked_ns.to_le_bytes());
            bytes.extend(transaction.completed_ns.to_le_bytes());
            bytes.push(transaction.outcome as u8);
            bytes.extend((transaction.count as u16).to_le_bytes());
            let operations = self.operations(transaction).iter();
            operations.for_each(|operation| operation.encode(&mut bytes));
        }
        bytes
    }

    /// Reads what [`History::encode`] wrote; `None` if it is something else.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        let worker = u32::from_le_bytes(bytes.take()?);
        let mut history = Self {
            unrecorded: u64::from_le_bytes(bytes.take()?),
            ..Self::default()
        };
        while !bytes.0.is_empty() {
            history.begin(worker, u64::from_le_bytes(bytes.take()?));
            let completed_ns = u64::from_le_bytes(bytes.take()?);
            let outcome = match bytes.take::<1>()? {
                [0] => Outcome::Committed,
                [1] => Outcome::Aborted,
                [2] => Outcome::Unknown,
                _ => return None,
            };
            for _ in 0..u16::from_le_bytes(bytes.take()?) {
                history.add(Operation::decode(&mut bytes)?);
            }
            history.end(outcome, completed_ns);
        }
        Some(history)
    }
}

/// The rest of an encoded history.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        let mut history = History::with_room(2, 3);
        history.begin(7, 10);
        for (kind, number) in [(OperationKind::Read, 1), (OperationKind::Write, 2)] {
            history.add(Operation {
                kind,
                key: 3,
                version: Version::new(7, number),
                digest: 9,
            });
        }
        history.end(Outcome::Committed, 20);
        history
    }

    #[test]
    fn a_history_reads_back_and_what_was_cut_off_does_not() {
        let mut history = history();
        history.begin(7, 30);
        history.end(Outcome::Unknown, 40);
        history.unrecorded = 5;
        let bytes = history.encode();
        assert_eq!(History::decode(&bytes), Some(history));
        assert_eq!(History::decode(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn a_history_has_room_for_what_it_was_made_for_and_no_more() {
        let mut history = history();
        assert!(history.has_room(1) && !history.has_room(2));
        history.begin(7, 30);
        history.end(Outcome::Aborted, 40);
        assert!(!history.has_room(0));
    }

    #[test]
    fn the_histories_of_two_workers_become_one() {
        let (mut all, one) = (history(), history());
        all.append(&one);
        let [first, second] = all.transactions() else {
            panic!("{all:?}");
        };
        assert_eq!(all.operations(first), all.operations(second));
        assert_eq!(second.to_string(), "T7.0");
    }
}
