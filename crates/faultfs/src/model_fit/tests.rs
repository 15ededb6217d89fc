use super::*;
use crate::device_measurement::ProbePlan;
use crate::fit_comparison::compare;
use crate::model_prediction::ModelPrediction;
use crate::modelled_probe::measure_model;
use std::path::Path;

/// The plan of the command's defaults.
const PLAN: ProbePlan = ProbePlan {
    duration_s: 30.0,
    file_bytes: 1 << 30,
};

/// The random times of the device and of its model differ.
const DEVICE_SEED: u64 = 1;
const MODEL_SEED: u64 = 2;

fn built_in(name: &str) -> StorageModel {
    StorageModel::built_in(name).unwrap()
}

fn fitted(measured: &DeviceMeasurement) -> StorageModel {
    let labels = ModelLabels {
        name: "mine".to_owned(),
        about: "a device".to_owned(),
        source: ModelSource {
            text: "a measurement".to_owned(),
            address: "none".to_owned(),
        },
    };
    fit_model(measured, labels).unwrap()
}

/// The device of a model, as measured, and the model that is fitted to it.
fn known(model: &StorageModel) -> (DeviceMeasurement, StorageModel) {
    let measured = measure_model(model, PLAN, DEVICE_SEED);
    let fitted = fitted(&measured);
    (measured, fitted)
}

/// The figures of a measurement by which a model is off, in words.
fn differences(measured: &DeviceMeasurement, model: &StorageModel) -> Vec<String> {
    let lines = compare(measured, &measure_model(model, PLAN, MODEL_SEED));
    let off = lines.iter().filter(|line| line.is_off());
    off.map(|line| format!("{}: {line:?}", line.load)).collect()
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    let ratio = found / expected;
    assert!((0.8..=1.2).contains(&ratio), "{found}, not {expected}");
}

#[test]
fn a_known_device_is_found_again_in_all_that_was_measured() {
    for name in ["nvme-consumer", "ebs-gp3", "sata-ssd"] {
        let device = built_in(name);
        let (measured, model) = known(&device);
        let none = Vec::<String>::new();
        assert_eq!(differences(&measured, &model), none, "{name}: {model:?}");
        let [expected, found] = [&device, &model].map(ModelPrediction::of);
        assert_near(
            found.append_median_ns as f64,
            expected.append_median_ns as f64,
        );
        assert_near(found.appends_per_s, expected.appends_per_s);
        assert_near(found.read_median_ns as f64, expected.read_median_ns as f64);
        assert_eq!(model.disk, None);
    }
}

#[test]
fn a_model_that_is_wrong_in_one_figure_or_of_another_device_is_noticed() {
    let (measured, model) = known(&built_in("sata-ssd"));
    let mut slower = model.clone();
    (slower.flush.base_us, slower.flush.p99_us) = (model.flush.base_us * 1.5, 1e4);
    let mut narrower = model;
    narrower.parallelism /= 2;
    let (_, other) = known(&built_in("nvme-consumer"));
    for (wrong, load) in [
        (slower, "appended and flushed"),
        (narrower, "random reads of 4 KiB, depth 64"),
        (other, "reads of 1 MiB in order"),
    ] {
        let found = differences(&measured, &wrong);
        assert!(found.iter().any(|line| line.contains(load)), "{found:?}");
    }
}

#[test]
fn a_write_cache_is_found_by_flushes_or_by_writes_that_slow_down() {
    let (_, volatile) = known(&built_in("nvme-consumer"));
    let cache = volatile.write_cache.unwrap();
    assert_eq!(cache.kind, CacheKind::Volatile);
    assert_near(cache.capacity_mib, 64.0);
    assert_near(cache.drain_mib_per_s, 770.0);
    assert_near(volatile.write.bandwidth_mib_per_s, 6_580.0);

    let mut device = built_in("nvme-datacenter");
    device.write.bandwidth_mib_per_s = 2_000.0;
    device.write_cache = Some(WriteCache {
        kind: CacheKind::Protected,
        capacity_mib: 512.0,
        drain_mib_per_s: 500.0,
    });
    let (_, protected) = known(&device);
    let cache = protected.write_cache.unwrap();
    assert_eq!(cache.kind, CacheKind::Protected);
    assert_near(cache.capacity_mib, 512.0);
    assert_near(cache.drain_mib_per_s, 500.0);
    assert_near(protected.write.bandwidth_mib_per_s, 2_000.0);

    // The control: one that shows in nothing, and none.
    for name in ["sata-ssd", "ebs-gp3"] {
        assert_eq!(known(&built_in(name)).1.write_cache, None, "{name}");
    }
}

#[test]
fn a_flush_keeps_half_of_its_time_whatever_its_cache_takes() {
    let mut measured = measure_model(&built_in("nvme-consumer"), PLAN, DEVICE_SEED);
    // 4 KiB of the cache take 5 us.
    measured.loads[0].flush.median_ns = 4_000;
    let model = fitted(&measured);
    assert!(model.write_cache.is_some());
    assert_eq!(model.flush.base_us, 2.0);
}

#[test]
fn a_limit_is_found_by_equal_rates_or_by_a_burst_that_ends() {
    let mut device = built_in("ebs-gp3");
    let limits = known(&device).1.limits.unwrap();
    assert_near(limits.iops.unwrap(), 3_000.0);
    assert_eq!(limits.burst_iops, None);

    // The credits last until the middle of the burst.
    device.limits = Some(RateLimits {
        iops: Some(500.0),
        burst_iops: Some(3_000.0),
        burst_credits: Some(36_000.0),
        bandwidth_mib_per_s: Some(125.0),
        ..RateLimits::default()
    });
    let limits = known(&device).1.limits.unwrap();
    assert_near(limits.iops.unwrap(), 500.0);
    assert_near(limits.burst_iops.unwrap(), 3_000.0);
    assert_near(limits.burst_credits.unwrap(), 36_000.0);

    // The control: reads and writes with limits of their own.
    for name in ["sata-ssd", "nvme-consumer"] {
        assert_eq!(known(&built_in(name)).1.limits, None, "{name}");
    }
}

#[test]
fn a_fitted_model_is_a_file_that_can_be_read() {
    let (measured, model) = known(&built_in("nvme-consumer"));
    let text = model_text(&model).unwrap();
    let read = StorageModel::parse(Path::new("mine.toml"), &text).unwrap();
    assert_eq!(read, model);
    let mut loads = measured.loads;
    loads.retain(|load| load.load.kind != LoadKind::Appends);
    let refused = fit_model(
        &DeviceMeasurement { loads },
        ModelLabels {
            name: model.name,
            about: model.about,
            source: model.sources[0].clone(),
        },
    );
    assert!(matches!(
        refused,
        Err(FitError::MissingLoad(LoadKind::Appends))
    ));
}

#[test]
fn figures_have_three_digits_and_are_never_zero() {
    let found = [6_583.7, 12.345, 0.045_678, 999.6, 0.0].map(rounded);
    assert_eq!(found, [6_580.0, 12.3, 0.045_7, 1_000.0, 0.001]);
}
