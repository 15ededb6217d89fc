//! The filter of system calls in a recorded process: calls that flush wait until the server has
//! seen them.
//!
//! It is set between fork and exec, and inherited by everything that the process starts. Its other
//! end, the listener, is sent to the server. Everything here runs in a child of a process with
//! several threads, so it neither allocates nor locks.

use nix::libc::{self, c_int};
use rustix::cmsg_space;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::slice::from_ref;

/// The calls that wait.
const WATCHED: [libc::c_long; 7] = [
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_msync,
    libc::SYS_sync_file_range,
    libc::SYS_syncfs,
    libc::SYS_sync,
    libc::SYS_io_uring_setup,
];

/// `AUDIT_ARCH_*` of this program (linux/audit.h): the numbers of system calls depend on it.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: u32 = 0xc000_00f3;
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
)))]
const ARCHITECTURE: u32 = 0;

/// Instructions before and behind the comparisons.
const FRAME: usize = 5;
const LENGTH: usize = FRAME + WATCHED.len();

/// Positions in `struct seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

const fn step(code: u16, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// The filter: it notifies of the watched calls of this architecture, and allows everything else.
const fn program() -> [libc::sock_filter; LENGTH] {
    let mut steps = [step(RETURN, libc::SECCOMP_RET_ALLOW); LENGTH];
    steps[0] = step(LOAD_WORD, ARCHITECTURE_AT);
    // Another architecture: to the return that allows, which is the last but one.
    steps[1] = libc::sock_filter {
        jf: WATCHED.len() as u8 + 1,
        ..step(JUMP_IF_EQUAL, ARCHITECTURE)
    };
    steps[2] = step(LOAD_WORD, NUMBER_AT);
    let mut index = 0;
    while index < WATCHED.len() {
        steps[3 + index] = libc::sock_filter {
            jt: (WATCHED.len() - index) as u8,
            ..step(JUMP_IF_EQUAL, WATCHED[index] as u32)
        };
        index += 1;
    }
    steps[LENGTH - 1] = step(RETURN, libc::SECCOMP_RET_USER_NOTIF);
    steps
}

/// Sets the filter for this process and sends its listener through a socket, or the number of the
/// error for which there is none.
pub(crate) fn watch_this_process(socket: BorrowedFd<'_>) -> io::Result<()> {
    match set_filter() {
        Ok(listener) => send(socket, 0, Some(listener.as_fd())),
        Err(number) => send(socket, u8::try_from(number).unwrap_or(u8::MAX), None),
    }
}

/// Returns the listener, or the number of an error.
fn set_filter() -> Result<OwnedFd, c_int> {
    match install() {
        // A process without the right to filter may after it gave up rights that it could gain.
        Err(libc::EACCES) => {
            // SAFETY: the call takes numbers only.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
            install()
        }
        installed => installed,
    }
}

fn install() -> Result<OwnedFd, c_int> {
    if ARCHITECTURE == 0 {
        return Err(libc::ENOSYS);
    }
    let mut steps = program();
    let filter = libc::sock_fprog {
        len: LENGTH as u16,
        filter: steps.as_mut_ptr(),
    };
    // A signal must not repeat a call that was noted (Linux 5.19).
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: the program lives until the call returns, and its length is right.
    let set = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const filter,
        )
    };
    match RawFd::try_from(set) {
        // SAFETY: the kernel made the descriptor for this call.
        Ok(listener) if listener >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(listener) }),
        _ => Err(error_number()),
    }
}

fn error_number() -> c_int {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sends one byte, and perhaps a descriptor.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    byte: u8,
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    if let Some(descriptor) = &descriptor {
        control.push(SendAncillaryMessage::ScmRights(from_ref(descriptor)));
    }
    let part = [IoSlice::new(from_ref(&byte))];
    sendmsg(socket, &part, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}
