//! Preliminary rankings during a run, one line each.

use super::layout::{cut_end, shown};
use super::subject::short;
use std::collections::BTreeSet;
use trueput_findings::answer::{Answer, AnswerRow, RankingAnswer, Round, RowVerdict};
use trueput_findings::units::{nanoseconds, number};

/// More rankings than these are counted.
const MAX_RANKINGS: usize = 8;

/// A contender with the figure that orders its ranking: the rate, and at one rate the response
/// time.
fn figure(row: &AnswerRow) -> String {
    let response = row.latency.as_ref().filter(|latency| latency.is_response);
    match (row.verdict, response) {
        (RowVerdict::RateNotKept, _) => format!("{} rate not kept", row.contender),
        (_, Some(response)) => format!("{} {}", row.contender, nanoseconds(response.p99_ns)),
        (_, None) => format!("{} {}/s", row.contender, number(row.rate_per_s)),
    }
}

/// Whether no two rankings have the same level, so that it names them.
fn has_level_names(rankings: &[RankingAnswer]) -> bool {
    let levels = rankings.iter().map(|it| it.subject.durability.to_string());
    levels.collect::<BTreeSet<_>>().len() == rankings.len()
}

/// The name of a ranking among others: its level, if that is enough.
pub(super) fn named(ranking: &RankingAnswer, rankings: &[RankingAnswer]) -> String {
    if has_level_names(rankings) {
        ranking.subject.durability.to_string()
    } else {
        short(&ranking.subject)
    }
}

/// Writes the rankings after this round, one line each: `round 2 of 5: sync: rocksdb 8,469/s,
/// tokudb 7,173/s`. No line is wider than `columns`.
#[must_use]
pub fn round_lines(round: Round, answer: &Answer, columns: usize) -> Vec<String> {
    let of = round.of.map_or_else(String::new, |of| format!(" of {of}"));
    let prefix = format!("round {}{of}: ", round.number);
    let standings = standings(answer, columns.saturating_sub(prefix.len()));
    let lines = standings.into_iter();
    lines.map(|line| format!("{prefix}{line}")).collect()
}

/// Writes a line for each ranking: `sync: rocksdb 8,469/s, tokudb 7,173/s`; at one rate the
/// response times: `sync: p99 response at 5,000/s: lmdb 105 µs`. A ranking is named by its level if
/// no other has the same level. No line is wider than `columns`.
#[must_use]
pub fn standings(answer: &Answer, columns: usize) -> Vec<String> {
    let by_level = has_level_names(&answer.rankings);
    let line = |ranking: &RankingAnswer| {
        let subject = named(ranking, &answer.rankings);
        let rows: Vec<_> = ranking.rows.iter().map(figure).collect();
        let order = match ranking.subject.rate_per_s {
            Some(rate) if by_level => format!("p99 response at {}/s: ", number(rate)),
            Some(_) => "p99 response: ".to_owned(),
            None => String::new(),
        };
        cut_end(
            &shown(&format!("{subject}: {order}{}", rows.join(", "))),
            columns,
        )
    };
    let found = if answer.rankings.len() <= MAX_RANKINGS {
        answer.rankings.len()
    } else {
        MAX_RANKINGS - 1
    };
    let mut lines: Vec<_> = answer.rankings[..found].iter().map(line).collect();
    let more = answer.rankings.len() - found;
    if more > 0 {
        lines.push(format!("and {more} more rankings"));
    }
    lines
}
