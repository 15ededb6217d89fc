//! Gates: what a comparison must not show, such as a rate that is 3 % lower.

use crate::suggest::did_you_mean;
use crate::value::{format_bytes, format_seconds, parse_bytes, parse_fraction, parse_seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Nanoseconds in a second.
const NS_PER_S: f64 = 1e9;

crate::choices! {
    /// A figure of the second side that a gate limits.
    pub enum GateMetric {
        /// Operations of the headline kind per second.
        Rate = "rate",
        /// The latency that half of the operations do not exceed; in an open loop the response
        /// time.
        P50 = "p50",
        /// The same of 90 % of the operations.
        P90 = "p90",
        /// The same of 99 % of the operations.
        P99 = "p99",
        /// The same of 99.9 % of the operations.
        P999 = "p99.9",
        /// The longest one.
        Max = "max",
        /// The bytes that the database takes on the storage.
        Space = "space",
        /// CPU time of an operation of any kind.
        Cpu = "cpu",
        /// The most memory that the workers and servers had, as PSS.
        Memory = "memory",
        /// Flushes of the device of the log for each commit.
        Flushes = "flushes",
    }
}

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateUnit {
    /// Operations per second.
    PerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A plain number.
    Number,
}

impl GateMetric {
    /// Returns its unit.
    #[must_use]
    pub fn unit(self) -> GateUnit {
        match self {
            Self::Rate => GateUnit::PerSecond,
            Self::P50 | Self::P90 | Self::P99 | Self::P999 | Self::Max | Self::Cpu => {
                GateUnit::Nanoseconds
            }
            Self::Space | Self::Memory => GateUnit::Bytes,
            Self::Flushes => GateUnit::Number,
        }
    }

    /// Returns whether it is one of each kind of operation.
    #[must_use]
    pub fn is_of_operations(self) -> bool {
        matches!(
            self,
            Self::Rate | Self::P50 | Self::P90 | Self::P99 | Self::P999 | Self::Max
        )
    }
}

/// The direction in which a figure must not cross a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateDirection {
    /// The gate fails below the limit.
    Below,
    /// The gate fails above the limit.
    Above,
}

/// A limit of a gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GateLimit {
    /// A change of the second side against the first, as a part: -0.03 for 3 % less.
    Change(f64),
    /// A value of the second side alone, in the metric's unit.
    Value(f64),
}

/// A gate: it fails if the figure of the second side is beyond the limit. `rate<-3%`, `p99>+10%`,
/// `update.p99>5ms`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct GateRule {
    /// The kind of operation; `None` for the kind whose rate ranks contenders.
    pub kind: Option<String>,
    /// The figure.
    pub metric: GateMetric,
    /// The direction of the limit.
    pub direction: GateDirection,
    /// The limit.
    pub limit: GateLimit,
}

/// A text that is no gate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(
    missing_docs,
    reason = "the message of each variant says what its fields are"
)]
pub enum ParseGateError {
    #[error("'{text}' is not a gate; write METRIC<LIMIT or METRIC>LIMIT, as in 'rate<-3%'")]
    NoDirection { text: String },
    #[error(
        "a gate cannot limit '{name}'{}; it can limit {}, and of another kind of operation as in \
         update.p99",
        did_you_mean(name, GateMetric::WORDS.iter().copied()),
        GateMetric::WORDS.join(", ")
    )]
    UnknownMetric { name: String },
    #[error("{metric} is not counted by kind of operation: write {metric} instead of {text}")]
    NotOfOperations { metric: GateMetric, text: String },
    #[error(
        "{metric}: '{limit}' is not a change; write a sign and a percentage, as in -3% or +10%"
    )]
    NotChange { metric: GateMetric, limit: String },
    #[error(
        "'{text}' would fail what got better or stayed the same: write {metric}<-N% or {metric}>+N%"
    )]
    WrongSign { metric: GateMetric, text: String },
    #[error("{metric}: '{limit}' is not {wanted}")]
    NotValue {
        metric: GateMetric,
        limit: String,
        wanted: &'static str,
    },
}

impl GateLimit {
    fn parse(
        metric: GateMetric,
        direction: GateDirection,
        text: &str,
    ) -> Result<Self, ParseGateError> {
        let limit = text.to_owned();
        if text.ends_with('%') {
            let signed = text.starts_with(['+', '-']);
            let change = parse_fraction(text).filter(|part| signed && *part > -1.0);
            let change = change.filter(|part| part.is_finite());
            let change = change.ok_or(ParseGateError::NotChange { metric, limit })?;
            return match direction {
                GateDirection::Below if change > 0.0 => Err(wrong_sign(metric, '<', text)),
                GateDirection::Above if change < 0.0 => Err(wrong_sign(metric, '>', text)),
                _ => Ok(Self::Change(change)),
            };
        }
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let has_unit = text.ends_with(|letter: char| letter.is_ascii_alphabetic());
        let (value, wanted) = match metric.unit() {
            GateUnit::PerSecond => (
                number(text.strip_suffix("/s").unwrap_or(text)),
                "a change such as -3%, or a rate such as 5000/s",
            ),
            GateUnit::Nanoseconds => (
                parse_seconds(text)
                    .ok()
                    .filter(|_| has_unit)
                    .map(|s| s * NS_PER_S),
                "a change such as +10%, or a time such as 5ms",
            ),
            GateUnit::Bytes => (
                parse_bytes(text).ok().map(|bytes| bytes as f64),
                "a change such as +5%, or a size such as 2GiB",
            ),
            GateUnit::Number => (
                number(text),
                "a change such as +5%, or a number such as 1.5",
            ),
        };
        let value = value.filter(|value| *value > 0.0 && value.is_finite());
        let not_value = ParseGateError::NotValue {
            metric,
            limit,
            wanted,
        };
        value.map(Self::Value).ok_or(not_value)
    }
}

fn wrong_sign(metric: GateMetric, sign: char, limit: &str) -> ParseGateError {
    ParseGateError::WrongSign {
        metric,
        text: format!("{metric}{sign}{limit}"),
    }
}

impl FromStr for GateRule {
    type Err = ParseGateError;

    fn from_str(text: &str) -> Result<Self, ParseGateError> {
        let place = text.find(['<', '>']);
        let place = place.ok_or_else(|| ParseGateError::NoDirection {
            text: text.to_owned(),
        })?;
        let (subject, limit) = (text[..place].trim(), text[place + 1..].trim());
        let direction = if text[place..].starts_with('<') {
            GateDirection::Below
        } else {
            GateDirection::Above
        };
        let metric = |name: &str| {
            let mut metrics = GateMetric::ALL.into_iter();
            metrics.find(|metric| metric.word() == name)
        };
        // The name of a metric may have a point, too.
        let (kind, metric) = match (metric(subject), subject.split_once('.')) {
            (Some(metric), _) => (None, metric),
            (None, Some((kind, name))) if metric(name).is_some() && !kind.is_empty() => (
                Some(kind.to_owned()),
                metric(name).unwrap_or(GateMetric::Rate),
            ),
            _ => {
                return Err(ParseGateError::UnknownMetric {
                    name: subject.to_owned(),
                });
            }
        };
        if kind.is_some() && !metric.is_of_operations() {
            return Err(ParseGateError::NotOfOperations {
                metric,
                text: subject.to_owned(),
            });
        }
        Ok(Self {
            kind,
            metric,
            direction,
            limit: GateLimit::parse(metric, direction, limit)?,
        })
    }
}

impl fmt::Display for GateRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = &self.kind {
            write!(formatter, "{kind}.")?;
        }
        let sign = match self.direction {
            GateDirection::Below => '<',
            GateDirection::Above => '>',
        };
        write!(formatter, "{}{sign}", self.metric)?;
        let rounded = |value: f64| format!("{value:.9e}").parse::<f64>().unwrap_or(value);
        match (self.limit, self.metric.unit()) {
            (GateLimit::Change(part), _) => {
                let sign = if self.direction == GateDirection::Below {
                    '-'
                } else {
                    '+'
                };
                write!(formatter, "{sign}{}%", rounded(part.abs() * 100.0))
            }
            (GateLimit::Value(value), GateUnit::PerSecond) => write!(formatter, "{value}/s"),
            (GateLimit::Value(value), GateUnit::Nanoseconds) if value < 1e6 => {
                write!(formatter, "{}us", rounded(value / 1e3))
            }
            (GateLimit::Value(value), GateUnit::Nanoseconds) => {
                formatter.write_str(&format_seconds(rounded(value / NS_PER_S)))
            }
            (GateLimit::Value(value), GateUnit::Bytes) => {
                formatter.write_str(&format_bytes(value as u64).replace(' ', ""))
            }
            (GateLimit::Value(value), GateUnit::Number) => write!(formatter, "{value}"),
        }
    }
}

impl TryFrom<String> for GateRule {
    type Error = ParseGateError;

    fn try_from(text: String) -> Result<Self, ParseGateError> {
        text.parse()
    }
}

impl From<GateRule> for String {
    fn from(rule: GateRule) -> Self {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_read_as_it_is_written() {
        for text in [
            "rate<-3%",
            "p99>+10%",
            "p99>5ms",
            "p99.9>250us",
            "update.p99>+12.5%",
            "update.p99.9>+5%",
            "space>+5%",
            "space>2GiB",
            "cpu>+3%",
            "flushes>1.5",
            "rate<5000/s",
        ] {
            let rule: GateRule = text.parse().unwrap();
            assert_eq!(rule.to_string(), text);
        }
        let rule: GateRule = "rate < -3%".parse().unwrap();
        assert_eq!(rule.limit, GateLimit::Change(-0.03));
        let rule: GateRule = "p99>5ms".parse().unwrap();
        assert_eq!(rule.limit, GateLimit::Value(5e6));
    }

    #[test]
    fn what_is_no_gate_is_refused_with_what_would_be_right() {
        for (text, words) in [
            ("rate", "write METRIC<LIMIT"),
            ("rat<-3%", "did you mean 'rate'"),
            ("speed<-3%", "it can limit rate, p50"),
            ("rate<3%", "write a sign and a percentage"),
            ("rate<+3%", "write rate<-N% or rate>+N%"),
            ("p99>-3%", "write p99<-N% or p99>+N%"),
            ("p99>5", "a time such as 5ms"),
            ("p99>0ms", "a time such as 5ms"),
            ("rate<-100%", "write a sign and a percentage"),
            ("space>many", "a size such as 2GiB"),
            ("update.space>+3%", "write space instead of update.space"),
            (".p99>+3%", "a gate cannot limit '.p99'"),
        ] {
            let reason = text.parse::<GateRule>().unwrap_err().to_string();
            assert!(reason.contains(words), "{text}: {reason}");
        }
    }
}
