//! The storage that a trial's conditions ask for: what trials must have in common to share a
//! database, or to have the same hardware limits.

use trueput_record::Conditions;

/// Returns the conditions of a trial's storage as a text; two trials with other texts stand on
/// other storage.
pub(crate) fn storage_key(conditions: &Conditions) -> String {
    let Conditions {
        file_system,
        log_file_system,
        storage_model,
        log_storage_model,
        fault,
        ..
    } = conditions;
    let models = format!("{storage_model:?} {log_storage_model:?} {fault:?}");
    format!("{file_system:?} {log_file_system:?} {models}")
}

/// Returns whether a trial's database and log are in the work folder itself: on no file system that
/// is made for the trial, on no model of a device, and on no storage that fails.
pub(crate) fn is_in_work_folder(conditions: &Conditions) -> bool {
    conditions.file_system.is_none()
        && conditions.log_file_system.is_none()
        && conditions.storage_model.is_none()
        && conditions.log_storage_model.is_none()
        && conditions.fault.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_on_other_storage_share_neither_a_database_nor_hardware_limits() {
        let (usual, model) = (Conditions::default(), || Some("hdd-7200".to_owned()));
        assert!(is_in_work_folder(&usual));
        let mut others = [(); 7].map(|()| usual.clone());
        others[0].file_system = "ext4".parse().ok();
        others[1].log_file_system = "ext4".parse().ok();
        others[2].storage_model = model();
        others[3].log_storage_model = model();
        others[4].storage_model = Some("nvme-consumer".to_owned());
        others[5].fault = "any:stall=2s@1s".parse().ok();
        others[6].fault = "fsync:eio@3".parse().ok();
        let mut keys: Vec<_> = others.iter().map(storage_key).collect();
        keys.push(storage_key(&usual));
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 8, "{keys:?}");
        assert!(others.iter().all(|other| !is_in_work_folder(other)));
        // The control: another number of requests is no other storage.
        let timed = Conditions {
            duration_s: Some(1.0),
            ..usual.clone()
        };
        assert_eq!(storage_key(&timed), storage_key(&usual));
    }
}
