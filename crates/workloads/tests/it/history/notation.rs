//! Histories as text, one transaction per line: its worker, its times, its end, then what it did.
//!
//! ```text
//! T0 0..9: x=- x:=1          it did not find x, and wrote version 1
//! T1 5..20 aborted: x=1      it read version 1, and aborted
//! T2: y=2! y=?               other bytes than those of version 2; no value that was ever written
//! end: x=1 y=-               the final read
//! ```
//!
//! Without times, all transactions are concurrent.

use trueput_workloads::history::transactions::{
    FINAL_READER, History, Operation, OperationKind, Outcome,
};
use trueput_workloads::history::version::Version;

pub fn version(text: &str) -> Version {
    match text {
        "-" => Version::ABSENT,
        "?" => Version::DAMAGED,
        number => Version::new(0, number.parse().unwrap()),
    }
}

fn operation(text: &str) -> Operation {
    let (kind, key, value) = match text.split_once(":=") {
        Some((key, value)) => (OperationKind::Write, key, value),
        None => {
            let (key, value) = text.split_once('=').unwrap();
            (OperationKind::Read, key, value)
        }
    };
    Operation {
        kind,
        key: u32::from(key.as_bytes()[0] - b'a'),
        version: version(value.trim_end_matches('!')),
        digest: u32::from(value.ends_with('!')),
    }
}

/// The history of a text.
pub fn history(text: &str) -> History {
    let mut history = History::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (head, operations) = line.split_once(':').unwrap();
        let mut head = head.split_whitespace();
        let worker = match head.next().unwrap() {
            "end" => FINAL_READER,
            name => name[1..].parse().unwrap(),
        };
        let is_final = worker == FINAL_READER;
        let (mut times, mut outcome) = ((1, 1_000), Outcome::Committed);
        if is_final {
            times = (2_000, 2_001);
        }
        for word in head {
            match word {
                "aborted" => outcome = Outcome::Aborted,
                "unknown" => outcome = Outcome::Unknown,
                span => {
                    let (begin, end) = span.split_once("..").unwrap();
                    times = (begin.parse().unwrap(), end.parse().unwrap());
                }
            }
        }
        history.begin(worker, times.0);
        operations
            .split_whitespace()
            .for_each(|text| history.add(operation(text)));
        history.end(outcome, times.1);
    }
    history
}
