//! Trials from end to end, in real worker processes: this program is its own worker, which a test
//! of Cargo's usual harness cannot be.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod accounting;
mod claims;
mod compaction;
mod conditions;
mod copies;
mod delegated;
mod flushes;
mod hangs;
mod hooks;
mod hosts;
mod keeper;
mod placement;
mod repeats;
mod replay;
mod skewed;
mod stalls;
mod support;
mod time_slices;
mod toy;

use std::os::unix::process::parent_id;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The options of Cargo's harness that ask for tests that take long.
const RUN_SLOW: [&str; 2] = ["--ignored", "--include-ignored"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["worker"] if started_by_itself() || started_over_ssh() => {
            trueput_runner::worker_main(&support::REGISTRY, delegated::TASKS)
        }
        ["run-endless", folder] if started_by_itself() => claims::run_endless(folder.as_ref()),
        ["claim", name] if started_by_itself() => run_claim(name),
        arguments => run_claims(arguments),
    }
}

/// Whether the parent is this program too; otherwise `worker` is a filter of names.
fn started_by_itself() -> bool {
    let parent = std::fs::read_link(format!("/proc/{}/exe", parent_id()));
    parent.ok() == std::env::current_exe().ok()
}

/// Whether the parent is the server of ssh on a host of a test.
fn started_over_ssh() -> bool {
    std::env::var_os("SSH_CONNECTION").is_some()
}

fn all() -> impl Iterator<Item = &'static (&'static str, fn())> {
    claims::ALL
        .iter()
        .chain(compaction::ALL)
        .chain(conditions::ALL)
        .chain(copies::ALL)
        .chain(delegated::ALL)
        .chain(placement::ALL)
        .chain(repeats::ALL)
        .chain(time_slices::ALL)
        .chain(accounting::ALL)
        .chain(flushes::ALL)
        .chain(hosts::ALL)
        .chain(hangs::ALL)
        .chain(stalls::ALL)
}

/// A claim that does not hold panics.
fn run_claim(name: &str) -> ExitCode {
    all().find(|claim| claim.0 == name).unwrap().1();
    ExitCode::SUCCESS
}

/// Runs the claims whose names contain the first argument that is no option. They are slow: without
/// such an argument they run where [`RUN_SLOW`] asks for what takes long.
fn run_claims(arguments: &[&str]) -> ExitCode {
    let filter = arguments
        .iter()
        .find(|argument| !argument.starts_with('-'))
        .unwrap_or(&"");
    let claims = all().filter(|(name, _)| name.contains(filter));
    if arguments.contains(&"--list") {
        claims.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let runs_slow = arguments.iter().any(|it| RUN_SLOW.contains(it));
    if filter.is_empty() && !runs_slow {
        println!(
            "{} tests ignored, slow: make test runs them",
            claims.count()
        );
        return ExitCode::SUCCESS;
    }
    // Those that judge response times run by themselves.
    let (timed, others): (Vec<_>, Vec<_>) =
        claims.partition(|claim| conditions::ALL.iter().any(|one| one.0 == claim.0));
    let outcomes = [
        run_side_by_side(&others, threads()),
        run_side_by_side(&timed, 1),
    ];
    ExitCode::from(u8::from(outcomes != [true, true]))
}

/// Whether all claims hold.
fn run_side_by_side(claims: &[&(&str, fn())], threads: usize) -> bool {
    let (claims, failed) = (Mutex::new(claims.iter()), AtomicBool::new(false));
    let next = || claims.lock().unwrap().next();
    let run_next_claims = || {
        while let Some((name, _)) = next() {
            // A process of its own: what one claim starts must not inherit another's locked files.
            let mut process = Command::new(std::env::current_exe().unwrap());
            let output = process.args(["claim", name]).output().unwrap();
            let holds = output.status.success();
            if !holds {
                print!("{}", String::from_utf8_lossy(&output.stderr));
            }
            for said in [&output.stdout, &output.stderr] {
                let said = String::from_utf8_lossy(said);
                let skipped = said.lines().filter(|line| line.starts_with("skipped: "));
                skipped.for_each(|line| println!("{line}"));
            }
            println!("test {name} ... {}", if holds { "ok" } else { "FAILED" });
            failed.fetch_or(!holds, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(run_next_claims);
        }
    });
    !failed.into_inner()
}

/// How many claims run at once, as with Cargo's harness. Most of them wait.
fn threads() -> usize {
    let asked = std::env::var("RUST_TEST_THREADS").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(1)
}
