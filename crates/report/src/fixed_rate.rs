//! Rankings at one rate, in words.

use trueput_findings::cells::RankedCell;
use trueput_findings::rankings::Ranking;
use trueput_findings::units::{number, separate};

/// The heading of a ranking at one rate, after its workload, level and workers.
pub(crate) fn heading(ranking: &Ranking) -> Option<String> {
    let rate_per_s = ranking.rate_per_s?;
    Some(format!("by response time at {}/s", number(rate_per_s)))
}

/// Explains the order, and names contenders that did not keep the rate, one sentence each; empty
/// for other rankings.
pub(crate) fn sentences(ranking: &Ranking) -> Vec<String> {
    let Some(rate_per_s) = ranking.rate_per_s else {
        return Vec::new();
    };
    let of = if ranking.has_several_response_kinds() {
        " of their slowest kind of operation"
    } else {
        ""
    };
    let mut said = vec![format!(
        "All contenders had the same request rate, {}/s (open loop). Those that kept it are \
         ordered by p99 response time{of} (median of the repeats).",
        number(rate_per_s)
    )];
    let late = |cell: &RankedCell| {
        let at_rate = cell.at_rate.as_ref().filter(|at_rate| !at_rate.kept)?;
        Some(format!(
            "{} did not keep the rate: backlog of up to {} requests at the end.",
            cell.name(),
            separate(&at_rate.backlog.to_string())
        ))
    };
    said.extend(ranking.cells.iter().filter_map(late));
    said
}
