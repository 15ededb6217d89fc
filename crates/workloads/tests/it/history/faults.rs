//! What an engine does wrong shows in its history, and what it may do does not.

use super::harness::{Bench, CONTENDED, failures, job};
use std::collections::BTreeMap;
use trueput_engine::reference::Reference;
use trueput_engine::testing::Fault;
use trueput_record::{Survival, VerifyLevel};
use trueput_workloads::history::transactions::{History, Outcome};

/// The failed checks of a history with this fault, with their messages.
fn failed(fault: Fault, given: &str) -> BTreeMap<String, String> {
    let bench = Bench::new(&Reference, "", &format!("{CONTENDED} {given}")).with(fault);
    failures(&bench.run().1)
}

/// On a busy machine transactions may not meet in a history: of several, one must show the fault.
const HISTORIES: usize = 5;

#[track_caller]
fn shows(fault: Fault, given: &str, check: &str, words: &[&str]) {
    let mut seen = Vec::new();
    for _ in 0..HISTORIES {
        let failed = failed(fault, given);
        let detail = failed.get(check);
        if detail.is_some_and(|detail| words.iter().any(|word| detail.contains(word))) {
            return;
        }
        seen.push(failed);
    }
    panic!("{fault:?} {given}: {seen:?}");
}

#[test]
fn each_fault_of_isolation_is_found_in_lists_and_in_registers() {
    for given in ["model=list-append", "model=register"] {
        shows(
            Fault::LosesUpdates,
            given,
            "isolation",
            &["P4", "P3", "G-single"],
        );
        shows(
            Fault::ReadsUncommitted,
            given,
            "isolation",
            &["G1", "G-single", "G2"],
        );
        shows(
            Fault::ReadsLatest,
            given,
            "isolation",
            &["G-single", "P3", "G-nonadjacent"],
        );
        shows(Fault::ShowsFirstValue, given, "recency", &["but it was"]);
    }
}

#[test]
fn stale_reads_are_no_fault_where_recent_ones_are_not_stated() {
    let mut bench = Bench::new(&Reference, "", CONTENDED).with(Fault::ShowsFirstValue);
    bench.reads_are_recent = false;
    let checks = bench.run().1.checks;
    let recency = checks.iter().find(|check| check.name == "recency").unwrap();
    assert!(recency.passed, "{recency:?}");
    assert!(
        recency.detail.starts_with("not stated; occurred: "),
        "{recency:?}"
    );
}

#[test]
fn each_fault_of_single_values_is_found() {
    for given in ["model=list-append", "model=register"] {
        let damaged = ["damaged read", "internal read"];
        shows(Fault::ShowsOtherValue, given, "isolation", &damaged);
        shows(Fault::CorruptsPuts(50), given, "isolation", &damaged);
        shows(
            Fault::LosesPuts(50),
            given,
            "isolation",
            &["internal read", "P4", "P3", "G-single", "G1c", "G2"],
        );
    }
}

#[test]
fn an_abort_that_commits_is_an_aborted_read() {
    // Calls that conflict make transactions abort.
    let bench = Bench::new(&Reference, "", CONTENDED);
    let bench = bench.with(Fault::ConflictsAtCall(30));
    let (ended, conclusion) = bench.run();
    assert_eq!(failures(&conclusion), BTreeMap::new());
    assert!(ended.conflicts > 100, "{}", ended.conflicts);
    assert_ne!(conclusion.results["history_aborted"].to_string(), "0");
    let mut attachments = ended.attachments.clone();
    // What the workers take for committed was aborted.
    for attachment in &mut attachments {
        let committed = History::decode(attachment).unwrap();
        let mut aborted = History::default();
        for transaction in committed.transactions() {
            aborted.begin(transaction.worker, transaction.invoked_ns);
            let operations = committed.operations(transaction).iter();
            operations.for_each(|operation| aborted.add(*operation));
            let outcome = match transaction.number % 7 {
                0 => Outcome::Aborted,
                _ => transaction.outcome,
            };
            aborted.end(outcome, transaction.completed_ns);
        }
        *attachment = aborted.encode();
    }
    let ended = trueput_workloads::ExecutionSummary {
        attachments,
        ..ended
    };
    let failed = failures(&bench.verify(&ended));
    assert!(
        failed["isolation"].contains("aborted read (G1a)"),
        "{failed:?}"
    );
}

#[test]
fn conflicts_are_recorded_as_aborted_and_are_no_fault() {
    let bench = Bench::new(&Reference, "", CONTENDED).with(Fault::ConflictsAtCommit(5));
    let (ended, conclusion) = bench.run();
    assert_eq!(failures(&conclusion), BTreeMap::new());
    let aborted = conclusion.results["history_aborted"].to_string();
    assert_eq!(aborted, ended.conflicts.to_string());
}

#[test]
fn commits_whose_end_is_unknown_may_have_taken_effect_or_not() {
    for given in ["model=list-append", "model=register"] {
        let bench = Bench::new(&Reference, "", &format!("{CONTENDED} {given}"));
        let bench = bench.with(Fault::DisconnectsAtCommit(7));
        let (ended, conclusion) = bench.run();
        assert_eq!(failures(&conclusion), BTreeMap::new());
        let count = |name: &str| conclusion.results[name].to_string().parse::<u64>().unwrap();
        assert!(count("history_unknown") > 100);
        assert_eq!(count("history_committed"), 2_000);
        assert_eq!(ended.counts.iter().sum::<u64>(), 2_000);
    }
}

#[test]
fn acknowledged_writes_that_a_restart_lost_are_missing() {
    let bench = Bench::new(&Reference, "", CONTENDED);
    let mut ended = bench.work_together();
    bench.tamper(|session| {
        for key in 0..4_u32 {
            session.delete(format!("h{key:08x}").as_bytes()).unwrap();
        }
    });
    let failed = failures(&bench.verify(&ended));
    assert!(
        failed["acknowledged"].contains("at the end it was nothing"),
        "{failed:?}"
    );
    assert!(failed.contains_key("recency"), "{failed:?}");
    // The keys were in use one after another: no prefix of the commits lacks the first ones alone.
    ended.crashed = Some(Survival::ConsistentPrefix);
    let conclusion = bench.verify(&ended);
    let failed = failures(&conclusion);
    assert_eq!(
        failed.keys().collect::<Vec<_>>(),
        ["isolation"],
        "{failed:?}"
    );
    assert_ne!(conclusion.results["missing_acknowledged"].to_string(), "0");
}

#[test]
fn what_is_beyond_the_limit_is_not_recorded_and_the_rest_is_checked() {
    let bench = Bench::new(&Reference, "", &format!("{CONTENDED} recorded=400"));
    let (ended, conclusion) = bench.run();
    assert_eq!(failures(&conclusion), BTreeMap::new());
    assert_eq!(ended.counts.iter().sum::<u64>(), 2_000);
    assert_eq!(conclusion.results["history_committed"].to_string(), "400");
    assert_eq!(conclusion.results["history_unrecorded"].to_string(), "1600");
    let mut checks = conclusion.checks.iter();
    let isolation = checks.find(|check| check.name == "isolation");
    let isolation = &isolation.unwrap().detail;
    assert!(
        isolation.contains("1600 later transactions were not recorded"),
        "{isolation}"
    );
}

#[test]
fn without_verification_nothing_is_recorded() {
    let mut bench = Bench::new(&Reference, "", CONTENDED);
    bench.verify = VerifyLevel::Off;
    let (ended, conclusion) = bench.run();
    assert_eq!(conclusion.checks, []);
    let history = History::decode(&ended.attachments[0]).unwrap();
    assert_eq!(history.transactions(), []);
}

#[test]
fn an_attachment_that_is_none_is_an_error() {
    let bench = Bench::new(&Reference, "", CONTENDED);
    let mut ended = bench.work_together();
    ended.attachments[0].pop();
    let verified = bench.target(|target| bench.job.verify(target, &ended));
    let error = verified.unwrap_err().to_string();
    assert!(error.contains("cannot be read"), "{error}");
}

#[test]
fn lists_that_an_engine_does_not_take_are_refused() {
    let job = job("key_writes=10000").unwrap();
    let mut capabilities = trueput_engine::Engine::capabilities(&Reference);
    assert_eq!(job.check_capabilities(&capabilities), Ok(()));
    capabilities.max_value_bytes = 1_000;
    let error = String::from(job.check_capabilities(&capabilities).unwrap_err());
    assert!(error.contains("smaller key_writes"), "{error}");
}
