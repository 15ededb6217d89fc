//! The settings, named as sysbench's options, with sysbench's defaults.

use super::distribution::{Distribution, Zipfian};
use super::error::SysbenchError;
use super::rows::{LoadedRows, RowMaker};
use crate::IneffectiveSetting;
use crate::generate::distribution::share_size;
use crate::sql::store::TableStore;
use trueput_engine::{ParameterValues, Value, choices, parameters};
use trueput_record::Conditions;
use trueput_record::plan::Dimensions;

/// Transactions of all workers where neither they nor a duration are given.
const DEFAULT_EVENTS: u64 = 10_000;

parameters! {
    /// The settings as a plan gives them.
    pub(super) struct GivenSettings {
        /// The script of sysbench whose transactions are done.
        script: Choice<Script> = ReadWrite,
        /// Number of tables: sbtest1, sbtest2 and so on. bulk_insert has one for each worker.
        tables: Integer<u32> = 1 in 1..=10_000, unit "tables",
        /// Rows that are loaded into each table.
        table_size: Integer<u32> = 10_000 in 1..=1_000_000_000, unit "rows",
        /// Transactions of all workers together, whatever the time they take; 0: until the duration
        /// ends.
        events: Integer = 0 in 0.., unit "transactions",
        /// How tables are stored. kv: as keys and values, the index on k too. sql: in SQL tables.
        /// auto: sql if the engine supports it, else kv.
        store: Choice<TableStore> = Auto,
        /// Point selects of a transaction: SELECT c by id.
        point_selects: Integer<u32> = 10 in 0..=10_000, unit "statements",
        /// Simple ranges of a transaction: SELECT c of range_size ids.
        simple_ranges: Integer<u32> = 1 in 0..=10_000, unit "statements",
        /// Sum ranges of a transaction: SELECT SUM(k).
        sum_ranges: Integer<u32> = 1 in 0..=10_000, unit "statements",
        /// Order ranges of a transaction: SELECT c ORDER BY c.
        order_ranges: Integer<u32> = 1 in 0..=10_000, unit "statements",
        /// Distinct ranges of a transaction: SELECT DISTINCT c ORDER BY c.
        distinct_ranges: Integer<u32> = 1 in 0..=10_000, unit "statements",
        /// Whether transactions have ranges at all.
        range_selects: Boolean = true,
        /// Ids of a range.
        range_size: Integer<u32> = 100 in 1..=100_000, unit "ids",
        /// Index updates of a transaction: k = k + 1 by id.
        index_updates: Integer<u32> = 1 in 0..=10_000, unit "statements",
        /// Non-index updates of a transaction: c = a new text by id.
        non_index_updates: Integer<u32> = 1 in 0..=10_000, unit "statements",
        /// Rows that a transaction deletes and inserts again with a new content, two statements
        /// each.
        delete_inserts: Integer<u32> = 1 in 0..=10_000, unit "rows",
        /// Whether each statement is a transaction of its own.
        skip_trx: Boolean = false,
            cost "on: a worker's statements are neither atomic nor isolated together",
        /// With select_random_points: values of k in a query.
        random_points: Integer<u32> = 10 in 1..=900, unit "values",
        /// With select_random_ranges: ranges of k in a query.
        number_of_ranges: Integer<u32> = 10 in 1..=400, unit "ranges",
        /// With select_random_ranges: the distance between a range's ends.
        delta: Integer<u32> = 5 in 0..=1_000_000,
        /// With bulk_insert: rows of a transaction.
        bulk_rows: Integer<u32> = 1_000 in 1..=1_000_000, unit "rows",
        /// Distribution of the ids that statements choose, and of k.
        rand_type: Choice<RandomType> = Special,
        /// With special and gaussian: uniform numbers whose mean is the number drawn.
        rand_spec_iter: Integer<u32> = 12 in 1..=1_000, unit "numbers",
        /// With special: the percentage of the range that is chosen most often; it is in the
        /// middle.
        rand_spec_pct: Integer<u32> = 1 in 0..=100, unit "percent",
        /// With special: the percentage of the choices that fall in it; the others are
        /// gaussian.
        rand_spec_res: Integer<u32> = 75 in 0..=100, unit "percent",
        /// With pareto: its parameter h. 0.2 is the rule of 80 and 20.
        rand_pareto_h: Fraction = 0.2 in 0.01..=0.99,
        /// With zipfian: its exponent.
        rand_zipfian_exp: Fraction = 0.8 in 0.0..=10.0,
        /// Maximum pause before a worker retries a transaction after a conflict. The pause is
        /// random; its maximum doubles after each further conflict, up to 100 ms. 0: retry at once.
        retry_pause: Integer = 0 in 0..=100_000, unit "us",
            cost "more than 0: the worker does nothing while it waits, and conflicting \
                transactions take longer",
    }
}

choices! {
    /// The scripts.
    pub(super) enum Script {
        ReadWrite = "oltp_read_write",
        ReadOnly = "oltp_read_only",
        WriteOnly = "oltp_write_only",
        PointSelect = "oltp_point_select",
        UpdateIndex = "oltp_update_index",
        UpdateNonIndex = "oltp_update_non_index",
        Insert = "oltp_insert",
        Delete = "oltp_delete",
        RandomPoints = "select_random_points",
        RandomRanges = "select_random_ranges",
        BulkInsert = "bulk_insert",
    }
}

choices! {
    /// Distribution of ids.
    pub(super) enum RandomType {
        Special = "special",
        Uniform = "uniform",
        Gaussian = "gaussian",
        Pareto = "pareto",
        Zipfian = "zipfian",
    }
}

/// The statements of a transaction, by their kinds, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct StatementCounts {
    pub(super) point_selects: u32,
    pub(super) simple_ranges: u32,
    pub(super) sum_ranges: u32,
    pub(super) order_ranges: u32,
    pub(super) distinct_ranges: u32,
    pub(super) index_updates: u32,
    pub(super) non_index_updates: u32,
    pub(super) delete_inserts: u32,
}

impl StatementCounts {
    /// Whether a transaction writes.
    pub(super) fn writes(&self) -> bool {
        self.index_updates > 0 || self.non_index_updates > 0 || self.delete_inserts > 0
    }

    /// Queries for ranges of ids.
    pub(super) fn ranges(&self) -> u64 {
        let ranges = [
            self.simple_ranges,
            self.sum_ranges,
            self.order_ranges,
            self.distinct_ranges,
        ];
        ranges.into_iter().map(u64::from).sum()
    }

    /// Statements; a row that is deleted and inserted takes two.
    pub(super) fn total(&self) -> u64 {
        let updates = u64::from(self.index_updates) + u64::from(self.non_index_updates);
        u64::from(self.point_selects) + self.ranges() + updates + 2 * u64::from(self.delete_inserts)
    }
}

/// The settings of a trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) script: Script,
    /// The statements of the scripts that choose rows by their ids; none for the others.
    pub(super) statements: StatementCounts,
    pub(super) rows: LoadedRows,
    pub(super) store: TableStore,
    pub(super) distribution: Distribution,
    pub(super) range_size: u32,
    pub(super) random_points: u32,
    pub(super) number_of_ranges: u32,
    pub(super) delta: u32,
    pub(super) bulk_rows: u32,
    /// Whether the statements of a transaction are one transaction.
    pub(super) is_transaction: bool,
    /// The longest pause after a transaction's first conflict, microseconds.
    pub(super) retry_pause_us: u64,
    /// Transactions of all workers; `None`: until the time is up.
    pub(super) events: Option<u64>,
    /// Whether transactions of a warm-up, which are not counted, come before the others.
    pub(super) warms_up: bool,
}

impl Settings {
    /// The settings of a trial with a duration or without.
    ///
    /// # Errors
    /// They contradict each other.
    pub(super) fn of(
        given: &ParameterValues,
        conditions: &Conditions,
    ) -> Result<Self, SysbenchError> {
        let given = GivenSettings::from(given);
        let statements = statements(&given);
        let settings = Self {
            script: given.script,
            statements,
            rows: LoadedRows {
                tables: given.tables,
                table_size: given.table_size,
            },
            store: given.store,
            distribution: distribution(&given),
            range_size: given.range_size,
            random_points: given.random_points,
            number_of_ranges: given.number_of_ranges,
            delta: given.delta,
            bulk_rows: given.bulk_rows,
            is_transaction: is_mixed(given.script) && !given.skip_trx,
            retry_pause_us: given.retry_pause,
            events: match (given.events, conditions.duration_s) {
                (0, Some(_)) => None,
                (0, None) => Some(DEFAULT_EVENTS),
                (count, _) => Some(count),
            },
            warms_up: conditions.warm_up_s > 0.0,
        };
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), SysbenchError> {
        let script = self.script.word();
        let chooses = statement_settings(self.script);
        if !chooses.is_empty() && self.statements.total() == 0 {
            return Err(SysbenchError::NoStatement {
                script,
                settings: chooses.join(", "),
            });
        }
        let tables = self.rows.tables;
        if matches!(self.script, Script::RandomPoints | Script::RandomRanges) && tables > 1 {
            return Err(SysbenchError::OneTable { script, tables });
        }
        Ok(())
    }

    /// Whether the transactions write.
    pub(super) fn writes(&self) -> bool {
        let inserts_or_deletes = matches!(
            self.script,
            Script::Insert | Script::Delete | Script::BulkInsert
        );
        inserts_or_deletes || self.statements.writes()
    }

    /// Whether all statements of an event are between a begin and a commit.
    pub(super) fn begins_transaction(&self) -> bool {
        self.is_transaction || self.script == Script::BulkInsert
    }

    /// The number of tables with this many workers.
    pub(super) fn tables(&self, workers: u32) -> u32 {
        match self.script {
            Script::BulkInsert => workers,
            _ => self.rows.tables,
        }
    }

    /// The number of statements of a transaction as sysbench counts queries: with its begin and its
    /// commit, where it has them.
    pub(super) fn queries(&self) -> u64 {
        let statements = match self.script {
            Script::BulkInsert => u64::from(self.bulk_rows),
            script if statement_settings(script).is_empty() => 1,
            _ => self.statements.total(),
        };
        statements + if self.is_transaction { 2 } else { 0 }
    }

    /// Makes the rows of a seed.
    pub(super) fn maker(&self, seed: u64) -> RowMaker {
        RowMaker::new(seed, self.distribution, self.rows.table_size)
    }

    /// A worker's share of the transactions; `None`: until the time is up.
    pub(super) fn share(&self, worker: u32, workers: u32) -> Option<u64> {
        Some(share_size(self.events?, worker, workers))
    }
}

fn distribution(given: &GivenSettings) -> Distribution {
    let iterations = given.rand_spec_iter;
    match given.rand_type {
        RandomType::Special => {
            Distribution::special(iterations, given.rand_spec_pct, given.rand_spec_res)
        }
        RandomType::Uniform => Distribution::Uniform,
        RandomType::Gaussian => Distribution::Gaussian { iterations },
        RandomType::Pareto => Distribution::pareto(given.rand_pareto_h),
        RandomType::Zipfian => Distribution::Zipfian(Zipfian::new(given.rand_zipfian_exp)),
    }
}

/// Whether a script's transactions have several statements between a begin and a commit.
fn is_mixed(script: Script) -> bool {
    matches!(
        script,
        Script::ReadWrite | Script::ReadOnly | Script::WriteOnly
    )
}

fn statements(given: &GivenSettings) -> StatementCounts {
    let reads = StatementCounts {
        point_selects: given.point_selects,
        ..StatementCounts::default()
    };
    let reads = if given.range_selects {
        StatementCounts {
            simple_ranges: given.simple_ranges,
            sum_ranges: given.sum_ranges,
            order_ranges: given.order_ranges,
            distinct_ranges: given.distinct_ranges,
            ..reads
        }
    } else {
        reads
    };
    let write = |from: StatementCounts| StatementCounts {
        index_updates: given.index_updates,
        non_index_updates: given.non_index_updates,
        delete_inserts: given.delete_inserts,
        ..from
    };
    let none = StatementCounts::default();
    match given.script {
        Script::ReadWrite => write(reads),
        Script::ReadOnly => reads,
        Script::WriteOnly => write(none),
        Script::PointSelect => StatementCounts {
            point_selects: 1,
            ..none
        },
        Script::UpdateIndex => StatementCounts {
            index_updates: given.index_updates,
            ..none
        },
        Script::UpdateNonIndex => StatementCounts {
            non_index_updates: given.non_index_updates,
            ..none
        },
        Script::Insert
        | Script::Delete
        | Script::RandomPoints
        | Script::RandomRanges
        | Script::BulkInsert => none,
    }
}

const READS: [&str; 5] = [
    "point_selects",
    "simple_ranges",
    "sum_ranges",
    "order_ranges",
    "distinct_ranges",
];
const WRITES: [&str; 3] = ["index_updates", "non_index_updates", "delete_inserts"];

/// The settings that give the numbers of a script's statements; none for the scripts whose
/// transactions are one statement of their own.
fn statement_settings(script: Script) -> Vec<&'static str> {
    match script {
        Script::ReadWrite => READS.into_iter().chain(WRITES).collect(),
        Script::ReadOnly => READS.into(),
        Script::WriteOnly => WRITES.into(),
        Script::UpdateIndex => vec!["index_updates"],
        Script::UpdateNonIndex => vec!["non_index_updates"],
        Script::PointSelect
        | Script::Insert
        | Script::Delete
        | Script::RandomPoints
        | Script::RandomRanges
        | Script::BulkInsert => Vec::new(),
    }
}

/// Whether a setting has an effect with a script.
fn has_effect(name: &str, script: Script) -> bool {
    match name {
        "range_selects" | "range_size" => {
            matches!(script, Script::ReadWrite | Script::ReadOnly)
        }
        "skip_trx" => is_mixed(script),
        "random_points" => script == Script::RandomPoints,
        "number_of_ranges" | "delta" => script == Script::RandomRanges,
        "bulk_rows" => script == Script::BulkInsert,
        "tables" | "table_size" => script != Script::BulkInsert,
        _ if READS.contains(&name) || WRITES.contains(&name) => {
            statement_settings(script).contains(&name)
        }
        _ if name.starts_with("rand_") => script != Script::BulkInsert,
        _ => true,
    }
}

/// Whether each setting that is given has an effect with one of the scripts that are.
///
/// # Errors
/// The first that has none.
pub(super) fn check_given(given: &Dimensions) -> Result<(), IneffectiveSetting> {
    let is_asked = |script: &Script| match given.get("script") {
        Some(words) => words.contains(&Value::from(script.word())),
        None => *script == GivenSettings::default().script,
    };
    let scripts: Vec<_> = Script::ALL.into_iter().filter(is_asked).collect();
    for setting in GivenSettings::PARAMETERS {
        let name = setting.name;
        let helps = |script: &Script| has_effect(name, *script);
        if !given.contains_key(name) || scripts.is_empty() || scripts.iter().any(helps) {
            continue;
        }
        let message = match scripts[..] {
            [Script::BulkInsert] if has_effect(name, Script::ReadWrite) => {
                not_of_bulk_insert(name, &given[name])
            }
            _ => {
                let others = Script::ALL.into_iter().filter(helps).map(Script::word);
                let others: Vec<_> = others.collect();
                format!(
                    "{name} is a setting of script={}, which is not among the scripts",
                    others.join(", ")
                )
            }
        };
        return Err(IneffectiveSetting { name, message });
    }
    Ok(())
}

/// What bulk_insert has in the place of a setting of the scripts on loaded tables.
fn not_of_bulk_insert(name: &str, values: &[Value]) -> String {
    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
    let values = values.join(",");
    match name {
        "tables" => format!(
            "script=bulk_insert has one table per worker: give --workers {values} in place of \
             tables={values}"
        ),
        "table_size" => "script=bulk_insert begins with empty tables: remove table_size, or give \
                         bulk_rows, the rows of each insert"
            .to_owned(),
        _ => format!("script=bulk_insert only inserts rows, in order of their ids: remove {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_engine::parameter;

    fn settings(given: &[(&str, &str)]) -> Result<Settings, SysbenchError> {
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::parse(value)));
        let given = given.collect();
        let resolved = parameter::resolve("sysbench", GivenSettings::PARAMETERS, &given).unwrap();
        Settings::of(&resolved, &Conditions::default())
    }

    fn queries(script: &str) -> u64 {
        settings(&[("script", script)]).unwrap().queries()
    }

    #[test]
    fn transactions_have_as_many_queries_as_sysbenchs() {
        // As sysbench 1.0.20 reports them per transaction: reads, writes and other.
        assert_eq!(queries("oltp_read_write"), 14 + 4 + 2);
        assert_eq!(queries("oltp_read_only"), 14 + 2);
        assert_eq!(queries("oltp_write_only"), 4 + 2);
        for script in [
            "oltp_point_select",
            "oltp_update_index",
            "oltp_update_non_index",
            "oltp_insert",
            "oltp_delete",
            "select_random_points",
            "select_random_ranges",
        ] {
            assert_eq!(queries(script), 1, "{script}");
        }
        let separate = settings(&[("skip_trx", "true")]).unwrap();
        assert_eq!(separate.queries(), 18);
        let without = settings(&[("range_selects", "false")]).unwrap();
        assert_eq!(without.queries(), 10 + 4 + 2);
    }

    #[test]
    fn a_script_without_a_statement_and_one_with_too_many_tables_are_refused() {
        let given = [("script", "oltp_update_index"), ("index_updates", "0")];
        let error = settings(&given).unwrap_err().to_string();
        assert!(error.contains("give one of index_updates"), "{error}");
        let given = [("script", "select_random_points"), ("tables", "2")];
        let error = settings(&given).unwrap_err().to_string();
        assert!(error.contains("tables=1, not 2"), "{error}");
    }

    #[test]
    fn a_setting_of_no_script_that_is_asked_for_is_refused() {
        let check = |given: &[(&str, &str)]| {
            let given = given
                .iter()
                .map(|(name, value)| ((*name).to_owned(), vec![Value::parse(value)]));
            check_given(&given.collect()).map_err(|error| error.name)
        };
        assert_eq!(check(&[("range_size", "10")]), Ok(()));
        assert_eq!(check(&[("random_points", "5")]), Err("random_points"));
        let updates = ("script", "oltp_update_index");
        assert_eq!(check(&[updates, ("range_size", "10")]), Err("range_size"));
        assert_eq!(check(&[updates, ("index_updates", "3")]), Ok(()));
        assert_eq!(check(&[updates, ("rand_type", "uniform")]), Ok(()));
        let bulk = ("script", "bulk_insert");
        assert_eq!(check(&[bulk, ("table_size", "10")]), Err("table_size"));
    }

    #[test]
    fn what_bulk_insert_has_in_the_place_of_a_setting_is_named() {
        let refusal = |name: &str, values: &[i64]| {
            let script = vec![Value::from("bulk_insert")];
            let values = values.iter().map(|value| Value::Integer(*value)).collect();
            let given = [("script".to_owned(), script), (name.to_owned(), values)];
            check_given(&given.into_iter().collect())
                .unwrap_err()
                .message
        };
        let tables = "one table per worker: give --workers 3 in place of tables=3";
        assert!(refusal("tables", &[3]).ends_with(tables));
        assert!(refusal("tables", &[1, 2]).contains("--workers 1,2 in place"));
        assert!(refusal("table_size", &[9]).contains("begins with empty tables"));
        assert!(refusal("rand_spec_pct", &[9]).ends_with("remove rand_spec_pct"));
        assert!(refusal("delta", &[9]).contains("script=select_random_ranges, which is not"));
    }

    #[test]
    fn every_workers_share_together_is_the_whole() {
        let settings = settings(&[("events", "1003")]).unwrap();
        let shares = (0..4).map(|worker| settings.share(worker, 4).unwrap());
        assert_eq!(shares.sum::<u64>(), 1_003);
    }
}
