//! The operations of a worker, in order: a function of only the settings, the seed, the generation
//! and the worker, so that verification can draw them again.

use super::config::{Maker, MixgraphConfig};
use super::keys::KeyHotness;
use super::kinds::{Kinds, QueryDecider};
use super::lengths::{DrawnLengths, ScanLengths};
use crate::Result;
use crate::generate::random::Random;
use crate::keyed::action::Action;
use crate::keyed::executor::PlannedOperation;
use crate::keyed::expected_state::{ReplayableJob, WriteStream};
use std::ops::Range;
use trueput_record::random::mix;

/// The operations of one worker.
pub(super) struct OperationStream {
    records: u64,
    hotness: KeyHotness,
    queries: QueryDecider,
    kinds: Kinds,
    scans: ScanLengths,
    one_draw: bool,
    random: Random,
}

impl OperationStream {
    /// Draws the next operation, with the index of its kind. The stream has no end: the worker
    /// stops after its share.
    #[inline]
    pub(super) fn next_operation(&mut self) -> (usize, PlannedOperation) {
        let number = self.random.below(self.records);
        let (query, unit) = if self.one_draw {
            (number, number as f64 / self.records as f64)
        } else {
            (self.random.next_u64(), 1.0 - self.random.unit_f64())
        };
        let kind = self.queries.kind(query);
        let action = kind.action();
        let records = if action == Action::Scan {
            self.scans.records(unit)
        } else {
            1
        };
        let item = self.hotness.item(number, self.records);
        let planned = PlannedOperation {
            records,
            ..PlannedOperation::new(action, item)
        };
        (self.kinds.index(kind), planned)
    }
}

impl WriteStream for OperationStream {
    fn next_writes(&mut self, visit: &mut dyn FnMut(u64, bool)) {
        let (_, planned) = self.next_operation();
        if planned.action.writes() {
            visit(planned.item, false);
        }
    }

    /// Every record is loaded.
    fn inserted(&self) -> u64 {
        0
    }
}

impl ReplayableJob for MixgraphConfig {
    type Draws = OperationStream;
    type Lengths = DrawnLengths;

    fn records(&self) -> u64 {
        self.records
    }

    fn mutators(&self, workers: u32) -> Range<u32> {
        0..if self.puts() { workers } else { 0 }
    }

    fn deletes(&self) -> bool {
        false
    }

    fn inserts(&self) -> bool {
        false
    }

    fn fills(&self) -> bool {
        false
    }

    fn counts_writes(&self) -> bool {
        false
    }

    fn maker(&self, seed: u64) -> Result<Maker> {
        Ok(self.maker_of(self.values(seed)?, seed))
    }

    fn stream(
        &self,
        seed: u64,
        generation: u32,
        worker: u32,
        _workers: u32,
    ) -> Result<OperationStream> {
        // Trials that share a load do not repeat each other.
        let seed = mix(seed ^ u64::from(generation).rotate_left(32));
        Ok(OperationStream {
            records: self.records,
            hotness: self.hotness.clone(),
            queries: self.queries,
            kinds: self.kinds(),
            scans: self.scans,
            one_draw: self.one_draw,
            random: Random::for_worker(seed, worker, "mixgraph"),
        })
    }
}
