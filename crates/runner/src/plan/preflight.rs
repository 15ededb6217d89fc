//! Checks before any work starts of what a trial would find out only after its load.

use crate::plan::refusal::Infeasibility;
use crate::plan::resolution::ResolvedTrial;
use crate::plan::storage_models::{check_available, check_models};
use std::path::Path;
use trueput_engine::Engine;
use trueput_engine::cluster::NetworkQuality;
use trueput_host::{find_file_system, network};
use trueput_record::conditions::Start;
use trueput_record::fault::FaultAction;
use trueput_record::filesystem::FileSystemKind;
use trueput_record::storage::is_memory;
use trueput_record::{Conditions, TrialSpec};

/// Checks that this user and machine can do what a trial plans with its cluster's network and its
/// storage models, and that its database, which is created below `place`, can start cold.
///
/// # Errors
/// [`Infeasibility`].
pub(crate) fn check_feasibility(
    spec: &TrialSpec,
    resolved: &ResolvedTrial,
    place: &Path,
) -> Result<(), Infeasibility> {
    if let Some(cluster) = resolved.engine.cluster() {
        let quality = cluster.network(&resolved.knobs);
        check_network(
            &spec.engine,
            &spec.conditions,
            quality,
            network::why_unavailable,
        )?;
    }
    check_cold_start(&spec.conditions, place)?;
    check_storage_models(&spec.conditions)
}

/// Checks that the storage models of a trial are those that it was planned for, and that this
/// machine and user can have them.
fn check_storage_models(conditions: &Conditions) -> Result<(), Infeasibility> {
    let refuse = |reason: String| Infeasibility::StorageModel { reason };
    check_models(conditions).map_err(|mistake| refuse(mistake.to_string()))?;
    check_available(conditions).map_err(|error| refuse(error.to_string()))
}

/// Checks what needs a network of the cluster's own; `missing` says why there can be none.
fn check_network(
    engine: &str,
    conditions: &Conditions,
    quality: NetworkQuality,
    missing: impl Fn() -> Option<String>,
) -> Result<(), Infeasibility> {
    let needs_network = |action| matches!(action, FaultAction::Partition | FaultAction::Heal);
    let mut faults = conditions.faults.faults().iter();
    let separation = faults.find(|fault| needs_network(fault.order.action));
    let is_plain = quality == NetworkQuality::default();
    if separation.is_none() && is_plain {
        return Ok(());
    }
    let Some(reason) = missing() else {
        return Ok(());
    };
    Err(match separation {
        Some(fault) => Infeasibility::Partition {
            engine: engine.to_owned(),
            fault: *fault,
            reason,
        },
        None => Infeasibility::SlowNetwork {
            engine: engine.to_owned(),
            reason,
        },
    })
}

/// Checks that a trial that is to start cold can: pages of a file system in memory are the files
/// themselves.
fn check_cold_start(conditions: &Conditions, place: &Path) -> Result<(), Infeasibility> {
    if conditions.start != Start::Cold {
        return Ok(());
    }
    if conditions.storage_model.is_some() {
        // It is below a file system in an image, or shown by a server: pages can be dropped.
        return Ok(());
    }
    let kind = match conditions.file_system.as_ref().map(|wanted| &wanted.kind) {
        Some(FileSystemKind::Tmpfs) => "tmpfs".to_owned(),
        Some(FileSystemKind::Made(_)) => return Ok(()),
        Some(FileSystemKind::Folder(folder)) => find_file_system(folder).kind,
        Some(FileSystemKind::Here) | None => find_file_system(place).kind,
    };
    if !is_memory(&kind) {
        return Ok(());
    }
    Err(Infeasibility::ColdStart { file_system: kind })
}

/// Checks that an engine can keep databases below a folder, whatever is in it.
pub(crate) fn check_path(engine: &dyn Engine, place: &Path) -> Result<(), Infeasibility> {
    let full = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    match engine.path_objection(&full) {
        None => Ok(()),
        Some(reason) => Err(Infeasibility::Path {
            engine: engine.info().name,
            folder: full,
            reason,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cold_start_in_memory_is_refused_before_the_load_and_one_on_a_disk_is_not() {
        let mut conditions = Conditions::default();
        let other = Path::new("/proc/self");
        assert_eq!(check_cold_start(&conditions, other), Ok(()));
        conditions.start = Start::Cold;
        conditions.file_system = "tmpfs".parse().ok();
        let refusal = check_cold_start(&conditions, other)
            .unwrap_err()
            .to_string();
        assert!(refusal.contains("tmpfs is always in memory"), "{refusal}");
        conditions.file_system = "ext4".parse().ok();
        assert_eq!(check_cold_start(&conditions, other), Ok(()));
        let memory = "/dev/shm";
        if find_file_system(Path::new(memory)).kind == "tmpfs" {
            conditions.file_system = None;
            let refusal = check_cold_start(&conditions, Path::new(memory))
                .unwrap_err()
                .to_string();
            assert!(refusal.contains("--work"), "{refusal}");
            conditions.storage_model = Some("hdd-7200".to_owned());
            let modelled = check_cold_start(&conditions, Path::new(memory));
            assert_eq!(modelled, Ok(()), "its pages are those of an image");
            conditions.storage_model = None;
            conditions.file_system = format!("folder:{memory}").parse().ok();
            assert!(check_cold_start(&conditions, other).is_err());
        }
    }

    #[test]
    fn a_storage_model_that_is_gone_is_refused_before_a_run_goes_on() {
        let mut conditions = Conditions::default();
        assert_eq!(check_storage_models(&conditions), Ok(()));
        conditions.storage_model = Some("/nowhere/my.toml@1a2b3c4d".to_owned());
        let refusal = check_storage_models(&conditions).unwrap_err();
        let said = refusal.to_string();
        assert!(
            said.starts_with("storage_model: /nowhere/my.toml"),
            "{said}"
        );
    }

    #[test]
    fn a_partition_or_a_slow_network_that_cannot_be_made_is_refused_and_a_kill_is_not() {
        let conditions = |faults: &str| Conditions {
            faults: faults.parse().unwrap(),
            ..Conditions::default()
        };
        let plain = NetworkQuality::default();
        let slow = NetworkQuality::new(500, 0.0);
        let missing = || Some("only root".to_owned());
        for faults in ["2s:partition=leader", "2s:kill=leader,3s:heal"] {
            let refusal = check_network("etcd", &conditions(faults), plain, missing)
                .unwrap_err()
                .to_string();
            assert!(refusal.contains("only root, or kill"), "{refusal}");
            assert_eq!(
                check_network("etcd", &conditions(faults), plain, || None),
                Ok(())
            );
        }
        let kill = conditions("2s:kill=leader");
        assert_eq!(check_network("etcd", &kill, plain, missing), Ok(()));
        let refusal = check_network("etcd", &kill, slow, missing)
            .unwrap_err()
            .to_string();
        assert!(refusal.contains("remove network_delay"), "{refusal}");
        assert_eq!(check_network("etcd", &kill, slow, || None), Ok(()));
    }
}
