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
        summary: "Which of YCSB's workload files the settings below stand at; core: the defaults of CoreWorkload.",
        gives_up: "",
        kind: choice("a", &["a", "b", "c", "d", "e", "f", "core"]),
        unit: "",
    },
    Knob {
        name: "recordcount",
        summary: "Records loaded.",
        gives_up: "",
        kind: integer(1000, 1, 1 << 40),
        unit: "records",
    },
    Knob {
        name: "operationcount",
        summary: "Operations of all workers; 0: 1000, or no limit where the trial has a duration.",
        gives_up: "",
        kind: integer(0, 0, i64::MAX),
        unit: "operations",
    },
    Knob {
        name: "fieldcount",
        summary: "Fields of a record.",
        gives_up: "",
        kind: integer(10, 1, 1 << 20),
        unit: "",
    },
    Knob {
        name: "fieldlength",
        summary: "Bytes of a field, or the most where lengths vary.",
        gives_up: "",
        kind: integer(100, 1, MAX_FIELD_BYTES),
        unit: "bytes",
    },
    Knob {
        name: "minfieldlength",
        summary: "The fewest bytes of a field where lengths vary.",
        gives_up: "",
        kind: integer(1, 1, MAX_FIELD_BYTES),
        unit: "bytes",
    },
    Knob {
        name: "fieldlengthdistribution",
        summary: "How the lengths of fields vary.",
        gives_up: "",
        kind: choice("constant", &["constant", "uniform", "zipfian"]),
        unit: "",
    },
    Knob {
        name: "readallfields",
        summary: "Whether a read takes over every field, or one.",
        gives_up: "",
        kind: Kind::Boolean { default: true },
        unit: "",
    },
    Knob {
        name: "writeallfields",
        summary: "Whether an update renews every field, or one; the record is written whole either way.",
        gives_up: "",
        kind: Kind::Boolean { default: false },
        unit: "",
    },
    Knob {
        name: "readproportion",
        summary: "The share of reads among the operations.",
        gives_up: "",
        kind: share(None),
        unit: "",
    },
    Knob {
        name: "updateproportion",
        summary: "The share of updates among the operations.",
        gives_up: "",
        kind: share(None),
        unit: "",
    },
    Knob {
        name: "insertproportion",
        summary: "The share of inserts among the operations.",
        gives_up: "",
        kind: share(None),
        unit: "",
    },
    Knob {
        name: "scanproportion",
        summary: "The share of scans among the operations.",
        gives_up: "",
        kind: share(None),
        unit: "",
    },
    Knob {
        name: "readmodifywriteproportion",
        summary: "The share of read-modify-writes among the operations.",
        gives_up: "",
        kind: share(None),
        unit: "",
    },
    Knob {
        name: "requestdistribution",
        summary: "Which records are asked for.",
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
        summary: "hotspot: the hot records' share of the records.",
        gives_up: "",
        kind: share(Some(0.2)),
        unit: "",
    },
    Knob {
        name: "hotspotopnfraction",
        summary: "hotspot: the hot records' share of the operations.",
        gives_up: "",
        kind: share(Some(0.8)),
        unit: "",
    },
    Knob {
        name: "exponential.percentile",
        summary: "exponential: so many percent of the operations go to the latest records.",
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
        summary: "exponential: the share of the records that those operations go to.",
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
        summary: "The fewest records of a scan.",
        gives_up: "",
        kind: integer(1, 1, 1 << 30),
        unit: "records",
    },
    Knob {
        name: "maxscanlength",
        summary: "The most records of a scan; 0: the preset's.",
        gives_up: "",
        kind: integer(0, 0, 1 << 30),
        unit: "records",
    },
    Knob {
        name: "scanlengthdistribution",
        summary: "How the lengths of scans vary.",
        gives_up: "",
        kind: choice("uniform", &["uniform", "zipfian"]),
        unit: "",
    },
    Knob {
        name: "insertorder",
        summary: "Whether keys are hashed, so that records are loaded in no order, or follow each other.",
        gives_up: "",
        kind: choice("hashed", &["hashed", "ordered"]),
        unit: "",
    },
    Knob {
        name: "zeropadding",
        summary: "The fewest digits of a key.",
        gives_up: "",
        kind: integer(1, 0, 996),
        unit: "digits",
    },
    Knob {
        name: "loadbatchsize",
        summary: "Records per transaction of the load; YCSB commits each.",
        gives_up: "",
        kind: integer(1000, 1, 1_000_000),
        unit: "records",
    },
];
