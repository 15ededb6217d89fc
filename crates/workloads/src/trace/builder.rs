//! Stores the lines of a trace, as far as they fit together.

use super::error::{FileError, LineError};
use super::format::{Format, TraceLine};
use super::grammar::{MAX_OPERATIONS, MAX_SCAN_RECORDS, MAX_SPAN_NS, MAX_VALUE_BYTES, SECOND_NS};
use super::stored::{KeyFacts, Operation, Trace};
use crate::keyed::action::Action;
use crate::keyed::record::KeyTable;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of an operation while the trace is read: as stored, and its exact time.
const OPERATION_BYTES: u64 = size_of::<Operation>() as u64 + 8;

/// Bytes of a key while the trace is read, about, besides its own.
const KEY_BYTES: u64 = 96;

/// A trace that is being read.
pub(super) struct TraceBuilder {
    /// Requests to take; 0: all.
    max_requests: u64,
    numbers: HashMap<Box<[u8]>, u32>,
    facts: Vec<KeyFacts>,
    key_bytes: u64,
    operations: Vec<Operation>,
    times_ns: Vec<u64>,
    /// The first and the last time of a request, nanoseconds.
    span_ns: Option<(u64, u64)>,
    is_timed: Option<bool>,
    /// The number of the transaction that the last line belongs to.
    transaction: Option<u64>,
    requests: u64,
    is_full: bool,
    /// Memory of this machine, bytes.
    memory_bytes: u64,
}

impl TraceBuilder {
    /// Nothing read yet; `max_requests` requests end it, if not 0.
    pub(super) fn new(max_requests: u64) -> Self {
        let memory = nix::sys::sysinfo::sysinfo();
        Self {
            max_requests,
            numbers: HashMap::new(),
            facts: Vec::new(),
            key_bytes: 0,
            operations: Vec::new(),
            times_ns: Vec::new(),
            span_ns: None,
            is_timed: None,
            transaction: None,
            requests: 0,
            is_full: false,
            memory_bytes: memory.map_or(u64::MAX, |memory| memory.ram_total()),
        }
    }

    /// Whether as many requests were read as were asked for.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Adds a line.
    ///
    /// # Errors
    /// One clause: what does not fit.
    pub(super) fn add(&mut self, line: &TraceLine<'_>) -> Result<(), LineError> {
        let size = self.check(line)?;
        let continues = line.transaction.is_some() && line.transaction == self.transaction;
        if !continues && self.max_requests > 0 && self.requests == self.max_requests {
            self.is_full = true;
            return Ok(());
        }
        if let Some(time_ns) = line.time_ns.filter(|_| !continues) {
            self.extend_span(time_ns)?;
        }
        self.requests += u64::from(!continues);
        (self.transaction, self.is_timed) = (line.transaction, Some(line.time_ns.is_some()));
        let key = self.number_of(&line.key);
        self.operations
            .push(Operation::new(line.action, key, size, 0, continues));
        self.times_ns.push(line.time_ns.unwrap_or(0));
        Ok(())
    }

    /// Checks a line against those before it, and returns its size; 0 if it states none.
    fn check(&self, line: &TraceLine<'_>) -> Result<u32, LineError> {
        if line.key.is_empty() {
            return Err(LineError::EmptyKey);
        }
        match (self.is_timed, line.time_ns) {
            (Some(true), None) => return Err(LineError::NoTime),
            (Some(false), Some(_)) => return Err(LineError::UnexpectedTime),
            _ => {}
        }
        if self.operations.len() == MAX_OPERATIONS {
            return Err(LineError::TooManyOperations);
        }
        let size = line.size.unwrap_or(0);
        match line.action {
            Action::Scan if size > MAX_SCAN_RECORDS => Err(LineError::LongScan { records: size }),
            Action::Scan => Ok(size as u32),
            _ if size > MAX_VALUE_BYTES => Err(LineError::LongValue { bytes: size }),
            _ => Ok(size as u32),
        }
    }

    /// Refuses a time for which an operation has no room beside the others.
    fn extend_span(&mut self, time_ns: u64) -> Result<(), LineError> {
        let (first, last) = self.span_ns.unwrap_or((time_ns, time_ns));
        let span_ns = last.max(time_ns) - first.min(time_ns);
        if span_ns > MAX_SPAN_NS {
            let other_ns = if time_ns > first { first } else { last };
            return Err(LineError::FarTime { time_ns, other_ns });
        }
        self.span_ns = Some((first.min(time_ns), last.max(time_ns)));
        Ok(())
    }

    fn number_of(&mut self, key: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let number = self.facts.len() as u32;
        self.numbers.insert(key.into(), number);
        self.facts.push(KeyFacts::default());
        self.key_bytes += key.len() as u64;
        number
    }

    /// Refuses a trace that takes more than half of this machine's memory.
    ///
    /// # Errors
    /// One clause with both sizes.
    pub(super) fn check_memory(&self) -> Result<(), FileError> {
        let (operations, keys) = (self.operations.len() as u64, self.facts.len() as u64);
        let bytes = operations * OPERATION_BYTES + keys * KEY_BYTES + 2 * self.key_bytes;
        if bytes <= self.memory_bytes / 2 {
            return Ok(());
        }
        Err(FileError::TooLarge {
            operations,
            keys,
            bytes,
            memory_bytes: self.memory_bytes,
            requests: self.requests,
        })
    }

    /// Puts the requests in the order of their times and numbers the keys in theirs.
    ///
    /// # Errors
    /// One clause, if there is no operation.
    pub(super) fn finish(mut self, format: &Format) -> Result<Trace, FileError> {
        if self.operations.is_empty() {
            return Err(FileError::NoOperation);
        }
        self.sort_keys();
        let mut keys: Vec<_> = std::mem::take(&mut self.numbers).into_keys().collect();
        keys.sort_unstable();
        let table = KeyTable::new(&keys);
        drop(keys);
        self.set_times(format);
        self.set_facts();
        let of_values = self.operations.iter();
        let of_values = of_values.filter(|it| it.action() != Action::Scan);
        let mut trace = Trace {
            format: format.word(),
            keys: Arc::new(table),
            longest_value: of_values.map(|it| it.size).max().unwrap_or(0),
            facts: self.facts,
            operations: self.operations,
            requests: self.requests,
            longest_request: 0,
            is_timed: self.is_timed == Some(true),
        };
        trace.longest_request = trace.requests().map(<[_]>::len).max().unwrap_or(0);
        Ok(trace)
    }

    /// Notes how each key is used first, in the order of the times: that decides what is loaded.
    fn set_facts(&mut self) {
        for operation in &self.operations {
            let facts = &mut self.facts[operation.key as usize];
            facts.begins_with.get_or_insert(operation.action());
            if facts.first_bytes == 0 && operation.action() != Action::Scan {
                facts.first_bytes = operation.size;
            }
        }
    }

    /// Numbers the keys in their order.
    fn sort_keys(&mut self) {
        let mut order: Vec<_> = self.numbers.iter().collect();
        order.sort_unstable();
        let mut new_numbers = vec![0_u32; order.len()];
        for (new, (_, old)) in (0_u32..).zip(order) {
            new_numbers[*old as usize] = new;
        }
        for operation in &mut self.operations {
            operation.key = new_numbers[operation.key as usize];
        }
    }

    /// Gives the operations their times since the first one, in the order of the times.
    fn set_times(&mut self, format: &Format) {
        let mut starts: Vec<usize> = (0..self.operations.len())
            .filter(|at| !self.operations[*at].continues())
            .collect();
        let times_ns = std::mem::take(&mut self.times_ns);
        // Requests of the same time stay in the order of their lines.
        starts.sort_by_key(|start| times_ns[*start]);
        let first = starts.first().map_or(0, |start| times_ns[*start]);
        let mut times: Vec<u64> = starts
            .iter()
            .map(|start| times_ns[*start] - first)
            .collect();
        if format.has_whole_seconds() {
            spread_seconds(&mut times);
        }
        let lines = &self.operations;
        let mut ordered = Vec::with_capacity(lines.len());
        for (start, time_ns) in starts.into_iter().zip(times) {
            let rest = lines[start + 1..].iter().take_while(|it| it.continues());
            for line in lines[start..=start].iter().chain(rest) {
                let (action, continues) = (line.action(), line.continues());
                ordered.push(Operation::new(
                    action, line.key, line.size, time_ns, continues,
                ));
            }
        }
        self.operations = ordered;
    }
}

/// Spreads the requests of a second evenly over it: whole seconds would make them all due at once.
fn spread_seconds(times_ns: &mut [u64]) {
    for same in times_ns.chunk_by_mut(|one, next| one == next) {
        let count = same.len() as u64;
        for (nth, time_ns) in (0_u64..).zip(same) {
            *time_ns += (u128::from(nth) * u128::from(SECOND_NS) / u128::from(count)) as u64;
        }
    }
}
