//! The schedules, with a test for the anomaly of each: it looks at the values that transactions
//! read, how they ended and the final records. Timing plays no part, so a slow machine may hide an
//! anomaly but never makes one up.

use super::schedule::{History, Key, ReadMethod, Step};
use crate::Mode;
use Key::{P, Q, X, Y};
use ReadMethod::{Get, Scan};
use Step::{Abort, Begin, Commit, Put, Read, Search};
use trueput_record::Phenomenon;

/// A schedule that invites an anomaly.
pub struct Anomaly {
    pub phenomenon: Phenomenon,
    /// The difference from other schedules of the same phenomenon.
    pub variant: &'static str,
    /// Steps, each with the number of its transaction, from 1.
    pub steps: Vec<(usize, Step)>,
    /// Returns whether the anomaly occurred.
    pub occurred: fn(&History) -> bool,
}

/// The mode of a reading transaction, its way of reading, and a name for both.
const READERS: [(Mode, ReadMethod, &str); 4] = [
    (Mode::Read, Get, "read transaction, by key"),
    (Mode::Read, Scan, "read transaction, in a scan"),
    (Mode::Write, Get, "write transaction, by key"),
    (Mode::Write, Scan, "write transaction, in a scan"),
];

const BEGIN: Step = Begin(Mode::Write);

/// Returns every schedule.
pub fn all() -> Vec<Anomaly> {
    let mut all = vec![dirty_write()];
    let of_readers = [aborted_read, intermediate_read, read_skew, fuzzy_read];
    for make in of_readers {
        all.extend(READERS.map(|(mode, by, variant)| make(mode, by, variant)));
    }
    all.push(circular_flow());
    all.push(lost_update(Get, "by key"));
    all.push(lost_update(Scan, "in a scan"));
    all.push(write_skew(Get, "by key"));
    all.push(write_skew(Scan, "in scans"));
    all.push(read_only_anomaly());
    all.push(lost_insert());
    all.push(phantom(Mode::Read, "read transaction"));
    all.push(phantom(Mode::Write, "write transaction"));
    all.push(predicate_write_skew([Search, Search], "in scans"));
    let absent = [Read(P, Get), Read(Q, Get)];
    all.push(predicate_write_skew(absent, "of keys that are absent"));
    all.sort_by_key(|anomaly| anomaly.phenomenon);
    all
}

/// Both write x and y in opposite order of time: each record keeps a different transaction's write.
fn dirty_write() -> Anomaly {
    Anomaly {
        phenomenon: Phenomenon::DirtyWrite,
        variant: "of two records",
        steps: vec![
            (1, BEGIN),
            (2, BEGIN),
            (1, Put(X, 1)),
            (2, Put(X, 2)),
            (2, Put(Y, 2)),
            (2, Commit),
            (1, Put(Y, 1)),
            (1, Commit),
        ],
        occurred: |history| history.committed(&[1, 2]) && history.last(X) != history.last(Y),
    }
}

/// The second reads a value that the first writes and then aborts.
fn aborted_read(mode: Mode, by: ReadMethod, variant: &'static str) -> Anomaly {
    Anomaly {
        phenomenon: Phenomenon::AbortedRead,
        variant,
        steps: vec![
            (1, BEGIN),
            (2, Begin(mode)),
            (1, Put(X, 1)),
            (2, Read(X, by)),
            (1, Abort),
            (2, Commit),
        ],
        occurred: |history| history.committed(&[2]) && history.first(2, X) == Some(Some(1)),
    }
}

/// The second reads a value that the first overwrites before it commits.
fn intermediate_read(mode: Mode, by: ReadMethod, variant: &'static str) -> Anomaly {
    Anomaly {
        phenomenon: Phenomenon::IntermediateRead,
        variant,
        steps: vec![
            (1, BEGIN),
            (2, Begin(mode)),
            (1, Put(X, 1)),
            (2, Read(X, by)),
            (1, Put(X, 11)),
            (1, Commit),
            (2, Commit),
        ],
        occurred: |history| history.committed(&[1, 2]) && history.first(2, X) == Some(Some(1)),
    }
}

/// Each reads a write of the other.
fn circular_flow() -> Anomaly {
    Anomaly {
        phenomenon: Phenomenon::CircularFlow,
        variant: "of two records",
        steps: vec![
            (1, BEGIN),
            (2, BEGIN),
            (1, Put(X, 1)),
            (2, Put(Y, 2)),
            (1, Read(Y, Get)),
            (2, Read(X, Get)),
            (1, Commit),
            (2, Commit),
        ],
        occurred: |history| {
            let seen = (history.first(1, Y), history.first(2, X));
            history.committed(&[1, 2]) && seen == (Some(Some(2)), Some(Some(1)))
        },
    }
}

/// Both read a record in its initial state, and write it.
fn lost_update(by: ReadMethod, variant: &'static str) -> Anomaly {
    Anomaly {
        phenomenon: Phenomenon::LostUpdate,
        variant,
        steps: update_of_both(X, by),
        occurred: |history| is_lost(history, X),
    }
}

/// As a lost update, but of an absent record: no version of it is read, so this is a phantom.
fn lost_insert() -> Anomaly {
    Anomaly {
        phenomenon: Phenomenon::Phantom,
        variant: "a key that both find absent and put",
        steps: update_of_both(P, Get),
        occurred: |history| is_lost(history, P),
    }
}

fn update_of_both(key: Key, by: ReadMethod) -> Vec<(usize, Step)> {
    vec![
        (1, BEGIN),
        (2, BEGIN),
        (1, Read(key, by)),
        (2, Read(key, by)),
        (2, Put(key, 2)),
        (2, Commit),
        (1, Put(key, 1)),
        (1, Commit),
    ]
}

fn is_lost(history: &History, key: Key) -> bool {
    let seen = history.first(1, key);
    history.committed(&[1, 2]) && seen.is_some() && seen == history.first(2, key)
}

/// The first reads x before, and y after, the second wrote both.
fn read_skew(mode: Mode, by: ReadMethod, variant: &'static str) -> Anomaly {
    Anomaly {
        phenomenon: Phenomenon::ReadSkew,
        variant,
        steps: vec![
            (1, Begin(mode)),
            (2, BEGIN),
            (1, Read(X, by)),
            (2, Put(X, 2)),
            (2, Put(Y, 2)),
            (2, Commit),
            (1, Read(Y, by)),
            (1, Commit),
        ],
        occurred: |history| {
            let seen = (history.first(1, X), history.first(1, Y));
            history.committed(&[1, 2]) && seen.0.is_some() && seen.1.is_some() && seen.0 != seen.1
        },
    }
}

/// The first reads x before and after the second wrote it.
fn fuzzy_read(mode: Mode, by: ReadMethod, _: &'static str) -> Anomaly {
    let variant = match (mode, by) {
        (Mode::Read, Get) => "one record twice; read transaction, by key",
        (Mode::Read, Scan) => "one record twice; read transaction, in a scan",
        (Mode::Write, Get) => "one record twice; write transaction, by key",
        (Mode::Write, Scan) => "one record twice; write transaction, in a scan",
    };
    Anomaly {
        phenomenon: Phenomenon::ReadSkew,
        variant,
        steps: vec![
            (1, Begin(mode)),
            (2, BEGIN),
            (1, Read(X, by)),
            (2, Put(X, 2)),
            (2, Commit),
            (1, Read(X, by)),
            (1, Commit),
        ],
        occurred: |history| {
            let seen = history.reads(1, X);
            history.committed(&[1, 2]) && seen.windows(2).any(|pair| pair[0] != pair[1])
        },
    }
}

/// Each reads both records in their initial state, and writes one of them.
fn write_skew(by: ReadMethod, variant: &'static str) -> Anomaly {
    Anomaly {
        phenomenon: Phenomenon::WriteSkew,
        variant,
        steps: vec![
            (1, BEGIN),
            (2, BEGIN),
            (1, Read(X, by)),
            (1, Read(Y, by)),
            (2, Read(X, by)),
            (2, Read(Y, by)),
            (1, Put(X, 1)),
            (2, Put(Y, 2)),
            (1, Commit),
            (2, Commit),
        ],
        occurred: |history| {
            // Whichever came first, neither saw the other's write.
            let seen = (history.first(1, Y), history.first(2, X));
            history.committed(&[1, 2]) && seen == (Some(Some(0)), Some(Some(0)))
        },
    }
}

/// A. Fekete et al., "A Read-Only Transaction Anomaly under Snapshot Isolation", SIGMOD Record
/// 2004: the third sees the second's write and not the first's, which did not see the second's.
fn read_only_anomaly() -> Anomaly {
    Anomaly {
        phenomenon: Phenomenon::WriteSkew,
        variant: "shown by a read transaction",
        steps: vec![
            (1, BEGIN),
            (1, Read(X, Get)),
            (1, Read(Y, Get)),
            (2, BEGIN),
            (2, Put(Y, 2)),
            (2, Commit),
            (3, Begin(Mode::Read)),
            (3, Read(X, Get)),
            (3, Read(Y, Get)),
            (3, Commit),
            (1, Put(X, 1)),
            (1, Commit),
        ],
        occurred: |history| {
            let third = (history.first(3, X), history.first(3, Y));
            history.committed(&[1, 2, 3])
                && history.first(1, Y) == Some(Some(0))
                && third == (Some(Some(0)), Some(Some(2)))
        },
    }
}

/// The first searches before and after the second puts a new record there.
fn phantom(mode: Mode, variant: &'static str) -> Anomaly {
    Anomaly {
        phenomenon: Phenomenon::Phantom,
        variant,
        steps: vec![
            (1, Begin(mode)),
            (2, BEGIN),
            (1, Search),
            (2, Put(P, 2)),
            (2, Commit),
            (1, Search),
            (1, Commit),
        ],
        occurred: |history| {
            let seen = history.reads(1, P);
            history.committed(&[1, 2]) && seen.windows(2).any(|pair| pair[0] != pair[1])
        },
    }
}

/// Each finds no record, and puts one where the other looked.
fn predicate_write_skew(looks: [Step; 2], variant: &'static str) -> Anomaly {
    let [first, second] = looks;
    Anomaly {
        phenomenon: Phenomenon::PredicateWriteSkew,
        variant,
        steps: vec![
            (1, BEGIN),
            (2, BEGIN),
            (1, first),
            (2, second),
            (1, Put(Q, 1)),
            (2, Put(P, 2)),
            (1, Commit),
            (2, Commit),
        ],
        occurred: |history| {
            let seen = (history.first(1, P), history.first(2, Q));
            history.committed(&[1, 2]) && seen == (Some(None), Some(None))
        },
    }
}
