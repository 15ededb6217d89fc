//! Helpers of several workloads' tests: changing a database behind a workload's back, reading the
//! results of its verification, and settings.

use std::collections::BTreeMap;
use trueput_engine::{Database, Mode, Session, Value};
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
