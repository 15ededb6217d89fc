//! A process that dies with a database open, and what the next one finds.

use crate::support::{open, read, settings, write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use trueput_engine::{Direction, Durability, Engine, KeyRange, Mode, Value};

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
    let told = |name| std::env::var(name).unwrap();
    let (name, knobs) = (told(ENGINE_VARIABLE), told(KNOBS_VARIABLE));
    let mut engines = trueput_drivers::registry().iter();
    let engine = *engines.find(|engine| engine.info().name == name).unwrap();
    let library = std::env::var_os(LIBRARY_VARIABLE);
    let build = library.map(|library| engine.with_library(Path::new(&library)).unwrap());
    let engine = build.as_deref().unwrap_or(engine);
    let given: Vec<_> = knobs
        .lines()
        .map(|knob| knob.split_once('=').unwrap())
        .map(|(name, value)| (name, Value::parse(value)))
        .collect();
    let durability = told(DURABILITY_VARIABLE).parse().unwrap();
    let database = open(engine, Path::new(&directory), durability, &given).unwrap();
    for number in 0..CRASH_COMMITS {
        write(database.as_ref(), &number.to_be_bytes(), b"committed");
    }
    let mut session = database.session().unwrap();
    session.begin(Mode::Write).unwrap();
    session
        .put(&CRASH_COMMITS.to_be_bytes(), b"never committed")
        .unwrap();
    std::fs::write(Path::new(&directory).with_extension("acknowledged"), b"all").unwrap();
    std::process::abort();
}

/// Runs this program's [`die_in_child`] with the same build and knobs, then counts what a new
/// process finds. What it finds is a prefix of the commits, and the database takes new ones.
pub fn crash(engine: &dyn Engine, durability: Durability, given: &[(&str, Value)]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("database");
    std::fs::create_dir(&directory).unwrap();
    let knobs = settings(given);
    let knobs = knobs
        .iter()
        .map(|(name, value)| format!("{name}={value}\n"));
    let library = engine.build().unwrap().library;
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::die_in_child", "--nocapture"])
        .env(DIRECTORY_VARIABLE, &directory)
        .env(DURABILITY_VARIABLE, durability.name())
        .env(ENGINE_VARIABLE, engine.info().name)
        .env(KNOBS_VARIABLE, knobs.collect::<String>())
        .envs(library.map(|library| (LIBRARY_VARIABLE, library)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success() && directory.with_extension("acknowledged").exists());
    let database = open(engine, &directory, durability, given).unwrap();
    let mut session = database.session().unwrap();
    session.begin(Mode::Read).unwrap();
    let mut found = 0_u64;
    let scanned = session.scan(KeyRange::ALL, Direction::Forward, &mut |key, value| {
        assert_eq!(
            (key, value),
            (found.to_be_bytes().as_slice(), b"committed".as_slice())
        );
        found += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(scanned, Ok(found));
    session.commit().unwrap();
    write(database.as_ref(), b"afterwards", b"works");
    assert_eq!(
        read(database.as_ref(), b"afterwards").as_deref(),
        Some(b"works".as_slice())
    );
    found
}
