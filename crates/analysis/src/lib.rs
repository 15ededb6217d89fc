//! Statistics and reports, made from a run folder alone: no engine and no runner is needed.
//!
//! [`Report::load`] reads a folder, [`Report::render`] writes it in one [`Format`], [`Report::page`]
//! as a page for a browser. The same [`document`] feeds the terminal, Markdown and the page, so that
//! all say the same.

pub mod answer;
pub mod at_rate;
pub mod bottleneck;
pub mod builds;
mod ceilings;
pub mod cells;
mod certainty;
pub mod charts;
mod columns;
pub mod compare;
mod contender;
mod csv;
mod disturbance;
pub mod document;
pub mod export;
mod held;
pub mod history;
mod html;
pub mod inference;
mod integrity;
mod isolation;
mod json;
mod knobs;
pub mod ledger;
pub mod log_flush;
mod markdown;
pub mod marks;
pub mod merge;
mod narrate;
pub mod over_time;
pub mod published;
pub mod rankings;
pub mod repeats;
pub mod report;
#[cfg(test)]
mod samples;
pub mod scaling;
mod sections;
pub mod statistics;
mod steadiness;
pub mod symas;
mod terminal;
pub mod text_width;
pub mod threen1;
mod tpcc;
mod trial_names;
pub mod units;
mod volatile;
mod writers;

pub use narrate::quoted;
pub use report::{Error, Format, Report, Style};
pub use terminal::{render_with, wrap};
pub use threen1::{Threen1Line, threen1_header, threen1_line};
