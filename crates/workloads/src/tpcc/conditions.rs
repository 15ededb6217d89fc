//! The consistency conditions (clause 3.3.2): their statements, and how often each held.

use trueput_record::measurement::Check;

/// The number of consistency conditions.
const CONDITIONS: usize = 12;

/// The statement of each condition.
const STATEMENTS: [&str; CONDITIONS] = [
    "W_YTD is the sum of D_YTD",
    "D_NEXT_O_ID - 1 is the largest O_ID and the largest NO_O_ID",
    "a district's NO_O_ID have no gap",
    "the sum of O_OL_CNT is the number of order-lines",
    "an order has no carrier exactly where it is a new order",
    "O_OL_CNT is the number of the order's lines",
    "a line has no delivery date exactly where its order has no carrier",
    "W_YTD is the sum of H_AMOUNT",
    "D_YTD is the sum of H_AMOUNT",
    "C_BALANCE is what was delivered less what was paid",
    "orders without new-orders are those that were loaded delivered",
    "C_BALANCE and C_YTD_PAYMENT are what was delivered",
];

/// When the conditions are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckPhase {
    /// Right after the load: condition 11 holds too.
    Loaded,
    /// After a run.
    Run,
}

/// For each condition, the number of checks and of violations.
#[derive(Debug, Default)]
pub(super) struct ConditionCounts([ConditionCount; CONDITIONS]);

#[derive(Debug, Default)]
struct ConditionCount {
    looked_at: u64,
    broken: u64,
    first: Option<String>,
}

impl ConditionCounts {
    /// Judges a condition, from 1, on one row, district or warehouse.
    pub(super) fn check(
        &mut self,
        condition: usize,
        holds: bool,
        describe: impl FnOnce() -> String,
    ) {
        let verdict = &mut self.0[condition - 1];
        verdict.looked_at += 1;
        if !holds {
            verdict.broken += 1;
            verdict.first.get_or_insert_with(describe);
        }
    }

    /// Adds the counts of another part of the inspection.
    pub(super) fn merge(&mut self, other: Self) {
        for (all, part) in self.0.iter_mut().zip(other.0) {
            all.looked_at += part.looked_at;
            all.broken += part.broken;
            all.first = all.first.take().or(part.first);
        }
    }

    /// A check for each condition that was looked at.
    pub(super) fn checks(&self) -> Vec<Check> {
        let numbered = (1..).zip(self.0.iter().zip(STATEMENTS));
        numbered
            .filter(|(_, (verdict, _))| verdict.looked_at > 0)
            .map(|(number, (verdict, statement))| {
                let name =
                    format!("consistency condition {number} (clause 3.3.2.{number}): {statement}");
                let ConditionCount {
                    looked_at,
                    broken,
                    first,
                } = verdict;
                let detail = match first {
                    None => format!("{looked_at} looked at"),
                    Some(first) => format!("{broken} of {looked_at}: {first}"),
                };
                Check::new(&name, *broken == 0, detail)
            })
            .collect()
    }
}
