//! A folder on modeled storage holds what is written to it, and takes the time of its model where a
//! file system would ask its device.

use crate::images::REPORT;
use crate::support::{is_mounted, this_program};
use nix::libc;
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trueput_faultfs::modelled_image::{SERVER_COMMAND, ServedImage};
use trueput_host::page_buffer::PageBuffer;
use trueput_record::service_report::ServiceReport;

pub const ALL: &[(&str, fn())] = &[
    (
        "a_flush_of_a_folder_takes_the_time_of_its_model_and_a_write_takes_none",
        flushes,
    ),
    ("a_folder_commits_what_is_new_with_a_flush_more", commits),
    (
        "a_folder_reads_what_the_page_cache_has_not_from_its_device",
        reads,
    ),
    ("a_folder_passes_direct_writes_to_its_device", direct_writes),
];

/// A disk on which each write takes its turn of the platter, in its folder form.
const MODEL: &str = "folder:hdd-7200-no-cache";

const BLOCK: usize = 4096;

/// A folder that is served, without delays at first.
struct Fixture {
    folder: ServedImage,
    parent: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let parent = tempfile::tempdir().unwrap();
        let [backing, mount_point, report] =
            ["backing", "mount", REPORT].map(|name| parent.path().join(name));
        fs::create_dir(&backing).unwrap();
        fs::create_dir(&mount_point).unwrap();
        let mut command = this_program(&[SERVER_COMMAND.as_ref(), &backing, &mount_point, &report]);
        command.arg((1_u64 << 30).to_string()).arg(MODEL).arg("1");
        let folder = ServedImage::start(command, &mount_point).unwrap();
        Self { folder, parent }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.parent.path().join(name)
    }

    /// Creates a file with a block that is flushed, before the delays begin.
    fn delayed_file(&mut self) -> File {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create_new(true);
        let file = options.open(self.path("mount/a")).unwrap();
        file.write_all_at(&[1; BLOCK], 0).unwrap();
        file.sync_all().unwrap();
        self.folder.set_delayed(true).unwrap();
        file
    }

    /// Ends the server, which says what it did.
    fn stop(self) -> ServiceReport {
        self.folder.stop().unwrap();
        assert!(!is_mounted(&self.parent.path().join("mount")));
        ServiceReport::read(self.parent.path(), REPORT.as_ref()).unwrap()
    }
}

/// Writes a block so many times, and flushes it after each if `flushes` says so. Returns how long
/// that takes.
fn time_of_writes(file: &File, times: u8, flushes: bool) -> Duration {
    let began = Instant::now();
    for time in 0..times {
        file.write_all_at(&[time; BLOCK], 0).unwrap();
        if flushes {
            file.sync_data().unwrap();
        }
    }
    began.elapsed()
}

fn flushes() {
    let mut fixture = Fixture::new();
    let file = fixture.delayed_file();
    let flushed = time_of_writes(&file, 20, true);
    // The controls: writes alone, and flushes after the delays.
    let unflushed = time_of_writes(&file, 20, false);
    fixture.folder.set_delayed(false).unwrap();
    let after = time_of_writes(&file, 20, true);
    assert_eq!(fs::read(fixture.path("backing/a")).unwrap(), [19; BLOCK]);
    let names = fs::read_dir(fixture.path("backing")).unwrap();
    assert_eq!(names.count(), 1, "the server left a file of its own");
    drop(file);
    let report = fixture.stop();
    let (writes, flushes, own) = (report.writes, report.flushes, &report.own_cost);
    assert_eq!((writes.requests, flushes.requests), (20, 20));
    assert_eq!(writes.bytes, 20 * BLOCK as u64);
    // The flushes have the replies.
    assert_eq!((writes.replies(), flushes.replies()), (0, 20));
    // A turn takes 8.33 ms, and whoever writes the same block again waits for the whole of one.
    let modeled = Duration::from_nanos(flushes.modeled_ns);
    assert!(modeled > Duration::from_millis(20 * 4), "{report:?}");
    let on_the_way = Duration::from_nanos(20 * own.transport().flush_ns);
    assert!(flushed >= modeled.saturating_sub(on_the_way), "{flushed:?}");
    assert!(unflushed < flushed / 2, "{unflushed:?} of {flushed:?}");
    assert!(after < flushed / 2, "{after:?} of {flushed:?}");
    assert!(own.through_loop.is_none() && own.by_size.len() == 9);
}

fn commits() {
    let mut fixture = Fixture::new();
    let file = fixture.delayed_file();
    file.write_all_at(&[2; BLOCK], BLOCK as u64).unwrap();
    file.sync_data().unwrap();
    File::open(fixture.path("mount"))
        .unwrap()
        .sync_all()
        .unwrap();
    drop(file);
    let report = fixture.stop();
    // The block, a commit because the file is longer, and one of the directory.
    assert_eq!((report.writes.requests, report.flushes.requests), (3, 3));
}

fn reads() {
    let mut fixture = Fixture::new();
    let file = fixture.delayed_file();
    let mut found = [0; BLOCK];
    file.read_exact_at(&mut found, 0).unwrap();
    // A page that is not on the kernel's lists yet survives the first time.
    (0..3).for_each(|_| fadvise(&file, 0, None, Advice::DontNeed).unwrap());
    file.read_exact_at(&mut found, 0).unwrap();
    assert_eq!(found, [1; BLOCK]);
    drop(file);
    let report = fixture.stop();
    // The first one was of the page cache.
    assert_eq!(
        (report.reads.requests, report.reads.bytes),
        (1, BLOCK as u64)
    );
    assert!(report.reads.modeled_ns > 0);
}

fn direct_writes() {
    let mut fixture = Fixture::new();
    drop(fixture.delayed_file());
    let mut options = OpenOptions::new();
    let options = options.write(true).custom_flags(libc::O_DIRECT);
    let file = options.open(fixture.path("mount/a")).unwrap();
    file.write_all_at(PageBuffer::zeroed(BLOCK).bytes(), 0)
        .unwrap();
    assert_eq!(fs::read(fixture.path("backing/a")).unwrap(), [0; BLOCK]);
    drop(file);
    let report = fixture.stop();
    assert_eq!((report.writes.requests, report.flushes.requests), (1, 0));
    assert_eq!(report.writes.replies(), 1);
    assert!(report.writes.modeled_ns > 0, "{report:?}");
}
