//! The process that serves one folder.

use crate::faulty_folder::faulty_layer::FaultyLayer;
use crate::faulty_folder::switch::ArmingSwitch;
use crate::faulty_folder::volatile_pages::{Loss, MAX_PRE_IMAGE_BYTES, VolatilePages};
use crate::file_system::{PassThroughFileSystem, SharedState};
use crate::inodes::InodeTable;
use crate::report_file;
use crate::server::{READY, become_pass_through, mount, say, unmount};
use crate::state::State;
use fuser::{INodeNo, Notifier};
use rustix::mount::UnmountFlags;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use trueput_record::choices;
use trueput_record::storage_fault::{FailedFlush, StorageFault};

/// The command of this program that runs [`serve_folder`].
pub const SERVER_COMMAND: &str = "fault-server";

choices! {
    /// What the process that started a server asks for by a line. The server repeats the line when
    /// that is done, or says why it is not.
    pub(super) enum FolderOrder {
        /// Faults come.
        Arm = "arm",
        /// No more faults come.
        Disarm = "disarm",
        /// What is lost goes.
        LoseCaches = "lose caches",
        /// What is lost or dirty goes.
        LosePower = "lose power",
    }
}

/// What a server serves, and where.
#[derive(Debug, Clone)]
pub struct FaultyFolders {
    /// The folder that holds the files.
    pub backing: PathBuf,
    /// The folder on which the file system is mounted.
    pub mount_point: PathBuf,
    /// The file of the [`FaultReport`](crate::faulty_folder::FaultReport), whose folder is created.
    pub report: PathBuf,
    /// The faults.
    pub faults: Vec<StorageFault>,
    /// What becomes of the pages that a failed flush did not write.
    pub failed_flush: FailedFlush,
    /// Whether caches or power may be lost. If not, it is not remembered what the storage holds,
    /// which takes time and memory.
    pub can_lose: bool,
    /// Decides which requests fail where a fault comes at a rate, and which bits flip.
    pub seed: u64,
}

impl FaultyFolders {
    /// Returns the command that serves them: `PROGRAM fault-server BACKING MOUNT_POINT REPORT
    /// FAILED_FLUSH CAN_LOSE SEED FAULT…`.
    #[must_use]
    pub fn server_command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg(SERVER_COMMAND);
        command.args([&self.backing, &self.mount_point, &self.report]);
        command.arg(self.failed_flush.to_string());
        command.args([self.can_lose.to_string(), self.seed.to_string()]);
        command.args(self.faults.iter().map(ToString::to_string));
        command
    }
}

/// Mounts the folder, prints [`READY`], serves it and obeys the lines of standard input until that
/// ends, unmounts it and writes the report.
///
/// # Errors
/// If FUSE is not available, a folder cannot be used, or the report cannot be written.
pub fn serve_folder(folders: &FaultyFolders) -> io::Result<()> {
    become_pass_through();
    report_file::remove_earlier(&folders.report)?;
    let backing = folders.backing.canonicalize()?;
    let inodes = InodeTable::new(&backing)?;
    let pages = if folders.can_lose {
        VolatilePages::new(MAX_PRE_IMAGE_BYTES)
    } else {
        VolatilePages::never_lost()
    };
    let (faults, failed_flush) = (&folders.faults, folders.failed_flush);
    let layer = FaultyLayer::new(&backing, faults, pages, failed_flush, folders.seed);
    let switch = layer.switch();
    let file_system = PassThroughFileSystem::new(inodes, layer);
    let state = file_system.shared_state();
    let session = mount(file_system, &folders.mount_point)?;
    let served = ServedFolder {
        state,
        switch,
        kernel: session.notifier(),
    };
    say(READY)?;
    let obeyed = served.obey_orders();
    // Nobody waits for a stall any more.
    served.switch.disarm();
    let unmounted = unmount(session, &folders.mount_point, UnmountFlags::DETACH);
    let report = served.state.lock().layer.report();
    let written = report_file::write(&folders.report, &report);
    obeyed.and(written).and(unmounted)
}

/// A folder that is served, as the thread that obeys has it.
struct ServedFolder {
    state: SharedState<FaultyLayer>,
    switch: Arc<ArmingSwitch>,
    kernel: Notifier,
}

impl ServedFolder {
    /// Obeys the lines of standard input, which ends with the process that started this one,
    /// however it ends.
    fn obey_orders(&self) -> io::Result<()> {
        for line in io::stdin().lock().lines() {
            let line = line?;
            let order = FolderOrder::ALL.into_iter().find(|it| it.word() == line);
            match order.map(|order| self.obey(order)) {
                Some(Ok(())) => say(&line)?,
                Some(Err(error)) => say(&error.to_string())?,
                None => {}
            }
        }
        Ok(())
    }

    fn obey(&self, order: FolderOrder) -> io::Result<()> {
        match order {
            FolderOrder::Arm => self.switch.arm(),
            FolderOrder::Disarm => self.switch.disarm(),
            FolderOrder::LoseCaches => self.lose(Loss::Caches)?,
            FolderOrder::LosePower => self.lose(Loss::Power)?,
        }
        Ok(())
    }

    /// Loses what the storage does not hold. What was stored into mappings is written back first,
    /// as otherwise the kernel would write it over what is restored.
    fn lose(&self, loss: Loss) -> io::Result<()> {
        self.empty_cache()?;
        let mut state = self.state.lock();
        let State { inodes, layer, .. } = &mut *state;
        layer.lose(inodes, loss)?;
        drop(state);
        self.empty_cache()
    }

    /// Lets the kernel forget the content and the attributes of all files. It may send requests
    /// meanwhile: no lock may be held.
    fn empty_cache(&self) -> io::Result<()> {
        let inodes = self.state.lock().inodes.all();
        for inode in inodes {
            self.kernel.inval_inode(INodeNo(inode.0), 0, 0)?;
        }
        Ok(())
    }
}
