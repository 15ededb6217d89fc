//! Mounting and unmounting. The kernel's newer calls, fsopen(2) and its companions, are used: they
//! hand back the kernel's own words on a wrong option.

use super::system::{error_text, syscall_error};
use crate::file_system::mounts;
use nix::libc;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uint};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

// From linux/mount.h.
const CLOSE_ON_EXEC: c_uint = 1;
const FSCONFIG_SET_FLAG: c_uint = 0;
const FSCONFIG_SET_STRING: c_uint = 1;
const FSCONFIG_CMD_CREATE: c_uint = 6;
const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;

/// Options that belong to the mount and not to the file system, with their bits.
const ATTRIBUTES: [(&str, c_uint); 8] = [
    ("nosuid", 0x2),
    ("nodev", 0x4),
    ("noexec", 0x8),
    ("relatime", 0x0),
    ("noatime", 0x10),
    ("strictatime", 0x20),
    ("nodiratime", 0x80),
    ("defaults", 0x0),
];

/// How long a file system may stay busy after its last user has ended.
const BUSY_LIMIT: Duration = Duration::from_secs(5);

/// Mounts a file system of that kind from `source` on the folder `at`.
///
/// # Errors
/// One sentence: the kernel's own, as far as it says one.
pub(super) fn mount(
    kind: &str,
    source: &Path,
    options: &[String],
    at: &Path,
) -> Result<(), String> {
    let log = KernelLog::from_now();
    let said = |option: Option<&str>, said: String| {
        let what = option.map_or_else(String::new, |option| format!(" option '{option}':"));
        format!("{kind} cannot be mounted:{what} {}", log.or(said, source))
    };
    let kind_name = text(kind)?;
    // SAFETY: the name is a C string that lives through the call.
    let context =
        owned(unsafe { libc::syscall(libc::SYS_fsopen, kind_name.as_ptr(), CLOSE_ON_EXEC) });
    let mut context = context.map_err(|error| said(None, error_text(&error)))?;
    let source = text(&source.to_string_lossy())?;
    set(&context, FSCONFIG_SET_STRING, c"source", Some(&source))
        .map_err(|error| said(None, kernel_messages(&mut context, &error)))?;
    let mut attributes = 0;
    for option in options {
        if let Some((_, bit)) = ATTRIBUTES.iter().find(|(name, _)| name == option) {
            attributes |= bit;
            continue;
        }
        let done = match option.split_once('=') {
            Some((key, value)) => {
                let (key, value) = (text(key)?, text(value)?);
                set(&context, FSCONFIG_SET_STRING, &key, Some(&value))
            }
            None => set(&context, FSCONFIG_SET_FLAG, &text(option)?, None),
        };
        done.map_err(|error| said(Some(option), kernel_messages(&mut context, &error)))?;
    }
    // SAFETY: without a key and a value the command reads neither.
    let created = unsafe {
        configure(
            &context,
            FSCONFIG_CMD_CREATE,
            std::ptr::null(),
            std::ptr::null(),
        )
    };
    created.map_err(|error| said(None, kernel_messages(&mut context, &error)))?;
    // SAFETY: plain numbers, and the descriptor is open.
    let mounted = owned(unsafe {
        libc::syscall(
            libc::SYS_fsmount,
            context.as_raw_fd(),
            CLOSE_ON_EXEC,
            attributes,
        )
    });
    let mounted = mounted.map_err(|error| said(None, kernel_messages(&mut context, &error)))?;
    place(&mounted, at)
}

/// Makes the folder `from` appear at `at` as well.
///
/// # Errors
/// One sentence.
pub(super) fn bind_mount(from: &Path, at: &Path) -> Result<(), String> {
    let (source, target) = (path_text(from)?, path_text(at)?);
    // SAFETY: both paths are C strings that live through the call; a bind reads nothing else.
    let done = unsafe {
        let nothing = std::ptr::null();
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            nothing,
            libc::MS_BIND,
            nothing.cast(),
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(syscall_error(&format!(
            "{} cannot be bound",
            from.display()
        ))),
    }
}

/// Unmounts what is mounted at `at`; its users may need a moment to be gone.
///
/// # Errors
/// One sentence.
pub(super) fn unmount(at: &Path) -> Result<(), String> {
    let target = path_text(at)?;
    let until = Instant::now() + BUSY_LIMIT;
    loop {
        // SAFETY: the path is a C string that lives through the call.
        if unsafe { libc::umount2(target.as_ptr(), libc::UMOUNT_NOFOLLOW) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EBUSY) || Instant::now() > until {
            let hint = match error.raw_os_error() {
                Some(libc::EBUSY) => "; a process has files open in it",
                _ => "",
            };
            let why = error_text(&error);
            return Err(format!("{} cannot be unmounted: {why}{hint}", at.display()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The source of what is mounted on top at exactly `at`.
pub(super) fn source_at(at: &Path) -> Option<PathBuf> {
    let all = mounts();
    let mut here = all.into_iter().rev();
    let top = here.find(|mount| Path::new(&mount.mount_point) == at);
    top.map(|mount| PathBuf::from(mount.source))
}

/// Every mount point below `folder`, or at it.
pub(super) fn mount_points_in(folder: &Path) -> Vec<PathBuf> {
    let points = mounts()
        .into_iter()
        .map(|mount| PathBuf::from(mount.mount_point));
    points.filter(|point| point.starts_with(folder)).collect()
}

fn place(mounted: &File, at: &Path) -> Result<(), String> {
    let target = path_text(at)?;
    // SAFETY: both paths are C strings that live through the call, and the descriptor is open.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mounted.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            target.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(syscall_error(&format!(
            "nothing can be mounted on {}",
            at.display()
        ))),
    }
}

fn set(context: &File, command: c_uint, key: &CStr, value: Option<&CStr>) -> io::Result<()> {
    let value = value.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: both are C strings, or null, that live through the call.
    unsafe { configure(context, command, key.as_ptr(), value) }
}

/// # Safety
/// `key` and `value` are what fsconfig(2) asks for with `command`.
unsafe fn configure(
    context: &File,
    command: c_uint,
    key: *const c_char,
    value: *const c_char,
) -> io::Result<()> {
    let nothing: c_int = 0;
    // SAFETY: the caller's promise; the descriptor is open.
    let done = unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            command,
            key,
            value,
            nothing,
        )
    };
    owned_or_zero(done)
}

fn owned_or_zero(done: c_long) -> io::Result<()> {
    (done >= 0)
        .then_some(())
        .ok_or_else(io::Error::last_os_error)
}

fn owned(descriptor: c_long) -> io::Result<File> {
    owned_or_zero(descriptor)?;
    let descriptor = c_int::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made this descriptor, and nothing else owns it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// What the kernel has to say on a file system that is being set up, in one line.
fn kernel_messages(context: &mut File, error: &io::Error) -> String {
    let mut said = Vec::new();
    let mut buffer = [0; 1024];
    // Each read takes one message: `e text` for an error, `w` or `i` for less.
    while let Ok(length @ 1..) = context.read(&mut buffer) {
        let message = String::from_utf8_lossy(&buffer[..length]);
        said.extend(
            message
                .strip_prefix("e ")
                .map(|text| text.trim().to_owned()),
        );
    }
    match said.is_empty() {
        true => error_text(error),
        false => said.join("; "),
    }
}

/// The kernel's log from a moment on, for file systems that say what is wrong only there.
struct KernelLog(Option<File>);

impl KernelLog {
    fn from_now() -> Self {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/kmsg");
        let at_end = file.and_then(|mut file| file.seek(SeekFrom::End(0)).map(|_| file));
        Self(at_end.ok())
    }

    /// What the log says of that device since then; `said` where it says nothing.
    fn or(&self, said: String, source: &Path) -> String {
        let device = source.file_name().unwrap_or_default().to_string_lossy();
        let Some(mut log) = self.0.as_ref() else {
            return said;
        };
        let mut found = Vec::new();
        let mut buffer = [0; 8192];
        while let Ok(length @ 1..) = log.read(&mut buffer) {
            let record = String::from_utf8_lossy(&buffer[..length]);
            let message = record.split_once(';').map_or("", |(_, message)| message);
            let message = message.lines().next().unwrap_or_default();
            if message.contains(&*device) {
                found.push(message.to_owned());
            }
        }
        match found.is_empty() || found.iter().any(|line| line.contains(&said)) {
            true if found.is_empty() => said,
            _ => found.join("; "),
        }
    }
}

fn text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("'{text}' has a zero byte in it"))
}

fn path_text(path: &Path) -> Result<CString, String> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| format!("{} has a zero byte in it", path.display()))
}
