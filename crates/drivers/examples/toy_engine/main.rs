//! Runs the conformance suite on the toy engine: `cargo run -p trueput-drivers --example
//! toy_engine`. See docs/ADDING_AN_ENGINE.md.

mod toy;

use std::process::ExitCode;
use trueput_engine::{Durability, Engine, conformance, parameter};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let engine = toy::Toy;
    let knobs = parameter::resolve(engine.info().name, engine.knobs(), &Default::default())?;
    let folder = tempfile::tempdir()?;
    let checks = conformance::run(&engine, folder.path(), Durability::None, &knobs);
    for check in &checks {
        let verdict = if check.passed { "passed" } else { "FAILED" };
        println!("{verdict}  {}: {}", check.name, check.detail);
    }
    let all_passed = checks.iter().all(|check| check.passed);
    Ok(if all_passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
