//! Whether a trial in open loop kept an objective.

use crate::bottleneck::keeps_rate;
use crate::limits::{check_limits, frequent_kinds};
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::TrialRecord;
use trueput_record::measurement::{Measurement, OpenLoop};
use trueput_record::objective::{Objective, ObjectiveLimit, ObjectiveMetric};
use trueput_record::search::TuningLimits;

/// A figure of a trial that the objective limits.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ObjectiveFigure {
    /// The figure, as in an objective: `p99`.
    pub metric: &'static str,
    /// The kind of request with the highest value; empty for errors, which all kinds share.
    pub kind: String,
    /// Its value: seconds, or a share of the requests.
    pub value: f64,
    /// The limit: seconds, or a share of the requests.
    pub below: f64,
}

/// A reason why a trial did not keep the objective.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Violation {
    /// A figure reached its limit.
    Limit(ObjectiveFigure),
    /// Requests were not started when they were due, and more of them at the end than 5 % of those
    /// that were.
    Backlog {
        /// Requests that were due and not started at the end.
        requests: u64,
        /// How long the oldest of them had waited, seconds.
        oldest_wait_s: f64,
    },
    /// The trial failed, was invalid, or broke a limit.
    Trial {
        /// The reason that the record states.
        message: String,
    },
}

/// The figures of a trial beside an objective.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ObjectiveJudgement {
    /// A figure for each limit; none if the trial has no measurement in open loop.
    pub figures: Vec<ObjectiveFigure>,
    /// The reasons why the objective was not kept; empty if it was.
    pub violations: Vec<Violation>,
}

impl ObjectiveJudgement {
    /// Judges a trial.
    #[must_use]
    pub fn of(trial: &TrialRecord, objective: &Objective) -> Self {
        let mut violations: Vec<_> = trial_violation(trial).into_iter().collect();
        let measurement = trial.measurement.as_ref();
        let measured = measurement.and_then(|it| Some((it, it.open_loop.as_ref()?)));
        let Some((measurement, open)) = measured else {
            return Self {
                figures: Vec::new(),
                violations,
            };
        };
        let figures: Vec<_> = objective
            .limits()
            .iter()
            .filter_map(|limit| figure(limit, measurement, open))
            .collect();
        let reached = figures.iter().filter(|figure| figure.value >= figure.below);
        violations.extend(reached.cloned().map(Violation::Limit));
        if !keeps_rate(measurement) {
            violations.push(Violation::Backlog {
                requests: open.backlog,
                oldest_wait_s: open.oldest_wait_s,
            });
        }
        Self {
            figures,
            violations,
        }
    }

    /// Adds the limit that the trial breaks, if it breaks one.
    #[must_use]
    pub fn within(mut self, trial: &TrialRecord, limits: &TuningLimits) -> Self {
        let kept = trial
            .measurement
            .as_ref()
            .map(|it| check_limits(it, limits));
        if let Some(Err(broken)) = kept {
            let message = broken.to_string();
            self.violations.push(Violation::Trial { message });
        }
        self
    }

    /// Whether the objective was kept.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.violations.is_empty()
    }
}

fn trial_violation(trial: &TrialRecord) -> Option<Violation> {
    let objections = trial.outcome.objections();
    (!objections.is_empty()).then(|| Violation::Trial {
        message: objections.join("; "),
    })
}

fn figure(
    limit: &ObjectiveLimit,
    measurement: &Measurement,
    open: &OpenLoop,
) -> Option<ObjectiveFigure> {
    let (kind, value) = match limit.metric {
        ObjectiveMetric::Errors => {
            let share = measurement.conflicts as f64 / (open.issued as f64).max(1.0);
            (String::new(), share)
        }
        metric => {
            let times = frequent_kinds(&open.responses, |it| it.count).filter_map(|response| {
                let value = metric.of_response_times(&response.latency)?;
                Some((response.kind.clone(), value))
            });
            times.max_by(|(_, one), (_, other)| one.total_cmp(other))?
        }
    };
    Some(ObjectiveFigure {
        metric: limit.metric.word(),
        kind,
        value,
        below: limit.below,
    })
}
