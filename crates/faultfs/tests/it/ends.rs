//! However a server or its parent ends, nothing stays mounted.

use crate::support::{Fixture, empty_folders, folders, is_mounted, mount, server_of, this_program};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trueput_faultfs::Recording;

pub const ALL: &[(&str, fn())] = &[
    ("a_killed_server_leaves_nothing_mounted", killed_server),
    ("a_server_ends_with_its_parent", killed_parent),
    (
        "a_server_whose_input_fails_ends_in_good_order",
        failing_input,
    ),
    ("a_file_system_in_use_is_unmounted", file_in_use),
    ("a_recording_under_writes_is_complete", writer),
    ("a_mount_that_is_looked_at_is_unmounted", looker),
    ("a_folder_that_is_missing_is_named", missing_folder),
];

fn killed_server() {
    for stops in [false, true] {
        let fixture = Fixture::new();
        fs::write(fixture.path("a"), "text").unwrap();
        let mount_point = &fixture.folders.mount_point;
        kill_process(server_of(mount_point).unwrap(), Signal::KILL).unwrap();
        if stops {
            assert!(fixture.mount.stop().is_err());
        } else {
            drop(fixture.mount);
        }
        assert!(!is_mounted(mount_point));
        assert_eq!(server_of(mount_point), None);
    }
}

/// Mounts the file system, says so and waits.
pub fn mount_for_ever(parent: &Path) -> ExitCode {
    let _mount = mount(folders(parent));
    println!("mounted");
    std::thread::sleep(Duration::from_secs(600));
    ExitCode::FAILURE
}

fn killed_parent() {
    let parent = empty_folders();
    let folders = folders(parent.path());
    let mut command = this_program(&["mount-for-ever".as_ref(), parent.path()]);
    command.stdout(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let output = child.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    assert!(is_mounted(&folders.mount_point));
    fs::write(folders.mount_point.join("a"), "text").unwrap();
    // As an interrupt from the terminal, which reaches each process of the group.
    kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while is_mounted(&folders.mount_point) || server_of(&folders.mount_point).is_some() {
        assert!(Instant::now() < deadline, "still mounted");
        std::thread::sleep(Duration::from_millis(10));
    }
    let recording = Recording::read(&folders.log).unwrap();
    assert_eq!(recording.operations.len(), recording.base + 2);
}

fn failing_input() {
    let parent = empty_folders();
    let folders = folders(parent.path());
    let paths = [&folders.backing, &folders.mount_point, &folders.log];
    let [backing, mount_point, log] = paths.map(|path| path.as_path());
    let mut server = this_program(&["faultfs".as_ref(), backing, mount_point, log]);
    // A folder cannot be read.
    let server = server.stdin(File::open("/").unwrap());
    let ended = server.output().unwrap();
    let words = String::from_utf8_lossy(&ended.stderr);
    assert!(words.contains("Is a directory"), "{words}");
    assert!(!ended.status.success());
    assert!(!is_mounted(mount_point));
    let recording = Recording::read(log).unwrap();
    assert_eq!(recording.operations.len(), recording.base);
    fs::write(log.join("watch.json"), "").unwrap();
    let unfinished = Recording::read(log).unwrap_err().to_string();
    assert!(unfinished.contains("did not end"), "{unfinished}");
}

fn file_in_use() {
    let fixture = Fixture::new();
    let mut file = fixture.create("a");
    file.write_all(b"text").unwrap();
    let recording = fixture.stop();
    assert_eq!(recording.operations.len(), recording.base + 2);
    assert!(file.write_all(b"more").is_err());
}

fn writer() {
    let fixture = Fixture::new();
    let mut file = fixture.create("a");
    std::thread::scope(|scope| {
        scope.spawn(move || while file.write_all(b"text").is_ok() {});
        let recording = fixture.mount.stop().unwrap();
        assert!(recording.operations.len() > recording.base);
    });
    assert!(!is_mounted(&fixture.folders.mount_point));
}

fn looker() {
    let is_done = AtomicBool::new(false);
    for _ in 0..5 {
        let fixture = Fixture::new();
        let path = fixture.mount.path().to_owned();
        is_done.store(false, Ordering::SeqCst);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    let _ = rustix::fs::statvfs(&path);
                }
            });
            fs::write(fixture.path("a"), "text").unwrap();
            let stopped = std::panic::catch_unwind(AssertUnwindSafe(|| fixture.stop()));
            is_done.store(true, Ordering::SeqCst);
            assert!(stopped.is_ok());
        });
    }
}

fn missing_folder() {
    let parent = empty_folders();
    let folders = folders(parent.path());
    fs::remove_dir(&folders.backing).unwrap();
    let arguments = [
        "faultfs".as_ref(),
        folders.backing.as_path(),
        folders.mount_point.as_path(),
        folders.log.as_path(),
    ];
    let started = trueput_faultfs::mount::Mount::start(this_program(&arguments), folders.clone());
    assert!(started.unwrap_err().to_string().contains("No such file"));
    assert!(!is_mounted(&folders.mount_point));
}
