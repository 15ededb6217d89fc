//! The program `trueput`: its library with all engines and workloads.

use std::process::ExitCode;

fn main() -> ExitCode {
    trueput::main_with(trueput::registry())
}
