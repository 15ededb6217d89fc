//! What an engine does by itself, beside what it is asked for.

use std::time::SystemTime;

/// Something that an engine's log or counters tell of: a checkpoint, a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    /// When.
    pub at: SystemTime,
    /// What: one of the constants of this type, with ` ended` behind it for an end.
    pub kind: &'static str,
    /// The engine's own words, or a few of them.
    pub detail: String,
}

impl Happening {
    /// Everything committed is brought from the log to its place, or that begins.
    pub const CHECKPOINT: &'static str = "checkpoint";
    /// A checkpoint has ended.
    pub const CHECKPOINT_ENDED: &'static str = "checkpoint ended";
    /// A table in memory is written to a file, or that begins.
    pub const FLUSH: &'static str = "flush";
    /// A flush has ended.
    pub const FLUSH_ENDED: &'static str = "flush ended";
    /// Files are merged, or that begins.
    pub const COMPACTION: &'static str = "compaction";
    /// A compaction has ended.
    pub const COMPACTION_ENDED: &'static str = "compaction ended";
    /// The log goes on in another file.
    pub const LOG_SWITCH: &'static str = "log switch";
    /// Writers are held up.
    pub const STALL: &'static str = "stall";
}
