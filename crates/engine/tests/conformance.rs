//! The suite against engines that it must pass and engines that it must fail.

use trueput_engine::reference::Reference;
use trueput_engine::{Durability, Engine, Null, Resolved, conformance};
use trueput_record::measurement::Check;

fn run(engine: &dyn Engine) -> Vec<Check> {
    let folder = tempfile::tempdir().unwrap();
    let checks = conformance::run(
        engine,
        folder.path(),
        Durability::None,
        &Resolved::default(),
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "the suite leaves files"
    );
    checks
}

fn failures(checks: &[Check]) -> Vec<String> {
    let failed = checks.iter().filter(|check| !check.passed);
    failed
        .map(|check| format!("{}: {}", check.name, check.detail))
        .collect()
}

#[test]
fn the_reference_engine_passes_every_check() {
    let checks = run(&Reference);
    assert_eq!(failures(&checks), Vec::<String>::new());
    assert_eq!(checks.len(), 31);
}

#[test]
fn the_null_engine_passes_what_applies_to_it() {
    let checks = run(&Null);
    assert_eq!(failures(&checks), Vec::<String>::new());
    assert!(checks.len() >= 5, "{checks:?}");
}
