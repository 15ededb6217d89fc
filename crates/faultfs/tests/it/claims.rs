//! The log holds each change in the order of effect, and replayed it gives the folder below.

use crate::replay::describe;
use crate::support::{Fixture, this_program};
use rustix::fs::{CWD, FallocateFlags, OFlags, RenameFlags, SeekFrom};
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{
    DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink,
};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// `O_DSYNC` of Linux: rustix 1.1 has the value of `O_SYNC` under this name.
const DSYNC: u32 = 0x1000;

pub const ALL: &[(&str, fn())] = &[
    ("data_are_recorded_in_order", data),
    ("names_are_recorded_in_order", names),
    ("access_is_recorded", access),
    ("allocations_are_recorded_and_holes_refused", allocations),
    ("each_kind_of_flush_is_recorded", flushes),
    ("mapped_stores_are_recorded", mapped_stores),
    ("a_sparse_file_stays_sparse", sparse_file),
    ("a_directory_holds_two_thousand_entries", large_directory),
    ("two_processes_write_at_once", two_processes),
    ("files_from_before_are_the_base", files_from_before),
    ("another_user_writes_into_its_own_folder", another_user),
    ("an_unlinked_file_lives_while_it_is_open", unlinked_file),
    ("an_operation_carries_its_phase", phases),
];

fn data() {
    let fixture = Fixture::new();
    fixture.create("a").write_all(b"hello").unwrap();
    let path = fixture.path("a");
    let mut appended = OpenOptions::new().append(true).open(&path).unwrap();
    appended.write_all(b", world").unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"J", 0).unwrap();
    file.set_len(8).unwrap();
    appended.write_all(b"!").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"Jello, w!");
    assert_eq!(
        fs::read(fixture.folders.backing.join("a")).unwrap(),
        b"Jello, w!"
    );
    File::create(&path).unwrap().write_all(b"new").unwrap();
    let recording = fixture.stop();
    let expected = [
        "create a",
        "write a 0+5",
        "write a 5+7",
        "write a 0+1",
        "truncate a 8",
        "write a 8+1",
        "truncate a 0",
        "write a 0+3",
    ];
    assert_eq!(describe(&recording), expected);
    let written: Vec<_> = recording
        .operations
        .iter()
        .map(|logged| &logged.operation)
        .collect();
    let written: Vec<u8> = written
        .iter()
        .flat_map(|one| recording.data(one))
        .copied()
        .collect();
    assert_eq!(written, b"hello, worldJ!new");
}

fn names() {
    let fixture = Fixture::new();
    let path = |name| fixture.path(name);
    for name in ["a", "b", "c"] {
        fixture.create(name).write_all(name.as_bytes()).unwrap();
    }
    fs::rename(path("b"), path("a")).unwrap();
    rustix::fs::renameat_with(CWD, path("a"), CWD, path("c"), RenameFlags::EXCHANGE).unwrap();
    assert_eq!(fs::read(path("a")).unwrap(), b"c");
    let occupied = RenameFlags::NOREPLACE;
    let refused = rustix::fs::renameat_with(CWD, path("a"), CWD, path("c"), occupied);
    assert_eq!(refused, Err(rustix::io::Errno::EXIST));
    let hidden = RenameFlags::WHITEOUT;
    assert!(rustix::fs::renameat_with(CWD, path("a"), CWD, path("x"), hidden).is_err());
    fs::hard_link(path("c"), path("d")).unwrap();
    assert_eq!(path("d").metadata().unwrap().nlink(), 2);
    // Both names are of one file: nothing changes.
    fs::rename(path("c"), path("d")).unwrap();
    fs::remove_file(path("c")).unwrap();
    fs::create_dir(path("e")).unwrap();
    symlink("../d", path("e/f")).unwrap();
    assert_eq!(fs::read(path("e/f")).unwrap(), b"b");
    fs::rename(path("d"), path("e/d")).unwrap();
    fs::create_dir(path("g")).unwrap();
    assert!(fs::remove_dir(path("e")).is_err());
    fs::remove_dir(path("g")).unwrap();
    fs::rename(path("e"), path("h")).unwrap();
    let expected = [
        "create a",
        "write a 0+1",
        "create b",
        "write b 0+1",
        "create c",
        "write c 0+1",
        "rename b to a over a",
        "exchange a to c over c",
        "link d of b",
        "unlink c",
        "mkdir e",
        "symlink f to ../d",
        "rename d to d over nothing",
        "mkdir g",
        "rmdir g",
        "rename e to h over nothing",
    ];
    assert_eq!(describe(&fixture.stop()), expected);
}

fn access() {
    let fixture = Fixture::new();
    fixture.create("a");
    let path = fixture.path("a");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    chown(&path, Some(65534), None).unwrap();
    assert_eq!(path.metadata().unwrap().uid(), 65534);
    let mut folder = fs::DirBuilder::new();
    folder.mode(0o1777).create(fixture.path("b")).unwrap();
    let expected = ["create a", "chmod a 640", "chmod a 640", "mkdir b"];
    assert_eq!(describe(&fixture.stop()), expected);
}

fn allocations() {
    let fixture = Fixture::new();
    let file = fixture.create("a");
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, 8192).unwrap();
    rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 8192, 4096).unwrap();
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let unsupported = Err(rustix::io::Errno::OPNOTSUPP);
    assert_eq!(rustix::fs::fallocate(&file, hole, 0, 4096), unsupported);
    let zeros = FallocateFlags::ZERO_RANGE;
    assert_eq!(rustix::fs::fallocate(&file, zeros, 0, 4096), unsupported);
    // The kernel must not remember the refusal for the modes that work.
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 4096, 8192).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 12288);
    let expected = [
        "create a",
        "grow a 0+8192",
        "allocate a 8192+4096",
        "grow a 4096+8192",
    ];
    assert_eq!(describe(&fixture.stop()), expected);
}

fn flushes() {
    let fixture = Fixture::new();
    let file = fixture.create("a");
    file.sync_all().unwrap();
    file.sync_data().unwrap();
    let open = |flags: u32| {
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(flags.cast_signed());
        options.open(fixture.path("a")).unwrap()
    };
    open(DSYNC).write_all(b"data").unwrap();
    open(OFlags::SYNC.bits()).write_all(b"all").unwrap();
    File::open(fixture.mount.path())
        .unwrap()
        .sync_all()
        .unwrap();
    fs::create_dir(fixture.path("b")).unwrap();
    File::open(fixture.path("b")).unwrap().sync_data().unwrap();
    let expected = [
        "create a",
        "fsync a",
        "fdatasync a of what?",
        "write a 0+4",
        "fdatasync a 0..4",
        "write a 0+3",
        "fsync a 0..3",
        "fsync directory /",
        "mkdir b",
        "fsync directory b",
    ];
    assert_eq!(describe(&fixture.stop()), expected);
}

fn mapped_stores() {
    const BYTES: usize = 3 * 4096;
    let fixture = Fixture::new();
    let file = fixture.create("a");
    file.set_len(BYTES as u64 - 100).unwrap();
    // SAFETY: a new mapping, of a file that this test alone uses and does not shorten.
    unsafe {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        let nowhere = std::ptr::null_mut();
        let map = rustix::mm::mmap(nowhere, BYTES, both, MapFlags::SHARED, &file, 0).unwrap();
        let map = map.cast::<u8>();
        map.add(5000).write(7);
        rustix::mm::msync(map.cast(), BYTES, MsyncFlags::SYNC).unwrap();
        map.add(BYTES - 101).write(8);
        map.add(BYTES - 50).write(9);
        // It is written back without a flush when the mapping and the file are closed.
        rustix::mm::munmap(map.cast(), BYTES).unwrap();
    }
    drop(file);
    let bytes = fs::read(fixture.path("a")).unwrap();
    assert_eq!((bytes[5000], bytes[BYTES - 101]), (7, 8));
    let expected = [
        "create a",
        "truncate a 12188",
        "write back a 4096+4096",
        "fdatasync a of what?",
        "write back a 8192+3996",
    ];
    assert_eq!(describe(&fixture.stop()), expected);
}

fn sparse_file() {
    const FAR: u64 = 64 << 20;
    let fixture = Fixture::new();
    let file = fixture.create("a");
    file.write_all_at(b"near", 0).unwrap();
    file.write_all_at(b"far", FAR).unwrap();
    let mut bytes = [1; 8];
    file.read_exact_at(&mut bytes, FAR / 2).unwrap();
    assert_eq!(bytes, [0; 8]);
    let blocks = file.metadata().unwrap().blocks();
    assert!(blocks * 512 < FAR / 16, "{blocks} blocks");
    let hole = rustix::fs::seek(&file, SeekFrom::Hole(0)).unwrap();
    let data = rustix::fs::seek(&file, SeekFrom::Data(hole)).unwrap();
    assert!((4..FAR / 2).contains(&hole), "{hole}");
    assert_eq!(data, FAR);
    drop(file);
    let expected = ["create a", "write a 0+4", "write a 67108864+3"];
    assert_eq!(describe(&fixture.stop()), expected);
}

fn large_directory() {
    let fixture = Fixture::new();
    let folder = fixture.path("many");
    fs::create_dir(&folder).unwrap();
    let list = || {
        let entries = fs::read_dir(&folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let mut names: Vec<String> = (0..2000)
        .map(|number| format!("file-{number:04}"))
        .collect();
    for name in &names {
        fs::write(folder.join(name), name).unwrap();
    }
    assert_eq!(list(), names);
    for name in names.iter().step_by(2) {
        fs::remove_file(folder.join(name)).unwrap();
    }
    let mut is_removed = false;
    names.retain(|_| {
        is_removed = !is_removed;
        !is_removed
    });
    assert_eq!(list(), names);
    assert_eq!(fixture.stop().operations.len(), 1 + 1 + 2 * 2000 + 1000);
}

/// Appends a line to a file, several times.
pub fn append(file: &Path, line: &str, times: &str) -> ExitCode {
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).open(file).unwrap();
    for _ in 0..times.parse().unwrap() {
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
        file.sync_data().unwrap();
    }
    ExitCode::SUCCESS
}

fn two_processes() {
    let fixture = Fixture::new();
    let path = fixture.path("shared");
    let [ones, twos] = ["1".repeat(99), "2".repeat(99)];
    let children = [&ones, &twos].map(|line| {
        let arguments = [
            "append".as_ref(),
            path.as_path(),
            line.as_ref(),
            "500".as_ref(),
        ];
        this_program(&arguments).spawn().unwrap()
    });
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().filter(|line| *line == ones).count(), 500);
    assert_eq!(text.lines().filter(|line| *line == twos).count(), 500);
    // Lines that cross the end of a page may arrive in two writes.
    let described = describe(&fixture.stop());
    let count = |word: &str| described.iter().filter(|one| one.starts_with(word)).count();
    assert!((1000..1100).contains(&count("write shared")));
    assert_eq!(count("fdatasync shared"), 1000);
}

fn files_from_before() {
    let fixture = Fixture::over(|folder| {
        fs::create_dir(folder.join("below")).unwrap();
        fs::write(folder.join("below/a"), vec![b'a'; 3 << 20]).unwrap();
        fs::hard_link(folder.join("below/a"), folder.join("b")).unwrap();
        let sparse = File::create(folder.join("sparse")).unwrap();
        sparse.set_len(5 << 20).unwrap();
        symlink("below/a", folder.join("c")).unwrap();
        fs::set_permissions(folder.join("b"), Permissions::from_mode(0o600)).unwrap();
    });
    let clock = fixture.mount.clock().unwrap();
    let base = clock.base();
    assert_eq!(clock.operations(), base);
    let [a, b] = ["below/a", "b"].map(|name| fixture.path(name).metadata().unwrap());
    assert_eq!((a.ino(), a.nlink()), (b.ino(), 2));
    assert_eq!(fs::read(fixture.path("c")).unwrap(), vec![b'a'; 3 << 20]);
    let file = OpenOptions::new().write(true).open(fixture.path("b"));
    file.unwrap().write_all(b"b").unwrap();
    assert_eq!(fs::read(fixture.path("below/a")).unwrap()[..2], *b"ba");
    fs::remove_file(fixture.path("below/a")).unwrap();
    assert_eq!(clock.operations(), base + 2);
    let recording = fixture.stop();
    assert_eq!(recording.base as u64, base);
    assert_eq!(recording.operations.len() as u64, base + 2);
}

fn another_user() {
    let fixture = Fixture::new();
    let own = fixture.path("own");
    fs::create_dir(&own).unwrap();
    chown(&own, Some(65534), Some(65534)).unwrap();
    fs::write(fixture.path("closed"), "closed").unwrap();
    fs::set_permissions(fixture.path("closed"), Permissions::from_mode(0o600)).unwrap();
    let script = "set -e; cd own; umask 027; echo text > a; echo more >> a; mkdir b; mv a b/c; \
        ln -s b/c d; ln b/c e; chmod 700 b; test \"$(cat d | wc -l)\" = 2; \
        ! cat ../closed 2> /dev/null; ! touch ../new 2> /dev/null";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).uid(65534).gid(65534);
    assert!(
        shell
            .current_dir(fixture.mount.path())
            .status()
            .unwrap()
            .success()
    );
    let expected = [("own/b", 0o700), ("own/b/c", 0o640), ("own/d", 0o777)];
    for (name, mode) in expected {
        let found = fixture.path(name).symlink_metadata().unwrap();
        assert_eq!((found.uid(), found.gid()), (65534, 65534), "{name}");
        assert_eq!(found.mode() & 0o7777, mode, "{name}");
    }
    fixture.stop();
}

fn unlinked_file() {
    let fixture = Fixture::new();
    let mut file = fixture.create("a");
    file.write_all(b"one").unwrap();
    fs::remove_file(fixture.path("a")).unwrap();
    file.write_all(b"two").unwrap();
    file.sync_all().unwrap();
    file.set_len(5).unwrap();
    // The folder below may give it the number of the first one, the log may not.
    let mut other = fixture.create("a");
    other.write_all(b"other").unwrap();
    let mut text = String::new();
    File::open(fixture.path("a"))
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "other");
    let mut bytes = [0; 5];
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"onetw");
    drop((file, other));
    for _ in 0..100 {
        fs::remove_file(fixture.path("a")).unwrap();
        fixture.create("a");
    }
    fixture.stop();
}

fn phases() {
    let fixture = Fixture::new();
    let clock = fixture.mount.clock().unwrap();
    fixture.create("a");
    clock.set_phase(3);
    fixture.create("b");
    let recording = fixture.stop();
    let logged = &recording.operations[recording.base..];
    let phases: Vec<u32> = logged.iter().map(|logged| logged.phase).collect();
    assert_eq!(phases, [0, 3]);
}
