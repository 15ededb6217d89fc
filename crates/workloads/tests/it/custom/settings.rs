//! Mistakes in the settings, and the file of a histogram.

use super::counted;
use crate::job_bench::job_under;
use crate::micro::harness::{assert_right, timed};
use trueput_engine::Capabilities;
use trueput_record::Conditions;
use trueput_record::conditions::{Arrival, Rate};
use trueput_workloads::custom::Custom;
use trueput_workloads::{Job, Workload};

fn job(given: &str) -> Result<Box<dyn Job>, String> {
    job_under(&Custom, given, &Conditions::default())
}

fn refused(given: &str) -> String {
    job(given)
        .err()
        .unwrap_or_else(|| panic!("{given} is accepted"))
}

/// Asserts that each of these settings is refused in one line that has the text.
fn assert_refused(cases: &[(&str, &str)]) {
    for (given, expected) in cases {
        let message = refused(given);
        assert!(message.contains(expected), "{given}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn a_mistake_in_the_operations_is_named_with_what_would_be_right() {
    assert_refused(&[
        (
            "operations=get:0~put:0",
            "no operation has a weight above 0",
        ),
        (
            "operations=gett:1",
            "unknown operation 'gett' (did you mean 'get'?)",
        ),
        (
            "operations=get",
            "'get' has no weight; write operation:weight, as in get:70",
        ),
        (
            "operations=get=60~put=40",
            "'get=60' has no weight; write operation:weight, as in get:60",
        ),
        ("operations=get60", "as in get:60"),
        ("operations=insert*8", "as in insert*8:70"),
        (
            "operations=read:60~write:40",
            "unknown operation 'read' (did you mean 'get'?)",
        ),
        (
            "operations=write:1",
            "unknown operation 'write' (did you mean 'put'?)",
        ),
        ("operations=get:x", "'x' is not the weight of get"),
        ("operations=get:-1", "'-1' is not the weight of get"),
        ("operations=get:nan", "'nan' is not the weight of get"),
        (
            "operations=get*0:1",
            "'get*0' is not repeated 1 to 16 times",
        ),
        (
            "operations=get*10+put*7:1",
            "'get*10+put*7' has more than 16 operations",
        ),
        (
            "operations=scan:1",
            "write the number of records, 1 to 100000, as in scan(50)",
        ),
        ("operations=scan(0):1", "'scan(0)' is not a scan"),
        ("operations=get:1~get:2", "get is there twice"),
        (
            "operations=delete:1~delete-range(1):2",
            "delete is there twice",
        ),
        ("operations=frist:1", "did you mean 'first'?"),
        ("operations=take:1", "scan(N), delete-range(N), first, last"),
        (
            "operations=delete-range:1",
            "write the number of records, 1 to 10000, as in delete-range(8)",
        ),
        (
            "operations=delete-range(10001):1",
            "'delete-range(10001)' is not a range of deletes",
        ),
    ]);
}

#[test]
fn an_operation_that_is_missing_is_named_by_its_place() {
    assert_refused(&[
        (
            "operations=get+:1",
            "an operation is missing behind '+' in 'get+:1'; write one",
        ),
        (
            "operations=get++put:1",
            "missing behind '+' in 'get++put:1'",
        ),
        ("operations=+get:1", "missing before '+' in '+get:1'"),
        ("operations=:1", "missing before ':' in ':1'"),
        ("operations=get+*3:1", "missing before '*' in 'get+*3:1'"),
        (
            "operations=get+",
            "'get+' has no weight; write operation:weight, as in get:70",
        ),
    ]);
}

#[test]
fn a_hotspot_needs_hot_records_and_others_for_the_other_operations() {
    assert_refused(&[
        (
            "distribution=hotspot(0%..0.1%)",
            "0 % of 1000000 records are none; give a larger share",
        ),
        (
            "distribution=hotspot(0.1%..80%) records=900",
            "0.1 % of 900 records are none",
        ),
        (
            "distribution=hotspot(100%..80%)",
            "all records are hot, so the other 20 % of the operations have none",
        ),
        (
            "distribution=hotspot(0%..0%)",
            "0 % of 1000000 records are none; give a larger share, as in hotspot(20%..80%)",
        ),
    ]);
    for given in ["hotspot(100%..100%)", "hotspot(20%..0%)", "hotspot"] {
        assert!(job(&format!("distribution={given}")).is_ok(), "{given}");
    }
}

#[test]
fn an_end_is_sought_only_of_a_queue() {
    assert_refused(&[
        (
            "operations=first+delete:1",
            "first seeks an end of a queue: give distribution=oldest, or scan(1) in its place",
        ),
        (
            "operations=get:1~insert+last:1 distribution=latest",
            "last seeks an end of a queue",
        ),
    ]);
    let queue = "operations=first+delete:1~insert+last:1 distribution=oldest";
    assert!(job(queue).is_ok());
}

#[test]
fn a_mistake_in_a_setting_is_named_with_what_would_be_right() {
    assert_refused(&[
        ("value_bytes=5B", "values of 5 bytes have no room"),
        (
            "value_bytes=uniform(5B..9B)",
            "values of 5 bytes have no room",
        ),
        ("value_bytes=uniform(1KiB)", "'uniform(1KiB)' has no range"),
        (
            "value_bytes=uniform(2KiB..1KiB)",
            "is reversed; write uniform(1KiB..2KiB)",
        ),
        ("value_bytes=unifrom(1KiB..2KiB)", "did you mean 'uniform'"),
        (
            "value_bytes=lognormal(1KiB..1GiB)",
            "are too long; 1 GiB is the maximum",
        ),
        ("value_bytes=large", "'large' is not a size"),
        ("distribution=zipfain", "did you mean 'zipfian'"),
        ("distribution=zipfian(1.2)", "no exponent between 0 and 1"),
        ("distribution=hotspot(20..80)", "write hotspot(20%..80%)"),
        ("distribution=hotspot(20%..180%)", "write hotspot(20%..80%)"),
        (
            "distribution=uniform(3)",
            "'uniform(3)' takes no argument; write uniform",
        ),
        (
            "distribution=histogram",
            "histogram needs a file of weights",
        ),
        (
            "distribution=histogram(/nowhere/weights)",
            "the histogram cannot be read",
        ),
        (
            "distribution=histogram(/dev/null)",
            "a device, not a regular file",
        ),
        (
            "distribution=latest working_set=0.5",
            "leave one of them out",
        ),
        (
            "distribution=oldest working_set=0.5",
            "leave one of them out",
        ),
        (
            "distribution=oldest operations=insert:1~update+delete:1",
            "give only insert, get, first, last, scan(N), delete and delete-range(N)",
        ),
        ("size=100B value_bytes=1KiB", "less than one record"),
        ("working_set=0", "working_set"),
    ]);
}

#[test]
fn a_mistake_in_the_lengths_of_keys_is_named_with_what_would_be_right() {
    assert_refused(&[
        (
            "key_bytes=7",
            "keys of 7 bytes are too short; give 8 to 1000 bytes",
        ),
        (
            "key_bytes=1001",
            "keys of 1001 bytes are too long; give 8 to 1000 bytes",
        ),
        (
            "key_bytes=uniform(8..64)",
            "keys of 8 bytes are too short for a distribution; give 16 to 1000 bytes",
        ),
        (
            "key_bytes=lognormal(12..40)",
            "keys of 12 bytes are too short for a distribution",
        ),
        (
            "key_bytes=zipfian(16..2KiB)",
            "keys of 2048 bytes are too long; give 16 to 1000 bytes",
        ),
        (
            "key_bytes=lognormal(20..200)",
            "keys of 2000 bytes, the second size squared over the first, are too long",
        ),
        ("key_bytes=uniform(16)", "as in uniform(16..64)"),
        (
            "key_bytes=uniform(64..16)",
            "is reversed; write uniform(16..64)",
        ),
        ("key_bytes=unifrom(16..64)", "did you mean 'uniform'"),
        ("key_bytes=long", "'long' is not a size"),
    ]);
    for right in ["8", "1000", "24B", "16.0", "lognormal(20..140)"] {
        assert!(job(&format!("key_bytes={right}")).is_ok(), "{right}");
    }
}

#[test]
fn a_database_is_reused_only_for_keys_of_the_same_lengths() {
    let load_key = |key_bytes: &str| {
        let job = job(&format!("operations=get:1 key_bytes={key_bytes}"));
        job.unwrap().load_key().unwrap()
    };
    assert_eq!(load_key("24"), load_key("24B"));
    assert_ne!(load_key("24"), load_key("25"));
    assert_ne!(load_key("24"), load_key("uniform(24..24)"));
    assert_ne!(load_key("uniform(16..64)"), load_key("uniform(16..65)"));
    assert_ne!(load_key("uniform(16..64)"), load_key("zipfian(16..64)"));
}

#[test]
fn a_pause_between_arrivals_is_refused() {
    let conditions = Conditions {
        rate: Some(Rate {
            per_s: 100.0,
            arrival: Arrival::Poisson,
        }),
        ..timed()
    };
    let refused = job_under(&Custom, "think_time=1ms", &conditions).err();
    assert!(refused.unwrap().contains("leave think_time or rate out"));
}

#[test]
fn records_and_size_are_not_given_together() {
    let given = |names: &[(&str, i64)]| {
        let of = |(name, value): &(&str, i64)| ((*name).to_owned(), vec![(*value).into()]);
        Custom.check_given(&names.iter().map(of).collect())
    };
    assert_eq!(
        given(&[("size", 4096), ("records", 5)]).unwrap_err().name,
        "records"
    );
    assert_eq!(given(&[("size", 0), ("records", 5)]), Ok(()));
}

#[test]
fn sizes_beyond_an_engine_are_refused_with_its_limit() {
    let limits = Capabilities {
        max_key_bytes: 30,
        max_value_bytes: 500,
        ..counted(1, "").capabilities
    };
    for (given, expected) in [
        ("key_bytes=31", Some("give key_bytes=30 or less")),
        (
            "key_bytes=uniform(16..31)",
            Some("give key_bytes=30 or less"),
        ),
        ("key_bytes=uniform(16..30)", None),
        ("value_bytes=501", Some("give value_bytes=500 or less")),
        (
            "value_bytes=uniform(100B..501B)",
            Some("give value_bytes=500 or less"),
        ),
        ("key_bytes=30 value_bytes=500", None),
    ] {
        let refused = job(given).unwrap().check_capabilities(&limits);
        let refused = refused.err().map(String::from);
        match expected {
            Some(expected) => assert!(refused.unwrap().contains(expected), "{given}"),
            None => assert_eq!(refused, None),
        }
    }
}

#[test]
fn a_histogram_weighs_slices_of_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("weights.txt");
    let given = format!(
        "operations=put:1 distribution=histogram({}) operationcount=2000",
        file.display()
    );
    std::fs::write(&file, "# three slices\n0\n3\n\n1\n").unwrap();
    let bench = counted(2, &given);
    bench.prepare().unwrap();
    let before = bench.records();
    let (ended, _) = bench.work_together();
    assert_right(&bench.verify(&ended), "histogram");
    let after = bench.records();
    let is_changed = |index: usize| before[index] != after[index];
    assert!(!(0..100).any(is_changed), "the first slice has no weight");
    assert!((100..200).all(is_changed), "15 puts for each record");
    assert!((200..300).filter(|it| is_changed(*it)).count() > 80);
    for (text, expected) in [
        ("1\ntwo\n", "weights.txt:2: 'two' is not a weight"),
        ("-1\n", "weights.txt:1: '-1' is not a weight"),
        ("# none\n0\n", "has no weight above 0"),
        (
            "1e308\n1e308\n",
            "weights.txt are too large: their sum exceeds",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let message = refused(&given);
        assert!(message.contains(expected), "{message}");
    }
    std::fs::write(&file, "1\n".repeat(1 << 20)).unwrap();
    assert!(refused(&given).contains("more than 1 MiB"));
}
