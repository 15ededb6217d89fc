//! The data of a picture with a panel for each of several rankings.

use crate::chart::Unit;
use trueput_findings::answer::RankingVerdict;

/// Everything that a picture shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Panels {
    /// Its heading, for a picture that is looked at by itself.
    pub title: String,
    /// The conditions of the run, a line each.
    pub conditions: Vec<String>,
    /// The panels, from the left.
    pub panels: Vec<Panel>,
    /// Footnotes: how to read it, marks, what is left out.
    pub notes: Vec<String>,
}

/// The contenders of a ranking.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Panel {
    /// The level, and what else distinguishes the ranking from the other panels'.
    pub title: String,
    /// The promise of the level.
    pub promise: String,
    /// The verdict; `None` for an only contender.
    pub verdict: Option<RankingVerdict>,
    /// The verdict in a sentence; may be empty.
    pub sentence: String,
    /// Label of the axis of the figure that orders the ranking.
    pub label: String,
    /// Unit of that figure.
    pub unit: Unit,
    /// Label of the axis of latencies.
    pub latency_label: String,
    /// The leader's figure, which is marked; `None` if there is no order.
    pub reference: Option<f64>,
    /// The contenders, best first.
    pub rows: Vec<PanelRow>,
}

/// A contender in a panel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PanelRow {
    /// The name that is written: without its marks, which are a sign.
    pub name: String,
    /// The name that tables have, with its marks: it decides the look.
    pub contender: String,
    /// The number of the contender among the chart's groups.
    pub group: usize,
    /// Rate per second, or at one rate the 99th percentile of response times, nanoseconds.
    pub figure: f64,
    /// The figure in words.
    pub text: String,
    /// The interval that the verdict used, around the figure.
    pub interval: Option<(f64, f64)>,
    /// Whether no other contender is shown to be better.
    pub is_first: bool,
    /// The 99th percentile of the latency, nanoseconds.
    pub latency_ns: Option<f64>,
}
