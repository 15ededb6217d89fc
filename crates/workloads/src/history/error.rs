//! What `history` cannot be run with.

use super::config::KEY_BYTES;

/// What the workload cannot be run with. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// Workers on other hosts.
    #[error(
        "the check orders transactions by one clock, so its workers must run on this host: remove \
         hosts"
    )]
    OtherHosts,
    /// Lists that are longer than an engine's values.
    #[error(
        "lists of {bytes} bytes are longer than the {max_bytes} that the engine takes; give a \
         smaller key_writes"
    )]
    LongLists {
        /// The longest list.
        bytes: usize,
        /// The engine's limit.
        max_bytes: usize,
    },
    /// Keys that are longer than an engine's.
    #[error("the engine takes no keys of {KEY_BYTES} bytes")]
    LongKeys,
}
