//! Which configurations keep the promise that was asked for.
//!
//! A search that may weaken the promise finds that a commit without a flush is fast. So a
//! configuration runs only if its driver states that it keeps at least what the default keeps.

use crate::error::{KnobSpaceError, Refusal};
use crate::space::{Fence, Restrictions, Space};
use trueput_engine::Engine;
use trueput_record::parameter::{Parameter, ValueKind, resolve};
use trueput_record::value::Settings;
use trueput_record::{ClusterSurvival, Durability, Isolation, Promise, Value, Window};

/// Knobs that are conditions of a measurement and no settings of an engine: the network between the
/// nodes of a cluster, and the language of the load. They are searched only if they are named.
pub const CONDITIONS: [&str; 3] = ["network_delay", "network_loss", "host_language"];

/// Makes the space of an engine's knobs, except those that `fixed` gives another value than their
/// default. It refuses what the engine refuses, and weaker durability or isolation than that of
/// `fixed`. Sizes are searched up to `max_bytes`, where their own range allows and `restrictions`
/// give no other bound.
///
/// # Errors
/// [`KnobSpaceError`]: there is nothing to search, the engine refuses `fixed`, or its window is not
/// below the limit.
pub fn knob_space(
    engine: &'static dyn Engine,
    durability: Durability,
    fixed: &Settings,
    window_limit_s: Option<f64>,
    max_bytes: f64,
    mut restrictions: Restrictions,
) -> Result<Space, KnobSpaceError> {
    let is_free = |knob: &&Parameter| {
        let own = fixed.get(knob.name);
        let is_default = own.is_none_or(|value| *value == knob.kind.default_value());
        let only = restrictions.only.as_ref();
        is_default && (only.is_some() || !CONDITIONS.contains(&knob.name))
    };
    let free: Vec<_> = engine.knobs().iter().filter(is_free).copied().collect();
    for knob in &free {
        if let ValueKind::Bytes { min, max, .. } = knob.kind
            && (min as f64) < max_bytes
            && (max as f64) > max_bytes
            && !is_above(&knob.kind.default_value(), max_bytes)
        {
            let bounds = restrictions.bounds.entry(knob.name.to_owned());
            let bounds = bounds.or_default();
            bounds.high = bounds.high.or(Some(max_bytes));
        }
    }
    let fence = promise_fence(engine, durability, fixed.clone(), window_limit_s)?;
    let space = Space::new(&free, &restrictions, fence);
    space.map_err(|source| KnobSpaceError::Space {
        engine: engine.info().name,
        source,
    })
}

/// Whether a size is above a bound: a default such as that of a memory map, which is no use of
/// memory, is not cut.
fn is_above(size: &Value, max_bytes: f64) -> bool {
    matches!(size, Value::Integer(bytes) if *bytes as f64 > max_bytes)
}

/// Refuses what the engine refuses, and weaker durability or isolation than that of `fixed`.
fn promise_fence(
    engine: &'static dyn Engine,
    durability: Durability,
    fixed: Settings,
    window_limit_s: Option<f64>,
) -> Result<Fence, KnobSpaceError> {
    let promises = move |changes: &Settings| -> Result<_, Refusal> {
        let mut knobs = fixed.clone();
        knobs.extend(changes.clone());
        let knobs = resolve(engine.info().name, engine.knobs(), &knobs);
        let knobs = knobs.map_err(|error| Refusal::Value(error.to_string()))?;
        let promise = engine.promise_with(durability, &knobs)?;
        Ok((promise, engine.isolation(&knobs)))
    };
    let (wanted, wanted_isolation) = promises(&Settings::new())?;
    // No configuration is compared with a default that promises less than what is asked for.
    check_promise(&wanted, window_limit_s, &wanted).map_err(|refusal| {
        KnobSpaceError::WeakPlan {
            engine: engine.info().name,
            refusal,
        }
    })?;
    Ok(Box::new(move |changes| {
        let (promise, isolation) = promises(changes)?;
        check_promise(&wanted, window_limit_s, &promise)?;
        check_isolation(wanted_isolation, isolation)
    }))
}

/// Less isolation is a weaker promise too, and often a faster one.
fn check_isolation(wanted: Option<Isolation>, found: Option<Isolation>) -> Result<(), Refusal> {
    let Some(wanted) = wanted else {
        return Ok(());
    };
    let lacking = found.map(|found| found.lacks(wanted).next());
    match lacking {
        Some(None) => Ok(()),
        Some(Some(permitted)) => Err(Refusal::Isolation { permitted, wanted }),
        None => Err(Refusal::UnknownIsolation(wanted)),
    }
}

/// Checks that a configuration's promise is no weaker than another one, usually the default's. A
/// limit on the window replaces the other one's time, and nothing else of it.
///
/// # Errors
/// [`Refusal`]: what would be weaker.
pub fn check_promise(
    wanted: &Promise,
    window_limit_s: Option<f64>,
    promise: &Promise,
) -> Result<(), Refusal> {
    if promise.durability != wanted.durability {
        return Err(Refusal::Durability {
            found: promise.durability,
            wanted: wanted.durability,
        });
    }
    check_cluster(wanted.cluster.as_ref(), promise.cluster.as_ref())?;
    match (&wanted.window, &promise.window) {
        (_, None) => Ok(()),
        (None, Some(_)) => Err(Refusal::Window),
        (Some(wanted), Some(window)) => check_window(wanted, window_limit_s, window),
    }
}

fn check_window(wanted: &Window, limit_s: Option<f64>, window: &Window) -> Result<(), Refusal> {
    match (limit_s, window.time_s) {
        (Some(limit_s), Some(time_s)) if time_s >= limit_s => {
            return Err(Refusal::LongWindow { time_s, limit_s });
        }
        (Some(_), None) => return Err(Refusal::UnlimitedWindow),
        _ => {}
    }
    let within = |wanted: Option<f64>, found: Option<f64>| match (wanted, found) {
        (Some(wanted), Some(found)) => found <= wanted,
        (Some(_), None) => false,
        (None, _) => true,
    };
    let count = |number: Option<u64>| number.map(|number| number as f64);
    let fits = (limit_s.is_some() || within(wanted.time_s, window.time_s))
        && within(count(wanted.bytes), count(window.bytes))
        && within(count(wanted.commits), count(window.commits));
    fits.then_some(()).ok_or(Refusal::WiderWindow)
}

fn check_cluster(
    wanted: Option<&ClusterSurvival>,
    found: Option<&ClusterSurvival>,
) -> Result<(), Refusal> {
    let flags = |survival: &ClusterSurvival| {
        [
            survival.process,
            survival.machine,
            survival.majority_power,
            survival.all_power,
        ]
    };
    let is_weaker = match (wanted, found) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(wanted), Some(found)) => {
            let mut both = flags(wanted).into_iter().zip(flags(found));
            both.any(|(wanted, found)| wanted && !found)
        }
    };
    (!is_weaker).then_some(()).ok_or(Refusal::Cluster)
}
