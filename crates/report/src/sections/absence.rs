//! The warning that operations looked for records that were not there.

use crate::document::Block;
use trueput_findings::Run;
use trueput_findings::absence::{Absence, AbsentRecords};
use trueput_findings::units::{per_cent, plural, separate};

/// Operations of so many contenders and kinds are named.
const MAX_NAMED: usize = 6;

/// The warning; `None` if every operation found its record.
pub(crate) fn warning(run: &Run) -> Option<Block> {
    sentences(&Absence::of(run)).map(|text| Block::Warnings(vec![text]))
}

/// The same, in sentences.
pub(crate) fn sentences(absence: &Absence) -> Option<String> {
    let all = &absence.operations;
    if all.is_empty() {
        return None;
    }
    let named = all.iter().take(MAX_NAMED).map(clause);
    let mut text = format!(
        "Records not found: {}",
        named.collect::<Vec<_>>().join("; ")
    );
    if all.len() > MAX_NAMED {
        text += &format!("; and {} more", all.len() - MAX_NAMED);
    }
    text += ". Operations that find no record cost less.";
    if let Some((begin, end)) = absence.emptied {
        text += &format!(
            " The workload empties its database: {} records at the start, {} at the end.",
            separate(&begin.to_string()),
            separate(&end.to_string())
        );
    }
    Some(text)
}

fn clause(one: &AbsentRecords) -> String {
    let share = one.not_found as f64 / one.count.max(1) as f64;
    format!(
        "{}: {} of its {}",
        one.contender,
        per_cent(share),
        plural(&one.kind)
    )
}
