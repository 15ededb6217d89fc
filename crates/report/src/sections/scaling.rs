//! The law in words and figures for a report.

use super::{Part, Section, SectionInput};
use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, Unit, short as short_figure};
use crate::document::{Block, Table};
use std::collections::{BTreeMap, BTreeSet};
use trueput_findings::rankings::Ranking;
use trueput_findings::scaling::{
    Coefficient, Fit, FitError, MIN_R_SQUARED, Misfit, Peak, ScalingSeries, fits, most_workers,
    series,
};
use trueput_findings::units::{number, per_cent};
use trueput_record::Durability;

/// The Universal Scalability Law, fitted to rates by workers.
pub(crate) struct ScalingLaws;

impl Section for ScalingLaws {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let blocks = blocks(&input.rankings, input.run.manifest.host.cores);
        let part = Part::with_text("Scaling", SCALING_TEXT, blocks);
        let charts = input.page_charts(|| charts(&input.rankings));
        part.map(|part| Part { charts, ..part })
    }
}

/// A row per series (an engine's reads, for example): the coefficients with their intervals, the
/// quality of the fit, and the peak. A series without a fit has no row, and one that the law does
/// not describe has no coefficients.
#[must_use]
pub fn table(series: &[(String, Result<Fit, FitError>)]) -> Table {
    let fitted = series.iter();
    let fitted = fitted.filter_map(|(name, fit)| Some((name, fit.as_ref().ok()?)));
    let fitted: Vec<(&String, &Fit)> = fitted.collect();
    let described = |fit: &Fit| fit.misfits().is_empty();
    let coefficient = |of: fn(&Fit) -> &Coefficient| {
        move |(_, fit): &(&String, &Fit)| {
            if described(fit) {
                with_interval(of(fit))
            } else {
                "–".to_owned()
            }
        }
    };
    Table::of(&fitted)
        .text("series", 0, |(name, _)| name)
        .figures("λ, one worker/s (95 %)", 1, coefficient(|fit| &fit.lambda))
        .figures("σ, contention (95 %)", 0, coefficient(|fit| &fit.sigma))
        .figures("κ, coherency (95 %)", 0, coefficient(|fit| &fit.kappa))
        .figures("R²", 2, |(_, fit)| format!("{:.4}", fit.r_squared))
        .text("peak", 0, |(_, fit)| {
            if described(fit) {
                peak(fit)
            } else {
                "does not fit".to_owned()
            }
        })
        .build()
}

/// Why no law was fitted to some series, one sentence for each reason.
#[must_use]
pub fn unfitted(series: &[(String, Result<Fit, FitError>)]) -> Vec<String> {
    let mut names = BTreeMap::<String, Vec<&str>>::new();
    for (name, fit) in series {
        if let Err(reason) = fit {
            names.entry(reason.to_string()).or_default().push(name);
        }
    }
    let said = |(reason, names): (String, Vec<&str>)| {
        format!(
            "No scaling law was fitted to {}: {reason}.",
            names.join(", ")
        )
    };
    names.into_iter().map(said).collect()
}

/// A note if workers outnumbered the processors: `most` of them on this many cores.
#[must_use]
pub fn oversubscription_note(most: f64, cores: u32) -> Option<String> {
    (cores > 0 && most > f64::from(cores)).then(|| {
        let unit = if cores == 1 { "core" } else { "cores" };
        format!(
            "Up to {} workers ran on {cores} {unit}. The law does not model cores: waiting for a \
             core counts as contention, so the result describes this machine as much as the \
             engine.",
            workers_of(most)
        )
    })
}

/// The results of the fit for a series, one sentence each: empty without a fit, and only a warning
/// if the law does not describe the series.
#[must_use]
pub fn sentences(name: &str, fit: &Result<Fit, FitError>) -> Vec<String> {
    let Ok(fit) = fit else {
        return Vec::new();
    };
    if let Some(reason) = misfit(fit) {
        return vec![format!(
            "{name}: the law does not fit, so no serial share and no peak are shown: {reason}."
        )];
    }
    let contention = if fit.sigma.may_be_zero() {
        "no significant contention".to_owned()
    } else {
        format!("{} of the work is serial", per_cent(fit.sigma.value))
    };
    let mut said = vec![format!("{name}: {contention}.")];
    said.push(match fit.peak {
        Peak::OutOfReach => format!(
            "{name}: no peak found: the coherency cost is not significant up to {} workers.",
            workers_of(fit.most_workers())
        ),
        Peak::At {
            workers,
            per_s,
            beyond_measured,
        } => {
            let forecast = if beyond_measured {
                format!(
                    ", extrapolated from at most {} workers",
                    workers_of(fit.most_workers())
                )
            } else {
                String::new()
            };
            format!(
                "{name}: the law peaks at {} workers with {}/s{forecast}.",
                workers_of(workers),
                number(per_s)
            )
        }
    });
    said
}

/// The reason why the law does not describe its points; `None` if it does.
#[must_use]
pub fn misfit(fit: &Fit) -> Option<String> {
    let clause = |misfit| match misfit {
        Misfit::UnexplainedVariance { r_squared } => format!(
            "it explains {} of the variance of the rates, less than {}",
            per_cent(r_squared),
            per_cent(MIN_R_SQUARED)
        ),
        Misfit::ImpossibleSerialShare { low, high } => format!(
            "the serial share of the work would be {} to {}",
            per_cent(low),
            per_cent(high)
        ),
        Misfit::UnmeasuredRate { per_s, measured } => format!(
            "one worker would reach {}/s, but at most {}/s per worker were measured",
            number(per_s),
            number(measured)
        ),
    };
    let clauses: Vec<_> = fit.misfits().into_iter().map(clause).collect();
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

fn peak(fit: &Fit) -> String {
    match fit.peak {
        Peak::OutOfReach => "none found".to_owned(),
        Peak::At {
            workers,
            per_s,
            beyond_measured,
        } => {
            let forecast = if beyond_measured {
                ", extrapolated"
            } else {
                ""
            };
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

/// A number of workers: whole ones without a point.
fn workers_of(workers: f64) -> String {
    if workers.fract() == 0.0 {
        format!("{workers}")
    } else {
        number(workers)
    }
}

const SCALING_TEXT: &str = "The Universal Scalability Law, fitted to the median rates by number \
    of workers. σ (contention) is the share of work that only one worker can do at a time; κ \
    (coherency) is the cost of keeping workers consistent. Where the law does not fit (rule in \
    docs/METHOD.md), no coefficients are shown.";

fn blocks(rankings: &[Ranking], cores: u32) -> Vec<Block> {
    let fits = fits(rankings);
    let most = most_workers(&fits);
    let fits: Vec<_> = fits.into_iter().map(|(name, _, fit)| (name, fit)).collect();
    // Without a fit, the number of cores has no effect on it.
    let fitted = fits.iter().any(|(_, fit)| fit.is_ok());
    let mut said: Vec<_> = oversubscription_note(most, cores)
        .filter(|_| fitted)
        .into_iter()
        .collect();
    for (name, fit) in &fits {
        said.extend(sentences(name, fit));
    }
    said.extend(unfitted(&fits));
    let blocks = [Block::Table(table(&fits)), Block::List(said)];
    blocks.into_iter().filter_map(Block::filled).collect()
}

/// The scaling curves with the fitted law, one chart per level; empty if nothing ran with different
/// numbers of workers.
fn charts(rankings: &[Ranking]) -> Vec<Chart> {
    let levels: BTreeSet<_> = rankings.iter().map(|ranking| ranking.durability).collect();
    let of_level = |level: Durability| {
        let rankings = rankings.iter().filter(|one| one.durability == level);
        let rankings: Vec<_> = rankings.cloned().collect();
        let groups: Vec<_> = series(&rankings).iter().map(curve).collect();
        (!groups.is_empty()).then(|| Chart {
            title: format!("Rate by number of workers, {level}"),
            says: format!(
                "Rates by number of workers at {level}: {} series.",
                groups.len()
            ),
            note: "Points: measured medians. Curves: the Universal Scalability Law, where it \
                   describes them."
                .to_owned(),
            columns: vec![
                ChartColumn::new("workers", Unit::Number),
                ChartColumn::new("measured per second", Unit::PerSecond),
                ChartColumn::new("law per second", Unit::PerSecond),
            ],
            groups,
            ..Chart::new(ChartKind::Scaling, "series")
        })
    };
    levels.into_iter().filter_map(of_level).collect()
}

fn curve(series: &ScalingSeries) -> ChartGroup {
    let measured = series
        .points
        .iter()
        .map(|point| vec![Some(point.workers), Some(point.per_s), None]);
    let law = series.curve.iter().map(|point| {
        vec![
            Some(short_figure(point.workers)),
            None,
            Some(short_figure(point.per_s)),
        ]
    });
    ChartGroup {
        name: series.name.clone(),
        rows: measured.chain(law).collect(),
        marks: Vec::new(),
    }
}
