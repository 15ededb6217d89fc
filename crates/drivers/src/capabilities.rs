//! The capabilities that most engines share.

use trueput_engine::Capabilities;

/// The capabilities of an engine that keeps records in transactions with snapshots, for one process
/// and one writer at a time. A driver changes the fields in which its engine differs.
pub(crate) const fn transactional(max_key_bytes: usize, max_value_bytes: usize) -> Capabilities {
    Capabilities {
        several_processes: false,
        concurrent_writers: false,
        retains_data: true,
        atomic_transactions: true,
        snapshot_reads: true,
        max_key_bytes,
        max_value_bytes,
    }
}
