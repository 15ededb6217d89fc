//! Limits on the rate of requests, with credits for bursts.

use super::platter::Access;
use crate::storage_model::{BYTES_PER_MIB, NS_PER_S, RateLimits, ns_per_byte, whole_ns};

const BYTES_PER_KIB: f64 = 1024.0;
const BYTES_PER_GIB: f64 = BYTES_PER_MIB * 1024.0;

/// The interval over which a rate is kept: this much of it may pass at once after a pause. Sellers
/// do not publish theirs; without any, requests one after the other would wait for each other
/// although their rate is below the limit.
const TOLERANCE_NS: f64 = 10e6;

/// The limits of a device, and how far they are used.
#[derive(Debug)]
pub(super) struct RateLimiter {
    operations: Option<OperationLimit>,
    bytes: Option<Pace>,
}

/// A limit on operations, as the seller counts them.
#[derive(Debug)]
struct OperationLimit {
    pace: Pace,
    credits: Option<CreditBucket>,
    counted_bytes: Option<u64>,
    last: LastOperation,
}

/// The last operation that was counted: requests that continue it while it waits join it.
#[derive(Debug, Clone, Copy)]
struct LastOperation {
    access: Access,
    /// The byte after its last.
    end: u64,
    /// The bytes that can still join it.
    room_bytes: u64,
    granted_ns: f64,
}

/// A rate of units, kept over [`TOLERANCE_NS`].
#[derive(Debug)]
struct Pace {
    unit_ns: f64,
    /// When the units so far are over at the rate.
    used_ns: f64,
}

/// Credits that come back at a rate.
#[derive(Debug)]
struct CreditBucket {
    capacity: f64,
    level: f64,
    /// The moment of the level.
    at_ns: f64,
    /// The time in which a credit comes back.
    credit_ns: f64,
}

impl RateLimiter {
    /// Creates the limits of a volume with all their credits.
    pub(super) fn new(limits: &RateLimits, volume_bytes: u64) -> Self {
        let bytes = limits.bandwidth_mib_per_s.map(|bandwidth| Pace {
            unit_ns: ns_per_byte(bandwidth),
            used_ns: 0.0,
        });
        let operations = limits
            .iops
            .map(|iops| OperationLimit::new(limits, iops, volume_bytes));
        Self { operations, bytes }
    }

    /// Returns when a request may pass that comes at a moment. Requests pass in the order in which
    /// they come.
    pub(super) fn grant_ns(
        &mut self,
        access: Access,
        now_ns: u64,
        [position, bytes]: [u64; 2],
    ) -> u64 {
        let mut granted_ns = now_ns as f64;
        if let Some(limit) = &mut self.operations {
            granted_ns = limit.grant_ns(access, granted_ns, [position, bytes]);
        }
        if let Some(pace) = &mut self.bytes {
            granted_ns = pace.grant_ns(granted_ns, bytes as f64);
        }
        whole_ns(granted_ns).max(now_ns)
    }
}

impl OperationLimit {
    fn new(limits: &RateLimits, iops: f64, volume_bytes: u64) -> Self {
        let of_volume = limits.iops_per_gib.unwrap_or(0.0) * volume_bytes as f64 / BYTES_PER_GIB;
        let most = limits.iops_max.unwrap_or(f64::INFINITY);
        let sustained = iops.max(of_volume).min(most);
        // A volume whose sustained rate is higher has no bursts.
        let burst = limits.burst_iops.filter(|burst| *burst > sustained);
        let credits = burst
            .and(limits.burst_credits)
            .map(|capacity| CreditBucket {
                capacity,
                level: capacity,
                at_ns: 0.0,
                credit_ns: NS_PER_S / sustained,
            });
        Self {
            pace: Pace {
                unit_ns: NS_PER_S / burst.unwrap_or(sustained),
                used_ns: 0.0,
            },
            credits,
            counted_bytes: limits.counted_kib.map(|kib| (kib * BYTES_PER_KIB) as u64),
            last: LastOperation {
                access: Access::Read,
                end: 0,
                room_bytes: 0,
                granted_ns: 0.0,
            },
        }
    }

    fn grant_ns(&mut self, access: Access, now_ns: f64, [position, bytes]: [u64; 2]) -> f64 {
        let Some(counted_bytes) = self.counted_bytes else {
            return self.grant_operations_ns(now_ns, 1.0);
        };
        let last = self.last;
        let is_waiting = last.granted_ns > now_ns;
        let joins = is_waiting && last.access == access && last.end == position;
        let room_bytes = if joins { last.room_bytes } else { 0 };
        let joined_bytes = bytes.min(room_bytes);
        let rest_bytes = bytes - joined_bytes;
        // A request without bytes is an operation, too.
        let operations = match rest_bytes {
            0 => u64::from(!joins),
            rest => rest.div_ceil(counted_bytes.max(1)),
        };
        let granted_ns = if operations == 0 {
            last.granted_ns
        } else {
            self.grant_operations_ns(now_ns, operations as f64)
        };
        let room_bytes = room_bytes - joined_bytes + operations.saturating_mul(counted_bytes);
        self.last = LastOperation {
            access,
            end: position.saturating_add(bytes),
            room_bytes: room_bytes.saturating_sub(rest_bytes),
            granted_ns,
        };
        granted_ns
    }

    fn grant_operations_ns(&mut self, now_ns: f64, operations: f64) -> f64 {
        let granted_ns = self.pace.grant_ns(now_ns, operations);
        match &mut self.credits {
            Some(credits) => credits.grant_ns(granted_ns, operations),
            None => granted_ns,
        }
    }
}

impl Pace {
    fn grant_ns(&mut self, now_ns: f64, units: f64) -> f64 {
        let granted_ns = now_ns.max(self.used_ns - TOLERANCE_NS);
        self.used_ns = self.used_ns.max(now_ns) + units * self.unit_ns;
        granted_ns
    }
}

impl CreditBucket {
    /// Takes credits, and returns when they are there.
    fn grant_ns(&mut self, now_ns: f64, credits: f64) -> f64 {
        let now_ns = now_ns.max(self.at_ns);
        let earned = (now_ns - self.at_ns) / self.credit_ns;
        let level = (self.level + earned).min(self.capacity);
        let missing = (credits - level).max(0.0);
        self.level = level + missing - credits;
        self.at_ns = now_ns + missing * self.credit_ns;
        self.at_ns
    }
}
