//! Finds the cells of a plan that share time slices.

use crate::plan::time_slice_group::{derive_group_key, group_trials};
use trueput_engine::credentials;
use trueput_record::TrialSpec;

/// Clears the time slice of trials that have no other contender to share time with.
pub(super) fn clear_unpaired(cells: &mut [TrialSpec]) {
    let keys: Vec<_> = cells.iter().map(derive_group_key).collect();
    for (cell, key) in cells.iter_mut().zip(&keys) {
        if keys.iter().filter(|other| *other == key).count() == 1 {
            cell.conditions.time_slice_s = None;
        }
    }
}

/// Returns whether two contenders that would share time slices use the same server of the user's.
pub(super) fn share_a_server(cells: &[TrialSpec]) -> bool {
    let groups = group_trials(&cells.iter().collect::<Vec<_>>());
    groups.iter().any(|group| {
        let servers = group.iter().filter_map(|spec| spec.build.as_deref());
        let servers: Vec<_> = servers
            .filter(|build| credentials::is_address(build))
            .collect();
        (1..servers.len()).any(|index| servers[..index].contains(&servers[index]))
    })
}
