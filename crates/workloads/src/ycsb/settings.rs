//! The settings, named as YCSB's properties, with YCSB's defaults.

use trueput_engine::{Kind, Parameter};

const fn integer(default: i64, min: i64, max: i64) -> Kind {
    Kind::Integer { default, min, max }
}

const fn share(default: Option<f64>) -> Kind {
    Kind::Fraction {
        default,
        min: 0.0,
        max: 1.0,
    }
}

const fn choice(default: &'static str, choices: &'static [&'static str]) -> Kind {
    Kind::Choice { default, choices }
}

/// Longest record that may be asked for, bytes.
const MAX_FIELD_BYTES: i64 = 1 << 26;

/// Every setting.
pub(super) const SETTINGS: &[Parameter] = &[
    Parameter {
        name: "workload",
        summary: "YCSB's workload file that gives the other settings their defaults; core: the \
                  defaults of CoreWorkload.",
        cost: "",
        kind: choice("a", &["a", "b", "c", "d", "e", "f", "core"]),
        unit: "",
    },
    Parameter {
        name: "recordcount",
        summary: "Records to load.",
        cost: "",
        kind: integer(1000, 1, 1 << 40),
        unit: "records",
    },
    Parameter {
        name: "operationcount",
        summary: "Operations of all workers together; 0: until the duration ends, or 1000 if there \
                  is no duration.",
        cost: "",
        kind: integer(0, 0, i64::MAX),
        unit: "operations",
    },
    Parameter {
        name: "fieldcount",
        summary: "Number of fields in a record.",
        cost: "",
        kind: integer(10, 1, 1 << 20),
        unit: "",
    },
    Parameter {
        name: "fieldlength",
        summary: "Length of a field, or the maximum length if lengths vary.",
        cost: "",
        kind: integer(100, 1, MAX_FIELD_BYTES),
        unit: "bytes",
    },
    Parameter {
        name: "minfieldlength",
        summary: "Minimum length of a field if lengths vary.",
        cost: "",
        kind: integer(1, 1, MAX_FIELD_BYTES),
        unit: "bytes",
    },
    Parameter {
        name: "fieldlengthdistribution",
        summary: "Distribution of field lengths.",
        cost: "",
        kind: choice("constant", &["constant", "uniform", "zipfian"]),
        unit: "",
    },
    Parameter {
        name: "readallfields",
        summary: "Whether a read returns all fields or one.",
        cost: "",
        kind: Kind::Boolean { default: true },
        unit: "",
    },
    Parameter {
        name: "writeallfields",
        summary: "Whether an update changes all fields or one. The whole record is written in both \
                  cases.",
        cost: "",
        kind: Kind::Boolean { default: false },
        unit: "",
    },
    Parameter {
        name: "readproportion",
        summary: "Share of reads.",
        cost: "",
        kind: share(None),
        unit: "",
    },
    Parameter {
        name: "updateproportion",
        summary: "Share of updates.",
        cost: "",
        kind: share(None),
        unit: "",
    },
    Parameter {
        name: "insertproportion",
        summary: "Share of inserts.",
        cost: "",
        kind: share(None),
        unit: "",
    },
    Parameter {
        name: "scanproportion",
        summary: "Share of scans.",
        cost: "",
        kind: share(None),
        unit: "",
    },
    Parameter {
        name: "readmodifywriteproportion",
        summary: "Share of read-modify-writes.",
        cost: "",
        kind: share(None),
        unit: "",
    },
    Parameter {
        name: "requestdistribution",
        summary: "Distribution of the records that operations choose.",
        cost: "",
        kind: choice(
            "preset",
            &[
                "preset",
                "uniform",
                "zipfian",
                "latest",
                "hotspot",
                "sequential",
                "exponential",
            ],
        ),
        unit: "",
    },
    Parameter {
        name: "hotspotdatafraction",
        summary: "With hotspot: the share of records that are hot.",
        cost: "",
        kind: share(Some(0.2)),
        unit: "",
    },
    Parameter {
        name: "hotspotopnfraction",
        summary: "With hotspot: the share of operations that use hot records.",
        cost: "",
        kind: share(Some(0.8)),
        unit: "",
    },
    Parameter {
        name: "exponential.percentile",
        summary: "With exponential: the percentage of operations that use the latest records.",
        cost: "",
        kind: Kind::Fraction {
            default: Some(95.0),
            min: 1e-3,
            max: 99.999,
        },
        unit: "percent",
    },
    Parameter {
        name: "exponential.frac",
        summary: "With exponential: the share of records that count as the latest.",
        cost: "",
        kind: Kind::Fraction {
            default: Some(0.857_142_857_1),
            min: 1e-9,
            max: 1e9,
        },
        unit: "",
    },
    Parameter {
        name: "minscanlength",
        summary: "Minimum number of records in a scan.",
        cost: "",
        kind: integer(1, 1, 1 << 30),
        unit: "records",
    },
    Parameter {
        name: "maxscanlength",
        summary: "Maximum number of records in a scan; 0: the value of the workload file.",
        cost: "",
        kind: integer(0, 0, 1 << 30),
        unit: "records",
    },
    Parameter {
        name: "scanlengthdistribution",
        summary: "Distribution of scan lengths.",
        cost: "",
        kind: choice("uniform", &["uniform", "zipfian"]),
        unit: "",
    },
    Parameter {
        name: "insertorder",
        summary: "Whether keys are hashed, so that records are loaded in random key order, or \
                  ordered.",
        cost: "",
        kind: choice("hashed", &["hashed", "ordered"]),
        unit: "",
    },
    Parameter {
        name: "zeropadding",
        summary: "Minimum number of digits in a key.",
        cost: "",
        kind: integer(1, 0, 996),
        unit: "digits",
    },
    Parameter {
        name: "loadbatchsize",
        summary: "Records per transaction of the load. YCSB commits each record.",
        cost: "",
        kind: integer(1000, 1, 1_000_000),
        unit: "records",
    },
];
