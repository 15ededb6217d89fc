//! Small random histories of a store in memory, whose transactions are isolated badly.

use std::collections::BTreeMap;
use trueput_workloads::generate::random::Random;
use trueput_workloads::history::transactions::{History, Operation, OperationKind, Outcome};
use trueput_workloads::history::version::{Key, Version};

/// What a transaction sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// What was committed when it began.
    Snapshot,
    /// What is committed.
    Committed,
    /// What was written last, committed or not.
    Latest,
}

/// What all transactions of a simulation do.
#[derive(Debug, Clone, Copy)]
pub struct Simulation {
    /// The most transactions.
    pub transactions: u64,
    /// The keys.
    pub keys: u64,
    /// Whether each write is preceded by a read of its key, so that the versions have an order.
    pub reads_first: bool,
}

struct RunningTransaction {
    view: View,
    snapshot: BTreeMap<Key, Version>,
    own: BTreeMap<Key, Version>,
    seen: Vec<Key>,
    steps: Vec<(Key, bool)>,
    operations: Vec<Operation>,
    invoked_ns: u64,
    completed_ns: u64,
}

impl Simulation {
    /// The history of a seed.
    pub fn history(self, seed: u64) -> History {
        let mut random = Random::new(seed);
        let count = 2 + random.below(self.transactions - 1);
        let (mut committed, mut latest) = (BTreeMap::new(), BTreeMap::new());
        let (mut time_ns, mut writes) = (0, 0);
        let mut running: Vec<RunningTransaction> =
            (0..count).map(|_| self.start(&mut random)).collect();
        loop {
            let mut unfinished: Vec<usize> = (0..running.len())
                .filter(|at| running[*at].completed_ns == u64::MAX)
                .collect();
            if unfinished.is_empty() {
                break;
            }
            let one = unfinished.swap_remove(random.below(unfinished.len() as u64) as usize);
            let one = &mut running[one];
            time_ns += 1;
            if one.invoked_ns == u64::MAX {
                one.invoked_ns = time_ns;
                one.snapshot.clone_from(&committed);
            } else if let Some((key, is_write)) = one.steps.pop() {
                let found = match one.view {
                    _ if one.own.contains_key(&key) => &one.own,
                    View::Snapshot => &one.snapshot,
                    View::Committed => &committed,
                    View::Latest => &latest,
                };
                let found = found.get(&key).copied().unwrap_or(Version::ABSENT);
                let is_first = !one.seen.contains(&key);
                if !is_write || (is_first && self.reads_first) {
                    one.add(OperationKind::Read, key, found);
                }
                one.seen.push(key);
                if is_write {
                    writes += 1;
                    let version = Version::new(0, writes);
                    one.add(OperationKind::Write, key, version);
                    one.own.insert(key, version);
                    latest.insert(key, version);
                }
            } else {
                one.completed_ns = time_ns;
                committed.extend(one.own.clone());
            }
        }
        record(&running)
    }

    fn start(self, random: &mut Random) -> RunningTransaction {
        let steps = 1 + random.below(3);
        RunningTransaction {
            view: [
                View::Snapshot,
                View::Snapshot,
                View::Committed,
                View::Latest,
            ][random.below(4) as usize],
            snapshot: BTreeMap::new(),
            own: BTreeMap::new(),
            seen: Vec::new(),
            steps: (0..steps)
                .map(|_| (random.below(self.keys) as Key, random.below(2) == 0))
                .collect(),
            operations: Vec::new(),
            invoked_ns: u64::MAX,
            completed_ns: u64::MAX,
        }
    }
}

impl RunningTransaction {
    fn add(&mut self, kind: OperationKind, key: Key, version: Version) {
        self.operations.push(Operation {
            kind,
            key,
            version,
            digest: 0,
        });
    }
}

fn record(running: &[RunningTransaction]) -> History {
    let mut history = History::default();
    for (worker, one) in (0..).zip(running) {
        history.begin(worker, one.invoked_ns);
        one.operations.iter().for_each(|step| history.add(*step));
        history.end(Outcome::Committed, one.completed_ns);
    }
    history
}

/// The same history with all transactions concurrent.
pub fn without_times(history: &History) -> History {
    let mut all = History::default();
    for transaction in history.transactions() {
        all.begin(transaction.worker, 1);
        let operations = history.operations(transaction);
        operations.iter().for_each(|operation| all.add(*operation));
        all.end(transaction.outcome, 1_000);
    }
    all
}
