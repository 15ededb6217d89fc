//! The steps of a benchmark share one database, and each repeat begins with a new one.

use crate::support::{ALL_WELL, Bench, ended_well};
use trueput_record::{TrialRecord, Value};

const RUN: &str = "run insert-benchmark --durability process --workers 1 --set tables=1 \
    --set rows=1000";

/// Four steps, of which the last ends by its duration.
const STEPS: &str = "--set step=l.i0,l.x,l.i1,qr100 --set insert_rows=500 --duration 500ms";

/// Runs the steps; each trial with its step.
fn trials(options: &str) -> Vec<(String, TrialRecord)> {
    let bench = Bench::new();
    bench.run_expecting(ALL_WELL, &format!("{RUN} {options}"));
    let trials = bench.trials().into_iter();
    let trials = trials.map(|trial| (trial.spec.settings["step"].to_string(), trial));
    let trials: Vec<_> = trials.collect();
    for (step, trial) in &trials {
        assert!(ended_well(trial), "{step}: {:?}", trial.outcome);
    }
    trials
}

fn result(trial: &TrialRecord, name: &str) -> Value {
    trial.measurement.as_ref().unwrap().results[name].clone()
}

#[test]
#[ignore = "slow: make test runs it"]
fn each_step_goes_on_with_the_rows_of_the_one_before_it() {
    // With copies of prepared databases, without them, and side by side.
    for options in [
        "--engine lmdb --repeat 2",
        "--engine lmdb --repeat 2 --keep-databases",
        "--engine lmdb,sqlite --repeat 2 --time-slice 20ms",
    ] {
        let trials = trials(&format!("{STEPS} {options}"));
        let contenders = options.matches("sqlite").count() + 1;
        assert_eq!(trials.len(), contenders * 8, "{options}");
        for (step, trial) in &trials {
            // What is loaded in preparation, no step before it has left.
            assert!(trial.load.is_none(), "{options} {step}");
            let inserted = result(trial, "rows inserted");
            let conditions = &trial.spec.conditions;
            match step.as_str() {
                "l.i0" => assert_eq!(inserted, Value::Integer(1_000)),
                "l.x" => assert_eq!(inserted, Value::Integer(0)),
                "l.i1" => assert_eq!(inserted, Value::Integer(400)),
                _ => assert_eq!(conditions.duration_s, Some(0.5)),
            }
            assert_eq!(conditions.duration_s.is_some(), step == "qr100");
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_step_alone_is_prepared_and_its_writers_say_whether_they_kept_the_rate() {
    let trials = trials("--engine lmdb --set step=qr100 --duration 2");
    let (_, trial) = &trials[0];
    let load = trial.load.as_ref().unwrap();
    assert_eq!(load.records, 1_000);
    assert_eq!(result(trial, "writers kept the rate"), Value::Boolean(true));
    let asked = result(trial, "rows to insert per s");
    assert_eq!(asked.to_string().parse::<f64>().unwrap(), 100.0);
    let checks = &trial.verification.as_ref().unwrap().checks;
    assert!(checks.iter().any(|check| check.name == "queries"));
}
