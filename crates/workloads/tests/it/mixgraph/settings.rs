//! Mistakes in the settings, and settings without an effect.

use crate::job_bench::job_under;
use trueput_engine::{Capabilities, Value};
use trueput_record::Conditions;
use trueput_record::conditions::{Arrival, Rate};
use trueput_workloads::Workload;
use trueput_workloads::mixgraph::Mixgraph;

fn refused(given: &str, conditions: &Conditions) -> String {
    let job = job_under(&Mixgraph, given, conditions);
    job.err().unwrap_or_else(|| panic!("{given} is accepted"))
}

#[test]
fn a_mistake_is_named_with_what_would_be_right() {
    for (given, expected) in [
        (
            "mix_get_ratio=0 mix_put_ratio=0 mix_seek_ratio=0",
            "no operation has a share; give one of mix_get_ratio",
        ),
        ("value_size=11B", "give value_size=12 or more, or 0"),
        ("num=29", "keyrange_num=30 is more than the 29 records"),
        ("num=500", "give more records, or fewer key ranges"),
        (
            "num=800 keyrange_num=1",
            "less than the 1000 numbers by which one draw chooses among the kinds",
        ),
        (
            "keyrange_dist_a=-1 keyrange_dist_c=0",
            "leave no key range a chance",
        ),
        (
            "keyrange_dist_a=-1e9",
            "the hottest key range the hotness -5.4",
        ),
        (
            "key_dist_a=1e9 key_dist_b=-100",
            "key_dist_a=1000000000 and key_dist_b=-100 lead all operations to one key",
        ),
        (
            "value_theta=1e9",
            "value_theta=1000000000 is not below mix_max_value_size=1024",
        ),
        (
            "value_theta=-1000000000",
            "value_theta=-1000000000 makes less than one length in a million greater than 0",
        ),
        (
            "value_k=100",
            "value_k=100 and value_sigma=25.45 make most lengths greater than 1048576",
        ),
        (
            "iter_theta=100 mix_max_scan_len=100",
            "iter_theta=100 is not below mix_max_scan_len=100",
        ),
        ("iter_theta=-1e9 iter_k=0", "give iter_theta=0"),
        (
            "iter_sigma=1e9",
            "greater than 1000000, the largest mix_max_scan_len",
        ),
        ("key_dist_a=-1", "key_dist_a"),
        ("value_sigma=0", "value_sigma"),
        ("sine_d=0", "sine_d"),
        ("mix_max_value_size=11B", "mix_max_value_size"),
        ("key_size=7", "key_size"),
    ] {
        let message = refused(given, &Conditions::default());
        assert!(message.contains(expected), "{given}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn what_people_publish_and_a_trace_may_give_is_taken() {
    for given in [
        "",
        "keyrange_num=1",
        "keyrange_dist_a=0 keyrange_dist_b=0 keyrange_dist_c=0 keyrange_dist_d=0",
        "keyrange_dist_c=-0.001",
        "key_dist_a=0 key_dist_b=-100",
        "mix_max_scan_len=1",
        "value_theta=1023.5 value_k=0 value_sigma=0.000001",
        "value_theta=-30",
    ] {
        let job = job_under(&Mixgraph, given, &Conditions::default());
        assert_eq!(job.err(), None, "{given}");
    }
}

#[test]
fn a_sine_beside_a_rate_of_the_run_is_refused() {
    let at_rate = Conditions {
        rate: Some(Rate {
            per_s: 250.0,
            arrival: Arrival::Constant,
        }),
        ..Conditions::default()
    };
    let message = refused("sine_mix_rate=on", &at_rate);
    let expected = "so no other can be given or searched: give sine_mix_rate=off";
    assert!(message.ends_with(expected), "{message}");
    assert!(job_under(&Mixgraph, "", &at_rate).is_ok());
    assert!(job_under(&Mixgraph, "sine_mix_rate=on", &Conditions::default()).is_ok());
}

#[test]
fn records_that_an_engine_has_no_room_for_are_refused_by_their_setting() {
    let small = Capabilities::transactional(40, 500);
    for (given, expected) in [
        (
            "",
            "keys of 48 bytes are longer than the 40 that this engine takes; give key_size=40",
        ),
        ("key_size=40", "values of 1024 bytes"),
        (
            "key_size=40 mix_max_value_size=500B value_size=501B",
            "loaded values of 501 bytes",
        ),
    ] {
        let job = job_under(&Mixgraph, given, &Conditions::default()).unwrap();
        let message = job.check_capabilities(&small).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
    let fits = "key_size=40 mix_max_value_size=500B";
    let job = job_under(&Mixgraph, fits, &Conditions::default()).unwrap();
    assert_eq!(job.check_capabilities(&small), Ok(()));
}

#[test]
fn a_setting_without_an_effect_is_named() {
    let check = |given: &[(&str, Value)]| {
        let given = given.iter();
        let given = given.map(|(name, value)| ((*name).to_owned(), vec![value.clone()]));
        let found = Mixgraph.check_given(&given.collect());
        found.err().map(|ineffective| ineffective.name)
    };
    let (on, off) = (Value::Boolean(true), Value::Boolean(false));
    assert_eq!(check(&[("sine_a", 5.0.into())]), Some("sine_a"));
    assert_eq!(
        check(&[("sine_a", 5.0.into()), ("sine_mix_rate", on)]),
        None
    );
    // A file that is run without its rate.
    assert_eq!(
        check(&[("sine_a", 5.0.into()), ("sine_mix_rate", off)]),
        None
    );
    let uniform = ("key_dist_a", Value::from(0.0));
    let ranges = ("keyrange_num", Value::from(30_u64));
    assert_eq!(
        check(&[uniform.clone(), ranges.clone()]),
        Some("keyrange_num")
    );
    assert_eq!(check(&[ranges]), None);
    let no_seeks = ("mix_seek_ratio", Value::from(0_u64));
    let scans = ("iter_k", Value::from(5_u64));
    assert_eq!(check(&[no_seeks, scans.clone()]), Some("iter_k"));
    assert_eq!(check(&[("mix_seek_ratio", 0.1.into()), scans]), None);
    let no_puts = ("mix_put_ratio", Value::from(0.0));
    let sizes = ("value_k", Value::from(0.5));
    // Loaded values are drawn with it, too.
    assert_eq!(check(&[no_puts.clone(), sizes.clone()]), None);
    let loaded = ("value_size", Value::from(43_u64));
    assert_eq!(
        check(&[no_puts, loaded.clone(), sizes.clone()]),
        Some("value_k")
    );
    assert_eq!(check(&[loaded, sizes]), None);
    assert_eq!(
        check(&[uniform, ("keyrange_dist_b", Value::from(0.0))]),
        None
    );
}
