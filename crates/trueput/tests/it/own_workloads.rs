//! The workload of one's own, from the workload files of the program and from a user's.

use crate::bad_input::{Case, assert_refused};
use crate::support::{ALL_WELL, Bench, assert_contains, ended_well, listing, stderr};
use trueput_record::Value;

const FILES: [&str; 5] = [
    "session-store",
    "order-table",
    "queue",
    "time-series",
    "social-graph",
];

/// A workload file beside a file of weights, and a plan in another folder that names it.
fn with_files() -> Bench {
    let bench = Bench::new();
    bench.write("own/weights.txt", "1\n0\n3\n");
    let own = "about = \"Mine.\"\n\n[settings]\noperations = \"get:1 update+update:1\"\n\
               size = \"64KiB\"\nkey_bytes = 24\nvalue_bytes = \"uniform(100B..300B)\"\n\
               distribution = \"histogram(weights.txt)\"\n";
    bench.write("own/mine.toml", own);
    let plan = "workload = \"../own/mine.toml\"\nengines = [\"lmdb\"]\ndurability = [\"process\"]\n\
                workers = 1\n[settings]\nrecords = 400\noperationcount = 100\n";
    bench.write("plans/mine.toml", plan);
    bench
}

/// A setting of the only trial, as it was resolved.
fn setting(bench: &Bench, name: &str) -> Value {
    bench.trials()[0].spec.settings[name].clone()
}

#[test]
#[ignore = "slow: make test runs it"]
fn each_workload_file_of_the_program_is_valid_on_engines_on_disk() {
    for file in FILES {
        let bench = Bench::new();
        bench.run_once(&format!(
            "run {file} --engine lmdb,sqlite --durability process --workers 2 --set records=2000 \
             --set operationcount=1500"
        ));
        let trials = bench.trials();
        assert_eq!(trials.len(), 2, "{file}");
        for trial in &trials {
            assert!(ended_well(trial), "{file}: {:?}", trial.outcome);
            assert_eq!(trial.spec.workload, "custom");
        }
    }
}

#[test]
fn they_are_listed_shown_and_taken_by_path_and_in_plans() {
    let table = listing("workloads");
    let lines: Vec<_> = table.lines().collect();
    for file in FILES {
        assert!(lines.contains(&file), "{file}: {table}");
    }
    let document: serde_json::Value = serde_json::from_str(&listing("workloads --json")).unwrap();
    let mut workloads = document.as_array().unwrap().iter();
    let custom = workloads.find(|it| it["name"] == "custom").unwrap();
    assert_eq!(custom["files"][2]["name"], "queue");

    let bench = Bench::new();
    bench.write("mine.toml", &listing("workloads --show queue"));
    bench.write("plan.toml", "workload = \"queue\"\nengines = [\"lmdb\"]\n");
    let trials = |plan: &str| {
        let document = bench.json_of(&format!("plan check {plan} --engine lmdb --json"));
        document["trials"].clone()
    };
    assert_eq!(trials("queue"), trials("mine.toml"));
    assert_eq!(trials("queue"), trials("./mine.toml"));
    assert_eq!(trials("queue"), trials("plan.toml"));
    let own = bench.run("plan check workloads/queue.toml --engine lmdb");
    assert_contains(
        &stderr(&own),
        &["this is trueput's own workload file queue"],
    );
}

#[test]
fn a_plan_takes_the_settings_of_its_workload_file_and_overrides_them() {
    let bench = with_files();
    bench.run_expecting(ALL_WELL, "run plans/mine.toml --set value_bytes=200B");
    assert!(ended_well(&bench.trials()[0]));
    let expected = [
        ("operations", "get:1 update+update:1"),
        ("records", "400"),
        ("key_bytes", "24"),
        ("value_bytes", "200B"),
        ("operationcount", "100"),
        ("size", "0"),
    ];
    for (name, value) in expected {
        assert_eq!(setting(&bench, name).to_string(), value, "{name}");
    }
    // The file of weights is in the folder of the workload file.
    let distribution = setting(&bench, "distribution").to_string();
    assert_contains(&distribution, &["own/weights.txt)"]);
    // On the command line a number of records takes the place of the file's size, too.
    let line = "plan check own/mine.toml --engine lmdb --set records=70 --json";
    assert_eq!(bench.json_of(line)["trials"].as_array().unwrap().len(), 1);
}

#[test]
fn a_workload_file_s_mistake_is_named_with_file_and_line() {
    let bench = with_files();
    let file = |name: &str, text: &str| bench.write(&format!("{name}.toml"), text);
    file(
        "operation",
        "[settings]\n\noperations = \"get:1 updat:2\"\n",
    );
    file("setting", "[settings]\nvaluebytes = \"1KiB\"\n");
    file(
        "key",
        "engine = \"x\"\n[settings]\noperations = \"get:1\"\n",
    );
    file("library", "[settings]\nlibrary = \"/tmp/x.so\"\n");
    file("toml", "[settings]\noperations = = 3\n");
    file("table", "name = \"x\"\nsettings = 3\n");
    file(
        "weights",
        "[settings]\ndistribution = \"histogram(bad.txt)\"\n",
    );
    bench.write("bad.txt", "1\nmany\n");
    let plan = |workload: &str| format!("workload = \"{workload}\"\nengines = [\"lmdb\"]\n");
    bench.write("plans/operation.toml", &plan("../operation.toml"));
    bench.write("plans/none.toml", &plan("../none.toml"));
    bench.write("plans/near.toml", &plan("quee"));
    bench.write("plans/plan.toml", &plan("mine.toml"));
    let operation = "operation.toml:3: custom.operations: unknown operation 'updat' (did you mean \
                     'update'?)";
    let cases: &[Case<'_>] = &[
        ("operation.toml", &[operation]),
        ("plans/operation.toml", &[operation]),
        (
            "setting.toml",
            &["setting.toml:2: ", "did you mean 'value_bytes'"],
        ),
        (
            "key.toml",
            &["key.toml:1: unknown key 'engine'", "settings"],
        ),
        (
            "library.toml",
            &["library.toml:2: custom has no setting 'library'"],
        ),
        ("toml.toml", &["toml.toml:2: "]),
        ("table.toml", &["table.toml:2: ", "expected a table"]),
        ("weights.toml", &["bad.txt:2: 'many' is not a weight"]),
        (
            "plans/none.toml",
            &["plans/none.toml:1: the workload file", "none.toml"],
        ),
        (
            "plans/near.toml",
            &["plans/near.toml:1: ", "did you mean 'queue'"],
        ),
        ("plans/plan.toml", &["mine.toml:1: unknown key 'workload'"]),
        (
            "queu",
            &["unknown workload or plan 'queu'", "did you mean 'queue'"],
        ),
    ];
    assert_refused(&bench, "run --engine lmdb", cases);
}

#[test]
fn a_listing_of_a_workload_that_is_not_there_names_the_nearest() {
    let bench = with_files();
    let show: &[Case<'_>] = &[("queu", &["no workload file 'queu'", "did you mean 'queue'"])];
    assert_refused(&bench, "workloads --show", show);
    let named: &[Case<'_>] = &[(
        "sysbenc",
        &[
            "no workload or workload file 'sysbenc'",
            "did you mean 'sysbench'",
        ],
    )];
    assert_refused(&bench, "workloads", named);
}

#[test]
fn a_workload_file_with_a_size_and_a_number_of_records_is_refused_as_on_the_command_line() {
    let bench = Bench::new();
    bench.write("both.toml", "[settings]\nsize = \"1MiB\"\nrecords = 10\n");
    bench.write(
        "plan.toml",
        "workload = \"both.toml\"\nengines = [\"lmdb\"]\n",
    );
    let parts: &[&str] = &[
        "both.toml:",
        "custom: size and records both",
        "remove one of them",
    ];
    let cases: &[Case<'_>] = &[("both.toml", parts), ("plan.toml", parts)];
    assert_refused(&bench, "run --engine lmdb", cases);
    assert_refused(&bench, "plan check --engine lmdb", cases);
    let line = "plan check both.toml --engine lmdb --set records=70 --json";
    assert_eq!(bench.json_of(line)["trials"].as_array().unwrap().len(), 1);
}

#[test]
fn wrong_settings_on_the_command_line_are_refused_with_what_would_be_right() {
    let bench = Bench::new();
    let cases: &[Case<'_>] = &[
        ("operations=get:0", &["no operation has a weight above 0"]),
        ("operations=reed:1", &["unknown operation 'reed'"]),
        ("operations=get", &["'get' has no weight", "get:70"]),
        (
            "operations=get:70,put:30",
            &[
                "'get:70,put:30' may be one mix or 2",
                "write 'get:70 put:30' for the one",
                "once for each of get:70 and put:30",
            ],
        ),
        ("value_bytes=2GiB", &["1 GiB is the maximum"]),
        (
            "key_bytes=600",
            &["keys of 600 B", "give key_bytes=511 or less"],
        ),
        (
            "key_bytes=uniform(16..600)",
            &["keys of 600 B", "give key_bytes=511 or less"],
        ),
        (
            "key_bytes=uniform(8..64)",
            &["keys of 8 bytes are too short for a distribution; give 16 to 1000 bytes"],
        ),
        ("distribution=zipfain", &["did you mean 'zipfian'"]),
        (
            "distribution=histogram(/dev/zero)",
            &["a device, not a regular file"],
        ),
        ("size=1KiB --set records=5", &["size and records"]),
    ];
    assert_refused(&bench, "run custom --engine lmdb --set", cases);
}
