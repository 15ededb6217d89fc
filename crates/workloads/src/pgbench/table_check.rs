//! Passes over the tables with balances: every row in the order of its number, each balance
//! compared with the one expected.

use super::bank::{BalanceRow, Bank, IdRange};
use super::expected_state::ExpectedState;
use super::scale::{BalanceTable, Scale};
use super::settings::Settings;
use super::store;
use crate::keyed::transaction::{in_transaction, retry_unmetered};
use crate::threads::{RemainingPieces, share_pieces};
use crate::{JobDatabase, Result};
use trueput_engine::{Error as EngineError, Mode};
use trueput_record::measurement::Check;

/// The findings in one table.
#[derive(Debug, Default)]
pub(super) struct TableFindings {
    /// Rows.
    pub(super) rows: u64,
    /// The sum of their balances.
    pub(super) sum: i64,
    /// Balances that were compared by themselves.
    compared: u64,
    /// Rows that are not as they should be.
    wrong: u64,
    /// The first of them.
    first: Option<String>,
}

impl TableFindings {
    fn note(&mut self, count: u64, describe: impl FnOnce() -> String) {
        self.wrong += count;
        self.first.get_or_insert_with(describe);
    }

    fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.sum += other.sum;
        self.compared += other.compared;
        self.wrong += other.wrong;
        self.first = self.first.take().or(other.first);
    }

    /// The check of each row by itself.
    pub(super) fn check(&self, table: BalanceTable) -> Check {
        let name = format!("each of the {}", table.name());
        match &self.first {
            None => {
                let detail = format!("{} balances compared", self.compared);
                Check::new(&name, true, detail)
            }
            Some(first) => Check::new(&name, false, format!("{} wrong; {first}", self.wrong)),
        }
    }
}

/// The findings in the three tables, in the order of [`BalanceTable`].
pub(super) type BalanceFindings = [TableFindings; BalanceTable::ALL.len()];

/// Checks the three tables, by several threads.
///
/// # Errors
/// Errors of the engine.
pub(super) fn check_tables(
    settings: &Settings,
    target: &JobDatabase<'_>,
    expected: &ExpectedState,
) -> Result<BalanceFindings> {
    let branches = settings.scale.branches;
    let threads = target.threads.clamp(1, branches);
    let check = |pieces: RemainingPieces<'_>| check_branches(settings, target, expected, pieces);
    share_pieces(threads, branches as usize, check, |all, found| {
        for (all, found) in all.iter_mut().zip(found) {
            all.merge(found);
        }
    })
}

/// Checks the rows of the branches that are left.
fn check_branches(
    settings: &Settings,
    target: &JobDatabase<'_>,
    expected: &ExpectedState,
    pieces: RemainingPieces<'_>,
) -> Result<BalanceFindings> {
    let scale = settings.scale;
    let mut session = target.open_session()?;
    let mut bank = store::bank(&mut *session, settings.store)?;
    let mut all = BalanceFindings::default();
    for piece in pieces {
        let branch = piece as u32 + 1;
        for (table, all) in BalanceTable::ALL.into_iter().zip(&mut all) {
            let rows = BranchRows {
                table,
                branch,
                scale,
            };
            all.merge(rows.check(&mut *bank, expected)?);
        }
        (target.progress)(f64::from(branch) / f64::from(scale.branches));
    }
    Ok(all)
}

/// The rows of a table that belong to one branch. The first branch has those below its own, too,
/// and the last one those above, so that no row is left out.
#[derive(Debug, Clone, Copy)]
struct BranchRows {
    table: BalanceTable,
    branch: u32,
    scale: Scale,
}

impl BranchRows {
    fn check(&self, bank: &mut dyn Bank, expected: &ExpectedState) -> Result<TableFindings> {
        let Self {
            table,
            branch,
            scale,
        } = *self;
        let own = scale.ids(table, branch);
        let ids = IdRange {
            first: (branch > 1).then_some(*own.start()),
            last: (branch < scale.branches).then_some(*own.end()),
        };
        let doing = || format!("checking the {}", table.name());
        retry_unmetered(doing, || {
            let mut found = TableFindings::default();
            let mut next = *own.start();
            in_transaction(bank, Mode::Read, |bank| {
                bank.each_balance(table, ids, &mut |row| {
                    self.check_row(&mut found, &mut next, &row, expected);
                })
            })?;
            self.check_missing(&mut found, next, own.end() + 1);
            Ok::<_, EngineError>(found)
        })
    }

    /// Checks one row; `next` is its number if none is missing.
    fn check_row(
        &self,
        found: &mut TableFindings,
        next: &mut u32,
        row: &BalanceRow,
        expected: &ExpectedState,
    ) {
        let name = self.table.row_name();
        let BalanceRow {
            id,
            branch,
            balance,
            is_blank,
        } = *row;
        found.rows += 1;
        found.sum += i64::from(balance);
        let own = self.scale.ids(self.table, self.branch);
        if !own.contains(&id) {
            found.note(1, || format!("{name} {id} should not be there"));
            return;
        }
        if id < *next {
            found.note(1, || format!("{name} {id} comes twice or out of order"));
            return;
        }
        self.check_missing(found, *next, id);
        *next = id + 1;
        if branch != self.branch {
            found.note(1, || format!("{name} {id} is of branch {branch}"));
        }
        if !is_blank {
            found.note(1, || format!("the filler of {name} {id} is not blank"));
        }
        let Some(expected) = expected.balance(self.table, id) else {
            return;
        };
        found.compared += 1;
        if balance != expected {
            found.note(1, || {
                format!("{name} {id} has {balance}, and its deltas add up to {expected}")
            });
        }
    }

    /// Notes the rows from one up to another, which are not there.
    fn check_missing(&self, found: &mut TableFindings, from: u32, to: u32) {
        if from < to {
            let name = self.table.row_name();
            let count = u64::from(to - from);
            found.note(count, || format!("{name} {from} is not there"));
        }
    }
}
