//! `trueput compare --fail-if-slower`: what an engine developer's CI must not let pass.

use crate::bad_input::{Case, assert_refused};
use crate::support::{
    Bench, assert_contains,
    copies::{at_factor, copied, made, set_rate},
    stderr, stdout, unwrapped,
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
    let a = at_factor(&bench, &run, "a", 1.0);
    // A copy in which some of lmdb's repeats came to another end.
    let with = |name: &str, repeats: &[u32], end: &dyn Fn(&mut TrialRecord)| {
        copied(&bench, &run, name, |trial| {
            set_rate(trial, 1.0);
            if trial.spec.engine == "lmdb" && repeats.contains(&trial.spec.repeat) {
                end(trial);
            }
        })
    };
    let wholly = with("wholly", &[1, 2, 3, 4, 5], &crashed);
    let once = with("once", &[2], &crashed);
    let wrong = with("wrong", &[2], &|trial| {
        let reasons = vec!["3 records are lost".to_owned()];
        trial.outcome = Outcome::Invalid { reasons };
    });
    let cases = [
        (&wholly, "has no valid trial of lmdb (threen1, process"),
        (&once, "FAILED: worker 1 was killed by SIGSEGV"),
        (&wrong, "INVALID: 3 records are lost"),
    ];
    for (b, words) in cases {
        let gate = "--fail-if-slower 90%";
        let failed = bench.run_expecting(1, &format!("compare {a} {b} {gate}"));
        assert_contains(&stderr(&failed), &[words]);
        // Without the gate it is reported and no failure; what A lost is no fault of B.
        bench.run_expecting(0, &format!("compare {a} {b}"));
        bench.run_expecting(0, &format!("compare {b} {a} {gate}"));
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
    let [a, b] = ["a", "b"].map(wild);
    let [c, d] = ["c", "d"].map(|name| at_factor(&bench, &run, name, 1.0));
    let (compare, gate) = (format!("compare {a} {b}"), "--fail-if-slower 10%");
    // The former option for it is accepted, and changes nothing.
    for more in ["", "--fail-if-unsure"] {
        let failed = bench.run_expecting(1, &format!("{compare} {gate} {more}"));
        let said = stderr(&failed);
        assert_contains(
            &said,
            &["cannot exclude a fall of 10 %: ", " may be slower by "],
        );
        let advice = "more repeats narrow the interval; --allow-unsure passes";
        assert_contains(&said, &[advice]);
    }
    let passed = bench.run_expecting(0, &format!("{compare} {gate} --allow-unsure"));
    let unsure = "cannot exclude a fall of 10 %";
    assert_contains(
        &stderr(&passed),
        &[unsure, "passed, because of --allow-unsure"],
    );
    let sure = stderr(&bench.run_expecting(0, &format!("compare {c} {d} {gate}")));
    assert!(!sure.contains(unsure), "{sure}");
    let both = format!("{gate} --allow-unsure --fail-if-unsure");
    let cases: &[Case<'_>] = &[
        ("--allow-unsure", &["--fail-if-slower"]),
        (&both, &["--allow-unsure"]),
    ];
    assert_refused(&bench, &compare, cases);
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
    let lmdb = only("lmdb", 5, "lmdb");
    for more in ["", "--allow-unsure"] {
        let gate = format!("--fail-if-slower 10% {more}");
        for b in [&other, &two] {
            let refused = bench.run_expecting(2, &format!("compare {one} {b} {gate}"));
            assert_contains(&stderr(&refused), &["fewer than 3 valid repeats"]);
        }
        // The only contender of each side is compared; here it is another engine, and slower.
        bench.run_expecting(1, &format!("compare {lmdb} {sqlite} {gate}"));
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
    let gate = format!("compare {before} {after} --fail-if-slower 3%");
    let failed = bench.run_expecting(1, &gate);
    let every = "slower by more than 3 % in every repeat";
    assert_contains(&stderr(&failed), &[every, "lmdb (", "repeats or more"]);
    let text = unwrapped(&stdout(&failed));
    let few = "lmdb, threen1, process, 4 workers: too few repeats: B looks slower by 5";
    assert_contains(&text, &[few, " (in every pair of repeats); use "]);
    assert!(!text.contains("no significant difference"), "{text}");
    // The control: where one repeat disagrees it does not look slower; that is uncertain.
    let gate = format!("compare {before} {disputed} --fail-if-slower 3% --allow-unsure");
    let passed = bench.run_expecting(0, &gate);
    assert_contains(&stderr(&passed), &["cannot exclude a fall of 3 %"]);
}

#[test]
fn json_has_the_gate_with_the_sentences_of_standard_error() {
    let bench = Bench::new();
    let run = made(&bench);
    let a = at_factor(&bench, &run, "a", 1.0);
    let slower = at_factor(&bench, &run, "slower", 0.5);
    let compare = format!("compare {a} {slower} --json");
    let gate = |code, part: &str| {
        let output = bench.run_expecting(code, &format!("{compare} --fail-if-slower {part}"));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (stderr(&output), document["gate"].clone())
    };
    let (said, failed) = gate(1, "3%");
    assert_eq!(failed["passed"], false);
    assert_eq!(failed["limit"], 0.03);
    let reasons = failed["reasons"].as_array().unwrap();
    for (reason, line) in reasons.iter().zip(said.lines()) {
        assert_eq!(line, format!("trueput: {}", reason.as_str().unwrap()));
    }
    assert!(!reasons.is_empty());
    // Both runs are of one program, whose engines are compiled in.
    let same = "; both sides ran the same library";
    assert_contains(&said, &["significantly", same]);
    let (_, passed) = gate(0, "90%");
    assert_eq!(passed["passed"], true);
    assert_eq!(passed["reasons"], serde_json::json!([]));
    assert_eq!(bench.json_of(&compare).get("gate"), None);
}
