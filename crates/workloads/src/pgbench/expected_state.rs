//! The content that the tables must have: balances are sums of deltas, and history has a row for
//! each. Nothing here comes from the tables with balances.

use super::bank::HistoryRow;
use super::kinds::Script;
use super::scale::{BalanceTable, Scale};
use super::stream::Transaction;
use crate::keyed::write_tracker::RecordSample;
use trueput_record::VerifyLevel;
use trueput_record::random::mix;

/// Rows of history as a multiset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HistoryDigest {
    /// Rows.
    pub(super) rows: u64,
    /// The sum of their deltas.
    pub(super) sum: i64,
    /// The sum of their hashes, modulo 2^64: two multisets of rows hardly share it.
    pub(super) hash: u64,
}

/// The hash of a row of history.
pub(super) fn row_hash(row: &HistoryRow) -> u64 {
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let rows = mix(pair(row.teller, row.account));
    mix(rows ^ pair(row.branch, row.delta.cast_unsigned()))
}

impl HistoryDigest {
    fn add(&mut self, row: &HistoryRow) {
        self.rows += 1;
        self.sum += i64::from(row.delta);
        self.hash = self.hash.wrapping_add(row_hash(row));
    }
}

/// The content of the tables after some transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpectedState {
    /// The accounts whose balances are kept.
    sample: RecordSample,
    /// By [`BalanceTable`], the balance of each row, or of each account in the sample. The columns
    /// have 32 bits; only a sum in between may wrap around.
    balances: [Vec<i32>; BalanceTable::ALL.len()],
    /// By [`BalanceTable`], the sum of all balances.
    sums: [i64; BalanceTable::ALL.len()],
    /// History.
    pub(super) history: HistoryDigest,
}

impl ExpectedState {
    /// The content after the load.
    pub(super) fn loaded(scale: Scale, level: VerifyLevel) -> Self {
        let sample = RecordSample::new(level, scale.rows(BalanceTable::Accounts).into());
        let balances = |table| match table {
            BalanceTable::Accounts => vec![0; sample.len()],
            _ => vec![0; scale.rows(table) as usize],
        };
        Self {
            sample,
            balances: BalanceTable::ALL.map(balances),
            sums: [0; BalanceTable::ALL.len()],
            history: HistoryDigest::default(),
        }
    }

    /// The row that a transaction inserts into history; `None` if it writes nothing.
    pub(super) fn history_row(transaction: &Transaction) -> Option<HistoryRow> {
        let Transaction {
            script,
            account,
            branch,
            teller,
            delta,
        } = *transaction;
        script.writes().then_some(HistoryRow {
            teller,
            branch,
            account,
            delta,
        })
    }

    /// Adds what a committed transaction has done.
    pub(super) fn add(&mut self, transaction: &Transaction) {
        let Some(row) = Self::history_row(transaction) else {
            return;
        };
        self.history.add(&row);
        self.add_to(BalanceTable::Accounts, row.account, row.delta);
        if transaction.script == Script::TpcbLike {
            self.add_to(BalanceTable::Tellers, row.teller, row.delta);
            self.add_to(BalanceTable::Branches, row.branch, row.delta);
        }
    }

    fn add_to(&mut self, table: BalanceTable, id: u32, delta: i32) {
        self.sums[table as usize] += i64::from(delta);
        let place = self.place(table, id);
        let balances = &mut self.balances[table as usize];
        if let Some(balance) = place.and_then(|place| balances.get_mut(place)) {
            *balance = balance.wrapping_add(delta);
        }
    }

    fn place(&self, table: BalanceTable, id: u32) -> Option<usize> {
        let item = id.checked_sub(1)?;
        match table {
            BalanceTable::Accounts => self.sample.place(item.into()),
            _ => Some(item as usize),
        }
    }

    /// The balance of a row; `None` for an account outside of the sample.
    pub(super) fn balance(&self, table: BalanceTable, id: u32) -> Option<i32> {
        let balances = &self.balances[table as usize];
        balances.get(self.place(table, id)?).copied()
    }

    /// The sum of all balances of a table.
    pub(super) fn sum(&self, table: BalanceTable) -> i64 {
        self.sums[table as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: Scale = Scale {
        branches: 2,
        branch_accounts: 10,
    };

    fn transaction(script: Script, account: u32, delta: i32) -> Transaction {
        Transaction {
            script,
            account,
            branch: 2,
            teller: 13,
            delta,
        }
    }

    #[test]
    fn each_script_changes_the_balances_and_the_history_that_are_its_own() {
        let mut state = ExpectedState::loaded(SCALE, VerifyLevel::Full);
        for (script, account, delta) in [
            (Script::TpcbLike, 20, 100),
            (Script::SimpleUpdate, 20, -30),
            (Script::SelectOnly, 20, 0),
        ] {
            state.add(&transaction(script, account, delta));
        }
        let balances = [
            (BalanceTable::Branches, 2, 100),
            (BalanceTable::Branches, 1, 0),
            (BalanceTable::Tellers, 13, 100),
            (BalanceTable::Accounts, 20, 70),
            (BalanceTable::Accounts, 1, 0),
        ];
        for (table, id, balance) in balances {
            assert_eq!(state.balance(table, id), Some(balance), "{table:?} {id}");
        }
        assert_eq!(
            BalanceTable::ALL.map(|table| state.sum(table)),
            [100, 100, 70]
        );
        assert_eq!((state.history.rows, state.history.sum), (2, 70));
        assert_eq!(state.balance(BalanceTable::Accounts, 21), None);
    }

    #[test]
    fn a_sample_keeps_every_tenth_account_and_the_sum_of_all() {
        let mut state = ExpectedState::loaded(SCALE, VerifyLevel::Sample);
        for account in 1..=20 {
            state.add(&transaction(Script::SimpleUpdate, account, 1));
        }
        let accounts = BalanceTable::Accounts;
        let kept: Vec<u32> = (1..=20)
            .filter(|account| state.balance(accounts, *account) == Some(1))
            .collect();
        assert_eq!(kept, [1, 11]);
        assert_eq!(state.sum(accounts), 20);
    }

    #[test]
    fn histories_are_equal_in_any_order_and_differ_by_any_column() {
        let row = HistoryRow {
            teller: 1,
            branch: 2,
            account: 3,
            delta: 4,
        };
        let others = [
            HistoryRow { teller: 2, ..row },
            HistoryRow { branch: 1, ..row },
            HistoryRow { account: 4, ..row },
            HistoryRow { delta: -4, ..row },
            HistoryRow {
                teller: 3,
                account: 1,
                ..row
            },
        ];
        let digest = |rows: &[HistoryRow]| {
            let mut digest = HistoryDigest::default();
            rows.iter().for_each(|row| digest.add(row));
            digest
        };
        for other in others {
            assert_ne!(digest(&[row]), digest(&[other]), "{other:?}");
            assert_eq!(digest(&[row, other]), digest(&[other, row]));
            assert_ne!(digest(&[row, row]), digest(&[row, other]));
        }
    }
}
