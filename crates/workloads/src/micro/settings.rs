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
        /// Total size of the keys and values to load, instead of records or large_values; 0: use
        /// those.
        size: Bytes = 0 B in 0 B..=1_048_576 TiB,
        /// Length of a key. Keys of 16 bytes or more are hexadecimal digits; shorter keys are
        /// binary.
        key_bytes: Integer<usize> = 16 in (MIN_KEY_BYTES as i64)..=(MAX_KEY_BYTES as i64),
            unit "bytes",
        /// Length of a value.
        value_bytes: Bytes = 100 B in 1 B..=1 GiB,
        /// Number of values in overwrite-large and read-large, instead of records.
        large_values: Integer = 100 in 1..=1_000_000_000, unit "values",
        /// Length of a value in overwrite-large and read-large, instead of value_bytes.
        large_value_bytes: Bytes = 1 MiB in 1 KiB..=64 MiB,
        /// Longest part in which overwrite-large and read-large store a value, 1 KiB or more; each
        /// part is a record. 0: whole, or as long as the engine takes.
        part_size: Bytes = 256 KiB in 0 B..=64 MiB,
        /// Size of the values after compression, as a percentage of their size.
        compressibility: Integer<u8> = 50 in 1..=100, unit "%",
        /// Distribution of the records that operations choose.
        distribution: Choice<DistributionName> = Uniform,
        /// Records per write transaction, or per look-up in multi-read-random; 0: 1,000 in
        /// fill-batch and fill-bulk, 100 in multi-read-random, else 1.
        batch: Integer<u32> = 0 in 0..=1_000_000, unit "records",
        /// Operations of all workers together, whatever the time they take; 0: until the duration
        /// ends.
        operations: Integer = 0 in 0..,
        /// Records that a scan reads after the first one, in seek-random and mix.
        nexts: Integer = 10 in 0..=100_000, unit "records",
        /// Sessions that only update while others read; 0: 1 in read-while-writing, none in other
        /// tests.
        writers: Integer<u32> = 0 in 0..=1024,
        /// Updates a second of all writers together, each a transaction; 0: without pause.
        write_rate: Integer = 0 in 0..=1_000_000_000, unit "operations/s",
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
        FillBulk = "fill-bulk",
        Overwrite = "overwrite",
        ReadRandom = "read-random",
        ReadSequential = "read-sequential",
        ReadReverse = "read-reverse",
        ReadMissing = "read-missing",
        ReadHot = "read-hot",
        MultiReadRandom = "multi-read-random",
        SeekRandom = "seek-random",
        DeleteRandom = "delete-random",
        PutIfAbsent = "put-if-absent",
        OverwriteLarge = "overwrite-large",
        ReadLarge = "read-large",
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

/// The shortest large value, and the shortest part that `part_size` asks for, bytes.
pub(super) const MIN_LARGE_BYTES: u64 = 1 << 10;

/// Settings that only a mix looks at.
const MIX_SETTINGS: [&str; 4] = [
    "update_percent",
    "insert_percent",
    "delete_percent",
    "scan_percent",
];

/// The tests of large values.
const LARGE_TESTS: [TestName; 2] = [TestName::OverwriteLarge, TestName::ReadLarge];

/// Settings that only they look at.
const LARGE_SETTINGS: [&str; 3] = ["large_values", "large_value_bytes", "part_size"];

/// Settings that they ignore, each with the one that they have instead.
const RECORD_SETTINGS: [(&str, &str); 2] = [
    ("records", "large_values"),
    ("value_bytes", "large_value_bytes"),
];

/// Whether each setting that a plan gives can have an effect: a size takes precedence over numbers
/// of records, only a mix has percentages, and large values have settings of their own.
pub(super) fn check_given(given: &Dimensions) -> Result<(), IneffectiveSetting> {
    let is_default = |value: &Value| matches!(value, Value::Integer(0));
    check_size(given, "records")?;
    check_size(given, "large_values")?;
    check_large(given)?;
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

/// Whether the sizes that a plan gives are those of its tests.
fn check_large(given: &Dimensions) -> Result<(), IneffectiveSetting> {
    let is_large = |value: &Value| {
        let mut words = LARGE_TESTS.iter().map(|test| test.word());
        words.any(|word| *value == Value::from(word))
    };
    let tests = given.get("test").map_or(&[][..], Vec::as_slice);
    let is_given = |name: &str| given.contains_key(name);
    if !tests.iter().any(is_large) {
        let unused = LARGE_SETTINGS.into_iter().find(|name| is_given(name));
        return unused.map_or(Ok(()), |name| {
            let message = format!(
                "{name} is a setting of test=overwrite-large and test=read-large, which are not \
                 among the tests"
            );
            Err(IneffectiveSetting { name, message })
        });
    }
    let unused = RECORD_SETTINGS.into_iter().find(|(name, _)| is_given(name));
    match unused.filter(|_| tests.iter().all(is_large)) {
        None => Ok(()),
        Some((name, other)) => Err(IneffectiveSetting {
            name,
            message: format!("overwrite-large and read-large ignore {name}: give {other}"),
        }),
    }
}
