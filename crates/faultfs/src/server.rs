//! The file system's own process.

use crate::file_system::PassThroughFileSystem;
use crate::inodes::InodeTable;
use crate::listener::{Observer, receive_listeners};
use crate::mapped_ranges::Device;
use crate::recorder::{Recorder, SharedLog};
use crate::write_back::WriteBack;
use fuser::{Config, Filesystem, MountOption, SessionACL};
use rustix::mount::UnmountFlags;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The line that the server prints when the file system is mounted.
pub const READY: &str = "ready";

/// The time for which unmounting waits for programs that only look at mounts, such as `df`.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// The folders of a recording file system.
#[derive(Debug, Clone)]
pub struct Folders {
    /// The folder that holds the files.
    pub backing: PathBuf,
    /// The folder on which the file system is mounted.
    pub mount_point: PathBuf,
    /// The folder of the log.
    pub log: PathBuf,
}

/// Mounts the file system, prints [`READY`], serves it until standard input ends, and unmounts it.
/// If standard input is a socket, listeners of recorded processes come from it.
///
/// # Errors
/// If FUSE is not available, a folder cannot be used, or the log could not be written completely.
pub fn serve(folders: &Folders) -> io::Result<()> {
    become_pass_through();
    let write_back = WriteBack::start(&folders.mount_point)?;
    let own_thread = write_back.thread();
    let log = SharedLog::create(&folders.log)?;
    let mut inodes = InodeTable::new(&folders.backing)?;
    let recorder = Recorder::new(log.clone(), own_thread, &mut inodes)?;
    let file_system = PassThroughFileSystem::new(inodes, recorder);
    let session = mount(file_system, &folders.mount_point)?;
    let observer = Arc::new(Observer {
        log: log.clone(),
        device: device_of(&folders.mount_point)?,
        write_back,
    });
    say(READY)?;
    // Standard input ends with the process that started this one, however it ends.
    let received = receive_listeners(&observer);
    let unmounted = unmount(session, &folders.mount_point, UnmountFlags::DETACH);
    let finished = log.lock().finish();
    received.and(finished).and(unmounted)
}

fn device_of(mount_point: &Path) -> io::Result<Device> {
    let device = rustix::fs::stat(mount_point)?.st_dev;
    Ok(Device {
        major: rustix::fs::major(device),
        minor: rustix::fs::minor(device),
    })
}

/// Prints a line for the process that started this one.
pub(crate) fn say(line: &str) -> io::Result<()> {
    let mut output = io::stdout();
    writeln!(output, "{line}")?;
    output.flush()
}

/// Unmounts a file system. Its session ends with it, unless a process keeps a file open: then it is
/// unmounted with the flags `in_use`.
pub(crate) fn unmount(
    session: fuser::BackgroundSession,
    mount_point: &Path,
    in_use: UnmountFlags,
) -> io::Result<()> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    let busy = Err(rustix::io::Errno::BUSY);
    while rustix::mount::unmount(mount_point, UnmountFlags::empty()) == busy
        && Instant::now() < deadline
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    session
        .umount_and_join()
        .or_else(|_| remove_mount(mount_point, in_use))
}

/// Mounts a file system, which a thread serves from then on.
pub(crate) fn mount(
    file_system: impl Filesystem,
    mount_point: &Path,
) -> io::Result<fuser::BackgroundSession> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("trueput".to_owned()),
        MountOption::Subtype("faultfs".to_owned()),
        MountOption::DefaultPermissions,
    ];
    // A server may run as another user. Without root, the kernel refuses to let others in unless
    // /etc/fuse.conf allows it.
    if rustix::process::geteuid().is_root() {
        config.acl = SessionACL::All;
    }
    fuser::spawn_mount(file_system, mount_point, &config)
}

/// Unmounts a file system whose server has ended: with `DETACH` also one that is in use, as soon as
/// it no longer is. One that is not mounted any more is left alone.
pub(crate) fn remove_mount(mount_point: &Path, flags: UnmountFlags) -> io::Result<()> {
    match rustix::mount::unmount(mount_point, flags) {
        Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Prepares this process for passing a folder through.
pub(crate) fn become_pass_through() {
    // Modes arrive as the kernel has computed them.
    rustix::process::umask(rustix::fs::Mode::empty());
    raise_descriptor_limit();
}

/// Allows as many open files as this process may have: each inode keeps one open.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // With the old limit it works for fewer files.
    let _ = setrlimit(Resource::Nofile, raised);
}
