//! The blocks of a comparison.

use super::caveats::{disturbances, same_library};
use crate::document::{Block, Table};
use crate::sections::tpcc;
use crate::significance::{self, levels};
use std::collections::BTreeSet;
use trueput_findings::compare::{
    CellResult, Change, ChangeSubject, Responses, SideComparison, SideFacts, SideFigure,
};
use trueput_findings::history::rate_of;
use trueput_findings::marks::{Mark, MarkKind, explanations};
use trueput_findings::statistics::{
    Comparison, InconclusiveReason, Interval, MIN_CLAIM, RankTest, Verdict,
};
use trueput_findings::text::{capitalized, joined};
use trueput_findings::units::{bytes, counted, nanoseconds, number, per_cent, plural};

pub(super) const NOTHING_CHANGED: &str = "No recorded change: same machine, same program.";

const HOW_TO_READ: &str = "B/A is the ratio of the geometric mean rates of the compared repeats. \
    For open loops that kept the same rate, it is the ratio of p99 response times of the slowest \
    kind of operation. A difference is claimed if the confidence interval excludes 1, the rank \
    or sign test agrees, and the difference is at least 1 %. If all contenders were equal, a \
    report would claim a difference in fewer than 1 of 20 cases (docs/METHOD.md). \"Detectable\" \
    is the smallest difference that these repeats would show in 4 of 5 cases.";

const APART: &str = "A and B are separate runs, so changes of the machine between them count as \
    differences. Contenders of one run are interleaved and compared pair by pair.";

/// The whole comparison.
#[must_use]
pub fn document(compared: &SideComparison) -> Vec<Block> {
    document_with(compared, true)
}

/// The comparison, with the knobs of different engines or without.
pub(super) fn document_with(compared: &SideComparison, with_knobs: bool) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading(1, "trueput compare".to_owned()),
        Block::List(vec![
            side("A", &compared.first),
            side("B", &compared.second),
        ]),
    ];
    let workloads = compared.results.iter();
    blocks.extend(tpcc::notice_block(
        workloads.map(|result| result.workload.as_str()),
    ));
    blocks.extend(same_library(compared).map(Block::Text));
    let verdicts: Vec<_> = compared.results.iter().map(sentence).collect();
    blocks.push(Block::List(verdicts));
    blocks.extend(disturbed(compared).into_iter().map(Block::Text));
    blocks.extend(Block::Warnings(warnings(compared)).filled());
    blocks.push(Block::Heading(2, "What changed".to_owned()));
    blocks.extend(what_changed(compared, with_knobs));
    blocks.push(Block::Heading(2, "Results".to_owned()));
    blocks.push(Block::Text(HOW_TO_READ.to_owned()));
    if !compared.one_run {
        blocks.push(Block::Text(APART.to_owned()));
    }
    blocks.push(Block::Table(results(compared)));
    if let Some(table) = Block::Table(other_figures(compared)).filled() {
        let text = "Other figures (medians, not tested):";
        blocks.extend([Block::Text(text.to_owned()), table]);
    }
    if let Some(noise) = Block::List(noise(compared)).filled() {
        blocks.extend([Block::Heading(2, "Noise".to_owned()), noise]);
    }
    let only = [("A", &compared.only_first), ("B", &compared.only_second)];
    for (side, names) in only.iter().filter(|(_, names)| !names.is_empty()) {
        let text = format!("Only in {side}, not compared: {}.", joined(names, "; "));
        blocks.push(Block::Text(text));
    }
    blocks
}

/// The disturbances of the runs, one sentence each.
pub(super) fn disturbed(compared: &SideComparison) -> Vec<String> {
    let clauses = disturbances(compared).into_iter();
    clauses
        .map(|clause| format!("{}.", capitalized(&clause)))
        .collect()
}

/// Explanations of marks, pairs that are not compared, and trials that do not count.
pub(super) fn warnings(compared: &SideComparison) -> Vec<String> {
    let mut warnings = explain_marks(compared);
    let refused = compared.incomparable.iter();
    warnings.extend(refused.map(|pair| format!("Not compared: {pair}.")));
    warnings.extend(compared.uncounted.iter().map(ToString::to_string));
    warnings
}

/// Explains the marks of the contenders. Two builds with assertions are compared with each other,
/// but not with a build without.
fn explain_marks(compared: &SideComparison) -> Vec<String> {
    let has_them = |marks: &[Mark]| marks.iter().any(|mark| mark.kind == MarkKind::Assertions);
    let mut marked: Vec<(&str, Vec<Mark>)> = Vec::new();
    let mut alike = BTreeSet::new();
    for result in &compared.results {
        let both_have_them = has_them(&result.first_marks) && has_them(&result.second_marks);
        if both_have_them {
            alike.insert(both(result));
        }
        let sides = [
            (&result.first, &result.first_marks),
            (&result.second, &result.second_marks),
        ];
        for (name, marks) in sides {
            let mut marks = marks.clone();
            marks.retain(|mark| !(both_have_them && mark.kind == MarkKind::Assertions));
            marked.push((name, marks));
        }
    }
    let marks = marked.iter().map(|(name, marks)| (*name, marks.as_slice()));
    let mut sentences = explanations(marks);
    sentences.extend(alike.into_iter().map(|names| {
        format!("{names}: both builds have assertions: not comparable with builds without.")
    }));
    sentences
}

fn side(letter: &str, facts: &SideFacts) -> String {
    format!(
        "{letter}: {}, {}, started {}",
        facts.label, facts.name, facts.started_at
    )
}

/// The description of a side, without its start time.
pub(super) fn side_named(letter: &str, facts: &SideFacts) -> String {
    format!("{letter}: {}", facts.label)
}

/// One result in a sentence.
pub(super) fn sentence(result: &CellResult) -> String {
    let mut subject = format!(
        "{}, {}, {}, {}",
        both(result),
        result.workload,
        result.durability,
        counted(u64::from(result.workers), "worker")
    );
    if let Some(responses) = &result.responses {
        let rate = number(responses.rate_per_s);
        subject += &format!(", {} at {rate}/s", responses_words(responses));
    }
    let comparison = &result.comparison;
    match (comparison.verdict, comparison.ratio) {
        (Verdict::TooFew, _) | (_, None) => format!(
            "{subject}: {} ({} and {} valid repeats, at least 3 needed)",
            Verdict::TooFew.words(),
            result.compared().0.len(),
            result.compared().1.len()
        ),
        (Verdict::NoDifference, Some(ratio)) => {
            format!("{subject}: {}", describe_inconclusive(result, ratio))
        }
        (verdict, Some(ratio)) => format!(
            "{subject}: B is {} by {} ({} to {})",
            verdict.words(),
            per_cent((ratio.estimate - 1.0).abs()),
            per_cent((ratio.low - 1.0).abs().min((ratio.high - 1.0).abs())),
            per_cent((ratio.low - 1.0).abs().max((ratio.high - 1.0).abs()))
        ),
    }
}

/// The reason why no difference is claimed, and the difference that is still possible.
fn describe_inconclusive(result: &CellResult, ratio: Interval) -> String {
    let comparison = &result.comparison;
    let words = result
        .inconclusive
        .unwrap_or(InconclusiveReason::Noise)
        .words();
    match result.inconclusive {
        Some(InconclusiveReason::TooFewRepeats) => format!(
            "{words}: B looks {} by {}{}; use {}",
            match result.seems_slower_by() {
                Some(part) if part > 0.0 => "slower",
                _ => "faster",
            },
            per_cent((ratio.estimate - 1.0).abs()),
            count_agreeing_repeats(result),
            match result.repeats_needed {
                Some(repeats) => format!("{repeats} repeats or more"),
                None => "more repeats".to_owned(),
            }
        ),
        Some(InconclusiveReason::Same) => words.to_owned(),
        Some(InconclusiveReason::Equal | InconclusiveReason::Undecided) => {
            format!("{words} (B/A {:.2} to {:.2})", ratio.low, ratio.high)
        }
        _ => format!("{words}{}", detectable(comparison)),
    }
}

/// The differences that the repeats would have shown, as a clause.
fn detectable(comparison: &Comparison) -> String {
    comparison.smallest_ratio.map_or_else(String::new, |ratio| {
        let clause = significance::detectable(ratio, InconclusiveReason::Noise);
        format!("; {clause}")
    })
}

/// The number of repeats that agree with the ratio.
fn count_agreeing_repeats(result: &CellResult) -> String {
    let comparison = &result.comparison;
    let (of, below) = (
        result.compared().0.len(),
        comparison.ratio.is_some_and(|ratio| ratio.estimate < 1.0),
    );
    let Some(won) = comparison.pairs_won else {
        let apart = comparison.ranks.map(|ranks| ranks.superiority);
        return match apart {
            Some(0.0 | 1.0) => " (in every pair of repeats)".to_owned(),
            _ => String::new(),
        };
    };
    let with_it = if below { of - won } else { won };
    if with_it == of {
        format!(" (in all {of} pairs)")
    } else {
        format!(" (in {with_it} of {of} pairs)")
    }
}

/// The verdict on a result, in a few words.
fn verdict(result: &CellResult) -> &'static str {
    let words = result.comparison.verdict.words();
    result.inconclusive.map_or(words, InconclusiveReason::words)
}

/// The contenders of a result: one name if they are equal.
pub(super) fn both(result: &CellResult) -> String {
    let (first, second) = (result.first_name(), result.second_name());
    if first == second {
        first
    } else {
        format!("{first} → {second}")
    }
}

/// A change with the contenders that it applies to; empty if it applies to the runs.
pub(super) struct ChangeSubjects<'a> {
    pub change: &'a Change,
    pub subjects: Vec<String>,
}

/// The changes, each line once, and notes on omitted ones: the knobs of different engines are
/// unrelated.
pub(super) fn listed_changes(
    compared: &SideComparison,
    with_knobs: bool,
) -> (Vec<ChangeSubjects<'_>>, Vec<String>) {
    let of_runs = compared.changes.iter().map(|change| ChangeSubjects {
        change,
        subjects: Vec::new(),
    });
    let (mut found, mut notes): (Vec<_>, Vec<String>) = (of_runs.collect(), Vec::new());
    let from = found.len();
    for result in &compared.results {
        let of = |subject| result.changes.iter().find(|it| it.subject == subject);
        let engines = of(ChangeSubject::Engine);
        let build = of(ChangeSubject::Build);
        let is_knob = |change: &Change| matches!(change.subject, ChangeSubject::Knob(_));
        if let Some(engines) = engines.filter(|_| !with_knobs && result.changes.iter().any(is_knob))
        {
            let note = format!(
                "{} and {} are different engines: their knobs are not listed; --full lists them.",
                engines.first, engines.second
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let subject = both(result);
        for change in &result.changes {
            let hidden = engines.is_some() && !with_knobs && is_knob(change);
            // A library that is loaded is the build that was named.
            let twice = change.subject == ChangeSubject::Library
                && build.is_some_and(|it| it.first == change.first && it.second == change.second);
            if hidden || twice {
                continue;
            }
            match found[from..]
                .iter_mut()
                .find(|known| known.change == change)
            {
                Some(known) if known.subjects.contains(&subject) => {}
                Some(known) => known.subjects.push(subject.clone()),
                None => found.push(ChangeSubjects {
                    change,
                    subjects: vec![subject.clone()],
                }),
            }
        }
    }
    (found, notes)
}

fn what_changed(compared: &SideComparison, with_knobs: bool) -> Vec<Block> {
    let (found, notes) = listed_changes(compared, with_knobs);
    if found.is_empty() {
        return vec![Block::Text(NOTHING_CHANGED.to_owned())];
    }
    let table = Table::of(&found)
        .text("of", 0, |it| it.subjects.join(", "))
        .text("what", 0, |it| &it.change.subject)
        .text("A", 0, |it| &it.change.first)
        .text("B", 0, |it| &it.change.second);
    let table = Block::Table(table.build());
    let notes = notes.into_iter().map(Block::Text);
    std::iter::once(table).chain(notes).collect()
}

pub(super) fn results(compared: &SideComparison) -> Table {
    let level = levels(compared.results.iter().map(|result| &result.comparison));
    let interval = format!(
        "{} interval",
        level.unwrap_or_else(|| per_cent(compared.level))
    );
    let times = compared.results.iter().filter(|it| it.responses.is_some());
    let measure = match times.count() {
        0 => "mean/s",
        all if all == compared.results.len() => "response p99",
        _ => "mean",
    };
    // A property that differs between rows distinguishes them and is not omitted.
    let tells_apart = |value: &dyn Fn(&CellResult) -> String| {
        let values: BTreeSet<_> = compared.results.iter().map(value).collect();
        if values.len() > 1 { 0 } else { 4 }
    };
    let mean = |values: &[f64], it: &CellResult| match (values.is_empty(), &it.responses) {
        (true, _) => dash(),
        (false, None) => number(rate_of(values).0),
        (false, Some(_)) => nanoseconds(rate_of(values).0),
    };
    let ratio = |show: fn(Interval) -> String| {
        move |it: &CellResult| it.comparison.ratio.map_or_else(dash, show)
    };
    let rank = |show: fn(RankTest) -> String| {
        move |it: &CellResult| it.comparison.ranks.map_or_else(dash, show)
    };
    Table::of(&compared.results)
        .text("contender", 0, both)
        .text(
            "workload",
            tells_apart(&|it| it.workload.clone()),
            workload_with_headline,
        )
        .text(
            "level",
            tells_apart(&|it| it.durability.to_string()),
            |it| it.durability.name(),
        )
        .figures("workers", tells_apart(&|it| it.workers.to_string()), |it| {
            it.workers
        })
        .figures(format!("A {measure}"), 1, |it| mean(it.compared().0, it))
        .figures(format!("B {measure}"), 1, |it| mean(it.compared().1, it))
        .figures("B/A", 0, ratio(|ratio| format!("{:.3}", ratio.estimate)))
        .figures(
            interval,
            0,
            ratio(|ratio| format!("{:.3}–{:.3}", ratio.low, ratio.high)),
        )
        .text("verdict", 0, verdict)
        .figures("repeats", 6, compared_repeats)
        .figures("rank p", 8, rank(|ranks| format!("{:.3}", ranks.p_value)))
        .figures(
            "effect",
            9,
            rank(|ranks| format!("{:.2}", ranks.superiority)),
        )
        .figures("detectable", 7, |it| could_have_shown(&it.comparison))
        .build()
}

/// The workload, with the operation of its rates or response times.
fn workload_with_headline(result: &CellResult) -> String {
    let of = match &result.responses {
        None => plural(&result.headline),
        Some(responses) => responses_words(responses),
    };
    format!("{} ({of})", result.workload)
}

/// The number of compared repeats, and of the pairs that B won.
fn compared_repeats(result: &CellResult) -> String {
    let (first, second) = result.compared();
    let (a, b) = (first.len(), second.len());
    match result.comparison.pairs_won {
        Some(won) => format!("{won} of {a} pairs"),
        None if a == b => a.to_string(),
        None => format!("{a} and {b}"),
    }
}

fn dash() -> String {
    "–".to_owned()
}

fn could_have_shown(comparison: &Comparison) -> String {
    match comparison.smallest_ratio {
        None => dash(),
        Some(ratio) if ratio < 2.0 => per_cent((ratio - 1.0).max(MIN_CLAIM)),
        Some(_) => "over 2x".to_owned(),
    }
}

fn other_figures(compared: &SideComparison) -> Table {
    let write = |figure: &SideFigure, value: f64| match figure.unit {
        "bytes" => bytes(value),
        _ => nanoseconds(value),
    };
    let figures = compared.results.iter().flat_map(|result| {
        let figures = result.other_figures.iter();
        figures.map(move |figure| (result, figure))
    });
    let figures: Vec<_> = figures.collect();
    Table::of(&figures)
        .text("contender", 0, |(result, _)| both(result))
        .text("level", 1, |(result, _)| result.durability.name())
        .text("figure", 0, |(_, figure)| figure.subject)
        .figures("A", 0, |(_, figure)| write(figure, figure.first))
        .figures("B", 0, |(_, figure)| write(figure, figure.second))
        .figures("B/A", 0, |(_, figure)| {
            format!("{:.3}", figure.second / figure.first)
        })
        .build()
}

fn noise(compared: &SideComparison) -> Vec<String> {
    let mut sides = vec![("A", &compared.first)];
    if compared.one_run {
        sides[0].0 = "The run";
    } else {
        sides.push(("B", &compared.second));
    }
    let mut lines = Vec::new();
    for (name, facts) in sides {
        if let Some(noise) = &facts.noise {
            let reasons = noise.reasons.iter();
            lines.extend(reasons.map(|reason| format!("{name}: {reason}.")));
        }
    }
    lines
}

/// The compared response times in words.
fn responses_words(responses: &Responses) -> String {
    let (first, second) = (&responses.first_kind, &responses.second_kind);
    if first == second {
        format!("response p99 of {first}")
    } else {
        format!("response p99 of {first} and {second}")
    }
}
