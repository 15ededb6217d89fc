//! The tables with balances, and how many rows they have.

use std::ops::RangeInclusive;

/// Tellers of a branch.
const TELLERS: u32 = 10;

/// A table whose rows have a balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum BalanceTable {
    /// `pgbench_branches`.
    Branches,
    /// `pgbench_tellers`.
    Tellers,
    /// `pgbench_accounts`.
    Accounts,
}

impl BalanceTable {
    /// Every one.
    pub(super) const ALL: [Self; 3] = [Self::Branches, Self::Tellers, Self::Accounts];

    /// Its rows, as texts name them.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Branches => "branches",
            Self::Tellers => "tellers",
            Self::Accounts => "accounts",
        }
    }

    /// One of its rows, as texts name it.
    pub(super) fn row_name(self) -> &'static str {
        match self {
            Self::Branches => "branch",
            Self::Tellers => "teller",
            Self::Accounts => "account",
        }
    }
}

/// The number of rows. They are numbered from 1, those of a branch together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scale {
    /// Branches: pgbench's scale factor.
    pub(super) branches: u32,
    /// Accounts of a branch: 100,000 in pgbench.
    pub(super) branch_accounts: u32,
}

impl Scale {
    /// The rows of a table that belong to one branch.
    fn rows_of_branch(self, table: BalanceTable) -> u32 {
        match table {
            BalanceTable::Branches => 1,
            BalanceTable::Tellers => TELLERS,
            BalanceTable::Accounts => self.branch_accounts,
        }
    }

    /// The rows of a table.
    pub(super) fn rows(self, table: BalanceTable) -> u32 {
        self.branches * self.rows_of_branch(table)
    }

    /// The rows of all three tables.
    pub(super) fn all_rows(self) -> u64 {
        let rows = BalanceTable::ALL.map(|table| u64::from(self.rows(table)));
        rows.iter().sum()
    }

    /// The numbers of the rows of a table that belong to a branch.
    pub(super) fn ids(self, table: BalanceTable, branch: u32) -> RangeInclusive<u32> {
        let rows = self.rows_of_branch(table);
        (branch - 1) * rows + 1..=branch * rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_has_the_rows_of_pgbench_and_those_of_a_branch_are_together() {
        let scale = Scale {
            branches: 3,
            branch_accounts: 100_000,
        };
        let rows = BalanceTable::ALL.map(|table| scale.rows(table));
        assert_eq!(rows, [3, 30, 300_000]);
        assert_eq!(scale.all_rows(), 300_033);
        for table in BalanceTable::ALL {
            let mut next = 1;
            for branch in 1..=3 {
                let ids = scale.ids(table, branch);
                assert_eq!(*ids.start(), next);
                next = ids.end() + 1;
            }
            assert_eq!(next - 1, scale.rows(table));
        }
    }
}
