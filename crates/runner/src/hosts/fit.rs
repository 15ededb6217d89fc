//! Whether a trial's workers can run on other hosts.

use crate::plan::refusal::HostRefusal;
use trueput_engine::{Engine, storage};
use trueput_record::{Conditions, TrialSpec, WorkerKind};

/// Checks that the workers of a trial can run on the hosts that it names, if it names any.
///
/// # Errors
/// [`HostRefusal`].
pub(crate) fn check_host_fit(engine: &dyn Engine, spec: &TrialSpec) -> Result<(), HostRefusal> {
    let Some(hosts) = &spec.conditions.hosts else {
        return Ok(());
    };
    check_reach(engine, &spec.conditions, spec)?;
    check_conditions(&spec.conditions)?;
    let count = hosts.names().len();
    if (spec.workers as usize) < count {
        return Err(HostRefusal::FewWorkers {
            workers: spec.workers,
            hosts: count,
        });
    }
    match spec.worker_kind {
        WorkerKind::Threads if count > 1 => Err(HostRefusal::Threads { hosts: count }),
        _ => Ok(()),
    }
}

/// Checks that the database of a trial with these conditions is reachable from its hosts, if it
/// has any: a server, or nothing at all.
///
/// # Errors
/// [`HostRefusal`].
pub(crate) fn check_reach(
    engine: &dyn Engine,
    conditions: &Conditions,
    spec: &TrialSpec,
) -> Result<(), HostRefusal> {
    if conditions.hosts.is_none() {
        return Ok(());
    }
    if spec.engine == storage::NAME {
        return Err(HostRefusal::Storage {
            workload: spec.workload.clone(),
        });
    }
    let is_server = engine.service().is_some() || spec.is_on_users_server();
    if is_server || !engine.capabilities().retains_data {
        Ok(())
    } else {
        Err(HostRefusal::Library {
            engine: spec.engine.clone(),
        })
    }
}

/// Checks that no condition is for processes of this host.
fn check_conditions(conditions: &Conditions) -> Result<(), HostRefusal> {
    let of_this_host = [
        ("memory", conditions.memory_bytes.is_some()),
        ("crash_and_recover", conditions.crash_and_recover),
        ("time_slice", conditions.time_slice_s.is_some()),
        ("at", !conditions.faults.is_empty()),
        ("record_trace", conditions.record_trace_bytes.is_some()),
        ("storage_model", conditions.storage_model.is_some()),
        ("log_storage_model", conditions.log_storage_model.is_some()),
        ("fault", conditions.fault.is_some()),
    ];
    match of_this_host.into_iter().find(|(_, is_set)| *is_set) {
        Some((condition, _)) => Err(HostRefusal::Condition { condition }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_this_hosts_processes_are_refused() {
        let refusal = |conditions| {
            let refusal = check_conditions(&conditions).err();
            refusal.map_or_else(String::new, |refusal| refusal.to_string())
        };
        let usual = Conditions::default;
        let crash = Conditions {
            crash_and_recover: true,
            ..usual()
        };
        assert!(refusal(crash).starts_with("crash_and_recover is for workers on this host"));
        let slice = Conditions {
            time_slice_s: Some(0.01),
            ..usual()
        };
        assert!(refusal(slice).starts_with("time_slice is"));
        let model = Conditions {
            storage_model: Some("hdd-7200".to_owned()),
            ..usual()
        };
        assert!(refusal(model).starts_with("storage_model is for workers on this host"));
        let fault = Conditions {
            fault: "fsync:eio@3".parse().ok(),
            ..usual()
        };
        assert!(refusal(fault).starts_with("fault is for workers on this host"));
        assert_eq!(refusal(usual()), "");
    }
}
