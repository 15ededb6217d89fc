//! Each phenomenon, planted in a history by hand, is found, and named in words that a reader can
//! follow; and histories that fit a level pass.

use super::notation::history;
use trueput_record::{Isolation, Survival};
use trueput_workloads::history::check::{HistoryReport, check};

fn report(text: &str) -> HistoryReport {
    check(&history(text), Survival::EveryCommit)
}

fn levels(text: &str) -> Vec<Isolation> {
    report(text).levels().collect()
}

/// Asserts that the history shows these anomalies and no other, and fits these levels and no other.
#[track_caller]
fn shows(text: &str, kinds: &[&str], fits: &[Isolation]) {
    let found = report(text);
    let names: Vec<String> = found
        .anomalies
        .iter()
        .map(|one| one.kind.to_string())
        .collect();
    assert_eq!(names, kinds, "{:?}", found.anomalies);
    assert_eq!(levels(text), fits, "{:?}", found.anomalies);
}

use Isolation::{ReadCommitted, ReadUncommitted, RepeatableRead, Snapshot};

#[test]
fn transactions_in_a_row_fit_every_level() {
    let text = "
        T0 0..1: x=- x:=1 y=- y:=2
        T1 2..3: x=1 x:=3 x:=4
        T0 4..5: x=4 y=2
        T1 6..7 aborted: x=4 x:=5
        end: x=4 y=2";
    shows(text, &[], &Isolation::ALL);
    let found = report(text);
    assert_eq!((found.committed, found.missing, found.stale), (4, 0, None));
}

#[test]
fn a_dirty_write_is_found() {
    let text = "
        T0: x=- x:=1 y=- y:=2
        T1: x:=3 y:=4
        T2: x:=5 y:=6
        T3 2..3: x=3
        T3 20..21: x=5
        T3 10..11: y=6
        T3 30..31: y=4
        end: x=5 y=4";
    let found = report(text);
    let anomaly = found.violation(ReadUncommitted).unwrap();
    assert_eq!(
        anomaly.to_string(),
        "dirty write (G0): cycle of 2: T1.1 wrote key 23 = 0.3, which T2.2 replaced by 0.5; \
         T2.2 wrote key 24 = 0.6, which T1.1 replaced by 0.4"
    );
}

#[test]
fn an_aborted_read_is_found() {
    shows(
        "
        T0 aborted: x=- x:=1
        T1: x=1",
        &["aborted read (G1a)"],
        &[ReadUncommitted],
    );
}

#[test]
fn what_an_aborted_transaction_read_does_not_count() {
    shows(
        "
        T0 aborted: x=- x:=1
        T1 aborted: x=1 y=? z=9",
        &[],
        &Isolation::ALL,
    );
}

#[test]
fn an_intermediate_read_is_found() {
    shows(
        "
        T0: x=- x:=1 x:=2
        T1: x=1",
        &["intermediate read (G1b)"],
        &[ReadUncommitted],
    );
}

#[test]
fn a_circular_information_flow_is_found() {
    shows(
        "
        T0: x:=1 y=2
        T1: y:=2 x=1",
        &["circular information flow (G1c)"],
        &[ReadUncommitted],
    );
}

#[test]
fn a_lost_update_is_found() {
    shows(
        "
        T0 0..1: x=- x:=1
        T1 2..9: x=1 x:=2
        T2 2..9: x=1 x:=3
        end: x=3",
        &[
            "lost update (P4)",
            "read skew (G-single)",
            "write skew (G2-item)",
        ],
        &[ReadUncommitted, ReadCommitted],
    );
}

#[test]
fn two_first_writes_that_ignore_each_other_are_a_phantom() {
    let text = "
        T1: x=- x:=2
        T2: x=- x:=3
        end: x=3";
    shows(
        text,
        &["phantom (P3)", "predicate write skew (G2)"],
        &[ReadUncommitted, ReadCommitted, RepeatableRead],
    );
}

#[test]
fn a_read_skew_is_found() {
    shows(
        "
        T0 0..1: x=- x:=1 y=- y:=2
        T1 2..9: x=1 x:=3 y=2 y:=4
        T2 2..9: x=1 y=4",
        &["read skew (G-single)"],
        &[ReadUncommitted, ReadCommitted],
    );
}

#[test]
fn a_read_that_is_not_repeatable_is_a_read_skew() {
    shows(
        "
        T0 0..1: x=- x:=1
        T1 2..9: x=1 x:=3
        T2 2..9: x=1 x=3",
        &["read skew (G-single)"],
        &[ReadUncommitted, ReadCommitted],
    );
}

#[test]
fn a_record_that_a_second_search_finds_is_a_phantom() {
    shows(
        "
        T1: x:=3
        T2: x=- x=3",
        &["phantom (P3)"],
        &[ReadUncommitted, ReadCommitted, RepeatableRead],
    );
}

#[test]
fn a_write_skew_is_found_and_fits_snapshot() {
    let text = "
        T0 0..1: x=- x:=1 y=- y:=2
        T1 2..9: x=1 y=2 x:=3
        T2 2..9: x=1 y=2 y:=4
        end: x=3 y=4";
    shows(
        text,
        &["write skew (G2-item)"],
        &[ReadUncommitted, ReadCommitted, Snapshot],
    );
    assert_eq!(
        report(text).anomalies[0].to_string(),
        "write skew (G2-item): cycle of 2: T1.1 read key 24 = 0.2, which T2.2 replaced by 0.4; \
         T2.2 read key 23 = 0.1, which T1.1 replaced by 0.3"
    );
}

#[test]
fn a_write_skew_of_absent_keys_is_a_predicate_write_skew() {
    shows(
        "
        T1: x=- y=- x:=3
        T2: x=- y=- y:=4",
        &["predicate write skew (G2)"],
        &[ReadUncommitted, ReadCommitted, RepeatableRead, Snapshot],
    );
}

/// Two readers see two independent writes in different orders: each anti-dependency is followed by
/// a read, so that no two are adjacent.
#[test]
fn a_long_fork_does_not_fit_snapshot() {
    let text = "
        T0 0..1: x=- x:=1 y=- y:=2
        T1 2..9: x=1 x:=3
        T2 2..9: y=2 y:=4
        T3 2..9: x=3 y=2
        T4 2..9: x=1 y=4";
    shows(
        text,
        &["nonadjacent skew (G-nonadjacent)"],
        &[ReadUncommitted, ReadCommitted],
    );
    assert!(report(text).anomalies[0].text.starts_with("cycle of 4"));
}

#[test]
fn a_transaction_reads_what_it_wrote() {
    shows("T0: x=- x:=1 x=1", &[], &Isolation::ALL);
    shows("T0: x=- x:=1 x=-", &["internal read"], &[]);
}

#[test]
fn a_value_that_nobody_wrote_under_its_key_fits_no_level() {
    for (text, reason) in [
        ("T1: x=9", "which no transaction wrote"),
        ("T1: x=?", "a damaged value"),
        ("T0: y=- y:=9\n T1: x=9", "which T0.0 wrote to key 24"),
        (
            "T0: x=- x:=9\n T1: x=9!",
            "with other bytes than T0.0 wrote",
        ),
    ] {
        shows(text, &["damaged read"], &[]);
        assert!(report(text).anomalies[0].text.contains(reason), "{text}");
    }
}

#[test]
fn a_transaction_with_an_unknown_end_counts_once_its_writes_are_read() {
    // Nobody has seen it: it may have failed.
    shows(
        "
        T0 unknown: x=- x:=1
        T1: x=- x:=2
        end: x=2",
        &[],
        &Isolation::ALL,
    );
    // It was committed, and so what it read counts, and what it read from another one.
    let text = "
        T0 unknown: y=- y:=7
        T1 unknown: y=7 x=- x:=1
        T2: x=1 y=-
        T3: x=1";
    assert_eq!(report(text).committed, 4);
    shows(
        text,
        &["phantom (P3)"],
        &[ReadUncommitted, ReadCommitted, RepeatableRead],
    );
}

#[test]
fn a_stale_read_is_no_anomaly_of_isolation_and_is_found_all_the_same() {
    let text = "
        T0 0..1: x=- x:=1
        T1 2..3: x=1 x:=2
        T2 4..5: x=1";
    shows(text, &[], &Isolation::ALL);
    let stale = report(text).stale.unwrap();
    assert!(stale.contains("T2") && stale.contains("key 23"), "{stale}");
    assert_eq!(report(&text.replace("4..5", "3..5")).stale, None);
}

#[test]
fn a_key_that_goes_back_is_no_register() {
    let text = "
        T0 0..9: x:=1
        T1 0..20: x:=2
        T2 10..11: x=1
        T2 12..13: x=2
        T2 14..15: x=1";
    assert!(report(text).stale.is_some());
    let without_last = text.rsplit_once('\n').unwrap().0;
    assert_eq!(report(without_last).stale, None);
}

#[test]
fn a_write_without_a_read_follows_those_that_had_ended_before() {
    // T3 has read x before T2 replaced it, and y after: known by the times alone.
    let text = "
        T0 0..1: x:=1
        T0 2..3: y:=2
        T2 4..9: x:=3 y:=4
        T3 4..9: x=1 y=4";
    shows(
        text,
        &["read skew (G-single)"],
        &[ReadUncommitted, ReadCommitted],
    );
}

#[test]
fn acknowledged_writes_that_are_gone_at_the_end_are_counted() {
    let rows = "
        T0 0..1: x=- x:=1
        T1 2..3: x=1 x:=2
        T2 4..5: x=2 x:=3
        T3 6..7 unknown: x=3 x:=4
        T4 8..9 aborted: x=3 x:=5
        end: ";
    let missing = |end: &str| {
        let found = report(&format!("{rows}{end}"));
        (found.missing, found.first_missing)
    };
    assert_eq!(missing("x=3"), (0, None));
    assert_eq!(missing("x=4"), (0, None));
    let first = "T2.2 wrote key 23 = 0.3, and at the end it was 0.1";
    assert_eq!(missing("x=1"), (2, Some(first.to_owned())));
    assert_eq!(missing("x=-").0, 3);
}

#[test]
fn where_a_crash_may_take_the_last_commits_the_rest_is_still_one_state() {
    let lost = |end: &str| {
        let text = format!(
            "
            T0 0..1: x=- x:=1 y=- y:=2
            T1 2..3: x=1 x:=3
            T2 4..5: y=2 x=3 y:=4
            end: {end}"
        );
        check(&history(&text), Survival::ConsistentPrefix)
    };
    for (end, missing) in [("x=3 y=4", 0), ("x=3 y=2", 1), ("x=1 y=2", 2)] {
        let found = lost(end);
        assert_eq!((found.missing, &found.stale), (missing, &None), "{end}");
        assert_eq!(found.anomalies, [], "{end}");
    }
    let torn = lost("x=1 y=4");
    assert_eq!(torn.anomalies[0].kind.to_string(), "read skew (G-single)");
}
