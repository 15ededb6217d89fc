//! The settings, named as YCSB's properties, with YCSB's defaults.

use trueput_engine::{Kind, Knob};

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
pub(super) const SETTINGS: &[Knob] = &[
    Knob {
        name: "workload",
        summary: "YCSB's workload file that gives the other settings their defaults; core: the \
                  defaults of CoreWorkload.",
        gives_up: "",
        kind: choice("a", &["a", "b", "c", "d", "e", "f", "core"]),
        unit: "",
    },
    Knob {
        name: "recordcount",
        summary: "Records to load.",
        gives_up: "",
        kind: integer(1000, 1, 1 << 40),
        unit: "records",
    },
    Knob {
        name: "operationcount",
        summary: "Operations of all workers together; 0: until the duration ends, or 1000 if there \
                  is no duration.",
        gives_up: "",
        kind: integer(0, 0, i64::MAX),
        unit: "operations",
    },
    Knob {
        name: "fieldcount",
        summary: "Number of fields in a record.",
        gives_up: "",
        kind: integer(10, 1, 1 << 20),
        unit: "",
    },
    Knob {
        name: "fieldlength",
        summary: "Length of a field, or the maximum length if lengths vary.",
        gives_up: "",
        kind: integer(100, 1, MAX_FIELD_BYTES),
        unit: "bytes",
    },
    Knob {
        name: "minfieldlength",
        summary: "Minimum length of a field if lengths vary.",
        gives_up: "",
        kind: integer(1, 1, MAX_FIELD_BYTES),
        unit: "bytes",
    },
    Knob {
        name: "fieldlengthdistribution",
        summary: "Distribution of field lengths.",
        gives_up: "",
        kind: choice("constant", &["constant", "uniform", "zipfian"]),
        unit: "",
    },
    Knob {
        name: "readallfields",
        summary: "Whether a read returns all fields or one.",
        gives_up: "",
        kind: Kind::Boolean { default: true },
        unit: "",
    },
    Knob {
        name: "writeallfields",
        summary: "Whether an update changes all fields or one. The whole record is written in both \
                  cases.",
        gives_up: "",
        kind: Kind::Boolean { default: false },
        unit: "",
    },
    Knob {
        name: "readproportion",
        summary: "Share of reads.",
        gives_up: "",
        kind: share(None),
        unit: "",
    },
    Knob {
        name: "updateproportion",
        summary: "Share of updates.",
        gives_up: "",
        kind: share(None),
        unit: "",
    },
    Knob {
        name: "insertproportion",
        summary: "Share of inserts.",
        gives_up: "",
        kind: share(None),
        unit: "",
    },
    Knob {
        name: "scanproportion",
        summary: "Share of scans.",
        gives_up: "",
        kind: share(None),
        unit: "",
    },
    Knob {
        name: "readmodifywriteproportion",
        summary: "Share of read-modify-writes.",
        gives_up: "",
        kind: share(None),
        unit: "",
    },
    Knob {
        name: "requestdistribution",
        summary: "Distribution of the records that operations choose.",
        gives_up: "",
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
    Knob {
        name: "hotspotdatafraction",
        summary: "With hotspot: the share of records that are hot.",
        gives_up: "",
        kind: share(Some(0.2)),
        unit: "",
    },
    Knob {
        name: "hotspotopnfraction",
        summary: "With hotspot: the share of operations that use hot records.",
        gives_up: "",
        kind: share(Some(0.8)),
        unit: "",
    },
    Knob {
        name: "exponential.percentile",
        summary: "With exponential: the percentage of operations that use the latest records.",
        gives_up: "",
        kind: Kind::Fraction {
            default: Some(95.0),
            min: 1e-3,
            max: 99.999,
        },
        unit: "percent",
    },
    Knob {
        name: "exponential.frac",
        summary: "With exponential: the share of records that count as the latest.",
        gives_up: "",
        kind: Kind::Fraction {
            default: Some(0.857_142_857_1),
            min: 1e-9,
            max: 1e9,
        },
        unit: "",
    },
    Knob {
        name: "minscanlength",
        summary: "Minimum number of records in a scan.",
        gives_up: "",
        kind: integer(1, 1, 1 << 30),
        unit: "records",
    },
    Knob {
        name: "maxscanlength",
        summary: "Maximum number of records in a scan; 0: the value of the workload file.",
        gives_up: "",
        kind: integer(0, 0, 1 << 30),
        unit: "records",
    },
    Knob {
        name: "scanlengthdistribution",
        summary: "Distribution of scan lengths.",
        gives_up: "",
        kind: choice("uniform", &["uniform", "zipfian"]),
        unit: "",
    },
    Knob {
        name: "insertorder",
        summary: "Whether keys are hashed, so that records are loaded in random key order, or \
                  ordered.",
        gives_up: "",
        kind: choice("hashed", &["hashed", "ordered"]),
        unit: "",
    },
    Knob {
        name: "zeropadding",
        summary: "Minimum number of digits in a key.",
        gives_up: "",
        kind: integer(1, 0, 996),
        unit: "digits",
    },
    Knob {
        name: "loadbatchsize",
        summary: "Records per transaction of the load. YCSB commits each record.",
        gives_up: "",
        kind: integer(1000, 1, 1_000_000),
        unit: "records",
    },
];
