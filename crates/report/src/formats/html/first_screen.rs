//! The first table of the page: the leader at each durability level, its lead, and the verdict.

use super::blocks::folded;
use crate::answer::{subject, words};
use crate::objective::kept_note;
use maud::{Markup, html};
use trueput_findings::answer::{
    Answer, LeaderShare, RankingAnswer, RankingSubject, RankingVerdict, UnrankedReason,
};
use trueput_findings::units::{nanoseconds, number};

/// With more rows than this the others are folded.
const MAX_ROWS: usize = 5;

/// A row: of a ranking, or of the only contender at its settings.
struct LeaderRow<'a> {
    subject: &'a RankingSubject,
    leader: String,
    rate: String,
    factor: String,
    /// The contenders that are not distinguished from the leader.
    others: String,
    /// The verdict; `None` for an only contender.
    verdict: Option<RankingVerdict>,
}

/// The table, with a link from each row to its ranking. Rankings with only one contender are folded
/// below it, if there are others. Empty if nothing has figures.
pub(crate) fn table(answer: &Answer, anchor: impl Fn(usize) -> String, caption: &str) -> Markup {
    let ranked = answer.rankings.iter().map(ranked);
    let single = answer.not_ranked.iter();
    let single = single.filter(|one| one.reason == UnrankedReason::OnlyContender);
    let single = single.map(|one| LeaderRow {
        subject: &one.subject,
        leader: one.row.contender.clone(),
        rate: rate(one.row.rate_per_s, &one.subject)
            + &words::work_note(&one.row)
            + &kept_note(one.row.objective.as_ref()),
        factor: String::new(),
        others: String::new(),
        verdict: None,
    });
    let (mut first, mut more): (Vec<_>, Vec<_>) = (ranked.collect(), single.collect());
    if first.is_empty() {
        first = std::mem::take(&mut more);
    }
    if first.len() > MAX_ROWS {
        more.splice(0..0, first.split_off(MAX_ROWS));
    }
    if first.is_empty() {
        return html! {};
    }
    html! {
        div class="answers" {
            (rows(caption, &first, &anchor))
            @if !more.is_empty() {
                @let rest = rows(&format!("{caption}: the others"), &more, &anchor);
                (folded("more", &counted(&more), &rest, &format!("the rankings, {caption}")))
            }
        }
    }
}

/// The summary line of folded rows.
fn counted(more: &[LeaderRow<'_>]) -> String {
    if more.iter().all(|row| row.verdict.is_none()) {
        format!("{} more with only one contender", more.len())
    } else {
        format!("{} more", more.len())
    }
}

fn rows(caption: &str, rows: &[LeaderRow<'_>], anchor: impl Fn(usize) -> String) -> Markup {
    let titles = [
        "promise and workload",
        "leader",
        "ahead of the second",
        "verdict",
    ];
    html! {
        table class="answer" {
            caption { (caption) }
            thead { tr { @for title in titles { th scope="col" { (title) } } } }
            tbody { @for row in rows { (row.written(&anchor(row.subject.index))) } }
        }
    }
}

impl LeaderRow<'_> {
    fn written(&self, anchor: &str) -> Markup {
        html! {
            tr {
                th scope="row" {
                    a href={ "#" (anchor) } { (subject::short(self.subject)) }
                    " "
                    small class="promise" { (subject::promise(self.subject)) }
                }
                (self.figures())
            }
        }
    }

    /// The cells after the row's heading: leader, lead, verdict.
    fn figures(&self) -> Markup {
        let (words, class) = match self.verdict {
            Some(verdict) => (verdict.label(), tile_class(verdict)),
            None => ("only contender", "only"),
        };
        html! {
            td { strong { (self.leader) } " " small { (self.rate) } }
            td { (self.factor) }
            td {
                span class={ "tile " (class) } { (words) }
                @if !self.others.is_empty() { " " small { (self.others) } }
            }
        }
    }
}

/// The cells of a ranking in a table of leaders, after the row's heading.
pub(crate) fn figures(ranking: &RankingAnswer) -> Markup {
    ranked(ranking).figures()
}

fn rate(per_s: f64, subject: &RankingSubject) -> String {
    format!("{} {}/s", number(per_s), subject.unit)
}

/// The figure that orders the ranking: the leader's rate, or at one rate its response time.
fn leading_figure(ranking: &RankingAnswer) -> String {
    let leader = ranking.leader();
    let response = leader.latency.as_ref().filter(|one| one.is_response);
    match response {
        Some(response) => format!("p99 response {}", nanoseconds(response.p99_ns)),
        None => rate(leader.rate_per_s, &ranking.subject) + &words::work_note(leader),
    }
}

fn ranked(ranking: &RankingAnswer) -> LeaderRow<'_> {
    let leader = ranking.leader();
    let no_order = matches!(
        ranking.verdict,
        RankingVerdict::NoOrder | RankingVerdict::RateNotKept
    );
    let second = ranking.rows.get(1).map_or("", |row| row.contender.as_str());
    let factor = ranking.lead.map(|lead| factor(lead, second));
    LeaderRow {
        subject: &ranking.subject,
        leader: if no_order {
            "none".to_owned()
        } else {
            leader.contender.clone()
        },
        rate: if no_order {
            String::new()
        } else {
            leading_figure(ranking) + &kept_note(leader.objective.as_ref())
        },
        factor: factor.filter(|_| !no_order).unwrap_or_default(),
        others: if no_order {
            String::new()
        } else {
            describe_others(ranking.verdict, &ranking.inconclusive)
        },
        verdict: Some(ranking.verdict),
    }
}

/// The contenders that are not distinguished from the leader: `against gtm`, `to distinguish it
/// from gtm and 3 more`.
fn describe_others(verdict: RankingVerdict, names: &[String]) -> String {
    let words = match verdict {
        RankingVerdict::TooFewRepeats => "to distinguish it from",
        RankingVerdict::Equal => "to",
        _ => "against",
    };
    match names {
        [] => String::new(),
        [one] => format!("{words} {one}"),
        [first, more @ ..] => format!("{words} {first} and {} more", more.len()),
    }
}

/// The class of a verdict's tile in the style sheet, which sets the color.
fn tile_class(verdict: RankingVerdict) -> &'static str {
    match verdict {
        RankingVerdict::Leader | RankingVerdict::Equal => "significant",
        RankingVerdict::SameWithin | RankingVerdict::TooNoisy | RankingVerdict::Undecided => {
            "inconclusive"
        }
        RankingVerdict::TooFewRepeats => "few",
        RankingVerdict::NoOrder | RankingVerdict::RateNotKept => "none",
    }
}

/// The leader's rate over the second's: `2.67 × sqlite (2.4–2.9)`.
fn factor(lead: LeaderShare, second: &str) -> String {
    let interval = lead.interval.map_or_else(String::new, |interval| {
        format!(" ({}–{})", number(interval.low), number(interval.high))
    });
    format!("{} × {second}{interval}", number(lead.estimate))
}
