//! The faults of a folder, with what is counted of them: which of them come to a request.

use crate::faulty_folder::report::{FaultCount, FaultReport, InjectedFault};
use crate::operation::Inode;
use std::time::Duration;
use trueput_record::random::SplitMix64;
use trueput_record::storage_fault::{FaultEffect, FaultOperation, FaultTrigger, StorageFault};

/// The faults that a report lists.
const MAX_LISTED: usize = 100;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    Read,
    Write,
    /// A write of pages of the kernel's cache, which takes a part of one for a whole one.
    WriteBack,
    /// A new name, or an allocation: it writes no content, and fails on a full device.
    Growth,
    Flush,
}

impl RequestKind {
    const fn operation(self) -> FaultOperation {
        match self {
            Self::Read => FaultOperation::Read,
            Self::Write | Self::WriteBack | Self::Growth => FaultOperation::Write,
            Self::Flush => FaultOperation::Fsync,
        }
    }
}

/// A request to a folder that is armed.
#[derive(Debug, Clone, Copy)]
pub(super) struct FaultRequest {
    pub(super) kind: RequestKind,
    /// The file or directory.
    pub(super) inode: Inode,
    /// The bytes that it reads or writes.
    pub(super) bytes: u64,
    /// The bytes that the files hold after it; `None` if it adds none, or nothing limits them.
    pub(super) held_after: Option<u64>,
}

/// The faults that come to a request.
#[derive(Debug, Default)]
pub(super) struct RequestFaults(Vec<StorageFault>);

impl RequestFaults {
    pub(super) fn has(&self, effect: FaultEffect) -> bool {
        self.0.iter().any(|fault| fault.effect == effect)
    }

    /// Returns the longest stall, and whether it is one of the whole device.
    pub(super) fn stall(&self) -> Option<(Duration, bool)> {
        let stalls = self.0.iter().filter_map(|fault| match fault.effect {
            FaultEffect::Stall { length } => Some((length, fault.operation == FaultOperation::Any)),
            _ => None,
        });
        stalls.max()
    }
}

/// A fault, and the requests that it concerned.
#[derive(Debug)]
struct CountedFault {
    count: FaultCount,
    random: SplitMix64,
}

impl CountedFault {
    /// Counts a request, and returns its number if the fault comes to it.
    fn come(&mut self, request: &FaultRequest, at: Duration) -> Option<u64> {
        if !self.concerns(request) {
            return None;
        }
        self.count.requests += 1;
        let number = self.count.requests;
        let comes = match self.count.fault.trigger {
            FaultTrigger::Request(only) => number == only,
            FaultTrigger::RequestsFrom(first) => number >= first,
            FaultTrigger::Bytes(limit) => request.held_after.is_some_and(|held| held > limit),
            FaultTrigger::Rate(rate) => self.random.unit_f64() < self.probability(rate, request),
            FaultTrigger::Time(time) => at >= time && self.count.injected == 0,
            FaultTrigger::Always => true,
        };
        self.count.injected += u64::from(comes);
        comes.then_some(number)
    }

    fn concerns(&self, request: &FaultRequest) -> bool {
        let StorageFault {
            operation, effect, ..
        } = self.count.fault;
        let is_named = operation == FaultOperation::Any || operation == request.kind.operation();
        is_named
            && match (effect, request.kind) {
                (FaultEffect::NoSpace, _) => request.held_after.is_some(),
                (_, RequestKind::Growth) => false,
                (FaultEffect::ShortWrite, kind) => kind == RequestKind::Write && request.bytes > 1,
                (FaultEffect::FlippedBit, _) => request.bytes > 0,
                _ => true,
            }
    }

    /// Returns the probability that the fault comes to a request: at least once at its bytes, where
    /// the rate is one of bytes.
    fn probability(&self, rate: f64, request: &FaultRequest) -> f64 {
        match self.count.fault.effect {
            FaultEffect::FlippedBit => -(request.bytes as f64 * (-rate).ln_1p()).exp_m1(),
            _ => rate,
        }
    }
}

/// The faults of a folder.
#[derive(Debug)]
pub(super) struct CountedFaults {
    faults: Vec<CountedFault>,
    report: FaultReport,
}

impl CountedFaults {
    pub(super) fn new(faults: &[StorageFault], seed: u64) -> Self {
        let counted = faults.iter().zip(0..).map(|(fault, number)| CountedFault {
            count: FaultCount {
                fault: *fault,
                requests: 0,
                injected: 0,
            },
            random: SplitMix64::for_use(seed, number),
        });
        Self {
            faults: counted.collect(),
            report: FaultReport::default(),
        }
    }

    /// Returns the smallest number of bytes at which one of the faults lets a device be full.
    pub(super) fn space_limit(&self) -> Option<u64> {
        let faults = self.faults.iter().map(|counted| counted.count.fault);
        let limits = faults.filter_map(|fault| match (fault.effect, fault.trigger) {
            (FaultEffect::NoSpace, FaultTrigger::Bytes(limit)) => Some(limit),
            (FaultEffect::NoSpace, _) => Some(0),
            _ => None,
        });
        limits.min()
    }

    /// Counts a request that came so long after the arming, and returns the faults that come to it.
    /// `file` names its file.
    pub(super) fn come(
        &mut self,
        request: &FaultRequest,
        at: Duration,
        file: impl Fn() -> String,
    ) -> RequestFaults {
        match request.kind {
            RequestKind::Read => self.report.reads += 1,
            RequestKind::Write | RequestKind::WriteBack => self.report.writes += 1,
            RequestKind::Flush => self.report.flushes += 1,
            RequestKind::Growth => {}
        }
        let mut coming = Vec::new();
        for counted in &mut self.faults {
            let Some(number) = counted.come(request, at) else {
                continue;
            };
            let fault = counted.count.fault;
            coming.push(fault);
            self.report.injected_count += 1;
            if self.report.injected.len() < MAX_LISTED {
                self.report.injected.push(InjectedFault {
                    fault,
                    operation: request.kind.operation(),
                    file: file(),
                    request: number,
                    at_s: at.as_secs_f64(),
                });
            }
        }
        RequestFaults(coming)
    }

    /// Counts bytes that were written.
    pub(super) fn add_written(&mut self, bytes: u64) {
        self.report.written_bytes += bytes;
    }

    /// Returns what came so far.
    pub(super) fn report(&self) -> FaultReport {
        FaultReport {
            by_fault: self
                .faults
                .iter()
                .map(|counted| counted.count.clone())
                .collect(),
            ..self.report.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn faults(texts: &[&str]) -> CountedFaults {
        let faults: Vec<StorageFault> = texts.iter().map(|text| text.parse().unwrap()).collect();
        CountedFaults::new(&faults, 1)
    }

    fn request(kind: RequestKind, bytes: u64) -> FaultRequest {
        FaultRequest {
            kind,
            inode: Inode::ROOT,
            bytes,
            held_after: None,
        }
    }

    /// Whether faults come to each of some requests, a second apart.
    fn coming(faults: &mut CountedFaults, requests: &[FaultRequest]) -> Vec<bool> {
        let at = (0..).map(|number| SECOND * number);
        let each = requests.iter().zip(at);
        each.map(|(request, at)| !faults.come(request, at, String::new).0.is_empty())
            .collect()
    }

    #[test]
    fn a_fault_comes_when_its_trigger_says_and_not_otherwise() {
        let flushes = [request(RequestKind::Flush, 0); 5];
        for (text, expected) in [
            ("fsync:eio@3", [false, false, true, false, false]),
            ("fsync:eio@3..", [false, false, true, true, true]),
            ("any:eio@3", [false, false, true, false, false]),
            ("fsync:eio@2s", [false, false, true, false, false]),
            ("fsync:eio", [true; 5]),
            ("fsync:eio@1.0", [true; 5]),
            ("fsync:eio@1e-9", [false; 5]),
            ("write:eio", [false; 5]),
        ] {
            assert_eq!(coming(&mut faults(&[text]), &flushes), expected, "{text}");
        }
    }

    #[test]
    fn only_requests_that_a_fault_can_concern_are_counted() {
        let write = |bytes| request(RequestKind::Write, bytes);
        let requests = [
            write(1),
            request(RequestKind::WriteBack, 4096),
            request(RequestKind::Growth, 0),
            write(2),
        ];
        let mut short = faults(&["write:short@1", "any:eio@9"]);
        assert_eq!(coming(&mut short, &requests), [false, false, false, true]);
        let report = short.report();
        let counts = report.by_fault.iter().map(|fault| fault.requests);
        assert_eq!(counts.collect::<Vec<_>>(), [1, 3]);
        assert_eq!((report.writes, report.injected_count), (3, 1));
        let injected = &report.injected[0];
        assert_eq!(injected.operation, FaultOperation::Write);
        assert_eq!((injected.request, injected.at_s), (1, 3.0));
    }

    #[test]
    fn a_full_device_refuses_what_exceeds_it() {
        let holding = |held_after| FaultRequest {
            held_after,
            ..request(RequestKind::Growth, 0)
        };
        let requests = [None, Some(100), Some(101)].map(holding);
        let mut full = faults(&["write:enospc@100B"]);
        assert_eq!(full.space_limit(), Some(100));
        assert_eq!(coming(&mut full, &requests), [false, false, true]);
        let mut full = faults(&["write:enospc"]);
        assert_eq!(full.space_limit(), Some(0));
        assert_eq!(coming(&mut full, &requests), [false, true, true]);
        assert_eq!(faults(&["write:eio"]).space_limit(), None);
    }

    #[test]
    fn bits_flip_by_the_byte() {
        let reads = [request(RequestKind::Read, 4096); 1000];
        let count = |rate: &str| {
            let mut flips = faults(&[&format!("read:flip@{rate}")]);
            coming(&mut flips, &reads);
            flips.report().injected_count
        };
        // Expected are 4,096,000 bytes times the rate, less what falls on one request.
        assert!((60..150).contains(&count("25e-6")), "{}", count("25e-6"));
        assert_eq!(count("1e-15"), 0);
        assert_eq!(count("0.5"), 1000);
    }

    #[test]
    fn the_longest_stall_counts() {
        let mut stalls = faults(&["fsync:stall=2s", "any:stall=1s"]);
        let request = request(RequestKind::Flush, 0);
        let coming = stalls.come(&request, SECOND, String::new);
        assert_eq!(coming.stall(), Some((SECOND * 2, false)));
        assert!(!coming.has(FaultEffect::InputOutputError));
    }
}
