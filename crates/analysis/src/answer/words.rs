//! The sentences of an answer: how certain an order is, what failed, what to do next.

use super::table::share_text;
use super::{
    Answer, FailureKind, NextStep, NotRankedReason, RankingAnswer, RankingVerdict, RowVerdict,
    Share,
};
use crate::units::{counted, number};
use trueput_record::VerifyLevel;

/// More names than these are counted instead.
const MOST_NAMES: usize = 3;

/// What is certain of a ranking and what is not, in one sentence.
pub(super) fn certainty(ranking: &RankingAnswer) -> String {
    let leader = &ranking.leader().contender;
    let tied = listed(&ranking.tied);
    match ranking.verdict {
        RankingVerdict::Leader => leads(ranking),
        RankingVerdict::SameWithin => format!("{leader} and {tied} are the same within 1 %."),
        RankingVerdict::TooNoisy => format!(
            "Tie: {} show no difference between {leader} and {tied}{}{}.",
            repeats(ranking),
            would_show(ranking),
            others_slower(ranking)
        ),
        RankingVerdict::TooFewRepeats => format!(
            "Not certain: {} cannot tell {leader} from {tied}{}{}.",
            repeats(ranking),
            would_show(ranking),
            others_slower(ranking)
        ),
        RankingVerdict::NoOrder => {
            "No order: the contenders differ by less than this disturbed machine's noise."
                .to_owned()
        }
        RankingVerdict::RateNotKept => "No contender kept the offered rate.".to_owned(),
    }
}

fn leads(ranking: &RankingAnswer) -> String {
    let leader = &ranking.leader().contender;
    let second = &ranking.rows[1];
    if second.verdict == RowVerdict::RateNotKept {
        return format!("Only {leader} kept the offered rate.");
    }
    let Some(share) = second.of_leader else {
        return format!("{leader} leads.");
    };
    let sure = confidence(share);
    let name = &second.contender;
    match ranking.subject.rate_per_s {
        None => format!(
            "{leader} leads: {name} reaches {} of its rate{sure}.",
            share_text(share, false)
        ),
        Some(_) => format!(
            "{leader} responds first: {name} takes {} times as long{sure}.",
            number(share.estimate)
        ),
    }
}

/// The level of an interval, in brackets.
fn confidence(share: Share) -> String {
    share.interval.map_or_else(String::new, |interval| {
        // Rounded down: no interval has 100 %.
        let level = format!("{:.1}", (interval.level * 1_000.0).floor() / 10.0);
        format!(" ({} % confidence)", level.trim_end_matches(".0"))
    })
}

/// How often the tied contenders ran: `5 repeats`.
fn repeats(ranking: &RankingAnswer) -> String {
    let tied = ranking.rows.iter().filter(|row| row.verdict.is_tie());
    let fewest = tied.map(|row| row.repeats).min();
    let fewest = fewest.unwrap_or_default().min(ranking.leader().repeats);
    counted(fewest as u64, "repeat")
}

/// What difference the repeats would have shown, as a clause.
fn would_show(ranking: &RankingAnswer) -> String {
    let Some(smallest) = ranking.smallest_ratio else {
        return String::new();
    };
    format!(" ({} would show)", difference(smallest))
}

/// A ratio above 1 as a difference: `32 %`, `2.4x`.
fn difference(ratio: f64) -> String {
    match ratio < 2.0 {
        true => format!("{:.0} %", ((ratio - 1.0) * 100.0).ceil()),
        false if ratio < 10.0 => format!("{ratio:.1}x"),
        false => format!("{ratio:.0}x"),
    }
}

/// The contenders that are shown to be slower than the leader, where others are not, as a clause.
fn others_slower(ranking: &RankingAnswer) -> String {
    let slower = |row: &&super::AnswerRow| row.verdict == RowVerdict::Slower;
    let slower: Vec<_> = ranking.rows.iter().filter(slower).collect();
    match slower.as_slice() {
        [] => String::new(),
        [one] => format!("; {} is slower", one.contender),
        several => format!("; the {} others are slower", several.len()),
    }
}

/// Names, the first ones where there are many: `a, b and 4 more`.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] if names.len() <= MOST_NAMES => {
            format!("{} and {last}", before.join(", "))
        }
        several => {
            let shown = &several[..MOST_NAMES - 1];
            let more = several.len() - shown.len();
            format!("{} and {more} more", shown.join(", "))
        }
    }
}

/// What became of the trials: `first-look: 145 trials: 140 valid, 5 FAILED; all verified`.
pub(super) fn counts(answer: &Answer) -> String {
    let counts = answer.trials;
    let parts = [
        (counts.valid, "valid"),
        (counts.invalid, "INVALID"),
        (counts.failed, "FAILED"),
        (counts.missing, "not run"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts
        .map(
            |(count, what)| match count == counts.planned && what == "valid" {
                true => "all valid".to_owned(),
                false => format!("{count} {what}"),
            },
        )
        .collect();
    let trials = counted(counts.planned as u64, "trial");
    let parts = parts.join(", ");
    let separator = if parts.is_empty() { "" } else { ", " };
    format!(
        "{}: {trials}{separator}{parts}{}",
        answer.name,
        verified(answer)
    )
}

/// How much was verified of what has figures.
fn verified(answer: &Answer) -> String {
    let ranked = answer.rankings.iter().flat_map(|ranking| &ranking.rows);
    let others = answer.not_ranked.iter();
    // The null engine keeps nothing that could be verified.
    let others = others.filter(|other| other.reason != NotRankedReason::Harness);
    let others = others.map(|other| &other.row);
    let levels: Vec<_> = ranked.chain(others).map(|row| row.verified).collect();
    let full = |level: &&Option<VerifyLevel>| **level == Some(VerifyLevel::Full);
    let all = levels.len();
    match levels.iter().filter(full).count() {
        _ if all == 0 => String::new(),
        full if full == all => "; every stored record verified".to_owned(),
        _ if levels.iter().all(Option::is_none) => "; nothing verified".to_owned(),
        full => format!("; every record verified of {full} of {all} contenders"),
    }
}

/// One kind of failure: `FAILED: 3 trials of canopydb: write conflict`.
pub(super) fn failure(kind: &FailureKind) -> String {
    format!(
        "{}: {} of {}: {}",
        kind.status,
        counted(kind.trials as u64, "trial"),
        listed(&kind.contenders),
        kind.reason
    )
}

/// Everything that is skipped, in one line.
pub(super) fn skipped(skipped: &[String]) -> Option<String> {
    match skipped {
        [] => None,
        [one] => Some(format!("Skipped: {one}")),
        several => Some(format!(
            "Skipped ({}): {}",
            several.len(),
            several.join("; ")
        )),
    }
}

/// What to do next, in one line: the command where it fits.
pub(super) fn next_step(step: &NextStep, columns: usize) -> String {
    match step {
        NextStep::Resume { command } => format!("To go on: {}", command.join(" ")),
        NextStep::MoreRepeats { option, command } => {
            let whole = format!("To tell them apart: {}", command.join(" "));
            match super::layout::width(&whole) <= columns {
                true => whole,
                false => format!("To tell them apart: the same command with {option}"),
            }
        }
    }
}
