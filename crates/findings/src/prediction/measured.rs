//! The measured cells that a prediction is made from: one contender with several numbers of
//! clients, and of a cluster with several delays of its network.

use super::commit_wait::{Replication, network_delay_s};
use super::{Error, MAX_CLIENTS};
use crate::compare::{Side, SideCell};
use crate::scaling::{MIN_POINTS, ScalingPoint};
use crate::shell::quoted;
use crate::statistics::median;
use std::collections::BTreeSet;
use trueput_record::load_generator::LoadGenerator;
use trueput_record::measurement::LatencySummary;
use trueput_record::value::Settings;
use trueput_record::{TrialRecord, TrialSpec};

/// The repeats of one number of clients at one delay.
#[derive(Debug, Clone)]
pub(super) struct MeasuredCell<'a> {
    pub(super) workers: u32,
    pub(super) network_delay_s: f64,
    /// Operations per second, of each repeat.
    pub(super) rates: Vec<f64>,
    trials: Vec<&'a TrialRecord>,
}

/// One contender's cells of closed loops.
pub(super) struct MeasuredSeries<'a> {
    /// The specification of one of its trials. The others differ in workers and delay only.
    pub(super) spec: &'a TrialSpec,
    /// The kind of operation whose rate is predicted.
    pub(super) headline: String,
    /// The cells that the law is fitted to, by clients.
    pub(super) base: Vec<MeasuredCell<'a>>,
    /// The others: they only check the prediction.
    pub(super) others: Vec<MeasuredCell<'a>>,
}

impl MeasuredCell<'_> {
    /// The median rate of the repeats, operations per second.
    pub(super) fn per_s(&self) -> f64 {
        median(self.rates.iter().copied()).unwrap_or_default()
    }

    /// The median of the repeats' mean latency of an operation of any kind, seconds; `None` if none
    /// was timed.
    pub(super) fn latency_s(&self) -> Option<f64> {
        median(self.trials.iter().filter_map(|trial| mean_latency_s(trial)))
    }

    /// Its repeats as points of the law.
    pub(super) fn points(&self) -> impl Iterator<Item = ScalingPoint> {
        let workers = f64::from(self.workers);
        let rates = self.rates.iter();
        rates.map(move |&per_s| ScalingPoint { workers, per_s })
    }
}

/// The mean latency of all operations of a trial.
fn mean_latency_s(trial: &TrialRecord) -> Option<f64> {
    let operations = &trial.measurement.as_ref()?.operations;
    let timed = operations.iter().filter(|one| one.latency.is_measured());
    let (mut sum_ns, mut count) = (0.0, 0.0);
    for operation in timed {
        sum_ns += operation.count as f64 * operation.latency.mean_ns;
        count += operation.count as f64;
    }
    (count > 0.0).then(|| sum_ns * 1e-9 / count)
}

fn latency<'a>(trial: &'a TrialRecord, kind: &str) -> Option<&'a LatencySummary> {
    let latency = &trial.measurement.as_ref()?.operation(kind)?.latency;
    latency.is_measured().then_some(latency)
}

impl<'a> MeasuredSeries<'a> {
    /// Takes the series from the selected trials. The law is fitted to the cells with at most
    /// `fit_to` workers at the shortest delay that has enough of them.
    ///
    /// # Errors
    /// [`Error`] if there is no closed loop, more than one series, or no such number of workers.
    pub(super) fn of(side: &'a Side, fit_to: Option<u32>) -> Result<Self, Error> {
        let run = || side.label.clone();
        let cells = side.cells();
        let mut cells: Vec<SideCell<'a>> = cells.into_iter().filter(is_closed_loop).collect();
        let Some(first) = cells.first() else {
            return Err(Error::NoClosedLoop { run: run() });
        };
        let (spec, headline) = (first.spec, first.headline.clone());
        if cells.iter().any(|cell| !is_same_series(spec, cell.spec)) {
            let names = cells.iter().map(|cell| {
                format!(
                    "{} {} {}",
                    cell.name, cell.spec.durability, cell.spec.workload
                )
            });
            let names: BTreeSet<String> = names.collect();
            let names = names.into_iter().collect();
            return Err(Error::SeveralSeries { run: run(), names });
        }
        cells.sort_by_key(|cell| cell.spec.workers);
        let measured: Vec<MeasuredCell<'a>> = cells.iter().map(measured_cell).collect();
        let may_fit = |cell: &MeasuredCell<'_>| fit_to.is_none_or(|most| cell.workers <= most);
        let delay_s = base_delay_s(measured.iter().filter(|cell| may_fit(cell)));
        let Some(delay_s) = delay_s else {
            let least = measured.first().map_or(1, |cell| cell.workers);
            return Err(Error::NothingToFit { least });
        };
        let is_base = |cell: &MeasuredCell<'_>| may_fit(cell) && cell.network_delay_s == delay_s;
        let (base, others) = measured.into_iter().partition(is_base);
        Ok(Self {
            spec,
            headline,
            base,
            others,
        })
    }

    /// The points of all repeats that the law is fitted to.
    pub(super) fn points(&self) -> Vec<ScalingPoint> {
        self.base.iter().flat_map(MeasuredCell::points).collect()
    }

    /// The nodes that it was measured on, at the delay that the law is fitted to.
    pub(super) fn replication(&self) -> Replication {
        let mut measured = Replication::of_trial(self.spec);
        measured.network_delay_s = self.base.first().map_or(0.0, |cell| cell.network_delay_s);
        measured
    }

    /// The part of all operations that are of the kind whose rate is predicted.
    pub(super) fn operation_share(&self) -> f64 {
        let (mut own, mut all) = (0.0, 0.0);
        let trials = self.base.iter().flat_map(|cell| &cell.trials);
        for measurement in trials.filter_map(|trial| trial.measurement.as_ref()) {
            let counts = measurement.operations.iter().map(|one| one.count as f64);
            all += counts.sum::<f64>();
            let headline = measurement.operation(&self.headline);
            own += headline.map_or(0.0, |one| one.count as f64);
        }
        if all > 0.0 { own / all } else { 1.0 }
    }

    /// Whether server and workers ran on this machine alone.
    pub(super) fn is_on_one_machine(&self) -> bool {
        self.spec.conditions.hosts.is_none() && !self.spec.is_on_users_server()
    }

    /// The number of trials that the law is fitted to in which a host that ran workers may have
    /// been the limit.
    pub(super) fn host_limited_trials(&self) -> usize {
        let trials = self.base.iter().flat_map(|cell| &cell.trials);
        let measured = trials.filter_map(|trial| trial.measurement.as_ref());
        measured
            .filter(|one| one.load_generators.iter().any(LoadGenerator::is_limit))
            .count()
    }

    /// Commits per operation of that kind; `None` if the workload does not count them.
    pub(super) fn commits_per_operation(&self) -> Option<f64> {
        let (mut commits, mut operations) = (0.0, 0.0);
        for trial in self.base.iter().flat_map(|cell| &cell.trials) {
            let measurement = trial.measurement.as_ref()?;
            commits += measurement.commits? as f64;
            operations += measurement.operation(&self.headline)?.count as f64;
        }
        (operations > 0.0).then(|| commits / operations)
    }

    /// The mean time of a flush by one committer, as measured without the engine, seconds; `None`
    /// if it was not measured.
    pub(super) fn flush_s(&self) -> Option<f64> {
        let trials = self.base.iter().flat_map(|cell| &cell.trials);
        let limits = trials.filter_map(|trial| trial.hardware_limits.as_ref());
        let alone = limits.filter(|limits| limits.committers == 1);
        let flushes = alone.filter_map(|limits| Some(limits.flush?.separate_per_s));
        median(
            flushes
                .filter(|per_s| *per_s > 0.0)
                .map(|per_s| 1.0 / per_s),
        )
    }

    /// The latencies of the fewest clients: the least that queues changed.
    pub(super) fn latency_of_fewest(&self) -> Option<&LatencySummary> {
        let trials = self.base.first()?.trials.iter();
        let mut timed = trials.filter_map(|trial| latency(trial, &self.headline));
        timed.next()
    }

    /// What makes a fit possible: to use all that was measured, or the command that measures more.
    pub(super) fn remedy(&self, side: &Side) -> String {
        let fitted = self.base.last().map_or(0, |cell| cell.workers);
        let left_out = self.others.iter().map(|cell| cell.workers);
        match left_out.max().filter(|most| *most > fitted) {
            Some(most) if self.base.len() < MIN_POINTS => {
                format!("raise --fit-to, up to {most}")
            }
            _ => format!("run: {}", Self::command(side)),
        }
    }

    /// The command that measured the run, with enough numbers of workers.
    fn command(side: &Side) -> String {
        let mut words = side.report.manifest.host.program.command.iter();
        let mut command: Vec<String> = Vec::new();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--workers" => {
                    words.next();
                }
                word if word.starts_with("--workers=") => {}
                word => command.push(quoted(word)),
            }
        }
        command.push("--workers 1,2,4,8".to_owned());
        command.join(" ")
    }
}

/// Whether a cell shows the law. An open loop has its rate from outside, and faults stop a loop.
fn is_closed_loop(cell: &SideCell<'_>) -> bool {
    let mut measured = cell
        .trials
        .iter()
        .filter_map(|trial| trial.measurement.as_ref());
    let is_open = measured.any(|measurement| measurement.open_loop.is_some());
    !is_open && cell.spec.workers <= MAX_CLIENTS && cell.spec.conditions.faults.is_empty()
}

fn measured_cell<'a>(cell: &SideCell<'a>) -> MeasuredCell<'a> {
    MeasuredCell {
        workers: cell.spec.workers,
        network_delay_s: network_delay_s(cell.spec),
        rates: cell.rates(),
        trials: cell.trials.clone(),
    }
}

/// The shortest delay with enough numbers of workers for a fit; the shortest of all if none has.
fn base_delay_s<'c, 'a: 'c>(cells: impl Iterator<Item = &'c MeasuredCell<'a>>) -> Option<f64> {
    let mut delays: Vec<(f64, usize)> = Vec::new();
    for cell in cells {
        match delays
            .iter_mut()
            .find(|(delay, _)| *delay == cell.network_delay_s)
        {
            Some((_, count)) => *count += 1,
            None => delays.push((cell.network_delay_s, 1)),
        }
    }
    delays.sort_by(|one, other| one.0.total_cmp(&other.0));
    let enough = delays.iter().find(|(_, count)| *count >= MIN_POINTS);
    enough.or(delays.first()).map(|(delay, _)| *delay)
}

fn is_same_series(one: &TrialSpec, other: &TrialSpec) -> bool {
    one.workload == other.workload
        && one.settings == other.settings
        && one.engine == other.engine
        && one.build == other.build
        && one.durability == other.durability
        && without_delay(&one.knobs) == without_delay(&other.knobs)
        && one.worker_kind == other.worker_kind
        && one.conditions == other.conditions
}

fn without_delay(knobs: &Settings) -> Settings {
    let mut knobs = knobs.clone();
    knobs.remove("network_delay");
    knobs
}
