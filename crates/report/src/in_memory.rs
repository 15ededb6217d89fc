//! The warning of databases in memory.

use crate::document::Block;
use std::collections::BTreeSet;
use trueput_findings::Run;
use trueput_findings::in_memory::violates_durability;
use trueput_findings::trial_names::TrialNames;

/// A warning of the trials whose level promises to survive power loss although their database or
/// log was in memory; `None` if there are none.
pub(crate) fn warning(report: &Run) -> Option<Block> {
    let names = TrialNames::of(report);
    let run_file_system = &report.manifest.host.file_system;
    let affected = report
        .trials
        .iter()
        .filter(|trial| violates_durability(trial, run_file_system));
    let affected: BTreeSet<String> = affected
        .map(|trial| format!("{} ({})", names.contender(trial), trial.spec.durability))
        .collect();
    let affected: Vec<_> = affected.into_iter().collect();
    (!affected.is_empty()).then(|| {
        Block::Warnings(vec![format!(
            "In memory (tmpfs or ramfs), nothing survives lost power at any level: {}. These are \
             ranked separately.",
            affected.join("; ")
        )])
    })
}
