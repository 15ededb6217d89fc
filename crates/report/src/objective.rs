//! The objective of a plan beside the contenders of a ranking, in words.

use trueput_findings::answer::{Answer, RankingAnswer, UnrankedReason};
use trueput_findings::capacity::Violation;
use trueput_findings::objective::ObjectiveResult;
use trueput_findings::rankings::Ranking;
use trueput_findings::units::{counted, per_cent, plural, seconds, separate};
use trueput_record::objective::{Objective, ObjectiveLimit, ObjectiveMetric};

/// Whether the repeats kept the objective: `kept`, `not kept`, `kept in 3 of 5`.
pub(crate) fn kept_text(result: &ObjectiveResult) -> String {
    match result.held {
        held if held == result.repeats => "kept".to_owned(),
        0 => "not kept".to_owned(),
        held => format!("kept in {held} of {}", result.repeats),
    }
}

/// The same in parentheses, after a figure; empty if nothing was judged.
pub(crate) fn kept_note(result: Option<&ObjectiveResult>) -> String {
    result.map_or_else(String::new, |it| format!(" (objective {})", kept_text(it)))
}

/// Why contenders did not keep the objective, a sentence each.
pub(crate) fn missed(ranking: &Ranking, objective: Option<&Objective>) -> Vec<String> {
    let Some(objective) = objective else {
        return Vec::new();
    };
    let sentence = |(name, result): (String, &ObjectiveResult)| {
        let reasons = result.violations.iter().map(violation);
        let missed = result.repeats - result.held;
        (missed > 0).then(|| {
            format!(
                "{name} missed {objective} in {missed} of {}: {}.",
                counted(result.repeats as u64, "repeat"),
                reasons.collect::<Vec<_>>().join("; ")
            )
        })
    };
    let judged = ranking.contenders();
    let judged = judged.filter_map(|cell| Some((cell.name(), cell.objective.as_ref()?)));
    judged.filter_map(sentence).collect()
}

/// That the objective was not judged, or not everywhere, and how it would be; `None` if it was, or
/// there is none.
pub(crate) fn not_judged(answer: &Answer) -> Option<String> {
    let objective = answer.objective.as_ref()?;
    let rows = |ranking: &RankingAnswer| ranking.rows.iter().all(|row| row.objective.is_none());
    let others = || {
        let others = answer.not_ranked.iter();
        others.filter(|other| other.reason != UnrankedReason::Harness)
    };
    let is_judged =
        !answer.rankings.iter().all(rows) || others().any(|other| other.row.objective.is_some());
    if !is_judged {
        return Some(format!(
            "Objective {objective}: not judged. It limits response times, which need a rate: add \
             --rate, or find the highest one with trueput capacity."
        ));
    }
    let rankings = answer.rankings.iter().map(|ranking| &ranking.subject);
    let mut subjects = rankings.chain(others().map(|other| &other.subject));
    let has_closed_loops = subjects.any(|subject| subject.rate_per_s.is_none());
    has_closed_loops.then(|| {
        format!("Objective {objective}: judged at fixed rates only. Response times need a rate.")
    })
}

/// The first limit of a metric of response times, for a chart of them.
pub(crate) fn time_limit(
    objective: Option<&Objective>,
    is_wanted: impl Fn(ObjectiveMetric) -> bool,
) -> Option<ObjectiveLimit> {
    let limits = objective?.limits().iter();
    let mut times = limits.filter(|limit| limit.metric != ObjectiveMetric::Errors);
    times.find(|limit| is_wanted(limit.metric)).copied()
}

/// Why a trial did not keep an objective, in words.
pub(crate) fn violation(violation: &Violation) -> String {
    match violation {
        Violation::Limit(figure) => match figure.kind.as_str() {
            "" => format!("{} of requests conflicted", per_cent(figure.value)),
            kind => format!("{kind} {} {}", figure.metric, seconds(figure.value)),
        },
        Violation::Backlog {
            requests,
            oldest_wait_s,
        } => format!(
            "it fell behind by {} {} ({} late at the end)",
            separate(&requests.to_string()),
            if *requests == 1 {
                "request".to_owned()
            } else {
                plural("request")
            },
            seconds(*oldest_wait_s)
        ),
        Violation::Trial { message } => message.clone(),
    }
}
