//! Counts of a run's trials by outcome, and its warnings.

use crate::document::Block;
use crate::sections::header::ReportHeader;
use trueput_findings::Run;
use trueput_findings::eligibility::{Ineligibility, UnrankedStatus};
use trueput_findings::rankings::{Ranking, UnrankedTrial};
use trueput_findings::units::{counted, thousands};

/// The most lines of a list that is not folded.
const MAX_LINES: usize = 12;

/// The blocks after the first chart: outcomes of the trials, warnings, how to read the figures, and
/// everything else before the first section.
pub(crate) fn blocks(
    report: &Run,
    rankings: &[Ranking],
    header: &ReportHeader,
    remarks: Vec<Block>,
) -> Vec<Block> {
    let (warnings, others): (Vec<_>, Vec<_>) = remarks
        .into_iter()
        .partition(|block| matches!(block, Block::Warnings(_)));
    let mut blocks = vec![Block::Text(counts(report))];
    blocks.extend(failures(rankings));
    blocks.extend(header.warnings());
    blocks.extend(warnings);
    blocks.push(header.how_to_read.clone());
    blocks.extend(others);
    blocks
}

/// Counts of the plan's trials by outcome.
fn counts(report: &Run) -> String {
    let totals = report.count_trials();
    let damaged = report.damaged.len();
    let enough = report.end.as_ref().and_then(|end| end.stop_reason);
    let lost = damaged.min(totals.absent);
    let (missing, spared) = match enough {
        Some(_) => (lost, totals.absent - lost),
        None => (totals.absent, 0),
    };
    let endings = [
        (totals.valid, "valid"),
        (totals.invalid, "invalid"),
        (totals.failed, "failed"),
        (totals.interrupted, "interrupted"),
        (missing, "missing"),
        (spared, "spared"),
    ];
    let said = endings.iter().filter(|(count, _)| *count > 0);
    let said: Vec<_> = said
        .map(|(count, outcome)| format!("{} {outcome}", thousands(*count as u64)))
        .collect();
    let mut said = if said.is_empty() {
        "none is planned".to_owned()
    } else {
        said.join(", ")
    };
    if let Some(enough) = enough.filter(|_| spared > 0) {
        said += &format!(", since {}", enough.words());
    }
    if damaged > 0 {
        let (lines, are) = match damaged {
            1 => ("line", "is"),
            _ => ("lines", "are"),
        };
        said += &format!(". {damaged} damaged {lines} of trials.jsonl {are} left out");
        said += match (missing, damaged) {
            (0, _) => "",
            (_, 1) => ", that of a missing trial",
            (missing, damaged) if missing == damaged => ", those of the missing trials",
            _ => ", those of missing trials",
        };
    }
    let planned = report.manifest.trials.len();
    let trials = counted(planned as u64, "trial");
    match planned {
        1 if totals.valid == 1 && damaged == 0 => format!("{trials}, valid."),
        2.. if totals.valid == planned && damaged == 0 => format!("{trials}, all valid."),
        _ => format!("{trials}: {said}."),
    }
}

/// The failures, one line for each contender with its first reason.
fn failures(rankings: &[Ranking]) -> Option<Block> {
    let mut contenders: Vec<(String, Vec<&UnrankedTrial>)> = Vec::new();
    let bad = rankings.iter().flat_map(|ranking| &ranking.unranked);
    for trial in bad.filter(|trial| trial.status.is_bad()) {
        let name = trial.name();
        match contenders.iter_mut().find(|(other, _)| *other == name) {
            Some((_, trials)) => trials.push(trial),
            None => contenders.push((name, vec![trial])),
        }
    }
    let line = |(name, trials): &(String, Vec<&UnrankedTrial>)| {
        let of = |status: UnrankedStatus, one: &str, several: &str| {
            let count = trials.iter().filter(|trial| trial.status == status).count();
            match count {
                0 => None,
                1 => Some(format!("1 trial {one}")),
                count => Some(format!("{count} trials {several}")),
            }
        };
        let said = [
            of(UnrankedStatus::Failed, "failed", "failed"),
            of(UnrankedStatus::Invalid, "is invalid", "are invalid"),
        ];
        let said: Vec<_> = said.into_iter().flatten().collect();
        let reason = trials.first().map(|first| first_reason(first));
        let first = if trials.len() > 1 { "; the first" } else { "" };
        let (said, reason) = (said.join(" and "), reason.unwrap_or_default());
        format!("{name}: {said}{first}: {reason}")
    };
    let mut lines: Vec<_> = contenders.iter().map(line).collect();
    if lines.len() > MAX_LINES {
        let more = lines.split_off(MAX_LINES - 1).len();
        lines.push(format!("{more} more contenders have such trials."));
    }
    Block::Warnings(lines).filled()
}

/// The first of the reasons why a trial does not count.
fn first_reason(trial: &UnrankedTrial) -> String {
    match &trial.reason {
        Ineligibility::Invalid(reasons) if !reasons.is_empty() => reasons[0].clone(),
        reason => reason.to_string(),
    }
}
