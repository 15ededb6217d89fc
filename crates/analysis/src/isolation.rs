//! The isolation that contenders state: how rankings show it, and are split by it.

use crate::answer::WeakerIsolation;
use crate::cells::Cell;
use crate::rankings::{HARNESS_ENGINE, Ranking};
use trueput_record::{Isolation, Phenomenon, TrialRecord, Value};

/// What stands in an engine's place where the storage itself is measured.
const STORAGE: &str = "storage";

/// What stands where nothing is stated.
const NOT_STATED: &str = "not stated";

/// What a trial's engine states; of one that never opened it, what another repeat of its cell does.
pub(crate) fn of_trial(trial: &TrialRecord, trials: &[TrialRecord]) -> Option<Isolation> {
    let stated = |trial: &TrialRecord| trial.engine.as_ref()?.isolation;
    let repeats = || {
        let mut repeats = trials.iter().filter(|it| it.spec.cell == trial.spec.cell);
        repeats.find_map(stated)
    };
    stated(trial).or_else(repeats)
}

/// What the engines of all these trials state, those that never opened theirs aside; `None` where
/// they differ or one states nothing.
pub(crate) fn of_all(trials: &[&TrialRecord]) -> Option<Isolation> {
    let contenders = trials.iter().filter(|it| it.spec.engine != HARNESS_ENGINE);
    let mut stated = contenders.filter_map(|trial| Some(trial.engine.as_ref()?.isolation));
    let first = stated.next()??;
    stated.all(|other| other == Some(first)).then_some(first)
}

/// A level, in words.
pub(crate) fn word(isolation: Option<Isolation>) -> &'static str {
    isolation.map_or(NOT_STATED, Isolation::name)
}

/// Whether the contenders of a ranking differ in it: then each row says its own.
pub(crate) fn differs(cells: &[Cell]) -> bool {
    cells
        .windows(2)
        .any(|pair| pair[0].isolation != pair[1].isolation)
}

/// What all contenders of a ranking state, in a sentence; `None` where they differ, each row says it
/// then, and where what is measured is the storage, which has no transactions.
pub(crate) fn common(cells: &[Cell]) -> Option<String> {
    let isolation = cells.first()?.isolation;
    let has_transactions = cells.iter().any(|cell| cell.engine != STORAGE);
    (has_transactions && !differs(cells)).then(|| match isolation {
        Some(all) => format!("Isolation stated by the drivers: {all}."),
        None => format!("Isolation: {NOT_STATED}."),
    })
}

/// That nothing verifies the level that is stated for statements of SQL; `None` where the workload
/// uses none, or no contender states a level.
pub(crate) fn of_sql(ranking: &Ranking) -> Option<String> {
    let is_in_sql = ranking.settings.get("store") == Some(&Value::from("sql"));
    let is_stated = ranking.cells.iter().any(|cell| cell.isolation.is_some());
    (is_in_sql && is_stated).then(|| {
        "The isolation of SQL statements is stated by the driver and not tested.".to_owned()
    })
}

/// The contenders behind the leader that proscribe what it permits.
fn stronger(ranking: &Ranking) -> Vec<&Cell> {
    let Some((leader, others)) = ranking.cells.split_first() else {
        return Vec::new();
    };
    let is_stronger = |cell: &&Cell| lacking(leader, cell).next().is_some();
    others.iter().filter(is_stronger).collect()
}

/// What one permits and the other proscribes, as far as both state anything.
fn lacking(one: &Cell, other: &Cell) -> impl Iterator<Item = Phenomenon> {
    let both = one.isolation.zip(other.isolation).into_iter();
    both.flat_map(|(one, other)| one.lacks(other))
}

/// Who is better isolated than the leader; `None` where nobody is.
pub(crate) fn weaker(ranking: &Ranking) -> Option<WeakerIsolation> {
    let stronger = stronger(ranking);
    let leader = ranking.cells.first().filter(|_| !stronger.is_empty())?;
    Some(WeakerIsolation {
        level: word(leader.isolation).to_owned(),
        stronger: stronger.iter().map(|cell| cell.name()).collect(),
    })
}

/// That the leader of a ranking permits what contenders behind it proscribe: their places are not
/// earned by the same work. `None` where it does not.
pub(crate) fn caution(ranking: &Ranking) -> Option<String> {
    let stronger = stronger(ranking);
    let leader = ranking.cells.first().filter(|_| !stronger.is_empty())?;
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
    Some(format!(
        "The leader has weaker isolation: {} runs at {} and permits anomalies that {} {verb}: {}. \
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
