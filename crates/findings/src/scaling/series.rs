//! The series of a report: one contender's rates over its workers.

use super::{Fit, FitError, ScalingPoint, fit};
use crate::cells::RankedCell;
use crate::rankings::Ranking;
use std::collections::BTreeMap;

/// Number of points of the plotted curve.
const CURVE_POINTS: usize = 50;

/// One contender's median rates over its workers, and the law that was fitted to them.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalingSeries {
    /// The contender, level, kind of operation, and the settings in which its rankings differ.
    pub name: String,
    /// The measured rates.
    pub points: Vec<ScalingPoint>,
    /// The law, or why it was not fitted.
    pub fit: Result<Fit, FitError>,
    /// The law, ready to plot; empty if there is none that describes the points.
    pub curve: Vec<ScalingPoint>,
}

/// Every contender that ran with several numbers of workers, with its points and the law. Rankings
/// at an offered rate are left out: there the rate was given, whatever the number of workers.
#[must_use]
pub fn fits(rankings: &[Ranking]) -> Vec<(String, Vec<ScalingPoint>, Result<Fit, FitError>)> {
    let mut series: BTreeMap<String, Vec<ScalingPoint>> = BTreeMap::new();
    let closed = rankings.iter().filter(|one| one.rate_per_s.is_none());
    for ranking in closed {
        for cell in ranking.contenders() {
            let name = name(cell, ranking, rankings);
            series.entry(name).or_default().push(ScalingPoint {
                workers: f64::from(ranking.workers),
                per_s: cell.figures.headline_per_s.median,
            });
        }
    }
    series.retain(|_, points| points.len() > 1);
    let fitted = series.into_iter().map(|(name, points)| {
        let fit = fit(&points);
        (name, points, fit)
    });
    fitted.collect()
}

/// The most workers of any of these.
#[must_use]
pub fn most_workers(fits: &[(String, Vec<ScalingPoint>, Result<Fit, FitError>)]) -> f64 {
    let points = fits.iter().flat_map(|(_, points, _)| points);
    points.map(|point| point.workers).fold(0.0, f64::max)
}

/// Like [`fits`], with the law ready to plot.
#[must_use]
pub fn series(rankings: &[Ranking]) -> Vec<ScalingSeries> {
    let all = fits(rankings).into_iter().map(|(name, points, fit)| {
        let drawn = fit.as_ref().ok().filter(|fit| fit.misfits().is_empty());
        ScalingSeries {
            name,
            points,
            curve: drawn.map_or_else(Vec::new, |fit| fit.curve(CURVE_POINTS)),
            fit,
        }
    });
    all.collect()
}

/// Trials with other settings do other work, so they belong to another series.
fn name(cell: &RankedCell, ranking: &Ranking, rankings: &[Ranking]) -> String {
    let has_it = |other: &&Ranking| {
        let alike = other.workload == ranking.workload
            && other.durability == ranking.durability
            && other.in_memory == ranking.in_memory
            && other.storage_models == ranking.storage_models
            && other.storage.is_lost() == ranking.storage.is_lost();
        alike && other.contenders().any(|it| it.contender == cell.contender)
    };
    let others: Vec<_> = rankings.iter().filter(has_it).collect();
    let contender = cell.name();
    let mut name = format!("{contender} {} {}", ranking.durability, ranking.headline);
    if ranking.in_memory {
        name += " in memory";
    } else if ranking.storage.is_lost() {
        name += " not kept";
    }
    if let Some(models) = &ranking.storage_models {
        name += &format!(" {models}");
    }
    for (setting, value) in &ranking.settings {
        if others
            .iter()
            .any(|other| other.settings.get(setting) != Some(value))
        {
            name += &format!(" {setting}={value}");
        }
    }
    name
}
