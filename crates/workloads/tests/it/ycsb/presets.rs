//! The presets equal YCSB's workload files.

use super::harness::{Bench, Call, Fault};
use crate::support::settings;
use std::path::Path;
use trueput_record::{Conditions, Value};
use trueput_workloads::ycsb::parse_properties;

/// Properties of YCSB's files that say which program to run.
const OF_THE_CLIENT: [&str; 1] = ["workload"];

fn given_by_file(preset: &str) -> trueput_record::value::Settings {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/ycsb/workloads");
    let text = std::fs::read_to_string(folder.join(format!("workload{preset}"))).unwrap();
    let mut given = settings("workload=core");
    for property in parse_properties(&text).unwrap() {
        if !OF_THE_CLIENT.contains(&property.name.as_str()) {
            given.insert(property.name, Value::parse(&property.value));
        }
    }
    given
}

fn calls(given: &trueput_record::value::Settings) -> Vec<Call> {
    let job = super::harness::job_of(given, &Conditions::default()).unwrap();
    let bench = Bench::with(1, job);
    bench.run(Fault::None);
    bench.calls()
}

#[test]
fn a_file_of_ycsb_and_the_preset_of_its_name_do_the_same() {
    for preset in super::PRESETS {
        let by_file = calls(&given_by_file(preset));
        let by_preset = calls(&settings(&format!("workload={preset}")));
        assert_eq!(by_file, by_preset, "{preset}");
    }
}
