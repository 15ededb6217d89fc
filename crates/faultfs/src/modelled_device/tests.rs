//! Each property of the queue, on a model that has little else.

use super::*;
use crate::storage_model::{DiskGeometry, FlushTime, RateLimits, WriteCache};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SEED: u64 = 7;

/// A device without spread: reads take 100 us, writes 50 us, flushes 200 us, and 1,000 MiB pass in
/// a second.
fn model(parallelism: u32) -> StorageModel {
    let time = |base_us| ServiceTime {
        base_us,
        p99_us: base_us,
        bandwidth_mib_per_s: 1_000.0,
    };
    StorageModel {
        name: "test".to_owned(),
        about: "A device of a test".to_owned(),
        parallelism,
        sources: Vec::new(),
        read: time(100.0),
        write: time(50.0),
        flush: FlushTime {
            base_us: 200.0,
            p99_us: 200.0,
        },
        disk: None,
        write_cache: None,
        limits: None,
    }
}

fn with_limits(limits: RateLimits) -> StorageModel {
    StorageModel {
        limits: Some(limits),
        ..model(64)
    }
}

fn with_cache(kind: CacheKind) -> StorageModel {
    StorageModel {
        write_cache: Some(WriteCache {
            kind,
            capacity_mib: 64.0,
            drain_mib_per_s: 100.0,
        }),
        ..model(1)
    }
}

/// A disk of 100 GiB that turns 100 times a second, with tracks of 1 MiB.
fn disk(write_cache: Option<WriteCache>) -> StorageModel {
    let mut model = model(1);
    model.read.bandwidth_mib_per_s = 100.0;
    model.write.bandwidth_mib_per_s = 100.0;
    model.disk = Some(DiskGeometry {
        rpm: 6_000.0,
        seek_min_ms: 1.0,
        seek_mean_ms: 8.0,
        seek_max_ms: 16.0,
        capacity_gib: 100.0,
    });
    model.write_cache = write_cache;
    model
}

fn device(model: &StorageModel) -> ModelledDevice {
    ModelledDevice::new(model, 100 * GIB, SEED)
}

fn read(position: u64, bytes: u64) -> DeviceRequest {
    DeviceRequest::Read { position, bytes }
}

fn write(position: u64, bytes: u64) -> DeviceRequest {
    DeviceRequest::Write { position, bytes }
}

/// Random positions of pages on 100 GiB.
fn positions() -> impl Iterator<Item = u64> {
    let mut random = SplitMix64::new(11);
    std::iter::repeat_with(move || random.below(25 << 20) as u64 * 4 * KIB)
}

/// Submits requests at one moment, and returns their completions.
fn submit_at_once(
    device: &mut ModelledDevice,
    now_ns: u64,
    requests: impl Iterator<Item = DeviceRequest>,
) -> Vec<u64> {
    requests
        .map(|request| device.submit(now_ns, request))
        .collect()
}

/// Submits each request at the completion of the one before, and returns the last completion.
fn submit_in_turn(
    device: &mut ModelledDevice,
    start_ns: u64,
    requests: impl Iterator<Item = DeviceRequest>,
) -> u64 {
    requests.fold(start_ns, |now_ns, request| device.submit(now_ns, request))
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

fn seconds(ns: u64) -> f64 {
    ns as f64 / S as f64
}

#[test]
fn an_idle_device_takes_the_base_and_the_transfer() {
    let mut device = device(&model(1));
    // 1 MiB at 1,000 MiB/s is a millisecond.
    assert_eq!(device.submit(5 * S, read(0, MIB)), 5 * S + MS + 100 * US);
    assert_eq!(device.submit(6 * S, write(0, MIB)), 6 * S + MS + 50 * US);
    assert_eq!(device.submit(7 * S, DeviceRequest::Flush), 7 * S + 200 * US);
}

#[test]
fn as_many_requests_as_there_are_servers_are_served_at_once() {
    for (parallelism, rounds) in [(1, 400), (4, 100), (400, 1)] {
        let mut device = device(&model(parallelism));
        let requests = std::iter::repeat_n(read(0, 0), 400);
        let completions = submit_at_once(&mut device, 0, requests);
        let last = completions.iter().max().copied();
        assert_eq!(last, Some(rounds * 100 * US), "{parallelism}");
    }
}

#[test]
fn all_servers_share_the_bandwidth() {
    for parallelism in [1, 8] {
        let mut device = device(&model(parallelism));
        let requests = positions().map(|position| read(position, 16 * MIB));
        let completions = submit_at_once(&mut device, 0, requests.take(64));
        let last = completions.iter().max().copied().unwrap();
        assert_near(seconds(last), 1.024, 0.01);
    }
}

#[test]
fn a_limit_on_operations_is_kept() {
    let limited = with_limits(RateLimits {
        iops: Some(1_000.0),
        ..RateLimits::default()
    });
    let rate = |model: &StorageModel| {
        let requests = positions().map(|position| read(position, 4 * KIB));
        let completions = submit_at_once(&mut device(model), 0, requests.take(5_000));
        5_000.0 / seconds(completions.iter().max().copied().unwrap())
    };
    assert_near(rate(&limited), 1_000.0, 0.01);
    // The control: without the limit, the bandwidth is the next one.
    assert_near(rate(&model(64)), 256_000.0, 0.02);
}

#[test]
fn a_limit_on_bytes_is_kept() {
    let limited = with_limits(RateLimits {
        bandwidth_mib_per_s: Some(125.0),
        ..RateLimits::default()
    });
    let requests = positions().map(|position| write(position, MIB));
    let completions = submit_at_once(&mut device(&limited), 0, requests.take(1_000));
    assert_near(seconds(completions[999]), 8.0, 0.01);
}

#[test]
fn requests_in_turn_below_the_limit_do_not_wait_for_it() {
    let limited = with_limits(RateLimits {
        iops: Some(9_000.0),
        ..RateLimits::default()
    });
    // Each takes 104 us, and every second one is submitted at once after the one before, the others
    // 20 us later: 8,780 a second, though two may come faster than one in 111 us.
    let mut device = device(&limited);
    let mut now_ns = 0;
    for (position, pause_us) in positions().take(2_000).zip([0_u64, 20].into_iter().cycle()) {
        let completion_ns = device.submit(now_ns, read(position, 4 * KIB));
        assert_near(seconds(completion_ns - now_ns), 104e-6, 0.01);
        now_ns = completion_ns + pause_us * US;
    }
}

#[test]
fn a_burst_lasts_as_long_as_its_credits_which_come_back() {
    let limited = with_limits(RateLimits {
        iops: Some(100.0),
        burst_iops: Some(3_000.0),
        burst_credits: Some(5_400.0),
        ..RateLimits::default()
    });
    let mut device = device(&limited);
    let mut requests = positions().map(|position| read(position, 4 * KIB));
    let completions = submit_at_once(&mut device, 0, requests.by_ref().take(8_000));
    let within = |from: f64, to: f64| {
        let is_within = |ns: &&u64| (from..to).contains(&seconds(**ns));
        completions.iter().filter(is_within).count() as f64
    };
    // The credits and what comes back of them last for 5,400 / (3,000 - 100) = 1.86 s.
    assert_near(within(0.0, 1.8), 5_400.0, 0.02);
    assert_near(within(3.0, 13.0), 1_000.0, 0.01);
    let last = completions.iter().max().copied().unwrap();
    let again = submit_at_once(&mut device, last + 60 * S, requests.take(3_000));
    assert_near(seconds(again[2_999] - last - 60 * S), 1.0, 0.02);
}

#[test]
fn the_sustained_rate_follows_the_size_of_the_volume_within_its_bounds() {
    let limited = with_limits(RateLimits {
        iops: Some(100.0),
        iops_per_gib: Some(3.0),
        iops_max: Some(16_000.0),
        burst_iops: Some(3_000.0),
        burst_credits: Some(1.0),
        ..RateLimits::default()
    });
    for (gib, iops) in [
        (8, 100.0),
        (200, 600.0),
        (2_000, 6_000.0),
        (9_000, 16_000.0),
    ] {
        let mut device = ModelledDevice::new(&limited, gib * GIB, SEED);
        let requests = positions().map(|position| read(position, 4 * KIB));
        let completions = submit_at_once(&mut device, 0, requests.take(20_000));
        assert_near(20_000.0 / seconds(completions[19_999]), iops, 0.01);
    }
}

#[test]
fn large_operations_count_several_times_and_waiting_sequential_ones_once() {
    let limited = with_limits(RateLimits {
        iops: Some(1_000.0),
        counted_kib: Some(256.0),
        ..RateLimits::default()
    });
    let pages = |count: u64| (0..count).map(|page| read(page * 4 * KIB, 4 * KIB));
    let large = positions().map(|position| read(position, MIB));
    let completions = submit_at_once(&mut device(&limited), 0, large.take(1_000));
    // A quarter of 1,000 a second.
    assert_near(seconds(completions[999]), 4.0, 0.01);
    let completions = submit_at_once(&mut device(&limited), 0, pages(65_536));
    // 64 pages are an operation, apart from the first few, which do not wait: 1,024 operations.
    assert_near(seconds(completions[65_535]), 1.024, 0.01);
    // One after the other, none waits for the next.
    let last = submit_in_turn(&mut device(&limited), 0, pages(2_000));
    assert_near(seconds(last), 2.0, 0.02);
}

#[test]
fn a_cache_takes_writes_until_it_is_full_and_then_as_fast_as_it_drains() {
    let model = with_cache(CacheKind::Volatile);
    let mut device = device(&model);
    let mut requests = positions().map(|position| write(position, MIB));
    // 60 MiB in the cache: 1.05 ms each.
    let first = submit_in_turn(&mut device, 0, requests.by_ref().take(60));
    assert_near(seconds(first), 0.063, 0.01);
    let full = submit_in_turn(&mut device, first, requests.by_ref().take(100));
    // At 100 MiB/s from here on.
    let last = submit_in_turn(&mut device, full, requests.take(200));
    assert_near(seconds(last - full), 2.0, 0.02);
}

#[test]
fn a_flush_writes_what_a_volatile_cache_holds_and_nothing_else() {
    for (cache, flush_s) in [
        // Of 50 MiB, 1.05 ms each, 5.25 MiB are written meanwhile.
        (Some(CacheKind::Volatile), 0.4475 + 0.0002),
        (Some(CacheKind::Protected), 0.0002),
        (None, 0.0002),
    ] {
        let mut device = device(&cache.map_or_else(|| model(1), with_cache));
        let requests = positions().map(|position| write(position, MIB));
        let written = submit_in_turn(&mut device, 0, requests.take(50));
        let flushed = device.submit(written, DeviceRequest::Flush);
        assert_near(seconds(flushed - written), flush_s, 0.01);
        // Nothing is left.
        let again = device.submit(flushed, DeviceRequest::Flush);
        assert_eq!(again - flushed, 200 * US, "{cache:?}");
    }
}

#[test]
fn a_flush_waits_for_all_writes_before_it() {
    for cache in [None, Some(CacheKind::Protected), Some(CacheKind::Volatile)] {
        let mut model = cache.map_or_else(|| model(1), with_cache);
        model.parallelism = 32;
        let mut device = device(&model);
        let requests = positions().map(|position| write(position, 4 * MIB));
        let completions = submit_at_once(&mut device, 0, requests.take(20));
        let last = completions.iter().max().copied().unwrap();
        let flushed = device.submit(1, DeviceRequest::Flush);
        assert!(flushed >= last + 200 * US, "{cache:?}: {flushed}, {last}");
        // A read waits for neither, apart from the channel.
        let read_ns = device.submit(2, read(0, 0));
        assert!(read_ns < flushed, "{cache:?}: {read_ns}, {flushed}");
    }
}

#[test]
fn flushes_of_a_volatile_cache_follow_each_other_and_others_do_not() {
    for (kind, last) in [(CacheKind::Volatile, 8), (CacheKind::Protected, 1)] {
        let mut model = with_cache(kind);
        model.parallelism = 32;
        let mut device = device(&model);
        let flushes = std::iter::repeat_n(DeviceRequest::Flush, 8);
        let completions = submit_at_once(&mut device, 0, flushes);
        assert_eq!(completions[7], last * 200 * US, "{kind:?}");
    }
}

#[test]
fn times_have_the_median_and_the_99th_percentile_of_the_model() {
    let mut model = model(1);
    model.read.p99_us = 1_000.0;
    let mut device = device(&model);
    let mut times: Vec<u64> = (0..20_000)
        .map(|index| device.submit(index * S, read(0, 0)) - index * S)
        .collect();
    times.sort_unstable();
    assert_near(times[10_000] as f64, 100_000.0, 0.03);
    assert_near(times[19_800] as f64, 1_000_000.0, 0.1);
    // Writes have no spread here.
    assert_eq!(device.submit(30_000 * S, write(0, 0)), 30_000 * S + 50 * US);
}

#[test]
fn the_same_seed_gives_the_same_times_whenever_they_begin() {
    let model = StorageModel::built_in("hdd-7200").unwrap();
    let times = |seed, start_ns: u64| -> Vec<u64> {
        let mut device = ModelledDevice::new(&model, GIB, seed);
        let mut now_ns = start_ns;
        let requests = positions().take(100);
        // A flush shows its random part. The platter hides that of a read: the head waits for the
        // same angle, whenever it arrives within a turn.
        let submit = requests.map(|position| {
            let written_ns = device.submit(now_ns, write(position % GIB, 4 * KIB));
            now_ns = device.submit(written_ns, DeviceRequest::Flush);
            now_ns - start_ns
        });
        submit.collect()
    };
    assert_eq!(times(1, 0), times(1, 123_456_789));
    assert_ne!(times(1, 0), times(2, 0));
}

#[test]
fn a_disk_reads_in_sequence_at_its_bandwidth_and_at_random_by_seek_and_turn() {
    let model = disk(None);
    let sequence = (0..1_000).map(|index| read(index * 64 * KIB, 64 * KIB));
    let last = submit_in_turn(&mut device(&model), 0, sequence);
    // 62.5 MiB at 100 MiB/s, and one wait for the first.
    assert_near(seconds(last), 0.625, 0.03);
    let random = positions().map(|position| read(position, 4 * KIB));
    let last = submit_in_turn(&mut device(&model), 0, random.take(5_000));
    // The mean seek, half a turn of 10 ms, 100 us and 4 KiB at 100 MiB/s.
    assert_near(seconds(last) / 5_000.0, 0.013_139, 0.02);
}

#[test]
fn a_disk_waits_for_half_a_turn_on_average_without_a_seek() {
    let mut device = device(&disk(None));
    let mut random = SplitMix64::new(3);
    let (mut now_ns, mut sum_ns) = (0, 0);
    for _ in 0..4_000 {
        // On one track, at any moment.
        let position = random.below(256) as u64 * 4 * KIB;
        now_ns += random.below(20_000) as u64 * US;
        let completion_ns = device.submit(now_ns, read(position, 4 * KIB));
        sum_ns += completion_ns - now_ns;
        now_ns = completion_ns;
    }
    assert_near(seconds(sum_ns) / 4_000.0, 0.005_139, 0.04);
}

#[test]
fn seeks_take_longer_the_farther_they_are() {
    let mut completions = Vec::new();
    for gib in [0, 1, 10, 50, 100] {
        // The mean over the moments of a turn leaves the seek.
        let turn = (0..100).map(|tenth_ms| {
            let mut device = device(&disk(None));
            let start_ns = device.submit(0, read(0, 4 * KIB)) + tenth_ms * 100 * US;
            // Beyond a track, so that the nearest is a seek, too.
            device.submit(start_ns, read(gib * GIB + 2 * MIB, 4 * KIB)) - start_ns
        });
        completions.push(turn.sum::<u64>() / 100);
    }
    assert!(completions.is_sorted(), "{completions:?}");
    // The shortest and the longest seek of the model, each with half a turn.
    assert_near(completions[0] as f64 / MS as f64, 1.0 + 5.139, 0.05);
    assert_near(completions[4] as f64 / MS as f64, 16.0 + 5.139, 0.05);
}

#[test]
fn a_disk_without_a_cache_needs_a_turn_for_each_append() {
    let mut device = device(&disk(None));
    let appends = (0..200).map(|index| write(index * 4 * KIB, 4 * KIB));
    let last = submit_in_turn(&mut device, 0, appends);
    // A turn and 4 KiB farther.
    assert_near(seconds(last), 200.0 * 0.010_039, 0.02);
}

#[test]
fn a_disk_s_cache_takes_writes_at_once_and_sorts_them() {
    let cache = WriteCache {
        kind: CacheKind::Volatile,
        capacity_mib: 1.0,
        drain_mib_per_s: 100.0,
    };
    let mut device = device(&disk(Some(cache)));
    let mut requests = positions().map(|position| write(position, 4 * KIB));
    // 50 us and 4 KiB at 100 MiB/s each.
    let taken = submit_in_turn(&mut device, 0, requests.by_ref().take(200));
    assert_near(seconds(taken), 200.0 * 89e-6, 0.02);
    let flushed = device.submit(taken, DeviceRequest::Flush);
    let sorted = seconds(flushed - taken) / 200.0;
    // In order of position a seek is short: at most 1 % of the disk. Unsorted it is 13 ms.
    assert!((0.004..0.009).contains(&sorted), "{sorted}");
    // 256 fit. From then on a write waits until one is written back.
    let full = submit_in_turn(&mut device, flushed, requests.by_ref().take(300));
    let last = submit_in_turn(&mut device, full, requests.take(300));
    let throttled = seconds(last - full) / 300.0;
    assert!((0.004..0.009).contains(&throttled), "{throttled}");
}

#[test]
fn a_disk_s_cache_is_written_back_in_one_piece_where_writes_continue_each_other() {
    let cache = WriteCache {
        kind: CacheKind::Volatile,
        capacity_mib: 64.0,
        drain_mib_per_s: 100.0,
    };
    let mut device = device(&disk(Some(cache)));
    let appends = (0..2_560).map(|index| write(index * 4 * KIB, 4 * KIB));
    submit_at_once(&mut device, 0, appends);
    let flushed = device.submit(0, DeviceRequest::Flush);
    // They come at 89 us each, and are written as they come: 10 MiB at 100 MiB/s would be 0.1 s.
    let taken = 2_560.0 * 89e-6;
    assert!(
        (taken..taken + 0.05).contains(&seconds(flushed)),
        "{flushed}"
    );
    // Written again without a flush, the same bytes are dirty once.
    let again = (0..2_560).map(|_| write(0, 4 * KIB));
    let taken = submit_in_turn(&mut device, flushed, again);
    let flush_ns = device.submit(taken, DeviceRequest::Flush) - taken;
    assert!(flush_ns < 25 * MS, "{flush_ns}");
}

#[test]
fn no_built_in_model_completes_before_now_and_flushes_come_after_all_writes() {
    for name in StorageModel::built_in_names() {
        let model = StorageModel::built_in(name).unwrap();
        let mut device = ModelledDevice::new(&model, 10 * GIB, SEED);
        let mut random = SplitMix64::new(5);
        let (mut now_ns, mut writes_ns, mut last_ns) = (7 * S, 0, 0);
        for _ in 0..2_000 {
            now_ns += random.below(3_000_000) as u64;
            let position = random.below(1 << 20) as u64 * 4 * KIB;
            let bytes = (1 + random.below(32) as u64) * 4 * KIB;
            let request = match random.below(4) {
                0 => DeviceRequest::Flush,
                1 => read(position, bytes),
                _ => write(position, bytes),
            };
            let completion_ns = device.submit(now_ns, request);
            assert!(completion_ns > now_ns, "{name}: {request:?}");
            match request {
                DeviceRequest::Flush => assert!(completion_ns > writes_ns, "{name}"),
                DeviceRequest::Write { .. } => writes_ns = completion_ns.max(writes_ns),
                DeviceRequest::Read { .. } => {}
            }
            // A device that serves one request at a time completes them in order.
            if model.parallelism == 1 {
                assert!(completion_ns >= last_ns, "{name}: {request:?}");
                last_ns = completion_ns;
            }
        }
    }
}

#[test]
fn a_request_from_the_past_is_submitted_with_the_latest() {
    let mut device = device(&model(1));
    let first = device.submit(S, read(0, 0));
    assert_eq!(device.submit(S - 500, read(0, 0)), first + 100 * US);
    assert_eq!(device.submit(2 * S, read(0, 0)), 2 * S + 100 * US);
    assert_eq!(device.submit(S, read(0, 0)), 2 * S + 200 * US);
}
