//! The limits of what the settings of `custom` ask for.

/// Most transactions in a mix.
pub(super) const MAX_KINDS: usize = 16;
/// Most operations in a transaction.
pub(super) const MAX_STEPS: usize = 16;
/// Most records in a scan.
pub(super) const MAX_SCAN_RECORDS: u64 = 100_000;
/// Most records in a range of deletes.
pub(super) const MAX_DELETED_RECORDS: u64 = 10_000;
/// Longest value that may be asked for: the maximum of micro.
pub(super) const MAX_VALUE_BYTES: u64 = 1 << 30;
