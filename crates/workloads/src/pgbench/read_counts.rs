//! Counts what the scripts found, and the faults among it. A worker goes on after a fault; the
//! trial is then invalid.

use super::bounds::{BalanceBounds, CertainDeltas};
use super::scale::BalanceTable;
use super::transaction::TransactionOutcome;
use crate::{WorkerFindings, finding};
use trueput_record::measurement::Check;

/// The name of the number of balances read, in the findings.
const READ: &str = "balances read";
/// The name of the number of balances that were compared with their bounds.
const COMPARED: &str = "balances compared";

/// A fault that a script met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptFault {
    MissingBranch,
    MissingTeller,
    MissingAccount,
    /// A transaction did not read its own update.
    OwnUpdate,
    /// A balance that the account cannot have had.
    Impossible,
}

impl ScriptFault {
    const ALL: [Self; 5] = [
        Self::MissingBranch,
        Self::MissingTeller,
        Self::MissingAccount,
        Self::OwnUpdate,
        Self::Impossible,
    ];

    fn missing(table: BalanceTable) -> Self {
        match table {
            BalanceTable::Branches => Self::MissingBranch,
            BalanceTable::Tellers => Self::MissingTeller,
            BalanceTable::Accounts => Self::MissingAccount,
        }
    }

    /// Describes the fault after its count; the number of the first row follows.
    fn description(self) -> &'static str {
        match self {
            Self::MissingBranch => "branches not found, first branch",
            Self::MissingTeller => "tellers not found, first teller",
            Self::MissingAccount => "accounts not found, first account",
            Self::OwnUpdate => "balances without the transaction's own update, first account",
            Self::Impossible => "balances that no set of commits gives, first account",
        }
    }
}

/// The counts of one worker, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReadCounts {
    read: u64,
    compared: u64,
    /// For each fault, its count and the number of the first row that had it.
    faults: [(u64, u64); ScriptFault::ALL.len()],
}

impl ReadCounts {
    /// Counts what a transaction found, which was committed. `certain` is of its account, if that
    /// is in the sample of `bounds`.
    #[inline]
    pub(super) fn count(
        &mut self,
        outcome: &TransactionOutcome,
        ids: [u32; BalanceTable::ALL.len()],
        bounds: Option<(&BalanceBounds, CertainDeltas)>,
    ) {
        for table in BalanceTable::ALL {
            if outcome.is_missing[table as usize] {
                self.add(ScriptFault::missing(table), ids[table as usize]);
            }
        }
        let Some(balance) = outcome.balance else {
            return;
        };
        self.read += 1;
        let account = ids[BalanceTable::Accounts as usize];
        if outcome.updated.is_some_and(|updated| updated != balance) {
            self.add(ScriptFault::OwnUpdate, account);
        }
        if let Some((bounds, certain)) = bounds {
            self.compared += 1;
            if !bounds.admits(certain, balance) {
                self.add(ScriptFault::Impossible, account);
            }
        }
    }

    #[cold]
    fn add(&mut self, fault: ScriptFault, id: u32) {
        let (count, first) = &mut self.faults[fault as usize];
        if *count == 0 {
            *first = id.into();
        }
        *count += 1;
    }

    /// Writes the counts into findings, which are numbers by name.
    pub(super) fn write(&self, findings: &mut WorkerFindings) {
        findings.insert(READ.to_owned(), self.read);
        findings.insert(COMPARED.to_owned(), self.compared);
        for (fault, (count, first)) in ScriptFault::ALL.into_iter().zip(self.faults) {
            if count > 0 {
                findings.insert(count_name(fault), count);
                findings.insert(first_name(fault), first);
            }
        }
    }

    /// The sum of the counts in the findings of all workers.
    pub(super) fn sum(findings: &[WorkerFindings]) -> Self {
        let mut all = Self::default();
        for findings in findings {
            all.read += finding(findings, READ);
            all.compared += finding(findings, COMPARED);
            for (fault, (count, first)) in ScriptFault::ALL.into_iter().zip(&mut all.faults) {
                let found = finding(findings, &count_name(fault));
                if *count == 0 && found > 0 {
                    *first = finding(findings, &first_name(fault));
                }
                *count += found;
            }
        }
        all
    }

    /// The check that no script met a fault; `None` if none read a balance or met a fault.
    pub(super) fn check(&self) -> Option<Check> {
        let Self { read, compared, .. } = *self;
        let faults = ScriptFault::ALL.into_iter().zip(self.faults);
        let met: Vec<_> = faults
            .filter(|(_, (count, _))| *count > 0)
            .map(|(fault, (count, first))| format!("{count} {} {first}", fault.description()))
            .collect();
        if !met.is_empty() {
            let detail = format!("{}; {read} balances read", met.join("; "));
            return Some(Check::new("reads", false, detail));
        }
        let compared = match compared {
            0 => Check::STALE_UNKNOWN.to_owned(),
            _ => format!("{compared} of them within what was committed and begun"),
        };
        let detail = format!("{read} balances read, {compared}");
        (read > 0).then(|| Check::new("reads", true, detail))
    }
}

fn count_name(fault: ScriptFault) -> String {
    format!("fault {fault:?}")
}

fn first_name(fault: ScriptFault) -> String {
    format!("fault {fault:?}: first")
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::VerifyLevel;

    const IDS: [u32; 3] = [1, 2, 3];

    fn outcome(balance: i32) -> TransactionOutcome {
        TransactionOutcome {
            balance: Some(balance),
            ..TransactionOutcome::default()
        }
    }

    #[test]
    fn faults_pass_through_findings_and_fail_the_check() {
        let bounds = BalanceBounds::new(VerifyLevel::Full, 10, true);
        let certain = bounds.begin(3, 0).unwrap();
        let mut counts = ReadCounts::default();
        assert_eq!(counts.check(), None);
        counts.count(&outcome(0), IDS, Some((&bounds, certain)));
        assert!(counts.check().unwrap().passed);
        counts.count(&outcome(9), IDS, Some((&bounds, certain)));
        let updated = TransactionOutcome {
            updated: Some(5),
            is_missing: [false, true, false],
            ..outcome(4)
        };
        counts.count(&updated, IDS, None);
        let mut findings = WorkerFindings::new();
        counts.write(&mut findings);
        let all = ReadCounts::sum(std::slice::from_ref(&findings));
        assert_eq!(all, counts);
        let check = all.check().unwrap();
        assert!(!check.passed);
        assert_eq!(
            check.detail,
            "1 tellers not found, first teller 2; 1 balances without the transaction's own \
             update, first account 3; 1 balances that no set of commits gives, first account 3; 3 \
             balances read"
        );
    }

    #[test]
    fn balances_of_processes_are_not_compared_and_the_check_says_so() {
        let mut counts = ReadCounts::default();
        counts.count(&outcome(9), IDS, None);
        let check = counts.check().unwrap();
        assert!(check.passed && check.detail.contains(Check::STALE_UNKNOWN));
    }
}
