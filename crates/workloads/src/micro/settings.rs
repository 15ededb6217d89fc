//! What can be set, for people and for the command line.

use crate::IneffectiveSetting;
use crate::generate::key::{MAX_KEY_BYTES, MIN_KEY_BYTES};
use crate::generate::value::MIN_VALUE_BYTES;
use trueput_engine::{Kind, Parameter};
use trueput_record::Value;
use trueput_record::plan::Dimensions;

const TESTS: &[&str] = &[
    "fill-sequential",
    "fill-random",
    "fill-batch",
    "fill-sync",
    "overwrite",
    "read-random",
    "read-sequential",
    "read-reverse",
    "read-missing",
    "read-hot",
    "seek-random",
    "delete-random",
    "read-while-writing",
    "read-while-scanning",
    "mix",
];

/// The largest value that can be asked for: the engines take less, and say how much.
const MAX_VALUE_BYTES: u64 = 1 << 30;

const fn number(
    name: &'static str,
    summary: &'static str,
    unit: &'static str,
    [default, min, max]: [i64; 3],
) -> Parameter {
    Parameter {
        name,
        summary,
        cost: "",
        kind: Kind::Integer { default, min, max },
        unit,
    }
}

const fn percent(name: &'static str, summary: &'static str) -> Parameter {
    number(name, summary, "%", [0, 0, 100])
}

const fn bytes(
    name: &'static str,
    summary: &'static str,
    [default, min, max]: [u64; 3],
) -> Parameter {
    Parameter {
        name,
        summary,
        cost: "",
        kind: Kind::Bytes { default, min, max },
        unit: "bytes",
    }
}

const fn choice(
    name: &'static str,
    summary: &'static str,
    default: &'static str,
    choices: &'static [&'static str],
) -> Parameter {
    Parameter {
        name,
        summary,
        cost: "",
        kind: Kind::Choice { default, choices },
        unit: "",
    }
}

pub(super) const SETTINGS: &[Parameter] = &[
    choice("test", "The test to run.", "read-random", TESTS),
    number(
        "records",
        "Records to load, or to write in a fill test.",
        "records",
        [1_000_000, 1, i64::MAX],
    ),
    bytes(
        "size",
        "Total size of the keys and values to load, instead of records; 0: use records.",
        [0, 0, 1 << 60],
    ),
    number(
        "key_bytes",
        "Length of a key. Keys of 16 bytes or more are hexadecimal digits; shorter keys are \
         binary.",
        "bytes",
        [16, MIN_KEY_BYTES as i64, MAX_KEY_BYTES as i64],
    ),
    bytes(
        "value_bytes",
        "Length of a value.",
        [100, 1, MAX_VALUE_BYTES],
    ),
    number(
        "compressibility",
        "Size of the values after compression, as a percentage of their size.",
        "%",
        [50, 1, 100],
    ),
    choice(
        "distribution",
        "Distribution of the records that operations choose.",
        "uniform",
        &["uniform", "zipfian", "latest", "hotspot", "sequential"],
    ),
    number(
        "batch",
        "Records per write transaction; 0: 1,000 in fill-batch, else 1.",
        "records",
        [0, 0, 1_000_000],
    ),
    number(
        "operations",
        "Operations of all workers together; 0: until the duration ends, or one per record if \
         there is no duration.",
        "",
        [0, 0, i64::MAX],
    ),
    number(
        "nexts",
        "Records that a scan reads after the first one, in seek-random and mix.",
        "records",
        [10, 0, 100_000],
    ),
    number(
        "writers",
        "Sessions that only update while others read; 0: 1 in read-while-writing, none in other \
         tests.",
        "",
        [0, 0, 1_024],
    ),
    number(
        "scanners",
        "Sessions that only scan while others read; 0: 1 in read-while-scanning, none in other \
         tests.",
        "",
        [0, 0, 1_024],
    ),
    percent(
        "update_percent",
        "Percentage of updates in a mix; the remaining operations are reads.",
    ),
    percent("insert_percent", "Percentage of inserts in a mix."),
    percent("delete_percent", "Percentage of deletes in a mix."),
    percent(
        "scan_percent",
        "Percentage of scans in a mix. A scan reads nexts records and one more.",
    ),
];

/// Settings that only a mix looks at.
const OF_A_MIX: [&str; 4] = [
    "update_percent",
    "insert_percent",
    "delete_percent",
    "scan_percent",
];

/// Whether each setting that a plan gives can have an effect: a size stands in the place of records,
/// and only a mix has percentages.
pub(super) fn check_given(given: &Dimensions) -> Result<(), IneffectiveSetting> {
    let is_default = |value: &Value| matches!(value, Value::Integer(0));
    let sized = given
        .get("size")
        .is_some_and(|sizes| !sizes.iter().all(is_default));
    if sized && given.contains_key("records") {
        return Err(IneffectiveSetting {
            name: "records",
            message: "size and records both set how much is loaded, and size takes precedence: \
                      remove one of them, or set size=0"
                .to_owned(),
        });
    }
    let is_mix = |value: &Value| *value == Value::from("mix");
    let mixed = given
        .get("test")
        .is_some_and(|tests| tests.iter().any(is_mix));
    let unused = OF_A_MIX.into_iter().find(|name| {
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

/// What a value must have room for, in a sentence's words.
pub(super) fn too_short_a_value(value_bytes: usize) -> String {
    format!(
        "values of {value_bytes} bytes have no room for the check and the version by which reads \
         are verified; give value_bytes={MIN_VALUE_BYTES} or more"
    )
}
