//! Bad input: one clear line, exit code 2, and nothing that was measured earlier is touched.

use crate::support::{Bench, assert_contains, stderr, unwrapped};

/// The end of a command line, and parts of the line that refuses it.
pub type Case<'a> = (&'a str, &'a [&'a str]);

/// Asserts that each command line, begun as given, is refused in one line that has the parts.
pub fn assert_refused(bench: &Bench, begin: &str, cases: &[Case<'_>]) {
    let before = bench.snapshot();
    for (end, parts) in cases {
        assert_contains(&bench.refusal_of(&format!("{begin} {end}")), parts);
        assert_eq!(bench.snapshot(), before, "{begin} {end} changed something");
    }
}

const RUN_LMDB: &str = "run threen1 --engine lmdb";

/// A bench that holds a finished run.
pub fn with_a_run() -> Bench {
    let bench = Bench::new();
    bench.run_once("run threen1 --engine lmdb --set finish=10");
    assert_eq!(bench.trials().len(), 1);
    bench
}

#[test]
fn names_that_are_not_there_are_answered_with_the_nearest() {
    let cases: &[Case<'_>] = &[
        (
            "run threen1 --engine lmbd",
            &["unknown engine 'lmbd'", "did you mean 'lmdb'"],
        ),
        (
            "run threen1 --engine libmdbx",
            &["unknown engine 'libmdbx'", "did you mean 'mdbx'"],
        ),
        ("run threen1 --engine mysql", &["did you mean 'mariadb'"]),
        (
            "run threen1 --engine postgres://me:hush@host/db",
            &["unknown engine 'postgres://me'", "write ENGINE@ADDRESS"],
        ),
        (
            "run threen2 --engine lmdb",
            &["unknown workload", "did you mean 'threen1'"],
        ),
        ("knobs sqlit", &["did you mean 'sqlite'"]),
        ("check sqlit", &["did you mean 'sqlite'"]),
        (
            "run firts-look",
            &[
                "unknown workload or plan 'firts-look'",
                "did you mean 'first-look'",
            ],
        ),
        ("plan show ycbs", &["did you mean 'ycsb'"]),
        ("man runs", &["no subcommand 'runs'", "'run'"]),
        ("runn", &["'runn'", "'run'"]),
        ("run threen1 --enginee lmdb", &["'--enginee'", "'--engine'"]),
        (
            "run tpcc --pacing tpc",
            &[
                "'--pacing'",
                "pacing is a setting of tpcc: --set pacing=tpc",
            ],
        ),
        (
            "ledger tpcc --prime=customer,stock",
            &["prime is a setting of tpcc: --set prime=customer+stock"],
        ),
        (
            "run micro --records --engine lmdb",
            &["records is a setting of micro: --set records=VALUE"],
        ),
        (
            "run tpcc --pase tpc",
            &["unexpected argument '--pase' found"],
        ),
        ("run", &["PLAN|WORKLOAD"]),
        ("", &["--help"]),
        ("report x --format pdf", &["no report format 'pdf'"]),
        ("report x --width 10", &["must be 40 to 65535"]),
        (
            "compare nowhere",
            &["nowhere: not a run folder: it does not exist"],
        ),
    ];
    assert_refused(&with_a_run(), "", cases);
}

#[test]
fn a_plan_without_an_engine_says_how_to_name_one() {
    let words: &[&str] = &["names no engine: give one with --engine"];
    let cases: &[Case<'_>] = &[("run threen1", words), ("plan check threen1", words)];
    assert_refused(&Bench::new(), "", cases);
}

#[test]
fn a_number_beyond_64_bits_is_refused_as_it_was_typed() {
    let words: &[&str] = &["18446744073709551615 is out of range"];
    let line = "run threen1 --engine lmdb --set finish=18446744073709551615";
    assert_refused(&Bench::new(), "", &[(line, words)]);
}

#[test]
fn a_value_that_is_missing_or_misspelled_is_named_with_what_would_be_right() {
    let cases: &[Case<'_>] = &[
        (
            "run micro --engine sqlite --knob sqlite.cach=1MiB",
            &["sqlite has no knob 'cach' (did you mean 'cache_size'?); it has "],
        ),
        (
            "run micro --engine sqlite --set cach=1",
            &["micro has no setting 'cach'"],
        ),
        (
            "run ycsb --engine sqlite --set operationcount=",
            &["operationcount has no value: write operationcount=VALUE"],
        ),
        (
            "run micro --engine sqlite --knob sqlite.cache_size=",
            &["sqlite.cache_size has no value: write sqlite.cache_size=VALUE"],
        ),
        (
            "audit --engine sqlite --states 0",
            &["0 is out of range (1 or more)"],
        ),
        ("audit --engine sqlite --states 1k", &["write 1000"]),
        (
            "ycsb -P nofile --engine sqlite",
            &[
                "-P nofile: the file of properties cannot be read: ",
                "-P workloads/workloada",
            ],
        ),
        (
            "tune ycsb --engine lmdb --rate 100,200",
            &["--rate 100,200: tune takes a rate in its objective: give --objective p99@RATE"],
        ),
        (
            "run micro --engine lmdb --filesystem ext4:mount=nobarrier,ext4",
            &[
                "'ext4' in the options of 'ext4:mount=nobarrier,ext4' is a file system",
                "its own --filesystem",
            ],
        ),
        (
            "run micro --engine lmdb --log-filesystem ext4:mount=nobarrier,ext4",
            &["is a file system", "its own --filesystem"],
        ),
        (
            "audit --engine lmdb --form block --filesystem ext4:mount=nobarrier,ext4",
            &["is a file system"],
        ),
    ];
    assert_refused(&Bench::new(), "", cases);
}

#[test]
fn settings_are_suggested_by_meaning_and_unknown_options_lead_to_the_help() {
    let cases: &[Case<'_>] = &[
        (
            "run micro --value-size 512",
            &["value_bytes is a setting of micro: --set value_bytes=512"],
        ),
        (
            "run micro --read-percent 95",
            &[
                "update_percent is a setting of micro (reads are what the other shares leave)",
                "--set update_percent=VALUE",
            ],
        ),
        (
            "run micro --engine lmdb --set read_percent=95",
            &["did you mean 'update_percent'? reads are what the other shares leave"],
        ),
        (
            "run micro --engine lmdb --set value_size=512",
            &["did you mean 'value_bytes'?"],
        ),
        (
            "run ycsb --engine lmdb --set read_percent=95",
            &["did you mean 'readproportion'?"],
        ),
        (
            "run ycsb --engine lmdb --set value_size=512",
            &["did you mean 'fieldlength'? a record has fieldcount fields"],
        ),
        (
            "report --p99 x",
            &["trueput: unexpected argument '--p99' found; see 'trueput report --help'\n"],
        ),
        (
            "report --json x",
            &["unexpected argument '--json' found; tip: write --format json\n"],
        ),
        ("report x --markdown", &["tip: write --format markdown"]),
        ("report x --csv", &["tip: write --format csv"]),
    ];
    assert_refused(&Bench::new(), "", cases);
}

#[test]
fn what_cannot_stand_together_or_is_missing_leads_to_the_help() {
    let cases: &[Case<'_>] = &[
        (
            "run --resume x --engine lmdb --repeat 9",
            &[
                "'--resume <RUN>' cannot be used with",
                "--engine <ENGINE>",
                "--repeat <N>",
            ],
        ),
        (
            "run --resume x --knob lmdb.map_size=1GiB --seed 1",
            &[
                "'--resume <RUN>' cannot be used with",
                "--knob",
                "--seed <N>",
            ],
        ),
        (
            "choose --resume x --memory 1GiB --rate 9000",
            &[
                "'--resume <RUN>' cannot be used with",
                "--memory <SIZE>",
                "--rate",
            ],
        ),
        (
            "tune --resume x --knob sqlite.cache_size=1MiB",
            &["'--resume <RUN>' cannot be used with", "--knob"],
        ),
        (
            "capacity --resume x --split-by isolation",
            &["'--resume <RUN>' cannot be used with", "--split-by"],
        ),
        (
            "run threen1 --engine lmdb,redb --durability sync,process",
            &[
                "redb does not support durability 'process'",
                "--skip-unsupported",
            ],
        ),
        (
            "run threen1 --engine lmdb --set finish=1e30",
            &["is out of range (at most 9223372036854775807)"],
        ),
        ("run threen1 --duration -1", &["'--duration <TIME>'"]),
        (
            "run threen1 --repeat 1,000",
            &["is not a whole number; write 1000"],
        ),
        (
            "engines lmdbb",
            &["unknown engine 'lmdbb' (did you mean 'lmdb'?)"],
        ),
        (
            "knobs",
            &["not provided: <ENGINE>; see 'trueput knobs --help'\n"],
        ),
        (
            "run micro --set test=mix,scan_percent=10",
            &["give the option once for each of test=mix and scan_percent=10"],
        ),
    ];
    assert_refused(&Bench::new(), "", cases);
}

#[test]
fn a_run_that_is_no_search_is_continued_by_run() {
    let bench = with_a_run();
    let path = bench.run_folder().path().display().to_string();
    for command in ["capacity", "tune", "choose"] {
        let refused = bench.run_expecting(2, &format!("{command} --resume {path}"));
        let right = concat!(
            "is no search; continue it with: ",
            env!("CARGO_BIN_EXE_trueput"),
            " run --resume"
        );
        assert_contains(&stderr(&refused), &[right]);
    }
}

#[test]
fn a_cache_for_all_is_refused_where_an_engine_has_none_or_has_it_by_a_knob() {
    let run = "run micro --durability sync --cache 256MiB --engine";
    let cases: &[Case<'_>] = &[
        (
            "lmdb,redb",
            &[
                "there is none to set: lmdb maps its file, so that the kernel's page cache is its \
               cache; leave out lmdb, or leave out cache and limit all engines alike with memory",
            ],
        ),
        (
            "redb --knob redb.cache_size=64MiB",
            &["cache and redb.cache_size both size redb's cache: leave one of them out"],
        ),
        (
            "redb --cache 1KiB",
            &["cache 1 KiB: redb.cache_size: 1024 is out of range"],
        ),
    ];
    assert_refused(&Bench::new(), run, cases);
}

#[test]
fn a_count_with_a_letter_is_answered_in_full() {
    let whole = "'5k' is not a whole number (0 or more); write 5000";
    let cases: &[Case<'_>] = &[
        ("--set finish=5k", &[whole]),
        ("--workers 1k", &["'1k' is not a whole number; write 1000"]),
        ("--seed 5k", &["; write 5000"]),
        (
            "--rate 5k",
            &["'5k' is not a number (0 to 1000000000); write 5000"],
        ),
    ];
    assert_refused(&Bench::new(), RUN_LMDB, cases);
}

#[test]
fn values_that_do_not_fit_are_refused_with_what_would_be_right() {
    let journal = "--engine sqlite --durability async --knob sqlite.journal_mode=delete";
    let cases: &[Case<'_>] = &[
        (
            "--set start=100 --set finish=10",
            &[": threen1: the range 100 to 10 is reversed"],
        ),
        ("--set finish=-1", &["out of range (0 or more)"]),
        ("--set finish=ten", &["'ten' is not a whole number"]),
        ("--set finsh=10", &["did you mean 'finish'"]),
        ("--set finish", &["write NAME=VALUE"]),
        (
            "--workers 0",
            &["workers is 0; it must be between 1 and 1024"],
        ),
        ("--workers four", &["'four' is not a whole number"]),
        ("--workers -1", &["workers is -1; it must be"]),
        ("--repeat 0", &["repeat is 0"]),
        ("--knob lmdb.mapsize=1GiB", &["did you mean 'map_size'"]),
        ("--knob lmdb.map_size=1", &["out of range"]),
        ("--knob map_size=1", &["write ENGINE.NAME=VALUE"]),
        (
            "--durability buffered",
            &["lmdb does not support durability 'buffered'; it supports sync"],
        ),
        (
            journal,
            &["sqlite cannot keep durability 'async' with journal_mode 'delete'"],
        ),
        ("--durability asinc", &["did you mean 'async'"]),
        ("--verify ful", &["did you mean 'full'"]),
        ("--name a/b", &["not a valid plan name"]),
        ("--set finish=9000000000000", &["free"]),
    ];
    let bench = with_a_run();
    assert_refused(&bench, RUN_LMDB, cases);
    let threads = "run threen1 --engine redb --worker-kind processes";
    let one_process = ["threen1: redb allows only one", "--worker-kind threads"];
    assert_refused(&bench, threads, &[("", &one_process)]);
}

#[test]
fn a_list_that_may_be_one_number_is_refused_with_both_ways_to_write_it() {
    let bench = with_a_run();
    let cases: &[Case<'_>] = &[
        ("--set finish=1,500", &["--set", "write 1500 for the one"]),
        (
            "--set finish=100,000",
            &["--set", "write 100000 for the one"],
        ),
        (
            "--set block=100,200,400",
            &["--set", "each of 100 and 200 and 400"],
        ),
        (
            "--knob lmdb.map_size=1,024MiB",
            &["--knob", "write 1024MiB"],
        ),
        ("--workers 1,016", &["--workers", "write 1016"]),
        ("--rate 5,000", &["--rate", "write 5000"]),
    ];
    for command in ["run", "plan check"] {
        assert_refused(&bench, &format!("{command} threen1 --engine lmdb"), cases);
    }
    // The controls: lists that can be nothing else, and the way to write one that could.
    let trials = |options: &str| {
        let check = format!("plan check threen1 --engine lmdb --json {options}");
        let document = bench.json_of(&check);
        let trials = document["trials"].as_array().unwrap().clone();
        let values = trials.iter().map(|trial| {
            let finish = trial["settings"]["finish"].as_i64().unwrap();
            (finish, trial["workers"].as_i64().unwrap())
        });
        values.collect::<Vec<_>>()
    };
    let both = vec![(1, 4), (500, 4)];
    assert_eq!(trials("--set finish=1 --set finish=500"), both);
    let reversed: Vec<_> = both.iter().rev().copied().collect();
    assert_eq!(trials("--set finish=500,1"), reversed);
    let workers = trials("--set finish=9 --workers 1,16 --workers 100");
    assert_eq!(workers, [(9, 1), (9, 16), (9, 100)]);
}

#[test]
fn what_would_change_nothing_is_refused_and_never_passed_over() {
    let bench = with_a_run();
    let cases: &[Case<'_>] = &[
        (
            "--knob sqlite.page_size=4096",
            &["the run has no sqlite; its engines are lmdb, redb"],
        ),
        (
            "--set size=1MiB --set records=10",
            &["size and records both", "size=0"],
        ),
        (
            "--set update_percent=50",
            &["update_percent is a setting of test=mix"],
        ),
        ("--until 0%", &["'0%'", "0.01% or more"]),
        ("--until 0.001%", &["as narrow as '0.001%'"]),
        (
            "--until NaN",
            &["'NaN' is not a fraction: write 3% or 0.03"],
        ),
        (
            "--until 100%",
            &["'100%' is not a fraction: write 3% or 0.03"],
        ),
        ("--budget 0", &["the budget must be above 0, not 0"]),
        ("--disk-factor 0", &["'0' is not a factor"]),
    ];
    assert_refused(&bench, "run micro --engine lmdb,redb", cases);
    let plan = |name: &str, rest: &str| {
        let head = "workload = \"micro\"\nengines = [\"lmdb\"]\ndurability = [\"sync\"]\n";
        bench.write(&format!("{name}.toml"), &format!("{head}{rest}"));
    };
    plan("knob", "knobs.sqlite.page_size = 4096\n");
    plan(
        "twice",
        "[knobs]\n\"lmdb.map_size\" = 1\nlmdb.map_size = 2\n",
    );
    plan(
        "when",
        "[[when]]\nengines = [\"sqlite\"]\nsettings = {records = 5}\nnote = \"n\"\n",
    );
    plan(
        "size",
        "settings.size = \"1MiB\"\n[[when]]\nsettings = {records = 5}\nnote = \"n\"\n",
    );
    let cases: &[Case<'_>] = &[
        (
            "run log-flush --knob sqlite.page_size=4096",
            &["log-flush runs on no engine"],
        ),
        (
            "ledger micro --engine lmdb --step sqlite.page_size=4096",
            &["the run has no sqlite"],
        ),
        (
            "run knob.toml",
            &["knob.toml:4: sqlite.page_size: the run has no sqlite"],
        ),
        (
            "plan check twice.toml",
            &["twice.toml:", "lmdb.map_size is set twice"],
        ),
        ("run when.toml", &["when.toml:4: ", "matches nothing"]),
        ("run size.toml", &["size.toml:5: ", "size and records"]),
    ];
    assert_refused(&bench, "", cases);
}

#[test]
fn knobs_of_engines_that_the_command_line_or_the_machine_leaves_out_are_no_mistake() {
    let bench = Bench::new();
    let text = "workload = \"micro\"\nengines = [\"lmdb\", \"sqlite\"]\n\
        knobs.sqlite.page_size = 4096\n";
    bench.write("plan.toml", text);
    bench.write(
        "present.toml",
        &text.replace("\"lmdb\", \"sqlite\"", "\"present\""),
    );
    for arguments in [
        "plan.toml --engine lmdb",
        "plan.toml",
        "present.toml --knob rocksdb.write_buffer_size=1MiB",
        "micro --engine lmdb --set size=0 --set records=10",
    ] {
        bench.run_expecting(0, &format!("plan check {arguments}"));
    }
}

#[test]
fn a_run_and_the_check_of_its_plan_need_the_same_room() {
    let bench = with_a_run();
    let plan = "micro --engine lmdb --set records=100000000000000";
    let room = |factor: &str| {
        let options = format!("{plan} --disk-factor {factor}");
        let flat = unwrapped(&bench.stdout_of(&format!("plan check {options}")));
        let (before, _) = flat.split_once(" at the start of a run").unwrap();
        let (_, needed) = before.split_once(" at a time ").unwrap();
        let refused = bench.refusal_of(&format!("run {options}"));
        assert_contains(&refused, &[&format!(": {needed}, ")]);
        assert_contains(needed, &[&format!("({factor} times the ")]);
        needed.to_owned()
    };
    assert_ne!(room("4"), room("1.5"));
    let document = bench.json_of(&format!("plan check --json {plan}"));
    let bytes = |name: &str| document["disk"][name].as_f64().unwrap();
    assert_eq!(bytes("needed_bytes"), 4.0 * bytes("expected_bytes"));
}

#[test]
fn records_that_cannot_be_and_more_than_there_is_are_refused_before_anything_is_made() {
    let cases: &[Case<'_>] = &[
        ("--set records=0", &["out of range (1 or more)"]),
        ("--set size=10", &["less than one record"]),
        (
            "--set key_bytes=600",
            &["lmdb: keys of 600 B are longer than the 511 B"],
        ),
        ("--set records=9000000000000", &["free"]),
        ("--memory 1000TiB", &["exceeds this machine's"]),
        ("--rate -5", &["out of range (0 to 1000000000)"]),
        ("--arrival poisson", &["set a rate, as in --rate 1000"]),
    ];
    assert_refused(&with_a_run(), "run micro --engine lmdb", cases);
}
