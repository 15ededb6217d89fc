//! `trueput storage fit`: a model of the device below a folder, and what is refused.

use crate::support::{
    Bench, LoopMount, assert_contains, assert_refused, expect_code, signal, stderr, stdout,
};
use nix::sys::signal::Signal::SIGINT;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, ChildStderr, Command, Stdio};

/// A fit that measures little of a small file.
const QUICK: &str = "storage fit --on . --size 8MiB --duration 200ms --output";

/// Whether the folders of tests are on no device that could be measured; says so.
fn is_unmeasurable(bench: &Bench) -> bool {
    let output = bench.run(&format!("{QUICK} tried.toml"));
    let said = stderr(&output);
    let is_refused = said.contains("is memory") || said.contains("O_DIRECT");
    if is_refused {
        eprintln!("skipped: {said}");
    }
    is_refused
}

/// The names of the folder's files that are not the bench's own.
fn files(bench: &Bench) -> Vec<String> {
    let entries = std::fs::read_dir(bench.path()).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != "state").collect();
    names.sort();
    names
}

#[test]
fn a_fit_writes_a_model_that_can_be_shown_and_shows_measured_against_modeled() {
    let bench = Bench::new();
    if is_unmeasurable(&bench) {
        return;
    }
    let fitted = expect_code(0, bench.run(&format!("{QUICK} my.toml")));
    assert_contains(
        &stdout(&fitted),
        &[
            "measured",
            "modeled",
            "4 KiB appended and flushed",
            "random reads of 4 KiB, depth 64",
            "1 MiB written and flushed",
            "burst of random reads, depth 16",
            "server of a model itself",
            "Written: my.toml",
        ],
    );
    // The file that was measured is gone.
    assert_eq!(files(&bench), ["my.toml", "tried.toml"]);
    let text = std::fs::read_to_string(bench.path().join("my.toml")).unwrap();
    assert_contains(&text, &["name = \"my\"", "[[sources]]", "kernel", "8 MiB"]);
    assert!(!text.contains("[disk]"), "{text}");
    assert_eq!(bench.stdout_of("storage show ./my.toml"), text);

    // What is there already stays, unless it is to be replaced.
    assert_refused(&bench, &format!("{QUICK} my.toml"), "--force");
    let named = format!("{QUICK} my.toml --force --name lab --json");
    let document = bench.json_of(&named);
    assert_eq!(document["model"]["name"], "lab");
    let lines = document["lines"].as_array().unwrap();
    assert!(lines.len() > 15, "{lines:?}");
    assert!(lines[0]["measured"].as_f64().unwrap() > 0.0, "{lines:?}");
    let shown = bench.json_of("storage show my.toml --json");
    assert_eq!(shown["model"], document["model"]);
}

#[test]
fn what_cannot_be_measured_or_written_is_refused_in_one_line() {
    let bench = Bench::new();
    let file = bench.write("file", "");
    let folder = bench.path().join("folder.toml");
    std::fs::create_dir(&folder).unwrap();
    for (line, right) in [
        ("--on absent --output my.toml", "absent is not a directory"),
        ("--on file --output my.toml", "file is not a directory"),
        ("--on . --output my", "ends in .toml"),
        ("--on . --output a,b.toml", "without commas"),
        ("--on . --output folder:a.toml", "without folder:"),
        (
            "--on . --output absent/my.toml",
            "absent is not a directory",
        ),
        (
            "--on . --output folder.toml --force",
            "folder.toml is not a regular file",
        ),
        ("--on . --output /proc/my.toml", "cannot write to /proc"),
        ("--on . --output my.toml --size 4MiB", "8 MiB or more"),
        ("--on . --output my.toml --size 900TiB", "free"),
        ("--on . --output my.toml --duration 0", "100ms to 1h"),
        (
            "--on . --output my.toml --name a,b",
            "'a,b' is not a model name",
        ),
        ("--on /dev/shm --output my.toml", "is memory"),
    ] {
        let is_memory = right == "is memory";
        if is_memory && trueput_host::find_file_system("/dev/shm".as_ref()).kind != "tmpfs" {
            eprintln!("skipped: /dev/shm is no tmpfs");
            continue;
        }
        // A temporary folder in memory is refused for that, before its room is.
        let refused = bench.refusal_of(&format!("storage fit {line}"));
        let is_known = refused.contains(right) || refused.contains("which is memory");
        assert!(is_known, "{line}: {refused}");
    }
    std::fs::remove_file(file).unwrap();
    std::fs::remove_dir(folder).unwrap();
    assert!(files(&bench).is_empty(), "{:?}", files(&bench));
}

#[test]
fn a_name_that_is_no_text_is_refused_and_the_file_that_it_looks_like_stays() {
    let bench = Bench::new();
    let like = bench.write("\u{fffd}.toml", "of the user");
    let mut command = bench.command(QUICK);
    command.arg(OsStr::from_bytes(b"\xff.toml")).arg("--force");
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = stderr(&refused);
    // A temporary folder in memory is refused for that.
    let is_known = said.contains("is not UTF-8") || said.contains("which is memory");
    assert!(is_known, "{said}");
    assert_eq!(std::fs::read_to_string(like).unwrap(), "of the user");
}

#[test]
fn a_file_system_without_room_or_read_only_is_refused() {
    let bench = Bench::new();
    let (image, folder) = (bench.path().join("image"), bench.path().join("mounted"));
    let mounted = match LoopMount::new(&image, &folder, 160 << 20) {
        Ok(mounted) => mounted,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return;
        }
    };
    let fit = |size| format!("storage fit --on mounted --output my.toml --size {size}");
    assert_refused(&bench, &fit("128MiB"), "give a smaller --size");
    let mut remount = Command::new("mount");
    remount.args(["-o", "remount,ro"]).arg(mounted.folder());
    assert!(remount.status().unwrap().success());
    assert_refused(&bench, &fit("8MiB"), "cannot write to mounted");
}

/// Begins a fit of a minute, and returns it with the lines of its standard error after the first.
fn begin(bench: &Bench) -> (Child, Lines<BufReader<ChildStderr>>) {
    let mut command = bench.command(&QUICK.replace("200ms", "60s").replace("--output", ""));
    command.args(["--output", "my.toml"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let begun = lines.next().unwrap().unwrap();
    assert!(begun.starts_with("measuring . for about 1m"), "{begun}");
    (child, lines)
}

#[test]
fn what_a_killed_fit_has_left_is_removed_by_the_next_one_or_by_clean() {
    let bench = Bench::new();
    if is_unmeasurable(&bench) {
        return;
    }
    let kill = || {
        let (mut child, _lines) = begin(&bench);
        // The control: the file of a fit that goes on is no leftover.
        bench.run_expecting(0, "clean --work .");
        child.kill().unwrap();
        child.wait().unwrap();
        let left = format!(".trueput-fit-{}", child.id());
        assert!(files(&bench).contains(&left), "{left}");
        left
    };
    let left = kill();
    let listed = stdout(&bench.run_expecting(1, "clean --work ."));
    assert_contains(&listed, &["file of a fit", &left]);
    bench.run_expecting(0, "clean --yes --work .");
    assert_eq!(files(&bench), ["tried.toml"]);
    let left = kill();
    let next = expect_code(0, bench.run(&format!("{QUICK} my.toml")));
    let said = stderr(&next);
    assert!(
        said.contains(&format!("{left}, which a killed fit had left")),
        "{said}"
    );
    assert_eq!(files(&bench), ["my.toml", "tried.toml"]);
}

#[test]
fn an_interrupted_fit_removes_its_file_and_writes_no_model() {
    let bench = Bench::new();
    if is_unmeasurable(&bench) {
        return;
    }
    let (mut child, lines) = begin(&bench);
    signal(child.id().cast_signed(), SIGINT);
    let said: Vec<_> = lines.map(Result::unwrap).collect();
    assert_eq!(said, ["interrupted: no model is written"]);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(files(&bench), ["tried.toml"]);
}
