//! Operations that look for records that are not there are counted, in every keyed workload.

use crate::counting_meter::in_threads;
use crate::micro::harness::{Bench, Call, ControlFlow};
use std::collections::HashSet;
use trueput_engine::reference::Reference;
use trueput_engine::{Direction, KeyRange};
use trueput_record::{Conditions, VerifyLevel};
use trueput_workloads::Workload;
use trueput_workloads::custom::Custom;
use trueput_workloads::micro::Micro;
use trueput_workloads::trace::TraceWorkload;

fn bench(workload: &'static dyn Workload, given: &str) -> Bench {
    Bench::of(workload, &Reference, 1, &Conditions::default(), given).logging()
}

fn keys(bench: &Bench) -> HashSet<Vec<u8>> {
    let mut keys = HashSet::new();
    bench.tamper(|session| {
        session
            .scan(KeyRange::ALL, Direction::Forward, &mut |key, _| {
                keys.insert(key.to_vec());
                ControlFlow::Continue(())
            })
            .unwrap();
    });
    keys
}

/// A get, a delete and an update of absent records, and a delete of one that was taken out; each
/// operation looks once, as a read-modify-write does not.
const TRACE: &str = "operation,key\nget,a\nput,a\nget,a\ndelete,a\ndelete,a\nupdate,b\nget,b\n\
    delete,c\nput,c\nget,c\n";

/// The look-ups and the deletes of absent records that the engine was asked for.
fn asked_in_vain(bench: &Bench, mut there: HashSet<Vec<u8>>) -> u64 {
    let mut absent = 0;
    for call in bench.calls() {
        match call {
            Call::Get(key) => absent += u64::from(!there.contains(&key)),
            Call::Delete(key) => absent += u64::from(!there.remove(&key)),
            Call::Put(key, _) => drop(there.insert(key)),
            Call::Record(_) | Call::Scan(..) => {}
        }
    }
    absent
}

#[test]
fn gets_updates_and_deletes_of_absent_records_are_counted_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.csv");
    std::fs::write(&trace, TRACE).unwrap();
    let of_trace = format!("file={} pace=closed load=none", trace.display());
    let cases: [(&'static dyn Workload, &str); 6] = [
        (
            &Custom,
            "operations=get:3~update:1~delete:2~put:1 records=50 operationcount=2000",
        ),
        (
            &Custom,
            "operations=get:9~delete:1 records=20 operationcount=2000",
        ),
        (
            &Custom,
            "operations=insert:1~get:1~delete:3 distribution=oldest records=20 \
             operationcount=900",
        ),
        (
            &Micro,
            "test=mix update_percent=10 delete_percent=30 records=50 operations=2000",
        ),
        (&Micro, "test=delete-random records=50"),
        (&TraceWorkload, &of_trace),
    ];
    for (workload, given) in cases {
        for level in [VerifyLevel::Full, VerifyLevel::Sample, VerifyLevel::Off] {
            let mut bench = bench(workload, given);
            bench.verify = level;
            bench.prepare().unwrap();
            let loaded = keys(&bench);
            let (meter, _) = bench.work(0);
            let counted: u64 = meter.not_found.iter().sum();
            assert_eq!(counted, asked_in_vain(&bench, loaded), "{given} {level:?}");
            let is_clean = given.starts_with("test=delete-random");
            assert_eq!(counted == 0, is_clean, "{given}");
            let within = meter
                .not_found
                .iter()
                .zip(&meter.counts)
                .all(|(one, of)| one <= of);
            assert!(within, "{given}");
        }
    }
}

#[test]
fn scans_that_find_nothing_are_counted() {
    let bench = bench(
        &Custom,
        "operations=delete:9~scan(5):1 records=200 operationcount=9000",
    );
    bench.prepare().unwrap();
    let (meter, _) = bench.work(0);
    assert!(meter.not_found[1] > 10, "{:?}", meter.not_found);
    assert!(
        meter.not_found[1] < meter.counts[1],
        "the first ones found some"
    );
}

#[test]
fn of_deletes_by_several_threads_as_many_found_their_record_as_are_gone() {
    let given = "operations=delete:1~get:1 records=300 operationcount=3000";
    let bench = Bench::of(&Custom, &Reference, 4, &Conditions::default(), given);
    bench.prepare().unwrap();
    let deletes = in_threads(4, |worker| {
        let (meter, _) = bench.work(worker);
        (meter.counts[0], meter.not_found[0])
    });
    let found: u64 = deletes.iter().map(|(count, absent)| count - absent).sum();
    assert_eq!(found, 300 - bench.records().len() as u64);
}

#[test]
fn what_is_loaded_is_found() {
    let given = "operations=get:3~update:1~scan(9):1~insert:1 records=300 operationcount=3000";
    let bench = bench(&Custom, given);
    bench.prepare().unwrap();
    assert_eq!(bench.work(0).0.not_found, [0; 4]);
}

#[test]
fn a_mix_that_empties_its_database_says_so_before_it_runs() {
    let caution =
        |workload: &'static dyn Workload, given: &str| bench(workload, given).job.caution();
    let emptying = caution(
        &Custom,
        "operations=get:90~delete:10 records=1000 operationcount=99999",
    );
    assert!(emptying.unwrap().contains("empty the database"));
    let emptying = caution(
        &Micro,
        "test=mix delete_percent=50 records=100 operations=9999",
    );
    assert!(emptying.unwrap().contains("empty the database"));
    for queue in [
        "operations=insert:1~delete:3 distribution=oldest records=10 operationcount=999",
        "operations=insert:1~first+delete-range(3):1 distribution=oldest records=10 \
         operationcount=999",
    ] {
        assert!(caution(&Custom, queue).is_some());
    }
    for lasting in [
        "operations=get:90~update:10",
        "operations=put:50~delete:10",
        "operations=get:90~delete:10 records=100000 operationcount=1000",
        "operations=insert:1~delete:1 distribution=oldest",
        "operations=insert*3:1~first+delete-range(3):1 distribution=oldest",
    ] {
        assert_eq!(caution(&Custom, lasting), None, "{lasting}");
    }
}
