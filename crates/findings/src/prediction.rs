//! The rate and the latency that are expected for other numbers of clients, nodes and delays of
//! the network than were measured, from the fitted scaling law and the costs of a commit.
//!
//! The model has three parts, each measured or given:
//!
//! - a node, whose rate with n clients at it is the scaling law's ([`crate::scaling`]);
//! - the wait of a commit for other nodes, in which it uses nothing of the node ([`CommitWait`]);
//! - clients that begin an operation when the last one has ended ([`steady_state`]).

mod check;
mod closed_network;
mod commit_wait;
mod measured;

pub use check::{CheckKind, CheckedCell, ErrorSummary};
pub use closed_network::{SteadyState, steady_state};
pub use commit_wait::{CommitWait, FollowerCosts, FollowerStep, Replication, UnknownStep};

use crate::compare::Side;
use crate::scaling::{Fit, FitError, Law, fit, law_through};
use check::{Residuals, interval_factor};
use measured::{MeasuredCell, MeasuredSeries};
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::Durability;
use trueput_record::value::Settings;

/// More clients are not asked for: the steady state takes a step for each.
pub const MAX_CLIENTS: u32 = 100_000;

/// What to predict. Whatever is not given is as it was measured.
#[derive(Debug, Clone, Default)]
pub struct PredictionRequest {
    /// Numbers of clients; empty: the most that the law is fitted to.
    pub clients: Vec<u32>,
    /// Numbers of nodes.
    pub nodes: Vec<u32>,
    /// Delays of the network between nodes, one way, seconds.
    pub network_delays_s: Vec<f64>,
    /// What a commit waits for on followers.
    pub step: Option<FollowerStep>,
    /// The number of followers that it waits for, the fastest ones.
    pub followers: Option<u32>,
    /// Round trips between nodes per commit; 1 if not given.
    pub round_trips: Option<f64>,
    /// The mean time of a follower's flush, seconds.
    pub follower_flush_s: Option<f64>,
    /// The time that a follower takes to replay a commit, seconds.
    pub follower_apply_s: Option<f64>,
    /// The law is fitted to cells with at most this many workers.
    pub fit_to: Option<u32>,
}

impl PredictionRequest {
    /// Whether it asks for other nodes, or for what a commit waits for there.
    fn concerns_nodes(&self) -> bool {
        !self.nodes.is_empty()
            || !self.network_delays_s.is_empty()
            || self.step.is_some()
            || self.followers.is_some()
    }
}

/// Why there is no prediction.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No trial that counts is a closed loop.
    #[error(
        "{run}: no valid trial of a closed loop without faults, so no law; 'trueput report' says \
         what its trials are"
    )]
    NoClosedLoop {
        /// The run, as the user typed it.
        run: String,
    },
    /// The trials are of several series.
    #[error(
        "{run}: several series ({}): name one by engine, level or NAME=VALUE of a setting, knob or \
         condition, as in RUN:lmdb,sync",
        names.join("; ")
    )]
    SeveralSeries {
        /// The run, as the user typed it.
        run: String,
        /// Contender, level and workload of each.
        names: Vec<String>,
    },
    /// No cell has so few workers.
    #[error("--fit-to: the fewest workers that were measured are {least}")]
    NothingToFit {
        /// The fewest workers.
        least: u32,
    },
    /// No law fits.
    #[error("{reason}; {remedy}")]
    Fit {
        /// Why not.
        reason: FitError,
        /// What makes a fit possible.
        remedy: String,
    },
    /// The engine is a server of the user's.
    #[error(
        "the nodes behind the address of {engine} are not known, so only other numbers of clients \
         are predicted: remove the options of nodes and network"
    )]
    UnknownNodes {
        /// The engine.
        engine: String,
    },
    /// A single node has no network.
    #[error("one node has no network: name the nodes, as in --nodes 3")]
    NoNetwork,
    /// There are fewer followers than a commit is to wait for.
    #[error("{nodes} nodes have {} followers, so a commit cannot wait for {followers}", nodes - 1)]
    TooFewFollowers {
        /// The nodes.
        nodes: u32,
        /// The followers that a commit is to wait for.
        followers: u32,
    },
    /// A delay is shorter than the one that the law contains.
    #[error(
        "the law was measured at a network delay of {} µs, and the model can only lengthen it: run \
         with a shorter one, as in --knob network_delay=1",
        measured_s * 1e6
    )]
    ShorterDelay {
        /// The delay that was measured, seconds.
        measured_s: f64,
    },
    /// A cost of followers is neither measured nor given.
    #[error("the time of a follower is not measured in this run: give it, as in {option} 1ms")]
    UnknownFollowerCost {
        /// The option that gives it.
        option: &'static str,
    },
    /// It is not known how many commits an operation makes.
    #[error(
        "the workload does not count its commits, so nothing is known of their waits: predict one \
         node, or measure another workload, as in: trueput run micro --set test=overwrite"
    )]
    UncountedCommits,
}

/// A point, and what is expected there.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PredictedPoint {
    /// Clients, each of which begins an operation when its last one has ended.
    pub clients: u32,
    /// The nodes, and what a commit waits for.
    pub replication: Replication,
    /// Whether the user asked for it. Others show how the rate changes with the clients.
    pub is_asked: bool,
    /// The parts of the wait of a commit that the law does not contain yet, seconds.
    pub added_wait: CommitWait,
    /// Whether the law contains a longer wait than is asked for, so that the rate is a lower bound.
    pub is_lower_bound: bool,
    /// Operations per second of all clients together.
    pub per_s: f64,
    /// The 95 % interval of the rate of one more trial; `None` if too few cells could be left out.
    pub interval_per_s: Option<(f64, f64)>,
    /// The mean time of an operation of any kind, seconds: clients over the rate of all kinds.
    pub response_s: f64,
    /// Its interval.
    pub interval_response_s: Option<(f64, f64)>,
    /// The mean number of clients that do not wait for other nodes.
    pub active: f64,
    /// The share of the time in which more clients are active than were measured.
    pub beyond_measured: f64,
}

/// A prediction, its terms, and its error on what was measured.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Prediction {
    /// The contender.
    pub contender: String,
    /// The workload.
    pub workload: String,
    /// Its settings.
    pub settings: Settings,
    /// The level of each commit.
    pub durability: Durability,
    /// The kind of operation whose rate is predicted.
    pub operation: String,
    /// The points, in the order of nodes, delays and clients.
    pub points: Vec<PredictedPoint>,
    /// The law of a node, fitted to every repeat.
    pub law: Fit,
    /// The nodes that were measured, and what a commit waited for there.
    pub measured: Replication,
    /// The part of all operations that are of this kind. The others are as many per operation of
    /// this kind as were measured.
    pub operation_share: f64,
    /// Commits per operation of this kind; `None` if the workload does not count them.
    pub commits_per_operation: Option<f64>,
    /// The costs of a follower.
    pub follower: FollowerCosts,
    /// Measured cells, and what was predicted for them.
    pub checks: Vec<CheckedCell>,
    /// The processors of the machine on which the trials ran; `None` if the server or the workers
    /// ran on others.
    pub shared_cores: Option<u32>,
    /// Trials in which a host that ran workers may have been the limit, so that the law may be the
    /// host's.
    pub host_limited_trials: usize,
}

impl Prediction {
    /// The point that was asked for: the last of each list.
    #[must_use]
    pub fn answer(&self) -> Option<&PredictedPoint> {
        self.points.iter().rfind(|point| point.is_asked)
    }

    /// The errors of a kind of check; `None` if there was none.
    #[must_use]
    pub fn errors(&self, kind: CheckKind) -> Option<ErrorSummary> {
        ErrorSummary::of(&self.checks, kind)
    }
}

/// The model, with everything that it needs from the measured cells.
struct Model<'a> {
    series: MeasuredSeries<'a>,
    law: Fit,
    /// The laws that lack the cell of the same index; `None` if no law is determined without it.
    without: Vec<Option<Law>>,
    measured: Replication,
    follower: FollowerCosts,
    operation_share: f64,
    commits_per_operation: Option<f64>,
    residuals: Residuals,
}

/// Predicts from the selected trials of a run.
///
/// # Errors
/// [`Error`] if no law is fitted, or a term of the model is not known.
pub fn predict(side: &Side, request: &PredictionRequest) -> Result<Prediction, Error> {
    let model = Model::of(side, request)?;
    let points = model.points(request)?;
    let spec = model.series.spec;
    Ok(Prediction {
        contender: spec.contender(),
        workload: spec.workload.clone(),
        settings: spec.settings.clone(),
        durability: spec.durability,
        operation: model.series.headline.clone(),
        points,
        checks: model.checks()?,
        measured: model.measured,
        operation_share: model.operation_share,
        commits_per_operation: model.commits_per_operation,
        shared_cores: model
            .series
            .is_on_one_machine()
            .then_some(side.report.manifest.host.cores),
        host_limited_trials: model.series.host_limited_trials(),
        follower: model.follower,
        law: model.law,
    })
}

impl<'a> Model<'a> {
    fn of(side: &'a Side, request: &PredictionRequest) -> Result<Self, Error> {
        let series = MeasuredSeries::of(side, request.fit_to)?;
        if series.spec.is_on_users_server() && request.concerns_nodes() {
            let engine = series.spec.engine.clone();
            return Err(Error::UnknownNodes { engine });
        }
        let law = fit(&series.points()).map_err(|reason| Error::Fit {
            reason,
            remedy: series.remedy(side),
        })?;
        let cells = 0..series.base.len();
        let without = cells.map(|left_out| {
            let others = series.base.iter().enumerate();
            let others = others.filter(|(index, _)| *index != left_out);
            let points: Vec<_> = others.flat_map(|(_, cell)| cell.points()).collect();
            law_through(&points)
        });
        let without = without.collect();
        let follower = follower_costs(&series, &law, request);
        Ok(Self {
            measured: series.replication(),
            operation_share: series.operation_share(),
            commits_per_operation: series.commits_per_operation(),
            residuals: Residuals::of(&law),
            follower,
            without,
            law,
            series,
        })
    }

    /// The points that are asked for, and with one number of clients those around it.
    fn points(&self, request: &PredictionRequest) -> Result<Vec<PredictedPoint>, Error> {
        let most = self.law.most_workers() as u32;
        let asked = match request.clients.as_slice() {
            [] => vec![most],
            several => several.to_vec(),
        };
        let clients = match asked.as_slice() {
            [one] => ladder(*one, most),
            several => several.to_vec(),
        };
        let mut points = Vec::new();
        for replication in self.replications(request)? {
            for &clients in &clients {
                points.push(PredictedPoint {
                    is_asked: asked.contains(&clients),
                    ..self.point(clients, replication)?
                });
            }
        }
        Ok(points)
    }

    /// The combinations of nodes and delays that are asked for.
    fn replications(&self, request: &PredictionRequest) -> Result<Vec<Replication>, Error> {
        let measured = self.measured;
        let nodes = or_measured(&request.nodes, measured.nodes);
        let delays = or_measured(&request.network_delays_s, measured.network_delay_s);
        let mut all = Vec::new();
        for &nodes in &nodes {
            for &network_delay_s in &delays {
                all.push(replication(request, &measured, nodes, network_delay_s)?);
            }
        }
        Ok(all)
    }

    /// The parts of a commit's wait that the law does not contain yet, and whether the law contains
    /// more than is asked for. What it contains cannot be taken out of it.
    fn added_wait(&self, asked: &Replication) -> Result<(CommitWait, bool), Error> {
        let measured = &self.measured;
        let (wait, contained) = match (asked.waits(), is_same_but_delay(asked, measured)) {
            (false, _) => return Ok((CommitWait::default(), measured.waits())),
            // Only the network differs, so no cost of a follower needs to be known.
            (true, true) => (
                self.follower.network_wait(asked),
                self.follower.network_wait(measured),
            ),
            (true, false) => (self.follower.wait(asked)?, self.follower.wait(measured)?),
        };
        let added = wait.beyond(&contained);
        match self.commits_per_operation {
            None if added.total_s() > 0.0 => Err(Error::UncountedCommits),
            _ => Ok((added, contained.beyond(&wait).total_s() > 0.0)),
        }
    }

    fn point(&self, clients: u32, replication: Replication) -> Result<PredictedPoint, Error> {
        let (added_wait, is_lower_bound) = self.added_wait(&replication)?;
        let commits = self.commits_per_operation.unwrap_or_default();
        let delay_s = commits * added_wait.total_s();
        let solve = |law: &Law| {
            let most = self.law.most_workers();
            steady_state(clients, delay_s, |active| law.at(active), most)
        };
        let state = solve(&self.law.law());
        let per_s = |law: &Law| solve(law).per_s;
        let factor = interval_factor(&self.without, per_s, &self.residuals);
        let around = |value: f64| factor.map(|factor| (value / factor, value * factor));
        let response_s = state.response_s * self.operation_share;
        Ok(PredictedPoint {
            clients,
            replication,
            is_asked: false,
            added_wait,
            is_lower_bound,
            per_s: state.per_s,
            interval_per_s: around(state.per_s),
            response_s,
            interval_response_s: around(response_s),
            active: state.active,
            beyond_measured: state.beyond_measured,
        })
    }

    /// Each measured cell, predicted by a law that lacks it.
    fn checks(&self) -> Result<Vec<CheckedCell>, Error> {
        let mut checks = Vec::new();
        for (cell, law) in self.series.base.iter().zip(&self.without) {
            if let Some(law) = law {
                let predicted = law.at(f64::from(cell.workers));
                checks.push(self.checked(cell, CheckKind::LeftOut, predicted, None));
            }
        }
        for cell in &self.series.others {
            let mut replication = self.measured;
            replication.network_delay_s = cell.network_delay_s;
            if cell.network_delay_s < self.measured.network_delay_s {
                continue;
            }
            let kind = if cell.network_delay_s > self.measured.network_delay_s {
                CheckKind::OtherDelay
            } else {
                CheckKind::MoreWorkers
            };
            let point = self.point(cell.workers, replication)?;
            checks.push(self.checked(cell, kind, point.per_s, point.interval_per_s));
        }
        Ok(checks)
    }

    fn checked(
        &self,
        cell: &MeasuredCell<'_>,
        kind: CheckKind,
        predicted_per_s: f64,
        interval: Option<(f64, f64)>,
    ) -> CheckedCell {
        let measured_per_s = cell.per_s();
        CheckedCell {
            kind,
            clients: cell.workers,
            network_delay_s: cell.network_delay_s,
            measured_per_s,
            predicted_per_s,
            error: predicted_per_s / measured_per_s - 1.0,
            measured_latency_s: cell.latency_s(),
            predicted_response_s: f64::from(cell.workers) * self.operation_share / predicted_per_s,
            is_in_interval: interval.map(|(low, high)| (low..=high).contains(&measured_per_s)),
        }
    }
}

/// The costs of a follower: given, else measured without the engine. A replay takes at most what
/// the operation takes without its flush.
fn follower_costs(
    series: &MeasuredSeries<'_>,
    law: &Fit,
    request: &PredictionRequest,
) -> FollowerCosts {
    let measured_flush_s = match series.spec.durability {
        Durability::Sync => series.flush_s(),
        _ => Some(0.0),
    };
    let commits = series
        .commits_per_operation()
        .filter(|commits| *commits > 0.0);
    let service_s = commits.map(|commits| 1.0 / law.lambda.value / commits);
    let measured_apply_s = service_s
        .zip(measured_flush_s)
        .map(|(service_s, flush_s)| (service_s - flush_s).max(0.0));
    let latency = series.latency_of_fewest();
    FollowerCosts {
        flush_s: request.follower_flush_s.or(measured_flush_s),
        is_flush_given: request.follower_flush_s.is_some(),
        apply_s: request.follower_apply_s.or(measured_apply_s),
        is_apply_given: request.follower_apply_s.is_some(),
        spread: latency.map(commit_wait::spread).unwrap_or_default(),
        round_trips: request.round_trips.unwrap_or(1.0),
    }
}

fn or_measured<T: Copy>(asked: &[T], measured: T) -> Vec<T> {
    if asked.is_empty() {
        vec![measured]
    } else {
        asked.to_vec()
    }
}

/// The nodes that are asked for, and what a commit waits for there: as measured, else one follower
/// and its flush.
fn replication(
    request: &PredictionRequest,
    measured: &Replication,
    nodes: u32,
    network_delay_s: f64,
) -> Result<Replication, Error> {
    if nodes == 1 {
        let needs_nodes = request.step.is_some_and(|step| step > FollowerStep::Local)
            || request.followers.is_some()
            || request.follower_flush_s.is_some()
            || request.follower_apply_s.is_some()
            || network_delay_s > 0.0;
        return if needs_nodes {
            Err(Error::NoNetwork)
        } else {
            Ok(Replication::NONE)
        };
    }
    let is_cluster = measured.nodes > 1;
    let usual = if is_cluster {
        (measured.followers, measured.step)
    } else {
        (1, FollowerStep::On)
    };
    let followers = request.followers.unwrap_or(usual.0);
    if followers >= nodes {
        return Err(Error::TooFewFollowers { nodes, followers });
    }
    if is_cluster && network_delay_s < measured.network_delay_s {
        let measured_s = measured.network_delay_s;
        return Err(Error::ShorterDelay { measured_s });
    }
    Ok(Replication {
        nodes,
        followers,
        step: request.step.unwrap_or(usual.1),
        network_delay_s,
    })
}

fn is_same_but_delay(one: &Replication, other: &Replication) -> bool {
    let network_delay_s = one.network_delay_s;
    *one == Replication {
        network_delay_s,
        ..*other
    }
}

/// Numbers of clients that show how the rate changes: powers of two up to the one that is asked
/// for or the most that were measured, the one that is asked for, and twice as many.
fn ladder(asked: u32, measured: u32) -> Vec<u32> {
    let most = asked.max(measured);
    let powers = (0..31).map(|power| 1 << power);
    let mut clients: Vec<u32> = powers.take_while(|clients| *clients <= most).collect();
    clients.extend([asked, asked.saturating_mul(2).min(MAX_CLIENTS)]);
    clients.sort_unstable();
    clients.dedup();
    clients
}
