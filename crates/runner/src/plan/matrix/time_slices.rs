//! Finds the cells of a plan that share time slices.

use crate::Registry;
use crate::plan::disk_space::{DISK_FACTOR, DiskSpace};
use crate::plan::time_slice_group::{derive_group_key, group_trials};
use std::collections::HashMap;
use trueput_engine::parameter::{resolve, resolve_knobs};
use trueput_record::conditions::Start;
use trueput_record::{Durability, TrialSpec};

/// The length of a chosen time slice, seconds: long against a transaction, short against the
/// disturbances by other programs. Of slices of 50, 100, 200 and 500 ms the shorter ones tell
/// equals apart sooner (in 18, 22, 38 and 101 s of simulated noise).
const SLICE_S: f64 = 0.05;

/// The length at a level whose commits wait for a flush: long against that, too. A slice ends with
/// the flush in it, so that other workers lose up to one.
const FLUSHED_SLICE_S: f64 = 0.1;

/// The length for several workers: threads that wait for each other, or outnumber the processors,
/// lose more by a stop than one that works alone (docs/METHOD.md).
const SHARED_SLICE_S: f64 = 0.2;

/// The length of a time slice of an open loop. The first requests of a slice find the processor's
/// caches cold: they must be fewer than those that a percentile leaves out.
const PACED_SLICE_S: f64 = 0.5;

/// The length for a contender with a server. After a stop the kernel runs a client and its server
/// on one processor for a while, where they may be twice as fast as on two (docs/METHOD.md): a
/// slice is long against that.
const SERVER_SLICE_S: f64 = 1.0;

/// The databases of a group may take this part of the memory in their engines' caches.
const MEMORY_DIVISOR: u64 = 2;

/// Sets the length of the time slices of all groups that can share them; the plan leaves it open.
pub(super) fn choose(cells: &mut [TrialSpec], registry: &Registry) {
    let mut caches: HashMap<Option<String>, u64> = HashMap::new();
    for cell in cells.iter_mut() {
        if is_sliceable(cell, registry) {
            cell.conditions.time_slice_s = Some(length_s(cell, registry));
            let sum = caches.entry(derive_group_key(cell)).or_default();
            *sum = sum.saturating_add(cached_bytes(cell, registry));
        }
    }
    let most_bytes = match trueput_host::read_memory_bytes() {
        0 => u64::MAX,
        all_bytes => all_bytes / MEMORY_DIVISOR,
    };
    for cell in cells.iter_mut() {
        let needed_bytes = caches.get(&derive_group_key(cell)).copied();
        if needed_bytes.is_some_and(|bytes| bytes > most_bytes) {
            cell.conditions.time_slice_s = None;
        }
    }
    clear_unpaired(cells);
}

fn length_s(cell: &TrialSpec, registry: &Registry) -> f64 {
    let engine = registry.engine(&cell.engine).ok();
    let has_server = engine.is_some_and(trueput_engine::Engine::has_server);
    match cell.durability {
        _ if has_server => SERVER_SLICE_S,
        _ if cell.conditions.rate.is_some() => PACED_SLICE_S,
        Durability::Sync => FLUSHED_SLICE_S,
        _ if cell.workers > 1 => SHARED_SLICE_S,
        _ => SLICE_S,
    }
}

/// Returns whether a trial can be stopped and continued at any time without another result: not if
/// time itself, a cold cache or a program of its own is what it is about, nor on a storage model,
/// whose cache drains and whose burst credits grow while the contender is stopped, nor with a
/// fault, whose time passes meanwhile.
fn is_sliceable(cell: &TrialSpec, registry: &Registry) -> bool {
    let conditions = &cell.conditions;
    let is_plain = conditions.start == Start::Warm
        && !conditions.crash_and_recover
        && conditions.faults.is_empty()
        && conditions.hosts.is_none()
        && conditions.storage_model.is_none()
        && conditions.log_storage_model.is_none()
        && conditions.fault.is_none();
    let Ok(engine) = registry.engine(&cell.engine) else {
        return false;
    };
    is_plain
        && !cell.is_on_users_server()
        && engine.cluster().is_none()
        && !is_native(cell, registry)
}

/// Returns whether the engine's own program does the work of a trial.
fn is_native(cell: &TrialSpec, registry: &Registry) -> bool {
    let Ok((engine, workload)) = registry.engine(&cell.engine).and_then(|engine| {
        let workload = registry.workload(&cell.workload)?;
        Ok((engine, workload))
    }) else {
        return false;
    };
    let knobs = resolve_knobs(&cell.engine, engine.knobs(), &cell.knobs);
    let settings = resolve(&cell.workload, workload.settings(), &cell.settings);
    let (Ok(knobs), Ok(settings)) = (knobs, settings) else {
        return false;
    };
    let native = engine.native(&knobs, &cell.workload, &settings);
    native.is_ok_and(|program| program.is_some())
}

/// Returns the memory that the engine's own cache takes for a trial, bytes: what it may, or all
/// data twice if that is less.
fn cached_bytes(cell: &TrialSpec, registry: &Registry) -> u64 {
    let Ok(engine) = registry.engine(&cell.engine) else {
        return 0;
    };
    let knobs = resolve_knobs(&cell.engine, engine.knobs(), &cell.knobs).ok();
    let cache = knobs.and_then(|knobs| engine.cache_knob(&knobs).ok());
    let data_bytes = DiskSpace::of_trial(cell, registry, DISK_FACTOR).expected_bytes;
    cache.map_or(0, |cache| {
        let sessions = if cache.per_session {
            u64::from(cell.workers)
        } else {
            1
        };
        let size_bytes = cache.size_bytes.saturating_mul(sessions);
        size_bytes.min(data_bytes.saturating_mul(2))
    })
}

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
        let on_servers = group.iter().filter(|spec| spec.is_on_users_server());
        let servers: Vec<_> = on_servers.map(|spec| spec.build.as_deref()).collect();
        (1..servers.len()).any(|index| servers[..index].contains(&servers[index]))
    })
}
