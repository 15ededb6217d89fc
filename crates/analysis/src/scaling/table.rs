//! The law in words and figures for a report.

use super::{Coefficient, Fit, Peak, Unfit};
use crate::document::{Column, Table};
use crate::units::{number, per_cent};

/// A row per series (an engine's reads over its readers, say): the coefficients with their
/// intervals, how well the law fits, and where it peaks. A series without a fit says why.
#[must_use]
pub fn table(series: &[(String, Result<Fit, Unfit>)]) -> Table {
    let column = |title: &str, figures: bool, dispensable: u8| Column {
        title: title.to_owned(),
        figures,
        dispensable,
    };
    let row = |(name, fit): &(String, Result<Fit, Unfit>)| {
        let figures = match fit {
            Ok(fit) => [
                with_interval(&fit.lambda),
                with_interval(&fit.sigma),
                with_interval(&fit.kappa),
                format!("{:.4}", fit.r_squared),
                peak(fit),
            ],
            Err(why) => {
                let mut cells: [String; 5] = Default::default();
                cells[4] = why.to_string();
                cells
            }
        };
        std::iter::once(name.clone()).chain(figures).collect()
    };
    Table {
        columns: vec![
            column("series", false, 0),
            column("λ, one worker/s (95 %)", true, 1),
            column("σ, contention (95 %)", true, 0),
            column("κ, coherency (95 %)", true, 0),
            column("R²", true, 2),
            column("peak", false, 0),
        ],
        rows: series.iter().map(row).collect(),
    }
}

/// What the law says about a series, a sentence each.
#[must_use]
pub fn sentences(name: &str, fit: &Result<Fit, Unfit>) -> Vec<String> {
    let fit = match fit {
        Ok(fit) => fit,
        Err(why) => return vec![format!("{name}: no scaling law was fitted: {why}.")],
    };
    let contention = match fit.sigma.may_be_zero() {
        true => "contention cannot be told from none".to_owned(),
        false => format!(
            "{} of the work is done by one worker at a time",
            per_cent(fit.sigma.value)
        ),
    };
    let mut said = vec![format!("{name}: {contention}.")];
    said.push(match fit.peak {
        Peak::OutOfReach => format!(
            "{name}: no peak is within reach: coherency cannot be told from 0 by what was measured \
             up to {} workers.",
            number(fit.most_workers())
        ),
        Peak::At {
            workers,
            per_s,
            beyond_measured,
        } => {
            let forecast = match beyond_measured {
                true => format!(
                    ", a forecast: no more than {} were measured",
                    number(fit.most_workers())
                ),
                false => String::new(),
            };
            format!(
                "{name}: the law peaks at {} workers with {}/s{forecast}.",
                number(workers),
                number(per_s)
            )
        }
    });
    said
}

fn peak(fit: &Fit) -> String {
    match fit.peak {
        Peak::OutOfReach => "none within reach".to_owned(),
        Peak::At {
            workers,
            per_s,
            beyond_measured,
        } => {
            let forecast = if beyond_measured { ", forecast" } else { "" };
            format!("{}/s at {}{forecast}", number(per_s), number(workers))
        }
    }
}

fn with_interval(coefficient: &Coefficient) -> String {
    let Coefficient {
        value, low, high, ..
    } = *coefficient;
    format!("{} ({} to {})", short(value), short(low), short(high))
}

/// Three digits, however small the figure.
fn short(value: f64) -> String {
    if value > 0.0 && value < 1e-3 {
        format!("{value:.2e}")
    } else {
        number(value)
    }
}
