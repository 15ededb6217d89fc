//! The settings that are refused, and the messages.

use super::harness::{Bench, assert_right, job_under, timed};
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::measurement::{Measurement, OperationSummary};
use trueput_record::value::Settings;
use trueput_record::{Conditions, Durability, TrialSpec, Value, VerifyLevel, WorkerKind};
use trueput_workloads::Workload;
use trueput_workloads::micro::Micro;

fn refused(given: &str) -> String {
    job_under(given, &Conditions::default()).err().unwrap()
}

fn refused_by_time(given: &str) -> String {
    job_under(given, &timed()).err().unwrap()
}

#[test]
fn settings_out_of_range_are_refused_with_the_range() {
    assert_eq!(
        refused("records=0"),
        "micro.records: 0 is out of range (1 or more)"
    );
    assert!(refused("test=read-randon").contains("did you mean 'read-random'"));
    assert!(refused("key_bytes=7").contains("8 to 1000"));
    assert!(refused("compressibility=0").contains("1 to 100"));
    for bytes in ["1023", "65MiB"] {
        let given = format!("test=read-large large_value_bytes={bytes}");
        assert!(refused(&given).contains("1 KiB to 64 MiB"), "{bytes}");
    }
    assert_eq!(
        refused("value_bytes=11"),
        "values of 11 bytes have no room for the check and the version by which reads are \
         verified; give value_bytes=12 or more"
    );
    assert_eq!(
        refused("size=100"),
        "size=100 is less than one record of 116 bytes; give more"
    );
    // A key for each of ten parts.
    let large = "test=read-large large_value_bytes=10KiB part_size=1KiB";
    assert_eq!(
        refused(&format!("{large} size=10399")),
        "size=10399 is less than one record of 10400 bytes; give more"
    );
}

#[test]
fn what_does_not_go_together_is_refused_with_what_would() {
    let mix = "test=mix update_percent=60 scan_percent=41";
    assert!(refused(mix).contains("add up to 101; the maximum is 100"));
    assert!(refused("test=mix").contains("needs a percentage"));
    assert!(refused("update_percent=1").contains("write test=mix"));
    let fill = "test=fill-random";
    assert!(refused(&format!("{fill} operations=5")).contains("write records=5"));
    assert!(refused_by_time(fill).contains("remove duration and warm_up, and give records=N"));
    assert!(refused_by_time("test=delete-random").contains("remove duration"));
    let deletes = "test=delete-random records=5 operations=6";
    assert!(refused(deletes).contains("give operations=5 or less"));
    assert!(refused("test=fill-sync batch=2").contains("leave batch=2 out"));
    assert!(refused("test=read-random batch=2").contains("leave batch=2 out"));
    assert!(refused(&format!("{fill} writers=2")).contains("does not support writers"));
    let writing = "test=read-while-writing";
    assert!(refused(writing).contains("needs a duration"));
    assert!(refused_by_time(&format!("{writing} operations=9")).contains("remove operations"));
    let hot = "test=read-hot distribution=zipfian";
    assert!(refused(hot).contains("remove distribution=zipfian"));
    let bulk = "test=fill-bulk";
    let each = refused(&format!("{bulk} batch=1"));
    assert!(each.contains("give batch=2 or more, or write test=fill-sequential"));
    assert!(job_under(&format!("{bulk} batch=2"), &Conditions::default()).is_ok());
    let at_rate = Conditions {
        rate: Some(Rate {
            per_s: 10.0,
            arrival: Arrival::default(),
        }),
        ..Conditions::default()
    };
    let refused_rate = job_under(bulk, &at_rate).err().unwrap();
    assert!(refused_rate.contains("remove the rate, or write test=fill-batch"));
    assert!(job_under("test=fill-batch", &at_rate).is_ok());
    let bulk = job_under(bulk, &Conditions::default()).unwrap();
    let several = bulk.check_workers(2, WorkerKind::Threads).unwrap_err();
    assert!(String::from(several).contains("give one worker"));
    assert!(bulk.check_workers(1, WorkerKind::Threads).is_ok());
    let needed = |test| {
        job_under(test, &Conditions::default())
            .unwrap()
            .needed_workers()
    };
    assert_eq!(needed("test=fill-bulk"), Some(1));
    assert_eq!(needed("test=fill-batch"), None);
    assert!(refused_by_time("write_rate=9").contains("write test=read-while-writing"));
    assert!(refused_by_time("writers=4 write_rate=3").contains("give write_rate=4 or more"));
    let large = "test=read-large";
    assert!(refused(&format!("{large} part_size=1023")).contains("give part_size=1KiB or more"));
    assert!(refused(&format!("{large} batch=2")).contains("leave batch=2 out"));
    let scanning = format!("{large} writers=1 scanners=1");
    assert!(refused_by_time(&scanning).contains("remove scanners=1"));
    let overwriting = "test=overwrite-large writers=1";
    assert!(refused_by_time(overwriting).contains("does not support writers"));
}

#[test]
fn a_size_that_no_test_of_a_plan_looks_at_is_refused() {
    let refused = |tests: &[&str], name: &str| {
        let tests = tests.iter().map(|test| Value::from(*test)).collect();
        let given = [
            ("test".to_owned(), tests),
            (name.to_owned(), vec![Value::from("2KiB")]),
        ];
        let refused = Micro.check_given(&given.into()).err();
        refused.map(|ineffective| ineffective.message)
    };
    let (small, large) = (&["overwrite"][..], &["overwrite-large", "read-large"][..]);
    for name in ["large_values", "large_value_bytes", "part_size"] {
        let message = refused(small, name).unwrap();
        assert!(message.contains("not among the tests"), "{message}");
        assert_eq!(refused(large, name), None);
    }
    for name in ["records", "value_bytes"] {
        let message = refused(large, name).unwrap();
        let ignored = format!("overwrite-large and read-large ignore {name}: give large_value");
        assert!(message.starts_with(&ignored), "{message}");
        assert_eq!(refused(small, name), None);
        assert_eq!(refused(&["read-large", "read-random"], name), None);
    }
}

#[test]
fn a_size_beside_a_number_of_records_or_of_values_is_refused() {
    for (test, number) in [
        ("overwrite", "records"),
        ("read-large", "large_values"),
        ("overwrite-large", "large_values"),
    ] {
        let refused = |size: i64| {
            let given = [
                ("test".to_owned(), vec![Value::from(test)]),
                (number.to_owned(), vec![Value::Integer(5)]),
                ("size".to_owned(), vec![Value::Integer(size)]),
            ];
            Micro.check_given(&given.into()).err()
        };
        let ineffective = refused(1 << 20).unwrap();
        assert_eq!(ineffective.name, number, "{test}");
        let text = format!("size and {number} both set how much is loaded");
        assert!(ineffective.message.starts_with(&text), "{test}");
        assert_eq!(refused(0), None, "the control: {test}");
    }
}

#[test]
fn parts_that_an_engines_transactions_would_tear_are_refused() {
    let refused = |given: &str, is_atomic| {
        let bench = Bench::counted(1, given);
        let mut capabilities = bench.capabilities;
        capabilities.atomic_transactions = is_atomic;
        let refused = bench.job.check_capabilities(&capabilities).err();
        refused.map(String::from)
    };
    let overwriting = "test=overwrite-large";
    assert_eq!(refused(overwriting, true), None);
    let message = refused(overwriting, false).unwrap();
    assert!(message.contains("puts the 4 parts"), "{message}");
    assert_eq!(refused("test=read-large", false), None);
    let whole = format!("{overwriting} large_value_bytes=100KiB part_size=0");
    assert_eq!(refused(&whole, false), None);
}

#[test]
fn what_the_engine_has_no_room_for_is_refused_before_the_load() {
    let long = Bench::counted(1, "value_bytes=1MiB");
    assert_eq!(
        long.prepare().unwrap_err().to_string(),
        "values of 1 MiB are longer than the 512 KiB that this engine takes; give \
         value_bytes=524288 or less"
    );
    let long = Bench::counted(1, "test=read-large part_size=1MiB");
    assert_eq!(
        long.prepare().unwrap_err().to_string(),
        "parts of 1 MiB are longer than the 512 KiB that this engine takes; give \
         part_size=524288 or less"
    );
}

#[test]
fn a_load_whose_generations_are_used_up_is_renewed() {
    let given = "test=overwrite records=10 operations=30";
    let mut bench = Bench::counted(2, given);
    assert_right(&bench.run().1, "the first trial");
    for generation in 1..70 {
        bench = bench.then(&Conditions::default(), given);
        assert_right(&bench.run().1, &format!("generation {generation}"));
    }
}

#[test]
fn a_size_is_as_many_records_as_it_holds() {
    let bench = Bench::counted(1, "size=11600");
    let load = bench.prepare().unwrap().unwrap();
    assert_eq!((load.records, load.user_bytes), (100, 11_600));
    assert_eq!(bench.records().len(), 100);
    let sizes = "large_value_bytes=10KiB part_size=1KiB size=31200";
    let bench = Bench::counted(1, &format!("test=read-large {sizes}"));
    let load = bench.prepare().unwrap().unwrap();
    assert_eq!((load.records, load.user_bytes), (3, 31_200));
    assert_eq!(bench.records().len(), 30);
}

#[test]
fn each_test_names_the_kinds_that_it_does_and_the_bytes_that_they_move() {
    let kinds = |given: &str| {
        let job = job_under(given, &timed()).unwrap();
        assert_eq!(job.volumes().len(), job.kinds().len());
        (job.kinds(), job.unit_kinds())
    };
    let read: &[&str] = &["read"];
    assert_eq!(kinds(""), (read, read));
    let writing = kinds("test=read-while-writing");
    assert_eq!(writing, (&["read", "update"][..], read));
    let scanning = kinds("test=read-while-scanning");
    assert_eq!(scanning, (&["read", "next"][..], read));
    let several: &[&str] = &["read-batch"];
    assert_eq!(kinds("test=multi-read-random"), (several, several));
    let several = job_under("test=multi-read-random batch=7", &timed()).unwrap();
    assert_eq!(several.volumes()[0].read_bytes, 7.0 * 116.0);
    let batched = kinds("test=overwrite batch=10");
    assert_eq!(batched, (&["update", "commit"][..], &["batch"][..]));
    let mix = kinds("test=mix update_percent=95 insert_percent=5");
    assert_eq!(mix.0, ["insert", "update"]);
    let seek = job_under("test=seek-random", &timed()).unwrap();
    assert_eq!(seek.volumes()[0].read_bytes, 11.0 * 116.0);
    let large = kinds("test=read-large writers=1");
    assert_eq!(large, (&["read", "update"][..], read));
    let large = job_under("test=overwrite-large", &timed()).unwrap();
    assert_eq!(large.kinds(), ["update"]);
    // Four parts with a key each.
    assert_eq!(large.volumes()[0].written_bytes, 1_048_640.0);
}

#[test]
fn writers_and_scanners_come_after_the_plans_workers() {
    let sessions = |given: &str| job_under(given, &timed()).unwrap().sessions(4);
    assert_eq!(sessions("test=read-while-writing"), 5);
    assert_eq!(sessions("writers=3"), 7);
    assert_eq!(sessions("test=read-while-scanning writers=1"), 6);
    assert_eq!(sessions("test=overwrite"), 4);
}

#[test]
fn a_trial_whose_writers_have_a_rate_says_whether_they_kept_it() {
    let results = |given: &str, updates| {
        let job = job_under(given, &timed()).unwrap();
        let updates = OperationSummary {
            kind: "update".to_owned(),
            count: updates,
            ..OperationSummary::default()
        };
        let measurement = Measurement {
            elapsed_s: 10.0,
            operations: vec![updates],
            ..Measurement::default()
        };
        job.derive_metrics(&measurement).results
    };
    let given = "test=read-while-writing writers=2 write_rate=100";
    for (updates, is_kept) in [(1_001, true), (950, true), (949, false)] {
        let results = results(given, updates);
        let asked = Value::Float(100.0);
        assert_eq!(results["updates to make per s"], asked, "of both writers");
        let verdict = &results["writers kept the rate"];
        assert_eq!(*verdict, Value::Boolean(is_kept), "{updates}");
    }
    assert!(results("test=read-while-writing", 949).is_empty());
}

#[test]
fn a_trial_with_large_values_says_how_many_bytes_it_moved_a_second() {
    let summary = |kind: &str, count| OperationSummary {
        kind: kind.to_owned(),
        count,
        ..OperationSummary::default()
    };
    let measurement = Measurement {
        elapsed_s: 10.0,
        operations: vec![summary("read", 50), summary("update", 25)],
        ..Measurement::default()
    };
    let results = |given: &str| {
        let job = job_under(given, &timed()).unwrap();
        job.derive_metrics(&measurement).results
    };
    let large = results("test=read-large writers=1 large_value_bytes=4MiB");
    assert_eq!(large["MiB read per s"], Value::Float(20.0));
    assert_eq!(large["MiB written per s"], Value::Float(10.0));
    assert!(results("test=read-while-writing").is_empty(), "the control");
}

#[test]
fn only_trials_that_leave_every_record_share_a_load() {
    let key = |given: &str| {
        let conditions = Conditions::default();
        job_under(given, &conditions).unwrap().load_key()
    };
    assert_eq!(key(""), key("test=overwrite batch=9"));
    assert_ne!(key(""), key("records=7"));
    assert_ne!(key(""), key("compressibility=100"));
    assert_eq!(key("test=fill-random"), None);
    assert_eq!(key("test=delete-random"), None);
    assert_eq!(key("test=put-if-absent"), None);
    assert_eq!(key("test=mix insert_percent=1"), None);
    assert!(key("test=mix update_percent=1").is_some());
    let large = key("test=read-large");
    assert!(large.is_some());
    assert_eq!(large, key("test=overwrite-large"));
    assert_ne!(large, key("test=read-large part_size=1KiB"));
    assert_ne!(large, key("test=read-large part_size=0"));
    assert_ne!(large, key("records=100 value_bytes=1MiB"));
}

#[test]
fn what_is_there_and_how_often_it_was_committed_follows_from_the_counts() {
    let figures = |given: &str, counts: &[u64]| {
        let given = format!("{given} records=1000");
        let job = job_under(&given, &Conditions::default()).unwrap();
        (job.live_bytes(counts), job.commits(counts))
    };
    let fill = "test=fill-batch batch=10";
    assert_eq!(figures(fill, &[990, 99]), (Some(990 * 116), Some(99)));
    assert_eq!(figures("", &[5]), (Some(116_000), Some(0)));
    let delete = "test=delete-random";
    assert_eq!(figures(delete, &[400]), (Some(600 * 116), Some(400)));
    let conditional = "test=put-if-absent";
    assert_eq!(
        figures(conditional, &[700, 300]),
        (Some(700 * 116), Some(700))
    );
    let mix = "test=mix update_percent=10 insert_percent=10";
    assert_eq!(figures(mix, &[80, 11, 9]), (Some(1_011 * 116), Some(20)));
    let mix = "test=mix delete_percent=10";
    assert_eq!(figures(mix, &[90, 10]), (None, Some(10)));
}

/// A trial of these workers, as far as its commits are concerned.
pub fn trial(workers: u32, worker_kind: WorkerKind) -> TrialSpec {
    TrialSpec {
        id: "a".to_owned(),
        cell: 0,
        repeat: 1,
        workload: "micro".to_owned(),
        settings: Settings::new(),
        engine: "any".to_owned(),
        build: None,
        durability: Durability::Sync,
        knobs: Settings::new(),
        workers,
        worker_kind,
        verify: VerifyLevel::Full,
        seed: 1,
        conditions: Conditions::default(),
        note: None,
        step: None,
        role: None,
    }
}

#[test]
fn only_commits_that_change_something_for_certain_need_storage() {
    let changing = |given: &str, kind, counts: &[u64]| {
        let given = format!("{given} records=1000");
        let job = job_under(&given, &Conditions::default()).unwrap();
        let operations = counts.iter().map(|&count| OperationSummary {
            count,
            ..OperationSummary::default()
        });
        let measurement = Measurement {
            operations: operations.collect(),
            ..Measurement::default()
        };
        job.changing_commits(&trial(4, kind), &measurement)
    };
    let (threads, processes) = (WorkerKind::Threads, WorkerKind::Processes);
    let overwrite = "test=overwrite";
    assert_eq!(changing(overwrite, threads, &[400]), Some(400));
    // Each process numbers its writes of a record by itself: four may write one value.
    assert_eq!(changing(overwrite, processes, &[400]), Some(100));
    let fill = "test=fill-batch batch=10";
    assert_eq!(changing(fill, processes, &[990, 99]), Some(99));
    assert_eq!(changing("test=delete-random", threads, &[400]), Some(400));
    let conditional = "test=put-if-absent";
    assert_eq!(changing(conditional, threads, &[700, 300]), Some(700));
    // Of a mix nobody knows whether a record was there to be deleted.
    let mix = "test=mix delete_percent=10 insert_percent=10";
    assert_eq!(changing(mix, threads, &[80, 11, 9]), Some(11));
    assert_eq!(changing("", threads, &[5]), Some(0), "reads change nothing");
}
