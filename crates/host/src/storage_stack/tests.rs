use super::*;
use crate::file_system::parse_mount;
use std::fs::{create_dir_all, write};
use std::os::unix::fs::symlink;
use tempfile::TempDir;

/// A machine made of folders: a `/sys`, a mount table, and the files that they name.
struct Machine {
    folder: TempDir,
    mounts: Vec<Mount>,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        create_dir_all(folder.path().join("sys/dev/block")).unwrap();
        Self {
            folder,
            mounts: Vec::new(),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    /// Mounts a file system on a folder of the machine.
    fn mount(&mut self, device: &str, at: &str, kind: &str, options: &str) -> PathBuf {
        let point = self.path(at);
        create_dir_all(&point).unwrap();
        let id = u64::MAX / 2 + self.mounts.len() as u64;
        let line = format!(
            "{id} 1 {device} / {} rw - {kind} source {options}",
            point.display()
        );
        self.mounts.push(parse_mount(&line).unwrap());
        point
    }

    /// Adds a device with attributes in its folder.
    fn device(&self, number: &str, name: &str, attributes: &[(&str, &str)]) -> PathBuf {
        let folder = self.path("sys/devices").join(name);
        create_dir_all(&folder).unwrap();
        for (attribute, value) in attributes {
            let file = folder.join(attribute);
            create_dir_all(file.parent().unwrap()).unwrap();
            write(file, format!("{value}\n")).unwrap();
        }
        let entry = self.path("sys/dev/block").join(number);
        symlink(&folder, entry).unwrap();
        folder
    }

    fn resolve(&self, folders: &[&Path]) -> StorageStack {
        let mut resolver = Resolver::new(&self.path("sys"), self.mounts.clone());
        for folder in folders {
            resolver.follow_path(folder, LayerDepth::Top);
        }
        resolver.into_stack()
    }

    fn verdict(&self, folder: &Path) -> String {
        self.resolve(&[folder]).power_loss.phrase()
    }
}

const CACHED: (&str, &str) = ("queue/write_cache", "write back");
const THROUGH: (&str, &str) = ("queue/write_cache", "write through");

#[test]
fn a_disk_with_its_barriers_on_keeps_what_it_acknowledges() {
    let mut machine = Machine::new();
    let data = machine.mount("8:0", "data", "xfs", "rw,noatime");
    machine.device("8:0", "sda", &[CACHED]);
    let stack = machine.resolve(&[&data, &data]);
    assert_eq!(stack.power_loss, PowerLoss::Survives);
    assert_eq!(stack.layers.len(), 2, "{:?}", stack.layers);
    assert_eq!(stack.layers[1], "device sda, volatile write cache");
}

#[test]
fn barriers_off_anywhere_below_the_database_leave_nothing() {
    let mut machine = Machine::new();
    let host = machine.mount("8:0", "host", "xfs", "rw,nobarrier");
    machine.device("8:0", "sda", &[CACHED]);
    assert!(machine.verdict(&host).contains("mounted with nobarrier"));
    let image = host.join("image");
    write(&image, "x").unwrap();
    let data = machine.mount("7:93", "data", "xfs", "rw");
    let backing = ("loop/backing_file", image.to_str().unwrap());
    machine.device("7:93", "loop93", &[CACHED, backing]);
    let found = machine.verdict(&data);
    assert!(found.starts_with("lost: xfs on "), "{found}");
    assert!(
        found.ends_with("nobarrier, and the image of its loop device is there"),
        "{found}"
    );
}

#[test]
fn an_image_or_an_upper_folder_in_memory_is_memory() {
    let mut machine = Machine::new();
    let memory = machine.mount("0:50", "memory", "tmpfs", "rw");
    let image = memory.join("image");
    write(&image, "x").unwrap();
    create_dir_all(memory.join("upper/work")).unwrap();
    let data = machine.mount("7:93", "data", "xfs", "rw");
    let backing = ("loop/backing_file", image.to_str().unwrap());
    machine.device("7:93", "loop93", &[CACHED, backing]);
    assert!(
        machine
            .verdict(&data)
            .contains("is memory, and the image of its loop device")
    );
    let upper = format!("rw,lowerdir=/l,upperdir={}", memory.join("upper").display());
    let merged = machine.mount("0:51", "merged", "overlay", &upper);
    create_dir_all(merged.join("work")).unwrap();
    let stack = machine.resolve(&[&merged.join("work")]);
    let PowerLoss::Lost { reason, in_memory } = &stack.power_loss else {
        panic!("{stack:?}");
    };
    assert!(reason.ends_with("is memory") && !in_memory, "{reason}");
    // What has not been copied up is not what is written to.
    create_dir_all(merged.join("other")).unwrap();
    let found = machine.verdict(&merged.join("other"));
    assert!(found.contains("is not visible here"), "{found}");
    let own = machine.resolve(&[&data, &memory]).power_loss;
    assert!(
        matches!(own, PowerLoss::Lost { .. }),
        "a log in memory: {own:?}"
    );
}

#[test]
fn an_overlay_is_as_good_as_its_upper_folder_unless_it_is_volatile() {
    let mut machine = Machine::new();
    let disk = machine.mount("8:0", "disk", "xfs", "rw");
    machine.device("8:0", "sda", &[CACHED]);
    create_dir_all(disk.join("upper")).unwrap();
    let upper = format!("rw,lowerdir=/l,upperdir={}", disk.join("upper").display());
    let kept = machine.mount("0:51", "kept", "overlay", &upper);
    assert_eq!(machine.verdict(&kept), "survives");
    let lost = machine.mount("0:52", "lost", "overlay", &format!("{upper},volatile"));
    assert!(machine.verdict(&lost).contains("mounted with volatile"));
    let hidden = machine.mount("0:53", "hidden", "overlay", "rw,upperdir=/nowhere/diff");
    let found = machine.verdict(&hidden);
    assert!(found.starts_with("unresolved: the upper folder"), "{found}");
    let read_only = machine.mount("0:54", "lower", "overlay", "ro,lowerdir=/l");
    assert!(
        machine
            .verdict(&read_only)
            .contains("names no upper folder")
    );
}

#[test]
fn an_overlay_whose_upper_folder_has_commas_and_colons_is_followed() {
    // As Linux 6.18 shows them: given to mount(2), which takes backslashes out, or to fsconfig(2).
    for (folder, shown) in [
        ("upper,a:b", "upper\\134\\054a:b"),
        ("upper,a:b", "upper\\134\\054a\\134:b"),
        ("upper,a:b", "upper\\054a:b"),
        ("upper\\a", "upper\\134\\134a"),
        ("upper\\a", "upper\\134a"),
        ("upper=a b", "upper\\075a\\040b"),
    ] {
        let mut machine = Machine::new();
        let disk = machine.mount("8:0", "disk", "xfs", "rw");
        machine.device("8:0", "sda", &[CACHED]);
        create_dir_all(disk.join(folder)).unwrap();
        let lower = "lowerdir=/a\\134:b:/c\\134\\054d";
        let options = format!("rw,{lower},upperdir={}/{shown},workdir=/w", disk.display());
        let merged = machine.mount("0:51", "merged", "overlay", &options);
        assert_eq!(machine.verdict(&merged), "survives", "{shown}");
    }
}

#[test]
fn an_overlay_that_could_have_two_upper_folders_is_not_resolved() {
    let mut machine = Machine::new();
    let disk = machine.mount("8:0", "disk", "xfs", "rw");
    for folder in ["upper,a", "upper\\,a"] {
        create_dir_all(disk.join(folder)).unwrap();
    }
    let options = format!("rw,upperdir={}/upper\\134\\054a", disk.display());
    let merged = machine.mount("0:51", "merged", "overlay", &options);
    let found = machine.verdict(&merged);
    assert!(found.ends_with("can be one of two"), "{found}");
}

#[test]
fn devices_in_memory_keep_nothing() {
    let mut machine = Machine::new();
    for (number, name, attributes) in [
        ("252:0", "zram0", &[THROUGH][..]),
        ("1:0", "ram0", &[]),
        ("250:0", "nullb0", &[CACHED]),
        ("8:16", "sdb", &[CACHED, ("device/model", "scsi_debug")]),
        ("259:0", "e820_pmem/pmem0", &[]),
    ] {
        let data = machine.mount(number, name, "ext2", "rw");
        machine.device(number, name, attributes);
        let found = machine.verdict(&data);
        assert!(
            found.starts_with("lost: device") && found.ends_with("is memory"),
            "{found}"
        );
    }
}

#[test]
fn a_device_that_passes_no_flush_on_to_a_cache_below_it_keeps_nothing() {
    let mut machine = Machine::new();
    let data = machine.mount("254:0", "data", "xfs", "rw");
    let mapped = machine.device("254:0", "dm-0", &[THROUGH]);
    let disk = machine.device("8:0", "sda", &[CACHED]);
    create_dir_all(mapped.join("slaves")).unwrap();
    symlink(&disk, mapped.join("slaves/sda")).unwrap();
    let found = machine.verdict(&data);
    assert!(
        found.starts_with("lost: device dm-0 passes no flush on"),
        "{found}"
    );
    write(mapped.join("queue/write_cache"), "write back\n").unwrap();
    assert_eq!(machine.verdict(&data), "survives");
    // A disk whose own setting says that it has a cache, and the kernel was told otherwise.
    write(disk.join("cache_type"), "write back\n").unwrap();
    write(disk.join("queue/write_cache"), "write through\n").unwrap();
    assert!(
        machine
            .verdict(&data)
            .starts_with("lost: device sda passes no flush on")
    );
    write(disk.join("cache_type"), "write through\n").unwrap();
    assert_eq!(machine.verdict(&data), "survives");
}

#[test]
fn a_loop_device_without_its_flushes_keeps_nothing() {
    let mut machine = Machine::new();
    let host = machine.mount("8:0", "host", "xfs", "rw");
    machine.device("8:0", "sda", &[CACHED]);
    write(host.join("image"), "x").unwrap();
    let data = machine.mount("7:93", "data", "xfs", "rw");
    let image = host.join("image");
    let backing = ("loop/backing_file", image.to_str().unwrap());
    let device = machine.device("7:93", "loop93", &[CACHED, backing]);
    assert_eq!(machine.verdict(&data), "survives");
    write(device.join("queue/write_cache"), "write through\n").unwrap();
    assert!(
        machine
            .verdict(&data)
            .starts_with("lost: device loop93 passes no flush on")
    );
    write(device.join("queue/write_cache"), "write back\n").unwrap();
    write(
        device.join("loop/backing_file"),
        "/nowhere/image (deleted)\n",
    )
    .unwrap();
    assert!(
        machine
            .verdict(&data)
            .starts_with("unresolved: the image /nowhere/image")
    );
}

#[test]
fn what_cannot_be_followed_is_named() {
    let mut machine = Machine::new();
    for (kind, says) in [
        ("nfs4", "by another machine or by the host"),
        ("9p", "by another machine or by the host"),
        ("virtiofs", "by another machine or by the host"),
        ("fuse.sshfs", "by the program behind it"),
        ("fuseblk", "by the program behind it"),
        ("fuse.faultfs", "by the program behind it"),
        ("zfs", "property 'sync'"),
        ("strangefs", "devices are not known"),
        ("xfs", "the device below its xfs"),
    ] {
        let data = machine.mount("0:77", &format!("on-{kind}"), kind, "rw");
        let found = machine.verdict(&data);
        assert!(found.starts_with("unresolved: "), "{kind}: {found}");
        assert!(found.contains(says), "{kind}: {found}");
    }
    for name in ["nbd0", "rbd0", "ublkb0", "zd0", "dm-7"] {
        let number = format!("43:{}", name.len() * 256 + usize::from(name.as_bytes()[0]));
        let data = machine.mount(&number, name, "xfs", "rw");
        machine.device(&number, name, &[CACHED]);
        let found = machine.verdict(&data);
        assert!(
            found.starts_with(&format!("unresolved: device {name}")),
            "{found}"
        );
    }
}

#[test]
fn an_image_on_modeled_storage_is_simulated_and_that_of_another_program_is_not() {
    let mut machine = Machine::new();
    let mut verdict = |number: u32, (kind, source): (&str, &str), options: &str| {
        let storage = machine.mount("0:90", &format!("storage-{number}"), kind, "rw");
        let mounted = machine.mounts.last_mut().unwrap();
        mounted.facts.source = source.to_owned();
        let image = storage.join("image");
        write(&image, "x").unwrap();
        let device = format!("7:{number}");
        let data = machine.mount(&device, &format!("data-{number}"), "xfs", options);
        let backing = ("loop/backing_file", image.to_str().unwrap());
        machine.device(&device, &format!("loop{number}"), &[CACHED, backing]);
        machine.verdict(&data)
    };
    // Root mounts without a helper, so that the kernel does not know the subtype.
    for (number, kind) in [(94, "fuse"), (95, "fuse.faultfs")] {
        let own = verdict(number, (kind, "trueput"), "rw");
        assert_eq!(own, "simulated", "{kind}");
    }
    let foreign = verdict(96, ("fuse", "sshfs"), "rw");
    assert!(foreign.starts_with("unresolved: fuse on "), "{foreign}");
    // A file system that keeps flushes from the model keeps nothing.
    let unbarred = verdict(97, ("fuse", "trueput"), "rw,nobarrier");
    assert!(unbarred.starts_with("lost: its xfs"), "{unbarred}");
}

#[test]
fn a_log_device_of_its_own_is_followed() {
    let mut machine = Machine::new();
    let data = machine.mount("8:0", "data", "xfs", "rw,logdev=/nowhere/log");
    machine.device("8:0", "sda", &[CACHED]);
    let found = machine.verdict(&data);
    assert!(found.starts_with("unresolved: /nowhere/log"), "{found}");
}

#[test]
fn the_temporary_folder_of_this_machine_is_resolved_or_said_not_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let stack = resolve(&[folder.path()]);
    assert!(!stack.layers.is_empty());
    let memory = Path::new("/dev/shm");
    if crate::find_file_system(memory).kind == "tmpfs" {
        let stack = resolve(&[memory]);
        assert!(matches!(
            stack.power_loss,
            PowerLoss::Lost {
                in_memory: true,
                ..
            }
        ));
    }
}
