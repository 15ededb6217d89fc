//! The storage below a trial, as its record has it.

use crate::plan::log_directory::find_log_folder;
use crate::plan::resolution::ResolvedTrial;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trueput_host::storage_stack;
use trueput_record::TrialSpec;
use trueput_record::storage::{PowerLoss, StorageStack};
use trueput_record::storage_model::is_in_folder;

/// The entries of a database's folder that are looked at.
const MAX_ENTRIES: usize = 100_000;

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
    if spec.is_on_users_server() {
        let reason = "the storage of a user's server is not visible".to_owned();
        return Some(StorageStack {
            layers: Vec::new(),
            power_loss: PowerLoss::Unresolved { reason },
        });
    }
    if is_in_folder(spec.conditions.storage_model.as_deref()) {
        // What is below the files does not matter: no flush goes there.
        return Some(StorageStack {
            layers: vec!["a folder with the delays of a storage model".to_owned()],
            power_loss: PowerLoss::Simulated,
        });
    }
    let log = find_log_folder(&spec.knobs, directory).filter(|folder| folder.is_dir());
    let (elsewhere, is_whole) = places_elsewhere(directory);
    let folders = [Some(directory), log.as_deref()].into_iter().flatten();
    let folders: Vec<&Path> = folders
        .chain(elsewhere.iter().map(PathBuf::as_path))
        .collect();
    let mut stack = storage_stack::resolve(&folders);
    if !is_whole {
        let reason = format!("its folder has more than {MAX_ENTRIES} entries");
        stack.power_loss = stack.power_loss.worse(PowerLoss::Unresolved { reason });
    }
    Some(stack)
}

/// Lists what lies in a database's folder by a link, or on another file system that is mounted
/// there: PostgreSQL's log and table spaces can be links. `false`: there may be more.
fn places_elsewhere(directory: &Path) -> (Vec<PathBuf>, bool) {
    let device_of = |path: &Path| path.symlink_metadata().ok().map(|found| found.dev());
    let own = device_of(directory);
    let mut places = Vec::new();
    let mut folders = vec![directory.to_owned()];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries.take(MAX_ENTRIES.saturating_sub(looked_at)) {
            looked_at += 1;
            let (path, kind) = (entry.path(), entry.file_type());
            match kind {
                Ok(kind) if kind.is_symlink() => places.extend(path.canonicalize().ok()),
                Ok(kind) if kind.is_dir() && device_of(&path) != own => places.push(path),
                Ok(kind) if kind.is_dir() => folders.push(path),
                _ => {}
            }
        }
    }
    places.sort();
    places.dedup();
    (places, looked_at < MAX_ENTRIES)
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
    fn links_out_of_a_database_s_folder_are_followed() {
        let base = tempfile::tempdir().unwrap();
        let (database, log) = (base.path().join("database"), base.path().join("log"));
        std::fs::create_dir_all(database.join("data/base")).unwrap();
        std::fs::create_dir(&log).unwrap();
        std::fs::write(database.join("data/base/1"), b"table").unwrap();
        assert_eq!(places_elsewhere(&database), (Vec::new(), true));
        std::os::unix::fs::symlink(&log, database.join("data/pg_wal")).unwrap();
        std::os::unix::fs::symlink("/nowhere", database.join("broken")).unwrap();
        let log = log.canonicalize().unwrap();
        assert_eq!(places_elsewhere(&database), (vec![log], true));
        assert_eq!(places_elsewhere(Path::new("/nowhere")), (Vec::new(), true));
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
