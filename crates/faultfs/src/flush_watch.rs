//! The flushes that are under way: which part of a file the next FSYNC of a thread covers.

use crate::operation::{ByteRange, FlushCause, FlushExtent, Inode, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A thread, by its number as the server sees it; 0 if it is in another PID namespace.
pub(crate) type Thread = u32;

/// How far the calls behind flushes were seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Watch {
    /// Whether calls of the recorded processes were seen. Without that, the range of `fdatasync`
    /// and `msync` is not known, and `syncfs` and `sync` leave no trace.
    pub listens: bool,
    /// Why they were not, if the kernel refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Whether a process set up io_uring: its flushes may have ranges that nobody sees.
    #[serde(default)]
    pub io_uring: bool,
    /// Calls of sync_file_range, which flushes nothing.
    #[serde(default)]
    pub sync_file_range: u64,
}

/// A call that a thread has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnnouncedCall {
    Fsync,
    Fdatasync,
    /// Parts of files, in the order in which the kernel flushes them.
    Msync(Vec<(Inode, FlushExtent)>),
    /// A call that sends no FSYNC.
    Other,
}

struct Announcement {
    call: AnnouncedCall,
    began: usize,
}

/// Writes that flush, until their FSYNC comes.
struct FlushingWrites {
    ranges: Vec<ByteRange>,
    began: usize,
}

/// What the threads of recorded processes have begun.
#[derive(Default)]
pub(crate) struct FlushWatch {
    pub(crate) watch: Watch,
    announced: HashMap<Thread, Announcement>,
    marked: HashMap<(Thread, u64), FlushingWrites>,
}

/// The kind of a thread that announced nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadKind {
    Kernel,
    IoUring,
    Other,
}

impl FlushWatch {
    /// Notes a call before it runs, with the number of operations logged so far. It ends a write of
    /// the thread that failed and therefore sent no FSYNC.
    pub(crate) fn announce(&mut self, thread: Thread, call: AnnouncedCall, began: usize) {
        self.marked.retain(|(of, _), _| *of != thread);
        match call {
            AnnouncedCall::Other => _ = self.announced.remove(&thread),
            call => _ = self.announced.insert(thread, Announcement { call, began }),
        }
    }

    /// Notes a write that flushes, after it was logged.
    pub(crate) fn mark(&mut self, thread: Thread, handle: u64, range: ByteRange, began: usize) {
        // The FSYNC of a thread that is not known does not find it.
        if thread == 0 {
            return;
        }
        self.announced.remove(&thread);
        let marked = self.marked.entry((thread, handle));
        let marked = marked.or_insert_with(|| FlushingWrites {
            ranges: Vec::new(),
            began,
        });
        marked.began = began;
        match marked.ranges.last_mut().filter(|it| it.end == range.start) {
            Some(last) => last.end = range.end,
            None => marked.ranges.push(range),
        }
    }

    /// Describes a flush that arrived when `length` operations were logged.
    pub(crate) fn flush(
        &mut self,
        (thread, handle): (Thread, u64),
        (inode, data_only): (Inode, bool),
        length: usize,
        kind: impl FnOnce() -> ThreadKind,
    ) -> Operation {
        let (began, extent, cause) =
            self.describe((thread, handle), (inode, data_only), length, kind);
        Operation::Flush {
            inode,
            data_only,
            began: Some(began),
            extent,
            cause,
        }
    }

    fn describe(
        &mut self,
        (thread, handle): (Thread, u64),
        (inode, data_only): (Inode, bool),
        length: usize,
        kind: impl FnOnce() -> ThreadKind,
    ) -> (usize, FlushExtent, FlushCause) {
        if thread == 0 {
            return (length, FlushExtent::Unknown, FlushCause::Unannounced);
        }
        if let Some(marked) = self.marked.remove(&(thread, handle)) {
            let ranges = FlushExtent::Ranges(marked.ranges);
            return (marked.began, ranges, FlushCause::MarkedWrite);
        }
        if let Some(announced) = self.take(thread, inode) {
            return announced;
        }
        let is_watched = self.watch.listens;
        match kind() {
            ThreadKind::Kernel => (length, FlushExtent::Whole, FlushCause::KernelWorker),
            ThreadKind::IoUring => (length, FlushExtent::Unknown, FlushCause::IoUring),
            ThreadKind::Other if is_watched => {
                (length, FlushExtent::Unknown, FlushCause::Unannounced)
            }
            // msync flushes data only.
            ThreadKind::Other if !data_only => (length, FlushExtent::Whole, FlushCause::Fsync),
            ThreadKind::Other => (length, FlushExtent::Unknown, FlushCause::Unwatched),
        }
    }

    /// Returns what a thread announced for a file. A call of fsync is used up by it, one of msync
    /// flushes several parts.
    fn take(&mut self, thread: Thread, inode: Inode) -> Option<(usize, FlushExtent, FlushCause)> {
        let Announcement { call, began } = self.announced.get_mut(&thread)?;
        let began = *began;
        let (extent, cause, is_over) = match call {
            AnnouncedCall::Fsync => (FlushExtent::Whole, FlushCause::Fsync, true),
            AnnouncedCall::Fdatasync => (FlushExtent::Whole, FlushCause::Fdatasync, true),
            AnnouncedCall::Msync(parts) => {
                let next = parts.iter().position(|(of, _)| *of == inode)?;
                let (_, extent) = parts.remove(next);
                (extent, FlushCause::Msync, parts.is_empty())
            }
            AnnouncedCall::Other => return None,
        };
        if is_over {
            self.announced.remove(&thread);
        }
        Some((began, extent, cause))
    }

    /// Returns the number of operations that were logged when the flush of a directory began.
    pub(crate) fn flush_directory(&mut self, thread: Thread, length: usize) -> usize {
        let announced = self.announced.remove(&thread);
        announced.map_or(length, |announcement| announcement.began)
    }
}

/// Finds out what kind of thread sent a request that it did not announce.
pub(crate) fn kind_of(thread: Thread) -> ThreadKind {
    const KERNEL_THREAD: u32 = 0x0020_0000;
    const IO_WORKER: u32 = 0x10;
    let status = std::fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    // The name, in parentheses, may hold anything. Behind it: state, parent, group, session,
    // terminal, its group, flags (proc_pid_stat(5)).
    let after_name = status.rsplit_once(')').map_or("", |(_, after)| after);
    let flags = after_name.split_whitespace().nth(6);
    let flags: u32 = flags.and_then(|flags| flags.parse().ok()).unwrap_or(0);
    match () {
        () if flags & KERNEL_THREAD != 0 => ThreadKind::Kernel,
        () if flags & IO_WORKER != 0 => ThreadKind::IoUring,
        () => ThreadKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Inode = Inode(2);
    const OTHER: ThreadKind = ThreadKind::Other;

    fn range(start: u64, end: u64) -> ByteRange {
        ByteRange { start, end }
    }

    fn watched() -> FlushWatch {
        let mut flushes = FlushWatch::default();
        flushes.watch.listens = true;
        flushes
    }

    fn flush(flushes: &mut FlushWatch, kind: ThreadKind) -> (usize, FlushExtent, FlushCause) {
        flushes.describe((7, 1), (FILE, true), 50, || kind)
    }

    #[test]
    fn a_write_that_flushes_covers_its_parts_alone() {
        let mut flushes = watched();
        flushes.mark(7, 1, range(10, 4096), 20);
        flushes.mark(7, 1, range(4096, 5000), 21);
        flushes.mark(7, 2, range(0, 1), 22);
        let found = flush(&mut flushes, OTHER);
        let ranges = FlushExtent::Ranges(vec![range(10, 5000)]);
        assert_eq!(found, (21, ranges, FlushCause::MarkedWrite));
        // The next one was not announced.
        let found = flush(&mut flushes, OTHER);
        assert_eq!(found, (50, FlushExtent::Unknown, FlushCause::Unannounced));
    }

    #[test]
    fn a_call_covers_what_was_logged_when_it_began_and_ends_a_write_that_failed() {
        let mut flushes = watched();
        flushes.mark(7, 1, range(0, 1), 20);
        flushes.announce(7, AnnouncedCall::Fdatasync, 30);
        let found = flush(&mut flushes, OTHER);
        assert_eq!(found, (30, FlushExtent::Whole, FlushCause::Fdatasync));
        // Of a file elsewhere, it leaves no trace that a later write would take.
        flushes.announce(7, AnnouncedCall::Fsync, 31);
        flushes.mark(7, 1, range(0, 1), 32);
        assert_eq!(flush(&mut flushes, OTHER).2, FlushCause::MarkedWrite);
    }

    #[test]
    fn msync_covers_a_part_of_each_file() {
        let mut flushes = watched();
        let part = |start, end| (FILE, FlushExtent::Ranges(vec![range(start, end)]));
        let parts = vec![part(0, 4096), part(8192, 12288)];
        flushes.announce(7, AnnouncedCall::Msync(parts), 30);
        for expected in [range(0, 4096), range(8192, 12288)] {
            let (_, extent, _) = flush(&mut flushes, OTHER);
            assert_eq!(extent, FlushExtent::Ranges(vec![expected]));
        }
        assert_eq!(flush(&mut flushes, OTHER).1, FlushExtent::Unknown);
    }

    #[test]
    fn threads_that_announce_nothing_are_told_apart() {
        let mut flushes = watched();
        assert_eq!(
            flush(&mut flushes, ThreadKind::Kernel).1,
            FlushExtent::Whole
        );
        assert_eq!(
            flush(&mut flushes, ThreadKind::IoUring).2,
            FlushCause::IoUring
        );
        let mut unwatched = FlushWatch::default();
        assert_eq!(flush(&mut unwatched, OTHER).2, FlushCause::Unwatched);
        let whole = unwatched.describe((7, 1), (FILE, false), 50, || OTHER);
        assert_eq!(whole.1, FlushExtent::Whole);
        unwatched.mark(0, 1, range(0, 1), 20);
        assert!(unwatched.marked.is_empty());
        let hidden = unwatched.describe((0, 1), (FILE, false), 50, || OTHER);
        assert_eq!(hidden.1, FlushExtent::Unknown);
    }
}
