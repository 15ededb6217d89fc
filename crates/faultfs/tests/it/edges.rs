//! Calls that a pass-through gets wrong easily.

use crate::replay::describe;
use crate::support::Fixture;
use io_uring::{IoUring, opcode, squeue, types};
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown};

pub const ALL: &[(&str, fn())] = &[
    ("a_file_opened_to_read_is_truncated", truncated_by_reader),
    ("a_directory_gives_its_group", inherited_group),
    ("a_full_disk_takes_a_part_of_a_write", full_disk),
    ("a_ring_writes_and_flushes", ring),
    ("a_random_history_is_recorded", random_history),
];

fn truncated_by_reader() {
    let fixture = Fixture::new();
    fs::write(fixture.path("a"), "text").unwrap();
    let flags = OFlags::RDONLY | OFlags::TRUNC;
    rustix::fs::open(fixture.path("a"), flags, Mode::empty()).unwrap();
    assert_eq!(fs::read(fixture.path("a")).unwrap(), b"");
    let expected = ["create a", "write a 0+4", "truncate a 0"];
    assert_eq!(describe(&fixture.stop()), expected);
}

fn inherited_group() {
    let fixture = Fixture::new();
    let directory = fixture.path("d");
    fs::create_dir(&directory).unwrap();
    chown(&directory, None, Some(34)).unwrap();
    fs::set_permissions(&directory, Permissions::from_mode(0o2775)).unwrap();
    fs::create_dir(directory.join("below")).unwrap();
    File::create(directory.join("below/file")).unwrap();
    let below = fixture.folders.backing.join("d/below");
    let seen = fs::metadata(&below).unwrap();
    assert_eq!((seen.gid(), seen.mode() & 0o7000), (34, 0o2000));
    assert_eq!(fs::metadata(below.join("file")).unwrap().gid(), 34);
    fixture.stop();
}

fn full_disk() {
    let fixture = Fixture::over(|folder| {
        let size = Some(c"size=64k");
        mount("none", folder, "tmpfs", MountFlags::empty(), size).unwrap();
    });
    let (below, file) = (fixture.folders.backing.clone(), fixture.create("a"));
    let data = vec![7; 256 << 10];
    let mut written = 0;
    let refused = loop {
        match file.write_at(&data, written) {
            Ok(bytes) => written += bytes as u64,
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind(), std::io::ErrorKind::StorageFull);
    drop(file);
    // The recording holds what the disk took.
    fixture.stop();
    unmount(&below, UnmountFlags::empty()).unwrap();
    fs::remove_dir_all(below.parent().unwrap()).unwrap();
}

fn ring() {
    let mut ring = match IoUring::new(8) {
        Ok(ring) => ring,
        Err(error) => {
            println!("skipped: io_uring: {error}");
            return;
        }
    };
    let fixture = Fixture::new();
    let file = fixture.create("a");
    let descriptor = types::Fd(file.as_raw_fd());
    let data = [3; 100];
    let write = opcode::Write::new(descriptor, data.as_ptr(), 100).offset(50);
    let flush = opcode::Fsync::new(descriptor).flags(types::FsyncFlags::DATASYNC);
    let linked = write.build().flags(squeue::Flags::IO_LINK);
    for entry in [linked, flush.build()] {
        // SAFETY: the data and the file live until both have completed.
        unsafe { ring.submission().push(&entry) }.unwrap();
    }
    ring.submit_and_wait(2).unwrap();
    let results: Vec<_> = ring.completion().map(|entry| entry.result()).collect();
    assert_eq!(results, [100, 0]);
    drop((ring, file));
    assert_eq!(
        describe(&fixture.stop())[..2],
        ["create a", "write a 50+100"]
    );
}

/// A sequence of numbers that looks random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

fn random_history() {
    let fixture = Fixture::new();
    for directory in ["0", "1"] {
        fs::create_dir(fixture.path(directory)).unwrap();
    }
    let mut numbers = Numbers(20_260_105);
    for _ in 0..4_000 {
        let mut name = || fixture.path(&format!("{}/{}", numbers.below(2), numbers.below(12)));
        let (path, other) = (name(), name());
        let size = numbers.below(40_000);
        let mut options = OpenOptions::new();
        let existing = options.write(true).open(&path);
        // Many calls are refused, as they must be: a name is there, or it is not.
        match numbers.below(10) {
            0 | 1 => drop(fs::rename(&path, &other)),
            2 => drop(fs::remove_file(&path)),
            3 => drop(fs::hard_link(&path, &other)),
            4 => drop(existing.map(|file| file.set_len(size))),
            5 => {
                drop(existing.map(|file| fallocate(file, FallocateFlags::empty(), size, 5_000)));
            }
            _ => {
                let length = usize::try_from(numbers.below(20_000)).unwrap();
                let byte = u8::try_from(numbers.below(256)).unwrap();
                let file = options.create(true).open(&path).unwrap();
                file.write_all_at(&vec![byte; length], size).unwrap();
            }
        }
    }
    assert!(fixture.stop().operations.len() > 2_000);
}
