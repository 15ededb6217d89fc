//! Scans of this many records.

use std::ops::ControlFlow;
use trueput_engine::{Direction, KeyRange, Result, Session};

/// Shows the first records of a range: at most `limit`, and at least one if there is any. Returns
/// their number.
#[inline]
pub(crate) fn scan_first(
    session: &mut dyn Session,
    range: KeyRange<'_>,
    limit: u64,
    mut visit: impl FnMut(&[u8], &[u8]),
) -> Result<u64> {
    let mut shown = 0;
    session.scan(range, Direction::Forward, &mut |key, value| {
        visit(key, value);
        shown += 1;
        match shown < limit {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    Ok(shown)
}
