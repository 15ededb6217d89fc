//! A switch between network namespaces that delays frames and loses some, in a thread of this
//! process. The kernel's own delay (netem) is not in every kernel.

use super::{NetworkError, within};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::VecDeque;
use std::ffi::c_char;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trueput_engine::cluster::NetworkQuality;

/// The longest frame: that of an MTU of 1,500 bytes, with room.
const MAX_FRAME_BYTES: usize = 2_048;

/// The most frames on their way; more are lost and counted, as in a switch whose memory is full.
const MAX_FRAMES: usize = 10_000;

/// The interval at which the end is checked.
const PAUSE: Duration = Duration::from_millis(50);

/// A switch that runs until it is dropped.
pub(super) struct DelaySwitch {
    stop: Arc<AtomicBool>,
    /// The ports that are apart from the others, a bit each.
    apart: Arc<AtomicU64>,
    overflows: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl DelaySwitch {
    /// Joins namespaces by an interface `eth0` in each.
    ///
    /// # Errors
    /// One sentence, if an interface cannot be made.
    pub(super) fn join(nodes: &[File], quality: NetworkQuality) -> Result<Self, NetworkError> {
        let ports: Result<Vec<_>, _> = nodes.iter().map(make_interface).collect();
        let ports = ports.map_err(NetworkError::Tunnel)?;
        let (stop, apart) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let overflows = Arc::<AtomicU64>::default();
        let mut traffic = Traffic {
            addresses: vec![None; ports.len()],
            ports,
            queue: VecDeque::new(),
            quality,
            random: 1,
            apart: Arc::clone(&apart),
            overflows: Arc::clone(&overflows),
        };
        let is_over = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                traffic.forward_due_frames();
            }
        });
        Ok(Self {
            stop,
            apart,
            overflows,
            thread: Some(thread),
        })
    }

    /// Separates the nodes of these numbers, from 1 on, from the others.
    pub(super) fn separate(&self, numbers: &[u32]) {
        let bits = numbers
            .iter()
            .fold(0, |bits, number| bits | 1 << (number - 1));
        self.apart.fetch_or(bits, Ordering::Relaxed);
    }

    /// Joins all nodes again.
    pub(super) fn heal(&self) {
        self.apart.store(0, Ordering::Relaxed);
    }

    /// Returns the frames that were lost because too many were on their way.
    pub(super) fn overflows(&self) -> u64 {
        self.overflows.load(Ordering::Relaxed)
    }
}

impl Drop for DelaySwitch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It only forwards; nothing is lost with it.
            let _ = thread.join();
        }
    }
}

/// A frame on its way.
struct Frame {
    due: Instant,
    port: usize,
    bytes: Vec<u8>,
}

/// The frames between the ports.
struct Traffic {
    ports: Vec<File>,
    /// The hardware address behind each port, once it has sent something.
    addresses: Vec<Option<[u8; 6]>>,
    /// In the order in which they are due, since all have the same delay.
    queue: VecDeque<Frame>,
    quality: NetworkQuality,
    random: u64,
    apart: Arc<AtomicU64>,
    overflows: Arc<AtomicU64>,
}

impl Traffic {
    /// Waits for frames, and delivers those that are due.
    fn forward_due_frames(&mut self) {
        let now = Instant::now();
        let next = self.queue.front().map(|frame| frame.due);
        let wait = next.map_or(PAUSE, |due| due.saturating_duration_since(now).min(PAUSE));
        let readable: Vec<bool> = {
            let mut polled: Vec<_> = self
                .ports
                .iter()
                .map(|port| PollFd::new(port.as_fd(), PollFlags::POLLIN))
                .collect();
            // An interrupted wait is a short one.
            let _ = ppoll(&mut polled, Some(TimeSpec::from(wait)), None);
            polled.iter().map(|port| port.any() == Some(true)).collect()
        };
        for port in (0..self.ports.len()).filter(|&port| readable[port]) {
            self.receive(port);
        }
        let now = Instant::now();
        while self.queue.front().is_some_and(|frame| frame.due <= now) {
            if let Some(frame) = self.queue.pop_front() {
                // An interface that takes no more loses the frame, as a network does.
                let _ = self.ports[frame.port].write(&frame.bytes);
            }
        }
    }

    /// Takes the frames that a node has sent.
    fn receive(&mut self, from: usize) {
        let mut buffer = [0; MAX_FRAME_BYTES];
        while let Ok(length) = self.ports[from].read(&mut buffer) {
            let frame = &buffer[..length];
            let (Some(to), Some(source)) = (address(frame, 0), address(frame, 6)) else {
                continue;
            };
            self.addresses[from] = Some(source);
            let known = self.addresses.iter().position(|known| *known == Some(to));
            let ports = match known {
                Some(port) => port..port + 1,
                // To all, or to one that has not sent anything yet.
                None => 0..self.ports.len(),
            };
            for port in ports.filter(|&port| port != from) {
                self.send(from, port, frame);
            }
        }
    }

    fn send(&mut self, from: usize, port: usize, frame: &[u8]) {
        let apart = self.apart.load(Ordering::Relaxed);
        let is_apart = |port: usize| apart >> port & 1;
        if is_apart(from) != is_apart(port) || self.is_lost() {
            return;
        }
        if self.queue.len() >= MAX_FRAMES {
            self.overflows.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.queue.push_back(Frame {
            due: Instant::now() + Duration::from_micros(self.quality.delay_us),
            port,
            bytes: frame.to_vec(),
        });
    }

    /// Draws whether a frame is lost, by Knuth's linear congruential generator (MMIX).
    fn is_lost(&mut self) -> bool {
        let state = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = state.wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % 1_000_000 < self.quality.lost_per_million
    }
}

/// Returns a hardware address of an Ethernet frame: that of the receiver is first.
fn address(frame: &[u8], at: usize) -> Option<[u8; 6]> {
    frame.get(at..at + 6)?.try_into().ok()
}

/// The request of TUNSETIFF (linux/if.h, `struct ifreq`).
#[repr(C)]
struct InterfaceRequest {
    name: [c_char; 16],
    flags: i16,
    padding: [u8; 22],
}

/// `TUNSETIFF` and its flags (linux/if_tun.h): frames, without a header of the driver's.
const TUNSETIFF: u64 = 0x4004_54ca;
const IFF_TAP: i16 = 0x0002;
const IFF_NO_PI: i16 = 0x1000;

nix::ioctl_write_ptr_bad!(set_interface, TUNSETIFF, InterfaceRequest);

/// Makes an interface `eth0` in a namespace, and returns the file of its frames.
fn make_interface(namespace: &File) -> std::io::Result<File> {
    within(namespace, || {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let options = options.custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
        let port = options.open("/dev/net/tun")?;
        let mut request = InterfaceRequest {
            name: [0; 16],
            flags: IFF_TAP | IFF_NO_PI,
            padding: [0; 22],
        };
        for (to, from) in request.name.iter_mut().zip(c"eth0".to_bytes()) {
            *to = from.cast_signed();
        }
        // SAFETY: the request is a whole `struct ifreq` that lives during the call.
        unsafe { set_interface(port.as_raw_fd(), &raw const request) }?;
        Ok(port)
    })
}
