//! Caveats before the verdicts of a comparison: the same library, or disturbed runs.

use std::collections::BTreeSet;
use trueput_findings::compare::{LimitPair, LimitProbe, SideComparison, SideFacts};
use trueput_findings::statistics::Disturbance;

/// A sentence if both sides ran the same library.
#[must_use]
pub fn same_library(compared: &SideComparison) -> Option<String> {
    let same = compared.results.iter().filter(|it| it.same_library);
    let same: Vec<_> = same.collect();
    let fact = "ran the same library (same SHA-256)";
    let cause = if compared.one_run {
        "so they differ by chance or by the machine"
    } else {
        "so a difference comes from the machine or the settings"
    };
    if same.is_empty() {
        return None;
    }
    if same.len() == compared.results.len() {
        return Some(format!("Both sides {fact}, {cause}."));
    }
    let names: BTreeSet<_> = same.iter().map(|result| result.first_name()).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    Some(format!("{names}: both sides {fact}, {cause}."))
}

/// The disturbances of the runs, one clause each: "run B ran on a busy machine: …".
#[must_use]
pub fn disturbances(compared: &SideComparison) -> Vec<String> {
    let reasons = |facts: &SideFacts| -> Vec<String> {
        let noise = facts.noise.iter().flat_map(|noise| &noise.reasons);
        noise.map(Disturbance::to_string).collect()
    };
    let clause = |name: &str, reasons: Vec<String>| {
        (!reasons.is_empty())
            .then(|| format!("{name} ran on a busy machine: {}", reasons.join("; ")))
    };
    let first = reasons(&compared.first);
    if compared.one_run {
        return clause("the run", first).into_iter().collect();
    }
    let mut moved: Vec<_> = compared.limits.iter().filter_map(describe_change).collect();
    if let Some(last) = moved.last_mut() {
        *last += " than in run A";
    }
    let second = reasons(&compared.second);
    let second = if second.is_empty() && !moved.is_empty() {
        Some(format!("in run B {}", moved.join("; ")))
    } else {
        clause("run B", [second, moved].concat())
    };
    let clauses = [clause("run A", first), second];
    clauses.into_iter().flatten().collect()
}

/// The change of a hardware limit, as a clause about the second run; `None` if it is negligible.
fn describe_change(limit: &LimitPair) -> Option<String> {
    let does = match limit.probe {
        LimitProbe::Flush => "its storage flushed",
        LimitProbe::MemoryRead => "its memory was read",
        LimitProbe::BlockRead => "its storage was read",
    };
    let rise = limit.notable_rise()?;
    let how = if rise < 0.0 { "fewer" } else { "more" };
    let percent = (rise.abs() * 100.0).round();
    Some(format!("{does} {percent:.0} % {how} times per second"))
}
