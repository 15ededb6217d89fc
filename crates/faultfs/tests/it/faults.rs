//! A folder on storage that fails does so as its faults say, and otherwise passes everything
//! through.

use crate::support::is_mounted;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;
use trueput_faultfs::faulty_folder::{FaultReport, FaultyFolder, FaultyFolders, serve_folder};
use trueput_record::storage_fault::{FailedFlush, FaultOperation};

pub const ALL: &[(&str, fn())] = &[
    (
        "a_folder_without_faults_passes_everything_through",
        no_faults,
    ),
    ("what_was_not_flushed_goes_with_the_power", unflushed),
    ("a_mapped_store_goes_with_the_power", mapped_store),
    ("faults_come_only_while_a_folder_is_armed", armed_only),
    ("each_way_to_flush_meets_its_fault", ways_to_flush),
    ("a_page_that_a_failed_flush_dropped_is_lost", dropped_pages),
    (
        "a_page_that_a_failed_flush_kept_is_stored_by_the_next",
        kept_pages,
    ),
    ("a_flush_that_lies_loses_what_it_acknowledged", lie),
    ("a_failed_write_changes_nothing", failed_write),
    ("a_short_write_says_how_much_it_wrote", short_write),
    (
        "a_full_device_refuses_growth_and_takes_what_is_in_place",
        full_device,
    ),
    ("a_failed_read_names_its_file", failed_read),
    (
        "a_flipped_bit_is_in_what_is_read_and_not_in_the_file",
        flipped_bits,
    ),
    (
        "a_stalled_device_answers_nothing_until_it_is_disarmed",
        stalled_device,
    ),
    ("a_stalled_flush_keeps_nobody_else_waiting", stalled_flush),
    ("a_killed_server_of_faults_leaves_no_mount", killed_server),
];

const PAGE: usize = 4096;

/// Serves a folder as the command line of this test's program says.
pub fn serve(arguments: &[&str]) -> ExitCode {
    let [
        backing,
        mount_point,
        report,
        failed_flush,
        can_lose,
        seed,
        faults @ ..,
    ] = arguments
    else {
        return ExitCode::FAILURE;
    };
    let folders = FaultyFolders {
        backing: backing.into(),
        mount_point: mount_point.into(),
        report: report.into(),
        faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(),
        failed_flush: failed_flush.parse().unwrap(),
        can_lose: can_lose.parse().unwrap(),
        seed: seed.parse().unwrap(),
    };
    match serve_folder(&folders) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A faulty folder, not armed at first.
struct Fixture {
    folder: FaultyFolder,
    parent: TempDir,
}

impl Fixture {
    fn new(faults: &[&str]) -> Self {
        Self::over(faults, FailedFlush::Dropped, |_| ())
    }

    /// Mounts it over a folder that `fill` has filled.
    fn over(faults: &[&str], failed_flush: FailedFlush, fill: impl FnOnce(&Path)) -> Self {
        let parent = tempfile::tempdir().unwrap();
        let [backing, mount_point] = ["backing", "mount"].map(|name| parent.path().join(name));
        fs::create_dir(&backing).unwrap();
        fs::create_dir(&mount_point).unwrap();
        fill(&backing);
        let folders = FaultyFolders {
            backing,
            mount_point,
            report: parent.path().join("reports/faults.json"),
            faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(),
            failed_flush,
            can_lose: true,
            seed: 1,
        };
        let command = folders.server_command(&std::env::current_exe().unwrap());
        let folder = FaultyFolder::start(command, folders).unwrap();
        assert!(is_mounted(folder.path()));
        Self { folder, parent }
    }

    fn armed(faults: &[&str]) -> Self {
        let mut fixture = Self::new(faults);
        fixture.folder.arm().unwrap();
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the folder below has under a name.
    fn below(&self, name: &str) -> Vec<u8> {
        fs::read(self.parent.path().join("backing").join(name)).unwrap()
    }

    /// Opens a file to read and write it, and creates it if need be.
    fn open(&self, name: &str) -> File {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        options.open(self.path(name)).unwrap()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Ends the server, which says what came.
    fn stop(self) -> FaultReport {
        let report = self.folder.stop().unwrap();
        assert!(!is_mounted(&self.parent.path().join("mount")));
        report
    }
}

#[track_caller]
fn assert_fails<T: std::fmt::Debug>(result: io::Result<T>, with: Errno) {
    let number = result.unwrap_err().raw_os_error();
    assert_eq!(number, Some(with.raw_os_error()));
}

fn no_faults() {
    let mut fixture = Fixture::armed(&[]);
    fs::create_dir(fixture.path("d")).unwrap();
    let file = fixture.open("d/a");
    file.write_all_at(b"text", 0).unwrap();
    file.sync_all().unwrap();
    drop(file);
    fs::rename(fixture.path("d/a"), fixture.path("b")).unwrap();
    fixture.folder.lose_power().unwrap();
    assert_eq!(fixture.read("b"), b"text");
    assert_eq!(fixture.below("b"), b"text");
    fs::remove_dir(fixture.path("d")).unwrap();
    let report = fixture.stop();
    assert!(report.reads > 0);
    assert_eq!((report.writes, report.flushes), (1, 1));
    assert_eq!((report.written_bytes, report.injected_count), (4, 0));
    assert_eq!(report.untracked, None);
}

fn unflushed() {
    let mut fixture = Fixture::new(&[]);
    let file = fixture.open("a");
    file.write_all_at(b"old text", 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(b"new text, and longer", 0).unwrap();
    drop(file);
    fs::write(fixture.path("b"), "gone").unwrap();
    fs::remove_file(fixture.path("b")).unwrap();
    fs::write(fixture.path("c"), "never flushed").unwrap();
    fixture.folder.lose_power().unwrap();
    assert_eq!(fixture.read("a"), b"old text");
    // Its name is durable.
    assert_eq!(fixture.read("c"), b"");
    // The control: a machine that is shut down in good order keeps it.
    let file = fixture.open("a");
    file.write_all_at(b"new", 0).unwrap();
    drop(file);
    fixture.folder.lose_caches().unwrap();
    assert_eq!(fixture.read("a"), b"new text");
    fixture.stop();
}

fn mapped_store() {
    let mut fixture = Fixture::new(&[]);
    let file = fixture.open("a");
    file.write_all_at(&[1; 2 * PAGE], 0).unwrap();
    file.sync_all().unwrap();
    // SAFETY: a new mapping, of a file that this test alone uses and does not shorten.
    unsafe {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        let nowhere = std::ptr::null_mut();
        let map = rustix::mm::mmap(nowhere, 2 * PAGE, both, MapFlags::SHARED, &file, 0).unwrap();
        map.cast::<u8>().add(PAGE).write(2);
        rustix::mm::munmap(map, 2 * PAGE).unwrap();
    }
    drop(file);
    assert_eq!(fixture.read("a")[PAGE], 2);
    fixture.folder.lose_power().unwrap();
    assert_eq!(fixture.read("a"), [1; 2 * PAGE]);
    fixture.stop();
}

fn armed_only() {
    let mut fixture = Fixture::new(&["fsync:eio"]);
    let file = fixture.open("a");
    file.sync_all().unwrap();
    fixture.folder.arm().unwrap();
    assert_fails(file.sync_all(), Errno::IO);
    assert_fails(file.sync_all(), Errno::IO);
    fixture.folder.disarm().unwrap();
    file.sync_all().unwrap();
    drop(file);
    let report = fixture.stop();
    assert_eq!((report.flushes, report.injected_count), (2, 2));
    let counts = &report.by_fault[0];
    assert_eq!((counts.requests, counts.injected), (2, 2));
}

fn ways_to_flush() {
    let fixture = Fixture::armed(&["fsync:eio@3", "fsync:eio@5.."]);
    let file = fixture.open("a");
    file.sync_all().unwrap();
    file.sync_data().unwrap();
    let folder = File::open(fixture.folder.path()).unwrap();
    assert_fails(folder.sync_all(), Errno::IO);
    folder.sync_all().unwrap();
    let mut options = OpenOptions::new();
    let options = options.write(true).custom_flags(nix::libc::O_DSYNC);
    let flushing = options.open(fixture.path("a")).unwrap();
    assert_fails(flushing.write_at(b"text", 0), Errno::IO);
    assert_fails(file.sync_all(), Errno::IO);
    drop((file, folder, flushing));
    let report = fixture.stop();
    assert_eq!((report.flushes, report.writes), (6, 1));
    let came = |index: usize| {
        (
            report.injected[index].request,
            &*report.injected[index].file,
        )
    };
    assert_eq!([came(0), came(1), came(2)], [(3, ""), (5, "a"), (6, "a")]);
}

/// A file whose new content met a flush that failed, and one that did not.
fn twice_flushed(failed_flush: FailedFlush) -> Fixture {
    let mut fixture = Fixture::over(&["fsync:eio@1"], failed_flush, |_| ());
    let file = fixture.open("a");
    file.write_all_at(&[1; 2 * PAGE], 0).unwrap();
    file.sync_all().unwrap();
    fixture.folder.arm().unwrap();
    file.write_all_at(&[2; 3 * PAGE], 0).unwrap();
    assert_fails(file.sync_all(), Errno::IO);
    // The cache has it either way, and the next flush finds nothing amiss.
    assert_eq!(fixture.read("a"), [2; 3 * PAGE]);
    file.sync_all().unwrap();
    assert_eq!(fixture.read("a"), [2; 3 * PAGE]);
    fixture
}

fn dropped_pages() {
    let mut fixture = twice_flushed(FailedFlush::Dropped);
    // What is written again is stored, the whole page.
    let file = fixture.open("a");
    file.write_all_at(&[2], PAGE as u64).unwrap();
    file.sync_all().unwrap();
    drop(file);
    fixture.folder.lose_caches().unwrap();
    let pages = [[1; PAGE], [2; PAGE], [0; PAGE]].concat();
    assert_eq!(fixture.read("a"), pages);
    assert_eq!(fixture.below("a"), pages);
    fixture.stop();
}

fn kept_pages() {
    let mut fixture = twice_flushed(FailedFlush::KeptDirty);
    fixture.folder.lose_power().unwrap();
    assert_eq!(fixture.read("a"), [2; 3 * PAGE]);
    fixture.stop();
    // The control: without the flush that succeeds, they are not stored.
    let faults = ["fsync:eio"];
    let mut fixture = Fixture::over(&faults, FailedFlush::KeptDirty, |backing| {
        fs::write(backing.join("a"), [1; PAGE]).unwrap();
    });
    fixture.folder.arm().unwrap();
    let file = fixture.open("a");
    file.write_all_at(&[2; PAGE], 0).unwrap();
    assert_fails(file.sync_all(), Errno::IO);
    drop(file);
    fixture.folder.lose_power().unwrap();
    assert_eq!(fixture.read("a"), [1; PAGE]);
    fixture.stop();
}

fn lie() {
    // The control tells the truth.
    for (fault, left) in [("fsync:lie", "old"), ("fsync:lie@9", "new")] {
        let mut fixture = Fixture::new(&[fault]);
        let file = fixture.open("a");
        file.write_all_at(b"old", 0).unwrap();
        file.sync_all().unwrap();
        fixture.folder.arm().unwrap();
        file.write_all_at(b"new", 0).unwrap();
        file.sync_all().unwrap();
        drop(file);
        fixture.folder.lose_power().unwrap();
        assert_eq!(fixture.read("a"), left.as_bytes(), "{fault}");
        let lies = u64::from(left == "old");
        assert_eq!(fixture.stop().injected_count, lies);
    }
}

fn failed_write() {
    let fixture = Fixture::armed(&["write:eio@2"]);
    let file = fixture.open("a");
    file.write_all_at(b"first", 0).unwrap();
    assert_fails(file.write_at(b"second", 0), Errno::IO);
    assert_eq!(fixture.below("a"), b"first");
    file.write_all_at(b"third", 5).unwrap();
    assert_eq!(fixture.below("a"), b"firstthird");
    drop(file);
    let report = fixture.stop();
    assert_eq!((report.writes, report.written_bytes), (3, 10));
}

fn short_write() {
    let fixture = Fixture::armed(&["write:short@2"]);
    let file = fixture.open("a");
    file.write_all_at(b"0123456789", 0).unwrap();
    assert_eq!(file.write_at(b"abcdefghij", 0).unwrap(), 5);
    assert_eq!(fixture.below("a"), b"abcde56789");
    file.write_all_at(b"fghij", 5).unwrap();
    drop(file);
    assert_eq!(fixture.read("a"), b"abcdefghij");
    assert_eq!(fixture.stop().written_bytes, 20);
}

fn full_device() {
    const HALF: usize = 8 * PAGE;
    let faults = ["write:enospc@64KiB"];
    let mut fixture = Fixture::over(&faults, FailedFlush::Dropped, |backing| {
        fs::write(backing.join("old"), [1; HALF]).unwrap();
    });
    let root = fixture.folder.path().to_owned();
    let free_bytes = || {
        let found = rustix::fs::statvfs(&root).unwrap();
        found.f_bavail * found.f_frsize
    };
    assert!(free_bytes() > 16 * PAGE as u64);
    fixture.folder.arm().unwrap();
    assert_eq!(free_bytes(), HALF as u64);
    let file = fixture.open("a");
    let mut written = 0;
    let refused = loop {
        match file.write_at(&[2; PAGE], written) {
            Ok(bytes) => written += bytes as u64,
            refused => break refused,
        }
    };
    assert_fails(refused, Errno::NOSPC);
    assert_eq!((written, free_bytes()), (HALF as u64, 0));
    assert_fails(File::create(fixture.path("b")), Errno::NOSPC);
    let more = fallocate(&file, FallocateFlags::empty(), written, PAGE as u64);
    assert_eq!(more, Err(Errno::NOSPC));
    // In place it may be written, and where something was removed.
    file.write_all_at(&[3; HALF], 0).unwrap();
    fs::remove_file(fixture.path("old")).unwrap();
    file.write_all_at(&[3; PAGE], written).unwrap();
    File::create(fixture.path("b")).unwrap();
    drop(file);
    assert_eq!(fixture.below("a"), [3; HALF + PAGE]);
    let report = fixture.stop();
    assert_eq!(report.injected_count, 3);
    assert_eq!(report.injected[0].operation, FaultOperation::Write);
}

fn failed_read() {
    let mut fixture = Fixture::over(&["read:eio"], FailedFlush::Dropped, |backing| {
        fs::create_dir(backing.join("d")).unwrap();
        fs::write(backing.join("d/a"), "text").unwrap();
    });
    fixture.folder.arm().unwrap();
    assert_fails(fs::read(fixture.path("d/a")), Errno::IO);
    fixture.folder.disarm().unwrap();
    assert_eq!(fixture.read("d/a"), b"text");
    let report = fixture.stop();
    let first = &report.injected[0];
    assert_eq!((&*first.file, first.request), ("d/a", 1));
    assert_eq!(first.operation, FaultOperation::Read);
    assert_eq!(first.fault.to_string(), "read:eio");
}

fn flipped_bits() {
    let mut fixture = Fixture::over(&["read:flip"], FailedFlush::Dropped, |backing| {
        fs::write(backing.join("a"), [0; 2 * PAGE]).unwrap();
    });
    fixture.folder.arm().unwrap();
    let read = fixture.read("a");
    fixture.folder.disarm().unwrap();
    assert_eq!(read.len(), 2 * PAGE);
    assert_eq!(fixture.below("a"), [0; 2 * PAGE]);
    // The kernel remembers what it was given.
    fixture.folder.lose_caches().unwrap();
    assert_eq!(fixture.read("a"), [0; 2 * PAGE]);
    let flipped: u32 = read.iter().map(|byte| byte.count_ones()).sum();
    assert!(flipped > 0);
    assert_eq!(fixture.stop().injected_count, u64::from(flipped));
}

/// Does something in a thread of its own, and waits until that waits for the kernel.
fn do_and_wait<T: Send + 'static>(task: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let (begun, has_begun) = channel();
    let run = move || {
        begun.send(rustix::thread::gettid().as_raw_pid()).unwrap();
        task()
    };
    let doing = std::thread::spawn(run);
    let status = format!("/proc/self/task/{}/stat", has_begun.recv().unwrap());
    let is_waiting = || {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let state = status
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next());
        matches!(state, Some('S' | 'D'))
    };
    while !doing.is_finished() && !is_waiting() {
        std::thread::sleep(Duration::from_millis(1));
    }
    doing
}

fn stalled_device() {
    let mut fixture = Fixture::armed(&["any:stall=1h@1"]);
    let file = fixture.open("a");
    let flushing = do_and_wait(move || file.sync_all());
    let missing = fixture.path("missing");
    let looking = do_and_wait(move || missing.exists());
    assert!(!flushing.is_finished() && !looking.is_finished());
    fixture.folder.disarm().unwrap();
    flushing.join().unwrap().unwrap();
    assert!(!looking.join().unwrap());
    fixture.stop();
}

fn stalled_flush() {
    let mut fixture = Fixture::armed(&["fsync:stall=1h@1"]);
    let file = fixture.open("a");
    let other = fixture.open("b");
    let flushing = do_and_wait(move || file.sync_all());
    assert!(!fixture.path("missing").exists());
    other.sync_all().unwrap();
    assert!(!flushing.is_finished());
    fixture.folder.disarm().unwrap();
    flushing.join().unwrap().unwrap();
    drop(other);
    let report = fixture.stop();
    assert_eq!((report.flushes, report.injected_count), (2, 1));
}

fn killed_server() {
    let mut fixture = Fixture::armed(&["any:stall=1h@1"]);
    let file = fixture.open("a");
    let flushing = do_and_wait(move || file.sync_all());
    let server = fixture
        .folder
        .pid()
        .and_then(|pid| Pid::from_raw(pid.try_into().unwrap()));
    kill_process(server.unwrap(), Signal::KILL).unwrap();
    assert!(flushing.join().unwrap().is_err());
    assert!(fixture.folder.disarm().is_err());
    let Fixture { folder, parent } = fixture;
    let said = folder.stop().unwrap_err().to_string();
    assert!(
        said.starts_with("faulty folder: it ended with signal"),
        "{said}"
    );
    assert!(!is_mounted(&parent.path().join("mount")));
}
