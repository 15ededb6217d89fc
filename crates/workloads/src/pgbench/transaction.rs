//! The built-in scripts, written once over [`Bank`], in the order of pgbench's statements.

use super::bank::{Bank, HistoryOrigin, HistoryRow, UpdateOutcome};
use super::kinds::Script;
use super::scale::BalanceTable;
use super::stream::Transaction;
use crate::keyed::transaction::in_transaction;
use trueput_engine::{Mode, Result};

/// The findings of a transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TransactionOutcome {
    /// The account's balance as it was read; `None` if the account is not there.
    pub(super) balance: Option<i32>,
    /// The balance that the transaction's own update gave the account, if the store knows it.
    pub(super) updated: Option<i32>,
    /// Whether the row of each table, in the order of [`BalanceTable`], was looked for in vain.
    pub(super) is_missing: [bool; BalanceTable::ALL.len()],
}

/// Attempts a transaction. `origin` is that of its row of history.
///
/// # Errors
/// Errors of the engine. After a conflict it is to be attempted again.
pub(super) fn attempt(
    bank: &mut dyn Bank,
    transaction: &Transaction,
    origin: HistoryOrigin,
) -> Result<TransactionOutcome> {
    if transaction.script.writes() {
        return in_transaction(bank, Mode::Write, |bank| update(bank, transaction, origin));
    }
    let balance = bank.point_balance(transaction.account)?;
    let mut outcome = TransactionOutcome {
        balance,
        ..TransactionOutcome::default()
    };
    outcome.is_missing[BalanceTable::Accounts as usize] = balance.is_none();
    Ok(outcome)
}

/// `tpcb-like` and `simple-update`, without begin and commit.
fn update(
    bank: &mut dyn Bank,
    transaction: &Transaction,
    origin: HistoryOrigin,
) -> Result<TransactionOutcome> {
    let Transaction {
        script,
        account,
        branch,
        teller,
        delta,
    } = *transaction;
    let mut outcome = TransactionOutcome::default();
    outcome.updated = outcome.add(bank, BalanceTable::Accounts, account, delta)?;
    outcome.balance = bank.balance(account)?;
    outcome.is_missing[BalanceTable::Accounts as usize] |= outcome.balance.is_none();
    if script == Script::TpcbLike {
        outcome.add(bank, BalanceTable::Tellers, teller, delta)?;
        outcome.add(bank, BalanceTable::Branches, branch, delta)?;
    }
    let row = HistoryRow {
        teller,
        branch,
        account,
        delta,
    };
    bank.insert_history(&row, origin)?;
    Ok(outcome)
}

impl TransactionOutcome {
    /// Adds to a balance and notes a row that is missing; returns the new balance if it is known.
    fn add(
        &mut self,
        bank: &mut dyn Bank,
        table: BalanceTable,
        id: u32,
        delta: i32,
    ) -> Result<Option<i32>> {
        match bank.add(table, id, delta)? {
            UpdateOutcome::Updated { balance } => Ok(balance),
            UpdateOutcome::Missing => {
                self.is_missing[table as usize] = true;
                Ok(None)
            }
        }
    }
}
