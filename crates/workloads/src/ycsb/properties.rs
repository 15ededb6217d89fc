//! The settings, with the values of the presets for those not given.

use super::error::YcsbError;
use super::kinds::{self, Kind};
use super::settings::{FieldLengths, InsertOrder, Request, ScanLengths, Settings, WorkloadFile};
use crate::generate::distribution::{Distribution, Items, hot_items, share_size, ycsb_keyspace};
use crate::generate::key::KeyFormat;
use crate::generate::value::MIN_VALUE_BYTES;
use crate::keyed::capacity::expected_operations;
use crate::keyed::draws::{LengthDistribution, RecordLengths};
use trueput_record::Conditions;

/// Operations where neither a count nor a duration is given: that of YCSB's workload files.
const DEFAULT_OPERATIONS: u64 = 1_000;

/// The settings that a workload file of YCSB gives its own defaults.
struct WorkloadPreset {
    proportions: [f64; kinds::COUNT],
    request: Request,
    max_scan: u64,
}

/// YCSB's workload files, as they are in its repository under `workloads/`.
fn preset(file: WorkloadFile) -> WorkloadPreset {
    let of = |shares: &[(Kind, f64)], request| {
        let mut proportions = [0.0; kinds::COUNT];
        for (kind, share) in shares {
            proportions[*kind as usize] = *share;
        }
        WorkloadPreset {
            proportions,
            request,
            max_scan: 1_000,
        }
    };
    match file {
        WorkloadFile::A => of(&[(Kind::Read, 0.5), (Kind::Update, 0.5)], Request::Zipfian),
        WorkloadFile::B => of(
            &[(Kind::Read, 0.95), (Kind::Update, 0.05)],
            Request::Zipfian,
        ),
        WorkloadFile::C => of(&[(Kind::Read, 1.0)], Request::Zipfian),
        WorkloadFile::D => of(&[(Kind::Read, 0.95), (Kind::Insert, 0.05)], Request::Latest),
        WorkloadFile::E => WorkloadPreset {
            max_scan: 100,
            ..of(
                &[(Kind::Scan, 0.95), (Kind::Insert, 0.05)],
                Request::Zipfian,
            )
        },
        WorkloadFile::F => of(
            &[(Kind::Read, 0.5), (Kind::ReadModifyWrite, 0.5)],
            Request::Zipfian,
        ),
        WorkloadFile::Core => of(
            &[(Kind::Read, 0.95), (Kind::Update, 0.05)],
            Request::Uniform,
        ),
    }
}

/// The keys and values of records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RecordShape {
    pub(super) fields: u64,
    pub(super) field_bytes: LengthDistribution,
    pub(super) keys: KeyFormat,
}

impl RecordShape {
    /// The lengths of the records of a seed.
    pub(super) fn lengths(&self, seed: u64) -> RecordLengths {
        RecordLengths::new(self.fields, self.field_bytes, seed)
    }
}

/// The settings of a job, complete and checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Properties {
    pub(super) records: u64,
    /// `None`: the trial ends only by its duration.
    pub(super) operations: Option<u64>,
    /// Operations that sizes are estimated for; 0 if none are known.
    expected_operations: u64,
    pub(super) shape: RecordShape,
    pub(super) read_all_fields: bool,
    /// By kind, adding up to 1.
    pub(super) proportions: [f64; kinds::COUNT],
    pub(super) request: Distribution,
    pub(super) scan_records: LengthDistribution,
    pub(super) load_batch: u64,
}

impl Properties {
    /// Of settings, for a trial that ends by a duration or not.
    ///
    /// # Errors
    /// The settings contradict each other.
    pub(super) fn new(settings: &Settings, conditions: &Conditions) -> Result<Self, YcsbError> {
        let preset = preset(settings.workload);
        let proportions = proportions(settings, &preset)?;
        let records = settings.recordcount;
        let operations = match settings.operationcount {
            0 if conditions.duration_s.is_some() => None,
            0 => Some(DEFAULT_OPERATIONS),
            given => Some(given),
        };
        let max_scan = match settings.maxscanlength {
            0 => preset.max_scan,
            given => given,
        };
        let scans = (settings.minscanlength, max_scan);
        let scan_records = match settings.scanlengthdistribution {
            ScanLengths::Zipfian => LengthDistribution::Zipfian(scans.0, scans.1),
            ScanLengths::Uniform => LengthDistribution::Uniform(scans.0, scans.1),
        };
        if scans.0 > scans.1 {
            let (min, max) = scans;
            return Err(YcsbError::ReversedScans { min, max });
        }
        let record_bytes = settings.fieldcount.saturating_mul(settings.fieldlength) as f64;
        let inserted_bytes = proportions[Kind::Insert as usize] * record_bytes;
        let expected = expected_operations(operations, inserted_bytes, conditions);
        let keyspace = ycsb_keyspace(records, expected, proportions[Kind::Insert as usize]);
        Ok(Self {
            records,
            operations,
            expected_operations: expected,
            shape: shape(settings)?,
            read_all_fields: settings.readallfields,
            proportions,
            request: request(settings, &preset, keyspace)?,
            scan_records,
            load_batch: settings.loadbatchsize,
        })
    }

    /// Whether operations of a kind are done at all.
    pub(super) fn has_kind(&self, kind: Kind) -> bool {
        self.proportions[kind as usize] > 0.0
    }

    /// Whether existing records are updated.
    pub(super) fn updates(&self) -> bool {
        self.has_kind(Kind::Update) || self.has_kind(Kind::ReadModifyWrite)
    }

    /// The items to choose from: YCSB's uniform, sequential and hotspot choose only among the
    /// loaded ones.
    pub(super) fn choosable_items(&self, growing: Items) -> Items {
        match self.request {
            Distribution::Uniform | Distribution::Sequential | Distribution::Hotspot { .. } => {
                Items::Fixed(self.records)
            }
            _ => growing,
        }
    }

    /// The number of operations of one worker; `None` if only time ends it.
    pub(super) fn share(&self, worker: u32, workers: u32) -> Option<u64> {
        Some(share_size(self.operations?, worker, workers))
    }

    /// The approximate number of inserts; 0 if it is not known.
    pub(super) fn expected_inserts(&self) -> u64 {
        let operations = self.expected_operations as f64;
        (operations * self.proportions[Kind::Insert as usize]) as u64
    }
}

/// YCSB's `DiscreteGenerator` divides by the sum; so it need not be 1.
fn proportions(
    settings: &Settings,
    preset: &WorkloadPreset,
) -> Result<[f64; kinds::COUNT], YcsbError> {
    let given = [
        (Kind::Read, settings.readproportion),
        (Kind::Update, settings.updateproportion),
        (Kind::Insert, settings.insertproportion),
        (Kind::Scan, settings.scanproportion),
        (Kind::ReadModifyWrite, settings.readmodifywriteproportion),
    ];
    let mut proportions = preset.proportions;
    for (kind, share) in given {
        let proportion = &mut proportions[kind as usize];
        *proportion = share.unwrap_or(*proportion);
    }
    let sum: f64 = proportions.iter().sum();
    if sum <= 0.0 {
        return Err(YcsbError::NoShare);
    }
    Ok(proportions.map(|proportion| proportion / sum))
}

fn request(
    settings: &Settings,
    preset: &WorkloadPreset,
    keyspace: u64,
) -> Result<Distribution, YcsbError> {
    let asked = match settings.requestdistribution {
        Request::Preset => preset.request,
        given => given,
    };
    Ok(match asked {
        Request::Zipfian => Distribution::ScrambledZipfian { keyspace },
        Request::Latest => Distribution::Latest,
        Request::Hotspot => {
            check_hotspot(settings)?;
            Distribution::Hotspot {
                set_fraction: settings.hotspotdatafraction,
                operation_fraction: settings.hotspotopnfraction,
            }
        }
        Request::Sequential => Distribution::Sequential,
        Request::Exponential => Distribution::Exponential {
            percentile: settings.exponential_percentile,
            fraction: settings.exponential_frac,
        },
        Request::Preset | Request::Uniform => Distribution::Uniform,
    })
}

/// Refuses a hot set of no record, and operations on the others where there are none; YCSB divides
/// by zero there.
fn check_hotspot(settings: &Settings) -> Result<(), YcsbError> {
    let (share, records) = (settings.hotspotdatafraction, settings.recordcount);
    let hot = hot_items(records, share);
    let (kind, remedy) = if hot == 0 {
        ("hot", "a larger one, or more records")
    } else if hot >= records && settings.hotspotopnfraction < 1.0 {
        ("other", "a smaller one, or hotspotopnfraction=1")
    } else {
        return Ok(());
    };
    Err(YcsbError::EmptyHotspot {
        share,
        kind,
        records,
        remedy,
    })
}

fn shape(settings: &Settings) -> Result<RecordShape, YcsbError> {
    let fields = settings.fieldcount;
    let (fewest, most) = (settings.minfieldlength, settings.fieldlength);
    let field_bytes = match settings.fieldlengthdistribution {
        FieldLengths::Uniform => LengthDistribution::Uniform(fewest, most),
        FieldLengths::Zipfian => LengthDistribution::Zipfian(fewest, most),
        FieldLengths::Constant => LengthDistribution::Constant(most),
    };
    let shortest = match field_bytes {
        LengthDistribution::Constant(_) => most,
        _ => fewest,
    };
    if shortest > most {
        let (min, max) = (fewest, most);
        return Err(YcsbError::ReversedFields { min, max });
    }
    if fields.saturating_mul(shortest) < MIN_VALUE_BYTES as u64 {
        let bytes = shortest;
        return Err(YcsbError::ShortRecord { fields, bytes });
    }
    let padding = settings.zeropadding;
    let keys = match settings.insertorder {
        InsertOrder::Ordered => KeyFormat::ycsb_ordered(padding),
        InsertOrder::Hashed => KeyFormat::ycsb_hashed(padding),
    };
    Ok(RecordShape {
        fields,
        field_bytes,
        keys: keys?,
    })
}
