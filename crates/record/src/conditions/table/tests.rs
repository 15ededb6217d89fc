//! Tests of the conditions' declarations.

use super::*;
use std::collections::BTreeSet;

#[test]
fn names_are_distinct_and_every_condition_of_a_trial_is_named() {
    let names = CONDITIONS.iter().map(|condition| condition.parameter.name);
    let names: BTreeSet<_> = names.collect();
    assert_eq!(names.len(), CONDITIONS.len());
    let samples = [
        "1s",
        "5",
        "1GiB",
        "true",
        "cold",
        "local",
        "jemalloc",
        "poisson",
        "ext4",
        "1s:heal",
        "fsync:eio@3",
    ];
    let mut lists = ConditionLists::default();
    for condition in CONDITIONS {
        let before = lists.clone();
        let is_changed = samples.iter().any(|text| {
            let is_taken = condition.set(&mut lists, &[text]).is_ok();
            is_taken && lists != before
        });
        assert!(is_changed, "no sample suits {}", condition.parameter.name);
    }
    let [all] = &lists.combinations()[..] else {
        panic!("one value each is one combination");
    };
    let fields = serde_json::to_value(all).unwrap();
    let named = all.named();
    assert_eq!(fields.as_object().unwrap().len(), named.len());
    let usual = Conditions::default().named();
    for (this, usual) in named.iter().zip(&usual) {
        assert_ne!(this, usual, "it was set to another value");
    }
}

fn given(name: &str, text: &str) -> Result<ConditionLists, ConditionError> {
    let mut lists = ConditionLists::default();
    let condition = Condition::named(name).unwrap();
    condition.set(&mut lists, &[text]).map(|()| lists)
}

#[test]
fn what_is_no_condition_is_refused_with_what_would_be_right() {
    for (name, text, says) in [
        ("rate", "-1", "-1 is out of range (0 to 1000000000)"),
        ("rate", "nan", "'nan' is not a number (0 to 1000000000)"),
        (
            "memory",
            "1KiB",
            "1KiB is out of range (16 MiB or more, or none)",
        ),
        (
            "image",
            "1KiB",
            "1KiB is out of range (16 MiB or more, or auto)",
        ),
        ("time_slice", "2m", "2m is out of range"),
        ("time_slice", "soon", "'soon' is no time slice"),
        ("cpus", "on", "'on' is no list of processors"),
        (
            "hosts",
            "a,-oProxyCommand=x",
            "'-oProxyCommand=x' is not a host name",
        ),
        ("hosts", "a,b,a", "host 'a' is named twice"),
        ("filesystem", "EXT4", "'EXT4' is no file system"),
        (
            "storage_model",
            "hdd 7200",
            "'hdd 7200' is no storage model",
        ),
        (
            "log_storage_model",
            "a,b.toml",
            "'a,b.toml' is no storage model",
        ),
        ("fault", "fsync@3", "'fsync@3' is not a storage fault"),
        (
            "fault",
            "any:eio@soon",
            "'@soon' does not say when eio comes",
        ),
    ] {
        let message = given(name, text).unwrap_err().to_string();
        assert!(message.starts_with(says), "{name}={text}: {message}");
    }
}

#[test]
fn a_word_or_zero_stands_for_none() {
    let none = ConditionLists::default();
    for (name, text) in [("duration", "0s"), ("duration", "none"), ("image", "auto")] {
        assert_eq!(given(name, text).unwrap(), none, "{name}={text}");
    }
    assert_eq!(given("memory", "none").unwrap().memory_bytes, [None]);
    assert_eq!(
        given("memory", "1GiB").unwrap().memory_bytes,
        [Some(1 << 30)]
    );
    assert_eq!(given("cache", "preset").unwrap().cache_bytes, [None]);
    assert_eq!(given("cpus", "all").unwrap().cpus, [None]);
    assert_eq!(given("numa", "none").unwrap().numa, [None]);
    let models = given("storage_model", "none").unwrap().storage_model;
    assert_eq!(models, [None]);
}

#[test]
fn the_help_of_a_condition_has_its_values_and_its_default() {
    let help = |name| Condition::named(name).unwrap().help();
    let start = "State of the page cache when workers start; cold drops it [values: warm, \
                 cold] [default: warm]";
    assert_eq!(help("start"), start);
    assert!(help("memory").ends_with("[values: 16 MiB or more, or none] [default: none]"));
    assert!(help("crash_and_recover").ends_with("verify what survived"));
}

#[test]
fn the_default_of_every_condition_is_one_of_its_values() {
    for Condition { parameter, .. } in CONDITIONS {
        let (kind, name) = (parameter.kind, parameter.name);
        assert!(kind.is_consistent(), "{name}");
        let default = kind.default_value();
        assert_eq!(kind.read(&default.to_string()).unwrap(), default, "{name}");
    }
}

#[test]
fn an_option_s_text_is_taken_apart_and_checked() {
    let split = |name, text| Condition::named(name).unwrap().split(text);
    assert_eq!(split("rate", "0,500").unwrap(), ["0", "500"]);
    assert_eq!(split("cpus", "0-3,8").unwrap(), ["0-3,8"]);
    let file_systems = split("filesystem", "here,ext4:mount=noatime,barrier=0").unwrap();
    assert_eq!(file_systems, ["here", "ext4:mount=noatime,barrier=0"]);
    let wrong = split("start", "warm,cool").unwrap_err().to_string();
    assert!(wrong.contains("'cold'"), "{wrong}");
    let wrong = split("allocator", "jemaloc").unwrap_err().to_string();
    assert!(wrong.contains("did you mean 'jemalloc'"), "{wrong}");
}

#[test]
fn storage_models_are_a_dimension_that_an_option_takes_as_a_list() {
    let model = Condition::named("storage_model").unwrap();
    let texts = model.split("none,hdd-7200,./my.toml").unwrap();
    let mut lists = ConditionLists::default();
    model.set(&mut lists, &texts).unwrap();
    let log = Condition::named("log_storage_model").unwrap();
    log.set(&mut lists, &["nvme-consumer"]).unwrap();
    let all = lists.combinations();
    let found: Vec<_> = all.iter().map(|one| one.storage_model.as_deref()).collect();
    assert_eq!(found, [None, Some("hdd-7200"), Some("./my.toml")]);
    let is_log = |one: &Conditions| one.log_storage_model.as_deref() == Some("nvme-consumer");
    assert!(all.iter().all(is_log));
    let special = "storage_model=hdd-7200 log_storage_model=nvme-consumer";
    assert_eq!(all[1].special(), special);
}

#[test]
fn conditions_with_storage_models_are_kept_and_those_of_older_records_are_as_they_were() {
    let older = serde_json::to_string(&Conditions::default()).unwrap();
    assert!(!older.contains("storage_model"), "{older}");
    let read: Conditions = serde_json::from_str(&older).unwrap();
    assert_eq!(read, Conditions::default());
    assert_eq!(serde_json::to_string(&read).unwrap(), older);
    let modelled = Conditions {
        storage_model: Some("/home/me/my.toml@1a2b3c4d".to_owned()),
        log_storage_model: Some("hdd-7200".to_owned()),
        ..Conditions::default()
    };
    let text = serde_json::to_string(&modelled).unwrap();
    let read: Conditions = serde_json::from_str(&text).unwrap();
    assert_eq!(read, modelled);
    // Comparisons see the file's name and its hash, a command the whole path.
    let named = read.named();
    let found = named.iter().find(|(name, _)| *name == "storage_model");
    assert_eq!(
        found,
        Some(&("storage_model", "my.toml@1a2b3c4d".to_owned()))
    );
    let path = Some("/home/me/my.toml@1a2b3c4d".to_owned());
    let option = ("storage-model".to_owned(), path);
    assert!(read.options().contains(&option), "{:?}", read.options());
}

#[test]
fn faults_are_a_dimension_that_an_option_takes_as_a_list() {
    let fault = Condition::named("fault").unwrap();
    let texts = fault.split("none,any:stall=2s@1s,write:eio@1000").unwrap();
    let mut lists = ConditionLists::default();
    fault.set(&mut lists, &texts).unwrap();
    let all = lists.combinations();
    let found: Vec<_> = all.iter().map(Conditions::special).collect();
    assert_eq!(found, ["", "fault=any:stall=2s@1s", "fault=write:eio@1000"]);
    let option = ("fault".to_owned(), Some("write:eio@1000".to_owned()));
    assert_eq!(all[2].options(), [option]);
    let text = serde_json::to_string(&all[1]).unwrap();
    let read: Conditions = serde_json::from_str(&text).unwrap();
    assert_eq!(read, all[1]);
    // Older records have none.
    assert!(!serde_json::to_string(&all[0]).unwrap().contains("fault"));
}
