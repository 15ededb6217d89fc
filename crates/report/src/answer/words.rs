//! The sentences of an answer: verdicts, failures, the next step.

use crate::answer::decision;
use crate::answer::layout::MARKED;
use crate::answer::name_list::{all_listed, listed};
use crate::answer::table::{interval_ends, share_text};
use crate::sections::hosts;
use crate::significance;
use std::collections::BTreeSet;
use trueput_findings::answer::{
    Answer, AnswerRow, FailureKind, LeaderShare, NextStep, RankingAnswer, RankingSubject,
    RankingVerdict, RowVerdict, UnrankedReason,
};
use trueput_findings::eligibility::UnrankedStatus;
use trueput_findings::marks::{Mark, MarkKind};
use trueput_findings::statistics::{Disturbance, InconclusiveReason};
use trueput_findings::text::capitalized;
use trueput_findings::units::{bytes, counted, number, plural, setting_value};
use trueput_record::VerifyLevel;
use trueput_record::skipped::{SkipKind, SkippedPart};

const REFUTED: &str =
    "[REFUTED]: an audit here refuted its promise, so it is not ranked; --full explains it.";

const DOUBTFUL_PROMISE: &str = "[promise in doubt]: a known fault at times breaks what the \
    engine's documentation promises; --full explains it.";

const UNVERIFIED_FLUSHES: &str = "[flushes not verified]: no counter shows whether its commits \
    reached storage; --full explains it.";

const WORKAROUND: &str =
    "[workaround]: extra work of the driver, which affects rates; --full explains it.";

/// The parameters that all trials share.
pub(crate) fn common(answer: &Answer) -> Option<String> {
    let pairs = answer
        .common
        .iter()
        .map(|(name, value)| format!("{name}={}", setting_value(name, value)));
    let objective = answer.objective.iter();
    let pairs = pairs.chain(objective.map(|objective| format!("objective={objective}")));
    let pairs: Vec<_> = pairs.collect();
    (!pairs.is_empty()).then(|| format!("With {}.", pairs.join(", ")))
}

/// A warning that the leader, or where there is none the weakest, permits anomalies that others
/// prevent.
pub(super) fn weaker_isolation(ranking: &RankingAnswer) -> Option<String> {
    let weaker = ranking.weaker_isolation.as_ref()?;
    let stronger: Vec<_> = weaker.stronger.iter().map(String::as_str).collect();
    Some(format!(
        "{} has weaker isolation ({}) than {}: --split-by isolation.",
        weaker.contender,
        weaker.level,
        listed(&stronger)
    ))
}

/// On how many hosts the order of the first contenders holds, and how far the hosts differ; `None`
/// if repeats ran on one.
pub(super) fn hosts(ranking: &RankingAnswer) -> Option<String> {
    Some(hosts::sentence(ranking.hosts.as_ref()?))
}

/// The marks whose meanings are shorter here, or are those of the heading.
const OTHERWISE_EXPLAINED: [MarkKind; 5] = [
    MarkKind::RefutedPromise,
    MarkKind::DoubtfulPromise,
    MarkKind::UnverifiedFlushes,
    MarkKind::Workaround,
    MarkKind::InMemory,
];

/// The meanings of the other marks, one of each kind: the explanation if all have the same, else
/// what they have in common.
fn explained_legends(answer: &Answer) -> Vec<String> {
    let mut kinds: Vec<(&Mark, bool)> = Vec::new();
    let marks = rows(answer).flat_map(|row| &row.marks);
    for mark in marks.filter(|mark| !OTHERWISE_EXPLAINED.contains(&mark.kind)) {
        if let Some((first, is_same)) = kinds.iter_mut().find(|(it, _)| it.kind == mark.kind) {
            *is_same &= first.explanation == mark.explanation;
        } else {
            kinds.push((mark, true));
        }
    }
    let legends = kinds.into_iter().map(|(mark, is_same)| {
        if is_same {
            format!("[{}]: {}.", mark.label, mark.explanation)
        } else {
            let meaning = common_meaning(mark.kind);
            format!("[{}]: {meaning}; --full explains it.", mark.label)
        }
    });
    legends.collect()
}

/// What all marks of a kind mean, whatever else the explanation of each says.
fn common_meaning(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::RefutedPromise => "an audit here refuted its promise",
        MarkKind::UnsafeStorage | MarkKind::InMemory => "nothing survives lost power",
        MarkKind::UnverifiedRecord => "its record cannot be checked",
        MarkKind::KnownDefect => "it has a known fault with these settings",
        MarkKind::Assertions => "built with assertions",
        MarkKind::LoadGenerator => "a host that ran workers may have limited it",
        MarkKind::DoubtfulPromise => "a known fault breaks its promise at times",
        MarkKind::UncheckedIsolation => "its stated isolation could not be tested",
        MarkKind::UnresolvedStorage => "what survives lost power is not known",
        MarkKind::WritersLate => "its writers fell short of their rate",
        MarkKind::Overrun => "it ran for much longer than it was to",
        MarkKind::UnverifiedFlushes => "no counter shows whether its commits reached storage",
        MarkKind::Workaround => "extra work of the driver, which affects rates",
        MarkKind::Emulated => "it does not have the operation, and others did its work",
    }
}

/// The meanings of the marks that a contender has.
pub(super) fn mark_legends(answer: &Answer) -> impl Iterator<Item = String> {
    let legends = [
        (MarkKind::RefutedPromise, REFUTED),
        (MarkKind::DoubtfulPromise, DOUBTFUL_PROMISE),
        (MarkKind::UnverifiedFlushes, UNVERIFIED_FLUSHES),
        (MarkKind::Workaround, WORKAROUND),
    ];
    let legends = legends.into_iter();
    let shown = legends.filter(|(kind, _)| has_mark(answer, *kind));
    let shown = shown.map(|(_, text)| text.to_owned());
    explained_legends(answer).into_iter().chain(shown)
}

/// The meanings of the sign in the place of marks, in a line: `* flushes not verified: sqlite`;
/// `None` if no row has marks.
pub(crate) fn signed_marks<'a>(rows: impl Iterator<Item = &'a AnswerRow>) -> Option<String> {
    let mut labels: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        for mark in &row.marks {
            match labels.iter_mut().find(|(label, _)| *label == mark.label) {
                Some((_, names)) if names.contains(&&*row.plain_name) => {}
                Some((_, names)) => names.push(&row.plain_name),
                None => labels.push((&mark.label, vec![&row.plain_name])),
            }
        }
    }
    let clauses = labels.iter();
    let clauses = clauses.map(|(label, names)| format!("{label}: {}", all_listed(names)));
    let clauses: Vec<_> = clauses.collect();
    (!clauses.is_empty()).then(|| format!("{MARKED} {}.", clauses.join("; ")))
}

/// The name of a contender, with a sign in the place of its marks.
pub(crate) fn signed_name(row: &AnswerRow) -> String {
    if row.marks.is_empty() {
        row.plain_name.clone()
    } else {
        format!("{}{MARKED}", row.plain_name)
    }
}

fn has_mark(answer: &Answer, kind: MarkKind) -> bool {
    rows(answer).any(|row| row.marks.iter().any(|mark| mark.kind == kind))
}

/// The rows of an answer, ranked or not.
fn rows(answer: &Answer) -> impl Iterator<Item = &AnswerRow> {
    let ranked = answer.rankings.iter();
    let ranked = ranked.flat_map(|ranking| ranking.rows.iter().chain(&ranking.not_comparable));
    ranked.chain(answer.not_ranked.iter().map(|other| &other.row))
}

/// What the operations of a second did, after their rate, if one does more than one thing.
pub(crate) fn work_note(row: &AnswerRow) -> String {
    row.work.as_ref().map_or_else(String::new, |work| {
        format!(" ({} {}/s)", number(work.per_s), work.what)
    })
}

/// That a contender outside of rankings did not keep the offered rate, after its rate.
pub(super) fn rate_note(row: &AnswerRow) -> &'static str {
    if row.kept_rate == Some(false) {
        " (offered rate not kept)"
    } else {
        ""
    }
}

/// The sizes of these contenders' databases before and after the engines' own compactions, and the
/// contenders that made none; `None` if none was requested.
pub(super) fn compactions<'a>(rows: impl Iterator<Item = &'a AnswerRow>) -> Option<String> {
    let (mut sizes, mut without) = (Vec::new(), Vec::new());
    for row in rows {
        let Some(compaction) = row.compaction else {
            continue;
        };
        let name = &row.plain_name;
        match compaction.after_bytes {
            Some(after) => sizes.push(format!(
                "{name} {} to {}",
                bytes(compaction.before_bytes),
                bytes(after)
            )),
            None => without.push(name.as_str()),
        }
    }
    let compacted = (!sizes.is_empty()).then(|| format!("Compaction: {}.", sizes.join(", ")));
    let without = (!without.is_empty()).then(|| {
        let names = all_listed(&without);
        format!("Not compacted, as the driver has no compaction for it: {names}.")
    });
    let said: Vec<_> = compacted.into_iter().chain(without).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// The kinds of operations to which the latencies of rows belong, if those differ from the ones
/// whose rate is shown; a sentence for each pair of kinds.
pub(super) fn latency_kinds(answer: &Answer) -> Option<String> {
    let mut sentences: Vec<String> = Vec::new();
    for ranking in &answer.rankings {
        let sentence = latency_kinds_of(ranking);
        sentences.extend(sentence.filter(|text| !sentences.contains(text)));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn latency_kinds_of(ranking: &RankingAnswer) -> Option<String> {
    let unit = &ranking.subject.unit;
    let timed = ranking.rows.iter().filter_map(|row| row.latency.as_ref());
    let is_response = timed.clone().any(|latency| latency.is_response);
    let kinds: BTreeSet<_> = timed.map(|latency| plural(&latency.kind)).collect();
    if kinds.iter().all(|kind| kind == unit) {
        return None;
    }
    let kinds: Vec<_> = kinds.iter().map(String::as_str).collect();
    let subject = format!("{unit}/s counts {unit}; p99");
    Some(if is_response && kinds.len() > 1 {
        let kinds = kinds.join(" or ");
        format!("{subject} response is that of the kind that users waited longest for: {kinds}.")
    } else {
        let response = if is_response { " response" } else { "" };
        format!(
            "{subject}{response} is the latency of {}.",
            all_listed(&kinds)
        )
    })
}

/// A share differs visibly from the ratio of the rates beside it.
const VISIBLE_DIFFERENCE: f64 = 0.02;

/// That shares are not the ratios of the medians beside them, where a reader would notice.
pub(super) fn medians(answer: &Answer) -> Option<String> {
    let differs = |ranking: &&RankingAnswer| {
        let leader_per_s = ranking.leader().rate_per_s;
        let differs = |row: &AnswerRow| {
            let share = row.of_leader.map(|share| share.estimate);
            share.is_some_and(|share| {
                (share - row.rate_per_s / leader_per_s).abs() > VISIBLE_DIFFERENCE
            })
        };
        ranking.subject.rate_per_s.is_none() && ranking.rows.iter().any(differs)
    };
    let is_notable = answer.rankings.iter().any(|ranking| differs(&ranking));
    is_notable.then(|| {
        "Rates are medians; rate/best is the mean ratio of the repeats in pairs.".to_owned()
    })
}

/// Says that no promise was audited, if so.
pub(super) fn not_audited(answer: &Answer) -> Option<String> {
    let text = "Not audited: \"trueput audit\" tests promises by simulated power cuts.";
    answer.not_audited.then(|| text.to_owned())
}

/// The states in which the promises of a ranking were audited; `None` where no audit counts.
pub(super) fn audited_states(subject: &RankingSubject) -> Option<String> {
    let audit = subject.audit.as_ref();
    audit.filter(|_| subject.counts_audits())?.states()
}

/// The engines whose workers were threads, if others ran processes.
pub(super) fn worker_kinds(answer: &Answer) -> Option<String> {
    let threads = answer.threads.join(", ");
    (!threads.is_empty())
        .then(|| format!("Workers are processes; threads for {threads}, which allow one process."))
}

/// The lines of the record that are left out because they cannot be read.
pub(super) fn damaged(answer: &Answer) -> Option<String> {
    match answer.damaged_lines.as_slice() {
        [] => None,
        [line] => Some(format!(
            "Line {line} of trials.jsonl is damaged and left out."
        )),
        [first, ..] => Some(format!(
            "{} lines of trials.jsonl are damaged and left out; the first is line {first}.",
            answer.damaged_lines.len()
        )),
    }
}

/// The disturbances of the run: `Busy machine: identical trials differed by 28 %. Ignore smaller
/// differences.`
pub(crate) fn disturbed(disturbances: &[Disturbance]) -> Option<String> {
    let clauses = disturbances.iter();
    let clauses: Vec<_> = clauses.map(Disturbance::to_string).collect();
    let advice = disturbances.iter().find_map(|one| match one {
        Disturbance::Spread { .. } if disturbances.len() == 1 => {
            Some(" Ignore smaller differences.".to_owned())
        }
        Disturbance::Spread { share } => {
            Some(format!(" Ignore differences below {:.0} %.", share * 100.0))
        }
        Disturbance::OtherPrograms { .. } | Disturbance::Hypervisor { .. } => None,
    });
    let advice = advice.unwrap_or_default();
    (!clauses.is_empty()).then(|| format!("Busy machine: {}.{advice}", clauses.join("; ")))
}

/// The significant and the inconclusive differences of a ranking, in one sentence.
pub(crate) fn verdict_sentence(ranking: &RankingAnswer) -> String {
    if let Some(decision) = &ranking.decision {
        return decision::verdict(decision, true);
    }
    let others: Vec<_> = ranking.inconclusive.iter().map(String::as_str).collect();
    let in_short = |reason| {
        let slower = others_slower(ranking);
        let clause = inconclusive(ranking, reason, &others, listed);
        format!("{clause}{slower}.{}", detectable(ranking, reason))
    };
    match ranking.verdict {
        RankingVerdict::Leader => leads(ranking),
        RankingVerdict::SameWithin => in_short(InconclusiveReason::Same),
        RankingVerdict::TooNoisy => in_short(InconclusiveReason::Noise),
        RankingVerdict::TooFewRepeats => in_short(InconclusiveReason::TooFewRepeats),
        RankingVerdict::NoOrder => {
            "No order: the contenders differ by less than identical trials did on this busy \
             machine."
                .to_owned()
        }
        RankingVerdict::RateNotKept => "No contender kept the offered rate.".to_owned(),
        // Only a decision has these.
        RankingVerdict::Equal => in_short(InconclusiveReason::Equal),
        RankingVerdict::Undecided => in_short(InconclusiveReason::Undecided),
    }
}

/// Like [`verdict_sentence`] with every name, one sentence for each reason why contenders are not
/// distinguished.
pub(crate) fn findings(ranking: &RankingAnswer) -> Vec<String> {
    if let Some(decision) = &ranking.decision {
        return vec![decision::verdict(decision, false)];
    }
    if matches!(
        ranking.verdict,
        RankingVerdict::Leader | RankingVerdict::NoOrder | RankingVerdict::RateNotKept
    ) {
        return vec![verdict_sentence(ranking)];
    }
    let leader = ranking.leader().contender.as_str();
    let of_reason = |reason: InconclusiveReason| {
        let others = ranking.rows.iter();
        let others = others.filter(|row| row.verdict == RowVerdict::Inconclusive(reason));
        let others: Vec<_> = others.map(|row| row.contender.as_str()).collect();
        (!others.is_empty()).then(|| {
            let clause = inconclusive(ranking, reason, &others, all_listed);
            format!("{clause}.{}", detectable(ranking, reason))
        })
    };
    let reasons = [
        InconclusiveReason::Noise,
        InconclusiveReason::TooFewRepeats,
        InconclusiveReason::Same,
    ]
    .into_iter();
    let mut sentences: Vec<_> = reasons.filter_map(of_reason).collect();
    let slower = ranking
        .rows
        .iter()
        .filter(|row| row.verdict == RowVerdict::Slower);
    let slower: Vec<_> = slower.map(|row| row.contender.as_str()).collect();
    if !slower.is_empty() {
        let are = if slower.len() == 1 { "is" } else { "are" };
        sentences.push(format!(
            "Slower than {leader} {are} {}.",
            all_listed(&slower)
        ));
    }
    sentences
}

/// Why nothing is claimed of the leader and these contenders.
fn inconclusive(
    ranking: &RankingAnswer,
    reason: InconclusiveReason,
    others: &[&str],
    listed: fn(&[&str]) -> String,
) -> String {
    let leader = ranking.leader().contender.as_str();
    let all: Vec<_> = std::iter::once(leader)
        .chain(others.iter().copied())
        .collect();
    let repeats = repeats(ranking);
    match reason {
        InconclusiveReason::Same => format!("{} are the same within 1 %", listed(&all)),
        InconclusiveReason::Equal => format!("{} are equal", listed(&all)),
        InconclusiveReason::Noise | InconclusiveReason::Undecided => format!(
            "Inconclusive: {repeats} show no difference between {}",
            listed(&all)
        ),
        InconclusiveReason::TooFewRepeats => format!(
            "Inconclusive: {repeats} cannot distinguish {leader} from {}",
            listed(others)
        ),
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
    let at_rate = ranking.subject.rate_per_s.is_some();
    let sure = confidence(share, at_rate);
    let name = &second.contender;
    if at_rate {
        format!(
            "{leader} responds first: {name} takes {} times as long{sure}.",
            number(share.estimate)
        )
    } else {
        format!(
            "{leader} leads: {name} reaches {} of its rate{sure}.",
            share_text(share, false)
        )
    }
}

/// An interval and its level, in brackets.
fn confidence(share: LeaderShare, at_rate: bool) -> String {
    share.interval.map_or_else(String::new, |interval| {
        // Rounded down: no interval has 100 %.
        let level = format!("{:.1}", (interval.level * 1_000.0).floor() / 10.0);
        let ends = interval_ends(share, at_rate).unwrap_or_default();
        let unit = if at_rate { "" } else { " %" };
        format!(
            " ({ends}{unit}, {} % confidence)",
            level.trim_end_matches(".0")
        )
    })
}

/// Number of repeats of the inconclusive contenders: `5 repeats`.
fn repeats(ranking: &RankingAnswer) -> String {
    let others = ranking
        .rows
        .iter()
        .filter(|row| row.verdict.is_inconclusive());
    let fewest = others.map(|row| row.repeats).min();
    let fewest = fewest.unwrap_or_default().min(ranking.leader().repeats);
    counted(fewest as u64, "repeat")
}

/// The smallest difference that the repeats would have shown, as a sentence that begins with a
/// space; empty if it is not known, or if the contenders are shown to be the same.
fn detectable(ranking: &RankingAnswer, reason: InconclusiveReason) -> String {
    let smallest = ranking.smallest_ratio;
    let smallest = smallest.filter(|_| reason != InconclusiveReason::Same);
    smallest.map_or_else(String::new, |smallest| {
        format!(
            " {}.",
            capitalized(&significance::detectable(smallest, reason))
        )
    })
}

/// The contenders that are significantly slower than the leader, if others are not, as a clause.
fn others_slower(ranking: &RankingAnswer) -> String {
    let slower = |row: &&AnswerRow| row.verdict == RowVerdict::Slower;
    let slower: Vec<_> = ranking.rows.iter().filter(slower).collect();
    match slower.as_slice() {
        [] => String::new(),
        [one] => format!("; {} is slower", one.contender),
        several => format!("; the {} others are slower", several.len()),
    }
}

/// Counts of trials by outcome: `first-look: 145 trials: 140 valid, 5 FAILED; all verified`.
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
        .map(|(count, outcome)| {
            if count == counts.planned && outcome == "valid" {
                "all valid".to_owned()
            } else {
                format!("{count} {outcome}")
            }
        })
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

/// Extent of the verification of the trials with figures.
fn verified(answer: &Answer) -> String {
    let ranked = answer.rankings.iter().flat_map(|ranking| &ranking.rows);
    let others = answer.not_ranked.iter();
    // The null engine keeps nothing that could be verified.
    let others = others.filter(|other| other.reason != UnrankedReason::Harness);
    let others = others.map(|other| &other.row);
    let levels: Vec<_> = ranked.chain(others).map(|row| row.verified).collect();
    let full = |level: &&Option<VerifyLevel>| **level == Some(VerifyLevel::Full);
    let all = levels.len();
    let unverified = answer
        .failures
        .iter()
        .filter(|kind| kind.status == UnrankedStatus::Unverified);
    let unverified: usize = unverified.map(|kind| kind.trials).sum();
    let is_sample = |level: &Option<VerifyLevel>| *level == Some(VerifyLevel::Sample);
    match levels.iter().filter(full).count() {
        _ if unverified > 0 => format!("; {unverified} not verified"),
        _ if all == 0 => String::new(),
        full if full == all && answer.reads_compared_whole => {
            "; every read and every stored record verified to the last byte".to_owned()
        }
        full if full == all => "; every stored record verified".to_owned(),
        _ if levels.iter().all(Option::is_none) => "; nothing verified".to_owned(),
        _ if levels.iter().all(is_sample) => "; totals and a sample of records verified".to_owned(),
        full => format!("; every record verified of {full} of {all} contenders"),
    }
}

/// One kind of failure: `FAILED: 3 trials of canopydb: write conflict`.
pub(crate) fn failure(kind: &FailureKind) -> String {
    format!(
        "{}: {} of {}: {}",
        kind.status,
        counted(kind.trials as u64, "trial"),
        listed(
            &kind
                .contenders
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
        ),
        kind.reason
    )
}

/// Everything that is skipped, in one line.
pub(super) fn skipped(skipped: &[SkippedPart]) -> Option<String> {
    match skipped {
        [] => None,
        [one] => Some(format!("Skipped: {}", one.sentence)),
        several => {
            let of_kind = |kind| {
                let parts = several.iter().filter(move |one| one.kind == kind);
                parts.map(|one| one.sentence.as_str())
            };
            // Problems that the user can fix come first.
            let found = of_kind(SkipKind::Other).chain(of_kind(SkipKind::Level));
            let found: Vec<_> = found.collect();
            Some(format!("Skipped ({}): {}", several.len(), found.join("; ")))
        }
    }
}

/// The next step, with its command.
pub(super) fn next_step(step: &NextStep) -> String {
    let command = step.command().join(" ");
    match step {
        NextStep::Resume { .. } => format!("To go on: {command}"),
        NextStep::Decide { .. } | NextStep::MoreRepeats { .. } => {
            format!("{}: {command}", distinguishing(step))
        }
    }
}

/// What a step that distinguishes contenders is for, and the time that it takes.
pub(crate) fn distinguishing(step: &NextStep) -> String {
    match step {
        NextStep::Decide {
            more_s: Some(more_s),
            ..
        } => format!(
            "To distinguish them (about {} more)",
            decision::seconds(*more_s)
        ),
        NextStep::MoreRepeats {
            takes_s: Some(takes_s),
            ..
        } => format!(
            "To distinguish them (about {})",
            decision::seconds(*takes_s)
        ),
        _ => "To distinguish them".to_owned(),
    }
}
