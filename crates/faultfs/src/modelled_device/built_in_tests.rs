//! The built-in models against the figures in the sources that their files name.

use super::*;

const US: u64 = 1_000;
const S: u64 = 1_000_000_000;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SEED: u64 = 7;

/// The time that a program takes between two of its requests.
const THINK_NS: u64 = 50 * US;

fn built_in(name: &str) -> StorageModel {
    StorageModel::built_in(name).unwrap_or_else(|error| panic!("{error}"))
}

/// Random positions of pages on 100 GiB.
fn positions() -> impl Iterator<Item = u64> {
    let mut random = SplitMix64::new(11);
    std::iter::repeat_with(move || random.below(25 << 20) as u64 * 4 * KIB)
}

/// The times of requests one after the other, with a pause before each, nanoseconds.
fn times(
    model: &StorageModel,
    pause_ns: u64,
    requests: impl Iterator<Item = DeviceRequest>,
) -> Vec<u64> {
    let mut device = ModelledDevice::new(model, 100 * GIB, SEED);
    let mut now_ns = 0;
    let submit = requests.map(|request| {
        let start_ns = now_ns + pause_ns;
        now_ns = device.submit(start_ns, request);
        now_ns - start_ns
    });
    submit.collect()
}

/// The times of durable appends one after the other: a write at the end, and a flush.
fn append_times(model: &StorageModel, bytes: u64, count: u64) -> Vec<u64> {
    let mut device = ModelledDevice::new(model, 100 * GIB, SEED);
    let mut now_ns = 0;
    let append = (0..count).map(|index| {
        let start_ns = now_ns + THINK_NS;
        let position = index * bytes;
        let written_ns = device.submit(start_ns, DeviceRequest::Write { position, bytes });
        now_ns = device.submit(written_ns, DeviceRequest::Flush);
        now_ns - start_ns
    });
    append.collect()
}

/// Operations a second of requests that are all submitted at once.
fn rate(model: &StorageModel, requests: impl Iterator<Item = DeviceRequest>) -> f64 {
    let mut device = ModelledDevice::new(model, 100 * GIB, SEED);
    let completions = requests.map(|request| device.submit(0, request));
    let (count, last_ns) = completions.fold((0_u32, 0), |(count, last_ns), completion_ns| {
        (count + 1, completion_ns.max(last_ns))
    });
    f64::from(count) / (last_ns as f64 / S as f64)
}

fn reads(bytes: u64) -> impl Iterator<Item = DeviceRequest> {
    positions().map(move |position| DeviceRequest::Read { position, bytes })
}

fn writes(bytes: u64) -> impl Iterator<Item = DeviceRequest> {
    positions().map(move |position| DeviceRequest::Write { position, bytes })
}

fn mean_ms(times: &[u64]) -> f64 {
    times.iter().sum::<u64>() as f64 / times.len() as f64 / 1e6
}

/// Requires a figure within a share of the expected one.
#[track_caller]
fn assert_near(found: f64, expected: f64, tolerance: f64) {
    let ratio = found / expected;
    assert!(
        (1.0 - tolerance..=1.0 + tolerance).contains(&ratio),
        "{found}, expected {expected} within {tolerance}"
    );
}

#[test]
fn a_disk_of_7200_rpm_does_60_to_120_durable_appends_a_second() {
    for name in ["hdd-7200", "hdd-7200-no-cache"] {
        let model = built_in(name);
        for bytes in [4 * KIB, 16 * KIB] {
            let times = append_times(&model, bytes, 500);
            let per_s = 1_000.0 / (mean_ms(&times) + THINK_NS as f64 / 1e6);
            assert!((60.0..120.0).contains(&per_s), "{name}, {bytes}: {per_s}");
        }
    }
}

#[test]
fn a_disk_of_7200_rpm_has_the_tracks_and_the_seeks_of_its_manual() {
    let model = built_in("hdd-7200");
    let disk = model.disk.unwrap();
    let turn_s = 60.0 / disk.rpm;
    let track_bytes = turn_s * model.read.bandwidth_mib_per_s * MIB as f64;
    assert_near(track_bytes, 890_823.0, 0.01);
    // Between the read's and the write's: 8.0 and 8.4 ms, with half a turn and the controller.
    let capacity_bytes = (disk.capacity_gib * GIB as f64) as usize;
    let mut random = SplitMix64::new(13);
    let anywhere = std::iter::repeat_with(|| DeviceRequest::Read {
        position: random.below(capacity_bytes) as u64,
        bytes: 4 * KIB,
    });
    let times = times(&model, 0, anywhere.take(5_000));
    assert_near(mean_ms(&times), 8.2 + 4.17 + 0.2, 0.03);
}

#[test]
fn a_sata_ssd_flushes_8_kib_in_0_65_ms_and_reads_80_000_pages_a_second() {
    let model = built_in("sata-ssd");
    assert_near(mean_ms(&append_times(&model, 8 * KIB, 10_000)), 0.65, 0.1);
    assert_near(rate(&model, reads(4 * KIB).take(50_000)), 80_000.0, 0.1);
    let mib_per_s = rate(&model, writes(MIB).take(2_000));
    assert_near(mib_per_s, 491.0, 0.02);
}

#[test]
fn a_consumer_nvme_ssd_flushes_16_kib_in_0_89_ms_and_2_mib_in_3_5_ms() {
    let model = built_in("nvme-consumer");
    assert_near(mean_ms(&append_times(&model, 16 * KIB, 10_000)), 0.89, 0.1);
    assert_near(mean_ms(&append_times(&model, 2 * MIB, 5_000)), 3.5, 0.1);
    // 80,000 a second, one after the other, without a flush.
    let writes = times(&model, 0, writes(4 * KIB).take(5_000));
    assert_near(1_000.0 / mean_ms(&writes), 80_000.0, 0.1);
    assert_near(
        rate(&model, reads(4 * KIB).take(200_000)),
        1_200_000.0,
        0.15,
    );
}

#[test]
fn a_data_center_nvme_ssd_flushes_in_12_to_58_us_however_much_was_written() {
    let model = built_in("nvme-datacenter");
    for bytes in [4 * KIB, 16 * KIB] {
        let mut times = append_times(&model, bytes, 10_000);
        times.sort_unstable();
        let median_us = times[5_000] as f64 / US as f64;
        assert!((12.0..58.0).contains(&median_us), "{bytes}: {median_us}");
    }
}

#[test]
fn gp2_and_gp3_need_the_times_of_fdatasync_for_its_two_writes() {
    // 21,315 writes of the volume for 10,029 fdatasync. The pause keeps below the limits.
    let writes_each = 21_315.0 / 10_029.0;
    for (name, fdatasync_ms) in [("ebs-gp2", 1.42), ("ebs-gp3", 0.70)] {
        let writes = times(&built_in(name), 200 * US, writes(4 * KIB).take(20_000));
        assert_near(mean_ms(&writes) * writes_each, fdatasync_ms, 0.1);
    }
}

#[test]
fn gp2_has_3_iops_a_gib_and_credits_for_30_minutes_of_3000() {
    let mut model = built_in("ebs-gp2");
    let limits = model.limits.as_mut().unwrap();
    let (credits, burst) = (limits.burst_credits.unwrap(), limits.burst_iops.unwrap());
    assert_eq!(credits / burst, 30.0 * 60.0);
    assert_near(
        rate(&built_in("ebs-gp2"), reads(4 * KIB).take(60_000)),
        3_000.0,
        0.01,
    );
    // Without credits: 100 GiB at 3 a GiB.
    limits.burst_credits = Some(1.0);
    assert_near(rate(&model, reads(4 * KIB).take(6_000)), 300.0, 0.01);
}

#[test]
fn gp3_sustains_3000_iops_and_125_mib_a_second() {
    let model = built_in("ebs-gp3");
    assert_near(rate(&model, reads(4 * KIB).take(30_000)), 3_000.0, 0.01);
    assert_near(rate(&model, writes(4 * KIB).take(30_000)), 3_000.0, 0.01);
    assert_near(rate(&model, reads(MIB).take(2_000)), 125.0, 0.01);
}

#[test]
fn io2_takes_under_half_a_millisecond_and_rarely_more_than_0_8_ms() {
    let slow = |name: &str| {
        let writes = times(&built_in(name), 200 * US, writes(16 * KIB).take(20_000));
        writes.iter().filter(|ns| **ns > 800 * US).count()
    };
    let model = built_in("ebs-io2");
    for requests in [
        times(&model, 0, reads(16 * KIB).take(20_000)),
        times(&model, 0, writes(16 * KIB).take(20_000)),
    ] {
        assert!(mean_ms(&requests) < 0.5, "{}", mean_ms(&requests));
    }
    // A tenth of what general-purpose volumes have, or less.
    let (io2, gp3) = (slow("ebs-io2"), slow("ebs-gp3"));
    assert!(gp3 > 0 && io2 * 10 < gp3, "{io2}, {gp3}");
}

#[test]
fn an_sd_card_reads_1500_and_writes_500_pages_a_second_and_10_mb_in_sequence() {
    let model = built_in("sd-card");
    assert_near(rate(&model, reads(4 * KIB).take(20_000)), 1_500.0, 0.05);
    assert_near(rate(&model, writes(4 * KIB).take(20_000)), 500.0, 0.05);
    let mb_per_s = rate(&model, writes(MIB).take(500)) * 1.048_576;
    assert!((10.0..22.0).contains(&mb_per_s), "{mb_per_s}");
}
