//! `trueput predict` on a run whose rates follow a law that is known.

use crate::support::{
    Bench, assert_contains,
    copies::{copied, set_every_rate},
};

/// The rate of the copies: 1,000 a second for one worker, and a tenth of the work is serial.
fn law(workers: f64) -> f64 {
    1_000.0 * workers / (1.0 + 0.1 * (workers - 1.0))
}

/// A run with four numbers of workers, whose rates are the law's.
fn run_of_four(bench: &Bench) -> String {
    bench.run_once(
        "run threen1 --engine lmdb --durability process --set finish=20 --workers 1,2,4,8",
    );
    let run = bench.run_folder().path().to_owned();
    copied(bench, &run, "law", |trial| {
        set_every_rate(trial, law(f64::from(trial.spec.workers)));
    })
}

#[test]
fn a_law_is_extrapolated_and_what_is_missing_leads_to_the_option_or_the_run() {
    let bench = Bench::new();
    let run = run_of_four(&bench);
    let document = bench.json_of(&["predict", &run, "--clients", "16", "--json"]);
    let rate = document["answer"]["per_s"].as_f64().unwrap();
    assert!((rate / law(16.0) - 1.0).abs() < 0.01, "{rate}");
    let errors = &document["errors"]["left-out"];
    assert!(errors["worst"].as_f64().unwrap() < 0.01, "{errors}");
    assert_eq!(errors["cells"], 4);
    let text = bench.stdout_of(&["predict", &run, "--clients", "16"]);
    assert_contains(
        &text,
        &[
            "Expected with 16 clients on one node: ",
            "Extrapolated: 16 clients are 2.00 times the 8 that the law is fitted to.",
            "not how it scales",
        ],
    );
    let refused: &[(&[&str], &str)] = &[
        (&["--network-delay", "1ms"], "--nodes 3"),
        (&["--fit-to", "4"], "raise --fit-to, up to 8"),
        (&["--clients", "0"], "0 is not in 1..=100000"),
        (&["--network-delay", "soon"], "is not a duration"),
        (&["--cluster-commit", "maybe"], "remote-apply"),
        (&["--nodes", "3", "--followers", "3"], "2 followers"),
    ];
    for (options, part) in refused {
        let line = [&["predict", run.as_str()], *options].concat();
        assert_contains(&bench.refusal_of(line.as_slice()), &[part]);
    }
    assert_contains(&bench.refusal_of("predict gone"), &["gone"]);
}
