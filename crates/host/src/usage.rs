//! The resources that processes use.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// The resources that processes have used (proc_pid_stat(5), proc_pid_io(5), getrusage(2)). Fields
/// that a source does not report are 0, so that several sources can be added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceUsage {
    /// CPU seconds outside the kernel.
    pub user_cpu_s: f64,
    /// CPU seconds inside the kernel.
    pub system_cpu_s: f64,
    /// Times that a thread yielded the processor to wait.
    pub voluntary_context_switches: u64,
    /// Times that a thread was preempted.
    pub involuntary_context_switches: u64,
    /// Page faults without I/O.
    pub minor_page_faults: u64,
    /// Page faults with I/O.
    pub major_page_faults: u64,
    /// Bytes through read-like calls.
    pub read_call_bytes: u64,
    /// Bytes through write-like calls.
    pub write_call_bytes: u64,
    /// Bytes fetched from the storage layer.
    pub storage_read_bytes: u64,
    /// Bytes sent to the storage layer.
    pub storage_written_bytes: u64,
    /// Read-like calls.
    pub read_calls: u64,
    /// Write-like calls.
    pub write_calls: u64,
}

impl ResourceUsage {
    /// Returns the CPU seconds outside and inside the kernel together.
    #[must_use]
    pub fn cpu_s(&self) -> f64 {
        self.user_cpu_s + self.system_cpu_s
    }

    /// Returns the field-wise maximum.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.combine(other, f64::max, u64::max)
    }

    fn combine(
        self,
        other: Self,
        seconds: fn(f64, f64) -> f64,
        count: fn(u64, u64) -> u64,
    ) -> Self {
        Self {
            user_cpu_s: seconds(self.user_cpu_s, other.user_cpu_s),
            system_cpu_s: seconds(self.system_cpu_s, other.system_cpu_s),
            voluntary_context_switches: count(
                self.voluntary_context_switches,
                other.voluntary_context_switches,
            ),
            involuntary_context_switches: count(
                self.involuntary_context_switches,
                other.involuntary_context_switches,
            ),
            minor_page_faults: count(self.minor_page_faults, other.minor_page_faults),
            major_page_faults: count(self.major_page_faults, other.major_page_faults),
            read_call_bytes: count(self.read_call_bytes, other.read_call_bytes),
            write_call_bytes: count(self.write_call_bytes, other.write_call_bytes),
            storage_read_bytes: count(self.storage_read_bytes, other.storage_read_bytes),
            storage_written_bytes: count(self.storage_written_bytes, other.storage_written_bytes),
            read_calls: count(self.read_calls, other.read_calls),
            write_calls: count(self.write_calls, other.write_calls),
        }
    }
}

impl Add for ResourceUsage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.combine(other, f64::add, u64::add)
    }
}

impl AddAssign for ResourceUsage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for ResourceUsage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::add)
    }
}

impl Sub for ResourceUsage {
    type Output = Self;

    /// Returns the resources used since `before`. The kernel's counters may step back by a tick,
    /// which counts as 0.
    fn sub(self, before: Self) -> Self {
        let passed_s = |now_s: f64, then_s: f64| (now_s - then_s).max(0.0);
        self.combine(before, passed_s, u64::saturating_sub)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_no_figure_falls_below_nothing() {
        let cpu = ResourceUsage {
            user_cpu_s: 1.5,
            system_cpu_s: 0.5,
            minor_page_faults: 7,
            ..ResourceUsage::default()
        };
        let io = ResourceUsage {
            read_calls: 3,
            ..ResourceUsage::default()
        };
        let both: ResourceUsage = [cpu, io].into_iter().sum();
        assert_eq!((both.cpu_s(), both.read_calls), (2.0, 3));
        assert_eq!(both - cpu, io);
        assert_eq!(io - both, ResourceUsage::default());
        assert_eq!(cpu.max(io), both);
    }
}
