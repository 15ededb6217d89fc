//! The layers below a database: mount, overlay, loop, mapped and real devices, and what they keep
//! of flushed data when power is lost. `docs/METHOD.md`, "What the storage promises", states the
//! rules.
//!
//! Each layer is read from the kernel: the mount table, `/sys/block`, the image of a loop device.
//! A layer that cannot be read ends the resolution, and the stack says where.

mod block_device;
mod ext4_journal;
mod loop_image;

pub(crate) use ext4_journal::{Ext4State, may_have_external_journal};

use crate::file_system::{Mount, find_mount, find_nearest_existing, read_mount_table, unescape};
use crate::fuse::is_own;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trueput_record::host::FileSystemFacts;
use trueput_record::storage::{PowerLoss, StorageStack};

/// File systems that write to the devices that the mount table names, and flush them.
const ON_DEVICES: [&str; 17] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs", "nilfs2", "vfat", "exfat",
    "ntfs3", "hfsplus", "udf", "bcachefs", "minix", "ufs",
];

/// File systems whose files are on another machine, or with the host of a virtual one.
const ELSEWHERE: [&str; 20] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "9p",
    "virtiofs",
    "ceph",
    "lustre",
    "gpfs",
    "beegfs",
    "afs",
    "ocfs2",
    "gfs2",
    "glusterfs",
    "vboxsf",
    "vmhgfs",
    "prl_fs",
    "hostfs",
    "pvfs2",
    "orangefs",
];

/// A stack with more layers than this is not followed further: it may be a circle.
const MAX_LAYERS: usize = 64;

/// Resolves the storage below folders that exist: the database's, and the log's if it is apart.
#[must_use]
pub fn resolve(folders: &[&Path]) -> StorageStack {
    let mut resolver = Resolver::new(Path::new("/sys"), read_mount_table());
    for folder in folders {
        resolver.follow_path(&find_nearest_existing(folder), LayerDepth::Top);
    }
    resolver.into_stack()
}

/// The place of a file system in the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayerDepth {
    /// The database's own, or that of its log.
    Top,
    /// Below another layer.
    Below,
}

impl LayerDepth {
    /// Names a file system in a reason. The mount point of a trial's own would differ between
    /// repeats.
    fn name_of(self, facts: &FileSystemFacts) -> String {
        match self {
            Self::Top => format!("its {}", facts.kind),
            Self::Below => format!("{} on {}", facts.kind, facts.mount_point),
        }
    }
}

/// Follows the layers, from the top down.
struct Resolver {
    sys: PathBuf,
    mounts: Vec<Mount>,
    layers: Vec<String>,
    /// The layers that were followed, so that each is described once.
    known: BTreeSet<String>,
    power_loss: PowerLoss,
}

impl Resolver {
    fn new(sys: &Path, mounts: Vec<Mount>) -> Self {
        Self {
            sys: sys.to_owned(),
            mounts,
            layers: Vec::new(),
            known: BTreeSet::new(),
            power_loss: PowerLoss::Survives,
        }
    }

    fn into_stack(self) -> StorageStack {
        StorageStack {
            layers: self.layers,
            power_loss: self.power_loss,
        }
    }

    fn add(&mut self, found: PowerLoss) {
        let before = std::mem::take(&mut self.power_loss);
        self.power_loss = before.worse(found);
    }

    fn lose(&mut self, reason: String) {
        let in_memory = false;
        self.add(PowerLoss::Lost { reason, in_memory });
    }

    fn stop(&mut self, reason: String) {
        self.add(PowerLoss::Unresolved { reason });
    }

    /// Notes a layer; `false` if it is known already, or there are too many.
    fn enter(&mut self, name: String, description: String) -> bool {
        if self.layers.len() >= MAX_LAYERS {
            self.stop(format!("more than {MAX_LAYERS} layers"));
            return false;
        }
        if !self.known.insert(name) {
            return false;
        }
        self.layers.push(description);
        true
    }

    /// Follows the file system of a file or folder, whose links are resolved.
    fn follow_path(&mut self, path: &Path, place: LayerDepth) {
        match find_mount(&self.mounts, path).cloned() {
            Some(mount) => self.follow_mount(&mount, Some(path), place),
            None => self.stop(format!("the mount of {} is not known", path.display())),
        }
    }

    /// Follows a mounted file system; `path`, in it, is the folder or file of interest.
    fn follow_mount(&mut self, mount: &Mount, path: Option<&Path>, place: LayerDepth) {
        let FileSystemFacts {
            kind,
            source,
            mount_point,
            options,
            ..
        } = &mount.facts;
        let name = format!("mount {} {}", mount.id, mount.device);
        let description = format!("{kind} on {mount_point} from {source} ({options})");
        if !self.enter(name, description) {
            return;
        }
        let own = PowerLoss::of_mount(&place.name_of(&mount.facts), kind, options);
        let is_memory = matches!(own, PowerLoss::Lost { in_memory, .. } if in_memory);
        match own {
            PowerLoss::Lost { reason, .. } if place == LayerDepth::Below => self.lose(reason),
            own => self.add(own),
        }
        if is_memory {
            return;
        }
        let kind = kind.as_str();
        if kind == "overlay" {
            self.follow_overlay(mount, path, place);
        } else if ON_DEVICES.contains(&kind) {
            self.follow_devices(mount, place);
        } else if place == LayerDepth::Below && is_own(kind, source) {
            // It shows the image of a loop device with the delays of a storage model. What is below
            // the image does not matter: no flush goes there.
            self.add(PowerLoss::Simulated);
        } else {
            let name = place.name_of(&mount.facts);
            self.stop(format!("{name}, {}", why_unresolved(kind)));
        }
    }

    /// Follows the folder to which an overlay writes.
    fn follow_overlay(&mut self, mount: &Mount, path: Option<&Path>, place: LayerDepth) {
        let (name, point) = (place.name_of(&mount.facts), &mount.facts.mount_point);
        let mut options = mount.facts.options.split(',');
        let upper = options.find_map(|option| option.strip_prefix("upperdir="));
        let Some(upper) = upper.map(unescape) else {
            self.stop(format!("{name} names no upper folder"));
            return;
        };
        let inside = path.and_then(|path| path.strip_prefix(point).ok());
        let root = mount.root.strip_prefix("/").unwrap_or(&mount.root);
        // The options are those of the mount's maker, who may have seen other folders.
        let found = |upper: String| {
            let written = Path::new(&upper).join(root);
            let written = inside.map_or_else(|| written.clone(), |inside| written.join(inside));
            let is_absolute = Path::new(&upper).is_absolute();
            written.canonicalize().ok().filter(|_| is_absolute)
        };
        let mut found: Vec<_> = [upper.clone(), without_backslashes(&upper)]
            .into_iter()
            .filter_map(found)
            .collect();
        found.dedup();
        match found.as_slice() {
            [written] => {
                self.follow_path(written, LayerDepth::Below);
            }
            [] => self.stop(format!(
                "the upper folder of {name}, {upper}, is not visible here"
            )),
            _ => self.stop(format!(
                "the upper folder of {name}, {upper}, can be one of two"
            )),
        }
    }

    /// Follows the devices of a file system.
    fn follow_devices(&mut self, mount: &Mount, place: LayerDepth) {
        let facts = &mount.facts;
        let devices = match facts.kind.as_str() {
            "btrfs" => self.btrfs_devices(&facts.source),
            "bcachefs" => {
                let sources = facts.source.split(':').map(Path::new);
                sources.map(|source| self.device_of_file(source)).collect()
            }
            _ => vec![self.device_of_number(&mount.device)],
        };
        let name = place.name_of(facts);
        let missing = devices.is_empty() || devices.iter().any(Option::is_none);
        if missing {
            let source = &facts.source;
            self.stop(format!(
                "the device below {name}, {source}, is not visible here"
            ));
        }
        for device in devices.iter().flatten() {
            self.follow_device(device);
        }
        for option in facts.options.split(',') {
            let named = ["logdev=", "rtdev="];
            let Some(path) = named.iter().find_map(|key| option.strip_prefix(key)) else {
                continue;
            };
            let path = unescape(path);
            match self.device_of_file(Path::new(&path)) {
                Some(device) => {
                    self.follow_device(&device);
                }
                None => self.stop(format!("{path}, of {name}, is not visible here")),
            }
        }
        if let [Some(device)] = devices.as_slice() {
            self.follow_journal(&facts.kind, device);
        }
    }

    /// Follows the journal of ext3 and ext4, if it is on another device.
    fn follow_journal(&mut self, kind: &str, device: &Path) {
        let name = file_name(device);
        if !may_have_external_journal(kind, &name, &Ext4State::of_this_kernel()) {
            return;
        }
        match ext4_journal::journal_device(&Path::new("/dev").join(&name)) {
            Ok(None) => {}
            Ok(Some(number)) => match self.device_of_number(&number) {
                Some(journal) => {
                    self.follow_device(&journal);
                }
                None => self.stop(format!(
                    "the journal of {name}, device {number}, is not known"
                )),
            },
            Err(reason) => self.stop(format!("the journal of {kind} on {name}: {reason}")),
        }
    }

    /// Returns the folder below `/sys` of the device with this number, `8:1`.
    fn device_of_number(&self, number: &str) -> Option<PathBuf> {
        let entry = self.sys.join("dev/block").join(number);
        entry.canonicalize().ok()
    }

    /// Returns the folder below `/sys` of a block device's file.
    fn device_of_file(&self, path: &Path) -> Option<PathBuf> {
        let number = std::fs::metadata(path).ok()?.rdev();
        self.device_of_number(&as_number(number))
    }

    fn btrfs_devices(&self, source: &str) -> Vec<Option<PathBuf>> {
        let source = Path::new(source).canonicalize().unwrap_or_default();
        let name = file_name(&source);
        let file_systems = std::fs::read_dir(self.sys.join("fs/btrfs"));
        let mut folders = file_systems.into_iter().flatten().flatten();
        let of_source = folders.find_map(|entry| {
            let devices = entry.path().join("devices");
            (!name.is_empty() && devices.join(&name).exists()).then_some(devices)
        });
        let devices = of_source.and_then(|folder| std::fs::read_dir(folder).ok());
        let devices = devices.into_iter().flatten().flatten();
        devices
            .map(|entry| entry.path().canonicalize().ok())
            .collect()
    }
}

/// Returns a device's number as `/sys/dev/block` has it.
fn as_number(device: u64) -> String {
    let (major, minor) = (nix::libc::major(device), nix::libc::minor(device));
    format!("{major}:{minor}")
}

/// Removes the backslashes with which whoever mounts an overlay protects commas and colons of a
/// name: the kernel shows the option as it was given to mount(2), and without them where it was
/// given to fsconfig(2).
fn without_backslashes(name: &str) -> String {
    let mut plain = String::new();
    let mut characters = name.chars();
    while let Some(character) = characters.next() {
        let is_protected = character == '\\';
        let next = if is_protected {
            characters.next()
        } else {
            None
        };
        plain.push(next.unwrap_or(character));
    }
    plain
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns why a file system of this kind cannot be followed, as a clause.
fn why_unresolved(kind: &str) -> &'static str {
    if kind.starts_with("fuse") {
        "whose flushes are done by the program behind it"
    } else if kind == "zfs" {
        "whose property 'sync' the mount table does not show"
    } else if ELSEWHERE.contains(&kind) {
        "whose flushes are done by another machine or by the host"
    } else {
        "whose devices are not known"
    }
}

#[cfg(test)]
mod tests;
