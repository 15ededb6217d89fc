//! Reports of a run in words, tables and charts: for a terminal, as Markdown, as a page for a
//! browser, and as CSV, JSON and OpenMetrics for programs.
//!
//! [`RunReport::render`] writes a run in one [`Format`], [`RunReport::page`] as a page. The same
//! [`document`] feeds the terminal, Markdown and the page, so that all say the same. Nothing is
//! computed here: that is in `trueput-findings`.
//!
//! # Modules
//!
//! - `answer`: the answer of a run, for a terminal
//! - `audit_report`: the report of an audit of durability
//! - `chart`: the data of a chart
//! - `charts`: charts of characters
//! - `compare`: comparisons
//! - `document`: the blocks of which a report consists
//! - `fault_report`: the report of storage faults
//! - `fixed_rate`: rankings at one rate
//! - `formats`: a file for each format
//! - `history`: many runs of one plan
//! - `isolation`: isolation levels
//! - `machine_words`: what limits figures on a machine
//! - `merge`: several runs in one report
//! - `pictures`: pictures of a whole run, as SVG or PNG
//! - `prediction`: rates and latencies expected elsewhere
//! - `published`: published tables
//! - `ranking_title`: the titles of rankings
//! - `run_report`: a run, written in each format
//! - `sections`: a file for each section, with its text, table and chart
//! - `series_style`: the looks of contenders in charts
//! - `significance`: levels of significance
//! - `site`: many runs as a site of pages
//! - `storage_words`: what the storage below trials leaves of their level
//! - `text_width`: the width of text on a terminal
//! - `threen1`: the line of output of the original 3n+1 program
//! - `ticks`: round figures for axes
//! - `trial_command`: the command that runs a trial again

pub mod answer;
pub mod audit_report;
mod bottleneck_words;
mod chart;
pub mod charts;
pub mod compare;
pub mod document;
pub mod fault_report;
mod fixed_rate;
pub mod formats;
pub mod history;
mod isolation;
pub mod machine_words;
pub mod merge;
mod objective;
pub mod pictures;
pub mod prediction;
pub mod published;
mod ranking_title;
mod run_report;
mod sections;
mod series_style;
mod significance;
pub mod site;
mod storage_words;
pub mod text_width;
mod threen1;
mod ticks;
mod trial_command;

pub use formats::terminal::{render_with, wrap};
pub use formats::{Error, Format, Style};
pub use run_report::RunReport;
pub use sections::capacity::last_probe;
pub use sections::tuning::TUNED_PLAN;
pub use sections::{log_flush, scaling};
pub use threen1::{threen1_header, threen1_line};
