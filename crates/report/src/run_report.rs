//! A run as a report: the methods that write it in each format.

use crate::charts::Charts;
use crate::formats::{Format, Style};
use crate::formats::{csv, html, json, markdown, terminal};
use crate::sections;
use std::path::PathBuf;
use trueput_findings::Run;
use trueput_findings::shell::quoted;
use trueput_record::search::SearchSettings;

/// The page's file in a run folder.
const PAGE: &str = "report.html";

/// Writes a run as a report.
pub trait RunReport {
    /// Writes the report. It ends with a newline.
    #[must_use]
    fn render(&self, format: Format, style: Style) -> String;

    /// Writes the ablation for a terminal, with engine events over time and the published steps. It
    /// ends with a newline.
    #[must_use]
    fn render_ablation(&self, style: Style) -> String;

    /// Writes the answer of a search for a terminal; `None` if the run is no search. It ends with a
    /// newline.
    #[must_use]
    fn render_search(&self, style: Style) -> Option<String>;

    /// Writes the report as one HTML page that needs nothing else: no network and no other file. It
    /// ends with a newline.
    #[must_use]
    fn page(&self) -> String;

    /// Path of the page in the run folder.
    #[must_use]
    fn page_path(&self) -> PathBuf;
}

/// The command that shows every column, whichever command printed a table. JSON has those of a
/// search or an ablation, whose tables are of no single trial.
fn report_as(run: &Run, format: &str) -> String {
    format!("{} report --format {format}", quoted(run.program()))
}

impl RunReport for Run {
    fn render(&self, format: Format, style: Style) -> String {
        match format {
            Format::Terminal => {
                let document = sections::document(self, style.charts);
                terminal::render_with(&document, style, &report_as(self, "csv"))
            }
            Format::Markdown => markdown::render(&sections::document(self, Charts::Off)),
            Format::Csv => csv::render(std::slice::from_ref(self)),
            Format::Json => json::render(self),
        }
    }

    fn render_ablation(&self, style: Style) -> String {
        let document = sections::ablation_document(self);
        terminal::render_with(&document, style, &report_as(self, "json"))
    }

    fn render_search(&self, style: Style) -> Option<String> {
        let document = match self.manifest.search.as_ref()? {
            SearchSettings::Capacity(_) => sections::capacity::document(self),
            SearchSettings::Choice(_) => sections::choice::document(self),
            SearchSettings::Tuning(_) => sections::tuning::document(self),
            // Its answer is that of a plan.
            SearchSettings::Decision(_) => return None,
        };
        Some(terminal::render_with(
            &document,
            style,
            &report_as(self, "json"),
        ))
    }

    fn page(&self) -> String {
        html::render(self)
    }

    fn page_path(&self) -> PathBuf {
        self.folder.join(PAGE)
    }
}
