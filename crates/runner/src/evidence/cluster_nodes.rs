//! Nodes of a cluster that fail in a trial without having been ordered to.

use crate::plan::resolution::ResolvedTrial;
use std::path::Path;
use std::time::SystemTime;
use trueput_host::cluster;

/// Returns why the figures of a trial with the cluster in a folder are invalid: nodes that have
/// ended by themselves since it began, and nodes whose settings do not keep the promise. It is that
/// of a cluster with all of them.
pub(crate) fn list_doubts(
    resolved: &ResolvedTrial,
    directory: &Path,
    began: SystemTime,
) -> Vec<String> {
    match resolved.engine.cluster() {
        Some(_) => cluster::list_doubtful_changes(directory, began),
        None => Vec::new(),
    }
}
