//! A mounted file system in a folder of its own.

use crate::replay;
use rustix::process::Pid;
use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use trueput_faultfs::Recording;
use trueput_faultfs::mount::Mount;
use trueput_faultfs::server::Folders;

/// Returns why no file system can be mounted here.
pub fn reason_to_skip() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root can test other users".to_owned());
    }
    let fuse = OpenOptions::new().read(true).write(true).open("/dev/fuse");
    if let Err(error) = fuse {
        return Some(format!("/dev/fuse: {error}"));
    }
    // Root in a container may be refused what mounting takes.
    let output = Command::new("unshare").args(["--mount", "true"]).output();
    let may_mount = output.is_ok_and(|output| output.status.success());
    (!may_mount).then(|| "this root may not mount ('unshare --mount' fails)".to_owned())
}

/// This program, with arguments.
pub fn this_program(arguments: &[&Path]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments);
    command
}

/// The folders below a common one.
pub fn folders(parent: &Path) -> Folders {
    Folders {
        backing: parent.join("backing"),
        mount_point: parent.join("mount"),
        log: parent.join("log"),
    }
}

/// Mounts the file system on folders that exist.
pub fn mount(folders: Folders) -> Mount {
    let paths = [&folders.backing, &folders.mount_point, &folders.log];
    let [backing, mount_point, log] = paths.map(PathBuf::as_path);
    let server = this_program(&["faultfs".as_ref(), backing, mount_point, log]);
    Mount::start(server, folders).unwrap()
}

/// Whether something is mounted on a folder.
pub fn is_mounted(folder: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let folder = folder.to_str().unwrap();
    mounts
        .lines()
        .any(|line| line.split(' ').nth(4) == Some(folder))
}

/// Finds the server of a mount point.
pub fn server_of(mount_point: &Path) -> Option<Pid> {
    let mount_point = mount_point.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    let mut servers = pids.filter(|pid: &i32| {
        let arguments = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut arguments = arguments.split('\0').skip(1);
        let is_server = matches!(arguments.next(), Some("faultfs" | "storage-server"));
        is_server && arguments.nth(1) == Some(mount_point)
    });
    servers.next().and_then(Pid::from_raw)
}

/// A mounted file system, and the folders that it uses.
pub struct Fixture {
    pub mount: Mount,
    pub folders: Folders,
    _parent: TempDir,
}

impl Fixture {
    pub fn new() -> Self {
        Self::over(|_| ())
    }

    /// Mounts it over a folder that `fill` has filled.
    pub fn over(fill: impl FnOnce(&Path)) -> Self {
        let parent = empty_folders();
        let folders = folders(parent.path());
        fill(&folders.backing);
        let mount = mount(folders.clone());
        assert!(is_mounted(mount.path()));
        Self {
            mount,
            folders,
            _parent: parent,
        }
    }

    /// Returns a path on the file system.
    pub fn path(&self, name: &str) -> PathBuf {
        self.mount.path().join(name)
    }

    pub fn create(&self, name: &str) -> File {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create_new(true);
        options.open(self.path(name)).unwrap()
    }

    /// Unmounts it. The recording, replayed, must give what the folder below holds.
    pub fn stop(self) -> Recording {
        let recording = self.mount.stop().unwrap();
        assert!(!is_mounted(&self.folders.mount_point));
        let replayed = replay::replay(&recording);
        let below = replay::read(&self.folders.backing);
        for (path, found) in &below {
            assert_eq!(replayed.get(path), Some(found), "{}", path.display());
        }
        assert_eq!(replayed.len(), below.len());
        recording
    }
}

/// Creates the three folders in one that every user may pass.
pub fn empty_folders() -> TempDir {
    let parent = tempfile::tempdir().unwrap();
    std::fs::set_permissions(parent.path(), Permissions::from_mode(0o755)).unwrap();
    let folders = folders(parent.path());
    for folder in [folders.backing, folders.mount_point, folders.log] {
        std::fs::create_dir(folder).unwrap();
    }
    parent
}
