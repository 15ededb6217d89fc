//! What a faulty folder did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trueput_record::storage_fault::{FaultOperation, StorageFault};

/// What a faulty folder did while it was armed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultReport {
    /// Reads that reached it, failed ones included.
    pub reads: u64,
    /// Writes that reached it, failed ones included.
    pub writes: u64,
    /// Flushes that reached it, of directories, too, failed ones included.
    pub flushes: u64,
    /// The bytes that writes wrote.
    pub written_bytes: u64,
    /// The first hundred faults that came, in order.
    pub injected: Vec<InjectedFault>,
    /// The number of faults that came.
    pub injected_count: u64,
    /// The same, by fault, in the order in which they were given.
    pub by_fault: Vec<FaultCount>,
    /// Why it is not known what the storage would hold; `None` if it is. Caches and power cannot be
    /// lost then. It concerns the time before the arming, too.
    pub untracked: Option<String>,
}

/// How often a fault came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultCount {
    /// The fault.
    pub fault: StorageFault,
    /// The requests that it concerns.
    pub requests: u64,
    /// Those to which it came.
    pub injected: u64,
}

/// A fault that came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedFault {
    /// The fault.
    pub fault: StorageFault,
    /// The request, never [`FaultOperation::Any`].
    pub operation: FaultOperation,
    /// The path of the file, relative to the folder; empty for the folder itself. Where a file has
    /// lost its last name, that name with ` (deleted)`.
    pub file: String,
    /// The number of the request, from 1 on, among those that the fault concerns.
    pub request: u64,
    /// When it came, seconds after the arming.
    pub at_s: f64,
}
