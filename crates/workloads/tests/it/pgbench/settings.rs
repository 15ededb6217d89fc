//! Invalid settings are refused in one line that names what would be right.

use super::harness::{engine, job, job_under};
use trueput_engine::{Engine, Null};
use trueput_record::Conditions;

fn refusal(given: &str) -> String {
    let message = job(given).err().unwrap();
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn scripts_and_scales_that_there_are_not_are_refused() {
    let message = refusal("script=tpcb");
    assert!(message.contains("choose from tpcb-like, simple-update, select-only"));
    let message = refusal("script=tpcb-like@2~tpcb-like");
    assert!(message.contains("tpcb-like is given twice"), "{message}");
    let message = refusal("scale=0");
    assert!(message.contains("1 to 20000"), "{message}");
}

#[test]
fn the_scripts_of_a_mix_are_its_kinds() {
    let kinds = |given| job(given).unwrap().kinds();
    assert_eq!(kinds(""), ["tpcb-like"]);
    let mix = "script=select-only@8~tpcb-like@2";
    assert_eq!(kinds(mix), ["tpcb-like", "select-only"]);
}

#[test]
fn engines_without_what_a_script_needs_are_refused() {
    let check = |given, capabilities| {
        let checked = job(given).unwrap().check_capabilities(&capabilities);
        checked.map_err(String::from)
    };
    let null = Null.capabilities();
    let message = check("", null).unwrap_err();
    assert!(message.contains("keeps what is put"), "{message}");
    let mut torn = engine("lmdb").capabilities();
    assert_eq!(check("", torn), Ok(()));
    torn.atomic_transactions = false;
    let message = check("", torn).unwrap_err();
    assert!(message.contains("transactions of several"), "{message}");
    assert_eq!(check("script=select-only", torn), Ok(()));
    assert!(job("").unwrap().needs_transactions());
    assert!(!job("script=select-only").unwrap().needs_transactions());
}

#[test]
fn sql_is_refused_where_the_engine_does_not_speak_it() {
    let check = |store: &str, name| {
        let job = job(&format!("store={store}")).unwrap();
        let checked = job.check_dialect(engine(name).dialect());
        checked.map_err(String::from)
    };
    let message = check("sql", "lmdb").unwrap_err();
    assert!(message.contains("give store=kv"), "{message}");
    for (store, name) in [("kv", "lmdb"), ("auto", "lmdb"), ("sql", "sqlite")] {
        assert_eq!(check(store, name), Ok(()), "{store} {name}");
    }
    assert!(job("store=sql").unwrap().uses_sql() && !job("").unwrap().uses_sql());
}

#[test]
fn a_trial_ends_by_its_duration_or_by_a_number_of_transactions() {
    let timed = Conditions {
        duration_s: Some(10.0),
        ..Conditions::default()
    };
    let units =
        |given, conditions: &Conditions| job_under(given, conditions).unwrap().total_units();
    assert_eq!(units("", &timed), 0);
    assert_eq!(units("", &Conditions::default()), 10_000);
    assert_eq!(units("transactions=5", &timed), 5);
}
