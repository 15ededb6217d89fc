//! A process that dies with a database open, and the state that the next process finds.

use crate::support::{begin, commits_left, engine, open, write};
use std::path::Path;
use std::process::{Command, Stdio};
use trueput_engine::{Durability, Engine, Mode};

const DIRECTORY_VARIABLE: &str = "TRUEPUT_TEST_CRASH_DIRECTORY";
const DURABILITY_VARIABLE: &str = "TRUEPUT_TEST_CRASH_DURABILITY";
const ENGINE_VARIABLE: &str = "TRUEPUT_TEST_CRASH_ENGINE";
const LIBRARY_VARIABLE: &str = "TRUEPUT_TEST_CRASH_LIBRARY";
const KNOBS_VARIABLE: &str = "TRUEPUT_TEST_CRASH_KNOBS";
/// Commits that the process makes before it dies.
pub const CRASH_COMMITS: u64 = 2500;

/// Not a test of its own: in the process that [`crash`] starts, commits one record after the other,
/// says so, and dies with the database open and a transaction unfinished.
#[test]
fn die_in_child() {
    let Ok(directory) = std::env::var(DIRECTORY_VARIABLE) else {
        return;
    };
    let variable = |name| std::env::var(name).unwrap();
    let engine = engine(&variable(ENGINE_VARIABLE));
    let library = std::env::var_os(LIBRARY_VARIABLE);
    let build = library.map(|library| engine.with_library(Path::new(&library)).unwrap());
    let engine = build.as_deref().unwrap_or(engine);
    let durability = variable(DURABILITY_VARIABLE).parse().unwrap();
    let knobs = variable(KNOBS_VARIABLE);
    let database = open(engine, Path::new(&directory), durability, &knobs).unwrap();
    for number in 0..CRASH_COMMITS {
        write(&*database, &number.to_be_bytes(), b"committed");
    }
    let mut session = begin(&*database, Mode::Write);
    session
        .put(&CRASH_COMMITS.to_be_bytes(), b"never committed")
        .unwrap();
    std::fs::write(Path::new(&directory).with_extension("acknowledged"), b"all").unwrap();
    std::process::abort();
}

/// Runs this program's [`die_in_child`] with the same build and knobs, then counts the commits that
/// a new process finds: a prefix of them, and the database takes new ones.
pub fn crash(engine: &dyn Engine, durability: Durability, knobs: &str) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("database");
    std::fs::create_dir(&directory).unwrap();
    let library = engine.build().unwrap().library;
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "--include-ignored",
            "--exact",
            "crash::die_in_child",
            "--nocapture",
        ])
        .env(DIRECTORY_VARIABLE, &directory)
        .env(DURABILITY_VARIABLE, durability.name())
        .env(ENGINE_VARIABLE, engine.info().name)
        .env(KNOBS_VARIABLE, knobs)
        .envs(library.map(|library| (LIBRARY_VARIABLE, library)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success() && directory.with_extension("acknowledged").exists());
    let database = open(engine, &directory, durability, knobs).unwrap();
    commits_left(&*database)
}
