//! The delays of a modeled device: when each reply is due, and the thread that sends it then.

use crate::modelled_device::DeviceRequest;
use crate::modelled_image::service_report::{KINDS, RequestKind, ServiceCounts};
use nix::sys::prctl::set_timerslack;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trueput_record::service_report::{OwnCost, ServiceReport};

/// The thread sleeps until so long before the next reply is due, and spins for the rest: it wakes
/// some 25 microseconds late, on virtual machines up to 50.
const SPIN_NS: u64 = 60_000;

/// Says when a request that comes at a moment completes, nanoseconds on one clock.
pub(crate) type DeviceModel = Box<dyn FnMut(u64, DeviceRequest) -> u64 + Send>;

/// What is sent when a request completes.
pub(crate) trait Answer: Send + 'static {
    /// Sends it.
    fn send(self);
}

/// A request that was done on the image, or on a file of a folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServedRequest {
    pub(super) kind: RequestKind,
    pub(super) bytes: u64,
    /// The request to the device; `None` if the model does not know its kind, which takes no time.
    pub(super) on_device: Option<DeviceRequest>,
    /// When it came, on the clock of [`Delays::now_ns`].
    pub(super) arrived_ns: u64,
    /// The kind of the request by which it came, whose way is part of its modeled time; `None`: it
    /// had no way.
    pub(crate) came_by: Option<RequestKind>,
}

impl ServedRequest {
    /// Returns a request that is one to the device.
    pub(crate) fn to_device(on_device: DeviceRequest, arrived_ns: u64) -> Self {
        let (kind, bytes) = match on_device {
            DeviceRequest::Read { bytes, .. } => (RequestKind::Read, bytes),
            DeviceRequest::Write { bytes, .. } => (RequestKind::Write, bytes),
            DeviceRequest::Flush => (RequestKind::Flush, 0),
        };
        Self {
            kind,
            bytes,
            on_device: Some(on_device),
            arrived_ns,
            came_by: Some(kind),
        }
    }
}

/// The delays of one device, at first off.
pub(crate) struct Delays<A> {
    device: Mutex<DeviceModel>,
    began: Instant,
    /// The part of the modeled time that a request spends on the way, by its kind.
    transport_ns: [AtomicU64; KINDS],
    is_on: AtomicBool,
    waiting: Mutex<WaitingReplies<A>>,
    /// Tells the thread that the first reply is another one, or that the delays have ended.
    changed: Condvar,
    /// When the first reply is due; the largest number if none waits.
    first_due_ns: AtomicU64,
    counts: Mutex<ServiceCounts>,
}

struct WaitingReplies<A> {
    replies: BinaryHeap<Reverse<DueReply<A>>>,
    /// The number of replies that have waited so far.
    sequence: u64,
}

/// A reply in the order of due times, and of arrival where these are the same.
struct DueReply<A> {
    due_ns: u64,
    sequence: u64,
    kind: RequestKind,
    bytes: u64,
    /// The time from when it was sent until it is due.
    modeled_ns: u64,
    answer: A,
}

impl<A> DueReply<A> {
    fn key(&self) -> (u64, u64) {
        (self.due_ns, self.sequence)
    }
}

impl<A> PartialEq for DueReply<A> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<A> Eq for DueReply<A> {}

impl<A> PartialOrd for DueReply<A> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<A> Ord for DueReply<A> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<A: Answer> Delays<A> {
    /// Starts the thread that sends replies, which lasts as long as the process.
    pub(crate) fn start(device: DeviceModel) -> io::Result<Arc<Self>> {
        let delays = Arc::new(Self {
            device: Mutex::new(device),
            began: Instant::now(),
            transport_ns: Default::default(),
            is_on: AtomicBool::new(false),
            waiting: Mutex::new(WaitingReplies {
                replies: BinaryHeap::new(),
                sequence: 0,
            }),
            changed: Condvar::new(),
            first_due_ns: AtomicU64::new(u64::MAX),
            counts: Mutex::default(),
        });
        let sender = Arc::clone(&delays);
        let thread = std::thread::Builder::new().name("delays".to_owned());
        thread.spawn(move || sender.send_due_replies())?;
        Ok(delays)
    }

    /// Returns the time since the start, nanoseconds of the monotonic clock.
    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Serves on another device from now on, and forgets what was counted. No request may be under
    /// way.
    pub(crate) fn set_device(&self, device: DeviceModel) {
        *lock(&self.device) = device;
        *lock(&self.counts) = ServiceCounts::default();
    }

    /// Counts so much of the modeled time of each request of a kind as spent on the way.
    pub(crate) fn set_transport(&self, kind: RequestKind, transport_ns: u64) {
        self.transport_ns[kind as usize].store(transport_ns, Relaxed);
    }

    /// Begins or ends the delays. At their end, all replies that wait are sent.
    pub(crate) fn set_on(&self, is_on: bool) {
        let _waiting = lock(&self.waiting);
        self.is_on.store(is_on, Release);
        self.changed.notify_one();
    }

    fn is_on(&self) -> bool {
        self.is_on.load(Acquire)
    }

    /// Returns what was answered while the delays were on.
    pub(crate) fn report(&self, model: &str, own_cost: OwnCost) -> ServiceReport {
        lock(&self.counts).report(model, own_cost)
    }

    /// Answers a request when its modeled time is over: now, or later by the thread.
    pub(crate) fn answer(&self, request: ServedRequest, answer: A) {
        if !self.is_on() {
            answer.send();
            return;
        }
        let (due_ns, modeled_ns) = self.time(request);
        let reply = DueReply {
            due_ns,
            sequence: 0,
            kind: request.kind,
            bytes: request.bytes,
            modeled_ns,
            answer,
        };
        if due_ns <= self.now_ns() {
            self.send(reply);
        } else {
            self.delay(reply);
        }
    }

    /// Gives the device a request that has no reply of its own: what waits for it comes behind it.
    pub(crate) fn submit(&self, request: ServedRequest) {
        if self.is_on() {
            self.time(request);
            lock(&self.counts).add_without_reply(request.kind, request.bytes);
        }
    }

    /// Gives the device a request, and returns when it is due, and how long after it was sent.
    fn time(&self, request: ServedRequest) -> (u64, u64) {
        let ServedRequest {
            on_device,
            arrived_ns,
            came_by,
            ..
        } = request;
        on_device.map_or((arrived_ns, 0), |on_device| {
            let transport_ns = |kind: RequestKind| self.transport_ns[kind as usize].load(Relaxed);
            let sent_ns = arrived_ns.saturating_sub(came_by.map_or(0, transport_ns));
            let mut device = lock(&self.device);
            let due_ns = (*device)(sent_ns, on_device);
            (due_ns, due_ns.saturating_sub(sent_ns))
        })
    }

    fn delay(&self, reply: DueReply<A>) {
        let due_ns = reply.due_ns;
        let mut waiting = lock(&self.waiting);
        waiting.sequence += 1;
        let sequence = waiting.sequence;
        waiting
            .replies
            .push(Reverse(DueReply { sequence, ..reply }));
        if due_ns < self.first_due_ns.load(Relaxed) {
            self.first_due_ns.store(due_ns, Release);
            self.changed.notify_one();
        }
    }

    /// Sends a reply, and counts how late it was. One that is sent before it is due, at the end of
    /// the delays, is not counted.
    fn send(&self, reply: DueReply<A>) {
        let DueReply {
            due_ns,
            kind,
            bytes,
            modeled_ns,
            answer,
            ..
        } = reply;
        answer.send();
        if let Some(late_ns) = self.now_ns().checked_sub(due_ns) {
            lock(&self.counts).add(kind, bytes, modeled_ns, late_ns);
        }
    }

    fn send_due_replies(&self) {
        // Where it cannot be set, replies are later, and the report says so.
        let _ = set_timerslack(1);
        let mut waiting = lock(&self.waiting);
        loop {
            let Some(Reverse(first)) = waiting.replies.peek() else {
                let changed = self.changed.wait(waiting);
                waiting = changed.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let due_ns = first.due_ns;
            let left_ns = due_ns.saturating_sub(self.now_ns());
            if left_ns == 0 || !self.is_on() {
                let reply = self.take_first(&mut waiting);
                drop(waiting);
                if let Some(reply) = reply {
                    self.send(reply);
                }
                waiting = lock(&self.waiting);
            } else if left_ns > SPIN_NS {
                let sleep = Duration::from_nanos(left_ns - SPIN_NS);
                let changed = self.changed.wait_timeout(waiting, sleep);
                waiting = changed.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                drop(waiting);
                self.spin_until(due_ns);
                waiting = lock(&self.waiting);
            }
        }
    }

    fn take_first(&self, waiting: &mut WaitingReplies<A>) -> Option<DueReply<A>> {
        let Reverse(first) = waiting.replies.pop()?;
        let next = waiting.replies.peek();
        let next_ns = next.map_or(u64::MAX, |Reverse(next)| next.due_ns);
        self.first_due_ns.store(next_ns, Release);
        Some(first)
    }

    /// Spins until a moment, until a reply waits that is due before it, or until the delays end.
    fn spin_until(&self, due_ns: u64) {
        while self.now_ns() < due_ns && self.first_due_ns.load(Acquire) >= due_ns && self.is_on() {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    const MS: u64 = 1_000_000;

    /// An answer that says which it is, and when it was sent.
    struct Probe(&'static str, Sender<(&'static str, Instant)>);

    impl Answer for Probe {
        fn send(self) {
            self.1.send((self.0, Instant::now())).unwrap();
        }
    }

    /// A device on which a read takes as many milliseconds as its position says.
    fn device(now_ns: u64, request: DeviceRequest) -> u64 {
        match request {
            DeviceRequest::Read { position, .. } => now_ns + position * MS,
            DeviceRequest::Write { .. } | DeviceRequest::Flush => now_ns,
        }
    }

    struct Fixture {
        delays: Arc<Delays<Probe>>,
        sender: Sender<(&'static str, Instant)>,
        sent: Receiver<(&'static str, Instant)>,
    }

    impl Fixture {
        fn new() -> Self {
            let (sender, sent) = channel();
            let delays = Delays::start(Box::new(device)).unwrap();
            delays.set_on(true);
            Self {
                delays,
                sender,
                sent,
            }
        }

        /// Answers a read that takes so long.
        fn read(&self, name: &'static str, ms: u64) {
            let read = DeviceRequest::Read {
                position: ms,
                bytes: 4096,
            };
            let request = ServedRequest::to_device(read, self.delays.now_ns());
            self.delays
                .answer(request, Probe(name, self.sender.clone()));
        }

        fn next(&self) -> (&'static str, Instant) {
            self.sent.recv_timeout(Duration::from_secs(60)).unwrap()
        }

        /// Waits until as many requests as have been answered are counted, and returns the number.
        fn counted(&self, requests: u64) -> u64 {
            let until = Instant::now() + Duration::from_secs(60);
            loop {
                let report = self.delays.report("none", OwnCost::default());
                if report.reads.requests >= requests || Instant::now() > until {
                    return report.reads.requests;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn replies_are_sent_when_they_are_due_and_not_before() {
        let fixture = Fixture::new();
        let began = Instant::now();
        fixture.read("now", 0);
        // So far apart that a busy machine does not turn them round.
        fixture.read("late", 600);
        fixture.read("soon", 300);
        fixture.read("first", 10);
        for (name, ms) in [("now", 0), ("first", 10), ("soon", 300), ("late", 600)] {
            let (sent, at) = fixture.next();
            assert_eq!(sent, name);
            assert!(at - began >= Duration::from_millis(ms), "{name}");
        }
        assert_eq!(fixture.counted(4), 4);
        let report = fixture.delays.report("none", OwnCost::default());
        assert_eq!(report.reads.bytes, 4 * 4096);
        assert_eq!(report.reads.modeled_ns, 910 * MS);
        assert!(report.reads.late_ns >= report.reads.late_max_ns);
        assert!(report.reads.late_median_ns <= report.reads.late_max_ns);
        assert!(report.reads.late_max_ns > 0);
    }

    #[test]
    fn replies_that_are_due_together_are_sent_in_their_order() {
        let reply = |due_ns, sequence| DueReply {
            due_ns,
            sequence,
            kind: RequestKind::Read,
            bytes: 0,
            modeled_ns: 0,
            answer: (),
        };
        let mut waiting = BinaryHeap::new();
        for key in [(5, 1), (3, 2), (5, 0), (3, 1)] {
            waiting.push(Reverse(reply(key.0, key.1)));
        }
        let order = std::iter::from_fn(|| waiting.pop().map(|Reverse(reply)| reply.key()));
        assert_eq!(order.collect::<Vec<_>>(), [(3, 1), (3, 2), (5, 0), (5, 1)]);
    }

    #[test]
    fn the_end_of_the_delays_sends_what_waits_and_later_replies_wait_no_more() {
        let fixture = Fixture::new();
        fixture.read("an hour", 3_600_000);
        fixture.delays.set_on(false);
        assert_eq!(fixture.next().0, "an hour");
        fixture.read("at once", 3_600_000);
        assert_eq!(fixture.next().0, "at once");
        // Neither had its modeled time.
        assert_eq!(fixture.counted(0), 0);
    }

    #[test]
    fn the_time_on_the_way_is_part_of_the_modelled_time() {
        let fixture = Fixture::new();
        let delays = &fixture.delays;
        delays.set_transport(RequestKind::Read, 3_600_000 * MS);
        std::thread::sleep(Duration::from_millis(20));
        // To the device, it came when the fixture began: it has been over for 10 ms.
        fixture.read("sent at the start", 10);
        let report = delays.report("none", OwnCost::default());
        assert!(report.reads.late_max_ns >= 10 * MS);
        // The controls: what comes now is not yet over, and the way of another kind is its own.
        delays.set_transport(RequestKind::Read, 0);
        delays.set_transport(RequestKind::Write, 3_600_000 * MS);
        fixture.read("sent now", 3_600_000);
        let report = delays.report("none", OwnCost::default());
        assert_eq!(report.reads.requests, 1);
    }

    #[test]
    fn what_has_no_reply_is_counted_and_dilutes_no_lateness() {
        let fixture = Fixture::new();
        let write = DeviceRequest::Write {
            position: 0,
            bytes: 512,
        };
        let request = ServedRequest::to_device(write, fixture.delays.now_ns());
        fixture.delays.submit(request);
        let writes = fixture.delays.report("none", OwnCost::default()).writes;
        assert_eq!((writes.requests, writes.bytes), (1, 512));
        assert_eq!((writes.replies(), writes.modeled_ns), (0, 0));
        // The controls: one with a reply has lateness, and without delays nothing is counted.
        let probe = Probe("answered", fixture.sender.clone());
        fixture.delays.answer(request, probe);
        fixture.delays.set_on(false);
        fixture.delays.submit(request);
        let writes = fixture.delays.report("none", OwnCost::default()).writes;
        assert_eq!((writes.requests, writes.replies()), (2, 1));
        assert!(writes.late_ns > 0);
    }

    #[test]
    fn another_device_begins_with_counts_of_its_own() {
        let fixture = Fixture::new();
        fixture.read("now", 0);
        assert_eq!(fixture.counted(1), 1);
        fixture.delays.set_device(Box::new(|now_ns, _| now_ns));
        assert_eq!(fixture.counted(0), 0);
        // An hour on the other one.
        fixture.read("at once", 3_600_000);
        assert_eq!(fixture.next().0, "now");
        assert_eq!(fixture.next().0, "at once");
        assert_eq!(fixture.counted(1), 1);
    }
}
