//! Every engine of the registry, at everything its isolation can be set to, keeps what its driver
//! states. A program of its own: engines that are one to a process, as GT.M, are opened here and by
//! the conformance suite, and not at once.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::Place;
use trueput_engine::{Durability, Engine, isolation, knob};
use trueput_record::trial::Settings;

/// The first level that the engine has with these settings; `None` where it refuses them.
fn level_with(engine: &dyn Engine, given: &Settings) -> Option<Durability> {
    let knobs = knob::resolve(engine.info().name, engine.knobs(), given).unwrap();
    let mut levels = Durability::ALL.into_iter().rev();
    levels.find(|level| engine.promise_with(*level, &knobs).is_ok())
}

#[test]
fn no_engine_shows_an_anomaly_that_its_stated_isolation_proscribes() {
    let mut failures = Vec::new();
    for engine in trueput_drivers::registry() {
        let name = engine.info().name;
        if let Err(why) = engine.build() {
            eprintln!("skipped: {why}");
            continue;
        }
        for given in isolation::settings(*engine) {
            let Some(level) = level_with(*engine, &given) else {
                eprintln!("{name} refuses {given:?}");
                continue;
            };
            let pairs: Vec<_> = given.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
            let knobs = knob::resolve(name, engine.knobs(), &given).unwrap();
            let place = Place::of(*engine, level, &pairs);
            let report = isolation::observe(*engine, place.path(), level, &knobs);
            let stated = report.stated.map(|stated| stated.name());
            let strongest = report.strongest().map(|level| level.name());
            eprintln!("{name} {given:?}: stated {stated:?}, not refuted {strongest:?}");
            let checks = report.checks().into_iter();
            let failed = checks.filter(|check| !check.passed);
            failures.extend(
                failed.map(|check| format!("{name} {given:?} {}: {}", check.name, check.detail)),
            );
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
