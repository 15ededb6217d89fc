//! The figures that sysbench reports besides the rate of transactions.

use super::settings::{Script, Settings};
use crate::JobResults;
use trueput_record::Value;
use trueput_record::measurement::Measurement;

/// Derives the rate of queries, or of rows, from a measurement.
pub(super) fn derive_metrics(settings: &Settings, measurement: &Measurement) -> JobResults {
    let mut conclusion = JobResults::default();
    if measurement.elapsed_s <= 0.0 {
        return conclusion;
    }
    let counts = measurement.operations.iter().map(|one| one.count);
    let events: u64 = counts.sum();
    let name = match settings.script {
        Script::BulkInsert => "rows per second",
        _ => "queries per second",
    };
    let rate = events as f64 * settings.queries() as f64 / measurement.elapsed_s;
    let rate = Value::Float((rate * 100.0).round() / 100.0);
    conclusion.results.insert(name.to_owned(), rate);
    conclusion
}

#[cfg(test)]
mod tests {
    use super::super::settings::GivenSettings;
    use super::*;
    use trueput_engine::parameter;
    use trueput_record::Conditions;
    use trueput_record::measurement::OperationSummary;

    fn figures(script: &str) -> JobResults {
        let given = [("script".to_owned(), Value::from(script))].into();
        let resolved = parameter::resolve("sysbench", GivenSettings::PARAMETERS, &given).unwrap();
        let settings = Settings::of(&resolved, &Conditions::default()).unwrap();
        let operation = OperationSummary {
            kind: script.to_owned(),
            count: 50,
            ..OperationSummary::default()
        };
        let measurement = Measurement {
            elapsed_s: 2.0,
            operations: vec![operation],
            ..Measurement::default()
        };
        derive_metrics(&settings, &measurement)
    }

    #[test]
    fn queries_are_those_of_all_transactions_with_begin_and_commit() {
        let rate = &figures("oltp_read_write").results["queries per second"];
        assert_eq!(rate, &Value::Float(500.0));
        let rate = &figures("oltp_point_select").results["queries per second"];
        assert_eq!(rate, &Value::Float(25.0));
        let rate = &figures("bulk_insert").results["rows per second"];
        assert_eq!(rate, &Value::Float(25_000.0));
    }
}
