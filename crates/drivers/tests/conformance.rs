//! Every engine of the registry, at every level that it promises, keeps the contract.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::Place;
use trueput_engine::{Durability, conformance, knob};

#[test]
fn every_engine_keeps_the_contract_at_every_level_that_it_promises() {
    let mut failures = Vec::new();
    for engine in trueput_drivers::registry() {
        let name = engine.info().name;
        if let Err(why) = engine.build() {
            eprintln!("skipped: {why}");
            continue;
        }
        let knobs = knob::resolve(name, engine.knobs(), &Default::default()).unwrap();
        for durability in Durability::ALL {
            if engine.promise(durability).is_none() {
                continue;
            }
            let place = Place::of(*engine, durability, &[]);
            let checks = conformance::run(*engine, place.path(), durability, &knobs);
            assert!(
                !checks.is_empty(),
                "{name} at {durability} was not looked at"
            );
            let failed = checks.iter().filter(|check| !check.passed);
            failures.extend(
                failed.map(|check| format!("{name} {durability} {}: {}", check.name, check.detail)),
            );
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
