//! Service-level objectives: the response times and errors that a contender must keep at a rate.

use crate::latency::LatencySummary;
use crate::suggest::did_you_mean;
use crate::value::{format_seconds, parse_fraction, parse_seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Nanoseconds in a second.
const NS_PER_S: f64 = 1e9;

crate::choices! {
    /// A figure that an objective limits.
    pub enum ObjectiveMetric {
        /// Mean response time.
        Mean = "mean",
        /// The response time that half of the requests do not exceed.
        P50 = "p50",
        /// The response time that 90 % of the requests do not exceed.
        P90 = "p90",
        /// The response time that 99 % of the requests do not exceed.
        P99 = "p99",
        /// The response time that 99.9 % of the requests do not exceed.
        P999 = "p99.9",
        /// The longest response time.
        Max = "max",
        /// Conflicts and deadlocks, which the workload retries, as a share of the requests.
        Errors = "errors",
    }
}

impl ObjectiveMetric {
    /// Returns this figure of response times, seconds; `None` for errors.
    #[must_use]
    pub fn of_response_times(self, times: &LatencySummary) -> Option<f64> {
        let ns = match self {
            Self::Mean => times.mean_ns,
            Self::P50 => times.p50_ns as f64,
            Self::P90 => times.p90_ns as f64,
            Self::P99 => times.p99_ns as f64,
            Self::P999 => times.p999_ns as f64,
            Self::Max => times.max_ns as f64,
            Self::Errors => return None,
        };
        Some(ns / NS_PER_S)
    }

    /// Returns the part of the requests that lies beyond the percentile; `None` if it is none.
    #[must_use]
    pub fn tail(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.1),
            Self::P99 => Some(0.01),
            Self::P999 => Some(0.001),
            Self::Mean | Self::Max | Self::Errors => None,
        }
    }

    /// Formats a value of this figure: a time or a share.
    #[must_use]
    pub fn format(self, value: f64) -> String {
        match self {
            Self::Errors => format!("{}%", rounded(value * 100.0)),
            _ if value < 1e-4 => format!("{}us", rounded(value * 1e6)),
            _ => format_seconds(rounded(value)),
        }
    }
}

/// Rounds to nine significant digits, which hides the error of a conversion between units.
fn rounded(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// A text that is no objective.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(
    missing_docs,
    reason = "the message of each variant says what its fields are"
)]
pub enum ParseObjectiveError {
    #[error("'{text}' is not an objective; write METRIC<LIMIT, as in p99<5ms")]
    NoLimit { text: String },
    #[error(
        "an objective cannot limit '{name}'{}; it can limit {}",
        did_you_mean(name, ObjectiveMetric::WORDS.iter().copied()),
        ObjectiveMetric::WORDS.join(", ")
    )]
    UnknownMetric { name: String },
    #[error("{metric}: '{limit}' is not a time; write it as in 500us, 5ms or 2s")]
    NotTime {
        metric: ObjectiveMetric,
        limit: String,
    },
    #[error("'{metric}<{limit}' has no unit; write {metric}<{limit}ms or {metric}<{limit}s")]
    NoUnit {
        metric: ObjectiveMetric,
        limit: String,
    },
    #[error("'{limit}' is not a share of the requests; write 0.1% or 0.001")]
    NotShare { limit: String },
    #[error("nothing is below {limit}; give {metric} a limit above 0")]
    ZeroLimit {
        metric: ObjectiveMetric,
        limit: String,
    },
    #[error("'{text}' limits {metric} twice; give one limit")]
    Twice {
        text: String,
        metric: ObjectiveMetric,
    },
}

/// One limit: `p99<5ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectiveLimit {
    /// The figure.
    pub metric: ObjectiveMetric,
    /// The figure must be below this: seconds, or a share of the requests.
    pub below: f64,
}

impl fmt::Display for ObjectiveLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}<{}",
            self.metric,
            self.metric.format(self.below)
        )
    }
}

impl FromStr for ObjectiveLimit {
    type Err = ParseObjectiveError;

    fn from_str(text: &str) -> Result<Self, ParseObjectiveError> {
        let (name, limit) = text
            .split_once('<')
            .ok_or_else(|| ParseObjectiveError::NoLimit {
                text: text.to_owned(),
            })?;
        let name = name.trim();
        let mut metrics = ObjectiveMetric::ALL.into_iter();
        let metric = metrics.find(|metric| metric.word() == name);
        let metric = metric.ok_or_else(|| ParseObjectiveError::UnknownMetric {
            name: name.to_owned(),
        })?;
        let limit = limit.trim();
        let below = match metric {
            ObjectiveMetric::Errors => parse_share(limit)?,
            _ => parse_seconds(limit).map_err(|_| ParseObjectiveError::NotTime {
                metric,
                limit: limit.to_owned(),
            })?,
        };
        if below <= 0.0 {
            return Err(ParseObjectiveError::ZeroLimit {
                metric,
                limit: limit.to_owned(),
            });
        }
        // Seconds without a unit are mostly meant as milliseconds.
        let has_unit = limit.ends_with(|letter: char| letter.is_ascii_alphabetic());
        if metric != ObjectiveMetric::Errors && !has_unit {
            return Err(ParseObjectiveError::NoUnit {
                metric,
                limit: limit.to_owned(),
            });
        }
        Ok(Self { metric, below })
    }
}

/// Reads a share of the requests: `0.1%` or `0.001`.
fn parse_share(limit: &str) -> Result<f64, ParseObjectiveError> {
    let share = parse_fraction(limit).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| ParseObjectiveError::NotShare {
        limit: limit.to_owned(),
    })
}

/// Limits that must all be kept: `p50<1ms,p99.9<50ms,errors<0.1%`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Objective {
    limits: Vec<ObjectiveLimit>,
}

impl Objective {
    /// Returns the limits; there is at least one.
    #[must_use]
    pub fn limits(&self) -> &[ObjectiveLimit] {
        &self.limits
    }

    /// Returns the smallest part of the requests that a limit is about: 0.001 for `p99.9`.
    #[must_use]
    pub fn smallest_tail(&self) -> f64 {
        let tails = self.limits.iter().filter_map(|limit| limit.metric.tail());
        tails.fold(0.5, f64::min)
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits: Vec<_> = self.limits.iter().map(ToString::to_string).collect();
        formatter.pad(&limits.join(","))
    }
}

impl FromStr for Objective {
    type Err = ParseObjectiveError;

    fn from_str(text: &str) -> Result<Self, ParseObjectiveError> {
        let limits: Result<Vec<ObjectiveLimit>, _> = text.split(',').map(str::parse).collect();
        let limits = limits?;
        for (at, limit) in limits.iter().enumerate() {
            if limits[..at]
                .iter()
                .any(|other| other.metric == limit.metric)
            {
                return Err(ParseObjectiveError::Twice {
                    text: text.to_owned(),
                    metric: limit.metric,
                });
            }
        }
        Ok(Self { limits })
    }
}

impl TryFrom<String> for Objective {
    type Error = ParseObjectiveError;

    fn try_from(text: String) -> Result<Self, ParseObjectiveError> {
        text.parse()
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_is_read_and_written_alike() {
        for text in [
            "p99<5ms",
            "p50<1ms,p99.9<50ms,errors<0.1%",
            "mean<0.25ms,max<2s",
            "p50<20us",
        ] {
            let objective: Objective = text.parse().unwrap();
            assert_eq!(objective.to_string(), text);
        }
        let objective: Objective = "p99.9 < 500us".parse().unwrap();
        assert_eq!(objective.to_string(), "p99.9<0.5ms");
        assert_eq!(objective.smallest_tail(), 0.001);
    }

    #[test]
    fn what_is_no_objective_is_refused_with_what_would_be_right() {
        for (text, right) in [
            ("p99", "as in p99<5ms"),
            (
                "p95<5ms",
                "it can limit mean, p50, p90, p99, p99.9, max, errors",
            ),
            ("p99<fast", "as in 500us, 5ms or 2s"),
            ("p99<0", "above 0"),
            ("p99<5", "'p99<5' has no unit; write p99<5ms or p99<5s"),
            ("mean < 0.5", "write mean<0.5ms or mean<0.5s"),
            ("errors<2", "write 0.1%"),
            ("p99<5ms,p99<6ms", "twice"),
            ("", "METRIC<LIMIT"),
        ] {
            let reason = text.parse::<Objective>().unwrap_err().to_string();
            assert!(reason.contains(right), "{text}: {reason}");
        }
    }
}
