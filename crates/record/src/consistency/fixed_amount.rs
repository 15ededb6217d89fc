//! Checks the counts of a workload whose amount is stated: no trial does more requests than its
//! trace or its settings have.

use crate::measurement::Measurement;
use crate::{TrialRecord, Value};
use std::collections::BTreeMap;

/// The workload that replays a trace.
const TRACE: &str = "trace";

/// The result that says how many requests are in a trace.
const TRACE_REQUESTS: &str = "trace_requests";

/// Settings that state the operations of all workers together, each of which is counted once; 0
/// states none.
const AMOUNTS: [(&str, &str); 6] = [
    (TRACE, "requests"),
    ("ycsb", "operationcount"),
    ("custom", "operationcount"),
    ("mixgraph", "mix_accesses"),
    ("pgbench", "transactions"),
    ("sysbench", "events"),
];

/// Returns what the counts contradict.
pub(super) fn contradictions(record: &TrialRecord, measured: &Measurement) -> Vec<String> {
    let workload = record.spec.workload.as_str();
    let mut amounts = Vec::new();
    for (_, setting) in AMOUNTS.iter().filter(|(known, _)| *known == workload) {
        let stated = positive(&record.spec.settings, setting);
        amounts.extend(stated.map(|amount| (*setting, amount)));
    }
    let mut found = Vec::new();
    if workload == TRACE {
        match positive(&measured.results, TRACE_REQUESTS) {
            Some(amount) => amounts.push((TRACE_REQUESTS, amount)),
            None if record.verification.as_ref().is_some_and(|it| it.passed) => {
                found.push("the requests of its trace are not stated".to_owned());
            }
            None => {}
        }
    }
    let counts = measured.operations.iter().map(|one| one.count);
    let done: u128 = counts.map(u128::from).sum();
    let open = measured.open_loop.as_ref();
    let open = open.filter(|open| open.is_recorded());
    let responses = open.iter().flat_map(|open| &open.responses);
    let answered: u128 = responses.map(|one| u128::from(one.count)).sum();
    for (name, amount) in amounts {
        let counted = done.max(answered);
        if counted > u128::from(amount) {
            found.push(format!(
                "{counted} operations ended, and {name} is {amount}"
            ));
        }
    }
    found
}

fn positive(values: &BTreeMap<String, Value>, name: &str) -> Option<u64> {
    match values.get(name) {
        Some(Value::Integer(number)) => u64::try_from(*number).ok().filter(|number| *number > 0),
        _ => None,
    }
}
