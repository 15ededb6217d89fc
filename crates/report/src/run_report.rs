//! A run as a report: the methods that write it in each format.

use crate::charts::Charts;
use crate::formats::{Format, Style};
use crate::formats::{csv, html, json, markdown, terminal};
use crate::sections;
use std::path::PathBuf;
use trueput_findings::Run;
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

/// What shows every column of a ranking, whichever command printed it.
const REPORT_AS_CSV: &str = "trueput report --format csv";

/// Likewise of a search or an ablation, whose tables are of no single trial.
const REPORT_AS_JSON: &str = "trueput report --format json";

impl RunReport for Run {
    fn render(&self, format: Format, style: Style) -> String {
        match format {
            Format::Terminal => {
                let document = sections::document(self, style.charts);
                terminal::render_with(&document, style, REPORT_AS_CSV)
            }
            Format::Markdown => markdown::render(&sections::document(self, Charts::Off)),
            Format::Csv => csv::render(std::slice::from_ref(self)),
            Format::Json => json::render(self),
        }
    }

    fn render_ablation(&self, style: Style) -> String {
        terminal::render_with(&sections::ablation_document(self), style, REPORT_AS_JSON)
    }

    fn render_search(&self, style: Style) -> Option<String> {
        let document = match self.manifest.search.as_ref()? {
            SearchSettings::Capacity(_) => sections::capacity::document(self),
            SearchSettings::Choice(_) => sections::choice::document(self),
            SearchSettings::Tuning(_) => sections::tuning::document(self),
            // Its answer is that of a plan.
            SearchSettings::Decision(_) => return None,
        };
        Some(terminal::render_with(&document, style, REPORT_AS_JSON))
    }

    fn page(&self) -> String {
        html::render(self)
    }

    fn page_path(&self) -> PathBuf {
        self.folder.join(PAGE)
    }
}
