//! What a model of a trace is fitted to: how often each key is used, sizes, lengths and times.

use super::error::TraceError;
use super::grammar::FormatChoice;
use super::reader::{Source, read};
use super::stored::Trace;
use crate::keyed::action::Action;

/// What a model of a trace is fitted to. Operations of transactions count one by one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observations {
    /// Look-ups.
    pub gets: u64,
    /// Operations that store a value, whether they read before or not.
    pub puts: u64,
    /// Scans.
    pub scans: u64,
    /// Deletes.
    pub deletes: u64,
    /// How often each key is used but for deletes, in the order of the keys.
    pub accesses: Vec<u64>,
    /// The length of each key, bytes, in the order of the keys.
    pub key_bytes: Vec<u32>,
    /// The sizes of the values that are stored, as often as the trace states one.
    pub value_bytes: Vec<u32>,
    /// The lengths of scans, as often as the trace states one.
    pub scan_records: Vec<u32>,
    /// When the requests begin, in their order, nanoseconds since the first; empty if the trace
    /// states no times.
    pub times_ns: Vec<u64>,
}

/// Reads what a model is fitted to from a trace whose every line must be valid.
///
/// # Errors
/// The file cannot be read, is of no known format, or has a damaged line.
pub(crate) fn observe(file: &str, format: FormatChoice) -> Result<Observations, TraceError> {
    let source = Source {
        file: file.to_owned(),
        format,
        requests: 0,
    };
    Ok(of_trace(&read(&source, &mut Err)?))
}

fn of_trace(trace: &Trace) -> Observations {
    let keys = trace.facts.len();
    let mut seen = Observations {
        accesses: vec![0; keys],
        ..Observations::default()
    };
    let lengths = (0..keys as u64).map(|key| trace.keys.key(key).len() as u32);
    seen.key_bytes = lengths.collect();
    for operation in &trace.operations {
        let action = operation.action();
        let stated = (operation.size > 0).then_some(operation.size);
        match action {
            Action::Get => seen.gets += 1,
            Action::Scan => {
                seen.scans += 1;
                seen.scan_records.extend(stated);
            }
            _ if action.stores() => {
                seen.puts += 1;
                seen.value_bytes.extend(stated);
            }
            _ => {
                seen.deletes += 1;
                continue;
            }
        }
        seen.accesses[operation.key as usize] += 1;
    }
    if trace.is_timed {
        let times = trace.starts();
        let times = times.map(|start| trace.operations[start as usize].time_ns());
        seen.times_ns = times.collect();
    }
    seen
}
