//! What a storage model predicts for one worker, from the modelled device in virtual time.

use crate::modelled_device::{DeviceRequest, ModelledDevice};
use crate::storage_model::StorageModel;
use trueput_record::random::SplitMix64;

/// The bytes of a request, as those of a page.
const REQUEST_BYTES: u64 = 4096;

/// The requests of a prediction: a percentile of them varies by a few percent from seed to seed.
const REQUESTS: u64 = 4_000;

/// The seed of the random times and positions: two listings are the same.
const SEED: u64 = 1;

/// The size of the volume of a prediction, bytes: some limits grow with it, and so do seeks.
pub const VOLUME_BYTES: u64 = 100 << 30;

/// Times that one worker sees on an idle device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPrediction {
    /// The median time of 4 KiB that are appended and flushed, nanoseconds.
    pub append_median_ns: u64,
    /// Appends a second, each flushed before the next.
    pub appends_per_s: f64,
    /// The median time of a read of 4 KiB at a random position of the volume, nanoseconds.
    pub read_median_ns: u64,
    /// The 99th percentile of the same.
    pub read_p99_ns: u64,
}

impl ModelPrediction {
    /// Lets a device of this model serve the requests on a volume of [`VOLUME_BYTES`].
    #[must_use]
    pub fn of(model: &StorageModel) -> Self {
        let appends = times(model, |device, number, begin_ns| {
            let position = number * REQUEST_BYTES;
            let written_ns = device.submit(
                begin_ns,
                DeviceRequest::Write {
                    position,
                    bytes: REQUEST_BYTES,
                },
            );
            device.submit(written_ns, DeviceRequest::Flush)
        });
        let mut random = SplitMix64::new(SEED);
        let pages = VOLUME_BYTES / REQUEST_BYTES;
        let reads = times(model, |device, _, begin_ns| {
            let position = random.next_u64() % pages * REQUEST_BYTES;
            let bytes = REQUEST_BYTES;
            device.submit(begin_ns, DeviceRequest::Read { position, bytes })
        });
        let all_ns: u64 = appends.iter().sum();
        let [append_median_ns, _] = percentiles(appends);
        let [read_median_ns, read_p99_ns] = percentiles(reads);
        Self {
            append_median_ns,
            appends_per_s: REQUESTS as f64 * 1e9 / all_ns.max(1) as f64,
            read_median_ns,
            read_p99_ns,
        }
    }
}

/// Returns the times of requests that follow each other on a new device; `serve` takes the number
/// of a request and the moment at which it begins, and returns that at which it ends.
fn times(
    model: &StorageModel,
    mut serve: impl FnMut(&mut ModelledDevice, u64, u64) -> u64,
) -> Vec<u64> {
    let mut device = ModelledDevice::new(model, VOLUME_BYTES, SEED);
    let mut now_ns = 0;
    let time = |number| {
        let begin_ns = now_ns;
        now_ns = serve(&mut device, number, begin_ns);
        now_ns - begin_ns
    };
    (0..REQUESTS).map(time).collect()
}

/// Returns the median and the 99th percentile.
fn percentiles(mut times: Vec<u64>) -> [u64; 2] {
    times.sort_unstable();
    let at = |index: usize| times.get(index).copied().unwrap_or_default();
    [at(times.len() / 2), at(times.len() * 99 / 100)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predicted(name: &str) -> ModelPrediction {
        ModelPrediction::of(&StorageModel::built_in(name).unwrap())
    }

    #[test]
    fn devices_are_predicted_in_the_order_that_their_sources_give_them() {
        let names = ["hdd-7200-no-cache", "nvme-consumer", "nvme-datacenter"];
        let [disk, consumer, datacenter] = names.map(predicted);
        // A turn of a disk takes 8.33 ms, so that a worker appends 120 times a second at most.
        assert!(disk.appends_per_s <= 121.0, "{disk:?}");
        assert!(disk.appends_per_s >= 30.0, "{disk:?}");
        assert!(disk.read_median_ns > 4_000_000, "{disk:?}");
        assert!(disk.read_p99_ns > disk.read_median_ns, "{disk:?}");
        assert!(consumer.appends_per_s > disk.appends_per_s, "{consumer:?}");
        assert!(datacenter.appends_per_s > 5.0 * consumer.appends_per_s);
        assert!(datacenter.read_median_ns < disk.read_median_ns / 10);
    }

    #[test]
    fn a_prediction_is_the_same_every_time_and_follows_the_model() {
        let mut model = StorageModel::built_in("nvme-consumer").unwrap();
        let first = ModelPrediction::of(&model);
        assert_eq!(ModelPrediction::of(&model), first);
        (model.flush.base_us, model.flush.p99_us) =
            (model.flush.base_us * 10.0, model.flush.p99_us * 10.0);
        let slower = ModelPrediction::of(&model);
        assert!(
            slower.append_median_ns > first.append_median_ns,
            "{slower:?}"
        );
        assert_eq!(slower.read_median_ns, first.read_median_ns);
    }
}
