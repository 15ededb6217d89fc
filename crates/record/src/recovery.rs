//! What an engine did besides, and how it came back from a crash.

use serde::{Deserialize, Serialize};

/// How long a database took to come back after its processes had been killed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Processes that were killed with SIGKILL: workers, and those of the engine's server.
    pub killed: u32,
    /// Until the database was open again, in a process that had not opened it before, seconds.
    /// Where the engine has a server, from its start.
    pub recovery_s: f64,
    /// The part of it until the engine's server answered, seconds; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_s: Option<f64>,
    /// Until the first transaction had been committed, seconds; absent where none could be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_commit_s: Option<f64>,
}

/// Something that an engine did by itself while it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// When, seconds since the workers were released.
    pub at_s: f64,
    /// What: `checkpoint`, `flush`, `compaction`, `log switch`, `stall`; with ` ended` behind it
    /// where the engine tells the end too.
    pub kind: String,
    /// The engine's own words, shortened.
    pub detail: String,
}

impl EventRecord {
    /// What ends the names of ends.
    pub const ENDED: &'static str = " ended";

    /// Whether it is the end of what another event began.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.kind.ends_with(Self::ENDED)
    }
}
