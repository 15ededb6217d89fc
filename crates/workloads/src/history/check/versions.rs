//! The versions of each key: who wrote them, over what, and which of them were installed.

use super::anomaly::{Anomaly, AnomalyKind};
use crate::history::transactions::{History, Operation, OperationKind, Outcome, Transaction};
use crate::history::version::{Key, Version};
use std::collections::HashMap;
use trueput_record::Phenomenon;

/// The write of a version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write {
    /// The index of its transaction.
    pub transaction: u32,
    key: Key,
    digest: u32,
    /// Whether its transaction wrote the key again.
    is_intermediate: bool,
}

/// A committed transaction's final write of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Installation {
    /// The key.
    pub key: Key,
    /// The version.
    pub version: Version,
    /// The index of its transaction.
    pub transaction: u32,
    /// The version that the transaction had read before; `None` if it wrote without a read.
    pub parent: Option<Version>,
}

/// A committed transaction's read of a key that it had not written.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExternalRead {
    /// The key.
    pub key: Key,
    /// The version that it found.
    pub version: Version,
    /// The index of its transaction.
    pub transaction: u32,
}

/// The versions of a history.
pub(super) struct VersionIndex<'h> {
    /// The history.
    pub history: &'h History,
    writes: HashMap<Version, Write>,
    is_committed: Vec<bool>,
    /// By key, then in the order of the transactions.
    pub installations: Vec<Installation>,
    /// In the order of the transactions.
    pub reads: Vec<ExternalRead>,
}

impl<'h> VersionIndex<'h> {
    /// Indexes a history.
    pub fn new(history: &'h History) -> Self {
        let mut index = Self {
            history,
            writes: HashMap::new(),
            is_committed: Vec::new(),
            installations: Vec::new(),
            reads: Vec::new(),
        };
        index.index_writes();
        index.find_committed();
        index.index_accesses();
        index
    }

    /// Returns a transaction.
    pub fn transaction(&self, index: u32) -> &'h Transaction {
        &self.history.transactions()[index as usize]
    }

    /// Returns the write of a version, if a committed transaction installed it.
    pub fn installer(&self, version: Version) -> Option<&Write> {
        let write = self.writes.get(&version)?;
        let is_installed = self.is_committed(write.transaction) && !write.is_intermediate;
        is_installed.then_some(write)
    }

    /// Returns whether a transaction was committed: its end says so, or a committed transaction
    /// has read what it wrote.
    pub fn is_committed(&self, transaction: u32) -> bool {
        self.is_committed[transaction as usize]
    }

    /// Returns the committed transactions with their indices.
    fn committed(&self) -> impl Iterator<Item = (u32, &'h Transaction)> + use<'_, 'h> {
        let all = (0..).zip(self.history.transactions());
        all.filter(|(index, _)| self.is_committed(*index))
    }

    /// Returns the number of committed transactions.
    pub fn count_committed(&self) -> usize {
        self.is_committed.iter().filter(|is| **is).count()
    }

    fn index_writes(&mut self) {
        for (index, transaction) in (0..).zip(self.history.transactions()) {
            let operations = self.history.operations(transaction);
            for (at, operation) in operations.iter().enumerate() {
                if operation.kind == OperationKind::Write {
                    let mut later = operations[at + 1..].iter();
                    let write = Write {
                        transaction: index,
                        key: operation.key,
                        digest: operation.digest,
                        is_intermediate: later.any(|later| {
                            later.kind == OperationKind::Write && later.key == operation.key
                        }),
                    };
                    self.writes.insert(operation.version, write);
                }
            }
        }
    }

    /// Finds the committed transactions, those with an unknown end included whose writes a
    /// committed one has read.
    fn find_committed(&mut self) {
        let transactions = self.history.transactions();
        let is_acknowledged = |one: &Transaction| one.outcome == Outcome::Committed;
        self.is_committed = transactions.iter().map(is_acknowledged).collect();
        let known = (0..transactions.len()).filter(|index| self.is_committed[*index]);
        let mut unvisited: Vec<usize> = known.collect();
        while let Some(reader) = unvisited.pop() {
            for operation in self.history.operations(&transactions[reader]) {
                let Some(write) = self.writes.get(&operation.version) else {
                    continue;
                };
                let writer = write.transaction as usize;
                let is_unknown = transactions[writer].outcome == Outcome::Unknown;
                if is_unknown && !self.is_committed[writer] {
                    self.is_committed[writer] = true;
                    unvisited.push(writer);
                }
            }
        }
    }

    fn index_accesses(&mut self) {
        let mut accesses = Vec::new();
        let (mut installations, mut reads) = (Vec::new(), Vec::new());
        for (index, transaction) in self.committed() {
            accesses.clear();
            for operation in self.history.operations(transaction) {
                let access = access(&mut accesses, operation.key);
                match operation.kind {
                    OperationKind::Write => access.own = Some(operation.version),
                    OperationKind::Read if access.own.is_none() => {
                        access.found = Some(operation.version);
                        reads.push(ExternalRead {
                            key: operation.key,
                            version: operation.version,
                            transaction: index,
                        });
                    }
                    OperationKind::Read => {}
                }
            }
            installations.extend(accesses.iter().filter_map(|access| {
                Some(Installation {
                    key: access.key,
                    version: access.own?,
                    transaction: index,
                    parent: access.found,
                })
            }));
        }
        installations.sort_by_key(|installation| installation.key);
        (self.installations, self.reads) = (installations, reads);
    }

    /// Returns the anomalies that single reads of committed transactions show, the first of each
    /// kind.
    pub fn read_anomalies(&self) -> Vec<Anomaly> {
        let mut found: Vec<Anomaly> = Vec::new();
        let mut accesses = Vec::new();
        for (index, transaction) in self.committed() {
            accesses.clear();
            for operation in self.history.operations(transaction) {
                let access = access(&mut accesses, operation.key);
                if operation.kind == OperationKind::Write {
                    access.own = Some(operation.version);
                    continue;
                }
                let wrong = self.read_anomaly(index, operation, access.own);
                let is_new = |wrong: &Anomaly| found.iter().all(|one| one.kind != wrong.kind);
                if let Some(wrong) = wrong.filter(is_new) {
                    found.push(wrong);
                }
            }
        }
        found
    }

    /// Returns what is wrong with a read, the transaction having written `own` under its key.
    fn read_anomaly(&self, reader: u32, read: &Operation, own: Option<Version>) -> Option<Anomaly> {
        let Operation { key, version, .. } = *read;
        let name = self.transaction(reader);
        let damage = |fault: String| Anomaly {
            kind: AnomalyKind::Damage,
            text: format!("{name} read key {key} = {version}, {fault}"),
        };
        if let Some(own) = own
            && own != version
        {
            return Some(Anomaly {
                kind: AnomalyKind::InternalRead,
                text: format!("{name} wrote key {key} = {own} and then read {version}"),
            });
        }
        if version == Version::ABSENT {
            return None;
        }
        let Some(write) = self.writes.get(&version) else {
            return Some(damage("which no transaction wrote".to_owned()));
        };
        let writer = self.transaction(write.transaction);
        if write.key != key {
            let other = write.key;
            return Some(damage(format!("which {writer} wrote to key {other}")));
        }
        if write.digest != read.digest {
            return Some(damage(format!("with other bytes than {writer} wrote")));
        }
        if writer.outcome == Outcome::Aborted {
            return Some(Anomaly::of(
                Phenomenon::AbortedRead,
                format!("{name} read key {key} = {version}, written by {writer}, which aborted"),
            ));
        }
        (write.is_intermediate && write.transaction != reader).then(|| {
            let text = format!(
                "{name} read key {key} = {version}, which {writer} overwrote before it committed"
            );
            Anomaly::of(Phenomenon::IntermediateRead, text)
        })
    }

    /// Returns the updates that ignore another one of the same version, the first of each kind: two
    /// transactions read a version and wrote the key.
    pub fn lost_updates(&self) -> Vec<Anomaly> {
        let mut first: HashMap<(Key, Version), u32> = HashMap::new();
        let mut found: Vec<Anomaly> = Vec::new();
        for update in &self.installations {
            let Some(parent) = update.parent else {
                continue;
            };
            let before = *first
                .entry((update.key, parent))
                .or_insert(update.transaction);
            if before == update.transaction {
                continue;
            }
            let phenomenon = match parent {
                Version::ABSENT => Phenomenon::Phantom,
                _ => Phenomenon::LostUpdate,
            };
            let kind = AnomalyKind::Phenomenon(phenomenon);
            if found.iter().all(|one| one.kind != kind) {
                let (one, other) = (
                    self.transaction(before),
                    self.transaction(update.transaction),
                );
                let key = update.key;
                let text = format!(
                    "{one} and {other} both read key {key} = {parent} and both wrote key {key}, \
                     so that the later one ignores the other"
                );
                found.push(Anomaly::of(phenomenon, text));
            }
        }
        found
    }
}

/// A transaction's accesses to a key.
struct Access {
    key: Key,
    /// The version that it read last, before it wrote the key.
    found: Option<Version>,
    /// The version that it wrote last.
    own: Option<Version>,
}

fn access(accesses: &mut Vec<Access>, key: Key) -> &mut Access {
    let at = accesses.iter().position(|access| access.key == key);
    let at = at.unwrap_or_else(|| {
        accesses.push(Access {
            key,
            found: None,
            own: None,
        });
        accesses.len() - 1
    });
    &mut accesses[at]
}
