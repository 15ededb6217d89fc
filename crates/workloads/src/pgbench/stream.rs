//! The transactions of a worker, in order: a function of only the settings, the seed, the
//! generation and the worker, so that verification can draw them again.

use super::kinds::Script;
use super::scale::{BalanceTable, Scale};
use super::script_mix::{SCRIPTS, ScriptMix};
use super::settings::Settings;
use crate::generate::random::Random;
use crate::keyed::draws::OperationMix;
use crate::keyed::kinds::KindCatalog;
use trueput_record::random::mix;

/// The largest delta; the smallest is its negative (pgbench: `random(-5000, 5000)`).
pub(super) const MAX_DELTA: i32 = 5_000;

/// A transaction that was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transaction {
    pub(super) script: Script,
    pub(super) account: u32,
    /// The branch in history, and in `tpcb-like` the one that gets the delta. It is drawn by
    /// itself: the account and the teller may be another branch's. 0 if nothing is written.
    pub(super) branch: u32,
    /// The teller in history, and in `tpcb-like` the one that gets the delta; 0 if nothing is
    /// written.
    pub(super) teller: u32,
    /// The amount that is added to balances; 0 if nothing is written.
    pub(super) delta: i32,
}

/// The transactions of one worker.
pub(super) struct TransactionStream {
    mix: ScriptMix,
    scripts: OperationMix<SCRIPTS>,
    scale: Scale,
    random: Random,
}

impl TransactionStream {
    /// The transactions of a worker, from the first on.
    pub(super) fn new(settings: &Settings, seed: u64, generation: u32, worker: u32) -> Self {
        // Trials that share a load do not repeat each other.
        let seed = mix(seed ^ u64::from(generation).rotate_left(32));
        Self {
            mix: settings.mix,
            scripts: OperationMix::new(&settings.mix.proportions()),
            scale: settings.scale,
            random: Random::for_worker(seed, worker, "pgbench"),
        }
    }

    /// Draws the next transaction. The stream has no end.
    #[inline]
    pub(super) fn next_transaction(&mut self) -> Transaction {
        let script = Script::ALL[self.scripts.next(&mut self.random)];
        debug_assert!(self.mix.has(script), "a script without a weight was drawn");
        let account = self.id(BalanceTable::Accounts);
        if !script.writes() {
            return Transaction {
                script,
                account,
                branch: 0,
                teller: 0,
                delta: 0,
            };
        }
        let deltas = u64::from(2 * MAX_DELTA.unsigned_abs() + 1);
        Transaction {
            script,
            account,
            branch: self.id(BalanceTable::Branches),
            teller: self.id(BalanceTable::Tellers),
            delta: self.random.below(deltas) as i32 - MAX_DELTA,
        }
    }

    /// The number of a row, each as likely.
    #[inline]
    fn id(&mut self, table: BalanceTable) -> u32 {
        let rows = u64::from(self.scale.rows(table));
        self.random.below(rows) as u32 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::store::TableStore;

    const SCALE: Scale = Scale {
        branches: 2,
        branch_accounts: 100,
    };

    fn stream(script: &str, generation: u32, worker: u32) -> TransactionStream {
        let settings = Settings {
            scale: SCALE,
            mix: ScriptMix::parse(script).unwrap(),
            store: TableStore::Auto,
            retry_pause_us: 0,
            transactions: None,
            expected_transactions: 0,
            warms_up: false,
        };
        TransactionStream::new(&settings, 7, generation, worker)
    }

    fn drawn(script: &str, generation: u32, worker: u32, count: usize) -> Vec<Transaction> {
        let mut stream = stream(script, generation, worker);
        (0..count).map(|_| stream.next_transaction()).collect()
    }

    #[test]
    fn a_stream_is_a_function_of_its_seed_generation_and_worker() {
        let first = drawn("tpcb-like", 0, 0, 20);
        assert_eq!(first, drawn("tpcb-like", 0, 0, 20));
        assert_ne!(first, drawn("tpcb-like", 0, 1, 20));
        assert_ne!(first, drawn("tpcb-like", 1, 0, 20));
    }

    #[test]
    fn rows_and_deltas_are_uniform_over_their_whole_ranges() {
        const DRAWS: u32 = 400_000;
        let all = drawn("tpcb-like", 0, 0, DRAWS as usize);
        type Number = fn(&Transaction) -> i64;
        let ranges: [(Number, i64, i64); 4] = [
            (|it| it.account.into(), 1, 200),
            (|it| it.branch.into(), 1, 2),
            (|it| it.teller.into(), 1, 20),
            (|it| it.delta.into(), -5_000, 5_000),
        ];
        for (number, least, most) in ranges {
            let numbers: Vec<i64> = all.iter().map(number).collect();
            assert!(numbers.iter().all(|number| (least..=most).contains(number)));
            let mean = numbers.iter().sum::<i64>() as f64 / f64::from(DRAWS);
            let (middle, span) = ((least + most) as f64 / 2.0, (most - least + 1) as f64);
            // The standard deviation of a uniform number is its span over the root of 12.
            let deviation = span / f64::from(12 * DRAWS).sqrt();
            let off = (mean - middle).abs();
            assert!(off < 4.0 * deviation, "{least} to {most}: {mean}");
            let ends = [least, most].map(|end| numbers.iter().filter(|it| **it == end).count());
            assert!(ends.iter().all(|count| *count > 0), "{ends:?}");
        }
    }

    #[test]
    fn scripts_come_by_their_weights_and_a_select_draws_only_its_account() {
        let all = drawn("tpcb-like@1 select-only@3", 0, 0, 40_000);
        let selects = all.iter().filter(|it| !it.script.writes());
        assert!(
            selects
                .clone()
                .all(|it| (it.branch, it.teller, it.delta) == (0, 0, 0))
        );
        let share = selects.count() as f64 / 40_000.0;
        assert!((share - 0.75).abs() < 0.01, "{share}");
    }
}
