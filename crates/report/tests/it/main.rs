//! Reports of run folders, as one program: a test's name begins with its file.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

/// Asserts that a text has each of some parts.
macro_rules! assert_has {
    ($text:expr, $($part:expr),+ $(,)?) => {
        $(assert!($text.contains($part), "no '{}' in {}", $part, $text);)+
    };
}

/// Starts the browser; ends the test if there is none.
macro_rules! started {
    () => {
        started!(crate::support::browser::Browser::start())
    };
    ($browser:expr) => {
        match $browser {
            Some(browser) => browser,
            None => return,
        }
    };
}

mod ablation;
mod absence;
mod audits;
mod bottlenecks;
mod builds;
mod choice;
mod claims;
mod compare_words;
mod completed_ranges;
mod export;
mod fixed_rate;
mod formats;
mod load_generators;
mod log_flush;
mod objectives;
mod over_time;
mod page;
mod page_charts;
mod page_colors;
mod page_multi_run;
mod page_pictures;
mod page_responses;
mod page_tables;
mod page_whole;
mod page_widths;
mod published;
mod published_pairs;
mod published_since_2022;
mod rankings;
mod scaling;
mod screens;
mod storage;
mod storage_models;
mod summary;
mod support;
mod tpcc;
mod tuning;
