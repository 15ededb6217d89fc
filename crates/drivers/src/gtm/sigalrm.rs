//! GT.M's timer signal, kept from running beside GT.M.
//!
//! GT.M writes back journal and blocks from a handler of `SIGALRM`, as if its process had one
//! thread. The kernel may give the signal to any thread. So GT.M's handler is wrapped: it runs on
//! the thread that is in GT.M, or anywhere while none is.

use nix::libc::{
    SA_RESTART, SA_SIGINFO, SIG_DFL, SIG_IGN, SIGALRM, SYS_gettid, SYS_tgkill, atexit, c_int,
    c_void, getpid, sigaction, siginfo_t, syscall,
};
use std::cell::Cell;
use std::hint::spin_loop;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// The thread that is in GT.M; 0 while none is.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// GT.M's own handler; 0 while it is not wrapped.
static WRAPPED: AtomicUsize = AtomicUsize::new(0);
/// The process is on its way out, and GT.M's exit handler with it.
static LEAVING: AtomicBool = AtomicBool::new(false);

type SignalHandler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

thread_local! {
    static THREAD: Cell<i32> = const { Cell::new(0) };
}

fn ask_thread() -> i32 {
    // SAFETY: the call needs nothing and cannot fail; thread numbers fit.
    unsafe { syscall(SYS_gettid) as i32 }
}

/// This thread's number, asked for once.
fn thread() -> i32 {
    THREAD.with(|known| {
        if known.get() == 0 {
            known.set(ask_thread());
        }
        known.get()
    })
}

/// Makes this thread the one that is in GT.M. Callers take turns by a lock of their own; this waits
/// only for a handler that runs on another thread.
pub(super) fn enter() {
    claim(thread());
}

fn claim(thread: i32) {
    while OWNER
        .compare_exchange_weak(0, thread, Ordering::Acquire, Ordering::Relaxed)
        .is_err()
    {
        spin_loop();
    }
}

/// No thread is in GT.M any more.
pub(super) fn leave() {
    if !LEAVING.load(Ordering::Relaxed) {
        OWNER.store(0, Ordering::Release);
    }
}

/// Wraps GT.M's handler, once GT.M has set it: it does so with its first timer.
pub(super) fn wrap() {
    if WRAPPED.load(Ordering::Relaxed) != 0 {
        return;
    }
    let mut found = MaybeUninit::<sigaction>::uninit();
    // SAFETY: the place is as large as the kernel's answer, which is read only where there is one.
    let found = unsafe {
        if sigaction(SIGALRM, ptr::null(), found.as_mut_ptr()) != 0 {
            return;
        }
        found.assume_init()
    };
    if found.sa_sigaction == SIG_DFL || found.sa_sigaction == SIG_IGN {
        return;
    }
    WRAPPED.store(found.sa_sigaction, Ordering::Release);
    let mut ours = found;
    ours.sa_sigaction = on_alarm as SignalHandler as usize;
    ours.sa_flags |= SA_SIGINFO | SA_RESTART;
    // SAFETY: the handler is async-signal-safe but for what GT.M's own does, which is GT.M's.
    unsafe { sigaction(SIGALRM, &raw const ours, ptr::null_mut()) };
}

/// Lets GT.M's exit handler run undisturbed. Called after `gtm_init`, so that it comes first.
pub(super) fn guard_exit() {
    // SAFETY: the function takes nothing and stays where it is.
    unsafe { atexit(on_exit) };
}

extern "C" fn on_exit() {
    let thread = ask_thread();
    if OWNER.load(Ordering::Relaxed) != thread {
        claim(thread);
    }
    LEAVING.store(true, Ordering::Relaxed);
}

/// The handler: GT.M's own, on the thread that may.
extern "C" fn on_alarm(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // A thread's own variables are not safe to set up in a handler.
    let thread = ask_thread();
    loop {
        match OWNER.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                run(signal, info, context);
                leave();
                return;
            }
            Err(owner) if owner == thread => return run(signal, info, context),
            Err(0) => {}
            Err(owner) => {
                // SAFETY: numbers only. A thread that has ended meanwhile is no longer in GT.M.
                let sent = unsafe { syscall(SYS_tgkill, getpid(), owner, signal) };
                if sent == 0 {
                    return;
                }
            }
        }
    }
}

fn run(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let handler = WRAPPED.load(Ordering::Acquire);
    // SAFETY: it is the address that the kernel gave as GT.M's handler; a handler that takes the
    // signal only leaves the other arguments unread.
    unsafe { std::mem::transmute::<usize, SignalHandler>(handler)(signal, info, context) };
}
