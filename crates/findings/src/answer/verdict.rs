//! The verdict of a ranking: whether its order is significant.

use crate::cells::RankedCell;
use crate::decision::DecidedContender;
use crate::rankings::Ranking;
use crate::statistics::{
    Comparison, InconclusiveReason, Noise, StandingKind, Verdict, inconclusive_reason,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Whether the lead of a ranking is significant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RankingVerdict {
    /// Every other contender is significantly slower.
    Leader,
    /// A contender is within 1 % of the leader, with confidence.
    SameWithin,
    /// A contender differs from the leader by less than the repeats scatter.
    TooNoisy,
    /// A contender differs by more, but the repeats are too few to rule out chance.
    TooFewRepeats,
    /// The run was so disturbed that the ranking has no order.
    NoOrder,
    /// No contender reached the offered rate.
    RateNotKept,
    /// Of a run that decides: the leader and others are equal.
    Equal,
    /// Of a run that decides: it is not known whether a contender is slower than the leader or
    /// equal.
    Undecided,
}

impl RankingVerdict {
    /// The verdict in a word or three, for a tile.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Leader => "significant",
            Self::SameWithin | Self::TooNoisy => "inconclusive",
            Self::TooFewRepeats => "too few repeats",
            Self::NoOrder => "no order",
            Self::RateNotKept => "rate not kept",
            Self::Equal => "equal",
            Self::Undecided => "undecided",
        }
    }
}

/// The comparison of a contender with the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowVerdict {
    /// It is the leader.
    Leader,
    /// It is slower.
    Slower,
    /// The difference is inconclusive, for this reason.
    #[serde(rename = "tied")]
    Inconclusive(InconclusiveReason),
    /// It did not keep the offered rate.
    RateNotKept,
    /// It is not ranked, so it is not compared.
    NotCompared,
}

impl RowVerdict {
    /// Whether the difference from the leader is not significant.
    #[must_use]
    pub fn is_inconclusive(self) -> bool {
        matches!(self, Self::Inconclusive(_))
    }
}

/// The comparison with the leader that decides a cell's verdict.
pub(super) fn comparison(ranking: &Ranking, cell: &RankedCell) -> Option<Comparison> {
    match ranking.rate_per_s {
        None => cell.against_best,
        Some(_) => cell.at_rate.as_ref()?.against_best,
    }
}

/// Returns the verdict of each ranked cell, in the order of the cells.
pub(super) fn row_verdicts(ranking: &Ranking, noise: Option<&Noise>) -> Vec<RowVerdict> {
    let Some((leader, others)) = ranking.cells.split_first() else {
        return Vec::new();
    };
    if let Some(decision) = &ranking.decision {
        return decision.contenders.iter().map(decided).collect();
    }
    let kept = |cell: &RankedCell| cell.at_rate.as_ref().is_some_and(|it| it.kept);
    let of = |cell: &RankedCell| {
        if ranking.rate_per_s.is_some() && !kept(cell) {
            return RowVerdict::RateNotKept;
        }
        let Some(compared) = comparison(ranking, cell) else {
            return RowVerdict::Inconclusive(InconclusiveReason::TooFewRepeats);
        };
        match compared.verdict {
            Verdict::Slower => RowVerdict::Slower,
            Verdict::TooFew => RowVerdict::Inconclusive(InconclusiveReason::TooFewRepeats),
            // The medians and the pairs point in opposite directions.
            Verdict::Faster => RowVerdict::Inconclusive(InconclusiveReason::Noise),
            Verdict::NoDifference => {
                let reason = match (&leader.at_rate, &cell.at_rate) {
                    (Some(one), Some(other)) if ranking.rate_per_s.is_some() => {
                        inconclusive_reason(
                            &compared,
                            &one.response_p99_ns,
                            &other.response_p99_ns,
                            0.0,
                        )
                    }
                    _ => inconclusive_rate_reason(leader, cell, noise),
                };
                RowVerdict::Inconclusive(match reason.unwrap_or(InconclusiveReason::Noise) {
                    // Repeats that a factor of two would not move show no equality.
                    InconclusiveReason::Noise
                        if compared.smallest_ratio.is_some_and(|it| it > 2.0) =>
                    {
                        InconclusiveReason::TooFewRepeats
                    }
                    reason => reason,
                })
            }
        }
    };
    let first = if ranking.rate_per_s.is_some() && !kept(leader) {
        RowVerdict::RateNotKept
    } else {
        RowVerdict::Leader
    };
    std::iter::once(first)
        .chain(others.iter().map(of))
        .collect()
}

/// The verdict on a contender of a decided run.
fn decided(contender: &DecidedContender) -> RowVerdict {
    if let Some(reason) = contender.inconclusive() {
        return RowVerdict::Inconclusive(reason);
    }
    match contender.kind {
        StandingKind::Led => RowVerdict::Slower,
        StandingKind::Failed => RowVerdict::NotCompared,
        StandingKind::Leader | StandingKind::Equal | StandingKind::Open => RowVerdict::Leader,
    }
}

/// The verdict on a ranking: the gravest of its rows' reasons for doubt.
pub(super) fn ranking_verdict(
    ranking: &Ranking,
    rows: &[RowVerdict],
    noise: Option<&Noise>,
) -> RankingVerdict {
    let any = |reason| rows.contains(&RowVerdict::Inconclusive(reason));
    if rows.first() == Some(&RowVerdict::RateNotKept) {
        return RankingVerdict::RateNotKept;
    }
    if ranking.decision.is_some() {
        return decided_verdict(rows);
    }
    if refuses(ranking, noise) {
        return RankingVerdict::NoOrder;
    }
    if any(InconclusiveReason::TooFewRepeats) {
        return RankingVerdict::TooFewRepeats;
    }
    if any(InconclusiveReason::Noise) {
        return RankingVerdict::TooNoisy;
    }
    if any(InconclusiveReason::Same) {
        RankingVerdict::SameWithin
    } else {
        RankingVerdict::Leader
    }
}

/// The verdict on the ranking of a decided run. Where everybody else failed, nobody leads.
fn decided_verdict(rows: &[RowVerdict]) -> RankingVerdict {
    let is_there = |verdict| rows.contains(&verdict);
    let any = |reason| is_there(RowVerdict::Inconclusive(reason));
    if any(InconclusiveReason::Undecided) || !is_there(RowVerdict::Leader) {
        RankingVerdict::Undecided
    } else if any(InconclusiveReason::Equal) {
        RankingVerdict::Equal
    } else if is_there(RowVerdict::Slower) {
        RankingVerdict::Leader
    } else {
        RankingVerdict::Undecided
    }
}

/// The reason why no difference between the best and this cell is claimed; `None` if one is
/// claimed, or if nothing was compared.
pub fn inconclusive_rate_reason(
    best: &RankedCell,
    cell: &RankedCell,
    noise: Option<&Noise>,
) -> Option<InconclusiveReason> {
    let (one, other) = (best.figures.headline_per_s, cell.figures.headline_per_s);
    let floor = noise.map_or(0.0, |noise| noise.floor);
    inconclusive_reason(&cell.against_best?, &one, &other, floor)
}

/// Whether a run was so disturbed that a ranking has no order: all of its contenders are closer to
/// the best than repeats of one typically do to each other.
pub fn refuses(ranking: &Ranking, noise: Option<&Noise>) -> bool {
    // A decided run takes the noise into account.
    let noise = noise.filter(|_| ranking.decision.is_none());
    let disturbed = noise.filter(|noise| !noise.reasons.is_empty());
    let (Some(noise), Some((best, others))) = (disturbed, ranking.cells.split_first()) else {
        return false;
    };
    let rate = |cell: &RankedCell| cell.figures.headline_per_s.median;
    let drowned = |cell: &RankedCell| {
        inconclusive_rate_reason(best, cell, Some(noise)) == Some(InconclusiveReason::Noise)
            && noise.is_within_noise(rate(best), rate(cell))
    };
    !others.is_empty() && others.iter().all(drowned)
}
