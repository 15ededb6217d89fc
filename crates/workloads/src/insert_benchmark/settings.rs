//! The settings of `insert-benchmark`.

use super::error::InsertBenchmarkError;
use super::kv::{self, MAX_KEY_BYTES, ROW_KEY_BYTES, entry_bytes};
use super::purchase::{DataLengths, Index, MAX_DATA_BYTES, RowMaker};
use super::step::Step;
use crate::sql::store::TableStore;
use crate::{DEFAULT_DURATION_S, IneffectiveSetting};
use trueput_engine::{Capabilities, ParameterValues, Value, parameters};
use trueput_record::Conditions;
use trueput_record::plan::Dimensions;

/// Seconds for which rows of a step with queries are known beyond its duration: a second's
/// transactions begin at its start, and the last second may be one more.
const SPARE_SECONDS: u64 = 2;

/// The setting with the step.
pub(super) const STEP: &str = "step";

parameters! {
    /// The settings as a plan gives them.
    pub(super) struct GivenSettings {
        /// Step of the benchmark. The steps of a plan run in the order of its list, on one
        /// database.
        step: Choice<Step> = Load,
        /// Rows of each table.
        rows: Integer = 250_000 in 1_000..=4_000_000_000, unit "rows",
        /// Tables, each with a client of its own; as many as workers.
        tables: Integer<u32> = 4 in 1..=1_024, unit "tables",
        /// Rows that each client inserts in l.i1 (four fifths of them) and l.i2 (one fifth), and as
        /// many that it deletes; 0: until the duration ends.
        insert_rows: Integer = 125_000 in 0..=1_000_000_000, unit "rows",
        /// Minimum length of the column data.
        data_length_min: Integer<usize> = 10 in 1..=(MAX_DATA_BYTES as i64), unit "bytes",
        /// Maximum length of the column data.
        data_length_max: Integer<usize> = 10 in 1..=(MAX_DATA_BYTES as i64), unit "bytes",
        /// How tables are stored. kv: as keys and values. sql: in SQL tables. auto: sql if the
        /// engine supports it, else kv.
        store: Choice<TableStore> = Auto,
        /// Maximum pause before a worker retries a transaction after a conflict. The pause is
        /// random; its maximum doubles after each further conflict, up to 100 ms. 0: retry at once.
        retry_pause: Integer = 0 in 0..=100_000, unit "us",
            cost "more than 0: the worker does nothing while it waits, and conflicting \
                transactions take longer",
    }
}

impl GivenSettings {
    /// Whether the step ends by its number of rows.
    pub(super) fn ends_by_rows(&self) -> bool {
        match self.step {
            Step::Load | Step::CreateIndexes => true,
            Step::LargeTransactions | Step::SmallTransactions => self.insert_rows > 0,
            _ => false,
        }
    }

    /// The rows that each client inserts at most; `None`: until the duration ends.
    fn rows_to_insert(&self, conditions: &Conditions) -> Option<u64> {
        let part = |fifths: u64| (self.insert_rows > 0).then(|| share(self.insert_rows, fifths));
        match (self.step, self.step.queries()) {
            (_, Some((_, rows_per_s))) => {
                let duration_s = conditions.duration_s.unwrap_or(DEFAULT_DURATION_S);
                let seconds = duration_s.ceil() as u64 + SPARE_SECONDS;
                Some(seconds.saturating_mul(rows_per_s.into()))
            }
            (Step::Load, None) => Some(self.rows),
            (Step::LargeTransactions, None) => part(4),
            (Step::SmallTransactions, None) => part(1),
            (_, None) => Some(0),
        }
    }
}

/// So many fifths of the rows, rounded, and at least one row, as in `iq.sh`.
fn share(rows: u64, fifths: u64) -> u64 {
    ((rows * fifths + 2) / 5).max(1)
}

/// The settings of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) step: Step,
    /// Rows of each table.
    pub(super) rows: u64,
    pub(super) tables: u32,
    /// Rows that each client inserts at most; `None`: until the duration ends.
    pub(super) rows_to_insert: Option<u64>,
    /// Whether the step ends by its number of rows.
    pub(super) ends_by_rows: bool,
    data_lengths: DataLengths,
    pub(super) store: TableStore,
    /// The longest pause after a transaction's first conflict, microseconds.
    pub(super) retry_pause_us: u64,
}

impl Settings {
    /// Reads the settings.
    ///
    /// # Errors
    /// The settings contradict each other or the conditions.
    pub(super) fn new(
        given: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Self, InsertBenchmarkError> {
        let given = GivenSettings::from(given);
        let (min, max) = (given.data_length_min, given.data_length_max);
        if min > max {
            return Err(InsertBenchmarkError::DataLengths { min, max });
        }
        if conditions.warm_up_s > 0.0 {
            return Err(InsertBenchmarkError::WarmUp);
        }
        Ok(Self {
            step: given.step,
            rows: given.rows,
            tables: given.tables,
            rows_to_insert: given.rows_to_insert(conditions),
            ends_by_rows: given.ends_by_rows(),
            data_lengths: DataLengths { min, max },
            store: given.store,
            retry_pause_us: given.retry_pause,
        })
    }

    /// The rows of a table, from 1.
    pub(super) fn maker(&self, seed: u64, table: u32) -> RowMaker {
        RowMaker::new(seed, table, self.data_lengths)
    }

    /// The rows of all tables.
    pub(super) fn all_rows(&self) -> u64 {
        self.rows * u64::from(self.tables)
    }

    /// Everything that determines the loaded rows, and so the database that steps share.
    pub(super) fn load_key(&self) -> String {
        let Self {
            rows,
            tables,
            data_lengths: DataLengths { min, max },
            store,
            ..
        } = self;
        format!("{rows} x {tables}, {min} to {max} bytes, in {store}")
    }

    /// Bytes of the key and the value of a row, on average.
    pub(super) fn row_bytes(&self) -> f64 {
        let DataLengths { min, max } = self.data_lengths;
        let sum = 2 * ROW_KEY_BYTES + kv::value_bytes(min) + kv::value_bytes(max);
        sum as f64 / 2.0
    }

    /// Checks that an engine has room for the records.
    ///
    /// # Errors
    /// It has not.
    pub(super) fn check_room(
        &self,
        capabilities: &Capabilities,
    ) -> Result<(), InsertBenchmarkError> {
        let value_bytes = kv::value_bytes(self.data_lengths.max);
        let has_room = MAX_KEY_BYTES <= capabilities.max_key_bytes
            && value_bytes <= capabilities.max_value_bytes;
        has_room.then_some(()).ok_or(InsertBenchmarkError::Room {
            key_bytes: MAX_KEY_BYTES,
            value_bytes,
        })
    }
}

/// Bytes of the entries that a row has in the secondary indexes.
pub(super) fn index_bytes() -> f64 {
    let bytes = Index::ALL.map(entry_bytes);
    bytes.iter().sum::<usize>() as f64
}

/// Whether each setting that a plan gives can have an effect: only l.i1 and l.i2 have a number of
/// rows to insert, and l.x creates the indexes of no step before it.
pub(super) fn check_given(given: &Dimensions) -> Result<(), IneffectiveSetting> {
    let is_counted = |value: &Value| {
        let steps = [Step::LargeTransactions, Step::SmallTransactions];
        steps.iter().any(|step| *value == Value::from(step.word()))
    };
    let steps = given.get(STEP).map_or(&[][..], Vec::as_slice);
    if given.contains_key("insert_rows") && !steps.iter().any(is_counted) {
        return Err(IneffectiveSetting {
            name: "insert_rows",
            message: "insert_rows is a setting of step=l.i1 and step=l.i2, which are not among \
                      the steps"
                .to_owned(),
        });
    }
    check_order(steps)
}

/// Whether l.x comes before the steps that need its indexes: without it they create them, and l.x
/// would find them in the database that it goes on with. l.i0 makes a new one.
fn check_order(steps: &[Value]) -> Result<(), IneffectiveSetting> {
    let step_of = |value: &Value| {
        let mut all = Step::ALL.into_iter();
        all.find(|step| *value == Value::from(step.word()))
    };
    let listed: Vec<Step> = steps.iter().filter_map(step_of).collect();
    let mut indexed_by = None;
    for (place, step) in listed.iter().enumerate() {
        // A step that is listed twice runs once, at its first place.
        if listed[..place].contains(step) {
            continue;
        }
        match (step, indexed_by) {
            (Step::Load, _) => indexed_by = None,
            (Step::CreateIndexes, Some(before)) => {
                let in_order = Step::ALL.into_iter().filter(|step| listed.contains(step));
                let in_order: Vec<_> = in_order.map(Step::word).collect();
                return Err(IneffectiveSetting {
                    name: STEP,
                    message: format!(
                        "l.x after {before} would find the indexes, which {before} creates where \
                         they are missing: give step={}",
                        in_order.join(",")
                    ),
                });
            }
            _ => indexed_by = Some(*step),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(step: Step, insert_rows: u64) -> GivenSettings {
        GivenSettings {
            step,
            insert_rows,
            ..GivenSettings::default()
        }
    }

    #[test]
    fn l_i1_has_four_fifths_of_the_rows_to_insert_and_l_i2_one_fifth() {
        let rows = |step, rows| given(step, rows).rows_to_insert(&Conditions::default());
        let (large, small) = (Step::LargeTransactions, Step::SmallTransactions);
        assert_eq!(rows(large, 500_000), Some(400_000));
        assert_eq!(rows(small, 500_000), Some(100_000));
        assert_eq!((rows(large, 1), rows(small, 1)), (Some(1), Some(1)));
        assert_eq!((rows(large, 0), rows(small, 0)), (None, None));
        assert_eq!(rows(Step::Load, 7), Some(250_000));
        assert_eq!(rows(Step::CreateIndexes, 7), Some(0));
    }

    #[test]
    fn the_rows_of_a_step_with_queries_have_an_end_after_its_duration() {
        let conditions = Conditions {
            duration_s: Some(2.5),
            ..Conditions::default()
        };
        let rows = |step| given(step, 0).rows_to_insert(&conditions);
        assert_eq!(rows(Step::Range100), Some(500));
        assert_eq!(rows(Step::Point1000), Some(5_000));
    }

    #[test]
    fn indexes_are_created_before_the_steps_that_need_them() {
        let check = |steps: &[&str]| {
            let values = steps.iter().map(|step| Value::from(*step)).collect();
            check_given(&[(STEP.to_owned(), values)].into())
        };
        for steps in [
            &["l.i0", "l.x", "l.i1", "l.i2", "qr100"][..],
            // Each on a database of its own.
            &["l.x", "l.i0"],
            &["l.i1", "l.i0", "l.x"],
            &["l.x"],
            &["l.i1", "qr100"],
            &["l.x", "l.i1", "l.x"],
        ] {
            assert_eq!(check(steps), Ok(()), "{steps:?}");
        }
        let refused = check(&["l.i0", "l.i1", "l.x"]).unwrap_err();
        assert_eq!(refused.name, STEP);
        let message = refused.message;
        assert!(message.contains("l.x after l.i1"), "{message}");
        assert!(message.ends_with("give step=l.i0,l.x,l.i1"), "{message}");
        assert!(check(&["l.i0", "qr100", "l.i2", "l.x"]).is_err());
    }

    #[test]
    fn the_load_and_counted_inserts_end_by_themselves() {
        for (step, rows, ends) in [
            (Step::Load, 0, true),
            (Step::CreateIndexes, 0, true),
            (Step::LargeTransactions, 5, true),
            (Step::SmallTransactions, 0, false),
            (Step::Range500, 5, false),
        ] {
            assert_eq!(given(step, rows).ends_by_rows(), ends, "{step}");
        }
    }
}
