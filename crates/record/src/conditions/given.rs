//! The values of a trial's conditions as a plan gives them, to check them against their ranges.

use super::{Allocator, HostList, NumaPolicy, Rate, Start};
use crate::Value;
use crate::fault::FaultSchedule;
use crate::filesystem::FileSystem;
use crate::storage_fault::StorageFault;

/// The value of a trial as a plan gives it.
pub(super) trait TrialValue {
    /// Returns it; `None` if it has no range: its type takes no wrong values, or there is none.
    fn as_plan_value(&self) -> Option<Value> {
        None
    }
}

impl TrialValue for bool {}
impl TrialValue for Start {}
impl TrialValue for Allocator {}
impl TrialValue for FaultSchedule {}
impl TrialValue for Option<HostList> {}
impl TrialValue for Option<NumaPolicy> {}
impl TrialValue for Option<FileSystem> {}
impl TrialValue for Option<StorageFault> {}

impl TrialValue for f64 {
    fn as_plan_value(&self) -> Option<Value> {
        Some((*self).into())
    }
}

impl TrialValue for Option<f64> {
    fn as_plan_value(&self) -> Option<Value> {
        self.map(Into::into)
    }
}

impl TrialValue for Option<u64> {
    fn as_plan_value(&self) -> Option<Value> {
        self.map(Into::into)
    }
}

impl TrialValue for Option<String> {
    fn as_plan_value(&self) -> Option<Value> {
        self.clone().map(Into::into)
    }
}

impl TrialValue for Option<Rate> {
    fn as_plan_value(&self) -> Option<Value> {
        self.map(|rate| rate.per_s.into())
    }
}
