//! The Universal Scalability Law against fits that others published, and against data whose
//! coefficients are known.

use trueput_findings::scaling::{Fit, FitError, Peak, ScalingPoint, fit};
use trueput_record::published;

/// MySQL on a Cisco server. B. Schwartz, Practical Scalability Analysis with the Universal
/// Scalability Law, 2015; figures as in the tests of github.com/codahale/usl4j.
const CISCO: [f64; 32] = [
    955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61,
    8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52,
    11151.43, 11518.63, 11806.0, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27,
    12118.04, 12140.4, 12074.39,
];

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

/// A ray tracer on an SGI Origin 2000: data set `raytracer` of the R package `usl`.
const RAYTRACER: [(f64, f64); 11] = [
    (1.0, 20.0),
    (4.0, 78.0),
    (8.0, 130.0),
    (12.0, 170.0),
    (16.0, 190.0),
    (20.0, 200.0),
    (24.0, 210.0),
    (28.0, 230.0),
    (32.0, 260.0),
    (48.0, 280.0),
    (64.0, 310.0),
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

#[track_caller]
fn near(found: f64, expected: f64, part: f64) {
    let tolerance = expected.abs() * part;
    assert!(
        (found - expected).abs() <= tolerance,
        "{found}, not {expected} within {tolerance}"
    );
}

/// The reads of an engine of the 2014 table over its readers.
fn reads_of_2014(engine: &str) -> Fit {
    let table = published::named("symas-2014-read-while-writing").unwrap();
    let rows = table
        .records()
        .filter(|row| row.text("engine") == Some(engine));
    let points: Vec<_> = rows
        .map(|row| ScalingPoint {
            workers: row.figure("readers").unwrap(),
            per_s: row.figure("reads_per_s").unwrap(),
        })
        .collect();
    assert_eq!(points.len(), 7);
    fit(&points).unwrap()
}

#[test]
fn the_cisco_fit_of_the_book_is_found_again() {
    let pairs: Vec<_> = (1..).map(f64::from).zip(CISCO).collect();
    let fit = fit(&points(&pairs)).unwrap();
    near(fit.lambda.value, 995.6486, 1e-6);
    near(fit.sigma.value, 0.026_715_91, 2e-6);
    near(fit.kappa.value, 7.690_945e-4, 2e-6);
    let Peak::At {
        workers,
        per_s,
        beyond_measured,
    } = fit.peak
    else {
        panic!("{:?}", fit.peak);
    };
    // The book rounds the peak down to 35 workers; the law has 12,341.
    assert_eq!(workers.floor(), 35.0);
    near(fit.at(35.0), 12_341.745, 1e-6);
    assert!(per_s >= fit.at(35.0) && beyond_measured);
    assert!(fit.r_squared > 0.99);
}

#[test]
fn estimates_errors_and_peak_agree_with_r() {
    // README of the R package usl 3.0.3, summary(usl(throughput ~ load, specsdm91)):
    //   alpha 0.0277285 (0.0091217), beta 0.0001044 (0.0000199), gamma 89.9952330 (14.2134894),
    //   residual standard error 82.8 on 4 degrees of freedom, peak 1884 at load 96.52.
    let fit = fit(&points(&SDM91)).unwrap();
    near(fit.sigma.value, 0.027_728_5, 1e-5);
    near(fit.sigma.standard_error, 0.009_121_7, 1e-4);
    near(fit.kappa.value, 0.000_104_4, 1e-3);
    near(fit.kappa.standard_error, 0.000_019_9, 3e-3);
    near(fit.lambda.value, 89.995_233, 1e-6);
    near(fit.lambda.standard_error, 14.213_489_4, 1e-4);
    near(fit.residual_error_per_s, 82.8, 1e-3);
    assert_eq!(fit.degrees_of_freedom, 4);
    let Peak::At {
        workers,
        per_s,
        beyond_measured: false,
    } = fit.peak
    else {
        panic!("{:?}", fit.peak);
    };
    near(workers, 96.52, 1e-4);
    near(per_s, 1884.0, 3e-4);
}

#[test]
fn errors_agree_with_r_and_a_coherency_of_none_has_no_peak() {
    // tests/confint.Rout.save of the R package usl 3.0.0, confint(usl(throughput ~ processors,
    // raytracer)): alpha 0.0578 (0.033677 to 0.081864), beta 0 (-0.000214 to 0.000214),
    // gamma 21.8488 (17.868380 to 25.829306). Half of each is 1.8125 standard errors there, which
    // is qt(0.95, 10); an interval of 95 % with 8 degrees of freedom takes qt(0.975, 8) = 2.306.
    const OF_R: f64 = 1.812_461;
    let fit = fit(&points(&RAYTRACER)).unwrap();
    near(fit.sigma.value, 0.0578, 1e-3);
    near(
        fit.sigma.standard_error,
        (0.081_864 - 0.033_677) / 2.0 / OF_R,
        1e-4,
    );
    near(fit.lambda.value, 21.8488, 1e-5);
    near(
        fit.lambda.standard_error,
        (25.829_306 - 17.868_38) / 2.0 / OF_R,
        1e-4,
    );
    near(fit.kappa.standard_error, 0.000_214 / OF_R, 3e-3);
    near(
        fit.lambda.high,
        fit.lambda.value + 2.306 * fit.lambda.standard_error,
        1e-9,
    );
    assert_eq!((fit.kappa.value, fit.kappa.low), (0.0, 0.0));
    assert_eq!(fit.peak, Peak::OutOfReach);
}

#[test]
fn known_coefficients_are_found_again() {
    let workers = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let known = [
        (1_000.0, 0.05, 0.001),
        (3.0, 0.0, 0.02),
        (2.5e6, 0.4, 1e-5),
        (50.0, 0.9, 0.3),
        (7e5, 1e-3, 1e-7),
    ];
    for (lambda, sigma, kappa) in known {
        let fit = fit(&law(lambda, sigma, kappa, &workers)).unwrap();
        near(fit.lambda.value, lambda, 1e-6);
        assert!((fit.sigma.value - sigma).abs() < 1e-6, "{:?}", fit.sigma);
        assert!((fit.kappa.value - kappa).abs() < 1e-8, "{:?}", fit.kappa);
        assert!(fit.r_squared > 1.0 - 1e-9);
    }
}

#[test]
fn an_interval_of_95_per_cent_holds_the_truth_about_so_often() {
    // A linear congruential generator (Knuth's MMIX); twelve uniforms less six are nearly normal.
    let mut state = 7_u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let workers = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    let (mut sigma, mut kappa) = (0, 0);
    const SERIES: usize = 500;
    for _ in 0..SERIES {
        let mut noisy = law(100.0, 0.08, 0.004, &workers.repeat(2));
        for point in &mut noisy {
            let normal: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            point.per_s += 5.0 * normal;
        }
        let fit = fit(&noisy).unwrap();
        sigma += usize::from(fit.sigma.low <= 0.08 && 0.08 <= fit.sigma.high);
        kappa += usize::from(fit.kappa.low <= 0.004 && 0.004 <= fit.kappa.high);
    }
    for held in [sigma, kappa] {
        let share = held as f64 / SERIES as f64;
        assert!((0.90..=0.99).contains(&share), "{share}");
    }
}

#[test]
fn linear_scaling_has_neither_contention_nor_a_peak() {
    let fit = fit(&law(100.0, 0.0, 0.0, &[1.0, 2.0, 3.0, 4.0, 8.0])).unwrap();
    assert!(fit.sigma.value < 1e-9 && fit.kappa.value < 1e-9);
    near(fit.at(8.0), 800.0, 1e-9);
    assert_eq!(fit.peak, Peak::OutOfReach);
}

#[test]
fn a_rate_that_only_falls_peaks_at_one_worker() {
    let falling = points(&[
        (1.0, 100.0),
        (2.0, 60.0),
        (4.0, 35.0),
        (8.0, 15.0),
        (16.0, 6.0),
    ]);
    let Peak::At { workers, .. } = fit(&falling).unwrap().peak else {
        panic!("a peak is plain to see");
    };
    near(workers, 1.0, 0.2);
}

#[test]
fn three_numbers_of_workers_are_too_few_however_often_repeated() {
    let three = points(&[
        (1.0, 10.0),
        (2.0, 19.0),
        (4.0, 35.0),
        (4.0, 36.0),
        (1.0, 11.0),
    ]);
    let reason = fit(&three).unwrap_err();
    assert_eq!(reason, FitError::TooFewPoints { distinct: 3 });
    let said = reason.to_string();
    assert!(
        said.contains("3 different") && said.contains("three coefficients"),
        "{said}"
    );
    assert_eq!(
        fit(&[]).unwrap_err(),
        FitError::TooFewPoints { distinct: 0 }
    );
    // The control: a fourth makes it a series.
    let mut four = three;
    four.push(ScalingPoint {
        workers: 8.0,
        per_s: 60.0,
    });
    assert_eq!(fit(&four).unwrap().degrees_of_freedom, 3);
}

#[test]
fn what_is_no_point_is_refused() {
    let sound = law(100.0, 0.1, 0.01, &[1.0, 2.0, 4.0, 8.0]);
    assert!(fit(&sound).is_ok());
    for (workers, per_s) in [
        (0.0, 5.0),
        (2.0, 0.0),
        (f64::NAN, 5.0),
        (2.0, f64::INFINITY),
    ] {
        let mut wrong = sound.clone();
        wrong.push(ScalingPoint { workers, per_s });
        assert!(
            matches!(fit(&wrong), Err(FitError::NoPoint { .. })),
            "{workers} {per_s}"
        );
    }
}

#[test]
fn the_curve_runs_from_one_worker_past_the_peak() {
    let fit = fit(&law(100.0, 0.05, 0.005, &[1.0, 2.0, 4.0, 8.0])).unwrap();
    let curve = fit.curve(50);
    assert_eq!((curve.len(), curve[0].workers), (50, 1.0));
    near(curve[49].workers, 13.784, 1e-3);
    assert!(curve.windows(2).all(|pair| pair[0].per_s <= pair[1].per_s));
    assert_eq!(fit.curve(0).len(), 2);
}

#[test]
fn the_engines_of_2014_are_told_apart_by_the_law() {
    // The document: LMDB's reads scale linearly, Berkeley DB's and TokuDB's locks do not.
    let lmdb = reads_of_2014("lmdb");
    assert!(lmdb.sigma.value < 0.02 && lmdb.r_squared > 0.99, "{lmdb:?}");
    for engine in ["berkeleydb", "tokudb"] {
        let Peak::At {
            workers,
            beyond_measured: false,
            ..
        } = reads_of_2014(engine).peak
        else {
            panic!("{engine} peaks between 1 and 64 readers");
        };
        assert!((4.0..16.0).contains(&workers), "{engine}: {workers}");
    }
}
