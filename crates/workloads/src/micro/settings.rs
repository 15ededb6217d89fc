//! The settings of `micro`.

use crate::IneffectiveSetting;
use crate::generate::key::{MAX_KEY_BYTES, MIN_KEY_BYTES};
use crate::keyed::capacity::check_size;
use trueput_engine::{choices, parameters};
use trueput_record::Value;
use trueput_record::plan::Dimensions;

parameters! {
    /// Every setting.
    pub(super) struct Settings {
        /// The test to run.
        test: Choice<TestName> = ReadRandom,
        /// Records to load, or to write in a fill test.
        records: Integer = 1_000_000 in 1.., unit "records",
        /// Total size of the keys and values to load, instead of records; 0: use records.
        size: Bytes = 0 B in 0 B..=1_048_576 TiB,
        /// Length of a key. Keys of 16 bytes or more are hexadecimal digits; shorter keys are
        /// binary.
        key_bytes: Integer<usize> = 16 in (MIN_KEY_BYTES as i64)..=(MAX_KEY_BYTES as i64),
            unit "bytes",
        /// Length of a value.
        value_bytes: Bytes = 100 B in 1 B..=1 GiB,
        /// Size of the values after compression, as a percentage of their size.
        compressibility: Integer<u8> = 50 in 1..=100, unit "%",
        /// Distribution of the records that operations choose.
        distribution: Choice<DistributionName> = Uniform,
        /// Records per write transaction; 0: 1,000 in fill-batch, else 1.
        batch: Integer<u32> = 0 in 0..=1_000_000, unit "records",
        /// Operations of all workers together, whatever the time they take; 0: until the duration
        /// ends.
        operations: Integer = 0 in 0..,
        /// Records that a scan reads after the first one, in seek-random and mix.
        nexts: Integer = 10 in 0..=100_000, unit "records",
        /// Sessions that only update while others read; 0: 1 in read-while-writing, none in other
        /// tests.
        writers: Integer<u32> = 0 in 0..=1024,
        /// Sessions that only scan while others read; 0: 1 in read-while-scanning, none in other
        /// tests.
        scanners: Integer<u32> = 0 in 0..=1024,
        /// Percentage of updates in a mix; the remaining operations are reads.
        update_percent: Integer = 0 in 0..=100, unit "%",
        /// Percentage of inserts in a mix.
        insert_percent: Integer = 0 in 0..=100, unit "%",
        /// Percentage of deletes in a mix.
        delete_percent: Integer = 0 in 0..=100, unit "%",
        /// Percentage of scans in a mix. A scan reads nexts records and one more.
        scan_percent: Integer = 0 in 0..=100, unit "%",
    }
}

choices! {
    /// The tests by name.
    pub(super) enum TestName {
        FillSequential = "fill-sequential",
        FillRandom = "fill-random",
        FillBatch = "fill-batch",
        FillSync = "fill-sync",
        Overwrite = "overwrite",
        ReadRandom = "read-random",
        ReadSequential = "read-sequential",
        ReadReverse = "read-reverse",
        ReadMissing = "read-missing",
        ReadHot = "read-hot",
        SeekRandom = "seek-random",
        DeleteRandom = "delete-random",
        ReadWhileWriting = "read-while-writing",
        ReadWhileScanning = "read-while-scanning",
        Mix = "mix",
    }
}

choices! {
    /// The distributions by name.
    pub(super) enum DistributionName {
        Uniform = "uniform",
        Zipfian = "zipfian",
        Latest = "latest",
        Hotspot = "hotspot",
        Sequential = "sequential",
    }
}

/// Settings that only a mix looks at.
const MIX_SETTINGS: [&str; 4] = [
    "update_percent",
    "insert_percent",
    "delete_percent",
    "scan_percent",
];

/// Whether each setting that a plan gives can have an effect: a size is in the place of
/// records, and only a mix has percentages.
pub(super) fn check_given(given: &Dimensions) -> Result<(), IneffectiveSetting> {
    let is_default = |value: &Value| matches!(value, Value::Integer(0));
    check_size(given)?;
    let is_mix = |value: &Value| *value == Value::from("mix");
    let mixed = given
        .get("test")
        .is_some_and(|tests| tests.iter().any(is_mix));
    let unused = MIX_SETTINGS.into_iter().find(|name| {
        let values = given.get(*name);
        values.is_some_and(|values| !values.iter().all(is_default))
    });
    match unused.filter(|_| !mixed) {
        None => Ok(()),
        Some(name) => Err(IneffectiveSetting {
            name,
            message: format!("{name} is a setting of test=mix, which is not among the tests"),
        }),
    }
}
