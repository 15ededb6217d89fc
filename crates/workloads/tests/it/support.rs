//! Helpers of several workloads' tests: engines by name, changing a database behind a workload's
//! back, reading the results of its verification, and settings.

use std::collections::BTreeMap;
use trueput_engine::{Database, Engine, Mode, Session, Value};
use trueput_record::value::Settings;
use trueput_workloads::JobResults;

/// Settings as a user writes them, with spaces between: `test=mix records=300`. The last of a name
/// counts. A `~` in a value is a space.
pub fn settings(given: &str) -> Settings {
    let setting = |setting: &str| {
        let (name, value) = setting.split_once('=').unwrap();
        (name.to_owned(), Value::parse(&value.replace('~', " ")))
    };
    given.split_whitespace().map(setting).collect()
}

/// The engine of this name.
pub fn engine(name: &str) -> &'static dyn Engine {
    let engines = trueput_drivers::registry().iter();
    let found = engines.copied().find(|engine| engine.info().name == name);
    found.unwrap()
}

/// The engine, unless it is not on this machine; then it says why.
pub fn installed(name: &str) -> Option<&'static dyn Engine> {
    let engine = engine(name);
    let missing = engine.build().err();
    missing
        .iter()
        .for_each(|reason| eprintln!("skipped: {reason}"));
    missing.is_none().then_some(engine)
}

/// Changes records behind the workload's back.
pub fn tamper(database: &dyn Database, with: impl FnOnce(&mut dyn Session)) {
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    with(&mut *session);
    session.commit().unwrap();
}

/// The failed checks, with their messages.
pub fn failures(conclusion: &JobResults) -> BTreeMap<String, String> {
    let failed = conclusion.checks.iter().filter(|check| !check.passed);
    failed
        .map(|check| (check.name.clone(), check.detail.clone()))
        .collect()
}

/// Asserts that there were so many checks at least, and that all passed.
pub fn assert_all_right(conclusion: &JobResults, least: usize, subject: &str) {
    let checks = &conclusion.checks;
    assert!(checks.len() >= least, "{subject}: {checks:?}");
    assert_eq!(failures(conclusion), BTreeMap::new(), "{subject}");
}
