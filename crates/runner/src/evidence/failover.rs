//! Failures of a cluster in a trial: the log that a worker keeps of its acknowledged commits, and
//! what all of them say about each planned fault.

use crate::plan::resolution::ResolvedTrial;
use serde::{Deserialize, Serialize};
use trueput_record::TrialRecord;
use trueput_record::failover::{Failover, FaultOutcome};

/// The length of a slot in which commits are counted.
const SLOT_NS: u64 = 100_000_000;

/// The most slots: an hour.
const MAX_SLOTS: usize = 36_000;

/// Gaps between two acknowledgements that are shorter are not kept.
const MIN_GAP_NS: u64 = 5_000_000;

/// The most gaps of a worker; of more the longest are kept.
const MAX_GAPS: usize = 4_096;

/// The time over which a rate is compared with the rate before a fault.
const RATE_WINDOW_NS: u64 = 1_000_000_000;

/// The part of the rate before a fault at which a cluster is back.
const RECOVERED_PART: f64 = 0.9;

/// The commits of a worker that were acknowledged, by time on the machine's monotonic clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CommitLog {
    /// The slot in which the worker began.
    first_slot: u64,
    /// The commits in each slot since.
    slots: Vec<u32>,
    /// The times without an acknowledgement, from and to.
    gaps: Vec<(u64, u64)>,
    last_ns: u64,
    /// Connections that were lost and opened again.
    pub reconnections: u64,
    /// Transactions without effect that were lost with a connection, and repeated.
    pub repeated: u64,
    /// Commits without an answer that had taken effect.
    pub unknown_committed: u64,
    /// Commits without an answer that had not.
    pub unknown_lost: u64,
    /// Those of them that took effect later, after they had been repeated.
    pub late: u64,
    /// Acknowledged commits that were missing later.
    pub missing: u64,
    /// Commits without an answer that were there, and missing later.
    #[serde(default)]
    pub visible_then_lost: u64,
}

impl CommitLog {
    /// Starts a log for about that much time, without an acknowledgement yet.
    pub fn begin(now_ns: u64, expected_s: Option<f64>) -> Self {
        let slots = expected_s.map_or(MAX_SLOTS, |time_s| (time_s * 10.0) as usize + 600);
        Self {
            first_slot: now_ns / SLOT_NS,
            slots: Vec::with_capacity(slots.min(MAX_SLOTS)),
            gaps: Vec::with_capacity(MAX_GAPS),
            last_ns: now_ns,
            ..Self::default()
        }
    }

    /// Notes an acknowledged commit.
    pub fn acknowledge(&mut self, now_ns: u64) {
        let slot = (now_ns / SLOT_NS).saturating_sub(self.first_slot) as usize;
        if slot < self.slots.capacity() {
            if slot >= self.slots.len() {
                self.slots.resize(slot + 1, 0);
            }
            self.slots[slot] += 1;
        }
        self.end_gap(now_ns);
    }

    /// Notes the end of the work.
    pub fn end_gap(&mut self, now_ns: u64) {
        let from_ns = std::mem::replace(&mut self.last_ns, now_ns);
        let length_ns = |gap: (u64, u64)| gap.1.saturating_sub(gap.0);
        let gap = (from_ns, now_ns);
        if length_ns(gap) < MIN_GAP_NS {
            return;
        }
        if self.gaps.len() < MAX_GAPS {
            self.gaps.push(gap);
            return;
        }
        let shortest = self.gaps.iter_mut().min_by_key(|gap| length_ns(**gap));
        if let Some(shortest) = shortest.filter(|shortest| length_ns(**shortest) < length_ns(gap)) {
            *shortest = gap;
        }
    }

    /// Returns the times without an acknowledgement. A worker that has done its share acknowledges
    /// nothing more, and hides no gap of the others: its last one goes on.
    fn gaps_within(&self, from_ns: u64, to_ns: u64) -> Vec<(u64, u64)> {
        let mut gaps = self.gaps.clone();
        match gaps.iter_mut().find(|gap| gap.1 == self.last_ns) {
            Some(last) => last.1 = last.1.max(to_ns),
            None => gaps.push((self.last_ns, to_ns)),
        }
        clipped(&gaps, from_ns, to_ns)
    }

    fn longest_gap_s(&self, from_ns: u64, to_ns: u64) -> f64 {
        longest_s(&clipped(&self.gaps, from_ns, to_ns))
    }

    /// Returns the commits that were acknowledged in these slots.
    fn count(&self, slots: std::ops::Range<u64>) -> u64 {
        let index = |slot: u64| {
            let index = slot.saturating_sub(self.first_slot) as usize;
            index.min(self.slots.len())
        };
        let within = &self.slots[index(slots.start)..index(slots.end).max(index(slots.start))];
        within.iter().map(|count| u64::from(*count)).sum()
    }
}

/// A planned fault that was caused, by the machine's monotonic clock.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CausedFault {
    /// The order, as a plan writes it.
    pub order: String,
    /// The nodes that it concerned.
    pub nodes: Vec<u32>,
    /// When it was given.
    pub at_ns: u64,
}

/// Returns what the logs of all workers say about faults in the measured part.
pub(crate) fn summarize(
    logs: &[CommitLog],
    faults: &[CausedFault],
    (start_ns, end_ns): (u64, u64),
) -> Failover {
    let mut gaps = vec![(start_ns, end_ns)];
    for log in logs {
        gaps = intersection(&gaps, &log.gaps_within(start_ns, end_ns));
    }
    let first_fault_ns = faults.first().map_or(end_ns, |fault| fault.at_ns);
    let usual_gap_s = longest_s(&clipped(&gaps, start_ns, first_fault_ns));
    let next = faults.iter().skip(1).map(|fault| fault.at_ns);
    let ends = next.chain(std::iter::once(end_ns));
    let outcomes = faults.iter().zip(ends).map(|(fault, until_ns)| {
        let own = clipped(&gaps, fault.at_ns, until_ns);
        let longest = own.into_iter().max_by_key(|gap| gap.1 - gap.0);
        let gap = longest.unwrap_or((fault.at_ns, fault.at_ns));
        let recovered_ns = recovered_ns(logs, faults, (fault.at_ns, gap.1), (start_ns, until_ns));
        FaultOutcome {
            at_s: seconds(fault.at_ns.saturating_sub(start_ns)),
            order: fault.order.clone(),
            nodes: fault.nodes.clone(),
            gap_s: longest_s(&[gap]),
            gap_is_open: gap.0 < gap.1 && gap.1 == until_ns,
            recovered_after_s: recovered_ns.map(|at| seconds(at.saturating_sub(fault.at_ns))),
        }
    });
    let sum = |count: fn(&CommitLog) -> u64| logs.iter().map(count).sum();
    Failover {
        faults: outcomes.collect(),
        longest_gap_s: longest_s(&gaps),
        usual_gap_s,
        worker_gaps_s: logs
            .iter()
            .map(|log| log.longest_gap_s(start_ns, end_ns))
            .collect(),
        commits: sum(|log| log.slots.iter().map(|count| u64::from(*count)).sum()),
        reconnections: sum(|log| log.reconnections),
        repeated: sum(|log| log.repeated),
        unknown_committed: sum(|log| log.unknown_committed),
        unknown_lost: sum(|log| log.unknown_lost),
        late: sum(|log| log.late),
        missing: sum(|log| log.missing),
        visible_then_lost: sum(|log| log.visible_then_lost),
    }
}

/// Returns when commits were again acknowledged at nine tenths of the rate before the first fault,
/// over a second, after they had not been; the time of the fault if they always were. `None` if
/// they were not before `until_ns`. The longest gap of the fault ends at `gap_end_ns`.
fn recovered_ns(
    logs: &[CommitLog],
    faults: &[CausedFault],
    (fault_ns, gap_end_ns): (u64, u64),
    (start_ns, until_ns): (u64, u64),
) -> Option<u64> {
    let count = |slots: std::ops::Range<u64>| -> u64 {
        logs.iter().map(|log| log.count(slots.clone())).sum()
    };
    let first_fault_slot = faults.first()?.at_ns / SLOT_NS;
    // Only whole slots before the first fault.
    let before = start_ns / SLOT_NS + 1..first_fault_slot;
    let length = before
        .end
        .checked_sub(before.start)
        .filter(|&slots| slots > 0)?;
    let usual = count(before) as f64 / length as f64;
    let window = RATE_WINDOW_NS / SLOT_NS;
    let last = (until_ns / SLOT_NS).checked_sub(window)?;
    let first = fault_ns / SLOT_NS;
    let is_usual =
        |slot: &u64| count(*slot..slot + window) as f64 >= RECOVERED_PART * usual * window as f64;
    let Some(fell) = (first..=last).find(|slot| !is_usual(slot)) else {
        return (first <= last).then_some(fault_ns);
    };
    // A window that begins before the first acknowledgement has not begun to recover.
    let is_back = |slot: &u64| count(*slot..slot + 1) > 0 && is_usual(slot);
    let back = (fell..=last).find(is_back)?;
    // The gap may end within the slot.
    let from_ns = back * SLOT_NS;
    Some(if gap_end_ns < from_ns + SLOT_NS {
        from_ns.max(gap_end_ns)
    } else {
        from_ns
    })
}

/// Returns why the figures of a trial with planned faults are invalid; empty if they are valid.
pub(crate) fn list_doubts(resolved: &ResolvedTrial, record: &TrialRecord) -> Vec<String> {
    let planned = record.spec.conditions.faults.faults();
    let measured = record.measurement.as_ref();
    let Some(failover) = measured.and_then(|measured| measured.failover.as_ref()) else {
        return Vec::new();
    };
    let mut doubts = Vec::new();
    if failover.missing > 0 {
        let promise = match resolved.promise.cluster {
            Some(survival) => format!("promised to survive: {survival}"),
            None => "the level promises nothing for failures of nodes".to_owned(),
        };
        doubts.push(format!(
            "acknowledged commits that are missing after a fault: {}; {promise}",
            failover.missing
        ));
    }
    if failover.visible_then_lost > 0 {
        doubts.push(format!(
            "commits without an answer that were visible after a fault, then lost: {}; nothing is \
             promised for them, and the workload went on as if they were committed",
            failover.visible_then_lost
        ));
    }
    if failover.late > 0 {
        doubts.push(format!(
            "commits that took effect twice, since one without an answer took effect after it had \
             been repeated: {}",
            failover.late
        ));
    }
    if failover.commits == 0 {
        doubts.push(
            "no write transaction was acknowledged, so nothing is known of failovers: choose a \
             workload that writes"
                .to_owned(),
        );
    }
    if let Some(later) = planned.get(failover.faults.len()) {
        doubts.push(format!("the trial ended before its planned fault {later}"));
    }
    doubts
}

fn seconds(time_ns: u64) -> f64 {
    time_ns as f64 / 1e9
}

fn longest_s(gaps: &[(u64, u64)]) -> f64 {
    seconds(
        gaps.iter()
            .map(|gap| gap.1 - gap.0)
            .max()
            .unwrap_or_default(),
    )
}

/// Returns the parts of the gaps within a time, in order.
fn clipped(gaps: &[(u64, u64)], from_ns: u64, to_ns: u64) -> Vec<(u64, u64)> {
    let mut clipped: Vec<_> = gaps
        .iter()
        .map(|gap| (gap.0.max(from_ns), gap.1.min(to_ns)))
        .filter(|gap| gap.0 < gap.1)
        .collect();
    clipped.sort_unstable();
    clipped
}

/// Returns the times that are in a gap of both lists, which are in order.
fn intersection(one: &[(u64, u64)], other: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let (mut left, mut right) = (0, 0);
    let mut common = Vec::new();
    while let (Some(a), Some(b)) = (one.get(left), other.get(right)) {
        let both = (a.0.max(b.0), a.1.min(b.1));
        if both.0 < both.1 {
            common.push(both);
        }
        if a.1 <= b.1 { left += 1 } else { right += 1 }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A log with a commit every `every_ms` from 0 to 20 s, but for a gap.
    fn log(every_ms: u64, gap_ms: std::ops::Range<u64>) -> CommitLog {
        let mut log = CommitLog::begin(0, Some(20.0));
        for at_ms in (every_ms..20_000).step_by(every_ms as usize) {
            if !gap_ms.contains(&at_ms) {
                log.acknowledge(at_ms * MS);
            }
        }
        log.end_gap(20_000 * MS);
        log
    }

    fn fault(at_ms: u64) -> CausedFault {
        CausedFault {
            order: "kill=leader".to_owned(),
            nodes: vec![1],
            at_ns: at_ms * MS,
        }
    }

    #[test]
    fn the_gap_of_all_is_the_time_in_which_nobody_gets_an_answer() {
        let logs = [log(2, 10_000..12_000), log(2, 10_500..13_000)];
        let found = summarize(&logs, &[fault(10_000)], (0, 20_000 * MS));
        let is_near = |value: f64, expected: f64| (value - expected).abs() < 0.01;
        assert!(is_near(found.longest_gap_s, 1.5), "{found:?}");
        assert!(is_near(found.faults[0].gap_s, 1.5), "{found:?}");
        assert!(is_near(found.worker_gaps_s[0], 2.0) && is_near(found.worker_gaps_s[1], 2.5));
        let back = found.faults[0].recovered_after_s.unwrap();
        assert!((2.3..3.2).contains(&back), "{back}");
    }

    #[test]
    fn a_cluster_that_never_comes_back_has_no_time_to_its_rate() {
        let logs = [log(2, 10_000..20_000)];
        let found = summarize(&logs, &[fault(10_000)], (0, 20_000 * MS));
        assert_eq!(found.faults[0].recovered_after_s, None);
        assert!((found.longest_gap_s - 10.0).abs() < 0.01, "{found:?}");
        assert!(found.faults[0].gap_is_open);
        // The trial ended a little later, with another worker.
        let found = summarize(&logs, &[fault(10_000)], (0, 20_040 * MS));
        assert!(found.faults[0].gap_is_open, "{found:?}");
    }

    #[test]
    fn a_rate_is_back_only_after_the_gap_that_began_later() {
        // A separated leader goes on until it is replaced.
        let logs = [log(2, 12_000..15_000)];
        let found = summarize(&logs, &[fault(10_000)], (0, 20_000 * MS));
        let back = found.faults[0].recovered_after_s.unwrap();
        assert!((5.0..5.3).contains(&back), "{back}");
        assert!(!found.faults[0].gap_is_open && found.usual_gap_s < 0.01);
    }

    #[test]
    fn a_worker_that_ended_early_hides_no_gap_of_the_others() {
        let mut ended = CommitLog::begin(0, Some(20.0));
        for at_ms in 1..5_000 {
            ended.acknowledge(at_ms * MS);
        }
        let logs = [ended, log(2, 10_000..12_000)];
        let found = summarize(&logs, &[fault(10_000)], (0, 20_000 * MS));
        assert!((found.faults[0].gap_s - 2.0).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn a_fault_that_disturbs_nobody_has_no_gap() {
        let logs = [log(2, 0..0), log(2, 0..0)];
        let found = summarize(&logs, &[fault(10_000)], (0, 20_000 * MS));
        assert_eq!(found.longest_gap_s, 0.0);
        let back = found.faults[0].recovered_after_s.unwrap();
        assert!(back <= 0.1, "{back}");
    }

    #[test]
    fn of_too_many_gaps_the_longest_are_kept() {
        let mut log = CommitLog::begin(0, None);
        let mut now_ns = 0;
        for number in 0..2 * MAX_GAPS as u64 {
            now_ns += (6 + number % 7) * MS;
            log.acknowledge(now_ns);
        }
        now_ns += 900 * MS;
        log.acknowledge(now_ns);
        assert_eq!(log.gaps.len(), MAX_GAPS);
        assert!((log.longest_gap_s(0, now_ns) - 0.9).abs() < 1e-9);
    }
}
