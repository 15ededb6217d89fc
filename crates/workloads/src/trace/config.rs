//! The settings of a job with its trace: sizes, kinds, volumes, times.

use super::error::TraceError;
use super::kinds::{Kind, Kinds};
use super::reader::{Source, read_valid};
use super::settings::{LoadedKeys, Pace, Settings};
use super::stored::{KeyFacts, Operation, Trace, kind};
use crate::generate::value::{MIN_VALUE_BYTES, Values, payload_percent};
use crate::keyed::action::Action;
use crate::keyed::draws::ValueLengths;
use crate::keyed::executor::PlannedOperation;
use crate::keyed::record::{RecordKeys, RecordMaker};
use crate::keyed::versions::FIRST_VERSION;
use crate::{Error, OperationBytes, Result};
use std::sync::Arc;
use trueput_engine::Capabilities;
use trueput_record::Conditions;

/// Makes the records of this workload.
pub(super) type Maker = RecordMaker<TraceLengths>;

/// The lengths of the values of a trace.
#[derive(Debug, Clone)]
pub(super) struct TraceLengths(Arc<TraceConfig>);

impl ValueLengths for TraceLengths {
    /// The length of a loaded value.
    fn value_bytes(&mut self, item: u64, _version: u32) -> usize {
        let facts = self.0.trace.facts.get(item as usize);
        self.0.bytes(facts.map_or(0, |facts| facts.first_bytes))
    }

    fn longest(&self) -> u64 {
        let stated = self.0.bytes(self.0.trace.longest_value);
        stated.max(self.0.default_bytes) as u64
    }

    /// Which write bears a number depends on the order in which workers came, but for the load.
    fn fits(&mut self, item: u64, version: u32, bytes: usize) -> bool {
        version != FIRST_VERSION || self.value_bytes(item, version) == bytes
    }
}

/// Figures of the requests of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct KindTotals {
    requests: u64,
    read_bytes: f64,
    written_bytes: f64,
}

/// The records that the deletes of a trace leave.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct TraceTurnover {
    /// Records that are loaded.
    loaded: usize,
    /// Records at the end.
    left: usize,
    /// Operations that look for a record that is not there.
    missed: u64,
}

/// A trace that leaves fewer than one record in so many of those that are loaded empties the
/// database.
const EMPTIED_FACTOR: usize = 10;

/// A job's settings.
#[derive(Debug)]
pub(super) struct TraceConfig {
    pub trace: Arc<Trace>,
    pub kinds: Kinds,
    /// How many times as fast as recorded; `None`: not at the recorded times.
    pub speed: Option<f64>,
    /// Length of the measured part; `None`: until the trace ends.
    duration_s: Option<f64>,
    warm_up_s: f64,
    load: LoadedKeys,
    default_bytes: usize,
    default_scan: u32,
    pub compressibility: u8,
    pub load_batch: u64,
    totals: Vec<KindTotals>,
    /// Bytes of keys and values before the replay, and after all of it.
    loaded_bytes: u64,
    final_bytes: u64,
    turnover: TraceTurnover,
}

impl TraceConfig {
    /// Reads the settings and the trace.
    ///
    /// # Errors
    /// The settings contradict each other or the conditions, or the trace is damaged.
    pub(super) fn new(settings: &Settings, conditions: &Conditions) -> Result<Self, TraceError> {
        let is_recorded = settings.pace == Pace::Recorded;
        if is_recorded && conditions.rate.is_some() {
            return Err(TraceError::RateOfRecorded);
        }
        let trace = read_valid(&Source {
            file: settings.file.0.to_owned(),
            format: settings.format,
            requests: settings.requests,
        })?;
        if is_recorded && !trace.is_timed {
            let file = settings.file.0;
            return Err(TraceError::NoTimes { file });
        }
        if is_recorded && trace.duration_ns() == 0 {
            let file = settings.file.0;
            return Err(TraceError::SameTimes { file });
        }
        let recorded_s = trace.duration_ns() as f64 / 1e9 / settings.speed;
        if is_recorded && conditions.warm_up_s >= recorded_s {
            let warm_up_s = conditions.warm_up_s;
            return Err(TraceError::LongWarmUp {
                warm_up_s,
                recorded_s,
            });
        }
        let mut config = Self {
            kinds: trace.kinds(),
            speed: is_recorded.then_some(settings.speed),
            duration_s: conditions.duration_s,
            warm_up_s: conditions.warm_up_s,
            load: settings.load,
            default_bytes: settings.value_bytes as usize,
            default_scan: settings.scan_records,
            compressibility: settings.compressibility,
            load_batch: settings.loadbatchsize,
            totals: Vec::new(),
            loaded_bytes: 0,
            turnover: TraceTurnover::default(),
            final_bytes: 0,
            trace,
        };
        config.add_up();
        Ok(config)
    }

    /// Refuses counts of nothing: all requests were made during the warm-up.
    ///
    /// # Errors
    /// No request was counted.
    pub(super) fn check_counts(&self, counts: &[u64]) -> Result<(), TraceError> {
        if self.warm_up_s > 0.0 && counts.iter().all(|count| *count == 0) {
            return Err(TraceError::NothingMeasured {
                requests: self.trace.requests,
                warm_up_s: self.warm_up_s,
            });
        }
        Ok(())
    }

    /// The bytes of a value for which the trace states `stated`.
    #[inline]
    pub(super) fn bytes(&self, stated: u32) -> usize {
        match stated {
            0 => self.default_bytes,
            stated => (stated as usize).max(MIN_VALUE_BYTES),
        }
    }

    /// The records of a scan for which the trace states `stated`.
    #[inline]
    pub(super) fn scan_records(&self, stated: u32) -> u32 {
        if stated == 0 {
            self.default_scan
        } else {
            stated
        }
    }

    /// The records that an operation covers.
    #[inline]
    pub(super) fn records_of(&self, operation: Operation) -> u32 {
        match operation.action() {
            Action::Scan => self.scan_records(operation.size),
            _ => 1,
        }
    }

    /// An operation as it is done.
    #[inline]
    pub(super) fn planned(&self, operation: Operation) -> PlannedOperation {
        PlannedOperation {
            action: operation.action(),
            item: operation.key.into(),
            exists: true,
            records: self.records_of(operation),
            queue_scan: None,
            value_bytes: Some(self.bytes(operation.size) as u32),
        }
    }

    /// The most records that a request covers.
    pub(super) fn max_records(&self) -> usize {
        let records = |operation: &Operation| self.records_of(*operation) as usize;
        let requests = self.trace.requests();
        let of_request = requests.map(|request| request.iter().map(records).sum());
        of_request.max().unwrap_or(0)
    }

    /// The number of keys.
    pub(super) fn keys(&self) -> u64 {
        self.trace.facts.len() as u64
    }

    /// Whether a key is loaded before the replay.
    pub(super) fn is_loaded(&self, item: u64) -> bool {
        let facts = self.trace.facts.get(item as usize);
        match self.load {
            LoadedKeys::All => facts.is_some(),
            LoadedKeys::None => false,
            LoadedKeys::Needed => facts
                .and_then(|facts| facts.begins_with)
                .is_some_and(|action| !action.creates()),
        }
    }

    /// Whether any key is not loaded.
    pub(super) fn has_absent(&self) -> bool {
        (0..self.keys()).any(|item| !self.is_loaded(item))
    }

    /// Adds up the bytes that requests move, in the order of the trace.
    fn add_up(&mut self) {
        let load = |(item, facts): (u64, &KeyFacts)| {
            let bytes = self.is_loaded(item).then(|| self.bytes(facts.first_bytes));
            bytes.map_or(0, |bytes| bytes as u64)
        };
        let trace = self.trace.clone();
        // The present size of each value; 0: it is not there.
        let mut values: Vec<u64> = (0_u64..).zip(&trace.facts).map(load).collect();
        self.loaded_bytes = self.live_bytes(&values);
        let records = |values: &[u64]| values.iter().filter(|value| **value > 0).count();
        let loaded = records(&values);
        let mut missed = 0;
        let mean = self.loaded_bytes as f64 / values.len().max(1) as f64;
        let mut totals = vec![KindTotals::default(); self.kinds.names().len()];
        for request in trace.requests() {
            let sum = &mut totals[self.kinds.index(kind(request))];
            sum.requests += 1;
            for operation in request {
                let is_missing = values[operation.key as usize] == 0;
                missed += u64::from(is_missing && operation.action().looks_up());
                let (read, written) = self.moved(*operation, &mut values, mean);
                sum.read_bytes += read;
                sum.written_bytes += written;
            }
        }
        self.totals = totals;
        self.final_bytes = self.live_bytes(&values);
        self.turnover = TraceTurnover {
            loaded,
            left: records(&values),
            missed,
        };
    }

    /// A sentence, if its deletes empty the database while operations still look for the records.
    pub(super) fn caution(&self) -> Option<String> {
        let TraceTurnover {
            loaded,
            left,
            missed,
        } = self.turnover;
        let is_emptied = left < loaded / EMPTIED_FACTOR && missed > 0;
        is_emptied.then(|| {
            format!(
                "its deletes leave {left} of {loaded} records, and {missed} operations look for \
                 one that is not there: operations that find no record cost less"
            )
        })
    }

    /// The bytes that an operation reads and writes; it changes the present sizes.
    fn moved(&self, operation: Operation, values: &mut [u64], mean: f64) -> (f64, f64) {
        let key = self.trace.keys.key(operation.key.into()).len() as f64;
        let value = &mut values[operation.key as usize];
        let read = if *value > 0 { key + *value as f64 } else { 0.0 };
        let action = operation.action();
        if action.stores() {
            *value = self.bytes(operation.size) as u64;
        }
        let written = key + *value as f64;
        match action {
            Action::Get => (read, 0.0),
            Action::Scan => (mean * f64::from(self.scan_records(operation.size)), 0.0),
            Action::Put | Action::Insert => (0.0, written),
            Action::Update => (read, written),
            Action::ReadModifyWrite => (2.0 * read, written),
            Action::Delete => {
                *value = 0;
                (0.0, key)
            }
        }
    }

    fn live_bytes(&self, values: &[u64]) -> u64 {
        let sizes = (0_u64..).zip(values).filter(|(_, value)| **value > 0);
        sizes
            .map(|(item, value)| self.trace.keys.key(item).len() as u64 + value)
            .sum()
    }

    /// Bytes per request of each kind.
    pub(super) fn volumes(&self) -> Vec<OperationBytes> {
        let volume = |sum: &KindTotals| {
            let requests = sum.requests.max(1) as f64;
            OperationBytes::new(sum.read_bytes / requests, sum.written_bytes / requests)
        };
        self.totals.iter().map(volume).collect()
    }

    /// Bytes of keys and values after these requests by kind; `None` if they are a part of the
    /// trace.
    pub(super) fn live_bytes_after(&self, counts: &[u64]) -> Option<u64> {
        (counts.iter().sum::<u64>() == self.trace.requests).then_some(self.final_bytes)
    }

    /// The commits that wrote something, among these requests by kind.
    pub(super) fn commits(&self, counts: &[u64]) -> u64 {
        let each = self.kinds.iter().zip(counts);
        let writing = each.filter(|(kind, _)| kind.writes());
        writing.map(|(_, count)| count).sum()
    }

    /// Bytes that one commit writes, on average.
    pub(super) fn commit_bytes(&self) -> u64 {
        let writing = self.kinds.iter().zip(&self.totals);
        let writing = writing.filter(|(kind, _)| kind.writes());
        let add = |(requests, bytes): (u64, f64), (_, sum): (Kind, &KindTotals)| {
            (requests + sum.requests, bytes + sum.written_bytes)
        };
        let (requests, bytes) = writing.fold((0, 0.0), add);
        (bytes / requests.max(1) as f64) as u64
    }

    /// About how many bytes the database takes: what is there at the start or the end, and what an
    /// engine adds to a record.
    pub(super) fn expected_bytes(&self) -> u64 {
        const OVERHEAD: u64 = 16;
        let bytes = self.loaded_bytes.max(self.final_bytes) + self.keys() * OVERHEAD;
        (1 << 20).max(bytes)
    }

    /// Refuses keys and values that are too long for an engine.
    ///
    /// # Errors
    /// A key or a value is too long.
    pub(super) fn check_room(&self, capabilities: &Capabilities) -> Result<(), TraceError> {
        let key = (
            "a key",
            self.trace.keys.longest(),
            capabilities.max_key_bytes,
        );
        let value_bytes = self.bytes(self.trace.longest_value).max(self.default_bytes);
        let value = ("a value", value_bytes, capabilities.max_value_bytes);
        for (subject, bytes, max_bytes) in [key, value] {
            if bytes > max_bytes {
                return Err(TraceError::TooLong {
                    subject,
                    bytes,
                    max_bytes,
                });
            }
        }
        Ok(())
    }

    /// When a request of the trace is due, nanoseconds since the workers' start.
    #[inline]
    pub(super) fn due_ns(&self, start: u32, speed: f64) -> u64 {
        let time_ns = self.trace.operations[start as usize].time_ns();
        (time_ns as f64 / speed) as u64
    }

    /// The rate at which requests are due within the measured part, per second.
    pub(super) fn rate_per_s(&self, speed: f64) -> f64 {
        let all_s = self.trace.duration_ns() as f64 / 1e9 / speed;
        let begin_s = self.warm_up_s;
        let end_s = self
            .duration_s
            .map_or(all_s, |measured_s| all_s.min(begin_s + measured_s));
        let is_measured = |start: &u32| {
            let due_s = self.due_ns(*start, speed) as f64 / 1e9;
            (begin_s..=end_s).contains(&due_s)
        };
        let count = self.trace.starts().filter(is_measured).count();
        count as f64 / (end_s - begin_s).max(1e-9)
    }

    /// The values of a seed.
    ///
    /// # Errors
    /// Never, for the settings' range is that of the generator.
    pub(super) fn values(&self, seed: u64) -> Result<Values> {
        let percent = payload_percent(self.compressibility, self.default_bytes);
        Values::new(seed, percent).map_err(|error| Error::Workload(error.to_string()))
    }
}

/// The generator of a job's records with these values.
pub(super) fn maker_of(config: &Arc<TraceConfig>, values: Values) -> Maker {
    let keys = RecordKeys::Listed(config.trace.keys.clone());
    Maker::new(keys, values, TraceLengths(config.clone()))
}
