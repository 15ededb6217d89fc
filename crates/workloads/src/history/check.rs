//! Checks of a history against the levels of isolation, each of which proscribes phenomena.
//!
//! A. Adya, "Weak Consistency", MIT, 1999, defines the phenomena by cycles of dependencies. Which
//! version of a key follows which is not recorded by an engine; it is inferred from what
//! transactions read, as in K. Kingsbury and P. Alvaro, "Elle: Inferring Isolation Anomalies from
//! Experimental Observations", VLDB 2020.
//!
//! # Modules
//!
//! - `versions`: who wrote each version, and over which; anomalies of single reads
//! - `recency`: whether each key alone is a linearizable register
//! - `graph`: the dependencies between transactions
//! - `cycles`: cycles of dependencies
//! - `missing`: acknowledged writes that are gone at the end

mod anomaly;
mod cycles;
mod graph;
mod missing;
mod recency;
mod versions;

pub use anomaly::{Anomaly, AnomalyKind};

use super::transactions::History;
use cycles::find_cycles;
use graph::DependencyGraph;
use missing::MissingWrites;
use recency::ZoneIndex;
use trueput_record::{Isolation, Survival};
use versions::VersionIndex;

/// The findings of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryReport {
    /// Committed transactions, those with an unknown end included whose writes others have read.
    pub committed: usize,
    /// Dependencies between them.
    pub dependencies: usize,
    /// The anomalies, one of each kind that occurred.
    pub anomalies: Vec<Anomaly>,
    /// The first contradiction between the values that a key had and the times of its accesses.
    pub stale: Option<String>,
    /// Acknowledged writes that the final read did not find and that nothing has overwritten.
    pub missing: u64,
    /// The first of them, in one line.
    pub first_missing: Option<String>,
    /// Writes whose commit had no answer, that others have read and that are gone at the end.
    pub visible_then_lost: u64,
}

impl HistoryReport {
    /// Returns an anomaly that the level proscribes; `None` if the history fits the level.
    #[must_use]
    pub fn violation(&self, level: Isolation) -> Option<&Anomaly> {
        let mut anomalies = self.anomalies.iter();
        anomalies.find(|anomaly| anomaly.kind.is_proscribed_by(level))
    }

    /// Returns the levels that the history fits.
    pub fn levels(&self) -> impl Iterator<Item = Isolation> + use<'_> {
        let levels = Isolation::ALL.into_iter();
        levels.filter(|level| self.violation(*level).is_none())
    }
}

/// Checks a history, in time and memory that are proportional to its operations. `survival` says
/// which commits the final read must show; where it need not show every one, it may be late.
#[must_use]
pub fn check(history: &History, survival: Survival) -> HistoryReport {
    let versions = VersionIndex::new(history);
    let zones = ZoneIndex::new(&versions, survival == Survival::EveryCommit);
    let graph = DependencyGraph::new(&versions, &zones);
    let mut anomalies = versions.read_anomalies();
    anomalies.extend(versions.lost_updates());
    for anomaly in find_cycles(&versions, &graph) {
        if anomalies.iter().all(|known| known.kind != anomaly.kind) {
            anomalies.push(anomaly);
        }
    }
    let missing = MissingWrites::find(&versions);
    HistoryReport {
        committed: versions.count_committed(),
        dependencies: graph.all().len(),
        anomalies,
        stale: zones.contradiction,
        missing: missing.count,
        first_missing: missing.first,
        visible_then_lost: missing.visible_then_lost,
    }
}
