//! Reading and checking models.

use super::*;
use trueput_record::storage_model::NO_MODEL;

/// A model with every key.
const WHOLE: &str = r#"
name = "mine"
about = "A device"
parallelism = 1
[[sources]]
text = "estimate"
address = "none: it is an estimate"
[read]
base_us = 100
p99_us = 200.5
bandwidth_mib_per_s = 500
[write]
base_us = 10
p99_us = 10
bandwidth_mib_per_s = 400
[flush]
base_us = 1000
p99_us = 2000
[disk]
rpm = 7200
seek_min_ms = 0.6
seek_mean_ms = 8.2
seek_max_ms = 17.6
capacity_gib = 465
[write_cache]
kind = "volatile"
capacity_mib = 16
drain_mib_per_s = 102
[limits]
iops = 100
iops_per_gib = 3
iops_max = 16000
burst_iops = 3000
burst_credits = 5400000
counted_kib = 256
bandwidth_mib_per_s = 128
"#;

fn parse(text: &str) -> Result<StorageModel, StorageModelError> {
    StorageModel::parse(Path::new("my.toml"), text)
}

fn refusal(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

/// The refusal of the whole model with a line that has another value, and the number of that line.
fn refusal_with(line: &str, instead: &str) -> (String, usize) {
    let number = WHOLE.lines().position(|known| known == line);
    let number = 1 + number.unwrap_or_else(|| panic!("no line '{line}'"));
    let start = |line: &str| format!("\n{line}\n");
    assert_eq!(WHOLE.matches(&start(line)).count(), 1, "{line}");
    let text = WHOLE.replace(&start(line), &start(instead));
    (refusal(&text), number)
}

#[test]
fn a_whole_model_reads_as_written_and_back() {
    let model = parse(WHOLE).unwrap();
    assert_eq!((model.name.as_str(), model.parallelism), ("mine", 1));
    assert_eq!(model.read.p99_us, 200.5);
    assert_eq!(model.disk.unwrap().seek_mean_ms, 8.2);
    assert_eq!(model.write_cache.unwrap().kind, CacheKind::Volatile);
    assert_eq!(model.limits.unwrap().burst_credits, Some(5_400_000.0));
    let written = toml::to_string(&model).unwrap();
    assert_eq!(parse(&written).unwrap(), model);
}

#[test]
fn what_a_model_leaves_out_is_not_there() {
    let (text, _) = WHOLE.split_once("[disk]").unwrap();
    let model = parse(text).unwrap();
    assert_eq!((model.disk, model.limits), (None, None));
    assert_eq!(model.write_cache, None);
    let written = toml::to_string(&model).unwrap();
    assert!(!written.contains("disk"), "{written}");
    assert_eq!(parse(&written).unwrap(), model);
}

/// A line of the whole model, the wrong line instead, and what the message says.
const WRONG_LINES: &[(&str, &str, &[&str])] = &[
    (
        "rpm = 7200",
        "rmp = 7200",
        &["unknown key 'rmp' (did you mean 'rpm'?)", "keys are rpm,"],
    ),
    (
        "about = \"A device\"",
        "abuot = \"A device\"",
        &["unknown key 'abuot' (did you mean 'about'?)"],
    ),
    (
        "kind = \"volatile\"",
        "kind = \"volatil\"",
        &[
            "'volatil' (did you mean 'volatile'?)",
            "volatile, protected",
        ],
    ),
    (
        "rpm = 7200",
        "rpm = \"fast\"",
        &["rpm: ", "string \"fast\"", "expected a number"],
    ),
    (
        "parallelism = 1",
        "parallelism = 1.5",
        &["parallelism: ", "expected a whole number above 0"],
    ),
    (
        "name = \"mine\"",
        "name = 7",
        &["name: ", "expected a text in quotes"],
    ),
    (
        "name = \"mine\"",
        "name = \"a/b\"",
        &["name: 'a/b' is not a model name"],
    ),
    (
        "name = \"mine\"",
        "name = \"none\"",
        &["name: 'none' stands for no model"],
    ),
    (
        "about = \"A device\"",
        "about = \" \"",
        &["about: it is empty"],
    ),
    (
        "parallelism = 1",
        "parallelism = 0",
        &["parallelism: it is 0; it must be from 1 to 4096"],
    ),
    (
        "parallelism = 1",
        "parallelism = 8",
        &["parallelism: it is 8; a disk has one arm: write 1"],
    ),
    (
        "p99_us = 200.5",
        "p99_us = 99",
        &["read.p99_us: the 99th percentile is 99, below the median base_us of 100; write 100"],
    ),
    (
        "base_us = 1000",
        "base_us = 0",
        &["flush.base_us: it is 0; it must be from 0.001 to 60000000"],
    ),
    (
        "bandwidth_mib_per_s = 400",
        "bandwidth_mib_per_s = -1",
        &["write.bandwidth_mib_per_s: it is -1; it must be from 0.001"],
    ),
    (
        "bandwidth_mib_per_s = 500",
        "bandwidth_mib_per_s = nan",
        &["read.bandwidth_mib_per_s: it is NaN; it must be from 0.001"],
    ),
    (
        "seek_max_ms = 17.6",
        "seek_max_ms = 0.5",
        &["disk.seek_max_ms: it is 0.5, below seek_min_ms of 0.6"],
    ),
    (
        "seek_mean_ms = 8.2",
        "seek_mean_ms = 6",
        &["disk.seek_mean_ms: it is 6; ", "from 6.27 to 9.67"],
    ),
    (
        "seek_mean_ms = 8.2",
        "seek_mean_ms = 9.7",
        &["disk.seek_mean_ms: it is 9.7; ", "from 6.27 to 9.67"],
    ),
    (
        "capacity_mib = 16",
        "capacity_mib = inf",
        &["write_cache.capacity_mib: it is inf; it must be from 0.001 to"],
    ),
    (
        "burst_credits = 5400000",
        "",
        &["limits.burst_iops: it needs the key burst_credits"],
    ),
    (
        "burst_iops = 3000",
        "",
        &["limits.burst_credits: it needs the key burst_iops"],
    ),
    (
        "burst_iops = 3000",
        "burst_iops = 99",
        &["limits.burst_iops: it is 99, below iops of 100; write 100 or more"],
    ),
    (
        "iops_per_gib = 3",
        "",
        &["limits.iops_max: it needs the key iops_per_gib"],
    ),
    ("iops = 100", "", &["it needs the key iops"]),
    (
        "iops = 100",
        "iops = 0.0001",
        &["limits.iops: it is 0.0001; it must be from 0.001 to 1000000000"],
    ),
    ("rpm = 7200", "rpm 7200", &[]),
];

#[test]
fn every_wrong_line_is_refused_with_its_number_and_what_would_be_right() {
    for (line, instead, says) in WRONG_LINES {
        let (message, number) = refusal_with(line, instead);
        assert!(message.starts_with("my.toml:"), "{instead}: {message}");
        // A line that is left out is missed by the key that needs it.
        if !instead.is_empty() {
            let start = format!("my.toml:{number}: ");
            assert!(message.starts_with(&start), "{instead}: {message}");
        }
        for part in *says {
            assert!(message.contains(part), "{instead}: {message}");
        }
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn the_bounds_of_the_mean_seek_are_accepted_as_the_message_shows_them() {
    for bound in ["6.27", "9.67"] {
        let text = WHOLE.replace("seek_mean_ms = 8.2", &format!("seek_mean_ms = {bound}"));
        assert!(parse(&text).is_ok(), "{bound}");
    }
}

#[test]
fn a_missing_key_is_named_with_the_line_of_its_table() {
    let (message, number) = refusal_with("p99_us = 200.5", "# p99_us = 200.5");
    // The table begins two lines before.
    let expected = format!("my.toml:{}: the key 'p99_us' is missing", number - 2);
    assert!(message.starts_with(&expected), "{message}");
    let message = refusal(&WHOLE.replace("name = \"mine\"\n", ""));
    assert!(
        message.starts_with("my.toml:1: the key 'name' is missing"),
        "{message}"
    );
}

#[test]
fn a_model_without_sources_or_with_limits_of_nothing_is_refused() {
    let (text, _) = WHOLE.split_once("[limits]").unwrap();
    let message = refusal(&format!("{text}[limits]\n"));
    let line = 1 + text.lines().count();
    let expected = format!("my.toml:{line}: limits: it limits nothing");
    assert!(message.starts_with(&expected), "{message}");
    let sources = "[[sources]]\ntext = \"estimate\"\naddress = \"none: it is an estimate\"\n";
    let message = refusal(&WHOLE.replace(sources, "sources = []\n"));
    assert!(
        message.starts_with("my.toml:5: sources: there is none"),
        "{message}"
    );
    let message = refusal(&WHOLE.replace("text = \"estimate\"", "text = \"\""));
    assert!(
        message.starts_with("my.toml:5: sources: a text or an address is empty"),
        "{message}"
    );
}

#[test]
fn a_file_is_read_and_one_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    std::fs::write(&path, WHOLE).unwrap();
    assert_eq!(StorageModel::read(&path).unwrap(), parse(WHOLE).unwrap());
    std::fs::write(&path, [0xff]).unwrap();
    let message = StorageModel::read(&path).unwrap_err().to_string();
    assert!(
        message.contains("my.toml: it is no UTF-8 text"),
        "{message}"
    );
    let absent = folder.path().join("absent.toml");
    let message = StorageModel::read(&absent).unwrap_err().to_string();
    assert!(message.contains("absent.toml: "), "{message}");
    let message = StorageModel::read(folder.path()).unwrap_err().to_string();
    assert!(message.contains("not a regular file"), "{message}");
}

#[test]
fn every_built_in_model_is_read_under_its_name() {
    for name in StorageModel::built_in_names() {
        let model = StorageModel::built_in(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.name, name);
        let is_address = |address: &str| {
            address.starts_with("https://") && !address.contains([' ', '\n'])
                || address.starts_with("none: ")
        };
        let mut sources = model.sources.iter();
        let wrong = sources.find(|source| !is_address(&source.address));
        assert_eq!(wrong, None, "{name}");
        // It can be written, changed and read again, as a user's starting point.
        let written = toml::to_string(&model).unwrap();
        assert_eq!(parse(&written).unwrap(), model);
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_known_ones_and_none_is_no_model() {
    let message = StorageModel::built_in("ebs-gp").unwrap_err().to_string();
    for part in [
        "no storage model 'ebs-gp' (did you mean 'ebs-gp",
        "hdd-7200, ",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(StorageModel::built_in(NO_MODEL).is_err());
}

#[test]
fn the_minimum_service_times_are_those_of_the_idle_device() {
    let model = parse(WHOLE).unwrap();
    // 4 KiB at 500 and 400 MiB/s are 7,812.5 and 9,765.625 ns.
    let minimum = model.minimum_service_times();
    assert_eq!((minimum.read_ns, minimum.write_ns), (107_813, 19_766));
    assert_eq!(minimum.flush_ns, 1_000_000);
}
