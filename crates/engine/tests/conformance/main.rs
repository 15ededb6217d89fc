//! The suite against engines that it must pass and engines that it must fail.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests, and engines that fall over"
)]

mod faulty_engine;
mod isolation;

use faulty_engine::{EngineFault, FaultyEngine};
use trueput_engine::reference::Reference;
use trueput_engine::{Durability, Engine, Null, ParameterValues, conformance};
use trueput_record::measurement::Check;

fn run(engine: &dyn Engine) -> Vec<Check> {
    let folder = tempfile::tempdir().unwrap();
    let checks = conformance::run(
        engine,
        folder.path(),
        Durability::None,
        &ParameterValues::default(),
    );
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 0, "the suite left files behind");
    checks
}

fn failed(checks: &[Check]) -> Vec<&Check> {
    checks.iter().filter(|check| !check.passed).collect()
}

#[test]
fn the_reference_engine_passes_every_check() {
    let checks = run(&Reference);
    assert_eq!(failed(&checks), Vec::<&Check>::new());
    assert_eq!(checks.len(), 37);
}

#[test]
fn the_null_engine_passes_what_applies_to_it() {
    let checks = run(&Null);
    assert_eq!(failed(&checks), Vec::<&Check>::new());
    let names: Vec<_> = checks.iter().map(|check| check.name.as_str()).collect();
    assert!(
        names.contains(&"calls without a transaction are refused"),
        "{names:?}"
    );
    assert!(!names.contains(&"what is put can be got"), "{names:?}");
}

#[test]
fn a_check_has_a_name_of_its_own_and_says_what_it_looked_at() {
    let checks = run(&Reference);
    let mut names: Vec<_> = checks.iter().map(|check| &check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), checks.len());
    assert!(
        checks.iter().all(|check| !check.detail.is_empty()),
        "{checks:?}"
    );
}

#[test]
fn a_level_that_the_engine_has_not_fails_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let knobs = ParameterValues::default();
    let checks = conformance::run(&Reference, folder.path(), Durability::Sync, &knobs);
    assert_eq!(checks.len(), 1);
    assert!(!checks[0].passed);
    assert_eq!(
        checks[0].detail,
        "reference does not support durability 'sync'"
    );
}

#[test]
fn a_folder_that_cannot_be_used_fails_every_check_and_is_named() {
    let knobs = ParameterValues::default();
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("absent");
    let checks = conformance::run(&Reference, &missing, Durability::None, &knobs);
    assert_eq!(failed(&checks).len(), checks.len());
    assert!(
        checks[0].detail.contains("absent/check-00"),
        "{}",
        checks[0].detail
    );
}

#[test]
fn what_lies_in_the_folder_already_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("check-06").join("theirs");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "kept").unwrap();
    let knobs = ParameterValues::default();
    let checks = conformance::run(&Reference, folder.path(), Durability::None, &knobs);
    assert_eq!(failed(&checks).len(), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
}

/// The engine fails, and at the check whose claim it breaks, which says this.
fn caught(fault: EngineFault, claim: &str, detail: &str) {
    let checks = run(&FaultyEngine(fault));
    let failures = failed(&checks);
    let found = failures.iter().find(|check| check.name == claim);
    let Some(found) = found else {
        panic!("{fault:?} passed '{claim}'; it failed {failures:#?}");
    };
    assert!(found.detail.contains(detail), "{fault:?}: {}", found.detail);
}

#[test]
fn an_engine_that_loses_a_write_is_caught() {
    caught(
        EngineFault::LosesPuts,
        "what is put can be got",
        "found nothing",
    );
    caught(
        EngineFault::LosesPuts,
        "no update of a shared counter is lost",
        "32 increments",
    );
    caught(
        EngineFault::LosesPuts,
        "two sessions work in two threads",
        "found nothing",
    );
}

#[test]
fn an_engine_that_keeps_an_old_value_or_shows_another_is_caught() {
    caught(
        EngineFault::KeepsFirstPut,
        "a later put replaces an earlier one",
        "found 'first'",
    );
    caught(
        EngineFault::GetsNeighbors,
        "a missing key is absent",
        "expected nothing",
    );
}

#[test]
fn an_engine_that_keeps_what_was_deleted_is_caught() {
    caught(
        EngineFault::IgnoresDeletes,
        "what is deleted is gone",
        "expected nothing, found 'value'",
    );
}

#[test]
fn an_engine_that_returns_keys_out_of_order_is_caught() {
    let order = "keys are in unsigned byte order";
    caught(EngineFault::ScansOutOfOrder, order, "record 2 should be");
    caught(EngineFault::ScansInSignedOrder, order, "record 1 should be");
}

#[test]
fn an_engine_whose_scan_goes_beyond_its_bounds_is_caught() {
    let fault = EngineFault::BackwardScanIncludesUpperBound;
    caught(fault, "a scan keeps its bounds", "Backward");
}

#[test]
fn an_engine_whose_scan_goes_on_after_a_break_is_caught() {
    caught(
        EngineFault::ScanIgnoresBreak,
        "a scan ends where its visitor breaks",
        "broken off",
    );
}

#[test]
fn an_engine_whose_scan_miscounts_is_caught() {
    caught(
        EngineFault::ScanMiscounts,
        "a scan keeps its bounds",
        "scan answered 8 but showed 7",
    );
}

#[test]
fn an_engine_that_does_not_see_its_own_writes_is_caught() {
    caught(
        EngineFault::ScanMissesOwnWrites,
        "a scan sees its transaction's own writes",
        "Forward",
    );
    caught(
        EngineFault::GetMissesOwnWrites,
        "a transaction sees its own writes",
        "a overwritten",
    );
}

#[test]
fn an_engine_whose_abort_does_not_undo_is_caught() {
    caught(
        EngineFault::AbortCommits,
        "an abort undoes everything",
        "after the abort",
    );
    caught(
        EngineFault::AbortCommits,
        "a reopened database holds what was committed",
        "'aborted'",
    );
    let claim = "a dropped session abandons its transaction";
    caught(EngineFault::DropCommits, claim, "expected nothing");
}

#[test]
fn an_engine_with_dirty_reads_is_caught() {
    let claim = "an uncommitted write is invisible to others";
    caught(
        EngineFault::ReadsUncommitted,
        claim,
        "expected 'before', found 'after'",
    );
}

#[test]
fn an_engine_whose_look_ups_are_stale_is_caught() {
    let claim = "a look-up by itself shows what is committed";
    let found = "expected 'second', found 'first'";
    caught(EngineFault::LooksAtOldState, claim, found);
}

#[test]
fn an_engine_whose_batches_are_wrong_is_caught() {
    let claim = "keys that are looked up together are found as one by one";
    for (fault, detail) in [
        (EngineFault::BatchLosesRepeatedKeys, "position 5: expected"),
        (EngineFault::BatchShiftsPositions, "value was shown 2 times"),
        (EngineFault::BatchMissesOwnWrites, "that wrote, the key"),
        (EngineFault::BatchMiscounts, "it answered 5 and showed 4"),
    ] {
        caught(fault, claim, detail);
        let checks = run(&FaultyEngine(fault));
        let names: Vec<_> = failed(&checks).iter().map(|check| &check.name).collect();
        assert_eq!(names, [claim], "{fault:?}");
    }
}

#[test]
fn an_engine_whose_conditional_puts_are_wrong_is_caught() {
    let claim = "a conditional put stores only what is not there";
    let answered = "and answered [true, true, true, true]";
    caught(EngineFault::PutsInAnyCase, claim, answered);
    let race = "of several conditional puts of a key one stores";
    caught(EngineFault::PutsInAnyCase, race, "4 threads stored key 0");
    caught(EngineFault::DeniesConditionalPuts, race, "0 threads stored");
    caught(EngineFault::ConditionMissesOwnWrites, claim, answered);
    let after_get = |shown| format!("after a get that found nothing it answered (None, {shown}");
    caught(EngineFault::DeniesAfterGet, claim, &after_get("false"));
    // It answers as it should, and stores the second value.
    let overwritten = after_get("true, false, Some([97, 103, 97, 105, 110])");
    caught(EngineFault::OverwritesAndDenies, claim, &overwritten);
}

#[test]
fn an_engine_whose_loader_loses_a_record_or_does_not_recover_is_caught() {
    let claim = "what is loaded in bulk can be read";
    let detail = "expected 600 records, found 599";
    caught(EngineFault::LoaderLosesRecords, claim, detail);
    let detail = "answered false and left 0 records";
    caught(EngineFault::LoaderDenies, claim, detail);
    let detail = "a load with a key one byte too long answered Ok(true)";
    caught(EngineFault::LoaderSkipsRefused, claim, detail);
    caught(EngineFault::LoaderStaysOpen, claim, "a write transaction: ");
    // The control: with other faults the loader is sound.
    let sound = run(&FaultyEngine(EngineFault::MixesStatesAmongReaders));
    let loaded = sound.iter().find(|check| check.name == claim).unwrap();
    assert_eq!(
        (loaded.passed, &*loaded.detail),
        (true, "1,000 records in two loads, and one that is refused")
    );
}

#[test]
fn an_engine_whose_snapshot_moves_is_caught() {
    caught(
        EngineFault::ReadsLatest,
        "a read transaction keeps its snapshot",
        "found 'after'",
    );
}

/// With one reader it is right, so that no other check notices it.
#[test]
fn an_engine_that_is_wrong_with_several_readers_is_caught() {
    let claim = "several readers keep their snapshots while a writer commits";
    let fault = EngineFault::MixesStatesAmongReaders;
    caught(fault, claim, "expected");
    let checks = run(&FaultyEngine(fault));
    let names: Vec<_> = failed(&checks).iter().map(|check| &check.name).collect();
    assert_eq!(names, [claim]);
}

#[test]
fn an_engine_that_loses_updates_is_caught() {
    let claim = "of two overlapping updates none is lost";
    caught(
        EngineFault::LosesUpdates,
        claim,
        "2 increments were acknowledged, the counter stands at 1",
    );
}

#[test]
fn an_engine_that_reports_a_conflict_as_a_failure_is_caught() {
    let claim = "of two overlapping updates none is lost";
    caught(
        EngineFault::ConflictIsFailure,
        claim,
        "the first transaction: write conflict",
    );
}

#[test]
fn an_engine_that_splits_large_transactions_is_caught() {
    caught(
        EngineFault::SplitsTransactions,
        "a large transaction is atomic",
        "before the commit",
    );
}

#[test]
fn an_engine_that_forgets_on_reopening_is_caught() {
    let claim = "a reopened database holds what was committed";
    caught(
        EngineFault::ForgetsOnReopen,
        claim,
        "expected 99 records, found 0",
    );
}

#[test]
fn an_engine_that_loses_the_extremes_is_caught() {
    caught(
        EngineFault::DropsEmptyValues,
        "an empty value is kept",
        "found nothing",
    );
    caught(
        EngineFault::DropsEmptyKeys,
        "an empty key is kept or refused",
        "found nothing",
    );
    let claim = "a key or value too long is refused";
    caught(
        EngineFault::CutsLongKeys,
        claim,
        "a key one byte too long was accepted",
    );
    caught(
        EngineFault::CutsLongValues,
        "a value of maximal length is kept",
        "524288 bytes",
    );
}

#[test]
fn an_engine_that_refuses_to_delete_what_is_not_there_is_caught() {
    let claim = "deleting what is not there is no error";
    caught(EngineFault::RefusesMissingDeletes, claim, "no such key");
}

#[test]
fn an_engine_that_lets_calls_out_of_turn_through_is_caught() {
    let claim = "a write in a read transaction is refused";
    caught(EngineFault::WritesInReadTransactions, claim, "was not");
    caught(
        EngineFault::BeginsTwice,
        "a second begin is refused",
        "was not",
    );
    let claim = "calls without a transaction are refused";
    caught(EngineFault::MisuseIsConflict, claim, "invites retries");
}

#[test]
fn an_engine_that_promises_another_level_is_caught() {
    let claim = "the promise names its level, settings and source";
    caught(
        EngineFault::PromisesAnother,
        claim,
        "asked for 'none', promised 'process'",
    );
}

#[test]
fn an_engine_whose_checkpoint_fails_is_caught() {
    caught(
        EngineFault::CheckpointFails,
        "settings, counters and checkpoints work",
        "no checkpoint",
    );
}

#[test]
fn an_engine_that_opens_a_level_it_has_not_is_caught() {
    caught(
        EngineFault::OpensEveryLevel,
        "a level without a promise is refused",
        "'sync'",
    );
}

#[test]
fn an_engine_that_panics_fails_its_check_and_the_others_go_on() {
    caught(
        EngineFault::Panics,
        "what is deleted is gone",
        "the engine fell over",
    );
    let checks = run(&FaultyEngine(EngineFault::Panics));
    let detail = |checks: &[Check]| {
        let mut failed = checks.iter().filter(|check| !check.passed);
        failed.next().map(|check| check.detail.clone())
    };
    let said = detail(&checks).unwrap();
    assert!(
        said.contains("panicked at ") && said.contains("faulty_engine.rs:"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    let passed = |name: &str| {
        checks
            .iter()
            .any(|check| check.name == name && check.passed)
    };
    assert!(passed("what is put can be got"));
    assert!(passed("two sessions work in two threads"));
}

#[test]
fn an_engine_that_only_ever_conflicts_is_given_up_soon() {
    let checks = run(&FaultyEngine(EngineFault::AlwaysConflicts));
    let not_run = checks
        .iter()
        .filter(|check| check.detail.starts_with("not run"))
        .count();
    assert!(not_run > 20, "{checks:#?}");
    let stuck = checks
        .iter()
        .filter(|check| check.detail.contains("conflict: busy"))
        .count();
    assert_eq!(stuck, 2, "{checks:#?}");
}

#[test]
fn every_fault_is_caught_and_every_check_catches_one() {
    let mut uncaught: Vec<String> = run(&Reference)
        .into_iter()
        .map(|check| check.name)
        .collect();
    // An engine that is given up soon fails what was not run; that catches nothing.
    let mut faults = EngineFault::ALL.to_vec();
    faults.retain(|fault| *fault != EngineFault::AlwaysConflicts);
    for fault in faults {
        let checks = run(&FaultyEngine(fault));
        let failures = failed(&checks);
        assert!(!failures.is_empty(), "{fault:?} passes every check");
        uncaught.retain(|name| failures.iter().all(|check| check.name != *name));
    }
    assert_eq!(uncaught, Vec::<String>::new());
}
