//! Several builds of one engine in one run, and builds with assertions, which are not comparable.

use crate::support::{rank, run_of};
use trueput_findings::Run;
use trueput_findings::cells::RankedCell;
use trueput_findings::compare::{
    Error, IncomparabilityReason, IncomparablePair, Selector, Side, compare_sides,
};
use trueput_findings::marks::{Mark, MarkKind, WITH_ASSERTIONS};
use trueput_findings::rankings::{Ranking, rankings};
use trueput_record::flush_evidence::{FlushBasis, FlushEvidence};
use trueput_record::testing::builds::{
    NEW, OLD, both, fastest_with_assertions, rocksdb, with_assertions,
};
use trueput_record::testing::failed;
use trueput_record::{Measurement, TrialRecord, Value};

fn names(cells: &[RankedCell]) -> Vec<String> {
    cells.iter().map(RankedCell::name).collect()
}

fn kinds(marks: &[Mark]) -> Vec<MarkKind> {
    marks.iter().map(|mark| mark.kind).collect()
}

/// The only ranking of these trials.
fn only(trials: &[TrialRecord]) -> Ranking {
    let mut found = rank(trials);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn two_builds_of_an_engine_are_told_apart_by_version() {
    let found = only(&both());
    assert_eq!(names(&found.cells), ["rocksdb 11.8.1", "rocksdb 7.8.3"]);
    let builds: Vec<_> = found
        .builds
        .iter()
        .map(|it| [&*it.contender, &*it.version, &*it.origin, &it.sha256[..4]])
        .collect();
    assert_eq!(
        builds,
        [
            ["rocksdb 11.8.1", "11.8.1", NEW, "0c0c"],
            ["rocksdb 7.8.3", "7.8.3", OLD, "1c1c"],
        ]
    );
}

#[test]
fn one_build_alone_bears_the_engines_name() {
    for is_named in [false, true] {
        let found = only(&[rocksdb(0, "11.8.1", NEW, is_named)]);
        assert_eq!(found.builds[0].contender, "rocksdb");
        assert_eq!(found.builds[0].origin, NEW);
    }
}

#[test]
fn builds_of_one_version_are_told_apart_by_file_else_by_path() {
    let named = |first: TrialRecord, second: &str| {
        names(&only(&[first, rocksdb(1, "1.23", second, true)]).cells)
    };
    let unnamed = || rocksdb(0, "1.23", NEW, false);
    assert_eq!(
        named(unnamed(), "/opt/librelative.so")[1],
        "rocksdb 1.23 (librelative.so)"
    );
    assert_eq!(
        named(unnamed(), "/elsewhere/librocksdb.so")[1],
        "rocksdb 1.23 (elsewhere/…)"
    );
    let old = rocksdb(0, "1.23", "/builds/old/lib/librocksdb.so", true);
    assert_eq!(
        named(old, "/builds/new/lib/librocksdb.so"),
        ["rocksdb 1.23 (old/…)", "rocksdb 1.23 (new/…)"]
    );
}

#[test]
fn a_build_that_never_opened_keeps_the_name_that_the_plan_gave() {
    let mut trials = both();
    trials[1] = TrialRecord {
        engine: None,
        ..failed(trials[1].spec.clone(), "loading the engine: no")
    };
    let found = only(&trials);
    assert_eq!(names(&found.cells), ["rocksdb 11.8.1"]);
    assert_eq!(found.unranked[0].contender, format!("rocksdb@{OLD}"));
}

#[test]
fn a_library_with_assertions_is_marked_and_has_no_place() {
    let found = only(&with_assertions());
    let [ranked, apart] = [&found.cells[..], &found.not_comparable[..]];
    assert_eq!(names(ranked), ["rocksdb 11.8.1"]);
    assert_eq!(names(apart), ["rocksdb 7.8.3 [assertions]"]);
    assert_eq!(ranked[0].marks, []);
    assert_eq!(kinds(&apart[0].marks), [MarkKind::Assertions]);
    assert!(!apart[0].marks[0].comparable);
    assert_eq!((apart[0].assertions, &*apart[0].origin), (Some(true), OLD));
    let warnings: Vec<_> = found.builds.iter().map(|build| build.warning).collect();
    assert_eq!(warnings, [None, Some(WITH_ASSERTIONS)]);
}

#[test]
fn a_library_without_assertions_or_of_which_none_can_be_told_is_not_marked() {
    for assertions in [Some(false), None] {
        let mut trial = rocksdb(0, "11.8.1", NEW, false);
        trial.engine.as_mut().unwrap().assertions = assertions;
        let found = only(&[trial]);
        assert_eq!(
            (found.cells[0].marks.len(), found.builds[0].warning),
            (0, None)
        );
    }
}

#[test]
fn flushes_that_nobody_counted_are_marked_and_counted_ones_are_not() {
    let mut trials = both();
    let counted = FlushEvidence {
        commits: 100,
        sessions: 1,
        writes: 100,
        basis: Some(FlushBasis::Writes),
        ..FlushEvidence::default()
    };
    let uncounted = FlushEvidence::not_counted(100, 1, "nfs is no device".to_owned());
    for (trial, evidence) in trials.iter_mut().zip([counted.with_verdict(0), uncounted]) {
        trial.measurement.as_mut().unwrap().flush_evidence = Some(evidence);
    }
    let found = only(&trials);
    assert_eq!(found.cells[0].marks, []);
    let marks = &found.cells[1].marks;
    assert_eq!(kinds(marks), [MarkKind::UnverifiedFlushes]);
    assert!(marks[0].explanation.contains("(nfs is no device)"));
}

#[test]
fn a_build_with_assertions_has_a_place_if_it_is_asked_for() {
    let mut run = run_of(fastest_with_assertions());
    let found = rankings(&run.manifest, &run.trials).remove(0);
    assert_eq!(names(&found.cells), ["lmdb", "redb"]);
    assert_eq!(names(&found.not_comparable), ["leveldb [assertions]"]);
    assert_eq!(found.cells[0].relative_to_best, Some(1.0));
    run.manifest.include_assertions = true;
    let found = rankings(&run.manifest, &run.trials).remove(0);
    assert_eq!(
        names(&found.cells),
        ["leveldb [assertions]", "lmdb", "redb"]
    );
    assert!(found.not_comparable.is_empty());
}

#[test]
fn one_build_with_assertions_is_ranked_against_itself() {
    let mut trials = fastest_with_assertions();
    for trial in &mut trials {
        trial.spec.engine = "leveldb".to_owned();
        let knob = Value::Integer(i64::from(trial.spec.cell));
        trial.spec.knobs.insert("cache".to_owned(), knob);
        let engine = trial.engine.as_mut().unwrap();
        engine.assertions = Some(true);
        engine.sha256 = "0c".repeat(32);
    }
    let expected = [1, 0, 2].map(|cache| format!("leveldb (cache={cache}) [assertions]"));
    assert_eq!(names(&only(&trials).cells), expected);
}

/// The names of two contenders of the run beside each other.
fn compared(run: &Run, first: &str, second: &str) -> Result<[String; 2], Error> {
    let side = |words: &str| Side::new(words, run.clone(), Selector::parse(words).unwrap());
    let compared = compare_sides(&side(first)?, &[side(second)?])?.remove(0);
    let result = &compared.results[0];
    Ok([result.first_name(), result.second_name()])
}

#[test]
fn a_build_with_assertions_is_not_compared_with_another_engine_unless_it_is_asked_for() {
    let mut run = run_of(fastest_with_assertions());
    let refused = compared(&run, "lmdb", "leveldb").unwrap_err();
    assert!(refused.to_string().contains("--include-assertions"));
    let Error::NotComparable { reason, .. } = refused else {
        panic!("{refused}");
    };
    let IncomparabilityReason::Marks(IncomparablePair {
        second,
        assertions_only,
        ..
    }) = *reason
    else {
        panic!("{reason}");
    };
    assert_eq!((&*second.name, assertions_only), ("leveldb", true));
    assert_eq!(kinds(&second.marks), [MarkKind::Assertions]);
    assert_eq!(compared(&run, "lmdb", "redb").unwrap(), ["lmdb", "redb"]);
    run.manifest.include_assertions = true;
    let pair = compared(&run, "lmdb", "leveldb").unwrap();
    assert_eq!(pair, ["lmdb", "leveldb [assertions]"]);
}

#[test]
fn a_drivers_workaround_is_marked_and_ranked() {
    let mut trials = both();
    trials[0].engine.as_mut().unwrap().workaround = Some("each put looks up first".to_owned());
    let found = only(&trials);
    assert_eq!(kinds(&found.cells[0].marks), [MarkKind::Workaround]);
    assert!(found.cells[0].marks[0].comparable);
    assert_eq!(found.cells[1].marks, []);
}

#[test]
fn a_contender_whose_writers_fell_short_of_their_rate_is_marked_and_ranked() {
    let mut trials = both();
    for (trial, is_kept) in trials.iter_mut().zip([false, true]) {
        let results = &mut trial.measurement.as_mut().unwrap().results;
        results.insert("updates to make per s".to_owned(), Value::Float(15_000.0));
        let kept = Measurement::WRITERS_KEPT_RATE.to_owned();
        results.insert(kept, Value::Boolean(is_kept));
    }
    let found = only(&trials);
    let late = &found.cells[0].marks;
    assert_eq!(kinds(late), [MarkKind::WritersLate]);
    assert!(late[0].comparable);
    let said = "its writers fell short of their rate (15,000 updates to make a second)";
    assert!(late[0].explanation.starts_with(said), "{late:?}");
    // The control kept it.
    assert_eq!(found.cells[1].marks, []);
}

#[test]
fn an_operation_that_an_engine_does_not_have_is_marked_and_ranked() {
    let mut trials = both();
    let measurement = trials[0].measurement.as_mut().unwrap();
    let explanation = "it has no multi-get";
    measurement
        .results
        .insert(Measurement::EMULATED.to_owned(), explanation.into());
    let found = only(&trials);
    let mark = &found.cells[0].marks[0];
    assert_eq!(kinds(&found.cells[0].marks), [MarkKind::Emulated]);
    assert_eq!((&*mark.explanation, mark.comparable), (explanation, true));
    assert_eq!(found.cells[1].marks, []);
}

#[test]
fn what_is_known_to_lose_records_is_not_ranked_whatever_is_asked_for() {
    let mut trials = both();
    trials[1].engine.as_mut().unwrap().known_defect = Some("it can lose records".to_owned());
    let mut run = run_of(trials);
    let found = rankings(&run.manifest, &run.trials).remove(0);
    assert_eq!(names(&found.cells), ["rocksdb 11.8.1"]);
    let apart = names(&found.not_comparable);
    assert_eq!(apart, ["rocksdb 7.8.3 [known defect]"]);
    // A build is also separate from itself if only some of its knobs have the defect.
    for trial in &mut run.trials {
        trial.engine.as_mut().unwrap().sha256 = NEW.to_owned();
    }
    let places = |run: &Run| {
        let found = rankings(&run.manifest, &run.trials).remove(0);
        (found.cells.len(), found.not_comparable.len())
    };
    assert_eq!(places(&run), (1, 1));
    run.manifest.include_assertions = true;
    assert_eq!(places(&run), (1, 1));
}
