//! The size of a database, and its compaction.

use crate::accounting::Device;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Size of a database folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseSize {
    /// Blocks that the file system gave to its files, bytes.
    pub allocated_bytes: u64,
    /// Sum of the files' lengths, bytes: holes in sparse files count here.
    pub apparent_bytes: u64,
}

/// An engine's own compaction of its database after the workers ended: its cost, and what it left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// The engine's call or statement: `VACUUM`.
    pub means: String,
    /// Duration of the call, seconds.
    pub elapsed_s: f64,
    /// Bytes that the calling process sent to the storage layer from the beginning of the call
    /// until the database was closed, and the engine's server from before the opening for it on.
    pub storage_written_bytes: u64,
    /// Activity of the database's block device from before the opening for the call until the
    /// database was closed; absent if its file system is not on a block device. That of a separate
    /// device of the log is left out, which the run's amplification by device includes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// The size of the closed database on disk afterwards.
    pub database: DatabaseSize,
}
