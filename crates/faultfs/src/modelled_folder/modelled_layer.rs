//! The layer with the delays of a device: what of each request reaches it, and when.

use crate::flush_watch::Thread;
use crate::inodes::InodeTable;
use crate::layer::{self, Layer, OpenFile, ReplySender, Stall, WriteOrigin, read_up_to};
use crate::modelled_device::DeviceRequest;
use crate::modelled_folder::device_layout::DeviceLayout;
use crate::modelled_folder::dirty_files::DirtyFiles;
use crate::modelled_image::{Answer, Delays, RequestKind, ServedRequest};
use crate::operation::{ByteRange, Inode, Operation};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

impl Answer for ReplySender {
    fn send(self) {
        self();
    }
}

/// What a flush of a file or directory asks of the device.
#[derive(Debug)]
struct DeviceFlush {
    /// The writes that it makes persistent.
    writes: Vec<DeviceRequest>,
    /// A write that comes when these are persistent, with a flush of its own.
    commit: Option<DeviceRequest>,
}

/// The layer with delays.
pub(super) struct ModelledLayer {
    files: DirtyFiles,
    layout: DeviceLayout,
    delays: Arc<Delays<ReplySender>>,
}

impl ModelledLayer {
    /// Creates the layer of a folder on an empty device of that size.
    pub(super) fn new(delays: Arc<Delays<ReplySender>>, device_bytes: u64) -> Self {
        Self {
            files: DirtyFiles::default(),
            layout: DeviceLayout::new(device_bytes),
            delays,
        }
    }

    /// Returns the answer to a request that is one to the device.
    fn answer<T>(&self, result: T, on_device: DeviceRequest, arrived_ns: u64) -> layer::Answer<T> {
        let delays = Arc::clone(&self.delays);
        let request = ServedRequest::to_device(on_device, arrived_ns);
        let hand_over = move |reply| delays.answer(request, reply);
        layer::Answer {
            result: Ok(result),
            stall: Some(Stall::HandOver(Box::new(hand_over))),
        }
    }

    /// Returns the answer to a flush.
    fn answer_flush(&self, flush: DeviceFlush, arrived_ns: u64) -> layer::Answer<()> {
        let delays = Arc::clone(&self.delays);
        let hand_over = move |reply: ReplySender| {
            let reply = match flush.commit {
                None => reply,
                Some(commit) => reply_after_commit(&delays, commit, reply),
            };
            let came = (arrived_ns, Some(RequestKind::Flush));
            submit_flush(&delays, &flush.writes, came, reply);
        };
        layer::Answer {
            result: Ok(()),
            stall: Some(Stall::HandOver(Box::new(hand_over))),
        }
    }

    /// Returns what a flush of a file asks of the device, which holds the file then.
    fn flush_file(&mut self, inode: Inode, data_only: bool) -> DeviceFlush {
        let flushed = self.files.flush(inode, data_only);
        DeviceFlush {
            writes: self.layout.writes(inode, &flushed.ranges),
            commit: flushed.commits.then(|| self.layout.journal_write()),
        }
    }

    /// Notes a write, and returns its request if it reaches the device at once.
    fn note_write(
        &mut self,
        inode: Inode,
        range: ByteRange,
        grows: bool,
        origin: WriteOrigin,
    ) -> Option<DeviceRequest> {
        match origin {
            WriteOrigin::Call | WriteOrigin::FlushingCall(_) => {
                self.files.written(inode, range, grows);
                None
            }
            WriteOrigin::DirectCall | WriteOrigin::Cache => {
                self.files.stored(inode, grows);
                Some(DeviceRequest::Write {
                    position: self.layout.position(inode, range.start),
                    bytes: range.end - range.start,
                })
            }
        }
    }

    /// Forgets a file that has lost its last name.
    fn forget_unnamed(&mut self, inodes: &InodeTable, inode: Inode) {
        if inodes.status(inode).is_ok_and(|found| found.st_nlink == 0) {
            self.files.forget(inode);
            self.layout.forget(inode);
        }
    }
}

/// Submits writes that came at a moment by a request of a kind, and a flush behind them, with which
/// the reply is sent: it completes last.
fn submit_flush(
    delays: &Delays<ReplySender>,
    writes: &[DeviceRequest],
    (arrived_ns, came_by): (u64, Option<RequestKind>),
    reply: ReplySender,
) {
    let request = |on_device| {
        let mut request = ServedRequest::to_device(on_device, arrived_ns);
        request.came_by = came_by;
        request
    };
    for write in writes {
        delays.submit(request(*write));
    }
    let flush = request(DeviceRequest::Flush);
    delays.answer(flush, reply);
}

/// Returns what submits a commit, as soon as what it commits is persistent, before the reply.
fn reply_after_commit(
    delays: &Arc<Delays<ReplySender>>,
    commit: DeviceRequest,
    reply: ReplySender,
) -> ReplySender {
    let delays = Arc::clone(delays);
    Box::new(move || {
        let came = (delays.now_ns(), None);
        submit_flush(&delays, &[commit], came, reply);
    })
}

/// Writes to a file, and returns the part that was written, and whether the file is longer since.
fn write_below(file: OpenFile<'_>, offset: u64, data: &[u8]) -> io::Result<(ByteRange, bool)> {
    let size = file.below.metadata()?.len();
    let written = file.below.write_at(data, offset)?;
    let range = ByteRange {
        start: offset,
        end: offset.saturating_add(written as u64),
    };
    Ok((range, range.end > size))
}

impl Layer for ModelledLayer {
    /// As many as fast devices serve at once, and more.
    const MAX_BACKGROUND: Option<u16> = Some(1024);

    fn changed(&mut self, inodes: &InodeTable, change: Operation) -> io::Result<()> {
        match change {
            Operation::Truncate { inode, size } => self.files.resized(inode, size),
            Operation::Create { inode, .. }
            | Operation::Allocate { inode, .. }
            | Operation::Link { inode, .. }
            | Operation::SetAccess { inode, .. } => self.files.changed(inode),
            Operation::Rename {
                inode, replaced, ..
            } => {
                self.files.changed(inode);
                if let Some(replaced) = replaced {
                    self.forget_unnamed(inodes, replaced);
                }
            }
            Operation::Unlink { inode, .. } | Operation::RemoveDirectory { inode, .. } => {
                self.forget_unnamed(inodes, inode);
            }
            _ => {}
        }
        Ok(())
    }

    fn read(
        &mut self,
        _inodes: &InodeTable,
        file: OpenFile<'_>,
        offset: u64,
        size: u32,
    ) -> layer::Answer<Vec<u8>> {
        let arrived_ns = self.delays.now_ns();
        let data = match read_up_to(file.below, offset, size) {
            Ok(data) => data,
            Err(error) => return layer::Answer::now(Err(error)),
        };
        let bytes = data.len() as u64;
        let range = ByteRange {
            start: offset,
            end: offset.saturating_add(bytes),
        };
        // A page that was written in part is in the cache of any other file system.
        if data.is_empty() || self.files.holds(file.inode, range) {
            return layer::Answer::now(Ok(data));
        }
        let position = self.layout.position(file.inode, offset);
        self.answer(data, DeviceRequest::Read { position, bytes }, arrived_ns)
    }

    fn write(
        &mut self,
        _inodes: &InodeTable,
        file: OpenFile<'_>,
        offset: u64,
        data: &[u8],
        origin: WriteOrigin,
    ) -> layer::Answer<u32> {
        let arrived_ns = self.delays.now_ns();
        let (range, grows) = match write_below(file, offset, data) {
            Ok(written) => written,
            Err(error) => return layer::Answer::now(Err(error)),
        };
        let written = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
        match self.note_write(file.inode, range, grows, origin) {
            Some(on_device) => self.answer(written, on_device, arrived_ns),
            None => layer::Answer::now(Ok(written)),
        }
    }

    /// The file below is not flushed: the model's flush stands for that.
    fn flush(
        &mut self,
        _inodes: &InodeTable,
        file: OpenFile<'_>,
        _thread: Thread,
        data_only: bool,
    ) -> layer::Answer<()> {
        let arrived_ns = self.delays.now_ns();
        let flush = self.flush_file(file.inode, data_only);
        self.answer_flush(flush, arrived_ns)
    }

    fn flush_directory(
        &mut self,
        _inodes: &InodeTable,
        _directory: Inode,
        _thread: Thread,
    ) -> layer::Answer<()> {
        let arrived_ns = self.delays.now_ns();
        let flush = DeviceFlush {
            writes: vec![self.layout.journal_write()],
            commit: None,
        };
        self.answer_flush(flush, arrived_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::time::Duration;
    use tempfile::TempDir;

    const PAGE: u64 = 4096;

    const PAGE_OF_TWOS: [u8; PAGE as usize] = [2; PAGE as usize];

    const FLUSH_NS: u64 = 1_000_000;

    /// The flush of a device.
    const FLUSH: DeviceRequest = DeviceRequest::Flush;

    /// The first block of the journal.
    const JOURNAL: DeviceRequest = DeviceRequest::Write {
        position: 0,
        bytes: PAGE,
    };

    /// A file of two pages in a folder, on a device that notes when its requests come.
    struct Fixture {
        inodes: InodeTable,
        inode: Inode,
        file: File,
        layer: ModelledLayer,
        requests: Arc<Mutex<Vec<(u64, DeviceRequest)>>>,
        _folder: TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("a"), PAGE_OF_TWOS.repeat(2)).unwrap();
            let mut inodes = InodeTable::new(folder.path()).unwrap();
            let inode = inodes.find(Inode::ROOT, "a".as_ref()).unwrap();
            let file = inodes.open(inode, rustix::fs::OFlags::RDWR).unwrap();
            let requests = Arc::new(Mutex::new(Vec::new()));
            let noted = Arc::clone(&requests);
            let delays = Delays::start(Box::new(move |now_ns, request| {
                noted.lock().unwrap().push((now_ns, request));
                now_ns + if request == FLUSH { FLUSH_NS } else { 0 }
            }));
            let delays = delays.unwrap();
            delays.set_on(true);
            Self {
                inodes,
                inode,
                file,
                layer: ModelledLayer::new(delays, 1 << 30),
                requests,
                _folder: folder,
            }
        }

        /// Makes a request, waits for its reply, and returns what reached the device and when.
        fn timed<T: Send + 'static>(
            &mut self,
            ask: impl FnOnce(&mut ModelledLayer, &InodeTable, OpenFile<'_>) -> layer::Answer<T>,
        ) -> Vec<(u64, DeviceRequest)> {
            let file = OpenFile {
                inode: self.inode,
                handle: 1,
                below: &self.file,
            };
            let answer = ask(&mut self.layer, &self.inodes, file);
            let (sender, replies) = channel();
            answer.deliver(move |result| sender.send(result.is_ok()).unwrap());
            assert!(replies.recv_timeout(Duration::from_secs(60)).unwrap());
            std::mem::take(&mut *self.requests.lock().unwrap())
        }

        /// Writes a page.
        fn write(&mut self, offset: u64, origin: WriteOrigin) -> Vec<DeviceRequest> {
            requests(self.timed(|layer, inodes, file| {
                layer.write(inodes, file, offset, &PAGE_OF_TWOS, origin)
            }))
        }

        fn flush(&mut self, data_only: bool) -> Vec<DeviceRequest> {
            requests(self.timed(|layer, inodes, file| layer.flush(inodes, file, 1, data_only)))
        }

        /// Reads a page.
        fn read(&mut self, offset: u64) -> Vec<DeviceRequest> {
            requests(
                self.timed(|layer, inodes, file| layer.read(inodes, file, offset, PAGE as u32)),
            )
        }

        /// The request that writes a page of the file.
        fn page_write(&mut self, offset: u64) -> DeviceRequest {
            DeviceRequest::Write {
                position: self.layer.layout.position(self.inode, offset),
                bytes: PAGE,
            }
        }
    }

    fn requests(timed: Vec<(u64, DeviceRequest)>) -> Vec<DeviceRequest> {
        timed.into_iter().map(|(_, request)| request).collect()
    }

    #[test]
    fn a_write_waits_for_nothing_and_the_next_flush_writes_it() {
        for origin in [WriteOrigin::Call, WriteOrigin::FlushingCall(1)] {
            let mut fixture = Fixture::new();
            assert_eq!(fixture.write(PAGE, origin), []);
            let page = fixture.page_write(PAGE);
            assert_eq!(fixture.flush(true), [page, FLUSH]);
            assert_eq!(fixture.flush(true), [FLUSH]);
        }
    }

    #[test]
    fn a_write_past_the_cache_and_one_out_of_it_reach_the_device_at_once() {
        for origin in [WriteOrigin::DirectCall, WriteOrigin::Cache] {
            let mut fixture = Fixture::new();
            let page = fixture.page_write(0);
            assert_eq!(fixture.write(0, origin), [page]);
            assert_eq!(fixture.flush(true), [FLUSH]);
        }
    }

    #[test]
    fn a_file_that_grew_is_committed_after_its_data_are_persistent() {
        let mut fixture = Fixture::new();
        fixture.write(2 * PAGE, WriteOrigin::Call);
        let page = fixture.page_write(2 * PAGE);
        let timed = fixture.timed(|layer, inodes, file| layer.flush(inodes, file, 1, true));
        let (flushed_ns, committed_ns) = (timed[1].0, timed[2].0);
        assert!(committed_ns >= flushed_ns + FLUSH_NS, "{timed:?}");
        assert_eq!(requests(timed), [page, FLUSH, JOURNAL, FLUSH]);
        // The control: nothing is left to commit.
        assert_eq!(fixture.flush(false), [FLUSH]);
    }

    #[test]
    fn the_end_of_the_delays_ends_a_commit_as_well() {
        let mut fixture = Fixture::new();
        fixture.layer.delays.set_on(false);
        fixture.write(2 * PAGE, WriteOrigin::Call);
        assert_eq!(fixture.flush(true), []);
    }

    #[test]
    fn a_read_comes_from_the_device_unless_it_is_of_dirty_pages() {
        let mut fixture = Fixture::new();
        let position = fixture.layer.layout.position(fixture.inode, PAGE);
        let read = DeviceRequest::Read {
            position,
            bytes: PAGE,
        };
        assert_eq!(fixture.read(PAGE), [read]);
        fixture.write(PAGE, WriteOrigin::Call);
        assert_eq!(fixture.read(PAGE), []);
        fixture.flush(true);
        assert_eq!(fixture.read(PAGE), [read]);
        assert_eq!(fixture.read(2 * PAGE), [], "nothing is there");
    }

    #[test]
    fn a_new_name_is_committed_by_a_flush_of_its_file_or_directory() {
        let mut fixture = Fixture::new();
        let Fixture {
            inodes,
            inode,
            layer,
            ..
        } = &mut fixture;
        let (inode, entry) = (
            *inode,
            crate::operation::Entry::new(Inode::ROOT, "b".as_ref()),
        );
        let entry = entry.unwrap();
        layer
            .changed(inodes, Operation::Link { inode, entry })
            .unwrap();
        assert_eq!(fixture.flush(true)[1..], [JOURNAL, FLUSH]);
        let of_directory =
            fixture.timed(|layer, inodes, _| layer.flush_directory(inodes, Inode::ROOT, 1));
        let [journal, flush] = requests(of_directory)[..] else {
            panic!("two requests");
        };
        assert!(matches!(
            journal,
            DeviceRequest::Write { position: PAGE, .. }
        ));
        assert_eq!(flush, FLUSH);
    }
}
