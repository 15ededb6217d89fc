//! The rows of an answer: a contender with the figures that a first screen has room for.

use super::LeaderShare;
use super::verdict::{self, RowVerdict};
use crate::cells::{OperationFigures, RankedCell};
use crate::eligibility::HARNESS_ENGINE;
use crate::marks::Mark;
use crate::objective::ObjectiveResult;
use crate::rankings::Ranking;
use crate::statistics::Interval;
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::VerifyLevel;

/// The kind of operation whose latency is shown if the workload times it.
const COMMIT: &str = "commit";

/// A contender of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AnswerRow {
    /// Its place, from 1; `None` if the ranking has no order or it has no place in it. Contenders
    /// that are not shown to be slower than the leader share its place, up to the first one that
    /// is.
    pub rank: Option<usize>,
    /// The contender, with the labels of its marks: the name that every table has.
    pub contender: String,
    /// The contender, without its marks.
    #[serde(skip)]
    pub plain_name: String,
    /// The engine.
    pub engine: String,
    /// The cell's number in the plan.
    pub cell: u32,
    /// Marks of the contender, shown wherever it is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Rate of the headline operation per second, the median of the repeats.
    pub rate_per_s: f64,
    /// What the headline operations of a second did, if one does more than one thing: the rows of
    /// transactions, the bytes of values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkRate>,
    /// This rate over the leader's (in a ranking at one rate: this response time over the
    /// leader's), with the interval of the verdict; `None` for the leader and for cells that cannot
    /// be compared.
    pub of_leader: Option<LeaderShare>,
    /// The interval of `of_leader` times the leader's rate, which a chart of rates draws to show
    /// the verdict. `None` for the leader, for fewer than three repeats and at one rate.
    pub rate_interval: Option<Interval>,
    /// The comparison with the leader.
    pub verdict: RowVerdict,
    /// The 99th percentile of response or commit latency.
    pub latency: Option<LatencyFigure>,
    /// CPU of the workers per operation of any kind, nanoseconds.
    pub cpu_ns_per_operation: Option<f64>,
    /// Trials that count.
    pub repeats: usize,
    /// The least thorough verification of its trials; `None` if nothing was verified.
    pub verified: Option<VerifyLevel>,
    /// Whether its repeats kept the objective of the plan; `None` without one, and in a closed
    /// loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<ObjectiveResult>,
    /// At one rate: whether each repeat started every unit that was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_rate: Option<bool>,
    /// The sizes before and after the engine's own compaction; `None` if none was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionSizes>,
}

/// A result of the workload that is the rate of the headline operation in another unit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkRate {
    /// What is counted: `rows inserted`.
    pub what: String,
    /// The median of the repeats, per second.
    pub per_s: f64,
}

/// Blocks of a database around the engine's own compaction, medians of the repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CompactionSizes {
    /// Before it, bytes.
    pub before_bytes: f64,
    /// After it, bytes; `None` if the driver has no compaction for this engine.
    pub after_bytes: Option<f64>,
}

/// A latency of a row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LatencyFigure {
    /// The kind of operation; of an open loop, the one that users waited longest for.
    pub kind: String,
    /// The 99th percentile, nanoseconds, the median of the repeats.
    pub p99_ns: f64,
    /// Whether it is a response time (open loop), which includes queueing.
    pub is_response: bool,
}

/// The ranked cells in their order, with how each compares with the leader.
pub(super) fn ranked(ranking: &Ranking, verdicts: &[RowVerdict]) -> Vec<AnswerRow> {
    let leader_per_s = ranking.cells.first().map(rate);
    let cells = ranking.cells.iter().zip(verdicts).enumerate();
    let behind = verdicts.iter().skip(1);
    let tied = behind
        .take_while(|verdict| verdict.is_inconclusive())
        .count();
    let row = |(index, (cell, verdict)): (usize, (&RankedCell, &RowVerdict))| {
        let place = if index <= tied { 1 } else { index + 1 };
        let of_leader = share(ranking, cell).filter(|_| index > 0);
        let interval = of_leader.and_then(|share| share.interval);
        let scaled = |(interval, leader): (Interval, f64)| Interval {
            estimate: interval.estimate * leader,
            low: interval.low * leader,
            high: interval.high * leader,
            level: interval.level,
        };
        AnswerRow {
            rank: (*verdict != RowVerdict::NotCompared).then_some(place),
            rate_interval: interval
                .filter(|_| ranking.rate_per_s.is_none())
                .zip(leader_per_s)
                .map(scaled),
            of_leader,
            verdict: *verdict,
            ..unplaced_row(ranking, cell)
        }
    };
    cells.map(row).collect()
}

/// Cells without a place in an order.
pub(super) fn unplaced(ranking: &Ranking, cells: &[RankedCell]) -> Vec<AnswerRow> {
    let row = |cell| unplaced_row(ranking, cell);
    cells.iter().map(row).collect()
}

fn unplaced_row(ranking: &Ranking, cell: &RankedCell) -> AnswerRow {
    AnswerRow {
        rank: None,
        contender: cell.name(),
        plain_name: cell.contender.clone(),
        engine: cell.engine.clone(),
        cell: cell.cell,
        marks: cell.marks.clone(),
        rate_per_s: rate(cell),
        work: work(ranking, cell),
        of_leader: None,
        rate_interval: None,
        verdict: RowVerdict::NotCompared,
        latency: latency(ranking, cell),
        cpu_ns_per_operation: cell.figures.cpu_ns_per_operation,
        repeats: cell.repeats,
        verified: cell.verified,
        objective: cell.objective.clone(),
        kept_rate: cell.at_rate.as_ref().map(|at_rate| at_rate.kept),
        compaction: compaction(cell),
    }
}

/// The result that counts what the headline operations did: its name has the word, as in `rows
/// inserted per s` for `insert`.
fn work(ranking: &Ranking, cell: &RankedCell) -> Option<WorkRate> {
    let mut results = cell.figures.result_medians.iter();
    results.find_map(|(name, per_s)| {
        let what = name.strip_suffix(" per s")?;
        let mut words = what.split(' ');
        // A rate that writers are to keep is no result of theirs.
        let is_done = !words.clone().any(|word| word == "to");
        let is_of_headline = words.any(|word| word.starts_with(&ranking.headline));
        (is_done && is_of_headline).then(|| WorkRate {
            what: what.to_owned(),
            per_s: *per_s,
        })
    })
}

fn compaction(cell: &RankedCell) -> Option<CompactionSizes> {
    let is_requested = cell.conditions.compact && cell.engine != HARNESS_ENGINE;
    is_requested.then_some(CompactionSizes {
        before_bytes: cell.figures.database_allocated_bytes,
        after_bytes: cell.figures.compacted_bytes,
    })
}

fn rate(cell: &RankedCell) -> f64 {
    cell.figures.headline_per_s.median
}

/// The rate of a cell as a share of the leader's, or its response time over the leader's.
pub(super) fn share(ranking: &Ranking, cell: &RankedCell) -> Option<LeaderShare> {
    let estimate = match ranking.rate_per_s {
        None => cell.relative_to_best,
        Some(_) => {
            let time = |cell: &RankedCell| Some(cell.at_rate.as_ref()?.response_p99_ns.median);
            let leader = ranking.cells.first().and_then(time);
            leader
                .filter(|it| *it > 0.0)
                .zip(time(cell))
                .map(|(a, b)| b / a)
        }
    };
    let interval = verdict::comparison(ranking, cell).and_then(|compared| compared.ratio);
    Some(LeaderShare {
        estimate: estimate?,
        interval: interval.filter(|interval| !interval.is_boundless()),
    })
}

/// The kind of operation that takes longest in the first cell: of a mix, the one that commits.
fn slowest_kind(ranking: &Ranking) -> &str {
    let first = ranking.cells.first().or(ranking.not_comparable.first());
    let operations = first
        .or(ranking.harness.first())
        .map(|cell| &cell.figures.operations);
    let timed = operations.into_iter().flatten();
    let timed = timed.filter_map(|one| Some((one.p99_ns?, one.kind.as_str())));
    let slowest = timed.max_by(|one, other| one.0.total_cmp(&other.0));
    slowest.map_or(&ranking.headline, |(_, kind)| kind)
}

/// The response time of an open loop; else the latency of commits, of the headline operation, or,
/// of a mix, of its slowest kind.
fn latency(ranking: &Ranking, cell: &RankedCell) -> Option<LatencyFigure> {
    if let (Some(_), Some(at_rate)) = (ranking.rate_per_s, &cell.at_rate) {
        return Some(LatencyFigure {
            kind: at_rate.worst_kind.clone(),
            p99_ns: at_rate.response_p99_ns.median,
            is_response: true,
        });
    }
    let of = |kind: &str| -> Option<LatencyFigure> {
        let mut operations = cell.figures.operations.iter();
        let found: &OperationFigures = operations.find(|one| one.kind == kind)?;
        Some(LatencyFigure {
            kind: kind.to_owned(),
            p99_ns: found.p99_ns?,
            is_response: false,
        })
    };
    of(COMMIT).or_else(|| {
        if ranking.has_own_headline {
            of(&ranking.headline)
        } else {
            of(slowest_kind(ranking))
        }
    })
}
