//! Replays of traces on the reference engine: the examples of every format, random traces with
//! every operation, the faults that verification finds, and the mistakes in files and settings.

use crate::job_bench;
use crate::micro::harness::{Bench, Fault, assert_right, failures};
use std::path::{Path, PathBuf};
use trueput_engine::reference::Reference;
use trueput_engine::{Engine, Null};
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::{Conditions, Survival, VerifyLevel};
use trueput_workloads::Job;
use trueput_workloads::generate::random::Random;
use trueput_workloads::trace::{FormatChoice, TraceWorkload, summarize};

const EXAMPLES: [(&str, u64); 5] = [
    ("example.csv", 21),
    ("example.jsonl", 7),
    ("rocksdb.txt", 12),
    ("twitter.csv", 12),
    ("msr.csv", 7),
];

fn example(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    folder.join(name).canonicalize().unwrap()
}

/// A folder with a trace in it.
struct TraceFolder(tempfile::TempDir);

impl TraceFolder {
    fn new(text: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("trace.txt"), text).unwrap();
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("trace.txt")
    }

    fn bench(&self, workers: u32, given: &str) -> Bench {
        on(&Reference, &self.path(), workers, given)
    }
}

fn on(engine: &dyn Engine, file: &Path, workers: u32, given: &str) -> Bench {
    let given = format!("file={} pace=closed {given}", file.display());
    let conditions = Conditions::default();
    Bench::of(&TraceWorkload, engine, workers, &conditions, &given)
}

fn job(file: &Path, given: &str, conditions: &Conditions) -> Result<Box<dyn Job>, String> {
    let given = format!("file={} {given}", file.display());
    job_bench::job_under(&TraceWorkload, &given, conditions)
}

fn refusal(file: &Path, given: &str) -> String {
    let refused = job(file, given, &Conditions::default());
    refused.err().unwrap_or_default()
}

/// A trace with every operation on a few keys, a fifth of it in transactions of up to four.
fn random_trace(requests: u64, seed: u64) -> TraceFolder {
    let mut random = Random::new(seed);
    let mut text = "time,operation,key,size,transaction\n".to_owned();
    let words = [
        "get",
        "get",
        "put",
        "update",
        "read-modify-write",
        "insert",
        "delete",
        "scan",
    ];
    for number in 0..requests {
        let operations = 1 + random.below(5).saturating_sub(3) * random.below(4);
        for _ in 0..operations {
            let word = words[random.below(words.len() as u64) as usize];
            let size = match word {
                "scan" => random.below(12),
                _ => random.below(300),
            };
            let (time_ms, key) = (number * 2, random.below(60));
            text += &format!("0.{time_ms:06},{word},key{key:02},{size},{number}\n");
        }
    }
    TraceFolder::new(text)
}

#[test]
fn the_example_of_every_format_is_replayed_whole_and_verified() {
    for (name, requests) in EXAMPLES {
        for workers in [1, 3] {
            let bench = on(&Reference, &example(name), workers, "");
            let (ended, conclusion) = bench.run();
            assert_right(&conclusion, name);
            assert_eq!(ended.counts.iter().sum::<u64>(), requests, "{name}");
            assert_eq!(conclusion.results["trace_requests"], requests.into());
        }
    }
    let built_in = on(&Reference, Path::new("example"), 2, "");
    assert_eq!(built_in.job.total_units(), 21);
}

#[test]
fn every_operation_passes_verification_in_threads_and_in_processes() {
    for seed in 0..3 {
        let trace = random_trace(2_000, seed);
        for load in ["needed", "all", "none"] {
            for workers in [1, 4] {
                let given = format!("load={load} scan_records=3");
                let mut bench = trace.bench(workers, &given);
                let (ended, conclusion) = bench.run();
                assert_right(&conclusion, &given);
                assert_eq!(ended.counts.iter().sum::<u64>(), 2_000);
                bench = trace.bench(workers, &given);
                bench.verify = VerifyLevel::Sample;
                assert_right(&bench.run().1, &given);
                let bench = trace.bench(workers, &given).in_processes();
                assert_right(&bench.run().1, &format!("{given} in processes"));
            }
        }
    }
}

#[test]
fn it_runs_on_engines_on_disk_and_on_one_that_keeps_nothing() {
    let trace = random_trace(400, 7);
    for name in ["lmdb", "sqlite"] {
        let mut engines = trueput_drivers::registry().iter();
        let engine = *engines.find(|engine| engine.info().name == name).unwrap();
        let bench = on(engine, &trace.path(), 2, "");
        assert_right(&bench.run().1, name);
    }
    let (ended, conclusion) = on(&Null, &trace.path(), 2, "").run();
    assert_eq!(ended.counts.iter().sum::<u64>(), 400);
    assert!(conclusion.checks.is_empty());
}

#[test]
fn faults_of_an_engine_are_found() {
    let failed = |text: &str, fault: Fault| {
        let trace = TraceFolder::new(format!("operation,key,size\n{text}"));
        assert_right(&trace.bench(1, "").run().1, "the control");
        let (_, conclusion) = trace.bench(1, "").with(fault).run();
        failures(&conclusion).into_keys().collect::<Vec<_>>()
    };
    let puts = "get,a,50\nget,b,50\nput,a,60\nput,b,70\n";
    assert_eq!(failed(puts, Fault::LosesPut(1)), ["versions"]);
    let deletes = "get,a,50\ndelete,b,\ndelete,a,\n";
    assert_eq!(failed(deletes, Fault::LosesDelete(1)), ["records"]);
    let inserts = "insert,a,50\nget,b,20\ninsert,c,30\n";
    assert_eq!(failed(inserts, Fault::LosesPut(1)), ["records"]);
    let reread = "insert,a,50\nupdate,a,60\nget,a,\n";
    let found = failed(reread, Fault::LosesPut(0));
    assert!(found.contains(&"reads".to_owned()), "{found:?}");
    let scans = "get,a,50\nget,b,50\nget,c,50\nscan,a,3\n";
    let found = failed(scans, Fault::SkipsRecords(2));
    assert!(found.contains(&"reads".to_owned()), "{found:?}");
}

#[test]
fn keys_are_loaded_that_begin_with_a_read_in_the_size_that_is_first_stated() {
    let text = "operation,key,size\nget,a,\nput,b,40\nupdate,a,200\nscan,c,1\ndelete,d,\n\
                insert,e,30\nget,e,\nget,f,5\n";
    let trace = TraceFolder::new(text);
    let loaded = |given: &str| {
        let bench = trace.bench(1, given);
        bench.prepare().unwrap();
        let records = bench.records().into_iter();
        let records = records.map(|(key, value)| format!("{}{}", key.escape_ascii(), value.len()));
        records.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(loaded("value_bytes=77B"), "a200 c77 d77 f12");
    assert_eq!(
        loaded("value_bytes=77B load=all"),
        "a200 b40 c77 d77 e30 f12"
    );
    assert_eq!(loaded("load=none"), "");
}

#[test]
fn requests_are_due_at_their_times_divided_by_the_speed() {
    let text = "time,operation,key\n1000.5,get,a\n1003.5,get,b\n1001,get,a\n";
    let trace = TraceFolder::new(text);
    let due = |job: &dyn Job| job.due_times(0, 1).unwrap().collect::<Vec<_>>();
    let timed = |given: &str| job(&trace.path(), given, &Conditions::default()).unwrap();
    assert_eq!(due(&*timed("")), [0, 500_000_000, 3_000_000_000]);
    assert_eq!(due(&*timed("speed=2")), [0, 250_000_000, 1_500_000_000]);
    assert_eq!(timed("speed=2").scheduled_per_s(), Some(2.0));
    assert!(timed("pace=closed").due_times(0, 1).is_none());
    // Twitter's times are whole seconds: the requests of one are spread over it.
    let twitter = job(&example("twitter.csv"), "", &Conditions::default()).unwrap();
    let first: Vec<_> = twitter.due_times(0, 1).unwrap().take(5).collect();
    assert_eq!(
        first,
        [0, 250_000_000, 500_000_000, 750_000_000, 1_000_000_000]
    );
}

#[test]
fn the_requests_of_a_key_go_to_one_worker_in_their_order() {
    let trace = random_trace(1_000, 5);
    let job = job(&trace.path(), "", &Conditions::default()).unwrap();
    let mut all = Vec::new();
    for worker in 0..4 {
        let due: Vec<_> = job.due_times(worker, 4).unwrap().collect();
        assert!(due.is_sorted() && due.len() > 100, "{}", due.len());
        all.extend(due);
    }
    all.sort_unstable();
    assert_eq!(all.len(), 1_000);
    // One key alone: all of it is one worker's.
    let text: String = (0..50).map(|_| "update,a,40\n").collect();
    let trace = TraceFolder::new(format!("operation,key,size\n{text}"));
    let bench = trace.bench(4, "");
    bench.prepare().unwrap();
    let done = (0..4).map(|worker| bench.work(worker).0.units);
    assert_eq!(done.filter(|units| *units > 0).collect::<Vec<_>>(), [50]);
}

#[test]
fn a_trace_that_empties_its_database_and_looks_for_the_records_is_cautioned_about() {
    let caution = |lines: &[&str]| {
        let keys = (0..20).map(|key| format!("get,k{key},10\ndelete,k{key},\n"));
        let text = "operation,key,size\n".to_owned() + &keys.collect::<String>();
        let trace = TraceFolder::new(text + &lines.concat());
        trace.bench(1, "").job.caution()
    };
    let emptied = caution(&["get,k1,\n", "delete,k2,\n"]).unwrap();
    let expected = "its deletes leave 0 of 20 records, and 2 operations look for one";
    assert!(emptied.starts_with(expected), "{emptied}");
    assert_eq!(caution(&[]), None, "each was there when it was looked for");
    let put_back: Vec<_> = (0..10).map(|key| format!("put,k{key},10\n")).collect();
    let mut lines = vec!["get,k1,\n"];
    lines.extend(put_back.iter().map(String::as_str));
    assert_eq!(caution(&lines), None, "half of them are there again");
}

#[test]
fn figures_follow_from_the_trace() {
    let text = "operation,key,size,transaction\nget,aa,100,\nput,aa,50,1\nget,bb,30,1\n\
                delete,bb,,\n";
    let trace = TraceFolder::new(text);
    let bench = trace.bench(1, "");
    let job = &bench.job;
    assert_eq!(job.kinds(), ["get", "delete", "transaction"]);
    let volumes = job.volumes().into_iter();
    let bytes = volumes.map(|it| (it.read_bytes, it.written_bytes));
    let expected = [(102.0, 0.0), (0.0, 2.0), (32.0, 52.0)];
    assert_eq!(bytes.collect::<Vec<_>>(), expected);
    assert_eq!(job.commits(&[5, 3, 2]), Some(5));
    assert_eq!(job.live_bytes(&[1, 1, 1]), Some(52));
    assert_eq!(job.live_bytes(&[1, 1, 0]), None);
    assert_eq!(job.commit_bytes(), 27);
    assert!(job.needs_transactions() && job.load_key().is_none());
    assert!(job.check_crash(Survival::EveryCommit).is_err());
    let reads = TraceFolder::new("operation,key,size\nget,a,20\nput,a,30\n");
    let first = reads.bench(1, "");
    assert_right(&first.run().1, "the first trial");
    assert_eq!(first.job.check_crash(Survival::EveryCommit), Ok(()));
    let given = format!("file={} pace=closed", reads.path().display());
    let second = first.then(&Conditions::default(), &given);
    assert_right(&second.run().1, "the second trial on the load");
}

#[test]
fn an_empty_operation_and_times_too_far_apart_are_named_with_their_line() {
    for (text, says) in [
        (
            "time,operation,key,size\n0,,a,1\n",
            "line 2: the operation is empty; give one: get, ",
        ),
        (
            "time,operation,key,size\n0,get,a,1\n18000000000,get,a,1\n",
            "line 3: its time, 18000000000 s, is more than 18 years from the 0 s of a line before \
             it; give times at most 576460751 s apart",
        ),
        (
            "time,operation,key,size\n900000000,get,a,1\n1,get,a,1\n",
            "line 3: its time, 1 s, is more than 18 years from the 900000000 s of a line",
        ),
    ] {
        let message = refusal(&TraceFolder::new(text).path(), "pace=closed");
        assert!(message.contains(says), "{text}: {message}");
    }
}

#[test]
fn what_is_wrong_with_a_file_is_named_with_its_line() {
    let header = "time,operation,key,size\n";
    for (text, says) in [
        ("", "trace.txt: it has no operation"),
        (header, "trace.txt: it has no operation"),
        ("# nothing\n\n", "trace.txt: it has no operation"),
        (
            "what is this\n",
            "trace.txt line 1: the format of 'what is this' is not",
        ),
        ("\x1f\u{8b}", "line 1"),
        (
            "time,operation,key,size\n0,get,a,1\n\n0,got,a,1\n",
            "line 4: unknown operation 'got'",
        ),
        (
            "time,operation,key,size\n0,get,,1\n",
            "line 2: the key is empty; give one",
        ),
        (
            "time,operation,key,size\n0,get,a,1\n,get,a,1\n",
            "line 3: it has no time, and the",
        ),
        (
            "operation,key,size\nget,a,9999999999\n",
            "line 2: a value of 9999999999 bytes",
        ),
        (
            "operation,key,size\nscan,a,9999999\n",
            "line 2: a scan of 9999999 records",
        ),
        (
            "0x61 1 0 0 7\n0x61 4 0 0 7\n",
            "line 2: type 4 deletes a range",
        ),
    ] {
        let message = refusal(&TraceFolder::new(text).path(), "pace=closed");
        assert!(message.contains(says), "{text}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let long = format!("operation,key\nget,{}\n", "a".repeat(70_000));
    let message = refusal(&TraceFolder::new(long).path(), "pace=closed");
    assert!(
        message.contains("line 2: it has more than 65536 bytes"),
        "{message}"
    );
    let bytes = TraceFolder::new(b"operation,key\nget,a\nget,\xff\n");
    let message = refusal(&bytes.path(), "pace=closed");
    assert!(
        message.contains("line 3: it is not text in UTF-8"),
        "{message}"
    );
    let packed = TraceFolder::new([0x28, 0xb5, 0x2f, 0xfd, 0, 0]);
    let message = refusal(&packed.path(), "");
    assert!(
        message.contains("decompress it first, with 'zstd -d'"),
        "{message}"
    );
    let message = refusal(Path::new("/dev/zero"), "");
    assert!(
        message.contains("a device, not a regular file"),
        "{message}"
    );
    let message = refusal(Path::new("/nowhere/trace.csv"), "");
    assert!(message.contains("the trace cannot be read"), "{message}");
}

#[test]
fn settings_that_do_not_fit_the_trace_are_refused() {
    let untimed = TraceFolder::new("operation,key\nget,a\n");
    assert!(refusal(&untimed.path(), "").contains("states no times: give pace=closed"));
    let at_once = TraceFolder::new("time,operation,key\n5,get,a\n5,get,b\n");
    let message = refusal(&at_once.path(), "");
    assert!(
        message.contains("are the same: give pace=closed"),
        "{message}"
    );
    let rated = Conditions {
        rate: Some(Rate {
            per_s: 100.0,
            arrival: Arrival::Constant,
        }),
        ..Conditions::default()
    };
    let message = job(Path::new("example"), "", &rated).err().unwrap();
    assert!(
        message.contains("remove the rate, or give pace=closed"),
        "{message}"
    );
    assert!(job(Path::new("example"), "pace=closed", &rated).is_ok());
    let long = TraceFolder::new(format!("operation,key\nget,{}\n", "k".repeat(600)));
    let mut engines = trueput_drivers::registry().iter();
    let lmdb = engines.find(|engine| engine.info().name == "lmdb").unwrap();
    let job = job(&long.path(), "pace=closed", &Conditions::default()).unwrap();
    let refused = job.check_capabilities(&lmdb.capabilities());
    let message = String::from(refused.unwrap_err());
    assert!(
        message.contains("a key of 600 B, longer than the 511 B"),
        "{message}"
    );
}

#[test]
fn a_number_of_requests_takes_the_first_of_the_file() {
    let text = "operation,key,size,transaction\nput,a,20,1\nput,b,20,1\nput,c,20,2\nput,d,20,3\n";
    let trace = TraceFolder::new(text);
    let bench = trace.bench(1, "requests=2");
    let (ended, conclusion) = bench.run();
    assert_right(&conclusion, "two requests");
    assert_eq!(ended.counts, [1, 1]);
    let keys: Vec<_> = bench.records().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [b"a", b"b", b"c"]);
}

#[test]
fn a_description_leaves_damaged_lines_out_and_lists_them() {
    let text = "time,operation,key,size\n0,get,a,10\n1,got,a,10\n2,put,a,30\n3,put,b\n4,put,c,\n";
    let trace = TraceFolder::new(text);
    let path = trace.path();
    let summary = summarize(path.to_str().unwrap(), FormatChoice::Auto).unwrap();
    assert_eq!((summary.operations, summary.damaged_lines), (3, 2));
    assert_eq!(summary.requests, [("get", 1), ("put", 2)]);
    assert!(
        summary.damage[0]
            .to_string()
            .contains("line 3: unknown operation 'got'")
    );
    assert!(summary.damage[1].to_string().contains("line 5: 3 fields"));
    let (values, keys) = (summary.value_bytes, summary.key_bytes);
    assert_eq!((values.least, values.median, values.most), (10, 10, 30));
    assert_eq!((keys.count, summary.loaded_keys), (2, 1));
    assert_eq!((summary.unstated_sizes, summary.duration_s), (1, Some(4.0)));
    assert_eq!(summary.peak_per_s, Some(1));
    assert_eq!(summary.popularity[2], (0.1, 2.0 / 3.0));
    // Lines before the one that shows the format are damaged, too.
    let late = TraceFolder::new("what is this\noperation,key\nget,a\n");
    let summary = summarize(late.path().to_str().unwrap(), FormatChoice::Auto).unwrap();
    assert_eq!((summary.operations, summary.damaged_lines), (1, 1));
    let never = TraceFolder::new("what is this\n".repeat(50));
    let message = summarize(never.path().to_str().unwrap(), FormatChoice::Auto)
        .unwrap_err()
        .to_string();
    assert!(message.contains("line 1: the format of"), "{message}");
    let nothing = TraceFolder::new("operation,key\ngot,a\n");
    let message = summarize(nothing.path().to_str().unwrap(), FormatChoice::Csv)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("line 2: unknown operation 'got'"),
        "{message}"
    );
}
