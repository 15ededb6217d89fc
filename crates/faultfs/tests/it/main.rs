//! The file systems, mounted: this program is its own server, which a test of Cargo's
//! usual harness cannot be.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod claims;
mod edges;
mod ends;
mod faults;
mod flushes;
mod images;
mod modelled_folders;
mod replay;
mod support;

use std::path::PathBuf;
use std::process::ExitCode;
use trueput_faultfs::faulty_folder;
use trueput_faultfs::modelled_image::SERVER_COMMAND;
use trueput_faultfs::server::{Folders, serve};

/// The options of Cargo's harness that ask for tests that take long.
const RUN_SLOW: [&str; 2] = ["--ignored", "--include-ignored"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["faultfs", backing, mount_point, log] => serve_folders([backing, mount_point, log]),
        [SERVER_COMMAND, paths @ .., size, model, seed] => images::serve(paths, size, model, seed),
        [faulty_folder::SERVER_COMMAND, folders @ ..] => faults::serve(folders),
        ["start-without-fuse", folder] => images::start_without_fuse(folder.as_ref()),
        ["append", file, line, times] => claims::append(file.as_ref(), line, times),
        ["flush", way, folder] => flushes::flush(way, folder.as_ref()),
        ["mount-for-ever", folder] => ends::mount_for_ever(folder.as_ref()),
        arguments => run_claims(arguments),
    }
}

fn serve_folders(folders: [&str; 3]) -> ExitCode {
    let [backing, mount_point, log] = folders.map(PathBuf::from);
    let served = serve(&Folders {
        backing,
        mount_point,
        log,
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the claims whose names contain the first argument that is no option. They are slow: without
/// such an argument they run where [`RUN_SLOW`] asks for what takes long.
fn run_claims(arguments: &[&str]) -> ExitCode {
    let filter = arguments
        .iter()
        .find(|argument| !argument.starts_with('-'))
        .unwrap_or(&"");
    let all = claims::ALL.iter().chain(edges::ALL).chain(ends::ALL);
    let all = all.chain(faults::ALL).chain(flushes::ALL);
    let all = all.chain(images::ALL).chain(modelled_folders::ALL);
    let claims = all.filter(|(name, _)| name.contains(filter));
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
    if let Some(reason) = support::reason_to_skip() {
        println!("skipped: {reason}");
        return ExitCode::SUCCESS;
    }
    let mut failures = 0;
    for (name, claim) in claims {
        let holds = std::thread::spawn(claim).join().is_ok();
        println!("test {name} ... {}", if holds { "ok" } else { "FAILED" });
        failures += u32::from(!holds);
    }
    match failures {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
