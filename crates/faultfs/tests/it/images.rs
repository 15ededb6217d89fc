//! An image on modeled storage takes the time of its model, and holds what is written to it.

use crate::support::{is_mounted, server_of, this_program};
use rustix::fs::FallocateFlags;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Signal, kill_process};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trueput_faultfs::modelled_folder::serve_modelled_folder;
use trueput_faultfs::modelled_image::{ImageFolders, SERVER_COMMAND, ServedImage, serve_image};
use trueput_faultfs::mount::MountError;
use trueput_faultfs::named_model::find_model;
use trueput_faultfs::storage_model::{FlushTime, ModelSource, ServiceTime, StorageModel};
use trueput_host::mount_namespace::{enter_private, mount_memory};
use trueput_host::trial_file_system::with_loop_device;
use trueput_record::service_report::ServiceReport;
use trueput_record::storage_model::is_in_folder;

pub const ALL: &[(&str, fn())] = &[
    ("what_is_written_is_in_the_image", written_bytes),
    ("a_discarded_part_of_an_image_is_a_hole", discard),
    ("flushes_take_the_time_of_the_model", flushes),
    ("as_many_reads_as_a_model_allows_overlap", parallel_reads),
    (
        "a_killed_server_fails_its_clients_and_leaves_nothing",
        killed,
    ),
    ("a_stopped_server_keeps_nobody_waiting", stopped),
    (
        "an_image_in_use_stays_mounted_until_it_is_free",
        image_in_use,
    ),
    ("a_model_faster_than_its_server_is_refused", fast_model),
    (
        "the_way_through_a_loop_device_is_measured_and_leaves_nothing",
        way_through_loop,
    ),
    (
        "without_fuse_nothing_is_served_and_the_reason_is_told",
        no_fuse,
    ),
];

const SIZE: u64 = 64 << 20;

/// The file of the report, in the folder of a test.
pub const REPORT: &str = "reports/data.json";

const BLOCK: usize = 4096;

/// Serves an image or a folder as the command line of this test's program says.
pub fn serve(paths: &[&str], size: &str, model: &str, seed: &str) -> ExitCode {
    let [backing, mount_point, report] = paths else {
        return ExitCode::FAILURE;
    };
    let folders = ImageFolders {
        backing: backing.into(),
        mount_point: mount_point.into(),
        report: report.into(),
        size_bytes: size.parse().unwrap(),
        model: find_model(model).unwrap(),
        seed: seed.parse().unwrap(),
    };
    let served = if is_in_folder(Some(model)) {
        serve_modelled_folder(&folders)
    } else {
        serve_image(&folders)
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A device without spread.
fn device(parallelism: u32, read_us: f64, write_us: f64, flush_us: f64) -> StorageModel {
    let time = |base_us| ServiceTime {
        base_us,
        p99_us: base_us,
        bandwidth_mib_per_s: 100_000.0,
    };
    StorageModel {
        name: "test".to_owned(),
        about: "a device of this test".to_owned(),
        parallelism,
        sources: vec![ModelSource {
            text: "made up".to_owned(),
            address: "none: it is a test".to_owned(),
        }],
        read: time(read_us),
        write: time(write_us),
        flush: FlushTime {
            base_us: flush_us,
            p99_us: flush_us,
        },
        disk: None,
        write_cache: None,
        limits: None,
    }
}

/// An image that is served, without delays at first.
struct Fixture {
    image: ServedImage,
    folder: TempDir,
}

impl Fixture {
    fn new(model: &StorageModel) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let image = start(folder.path(), model).unwrap();
        Self { image, folder }
    }

    fn delayed(model: &StorageModel) -> Self {
        let mut fixture = Self::new(model);
        fixture.image.set_delayed(true).unwrap();
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self) -> File {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true);
        options.open(self.image.image()).unwrap()
    }

    /// Ends the server, which says what it did.
    fn stop(self) -> ServiceReport {
        self.image.stop().unwrap();
        assert!(!is_mounted(&self.folder.path().join("mount")));
        ServiceReport::read(self.folder.path(), REPORT.as_ref()).unwrap()
    }
}

fn start(folder: &Path, model: &StorageModel) -> Result<ServedImage, MountError> {
    let [backing, mount_point, report, file] =
        ["data.img", "mount", REPORT, "model.toml"].map(|name| folder.join(name));
    std::fs::create_dir(&mount_point).unwrap();
    std::fs::write(&file, toml::to_string(model).unwrap()).unwrap();
    let mut command = this_program(&[SERVER_COMMAND.as_ref(), &backing, &mount_point, &report]);
    command.arg(SIZE.to_string()).arg(&file).arg("1");
    ServedImage::start(command, &mount_point)
}

fn written_bytes() {
    let fixture = Fixture::new(&device(1, 1_000.0, 100.0, 5_000.0));
    let (file, position) = (fixture.open(), 3 * BLOCK as u64 + 5);
    file.write_all_at(b"text", position).unwrap();
    file.sync_all().unwrap();
    let backing = File::open(fixture.path("data.img")).unwrap();
    let [mut served, mut stored] = [[0; 8]; 2];
    file.read_exact_at(&mut served, position - 2).unwrap();
    backing.read_exact_at(&mut stored, position - 2).unwrap();
    assert_eq!(&served, b"\0\0text\0\0");
    assert_eq!(stored, served);
    let sizes = [&file, &backing].map(|file| file.metadata().unwrap().len());
    assert_eq!(sizes, [SIZE; 2]);
    let full = file.write_at(b"more", SIZE - 2).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    assert!(File::create(fixture.image.image().with_file_name("other")).is_err());
    drop(file);
    fixture.stop();
}

fn discard() {
    let fixture = Fixture::delayed(&device(1, 1_000.0, 100.0, 5_000.0));
    let file = fixture.open();
    let bytes = vec![7; 1 << 20];
    file.write_all_at(&bytes, 0).unwrap();
    let stored = || {
        std::fs::metadata(fixture.path("data.img"))
            .unwrap()
            .blocks()
            * 512
    };
    let before = stored();
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, punch, 0, bytes.len() as u64).unwrap();
    assert!(stored() < before, "{} of {before}", stored());
    let mut found = vec![7; BLOCK];
    file.read_exact_at(&mut found, 0).unwrap();
    assert!(found.iter().all(|byte| *byte == 0));
    drop(file);
    let report = fixture.stop();
    assert_eq!(
        (report.discards.requests, report.discards.bytes),
        (1, 1 << 20)
    );
    assert_eq!(report.writes.bytes, 1 << 20);
}

/// Flushes a hundred times, and returns how long that takes.
fn time_of_flushes(file: &File) -> Duration {
    let began = Instant::now();
    (0..100).for_each(|_| file.sync_data().unwrap());
    began.elapsed()
}

fn flushes() {
    let mut fixture = Fixture::new(&device(1, 1_000.0, 100.0, 5_000.0));
    let file = fixture.open();
    let modeled = Duration::from_millis(500);
    // The controls: before the delays and after them.
    assert!(time_of_flushes(&file) < modeled / 2);
    fixture.image.set_delayed(true).unwrap();
    let delayed = time_of_flushes(&file);
    fixture.image.set_delayed(false).unwrap();
    assert!(time_of_flushes(&file) < modeled / 2);
    drop(file);
    let report = fixture.stop();
    let (flushes, own) = (report.flushes, &report.own_cost);
    assert_eq!((flushes.requests, flushes.bytes), (100, 0));
    assert_eq!((report.reads.requests, report.writes.requests), (0, 0));
    // The time on the way that is counted as modeled time was measured before: it may be shorter.
    let on_the_way = Duration::from_nanos(100 * own.transport().flush_ns);
    let shortest = modeled.saturating_sub(on_the_way);
    assert!(delayed >= shortest, "{delayed:?}: {report:?}");
    // What came on top is the server's lateness and the rest of its cost.
    let late = Duration::from_nanos(100 * (flushes.late_max_ns + own.flush.p99_ns));
    assert!(
        delayed <= modeled + late + modeled / 2,
        "{delayed:?}: {report:?}"
    );
    assert!(flushes.late_median_ns > 0 && flushes.late_p99_ns >= flushes.late_median_ns);
    assert!(own.flush.median_ns > 0 && own.transport().flush_ns > 0);
    assert_eq!(own.by_size.len(), 9);
    // Each of them had its time of the model.
    let modeled_ns = Duration::from_nanos(flushes.modeled_ns);
    assert!(modeled_ns > modeled.mul_f64(0.9), "{report:?}");
    assert_eq!(report.model, "test");
}

/// Reads eight blocks at once, and returns how long that takes.
fn time_of_reads(parallelism: u32, read: Duration) -> Duration {
    let read_us = read.as_secs_f64() * 1e6;
    let fixture = Fixture::delayed(&device(parallelism, read_us, 100.0, 5_000.0));
    let file = fixture.open();
    let began = Instant::now();
    std::thread::scope(|scope| {
        for reader in 0..8 {
            let file = &file;
            scope.spawn(move || {
                let position = reader * BLOCK as u64;
                file.read_exact_at(&mut [0; BLOCK], position).unwrap();
            });
        }
    });
    let took = began.elapsed();
    drop(file);
    assert_eq!(fixture.stop().reads.requests, 8);
    took
}

fn parallel_reads() {
    let read = Duration::from_millis(100);
    let almost = read.mul_f64(0.99);
    let [one, two, eight] = [1, 2, 8].map(|parallelism| time_of_reads(parallelism, read));
    assert!(eight >= almost && eight < almost * 3, "{eight:?}");
    assert!(two >= almost * 4 && two < almost * 7, "{two:?}");
    assert!(one >= almost * 8, "{one:?}");
}

fn killed() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join(REPORT);
    // An earlier attempt at the trial has left one.
    std::fs::create_dir(report.parent().unwrap()).unwrap();
    std::fs::write(&report, "{}").unwrap();
    let image = start(folder.path(), &device(1, 1_000.0, 100.0, 5_000.0)).unwrap();
    let mut fixture = Fixture { image, folder };
    fixture.image.set_delayed(true).unwrap();
    let (file, mount_point) = (fixture.open(), fixture.path("mount"));
    file.read_exact_at(&mut [0; BLOCK], 0).unwrap();
    assert!(!fixture.image.has_ended());
    kill_process(server_of(&mount_point).unwrap(), Signal::KILL).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while server_of(&mount_point).is_some() {
        assert!(Instant::now() < until, "it lives");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(file.read_exact_at(&mut [0; BLOCK], 0).is_err());
    assert!(file.sync_data().is_err());
    drop(file);
    assert!(fixture.image.has_ended());
    assert!(fixture.image.set_delayed(false).is_err());
    let Fixture { image, folder } = fixture;
    let said = image.stop().unwrap_err().to_string();
    assert!(
        said.starts_with("modeled storage: it ended with signal"),
        "{said}"
    );
    assert!(!is_mounted(&mount_point));
    assert!(!report.exists(), "{}", folder.path().display());
}

fn stopped() {
    let Fixture { mut image, folder } = Fixture::new(&device(1, 1_000.0, 100.0, 5_000.0));
    let mount_point = folder.path().join("mount");
    let file = File::open(image.image()).unwrap();
    kill_process(server_of(&mount_point).unwrap(), Signal::STOP).unwrap();
    let said = image.set_delayed(true).unwrap_err().to_string();
    assert!(said.contains("no answer within"), "{said}");
    assert!(file.read_exact_at(&mut [0; BLOCK], 0).is_err());
    drop(file);
    let began = Instant::now();
    let said = image.stop().unwrap_err().to_string();
    assert!(said.contains("it ended with signal"), "{said}");
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "it is waited for"
    );
    assert!(!is_mounted(&mount_point));
}

fn image_in_use() {
    let Fixture { image, folder } = Fixture::new(&device(1, 1_000.0, 100.0, 5_000.0));
    let path = image.image();
    let file = File::open(&path).unwrap();
    let said = image.stop().unwrap_err().to_string();
    assert!(said.contains("busy"), "{said}");
    let mount_point = path.parent().unwrap();
    // Whoever removes what is above it still finds it by its path.
    assert!(is_mounted(mount_point));
    assert!(file.read_exact_at(&mut [0; BLOCK], 0).is_err());
    assert!(unmount(mount_point, UnmountFlags::empty()).is_err());
    drop(file);
    unmount(mount_point, UnmountFlags::empty()).unwrap();
    assert!(!is_mounted(mount_point));
    assert!(ServiceReport::read(folder.path(), REPORT.as_ref()).is_ok());
}

/// Returns the loop devices that are attached to a file.
fn loop_devices(file: &Path) -> Vec<PathBuf> {
    let devices = std::fs::read_dir("/sys/block").unwrap().flatten();
    let devices = devices.map(|device| device.path().join("loop/backing_file"));
    let is_on = |device: &PathBuf| {
        let attached = std::fs::read_to_string(device).unwrap_or_default();
        Path::new(attached.trim_end()) == file
    };
    devices.filter(is_on).collect()
}

fn way_through_loop() {
    let folder = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
    let backing = folder.path().join("data.img");
    std::fs::write(&backing, &data).unwrap();
    let image = start(folder.path(), &device(1, 1_000.0, 1_000.0, 5_000.0)).unwrap();
    let path = image.image().canonicalize().unwrap();
    assert_eq!(loop_devices(&path), [] as [PathBuf; 0]);
    // The control: one that is attached is found.
    let attached = with_loop_device(&path, |_| loop_devices(&path).len()).unwrap();
    assert!(attached.is_none_or(|count| count == 1), "{attached:?}");
    assert_eq!(loop_devices(&path), [] as [PathBuf; 0]);
    assert!(std::fs::read(&backing).unwrap() == data, "bytes changed");
    let report = Fixture { image, folder }.stop();
    // What was measured is no request of a client.
    let requests = [report.reads, report.writes, report.flushes].map(|it| it.requests);
    assert_eq!(requests, [0; 3]);
    let own = report.own_cost;
    assert_eq!(own.by_size.len(), 9);
    assert_eq!(own.through_loop.is_some(), attached.is_some());
    let Some(cost) = own.through_loop else {
        println!("skipped: there is no loop device");
        return;
    };
    let trips = own.client_trips();
    assert!(trips.iter().all(|trip| trip.lowest_tenth_ns > 0));
    // Each kind came through the device to the server: it took longer than the server waited.
    let way = cost.transport;
    assert!(
        [way.read_ns, way.write_ns, way.flush_ns]
            .iter()
            .all(|ns| *ns > 0),
        "{cost:?}"
    );
}

fn fast_model() {
    let folder = tempfile::tempdir().unwrap();
    let said = start(folder.path(), &device(1, 1.0, 0.001, 0.001)).unwrap_err();
    let said = said.to_string();
    assert!(said.contains("never speed it up"), "{said}");
    assert!(
        said.starts_with("modeled storage: it cannot be mounted: "),
        "{said}"
    );
    assert!(!is_mounted(&folder.path().join("mount")));
}

fn no_fuse() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = this_program(&["start-without-fuse".as_ref(), folder.path()]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        said.contains("/dev/fuse: No such file") && said.contains("modprobe fuse"),
        "{said}"
    );
}

/// Starts a server where there is no `/dev/fuse`, and prints why that fails.
pub fn start_without_fuse(folder: &Path) -> ExitCode {
    enter_private().unwrap();
    mount_memory(Path::new("/dev")).unwrap();
    match ServedImage::start(Command::new("true"), folder) {
        Err(error @ MountError::NoFuse(_)) => {
            println!("{error}");
            ExitCode::SUCCESS
        }
        other => {
            eprintln!("{other:?}");
            ExitCode::FAILURE
        }
    }
}
