//! The commits that certainly changed data: a power cut may lose only these.

use crate::job_bench::job_under;
use crate::micro::settings::trial;
use std::path::Path;
use trueput_record::measurement::{Measurement, OperationSummary};
use trueput_record::{Conditions, VerifyLevel, WorkerKind};
use trueput_workloads::Workload;
use trueput_workloads::custom::Custom;
use trueput_workloads::trace::TraceWorkload;

/// Of four workers, with these counts by kind and how many of each found no record.
fn changing(
    (workload, given): (&dyn Workload, &str),
    (kind, verify): (WorkerKind, VerifyLevel),
    counts: &[(u64, u64)],
) -> Option<u64> {
    let job = job_under(workload, given, &Conditions::default()).unwrap();
    let mut spec = trial(4, kind);
    spec.verify = verify;
    let operations = counts.iter().map(|&(count, not_found)| OperationSummary {
        count,
        not_found,
        ..OperationSummary::default()
    });
    let mut measurement = Measurement {
        operations: operations.collect(),
        ..Measurement::default()
    };
    let counts: Vec<_> = counts.iter().map(|(count, _)| *count).collect();
    measurement.commits = job.commits(&counts);
    job.changing_commits(&spec, &measurement)
}

const THREADS: (WorkerKind, VerifyLevel) = (WorkerKind::Threads, VerifyLevel::Full);
const SAMPLED: (WorkerKind, VerifyLevel) = (WorkerKind::Threads, VerifyLevel::Sample);
const PROCESSES: (WorkerKind, VerifyLevel) = (WorkerKind::Processes, VerifyLevel::Full);

#[test]
fn a_put_of_a_new_version_changes_data() {
    let custom = |operations: &str, workers, counts: &[(u64, u64)]| {
        let given = format!("records=1000 operations={operations}");
        changing((&Custom, &given), workers, counts)
    };
    assert_eq!(custom("put:1", THREADS, &[(400, 0)]), Some(400));
    // Each numbers its own: four may write one value.
    assert_eq!(custom("put:1", SAMPLED, &[(400, 0)]), Some(100));
    assert_eq!(custom("put:1", PROCESSES, &[(400, 0)]), Some(100));
    assert_eq!(
        custom(
            "get:1~update:1~put:2",
            THREADS,
            &[(90, 0), (100, 0), (200, 0)]
        ),
        Some(300)
    );
    // The next version of what was read, and a new record, whoever wrote before.
    assert_eq!(
        custom("get:1~update:1", PROCESSES, &[(90, 0), (100, 0)]),
        Some(100)
    );
    assert_eq!(custom("insert+put:1", PROCESSES, &[(100, 0)]), Some(100));
    assert_eq!(
        custom("get:1", THREADS, &[(90, 0)]),
        Some(0),
        "reads change nothing"
    );
}

#[test]
fn a_delete_changes_data_if_it_found_its_record_for_certain() {
    let custom = |operations: &str, workers, counts: &[(u64, u64)]| {
        let given = format!("records=1000 operations={operations}");
        changing((&Custom, &given), workers, counts)
    };
    assert_eq!(
        custom("get:1~delete:1", THREADS, &[(90, 5), (400, 300)]),
        Some(100)
    );
    assert_eq!(
        custom("get:1~delete:1", PROCESSES, &[(90, 5), (400, 300)]),
        Some(25)
    );
    // Those that found all of their records.
    assert_eq!(
        custom("delete-range(5):1", THREADS, &[(400, 300)]),
        Some(100)
    );
    // With puts in between the order of two deletes is not known.
    assert_eq!(
        custom("put:1~delete:1", THREADS, &[(50, 0), (400, 300)]),
        Some(50)
    );
    assert_eq!(custom("delete+get:1", THREADS, &[(400, 300)]), Some(0));
}

#[test]
fn a_trace_is_no_exception() {
    let folder = tempfile::tempdir().unwrap();
    let trace = |lines: &str, workers, counts: &[(u64, u64)]| {
        let file = folder.path().join("trace.csv");
        std::fs::write(&file, format!("operation,key,transaction\n{lines}")).unwrap();
        let given = format!("file={} pace=closed", Path::display(&file));
        changing((&TraceWorkload, &given), workers, counts)
    };
    // The requests of a key are one worker's, in their order.
    let alone = "put,a,\ndelete,a,\nget,b,\n";
    assert_eq!(
        trace(alone, PROCESSES, &[(1, 0), (400, 0), (300, 100)]),
        Some(600)
    );
    let together = "put,a,1\nput,b,1\n";
    assert_eq!(trace(together, PROCESSES, &[(400, 0)]), Some(100));
    assert_eq!(trace(together, THREADS, &[(400, 0)]), Some(400));
    let deletes = "delete,a,1\nget,b,1\nput,b,2\nget,b,2\n";
    assert_eq!(trace(deletes, THREADS, &[(400, 0)]), Some(0));
}
