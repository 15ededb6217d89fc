//! The anomaly suite against engines that show each phenomenon, and against one that shows none.

use crate::faulty_engine::weak::{Weak, Weakness};
use crate::faulty_engine::{EngineFault, FaultyEngine};
use trueput_engine::isolation::{Report, ScheduleResult, observe};
use trueput_engine::reference::Reference;
use trueput_engine::{Durability, Engine, Isolation, Null, ParameterValues, Phenomenon};

fn run(engine: &dyn Engine) -> Report {
    let folder = tempfile::tempdir().unwrap();
    observe(
        engine,
        folder.path(),
        Durability::None,
        &ParameterValues::default(),
    )
}

fn shown(report: &Report) -> Vec<Phenomenon> {
    let all = Phenomenon::ALL.into_iter();
    all.filter(|phenomenon| report.shows(*phenomenon)).collect()
}

fn failed(report: &Report) -> Vec<String> {
    let checks = report.checks().into_iter();
    let failed = checks.filter(|check| !check.passed);
    failed
        .map(|check| format!("{}: {}", check.name, check.detail))
        .collect()
}

#[test]
fn the_reference_engine_shows_no_phenomenon_and_its_writers_wait() {
    let report = run(&Reference);
    assert_eq!(failed(&report), Vec::<String>::new());
    assert_eq!(shown(&report), []);
    assert_eq!(report.strongest(), Some(Isolation::Serializable));
    let mut skews = report.of(Phenomenon::WriteSkew);
    assert!(skews.any(|skew| skew.result == ScheduleResult::Waited));
    let mut skews = report.of(Phenomenon::ReadSkew);
    assert!(skews.any(|skew| skew.result == ScheduleResult::Separate));
}

#[test]
fn every_phenomenon_has_a_schedule_and_every_schedule_a_name() {
    let report = run(&Reference);
    for phenomenon in Phenomenon::ALL {
        assert!(report.of(phenomenon).count() > 0, "{phenomenon}");
    }
    let mut names: Vec<_> = report
        .checks()
        .into_iter()
        .map(|check| check.name)
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn an_engine_without_records_has_nothing_to_observe() {
    let report = run(&Null);
    assert_eq!((report.stated, report.strongest()), (None, None));
    assert!(report.observations.is_empty() && report.checks().is_empty());
}

#[test]
fn an_engine_of_each_weakness_shows_what_it_does_not_prevent_and_nothing_else() {
    use Phenomenon::{
        AbortedRead, CircularFlow, IntermediateRead, LostUpdate, Phantom, PredicateWriteSkew,
        ReadSkew, WriteSkew,
    };
    let unrepeatable = [LostUpdate, ReadSkew, WriteSkew, Phantom, PredicateWriteSkew];
    let dirty = [AbortedRead, IntermediateRead, CircularFlow];
    let cases = [
        (Weakness::WritesInPlace, Phenomenon::ALL.to_vec(), None),
        (
            Weakness::ReadsUncommitted,
            [dirty.as_slice(), &unrepeatable].concat(),
            Some(Isolation::ReadUncommitted),
        ),
        (
            Weakness::ReadsCommitted,
            unrepeatable.to_vec(),
            Some(Isolation::ReadCommitted),
        ),
        (
            Weakness::OverwritesSnapshot,
            vec![LostUpdate, WriteSkew, Phantom, PredicateWriteSkew],
            Some(Isolation::ReadCommitted),
        ),
        (
            Weakness::ChecksWrites,
            vec![WriteSkew, PredicateWriteSkew],
            Some(Isolation::Snapshot),
        ),
        (
            Weakness::ChecksPages,
            vec![WriteSkew, PredicateWriteSkew],
            Some(Isolation::Snapshot),
        ),
        (
            Weakness::ChecksRecords,
            vec![Phantom, PredicateWriteSkew],
            Some(Isolation::RepeatableRead),
        ),
        (
            Weakness::ChecksRanges,
            vec![],
            Some(Isolation::Serializable),
        ),
    ];
    for (weakness, phenomena, strongest) in cases {
        let report = run(&Weak(weakness, Some(Isolation::Serializable)));
        assert_eq!(shown(&report), phenomena, "{weakness:?}: {report:#?}");
        assert_eq!(report.strongest(), strongest, "{weakness:?}");
    }
}

#[test]
fn a_level_is_refuted_by_what_it_proscribes_and_by_nothing_that_it_permits() {
    let snapshot = run(&Weak(Weakness::ChecksWrites, Some(Isolation::Snapshot)));
    assert_eq!(failed(&snapshot), Vec::<String>::new());
    let checks = snapshot.checks();
    let permitted = "write skew (G2-item): by key";
    let permitted = checks.iter().find(|check| check.name == permitted).unwrap();
    assert_eq!(
        permitted.detail,
        "occurred; snapshot, as stated, permits it"
    );
    let claimed = run(&Weak(Weakness::ChecksWrites, Some(Isolation::Serializable)));
    let refuted = failed(&claimed);
    let expected = "write skew (G2-item): by key: occurred; serializable, as stated, proscribes it";
    assert!(refuted.iter().any(|line| line == expected), "{refuted:#?}");
}

#[test]
fn an_engine_that_states_nothing_fails_where_it_has_dirty_writes_and_nowhere_else() {
    let dirty = failed(&run(&Weak(Weakness::WritesInPlace, None)));
    assert!(!dirty.is_empty());
    for line in &dirty {
        assert!(line.starts_with("dirty write (G0): "), "{line}");
        let said = "occurred; every level of isolation proscribes it";
        assert!(line.ends_with(said), "{line}");
    }
    let silent = run(&Weak(Weakness::ReadsUncommitted, None));
    assert_eq!(failed(&silent), Vec::<String>::new());
    let plain = "occurred; the driver states no isolation";
    let checks = silent.checks();
    assert!(checks.iter().any(|check| check.detail == plain));
}

#[test]
fn an_engine_that_fails_is_reported_and_the_rest_is_not_run() {
    let report = run(&FaultyEngine(EngineFault::AlwaysConflicts));
    let failed = failed(&report);
    assert!(failed[0].contains("busy"), "{failed:#?}");
    assert!(failed[1].contains("not run"), "{failed:#?}");
}
