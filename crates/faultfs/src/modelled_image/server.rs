//! The process that serves one image.

use crate::modelled_device::ModelledDevice;
use crate::modelled_image::delays::{Answer, Delays};
use crate::modelled_image::file_system::ImageFileSystem;
use crate::modelled_image::own_cost::{measure, measure_for};
use crate::modelled_image::service_report::RequestKind;
use crate::report_file;
use crate::server::{READY, mount, say, unmount};
use crate::storage_model::StorageModel;
use fuser::BackgroundSession;
use nix::libc::{self, c_int, c_ulong};
use rustix::mount::UnmountFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use trueput_host::image_store::SERVED_IMAGE;
use trueput_record::service_report::OwnCost;

/// The command of this program that runs [`serve_image`].
pub const SERVER_COMMAND: &str = "storage-server";

/// The line by which the process that started a server begins the delays. The server repeats it
/// when they have begun.
pub(super) const BEGIN_DELAYS: &str = "begin delays";

/// The line by which it ends them.
pub(super) const END_DELAYS: &str = "end delays";

/// From linux/prctl.h, for the file systems and devices of user space.
const PR_SET_IO_FLUSHER: c_int = 57;

/// The highest priority of a process that is scheduled in turns.
const PRIORITY: i32 = -20;

/// What a server serves, and where.
#[derive(Debug, Clone)]
pub struct ImageFolders {
    /// The file with the bytes of the image. A missing one is created, sparse. Of a folder with
    /// delays, the folder that holds the files.
    pub backing: PathBuf,
    /// The folder on which the file system is mounted.
    pub mount_point: PathBuf,
    /// The file of the [`ServiceReport`](trueput_record::service_report::ServiceReport), whose
    /// folder is created.
    pub report: PathBuf,
    /// The size of the image, which stays, or of the device below a folder.
    pub size_bytes: u64,
    /// The model of the device.
    pub model: StorageModel,
    /// Decides the spread of the delays.
    pub seed: u64,
}

/// What a server waits for.
pub(crate) enum ServerEvent {
    /// Standard input asks for delays, or for none.
    Order(bool),
    /// Standard input or the file system has ended.
    End,
}

/// Mounts the file system, prints [`READY`], serves the image without delays until standard input
/// asks for them, and unmounts when standard input ends, or when the kernel ends the connection. At
/// the end the report is written. An image that is still in use is not unmounted: what uses it gets
/// errors from then on, and the mount stays for those who remove what is above it first.
///
/// # Errors
/// If FUSE is not available, a file or folder cannot be used, the model is faster than this server
/// and a loop device on it, the image is in use at the end, or the report cannot be written.
pub fn serve_image(folders: &ImageFolders) -> io::Result<()> {
    become_storage();
    report_file::remove_earlier(&folders.report)?;
    let (image, size_bytes) = (open_image(folders)?, folders.size_bytes);
    let delays = Delays::start(Box::new(|now_ns, _| now_ns))?;
    let (sender, events) = channel();
    let end = sender.clone();
    let on_end = Box::new(move || {
        // Without a receiver, the server is ending already.
        let _ = end.send(ServerEvent::End);
    });
    let file_system = ImageFileSystem::new(image, size_bytes, Arc::clone(&delays), on_end);
    let session = mount(file_system, &folders.mount_point)?;
    let own_cost = prepare_delays(folders, &delays);
    serve_with_delays(folders, &delays, own_cost, session, (sender, events))
}

/// Serves what is mounted as [`serve_image`] does, once its delays are prepared.
pub(crate) fn serve_with_delays<A: Answer>(
    folders: &ImageFolders,
    delays: &Delays<A>,
    own_cost: io::Result<OwnCost>,
    session: BackgroundSession,
    (sender, events): (Sender<ServerEvent>, Receiver<ServerEvent>),
) -> io::Result<()> {
    let own_cost = match own_cost {
        Ok(own_cost) => own_cost,
        Err(error) => {
            // For a moment, the image may still be in use by the loop device that was detached.
            let _ = unmount(session, &folders.mount_point, UnmountFlags::empty());
            return Err(error);
        }
    };
    std::thread::spawn(move || read_orders(&sender));
    say(READY)?;
    let obeyed = obey(&events, |is_delayed| delays.set_on(is_delayed));
    delays.set_on(false);
    let unmounted = unmount(session, &folders.mount_point, UnmountFlags::empty());
    let report = delays.report(&folders.model.name, own_cost);
    let written = report_file::write(&folders.report, &report);
    obeyed.and(written).and(unmounted)
}

/// Measures what the way of a request takes, and lets the delays be those of the modeled device
/// without it.
fn prepare_delays<A: Answer>(folders: &ImageFolders, delays: &Delays<A>) -> io::Result<OwnCost> {
    let model = &folders.model;
    let hold = |held_ns: Option<u64>| {
        if let Some(held_ns) = held_ns {
            delays.set_device(Box::new(move |now_ns, _| now_ns.saturating_add(held_ns)));
        }
        delays.set_on(held_ns.is_some());
    };
    let image = folders.mount_point.join(SERVED_IMAGE);
    let fastest = model.minimum_service_times();
    let own_cost = measure_for(model, || measure(&image, &fastest, &hold))?;
    set_model(folders, delays, &own_cost);
    Ok(own_cost)
}

/// Lets the delays be those of the modeled device without the way of a request.
pub(crate) fn set_model<A: Answer>(folders: &ImageFolders, delays: &Delays<A>, own_cost: &OwnCost) {
    let model = &folders.model;
    let mut device = ModelledDevice::new(model, folders.size_bytes, folders.seed);
    delays.set_device(Box::new(move |now_ns, request| {
        device.submit(now_ns, request)
    }));
    let transport = own_cost.transport();
    delays.set_transport(RequestKind::Read, transport.read_ns);
    delays.set_transport(RequestKind::Write, transport.write_ns);
    delays.set_transport(RequestKind::Flush, transport.flush_ns);
}

/// Gives this process the rights of storage: it waits for the processor behind none of its clients,
/// and its memory is not reclaimed by writing to file systems that wait for it. Without the right
/// to do so it is later, and the report says so.
pub(crate) fn become_storage() {
    let (on, unused): (c_ulong, c_ulong) = (1, 0);
    // SAFETY: the call takes plain numbers and changes a mark of this thread, which later ones
    // inherit.
    unsafe { libc::prctl(PR_SET_IO_FLUSHER, on, unused, unused, unused) };
    // So does this.
    let _ = rustix::process::setpriority_process(None, PRIORITY);
}

fn open_image(folders: &ImageFolders) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let image = options.open(&folders.backing)?;
    if image.metadata()?.len() != folders.size_bytes {
        image.set_len(folders.size_bytes)?;
    }
    Ok(image)
}

/// Reads standard input, which ends with the process that started this one, however it ends.
fn read_orders(sender: &Sender<ServerEvent>) {
    for line in io::stdin().lock().lines() {
        let event = match line.as_deref() {
            Ok(BEGIN_DELAYS) => ServerEvent::Order(true),
            Ok(END_DELAYS) => ServerEvent::Order(false),
            Ok(_) => continue,
            Err(_) => break,
        };
        if sender.send(event).is_err() {
            return;
        }
    }
    let _ = sender.send(ServerEvent::End);
}

/// Does what standard input asks for until the end, and repeats each line that was obeyed.
fn obey(events: &Receiver<ServerEvent>, set_on: impl Fn(bool)) -> io::Result<()> {
    while let Ok(ServerEvent::Order(is_delayed)) = events.recv() {
        set_on(is_delayed);
        say(if is_delayed { BEGIN_DELAYS } else { END_DELAYS })?;
    }
    Ok(())
}
