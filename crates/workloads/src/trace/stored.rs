//! A trace in memory: 16 bytes for each operation, and for each key its bytes and 16 more.

use super::grammar::{MAX_SPAN_NS, SECOND_NS};
use super::kinds::{Kind, Kinds};
use crate::generate::hash::fnv1a_64;
use crate::keyed::action::Action;
use crate::keyed::record::KeyTable;
use std::sync::Arc;
use trueput_record::random::mix;

/// An operation: its key, its size, and its action and time in one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operation {
    /// The number of its key, in the order of the keys.
    pub key: u32,
    /// Bytes of the value, or records of a scan; 0: not stated.
    pub size: u32,
    /// From the lowest bit: 4 bits for the action, 1 for a transaction that goes on, 59 for the
    /// nanoseconds since the trace's first request, which is enough for 18 years.
    packed: u64,
}

const ACTION_BITS: u32 = 4;
const CONTINUES: u64 = 1 << ACTION_BITS;
const TIME_SHIFT: u32 = ACTION_BITS + 1;

// The last whole second is spread over one more.
const _: () = assert!(MAX_SPAN_NS + SECOND_NS <= u64::MAX >> TIME_SHIFT);

impl Operation {
    /// An operation; `continues` if it belongs to the transaction of the one before.
    pub(super) fn new(action: Action, key: u32, size: u32, time_ns: u64, continues: bool) -> Self {
        let flag = if continues { CONTINUES } else { 0 };
        Self {
            key,
            size,
            packed: time_ns << TIME_SHIFT | flag | action as u64,
        }
    }

    /// What it does.
    #[inline]
    pub(super) fn action(self) -> Action {
        Action::ALL[(self.packed & (CONTINUES - 1)) as usize]
    }

    /// Whether it belongs to the transaction of the operation before.
    #[inline]
    pub(super) fn continues(self) -> bool {
        self.packed & CONTINUES != 0
    }

    /// When it was requested, nanoseconds since the first request.
    #[inline]
    pub(super) fn time_ns(self) -> u64 {
        self.packed >> TIME_SHIFT
    }
}

/// What is known of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct KeyFacts {
    /// The size that the trace first states for its value; 0: it states none.
    pub first_bytes: u32,
    /// The action with which the key begins.
    pub begins_with: Option<Action>,
}

/// A checked trace. Its operations are in the order of their times.
#[derive(Debug)]
pub(super) struct Trace {
    /// The word of its format.
    pub format: &'static str,
    /// The keys, in their order.
    pub keys: Arc<KeyTable>,
    pub facts: Vec<KeyFacts>,
    pub operations: Vec<Operation>,
    /// Requests: transactions, or operations alone.
    pub requests: u64,
    /// Operations of the longest request.
    pub longest_request: usize,
    /// The longest value that it states, bytes.
    pub longest_value: u32,
    /// Whether it states times.
    pub is_timed: bool,
}

impl Trace {
    /// The operations of the request that begins at a place.
    #[inline]
    pub(super) fn request(&self, start: u32) -> &[Operation] {
        let rest = &self.operations[start as usize..];
        let others = rest[1..].iter().take_while(|it| it.continues()).count();
        &rest[..=others]
    }

    /// The places at which the requests begin.
    pub(super) fn starts(&self) -> impl Iterator<Item = u32> + '_ {
        let all = (0_u32..).zip(&self.operations);
        all.filter(|(_, it)| !it.continues()).map(|(at, _)| at)
    }

    /// Every request.
    pub(super) fn requests(&self) -> impl Iterator<Item = &[Operation]> {
        self.starts().map(|start| self.request(start))
    }

    /// The kinds of its requests.
    pub(super) fn kinds(&self) -> Kinds {
        let add = |kinds: Kinds, request| kinds.insert_if(true, kind(request));
        self.requests().fold(Kinds::default(), add)
    }

    /// Whether any operation is one for which this holds.
    pub(super) fn has(&self, holds: impl Fn(Action) -> bool) -> bool {
        self.operations.iter().any(|it| holds(it.action()))
    }

    /// The time from the first request to the last, nanoseconds.
    pub(super) fn duration_ns(&self) -> u64 {
        self.operations.last().map_or(0, |last| last.time_ns())
    }

    /// Bytes that it takes in memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        let operations = size_of_val(&*self.operations) + size_of_val(&*self.facts);
        operations as u64 + self.keys.memory_bytes()
    }

    /// A number that differs where keys, operations or times do.
    pub(super) fn digest(&self) -> u64 {
        let keys = (0..self.facts.len() as u64).map(|key| fnv1a_64(self.keys.key(key)));
        let operations = self.operations.iter();
        let operations =
            operations.map(|it| it.packed ^ mix(u64::from(it.key) << 32 | u64::from(it.size)));
        keys.chain(operations).fold(0, |sum, it| mix(sum ^ it))
    }

    /// The digest of the keys and of the sizes that are loaded.
    pub(super) fn load_digest(&self) -> u64 {
        let keys = (0_u64..).zip(&self.facts);
        keys.fold(0, |sum, (key, facts)| {
            mix(sum ^ fnv1a_64(self.keys.key(key)) ^ mix(u64::from(facts.first_bytes)))
        })
    }
}

/// The kind of a request.
#[inline]
pub(super) fn kind(request: &[Operation]) -> Kind {
    match request {
        [alone] => Kind::of(alone.action()),
        several if several.iter().any(|it| it.action().writes()) => Kind::Transaction,
        _ => Kind::ReadTransaction,
    }
}

/// The requests of each worker, by the places at which they begin.
#[derive(Debug)]
pub(super) struct Shares {
    starts: Vec<u32>,
    /// Where each worker's part of `starts` begins, and the end of the last.
    bounds: Vec<usize>,
}

impl Shares {
    /// Divides the requests among workers by the hash of their first key, so that the requests of
    /// one key keep their order.
    pub(super) fn of(trace: &Trace, workers: u32) -> Self {
        let count = workers.max(1) as usize;
        let worker = |start: u32| {
            let key = trace.operations[start as usize].key;
            (mix(u64::from(key)) % count as u64) as usize
        };
        let mut bounds = vec![0; count + 1];
        trace
            .starts()
            .for_each(|start| bounds[worker(start) + 1] += 1);
        for index in 0..count {
            bounds[index + 1] += bounds[index];
        }
        let mut next = bounds.clone();
        let mut starts = vec![0; bounds[count]];
        for start in trace.starts() {
            let place = &mut next[worker(start)];
            starts[*place] = start;
            *place += 1;
        }
        Self { starts, bounds }
    }

    /// The places at which the requests of a worker begin, in their order.
    pub(super) fn of_worker(&self, worker: u32) -> &[u32] {
        let worker = worker as usize;
        match self.bounds.get(worker..=worker + 1) {
            Some(&[from, to]) => &self.starts[from..to],
            _ => &[],
        }
    }
}
