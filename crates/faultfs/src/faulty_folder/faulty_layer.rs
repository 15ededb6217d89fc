//! The layer that fails: what each request does to the files below, and what it does not.

use crate::faulty_folder::counted_faults::{
    CountedFaults, FaultRequest, RequestFaults, RequestKind,
};
use crate::faulty_folder::free_space::FreeSpace;
use crate::faulty_folder::report::FaultReport;
use crate::faulty_folder::switch::ArmingSwitch;
use crate::faulty_folder::volatile_pages::{Loss, VolatilePages};
use crate::flush_watch::Thread;
use crate::inodes::InodeTable;
use crate::layer::{Answer, Layer, OpenFile, Stall, WriteOrigin, read_up_to};
use crate::operation::{ByteRange, Inode, Operation};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueput_record::random::SplitMix64;
use trueput_record::storage_fault::{FailedFlush, FaultEffect, StorageFault};

/// The layer that fails.
pub(super) struct FaultyLayer {
    faults: CountedFaults,
    pages: VolatilePages,
    free_space: FreeSpace,
    switch: Arc<ArmingSwitch>,
    failed_flush: FailedFlush,
    /// The folder below, by its whole path.
    folder: PathBuf,
    /// Which bits flip.
    bits: SplitMix64,
}

impl FaultyLayer {
    /// Creates the layer over the folder that holds the files, given by its whole path.
    pub(super) fn new(
        folder: &Path,
        faults: &[StorageFault],
        pages: VolatilePages,
        failed_flush: FailedFlush,
        seed: u64,
    ) -> Self {
        let counted = CountedFaults::new(faults, seed);
        Self {
            free_space: FreeSpace::new(folder, counted.space_limit()),
            faults: counted,
            pages,
            switch: Arc::default(),
            failed_flush,
            folder: folder.to_owned(),
            bits: SplitMix64::new(seed),
        }
    }

    pub(super) fn switch(&self) -> Arc<ArmingSwitch> {
        Arc::clone(&self.switch)
    }

    /// Loses what the storage does not hold.
    pub(super) fn lose(&mut self, inodes: &InodeTable, loss: Loss) -> io::Result<()> {
        self.pages.lose(inodes, loss)
    }

    /// Returns what came of the faults so far.
    pub(super) fn report(&self) -> FaultReport {
        FaultReport {
            untracked: self.pages.untracked().map(str::to_owned),
            ..self.faults.report()
        }
    }

    /// Returns the faults that come to a request; none unless the folder is armed.
    fn come(&mut self, inodes: &InodeTable, request: FaultRequest) -> RequestFaults {
        let Some(at) = self.switch.armed_for() else {
            return RequestFaults::default();
        };
        let name = || relative_path(inodes, &self.folder, request.inode);
        self.faults.come(&request, at, name)
    }

    /// Returns how many bytes the files hold after a part of a file was written or allocated.
    fn held_after(&mut self, file: &File, range: ByteRange) -> io::Result<Option<u64>> {
        if self.switch.armed_for().is_none() {
            self.free_space.forget();
            return Ok(None);
        }
        self.free_space.held_after_write(file, range)
    }

    /// Refuses what has no room on a device that is full.
    fn refuse_growth(
        &mut self,
        inodes: &InodeTable,
        inode: Inode,
        held_after: Option<u64>,
    ) -> io::Result<()> {
        let faults = self.come(
            inodes,
            FaultRequest {
                kind: RequestKind::Growth,
                inode,
                bytes: 0,
                held_after,
            },
        );
        if faults.has(FaultEffect::NoSpace) {
            return Err(Errno::NOSPC.into());
        }
        Ok(())
    }

    /// Returns the answer to a request, after its stall.
    fn answer<T: Send + 'static>(
        &self,
        result: io::Result<T>,
        faults: &RequestFaults,
    ) -> Answer<T> {
        let stall = faults.stall().map(|(length, holds_all)| {
            let switch = self.switch();
            Stall::Wait {
                wait: Box::new(move || switch.wait(length)),
                holds_all,
            }
        });
        Answer { result, stall }
    }

    /// Returns what was read as the faults leave it.
    fn faulty_read(&mut self, mut data: Vec<u8>, faults: &RequestFaults) -> io::Result<Vec<u8>> {
        if faults.has(FaultEffect::InputOutputError) {
            return Err(Errno::IO.into());
        }
        if faults.has(FaultEffect::FlippedBit) {
            let bit = self.bits.below(data.len() * 8);
            if let Some(byte) = data.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
        }
        Ok(data)
    }

    fn faulty_write(
        &mut self,
        file: OpenFile<'_>,
        offset: u64,
        data: &[u8],
        faults: &RequestFaults,
    ) -> io::Result<u32> {
        if faults.has(FaultEffect::InputOutputError) {
            return Err(Errno::IO.into());
        }
        if faults.has(FaultEffect::NoSpace) {
            return Err(Errno::NOSPC.into());
        }
        let length = if faults.has(FaultEffect::ShortWrite) {
            data.len() / 2
        } else {
            data.len()
        };
        let range = range_of(offset, length as u64);
        self.pages.before_write(file.inode, file.below, range)?;
        let written = file.below.write_at(&data[..length], offset)?;
        if self.switch.armed_for().is_some() {
            self.faults.add_written(written as u64);
        }
        Ok(u32::try_from(written).unwrap_or(u32::MAX))
    }

    fn faulty_flush(
        &mut self,
        file: OpenFile<'_>,
        data_only: bool,
        faults: &RequestFaults,
    ) -> io::Result<()> {
        if faults.has(FaultEffect::InputOutputError) {
            if self.failed_flush == FailedFlush::Dropped {
                self.pages.lost(file.inode);
            }
            return Err(Errno::IO.into());
        }
        if faults.has(FaultEffect::Lie) {
            return Ok(());
        }
        if data_only {
            file.below.sync_data()?;
        } else {
            file.below.sync_all()?;
        }
        self.pages.stored(file.inode, file.below)
    }
}

impl Layer for FaultyLayer {
    /// What the storage holds is read before it is written.
    fn access(asked: OFlags) -> OFlags {
        if asked == OFlags::WRONLY {
            OFlags::RDWR
        } else {
            asked
        }
    }

    fn before_creation(&mut self, inodes: &InodeTable, directory: Inode) -> io::Result<()> {
        if self.switch.armed_for().is_none() {
            return Ok(());
        }
        // A name takes some room; how much depends on the file system.
        let held_after = self.free_space.held_after(1)?;
        self.refuse_growth(inodes, directory, held_after)
    }

    fn before_allocation(
        &mut self,
        inodes: &InodeTable,
        file: OpenFile<'_>,
        (offset, length): (u64, u64),
    ) -> io::Result<()> {
        let held_after = self.held_after(file.below, range_of(offset, length))?;
        self.refuse_growth(inodes, file.inode, held_after)
    }

    /// A program that looks whether there is room sees a full device, too.
    fn free_bytes(&self) -> io::Result<Option<u64>> {
        match self.switch.armed_for() {
            Some(_) => self.free_space.left(),
            None => Ok(None),
        }
    }

    fn changed(&mut self, inodes: &InodeTable, change: Operation) -> io::Result<()> {
        match change {
            Operation::Truncate { inode, size } => self.pages.resized(inode, size),
            Operation::Allocate {
                inode,
                offset,
                length,
                grows: true,
            } => self.pages.extended(inode, offset.saturating_add(length)),
            Operation::Unlink { inode, .. }
            | Operation::Rename {
                replaced: Some(inode),
                ..
            } if inodes.status(inode).is_ok_and(|found| found.st_nlink == 0) => {
                self.pages.forget(inode);
            }
            _ => {}
        }
        Ok(())
    }

    fn read(
        &mut self,
        inodes: &InodeTable,
        file: OpenFile<'_>,
        offset: u64,
        size: u32,
    ) -> Answer<Vec<u8>> {
        let data = match read_up_to(file.below, offset, size) {
            Ok(data) => data,
            Err(error) => return Answer::now(Err(error)),
        };
        let request = FaultRequest {
            kind: RequestKind::Read,
            inode: file.inode,
            bytes: data.len() as u64,
            held_after: None,
        };
        let faults = self.come(inodes, request);
        let read = self.faulty_read(data, &faults);
        self.answer(read, &faults)
    }

    fn write(
        &mut self,
        inodes: &InodeTable,
        file: OpenFile<'_>,
        offset: u64,
        data: &[u8],
        origin: WriteOrigin,
    ) -> Answer<u32> {
        let bytes = data.len() as u64;
        let held_after = match self.held_after(file.below, range_of(offset, bytes)) {
            Ok(held_after) => held_after,
            Err(error) => return Answer::now(Err(error)),
        };
        let kind = match origin {
            WriteOrigin::Cache => RequestKind::WriteBack,
            WriteOrigin::Call | WriteOrigin::FlushingCall(_) | WriteOrigin::DirectCall => {
                RequestKind::Write
            }
        };
        let request = FaultRequest {
            kind,
            inode: file.inode,
            bytes,
            held_after,
        };
        let faults = self.come(inodes, request);
        let written = self.faulty_write(file, offset, data, &faults);
        self.answer(written, &faults)
    }

    fn flush(
        &mut self,
        inodes: &InodeTable,
        file: OpenFile<'_>,
        _thread: Thread,
        data_only: bool,
    ) -> Answer<()> {
        let faults = self.come(inodes, flush_of(file.inode));
        let flushed = self.faulty_flush(file, data_only, &faults);
        self.answer(flushed, &faults)
    }

    fn flush_directory(
        &mut self,
        inodes: &InodeTable,
        directory: Inode,
        _thread: Thread,
    ) -> Answer<()> {
        let faults = self.come(inodes, flush_of(directory));
        let flushed = if faults.has(FaultEffect::InputOutputError) {
            Err(Errno::IO.into())
        } else if faults.has(FaultEffect::Lie) {
            Ok(())
        } else {
            let opened = inodes.open(directory, OFlags::RDONLY | OFlags::DIRECTORY);
            opened.and_then(|directory| directory.sync_all())
        };
        self.answer(flushed, &faults)
    }
}

const fn flush_of(inode: Inode) -> FaultRequest {
    FaultRequest {
        kind: RequestKind::Flush,
        inode,
        bytes: 0,
        held_after: None,
    }
}

fn range_of(start: u64, length: u64) -> ByteRange {
    ByteRange {
        start,
        end: start.saturating_add(length),
    }
}

/// Returns the path of an inode, relative to the folder.
fn relative_path(inodes: &InodeTable, folder: &Path, inode: Inode) -> String {
    let path = inodes.path(inode).and_then(std::fs::read_link);
    let path = path.unwrap_or_default();
    let relative = path.strip_prefix(folder).unwrap_or(&path);
    relative.to_string_lossy().into_owned()
}
