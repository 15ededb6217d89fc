//! The fit of a trace, from the file to a job that runs.

use crate::job_bench::job_under;
use crate::micro::harness::{Bench, assert_right};
use std::collections::HashMap;
use std::fmt::Write as _;
use trueput_engine::reference::Reference;
use trueput_record::Conditions;
use trueput_workloads::generate::random::Random;
use trueput_workloads::mixgraph::{FitError, Mixgraph, MixgraphFit, fit_trace};
use trueput_workloads::trace::FormatChoice;

/// Requests at 200/s of a power law with a = 0.05 and b = 0.5 of 400 keys, in CSV: seven gets to
/// two puts and a scan. Values are exponential with a mean of 80 bytes over 50, scans uniform.
fn trace(requests: u32) -> String {
    let mut random = Random::new(11);
    let mut text = "time,operation,key,size\n".to_owned();
    for number in 0..requests {
        let unit = random.unit_f64();
        let rank = (unit / 0.05).powi(2).ceil() as u64;
        let exponential = -80.0 * (1.0 - random.unit_f64()).ln();
        let (operation, size) = match random.below(10) {
            0..7 => ("get", 0),
            7..9 => ("put", 50 + exponential.ceil() as u64),
            _ => ("scan", 1 + random.below(30)),
        };
        let seconds = f64::from(number) / 200.0;
        writeln!(text, "{seconds:.3},{operation},user{rank:05},{size}").unwrap();
    }
    text
}

fn fitted(text: &str, key_ranges: u64) -> Result<MixgraphFit, FitError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.csv");
    std::fs::write(&file, text).unwrap();
    fit_trace(file.to_str().unwrap(), FormatChoice::Auto, key_ranges)
}

#[test]
fn a_trace_gives_the_parameters_that_it_was_drawn_from_and_a_job_that_runs() {
    let fit = fitted(&trace(100_000), 0).unwrap();
    let found: HashMap<&str, String> = fit
        .settings
        .iter()
        .map(|(name, value)| (*name, value.to_string()))
        .collect();
    let number = |name: &str| found[name].parse::<f64>().unwrap();
    for (name, right, tolerance) in [
        ("num", 400.0, 1.0),
        ("key_size", 9.0, 0.0),
        ("mix_get_ratio", 0.7, 0.01),
        ("mix_put_ratio", 0.2, 0.01),
        ("mix_seek_ratio", 0.1, 0.01),
        ("key_dist_a", 0.05, 0.003),
        ("key_dist_b", 0.5, 0.02),
        ("value_theta", 50.0, 1.0),
        ("value_k", 0.0, 0.04),
        ("value_sigma", 80.0, 5.0),
        // Uniform lengths are the distribution with k = -1.
        ("iter_theta", 0.0, 0.0),
        ("iter_k", -1.0, 0.15),
        ("iter_sigma", 30.0, 4.0),
        ("mix_max_scan_len", 31.0, 0.0),
        ("sine_a", 0.0, 0.0),
        ("sine_d", 200.0, 0.1),
    ] {
        let off = (number(name) - right).abs();
        assert!(off <= tolerance, "{name}: {} for {right}", found[name]);
    }
    assert_eq!(found["sine_mix_rate"], "true");
    let mut given = String::new();
    for (name, value) in &fit.settings {
        write!(given, "{name}={value} ").unwrap();
    }
    let conditions = Conditions::default();
    let job = job_under(&Mixgraph, &given, &conditions).unwrap();
    assert!((job.scheduled_per_s().unwrap() - 200.0).abs() < 0.1);
    let given = given + "mix_accesses=2000";
    let bench = Bench::of(&Mixgraph, &Reference, 2, &conditions, &given);
    assert_right(&bench.run().1, &given);
}

#[test]
fn a_trace_is_refused_where_nothing_can_be_fitted_to_it() {
    let few = fitted(&trace(999), 0);
    assert_eq!(few, Err(FitError::FewOperations { operations: 999 }));
    let damaged = fitted(&(trace(2_000) + "5,gett,a,1\n"), 0).unwrap_err();
    assert!(damaged.to_string().contains("'gett'"), "{damaged}");
    let ranges = fitted(&trace(2_000), 900).unwrap_err().to_string();
    assert!(
        ranges.contains("900 key ranges cannot be fitted: the trace has"),
        "{ranges}"
    );
}
