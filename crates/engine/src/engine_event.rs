//! Background activity of an engine: checkpoints, flushes, compactions, stalls.

use std::time::SystemTime;
use trueput_record::recovery::EventRecord;

/// Background activity that an engine's log or counters report, such as a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineEvent {
    /// Time of the event.
    pub at: SystemTime,
    /// One of the constants of this type; those of an end have the suffix ` ended`.
    pub kind: &'static str,
    /// An excerpt of the engine's own message; may be empty.
    pub detail: String,
}

impl EngineEvent {
    /// A checkpoint begins: committed changes move from the log to the database files.
    pub const CHECKPOINT: &'static str = "checkpoint";
    /// A checkpoint has ended.
    pub const CHECKPOINT_ENDED: &'static str = "checkpoint ended";
    /// A flush begins: a table in memory is written to a file.
    pub const FLUSH: &'static str = "flush";
    /// A flush has ended.
    pub const FLUSH_ENDED: &'static str = "flush ended";
    /// A compaction begins: files are merged.
    pub const COMPACTION: &'static str = "compaction";
    /// A compaction has ended.
    pub const COMPACTION_ENDED: &'static str = "compaction ended";
    /// A node of a cluster is ordered to fail, ends, leads or is started.
    pub const NODE: &'static str = EventRecord::NODE;
    /// The log continues in another file.
    pub const LOG_SWITCH: &'static str = "log switch";
}
