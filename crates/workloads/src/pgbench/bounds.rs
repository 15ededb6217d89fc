//! The balances that an account may have while several workers change it.
//!
//! A balance that is read includes every delta that was committed before the transaction began, and
//! no delta that was not begun when it ended. Of those in between, any may be included. So it lies
//! between two sums, which are equal if no other transaction met the account. Each delta that is
//! begun or committed is added to a counter of its sign; a counter that is read late only widens
//! the bounds.
//!
//! The counters wrap around. That does no harm: all arithmetic is modulo 2^32, as wide as a
//! balance, and what is under way at a time is far less.

use crate::keyed::write_tracker::RecordSample;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use trueput_record::VerifyLevel;

/// The deltas of one account: sums of those above 0, and of those below by their magnitudes.
#[derive(Debug, Default)]
struct AccountDeltas {
    begun: DeltaSums,
    committed: DeltaSums,
}

#[derive(Debug, Default)]
struct DeltaSums {
    up: AtomicU32,
    down: AtomicU32,
}

impl DeltaSums {
    #[inline]
    fn add(&self, delta: i32) {
        let sum = if delta > 0 { &self.up } else { &self.down };
        // Nothing is added by a transaction that writes nothing.
        if delta != 0 {
            sum.fetch_add(delta.unsigned_abs(), SeqCst);
        }
    }

    #[inline]
    fn load(&self) -> (u32, u32) {
        (self.up.load(SeqCst), self.down.load(SeqCst))
    }
}

/// The deltas that a balance includes for certain: those committed before its transaction began,
/// and the transaction's own.
#[derive(Debug, Clone, Copy)]
pub(super) struct CertainDeltas {
    place: usize,
    delta: i32,
    up: u32,
    down: u32,
}

/// The deltas of all accounts in a sample, which the threads of a process share.
#[derive(Debug)]
pub(super) struct BalanceBounds {
    sample: RecordSample,
    /// Empty if nothing is written, so that each balance is 0.
    accounts: Box<[AccountDeltas]>,
}

impl BalanceBounds {
    /// No transaction has begun yet, and each balance is 0.
    pub(super) fn new(level: VerifyLevel, accounts: u32, writes: bool) -> Self {
        let sample = RecordSample::new(level, accounts.into());
        let tracked = if writes { sample.len() } else { 0 };
        Self {
            sample,
            accounts: (0..tracked).map(|_| AccountDeltas::default()).collect(),
        }
    }

    /// Begins a transaction that adds `delta` to an account, or reads it; `None` if the account is
    /// not in the sample.
    #[inline]
    pub(super) fn begin(&self, account: u32, delta: i32) -> Option<CertainDeltas> {
        let item = u64::from(account).checked_sub(1)?;
        let place = self.sample.place(item)?;
        let (mut up, mut down) = (0, 0);
        if let Some(deltas) = self.accounts.get(place) {
            (up, down) = deltas.committed.load();
            deltas.begun.add(delta);
        }
        let own = delta.unsigned_abs();
        if delta > 0 {
            up = up.wrapping_add(own);
        } else {
            down = down.wrapping_add(own);
        }
        Some(CertainDeltas {
            place,
            delta,
            up,
            down,
        })
    }

    /// Whether the account may have had this balance in the transaction, which has ended.
    #[inline]
    pub(super) fn admits(&self, certain: CertainDeltas, balance: i32) -> bool {
        let begun = self.accounts.get(certain.place);
        let (up, down) = begun.map_or((certain.up, certain.down), |deltas| deltas.begun.load());
        let lowest = certain.up.wrapping_sub(down);
        let uncertain_up = u64::from(up.wrapping_sub(certain.up));
        let uncertain_down = u64::from(down.wrapping_sub(certain.down));
        let above_lowest = balance.cast_unsigned().wrapping_sub(lowest);
        u64::from(above_lowest) <= uncertain_up + uncertain_down
    }

    /// The transaction was committed.
    #[inline]
    pub(super) fn commit(&self, certain: CertainDeltas) {
        if let Some(deltas) = self.accounts.get(certain.place) {
            deltas.committed.add(certain.delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: u32 = 5;

    fn bounds() -> BalanceBounds {
        BalanceBounds::new(VerifyLevel::Full, 10, true)
    }

    /// The balances from -20 to 20 that are admitted.
    fn admitted(bounds: &BalanceBounds, certain: CertainDeltas) -> Vec<i32> {
        let balances = -20..=20;
        balances
            .filter(|balance| bounds.admits(certain, *balance))
            .collect()
    }

    #[test]
    fn a_transaction_that_meets_no_other_reads_one_balance() {
        let bounds = bounds();
        for (delta, balance) in [(7, 7), (-10, -3), (0, -3), (5, 2)] {
            let certain = bounds.begin(ACCOUNT, delta).unwrap();
            assert_eq!(admitted(&bounds, certain), [balance], "{delta}");
            bounds.commit(certain);
        }
    }

    #[test]
    fn deltas_under_way_may_be_included_or_not() {
        let bounds = bounds();
        let first = bounds.begin(ACCOUNT, 3).unwrap();
        let read = bounds.begin(ACCOUNT, 0).unwrap();
        let late = bounds.begin(ACCOUNT, -2).unwrap();
        let expected: Vec<i32> = (-2..=3).collect();
        assert_eq!(admitted(&bounds, read), expected);
        bounds.commit(first);
        bounds.commit(late);
        assert_eq!(admitted(&bounds, read), expected, "it began before");
        let after = bounds.begin(ACCOUNT, 0).unwrap();
        assert_eq!(admitted(&bounds, after), [1]);
    }

    #[test]
    fn sums_wrap_around() {
        let bounds = bounds();
        for delta in [i32::MIN, i32::MIN, i32::MAX, i32::MAX, 6] {
            let certain = bounds.begin(ACCOUNT, delta).unwrap();
            bounds.commit(certain);
        }
        // 2 x (2^31 - 1) - 2 x 2^31 + 6.
        let certain = bounds.begin(ACCOUNT, 0).unwrap();
        assert_eq!(admitted(&bounds, certain), [4]);
    }

    #[test]
    fn where_nothing_is_written_each_balance_is_0_and_a_sample_has_every_tenth_account() {
        let bounds = BalanceBounds::new(VerifyLevel::Sample, 30, false);
        let tracked: Vec<u32> = (0..=31)
            .filter(|account| bounds.begin(*account, 0).is_some())
            .collect();
        assert_eq!(tracked, [1, 11, 21]);
        let certain = bounds.begin(11, 0).unwrap();
        assert_eq!(admitted(&bounds, certain), [0]);
    }
}
