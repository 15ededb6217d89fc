//! trueput with one more engine, from a crate of your own: `cargo run -p trueput --example
//! own_engine -- check toy`. See docs/ADDING_AN_ENGINE.md.

mod toy;

use std::process::ExitCode;
use trueput::{Registry, main_with, registry};

fn main() -> ExitCode {
    let mut engines = registry().engines.to_vec();
    engines.push(&toy::Toy);
    main_with(Registry {
        engines: engines.leak(),
        ..registry()
    })
}
