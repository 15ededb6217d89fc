//! Traces: replayed in every format, recorded from a run, described, refused.

use crate::support::{ALL_WELL, Bench, assert_contains, ended_well, listing, stdout};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trueput_record::TrialRecord;
use trueput_record::measurement::Measurement;

const EXAMPLES: [&str; 5] = [
    "example.csv",
    "example.jsonl",
    "rocksdb.txt",
    "twitter.csv",
    "msr.csv",
];

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    let path = folder.join(name).canonicalize().unwrap();
    path.to_str().unwrap().to_owned()
}

fn measurement(trial: &TrialRecord) -> &Measurement {
    let verification = trial.verification.as_ref().unwrap();
    assert!(verification.passed, "{:?}", verification.failures());
    assert!(ended_well(trial), "{}: {:?}", trial.spec.id, trial.outcome);
    trial.measurement.as_ref().unwrap()
}

/// The operations of a trial by kind.
fn counts(trial: &TrialRecord) -> BTreeMap<String, u64> {
    let operations = measurement(trial).operations.iter();
    operations.map(|it| (it.kind.clone(), it.count)).collect()
}

/// The traces of the only run of a bench.
fn recorded(bench: &Bench) -> Vec<PathBuf> {
    let folder = bench.run_folder().path().join("traces");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The trials of a replay of a file.
fn replay(file: &str, options: &str) -> Vec<TrialRecord> {
    let bench = Bench::new();
    bench.run_expecting(ALL_WELL, &format!("trace replay {file} {options}"));
    bench.trials()
}

#[test]
#[ignore = "slow: make test runs it"]
fn every_format_is_replayed_and_verified_on_engines_on_disk() {
    for name in EXAMPLES {
        let options = "--engine lmdb,sqlite --durability process --workers 2 --closed";
        let trials = replay(&example(name), options);
        let [lmdb, sqlite] = trials.as_slice() else {
            panic!("{name}: {trials:?}");
        };
        assert_eq!(counts(lmdb), counts(sqlite), "{name}");
        assert_eq!(measurement(lmdb).open_loop, None, "{name}");
        let results = &measurement(lmdb).results;
        assert_eq!(
            results["trace_digest"],
            measurement(sqlite).results["trace_digest"]
        );
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn requests_come_at_the_recorded_times_scaled_by_the_speed() {
    // The example takes 2 s.
    let options = "--engine lmdb --durability process --workers 2 --speed";
    let elapsed_s = |speed: &str| {
        let trials = replay("example", &format!("{options} {speed}"));
        let measured = measurement(&trials[0]);
        let open = measured.open_loop.as_ref().unwrap();
        assert!(open.is_recorded());
        assert_eq!((open.issued, open.backlog), (21, 0));
        let answered = open.responses.iter().map(|it| it.count);
        assert_eq!(answered.sum::<u64>(), 21);
        (measured.elapsed_s, open.rate_per_s)
    };
    let ((one_s, one_per_s), (four_s, four_per_s)) = (elapsed_s("1"), elapsed_s("4"));
    // No request is made before its time.
    assert!(one_s >= 1.95 && four_s >= 0.48, "{one_s} {four_s}");
    assert!((one_per_s - 10.5).abs() < 1e-9 && (four_per_s - 42.0).abs() < 1e-9);
    // A duration ends it before the trace does, and what was due by then is the rate.
    let trials = replay("example", "--engine lmdb --durability process --duration 1");
    let measured = measurement(&trials[0]);
    assert!((measured.open_loop.as_ref().unwrap().rate_per_s - 14.0).abs() < 1e-9);
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_a_run_on_one_engine_records_is_replayed_on_another() {
    for work in [
        "ycsb --set recordcount=300 --set operationcount=900 --set workload=a",
        "ycsb --set recordcount=300 --set operationcount=900 --set workload=f",
        "custom --set records=300 --set operationcount=500 --set \
         operations=get:3~scan(7):1~update:2~delete:1~get+put+scan(3):2",
    ] {
        let bench = Bench::new();
        let options = "--engine lmdb --durability process --workers 2 --record-trace 1MiB";
        let line: Vec<String> = format!("run {work} {options}")
            .split_whitespace()
            .map(|word| word.replace('~', " "))
            .collect();
        bench.run_expecting(ALL_WELL, &line);
        let [trace] = recorded(&bench).try_into().unwrap();
        let original = bench.trials().remove(0);
        let special = original.spec.conditions.special();
        assert_contains(&special, &["record_trace=1 MiB"]);
        let options = "--engine sqlite --durability process --workers 3 --closed";
        let replayed = replay(trace.to_str().unwrap(), options).remove(0);
        let (before, after) = (counts(&original), counts(&replayed));
        let of = |counts: &BTreeMap<String, u64>, kinds: &[&str]| {
            let counts = kinds.iter().filter_map(|kind| counts.get(*kind));
            counts.sum::<u64>()
        };
        for (mine, theirs) in [
            (&["read", "get"][..], "get"),
            (&["update"], "update"),
            (&["read-modify-write"], "read-modify-write"),
            (&["delete"], "delete"),
            (&["scan(7)"], "scan"),
            (&["get+put+scan(3)"], "transaction"),
        ] {
            assert_eq!(
                of(&before, mine),
                of(&after, &[theirs]),
                "{before:?} {after:?}"
            );
        }
        assert_eq!(before.values().sum::<u64>(), after.values().sum::<u64>());
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn transactions_of_several_operations_are_recorded_whole() {
    let bench = Bench::new();
    bench.run_expecting(
        ALL_WELL,
        "run tpcc --engine lmdb --durability process --workers 2 --set store=kv \
         --set cardinality=hundredth --set transactions=60 --record-trace 4MiB",
    );
    let [trace] = recorded(&bench).try_into().unwrap();
    let document = bench.json_of(&format!("trace describe {} --json", trace.display()));
    let number = |value: &serde_json::Value| value.as_u64().unwrap_or(0);
    let requests = &document["requests"];
    let several = number(&requests["transaction"]) + number(&requests["read-transaction"]);
    // A delivery is one transaction or several; none is lost.
    assert!(several >= 50, "{document}");
    assert!(number(&document["operations"]) > 10 * several, "{document}");
    let options = "--engine sqlite,lmdb --durability process --workers 2 --closed";
    for trial in replay(trace.to_str().unwrap(), options) {
        assert_eq!(
            counts(&trial).values().sum::<u64>(),
            requests
                .as_object()
                .unwrap()
                .values()
                .map(number)
                .sum::<u64>()
        );
    }
}

#[test]
fn a_fit_of_a_trace_is_a_plan_that_runs() {
    let mut text = "time,operation,key,size\n".to_owned();
    for number in 0..2_000_u32 {
        // Low keys come more often: each number is a remainder of many.
        let key = number % (1 + number % 61);
        let (operation, size) = match number % 10 {
            0..7 => ("get", 0),
            7..9 => ("put", 20 + number * 37 % 200),
            _ => ("scan", 1 + number * 13 % 50),
        };
        text += &format!(
            "{}.{:03},{operation},k{key},{size}\n",
            number / 1_000,
            number % 1_000
        );
    }
    let bench = Bench::new();
    bench.write("traffic.csv", &text);
    let plan = bench.stdout_of("trace fit traffic.csv");
    assert_contains(
        &plan,
        &[
            "# Fitted to traffic.csv",
            "workload = \"mixgraph\"",
            "num = 61\n",
            "mix_get_ratio = 0.7\n",
            "sine_mix_rate = true\n",
        ],
    );
    bench.write("fit.toml", &plan);
    bench.run_expecting(
        ALL_WELL,
        "run fit.toml --engine lmdb --durability process --workers 2 --set mix_accesses=500",
    );
    let counted = counts(&bench.trials()[0]);
    assert_eq!(counted.values().sum::<u64>(), 500);
    assert_eq!(counted.keys().collect::<Vec<_>>(), ["get", "put", "seek"]);
    let ranges = bench.stdout_of("trace fit traffic.csv --key-ranges 4");
    let left = "# - 1 key at the end left out: 4 ranges have 15 keys each";
    assert_contains(&ranges, &["keyrange_num = 4\n", left]);
    for (line, says) in [
        ("trace fit example", "too few to fit a distribution to"),
        ("trace fit traffic.csv --key-ranges 1", "--key-ranges"),
        ("trace fit nowhere.csv", "cannot be read"),
    ] {
        assert_contains(&bench.refusal_of(line), &[says]);
    }
}

#[test]
fn a_fit_says_what_it_could_not_represent() {
    let mut text = "time,operation,key,size\n".to_owned();
    for number in 0..1_000_u32 {
        let size = if number < 3 { 5 << 20 } else { 200_000 };
        text += &format!("7,put,k,{size}\n");
    }
    let bench = Bench::new();
    bench.write("large.csv", &text);
    assert_contains(
        &bench.stdout_of("trace fit large.csv"),
        &[
            "# - 1,000 operations on 1 key: 0 gets, 1,000 puts, 0 seeks\n",
            "# - 1 key of fewer than 8 or more than 1000 bytes",
            "# - 3 values longer than 1 MiB",
            "# - all requests have the same time",
            "mix_max_value_size = 1048576\n",
        ],
    );
}

#[test]
fn a_full_buffer_ends_the_recording_and_not_the_trial() {
    let bench = Bench::new();
    let output = bench.run_expecting(
        ALL_WELL,
        "run micro --engine lmdb --durability process --workers 1 --set test=overwrite \
         --set records=5000 --set operations=5000 --record-trace 64KiB",
    );
    let said = crate::support::stderr(&output);
    assert_contains(&said, &["ends before the trial", "give record_trace more"]);
    let [trace] = recorded(&bench).try_into().unwrap();
    let text = std::fs::read_to_string(&trace).unwrap();
    assert!(text.starts_with("# A worker's buffer was full"), "{text}");
    let described = bench.run_expecting(0, &format!("trace describe {}", trace.display()));
    assert_contains(&stdout(&described), &["requests", "put", "(100 %)"]);
}

#[test]
fn a_run_whose_requests_pass_no_session_is_not_recorded() {
    let bench = Bench::new();
    for (work, says) in [
        (
            "tpcc --engine sqlite --durability process --set store=sql",
            "its statements of SQL name no keys",
        ),
        ("log-flush", "it uses files and no keys"),
    ] {
        let line = format!("run {work} --record-trace 1MiB");
        assert_contains(&bench.refusal_of(&line), &["record_trace", says]);
    }
}

#[test]
fn a_damaged_line_is_named_and_nothing_runs() {
    let bench = Bench::new();
    bench.write("empty.csv", "");
    bench.write("header.csv", "time,operation,key,size\n");
    bench.write(
        "word.csv",
        "time,operation,key,size\n0,get,a,1\n1,gett,a,1\n",
    );
    bench.write(
        "size.jsonl",
        "{\"operation\":\"get\",\"key\":\"a\"}\n{\"size\":-1}\n",
    );
    bench.write("short.txt", "0x61 1 0 5 7\n0x61 1 0 5\n");
    bench.write("twitter.csv", "0,k,1,5,1,get,0\n0,k,1,5,1,touch,0\n");
    bench.write("msr.csv", "1,h,0,Read,0,512,9\n1,h,0,Read,0,big,9\n");
    let replayed = |file: &str| format!("trace replay {file} --engine lmdb");
    for (file, parts) in [
        ("empty.csv", &["empty.csv: it has no operation"][..]),
        ("header.csv", &["header.csv: it has no operation"]),
        (
            "word.csv",
            &["word.csv line 3", "'gett'", "did you mean 'get'"],
        ),
        (
            "size.jsonl",
            &["size.jsonl line 2", "the line has no operation"],
        ),
        ("short.txt", &["short.txt line 2", "4 fields", "KEY TYPE"]),
        (
            "twitter.csv",
            &["twitter.csv line 2", "'touch'", "get, gets, set"],
        ),
        ("msr.csv", &["msr.csv line 2", "size 'big'"]),
        ("nowhere.csv", &["nowhere.csv", "cannot be read"]),
        ("empty.csv --speed 0", &["speed", "out of range"]),
        ("empty.csv --speed 2 --closed", &["--speed", "--closed"]),
        (
            "example --rate 5",
            &["remove the rate, or give pace=closed"],
        ),
    ] {
        assert_contains(&bench.refusal_of(&replayed(file)), parts);
    }
    let described = bench.run_expecting(2, "trace describe word.csv");
    let text = stdout(&described);
    assert_contains(
        &text,
        &[
            "1 damaged line",
            "word.csv line 3",
            "operations            1\n",
        ],
    );
    // A damaged line at the start does not hide those after it.
    bench.write(
        "first.jsonl",
        "not json\n{\"operation\":\"put\",\"key\":\"a\"}\n{\"operation\":\"get\"}\n",
    );
    let text = stdout(&bench.run_expecting(2, "trace describe first.jsonl"));
    assert_contains(
        &text,
        &[
            "first.jsonl (jsonl)",
            "1 stored value; it gets value_bytes",
            "2 damaged lines",
            "first.jsonl line 1: the format of 'not json' is not recognized",
            "first.jsonl line 3: the line has no key",
        ],
    );
}

#[test]
fn a_trace_is_a_workload_of_a_plan_with_its_path_from_the_plan_s_folder() {
    let bench = Bench::new();
    bench.write("plans/own.csv", "operation,key,size\nput,a,100\nget,a,\n");
    let plan = "workload = \"trace\"\nengines = [\"lmdb\"]\ndurability = [\"process\"]\n\
                workers = 1\n[settings]\nfile = \"own.csv\"\npace = \"closed\"\n";
    bench.write("plans/plan.toml", plan);
    bench.run_expecting(ALL_WELL, "run plans/plan.toml");
    let expected = [("get".to_owned(), 1), ("put".to_owned(), 1)];
    assert_eq!(counts(&bench.trials()[0]), expected.into());
    let text = listing("trace describe example");
    assert_contains(&text, &["example (csv)", "requests              21\n"]);
}
