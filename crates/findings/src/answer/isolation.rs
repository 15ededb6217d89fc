//! Contenders whose isolation is stronger than the leader's.

use crate::cells::RankedCell;
use crate::isolation::word;
use crate::rankings::Ranking;
use serde::Serialize;
use trueput_record::Phenomenon;

/// That the leader's transactions are less isolated than those of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WeakerIsolation {
    /// The leader's isolation level, in a word.
    pub level: String,
    /// The contenders whose isolation prevents anomalies that the leader's permits.
    pub stronger: Vec<String>,
}

/// The contenders behind the leader that proscribe what it permits.
pub fn stronger(ranking: &Ranking) -> Vec<&RankedCell> {
    let Some((leader, others)) = ranking.cells.split_first() else {
        return Vec::new();
    };
    let is_stronger = |cell: &&RankedCell| lacking(leader, cell).next().is_some();
    others.iter().filter(is_stronger).collect()
}

/// What one permits and the other proscribes, as far as both state anything.
pub fn lacking(one: &RankedCell, other: &RankedCell) -> impl Iterator<Item = Phenomenon> {
    let both = one.isolation.zip(other.isolation).into_iter();
    both.flat_map(|(one, other)| one.lacks(other))
}

/// Who is better isolated than the leader; `None` if nobody is.
pub fn weaker(ranking: &Ranking) -> Option<WeakerIsolation> {
    let stronger = stronger(ranking);
    let leader = ranking.cells.first().filter(|_| !stronger.is_empty())?;
    Some(WeakerIsolation {
        level: word(leader.isolation).to_owned(),
        stronger: stronger.iter().map(|cell| cell.name()).collect(),
    })
}
