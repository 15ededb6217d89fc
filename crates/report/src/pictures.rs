//! Pictures of a whole run, drawn without a browser: for slides, as SVG or PNG, and on the page.
//!
//! A picture is laid out once, as a list of shapes with absolute positions, and then written as
//! SVG or PNG. Texts are measured with the font that is shipped here, so that a picture is the same
//! on every machine.

pub(crate) mod content;
mod display_list;
mod fonts;
mod grid;
mod latencies;
mod overview;
mod palette;
mod placement;
mod png;
mod scale;
mod svg;

use crate::chart::{Chart, ChartKind};
use crate::series_style::Appearance;
use display_list::DisplayList;
use grid::Frame;
use maud::Markup;
use std::path::Path;
use trueput_findings::{Findings, Run};

/// Why a picture could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ending of the file's name is of no format.
    #[error("a chart's file ends in .svg or .png, which decides its format")]
    UnknownFormat,
    /// The run has nothing that the chart could show.
    #[error("no {} chart: {reason}", chart.name())]
    Empty {
        /// The chart.
        chart: ChartName,
        /// Why there is nothing to draw.
        reason: &'static str,
    },
    /// The picture cannot be written as PNG.
    #[error("cannot write the chart as PNG: {0}")]
    Png(String),
}

/// A chart of a whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartName {
    /// All rankings side by side, with intervals and verdicts.
    Overview,
    /// Rate against the 99th percentile of latency.
    Latency,
}

impl ChartName {
    /// Every chart.
    pub const ALL: [Self; 2] = [Self::Overview, Self::Latency];

    /// The chart's name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Latency => "latency",
        }
    }

    /// The chart of a name; `None` if none has it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|chart| chart.name() == name)
    }
}

/// The format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Network Graphics, with two pixels for each unit of length.
    Png,
}

impl ImageFormat {
    /// The format that the ending of a file's name says.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`] for another ending, or none.
    pub fn of_file(file: &Path) -> Result<Self, Error> {
        let ending = file.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => Err(Error::UnknownFormat),
        }
    }
}

/// Draws a chart of a run for a slide, 1280 by 720: the content of a file of that format.
///
/// # Errors
/// [`Error::Empty`] if the run has nothing that the chart could show.
pub fn picture(run: &Run, chart: ChartName, format: ImageFormat) -> Result<Vec<u8>, Error> {
    let findings = Findings::of(run);
    let found = match chart {
        ChartName::Overview => content::overview(&findings),
        ChartName::Latency => content::latency(&findings),
    };
    let found = found.map_err(|reason| Error::Empty { chart, reason })?;
    let sets: Vec<_> = names_by_panel(&found).collect();
    let list = lay_out(&found, Frame::SLIDE, &Appearance::of_sets(&sets));
    match format {
        ImageFormat::Svg => Ok(svg::file(&list, &found).into_bytes()),
        ImageFormat::Png => png::file(&list).map_err(Error::Png),
    }
}

/// The names that are in a panel together, for each panel.
fn names_by_panel(chart: &Chart) -> impl Iterator<Item = Vec<String>> {
    let panels = chart.panels.panels.iter();
    panels.map(|panel| panel.rows.iter().map(|row| row.contender.clone()).collect())
}

fn lay_out(chart: &Chart, frame: Frame, styles: &Appearance) -> DisplayList {
    match chart.kind {
        ChartKind::RateAndLatency => latencies::lay_out(&chart.panels, frame, styles),
        _ => overview::lay_out(&chart.panels, frame, styles),
    }
}

/// Widths of the page's drawings, of which its style shows the one that fits; with the class of
/// each.
const PAGE_WIDTHS: [(f64, &str); 3] = [
    (1_086.0, "at-wide"),
    (640.0, "at-medium"),
    (316.0, "at-narrow"),
];

/// A chart of panels on the page: a drawing for each width, which no script has to lay out.
pub(crate) fn on_page(chart: &Chart, styles: &Appearance) -> Markup {
    let drawings = PAGE_WIDTHS.iter().map(|(width, class)| {
        let list = lay_out(chart, Frame::page(*width), styles);
        svg::on_page(&list, chart, class)
    });
    maud::html! { @for drawing in drawings { (drawing) } }
}

#[cfg(test)]
mod tests;
