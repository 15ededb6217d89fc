//! The section on planned faults.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use trueput_findings::failover::{self, FailoverFindings, FailoverTotals, FaultEffect};
use trueput_findings::trial_names::TrialNames;
use trueput_findings::units::{counted, seconds};
use trueput_record::TrialRecord;
use trueput_record::failover::Failover;

/// What planned faults did.
pub(crate) struct PlannedFaults;

impl Section for PlannedFaults {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let trials: Vec<_> = failover::trials_with_faults(input.run).collect();
        let rows: Vec<_> = trials
            .iter()
            .flat_map(|one| rows(*one, &input.names))
            .collect();
        let commits: Vec<_> = trials
            .iter()
            .map(|(trial, failover)| (input.names.trial(trial), *failover))
            .collect();
        let blocks = [
            Block::Table(fault_table(&rows)),
            Block::Table(commit_table(&commits)),
        ];
        let blocks = blocks.into_iter().filter_map(Block::filled);
        Part::with_text("Planned faults", ABOUT, blocks)
    }
}

const ABOUT: &str = "The gap is the longest time until the next fault in which no worker's commit \
    was acknowledged; ≥ if it had not ended then. Gap before: the longest one before the first \
    fault. The rate is back when, after it had fallen, commits are acknowledged over a second at \
    nine tenths of the rate before the first fault. Each write transaction also puts its number \
    into a record of its worker's own. From that the worker learns, on the new leader, whether a \
    commit without an answer took effect, and how many acknowledged commits are missing. Visible, \
    then lost: a commit without an answer was there after one fault and missing after another; \
    nothing is promised for it. Late: it took effect after it had been repeated.";

/// A fault in a trial.
struct FaultRow {
    trial: String,
    at_s: f64,
    order: String,
    nodes: String,
    gap: String,
    recovered_after_s: Option<f64>,
}

fn rows((trial, failover): (&TrialRecord, &Failover), names: &TrialNames) -> Vec<FaultRow> {
    let rows = failover.faults.iter().map(|fault| {
        let nodes: Vec<_> = fault.nodes.iter().map(u32::to_string).collect();
        FaultRow {
            trial: names.trial(trial),
            at_s: fault.at_s,
            order: fault.order.clone(),
            nodes: nodes.join(", "),
            gap: at_least(seconds(fault.gap_s), fault.gap_is_open),
            recovered_after_s: fault.recovered_after_s,
        }
    });
    rows.collect()
}

fn fault_table(rows: &[FaultRow]) -> Table {
    Table::of(rows)
        .text("trial", 0, |row| &row.trial)
        .text("fault", 0, |row| &row.order)
        .figures("at", 1, |row| seconds(row.at_s))
        .text("nodes", 2, |row| &row.nodes)
        .figures("gap", 0, |row| &row.gap)
        .figures("rate back after", 0, |row| {
            row.recovered_after_s
                .map_or_else(|| "–".to_owned(), seconds)
        })
        .build()
}

fn commit_table(rows: &[(String, &Failover)]) -> Table {
    let longest = |failover: &Failover| {
        let gaps = failover.worker_gaps_s.iter().copied();
        gaps.reduce(f64::max).unwrap_or_default()
    };
    Table::of(rows)
        .text("trial", 0, |(trial, _)| trial)
        .figures("missing", 0, |(_, it)| it.missing)
        .figures("unknown", 0, |(_, it)| it.unknown())
        .figures("of them committed", 1, |(_, it)| it.unknown_committed)
        .figures("visible, then lost", 1, |(_, it)| it.visible_then_lost)
        .figures("late", 2, |(_, it)| it.late)
        .figures("repeated", 2, |(_, it)| it.repeated)
        .figures("reconnections", 3, |(_, it)| it.reconnections)
        .figures("gap before", 2, |(_, it)| seconds(it.usual_gap_s))
        .figures("longest gap of a worker", 1, move |(_, it)| {
            seconds(longest(it))
        })
        .build()
}

/// The effects in a sentence for each contender: `postgresql-cluster: kill=leader: nobody commits
/// for 1.11 s; the rate is back after 1.2 s. No acknowledged commit is missing; 2 unknown outcomes
/// (1 committed).`
pub(crate) fn sentences(found: &FailoverFindings) -> Vec<String> {
    let of_contender = |totals: &FailoverTotals| {
        let effects = found.effects.iter();
        let effects = effects.filter(|effect| effect.contender == totals.contender);
        let effects: Vec<_> = effects.map(effect_in_words).collect();
        let contender = &totals.contender;
        format!(
            "{contender}: {}. {}",
            effects.join("; "),
            commits_in_words(totals)
        )
    };
    found.totals.iter().map(of_contender).collect()
}

fn effect_in_words(effect: &FaultEffect) -> String {
    let back = match effect.recovered_after_s {
        Some((_, 0.0)) => "the rate did not fall".to_owned(),
        Some(times_s) => format!("rate back after {}", range(times_s)),
        None => "rate not back before the next fault or the end".to_owned(),
    };
    let order = match effect.nodes.as_slice() {
        [] => return format!("{}: there was nothing to do", effect.order),
        [node] if !effect.order.contains("=node-") => format!("{} (node-{node})", effect.order),
        _ => effect.order.clone(),
    };
    if effect.gap_s.1 > effect.usual_gap_s {
        format!(
            "{order}: nobody commits for {}, {back}",
            at_least(range(effect.gap_s), effect.gap_is_open)
        )
    } else {
        format!("{order}: no longer gap than before the first fault, {back}")
    }
}

/// A time that may not have ended.
fn at_least(time: String, is_open: bool) -> String {
    if is_open { format!("≥ {time}") } else { time }
}

fn commits_in_words(totals: &FailoverTotals) -> String {
    let missing = match (totals.missing, totals.promised) {
        (0, _) => "No acknowledged commit is missing".to_owned(),
        (missing, Some(promised)) => format!(
            "{} missing (promised to survive: {promised})",
            are(missing, "acknowledged commit")
        ),
        (missing, None) => format!("{} missing", are(missing, "acknowledged commit")),
    };
    let missing = match totals.late {
        0 => missing,
        late => format!("{missing}; {late} took effect twice"),
    };
    let missing = match totals.visible_then_lost {
        0 => missing,
        lost => format!("{missing}; visible, then lost without an answer: {lost}"),
    };
    match totals.unknown {
        0 => format!("{missing}; no unknown outcome."),
        unknown => format!(
            "{missing}; {} ({} committed).",
            counted(unknown, "unknown outcome"),
            totals.unknown_committed
        ),
    }
}

/// `1 commit is`, `2 commits are`.
fn are(count: u64, noun: &str) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(count, noun))
}

/// A range of times: `1.1 s`, `1.1 s to 1.3 s`.
fn range((least_s, most_s): (f64, f64)) -> String {
    let (least, most) = (seconds(least_s), seconds(most_s));
    if least == most {
        most
    } else {
        format!("{least} to {most}")
    }
}
