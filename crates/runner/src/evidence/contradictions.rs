//! Settings of servers and nodes that contradict the promise of a trial's level.

use crate::plan::resolution::ResolvedTrial;
use crate::workers::protocol::EngineState;
use std::path::Path;
use std::time::SystemTime;
use trueput_host::cluster;
use trueput_record::TrialRecord;

/// Adds the contradictions that processes found, each once: one at any time of the trial counts.
pub(crate) fn note<'a>(
    record: &mut TrialRecord,
    states: impl IntoIterator<Item = &'a EngineState>,
) {
    let Some(report) = &mut record.engine else {
        return;
    };
    for contradiction in states.into_iter().flat_map(|state| &state.contradictions) {
        if !report.contradictions.contains(contradiction) {
            report.contradictions.push(contradiction.clone());
        }
    }
}

/// Returns what contradicts the promise: settings that processes of the trial found, and nodes of a
/// cluster in a folder that have ended by themselves since the trial began, or whose settings do
/// not keep it. The promise is that of a cluster with all of them.
pub(crate) fn list(
    resolved: &ResolvedTrial,
    record: &TrialRecord,
    directory: &Path,
    began: SystemTime,
) -> Vec<String> {
    let engine = record.engine.as_ref();
    let mut found = engine.map_or_else(Vec::new, |engine| engine.contradictions.clone());
    if resolved.engine.cluster().is_some() {
        for doubt in cluster::list_doubtful_changes(directory, began) {
            if !found.contains(&doubt) {
                found.push(doubt);
            }
        }
    }
    found
}
