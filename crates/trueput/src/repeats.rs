//! Options for repeats that go on until enough is known.

use crate::failure::Failure;
use crate::output;
use clap::Args;
use std::sync::Arc;
use std::time::Duration;
use trueput_findings::Run;
use trueput_findings::repeats::widest;
use trueput_record::folder::{PrecisionTarget, RunManifest};
use trueput_record::plan::{MAX_REPEAT, PlanFile};
use trueput_record::ranges::MIN_HALF_WIDTH;
use trueput_record::value::{parse_fraction, parse_seconds};
use trueput_record::{RunFolder, TrialRecord};
use trueput_runner::matrix::{self, BuildAccess};
use trueput_runner::{Registry, RepeatRule};

/// The most repeats of each cell if neither their number nor a budget is given.
const MAX_REPEATS: u32 = 30;

/// Reads a part of one: `3%` or `0.03`.
pub fn parse_part(text: &str) -> Result<f64, Failure> {
    let part = parse_fraction(text);
    part.filter(|part| (0.0..1.0).contains(part))
        .ok_or_else(|| match part {
            Some(per_cent @ 1.0..100.0) if !text.ends_with('%') => Failure::usage(format!(
                "'{text}' is not below 1: write {text}% or {}",
                per_cent / 100.0
            )),
            _ => Failure::usage(format!(
                "'{text}' is not a fraction: write 3% or 0.03, from 0 to less than 100%"
            )),
        })
}

/// Reads how narrow an interval is to be.
fn parse_half_width(text: &str) -> Result<f64, Failure> {
    let half_width = parse_part(text)?;
    let fits = half_width >= MIN_HALF_WIDTH;
    fits.then_some(half_width).ok_or_else(|| {
        Failure::usage(format!(
            "repeats cannot make an interval as narrow as '{text}': write {}% or more",
            MIN_HALF_WIDTH * 100.0
        ))
    })
}

/// Parses a time budget for repeats.
pub fn parse_budget(text: &str) -> Result<f64, Failure> {
    let budget_s = parse_seconds(text).map_err(Failure::usage)?;
    let fits = budget_s > 0.0;
    fits.then_some(budget_s).ok_or_else(|| {
        Failure::usage(format!(
            "the budget must be above 0, not {text}: write a time, as in 10m"
        ))
    })
}

/// Options for repeats that go on until enough is known.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Repeats")]
pub struct Repeats {
    /// Repeat until the rate of every contender (with --rate: its worst p99 response time) is known
    /// to within this fraction, for example 2%, at 95 % confidence; --repeat is then the maximum
    /// [default: 30, or 1000 with --budget]
    #[arg(long, value_name = "FRACTION", value_parser = parse_half_width,
        allow_negative_numbers = true)]
    pub until: Option<f64>,
    /// Repeat until this time is used up, as in 10m; with --until, whichever comes first
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub budget: Option<f64>,
}

impl Repeats {
    /// Whether repeats go on until something.
    pub fn are_automatic(self) -> bool {
        self.until.is_some() || self.budget.is_some()
    }

    /// Sets the repeats of a plan: `named` if given, else as many as are allowed.
    pub fn apply(self, plan: &mut PlanFile, named: Option<u32>, registry: &Registry) {
        if self.are_automatic() && named.is_none() {
            plan.repeat = 1;
            // A plan that cannot be expanded is refused when it is to be run.
            let expanded = matrix::expand_with(plan, registry, BuildAccess::Unopened);
            let cells = expanded.map_or(1, |matrix| matrix.trials.len());
            plan.repeat = self.most(cells);
        }
    }

    /// The most repeats of each of `cells`. With a budget this is the maximum of a plan, because
    /// the time ends them.
    pub fn most(self, cells: usize) -> u32 {
        let most = match self.budget {
            Some(_) => MAX_REPEAT,
            None => MAX_REPEATS,
        };
        let fit = u32::try_from(matrix::MAX_TRIALS / cells.max(1)).unwrap_or(MAX_REPEAT);
        most.min(fit).max(1)
    }

    /// The rule by which the runner ends repeats.
    pub fn rule(self) -> Option<RepeatRule> {
        let until = PrecisionTarget {
            half_width: self.until,
            budget_s: self.budget,
        };
        self.are_automatic().then(|| rule(until))
    }
}

/// The rule that a manifest states: an interrupted run goes on under it, its budget afresh.
pub fn stated(manifest: &RunManifest) -> Option<RepeatRule> {
    manifest.until.map(rule)
}

fn rule(until: PrecisionTarget) -> RepeatRule {
    let look = |manifest: &RunManifest, trials: &[TrialRecord]| {
        widest(manifest, trials).map(|(width, _)| width)
    };
    RepeatRule {
        half_width: until.half_width,
        budget: until.budget_s.map(Duration::from_secs_f64),
        widest: Arc::new(look),
    }
}

/// Prints on standard error why no more repeats were run.
///
/// # Errors
/// Where the run folder cannot be read.
pub fn print_stop_reason(folder: &RunFolder) -> Result<(), Failure> {
    let report = Run::load(folder.path())?;
    let Some(until) = report.manifest.until else {
        return Ok(());
    };
    let known = match widest(&report.manifest, &report.trials) {
        Some((width, contender)) => {
            format!(
                "the widest interval is ±{:.2} %, of {contender}",
                width * 100.0
            )
        }
        None => "a cell has fewer than 3 valid repeats".to_owned(),
    };
    let is_whole = report.end.as_ref().is_some_and(|end| end.complete);
    let enough = report.end.and_then(|end| end.stop_reason);
    let reason = match (enough, until.half_width) {
        (Some(enough), _) => enough.words().to_owned(),
        (None, _) if !is_whole => "the run was interrupted".to_owned(),
        (None, Some(half_width)) => {
            format!(
                "all repeats were run; ±{} % was requested",
                half_width * 100.0
            )
        }
        (None, None) => "all repeats were run".to_owned(),
    };
    output::note(&format!("repeats ended: {reason}; {known}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_percentage_or_a_fraction() {
        assert_eq!(parse_part("3%"), Ok(0.03));
        assert_eq!(parse_part("0.05"), Ok(0.05));
        for wrong in ["3", "-1%", "100%", "much", "%"] {
            assert!(
                parse_part(wrong).unwrap_err().to_string().contains(wrong),
                "{wrong}"
            );
        }
    }

    #[test]
    fn an_interval_that_no_repeats_reach_is_refused() {
        assert_eq!(parse_half_width("2%"), Ok(0.02));
        assert_eq!(parse_half_width("0.01%"), Ok(0.000_1));
        for wrong in ["0%", "0", "-1%", "NaN", "inf", "100%", "0.001%", "1e-9"] {
            assert!(
                parse_half_width(wrong)
                    .unwrap_err()
                    .to_string()
                    .contains(wrong),
                "{wrong}"
            );
        }
        assert!(parse_budget("0").is_err() && parse_budget("0s").is_err());
        assert_eq!(parse_budget("10m"), Ok(600.0));
    }
}
