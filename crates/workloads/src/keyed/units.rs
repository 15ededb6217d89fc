//! The loop of a worker: units of work until its share is done or the time is up.

use crate::{JobTask, Result};

/// Does units of work while the meter paces them: until `quota` units are done, if there is a
/// quota, or the time is up. Warm-up units do not count. `unit` gets the number left and returns
/// the number done.
///
/// # Errors
/// The error of the unit.
#[inline]
pub(crate) fn run_units<'t>(
    task: &mut JobTask<'t>,
    quota: Option<u64>,
    mut unit: impl FnMut(&mut JobTask<'t>, u64) -> Result<u64>,
) -> Result<()> {
    let mut left = quota.unwrap_or(u64::MAX);
    while left > 0 && task.meter.next_unit() {
        let counts = !task.meter.is_warming_up();
        let done = unit(task, left)?;
        if counts {
            task.meter.advance(done);
            if quota.is_some() {
                left -= done;
            }
        }
    }
    Ok(())
}
