//! What each call that flushes covers, as seen in a process that is watched.

use crate::replay::describe;
use crate::support::{Fixture, this_program};
use io_uring::{IoUring, opcode, types};
use nix::libc;
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync};
use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io::{IoSlice, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitCode;
use trueput_faultfs::Recording;
use trueput_faultfs::operation::{FlushCause, FlushExtent, Operation};

pub const ALL: &[(&str, fn())] = &[
    ("calls_that_flush_a_file_cover_all_of_it", whole_files),
    ("a_write_that_flushes_covers_what_it_wrote", marked_writes),
    ("msync_covers_the_pages_that_it_names", mapped_pages),
    ("syncfs_and_sync_cover_everything_and_wait", everything),
    ("syncfs_of_another_file_system_covers_nothing", elsewhere),
    ("sync_file_range_covers_nothing", ranges_written),
    ("a_flush_by_io_uring_has_no_known_range", rings),
    ("what_a_watched_process_starts_is_watched", descendants),
    ("another_process_is_not_watched", strangers),
];

const PAGE: usize = 4096;

/// Lets a watched process flush in some way, and returns the recording.
fn record(way: &str) -> Recording {
    let fixture = Fixture::new();
    let mut command = this_program(&["flush".as_ref(), way.as_ref(), fixture.mount.path()]);
    fixture.mount.watch(&mut command);
    assert!(command.status().unwrap().success(), "{way}");
    let recording = fixture.stop();
    assert!(recording.watch.listens, "{:?}", recording.watch);
    recording
}

/// Does what [`record`] records.
pub fn flush(way: &str, folder: &Path) -> ExitCode {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let file = options.open(folder.join("a")).unwrap();
    match way {
        "whole" => {
            file.sync_all().unwrap();
            file.sync_data().unwrap();
            File::open(folder).unwrap().sync_all().unwrap();
        }
        "marked" => marked(&file, folder),
        "mapped" => {
            let map = MappedPages::of(&file, 3);
            map.store(0);
            map.store(1);
            map.flush(1, MsyncFlags::ASYNC);
            map.flush(1, MsyncFlags::SYNC);
        }
        "everything" => {
            let map = MappedPages::of(&file, 3);
            map.store(2);
            // SAFETY: the call takes a number only.
            assert_eq!(unsafe { libc::syncfs(file.as_raw_fd()) }, 0);
            map.store(1);
            // SAFETY: the call takes nothing.
            unsafe { libc::sync() };
        }
        "elsewhere" => {
            let elsewhere = File::open("/proc").unwrap();
            // SAFETY: the call takes a number only.
            assert_eq!(unsafe { libc::syncfs(elsewhere.as_raw_fd()) }, 0);
        }
        "range" => {
            let map = MappedPages::of(&file, 3);
            map.store(1);
            let how = libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
            let (at, length) = (PAGE as i64, PAGE as i64);
            // SAFETY: the call takes numbers only.
            let written = unsafe { libc::sync_file_range(file.as_raw_fd(), at, length, how) };
            assert_eq!(written, 0);
        }
        "ring" => {
            let mut ring = IoUring::new(2).unwrap();
            let flush = opcode::Fsync::new(types::Fd(file.as_raw_fd()));
            let flush = flush.flags(types::FsyncFlags::DATASYNC).build();
            // SAFETY: the file stays open until the flush is done.
            unsafe { ring.submission().push(&flush).unwrap() };
            ring.submit_and_wait(1).unwrap();
            assert_eq!(ring.completion().next().unwrap().result(), 0);
        }
        "child" => {
            let mut child = this_program(&["flush".as_ref(), "whole".as_ref(), folder]);
            assert!(child.uid(0).status().unwrap().success());
        }
        other => panic!("{other}"),
    }
    ExitCode::SUCCESS
}

fn marked(file: &File, folder: &Path) {
    file.write_all_at(&[1; 3 * PAGE], 0).unwrap();
    let mut options = OpenOptions::new();
    let options = options.write(true).custom_flags(libc::O_DSYNC);
    let mut flushing = options.open(folder.join("a")).unwrap();
    flushing.write_all(b"x").unwrap();
    let part = [IoSlice::new(b"yz")];
    // SAFETY: the slice describes two bytes, which live until the call returns.
    let written = unsafe {
        let parts = part.as_ptr().cast::<libc::iovec>();
        libc::pwritev2(file.as_raw_fd(), parts, 1, PAGE as i64, libc::RWF_DSYNC)
    };
    assert_eq!(written, 2);
}

/// Pages of a file that are mapped until the process ends.
struct MappedPages {
    at: *mut u8,
}

impl MappedPages {
    fn of(file: &File, pages: usize) -> Self {
        file.set_len((pages * PAGE) as u64).unwrap();
        let both = ProtFlags::READ | ProtFlags::WRITE;
        let nowhere = std::ptr::null_mut();
        // SAFETY: a new mapping, of a file that nobody shortens.
        let at = unsafe { mmap(nowhere, pages * PAGE, both, MapFlags::SHARED, file, 0) };
        Self {
            at: at.unwrap().cast(),
        }
    }

    fn store(&self, page: usize) {
        // SAFETY: the page is mapped, and this thread alone uses it.
        unsafe { self.at.add(page * PAGE).write_volatile(7) };
    }

    fn flush(&self, page: usize, how: MsyncFlags) {
        // SAFETY: the page is mapped.
        unsafe { msync(self.at.add(page * PAGE).cast::<c_void>(), PAGE, how) }.unwrap();
    }
}

fn whole_files() {
    let expected = ["create a", "fsync a", "fdatasync a", "fsync directory /"];
    assert_eq!(describe(&record("whole")), expected);
}

fn marked_writes() {
    let expected = [
        "write a 0+1",
        "fdatasync a 0..1",
        "write a 4096+2",
        "fdatasync a 4096..4098",
    ];
    let described = describe(&record("marked"));
    // The kernel may split the write before, where a page of its data is not in memory yet.
    let (before, marked) = described.split_at(described.len() - expected.len());
    assert_eq!(marked, expected);
    assert_eq!(before[0], "create a");
    assert!(before[1..].iter().all(|it| it.starts_with("write a ")));
}

fn mapped_pages() {
    let expected = [
        "create a",
        "truncate a 12288",
        "write back a 4096+4096",
        "fdatasync a 4096..8192",
        "write back a 0+4096",
    ];
    assert_eq!(describe(&record("mapped")), expected);
}

fn everything() {
    let recording = record("everything");
    let expected = [
        "create a",
        "truncate a 12288",
        "write back a 8192+4096",
        "flush all",
        "write back a 4096+4096",
        "flush all",
    ];
    assert_eq!(describe(&recording), expected);
    // What was stored before the call is written while it lasts.
    let last = recording.operations.len() - 1;
    let Operation::FlushAll { began } = recording.operations[last].operation else {
        panic!("{recording:?}");
    };
    assert_eq!(began, last - 1);
}

fn elsewhere() {
    assert_eq!(describe(&record("elsewhere")), ["create a"]);
}

fn ranges_written() {
    let recording = record("range");
    let expected = ["create a", "truncate a 12288", "write back a 4096+4096"];
    assert_eq!(describe(&recording), expected);
    assert_eq!(recording.watch.sync_file_range, 1);
}

fn rings() {
    if let Err(error) = IoUring::new(2) {
        println!("not tested: io_uring: {error}");
        return;
    }
    let recording = record("ring");
    assert!(recording.watch.io_uring);
    let last = recording.operations.last().map(|last| &last.operation);
    let Some(Operation::Flush { extent, cause, .. }) = last else {
        panic!("{recording:?}");
    };
    assert_eq!(*extent, FlushExtent::Unknown);
    assert_eq!(*cause, FlushCause::IoUring);
}

fn descendants() {
    let expected = ["create a", "fsync a", "fdatasync a", "fsync directory /"];
    assert_eq!(describe(&record("child")), expected);
}

/// A process that was not started through the watch: what it flushes is not known.
fn strangers() {
    let fixture = Fixture::new();
    let mut command = this_program(&["flush".as_ref(), "elsewhere".as_ref(), "/tmp".as_ref()]);
    fixture.mount.watch(&mut command);
    assert!(command.status().unwrap().success());
    fixture.create("a").sync_all().unwrap();
    let expected = ["create a", "fsync a of what?"];
    assert_eq!(describe(&fixture.stop()), expected);
}
