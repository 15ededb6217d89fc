//! Which configurations keep the promise that was asked for.
//!
//! A search that may weaken the promise finds that a commit without a flush is fast. So a
//! configuration runs only if its driver states that it keeps at least what the default keeps.

use trueput_record::{ClusterSurvival, Promise, Window};

/// Checks that a configuration's promise is no weaker than another one, usually the default's; a
/// limit on the window's time replaces the other's.
///
/// # Errors
/// One sentence: what would be weaker.
pub fn check_promise(
    wanted: &Promise,
    window_limit_s: Option<f64>,
    promise: &Promise,
) -> Result<(), String> {
    if promise.durability != wanted.durability {
        return Err(format!(
            "it keeps {} and not {}",
            promise.durability, wanted.durability
        ));
    }
    check_cluster(wanted.cluster.as_ref(), promise.cluster.as_ref())?;
    match (window_limit_s, &wanted.window, &promise.window) {
        (_, _, None) => Ok(()),
        (Some(limit_s), _, Some(window)) => match window.time_s {
            Some(time_s) if time_s <= limit_s => Ok(()),
            Some(time_s) => Err(format!("a power loss may take {time_s} s of commits")),
            None => Err("the time that a power loss may take is not limited".to_owned()),
        },
        (None, None, Some(_)) => Err("a power loss may take commits".to_owned()),
        (None, Some(wanted), Some(window)) => check_window(wanted, window),
    }
}

fn check_window(wanted: &Window, window: &Window) -> Result<(), String> {
    let within = |wanted: Option<f64>, found: Option<f64>| match (wanted, found) {
        (Some(wanted), Some(found)) => found <= wanted,
        (Some(_), None) => false,
        (None, _) => true,
    };
    let count = |number: Option<u64>| number.map(|number| number as f64);
    let fits = within(wanted.time_s, window.time_s)
        && within(count(wanted.bytes), count(window.bytes))
        && within(count(wanted.commits), count(window.commits));
    fits.then_some(())
        .ok_or_else(|| "a power loss may take more commits than with the default".to_owned())
}

fn check_cluster(
    wanted: Option<&ClusterSurvival>,
    found: Option<&ClusterSurvival>,
) -> Result<(), String> {
    let flags = |survival: &ClusterSurvival| {
        [
            survival.process,
            survival.machine,
            survival.majority_power,
            survival.all_power,
        ]
    };
    let (Some(wanted), Some(found)) = (wanted, found) else {
        return Ok(());
    };
    let mut both = flags(wanted).into_iter().zip(flags(found));
    let is_weaker = both.any(|(wanted, found)| wanted && !found);
    (!is_weaker)
        .then_some(())
        .ok_or_else(|| "a commit survives fewer failures of nodes".to_owned())
}
