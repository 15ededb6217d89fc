//! The gates of `trueput compare`: --fail-if and --fail-if-slower.

use crate::failure::{FAILED, Failure, UNDECIDED};
use crate::output;
use std::process::ExitCode;
use trueput_findings::compare::{CellResult, GateError, Side, SideComparison, judge_gates};
use trueput_findings::gate::{GateResult, GateVerdict};
use trueput_findings::units::per_cent;
use trueput_record::gate::GateRule;
use trueput_report::compare::{disturbances, gate_sentence, render_gates, same_library};
use trueput_report::{Format, Style};

/// The result of `--fail-if`.
pub struct GateOutcome {
    results: Vec<GateResult>,
    /// What the second side lacks of the first: no gate passes a crash.
    missing: Vec<String>,
}

impl GateOutcome {
    /// Judges each of the other sides against the first; `None` without gates.
    ///
    /// # Errors
    /// A usage error if a figure is missing.
    pub fn of(
        sides: &[Side],
        compared: &[SideComparison],
        rules: &[GateRule],
    ) -> Result<Option<Self>, Failure> {
        let Some((first, others)) = sides.split_first().filter(|_| !rules.is_empty()) else {
            return Ok(None);
        };
        let results = judge_gates(first, others, rules).map_err(|error| match error {
            GateError::Comparison(error) => error.into(),
            GateError::AbsentFigure(error) => Failure::usage(format!("--fail-if {error}")),
        })?;
        Ok(Some(Self {
            results,
            missing: missing_results(compared),
        }))
    }

    fn verdict(&self) -> GateVerdict {
        let verdicts = self.results.iter().map(|result| result.verdict);
        let worst = verdicts.max().unwrap_or(GateVerdict::Undecided);
        if self.missing.is_empty() {
            worst
        } else {
            GateVerdict::Failed
        }
    }

    /// The verdicts in the JSON output.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "verdict": self.verdict(),
            "results": self.results,
            "missing": self.missing,
        })
    }

    /// The verdicts for people.
    pub fn render(&self, format: Format, style: Style) -> String {
        render_gates(&self.results, format, style)
    }

    /// The exit code, with a line on standard error unless every gate is passed.
    pub fn exit(&self) -> ExitCode {
        if !self.missing.is_empty() {
            let missing = self.missing.join("; ");
            output::print_error(&format!("--fail-if found no complete result: {missing}"));
        }
        let verdict = self.verdict();
        if verdict != GateVerdict::Passed {
            output::print_error(&gate_sentence(&self.results));
        }
        match verdict {
            GateVerdict::Passed => ExitCode::SUCCESS,
            GateVerdict::Undecided => ExitCode::from(UNDECIDED),
            GateVerdict::Failed => ExitCode::from(FAILED),
        }
    }
}

/// The result of `--fail-if-slower`.
pub struct Gate {
    /// The largest fall that passes, as a part.
    limit: f64,
    failed: bool,
    /// A sentence for each line on standard error.
    reasons: Vec<String>,
    /// Why it could not be judged.
    usage: Option<String>,
}

impl Gate {
    /// Judges comparisons by the largest fall that passes.
    pub fn of(compared: &[SideComparison], part: f64, allow_unsure: bool) -> Self {
        let mut gate = Self {
            limit: part,
            failed: false,
            reasons: Vec::new(),
            usage: None,
        };
        gate.judge(compared, part, allow_unsure);
        if !gate.reasons.is_empty() {
            gate.add_disturbances(compared);
        }
        gate
    }

    /// The gate's result in the JSON output.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "limit": self.limit,
            "passed": !self.failed && self.usage.is_none(),
            "reasons": self.reasons.iter().chain(&self.usage).collect::<Vec<_>>(),
        })
    }

    /// The exit code, with a line on standard error for each reason.
    pub fn exit(self) -> Result<ExitCode, Failure> {
        for reason in &self.reasons {
            output::print_error(reason);
        }
        match (self.usage, self.failed) {
            (Some(message), _) => Err(Failure::usage(message)),
            (None, true) => Ok(ExitCode::from(FAILED)),
            (None, false) => Ok(ExitCode::SUCCESS),
        }
    }

    /// Adds the disturbances of the runs to each reason: the machine may have caused a loss.
    fn add_disturbances(&mut self, compared: &[SideComparison]) {
        let mut all: Vec<String> = Vec::new();
        for one in compared {
            let of = match compared {
                [_] => String::new(),
                _ => format!("{}: ", one.second.label),
            };
            let same = same_library(one).map(|sentence| {
                let clause = sentence.trim_end_matches('.');
                clause.replacen("Both sides", "both sides", 1)
            });
            let clauses = same.into_iter().chain(disturbances(one));
            all.extend(clauses.map(|clause| format!("{of}{clause}")));
        }
        if !all.is_empty() {
            let clauses = all.join("; ");
            for reason in &mut self.reasons {
                *reason = format!("{reason}; {clauses}");
            }
        }
    }

    fn judge(&mut self, compared: &[SideComparison], part: f64, allow_unsure: bool) {
        // The limit as typed: 3 %, not 3.00 %.
        let limit = format!("{} %", (part * 1e5).round() / 1e3);
        let crashed = missing_results(compared);
        if !crashed.is_empty() {
            let missing = crashed.join("; ");
            self.fail(format!(
                "--fail-if-slower found no complete result: {missing}"
            ));
        }
        let slower: Vec<_> = results(compared)
            .filter(|(_, result)| result.slower_by(part) == Some(true))
            .map(named)
            .collect();
        if !slower.is_empty() {
            let names = slower.join(", ");
            self.fail(format!(
                "slower by more than {limit}, significantly: {names}"
            ));
        }
        let suspected = describe_suspicion(compared, part, &limit);
        if let Some(reason) = suspected {
            self.fail(reason);
        }
        let too_few = results(compared).filter(|(_, result)| result.slower_by(part).is_none());
        let too_few = too_few.count();
        if too_few > 0 && !self.failed {
            self.usage = Some(format!(
                "--fail-if-slower: {too_few} results have fewer than 3 valid repeats; use \
                 --repeat 5"
            ));
            return;
        }
        self.add_inconclusive(compared, part, &limit, allow_unsure);
    }

    /// Adds the inconclusive results: their repeats cannot exclude the loss.
    fn add_inconclusive(
        &mut self,
        compared: &[SideComparison],
        part: f64,
        limit: &str,
        allow_unsure: bool,
    ) {
        let count = results(compared).count();
        let unsure = results(compared)
            .filter(|one| !one.1.looks_slower_by(part, count))
            .filter_map(|one| Some((one, one.1.undetected_loss(part)?)))
            .max_by(|one, other| one.1.total_cmp(&other.1));
        if let Some((widest, loss)) = unsure {
            let (widest, loss) = (named(widest), per_cent(loss));
            let more = if allow_unsure {
                "passed, because of --allow-unsure"
            } else {
                "more repeats narrow the interval; --allow-unsure passes such results"
            };
            self.reasons.push(format!(
                "cannot exclude a fall of {limit}: {widest} may be slower by {loss} (confidence \
             interval); {more}"
            ));
            self.failed |= !allow_unsure;
        }
    }

    fn fail(&mut self, reason: String) {
        self.reasons.push(reason);
        self.failed = true;
    }
}

/// Names results that look slower without being significant, in a sentence.
fn describe_suspicion(compared: &[SideComparison], part: f64, limit: &str) -> Option<String> {
    let count = results(compared).count();
    let suspected: Vec<_> = results(compared)
        .filter(|(_, result)| result.slower_by(part) != Some(true))
        .filter(|(_, result)| result.looks_slower_by(part, count))
        .collect();
    let seen = |one: &(&SideComparison, &CellResult)| {
        let part = one.1.seems_slower_by().unwrap_or_default();
        format!("{} by {}", named(*one), per_cent(part))
    };
    if suspected.is_empty() {
        return None;
    }
    let names: Vec<_> = suspected.iter().map(seen).collect();
    let needed = suspected.iter().filter_map(|one| one.1.repeats_needed);
    let repeats = match needed.max() {
        Some(repeats) => format!("{repeats} repeats or more"),
        None => "more repeats".to_owned(),
    };
    Some(format!(
        "slower by more than {limit} in every repeat, but the repeats are too few to be \
         significant: {}; use {repeats}",
        names.join(", ")
    ))
}

fn results(compared: &[SideComparison]) -> impl Iterator<Item = (&SideComparison, &CellResult)> {
    compared.iter().flat_map(|compared| {
        let results = compared.results.iter();
        results.map(move |result| (compared, result))
    })
}

fn named((compared, result): (&SideComparison, &CellResult)) -> String {
    let (name, label) = (result.second_name(), &compared.second.label);
    format!("{name} ({label}, {})", result.durability)
}

/// Results of the first side that are missing or incomplete in another: a contender that crashed
/// has no rate to compare.
fn missing_results(compared: &[SideComparison]) -> Vec<String> {
    let missing = compared.iter().flat_map(|compared| {
        let names = compared.only_first.iter();
        names.map(move |name| format!("{} has no valid trial of {name}", compared.second.label))
    });
    let broken = results(compared).flat_map(|(compared, result)| {
        let trials = result.second_broken.iter();
        trials.map(move |trial| format!("{}: {trial}", compared.second.label))
    });
    let incomparable = compared.iter().flat_map(|compared| &compared.incomparable);
    let incomparable = incomparable.map(ToString::to_string);
    missing.chain(broken).chain(incomparable).collect()
}
