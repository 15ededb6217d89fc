//! The resources that a process and its descendants use: a server whose processes come and go.

use super::cgroup::is_frozen;
use super::process::{self, MemoryUsage, ThreadContextSwitches};
use super::usage::ResourceUsage;
use std::collections::HashMap;
use std::fs::{read_dir, read_link, read_to_string};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// A process that is still in the kernel after this time is kept there.
const KEPT_PAUSE: Duration = Duration::from_millis(500);

/// The interval at which the users of a folder are looked for.
const USERS_PAUSE: Duration = Duration::from_millis(10);

/// Lists `root` and its descendants, `root` first.
///
/// The kernel lists the children of a thread; without such a list (`CONFIG_PROC_CHILDREN`) the
/// parents of all processes are read.
#[must_use]
pub fn list_members(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        let children = children(pid).unwrap_or_else(|| children_by_parent(pid));
        let new: Vec<u32> = children
            .into_iter()
            .filter(|c| !found.contains(c))
            .collect();
        found.extend(new);
    }
    found
}

/// Describes descendants of this process that use a folder and that no signal ends, because the
/// kernel waits for a device or a file system; `None` if there are none.
#[must_use]
pub(crate) fn describe_unkillable_users(folder: &Path) -> Option<String> {
    let is_kept = |pid: &u32| process::is_uninterruptible(*pid) && uses(*pid, folder);
    let mut kept = list_members(std::process::id());
    kept.retain(is_kept);
    if !kept.is_empty() {
        // One that has just been there waits for nothing.
        std::thread::sleep(KEPT_PAUSE);
        kept.retain(is_kept);
    }
    process::describe_stuck(&kept)
}

/// Returns the processes that a signal or a control group has stopped and that have their working
/// folder or an open file in a folder: those of a contender whose runner was killed between its
/// time slices.
#[must_use]
pub(crate) fn find_stopped_users(folder: &Path) -> Vec<u32> {
    // What cannot be inspected is another user's.
    let users = list_all().filter(|&pid| is_orphan(pid) && can_inspect(pid) && uses(pid, folder));
    users
        .filter(|&pid| process::is_stopped(pid) || is_frozen(pid))
        .collect()
}

/// Waits until no process has its working folder or an open file in a folder, for a limit at most,
/// and returns whether that is so. Processes that this user cannot inspect do not count, nor do
/// those that see other mounts: a folder of the same name is another one to them.
#[must_use]
pub fn await_no_users(folder: &Path, limit: Duration) -> bool {
    let until = Instant::now() + limit;
    let mounts = read_link("/proc/thread-self/ns/mnt").ok();
    let sees_same = |pid: u32| read_link(format!("/proc/{pid}/ns/mnt")).ok() == mounts;
    let is_user = |pid: u32| can_inspect(pid) && sees_same(pid) && uses(pid, folder);
    let is_used = || list_all().any(is_user);
    while is_used() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(USERS_PAUSE);
    }
    true
}

/// Lists all processes.
fn list_all() -> impl Iterator<Item = u32> {
    let all = read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
}

/// Whether the process that started it has ended. One that the user has suspended in a shell has a
/// living parent.
fn is_orphan(pid: u32) -> bool {
    process::read_parent(pid).is_some_and(|parent| {
        let name = read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
        // A service manager adopts orphans in the place of process 1.
        parent == 1 || name.trim() == "systemd"
    })
}

/// Whether this user sees what a process uses. Of process 1 in a container, even root may see a
/// list of open files and not what they are.
fn can_inspect(pid: u32) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    read_dir(process.join("fd")).is_ok() && read_link(process.join("cwd")).is_ok()
}

/// Returns whether a process has its working folder or an open file in a folder. A process that
/// cannot be inspected counts as a user.
fn uses(pid: u32, folder: &Path) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let is_hidden = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let is_below = |link: &Path| match read_link(link) {
        Ok(target) => target.starts_with(folder),
        Err(error) => is_hidden(error),
    };
    match read_dir(process.join("fd")) {
        Ok(files) => {
            let mut files = files.flatten();
            is_below(&process.join("cwd")) || files.any(|file| is_below(&file.path()))
        }
        Err(error) => is_hidden(error),
    }
}

fn children(pid: u32) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    // One that has gone has no children.
    let threads = read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    for thread in threads.flatten() {
        let list = read_to_string(thread.path().join("children"));
        match list {
            Ok(list) => {
                let pids = list.split_whitespace();
                found.extend(pids.filter_map(|pid| pid.parse::<u32>().ok()));
            }
            // A thread that has ended has no folder any more; a kernel without lists has no file.
            Err(_) if !thread.path().exists() => {}
            Err(_) => return None,
        }
    }
    Some(found)
}

fn children_by_parent(parent: u32) -> Vec<u32> {
    list_all()
        .filter(|&pid| process::read_parent(pid) == Some(parent))
        .collect()
}

/// A process and its descendants, and the resources that they have used. CPU, page faults and I/O
/// of an ended process are the kernel's own figures, because its parent has waited for it; its
/// context switches are the last ones read.
pub struct ProcessTree {
    root: u32,
    switches: HashMap<u32, ThreadContextSwitches>,
    last: ResourceUsage,
}

impl ProcessTree {
    /// Starts to follow `root`, and takes a first reading.
    pub fn new(root: u32) -> Self {
        let mut tree = Self {
            root,
            switches: HashMap::new(),
            last: ResourceUsage::default(),
        };
        tree.poll();
        tree
    }

    /// Takes a reading: the resources used since `root` started; the last ones read once it is
    /// gone.
    pub fn poll(&mut self) -> ResourceUsage {
        let mut now = ResourceUsage::default();
        for pid in list_members(self.root) {
            now += process::read_cpu_and_faults_with_ended(pid).unwrap_or_default();
            now += process::read_io(pid).unwrap_or_default();
            self.switches.entry(pid).or_default().read(pid);
        }
        for switches in self.switches.values().map(ThreadContextSwitches::total) {
            now.voluntary_context_switches += switches.voluntary;
            now.involuntary_context_switches += switches.involuntary;
        }
        // One that ends between two readings is for a moment in neither its own figures nor its
        // parent's.
        self.last = now.max(self.last);
        self.last
    }

    /// Returns the last reading.
    pub fn last(&self) -> ResourceUsage {
        self.last
    }

    /// Returns the processes seen so far, ended ones included.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.switches.keys().copied()
    }

    /// Reads their memory now. The kernel walks all their mappings for it.
    pub fn memory(&self) -> MemoryUsage {
        let all = list_members(self.root);
        all.into_iter()
            .filter_map(process::read_memory)
            .fold(MemoryUsage::default(), |sum, one| MemoryUsage {
                pss_bytes: sum.pss_bytes + one.pss_bytes,
                rss_bytes: sum.rss_bytes + one.rss_bytes,
                max_rss_bytes: sum.max_rss_bytes + one.max_rss_bytes,
            })
    }

    /// Returns the sum of their resident set sizes: shared pages count in each.
    pub fn rss_bytes(&self) -> u64 {
        let all = list_members(self.root).into_iter();
        all.filter_map(process::read_rss_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn shell(script: &str) -> Child {
        Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn until(condition: &str, mut holds: impl FnMut() -> bool) {
        let limit = Instant::now() + Duration::from_secs(30);
        while !holds() {
            assert!(Instant::now() < limit, "{condition}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Starts a process in a folder whose parent has ended.
    fn orphan_in(place: &Path) -> u32 {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "sleep 60 >/dev/null 2>&1 & echo $!"])
            .current_dir(place);
        let output = shell.output().unwrap();
        String::from_utf8(output.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    }

    #[test]
    fn an_orphan_that_is_stopped_in_a_folder_is_found_and_no_other_process() {
        use nix::sys::signal::{Signal, kill};
        let signal = |pid: u32, signal| kill(nix::unistd::Pid::from_raw(pid as i32), signal);
        let folder = tempfile::tempdir().unwrap();
        let (here, elsewhere) = (orphan_in(folder.path()), orphan_in(Path::new("/")));
        let mut own = Command::new("sleep")
            .arg("60")
            .current_dir(folder.path())
            .spawn()
            .unwrap();
        assert!(
            find_stopped_users(folder.path()).is_empty(),
            "all of them run"
        );
        for pid in [here, elsewhere, own.id()] {
            signal(pid, Signal::SIGSTOP).unwrap();
        }
        if is_orphan(here) {
            until("one is found", || {
                find_stopped_users(folder.path()) == [here]
            });
        } else {
            eprintln!("skipped: orphans are adopted by another process than 1 here");
        }
        for pid in [here, elsewhere] {
            signal(pid, Signal::SIGKILL).unwrap();
        }
        own.kill().unwrap();
        own.wait().unwrap();
    }

    #[test]
    fn a_child_and_its_child_are_members_by_either_way_of_asking() {
        let mut child = shell("sh -c 'sleep 60; true'; true");
        until("three members", || list_members(child.id()).len() == 3);
        let asked: Vec<u32> = children(child.id()).unwrap_or_default();
        let searched = children_by_parent(child.id());
        assert_eq!(searched.len(), 1);
        assert!(asked.is_empty() || asked == searched);
        let all = list_members(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        for pid in &all[1..] {
            let pid = nix::unistd::Pid::from_raw(*pid as i32);
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
    }

    #[test]
    fn a_process_uses_the_folders_of_its_files_and_no_others() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path().canonicalize().unwrap();
        let folders = ["open", "working", "other"].map(|name| parent.join(name));
        let [open, working, other] = &folders;
        for folder in &folders {
            std::fs::create_dir(folder).unwrap();
        }
        let mut child = Command::new("sleep")
            .arg("60")
            .current_dir(working)
            .stdout(std::fs::File::create(open.join("file")).unwrap())
            .spawn()
            .unwrap();
        until("the program runs", || uses(child.id(), working));
        assert!(uses(child.id(), open));
        assert!(!uses(child.id(), other));
        assert!(!await_no_users(working, Duration::ZERO));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(await_no_users(working, Duration::from_secs(30)));
    }

    #[test]
    fn a_process_with_other_mounts_uses_another_folder_of_the_same_name() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("not run: only root can give a process other mounts");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let mut command = Command::new("unshare");
        let command = command.args(["--mount", "sleep", "60"]);
        let mut child = command.current_dir(&folder).spawn().unwrap();
        let mounts = |pid: &str| read_link(format!("/proc/{pid}/ns/mnt")).unwrap();
        let own = mounts("self");
        until("it has other mounts", || {
            mounts(&child.id().to_string()) != own
        });
        assert!(uses(child.id(), &folder));
        assert!(await_no_users(&folder, Duration::ZERO));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_an_ended_child_used_stays_in_the_sum() {
        let work = "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; sleep 60; true";
        let mut child = shell(work);
        let mut tree = ProcessTree::new(child.id());
        until("the worker is seen at work", || {
            let usage = tree.poll();
            usage.user_cpu_s + usage.system_cpu_s > 0.03
        });
        let before = tree.poll();
        // The worker has ended once the shell's child is `sleep`.
        until("sleep", || {
            let of = |pid: &u32| read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            list_members(child.id())
                .iter()
                .any(|pid| of(pid).trim() == "sleep")
        });
        let after = tree.poll();
        assert!(after.user_cpu_s >= before.user_cpu_s && after.user_cpu_s > 0.0);
        assert!(after.minor_page_faults >= before.minor_page_faults);
        let all = list_members(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        for pid in &all[1..] {
            let pid = nix::unistd::Pid::from_raw(*pid as i32);
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
    }
}
