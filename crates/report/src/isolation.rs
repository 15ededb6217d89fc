//! The isolation that contenders state, in words.

use trueput_findings::answer::{IsolationContrast, lacking};
use trueput_findings::cells::RankedCell;
use trueput_findings::eligibility::STORAGE_ENGINE;
use trueput_findings::isolation::{NOT_STATED, word};
use trueput_findings::rankings::Ranking;
use trueput_record::{Phenomenon, Value};

/// Whether the contenders of a ranking differ in it: then each row says its own.
pub(crate) fn differs(cells: &[RankedCell]) -> bool {
    cells
        .windows(2)
        .any(|pair| pair[0].isolation != pair[1].isolation)
}

/// The isolation level that all contenders of a ranking state, in a sentence. `None` if they
/// differ, so that each row has its own, and if the storage is measured, which has no transactions.
pub(crate) fn common(cells: &[RankedCell]) -> Option<String> {
    let isolation = cells.first()?.isolation;
    let has_transactions = cells.iter().any(|cell| cell.engine != STORAGE_ENGINE);
    (has_transactions && !differs(cells)).then(|| match isolation {
        Some(all) => format!("Isolation stated by the drivers: {all}."),
        None => format!("Isolation: {NOT_STATED}."),
    })
}

/// A note that the stated level is not verified for SQL statements; `None` if the workload uses
/// none, or no contender states a level.
pub(crate) fn sql_note(ranking: &Ranking) -> Option<String> {
    let is_in_sql = ranking.settings.get("store") == Some(&Value::from("sql"));
    let is_stated = ranking.cells.iter().any(|cell| cell.isolation.is_some());
    (is_in_sql && is_stated).then(|| {
        "The isolation of SQL statements is stated by the driver and not tested.".to_owned()
    })
}

/// Returns a warning if the leader of a ranking, or where no order is claimed the least isolated
/// contender, permits anomalies that others proscribe, since their work is not the same; `None` if
/// it does not.
pub(crate) fn isolation_warning(ranking: &Ranking, has_order: bool) -> Option<String> {
    let IsolationContrast {
        weaker: leader,
        stronger,
    } = IsolationContrast::of(ranking, has_order)?;
    let permits = |phenomenon: &Phenomenon| {
        let mut behind = stronger.iter();
        behind.any(|cell| lacking(leader, cell).any(|lacking| lacking == *phenomenon))
    };
    let permits = Phenomenon::ALL.into_iter().filter(permits);
    let permits: Vec<_> = permits.map(|one| one.name().to_owned()).collect();
    let names: Vec<_> = stronger.iter().map(|cell| cell.name()).collect();
    let verb = if names.len() == 1 {
        "prevents"
    } else {
        "prevent"
    };
    let who = if has_order {
        "The leader has weaker isolation"
    } else {
        "Isolation differs"
    };
    Some(format!(
        "{who}: {} runs at {} and permits anomalies that {} {verb}: {}. \
         To rank each level separately, use --split-by isolation.",
        leader.name(),
        word(leader.isolation),
        listed(&names),
        listed(&permits),
    ))
}

/// Names with "and" before the last.
fn listed(names: &[String]) -> String {
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}
