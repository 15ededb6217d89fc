//! The settings of a job, checked and made ready to use.

use super::error::MixgraphError;
use super::keys::{KeyHotness, KeyRanges, PowerLaw, TwoTermExponential};
use super::kinds::{Kind, Kinds, QueryDecider};
use super::lengths::{DrawnLengths, GeneralizedPareto, LengthBound, ScanLengths, ValueSizes};
use super::rate::{SineArrivals, SineRate};
use super::settings::{MAX_SCAN_BOUND, MAX_VALUE_BYTES, Settings};
use crate::generate::distribution::share_size;
use crate::generate::key::{KeyError, KeyFormat, MIN_KEY_BYTES};
use crate::generate::value::{MIN_VALUE_BYTES, Values, payload_percent};
use crate::keyed::draws::LengthDistribution;
use crate::keyed::record::{RecordKeys, RecordMaker};
use crate::keyed::sized_keys::SizedKeys;
use crate::{Error, OperationBytes, Result};
use trueput_engine::Capabilities;
use trueput_record::Conditions;

/// Makes the records of this workload.
pub(super) type Maker = RecordMaker<DrawnLengths>;

/// A job's settings.
#[derive(Debug, Clone)]
pub(super) struct MixgraphConfig {
    pub records: u64,
    /// Operations that end the trial; `None` if time does.
    pub operations: Option<u64>,
    pub hotness: KeyHotness,
    pub queries: QueryDecider,
    pub scans: ScanLengths,
    /// Whether one random number decides all of an operation.
    pub one_draw: bool,
    /// When operations are due; `None` in a closed loop.
    pub arrivals: Option<SineArrivals>,
    pub load_batch: u64,
    key_bytes: usize,
    /// Of the keys' numbers.
    format: KeyFormat,
    sizes: ValueSizes,
    /// Mean length of a value that is put, bytes.
    mean_put_bytes: f64,
    /// The length of a loaded value; `None`: drawn as those that are put.
    loaded_bytes: Option<usize>,
    compressibility: u8,
}

impl MixgraphConfig {
    /// Reads the settings.
    ///
    /// # Errors
    /// The settings contradict each other or the conditions.
    pub(super) fn new(settings: &Settings, conditions: &Conditions) -> Result<Self, MixgraphError> {
        let ratios = [
            settings.mix_get_ratio,
            settings.mix_put_ratio,
            settings.mix_seek_ratio,
        ];
        let operations = match settings.mix_accesses {
            0 => conditions.duration_s.is_none().then_some(settings.num),
            given => Some(given),
        };
        let hotness = hotness(settings)?;
        let queries = QueryDecider::new(&ratios).ok_or(MixgraphError::NoShare)?;
        let (records, numbers) = (settings.num, queries.numbers());
        if settings.one_draw && records < numbers {
            return Err(MixgraphError::FewNumbers { records, numbers });
        }
        let sizes = value_sizes(settings)?;
        Ok(Self {
            records,
            operations,
            hotness,
            queries,
            scans: scan_lengths(settings)?,
            one_draw: settings.one_draw,
            arrivals: arrivals(settings, operations, conditions)?,
            load_batch: settings.loadbatchsize,
            key_bytes: settings.key_size,
            format: key_format()?,
            sizes,
            mean_put_bytes: sizes.mean(),
            loaded_bytes: loaded_bytes(settings.value_size)?,
            compressibility: settings.compressibility,
        })
    }

    /// The kinds of operation in the mix.
    pub(super) fn kinds(&self) -> Kinds {
        self.queries.kinds()
    }

    /// Whether records are put.
    pub(super) fn puts(&self) -> bool {
        self.kinds().has(Kind::Put)
    }

    /// The number of operations that end one worker's part; `None` if time does.
    pub(super) fn quota(&self, worker: u32, workers: u32) -> Option<u64> {
        Some(share_size(self.operations?, worker, workers))
    }

    /// Refuses records that are too large for the engine.
    ///
    /// # Errors
    /// A key or a value is too long.
    pub(super) fn check_room(&self, capabilities: &Capabilities) -> Result<(), MixgraphError> {
        let loaded = self.loaded_bytes.unwrap_or(0);
        let put = self.sizes.max_bytes as usize;
        let (max_key, max_value) = (capabilities.max_key_bytes, capabilities.max_value_bytes);
        for (subject, bytes, max_bytes, setting) in [
            ("keys", self.key_bytes, max_key, "key_size"),
            ("loaded values", loaded, max_value, "value_size"),
            ("values", put, max_value, "mix_max_value_size"),
        ] {
            if bytes > max_bytes {
                return Err(MixgraphError::TooLong {
                    subject,
                    bytes,
                    max_bytes,
                    setting,
                });
            }
        }
        Ok(())
    }

    /// Mean bytes of a record that was put.
    fn put_bytes(&self) -> f64 {
        self.key_bytes as f64 + self.mean_put_bytes
    }

    /// Mean bytes of a loaded record.
    fn loaded_record_bytes(&self) -> f64 {
        let value = self.loaded_bytes.map(|bytes| bytes as f64);
        self.key_bytes as f64 + value.unwrap_or(self.mean_put_bytes)
    }

    /// Bytes that an operation of each kind moves, on average.
    pub(super) fn volumes(&self) -> Vec<OperationBytes> {
        // Popular records are soon those that were put.
        let read = if self.puts() {
            self.put_bytes()
        } else {
            self.loaded_record_bytes()
        };
        let volume = |kind| match kind {
            Kind::Get => OperationBytes::new(read, 0.0),
            Kind::Put => OperationBytes::new(0.0, self.put_bytes()),
            Kind::Seek => OperationBytes::new(self.scans.mean() * read, 0.0),
        };
        self.kinds().iter().map(volume).collect()
    }

    /// Bytes of the live keys and values; `None` if it depends on which records were put.
    pub(super) fn live_bytes(&self) -> Option<u64> {
        let is_known = !self.puts() || self.loaded_bytes.is_none();
        is_known.then(|| (self.records as f64 * self.loaded_record_bytes()) as u64)
    }

    /// Bytes of the key and the value that a put writes, on average; 0 without puts.
    pub(super) fn commit_bytes(&self) -> u64 {
        if self.puts() {
            self.put_bytes() as u64
        } else {
            0
        }
    }

    /// Identifies the loaded data, and the lengths of the values that trials put over them.
    pub(super) fn load_key(&self) -> String {
        let Self {
            records,
            key_bytes,
            loaded_bytes,
            sizes,
            compressibility,
            ..
        } = self;
        format!("{records} x {key_bytes} + {loaded_bytes:?} or {sizes:?} to {compressibility} %")
    }

    /// About how many bytes the database takes.
    pub(super) fn expected_bytes(&self) -> u64 {
        // As for micro: what an engine adds to a record.
        const OVERHEAD: f64 = 16.0;
        let put = if self.puts() { self.put_bytes() } else { 0.0 };
        let record = self.loaded_record_bytes().max(put);
        (1 << 20).max((self.records as f64 * (record + OVERHEAD)) as u64)
    }

    /// The values of a seed.
    ///
    /// # Errors
    /// Never, for the settings' range is that of the generator.
    pub(super) fn values(&self, seed: u64) -> Result<Values> {
        let percent = payload_percent(self.compressibility, self.mean_put_bytes as usize);
        Values::new(seed, percent).map_err(|error| Error::Workload(error.to_string()))
    }

    /// The generator of records with these values.
    pub(super) fn maker_of(&self, values: Values, seed: u64) -> Maker {
        let length = LengthDistribution::Constant(self.key_bytes as u64);
        let keys = RecordKeys::Sized(SizedKeys::new(self.format, length, seed));
        let lengths = DrawnLengths::new(self.sizes, self.loaded_bytes, seed);
        Maker::new(keys, values, lengths)
    }
}

/// The format of the number in a key: 8 bytes, the highest first, as in db_bench.
fn key_format() -> Result<KeyFormat, KeyError> {
    KeyFormat::plain(MIN_KEY_BYTES)
}

fn loaded_bytes(given: u64) -> Result<Option<usize>, MixgraphError> {
    match given {
        0 => Ok(None),
        bytes if bytes < MIN_VALUE_BYTES as u64 => Err(MixgraphError::ShortValue { bytes }),
        bytes => Ok(Some(bytes as usize)),
    }
}

fn value_sizes(settings: &Settings) -> Result<ValueSizes, MixgraphError> {
    let pareto = GeneralizedPareto {
        theta: settings.value_theta,
        k: settings.value_k,
        sigma: settings.value_sigma,
    };
    let max_bytes = settings.mix_max_value_size;
    pareto.check(&LengthBound {
        prefix: "value",
        name: "mix_max_value_size",
        value: max_bytes,
        most: MAX_VALUE_BYTES,
    })?;
    Ok(ValueSizes { pareto, max_bytes })
}

fn scan_lengths(settings: &Settings) -> Result<ScanLengths, MixgraphError> {
    let pareto = GeneralizedPareto {
        theta: settings.iter_theta,
        k: settings.iter_k,
        sigma: settings.iter_sigma,
    };
    let modulus = settings.mix_max_scan_len;
    pareto.check(&LengthBound {
        prefix: "iter",
        name: "mix_max_scan_len",
        value: modulus,
        most: MAX_SCAN_BOUND,
    })?;
    Ok(ScanLengths { pareto, modulus })
}

fn hotness(settings: &Settings) -> Result<KeyHotness, MixgraphError> {
    let law = PowerLaw {
        a: settings.key_dist_a,
        b: settings.key_dist_b,
    };
    let ranges = TwoTermExponential {
        a: settings.keyrange_dist_a,
        b: settings.keyrange_dist_b,
        c: settings.keyrange_dist_c,
        d: settings.keyrange_dist_d,
    };
    if law.a == 0.0 || law.b == 0.0 {
        return Ok(KeyHotness::Uniform);
    }
    law.check()?;
    if ranges.is_zero() {
        return Ok(KeyHotness::Popular(law));
    }
    let ranges = KeyRanges::new(settings.num, settings.keyrange_num, ranges)?;
    Ok(KeyHotness::Ranged(ranges, law))
}

fn arrivals(
    settings: &Settings,
    operations: Option<u64>,
    conditions: &Conditions,
) -> Result<Option<SineArrivals>, MixgraphError> {
    if !settings.sine_mix_rate {
        return Ok(None);
    }
    if conditions.rate.is_some() {
        return Err(MixgraphError::SineAtRate);
    }
    let rate = SineRate {
        a: settings.sine_a,
        b: settings.sine_b,
        c: settings.sine_c,
        d: settings.sine_d,
        noise: settings.sine_mix_rate_noise,
        interval_s: settings.sine_mix_rate_interval_milliseconds as f64 / 1e3,
    };
    Ok(Some(SineArrivals::new(rate, operations, conditions)))
}
