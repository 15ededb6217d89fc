//! Reports of what a run shows, in words, tables and charts: for a terminal, as Markdown, as a page
//! for a browser, and as CSV, JSON and OpenMetrics for programs.
//!
//! [`RunReport::render`] writes a run in one [`Format`], [`RunReport::page`] as a page. The same
//! [`document`] feeds the terminal, Markdown and the page, so that all say the same. Nothing is
//! computed here: that is in `trueput-findings`.

mod ablation;
pub mod answer;
pub mod charts;
mod columns;
pub mod compare;
mod csv;
pub mod document;
pub mod export;
mod fixed_rate;
mod format;
mod hardware_limits;
pub mod history;
mod html;
mod in_memory;
mod isolation;
mod json;
mod knobs;
pub mod log_flush;
mod markdown;
pub mod merge;
mod narrate;
mod over_time;
pub mod published;
mod ranking_title;
mod run_report;
pub mod scaling;
mod sections;
mod significance;
mod steadiness;
pub mod symas;
mod terminal;
pub mod text_width;
mod threen1;
mod tpcc;

pub use format::{Error, Format, Style};
pub use run_report::RunReport;
pub use terminal::{render_with, wrap};
pub use threen1::{threen1_header, threen1_line};
