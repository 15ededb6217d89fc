//! Compares the tables after a trial with the transactions of its workers, which are drawn again.

use super::bank::HistoryRow;
use super::expected_state::{ExpectedState, HistoryDigest, row_hash};
use super::kinds::Script;
use super::read_counts::ReadCounts;
use super::scale::BalanceTable;
use super::settings::Settings;
use super::store;
use super::stream::{Transaction, TransactionStream};
use super::table_check::{BalanceFindings, check_tables};
use super::worker::{DONE, WORKER};
use crate::keyed::transaction::{in_transaction, retry_unmetered};
use crate::{ExecutionSummary, JobDatabase, JobResults, Result, finding};
use trueput_engine::{Error as EngineError, Mode};
use trueput_record::measurement::Check;
use trueput_record::{Survival, Value, VerifyLevel};

/// The results, and the checks where verification is on.
///
/// # Errors
/// Errors of the engine.
pub(super) fn verify(
    settings: &Settings,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults> {
    let mut conclusion = JobResults::default();
    let store = settings.store.resolve(&mut *target.open_session()?);
    let results: [(&str, Value); 4] = [
        ("scale", u64::from(settings.scale.branches).into()),
        (
            "accounts of a branch",
            u64::from(settings.scale.branch_accounts).into(),
        ),
        ("store", store.word().into()),
        ("transactions", ended.counts.iter().sum::<u64>().into()),
    ];
    let results = results.map(|(name, value)| (name.to_owned(), value));
    conclusion.results.extend(results);
    if ended.verify == VerifyLevel::Off {
        return Ok(conclusion);
    }
    // Where a crash may have taken the last commits, balances must agree with the rows of history
    // that are left, and these must be among those that were acknowledged.
    let is_prefix = ended.crashed == Some(Survival::ConsistentPrefix);
    let drawn = draw_again(settings, target, ended, is_prefix);
    let stored = read_history(settings, target, ended.verify, is_prefix)?;
    if ended.crashed.is_some() {
        let rows = |content: &TableContent| content.state.history.rows;
        let missing = rows(&drawn).saturating_sub(rows(&stored));
        let name = "missing_acknowledged".to_owned();
        conclusion.results.insert(name, missing.into());
    }
    let expected = if is_prefix { &stored } else { &drawn };
    let found = check_tables(settings, target, &expected.state)?;
    let checks = &mut conclusion.checks;
    checks.extend(ReadCounts::sum(&ended.findings).check());
    for (table, found) in BalanceTable::ALL.into_iter().zip(&found) {
        let rows = u64::from(settings.scale.rows(table));
        let name = format!("rows of {}", table.name());
        checks.push(Check::equal(&name, &rows, &found.rows));
        if expected.knows(settings, table) {
            checks.push(found.check(table));
            let name = format!("sum of the {}", table.name());
            checks.push(Check::equal(&name, &expected.state.sum(table), &found.sum));
        }
    }
    checks.push(check_sums(settings, &found, &stored.state.history));
    checks.push(if is_prefix {
        check_among(drawn.hashes, stored.hashes)
    } else {
        check_history(&drawn.state.history, &stored.state.history)
    });
    Ok(conclusion)
}

/// The content of the tables, and where it comes from.
struct TableContent {
    state: ExpectedState,
    /// Whether it was added up from rows of history, which do not name the script.
    is_of_history: bool,
    /// The hashes of the rows of history, if they are compared one by one.
    hashes: Vec<u64>,
}

impl TableContent {
    /// Whether it says what the rows of a table should be: history does not say whether a row's
    /// script has changed the teller and the branch, too, if there are both kinds.
    fn knows(&self, settings: &Settings, table: BalanceTable) -> bool {
        let mut writing = settings.mix.scripts().iter().filter(|it| it.writes());
        let is_ambiguous = self.is_of_history && writing.nth(1).is_some();
        !is_ambiguous || table == BalanceTable::Accounts
    }
}

/// The content after the transactions of all workers, as many as each has reported.
fn draw_again(
    settings: &Settings,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
    keeps_hashes: bool,
) -> TableContent {
    let mut state = ExpectedState::loaded(settings.scale, ended.verify);
    let mut hashes = Vec::new();
    let (seed, generation) = (target.seed, target.generation);
    for findings in &ended.findings {
        let worker = finding(findings, WORKER) as u32;
        let mut stream = TransactionStream::new(settings, seed, generation, worker);
        for _ in 0..finding(findings, DONE) {
            let transaction = stream.next_transaction();
            state.add(&transaction);
            if keeps_hashes {
                let row = ExpectedState::history_row(&transaction);
                hashes.extend(row.as_ref().map(row_hash));
            }
        }
    }
    TableContent {
        state,
        is_of_history: false,
        hashes,
    }
}

/// The content that the rows of history make.
fn read_history(
    settings: &Settings,
    target: &JobDatabase<'_>,
    level: VerifyLevel,
    keeps_hashes: bool,
) -> Result<TableContent> {
    let script = if settings.mix.has(Script::SimpleUpdate) {
        Script::SimpleUpdate
    } else {
        Script::TpcbLike
    };
    let mut session = target.open_session()?;
    let mut bank = store::bank(&mut *session, settings.store)?;
    let doing = || "reading history".to_owned();
    retry_unmetered(doing, || {
        let mut content = TableContent {
            state: ExpectedState::loaded(settings.scale, level),
            is_of_history: true,
            hashes: Vec::new(),
        };
        in_transaction(&mut *bank, Mode::Read, |bank| {
            bank.each_history(&mut |row| {
                let HistoryRow {
                    teller,
                    branch,
                    account,
                    delta,
                } = row;
                content.state.add(&Transaction {
                    script,
                    account,
                    branch,
                    teller,
                    delta,
                });
                content.hashes.extend(keeps_hashes.then(|| row_hash(&row)));
            })
        })?;
        Ok::<_, EngineError>(content)
    })
}

/// Checks the sums that the scripts keep equal, by the tables alone.
fn check_sums(settings: &Settings, found: &BalanceFindings, history: &HistoryDigest) -> Check {
    let [branches, tellers, accounts] = found.each_ref().map(|table| table.sum);
    let history = history.sum;
    // Only `simple-update` leaves tellers and branches as they were.
    let is_apart = settings.mix.has(Script::SimpleUpdate);
    let holds = accounts == history && branches == tellers && (is_apart || tellers == accounts);
    let detail =
        format!("accounts {accounts}, history {history}, tellers {tellers}, branches {branches}");
    Check::new("sums agree", holds, detail)
}

/// Checks that history has the rows that were drawn and no other.
fn check_history(drawn: &HistoryDigest, stored: &HistoryDigest) -> Check {
    let pairs = [
        ("rows", i128::from(drawn.rows), i128::from(stored.rows)),
        ("sum of deltas", drawn.sum.into(), stored.sum.into()),
        ("sum of hashes", drawn.hash.into(), stored.hash.into()),
    ];
    let mut pairs = pairs.into_iter();
    let first = pairs.find(|(_, drawn, stored)| drawn != stored);
    let detail = match first {
        None => format!("{} rows, as drawn", stored.rows),
        Some((subject, drawn, stored)) => format!("{subject}: expected {drawn}, found {stored}"),
    };
    Check::new("history", first.is_none(), detail)
}

/// Checks that each row of history is one of those that were acknowledged, by their hashes.
fn check_among(mut acknowledged: Vec<u64>, mut stored: Vec<u64>) -> Check {
    acknowledged.sort_unstable();
    stored.sort_unstable();
    let mut left = acknowledged.iter().peekable();
    let unknown = stored.iter().filter(|hash| {
        while left.next_if(|other| other < hash).is_some() {}
        left.next_if(|other| other == hash).is_none()
    });
    let unknown = unknown.count();
    let (rows, all) = (stored.len(), acknowledged.len());
    let detail = match unknown {
        0 => format!("{rows} rows of {all} acknowledged"),
        _ => format!("{unknown} of {rows} rows are of no acknowledged transaction"),
    };
    Check::new("history", unknown == 0, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_were_not_acknowledged_are_counted_and_those_that_are_missing_are_not() {
        let check = |stored: &[u64]| check_among(vec![5, 1, 5, 9], stored.to_vec());
        for stored in [&[][..], &[9], &[5, 5], &[9, 5, 1, 5]] {
            assert!(check(stored).passed, "{stored:?}");
        }
        for (stored, unknown) in [
            (&[5, 5, 5][..], "1 of 3"),
            (&[1, 1, 9], "1 of 3"),
            (&[2, 9, 10], "2 of 3"),
        ] {
            let check = check(stored);
            assert!(
                !check.passed && check.detail.starts_with(unknown),
                "{stored:?}"
            );
        }
    }

    #[test]
    fn a_history_that_differs_says_in_what() {
        let drawn = HistoryDigest {
            rows: 3,
            sum: 10,
            hash: 7,
        };
        let check = |stored| check_history(&drawn, &stored);
        assert!(check(drawn.clone()).passed);
        let short = HistoryDigest {
            rows: 2,
            ..drawn.clone()
        };
        assert_eq!(check(short).detail, "rows: expected 3, found 2");
        let other = HistoryDigest {
            hash: 8,
            ..drawn.clone()
        };
        let check = check(other);
        assert!(!check.passed && check.detail.starts_with("sum of hashes: "));
    }
}
