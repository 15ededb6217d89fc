//! The loads of a fit on a modeled device, in virtual time.

use crate::device_measurement::{
    CycleTime, CycleTimes, DeviceMeasurement, ProbeLoad, ProbePlan, ProbedDevice, measure,
};
use crate::modelled_device::{DeviceRequest, ModelledDevice};
use crate::storage_model::StorageModel;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;
use trueput_record::random::SplitMix64;

/// Returns what the loads of a plan measure on a device of a model. `seed` decides the spread of
/// the times, and the random positions.
#[must_use]
pub fn measure_model(model: &StorageModel, plan: ProbePlan, seed: u64) -> DeviceMeasurement {
    let mut device = ModelledProbe {
        device: ModelledDevice::new(model, plan.file_bytes, seed),
        file_bytes: plan.file_bytes,
        now_ns: 0,
        random: SplitMix64::new(seed),
    };
    let Ok(measured) = measure(&mut device, plan, &mut |_, _| {});
    measured
}

/// A file that is all of a modeled device.
struct ModelledProbe {
    device: ModelledDevice,
    file_bytes: u64,
    now_ns: u64,
    random: SplitMix64,
}

impl ModelledProbe {
    /// Makes the requests of a cycle that begins at a moment; `number` is that of its first one.
    fn cycle(&mut self, load: ProbeLoad, start_ns: u64, number: u64) -> [u64; 2] {
        let bytes = load.kind.bytes();
        let mut now_ns = start_ns;
        for number in number..number + load.requests {
            let position = load.position(number, self.file_bytes, &mut self.random);
            let request = if load.kind.writes() {
                DeviceRequest::Write { position, bytes }
            } else {
                DeviceRequest::Read { position, bytes }
            };
            now_ns = self.device.submit(now_ns, request);
        }
        let requests_end_ns = now_ns;
        if load.kind.flushes() {
            now_ns = self.device.submit(now_ns, DeviceRequest::Flush);
        }
        [requests_end_ns, now_ns]
    }
}

impl ProbedDevice for ModelledProbe {
    type Error = Infallible;

    fn flush(&mut self) -> Result<(), Infallible> {
        self.now_ns = self.device.submit(self.now_ns, DeviceRequest::Flush);
        Ok(())
    }

    fn run(&mut self, load: ProbeLoad, span_ns: u64) -> Result<CycleTimes, Infallible> {
        let begin_ns = self.now_ns;
        let mut clients: BinaryHeap<_> = (0..load.depth).map(|_| Reverse(begin_ns)).collect();
        let (mut times, mut number) = (CycleTimes::default(), 0);
        // Clients submit in the order of time: those of a deep load have one request a cycle.
        while let Some(Reverse(start_ns)) = clients.pop() {
            let [requests_end_ns, end_ns] = self.cycle(load, start_ns, number);
            number += load.requests;
            times.add(CycleTime {
                end_ns: end_ns - begin_ns,
                requests_ns: requests_end_ns - start_ns,
                flush_ns: end_ns - requests_end_ns,
            });
            self.now_ns = self.now_ns.max(end_ns);
            if end_ns - begin_ns < span_ns {
                clients.push(Reverse(end_ns));
            }
        }
        Ok(times)
    }
}
