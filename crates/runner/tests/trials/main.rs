//! Trials from end to end, in real worker processes: this program is its own worker, which a test
//! of Cargo's usual harness cannot be.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod accounting;
mod claims;
mod conditions;
mod flushes;
mod keeper;
mod placement;
mod repeats;
mod support;
mod time_slices;
mod toy;

use std::os::unix::process::parent_id;
use std::panic::catch_unwind;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["worker"] if started_by_itself() => trueput_runner::worker::main(&support::REGISTRY),
        ["run-endless", folder] if started_by_itself() => claims::run_endless(folder.as_ref()),
        arguments => run_claims(arguments),
    }
}

/// Whether the parent is this program too; otherwise `worker` is a filter of names.
fn started_by_itself() -> bool {
    let parent = std::fs::read_link(format!("/proc/{}/exe", parent_id()));
    parent.ok() == std::env::current_exe().ok()
}

/// Runs the claims whose names contain the first argument that is no option.
fn run_claims(arguments: &[&str]) -> ExitCode {
    let filter = arguments
        .iter()
        .find(|argument| !argument.starts_with('-'))
        .unwrap_or(&"");
    let all = claims::ALL
        .iter()
        .chain(conditions::ALL)
        .chain(placement::ALL)
        .chain(repeats::ALL)
        .chain(time_slices::ALL)
        .chain(accounting::ALL)
        .chain(flushes::ALL);
    let claims = all.filter(|(name, _)| name.contains(filter));
    if arguments.contains(&"--list") {
        claims.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let mut failed = 0;
    for (name, claim) in claims {
        let held = catch_unwind(claim).is_ok();
        println!("test {name} ... {}", if held { "ok" } else { "FAILED" });
        failed += u32::from(!held);
    }
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
