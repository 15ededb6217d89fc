//! Whether each key, by itself, is a linearizable register: one value at a time, the changes in the
//! order in which they can have been seen.
//!
//! All values are unique, so that this takes no search: P. Gibbons and E. Korach, "Testing Shared
//! Memories", SIAM Journal on Computing 26(4), 1997, section 4.2. All accesses of a value form a
//! zone, from the first end of an access to the last begin. If the first end is before the last
//! begin, the key had this value between them. Two values contradict each other if each had been
//! accessed before the other was for the last time.

use super::versions::VersionIndex;
use crate::history::transactions::FINAL_READER;
use crate::history::version::{Key, Version};
use std::collections::HashMap;

/// The accesses of a value of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zone {
    /// The key.
    pub key: Key,
    /// The version.
    pub version: Version,
    /// The least time at which an access ended; 0 for a key that does not exist yet.
    first_end_ns: u64,
    /// The greatest time at which an access began.
    last_begin_ns: u64,
    /// The transaction of the first end; `None` if nothing has been written yet.
    first: Option<u32>,
    /// The transaction of the last begin.
    last: u32,
}

impl Zone {
    /// Returns whether the key had this value before it had the other.
    pub fn precedes(&self, other: &Self) -> bool {
        self.first_end_ns < other.last_begin_ns
    }

    /// Returns whether the key had this value for a time at least.
    fn is_forward(&self) -> bool {
        self.first_end_ns < self.last_begin_ns
    }
}

/// The zones of all keys.
pub(super) struct ZoneIndex {
    /// By key, then by the first end.
    zones: Vec<Zone>,
    /// The first contradiction, in one line.
    pub contradiction: Option<String>,
}

impl ZoneIndex {
    /// Computes the zones, and checks that those of each key fit an order. The final read counts
    /// only if it must show every commit.
    pub fn new(versions: &VersionIndex<'_>, final_read_counts: bool) -> Self {
        let mut zones = HashMap::new();
        let is_final = |index| versions.transaction(index).worker == FINAL_READER;
        for read in &versions.reads {
            let (key, version, reader) = (read.key, read.version, read.transaction);
            let is_known = version == Version::ABSENT || versions.installer(version).is_some();
            if is_known && (final_read_counts || !is_final(reader)) {
                add(&mut zones, versions, key, version, reader);
            }
        }
        for write in &versions.installations {
            let (key, version) = (write.key, write.version);
            add(&mut zones, versions, key, version, write.transaction);
        }
        let mut zones: Vec<Zone> = zones.into_values().collect();
        zones.sort_by_key(|zone| (zone.key, zone.first_end_ns, zone.version));
        let mut kept = Vec::with_capacity(zones.len());
        let mut contradiction = None;
        for of_key in zones.chunk_by(|one, other| one.key == other.key) {
            match find_contradiction(versions, of_key) {
                None => kept.extend_from_slice(of_key),
                Some(found) => contradiction = contradiction.or(Some(found)),
            }
        }
        Self {
            zones: kept,
            contradiction,
        }
    }

    /// Returns pairs of versions of a key of which the first was replaced before the other, so that
    /// all such pairs follow from these. Keys with a contradiction have none.
    pub fn successions(&self) -> Vec<(Key, Version, Version)> {
        let mut pairs = Vec::new();
        for zones in self.zones.chunk_by(|one, other| one.key == other.key) {
            for after in zones {
                let mut latest_begin_ns = 0;
                let count = zones.partition_point(|before| before.precedes(after));
                for before in zones[..count].iter().rev() {
                    if before.version == after.version {
                        continue;
                    }
                    if before.first_end_ns < latest_begin_ns {
                        // One of those that were listed is between the two.
                        break;
                    }
                    latest_begin_ns = latest_begin_ns.max(before.last_begin_ns);
                    pairs.push((after.key, before.version, after.version));
                }
            }
        }
        pairs
    }
}

/// Extends the zone of a version by the access of a transaction.
fn add(
    zones: &mut HashMap<(Key, Version), Zone>,
    versions: &VersionIndex<'_>,
    key: Key,
    version: Version,
    index: u32,
) {
    let transaction = versions.transaction(index);
    let (begin_ns, end_ns) = (transaction.invoked_ns, transaction.last_effect_ns());
    let is_absent = version == Version::ABSENT;
    let zone = zones.entry((key, version)).or_insert(Zone {
        key,
        version,
        first_end_ns: if is_absent { 0 } else { end_ns },
        last_begin_ns: begin_ns,
        first: (!is_absent).then_some(index),
        last: index,
    });
    if end_ns < zone.first_end_ns {
        (zone.first_end_ns, zone.first) = (end_ns, Some(index));
    }
    if begin_ns > zone.last_begin_ns {
        (zone.last_begin_ns, zone.last) = (begin_ns, index);
    }
}

/// Returns two values of a key that contradict each other, or a value that was read before it was
/// written.
fn find_contradiction(versions: &VersionIndex<'_>, zones: &[Zone]) -> Option<String> {
    let early = zones.iter().find_map(|zone| {
        let writer = versions.installer(zone.version)?.transaction;
        let is_early = zone.first_end_ns < versions.transaction(writer).invoked_ns;
        let (key, version) = (zone.key, zone.version);
        let (reader, writer) = (
            versions.transaction(zone.first?),
            versions.transaction(writer),
        );
        is_early.then(|| {
            format!("{reader} read key {key} = {version} and ended before {writer}, which wrote it")
        })
    });
    if early.is_some() {
        return early;
    }
    let forward: Vec<&Zone> = zones.iter().filter(|zone| zone.is_forward()).collect();
    for pair in forward.windows(2) {
        if pair[1].precedes(pair[0]) {
            return Some(explain(versions, pair[0], pair[1]));
        }
    }
    zones
        .iter()
        .filter(|zone| !zone.is_forward())
        .find_map(|zone| {
            // Forward zones do not overlap: only the last that begins before can contain it.
            let before = forward.partition_point(|other| other.precedes(zone));
            let around = forward[..before].last()?;
            zone.precedes(around)
                .then(|| explain(versions, around, zone))
        })
}

/// Says which accesses of two values contradict each other.
fn explain(versions: &VersionIndex<'_>, one: &Zone, other: &Zone) -> String {
    let start_ns = versions.history.transactions().iter();
    let start_ns = start_ns.map(|first| first.invoked_ns).min().unwrap_or(0);
    let at = |time_ns: u64| format!("{:.1} µs", time_ns.saturating_sub(start_ns) as f64 / 1e3);
    let known = |zone: &Zone| match zone.first {
        Some(first) => format!(
            "{} for {}, which ended at {}",
            zone.version,
            versions.transaction(first),
            at(zone.first_end_ns)
        ),
        None => "nothing at first".to_owned(),
    };
    let again = |zone: &Zone| {
        format!(
            "{} for {}, which began at {}",
            zone.version,
            versions.transaction(zone.last),
            at(zone.last_begin_ns)
        )
    };
    format!(
        "key {} was {}, and {}; but it was {} and {}",
        one.key,
        known(one),
        again(one),
        known(other),
        again(other)
    )
}
