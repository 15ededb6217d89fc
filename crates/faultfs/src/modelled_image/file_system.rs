//! The file system: a folder with one file, whose requests are answered after their modeled time.

use crate::layer::read_up_to;
use crate::modelled_device::DeviceRequest;
use crate::modelled_image::delays::{Answer, Delays, ServedRequest};
use crate::modelled_image::service_report::RequestKind;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, WriteFlags,
};
use rustix::fs::FallocateFlags;
use rustix::io::retry_on_intr;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use trueput_host::image_store::SERVED_IMAGE;

/// The inode of the image.
const IMAGE: INodeNo = INodeNo(2);

/// What is mounted does not change.
const VALIDITY: Duration = Duration::from_secs(3600);

const GENERATION: Generation = Generation(0);

/// The size of a block in the statistics of the file system, bytes. A loop device discards in
/// these.
const BLOCK_BYTES: u32 = 4096;

/// The asynchronous requests that the kernel may send at once: the 128 of a loop device, in up to
/// eight parts each.
const MAX_BACKGROUND: u16 = 1024;

/// The reply to a request on the image.
pub(super) enum ImageReply {
    Data(ReplyData, Vec<u8>),
    Written(ReplyWrite, u32),
    Done(ReplyEmpty),
}

impl Answer for ImageReply {
    fn send(self) {
        match self {
            Self::Data(reply, data) => reply.data(&data),
            Self::Written(reply, bytes) => reply.written(bytes),
            Self::Done(reply) => reply.ok(),
        }
    }
}

/// A folder with one file of a fixed size.
pub(super) struct ImageFileSystem {
    image: File,
    size_bytes: u64,
    began: SystemTime,
    delays: Arc<Delays<ImageReply>>,
    /// Called when the kernel has ended the connection.
    on_end: Box<dyn Fn() + Send + Sync>,
}

impl ImageFileSystem {
    /// Creates the file system over an image file of that size.
    pub(super) fn new(
        image: File,
        size_bytes: u64,
        delays: Arc<Delays<ImageReply>>,
        on_end: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        Self {
            image,
            size_bytes,
            began: SystemTime::now(),
            delays,
            on_end,
        }
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0o700, 0),
            IMAGE => (FileType::RegularFile, 0o600, self.size_bytes),
            _ => return None,
        };
        let blocks = match kind {
            FileType::RegularFile => self.image.metadata().map_or(0, |found| found.blocks()),
            _ => 0,
        };
        Some(FileAttr {
            ino: inode,
            size,
            blocks,
            atime: self.began,
            mtime: self.began,
            ctime: self.began,
            crtime: self.began,
            kind,
            perm,
            nlink: 1,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: BLOCK_BYTES,
            flags: 0,
        })
    }

    /// Returns whether a part of the image is within its size.
    fn has(&self, position: u64, bytes: u64) -> bool {
        let end = position.checked_add(bytes);
        end.is_some_and(|end| end <= self.size_bytes)
    }

    fn write_bytes(&self, position: u64, data: &[u8]) -> io::Result<u32> {
        if !self.has(position, data.len() as u64) {
            return Err(rustix::io::Errno::NOSPC.into());
        }
        self.image.write_all_at(data, position)?;
        Ok(u32::try_from(data.len()).unwrap_or(u32::MAX))
    }

    /// Allocates, zeroes or discards a part of the image.
    fn allocate(&self, position: u64, bytes: u64, mode: i32) -> io::Result<FallocateFlags> {
        if !self.has(position, bytes) {
            return Err(rustix::io::Errno::NOSPC.into());
        }
        let flags = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        // In memory, a signal interrupts it.
        retry_on_intr(|| rustix::fs::fallocate(&self.image, flags, position, bytes))?;
        Ok(flags)
    }
}

fn error(cause: io::Error) -> Errno {
    Errno::from(cause)
}

impl Filesystem for ImageFileSystem {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let added = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        added.map_err(|_| io::Error::from(rustix::io::Errno::NOSYS))?;
        // Only zero is refused.
        let _ = config.set_max_background(MAX_BACKGROUND);
        Ok(())
    }

    fn destroy(&mut self) {
        (self.on_end)();
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let is_image = parent == INodeNo::ROOT && name == SERVED_IMAGE;
        match self.attributes(IMAGE).filter(|_| is_image) {
            Some(attributes) => reply.entry(&VALIDITY, &attributes, GENERATION),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&VALIDITY, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if inode == IMAGE {
            let direct = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
            reply.opened(FileHandle(0), direct);
        } else {
            reply.error(Errno::EISDIR);
        }
    }

    fn read(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let arrived_ns = self.delays.now_ns();
        let data = match read_up_to(&self.image, offset, size) {
            Ok(data) => data,
            Err(cause) => return reply.error(error(cause)),
        };
        let read = DeviceRequest::Read {
            position: offset,
            bytes: data.len() as u64,
        };
        let request = ServedRequest::to_device(read, arrived_ns);
        self.delays.answer(request, ImageReply::Data(reply, data));
    }

    fn write(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let arrived_ns = self.delays.now_ns();
        let written = match self.write_bytes(offset, data) {
            Ok(written) => written,
            Err(cause) => return reply.error(error(cause)),
        };
        let write = DeviceRequest::Write {
            position: offset,
            bytes: data.len() as u64,
        };
        let request = ServedRequest::to_device(write, arrived_ns);
        let answer = ImageReply::Written(reply, written);
        self.delays.answer(request, answer);
    }

    /// The image file itself is not flushed: the model's flush stands for it.
    fn fsync(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        let request = ServedRequest::to_device(DeviceRequest::Flush, self.delays.now_ns());
        self.delays.answer(request, ImageReply::Done(reply));
    }

    fn fallocate(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let arrived_ns = self.delays.now_ns();
        let flags = match self.allocate(offset, length, mode) {
            Ok(flags) => flags,
            Err(cause) => return reply.error(error(cause)),
        };
        let request = if flags.contains(FallocateFlags::ZERO_RANGE) {
            let write = DeviceRequest::Write {
                position: offset,
                bytes: length,
            };
            ServedRequest::to_device(write, arrived_ns)
        } else {
            ServedRequest {
                kind: RequestKind::Discard,
                bytes: length,
                on_device: None,
                arrived_ns,
                came_by: None,
            }
        };
        self.delays.answer(request, ImageReply::Done(reply));
    }

    fn readdir(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (IMAGE, FileType::RegularFile, SERVED_IMAGE),
        ];
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        for (index, (inode, kind, name)) in entries.into_iter().enumerate().skip(start) {
            if reply.add(inode, index as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _request: &Request, _inode: INodeNo, reply: ReplyStatfs) {
        let blocks = self.size_bytes / u64::from(BLOCK_BYTES);
        reply.statfs(blocks, 0, 0, 1, 0, BLOCK_BYTES, 255, BLOCK_BYTES);
    }
}
