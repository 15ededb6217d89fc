//! Loop devices: an image file as a block device (loop(4)).

use super::error::TrialFileSystemError;
use super::system::open_file;
use nix::libc;
use std::ffi::c_int;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

// From linux/loop.h.
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LOOP_CLR_FD: libc::c_ulong = 0x4C01;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// Attempts to take a free device, which another process may take first.
const ATTEMPTS: u32 = 64;

/// The time that the kernel may take to release a device after its last user.
const DETACH_TIMEOUT: Duration = Duration::from_secs(5);

/// The control device of loop devices.
pub(super) const CONTROL: &str = "/dev/loop-control";

/// An attached loop device. The kernel detaches it when its last user is gone: this value, then the
/// mount.
#[derive(Debug)]
pub(super) struct LoopDevice {
    /// The block device.
    pub path: PathBuf,
    /// Whether the image is accessed by direct I/O.
    pub direct_io: bool,
    _open: File,
}

/// `struct loop_info64` of linux/loop.h; only the flags are set by the caller.
#[repr(C)]
struct LoopInfo {
    before_flags: [u32; 13],
    flags: u32,
    after_flags: [u8; 176],
}

/// `struct loop_config` of linux/loop.h.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopInfo>() == 232 && size_of::<LoopConfig>() == 304);

/// Attaches an image to a free loop device, with direct I/O if the file system below allows it.
///
/// # Errors
/// [`TrialFileSystemError`].
pub(super) fn attach(image: &Path) -> Result<LoopDevice, TrialFileSystemError> {
    let file = open_file(image, true)?;
    let control = open_file(Path::new(CONTROL), true)?;
    for _ in 0..ATTEMPTS {
        // SAFETY: the request takes no argument, and the descriptor is open.
        let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
        if number < 0 {
            return Err(TrialFileSystemError::NoLoopDevice(
                io::Error::last_os_error(),
            ));
        }
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let device = open_device(&path, number)?;
        match configure(&device, &file) {
            Ok(()) => {
                let direct_io = attribute(&path, "dio").is_some_and(|dio| dio == "1");
                let _open = device;
                return Ok(LoopDevice {
                    path,
                    direct_io,
                    _open,
                });
            }
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
            Err(error) => {
                return Err(TrialFileSystemError::NotAttached {
                    image: image.to_owned(),
                    device: path,
                    error,
                });
            }
        }
    }
    Err(TrialFileSystemError::LoopDevicesTaken)
}

/// Opens the device that the kernel has offered. A container may have been given the control device
/// and not the others.
fn open_device(path: &Path, number: c_int) -> Result<File, TrialFileSystemError> {
    if path.exists() {
        return open_file(path, true);
    }
    Err(TrialFileSystemError::NoDeviceFile {
        path: path.to_owned(),
        number,
    })
}

fn configure(device: &File, image: &File) -> io::Result<()> {
    let config = LoopConfig {
        fd: u32::try_from(image.as_raw_fd()).unwrap_or(u32::MAX),
        block_size: 0,
        info: LoopInfo {
            before_flags: [0; 13],
            flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
            after_flags: [0; 176],
        },
        reserved: [0; 8],
    };
    // SAFETY: the structure is laid out as linux/loop.h says and lives through the call.
    let done: c_int = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Returns the loop devices attached to an image.
pub(super) fn find_devices_of_image(image: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let devices = entries.map(|entry| Path::new("/dev").join(entry.file_name()));
    devices
        .filter(|device| find_image_of(device).is_some_and(|path| path == image))
        .collect()
}

/// Returns the image of a loop device; `None` if it is not attached.
pub(super) fn find_image_of(device: &Path) -> Option<PathBuf> {
    let backing = attribute(device, "backing_file")?;
    // The kernel says so of a file that was removed while it was attached.
    let backing = backing.strip_suffix(" (deleted)").unwrap_or(&backing);
    Some(PathBuf::from(backing))
}

fn attribute(device: &Path, name: &str) -> Option<String> {
    let device = device.file_name()?.to_str()?;
    let text = fs::read_to_string(format!("/sys/block/{device}/loop/{name}")).ok()?;
    Some(text.trim_end().to_owned())
}

/// Detaches a loop device once its last user is gone.
///
/// # Errors
/// [`TrialFileSystemError::Path`].
fn detach(device: &Path) -> Result<(), TrialFileSystemError> {
    let open = open_file(device, true)?;
    // SAFETY: the request takes no argument, and the descriptor is open.
    let done = unsafe { libc::ioctl(open.as_raw_fd(), LOOP_CLR_FD) };
    let error = io::Error::last_os_error();
    let gone = error.raw_os_error() == Some(libc::ENXIO);
    if done == 0 || gone {
        Ok(())
    } else {
        Err(TrialFileSystemError::of_path(device, "detached")(error))
    }
}

/// Waits until no loop device is attached to the image, and detaches one that was never mounted.
///
/// # Errors
/// [`TrialFileSystemError`] if one cannot be detached, or is not within [`DETACH_TIMEOUT`].
pub(super) fn wait_for_detach(image: &Path) -> Result<(), TrialFileSystemError> {
    let until = Instant::now() + DETACH_TIMEOUT;
    loop {
        let mut devices = find_devices_of_image(image);
        if devices.is_empty() {
            return Ok(());
        }
        for device in &devices {
            detach(device)?;
        }
        if Instant::now() > until {
            return Err(TrialFileSystemError::StillAttached {
                image: image.to_owned(),
                device: devices.swap_remove(0),
            });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_the_kernel_has_and_the_container_has_not_is_told_with_the_way_out() {
        let missing = Path::new("/nowhere/loop3");
        let reason = open_device(missing, 3).unwrap_err().to_string();
        assert!(reason.contains("mknod /nowhere/loop3 b 7 3"), "{reason}");
        let there = tempfile::NamedTempFile::new().unwrap();
        assert!(open_device(there.path(), 3).is_ok());
    }
}
