//! The hosts of a run as blocks of its comparisons: pairs of repeats inside a host.

use crate::eligibility::{ineligibility, rate};
use crate::statistics::{BlockRatios, Judgement, StandingKind, claim_level};
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::TrialRecord;

/// Whether trials of two cells ran on more than one host.
pub(crate) fn are_on_hosts(first: &[&TrialRecord], second: &[&TrialRecord]) -> bool {
    host_names(first.iter().chain(second).copied()).len() > 1
}

/// The hosts on which trials ran, in the order of their names.
pub(crate) fn host_names<'a>(
    trials: impl IntoIterator<Item = &'a TrialRecord>,
) -> BTreeSet<&'a str> {
    let hosts = trials.into_iter().filter_map(|trial| trial.host.as_deref());
    hosts.collect()
}

/// The rates of two cells in the repeats that both have, host by host.
pub(crate) struct HostPairs {
    by_host: BTreeMap<String, Vec<(f64, f64)>>,
}

impl HostPairs {
    /// Pairs the trials of the same repeat on the same host.
    pub fn of(first: &[&TrialRecord], second: &[&TrialRecord], headline: &str) -> Self {
        let key = |trial: &TrialRecord| (trial.host.clone(), trial.spec.repeat);
        let known = first.iter().filter_map(|trial| {
            let rate = rate(trial, headline).filter(|rate| *rate > 0.0)?;
            Some((key(trial), rate))
        });
        let known: BTreeMap<_, f64> = known.collect();
        let mut by_host: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for trial in second {
            let one = known.get(&key(trial));
            let other = rate(trial, headline).filter(|rate| *rate > 0.0);
            if let (Some(host), Some(one), Some(other)) = (&trial.host, one, other) {
                by_host.entry(host.clone()).or_default().push((*one, other));
            }
        }
        Self { by_host }
    }

    /// The hosts that have a pair, in the order of the blocks of [`HostPairs::ratios`].
    pub fn hosts(&self) -> impl Iterator<Item = &String> {
        self.by_host.keys()
    }

    /// The rates of all pairs.
    pub fn rates(&self) -> impl Iterator<Item = (f64, f64)> {
        self.by_host.values().flatten().copied()
    }

    /// The logarithms of the second rate over the first, with hosts as blocks.
    pub fn ratios(&self) -> BlockRatios {
        let logs = |pairs: &Vec<(f64, f64)>| -> Vec<f64> {
            pairs
                .iter()
                .map(|(one, other)| (other / one).ln())
                .collect()
        };
        BlockRatios::new(self.by_host.values().map(logs))
    }
}

impl HostPairs {
    /// The geometric mean of the ratios on a host.
    pub fn mean_ratio(&self, host: &str) -> Option<f64> {
        let pairs = self.by_host.get(host)?;
        let sum: f64 = pairs.iter().map(|(one, other)| (other / one).ln()).sum();
        Some((sum / pairs.len() as f64).exp())
    }
}

/// Reopens what a decided ranking claims, where the hosts do not support it: who is led on all
/// hosts together, but not on one of them, or by less than hosts differ, and who is equal on
/// average alone.
pub(crate) fn reopen(
    judgement: &mut Judgement,
    trials: &[BTreeMap<u32, &TrialRecord>],
    headline: &str,
    ln_equal: f64,
) {
    let all = trials.iter().flat_map(|own| own.values()).copied();
    if host_names(all).len() < 2 {
        return;
    }
    let counting = |place: usize| -> Vec<&TrialRecord> {
        let own = trials[place].values().copied();
        own.filter(|trial| ineligibility(trial, headline).is_none())
            .collect()
    };
    for place in 0..judgement.standings.len() {
        let standing = &mut judgement.standings[place];
        let Some(leader) = standing.against else {
            continue;
        };
        let pairs = HostPairs::of(&counting(leader), &counting(place), headline);
        let ratios = pairs.ratios();
        let is_supported = match standing.kind {
            StandingKind::Led => ratios.support(claim_level(1)),
            StandingKind::Equal => {
                let is_near = |mean: f64| mean.abs() < ln_equal;
                !ratios.is_reversed() || ratios.means().into_iter().all(is_near)
            }
            StandingKind::Leader | StandingKind::Open | StandingKind::Failed => true,
        };
        if !is_supported {
            standing.kind = StandingKind::Open;
            judgement.is_decided = false;
        }
    }
}

/// The geometric mean of each cell's rates over the repeats that all of them have, by cell: a cell
/// without a repeat on a fast host is not slower for it. Empty if there are no such repeats, or the
/// trials ran on fewer than two hosts.
pub(crate) fn balanced_means(
    by_cell: &BTreeMap<u32, Vec<&TrialRecord>>,
    headline: &str,
) -> BTreeMap<u32, f64> {
    let all = by_cell.values().flatten().copied();
    if host_names(all).len() < 2 {
        return BTreeMap::new();
    }
    let repeats = |trials: &Vec<&TrialRecord>| -> BTreeSet<u32> {
        trials.iter().map(|trial| trial.spec.repeat).collect()
    };
    let common = by_cell.values().map(repeats);
    let common = common
        .reduce(|one, other| &one & &other)
        .unwrap_or_default();
    let mean = |(cell, trials): (&u32, &Vec<&TrialRecord>)| {
        let counted = trials.iter().filter(|it| common.contains(&it.spec.repeat));
        let logs = counted.filter_map(|trial| Some(rate(trial, headline)?.ln()));
        let logs: Vec<f64> = logs.collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        (!logs.is_empty()).then(|| (*cell, mean.exp()))
    };
    by_cell.iter().filter_map(mean).collect()
}
