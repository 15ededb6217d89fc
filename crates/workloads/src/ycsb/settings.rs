//! The settings, named as YCSB's properties, with YCSB's defaults.

use trueput_engine::{choices, parameters};

/// Longest record that may be asked for, bytes.
const MAX_FIELD_BYTES: i64 = 1 << 26;

parameters! {
    /// Every setting.
    pub(super) struct Settings {
        /// YCSB's workload file that gives the other settings their defaults; core: the defaults of
        /// CoreWorkload.
        workload: Choice<WorkloadFile> = A,
        /// Records to load.
        recordcount: Integer = 1000 in 1..=(1 << 40), unit "records",
        /// Operations of all workers together, whatever the time they take; 0: until the duration
        /// ends.
        operationcount: Integer = 0 in 0.., unit "operations",
        /// Number of fields in a record.
        fieldcount: Integer = 10 in 1..=(1 << 20),
        /// Length of a field, or the maximum length if lengths vary.
        fieldlength: Integer = 100 in 1..=MAX_FIELD_BYTES, unit "bytes",
        /// Minimum length of a field if lengths vary.
        minfieldlength: Integer = 1 in 1..=MAX_FIELD_BYTES, unit "bytes",
        /// Distribution of field lengths.
        fieldlengthdistribution: Choice<FieldLengths> = Constant,
        /// Whether a read returns all fields or one.
        readallfields: Boolean = true,
        /// Whether an update changes all fields or one. The whole record is written in both cases.
        writeallfields: Boolean = false,
        /// Share of reads.
        readproportion: Option<Fraction> in 0.0..=1.0,
        /// Share of updates.
        updateproportion: Option<Fraction> in 0.0..=1.0,
        /// Share of inserts.
        insertproportion: Option<Fraction> in 0.0..=1.0,
        /// Share of scans.
        scanproportion: Option<Fraction> in 0.0..=1.0,
        /// Share of read-modify-writes.
        readmodifywriteproportion: Option<Fraction> in 0.0..=1.0,
        /// Distribution of the records that operations choose.
        requestdistribution: Choice<Request> = Preset,
        /// With hotspot: the share of records that are hot.
        hotspotdatafraction: Fraction = 0.2 in 0.0..=1.0,
        /// With hotspot: the share of operations that use hot records.
        hotspotopnfraction: Fraction = 0.8 in 0.0..=1.0,
        /// With exponential: the percentage of operations that use the latest records.
        exponential_percentile as "exponential.percentile": Fraction = 95.0 in
            1e-3..=99.999,
            unit "percent",
        /// With exponential: the share of records that count as the latest.
        exponential_frac as "exponential.frac": Fraction = 0.857_142_857_1 in
            1e-9..=1e9,
        /// Minimum number of records in a scan.
        minscanlength: Integer = 1 in 1..=(1 << 30), unit "records",
        /// Maximum number of records in a scan; 0: the value of the workload file.
        maxscanlength: Integer = 0 in 0..=(1 << 30), unit "records",
        /// Distribution of scan lengths.
        scanlengthdistribution: Choice<ScanLengths> = Uniform,
        /// Whether keys are hashed, so that records are loaded in random key order, or ordered.
        insertorder: Choice<InsertOrder> = Hashed,
        /// Minimum number of digits in a key.
        zeropadding: Integer<usize> = 1 in 0..=996, unit "digits",
        /// Records per transaction of the load. YCSB commits each record.
        loadbatchsize: Integer = 1000 in 1..=1_000_000, unit "records",
    }
}

choices! {
    /// YCSB's workload files, and the defaults of `CoreWorkload`.
    pub(super) enum WorkloadFile {
        A = "a",
        B = "b",
        C = "c",
        D = "d",
        E = "e",
        F = "f",
        Core = "core",
    }
}

choices! {
    /// Distribution of field lengths.
    pub(super) enum FieldLengths {
        Constant = "constant",
        Uniform = "uniform",
        Zipfian = "zipfian",
    }
}

choices! {
    /// Distribution of the records that operations choose.
    pub(super) enum Request {
        Preset = "preset",
        Uniform = "uniform",
        Zipfian = "zipfian",
        Latest = "latest",
        Hotspot = "hotspot",
        Sequential = "sequential",
        Exponential = "exponential",
    }
}

choices! {
    /// Distribution of scan lengths.
    pub(super) enum ScanLengths {
        Uniform = "uniform",
        Zipfian = "zipfian",
    }
}

choices! {
    /// The order in which records are loaded.
    pub(super) enum InsertOrder {
        Hashed = "hashed",
        Ordered = "ordered",
    }
}
