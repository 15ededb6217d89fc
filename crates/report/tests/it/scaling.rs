//! The Universal Scalability Law in words: what is said of a fit, and of one that does not describe
//! its points.

use trueput_findings::scaling::{ScalingPoint, fit};
use trueput_report::scaling::{misfit, oversubscription_note, sentences, table, unfitted};

/// SPEC SDM91 on a Sun SPARCcenter 2000: data set `specsdm91` of the R package `usl`.
const SDM91: [(f64, f64); 7] = [
    (1.0, 64.9),
    (18.0, 995.9),
    (36.0, 1652.4),
    (72.0, 1853.2),
    (108.0, 1828.9),
    (144.0, 1775.0),
    (216.0, 1702.2),
];

fn points(pairs: &[(f64, f64)]) -> Vec<ScalingPoint> {
    let point = |&(workers, per_s): &(f64, f64)| ScalingPoint { workers, per_s };
    pairs.iter().map(point).collect()
}

/// Points of the law itself.
fn law(lambda: f64, sigma: f64, kappa: f64, workers: &[f64]) -> Vec<ScalingPoint> {
    let rate = |n: f64| lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
    let point = |&workers: &f64| ScalingPoint {
        workers,
        per_s: rate(workers),
    };
    workers.iter().map(point).collect()
}

/// Asserts that nothing is read from a fit, for that reason.
#[track_caller]
fn not_described(pairs: &[(f64, f64)], reason: &str) {
    let fit = fit(&points(pairs)).unwrap();
    let said = sentences("engine", &Ok(fit.clone()));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("the law does not fit"), "{said:?}");
    assert!(said[0].contains(reason), "{said:?}: {fit:?}");
    for claim in ["of the work is serial", "the law peaks", "no peak found"] {
        assert!(!said[0].contains(claim), "{said:?}");
    }
    let row = &table(&[("engine".to_owned(), Ok(fit))]).rows[0];
    assert_eq!([&row[1], &row[2], &row[3]], ["–"; 3], "{row:?}");
    assert_eq!(row[5], "does not fit");
}

#[test]
fn where_the_law_fits_badly_no_serial_part_and_no_peak_are_stated() {
    // Rates that rise and fall by turns.
    not_described(
        &[
            (1.0, 900.0),
            (2.0, 1_900.0),
            (4.0, 800.0),
            (8.0, 2_100.0),
            (16.0, 900.0),
            (32.0, 1_800.0),
        ],
        "of the variance of the rates, less than 90.0 %",
    );
    // One worker does more than several together, and one after another they do about the same.
    not_described(
        &[
            (1.0, 10_515.0),
            (2.0, 1_300.0),
            (4.0, 1_250.0),
            (8.0, 1_320.0),
            (16.0, 1_240.0),
        ],
        "the serial share of the work would be",
    );
    // The control: published rates are described.
    let sound = fit(&points(&SDM91)).unwrap();
    assert_eq!(misfit(&sound), None);
    assert_eq!(sentences("sdm91", &Ok(sound)).len(), 2);
}

#[test]
fn a_rate_of_one_worker_that_nobody_came_near_is_no_rate() {
    let mut far = fit(&points(&SDM91)).unwrap();
    assert_eq!(misfit(&far), None);
    far.lambda.value = 121_014.0;
    let reason = misfit(&far).unwrap();
    assert_eq!(
        reason,
        "one worker would reach 121,014/s, but at most 64.9/s per worker were measured"
    );
}

#[test]
fn workers_beyond_the_cores_are_said_to_be_so() {
    let said = oversubscription_note(64.0, 2).unwrap();
    assert!(
        said.starts_with("Up to 64 workers ran on 2 cores."),
        "{said}"
    );
    assert_eq!(oversubscription_note(2.0, 2), None);
}

#[test]
fn the_table_has_a_row_per_fit_and_why_others_have_none_is_said_once() {
    let series = [
        (
            "a".to_owned(),
            fit(&law(100.0, 0.05, 0.005, &[1.0, 2.0, 4.0, 8.0, 16.0])),
        ),
        ("b".to_owned(), fit(&law(100.0, 0.05, 0.005, &[1.0, 2.0]))),
        ("c".to_owned(), fit(&law(200.0, 0.05, 0.005, &[1.0, 4.0]))),
    ];
    let table = table(&series);
    assert_eq!(table.rows.len(), 1);
    assert_eq!(table.rows[0].len(), table.columns.len());
    assert_eq!(table.rows[0][5], "547/s at 13.8");
    assert_eq!(sentences("b", &series[1].1), Vec::<String>::new());
    let said = unfitted(&series);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("No scaling law was fitted to b, c: too few points"),
        "{said:?}"
    );
}

#[test]
fn a_series_without_a_peak_is_said_to_have_none() {
    let linear = fit(&law(100.0, 0.0, 0.0, &[1.0, 2.0, 3.0, 4.0, 8.0]));
    assert_has!(sentences("engine", &linear).join(" "), "no peak found");
}
