//! What the hosts of a ranking say: the rates of each, on how many of them an order holds, and how
//! far they differ.

use crate::cells::RankedCell;
use crate::eligibility::{ineligibility, rate};
use crate::host_blocks::{HostPairs, host_names};
use crate::statistics::BlockRatios;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use trueput_record::TrialRecord;

/// What the hosts of a ranking say.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RankingHosts {
    /// The hosts, by name.
    pub names: Vec<String>,
    /// By how much a contender's rate differs between hosts: a standard deviation, as a part of it,
    /// over all contenders.
    pub rate_deviation: Option<f64>,
    /// Each contender against the first, in the ranking's order.
    pub orders: Vec<HostOrder>,
    /// Each contender on each host.
    pub rates: Vec<HostRate>,
}

/// The order of the first contender of a ranking and another on the hosts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostOrder {
    /// The first contender.
    pub first: String,
    /// The other.
    pub other: String,
    /// The hosts on which the first is faster, on average over their repeats.
    pub faster_on: Vec<String>,
    /// The hosts on which the other is.
    pub slower_on: Vec<String>,
    /// By how much the ratio of the two differs between hosts: a standard deviation, as a part of
    /// it; `None` if it cannot be told from that of repeats.
    pub ratio_deviation: Option<f64>,
    /// Whether the order is known to change: what a host shows excludes the order of all.
    pub changes: bool,
}

/// A contender on a host.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostRate {
    /// The contender.
    pub contender: String,
    /// The host.
    pub host: String,
    /// The repeats that count.
    pub repeats: usize,
    /// The geometric mean of their rates, per second.
    pub per_s: f64,
    /// That of its pairs with the ranking's first contender, inside the host, over the first's;
    /// `None` for the first itself, and without a pair.
    pub of_first: Option<f64>,
}

impl RankingHosts {
    /// Of the cells of a ranking, best first; `None` if its trials ran on fewer than two hosts.
    pub(crate) fn of(
        cells: &[RankedCell],
        trials: &[&TrialRecord],
        headline: &str,
    ) -> Option<Self> {
        let names = host_names(trials.iter().copied());
        let first = cells.first().filter(|_| names.len() > 1)?;
        let own = |cell: &RankedCell| -> Vec<&TrialRecord> {
            let of_cell = trials.iter().filter(|trial| trial.spec.cell == cell.cell);
            let counting = of_cell.filter(|trial| ineligibility(trial, headline).is_none());
            counting.copied().collect()
        };
        let of_first = own(first);
        let (mut orders, mut rates, mut deviations) = (Vec::new(), Vec::new(), Vec::new());
        for cell in cells {
            let own = own(cell);
            let pairs = HostPairs::of(&of_first, &own, headline);
            let is_first = cell.cell == first.cell;
            if !is_first {
                orders.push(HostOrder::of((first, cell), &pairs));
            }
            deviations.extend(own_blocks(&own, headline).deviation_between());
            for host in &names {
                rates.extend(
                    HostRate::of(cell, host, &own, headline).map(|rate| HostRate {
                        of_first: pairs.mean_ratio(host).filter(|_| !is_first),
                        ..rate
                    }),
                );
            }
        }
        let count = deviations.len() as f64;
        let squares: f64 = deviations.iter().map(|it: &f64| it * it).sum();
        Some(Self {
            names: names.into_iter().map(str::to_owned).collect(),
            rate_deviation: (count > 0.0).then(|| (squares / count).sqrt().exp_m1()),
            orders,
            rates,
        })
    }
}

impl HostOrder {
    fn of((first, other): (&RankedCell, &RankedCell), pairs: &HostPairs) -> Self {
        let ratios = pairs.ratios();
        let means = pairs.hosts().zip(ratios.means());
        let (slower, faster): (Vec<_>, Vec<_>) = means.partition(|(_, mean)| *mean > 0.0);
        let named = |hosts: Vec<(&String, f64)>| -> Vec<String> {
            hosts.into_iter().map(|(host, _)| host.clone()).collect()
        };
        Self {
            first: first.name(),
            other: other.name(),
            faster_on: named(faster),
            slower_on: named(slower),
            ratio_deviation: ratios.deviation_between().map(f64::exp_m1),
            changes: ratios.is_reversed(),
        }
    }
}

impl HostRate {
    fn of(cell: &RankedCell, host: &str, trials: &[&TrialRecord], headline: &str) -> Option<Self> {
        let here = trials.iter().filter(|it| it.host.as_deref() == Some(host));
        let rates: Vec<f64> = here.filter_map(|trial| rate(trial, headline)).collect();
        let sum: f64 = rates.iter().map(|rate| rate.ln()).sum();
        (!rates.is_empty()).then(|| Self {
            contender: cell.name(),
            host: host.to_owned(),
            repeats: rates.len(),
            per_s: (sum / rates.len() as f64).exp(),
            of_first: None,
        })
    }
}

/// The logarithms of a contender's own rates, with hosts as blocks.
fn own_blocks(trials: &[&TrialRecord], headline: &str) -> BlockRatios {
    let mut by_host: BTreeMap<&Option<String>, Vec<f64>> = BTreeMap::new();
    for trial in trials {
        if let Some(rate) = rate(trial, headline).filter(|rate| *rate > 0.0) {
            by_host.entry(&trial.host).or_default().push(rate.ln());
        }
    }
    BlockRatios::new(by_host.into_values())
}
