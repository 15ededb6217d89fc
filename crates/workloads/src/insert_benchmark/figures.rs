//! The figures that the benchmark's reports have: rows a second, and whether the writers of a step
//! with queries kept their rate.

use super::kinds::Kind;
use super::settings::Settings;
use super::step::Step;
use crate::JobResults;
use crate::keyed::rate_limiter::sustained_rate;
use trueput_record::Value;
use trueput_record::measurement::Measurement;

/// Derives the figures.
pub(super) fn derive_metrics(settings: &Settings, measurement: &Measurement) -> JobResults {
    let mut conclusion = JobResults::default();
    let elapsed_s = measurement.elapsed_s;
    if elapsed_s <= 0.0 {
        return conclusion;
    }
    let count = |kind: Kind| {
        let operation = measurement.operation(kind.name());
        operation.map_or(0, |operation| operation.count)
    };
    let rows_of = |kind| count(kind) * u64::from(settings.step.transaction_rows());
    let mut put = |name: &str, rows: u64| {
        let per_s = rows as f64 / elapsed_s;
        let rounded = Value::Float((per_s * 10.0).round() / 10.0);
        conclusion.results.insert(name.to_owned(), rounded);
        per_s
    };
    match settings.step {
        // The last transaction may have fewer rows.
        Step::Load => {
            let rows = rows_of(Kind::Insert).min(settings.all_rows());
            put("rows inserted per s", rows);
        }
        Step::CreateIndexes => {
            put("rows indexed per s", settings.all_rows());
        }
        _ => {
            let inserted_per_s = put("rows inserted per s", rows_of(Kind::Insert));
            put("rows deleted per s", rows_of(Kind::Delete));
            if let Some((_, rows_per_s)) = settings.step.queries() {
                let asked_per_s = f64::from(rows_per_s) * f64::from(settings.tables);
                let sustained = sustained_rate("rows to insert per s", asked_per_s, inserted_per_s);
                conclusion.results.extend(sustained);
            }
        }
    }
    conclusion
}

#[cfg(test)]
mod tests {
    use super::super::settings::GivenSettings;
    use super::*;
    use trueput_engine::parameter;
    use trueput_record::Conditions;
    use trueput_record::measurement::OperationSummary;

    fn figures(step: &str, counts: &[(&str, u64)]) -> JobResults {
        let given = [("step", step), ("tables", "2"), ("rows", "1050")];
        let given = given.map(|(name, value)| (name.to_owned(), Value::parse(value)));
        let parameters = GivenSettings::PARAMETERS;
        let resolved = parameter::resolve("insert-benchmark", parameters, &given.into()).unwrap();
        let settings = Settings::new(&resolved, &Conditions::default()).unwrap();
        let operations = counts.iter().map(|&(kind, count)| OperationSummary {
            kind: kind.to_owned(),
            count,
            ..OperationSummary::default()
        });
        let measurement = Measurement {
            elapsed_s: 10.0,
            operations: operations.collect(),
            ..Measurement::default()
        };
        derive_metrics(&settings, &measurement)
    }

    #[test]
    fn rows_are_counted_and_not_transactions() {
        // The last of eleven transactions of a table has 50 rows.
        let load = figures("l.i0", &[("insert", 22)]);
        assert_eq!(load.results["rows inserted per s"], Value::Float(210.0));
        let index = figures("l.x", &[("index", 6)]);
        assert_eq!(index.results["rows indexed per s"], Value::Float(210.0));
        let writes = figures("l.i2", &[("insert", 40), ("delete", 38)]);
        assert_eq!(writes.results["rows inserted per s"], Value::Float(20.0));
        assert_eq!(writes.results["rows deleted per s"], Value::Float(19.0));
        assert!(!writes.results.contains_key("writers kept the rate"));
    }

    #[test]
    fn writers_keep_their_rate_from_95_percent_on() {
        for (transactions, is_kept) in [(400, true), (380, true), (379, false)] {
            let figures = figures("qr1000", &[("range-query", 9), ("insert", transactions)]);
            let kept = &figures.results["writers kept the rate"];
            assert_eq!(*kept, Value::Boolean(is_kept), "{transactions}");
            assert_eq!(
                figures.results["rows to insert per s"],
                Value::Float(2_000.0)
            );
        }
    }
}
