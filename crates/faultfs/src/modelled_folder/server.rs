//! The process that serves one folder with delays.

use crate::file_system::PassThroughFileSystem;
use crate::inodes::InodeTable;
use crate::modelled_folder::modelled_layer::ModelledLayer;
use crate::modelled_image::{
    Delays, ImageFolders, become_storage, measure_file, measure_for, serve_with_delays, set_model,
};
use crate::report_file;
use crate::server::{become_pass_through, mount};
use nix::libc;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use trueput_record::service_report::OwnCost;

/// The file by which the server measures its own cost. It is removed before the folder is anyone
/// else's.
const PROBE: &str = ".own-cost";

/// Bytes of this file.
const PROBE_BYTES: u64 = 1 << 20;

/// Mounts the folder, and serves it as [`serve_image`](crate::modelled_image::serve_image) does an
/// image. It lasts until standard input ends, also where the kernel has ended the connection.
///
/// # Errors
/// If FUSE is not available, a folder cannot be used, the model is faster than this server, the
/// folder is in use at the end, or the report cannot be written.
pub fn serve_modelled_folder(folders: &ImageFolders) -> io::Result<()> {
    become_pass_through();
    become_storage();
    report_file::remove_earlier(&folders.report)?;
    let inodes = InodeTable::new(&folders.backing)?;
    let delays = Delays::start(Box::new(|now_ns, _| now_ns))?;
    let layer = ModelledLayer::new(Arc::clone(&delays), folders.size_bytes);
    let session = mount(
        PassThroughFileSystem::new(inodes, layer),
        &folders.mount_point,
    )?;
    let own_cost = measure_for(&folders.model, || measure(&folders.mount_point));
    let own_cost = own_cost.inspect(|own_cost| set_model(folders, &delays, own_cost));
    serve_with_delays(folders, &delays, own_cost, session, channel())
}

/// Measures the cost with a file on the server, past the page cache.
fn measure(mount_point: &Path) -> io::Result<OwnCost> {
    let path = mount_point.join(PROBE);
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create_new(true);
    let file = options.custom_flags(libc::O_DIRECT).open(&path)?;
    let measured = file.set_len(PROBE_BYTES).and_then(|()| measure_file(&file));
    let removed = fs::remove_file(&path);
    measured.and_then(|own_cost| removed.map(|()| own_cost))
}
