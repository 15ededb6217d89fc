//! The names of the findings that a worker reports.

/// The table of its client, from 1.
pub(super) const TABLE: &str = "table";
/// The first id of the table when the step began.
pub(super) const FIRST: &str = "first id";
/// The id after the last one then.
pub(super) const END: &str = "end of ids";
/// Rows that it inserted.
pub(super) const INSERTED: &str = "rows inserted";
/// Rows that it was to delete.
pub(super) const DELETED: &str = "rows deleted";
/// Rows that its deletes found.
pub(super) const DELETED_FOUND: &str = "rows found by deletes";
/// Range queries that were compared with the rows that the table had.
pub(super) const COMPARED: &str = "range queries compared";
