//! The formats of a report: a file for each, with a function that writes it. None computes
//! anything, or words it.

pub(crate) mod csv;
pub(crate) mod html;
pub mod json;
pub mod jsonl;
pub(crate) mod markdown;
pub mod openmetrics;
pub mod seconds;
pub(crate) mod terminal;
pub mod trackers;

use crate::charts::Charts;
use std::fmt;
use std::str::FromStr;
use trueput_record::suggest::did_you_mean;

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No format has that name.
    #[error(
        "no report format '{given}'{hint}; the formats are {}",
        Format::ALL.map(Format::name).join(", ")
    )]
    UnknownFormat {
        /// The text as the user typed it.
        given: String,
        /// The nearest name, in words, or nothing.
        hint: String,
    },
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Tables for a terminal.
    Terminal,
    /// GitHub-flavored Markdown.
    Markdown,
    /// A line per trial, plain numbers, every column.
    Csv,
    /// One document: run, host, cells, trials.
    Json,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Terminal, Self::Markdown, Self::Csv, Self::Json];

    /// The format's name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Markdown => "markdown",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| {
                let hint = did_you_mean(text, Self::ALL.map(Self::name));
                Error::UnknownFormat {
                    given: text.to_owned(),
                    hint,
                }
            })
    }
}

/// The look of a report on a terminal. Other formats ignore it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; `None`: as wide as the tables want to be.
    pub width: Option<u16>,
    /// Whether to write color codes.
    pub color: bool,
    /// Whether to draw charts.
    pub charts: Charts,
}
