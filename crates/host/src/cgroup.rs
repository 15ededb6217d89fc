//! Control groups that limit the memory of a trial's workers, cgroup v1 and v2, or stop its
//! processes between time slices.

mod freezer_group;

pub(crate) use freezer_group::{FreezerGroup, is_frozen, thaw};

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;
use trueput_record::accounting::MemoryUse;
use trueput_record::value::format_bytes;

/// Groups are named `trueput-PID-NUMBER` after the runner that made them.
const PREFIX: &str = "trueput-";

/// Attempts to remove a group, which fails while its processes are still exiting.
const REMOVALS: u32 = 100;

/// The pause between two attempts.
const REMOVAL_PAUSE: Duration = Duration::from_millis(20);

/// The version of the control group interface; their files differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CgroupVersion {
    /// Documentation/admin-guide/cgroup-v1/memory.rst.
    One,
    /// Documentation/admin-guide/cgroup-v2.rst.
    Two,
}

/// A place in the hierarchy where groups with a memory limit can be made.
#[derive(Debug)]
pub struct MemoryController {
    version: CgroupVersion,
    parent: PathBuf,
}

/// A control group of one trial. It is removed when this is dropped; no process may be left in it.
#[derive(Debug)]
pub struct MemoryGroup {
    version: CgroupVersion,
    path: PathBuf,
    limit_bytes: u64,
}

/// Why memory cannot be limited, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum MemoryLimitError {
    /// The machine has less.
    #[error(
        "a memory limit of {} exceeds this machine's {}",
        format_bytes(*bytes),
        format_bytes(*has_bytes)
    )]
    AboveMachine {
        /// The limit, bytes.
        bytes: u64,
        /// The machine's memory, bytes.
        has_bytes: u64,
    },
    /// No group with that limit can be made.
    #[error("cannot limit memory to {}: {error}", format_bytes(*bytes))]
    NotLimited {
        /// The limit, bytes.
        bytes: u64,
        /// The reason.
        error: Box<Self>,
    },
    /// There are no control groups.
    #[error(
        "no control groups are mounted: mount cgroup v2 or v1's memory controller, or remove memory"
    )]
    NotMounted,
    /// No group above this process's own hands the controller on.
    #[error(
        "no control group from {} up to {} delegates the memory controller (cgroup.subtree_control \
         lacks 'memory'): enable it, or remove memory",
        own.display(),
        top.display()
    )]
    NotDelegated {
        /// The group of this process.
        own: PathBuf,
        /// The topmost group.
        top: PathBuf,
    },
    /// This user may not make a group.
    #[error(
        "cannot create a control group in {} ({error}): run as root, get that folder delegated, or \
         remove memory",
        parent.display()
    )]
    Refused {
        /// The group in which it was to be made.
        parent: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
}

/// Checks that trials can be limited to `bytes`, by creating such a group and removing it.
///
/// # Errors
/// One sentence with the obstacle and the remedy.
pub fn check(bytes: u64) -> Result<(), MemoryLimitError> {
    if let Some(has_bytes) = machine_bytes().filter(|has_bytes| bytes > *has_bytes) {
        return Err(MemoryLimitError::AboveMachine { bytes, has_bytes });
    }
    let made = MemoryController::find().and_then(|controller| controller.make(bytes).map(drop));
    made.map_err(|error| MemoryLimitError::NotLimited {
        bytes,
        error: Box::new(error),
    })
}

/// Returns the memory of the machine; `None` if the kernel does not report it.
fn machine_bytes() -> Option<u64> {
    use nix::unistd::{SysconfVar, sysconf};
    let pages = sysconf(SysconfVar::_PHYS_PAGES).ok().flatten()?;
    let page_bytes = sysconf(SysconfVar::PAGE_SIZE).ok().flatten()?;
    Some(pages.unsigned_abs() * page_bytes.unsigned_abs())
}

/// Removes the groups of runners that were killed. What these had started has been told to end by
/// the kernel, of which a frozen process hears only when it goes on.
pub fn remove_leftovers() {
    let is_alive = |pid: &str| pid.parse().is_ok_and(crate::process::is_alive);
    if let Ok(controller) = MemoryController::find() {
        remove_leftovers_in(&controller.parent, is_alive);
    }
    if let Some(parent) = freezer_group::own() {
        remove_leftovers_in(&parent, is_alive);
    }
}

fn remove_leftovers_in(parent: &Path, is_alive: impl Fn(&str) -> bool) {
    let entries = std::fs::read_dir(parent).into_iter().flatten();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let made_by = name.strip_prefix(PREFIX).and_then(|rest| {
            let (pid, number) = rest.split_once('-')?;
            let are_numbers = pid.parse::<u32>().is_ok() && number.parse::<u32>().is_ok();
            are_numbers.then(|| pid.to_owned())
        });
        if made_by.is_some_and(|pid| !is_alive(&pid)) {
            thaw(&entry.path());
            // One that still has processes in it stays.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// Returns a name for a new group that tells who made it.
fn new_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Relaxed);
    format!("{PREFIX}{}-{number}", std::process::id())
}

/// Removes a group once its processes have exited. The next run removes one that is left.
fn await_removal(path: &Path) {
    for _ in 0..REMOVALS {
        match std::fs::remove_dir(path) {
            Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                std::thread::sleep(REMOVAL_PAUSE);
            }
            _ => return,
        }
    }
}

impl MemoryController {
    /// Finds the place where this process may create groups.
    ///
    /// # Errors
    /// One sentence with the obstacle and the remedy.
    pub fn find() -> Result<Self, MemoryLimitError> {
        let read = |path| read_to_string(path).unwrap_or_default();
        Self::find_in(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
    }

    /// Searches from this process's own group upwards, so that limits around it still hold.
    fn find_in(mounts: &str, own: &str) -> Result<Self, MemoryLimitError> {
        if let Some(mount) = mount_of(mounts, |kind, options| {
            kind == "cgroup" && options.split(',').any(|option| option == "memory")
        }) {
            let parent = mount.folder(own, |controllers| {
                controllers.split(',').any(|name| name == "memory")
            });
            let version = CgroupVersion::One;
            return Ok(Self { version, parent });
        }
        let mount =
            mount_of(mounts, |kind, _| kind == "cgroup2").ok_or(MemoryLimitError::NotMounted)?;
        let own = mount.folder(own, str::is_empty);
        let above = own.ancestors();
        let mut above = above.take_while(|folder| folder.starts_with(&mount.point));
        // A group with processes cannot delegate controllers to groups below it, so the parent is
        // usually one further up.
        let hands_on = |folder: &&Path| {
            let handed = read_to_string(folder.join("cgroup.subtree_control"));
            handed.is_ok_and(|names| names.split_whitespace().any(|name| name == "memory"))
        };
        let parent = above
            .find(hands_on)
            .ok_or_else(|| MemoryLimitError::NotDelegated {
                own: own.clone(),
                top: mount.point.clone(),
            })?;
        Ok(Self {
            version: CgroupVersion::Two,
            parent: parent.to_owned(),
        })
    }

    /// Creates a group that may use that much memory, page cache included, and no swap.
    ///
    /// # Errors
    /// One sentence with the obstacle and the remedy.
    pub fn make(&self, limit_bytes: u64) -> Result<MemoryGroup, MemoryLimitError> {
        let refused = |error: std::io::Error| MemoryLimitError::Refused {
            parent: self.parent.clone(),
            error,
        };
        let path = self.parent.join(new_name());
        std::fs::create_dir(&path).map_err(refused)?;
        let group = MemoryGroup {
            version: self.version,
            path,
            limit_bytes,
        };
        group.limit().map_err(refused)?;
        if self.version == CgroupVersion::Two {
            // A process can be moved only by a user who may write to the group above both.
            let procs = self.parent.join("cgroup.procs");
            let writable = nix::unistd::access(&procs, nix::unistd::AccessFlags::W_OK);
            writable.map_err(|error| refused(error.into()))?;
        }
        Ok(group)
    }
}

impl MemoryGroup {
    fn limit(&self) -> std::io::Result<()> {
        let write = |file: &str, text: &str| std::fs::write(self.path.join(file), text);
        let bytes = self.limit_bytes.to_string();
        match self.version {
            CgroupVersion::One => {
                write("memory.limit_in_bytes", &bytes)?;
                // Absent or refused if the kernel does not account for swap.
                let _ = write("memory.swappiness", "0");
                let _ = write("memory.memsw.limit_in_bytes", &bytes);
            }
            CgroupVersion::Two => {
                write("memory.max", &bytes)?;
                // Absent if the kernel has no swap.
                let _ = write("memory.swap.max", "0");
            }
        }
        Ok(())
    }

    /// Returns the file to which a process writes its number to enter the group.
    pub fn entry(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// Returns the memory that the group has used and how often it met its limit.
    pub fn usage(&self) -> MemoryUse {
        let read = |file: &str| read_to_string(self.path.join(file)).unwrap_or_default();
        let number = |file: &str| read(file).trim().parse::<u64>().ok();
        let kills = |file: &str| named_number(&read(file), "oom_kill").unwrap_or_default();
        let limit_bytes = self.limit_bytes;
        match self.version {
            CgroupVersion::One => MemoryUse {
                limit_bytes,
                peak_bytes: number("memory.max_usage_in_bytes"),
                limit_hits: failures(number),
                kills: kills("memory.oom_control"),
            },
            CgroupVersion::Two => MemoryUse {
                limit_bytes,
                peak_bytes: number("memory.peak"),
                limit_hits: named_number(&read("memory.events"), "max"),
                kills: kills("memory.events"),
            },
        }
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        await_removal(&self.path);
    }
}

/// Returns how often a v1 group reached its limit; `None` for 0, because newer kernels no longer
/// count it and report 0.
fn failures(number: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    // Where the limit of memory and swap together is the same, it is met first.
    let both = ["memory.failcnt", "memory.memsw.failcnt"];
    let count = both.iter().filter_map(|file| number(file)).sum();
    (count > 0).then_some(count)
}

/// Returns the number in the line `NAME NUMBER`.
fn named_number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find_map(|(word, number)| (word == name).then(|| number.trim().parse().ok())?)
}

/// A mounted hierarchy of control groups.
struct CgroupMount {
    /// The group that the mount point shows.
    root: String,
    point: PathBuf,
}

impl CgroupMount {
    /// Returns the folder of this process's own group, or the mount point if the group is outside
    /// the mounted hierarchy, as in containers that share their host's groups.
    fn folder(&self, own: &str, is_wanted: impl Fn(&str) -> bool) -> PathBuf {
        let mut lines = own.lines().map(|line| line.splitn(3, ':'));
        let path = lines.find_map(|mut fields| {
            let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            is_wanted(controllers).then_some(path)
        });
        let below = path.and_then(|path| Path::new(path).strip_prefix(&self.root).ok());
        let folder = below.map(|below| self.point.join(below));
        folder
            .filter(|folder| folder.is_dir())
            .unwrap_or_else(|| self.point.clone())
    }
}

/// Returns the last mount of that type and those options in `/proc/self/mountinfo` (proc(5)).
fn mount_of(mounts: &str, is_wanted: impl Fn(&str, &str) -> bool) -> Option<CgroupMount> {
    let mut lines = mounts.lines().rev();
    lines.find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut file_system = file_system.split(' ');
        let (kind, _, options) = (
            file_system.next()?,
            file_system.next()?,
            file_system.next()?,
        );
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        is_wanted(kind, options).then(|| CgroupMount {
            root: root.to_owned(),
            point: super::file_system::unescape(point).into(),
        })
    })
}

#[cfg(test)]
mod tests;
