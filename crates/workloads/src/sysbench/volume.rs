//! The bytes of keys and values that a transaction moves and that the database holds. They are
//! those of the records over keys and values, and count alike in SQL, so that the figures of both
//! stores can be compared.

use super::kv::{ENTRY_BYTES, PAIR_RECORD_BYTES, ROW_KEY_BYTES, ROW_RECORD_BYTES};
use super::settings::{Script, Settings};
use crate::OperationBytes;
use crate::generate::random::Random;

/// Bytes of a row's record and of its entry of the index.
pub(super) const STORED_BYTES: u64 = ROW_RECORD_BYTES + ENTRY_BYTES;

/// Bytes of the keys that the delete of a row hands to the engine.
const DELETED_BYTES: u64 = ROW_KEY_BYTES + ENTRY_BYTES;

/// Draws of an id for the mean number of rows of a range.
const DRAWS: u32 = 10_000;

impl Settings {
    /// Bytes that a transaction moves, on average; `None` if that depends on how many rows have the
    /// values of k that it draws. A transaction of `oltp_delete` counts as if its row were there.
    pub(super) fn volume(&self) -> Option<OperationBytes> {
        let (rows_read, written) = match self.script {
            Script::RandomPoints | Script::RandomRanges => return None,
            Script::Insert | Script::BulkInsert => (0.0, self.added_bytes()),
            Script::Delete => (1.0, DELETED_BYTES),
            _ => (self.rows_read(), self.written_bytes()),
        };
        let read = rows_read * ROW_RECORD_BYTES as f64;
        Some(OperationBytes::new(read, written as f64))
    }

    /// Bytes of the keys and values that the load puts.
    pub(super) fn loaded_bytes(&self) -> u64 {
        match self.script {
            Script::BulkInsert => 0,
            _ => self.rows.count() * STORED_BYTES,
        }
    }

    /// Bytes that a transaction of a script that inserts for good adds; 0 for the others.
    pub(super) fn added_bytes(&self) -> u64 {
        match self.script {
            Script::Insert => STORED_BYTES,
            Script::BulkInsert => u64::from(self.bulk_rows) * PAIR_RECORD_BYTES,
            _ => 0,
        }
    }

    /// Bytes of the keys and values in the database after so many transactions; `None` if their
    /// number does not determine them: those of a warm-up are not in it, nor is whether a delete
    /// has found its row.
    pub(super) fn live_bytes(&self, transactions: u64) -> Option<u64> {
        let added = self.added_bytes();
        if self.script == Script::Delete || (added > 0 && self.warms_up) {
            return None;
        }
        let added = transactions.saturating_mul(added);
        Some(self.loaded_bytes().saturating_add(added))
    }

    /// Rows that the statements of a transaction read, on average. An update and a delete read the
    /// row that they change.
    fn rows_read(&self) -> f64 {
        let statements = &self.statements;
        let single = [
            statements.point_selects,
            statements.index_updates,
            statements.non_index_updates,
            statements.delete_inserts,
        ];
        let single: f64 = single.into_iter().map(f64::from).sum();
        match statements.ranges() {
            0 => single,
            ranges => single + ranges as f64 * self.mean_range_rows(),
        }
    }

    /// Rows of a range, on average: one that begins near the highest id is shorter than others.
    fn mean_range_rows(&self) -> f64 {
        let table_size = self.rows.table_size;
        let mut random = Random::new(0);
        let mut draw = || {
            let first = self.distribution.draw(1, table_size, &mut random);
            let left = table_size.saturating_sub(first).saturating_add(1);
            f64::from(left.min(self.range_size))
        };
        let rows: f64 = (0..DRAWS).map(|_| draw()).sum();
        rows / f64::from(DRAWS)
    }

    /// Bytes that the statements of a transaction write.
    fn written_bytes(&self) -> u64 {
        let statements = &self.statements;
        // k is in the row, and in the key of its entry.
        let index_update = 2 * ENTRY_BYTES + ROW_RECORD_BYTES;
        u64::from(statements.index_updates) * index_update
            + u64::from(statements.non_index_updates) * ROW_RECORD_BYTES
            + u64::from(statements.delete_inserts) * (DELETED_BYTES + STORED_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::GivenSettings;
    use super::*;
    use trueput_engine::{Value, parameter};
    use trueput_record::Conditions;

    fn settings(given: &[(&str, &str)], warm_up_s: f64) -> Settings {
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::parse(value)));
        let given = given.collect();
        let resolved = parameter::resolve("sysbench", GivenSettings::PARAMETERS, &given).unwrap();
        let conditions = Conditions {
            warm_up_s,
            ..Conditions::default()
        };
        Settings::of(&resolved, &conditions).unwrap()
    }

    fn volume(given: &[(&str, &str)]) -> Option<OperationBytes> {
        settings(given, 0.0).volume()
    }

    #[test]
    fn the_statements_of_a_transaction_add_up() {
        // A row has a key of 9 bytes and a value of 182, its entry a key of 13.
        let all = volume(&[("range_size", "1")]);
        let written = (2 * 13 + 191) + 191 + (22 + 204);
        let expected = OperationBytes::new(17.0 * 191.0, f64::from(written));
        assert_eq!(all, Some(expected));
        let none = [("range_selects", "off"), ("script", "oltp_read_only")];
        assert_eq!(volume(&none), Some(OperationBytes::new(1_910.0, 0.0)));
        for (script, read, written) in [
            ("oltp_point_select", 191.0, 0.0),
            ("oltp_update_index", 191.0, 217.0),
            ("oltp_update_non_index", 191.0, 191.0),
            ("oltp_insert", 0.0, 204.0),
            ("oltp_delete", 191.0, 22.0),
            ("bulk_insert", 0.0, 13_000.0),
        ] {
            let expected = OperationBytes::new(read, written);
            assert_eq!(volume(&[("script", script)]), Some(expected), "{script}");
        }
        for script in ["select_random_points", "select_random_ranges"] {
            assert_eq!(volume(&[("script", script)]), None, "{script}");
        }
    }

    #[test]
    fn a_range_that_reaches_beyond_the_table_has_fewer_rows() {
        let rows = |rand_type: &str, table_size: &str| {
            let given = [("rand_type", rand_type), ("table_size", table_size)];
            settings(&given, 0.0).mean_range_rows()
        };
        // Of 100 ids, a range of 100 that begins at the n-th has 101 - n rows.
        let mean = rows("uniform", "100");
        assert!((mean - 50.5).abs() < 1.0, "{mean}");
        // The middle of ten thousand is far from its end.
        assert_eq!(rows("special", "10000"), 100.0);
    }

    #[test]
    fn what_transactions_leave_is_known_where_their_number_says_so() {
        let live = |script: &str, warm_up_s| {
            let given = [
                ("script", script),
                ("tables", "2"),
                ("table_size", "50"),
                ("bulk_rows", "7"),
            ];
            settings(&given, warm_up_s).live_bytes(10)
        };
        let loaded = 100 * 204;
        assert_eq!(live("oltp_read_write", 0.0), Some(loaded));
        assert_eq!(live("oltp_read_write", 1.0), Some(loaded));
        assert_eq!(live("oltp_insert", 0.0), Some(loaded + 10 * 204));
        assert_eq!(live("oltp_insert", 1.0), None);
        assert_eq!(live("bulk_insert", 0.0), Some(10 * 7 * 13));
        assert_eq!(live("bulk_insert", 1.0), None);
        assert_eq!(live("oltp_delete", 0.0), None);
    }
}
