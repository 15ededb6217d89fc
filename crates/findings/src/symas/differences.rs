//! What is not the same here and in 2014.

use super::{MemoryPolicy, SymasRow, TEST};
use crate::Run;
use crate::published::what_differs;
use trueput_record::Value;
use trueput_record::published::{Error, Setting, named};

/// The machine, the versions, the size and the settings, a point each.
///
/// # Errors
/// Where the published table is at fault; it is not in a program that passed its tests.
pub fn differences(report: &Run, ours: &[SymasRow]) -> Result<Vec<String>, Error> {
    let only = Setting {
        name: "settings.test".to_owned(),
        values: vec![Value::from(TEST)],
    };
    let table = named("symas-2014-read-while-writing")?;
    let mut points = what_differs(&table, report, &[only]);
    let is_local = |row: &SymasRow| row.readers.is_some() && row.policy == MemoryPolicy::Local;
    if ours.iter().any(is_local) {
        points.push(
            "memory of the runs: here on the node that first touches it; there interleaved over all \
             nodes (numactl --interleave=all)"
                .to_owned(),
        );
    }
    Ok(points)
}
