//! `trueput compare --fail-if-slower`: what an engine developer's CI must not let pass.

use crate::support::{
    Bench,
    copies::{copied, made, set_rate},
    refusal, stderr, stdout,
};
use trueput_record::TrialRecord;
use trueput_record::measurement::Outcome;

fn crashed(trial: &mut TrialRecord) {
    trial.outcome = Outcome::Failed {
        reason: "worker 1 was killed by SIGSEGV".to_owned(),
        bad_input: false,
    };
    trial.measurement = None;
}

#[test]
fn a_contender_that_crashed_does_not_pass() {
    let bench = Bench::new();
    let run = made(&bench);
    let a = copied(&bench, &run, "a", |trial| set_rate(trial, 1.0));
    let wholly = copied(&bench, &run, "wholly", |trial| {
        set_rate(trial, 1.0);
        if trial.spec.engine == "lmdb" {
            crashed(trial);
        }
    });
    let once = copied(&bench, &run, "once", |trial| {
        set_rate(trial, 1.0);
        if trial.spec.engine == "lmdb" && trial.spec.repeat == 2 {
            crashed(trial);
        }
    });
    let wrong = copied(&bench, &run, "wrong", |trial| {
        set_rate(trial, 1.0);
        if trial.spec.engine == "lmdb" && trial.spec.repeat == 2 {
            trial.outcome = Outcome::Invalid {
                reasons: vec!["3 records are lost".to_owned()],
            };
        }
    });
    let cases = [
        (&wholly, "has no valid trial of lmdb (threen1, process"),
        (&once, "FAILED: worker 1 was killed by SIGSEGV"),
        (&wrong, "INVALID: 3 records are lost"),
    ];
    for (b, words) in cases {
        let gated = bench.run(&["compare", &a, b, "--fail-if-slower", "90%"]);
        let said = stderr(&gated);
        assert_eq!(gated.status.code(), Some(1), "{b}: {said}");
        assert!(said.contains(words), "{b}: {said}");
        // Without the gate it is told and no failure; what A lost is no fault of B.
        for arguments in [
            vec!["compare", &a, b],
            vec!["compare", b, &a, "--fail-if-slower", "90%"],
        ] {
            let passed = bench.run(&arguments);
            assert_eq!(passed.status.code(), Some(0), "{}", stderr(&passed));
        }
    }
}

#[test]
fn a_gate_that_cannot_tell_says_so_and_fails_unless_that_is_allowed() {
    let bench = Bench::new();
    let run = made(&bench);
    let wild = |name: &str| {
        copied(&bench, &run, name, |trial| {
            let disturbed = [1.0, 0.6, 1.5, 0.8, 1.2];
            set_rate(trial, disturbed[trial.spec.repeat as usize % 5]);
        })
    };
    let calm = |name: &str| copied(&bench, &run, name, |trial| set_rate(trial, 1.0));
    let (a, b, c, d) = (wild("a"), wild("b"), calm("c"), calm("d"));
    let gate = |a: &str, b: &str, more: &[&str]| {
        let gate = ["compare", a, b, "--fail-if-slower", "10%"];
        bench.run(&[gate.as_slice(), more].concat())
    };
    // The former option for it is accepted, and changes nothing.
    for more in [[].as_slice(), &["--fail-if-unsure"]] {
        let failed = gate(&a, &b, more);
        let said = stderr(&failed);
        assert_eq!(failed.status.code(), Some(1), "{said}");
        assert!(
            said.contains("cannot exclude a fall of 10 %: ")
                && said.contains(" may be slower by ")
                && said.contains("more repeats narrow the interval; --allow-unsure passes"),
            "{said}"
        );
    }
    let passed = gate(&a, &b, &["--allow-unsure"]);
    let said = stderr(&passed);
    assert_eq!(passed.status.code(), Some(0), "{said}");
    assert!(
        said.contains("cannot exclude a fall of 10 %")
            && said.contains("passed, because of --allow-unsure"),
        "{said}"
    );
    let told = gate(&c, &d, &[]);
    assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
    assert!(!stderr(&told).contains("cannot tell"), "{}", stderr(&told));
    let alone = bench.run(&["compare", &a, &b, "--allow-unsure"]);
    assert!(refusal(&alone).contains("--fail-if-slower"));
    let both = gate(&a, &b, &["--allow-unsure", "--fail-if-unsure"]);
    assert!(refusal(&both).contains("--allow-unsure"));
}

#[test]
fn a_gate_without_enough_repeats_or_anything_in_common_is_bad_input() {
    let bench = Bench::new();
    let run = made(&bench);
    let only = |name: &str, repeats: u32, engine: &str| {
        copied(&bench, &run, name, |trial| {
            set_rate(trial, 1.0);
            if trial.spec.repeat > repeats || trial.spec.engine != engine {
                trial.outcome = Outcome::Interrupted;
            }
        })
    };
    let (one, other) = (only("one", 1, "lmdb"), only("other", 1, "lmdb"));
    let sqlite = only("sqlite", 5, "sqlite");
    let two = only("two", 2, "lmdb");
    for more in [[].as_slice(), &["--allow-unsure"]] {
        for (b, words) in [
            (&other, "fewer than 3 valid repeats"),
            (&two, "fewer than 3 valid repeats"),
        ] {
            let gate = ["compare", &one, b, "--fail-if-slower", "10%"];
            let refused = bench.run(&[gate.as_slice(), more].concat());
            assert!(stderr(&refused).contains(words), "{}", stderr(&refused));
            assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        }
        // What is alone on both sides is compared; here it is another engine, and slower.
        let lmdb = only("lmdb", 5, "lmdb");
        let gate = ["compare", &lmdb, &sqlite, "--fail-if-slower", "10%"];
        let failed = bench.run(&[gate.as_slice(), more].concat());
        assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    }
}

#[test]
fn what_every_one_of_three_repeats_shows_to_be_far_slower_does_not_pass() {
    let bench = Bench::new();
    let run = made(&bench);
    let three = |name: &str, factors: [f64; 3]| {
        copied(&bench, &run, name, |trial| {
            match factors.get(trial.spec.repeat as usize - 1) {
                Some(factor) => set_rate(trial, *factor),
                None => trial.outcome = Outcome::Interrupted,
            }
        })
    };
    let before = three("before", [1.0, 1.5, 0.8]);
    let after = three("after", [0.5, 0.35, 0.62]);
    let disputed = three("disputed", [0.5, 0.35, 1.1]);
    let gate = |b: &str| bench.run(&["compare", &before, b, "--fail-if-slower", "3%"]);
    let failed = gate(&after);
    let (said, text) = (stderr(&failed), stdout(&failed));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(failed.status.code(), Some(1), "{said}");
    for words in [
        "slower by more than 3 % in every repeat",
        "lmdb (",
        "repeats or more",
    ] {
        assert!(said.contains(words), "'{words}' is not in {said}");
    }
    for words in [
        "lmdb, threen1, process, 4 workers: too few repeats: B looks slower by 5",
        " (in every pair of repeats); use ",
    ] {
        assert!(text.contains(words), "'{words}' is not in {text}");
    }
    assert!(!text.contains("no significant difference"), "{text}");
    // The control: where one repeat disagrees it does not look slower; that cannot be told.
    let gate = ["compare", &before, &disputed, "--fail-if-slower", "3%"];
    let passed = bench.run(&[gate.as_slice(), &["--allow-unsure"]].concat());
    assert_eq!(passed.status.code(), Some(0), "{}", stderr(&passed));
    assert!(
        stderr(&passed).contains("cannot exclude a fall of 3 %"),
        "{}",
        stderr(&passed)
    );
}

#[test]
fn json_has_the_gate_with_the_sentences_of_standard_error() {
    let bench = Bench::new();
    let run = made(&bench);
    let a = copied(&bench, &run, "a", |trial| set_rate(trial, 1.0));
    let slower = copied(&bench, &run, "slower", |trial| set_rate(trial, 0.5));
    let gate = |part: &str| {
        let output = bench.run(&["compare", &a, &slower, "--json", "--fail-if-slower", part]);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output, document["gate"].clone())
    };
    let (output, failed) = gate("3%");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(failed["passed"], false);
    assert_eq!(failed["limit"], 0.03);
    let reasons = failed["reasons"].as_array().unwrap();
    let said = stderr(&output);
    let lines = reasons.iter().map(|reason| reason.as_str().unwrap());
    for (reason, line) in lines.clone().zip(said.lines()) {
        assert_eq!(line, format!("trueput: {reason}"));
    }
    assert!(
        lines.count() > 0 && said.contains("significantly"),
        "{said}"
    );
    // Both runs are of one program, whose engines are compiled in.
    assert!(said.contains("; both sides ran the same library"), "{said}");
    let (output, passed) = gate("90%");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(passed["passed"], true);
    assert_eq!(passed["reasons"], serde_json::json!([]));
    let plain = bench.run(&["compare", &a, &slower, "--json"]);
    let plain: serde_json::Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert_eq!(plain.get("gate"), None);
}
