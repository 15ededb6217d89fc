//! Background activity of an engine, and its recovery from a crash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time that a database took to recover after its processes were killed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    /// Processes that were killed with SIGKILL: workers and the engine's server.
    pub killed: u32,
    /// Time until the database was open again, in a process that had not opened it before, seconds.
    /// If the engine has a server, from the start of the server.
    pub recovery_s: f64,
    /// The part of it until the engine's server responded, seconds; absent without a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_s: Option<f64>,
    /// Time until the first transaction was committed, seconds; absent if none could be committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_commit_s: Option<f64>,
}

/// Background activity of an engine while it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventRecord {
    /// When, seconds since the workers were released.
    pub at_s: f64,
    /// The kind: `checkpoint`, `flush`, `compaction`, `log switch`, `stall`, `node`; with ` ended`
    /// appended if the engine also reports the end.
    pub kind: String,
    /// The engine's own words, shortened.
    pub detail: String,
}

impl EventRecord {
    /// The kind of a change of a cluster's nodes: one is ordered to fail, ends, leads, is started.
    pub const NODE: &'static str = "node";

    /// The suffix of the kind of an end event.
    pub const ENDED: &'static str = " ended";

    /// Returns whether it is the end of an earlier event.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.kind.ends_with(Self::ENDED)
    }
}
