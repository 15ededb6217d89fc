//! The server's end of the filter of system calls: notes each call that flushes, before it runs.

use crate::flush_watch::AnnouncedCall;
use crate::mapped_ranges::{Device, mapped_ranges};
use crate::operation::Operation;
use crate::recorder::SharedLog;
use crate::write_back::WriteBack;
use nix::libc::{self, c_long};
use rustix::cmsg_space;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::retry_on_intr;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::slice::from_mut;
use std::sync::Arc;

/// The flag of msync that waits.
const MS_SYNC: u64 = libc::MS_SYNC as u64;

/// Why a recording fails whose process cannot flush any more: the kernel closed its listener.
const LOST: &str =
    "the filter of a process was lost, so that it cannot flush: too many files are open";

/// What listeners need of the server.
pub(crate) struct Observer {
    pub(crate) log: SharedLog,
    pub(crate) device: Device,
    pub(crate) write_back: WriteBack,
}

/// Receives listeners from standard input until it ends. Each has a thread of its own.
pub(crate) fn receive_listeners(observer: &Arc<Observer>) -> io::Result<()> {
    loop {
        match receive(io::stdin()) {
            Ok(Message::Listener(listener)) => {
                observer.log.lock().flushes.watch.listens = true;
                let observer = Arc::clone(observer);
                std::thread::Builder::new().spawn(move || observer.listen(&listener))?;
            }
            Ok(Message::Refused(number)) => {
                let error = io::Error::from_raw_os_error(number.into());
                observer.log.lock().flushes.watch.refused = Some(error.to_string());
            }
            Ok(Message::Lost) => observer.log.lock().fail(&io::Error::other(LOST)),
            Ok(Message::End) => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ENOTSOCK) => {
                // A terminal or a pipe, from which nothing comes but its end.
                return io::copy(&mut io::stdin(), &mut io::sink()).map(drop);
            }
            Err(error) => return Err(error),
        }
    }
}

#[derive(Debug)]
enum Message {
    Listener(OwnedFd),
    /// A listener for which this process has no room.
    Lost,
    Refused(u8),
    End,
}

fn receive(socket: impl AsFd) -> io::Result<Message> {
    let mut byte = 0;
    let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let received = retry_on_intr(|| {
        let part = &mut [IoSliceMut::new(from_mut(&mut byte))];
        recvmsg(&socket, part, &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    if received.bytes == 0 {
        return Ok(Message::End);
    }
    let descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    if let Some(listener) = descriptors.flatten().next() {
        return Ok(Message::Listener(listener));
    }
    // The kernel drops a descriptor for which there is no room. A refusal has a number.
    if received.flags.contains(ReturnFlags::CTRUNC) || byte == 0 {
        return Ok(Message::Lost);
    }
    Ok(Message::Refused(byte))
}

impl Observer {
    /// Notes calls until the last process with the filter has ended.
    fn listen(&self, listener: &OwnedFd) {
        while wait(listener) {
            // SAFETY: all fields may be zero, and the kernel wants them so.
            let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: the kernel fills the structure, which lives until the call returns.
            let received = unsafe {
                libc::ioctl(
                    listener.as_raw_fd(),
                    libc::SECCOMP_IOCTL_NOTIF_RECV,
                    &raw mut call,
                )
            };
            if received < 0 {
                // The process was killed meanwhile, or a signal came.
                continue;
            }
            let continues = self.note(&call);
            let flags = if continues {
                libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32
            } else {
                0
            };
            let mut answer = libc::seccomp_notif_resp {
                id: call.id,
                val: 0,
                error: 0,
                flags,
            };
            // A process that was killed meanwhile gets no answer.
            // SAFETY: the structure lives until the call returns.
            unsafe {
                libc::ioctl(
                    listener.as_raw_fd(),
                    libc::SECCOMP_IOCTL_NOTIF_SEND,
                    &raw mut answer,
                )
            };
        }
    }

    /// Notes a call. Returns whether the kernel is to run it.
    fn note(&self, call: &libc::seccomp_notif) -> bool {
        let announced = match c_long::from(call.data.nr) {
            libc::SYS_fsync => AnnouncedCall::Fsync,
            libc::SYS_fdatasync => AnnouncedCall::Fdatasync,
            libc::SYS_msync if call.data.args[2] & MS_SYNC != 0 => self.msync(call),
            libc::SYS_syncfs if self.is_here(call) => return self.flush_all(call),
            libc::SYS_sync => return self.flush_all(call),
            libc::SYS_io_uring_setup => {
                self.log.lock().flushes.watch.io_uring = true;
                return true;
            }
            libc::SYS_sync_file_range => {
                self.log.lock().flushes.watch.sync_file_range += 1;
                AnnouncedCall::Other
            }
            _ => AnnouncedCall::Other,
        };
        let mut log = self.log.lock();
        let began = log.length();
        log.flushes.announce(call.pid, announced, began);
        true
    }

    /// Finds the parts of files, while the thread that called msync waits.
    fn msync(&self, call: &libc::seccomp_notif) -> AnnouncedCall {
        let [start, length, ..] = call.data.args;
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", call.pid));
        let end = start.saturating_add(length);
        let parts = mapped_ranges(&maps.unwrap_or_default(), self.device, (start, end));
        AnnouncedCall::Msync(parts)
    }

    /// Returns whether a descriptor of a process lies on this file system.
    fn is_here(&self, call: &libc::seccomp_notif) -> bool {
        // The kernel takes a descriptor as an int.
        let descriptor = call.data.args[0] as u32;
        let path = format!("/proc/{}/fd/{descriptor}", call.pid);
        // No request may be sent: the descriptor can lie on any file system.
        let found = statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::empty());
        found.is_ok_and(|found| {
            let device = Device {
                major: found.stx_dev_major,
                minor: found.stx_dev_minor,
            };
            device == self.device
        })
    }

    /// Does what syncfs does elsewhere, and FUSE does not: it waits until everything is written.
    fn flush_all(&self, call: &libc::seccomp_notif) -> bool {
        let began = {
            let mut log = self.log.lock();
            let began = log.length();
            log.flushes.announce(call.pid, AnnouncedCall::Other, began);
            began
        };
        // Without the lock: it sends requests to this server.
        let written = self.write_back.run();
        let mut log = self.log.lock();
        let appended = written.and_then(|()| log.append(Operation::FlushAll { began }));
        if let Err(error) = appended {
            log.fail(&error);
        }
        false
    }
}

/// Waits for a call. Returns `false` if no process has the filter any more.
fn wait(listener: &OwnedFd) -> bool {
    let mut poll = libc::pollfd {
        fd: listener.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one structure, which lives until the call returns.
    let ready = unsafe { libc::poll(&raw mut poll, 1, -1) };
    ready < 0 || poll.revents & libc::POLLIN != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::send;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_listener_that_was_dropped_on_its_way_is_no_refusal() {
        let (from, to) = UnixStream::pair().unwrap();
        let receive = || receive(&to).unwrap();
        send(from.as_fd(), 0, Some(from.as_fd())).unwrap();
        assert!(matches!(receive(), Message::Listener(_)));
        send(from.as_fd(), 13, None).unwrap();
        assert!(matches!(receive(), Message::Refused(13)));
        send(from.as_fd(), 0, None).unwrap();
        assert!(matches!(receive(), Message::Lost));
        drop(from);
        assert!(matches!(receive(), Message::End));
    }
}
