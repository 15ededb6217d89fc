//! Contenders whose isolation is stronger than that of the leader, or of the weakest.

use crate::cells::RankedCell;
use crate::isolation::word;
use crate::rankings::Ranking;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use trueput_record::Phenomenon;

/// A contender whose transactions are less isolated than those of others: the leader, or where no
/// order is claimed the least isolated one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WeakerIsolation {
    /// The contender.
    pub contender: String,
    /// Its isolation level, in a word.
    pub level: String,
    /// The contenders whose isolation prevents anomalies that its own permits.
    pub stronger: Vec<String>,
}

/// A cell, and the cells of its ranking that proscribe an anomaly which it permits: at least one.
#[derive(Debug)]
pub struct IsolationContrast<'a> {
    /// The leader, or where no order is claimed the least isolated contender.
    pub weaker: &'a RankedCell,
    /// The better isolated ones.
    pub stronger: Vec<&'a RankedCell>,
}

impl<'a> IsolationContrast<'a> {
    /// Finds the contrast of a ranking; `None` if there is none.
    #[must_use]
    pub fn of(ranking: &'a Ranking, has_order: bool) -> Option<Self> {
        let contrast = |weaker: &'a RankedCell| {
            let stronger = ranking.cells.iter();
            let stronger = stronger.filter(|cell| lacking(weaker, cell).next().is_some());
            Self {
                weaker,
                stronger: stronger.collect(),
            }
        };
        let found = if has_order {
            ranking.cells.first().map(contrast)
        } else {
            let all = ranking.cells.iter().map(contrast);
            // Of equally weak ones the first by name.
            all.min_by_key(|it| (Reverse(it.stronger.len()), it.weaker.contender.clone()))
        };
        found.filter(|it| !it.stronger.is_empty())
    }
}

/// Returns the anomalies that `one` permits and `other` proscribes, if both state an isolation
/// level.
pub fn lacking(one: &RankedCell, other: &RankedCell) -> impl Iterator<Item = Phenomenon> {
    let both = one.isolation.zip(other.isolation).into_iter();
    both.flat_map(|(one, other)| one.lacks(other))
}

/// Returns the contrast of a ranking by name; `None` if there is none.
pub fn weaker_isolation(ranking: &Ranking, has_order: bool) -> Option<WeakerIsolation> {
    let found = IsolationContrast::of(ranking, has_order)?;
    Some(WeakerIsolation {
        contender: found.weaker.name(),
        level: word(found.weaker.isolation).to_owned(),
        stronger: found.stronger.iter().map(|cell| cell.name()).collect(),
    })
}
