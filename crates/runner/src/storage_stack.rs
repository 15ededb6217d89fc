//! The storage below a trial, as its record has it.

use crate::log_directory::find_log_folder;
use crate::resolution::ResolvedTrial;
use std::path::Path;
use trueput_host::storage_stack;
use trueput_record::TrialSpec;
use trueput_record::address::is_address_for;
use trueput_record::storage::{PowerLoss, StorageStack};

/// Resolves the storage below a trial whose database is in `directory`; `None` if the engine
/// retains no data.
pub(crate) fn resolve_stack(
    spec: &TrialSpec,
    resolved: &ResolvedTrial,
    directory: &Path,
) -> Option<StorageStack> {
    if !resolved.engine.capabilities().retains_data {
        return None;
    }
    let is_users = |build: &Path| is_address_for(&spec.engine, build);
    if spec.build.as_deref().is_some_and(is_users) {
        let reason = "the storage of a user's server is not visible".to_owned();
        return Some(StorageStack {
            layers: Vec::new(),
            power_loss: PowerLoss::Unresolved { reason },
        });
    }
    let log = find_log_folder(&spec.knobs, directory).filter(|folder| folder.is_dir());
    let folders = [Some(directory), log.as_deref()];
    let folders: Vec<&Path> = folders.into_iter().flatten().collect();
    Some(storage_stack::resolve(&folders))
}

/// Returns the stack found at the end of a trial if it is worse than that of its beginning: a file
/// system can be mounted anew, with other options, meanwhile.
pub(crate) fn worse_stack(
    before: Option<StorageStack>,
    after: Option<StorageStack>,
) -> Option<StorageStack> {
    let (Some(before), Some(after)) = (before.clone(), after) else {
        return before;
    };
    let worst = before.power_loss.clone().worse(after.power_loss.clone());
    Some(if worst == before.power_loss {
        before
    } else {
        after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(power_loss: PowerLoss) -> StorageStack {
        let layers = vec![power_loss.phrase()];
        StorageStack { layers, power_loss }
    }

    #[test]
    fn barriers_that_are_switched_off_during_a_trial_count_and_later_ones_do_not_help() {
        let kept = stack(PowerLoss::Survives);
        let lost = stack(PowerLoss::of_mount("its ext4", "ext4", "rw,nobarrier"));
        let worse = |one: &StorageStack, other: &StorageStack| {
            worse_stack(Some(one.clone()), Some(other.clone()))
        };
        assert_eq!(worse(&kept, &lost), Some(lost.clone()));
        assert_eq!(worse(&lost, &kept), Some(lost));
        assert_eq!(worse_stack(None, Some(kept)), None);
    }
}
