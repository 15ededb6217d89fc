//! Contenders whose isolation is stronger than the leader's.

use crate::cells::RankedCell;
use crate::isolation::word;
use crate::rankings::Ranking;
use serde::Serialize;
use trueput_record::Phenomenon;

/// A leader whose transactions are less isolated than those of other contenders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WeakerIsolation {
    /// The leader's isolation level, in a word.
    pub level: String,
    /// The contenders whose isolation prevents anomalies that the leader's permits.
    pub stronger: Vec<String>,
}

/// Returns the contenders behind the leader that proscribe an anomaly which it permits.
pub fn better_isolated(ranking: &Ranking) -> Vec<&RankedCell> {
    let Some((leader, others)) = ranking.cells.split_first() else {
        return Vec::new();
    };
    let is_stronger = |cell: &&RankedCell| lacking(leader, cell).next().is_some();
    others.iter().filter(is_stronger).collect()
}

/// Returns the anomalies that `one` permits and `other` proscribes, if both state an isolation
/// level.
pub fn lacking(one: &RankedCell, other: &RankedCell) -> impl Iterator<Item = Phenomenon> {
    let both = one.isolation.zip(other.isolation).into_iter();
    both.flat_map(|(one, other)| one.lacks(other))
}

/// Returns the leader's isolation level and the contenders that are better isolated; `None` if
/// there are none.
pub fn weaker_isolation(ranking: &Ranking) -> Option<WeakerIsolation> {
    let stronger = better_isolated(ranking);
    let leader = ranking.cells.first().filter(|_| !stronger.is_empty())?;
    Some(WeakerIsolation {
        level: word(leader.isolation).to_owned(),
        stronger: stronger.iter().map(|cell| cell.name()).collect(),
    })
}
