//! Goes through the whole step table after a trial, on several threads, and checks each record of
//! it, or a random tenth.

use super::blocks::END_OF_STEPS;
use super::codec::{Codec, CodecBuffer, MAX_STORABLE};
use super::completed::CompletedStarts;
use super::oracle::Oracle;
use crate::keyed::transaction::{TransactionError, transact_unmetered};
use crate::threads::{RemainingPieces, share_pieces};
use crate::{JobDatabase, Result};
use std::ops::{Bound, ControlFlow};
use trueput_engine::{Direction, KeyRange, Mode, Session};
use trueput_record::VerifyLevel;
use trueput_record::random::SplitMix64;

/// Records that one transaction looks at: no snapshot stays open for long.
const BATCH: usize = 4_096;
/// `sample` looks at one record in this many.
const SAMPLE: u64 = 10;

/// The records of the step table, counted and checked.
#[derive(Debug, Default)]
pub(super) struct TableCounts {
    /// Records.
    pub(super) stored: u64,
    /// Records of starts.
    pub(super) starts: u64,
    /// Records whose steps and successor were looked at.
    pub(super) checked: u64,
    /// A record with wrong steps or an odd key, in words.
    pub(super) wrong: Option<String>,
    /// A record whose successor is not there, in words.
    pub(super) open_end: Option<String>,
}

impl TableCounts {
    fn merge(&mut self, other: Self) {
        self.stored += other.stored;
        self.starts += other.starts;
        self.checked += other.checked;
        self.wrong = self.wrong.take().or(other.wrong);
        self.open_end = self.open_end.take().or(other.open_end);
    }
}

/// Goes through the step table on the target's threads, with a session each.
pub(super) fn inspect<C: Codec>(
    completed: &CompletedStarts,
    target: &JobDatabase<'_>,
    verify: VerifyLevel,
    oracle: &Oracle,
) -> Result<TableCounts> {
    let cuts = C::cuts();
    let inspector = TableInspector {
        completed,
        oracle,
        every: verify != VerifyLevel::Sample,
        target,
    };
    let inspect = |pieces: RemainingPieces<'_>| inspector.pieces::<C>(&cuts, pieces);
    share_pieces(target.threads, cuts.len() + 1, inspect, TableCounts::merge)
}

struct TableInspector<'a, 't> {
    completed: &'a CompletedStarts,
    oracle: &'a Oracle,
    every: bool,
    target: &'a JobDatabase<'t>,
}

impl TableInspector<'_, '_> {
    /// Looks at the pieces of the table that are left.
    fn pieces<C: Codec>(
        &self,
        cuts: &[Vec<u8>],
        pieces: RemainingPieces<'_>,
    ) -> Result<TableCounts> {
        let mut session = self.target.open_session()?;
        let mut counts = TableCounts::default();
        for piece in pieces {
            let lower = piece.checked_sub(1).map_or(&[][..], |before| &cuts[before]);
            let upper = cuts.get(piece).map_or(END_OF_STEPS, Vec::as_slice);
            self.piece::<C>(&mut *session, lower, upper, &mut counts)?;
            (self.target.progress)(0.1 + 0.9 * (piece + 1) as f64 / (cuts.len() + 1) as f64);
        }
        Ok(counts)
    }

    fn piece<C: Codec>(
        &self,
        session: &mut dyn Session,
        lower: &[u8],
        upper: &[u8],
        counts: &mut TableCounts,
    ) -> Result<()> {
        let mut batch = RecordBatch::default();
        let mut last = None;
        loop {
            let from = match &last {
                None => Bound::Included(lower),
                Some(key) => Bound::Excluded(key as &[u8]),
            };
            let range = KeyRange {
                lower: from,
                upper: Bound::Excluded(upper),
            };
            let doing = || "going through the step table".to_owned();
            let orphan = transact_unmetered(session, Mode::Read, doing, |session| {
                batch.fill::<C>(session, range)?;
                self.find_orphan::<C>(session, &batch)
            })?;
            counts.open_end = counts.open_end.take().or(orphan);
            self.count(&batch, counts);
            if batch.records < BATCH as u64 {
                return Ok(());
            }
            last = Some(std::mem::take(&mut batch.last_key));
        }
    }

    fn samples(&self, number: u64) -> bool {
        self.every || is_in_sample(number, self.target.seed)
    }

    /// The first of the sampled records whose successor is not stored.
    fn find_orphan<C: Codec>(
        &self,
        session: &mut dyn Session,
        batch: &RecordBatch,
    ) -> Result<Option<String>, TransactionError> {
        let mut buffer = CodecBuffer::default();
        for &(number, _) in batch
            .steps
            .iter()
            .filter(|(number, _)| self.samples(*number))
        {
            let successor = match number {
                even if even.is_multiple_of(2) => even / 2,
                odd => odd.saturating_mul(3).saturating_add(1),
            };
            let stored = successor <= MAX_STORABLE
                && session.get(C::number(successor, &mut buffer), &mut |_| {})?;
            if successor != 1 && !stored {
                return Ok(Some(format!(
                    "{number} is stored and {successor} after it is not"
                )));
            }
        }
        Ok(None)
    }

    fn count(&self, batch: &RecordBatch, counts: &mut TableCounts) {
        counts.stored += batch.records;
        counts.wrong = counts.wrong.take().or_else(|| batch.odd.clone());
        for &(number, steps) in &batch.steps {
            counts.starts += u64::from(number > 1 && self.completed.contains(number));
            if !self.samples(number) {
                continue;
            }
            counts.checked += 1;
            let right = if number == 1 {
                None
            } else {
                self.oracle.steps(number)
            };
            if right != Some(steps) && counts.wrong.is_none() {
                let right = right.map_or("no record".to_owned(), |steps| steps.to_string());
                counts.wrong = Some(format!("{number}: expected {right}, found {steps}"));
            }
        }
    }
}

/// Whether a number is in the random tenth that a seed's sample is.
fn is_in_sample(number: u64, seed: u64) -> bool {
    SplitMix64::new(number ^ seed)
        .next_u64()
        .is_multiple_of(SAMPLE)
}

/// Records that were read together.
#[derive(Default)]
struct RecordBatch {
    /// The number of records, including unreadable ones.
    records: u64,
    steps: Vec<(u64, u32)>,
    odd: Option<String>,
    last_key: Vec<u8>,
}

impl RecordBatch {
    /// Reads the first records of a range.
    fn fill<C: Codec>(
        &mut self,
        session: &mut dyn Session,
        range: KeyRange<'_>,
    ) -> Result<(), TransactionError> {
        *self = Self {
            steps: std::mem::take(&mut self.steps),
            ..Self::default()
        };
        self.steps.clear();
        let mut shown = 0;
        session.scan(range, Direction::Forward, &mut |key, value| {
            match (C::read_number(key), C::read_steps(value)) {
                (Some(number), Some(steps)) => self.steps.push((number, steps)),
                (Some(number), None) => {
                    self.add_unreadable(format!("the record of {number} holds no steps"));
                }
                (None, _) => {
                    self.add_unreadable(format!("a key is not a number: {}", key.escape_ascii()));
                }
            }
            shown += 1;
            if shown < BATCH {
                return ControlFlow::Continue(());
            }
            self.last_key = key.to_vec();
            ControlFlow::Break(())
        })?;
        self.records = shown as u64;
        Ok(())
    }

    fn add_unreadable(&mut self, record: String) {
        self.odd.get_or_insert(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_about_a_tenth_whatever_the_seed() {
        for seed in [0, 1, 77_031, u64::MAX] {
            let count = (1..=100_000).filter(|n| is_in_sample(*n, seed)).count();
            assert!((9_500..10_500).contains(&count), "seed {seed}: {count}");
        }
    }
}
