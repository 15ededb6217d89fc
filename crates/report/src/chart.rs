//! A chart's data, which is drawn, shown as a table and exported as CSV.

use serde::Serialize;
use std::borrow::Cow;
use trueput_findings::answer::RankingVerdict;

/// The most groups of a chart that are drawn; its data has all.
pub(crate) const MAX_DRAWN: usize = 40;

/// The type of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChartKind {
    /// A bar a group: a row of the median, the two ends of its interval, and the repeats.
    Bars,
    /// A bar a group, of a row of shares, one for each of the chart's words.
    Shares,
    /// A bar a group, of parts next to each other: a row of the parts.
    Stack,
    /// A line a group from 0: rows of seconds and a rate, a size or a factor.
    Timeline,
    /// A line a group, the figure on a log scale: rows of seconds and a time.
    LatencyTimeline,
    /// A map a group of times over time, on a log scale: rows of start, end, lower end and upper
    /// end of the band, share.
    HeatMap,
    /// A line a group over percentiles, the figure on a log scale: rows of percentile and figure.
    Percentiles,
    /// A line a group, the figure on a log scale: rows of a rate, or of the number of one of the
    /// chart's words, and of the figure.
    Curve,
    /// A line for each of the first two groups, points for the others: rows of a trial's number
    /// and a factor.
    Course,
    /// Points and a curve for each group: rows of workers, measured rate, fitted rate.
    Scaling,
    /// A bar for each group, divided into intervals: rows of start, end, and the index of a word.
    Intervals,
    /// A point a group with an interval around it, on a log scale with 1 marked: rows of ratio,
    /// lower end, upper end.
    Ratios,
    /// A panel for each of several rankings, in which contenders are below each other: rows of the
    /// panel's word, the figure that orders it and the two ends of its interval.
    Overview,
    /// A panel for each of several rankings, in which contenders are points: rows of the panel's
    /// word, rate and latency.
    RateAndLatency,
}

/// The unit of a column, which decides how its figures are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// A plain number.
    Number,
    /// Per second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A percentile, 0 to 100.
    Percentile,
    /// A share of a whole, 0 to 1.
    Share,
    /// A factor.
    Times,
    /// The number of one of the chart's words.
    Word,
}

/// One chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Chart {
    /// The type of the chart.
    pub kind: ChartKind,
    /// Its title.
    pub title: String,
    /// A name that is unique among the page's charts and tables; set when the chart is added to the
    /// page.
    pub name: String,
    /// A description in one sentence, for screen readers.
    pub says: String,
    /// Label of its axis, if different from the title.
    #[serde(skip)]
    pub label: String,
    /// A note for reading it; may be empty.
    pub note: String,
    /// The kind of groups: `contender`, `series`.
    pub group: &'static str,
    /// The columns of every row.
    pub columns: Vec<ChartColumn>,
    /// The groups, in drawing order.
    pub groups: Vec<ChartGroup>,
    /// The words that figures of [`Unit::Word`] or shares refer to.
    pub words: Vec<Word>,
    /// A figure that is marked across the chart: the leader's, or a limit.
    #[serde(skip)]
    pub reference: Option<f64>,
    /// A further figure that is marked: the limit of an objective beside a leader.
    #[serde(skip)]
    pub limit: Option<f64>,
    /// The panels of a chart that has some.
    #[serde(skip)]
    pub panels: Panels,
}

/// A word, and the number of the color that it has in every chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Word {
    /// The word.
    pub text: Cow<'static, str>,
    /// Its color.
    #[serde(skip)]
    pub color: usize,
}

/// A column of a chart's rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ChartColumn {
    /// Its heading.
    pub title: String,
    /// Name in the legend.
    #[serde(skip)]
    pub name: String,
    /// Unit of its figures.
    pub unit: Unit,
}

/// The rows of one contender or series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ChartGroup {
    /// Its name.
    pub name: String,
    /// A figure per column; `None` if it is missing.
    pub rows: Vec<Vec<Option<f64>>>,
    /// Marks on its line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<ChartMark>,
}

/// A time on a line with a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ChartMark {
    /// When, seconds.
    pub at_s: f64,
    /// The label: `checkpoint`.
    pub text: String,
}

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

impl Chart {
    /// A chart of that kind, with nothing in it so far.
    pub(crate) fn new(kind: ChartKind, group: &'static str) -> Self {
        Self {
            kind,
            group,
            title: String::new(),
            name: String::new(),
            says: String::new(),
            label: String::new(),
            note: String::new(),
            columns: Vec::new(),
            groups: Vec::new(),
            words: Vec::new(),
            reference: None,
            limit: None,
            panels: Panels::default(),
        }
    }
}

impl ChartColumn {
    pub(crate) fn new(title: impl Into<String>, unit: Unit) -> Self {
        let title = title.into();
        Self {
            name: title.clone(),
            title,
            unit,
        }
    }

    /// The column of a part of a whole, with the unit in its heading.
    pub(crate) fn part(name: &str, unit: Unit) -> Self {
        let title = match unit {
            Unit::Seconds => format!("{name}, seconds"),
            Unit::Bytes => format!("{name}, bytes"),
            _ => name.to_owned(),
        };
        Self {
            name: name.to_owned(),
            ..Self::new(title, unit)
        }
    }
}

impl ChartGroup {
    /// A group of figures that are all there, with every digit: one that is in a table too must
    /// not be rounded twice.
    pub(crate) fn new(name: impl Into<String>, rows: impl IntoIterator<Item = Vec<f64>>) -> Self {
        let row = |row: Vec<f64>| row.into_iter().map(Some).collect();
        Self {
            name: name.into(),
            rows: rows.into_iter().map(row).collect(),
            marks: Vec::new(),
        }
    }

    /// A group of one row, in which figures may be missing.
    pub(crate) fn of_row(name: impl Into<String>, row: Vec<Option<f64>>) -> Self {
        Self {
            name: name.into(),
            rows: vec![row],
            marks: Vec::new(),
        }
    }

    /// Figures that appear nowhere else, shortened.
    pub(crate) fn rounded(
        name: impl Into<String>,
        rows: impl IntoIterator<Item = Vec<f64>>,
    ) -> Self {
        let row = |row: Vec<f64>| row.into_iter().map(short).collect();
        Self::new(name, rows.into_iter().map(row))
    }

    /// Whether any figure in it is above 0.
    pub(crate) fn has_something(&self) -> bool {
        let mut figures = self.rows.iter().flatten().flatten();
        figures.any(|figure| *figure > 0.0)
    }
}

/// Seven significant digits: more would only make the page larger.
pub(crate) fn short(figure: f64) -> f64 {
    format!("{figure:.6e}").parse().unwrap_or(figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_digits_of_a_figure_are_kept() {
        assert_eq!(short(12_345_678.9), 12_345_680.0);
        assert_eq!(short(0.0), 0.0);
        assert_eq!(short(0.001_234_567_8), 0.001_234_568);
    }
}
