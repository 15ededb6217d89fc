//! Storage models on the command line: listed, shown, and refused before anything runs.

use crate::support::{Bench, assert_contains, assert_refused, listing};
use serde_json::Value;

#[test]
fn storage_models_are_listed_with_what_they_predict() {
    let table = listing("storage list");
    assert_contains(
        &table,
        &[
            "\nhdd-7200 ",
            "\nnvme-consumer ",
            "at once; ",
            "storage down",
        ],
    );
    let models: Value = serde_json::from_str(&listing("storage list --json")).unwrap();
    let models = models.as_array().unwrap();
    let rate = |name: &str| {
        let model = models.iter().find(|model| model["name"] == name).unwrap();
        model["predicted"]["appends_per_s"].as_f64().unwrap()
    };
    assert!(rate("hdd-7200") < rate("nvme-datacenter"));
    // Every model that is listed can be shown, and read again as a file.
    let bench = Bench::new();
    for model in models {
        let name = model["name"].as_str().unwrap();
        let text = listing(&format!("storage show {name}"));
        assert_contains(&text, &[&format!("name = \"{name}\""), "[[sources]]"]);
        bench.write("mine.toml", &text);
        assert_eq!(bench.stdout_of("storage show ./mine.toml"), text);
        let document = bench.json_of("storage show mine.toml --json");
        assert_eq!(&document, model);
    }
}

#[test]
fn a_model_that_is_none_is_refused_in_one_line_before_anything_runs() {
    let bench = Bench::new();
    let text = listing("storage show nvme-consumer");
    bench.write("misspelled.toml", &text.replace("base_us", "bass_us"));
    let run = "run micro --engine lmdb --durability sync --set records=100 --duration 1";
    for (option, right) in [
        ("--storage-model hdd-720", "did you mean 'hdd-7200'"),
        (
            "--log-storage-model nvme",
            "the built-in models are hdd-7200",
        ),
        ("--storage-model ./absent.toml", "absent.toml"),
        ("--storage-model ./misspelled.toml", "unknown key 'bass_us'"),
        ("--storage-model hdd@7200", "is no storage model"),
        ("--storage-model hdd-7200 --filesystem tmpfs", "tmpfs"),
        ("--storage-model folder:hdd-720", "did you mean 'hdd-7200'"),
        ("--storage-model folder:", "is no storage model"),
        (
            "--storage-model folder:./misspelled.toml",
            "unknown key 'bass_us'",
        ),
        (
            "--storage-model folder:hdd-7200 --fault fsync:eio@3",
            "does not go with fault",
        ),
        ("--log-storage-model folder:hdd-7200", "has no folder form"),
    ] {
        assert_refused(&bench, &format!("{run} {option}"), right);
    }
    assert_refused(&bench, "storage show hdd-720", "did you mean 'hdd-7200'");
    assert!(!bench.path().join("results").exists());
}
