//! The image of a loop device.

use super::{LayerDepth, Resolver, as_number};
use nix::libc;
use std::fs::{File, metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

// From linux/loop.h.
const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;

/// `struct loop_info64` of linux/loop.h, of which the first two fields are needed.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    others: [u8; 216],
}

const _: () = assert!(size_of::<LoopInfo>() == 232);

/// What the kernel appends to the path of a file that was removed.
const DELETED: &str = " (deleted)";

impl Resolver {
    /// Follows the file that a loop device shows as a device. Its path is that of the program that
    /// attached it, which may have seen other folders or has removed the file: the kernel's numbers
    /// decide where it may be asked for them.
    pub(super) fn follow_image(&mut self, name: &str, stated: &str) {
        let path = Path::new(stated.strip_suffix(DELETED).unwrap_or(stated));
        let status = loop_status(name);
        let found = metadata(path).ok().filter(|found| {
            let is_same =
                |(device, inode): (u64, u64)| found.dev() == device && found.ino() == inode;
            status.map_or_else(|| !stated.ends_with(DELETED), is_same)
        });
        if let Some(found) = found {
            if found.file_type().is_block_device() {
                match self.device_of_number(&as_number(found.rdev())) {
                    Some(device) => {
                        self.follow_device(&device);
                    }
                    None => self.stop(format!("the device {stated} is not known")),
                }
                return;
            }
            let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            self.follow_path(&path, LayerDepth::Below);
            return;
        }
        // A file that is not visible may still be on a file system that is.
        let number = status.map(|(device, _)| as_number(device));
        let mount = self
            .mounts
            .iter()
            .find(|mount| Some(&mount.device) == number.as_ref())
            .cloned();
        match mount {
            Some(mount) => self.follow_mount(&mount, None, LayerDepth::Below),
            None => self.stop(format!("the image {stated} is not visible here")),
        }
    }
}

/// Returns the numbers of the device and of the file behind a loop device; `None` without the right
/// to ask.
fn loop_status(name: &str) -> Option<(u64, u64)> {
    let device = File::open(Path::new("/dev").join(name)).ok()?;
    let mut info = LoopInfo {
        device: 0,
        inode: 0,
        others: [0; 216],
    };
    // SAFETY: the structure is laid out as linux/loop.h says and lives through the call.
    let done = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) };
    // The kernel's encoding of the number is that of the C library for all that fit 32 bits.
    (done == 0).then_some((info.device, info.inode))
}
