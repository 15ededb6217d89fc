//! Control groups whose processes are all stopped and continued at once, cgroup v2.
//!
//! Documentation/admin-guide/cgroup-v2.rst, `cgroup.freeze`. The freezer is part of the core of v2:
//! it is there without any controller, and beside v1's controllers on a hybrid system. v1's own
//! freezer is not used, because it does not let frozen processes be killed.

use super::{MemoryGroup, await_removal, mount_of, new_name};
use std::fs::{self, read_to_string};
use std::io;
use std::path::{Path, PathBuf};

/// Looks at who is left in a group. A process that was started between two looks is found by the
/// next one.
const MAX_ROUNDS: u32 = 10;

/// A control group that can be frozen.
#[derive(Debug)]
pub(crate) struct FreezerGroup {
    path: PathBuf,
    /// Whether it was made to be frozen, and is removed when this is dropped.
    is_own: bool,
}

impl FreezerGroup {
    /// Takes the group of the memory limit, if that is v2's: a process is in one group of v2 only.
    pub fn of_memory_limit(group: &MemoryGroup) -> Option<Self> {
        let path = group.entry().parent()?.to_owned();
        path.join("cgroup.freeze").exists().then_some(Self {
            path,
            is_own: false,
        })
    }

    /// Makes a group below this process's own.
    ///
    /// # Errors
    /// The system's error; also if cgroup v2 is not mounted.
    pub fn make() -> io::Result<Self> {
        let parent = own().ok_or_else(|| io::Error::other("cgroup v2 is not mounted"))?;
        let path = parent.join(new_name());
        fs::create_dir(&path)?;
        let group = Self { path, is_own: true };
        if group.path.join("cgroup.freeze").exists() {
            Ok(group)
        } else {
            Err(io::Error::other("the kernel has no freezer (Linux 5.2)"))
        }
    }

    /// Moves a process into the group, with all its threads. Its children are in the group from
    /// then on.
    ///
    /// # Errors
    /// The system's error: without the right to move it, or if it has ended.
    pub fn enter(&self, pid: u32) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), pid.to_string())
    }

    /// Asks the kernel to freeze the group, or to thaw it.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_frozen(&self, is_frozen: bool) -> io::Result<()> {
        let text = if is_frozen { "1" } else { "0" };
        fs::write(self.path.join("cgroup.freeze"), text)
    }

    /// Returns whether every thread of the group has stopped.
    pub fn is_frozen(&self) -> bool {
        let events = read_to_string(self.path.join("cgroup.events")).unwrap_or_default();
        super::named_number(&events, "frozen") == Some(1)
    }

    /// Returns the numbers of its threads.
    pub fn threads(&self) -> Vec<u32> {
        let list = read_to_string(self.path.join("cgroup.threads")).unwrap_or_default();
        list.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

impl Drop for FreezerGroup {
    fn drop(&mut self) {
        // Nobody stays stopped.
        let _ = self.set_frozen(false);
        if !self.is_own {
            return;
        }
        // A server goes on after the measured part: it goes back where it came from.
        let home = own().map(|own| own.join("cgroup.procs"));
        for _ in 0..MAX_ROUNDS {
            let left = read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
            if left.is_empty() {
                break;
            }
            for pid in left.lines() {
                // One that has ended meanwhile is in no group.
                let _ = home.as_ref().map(|home| fs::write(home, pid));
            }
        }
        await_removal(&self.path);
    }
}

/// Returns whether a process is in a group that is frozen.
pub(crate) fn is_frozen(pid: u32) -> bool {
    let read = |path: &str| read_to_string(path).unwrap_or_default();
    let mounts = read("/proc/self/mountinfo");
    let Some(mount) = mount_of(&mounts, |kind, _| kind == "cgroup2") else {
        return false;
    };
    let group = mount.folder(&read(&format!("/proc/{pid}/cgroup")), str::is_empty);
    let events = read_to_string(group.join("cgroup.events")).unwrap_or_default();
    super::named_number(&events, "frozen") == Some(1)
}

/// Lets the processes of a group go on, if it is frozen.
pub(crate) fn thaw(group: &Path) {
    // A group of another version has no such file.
    if group.join("cgroup.freeze").exists() {
        let _ = fs::write(group.join("cgroup.freeze"), "0");
    }
}

/// Returns the group of this process in the hierarchy of v2, below which groups are made.
pub(super) fn own() -> Option<PathBuf> {
    let read = |path| read_to_string(path).unwrap_or_default();
    let mount = mount_of(&read("/proc/self/mountinfo"), |kind, _| kind == "cgroup2")?;
    Some(mount.folder(&read("/proc/self/cgroup"), str::is_empty))
}
