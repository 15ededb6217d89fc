//! The requests of one worker, and the legal final states.

use super::config::{Maker, TraceConfig, TraceLengths, maker_of};
use super::stored::{Operation, Shares, Trace};
use crate::Result;
use crate::keyed::action::Action;
use crate::keyed::expected_state::{ReplayableJob, WriteStream};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A trace with its requests divided among workers.
#[derive(Debug)]
pub(super) struct TraceReplay {
    pub config: Arc<TraceConfig>,
    /// Of the number of workers that the trial has.
    shares: OnceLock<Arc<Shares>>,
}

impl TraceReplay {
    /// Not divided yet.
    pub(super) fn new(config: TraceConfig) -> Self {
        Self {
            config: Arc::new(config),
            shares: OnceLock::new(),
        }
    }

    /// The requests of each of the trial's workers.
    pub(super) fn shares(&self, workers: u32) -> &Arc<Shares> {
        let divide = || Arc::new(Shares::of(&self.config.trace, workers));
        self.shares.get_or_init(divide)
    }

    /// The requests of a worker.
    pub(super) fn requests(&self, worker: u32, workers: u32) -> RequestStream {
        RequestStream {
            trace: self.config.trace.clone(),
            shares: self.shares(workers).clone(),
            worker,
            next: 0,
        }
    }
}

/// The requests of a worker, from the first on.
pub(super) struct RequestStream {
    trace: Arc<Trace>,
    shares: Arc<Shares>,
    worker: u32,
    next: usize,
}

impl RequestStream {
    /// The number of requests that are left.
    pub(super) fn left(&self) -> u64 {
        (self.shares.of_worker(self.worker).len() - self.next) as u64
    }

    /// The next request; no operation after the last one.
    #[inline]
    pub(super) fn next_request(&mut self) -> &[Operation] {
        let Some(start) = self.shares.of_worker(self.worker).get(self.next) else {
            return &[];
        };
        self.next += 1;
        self.trace.request(*start)
    }
}

impl WriteStream for RequestStream {
    fn next_writes(&mut self, visit: &mut dyn FnMut(u64, bool)) {
        for operation in self.next_request() {
            let action = operation.action();
            if action.writes() {
                visit(operation.key.into(), action == Action::Delete);
            }
        }
    }

    /// Every key of the trace is one of its records.
    fn inserted(&self) -> u64 {
        0
    }
}

impl ReplayableJob for TraceReplay {
    type Draws = RequestStream;
    type Lengths = TraceLengths;

    fn records(&self) -> u64 {
        self.config.keys()
    }

    fn records_at_first(&self) -> u64 {
        (0..self.config.keys())
            .filter(|item| self.config.is_loaded(*item))
            .count() as u64
    }

    fn mutators(&self, workers: u32) -> Range<u32> {
        0..if self.config.trace.has(Action::writes) {
            workers
        } else {
            0
        }
    }

    fn deletes(&self) -> bool {
        self.config.trace.has(|action| action == Action::Delete) || self.config.has_absent()
    }

    fn inserts(&self) -> bool {
        false
    }

    fn fills(&self) -> bool {
        false
    }

    fn is_absent_at_first(&self, item: u64) -> bool {
        !self.config.is_loaded(item)
    }

    fn counts_writes(&self) -> bool {
        false
    }

    fn maker(&self, seed: u64) -> Result<Maker> {
        Ok(maker_of(&self.config, self.config.values(seed)?))
    }

    fn stream(&self, _seed: u64, _: u32, worker: u32, workers: u32) -> Result<RequestStream> {
        Ok(self.requests(worker, workers))
    }
}
